"""Model files, and files that are written whole or not at all."""

from thresher.io.saving import load, save

__all__ = ["load", "save"]
