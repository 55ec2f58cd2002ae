"""Pick the B features that matter out of millions or billions, in one pass over sparse data.

Names are resolved when they are first used, so that ``import thresher`` stays cheap: scikit-learn alone takes a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from thresher.methods import METHODS

if TYPE_CHECKING:
    from thresher import datasets, distributed, features
    from thresher.analysis import cross_validate, path, set_threshold, stability
    from thresher.estimators.arow import AROW
    from thresher.estimators.fgm import FGM
    from thresher.estimators.fofs import FOFS
    from thresher.estimators.l1svm import L1SVM
    from thresher.estimators.mrmr import MRMR
    from thresher.estimators.ogd import OGD
    from thresher.estimators.pet import PET
    from thresher.estimators.shadow_sofs import ShadowSOFS
    from thresher.estimators.shadow_sofs_regressor import ShadowSOFSRegressor
    from thresher.estimators.sofs import SOFS
    from thresher.evaluation.evaluation import evaluate
    from thresher.evaluation.feature_file import write_features
    from thresher.evaluation.prediction import write_predictions
    from thresher.evaluation.transform import write_selected
    from thresher.io.model_files import load, save
    from thresher.report import write_report
    from thresher.streams import open_stream
    from thresher.streams.writing import convert
    from thresher.training import train, train_many

_HOMES = {
    "convert": "thresher.streams.writing",
    "cross_validate": "thresher.analysis",
    "evaluate": "thresher.evaluation.evaluation",
    "load": "thresher.io.model_files",
    "open_stream": "thresher.streams",
    "path": "thresher.analysis",
    "save": "thresher.io.model_files",
    "set_threshold": "thresher.analysis",
    "stability": "thresher.analysis",
    "train": "thresher.training",
    "train_many": "thresher.training",
    "write_features": "thresher.evaluation.feature_file",
    "write_predictions": "thresher.evaluation.prediction",
    "write_report": "thresher.report",
    "write_selected": "thresher.evaluation.transform",
}
_ESTIMATORS = {method.estimator: method for method in METHODS.values()}

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
    "ShadowSOFSRegressor",
    "convert",
    "cross_validate",
    "datasets",
    "distributed",
    "evaluate",
    "features",
    "load",
    "open_stream",
    "path",
    "save",
    "set_threshold",
    "stability",
    "train",
    "train_many",
    "write_features",
    "write_predictions",
    "write_report",
    "write_selected",
]


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return _ESTIMATORS[name].load_estimator()
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in ("datasets", "distributed", "features"):
        return importlib.import_module(f"thresher.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("thresher")
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
