"""Single cells: files that AnnData wrote, with every way in which it stores a matrix and a column."""

from __future__ import annotations

import importlib.util
import os
from itertools import chain
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import ShadowSOFS, evaluate, open_stream, train, write_predictions
from thresher.streams import DataError, record_batches


class Cells:
    """Cells that are written as AnnData 0.8 and later does: its own package would hold back that of pandas."""

    def __init__(self, X, **obs):
        self.X, self.layers, self.raw = X, {}, None
        self.obs = {name: pd.Series(column).array for name, column in obs.items()}

    def write_h5ad(self, path):
        with h5py.File(path, "w") as file:
            write_matrix(file, "X", self.X)
            for name, layer in self.layers.items():
                write_matrix(file, f"layers/{name}", layer)
            if self.raw is not None:
                write_matrix(file, "raw/X", self.raw)
                write_index(file.create_group("raw/var"), "gene", self.raw.shape[1])
            obs = write_index(file.create_group("obs"), "cell", self.X.shape[0])
            write_index(file.create_group("var"), "gene", self.X.shape[1])
            for name, column in self.obs.items():
                write_column(obs, name, column)


def write_matrix(file, place, X):
    if not sp.issparse(X):
        file[place] = X
        file[place].attrs["encoding-type"] = "array"
        return
    group = file.create_group(place)
    group.attrs.update({"encoding-type": f"{X.format}_matrix", "shape": X.shape})
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(X, part)


def write_index(group, prefix, n):
    group.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
    group["_index"] = [f"{prefix}{k}" for k in range(n)]
    return group


def write_column(obs, name, column):
    if isinstance(column.dtype, pd.CategoricalDtype):
        group = obs.create_group(name)
        group.attrs["encoding-type"] = "categorical"
        group["codes"] = column.codes
        group["categories"] = column.categories.tolist()
    elif column.dtype == "Int64":
        group = obs.create_group(name)
        group.attrs["encoding-type"] = "nullable-integer"
        group["values"], group["mask"] = column.fillna(0).to_numpy(np.int64), column.isna()
    else:
        values = np.asarray(column)
        obs[name] = values if values.dtype.kind in "biuf" else values.tolist()


def matrix(rows=40, columns=7, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.poisson(0.7, (rows, columns)) / 4).astype(np.float32)


def read(path, **options):
    X, y, weights = open_stream(path, **options).to_csr()
    return X.toarray(), y.tolist(), weights


@settings(max_examples=30)
@given(
    st.integers(1, 30),
    st.integers(1, 8),
    st.sampled_from(["csr", "csr_array", "dense", "unsorted", "zeros"]),
    st.sampled_from([np.float32, np.float64, np.int64, np.uint16]),
    st.sampled_from([1, 7, 16_384]),
)
def test_every_way_to_store_a_matrix_gives_the_same_rows(tmp_path_factory, n_rows, n_columns, how, kind, step):
    path = tmp_path_factory.mktemp("h5ad") / "a.h5ad"
    dense = np.random.default_rng(n_rows).poisson(0.7, (n_rows, n_columns)).astype(kind)
    stored = {"dense": dense, "csr_array": sp.csr_array(dense)}.get(how, sp.csr_matrix(dense))
    if how == "unsorted":
        order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(stored.indptr, stored.indptr[1:], strict=False)])
        stored = sp.csr_matrix((stored.data[order], stored.indices[order], stored.indptr), shape=dense.shape)
    if how == "zeros":
        stored = sp.csr_matrix((dense.ravel(), np.tile(np.arange(n_columns), n_rows),
                                np.arange(n_rows + 1) * n_columns), shape=dense.shape)  # fmt: skip
    Cells(stored, label=["a", "b"] * (n_rows // 2) + ["a"] * (n_rows % 2)).write_h5ad(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_batches, "_BATCH_ROWS", step)
        stream = open_stream(path)
        batches = list(stream.batches())
        assert np.array_equal(stream.to_csr()[0].toarray(), dense)
        assert all((batch.data != 0).all() for batch in batches)
        for k in range(4):  # shards, and what follows a position
            done = sum(batch.n_rows for batch in batches[: k + 1])
            if k < len(batches):
                rest = [batch.labels.tolist() for batch in stream.batches(start=batches[k].end)]
                assert [*chain.from_iterable(rest)] == stream.to_csr()[1][done:].tolist()
        parts = [batch.labels.tolist() for k in range(3) for batch in stream.shard(k, 3).batches()]
        assert [*chain.from_iterable(parts)] == stream.to_csr()[1].tolist()


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pd.Categorical(["T", "B", "T", "B"]), ["T", "B", "T", "B"]),
        (pd.Categorical([3, 1, 3, 1]), [3.0, 1.0, 3.0, 1.0]),
        (["T", "B", "T", "B"], ["T", "B", "T", "B"]),
        ([1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0]),
        ([True, False, True, False], [1.0, 0.0, 1.0, 0.0]),
        (pd.array([1, 0, 1, 0], dtype="Int64"), [1.0, 0.0, 1.0, 0.0]),
        ([0.5, 1.5, 0.5, 1.5], [0.5, 1.5, 0.5, 1.5]),
    ],
)
def test_every_type_of_label(tmp_path, column, labels):
    Cells(sp.csr_matrix(matrix(4)), kind=column).write_h5ad(tmp_path / "a.h5ad")
    assert read(tmp_path / "a.h5ad", label="kind")[1] == labels


@pytest.mark.parametrize(
    "column",
    [pd.Categorical(["T", None, "T", "B"]), pd.array([1, None, 1, 0], dtype="Int64"), [1.0, np.nan, 1.0, 0.0],
     pd.Categorical(["T", "  ", "T", "B"])],
)  # fmt: skip
def test_a_missing_label_is_a_bad_row_or_none_to_predict(tmp_path, column):
    path = tmp_path / "a.h5ad"
    Cells(sp.csr_matrix(matrix(4)), label=column).write_h5ad(path)
    with pytest.raises(DataError, match=r"a.h5ad, row 2: the label is missing."):
        read(path)
    X, y, _ = read(path, on_bad_line="skip")
    assert np.array_equal(X, matrix(4)[[0, 2, 3]])
    assert len(y) == 3
    assert read(path, labelled=False)[1][1] in ("", pytest.approx(np.nan, nan_ok=True))
    assert np.isnan(read(path, no_labels=True)[1]).all()


def test_layers_and_the_raw_matrix(tmp_path):
    data = Cells(sp.csr_matrix(matrix(seed=1)[:, :4]), label=[0, 1] * 20)
    data.layers["counts"] = sp.csr_matrix(matrix(seed=2)[:, :4])
    data.raw = sp.csr_matrix(matrix(seed=1))
    data.write_h5ad(tmp_path / "a.h5ad")
    assert np.array_equal(read(tmp_path / "a.h5ad")[0], matrix(seed=1)[:, :4])
    assert np.array_equal(read(tmp_path / "a.h5ad", layer="counts")[0], matrix(seed=2)[:, :4])
    assert np.array_equal(read(tmp_path / "a.h5ad", layer="raw")[0], matrix(seed=1))


def test_a_model_knows_genes_by_name_and_predictions_the_cells(tmp_path):
    X = matrix(600)
    label = np.where(X[:, 2] > X[:, 5], "T", "B")
    how = {"label": label, "donor": ["d1", "d2"] * 300, "w": np.linspace(0.1, 1, 600)}
    Cells(sp.csr_matrix(X), **how).write_h5ad(tmp_path / "a.h5ad")
    Cells(X, **how).write_h5ad(tmp_path / "b.h5ad")
    models = []
    for name in "ab":
        models.append(ShadowSOFS(2))
        train(models[-1], open_stream(tmp_path / f"{name}.h5ad", weight="w"))
    assert np.array_equal(models[0].coef_.toarray(), models[1].coef_.toarray())
    assert set(models[0].selected_names_) == {"gene2", "gene5"}
    assert evaluate(models[0], tmp_path / "b.h5ad").accuracy > 0.8
    for key, names in (("index", [f"cell{k}" for k in range(600)]), ("donor", ["d1", "d2"] * 300)):
        write_predictions(models[0], open_stream(tmp_path / "b.h5ad", key=key), tmp_path / "out.csv")
        assert pd.read_csv(tmp_path / "out.csv")[key].tolist() == names


def test_two_files_must_have_the_same_genes(tmp_path):
    Cells(sp.csr_matrix(matrix()), label=[0, 1] * 20).write_h5ad(tmp_path / "a.h5ad")
    Cells(sp.csr_matrix(matrix()), label=[0, 1] * 20).write_h5ad(tmp_path / "b.h5ad")
    assert np.array_equal(read([tmp_path / "a.h5ad", tmp_path / "b.h5ad"])[0], np.tile(matrix(), (2, 1)))
    Cells(sp.csr_matrix(matrix(columns=6)), label=[0, 1] * 20).write_h5ad(tmp_path / "b.h5ad")
    with pytest.raises(DataError, match=r"b.h5ad: its genes \(var\) are not those of the first file"):
        read([tmp_path / "a.h5ad", tmp_path / "b.h5ad"])


class TestBadFiles:
    @pytest.fixture
    def path(self, tmp_path):
        Cells(sp.csr_matrix(matrix()), label=[0, 1] * 20, kind=["a", "b"] * 20).write_h5ad(tmp_path / "a.h5ad")
        return tmp_path / "a.h5ad"

    def refused(self, path, **options):
        with pytest.raises((DataError, ValueError)) as error:
            list(open_stream(path, **options).batches())
        assert str(error.value).startswith(str(path))
        assert "\n" not in str(error.value)
        return str(error.value).removeprefix(str(path))

    def test_what_is_not_there(self, path):
        there = "of obs, as the {}; there are kind, label."
        assert self.refused(path, label="knd") == (
            f": there is no column 'knd' {there.format('label')} Did you mean 'kind'?"
        )
        assert self.refused(path, weight="x").startswith(f": there is no column 'x' {there.format('weight')}")
        assert self.refused(path, key="x").startswith(f": there is no column 'x' {there.format('key')}")
        assert self.refused(path, layer="counts") == ": there is no layer 'counts'; it has none."
        with h5py.File(path, "a") as file:
            file.move("X", "layers/counts")
        assert self.refused(path) == ": there is no X in the file: name a layer with layer=: counts."
        assert (
            self.refused(path, layer="count") == ": there is no layer 'count'; there are counts. Did you mean 'counts'?"
        )
        with h5py.File(path, "a") as file:
            del file["obs"]
        assert self.refused(path) == ": it has no obs and var, so it is not an h5ad file: write it with AnnData."

    def test_columns_first(self, tmp_path):
        Cells(sp.csc_matrix(matrix()), label=[0, 1] * 20).write_h5ad(tmp_path / "a.h5ad")
        assert self.refused(tmp_path / "a.h5ad").startswith(
            ": X is stored as csc_matrix, which can't be read row by row"
        )

    def test_values_and_weights(self, tmp_path):
        X = matrix()
        X[3, 2] = np.inf
        Cells(sp.csr_matrix(X), label=[0, 1] * 20, w=[-1.0, *[1.0] * 39]).write_h5ad(tmp_path / "a.h5ad")
        assert self.refused(tmp_path / "a.h5ad") == ", row 4: gene 'gene2' is inf; values must be finite."
        assert self.refused(tmp_path / "a.h5ad", weight="w") == (
            ", row 1: the weight is -1.0; it must be finite and not negative."
        )
        stream = open_stream(tmp_path / "a.h5ad", weight="w", on_bad_line="skip")
        assert np.array_equal(stream.to_csr()[0].toarray(), X[[1, 2, *range(4, 40)]])

    @pytest.mark.parametrize("wrong", [7, -1, 2**31 - 1])
    def test_damaged_indices_and_offsets(self, path, wrong):
        with h5py.File(path, "a") as file:
            file["X/indices"][5] = wrong
        assert "the data are damaged (an index of X is out of range)" in self.refused(path)
        with h5py.File(path, "a") as file:
            file["X/indptr"][3] = 10**9
        assert "it can't be read as h5ad (the offsets of X do not rise)" in self.refused(path)

    def test_a_truncated_file(self, path):
        path.write_bytes(path.read_bytes()[:3000])
        assert self.refused(path).startswith(": it can't be read as h5ad (")

    def test_a_packed_file(self, path):
        import gzip

        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        assert self.refused(Path(f"{path}.gz")) == ": h5ad data must be an uncompressed file on disk."


def test_what_anndata_itself_writes(tmp_path):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"kind": pd.Categorical(["T", None, "B"] * 10), "n": pd.array([1, 2, None] * 10, dtype="Int64")})
    obs.index = [f"cell{k}" for k in range(30)]
    data = anndata.AnnData(sp.csr_matrix(matrix(30)), obs=obs, layers={"dense": matrix(30, seed=1)})
    data.write_h5ad(tmp_path / "a.h5ad", compression="gzip")
    X, y, _ = read(tmp_path / "a.h5ad", label="kind", labelled=False, key="n")
    assert np.array_equal(X, matrix(30))
    assert y == ["T", "", "B"] * 10
    assert np.array_equal(read(tmp_path / "a.h5ad", label="kind", labelled=False, layer="dense")[0], matrix(30, seed=1))


def pbmc() -> Path:
    """Return the file that scanpy carries, written by AnnData 0.6."""
    spec = importlib.util.find_spec("scanpy")
    folder = Path(spec.origin).parent / "datasets" if spec else Path(os.environ.get("THRESHER_DATA", "."))
    path = folder / "10x_pbmc68k_reduced.h5ad"
    return path if path.exists() else pytest.skip(f"{path.name} is not there: it comes with scanpy")


def test_blood_cells_in_the_oldest_layout():
    X, y, _ = open_stream(pbmc(), label="bulk_labels", layer="raw").to_csr()
    assert X.shape == (700, 765)
    assert X.nnz == 174_400
    assert (y == "Dendritic").sum() == 240
    dense = open_stream(pbmc(), label="louvain")
    assert dense.to_csr()[0].shape == (700, 765)
    assert set(dense.to_csr()[1].tolist()) == {str(k) for k in range(11)}
    assert dense.feature_names[:2] == ["HES4", "TNFRSF4"]
