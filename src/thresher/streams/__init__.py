"""Data as a stream of batches: files of any length, in common formats."""

from thresher.batch import Batch, DataError
from thresher.streams.opening import Data, as_stream, open_stream
from thresher.streams.position import Position
from thresher.streams.stream import Stream
from thresher.streams.tables import is_table

__all__ = ["Batch", "Data", "DataError", "Position", "Stream", "as_stream", "is_table", "open_stream"]
