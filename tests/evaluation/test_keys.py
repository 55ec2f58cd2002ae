"""Predictions and selected columns can be joined to their rows: the key, or VW's tags, are copied beside them."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from thresher import ShadowSOFS, open_stream, train, write_predictions, write_selected
from thresher.streams import DataError
from thresher.streams.formats import layout, text

N = 60


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3)).astype(np.float32)
    return pd.DataFrame({"no": rng.permutation(N), "id": [f"0{k}é" for k in range(N)],
                         "label": (x[:, 0] > 0).astype(int), "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})  # fmt: skip


def files(frame, folder):
    """Write the same rows in each format."""
    frame.to_csv(folder / "a.csv", index=False)
    (folder / "b.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    frame.to_csv(folder / "c.csv", index=False, encoding="utf-16")
    frame.to_json(folder / "a.jsonl", orient="records", lines=True, force_ascii=False)
    pyarrow.parquet.write_table(pa.table(frame), folder / "a.parquet", row_group_size=7)
    pyarrow.feather.write_feather(frame, folder / "a.arrow")
    return [folder / name for name in ("a.csv", "b.csv.gz", "c.csv", "a.jsonl", "a.parquet", "a.arrow")]


@pytest.fixture(params=[50, 1 << 20])
def block(request, monkeypatch):
    """Cut text into small blocks, too: a line belongs to the block in which it begins."""
    monkeypatch.setattr(text, "BLOCK", request.param)
    monkeypatch.setattr(layout, "BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("key", ["id", "no"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_key_of_every_row_of_every_format(frame, tmp_path, key, ending):
    paths = files(frame, tmp_path)
    model = ShadowSOFS(2)
    train(model, open_stream(paths[0], numeric=["a", "b", "c"]))
    read = {"csv": pd.read_csv, "jsonl": lambda path: pd.read_json(path, lines=True, dtype={"id": str}),
            "parquet": pd.read_parquet}[ending]  # fmt: skip
    for source in [*paths, frame, pl.from_pandas(frame)]:
        stream = open_stream(source, key=key, labelled=False, naming=model._fitted_model().naming)
        write_predictions(model, stream, tmp_path / f"out.{ending}", margins=True)
        found = read(tmp_path / f"out.{ending}")
        assert found.columns.tolist() == [key, "label", "margin"]
        assert found[key].astype(str).tolist() == frame[key].astype(str).tolist()
        if ending != "jsonl":
            write_selected(model, stream, tmp_path / f"small.{ending}")
            found = read(tmp_path / f"small.{ending}")
            assert found.columns.tolist() == [key, "label", "a", "b"]
            assert found[key].astype(str).tolist() == frame[key].astype(str).tolist()


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_key_keeps_its_type_from_parquet_to_parquet(frame, tmp_path, ending):
    files(frame, tmp_path)
    model = ShadowSOFS(2)
    train(model, open_stream(tmp_path / "a.csv", ignore=["id", "no"]))
    write_predictions(model, open_stream(tmp_path / f"a.{ending}", ignore=["id"], key="no"), tmp_path / "out.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert found.schema.field("no").type == pa.int64()
    joined = pd.DataFrame(found.to_pydict()).merge(frame, on="no")
    assert (joined["label_x"] == joined["label_y"]).mean() > 0.9


def test_bad_rows_have_no_key_in_the_output(frame, tmp_path):
    frame = frame.astype({"a": object})
    frame.loc[[3, 7], "a"] = "?"
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in frame.to_dict("records")))
    model = ShadowSOFS(2)
    for name in ("a.csv", "a.jsonl"):
        how = {"numeric": ["a", "b"], "scale": False, "on_bad_line": "skip"}
        train(model, open_stream(tmp_path / name, **how))
        write_predictions(model, open_stream(tmp_path / name, key="id", **how), tmp_path / "out.csv")
        found = pd.read_csv(tmp_path / "out.csv", dtype=str)
        assert found["id"].tolist() == [f"0{k}é" for k in range(N) if k not in (3, 7)]


@pytest.mark.usefixtures("block")
def test_tags_of_vw(tmp_path):
    heads = ["1 'first|f", "-1 2.5 second|f", "1 |f", "'third |f", "fourth|f", "1|f"] * 20
    tags = ["first", "second", None, "third", "fourth", None] * 20
    lines = [f"{head} a:{k % 5} b\n" for k, head in enumerate(heads)]
    (tmp_path / "a.vw").write_text("".join(lines))
    (tmp_path / "train.vw").write_text("1 |f a\n-1 |f b\n")
    model = ShadowSOFS(2)
    train(model, tmp_path / "train.vw")
    write_predictions(model, tmp_path / "a.vw", tmp_path / "out.jsonl")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["tag"] for row in found] == tags
    write_predictions(model, tmp_path / "a.vw", tmp_path / "out.txt")
    assert [line.split("\t")[0] for line in (tmp_path / "out.txt").read_text().splitlines()] == [t or "" for t in tags]
    write_selected(model, tmp_path / "a.vw", tmp_path / "small.csv")
    assert [row.split(",")[0] for row in (tmp_path / "small.csv").read_text().splitlines()[1:]] == [
        t or "" for t in tags
    ]
    write_predictions(model, tmp_path / "train.vw", tmp_path / "out.txt")  # without tags, there is no column of them
    assert (tmp_path / "out.txt").read_text() == "1\n-1\n"


def test_a_key_that_is_not_there_or_something_else(frame, tmp_path):
    for path in files(frame, tmp_path):
        roles = {"numeric": ["a", "b"]}
        with pytest.raises(DataError, match=r"(no column 'ids' as the key|no key 'ids', the key, in the first rows); "
                           r"there are .*\. Did you mean 'id'\?"):  # fmt: skip
            open_stream(path, key="ids", **roles)
        with pytest.raises(ValueError, match="column 'a' can't be both key and numeric: give it one role"):
            open_stream(path, key="a", **roles)
        with pytest.raises(DataError, match="column 'label' can't be both label and key"):
            open_stream(path, key="label", **roles)


def test_keys_of_several_types_are_no_column_of_parquet(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "x": 1, "label": 1}\n{"id": "one", "x": 2, "label": 0}\n')
    model = ShadowSOFS(2)
    train(model, open_stream(tmp_path / "a.jsonl", numeric="x"))
    with pytest.raises(DataError, match=r"column .id. are text: write a \.csv or \.jsonl file"):
        write_predictions(model, open_stream(tmp_path / "a.jsonl", numeric="x", key="id"), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
