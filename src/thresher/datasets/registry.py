"""Public data sets: where they are on this machine, and where they can be downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from thresher.datasets.download import download
from thresher.streams import open_stream

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"


@dataclass(frozen=True)
class Dataset:
    """A data set: its file, its shape, and where it is from.

    It has a URL if exactly this file can be downloaded: then its size and its checksum are here too.
    """

    name: str
    files: tuple[str, ...]  # any of these names; a download has the first
    n_rows: int
    n_features: int
    n_nonzeros: int
    n_classes: int
    description: str
    url: str | None = None
    n_bytes: int = 0
    sha256: str = ""
    page: str | None = None  # where a user can get it


KNOWN = {
    known.name: known
    for known in (
        Dataset("relathe", ("relathe.svm.xz",), 1_427, 4_322, 120_000, 2, "20 newsgroups, religion or atheism"),
        Dataset("basehock", ("basehock.svm.xz",), 1_993, 4_862, 134_253, 2, "20 newsgroups, baseball or hockey"),
        Dataset("pcmac", ("pcmac.svm.xz",), 1_943, 3_289, 93_185, 2, "20 newsgroups, PC or Mac hardware"),
        Dataset("ccat", ("ccat.svm.xz",), 27_613, 47_236, 2_144_845, 2, "RCV1 news, topic CCAT or not"),
        Dataset(
            "news20", ("news20.binary.bz2",), 19_996, 1_355_191, 9_097_916, 2,
            "20 newsgroups in two halves; rows are grouped by label", f"{_LIBSVM}/binary/news20.binary.bz2", 26_772_793,
            "047c34239eb3bffabf7deadfb855053eca6c8fbb72a9a0b2581116ef5d85fe64",
        ),
        Dataset(
            "news20.multiclass", ("news20.bz2", "news20.multiclass.svm.xz"), 15_935, 62_061, 1_272_569, 20,
            "20 newsgroups, all of them", page=f"{_LIBSVM}/multiclass.html#news20",
        ),
        Dataset(
            "w8a", ("w8a", "w8a.svm.xz"), 49_749, 300, 579_586, 2, "web pages; few columns, few positive rows",
            page=f"{_LIBSVM}/binary.html#w8a",
        ),
    )
}  # fmt: skip


def find(name: str) -> Path | None:
    """Return the file of a data set, if it is on this machine."""
    known = _dataset(name)
    for folder in search_folders():
        for file in known.files:
            if (folder / file).is_file():
                return folder / file
    return None


def fetch(name: str, *, progress: bool = False) -> Path:
    """Return the file of a data set; if it is not on this machine, download it into the user's cache."""
    known = _dataset(name)
    here = find(name)
    if here is not None:
        return here
    if known.url is None:
        source = "" if known.page is None else f"get it from {known.page}, "
        raise FileNotFoundError(
            f"{name}: the file {known.files[0]} was not found and is not downloaded by thresher: {source}"
            "put it into a folder and set THRESHER_DATA to that folder."
        )
    target = cache_folder() / known.files[0]
    download(known.url, target, sha256=known.sha256, n_bytes=known.n_bytes, progress=progress)
    return target


def load(name: str) -> tuple[Any, NDArray[Any]]:
    """Load a public data set as a CSR matrix and labels; it is downloaded if it is not on this machine.

    Parameters
    ----------
    name : str
        One of the names that `thresher data list` shows.

    Returns
    -------
    X : csr_matrix of float32, or csr_array if scikit-learn's `sparse_interface` is "sparray"
    y : array

    Examples
    --------
    >>> from thresher import datasets
    >>> X, y = datasets.load("basehock")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1993, 4862)
    """
    known, path = _dataset(name), fetch(name)
    X, y, _ = open_stream(path, "svmlight", zero_based=False).to_csr()
    if X.shape[0] != known.n_rows or X.shape[1] > known.n_features:
        raise ValueError(
            f"{path}: {known.name} has {known.n_rows:,} rows and {known.n_features:,} columns, but the file has "
            f"{X.shape[0]:,} and {X.shape[1]:,}: replace the file, or read it with open_stream."
        )
    X.resize(known.n_rows, known.n_features)
    return X, y


def cache_folder() -> Path:
    """Return the folder that downloads are kept in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thresher"


def search_folders() -> list[Path]:
    """Return the folders to search: the one in THRESHER_DATA, then the user's cache."""
    named = os.environ.get("THRESHER_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


def _dataset(name: str) -> Dataset:
    if name in KNOWN:
        return KNOWN[name]
    for known in KNOWN.values():
        # A file's name, with or without its endings, is accepted too.
        if any(name in (file, file.removesuffix(".bz2"), file.split(".svm")[0]) for file in known.files):
            return known
    raise ValueError(f"unknown data set {name!r}; the known ones are {', '.join(KNOWN)}.")
