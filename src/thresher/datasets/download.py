"""Downloads that can be resumed, are checked, and appear completely or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thresher.progress import progress_bar

TIMEOUT = 30.0  # seconds without a byte
TRIES = 4
_BLOCK = 1 << 18


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    check: Callable[[Path], None] | None = None,
    progress: bool = False,
) -> None:
    """Download `url` to `target`.

    The bytes received so far are in `….part` next to the target; a later call resumes from there. A connection that
    fails or stalls is tried again a few times. The file is renamed into place only after its checksum, or `check`, has
    passed; a file that fails is removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    for turn in range(TRIES):
        try:
            _fetch_rest(url, part, progress)
            break
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise OSError(f"{url}: the server answers {error.code} {error.reason}.") from None
            if turn == TRIES - 1:
                raise OSError(f"{url}: the download failed ({_reason(error)}); try again to resume it.") from None
            time.sleep(0.1 * 2**turn)
    try:
        if sha256 is not None and _digest(part) != sha256:
            raise ValueError("its checksum is wrong")
        if check is not None:
            check(part)
    except ValueError as error:
        part.unlink()
        raise ValueError(f"{url}: the downloaded file is not the data set: {error}.") from None
    part.replace(target)


def _fetch_rest(url: str, part: Path, progress: bool) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is left to send: the file was complete
            return
        raise
    with answer:
        resumed = answer.status == 206
        if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            raise OSError("the server sent a range that was not requested")
        length = answer.headers.get("Content-Length")
        expected = None if length is None else int(length)
        got = 0
        with (
            part.open("ab" if resumed else "wb") as file,
            progress_bar(f"downloading {part.stem}", _Size(expected), 1, progress) as bar,
        ):
            while block := answer.read(_BLOCK):
                file.write(block)
                got += len(block)
                bar.advance(len(block), 0, None)
            file.flush()
            os.fsync(file.fileno())
        if expected is not None and got < expected:
            raise OSError(f"the connection was lost after {got:,} of {expected:,} bytes")


class _Size:
    """The size of a download, for the progress bar."""

    def __init__(self, n_bytes: int | None) -> None:
        self.n_bytes = n_bytes
        self.n_rows: int | None = None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: Any) -> str:
    return str(getattr(error, "reason", error) or error)
