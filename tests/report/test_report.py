"""The report: one file, whole or not at all, in which every name is text. tests/system opens it in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
import sys
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest
from command_line import thresher
from every import EVERY, made

from thresher import (
    AROW,
    MRMR,
    ShadowSOFS,
    ShadowSOFSRegressor,
    convert,
    cross_validate,
    datasets,
    evaluate,
    load,
    open_stream,
    path,
    stability,
    train,
    write_report,
)  # fmt: skip
from thresher.charts import escape_controls
from thresher.io.model_files import save_model
from thresher.report import page
from thresher.report.chance import chance_chart

NASTY = "<script>alert(1)</script>\"'& {{ 7 * 7 }} \x00"
EMPTY = {"meta", "input"}


class Page(HTMLParser):
    """What a page has: its tags, its text, and the cells of its tables."""

    def __init__(self, path) -> None:
        super().__init__()
        self.tags, self.open, self.tables, self.words, self.attributes = [], [], [], [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        assert self.open == [], "a tag is not closed"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)
            if {"td", "th"} & set(self.open):
                self.tables[-1][-1][-1] += data

    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def table(self, first: str) -> list[list[str]]:
        (found,) = [table for table in self.tables if table and table[0] and table[0][0].strip() == first]
        return [[cell.strip() for cell in row] for row in found]


@pytest.fixture(scope="module")
def rows():
    return datasets.make_x1(1_500, n_features=400, n_informative=40, n_noise=60)


def minus(number: str) -> float:
    return float(number.replace("−", "-"))


class TestContent:
    def test_has_it_all(self, rows, tmp_path):
        st = stability(ShadowSOFS(20), rows, n=3)
        model = st.model
        history = train(ShadowSOFS(20, gamma="auto"), rows)
        evaluation, curve = evaluate(model, rows), path(ShadowSOFS(), rows, n_features=[5, 20, 40])
        write_report(tmp_path / "run.html", model, history, evaluation, curve, st, title="My run")
        found = Page(tmp_path / "run.html")
        assert "<title>My run – thresher report</title>" in found.source
        text = found.text()
        for words in (
            f"{evaluation.accuracy:.2%}", f"accuracy on test data, baseline {evaluation.baseline:.2%}",
            f"error while learning, baseline {1 - history.baseline:.2%}", f"{evaluation.roc_auc:.4f}",
            "20 features selected of 400".partition(" ")[2],
            "Error while learning", "Changes of the selection", "The race for γ", "ROC curve", "Precision and recall",
            "How many features", "Stability of the selection", f"{st.value:.3f}", "From 3 random halves of the rows.",
            f"{st.chance * 100:.0f} %", "the most that permuted labels reached", "How often features were selected",
            f"With permuted labels features were selected in up to {st.chance * 100:.0f} % of the samples.",
            f"{st.interval[0]:.3f} to {st.interval[1]:.3f}", "ShadowSOFS(n_features_to_select=20)", "1,500",
        ):  # fmt: skip
            assert words in text, words
        assert found.tags.count("svg") == 8
        confusion = found.table("actual ↓ predicted →")
        assert [row[0] for row in confusion[1:]] == ["-1", "1"]
        expected = [
            [f"{n:,} {n / row.sum() * 100:.1f} %" for n in row.tolist()] for row in evaluation.confusion
        ]  # fmt: skip
        assert [row[1:] for row in confusion[1:]] == expected
        features = found.table("rank")
        assert features[0] == ["rank", "feature", "weight", "selected in", "for"]
        assert [row[1] for row in features[1:]] == model.selected_names_
        weights = model.coef_.toarray()[0, model.selected_]
        np.testing.assert_allclose([minus(row[2]) for row in features[1:]], weights, atol=1e-4)
        shares = [st.frequency.get(column, 0) for column in model.selected_.tolist()]
        assert [row[3] for row in features[1:]] == [f"{share * 100:.0f} %" for share in shares]
        race = found.table("γ")
        assert len(race) == 9
        assert race[0][1:] == [f"{look['rows']:,}" for look in history.race]
        curve_table = found.table("features")
        assert [row[1] for row in curve_table[1:]] == [f"{share:.2%}" for share in curve.accuracy]

    @pytest.mark.parametrize("estimator", EVERY, ids=lambda estimator: estimator.__name__)
    def test_of_every_method(self, estimator, rows, tmp_path):
        X, y = rows
        model = made(estimator, 10)
        history = train(model, (X[:300], y[:300]))
        write_report(tmp_path / "run.html", model, history, evaluate(model, rows))
        features = Page(tmp_path / "run.html").table("rank")[1:]
        assert [row[1] for row in features] == model.selected_names_

    def test_of_a_model_alone(self, rows, tmp_path):
        write_report(tmp_path / "run.html", ShadowSOFS(3, gamma=2.0).fit(*rows))
        found = Page(tmp_path / "run.html")
        assert "ShadowSOFS(n_features_to_select=3, gamma=2.0)" in found.text()
        assert "svg" not in found.tags

    def test_many_classes_and_cross_validation(self, rows, tmp_path):
        X, y = rows
        labels = np.array(["a", "b", "<b>c"])[np.arange(len(y)) % 3]
        cv = cross_validate(ShadowSOFS(5), (X, labels), folds=3, multiclass=True)
        write_report(tmp_path / "run.html", cv.model, cv.history, [evaluate(cv.model, (X, labels)), cv])
        found = Page(tmp_path / "run.html")
        assert "3-fold cross-validation" in found.text()
        assert f"{cv.accuracy:.4f} ± {cv.standard_error:.4f}" in found.text()
        features = found.table("rank")
        assert features[0][-1] == "class"
        assert {row[-1] for row in features[1:]} <= {"a", "b", "<b>c"}

    def test_a_confusion_table_of_many_labels_has_counts_alone(self, rows, tmp_path, monkeypatch):
        X, y = rows
        labels = np.arange(len(y)) % 9
        model = ShadowSOFS(5).fit(X, labels)
        evaluation = evaluate(model, (X, labels))
        write_report(tmp_path / "run.html", model, evaluation=evaluation)
        cells = Page(tmp_path / "run.html").table("actual ↓ predicted →")[1:]
        assert [[int(cell.replace(",", "")) for cell in row[1:]] for row in cells] == evaluation.confusion.tolist()
        monkeypatch.setattr(page, "MOST_LABELS", 8)
        write_report(tmp_path / "run.html", model, evaluation=evaluation)
        found = Page(tmp_path / "run.html")
        assert "predicted →" not in found.text()
        assert len(found.table("class")) == 10

    def test_of_many_features_the_first_are_shown(self, rows, tmp_path, monkeypatch):
        monkeypatch.setattr(page, "MOST_FEATURES", 30)
        model = AROW().fit(*rows)
        write_report(tmp_path / "run.html", model)
        found = Page(tmp_path / "run.html")
        assert f"The first 30 of {len(model.selected_):,}, best first." in found.text()
        assert [row[1] for row in found.table("rank")[1:]] == model.selected_names_[:30]

    def test_a_short_run_has_no_curve(self, rows, tmp_path):
        X, y = rows
        model = ShadowSOFS(3)
        write_report(tmp_path / "run.html", model, train(model, (X[:50], y[:50])))
        text = Page(tmp_path / "run.html").text()
        assert "There are too few rows for a curve: 50." in text
        assert "rows learned in 3 passes and a closing one 50" in text

    def test_a_model_whose_gamma_was_changed_has_no_z(self, rows, tmp_path):
        X, y = rows
        model = ShadowSOFS(3).partial_fit(X, y, classes=[-1, 1])
        model.set_params(gamma=3.0).partial_fit(X, y)
        write_report(tmp_path / "run.html", model)
        assert Page(tmp_path / "run.html").table("rank")[0] == ["rank", "feature", "weight", "for"]


class TestDecoys:
    def page_of(self, model, folder) -> Page:
        write_report(folder / "run.html", model)
        return Page(folder / "run.html")

    def test_how_many_are_told_from_chance_and_both_curves(self, rows, tmp_path):
        model = ShadowSOFS(60, decoys=True).fit(*rows)
        n_low = int((model.q_values_ <= 0.1).sum())
        assert 0 < n_low < 60
        found = self.page_of(model, tmp_path)
        assert f"{n_low} of 60 selected features have a q-value of at most 0.1. Decoys are" in found.text()
        assert "Ranks of selected features and of decoys" in found.text()
        assert found.tags.count("svg") == 1
        chart = chance_chart(model._model)
        decoys, selected = chart.lines
        assert selected.x == list(range(1, 61))
        np.testing.assert_array_equal(selected.y, model._model.ranks())
        ranks, _ = model._model.strongest_decoys(60)
        np.testing.assert_array_equal(decoys.y, ranks)  # each feature has one
        assert chart.mark == (n_low, "q ≤ 0.1")

    def test_a_decoy_that_stands_for_several_counts_so_often(self, rows):
        model = ShadowSOFS(60, decoys=0.25).fit(*rows)._model
        ranks, _ = model.strongest_decoys(15)
        decoys, _ = chance_chart(model).lines
        np.testing.assert_array_equal(decoys.y, np.repeat(ranks, 4))

    def test_without_decoys_there_is_nothing(self, rows, tmp_path):
        found = self.page_of(ShadowSOFS(60).fit(*rows), tmp_path)
        assert "Told from chance" not in found.text()
        assert "q-value" not in found.text()

    def test_a_compact_model_has_the_sentence_alone(self, rows, tmp_path):
        model = ShadowSOFS(60, decoys=True).fit(*rows)
        save_model(model._model, tmp_path / "m.thresher", compact=True)
        found = self.page_of(load(tmp_path / "m.thresher"), tmp_path)
        assert (
            f"{(model.q_values_ <= 0.1).sum()} of 60 selected features have a q-value of at most 0.1." in found.text()
        )
        assert "svg" not in found.tags
        assert "ecoys are" not in found.text()

    def test_kept_features_do_not_count(self, rows, tmp_path):
        model = ShadowSOFS(60, decoys=True, keep=[397, 398]).fit(*rows)
        found = self.page_of(model, tmp_path)
        n_low = (model.q_values_ <= 0.1).sum()
        assert f"{n_low} of 58 selected features have" in found.text()
        assert "2 features more are kept in any case." in found.text()
        table = found.table("rank")
        assert table[0] == ["rank", "feature", "weight", "q-value", "for"]
        assert [row[3] for row in table[1:]] == ["kept" if np.isnan(q) else f"{q:.3f}" for q in model.q_values_]
        assert chance_chart(model._model).lines[1].x[-1] == 58

    def test_nothing_told(self, rows, tmp_path):
        X, y = rows
        with pytest.warns(UserWarning, match="No feature could be told from chance"):
            model = ShadowSOFS(5, max_fdr=0.001).fit(X, np.random.default_rng(0).permutation(y))
        assert len(model.selected_) == 0
        found = self.page_of(model, tmp_path)
        assert "No feature could be told from chance" in found.text()
        assert "svg" not in found.tags


class TestMistakes:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_are_the_rows_with_the_largest_probability_of_a_wrong_label(self, n_classes, tmp_path):
        X, y = datasets.make_x1(3_000, n_features=400, n_informative=40, n_noise=60)
        labels = np.where(np.arange(len(y)) % 5 == 0, n_classes - 1, y > 0).astype(np.int64)
        model = ShadowSOFS(30).fit(X[:2_000], labels[:2_000])
        X, labels = X[2_000:], labels[2_000:]
        convert((X, labels), tmp_path / "test.svm")
        found = evaluate(model, open_stream(tmp_path / "test.svm", zero_based=False))
        probabilities, predicted = model.predict_proba(X), model.predict(X)
        of_predicted = np.where(predicted == labels, 0.0, probabilities.max(axis=1))
        rows = np.argsort(-of_predicted, kind="stable")[:3]
        assert [each.location for each in found.mistakes] == [f"{tmp_path}/test.svm, line {row + 1}" for row in rows]
        assert [each.label for each in found.mistakes] == labels[rows].tolist()
        assert [each.predicted for each in found.mistakes] == predicted[rows].tolist()
        np.testing.assert_allclose([each.probability for each in found.mistakes], of_predicted[rows], rtol=1e-6)
        for each, expected in zip(found.mistakes, model.explain(X[rows], 5), strict=True):
            assert [name for name, _ in each.explanation] == [name for name, _ in expected]
            np.testing.assert_allclose([p for _, p in each.explanation], [p for _, p in expected], rtol=1e-5)

        write_report(tmp_path / "run.html", model, evaluation=found)
        page = Page(tmp_path / "run.html")
        tables = [table for table in page.tables if table and table[0] == ["feature", "part"]]
        assert [[row[0] for row in table[1:]] for table in tables] == [
            [name for name, _ in each.explanation] for each in found.mistakes
        ]
        for each in found.mistakes:
            assert f"{each.location} {each.label} , predicted {each.predicted} with " in page.text()

    def test_a_threshold_counts(self, rows):
        X, y = rows
        model = ShadowSOFS(30).fit(X, y)
        model._model.threshold = 2.0
        margins = model.decision_function(X)
        missed = margins[(y == 1) & (margins <= 2.0)]
        assert len(missed) > 3
        for each in evaluate(model, rows).mistakes:
            assert (each.label == 1) == (each.predicted == -1)

    def test_only_where_rows_were_wrong_and_there_are_probabilities(self, rows, tmp_path):
        X, y = rows
        model = ShadowSOFS(30).fit(X, y)
        right = model.predict(X) == y
        for wrong_free, data in ((model, (X[right], y[right])), (MRMR(5).fit(X, y), rows)):
            found = evaluate(wrong_free, data)
            assert found.mistakes == []
            write_report(tmp_path / "run.html", wrong_free, evaluation=found)
            assert "The surest mistakes" not in Page(tmp_path / "run.html").text()

    def test_cross_validation_has_none(self, rows):
        assert cross_validate(ShadowSOFS(5), rows, folds=3).evaluation.mistakes == []

    def test_a_label_that_the_model_does_not_know(self, rows):
        X, y = rows
        model = ShadowSOFS(30).fit(X, y)
        with pytest.warns(UserWarning, match="not among the model's classes"):
            found = evaluate(model, (X, np.where(np.arange(len(y)) < 100, 7, model.predict(X))))
        assert [each.label for each in found.mistakes] == [7, 7, 7]


class TestText:
    def test_names_and_labels_are_text(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(200, 2))
        X = pandas.DataFrame(values, columns=[NASTY, "</td><b>"])
        labels = np.where(values[:, 0] > 0, "<i>yes</i>", "no\x1b")
        model = ShadowSOFS(2, class_weight={"<i>yes</i>": 2.0}).fit(X, labels)
        write_report(
            tmp_path / "run.html", model, evaluation=evaluate(model, X.assign(label=labels)),
            title="</title><script>x</script>", command="echo '<script>'",
        )  # fmt: skip
        found = Page(tmp_path / "run.html")
        assert found.tags.count("script") == 1
        assert not {"b", "i:"} & set(found.tags)
        assert {row[1] for row in found.table("rank")[1:]} == {escape_controls(NASTY), "</td><b>"}
        assert {row[-1] for row in found.table("rank")[1:]} <= {"<i>yes</i>", "no␛"}
        assert "echo '<script>'" in found.text()
        assert "49" not in found.table("rank")[1][1]

    def test_the_policy_allows_its_own_script_alone_and_no_network(self, rows, tmp_path):
        write_report(tmp_path / "run.html", ShadowSOFS(3).fit(*rows))
        source = (tmp_path / "run.html").read_text()
        (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in source
        found = Page(tmp_path / "run.html")
        assert not {"src", "href", "onclick", "onerror"} & {name for name, _ in found.attributes}
        assert "url(" not in source
        assert "@import" not in source
        assert set(re.findall(r"https?://[^\s\"']+", source)) <= {"http://www.w3.org/2000/svg"}


class TestFiles:
    def test_is_written_whole_or_not_at_all(self, rows, tmp_path):
        target = tmp_path / "run.html"
        target.write_text("before")
        with pytest.raises(ValueError, match="not fitted"):
            write_report(target, ShadowSOFS(3))
        assert target.read_text() == "before"
        with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
            write_report(tmp_path / "none" / "run.html", ShadowSOFS(3).fit(*rows))
        with pytest.raises(IsADirectoryError, match="this is a folder"):
            write_report(tmp_path, ShadowSOFS(3).fit(*rows))
        assert [each.name for each in tmp_path.iterdir()] == ["run.html"]

    def test_a_full_disk_is_one_line(self, rows):
        with pytest.raises(OSError, match="/dev/full: no space left on device"):
            write_report("/dev/full", ShadowSOFS(3).fit(*rows))

    def test_without_jinja2(self, rows, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        message = r"^a report needs jinja2: install it with pip install 'thresher\[report\]'\.$"
        with pytest.raises(ImportError, match=message):
            write_report(tmp_path / "run.html", ShadowSOFS(3).fit(*rows))


class TestCommandLine:
    @pytest.fixture
    def data(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        convert(datasets.make_x1(1_000, n_features=400, n_informative=40, n_noise=60), "train it.svm")
        convert(datasets.make_x1(500, n_features=400, n_informative=40, n_noise=60, start=1_000), "test.svm")
        return tmp_path

    def test_writes_the_report(self, data):
        command = ("train", "train it.svm", "-k", 10, "--gamma", "auto", "--test", "test.svm", "--report", "run.html")
        done = thresher(*command, "-o", "m.thresher")
        assert done.returncode == 0, done.stderr
        assert f"wrote run.html, {(data / 'run.html').stat().st_size:,} bytes" in done.stdout
        found = Page(data / "run.html")
        typed = re.search(r"<pre>(.*?)</pre>", found.source, re.DOTALL)[1].replace("&#39;", "'")
        assert shlex.split(typed) == ["thresher", *map(str, command), "-o", "m.thresher"]
        assert "train it.svm" in re.search(r"<h1>(.*?)</h1>", found.source)[1]
        assert "The race for γ" in found.text()
        assert "ROC curve" in found.text()

    def test_json_names_it(self, data):
        command = ("train", "train it.svm", "-k", 10, "--cv", 3, "--json")
        assert json.loads(thresher(*command, "--report", "run.html").stdout)["report"] == "run.html"
        assert json.loads(thresher(*command).stdout)["report"] is None
        assert "3-fold cross-validation" in Page(data / "run.html").text()
        assert "Stability" not in Page(data / "run.html").text()

    def test_has_the_stability(self, data):
        done = thresher("train", "train it.svm", "-k", 10, "--stability", 3, "--json", "--report", "run.html")
        found = json.loads(done.stdout)["stability"]
        low, high = found["interval"]
        text = Page(data / "run.html").text()
        assert "Stability of the selection From 3 random halves of the rows. 1 means" in text
        assert f"stability {found['value']:.3f} 95 % interval {low:.3f} to {high:.3f}" in text

    def test_of_path(self, data):
        command = ("path", "train it.svm", "-k", "5,20,40", "--test", "test.svm", "--report", "path.html")
        done = thresher(*command)
        assert done.returncode == 0, done.stderr
        curve = path(ShadowSOFS(), "train it.svm", [5, 20, 40], "test.svm")
        assert done.stdout == f"{curve}\n\nwrote path.html, {(data / 'path.html').stat().st_size:,} bytes\n"
        found = Page(data / "path.html")
        assert [row[1] for row in found.table("features")[1:]] == [f"{share:.2%}" for share in curve.accuracy]
        assert [row[1] for row in found.table("rank")[1:]] == curve.model.selected_names_
        assert shlex.join(["thresher", *command]) in html.unescape(found.source)
        done = thresher(*command, "--json")
        assert json.loads(done.stdout) == {**curve.to_dict(), "report": "path.html"}

    @pytest.mark.parametrize("report", ["path.pdf", "-", "none/path.html", "link.html"])
    def test_of_path_is_refused_early(self, data, report):
        (data / "link.html").symlink_to("train it.svm")
        done = thresher("path", "train it.svm", "-k", "5,20", "--report", report)
        assert (done.returncode, done.stdout) == (2, "")
        assert report in done.stderr
        assert len(done.stderr.splitlines()) == 1

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("--report", "-"), "--report -: a report can't be written to standard output; name a file."),
            (("--report", "none/run.html"), "none/run.html: the folder none does not exist."),
            (("--report", "."), ".: this is a folder; name a file in it."),
            (("--report", "link.html"), "link.html: this file is also an input"),
            (("--report", "run.pdf"), "--report run.pdf: a report is a web page; its name must end in .html or .htm."),
            (("--report", "run"), "--report run: a report is a web page; its name must end in .html or .htm."),
            (("--report", "./a", "-o", "a"), "-o and --report name the same file, ./a: name two."),
            (("--report", "a", "--checkpoint", "a"), "--checkpoint and --report name the same file, a: name two."),
        ],
    )
    def test_refuses_early(self, data, given, message):
        before = (data / "train it.svm").read_bytes()
        (data / "link.html").symlink_to("train it.svm")
        done = thresher("train", "train it.svm", "-k", 10, *given)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"thresher: {message}")
        assert len(done.stderr.splitlines()) == 1
        assert {each.name for each in data.iterdir()} == {"train it.svm", "test.svm", "link.html"}
        assert (data / "train it.svm").read_bytes() == before

    def test_without_jinja2_nothing_is_trained(self, data, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        done = thresher("train", "train it.svm", "-k", 10, "--report", "run.html", "-o", "m.thresher")
        expected = "thresher: --report: a report needs jinja2: install it with pip install 'thresher[report]'.\n"
        assert (done.returncode, done.stderr) == (2, expected)
        assert not (data / "m.thresher").exists()

    def test_a_page_that_can_not_be_written_leaves_the_model(self, data):
        (data / "full.html").symlink_to("/dev/full")
        done = thresher("train", "train it.svm", "-k", 10, "--report", "full.html", "-o", "m.thresher")
        assert done.returncode == 2
        assert done.stderr.endswith(
            "full.html: no space left on device. The model was trained and written to m.thresher.\n"
        )
        assert (data / "m.thresher").exists()


def test_names_of_a_stream(tmp_path):
    lines = [f'{{"label": {k % 2}, "text": "{"spam <script>" if k % 2 else "mail"} x{k}"}}' for k in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    model = ShadowSOFS(4)
    history = train(model, open_stream(tmp_path / "a.jsonl", text=["text"], analyzer="char", ngrams="1-3"))
    write_report(tmp_path / "run.html", model, history)
    features = Page(tmp_path / "run.html").table("rank")[1:]
    assert [row[1] for row in features] == [name.strip() for name in model.selected_names_]


def test_of_numbers(tmp_path):
    """A report on a model of numbers has R² and pictures of the rows, and nothing on classes."""
    random = np.random.default_rng(0)
    X = random.standard_normal((900, 40))
    rows = X, 3 * X[:, 4] - 2 * X[:, 11] + random.standard_normal(900)
    st = stability(ShadowSOFSRegressor(5, decoys=True), rows, n=3)
    history = train(ShadowSOFSRegressor(5, gamma="auto"), rows)
    curve, cv = path(ShadowSOFSRegressor(), rows, n_features=[1, 2, 5]), cross_validate(ShadowSOFSRegressor(5), rows)
    evaluation = evaluate(st.model, rows)
    write_report(tmp_path / "run.html", st.model, history, [evaluation, cv], curve, st)
    found = Page(tmp_path / "run.html")
    text = found.text()
    for words in (
        f"{evaluation.r2:.4f}", f"R² on test data, RMSE of the mean {evaluation.baseline:.3f}",
        f"{evaluation.r2:.4f} ± {evaluation.standard_error:.4f}", f"{cv.r2:.4f} ± {cv.standard_error:.4f}",
        f"{1 - history.error[-1]:.4f}", f"R² while learning, RMSE of the mean {history.baseline:.3f}",
        f"always predicting the mean, has an RMSE of {curve.baseline:.3f}", "Predicted and actual numbers", "Residuals",
        "A weight above 0 raises the prediction, below 0 lowers it.", "The race for γ", "Told from chance",
    ):  # fmt: skip
        assert words in text, words
    for words in ("accuracy", "class", "label, has", "speaks for", "wrong"):
        assert words not in text.replace("classes", "").lower().replace("class ", ""), words
    assert found.table("features")[0][:4] == ["features", "R²", "standard error", "RMSE"]
    features = found.table("rank")
    assert features[0] == ["rank", "feature", "weight", "q-value", "selected in"]
    assert len(features) == 6
