"""Data as a stream of batches: files of any length, in the formats that people have."""

from thresher.streams.opening import open_stream
from thresher.streams.stream import Batch, DataError, Stream

__all__ = ["Batch", "DataError", "Stream", "open_stream"]
