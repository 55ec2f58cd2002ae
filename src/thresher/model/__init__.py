"""Models: their classes, the names of their features, and the one way in which they learn rows."""

from thresher.model.model import Model

__all__ = ["Model"]
