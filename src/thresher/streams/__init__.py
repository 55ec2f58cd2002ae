"""Data as a stream of batches: files of any length, in common formats."""

from thresher.streams.opening import Data, as_stream, is_table, open_stream
from thresher.streams.position import Position
from thresher.streams.stream import Batch, DataError, Stream

__all__ = ["Batch", "Data", "DataError", "Position", "Stream", "as_stream", "is_table", "open_stream"]
