"""The online estimators: scikit-learn classifiers and selectors that read the data once."""

from thresher.online.files import load, save
from thresher.online.shadow_sofs import ShadowSOFS
from thresher.online.sofs import SOFS

__all__ = ["SOFS", "ShadowSOFS", "load", "save"]
