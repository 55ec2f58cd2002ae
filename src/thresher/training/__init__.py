"""Training from streams."""

from thresher.training.history import History
from thresher.training.loop import train, train_many

__all__ = ["History", "train", "train_many"]
