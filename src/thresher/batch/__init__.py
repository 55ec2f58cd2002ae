"""The batch methods that the paper compares with: scikit-learn classifiers and selectors that hold all rows at once."""

from thresher.batch.fgm import FGM
from thresher.batch.l1svm import L1SVM
from thresher.batch.mrmr import MRMR

__all__ = ["FGM", "L1SVM", "MRMR"]
