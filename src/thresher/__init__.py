"""Pick the B features that matter out of millions or billions, in one pass over sparse data.

Names are resolved when they are first used, so that ``import thresher`` stays cheap: scikit-learn alone takes a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher import datasets
    from thresher.batch import FGM, L1SVM, MRMR
    from thresher.online import AROW, FOFS, OGD, PET, SOFS, ShadowSOFS
    from thresher.saving import load, save
    from thresher.streams import open_stream
    from thresher.training import train

__all__ = [
    "AROW",
    "FGM",
    "FOFS",
    "L1SVM",
    "MRMR",
    "OGD",
    "PET",
    "SOFS",
    "ShadowSOFS",
    "datasets",
    "load",
    "open_stream",
    "save",
    "train",
]

_HOMES = {
    "AROW": "thresher.online",
    "FGM": "thresher.batch",
    "L1SVM": "thresher.batch",
    "MRMR": "thresher.batch",
    "FOFS": "thresher.online",
    "OGD": "thresher.online",
    "PET": "thresher.online",
    "SOFS": "thresher.online",
    "ShadowSOFS": "thresher.online",
    "load": "thresher.saving",
    "save": "thresher.saving",
    "open_stream": "thresher.streams",
    "train": "thresher.training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "datasets":
        return importlib.import_module("thresher.datasets")
    if name == "__version__":
        from importlib.metadata import version

        return version("thresher")
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
