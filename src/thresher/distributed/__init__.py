"""Training on many processes or machines: shards learn side by side and are merged several times in a pass."""

from thresher.distributed.loop import train

__all__ = ["train"]
