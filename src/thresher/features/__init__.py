"""Text and tables to sparse rows with named features, as scikit-learn transformers."""

from thresher.features.columns import ColumnHasher
from thresher.features.text import TextHasher

__all__ = ["ColumnHasher", "TextHasher"]
