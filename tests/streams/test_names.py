"""Features with names: hashed as they are read, and known by name while they are selected."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import json
import pickle
import re
import threading
import unicodedata
import warnings

import naming_oracles as oracle
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from command_line import in_a_process, thresher
from every import online
from hypothesis import example, given
from hypothesis import strategies as st
from real_data import path_of
from states import model_of

from thresher import (
    MRMR,
    ShadowSOFS,
    _core,
    convert,
    cross_validate,
    distributed,
    evaluate,
    load,
    open_stream,
    save,
    train,
)
from thresher.batch import NO_NAME, BatchNames
from thresher.evaluation.transform import write_selected
from thresher.model.model import Model
from thresher.model.names import MemberNames, Naming, ngram_range
from thresher.model.session import Session
from thresher.streams import DataError
from thresher.streams.shuffling import shuffle_stream
from thresher.training.column_scale import large_columns

# Characters that every version of the Unicode database knows.
LETTERS = st.characters(exclude_categories=["Cs"]).filter(lambda letter: unicodedata.ucd_3_2_0.category(letter) != "Cn")
TEXTS = st.text(st.one_of(LETTERS, st.sampled_from("aAbB1_ \t\n.,'éÉΣßİ字"), st.sampled_from("ab ")), max_size=60)


def names_in(rows: _core.FoundRows) -> list[str]:
    """Return the name of each value of the rows, as its mark says."""
    assert rows.marks is not None
    raw = rows.text.tobytes()
    whole = []
    for mark in rows.marks.tolist():
        begin, length, prefix = mark >> 32, mark >> 16 & 0xFFFF, mark & 0xFFFF
        whole.append(rows.prefixes[prefix] + raw[begin : begin + length].decode())
    return whole


class TestHash:
    @given(st.text(max_size=40))
    @example("")
    @example("12345678")
    @example("1234567890123456")
    def test_is_the_one_defined(self, name):
        (id_,) = _core.name_ids([name]).tolist()
        assert id_ == oracle.name_id(name)
        assert 0 <= id_ < 2**62

    def test_stays_as_it_is(self):
        assert _core.name_ids(["free"]).tolist() == [1000218220684305266]  # as model files have it

    def test_a_million_names_do_not_clash(self):
        names = [f"user={k}" for k in range(500_000)] + [f"{k:x}" for k in range(500_000)]
        ids = _core.name_ids(names)
        assert len(np.unique(ids)) == len(names)
        # All bits are used: a bucket of the highest or lowest ten bits has 977 names on average.
        for bits in (ids >> 52, ids & 1023):
            counts = np.bincount(bits, minlength=1024)
            assert 977 - 8 * 31 < counts.min() <= counts.max() < 977 + 8 * 31


class TestTokens:
    @given(
        st.lists(TEXTS, max_size=5), st.integers(1, 3), st.integers(0, 3), st.sampled_from(["word", "char"]),
        st.booleans(), st.booleans(),
    )  # fmt: skip
    def test_rows_are_the_naive_ones(self, texts, least, more, analyzer, counts, lowercase):
        naming = Naming.of("t", ngrams=(least, least + more), analyzer=analyzer, counts=counts, lowercase=lowercase)
        rows = naming.core.read_strings(texts)
        expected = [oracle.text_features(text, least, least + more, analyzer, counts, lowercase) for text in texts]
        assert oracle.rows_of(rows.indptr, rows.indices, rows.data) == [oracle.as_row(row) for row in expected]
        assert sorted(names_in(rows)) == sorted(name for row in expected for name in row)

    @pytest.mark.slow
    @pytest.mark.skipif(
        unicodedata.unidata_version != _core.UNICODE_VERSION, reason="Python has another version of Unicode"
    )
    @pytest.mark.parametrize("analyzer", ["word", "char"])
    def test_every_character(self, analyzer):
        letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
        naming = Naming.of("t", analyzer=analyzer, lowercase=True)
        rows = naming.core.read_strings(letters)
        of = oracle.words if analyzer == "word" else oracle.characters
        expected = [of(letter, True) for letter in letters]
        assert np.diff(rows.indptr).tolist() == [len(tokens) for tokens in expected]
        assert rows.indices.tolist() == _core.name_ids([token for tokens in expected for token in tokens]).tolist()

    def test_long_rows_are_sorted_and_counted_once(self):
        text = " ".join(f"w{k % 3_000}" for k in range(20_000))
        rows = Naming.of("t", ngrams=2, counts=True).core.read_strings([text, text])
        expected = oracle.as_row(oracle.text_features(text, 2, 2, "word", True, True))
        assert oracle.rows_of(rows.indptr, rows.indices, rows.data) == [expected, expected]

    @pytest.mark.parametrize("given_", [2, (2, 2), [2, 2], "2", "2-2"])
    def test_ngrams(self, given_):
        assert ngram_range(given_) == (2, 2)

    @pytest.mark.parametrize("given_", [0, (0, 1), (3, 2), (1, 2, 3), "a", "1-", "", None, 1.5, True, 1_001, ()])
    def test_ngrams_that_make_no_sense(self, given_):
        with pytest.raises(ValueError, match="ngrams must be a length or a range"):
            ngram_range(given_)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)
COLUMNS = Naming.of(["title", "body"], ["site"], ["price"], ngrams=(1, 2))


@st.composite
def records(draw: st.DrawFn) -> dict[str, object]:
    """Draw an object of JSON lines: features, of which each can be missing, and keys that nobody asked for."""
    row: dict[str, object] = {"label": draw(st.sampled_from([1, -1, 0.5, True]))}
    kinds = {
        "title": TEXTS, "body": st.one_of(TEXTS, st.lists(TEXTS, max_size=2)),
        "site": st.one_of(TEXTS, st.integers(-5, 5), st.booleans(), st.lists(st.sampled_from("abc"), max_size=3)),
        "price": st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6, width=32), st.booleans()),
        "extra": JSON_VALUES,
    }  # fmt: skip
    for name, values in kinds.items():
        if draw(st.booleans()):
            row[name] = draw(st.one_of(st.none(), values))
    return dict(draw(st.permutations(list(row.items()))))


def features_of(row: dict[str, object]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("title", "body"):
        value = row.get(name)
        for text in value if isinstance(value, list) else [value] if value is not None else []:
            for feature in oracle.text_features(text, 1, 2, "word", False, True):
                found[f"{name}^{feature}"] = 1.0
    site = row.get("site")
    for value in site if isinstance(site, list) else [site]:
        if value is not None and value != "":
            found[f"site={json.dumps(value) if isinstance(value, bool | int) else value}"] = 1.0
    price = row.get("price")
    if price is not None and float(price) != 0.0:
        found["price"] = float(np.float32(price))
    return found


class TestJsonLines:
    @given(st.lists(records(), min_size=1, max_size=6), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
    def test_rows_are_those_of_python(self, rows, is_ascii, end):
        text = end.join(json.dumps(row, ensure_ascii=is_ascii) for row in rows) + end
        found = COLUMNS.core.read_json(text.encode(), False, True, "label", "", "required")
        assert oracle.rows_of(found.indptr, found.indices, found.data) == [oracle.as_row(features_of(r)) for r in rows]
        assert found.labels.tolist() == [float(row["label"]) for row in rows]

    def test_any_cut_gives_the_same_rows(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps({"label": k % 2, "text": f"a{k} b c{k % 7}"}) + "\n" for k in range(300)))
        (whole,) = open_stream(path, text="text").batches()
        for n in (1, 2, 3, 7):
            parts = [batch for k in range(n) for batch in open_stream(path, text="text").shard(k, n).batches()]
            np.testing.assert_array_equal(np.concatenate([part.indices for part in parts]), whole.indices)
            np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), whole.labels)

    def test_labels_and_weights(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_text('{"y": "spam", "w": 2, "t": "a"}\n{"y": "ham", "w": 0.5, "t": "b"}\n{"y": "ham", "w": 1}\n')
        (batch,) = open_stream(path, label="y", weight="w", text="t").batches()
        assert batch.labels.tolist() == ["spam", "ham", "ham"]
        assert batch.row_weights.tolist() == [2.0, 0.5, 1.0]

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("[1, 2]", "the line is not a JSON object, but starts with '\\[1,': write one object per line"),
            ('"text"', "the line is not a JSON object"),
            ("label,text", "the line is not a JSON object, but starts with 'label,text'"),
            ('{"label": 1, "text": "a"', "not valid JSON at byte 25: a ',' or '}' must come here"),
            ('{"label": 1, "text": "a', "not valid JSON at byte 24: the string does not end"),
            ('{"label": 1 "text": "a"}', "not valid JSON at byte 13: a ',' or '}' must come here"),
            ('{"label": 1, "text": "a"} x', "not valid JSON at byte 27: there is more after the object"),
            ('{"label": 1, "text": "\\x"}', "an escape that is unknown or half a character"),
            ('{"label": 1, "text": "\\ud800"}', "an escape that is unknown or half a character"),
            ('{"label": 1, "text": 3}', "'text' is 3; it must be a string; numbers are numeric="),
            ('{"label": 1, "text": {"a": 1}}', "'text' is an object; it must be a string"),
            ('{"label": 1, "text": "a", "text": "b"}', "the key 'text' occurs twice"),
            ('{"text": "a"}', "the label, 'label', is missing"),
            ('{"label": null, "text": "a"}', "the label, 'label', is missing"),
            ('{"label": " ", "text": "a"}', "the label, 'label', is missing"),
            ('{"label": 1, "n": "x"}', "'n' is 'x'; it must be a number"),
            ('{"label": 1, "w": 1, "n": 1e300}', "column 'n' is 1e\\+300; it must be finite and fit a float32"),
            ('{"label": 1, "w": 1, "n": 1e999}', "'n' is '1e999'; it must be finite"),
            ('{"label": 1, "w": 1, "n": Infinity}', "'n' is 'Infinity'; it must be finite"),
            ('{"label": 1, "w": 1, "n": x}', "not valid JSON at byte 27: a value must come here"),
            *(
                (f'{{"label": 1, "w": 1, {key}: {number}}}', rf"at byte \d+: '{re.escape(number)}' is no JSON number")
                for key in ('"n"', '"c"', '"unread"')
                for number in ("01", "-01", "00", "+1", "1.", "-1.", ".5", "-.5", "01.5")
            ),
            ('{"label": 01, "w": 1}', "'01' is no JSON number: write 1 for 01, \\+1 or 1., and 0.5 for .5"),
            ('{"label": 1, "w": 1, "n": 1e}', "not valid JSON at byte 27: a value must come here"),
            ('{"label": 1, "w": 1, "unread": 1e+}', "not valid JSON at byte 32: a value must come here"),
            ('{"label": 1, "w": 1, "unread": -}', "not valid JSON at byte 32: a value must come here"),
            ('{"label": 1, "text": "a"}', "the weight, 'w', is missing"),
            ('{"label": 1, "w": -1}', "the weight is -1; it must not be negative"),
            ('{"label": 1, "other": ' + "[" * 300 + "]" * 300 + "}", "it is nested too deeply"),
            ('{"label": 1, "text": "' + "x" * 70_000 + '"}', "a name of 70000 bytes: names must not be longer"),
            (b'{"label": 1, "text": "\xff"}', "column 'text' is not UTF-8 text"),
            (b'{"label": 1, "c": "\xed\xa0\x80"}', "column 'c' is not UTF-8 text"),
            ('{"label": 1, "text": "a\0b"}', "not valid JSON at byte 24: the string does not end"),
            ('{"label": 1, "z": ' + "[" * 100_000, "it is nested too deeply"),
        ],
    )
    def test_bad_line(self, tmp_path, line, why):
        path = tmp_path / "a.jsonl"
        good = b'{"label": 1, "text": "a b", "n": 2, "c": "x", "w": 1}\n'
        path.write_bytes(good + (line if isinstance(line, bytes) else line.encode()) + b"\n" + good)
        roles = {"text": "text", "numeric": "n", "categorical": "c", "weight": "w"}
        with pytest.raises(DataError, match=f"a.jsonl, line 2: .*{why}"):
            list(open_stream(path, **roles).batches())
        (batch,) = open_stream(path, **roles, on_bad_line="skip").batches()
        assert (batch.n_rows, len(batch.skipped), batch.numbers.tolist()) == (2, 1, [0, 2])
        assert len(batch.names.marks) == len(batch.indices)

    def test_roles_are_needed(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_text('{"label": 1, "text": "a"}\n')
        with pytest.raises(
            DataError, match=r"say which keys are features, with text=.*the first rows have label, text"
        ):
            open_stream(path)
        with pytest.raises(
            DataError, match=r"no key 'txt', a feature, .*; there are label, text\. Did you mean 'text'\?$"
        ):
            open_stream(path, text="txt")
        with pytest.raises(DataError, match="no key 'y', the label, in the first rows; there are label, text"):
            open_stream(path, text="text", label="y")
        with pytest.raises(DataError, match="'label' can't be both label and a feature"):
            open_stream(path, text="label")
        with pytest.raises(ValueError, match="column 'text' can't be both ignored and a feature"):
            open_stream(path, text="text", ignore="text")

    def test_nan_is_missing(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_text('{"label": 1, "n": NaN, "unread": NaN}\n{"label": 0, "unread": [-Infinity], "n": 2}\n')
        (batch,) = open_stream(path, numeric="n", scale=False).batches()
        assert np.diff(batch.indptr).tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("roles", "why"),
        [
            ({"text": "text", "categorical": "text"}, "column 'text' can't be both text and categorical"),
            ({"text": ["text", "text"]}, "column 'text' can't be twice among text"),
            ({"text": "text", "label": "text"}, "column 'text' can't be both label and text"),
            ({"numeric": "n", "weight": "n"}, "column 'n' can't be both weight and numeric"),
            ({"text": "text", "analyzer": "words"}, "analyzer must be one of word, char. Got 'words'"),
            ({"text": "text", "hash": "no"}, "hash must be one of strings, all. Got 'no'"),
        ],
    )
    def test_roles_that_make_no_sense(self, tmp_path, roles, why):
        path = tmp_path / "a.jsonl"
        path.write_text('{"label": 1, "text": "a"}\n')
        with pytest.raises(ValueError, match=why):
            open_stream(path, **roles)


class TestVw:
    def read(self, tmp_path, text, **options):
        path = tmp_path / "a.vw"
        path.write_text(text)
        stream = open_stream(path, **options)
        (batch,) = stream.batches()
        assert batch.names is None or isinstance(batch.names, BatchNames)
        found = MemberNames()
        if batch.names is not None:
            found.read(np.unique(batch.indices), batch.indices, batch.names)
        rows = oracle.rows_of(batch.indptr, batch.indices, batch.data)
        return batch, [{found.by_id.get(id_, id_): value for id_, value in row} for row in rows], stream

    @pytest.mark.parametrize(
        ("line", "row"),
        [
            ("1 |a x y:2 |b x:3", {"a^x": 1, "a^y": 2, "b^x": 3}),
            ("1 | x y:2", {"x": 1, "y": 2}),
            ("1 | x |b x", {"x": 1, "b^x": 1}),
            ("1 |a x x:2", {"a^x": 3}),
            ("1 |a:0.5 x y:4 |b x", {"a^x": 0.5, "a^y": 2, "b^x": 1}),
            ("1 2.0 'tag|a x", {"a^x": 1}),
            ("1 |a 3 x", {3: 1, "a^x": 1}),
            ("1 |a 3 |b 4", {"a^3": 1, "b^4": 1}),
            ("1 |a 3 |b x", {3: 1, "b^x": 1}),
            ("1 |a 3x 0x10 -5 1.5", {"a^3x": 1, "a^0x10": 1, "a^-5": 1, "a^1.5": 1}),
            ("1 |a site=a.com größe:1e-2", {"a^site=a.com": 1, "a^größe": np.float32(0.01)}),
            ("1 |a", {}),
            ("1 |a 99999999999999999999 5000000000000000000 x", {f"a^{n}": 1 for n in ("9" * 20, 5 * 10**18, "x")}),
        ],
    )
    def test_line(self, tmp_path, line, row):
        assert self.read(tmp_path, line + "\n")[1] == [row]

    def test_all_names_can_be_hashed(self, tmp_path):
        assert self.read(tmp_path, "1 |a 3 x\n", hash="all")[1] == [{"a^3": 1, "a^x": 1}]
        assert self.read(tmp_path, "1 | 3 4:2\n", hash="all")[1] == [{"3": 1, "4": 2}]

    def test_names_that_come_late(self, tmp_path):
        lines = "".join(f"1 |f {k}:1\n" for k in range(1, 20_000)) + "1 |f 7 late\n"
        assert self.read(tmp_path, lines)[1][-1] == {7: 1, "f^late": 1}
        early, model = tmp_path / "early.vw", ShadowSOFS(5)
        early.write_text("-1 |f late 5\n1 |f 6\n" * 9)
        with pytest.warns(UserWarning, match="grouped by label"):
            train(model, [tmp_path / "a.vw", early], shuffle=False)
        assert _core.name_ids([name for name in model.selected_names_ if not name.isdigit()])[0] in model.selected_
        assert "f^late" in model.selected_names_
        assert evaluate(model, early).n_rows == 18
        convert(open_stream(tmp_path / "a.vw"), str(tmp_path / "a.thc"))
        assert open_stream(tmp_path / "a.thc").naming == Naming()

    def test_numbers_in_a_second_namespace_that_come_late(self, tmp_path):
        lines = "".join(f"1 |f {k}:1\n" for k in range(1, 20_000)) + "1 |g 7\n"
        with pytest.raises(DataError, match=r"line 20000: numbers in a second namespace, 'g' after 'f', .*hash='all'"):
            self.read(tmp_path, lines)
        assert self.read(tmp_path, lines, hash="all")[1][-1] == {"g^7": 1}

    def test_rows_to_predict_can_lack_labels(self, tmp_path):
        text = "1 |a x\n|a x\n'tag |a y\n-1 2.0 'tag|a z\ntag|a z\n"
        batch, rows, _ = self.read(tmp_path, text, labelled=False)
        np.testing.assert_array_equal(batch.labels, [1, np.nan, np.nan, -1, np.nan])
        assert [list(row) for row in rows] == [["a^x"], ["a^x"], ["a^y"], ["a^z"], ["a^z"]]
        with pytest.raises(DataError, match=r"line 2: the line starts with '\|a': a label must come first"):
            self.read(tmp_path, text)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("1 |a x:", "'x:': the value must be a finite number"),
            ("1 |a x:nan", "'x:nan': the value must be a finite number"),
            ("1 |a :3", "':3': a name must come before the value"),
            ("1 |a:2x y", "'a:2x': the namespace's weight must be a number"),
            ("1 |a x:1e300", "'x:1e300': the value must be a finite number"),
            ("1 |a " + "x" * 65_535, "a name of 65535 bytes: names must not be longer than 64 KB"),
            ("1 |a x:2e38 x:2e38", "a repeated id adds up to more than a float32 can hold"),
            ("1 |a b\udcffd", r"'b\\xffd': the name is not UTF-8 text"),
        ],
    )
    def test_bad_line(self, tmp_path, line, why):
        path = tmp_path / "a.vw"
        path.write_bytes(f"1 |a ok\n{line}\n".encode(errors="surrogateescape"))
        with pytest.raises(DataError, match=f"line 2: {why}"):
            list(open_stream(path).batches())

    @given(
        st.lists(
            st.dictionaries(
                st.tuples(st.sampled_from(["", "a", "bé"]), st.text("xyz123é=^.", min_size=1, max_size=5)),
                st.floats(0.5, 100, width=32), max_size=6,
            ), min_size=1, max_size=6,
        ),
        st.booleans(),
    )  # fmt: skip
    def test_rows_are_the_naive_ones(self, rows, hash_all):
        lines = ""
        for row in rows:
            spaces = sorted({space for space, _ in row})
            parts = [f"|{s} " + " ".join(f"{n}:{v!r}" for (t, n), v in row.items() if t == s) for s in spaces]
            lines += "1 " + (" ".join(parts) or "|") + "\n"
        found = _core.read_text("vw", lines.encode(), True, False, "required", "all" if hash_all else "strings")
        digits = {space for row in rows for space, name in row if name.isascii() and name.isdigit()}
        if not hash_all and len(digits) > 1:
            assert found.bad
            return
        expected = []
        for row in rows:
            ids = {}
            for (space, name), value in row.items():
                is_id = not hash_all and name.isascii() and name.isdigit()
                id_ = int(name) if is_id else oracle.name_id(oracle.vw_name(space, name))
                ids[id_] = ids.get(id_, 0.0) + value
            expected.append(sorted((id_, float(np.float32(value))) for id_, value in ids.items()))
        assert oracle.rows_of(found.indptr, found.indices, found.data) == expected


class TestNamesWithOneHash:
    SELECTED = "viagra=for-free!"

    @pytest.fixture
    def stranger(self):
        stranger = oracle.with_the_hash_of(self.SELECTED)
        assert stranger != self.SELECTED
        assert len(set(_core.name_ids([stranger, self.SELECTED]).tolist())) == 1
        return stranger

    @pytest.fixture
    def model(self, tmp_path):
        (tmp_path / "train.vw").write_text(f"1 | {self.SELECTED} a\n-1 | b a\n" * 50)
        model = ShadowSOFS(2)
        train(model, tmp_path / "train.vw")
        assert self.SELECTED in model.selected_names_
        return model

    def test_a_stranger_is_an_unknown_name(self, tmp_path, model, stranger):
        (tmp_path / "test.vw").write_text(f"| a {stranger}\n| a unknown\n| a {self.SELECTED}\n")
        save(model, tmp_path / "m.thresher")
        for each in (model, load(tmp_path / "m.thresher"), pickle.loads(pickle.dumps(model))):
            margins = each.decision_function(tmp_path / "test.vw")
            assert margins[0] == margins[1] != margins[2]
            assert each.transform(tmp_path / "test.vw").toarray().any(axis=1).tolist() == [False, False, True]

    def test_repeated_ones_do_not_add_up(self, tmp_path, model, stranger):
        (tmp_path / "test.vw").write_text(
            f"| {self.SELECTED} {stranger}:9\n| {self.SELECTED}\n| {stranger}:9 {self.SELECTED}\n"
        )
        margins = model.decision_function(tmp_path / "test.vw")
        assert margins[0] == margins[1]
        assert margins[2] == model.intercept_[0]  # the first of them counts

    def test_a_number_and_a_name(self, tmp_path, stranger):
        id_ = int(_core.name_ids([stranger])[0])
        (tmp_path / "train.vw").write_text(f"1 | {id_} a\n-1 | b a\n" * 50)
        (tmp_path / "test.vw").write_text(f"| {stranger}\n| {id_}\n| unknown\n")
        model = ShadowSOFS(2)
        train(model, tmp_path / "train.vw")
        assert str(id_) in model.selected_names_
        margins = model.decision_function(tmp_path / "test.vw")
        assert margins[0] == margins[2] != margins[1]


class TestBook:
    @given(st.data())
    def test_knows_the_names_of_members_only(self, data):
        book, known, clashes = _core.NameBook(), {}, 0
        ids = st.integers(0, 12)
        for _ in range(data.draw(st.integers(1, 6))):
            members = data.draw(st.sets(ids))
            book.keep(np.array(sorted(members), np.int64))
            known = {id_: name for id_, name in known.items() if id_ in members}
            rows = data.draw(st.lists(st.tuples(ids, st.sampled_from(["a", "b", "cc", None])), max_size=8))
            text = np.frombuffer(b"abcc", np.uint8)
            marks = {"a": 0 << 32 | 1 << 16, "b": 1 << 32 | 1 << 16, "cc": 2 << 32 | 2 << 16, None: int(NO_NAME)}
            written = np.array([marks[name] for _, name in rows], np.uint64)
            book.read(np.array([id_ for id_, _ in rows], np.int64), written, text, ["p^"])
            for id_, name in rows:
                if name is not None and id_ in members:
                    clashes += known.setdefault(id_, f"p^{name}") != f"p^{name}"
            assert book.names() == known
            assert book.clashes[0] == clashes

    def test_many_members(self):
        ids = _core.name_ids([str(k) for k in range(10_000)])
        marks = np.arange(10_000, dtype=np.uint64) << np.uint64(32) | np.uint64(1 << 16)
        text = np.frombuffer(b"abcdefghij" * 1_000, np.uint8)
        book = _core.NameBook()
        book.keep(ids[::3].copy())
        assert book.find(ids).tolist() == list(range(0, 10_000, 3))
        book.read(ids, marks, text, [""])
        assert book.names() == {int(ids[k]): chr(97 + k % 10) for k in range(0, 10_000, 3)}
        book.keep(ids[:10].copy())
        assert len(book.names()) == 4
        everyone = _core.NameBook()
        everyone.read(ids, marks, text, [""], add=True)
        assert len(everyone.names()) == 10_000

    def test_marks_that_point_nowhere(self):
        book = _core.NameBook()
        ids = np.array([3], np.int64)
        book.keep(ids)
        text = np.zeros(4, np.uint8)
        for mark in (9 << 32 | 1 << 16, 1):
            with pytest.raises(IndexError):
                book.read(ids, np.array([mark], np.uint64), text, [""])
        with pytest.raises(ValueError, match="differ in length"):
            book.read(ids, np.zeros(2, np.uint64), text, [""])


def mails(n: int, seed: int = 0) -> list[dict[str, object]]:
    """Draw rows with a title, a site and a size, of which a few words decide the label."""
    random = np.random.default_rng(seed)
    vocabulary = np.array([f"word{k}" for k in range(3_000)])
    rows = []
    for _ in range(n):
        spam = bool(random.integers(2))
        body = list(random.choice(vocabulary, 20))
        body += list(random.choice(["free", "money", "pills"] if spam else ["lunch", "meeting", "thanks"], 2))
        random.shuffle(body)
        title = list(random.choice(vocabulary, 3)) + (["Winner"] if spam and random.random() < 0.5 else [])
        rows.append(
            {
                "label": "spam" if spam else "ham", "title": " ".join(title), "body": " ".join(body),
                "site": f"s{random.integers(50)}.com", "size": round(float(random.random()), 3),
            }
        )  # fmt: skip
    return rows


ROLES = {"text": ["title", "body"], "categorical": "site", "numeric": "size"}
UNSCALED = {**ROLES, "scale": False}


def write_jsonl(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_csv(rows, path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_vw(rows, path):
    """Text columns become namespaces; categories and numbers go to the one without a name."""
    lines = []
    for row in rows:
        texts = " ".join(f"|{name} {' '.join(sorted(set(row[name].lower().split())))}" for name in ("title", "body"))
        sign = 1 if row["label"] == "spam" else -1
        lines.append(f"{sign} {texts} | site={row['site']} size:{row['size']}\n")
    path.write_text("".join(lines))
    return path


def write_parquet(rows, path):
    pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


class TestAllFormats:
    @pytest.fixture
    def rows(self):
        return mails(600)

    @pytest.fixture
    def path(self, rows, tmp_path):
        return write_jsonl(rows, tmp_path / "a.jsonl")

    @pytest.fixture
    def model(self, path):
        model = ShadowSOFS(20)
        train(model, open_stream(path, **ROLES))
        return model

    def test_the_same_rows_give_the_same_model(self, rows, tmp_path):
        train_rows, test_rows = rows[:400], rows[400:]
        found = {}
        for kind, write, roles in (
            ("jsonl", write_jsonl, UNSCALED), ("csv", write_csv, UNSCALED), ("parquet", write_parquet, UNSCALED),
            ("vw", write_vw, {}),
        ):  # fmt: skip
            first, second = write(train_rows, tmp_path / f"a.{kind}"), write(test_rows, tmp_path / f"b.{kind}")
            model = ShadowSOFS(30)
            train(model, open_stream(first, **roles))
            found[kind] = (model.selected_names_, model.coef_.data.tolist(), evaluate(model, second).accuracy)
        words = ("free", "money", "pills", "lunch", "thanks", "meeting")
        assert found["jsonl"][0][0] in {f"body^{word}" for word in words}
        assert found["jsonl"][2] > 0.9
        assert found["csv"] == found["parquet"] == found["vw"] == found["jsonl"]

    @online
    def test_every_method_knows_the_names_of_its_members(self, rows, tmp_path, estimator):
        path = write_jsonl(rows, tmp_path / "a.jsonl")
        model = estimator(
            **({"n_features_to_select": 20} if "n_features_to_select" in estimator().get_params() else {})
        )
        train(model, open_stream(path, **ROLES))
        assert _core.name_ids(model.selected_names_).tolist() == model.selected_.tolist()
        assert model.n_features_in_ == 2**62
        assert sorted(model.get_feature_names_out()) == sorted(model.selected_names_)
        assert model.get_feature_names_out().tolist() == [
            name for _, name in sorted(zip(model.selected_.tolist(), model.selected_names_, strict=True))
        ]
        save(model, tmp_path / "a.thresher")
        again = load(tmp_path / "a.thresher")
        assert again.selected_names_ == model.selected_names_
        assert pickle.loads(pickle.dumps(model)).selected_names_ == model.selected_names_
        assert evaluate(again, path).accuracy == evaluate(model, path).accuracy

    @pytest.mark.parametrize(
        "options",
        [
            {"gamma": "auto"},
            {"memory": "sketch", "memory_bytes": 1 << 16},
            {"n_passes": 3},
            {"keep": ["body^word5", "size"]},
        ],
    )
    def test_names_are_known_however_it_learns(self, rows, tmp_path, options):
        model = ShadowSOFS(20, **options)
        train(model, open_stream(write_jsonl(rows, tmp_path / "a.jsonl"), **ROLES))
        assert _core.name_ids(model.selected_names_).tolist() == model.selected_.tolist()
        assert {*options.get("keep", [])} <= {*model.selected_names_}
        save(model, tmp_path / "m.thresher")
        assert load(tmp_path / "m.thresher").selected_names_ == model.selected_names_

    def test_shuffled_rows_keep_their_names(self, rows, tmp_path):
        # Several sources of names: VW blocks number their namespaces as they come.
        first, second = write_vw(rows, tmp_path / "a.vw"), tmp_path / "b.vw"
        second.write_text("".join(f"{1 - 2 * (k % 2)} | size:2 |body free |title word1\n" for k in range(50)))
        for limit in (None, 0):
            model = ShadowSOFS(25)
            stream = shuffle_stream(open_stream([first, second]), np.random.default_rng(0), limit)
            train(model, stream, shuffle=False)
            assert _core.name_ids(model.selected_names_).tolist() == model.selected_.tolist()

    def test_a_cache_keeps_the_names(self, path, model, tmp_path):
        convert(open_stream(path, **ROLES), str(tmp_path / "a.thc"))
        other = ShadowSOFS(20)
        train(other, tmp_path / "a.thc")
        assert other.selected_names_ == model.selected_names_
        assert evaluate(other, path).accuracy == evaluate(model, tmp_path / "a.thc").accuracy

    def test_cross_validation_and_continued_training(self, rows, path, tmp_path):
        cv = cross_validate(ShadowSOFS(20), open_stream(path, **UNSCALED), folds=3)
        assert cv.accuracy > 0.9
        assert _core.name_ids(cv.model.selected_names_).tolist() == cv.model.selected_.tolist()
        half, model = write_jsonl(rows[:300], tmp_path / "b.jsonl"), ShadowSOFS(20, n_passes=1)
        train(model, open_stream(half, **UNSCALED), shuffle=False)
        train(model, write_jsonl(rows[300:], tmp_path / "c.jsonl"), shuffle=False)  # read as the model's own data
        whole = ShadowSOFS(20, n_passes=1)
        train(whole, open_stream(path, **UNSCALED), shuffle=False)
        assert model.selected_names_ == whole.selected_names_
        assert model.coef_.data.tolist() == whole.coef_.data.tolist()

    def test_data_that_are_read_in_another_way(self, path, model, tmp_path):
        for other, read, trained in (
            ({**ROLES, "ngrams": 2}, r"ngrams=\(2, 2\)", r"ngrams=\(1, 1\)"), ({"text": "title"}, "text=.*", "text=")
        ):  # fmt: skip
            why = f"it is read with {read}, but the model was trained with {trained}"
            with pytest.raises(DataError, match=why):
                evaluate(model, open_stream(path, **other))
            with pytest.raises(DataError, match=why):
                train(model, open_stream(path, **other))
        for name, roles in (("a", ROLES), ("b", {"text": "title"})):
            convert(open_stream(path, **roles), str(tmp_path / f"{name}.thc"))
        with pytest.raises(DataError, match=r"it is read with text=\('title',\), but"):
            evaluate(model, tmp_path / "b.thc")
        with pytest.raises(DataError, match=r"b.thc: its features have other names than in .*a.thc"):
            open_stream([tmp_path / "a.thc", tmp_path / "b.thc"])

    def test_numbers_of_several_namespaces_and_a_model_of_one(self, tmp_path):
        one, two = tmp_path / "one.vw", tmp_path / "two.vw"
        one.write_text("1 |a 1 x\n-1 |a 2 y\n" * 20)
        two.write_text("1 |a 1 x |b 1\n" * 20)
        model = ShadowSOFS(5)
        train(model, one)
        with pytest.raises(DataError, match=r"two.vw, line 1: numbers in a second namespace, 'b' after 'a'"):
            evaluate(model, two)

    def test_ids_of_names_as_svmlight_text(self, path, model, tmp_path):
        with pytest.warns(UserWarning, match="svmlight text has no names"):
            convert(open_stream(path, **ROLES), str(tmp_path / "a.svm"))
        assert evaluate(model, tmp_path / "a.svm").accuracy == evaluate(model, path).accuracy

    def test_ids_that_the_model_has_never_seen(self, model, tmp_path):
        (tmp_path / "b.svm").write_text(f"spam {2**50}:1\nham {2**50 + 1}:1\n")
        with pytest.warns(UserWarning, match=r"b.svm: none of 2 rows has a feature that the model selected"):
            evaluate(model, tmp_path / "b.svm")

    def test_numbers_for_a_model_of_names_and_numbers(self, tmp_path):
        mixed, numbers = tmp_path / "a.vw", tmp_path / "a.svm"
        mixed.write_text("1 |a 1 x\n-1 |a 2 y\n" * 20)
        model = ShadowSOFS(4)
        train(model, mixed)
        numbers.write_text("1 1:1\n-1 2:1\n")
        assert evaluate(model, numbers).accuracy == 1.0
        numbers.write_text("1 11:1\n-1 12:1\n")
        with pytest.warns(UserWarning, match=r"none of 2 rows has a feature .* was trained on names, from VW text\."):
            evaluate(model, numbers)

    def test_other_threads_may_ask_for_the_names(self, rows, tmp_path):
        path = write_jsonl(rows * 20, tmp_path / "a.jsonl")
        model, done = Model("arow"), threading.Event()

        def ask():
            while not done.is_set():
                model.names.by_id  # noqa: B018

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            train(model, open_stream(path, **ROLES), shuffle=False)
        finally:
            done.set()
            asking.join()
        columns = model.members()[0].tolist()
        assert _core.name_ids([model.name_of(column) for column in columns]).tolist() == columns

    def test_selected_columns_keep_their_names_and_no_other_text(self, path, model, tmp_path):
        write_selected(model, path, str(tmp_path / "small.thc"), keep_ids=True)
        stream = open_stream(tmp_path / "small.thc")
        assert set(stream.names(model.selected_).values()) == set(model.selected_names_)
        (batch,) = stream.batches()
        words = {name.split("^")[-1].split("=")[-1] for name in model.selected_names_}
        assert len(batch.names.text.tobytes().decode()) <= len(batch.data) * max(map(len, words))

    def test_rows_without_a_label_are_transformed(self, model, tmp_path):
        (tmp_path / "new.jsonl").write_text('{"body": "free"}\n{"label": "ham", "body": "lunch"}\n')
        write_selected(model, tmp_path / "new.jsonl", str(tmp_path / "small.svm"))
        assert [line.split()[0] for line in (tmp_path / "small.svm").read_text().splitlines()] == ["0", "ham"]

    def test_what_can_not_be_as_wide_as_the_hashes(self, model):
        with pytest.raises(ValueError, match=r"use get_support\(indices=True\)"):
            model.get_support()
        with pytest.raises(ValueError, match="give it a sparse matrix"):
            model.inverse_transform(np.ones((1, 20)))

    def test_a_batch_method_needs_to_read_twice(self, tmp_path):
        reader = pa.table({"label": [0, 1], "text": ["a", "b"]}).to_reader()
        with pytest.raises(DataError, match="MRMR reads it again for the names of the selected features"):
            train(MRMR(1), open_stream(reader, text="text"))

    def test_a_model_of_numbers_and_data_with_names(self, path, model, tmp_path):
        numbers, of_numbers, named_model = tmp_path / "a.svm", ShadowSOFS(5), tmp_path / "named.thresher"
        numbers.write_text("1 1:1 2:1\n-1 2:1 3:2\n")
        train(of_numbers, numbers)
        with pytest.raises(DataError, match="known by name here, but the model was trained on numbered ones"):
            evaluate(of_numbers, open_stream(path, **ROLES))
        save(model, named_model)
        why = "features are numbers here, up to 3, but the model was trained on names, from the columns title, body, "
        for use in (
            lambda: evaluate(model, numbers),
            lambda: model.predict(numbers),
            lambda: model.predict(open_stream([(np.eye(4), [0, 1, 0, 1])])),
            lambda: train(model, numbers),
            lambda: write_selected(model, numbers, str(tmp_path / "small.svm")),
        ):
            with pytest.raises(DataError, match=why):
                use()
        for command in ("predict", "evaluate"):
            done = thresher(command, named_model, numbers)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"thresher: {numbers}: {why}")
        with pytest.raises(DataError, match="there are no columns 'title', 'body', 'site', 'size'"):
            evaluate(model, write_csv([{"label": "spam", "x": 1}], tmp_path / "b.csv"))


class TestColumns:
    @pytest.mark.parametrize(
        ("row", "options", "names"),
        [
            ({"text": "the price rises", "price": 3}, {"numeric": "price"}, ["price", "rises", "text^price", "the"]),
            ({"text": "site=a", "site": "a"}, {"categorical": "site", "analyzer": "char", "ngrams": 6},
             ["site=a", "text^site=a"]),
        ],
    )  # fmt: skip
    def test_words_that_spell_another_feature(self, tmp_path, row, options, names):
        stream = open_stream(
            write_jsonl([{"label": 1, **row}], tmp_path / "a.jsonl"), text="text", scale=False, **options
        )
        (batch,) = stream.batches()
        assert sorted(stream.names(batch.indices).values()) == names

    def test_types(self, tmp_path):
        table = pa.table(
            {
                "label": [1, 0],
                "day": [datetime.date(2024, 2, 29), None],
                "flag": [True, None],
                "whole": pa.array([3, None], pa.int8()),
                "large": pa.array([2**60 + 1, None]),
                "one": [1.0, None],
                "reals": [[1.0, float("nan")], None],
                "at": pa.array([datetime.datetime(2024, 2, 29, 3, 4, 5), None], pa.timestamp("us")),
                "nothing": pa.nulls(2),
                "real": [0.5, float("nan")],
                "word": pa.array(["x", ""]).dictionary_encode(),
                "tags": [["a", "b", "a"], None],
                "money": pa.array([1, None], pa.int8()).cast(pa.decimal128(20, 2)),
                "number": [True, None],
            }
        )
        path = tmp_path / "a.parquet"
        pa.parquet.write_table(table, path)
        categories = ["day", "flag", "whole", "real", "word", "tags", "one", "reals", "at", "nothing"]
        stream = open_stream(path, categorical=categories, numeric=["money", "number", "large"], scale=False)
        (batch,) = stream.batches()
        names = stream.names(batch.indices)
        rows = oracle.rows_of(batch.indptr, batch.indices, batch.data)
        assert {names[id_]: value for id_, value in rows[0]} == {
            "day=2024-02-29": 1, "flag=true": 1, "whole=3": 1, "real=0.5": 1, "word=x": 1, "tags=a": 1, "tags=b": 1,
            "money": 1, "number": 1, "large": 2.0**60, "one=1": 1, "reals=1": 1, "at=2024-02-29 03:04:05": 1,
        }  # fmt: skip
        assert rows[1] == []

    def test_csv_cells(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('label,code,flag,n,text\n1,007,True,1.5,"Hello, ""World"""\n0,,false,,\n1,7.0,FALSE,NA,x\n')
        stream = open_stream(path, categorical=["code", "flag"], numeric="n", text="text", scale=False)
        (batch,) = stream.batches()
        names = stream.names(batch.indices)
        rows = oracle.rows_of(batch.indptr, batch.indices, batch.data)
        assert [{names[id_] for id_, _ in row} for row in rows] == [
            {"code=007", "flag=true", "n", "hello", "world"}, {"flag=false"}, {"code=7", "flag=false", "x"}
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("roles", "why"),
        [
            ({"text": "n"}, "column 'n' has type int64; a text column must hold strings"),
            ({"text": "nothing"}, "there is no column 'nothing'; there are label, n, s, b"),
            ({"numeric": "s"}, "column 's' has type string; a numeric column must hold numbers"),
            ({"categorical": "b"}, "column 'b' has type binary, which can't be a category"),
            ({"text": "s", "numeric": "label"}, "column 'label' can't be both label and a feature"),
        ],
    )
    def test_wrong_types(self, tmp_path, roles, why):
        path = tmp_path / "a.parquet"
        table = pa.table({"label": [1, 0], "n": [1, 2], "s": ["x", "y"], "b": [b"x", b"y"]})
        pa.parquet.write_table(table, path)
        with pytest.raises(DataError, match=f"a.parquet: {why}"):
            list(open_stream(path, **roles).batches())

    def test_a_long_text_beside_a_bad_row(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text(f"label,n,text\n1,2,{'a b ' * 50_000}\n0,x,b\n")
        (batch,) = open_stream(path, numeric="n", text="text", on_bad_line="skip").batches()
        assert (batch.n_rows, len(batch.skipped)) == (1, 1)

    def test_a_row_of_csv_that_is_not_a_number(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("label,n,text\n1,2,a\n0,x,b\n")
        with pytest.raises(DataError, match="row 2: column 'n' is 'x'; numeric columns must hold numbers"):
            list(open_stream(path, numeric="n", text="text").batches())


class TestLargeNumbers:
    """Rows have unit length, so large numbers leave nothing of the words beside them, unless they are scaled."""

    WORDS = ("free money", "see you")

    def table(self, n: int = 400, **columns: object) -> pa.Table:
        return pa.table({"label": [1, 0] * (n // 2), "t": [*self.WORDS] * (n // 2), **columns})

    @pytest.mark.parametrize("ending", ["arrow", "csv", "jsonl", "thc"])
    def test_are_reported_once(self, tmp_path, ending):
        table = self.table(amount=np.linspace(20.0, 1e6, 400)).sort_by("label")  # so that training starts again
        data: object = table
        if ending != "arrow":
            data = tmp_path / f"a.{ending}"
        if ending == "csv":
            pa.csv.write_csv(table, data)
        elif ending == "jsonl":
            data.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        elif ending == "thc":
            convert(open_stream(table, text="t", numeric="amount", scale=False), str(data))
        stream = open_stream(data) if ending == "thc" else open_stream(data, text="t", numeric="amount", scale=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(ShadowSOFS(2), stream, passes=2)
        messages = [str(each.message) for each in caught if "grouped by label" not in str(each.message)]
        assert len(messages) == 1
        assert messages[0].startswith(f"{stream.name}: column 'amount' has more than 99% of the squared length of most")
        assert "scale such numbers to about 1 first, or leave them out (docs/dense_tables.md)" in messages[0]
        assert caught[0].filename == __file__

    @staticmethod
    def reported(stream):
        """Return what the check says of the first rows: that nothing warned does not show that it was asked."""
        return large_columns(next(iter(stream.batches())), stream.naming)

    def test_rows_of_values_too_small_for_float32_have_no_length(self):
        stream = open_stream(self.table(p=[1e-60] * 400, q=[1e-50] * 400), numeric=["p", "q"], scale=False)
        assert self.reported(stream) is None
        train(ShadowSOFS(2), stream)

    @pytest.mark.parametrize(
        "learn",
        [
            lambda stream: train(MRMR(2), stream),
            lambda stream: cross_validate(ShadowSOFS(2), stream, folds=3),
            lambda stream: distributed.train(ShadowSOFS(2), stream, n_shards=2, syncs=2, engine="local", workers=1),
        ],
        ids=["batch", "folds", "shards"],
    )
    def test_are_reported_however_it_is_trained(self, tmp_path, learn):
        pa.parquet.write_table(self.table(amount=[1e3] * 400), tmp_path / "a.parquet")
        stream = open_stream(tmp_path / "a.parquet", text="t", numeric="amount", scale=False)
        with pytest.warns(UserWarning, match="column 'amount' has more than 99%") as caught:
            learn(stream)
        assert len(caught) == 1

    @pytest.mark.parametrize(
        ("columns", "who"),
        [
            ({"a": [30.0] * 400, "b": [90.0] * 400}, "the numeric columns, most of all 'b', have more than 99%"),
            ({"a": [1e6] + [0.0] * 399, "b": [90.0] * 400}, "the numeric columns, most of all 'b', have more than 99%"),
            ({"a": [15.0] * 201 + [0.0] * 199}, "column 'a' has more than 99%"),
        ],
    )
    def test_which_columns(self, columns, who):
        with pytest.warns(UserWarning, match=who):
            train(ShadowSOFS(2), open_stream(self.table(**columns), text="t", numeric=list(columns), scale=False))

    def test_beside_other_numbers(self):
        table = self.table(a=[0.5, 1.0] * 200, b=[100.0, 0.0, 200.0, 100.0] * 100)
        with pytest.warns(UserWarning, match="column 'b' has more than 99%"):
            train(ShadowSOFS(2), open_stream(table, numeric=["a", "b"], scale=False))
        alone = open_stream(table, numeric=["b"], scale=False)  # there is nothing beside it
        assert self.reported(alone) is None
        train(ShadowSOFS(2), alone)

    @pytest.mark.parametrize(
        "columns",
        [
            {"a": [10.0] * 400},  # 100 beside two words: 2 % are left
            {"a": [1e6] * 199 + [0.0] * 201},
            {"a": [1.0] * 10 + [1e6] * 390, "t": ["free"] * 10 + [None] * 390},
        ],
        ids=["not so large", "not in most rows", "large where there is nothing else"],
    )
    def test_nothing_to_report(self, columns):
        stream = open_stream(self.table(**columns), text="t", numeric="a", scale=False)
        assert self.reported(stream) is None
        train(ShadowSOFS(2), stream)

    def test_rows_of_any_length(self):
        stream = open_stream(self.table(a=[1e3] * 400), text="t", numeric="a", scale=False)
        assert self.reported(stream) == "column 'a' has"
        train(ShadowSOFS(2, norm=None), stream)  # warnings are errors here: rows are not scaled


class TestCommandLine:
    def test_from_text_to_predictions(self, tmp_path):
        path, model = write_jsonl(mails(500), tmp_path / "a.jsonl"), tmp_path / "m.thresher"
        options = ["--text", "title", "--text", "body", "--categorical", "site", "--numeric", "size"]
        done = thresher("train", path, "-k", 20, *options, "--cv", 3, "-o", model)
        assert done.returncode == 0, done.stderr
        assert "named features" in done.stdout
        assert "body^free" in done.stdout
        shown = json.loads(thresher("show", model, "--json").stdout)
        assert shown["text"] == ["title", "body"]
        assert "body^free" in [feature["feature"] for feature in shown["features"]]
        assert thresher("evaluate", model, path).returncode == 0
        without = write_jsonl([{"title": "", "body": "free money"}, {"body": "thanks, lunch"}], tmp_path / "new.jsonl")
        assert thresher("predict", model, without).stdout.split() == ["spam", "ham"]
        done = in_a_process("predict", model, "-", stdin='{"body": "free pills"}\n')
        assert (done.returncode, done.stdout) == (0, "spam\n")
        kept = thresher(
            "train", path, "-k", 5, *options, "--keep", "site=s1.com", "--keep", "size,body^word7", "--json"
        )
        assert {"site=s1.com", "size", "body^word7"} <= {*json.loads(kept.stdout)["selected"]}

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (["--text", "txt"], "no key 'txt', a feature"),
            (["--text", "body", "--categorical", "body"], "column 'body' can't be both text and categorical"),
            (["--text", "body", "--ngrams", "3-1"], "--ngrams must be a length or a range of lengths from 1 to 1,000"),
            (["--text", "body", "--analyzer", "x"], "--analyzer must be one of word, char"),
            (
                ["--ngrams", "2", "--categorical", "body,title"],
                "--ngrams 2 needs --text, since it says how text is read",
            ),
            (["--roles", "given", "--categorical", "site", "--counts"], "--counts needs --text"),
            (["--text", "size"], "line 1: 'size' is 0."),
            (["--roles", "given"], "say which keys are features"),
            (["--roles", "some"], "--roles must be one of 'auto', 'given'. Got 'some' instead"),
        ],
    )
    def test_bad_options(self, tmp_path, options, why):
        path, output = write_jsonl(mails(20), tmp_path / "a.jsonl"), tmp_path / "m.thresher"
        done = thresher("train", path, "-o", output, *options)
        assert done.returncode == 2
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not output.exists()

    def test_clashes_are_reported(self, monkeypatch, tmp_path):
        # No two names with the same hash are known, so one is forged: the text of a batch is changed.
        path = write_jsonl(
            [{"label": k % 2, "text": "free x" if k % 2 else "y"} for k in range(40)], tmp_path / "a.jsonl"
        )
        stream = open_stream(path, text="text")
        batches = list(stream.batches())
        batch = batches[0]
        model = ShadowSOFS(2)
        train(model, stream)
        names = batch.names
        forged = BatchNames(
            names.marks, np.frombuffer(names.text.tobytes().replace(b"free", b"fraa"), np.uint8), names.prefixes
        )
        session = Session(model_of(model), names=stream.naming)
        session.learn(dataclasses.replace(batch, names=forged))
        assert model_of(model).names.clashes == (20, "free", "fraa")
        with pytest.warns(UserWarning, match="'free' and 'fraa' have the same hash .* occurred 20 times"):
            session.finish()
        save(model, tmp_path / "m.thresher")
        assert model_of(load(tmp_path / "m.thresher")).names.clashes == (20, "free", "fraa")


class TestEnron:
    """Mail, sorted by label, 1–3-grams straight from the archive."""

    @pytest.mark.parametrize(("budget", "least"), [(200, 0.95), (2_000, 0.97)])
    def test_cross_validated_accuracy(self, budget, least):
        stream = open_stream(path_of("enron1.jsonl.xz"), text="text", ngrams=(1, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rows are grouped by label
            cv = cross_validate(ShadowSOFS(budget), stream, folds=5)
        print(f"enron1, B = {budget}: accuracy {cv.accuracy:.4f} ± {cv.standard_error:.4f}")
        assert cv.accuracy >= least
        assert _core.name_ids(cv.model.selected_names_).tolist() == cv.model.selected_.tolist()
