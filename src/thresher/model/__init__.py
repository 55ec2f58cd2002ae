"""What is learned: a model, its classes, the names of its features, and the one way in which rows become learned."""

from thresher.model.model import Model

__all__ = ["Model"]
