"""The C++ core; see cpp/bindings.cpp."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Fault = tuple[str, int, int, float]
State = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]
# row starts, ids, values, labels, (row, label) where that is no number, importances, each row's line from 0,
# bad lines (number, why), how many lines, largest id, whether id 0 occurred, VW's namespace
TextRows = tuple[
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

class Batch:
    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], n_features: int) -> None: ...
    def check(self, norm: str) -> Fault | None: ...
    def trust(self) -> None: ...

class Selector:  # in this stub only: what all learners have
    def reserve(self, n_features: int) -> None: ...
    def learn(
        self,
        batch: Batch,
        classes: NDArray[np.int32],
        importances: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
        begin: int,
        end: int,
        check: bool,
    ) -> Fault | None: ...
    def score(
        self, batch: Batch, begin: int, end: int, with_variance: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def swap_classes(self) -> None: ...
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    @property
    def intercept(self) -> float: ...
    @property
    def n_sifts(self) -> int: ...
    @property
    def counters(self) -> dict[str, Any]: ...
    def state(self) -> State: ...
    def restore(
        self,
        ids: NDArray[np.int64],
        cells: NDArray[np.float32],
        intercept: NDArray[np.float32],
        counters: NDArray[np.float64],
    ) -> None: ...

class Sofs(Selector):
    def __init__(self, budget: int, norm: str, fit_intercept: bool, gamma: float) -> None: ...

class ShadowSofs(Selector):
    def __init__(self, budget: int, norm: str, fit_intercept: bool, gamma: float) -> None: ...

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
    ) -> None: ...
    def work(self, n_entries: int, budget: int) -> None: ...
    @property
    def chosen(self) -> NDArray[np.int64]: ...
    @property
    def exhausted(self) -> bool: ...

def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]: ...
def pick_columns(
    batch: Batch, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...
def read_text(format: str, text: bytes, skip_bad: bool) -> TextRows: ...
def read_text_range(format: str, file: int, begin: int, end: int, skip_bad: bool) -> TextRows: ...
def write_svmlight(batch: Batch, shift: int, labels: list[str]) -> bytes: ...
def simd_paths() -> list[str]: ...
def simd_in_use() -> str: ...
def use_simd(name: str) -> None: ...
