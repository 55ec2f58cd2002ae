"""Downloads that can be resumed, are checked, and appear completely or not at all.

It accepts no other file, no more bytes than expected, and no redirection to a less secure address.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thresher.io.file_errors import name_file_in_errors
from thresher.messages import size_text
from thresher.progress import progress_bar

TIMEOUT = 30.0  # seconds without a byte
TRIES = 4
_BLOCK = 1 << 18
_SLACK = 1 << 20  # how much larger than its known size a download may be
_MOST_BYTES = 2 << 30  # where the size is not known


def download(url: str, target: Path, *, sha256: str, n_bytes: int | None = None, progress: bool = False) -> None:
    """Download `url` to `target`.

    The bytes received so far are in `….part` next to the target; a later call resumes from there. A connection that
    fails or stalls is tried again a few times. The file is renamed into place only after its checksum has passed; one
    that fails, or that gets much larger than `n_bytes`, is removed. From https, no redirection to
    anything else is followed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    limit = _MOST_BYTES if n_bytes is None else n_bytes + _SLACK
    for turn in range(TRIES):
        try:
            _fetch_rest(url, part, limit, progress)
            break
        except _RefusedError as error:
            part.unlink(missing_ok=True)
            raise OSError(f"{url}: the download was refused: {error}.") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise OSError(f"{url}: the server answers {error.code} {error.reason}.") from None
            if turn == TRIES - 1:
                raise OSError(
                    f"{url}: the download failed ({getattr(error, 'reason', error) or error}); try again to resume it."
                ) from None
            time.sleep(0.1 * 2**turn)
    if _digest(part) != sha256:
        part.unlink()
        raise ValueError(f"{url}: the downloaded file is not the data set: its checksum is wrong.")
    part.replace(target)


class _RefusedError(Exception):
    """An error that trying again would not change."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections within a scheme, and from http to https."""

    def redirect_request(self, request: Any, answer: Any, code: int, why: str, headers: Any, url: str) -> Any:
        before, after = urlsplit(request.full_url).scheme, urlsplit(url).scheme
        if after not in (before, "https"):
            raise _RefusedError(f"it is redirected from {before} to {url}")
        return super().redirect_request(request, answer, code, why, headers, url)


def _fetch_rest(url: str, part: Path, limit: int, progress: bool) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.build_opener(_SafeRedirects).open(request, timeout=TIMEOUT)
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
        got, most = 0, limit - have if resumed else limit
        if expected is not None and expected > most:
            raise _too_large_error(limit)
        with (
            name_file_in_errors(part),
            part.open("ab" if resumed else "wb") as file,
            progress_bar(f"downloading {part.stem}", _Size(expected), 1, progress) as bar,
        ):
            while block := answer.read(_BLOCK):
                got += len(block)
                if got > most:  # a server need not say its length, nor the right one
                    raise _too_large_error(limit)
                file.write(block)
                bar.advance(len(block), 0, None)
            file.flush()
            os.fsync(file.fileno())
        if expected is not None and got < expected:
            raise OSError(f"the connection was lost after {got:,} of {expected:,} bytes")


def _too_large_error(limit: int) -> _RefusedError:
    return _RefusedError(f"it is larger than {size_text(limit)}")


class _Size:
    """The size of a download, for the progress bar."""

    def __init__(self, n_bytes: int | None) -> None:
        self.n_bytes = n_bytes
        self.n_rows: int | None = None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
