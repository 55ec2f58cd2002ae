"""Rows of tables in which each column is a number: every type of number, sliced, with zeros and what is not finite."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import open_stream
from thresher.streams import DataError
from thresher.streams.formats import layout

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
KINDS = [*WHOLE, pa.float32(), pa.float64(), pa.float16(), pa.bool_(), pa.decimal128(25, 2)]


@settings(max_examples=100)
@given(st.data())
def test_rows_are_the_cells_that_are_not_zero(data):
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    n_rows, offset = data.draw(st.integers(1, 70)), data.draw(st.integers(0, 20))
    seed = data.draw(st.integers(0, 99))
    has_nulls = data.draw(st.booleans())
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, (n_rows + offset, len(kinds))).astype(float)
    columns = {}
    for k, kind in enumerate(kinds):
        cells[:, k] = np.minimum(cells[:, k], 1 if pa.types.is_boolean(kind) else 2)
        own = cells[:, k].astype(int) if not pa.types.is_floating(kind) else cells[:, k].astype("e")
        values = pa.array(own.astype(bool) if pa.types.is_boolean(kind) else own)
        values = values if pa.types.is_boolean(kind) else values.cast(kind)
        # Missing values before the slice leave a mask of validity, in which all rows exist.
        mask = np.arange(n_rows + offset) < (offset if has_nulls else 0)
        columns[f"c{k}"] = pa.compute.if_else(pa.array(~mask), values, None)
    table = pa.table({"label": np.arange(n_rows + offset) % 2, **columns}).slice(offset)
    batches = list(open_stream(table).batches())
    assert sum(batch.n_rows for batch in batches) == n_rows
    (batch,) = batches
    assert batch.indptr[-1] == len(batch.indices) == len(batch.data)
    found = np.zeros((n_rows, len(kinds)), np.float32)
    rows = np.repeat(np.arange(n_rows), np.diff(batch.indptr))
    found[rows, batch.indices] = batch.data
    assert np.array_equal(found, cells[offset:])
    assert len(batch.data) == np.count_nonzero(cells[offset:])


@pytest.mark.parametrize("width", [1, 40, 3_000])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_of_every_shape(tmp_path, width, ending):
    rng = np.random.default_rng(width)
    n_rows = 60_000 // width + 5
    cells = rng.normal(size=(n_rows, width)).round(3) * rng.integers(0, 2, (n_rows, width))
    table = pa.table({**{f"c{k}": cells[:, k] for k in range(width)}, "label": np.arange(n_rows) % 3})
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path, row_group_size=n_rows // 2 + 1)
    X, y, _ = open_stream(path).to_csr()
    assert np.array_equal(X.toarray(), cells.astype(np.float32))
    assert np.array_equal(y, np.arange(n_rows) % 3)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-1e300, "-inf"), (None, None)])
def test_what_is_no_number_is_named_by_its_row_and_column(value, shown):
    cells = [1.0] * 50
    cells[20] = value
    table = pa.table({"label": [0, 1] * 25, "a": [0.0] * 50, "b": pa.array(cells, from_pandas=False)})
    why = f"column 'b' is {shown}; values must be finite" if shown else "column 'b' has no value in this row"
    with pytest.raises(DataError, match=f"the Table, row 21: {why}"):
        list(open_stream(table).batches())
    X, _, _ = open_stream(table, on_bad_line="skip").to_csr()
    assert X.toarray().tolist() == [[0, 1]] * 49


def test_a_wide_csv_is_read_in_larger_blocks(tmp_path, monkeypatch):
    """Each column of a block has its own cost; the rows are those of small blocks."""
    monkeypatch.setattr(layout, "BLOCK", 2_000)
    lines = [",".join(["label", *(f"c{k}" for k in range(6_000))])]
    lines += [",".join(map(str, [row % 2, *((row * k) % 7 for k in range(6_000))])) for row in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    batches = list(open_stream(tmp_path / "a.csv", threads=1).batches())
    monkeypatch.setattr(layout, "_MANY_COLUMNS", 10**9)
    small = list(open_stream(tmp_path / "a.csv", threads=1).batches())
    assert len(small) > len(batches)
    for part in ("data", "indices", "labels"):
        whole, pieces = (np.concatenate([getattr(each, part) for each in found]) for found in (batches, small))
        assert np.array_equal(whole, pieces)
