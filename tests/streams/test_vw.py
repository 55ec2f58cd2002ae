"""Vowpal Wabbit text."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.streams import DataError, open_stream


def read(raw: str, tmp_path):
    path = tmp_path / "data.vw"
    path.write_text(raw)
    (batch,) = open_stream(path).batches()
    rows = [
        dict(zip(batch.indices[a:b].tolist(), batch.data[a:b].tolist(), strict=True))
        for a, b in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
    ]
    return batch.labels.tolist(), rows, batch.row_weights


@pytest.mark.parametrize(
    ("line", "label", "row"),
    [
        ("1 |f 1:0.5 3:2", 1.0, {1: 0.5, 3: 2.0}),
        ("-1 | 7 9:2", -1.0, {7: 1.0, 9: 2.0}),
        ("1 'tag|f 4", 1.0, {4: 1.0}),
        ("1 tag|f 4", 1.0, {4: 1.0}),
        ("1|f 4", 1.0, {4: 1.0}),
        ("1 |f:2.5 4 6:2", 1.0, {4: 2.5, 6: 5.0}),
        ("1 |f 4 |f 4:2", 1.0, {4: 3.0}),
        ("1 |f", 1.0, {}),
    ],
)
def test_line(tmp_path, line, label, row):
    assert read(line + "\n\n", tmp_path) == ([label], [row], None)


def test_byte_order_mark(tmp_path):
    assert read("\ufeff1 |f 4\n", tmp_path) == ([1.0], [{4: 1.0}], None)


def test_importance(tmp_path):
    labels, _, row_weights = read("1 2.5 'tag|f 1\n-1 |f 2\n1 0.5|f 3\n", tmp_path)
    assert labels == [1.0, -1.0, 1.0]
    np.testing.assert_array_equal(row_weights, [2.5, 1.0, 1.0])  # 0.5 touches the bar: it is a tag


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 |f 3:x", "line 2: '3:x': the value must be a finite number"),
        ("1 |f 3:nan", "line 2: '3:nan': the value must be a finite number"),
        ("|f 3", "line 2: the line starts with '|f': a label must come first"),
        ("nan |f 3", "line 2: 'nan': the label must be a finite number"),
        ("-inf|f 3", "line 2: '-inf': the label must be a finite number"),
        ("1e999 |f 3", "line 2: '1e999': the label must be a finite number"),
        ("nancy |f 3", "line 2: the line starts with 'nancy': a label must come first"),
        ("1 3:4", "line 2: there is no '|' before the features"),
        ("1 -2 |f 3", "line 2: '-2': an importance must not be negative"),
    ],
)
def test_bad_line(tmp_path, line, message):
    with pytest.raises(DataError) as error:
        read(f"1 |f 1\n{line}\n", tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize("digits", ["7" * 5_000, "0" * 5_000])
def test_a_name_of_more_digits_than_python_converts(tmp_path, digits):
    (tmp_path / "data.vw").write_text(f"1 | {digits}:2 3\n")
    (batch,) = open_stream(tmp_path / "data.vw").batches()
    assert sorted(batch.data.tolist()) == [1.0, 2.0]
