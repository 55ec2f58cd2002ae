"""Data to learn from: the paper's synthetic sets, and public ones."""

from thresher.datasets.registry import load
from thresher.datasets.synthetic import make_x1, make_x2

__all__ = ["load", "make_x1", "make_x2"]
