"""Archives: gzip, bzip2, xz and zstd, to read or to write.

Each is opened as a file whose `read(size)` returns at most `size` bytes, whatever the ratio, and which detects that its
end is missing.
"""

from __future__ import annotations

import sys
from typing import Any

ENDINGS = (".gz", ".bz2", ".xz", ".zst")


def open_archive(raw: Any, kind: str, mode: Any) -> Any:
    """Open an archive of a kind ("gz", "bz2", "xz", "zst") in a raw file, which stays open when it is closed.

    `mode` is "rb" or "wb".
    """
    if kind == "gz":
        from isal import igzip

        return igzip.open(raw, mode)  # type: ignore[no-untyped-call]  # isal has no types there
    if kind == "bz2":
        import bz2

        return bz2.BZ2File(raw, mode)
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(raw, mode)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(raw, mode)
