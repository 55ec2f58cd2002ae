"""The C++ core, bound in cpp/bindings."""

from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray

Fault = tuple[str, int, int, float]

# All that further learning depends on. A key is an id, or with more than two classes id · classes + class; cells are
# those of the keys, one after another.
@final
class State(TypedDict):
    keys: NDArray[np.int64]
    cells: NDArray[np.float32]
    intercept: NDArray[np.float32]
    counters: dict[str, int | float]
    learner: dict[str, float]

# row starts, ids, values, labels, (row, label) where the label is a word, importances, the line of each row from 0,
# bad lines (number, why), number of lines, largest id, whether id 0 occurred, VW's namespace
ParsedText = tuple[
    NDArray[Any],
    NDArray[Any],
    NDArray[np.float32],
    NDArray[np.float64],
    list[tuple[int, str]],
    NDArray[np.float64] | None,
    NDArray[np.int32],
    list[tuple[int, str]],
    int,
    int,
    bool,
    str | None,
]

class CsrBatch:
    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], n_features: int) -> None: ...
    def check(self, norm: str) -> Fault | None: ...
    def trust(self) -> None: ...

class Selector:  # in this stub only: what all learners have
    def __init__(
        self,
        n_classes: int,
        budget: int,
        norm: str,
        fit_intercept: bool,
        parameters: dict[str, Any],
        keep: NDArray[np.int64] | None = None,
    ) -> None: ...
    def cells(self, ids: NDArray[np.int64]) -> NDArray[np.float32]: ...
    def reserve(self, n_features: int) -> None: ...
    def learn(
        self,
        batch: CsrBatch,
        classes: NDArray[np.int32],
        importances: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
        begin: int,
        end: int,
        check: bool,
        is_new: bool = True,
    ) -> Fault | None: ...
    def score(
        self, batch: CsrBatch, begin: int, end: int, order: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]: ...
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    @property
    def intercept(self) -> NDArray[np.float32]: ...
    @property
    def n_looks(self) -> int: ...
    @property
    def counters(self) -> dict[str, Any]: ...
    def n_pages(self) -> int: ...
    def state(self) -> State: ...
    def restore(
        self,
        keys: NDArray[np.int64],
        cells: NDArray[np.float32],
        intercept: NDArray[np.float32],
        counters: dict[str, int | float],
        learner: dict[str, float],
    ) -> None: ...

class TwoClassSelector(Selector):  # in this stub only
    def swap_classes(self) -> None: ...

class Sofs(TwoClassSelector): ...
class ManySofs(Selector): ...
class ShadowSofs(TwoClassSelector): ...
class ManyShadowSofs(Selector): ...
class Pet(TwoClassSelector): ...
class ManyPet(Selector): ...
class Fofs(TwoClassSelector): ...
class ManyFofs(Selector): ...
class Arow(TwoClassSelector): ...
class ManyArow(Selector): ...
class Ogd(TwoClassSelector): ...
class ManyOgd(Selector): ...

class LinearScorer:
    def __init__(
        self,
        n_vectors: int,
        norm: str,
        ids: NDArray[np.int64],
        weights: NDArray[np.float32],
        intercept: NDArray[np.float32] | NDArray[np.float64],
    ) -> None: ...
    def score(
        self, batch: CsrBatch, begin: int, end: int, order: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]: ...
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...

class Synth:
    def __init__(
        self, n_features: int, n_informative: int, n_noise: int, n_dense_noise: int, permute: bool, seed: int
    ) -> None: ...
    @property
    def row_size(self) -> int: ...
    @property
    def informative(self) -> NDArray[np.int64]: ...
    def rows(
        self, first: int, ids: NDArray[np.int32], values: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> None: ...

class Mrmr:
    def __init__(
        self,
        starts: NDArray[np.int64],
        ids: NDArray[np.int32],
        values: NDArray[np.uint8],
        n_features: int,
        classes: NDArray[np.int32],
        n_classes: int,
        scheme: str,
        keep: NDArray[np.int64],
    ) -> None: ...
    def work(self, n_entries: int, budget: int) -> None: ...
    @property
    def chosen(self) -> NDArray[np.int64]: ...
    @property
    def exhausted(self) -> bool: ...

def pick_columns(
    batch: CsrBatch, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...

# `first`: the text is the start of its file, where a byte order mark is skipped; read_text_range knows from `begin`.
def read_text(format: str, text: bytes, skip_bad: bool, first: bool = False, labelled: bool = True) -> ParsedText: ...
def read_text_range(
    format: str, file: int, begin: int, end: int, skip_bad: bool, labelled: bool = True
) -> ParsedText: ...
def read_bytes(file: int, from_: int, size: int) -> NDArray[np.uint8]: ...
def write_svmlight(batch: CsrBatch, shift: int, labels: list[str]) -> bytes: ...
def simd_paths() -> list[str]: ...
def simd_in_use() -> str: ...
def use_simd(name: str) -> None: ...
