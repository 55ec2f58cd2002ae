"""Data to learn from: the paper's synthetic sets."""

from thresher.datasets.synthetic import make_x1, make_x2

__all__ = ["make_x1", "make_x2"]
