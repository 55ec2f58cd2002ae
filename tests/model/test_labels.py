"""Whole numbers that float64 can't tell apart, as labels: every format and every step keeps them exactly."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from command_line import thresher
from hypothesis import given
from hypothesis import strategies as st

from thresher import MRMR, ShadowSOFS, convert, cross_validate, distributed, evaluate, load, open_stream, save, train
from thresher.evaluation.prediction import write_predictions
from thresher.evaluation.transform import write_selected
from thresher.model.labels import concatenate_labels, label_text, labels_from_values, number_from_text
from thresher.model.targets import StreamClasses
from thresher.streams import DataError

LARGE = 2**53
# Neighbours, of which float64 makes one, or the next even number.
PAIRS = [
    (LARGE, LARGE + 1),
    (LARGE - 1, LARGE + 1),
    (0, LARGE + 1),
    (-LARGE - 1, -LARGE),
    (2**60, 2**60 + 1),
    (2**63 - 2, 2**63 - 1),
    (-(2**63), -(2**63) + 1),
    (2**63 - 1, 2**63),
    (2**64 - 2, 2**64 - 1),
    (0, 2**64 - 1),
]


def of_64_bits(labels):
    return np.array(labels, np.int64 if max(labels) < 2**63 else np.uint64)


def rows_of(labels):
    """Return X: a column for each label."""
    return sp.csr_matrix(np.unique(of_64_bits(labels))[None, :] == of_64_bits(labels)[:, None], dtype=np.float32)


def table_of(labels):
    X = rows_of(labels).toarray()
    return pa.table({"label": pa.array(of_64_bits(labels)), "a": X[:, 0], "b": X[:, 1]})


def as_svmlight(labels, folder):
    (folder / "rows.svm").write_text(
        "".join(f"{y} {k + 1}:1\n" for y, k in zip(labels, columns_of(labels), strict=True))
    )
    return folder / "rows.svm"


def as_vw(labels, folder):
    (folder / "rows.vw").write_text(
        "".join(f"{y} 1 'tag| {k + 1}:1\n" for y, k in zip(labels, columns_of(labels), strict=True))
    )
    return folder / "rows.vw"


def as_named_vw(labels, folder):
    (folder / "rows.vw").write_text(
        "".join(f"{y}|n word{k}\n" for y, k in zip(labels, columns_of(labels), strict=True))
    )
    return folder / "rows.vw"


def as_json(labels, folder):
    lines = (json.dumps({"label": y, "c": f"v{k}"}) for y, k in zip(labels, columns_of(labels), strict=True))
    (folder / "rows.jsonl").write_text("\n".join(lines))
    return open_stream(folder / "rows.jsonl", categorical="c")


def as_csv(labels, folder):
    table_of(labels).to_pandas().to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def as_parquet(labels, folder):
    pq.write_table(table_of(labels), folder / "rows.parquet")
    return folder / "rows.parquet"


def as_dictionary(labels, folder):
    table = table_of(labels)
    return table.set_column(0, "label", table.column("label").combine_chunks().dictionary_encode())


def as_cache(labels, folder):
    convert(as_svmlight(labels, folder), str(folder / "rows.thc"))
    return folder / "rows.thc"


def as_written_again(labels, folder):
    convert(as_parquet(labels, folder), str(folder / "again.svm"))
    return folder / "again.svm"


SOURCES = {
    "svmlight": as_svmlight,
    "vw": as_vw,
    "named vw": as_named_vw,
    "json": as_json,
    "csv": as_csv,
    "parquet": as_parquet,
    "arrow": lambda labels, _: table_of(labels),
    "dictionary": as_dictionary,
    "pandas": lambda labels, _: table_of(labels).to_pandas(),
    "cache": as_cache,
    "svmlight that convert wrote": as_written_again,
    "matrix": lambda labels, _: (rows_of(labels), of_64_bits(labels)),
    "list": lambda labels, _: [(rows_of(labels), labels)],
    "batches": lambda labels, _: [(row, [y]) for row, y in zip(rows_of(labels), labels, strict=True)],
}


def columns_of(labels):
    return [sorted(set(labels)).index(label) for label in labels]


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]


class TestFromTrainingToPrediction:
    @pytest.mark.parametrize("pair", PAIRS)
    def test_every_format(self, source, pair, tmp_path):
        labels = [*pair, *pair[::-1]] * 10
        data = source(labels, tmp_path)
        model = ShadowSOFS(2, class_weight={pair[0]: 2.0, pair[1]: 3.0})
        train(model, data)
        save(model, tmp_path / "m.thresher")
        model = load(tmp_path / "m.thresher")
        assert model.classes_.tolist() == list(pair)
        found = evaluate(model, data)
        assert found.labels == list(found.per_class) == list(pair)
        assert found.confusion.tolist() == [[20, 0], [0, 20]]
        assert found.to_dict()["labels"] == [str(label) for label in pair]
        for name in ("p.txt", "p.csv", "p.parquet"):
            write_predictions(model, data, str(tmp_path / name))
        tags = ("tag\t", "tag,") if source is as_vw else ("", "")  # of VW text they are copied
        assert (tmp_path / "p.txt").read_text().splitlines() == [f"{tags[0]}{label}" for label in labels]
        head, *rows = (tmp_path / "p.csv").read_text().splitlines()
        assert (head, rows) == (f"{tags[1]}label", [f"{tags[1]}{label}" for label in labels])
        assert pq.read_table(tmp_path / "p.parquet").column("label").to_pylist() == labels

    def test_a_label_that_float64_would_take_for_a_class(self, source, tmp_path):
        model = ShadowSOFS(2)
        train(model, source([0, LARGE] * 20, tmp_path))
        with pytest.warns(UserWarning, match="20 of 40 rows have labels .9007199254740993. not among"):
            found = evaluate(model, source([0, LARGE + 1] * 20, tmp_path))
        assert found.labels == [0, LARGE, LARGE + 1]
        with pytest.raises(DataError, match="the label 9007199254740993 is not among the classes 0, 9007199254740992"):
            train(model, source([0, LARGE + 1] * 20, tmp_path))

    def test_every_way_of_reading(self, source, tmp_path):
        labels = [LARGE, LARGE + 1, LARGE + 2] * 20
        data = source(labels, tmp_path)
        for options in ({"multiclass": True}, {"multiclass": True, "shuffle": True}, {"classes": sorted(set(labels))}):
            model = ShadowSOFS(2)
            train(model, data, **options)
            assert model.classes_.tolist() == sorted(set(labels)), options
        batch = MRMR(2)
        train(batch, data, multiclass=True)
        assert batch.classes_.tolist() == sorted(set(labels))
        assert cross_validate(ShadowSOFS(2), data, folds=2, multiclass=True).evaluation.labels == sorted(set(labels))

    @pytest.mark.parametrize("ending", ["svm", "csv", "parquet", "thc"])
    @pytest.mark.parametrize("pair", PAIRS)
    def test_selected_features(self, pair, ending, tmp_path):
        model, data = ShadowSOFS(2), as_parquet([*pair] * 20, tmp_path)
        train(model, data)
        write_selected(model, data, str(tmp_path / f"selected.{ending}"))
        assert [y for _, ys in open_stream(tmp_path / f"selected.{ending}") for y in ys.tolist()] == [*pair] * 20

    @pytest.mark.parametrize("pair", PAIRS)
    def test_shards_and_checkpoints(self, pair, tmp_path):
        data = as_svmlight([*pair, *pair[::-1]] * 2_000, tmp_path)
        model = ShadowSOFS(2)
        distributed.train(model, data, n_shards=3, engine="local", workers=1)
        assert model.classes_.tolist() == list(pair)
        for resume in (False, True):
            model = ShadowSOFS(2)
            train(model, data, passes=2, checkpoint=tmp_path / "c", every="100", resume=resume)
            assert model.classes_.tolist() == list(pair)

    @pytest.mark.parametrize("pair", PAIRS)
    def test_the_command_line(self, pair, tmp_path):
        data, names = as_csv([*pair] * 20, tmp_path), ",".join(map(str, pair))
        weights = f"{pair[0]}=1,{pair[1]}=2"
        for extra in ([], ["--classes", names]):
            model = tmp_path / "m.thresher"
            done = thresher("train", data, "-o", model, "-k", 2, "--class-weight", weights, "--json", *extra)
            assert json.loads(done.stdout)["classes"] == [str(label) for label in pair]
        done = thresher("predict", model, data)
        assert done.stdout.split() == [str(label) for label in pair] * 20


class TestTypes:
    """float64, or whole numbers of 64 bits where float64 is not exact, or text where these are not either."""

    @pytest.mark.filterwarnings("ignore:.*the rows are grouped by label")
    @pytest.mark.parametrize("first", ["0", "1.0", str(LARGE - 1)])
    def test_do_not_depend_on_where_the_rows_are_cut(self, first, tmp_path):
        """A megabyte of text without a large label comes before them, or after."""
        small, large = (f"{label} {k}:1 #{'-' * 200}\n" * 8_000 for label, k in ((first, 1), (LARGE + 1, 2)))
        classes = [int(float(first)), LARGE + 1]
        for text in (small + large, large + small):
            (tmp_path / "rows.svm").write_text(text)
            stream = open_stream(tmp_path / "rows.svm")
            assert {y.dtype.kind for _, y in stream} == {"f", "i"}
            assert set(stream.to_csr()[1].tolist()) == set(classes)
            for options in ({}, {"multiclass": True}, {"shuffle": True}):
                model = ShadowSOFS(2)
                train(model, stream, **options)
                assert model.classes_.dtype == np.int64
                assert model.classes_.tolist() == classes

    @pytest.mark.parametrize("name", SOURCES)
    def test_of_ordinary_labels_are_float64(self, name, tmp_path):
        """But for those of matrices, which have a type."""
        data = SOURCES[name]([0, LARGE - 1] * 5, tmp_path)
        stream = data if name == "json" else open_stream(data)
        assert {y.dtype for _, y in stream} == {np.dtype(int if name in ("matrix", "list", "batches") else float)}

    @pytest.mark.parametrize("source", [as_svmlight, as_json])
    @pytest.mark.parametrize(
        "labels", [[0.5, LARGE + 1], ["a", LARGE + 1], [-1, 2**63], [10**20, 10**20 + 1], [LARGE, 10**300]]
    )
    def test_text_where_no_number_is_exact(self, source, labels, tmp_path):
        model = ShadowSOFS(2)
        if source is as_json:
            rows = [{"label": label, "c": str(label)} for label in labels * 20]
            (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
            data = open_stream(tmp_path / "rows.jsonl", categorical="c")
        else:
            rows = zip(labels * 20, [1, 2] * 20, strict=True)
            (tmp_path / "rows.svm").write_text("".join(f"{label} {k}:1\n" for label, k in rows))
            data = tmp_path / "rows.svm"
        train(model, data)
        assert model.classes_.tolist() == sorted(map(str, labels))
        assert evaluate(model, data).accuracy == 1.0

    def test_ways_to_write_one_label(self, tmp_path):
        ways = [
            "9007199254740993",
            "+9007199254740993",
            "009007199254740993",
            "9007199254740993.",
            "9007199254740993.00",
        ]
        ways.append("0" * 5_000 + "9007199254740993")
        for name, line in (("a.svm", "{} 1:1\n"), ("a.vw", "{} | 1:1\n"), ("a.csv", "{},1\n")):
            (tmp_path / name).write_text("label,x\n" * (name == "a.csv") + "".join(map(line.format, ways)))
            (labels,) = (y for _, y in open_stream(tmp_path / name))
            assert labels.tolist() == [LARGE + 1] * len(ways), name

    def test_text_of_digits_stays_text(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"label": "9007199254740993", "c": "x"}\n' * 3)
        (labels,) = (y for _, y in open_stream(tmp_path / "a.jsonl", categorical="c"))
        assert labels.tolist() == ["9007199254740993"] * 3
        (tmp_path / "a.svm").write_text("9007199254740993x 1:1\n")
        (labels,) = (y for _, y in open_stream(tmp_path / "a.svm"))
        assert labels.tolist() == ["9007199254740993x"]

    def test_float64_where_the_data_say_so(self):
        """An exponent, and columns of float64, are rounded by whoever wrote them."""
        table = pa.table({"label": [0.0, 2.0**60, 1e300], "x": [1.0, 2.0, 3.0]})
        (labels,) = (y for _, y in open_stream(table))
        assert labels.dtype == np.float64
        assert number_from_text("1e17") == 1e17
        assert isinstance(number_from_text("1e17"), float)


class TestTables:
    def test_missing_labels_beside_large_ones(self, tmp_path):
        table = pa.table({"label": pa.array([LARGE + 1, None, 0], pa.int64()), "x": [1.0, 2.0, 3.0]})
        pq.write_table(table, tmp_path / "a.parquet")
        (tmp_path / "a.csv").write_text(f"label,x\n{LARGE + 1},1\n,2\n0,3\n")
        for name in ("a.parquet", "a.csv"):
            (labels,) = (y for _, y in open_stream(tmp_path / name, on_bad_line="skip"))
            assert labels.tolist() == [LARGE + 1, 0]
            with pytest.raises(DataError, match=f"{name}, row 2: the label is missing"):
                list(open_stream(tmp_path / name))
            (labels,) = (y for _, y in open_stream(tmp_path / name, labelled=False))
            assert labels.tolist() == ["9007199254740993", "", "0"]

    def test_selected_features_of_rows_without_labels(self, tmp_path):
        model, data = ShadowSOFS(2), table_of([0, LARGE + 1] * 20)
        train(model, data)
        new = pa.table({"label": pa.array([LARGE + 1, None], pa.int64()), "a": [0.0, 1.0], "b": [1.0, 0.0]})
        write_selected(model, open_stream(new, labelled=False), str(tmp_path / "a.parquet"))
        assert pq.read_table(tmp_path / "a.parquet").column("label").to_pylist() == [LARGE + 1, None]

    def test_bad_rows_of_csv(self, tmp_path):
        (tmp_path / "a.csv").write_text(
            f"label,x\n{LARGE + 1},1\ninf,2\n{LARGE},x\n{LARGE},3\n{LARGE + 3},4,5\n{LARGE + 3},5\n"
        )
        stream = open_stream(tmp_path / "a.csv", on_bad_line="skip", numeric="x")
        (batch,) = stream.batches()
        assert batch.labels.tolist() == [LARGE + 1, LARGE, LARGE + 3]
        places = [text.partition(": ")[0] for text in batch.skipped]
        assert places == [f"{tmp_path / 'a.csv'}, row {row}" for row in (2, 3, 5)]
        (tmp_path / "a.csv").write_text(f"label,x\n{LARGE + 1},1\ninf,2\n")
        with pytest.raises(DataError, match=r"a\.csv, row 2: the label is inf; it must be a finite number, or text"):
            list(open_stream(tmp_path / "a.csv"))


class TestLabelsOfMatrices:
    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize("as_y", [of_64_bits, list, lambda y: pd.Series(of_64_bits(y))])
    def test_fit_and_partial_fit(self, pair, as_y):
        labels = [*pair] * 20
        X, y = rows_of(labels), as_y(labels)
        for model in (
            ShadowSOFS(2, class_weight={pair[1]: 2.0}).fit(X, y),
            ShadowSOFS(2).partial_fit(X, y, classes=[*pair]),
            ShadowSOFS(2).partial_fit(X[:1], y[:1], classes=[*pair]).partial_fit(X[1:], y[1:], classes=[*pair]),
        ):
            assert model.classes_.tolist() == list(pair)
            assert model.predict(X).tolist() == labels
            assert model.score(X, y) == 1.0

    def test_whole_numbers_and_float64_are_compared_exactly(self):
        X = rows_of([0, 1] * 10)
        model = ShadowSOFS(2).partial_fit(X, [0, LARGE + 1] * 10, classes=[0, LARGE + 1])
        with pytest.raises(ValueError, match=r"y\[1\] is 9007199254740992.0, which is not in classes"):
            model.partial_fit(X, np.array([0.0, LARGE] * 10))
        with pytest.raises(ValueError, match="differ from the classes"):
            model.partial_fit(X, [0, LARGE + 1] * 10, classes=[0.0, float(LARGE)])

    @pytest.mark.parametrize("pair", [(0.5, LARGE + 1), (-1, 2**63), (0, 2**64)])
    def test_what_no_type_holds_is_refused(self, pair):
        X, y = rows_of([0, 1] * 10), [*pair] * 10
        for call in (
            lambda: ShadowSOFS(2).fit(X, y),
            lambda: ShadowSOFS(2).partial_fit(X, [0, 1] * 10, classes=[*pair]),
            lambda: train(ShadowSOFS(2), (X, y)),
            lambda: train(ShadowSOFS(2), (X, [0, 1] * 10), classes=[*pair]),
        ):
            with pytest.raises(ValueError, match=f"the label {pair[1]} has more than 53 bits.*: use text"):
                call()

    def test_class_weight_tells_neighbours_apart(self):
        labels = [LARGE, LARGE + 1] * 10
        X, y = rows_of(labels), of_64_bits(labels)
        both = ShadowSOFS(2, class_weight={LARGE: 1.0, np.int64(LARGE + 1): 5.0}).fit(X, y)
        assert both.class_weight[LARGE + 1] == 5.0
        with pytest.raises(ValueError, match="class_weight names class 9007199254740994, which is not among"):
            ShadowSOFS(2, class_weight={LARGE + 2: 1.0}).fit(X, y)


WHOLE = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.sampled_from([n + k for n in (0, LARGE, -LARGE, 2**63) for k in (-1, 0, 1)])
)


class TestValues:
    @given(st.one_of(WHOLE, st.floats(allow_nan=False, allow_infinity=False)))
    def test_what_is_shown_is_read_back(self, label):
        assert number_from_text(label_text(label)) == label

    @given(WHOLE, WHOLE)
    def test_two_labels_have_one_text_only_if_they_are_equal(self, one, other):
        assert (label_text(one) == label_text(other)) == (one == other)
        assert label_text(float(one)) == str(int(float(one))) or abs(float(one)) >= 2**64

    @given(st.lists(st.lists(st.one_of(WHOLE, st.sampled_from([0.0, 0.5, 2.0**60])), max_size=4), max_size=4))
    def test_parts_put_together_keep_their_values(self, parts):
        each = [label_text(label) for part in parts for label in part]
        assert [
            label_text(label) for label in concatenate_labels([labels_from_values(part) for part in parts]).tolist()
        ] == each

    @given(st.lists(st.one_of(WHOLE, st.sampled_from([0.0, 0.5, 2.0**60])), min_size=2, max_size=12))
    def test_codes_of_a_stream_in_any_batches(self, labels):
        known = [labels[0], next((label for label in labels if label != labels[0]), labels[0] + 1)]
        rows = [label for label in labels if label in known] + known
        for step in (1, 2, len(rows)):
            classes = StreamClasses()
            batches = [labels_from_values(rows[at : at + step]) for at in range(0, len(rows), step)]
            codes = np.concatenate([classes.encode(batch) for batch in batches])
            assert len(set(codes.tolist())) == 2
            target, swapped = classes.final()
            found = target.labels.tolist()
            assert set(map(label_text, found)) == set(map(label_text, known))
            places = [found.index(label) if label in found else found.index(label_text(label)) for label in rows]
            assert (1 - codes if swapped else codes).tolist() == places
