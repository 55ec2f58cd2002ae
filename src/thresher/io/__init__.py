"""Model files, and files that are written completely or not at all."""

from thresher.io.saving import load, save

__all__ = ["load", "save"]
