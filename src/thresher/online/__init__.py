"""The online estimators: scikit-learn classifiers and selectors that read the data once."""

from thresher.online.arow import AROW
from thresher.online.fofs import FOFS
from thresher.online.ogd import OGD
from thresher.online.pet import PET
from thresher.online.shadow_sofs import ShadowSOFS
from thresher.online.sofs import SOFS

__all__ = ["AROW", "FOFS", "OGD", "PET", "SOFS", "ShadowSOFS"]
