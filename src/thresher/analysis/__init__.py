"""Answers about a model before it is used: how many features, how good, how stable, which threshold."""

from thresher.analysis.cross_validation import CrossValidation, cross_validate
from thresher.analysis.curve import Curve, path
from thresher.analysis.selection_stability import Stability, stability
from thresher.analysis.threshold import set_threshold

__all__ = ["CrossValidation", "Curve", "Stability", "cross_validate", "path", "set_threshold", "stability"]
