"""Charts: round numbers on the axes, SVG in which every name is text, and the same pictures on matplotlib."""

from __future__ import annotations

import math
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import AROW, MRMR, ShadowSOFS, datasets, evaluate, load, path, save, train
from thresher.charts import Chart, Line, as_svg, escape_controls
from thresher.charts.chart import log_ticks, number_text, ticks
from thresher.training import History

NASTY = '<script>alert(1)</script> & "quotes" $x^2$ \x00\x1b\ud800 \u202eabc'
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def no_window():
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return datasets.make_x1(1_500, n_features=400, n_informative=40, n_noise=60)


@pytest.fixture(scope="module")
def run(rows):
    model = ShadowSOFS(20, gamma="auto")
    history = train(model, rows, validate=rows)
    return model, history, evaluate(model, rows)


def texts(svg: str) -> list[str]:
    """Return all text of an SVG, which must be well-formed XML."""
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.text]


class TestTicks:
    @given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(3, 10))
    def test_are_round_and_inside(self, low, width, most):
        high = low + width
        found = ticks(low, high, most)
        step = width / most
        assert len(found) <= most / 0.85 + 1
        for tick in found:
            assert low - 1e-6 * width <= tick <= high + 1e-6 * width
        if len(found) > 1:
            digits = (found[1] - found[0]) / 10 ** math.floor(math.log10(found[1] - found[0]) + 1e-9)
            assert round(digits, 3) in (1, 2, 5)
            assert found[1] - found[0] >= 0.8 * step

    @given(st.floats(1, 1e6), st.floats(1.2, 1e9))
    def test_of_a_logarithmic_axis(self, low, ratio):
        found = log_ticks(low, low * ratio, 6)
        assert 1 <= len(found) <= 8
        assert found == sorted(found)
        assert all(low * 0.99 <= tick <= low * ratio * 1.01 for tick in found)

    @pytest.mark.parametrize(
        ("value", "format", "step", "expected"),
        [
            (12_000, "count", None, "12,000"), (0.25, "share", 0.05, "25 %"), (0.025, "share", 0.005, "2.5 %"),
            (0.5, "number", 0.05, "0.50"), (3.0, "number", 1.0, "3"), (0.04321, "share", None, "4.3 %"),
            (1.5, "count", 0.5, "1.5"),
        ],
    )  # fmt: skip
    def test_numbers_are_written_for_people(self, value, format, step, expected):
        assert number_text(value, format, step) == expected


class TestSvg:
    def test_points_are_where_they_belong(self):
        chart = Chart("t", "x", "y", [Line("", [0, 5, 10], [0, 1, 0.5], has_dots=True)], y_limits=(0, 1))
        dots = list(ElementTree.fromstring(as_svg(chart)).iter(f"{SVG}circle"))
        x, y = ([float(dot.get(name)) for dot in dots] for name in ("cx", "cy"))
        assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)
        assert x[0] < x[1]
        assert y[0] - y[1] == pytest.approx(2 * (y[0] - y[2]), abs=0.3)
        assert y[0] > y[1]  # down is up in SVG

    def test_a_logarithmic_axis(self):
        chart = Chart("t", "x", "y", [Line("", [10, 100, 1_000], [1, 1, 1], has_dots=True)], is_log=True)
        x = [float(dot.get("cx")) for dot in ElementTree.fromstring(as_svg(chart)).iter(f"{SVG}circle")]
        assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)
        chart = Chart("t", "x", "y", [Line("", [1, 2, 3], [0.1, 1, 10], has_dots=True)], is_log_up=True)
        y = [float(dot.get("cy")) for dot in ElementTree.fromstring(as_svg(chart)).iter(f"{SVG}circle")]
        assert y[0] - y[1] == pytest.approx(y[1] - y[2], abs=0.2)
        assert y[0] > y[1]

    def test_names_are_text(self):
        lines = [Line(NASTY, [1, 2], [0.1, 0.2], has_dots=True), Line("b", [1], [0.1])]
        svg = as_svg(Chart(NASTY, NASTY, NASTY, lines, mark=(1.5, NASTY)))
        root = ElementTree.fromstring(svg)
        assert not list(root.iter(f"{SVG}script"))
        assert escape_controls(NASTY) in texts(svg)
        assert root.get("aria-label") == escape_controls(NASTY)

    @pytest.mark.parametrize("line", [Line("", [7], [0.0]), Line("", [5, 5], [0, 0]), Line("", [0], [1])])
    def test_few_or_equal_points(self, line):
        assert "nan" not in as_svg(Chart("t", "x", "y", [line]))
        assert "inf" not in as_svg(Chart("t", "x", "y", [line]))

    def test_every_picture_is_well_formed(self, run):
        _, history, evaluation = run
        assert set(history.charts()) == {"error", "loss", "members", "race"}
        for chart in [*history.charts().values(), *evaluation.charts().values()]:
            assert chart.x_label in texts(as_svg(chart))


def test_visible():
    assert escape_controls("a\nb\x00\x7f\ud800é") == "a␊b␀␡\ufffdé"
    assert escape_controls("\u202egnp.exe") == "\\u202egnp.exe"  # or it would be read as exe.png
    assert escape_controls("שלום") == "שלום"


class TestHistory:
    def test_error(self, run):
        _, history, _ = run
        ax = history.plot()
        between, so_far, tested = ax.lines
        # The error is that of rows read for the first time: later passes are not drawn.
        rows = [n for n in history.rows if n <= 1_500]
        np.testing.assert_array_equal(so_far.get_xydata(), np.column_stack([rows, history.error[: len(rows)]]))
        assert set(history.error[len(rows) :]) == {history.error[len(rows) - 1]}
        # What was wrong between two points adds up to what was wrong in all.
        widths = np.diff(rows, prepend=0)
        np.testing.assert_allclose(between.get_ydata() @ widths, history.error[-1] * 1_500)
        ends = [(n, 1 - share) for n, share in zip(history.rows, history.validation, strict=True) if share is not None]
        np.testing.assert_allclose(tested.get_xydata(), ends)
        assert [n for n, _ in ends] == [1_500, 3_000, 4_500]  # at the last, of the model after its closing pass
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            "since the last point", "so far", "validation data"
        ]  # fmt: skip

    def test_the_others(self, run):
        _, history, _ = run
        np.testing.assert_array_equal(history.plot("loss").lines[0].get_ydata(), history.loss)
        np.testing.assert_array_equal(history.plot("members").lines[0].get_ydata(), history.entered[1:])
        ax = history.plot("race")
        assert len(ax.lines) == 8
        assert sum("chosen" in text.get_text() for text in ax.texts) == 1

    def test_draws_where_it_is_told_to(self, run):
        ax = plt.figure().subplots()
        assert run[1].plot(ax=ax) is ax

    def test_what_is_not_there(self, rows):
        X, y = rows
        with pytest.raises(ValueError, match=r"kind='race' is not in this history; it has error, loss, members"):
            train(ShadowSOFS(5), rows).plot("race")
        with pytest.raises(ValueError, match="it has no pictures"):
            train(MRMR(5), (X[:100], y[:100])).plot()
        assert "members" not in train(AROW(), rows).charts()

    @pytest.mark.filterwarnings("ignore:.*grouped by label")
    def test_of_rows_grouped_by_label_the_error_says_nothing(self, rows):
        X, y = rows
        order = np.argsort(y)
        history = train(ShadowSOFS(5), (X[order], y[order]), shuffle=False)
        assert history.grouped_by_label
        assert "error" not in history.charts()


class TestEvaluation:
    def test_curves(self, run):
        evaluation = run[2]
        np.testing.assert_array_equal(evaluation.plot().lines[1].get_xydata(), evaluation.roc_curve)
        drawn = evaluation.plot("precision_recall").lines[1].get_xydata()
        np.testing.assert_array_equal(drawn, evaluation.precision_recall_curve)

    def test_confusion(self, run, rows):
        X, y = rows
        counts = [int(text.get_text().replace(",", "")) for text in run[2].plot("confusion").texts]
        assert counts == run[2].confusion.ravel().tolist()
        many = np.arange(len(y)) % 3
        evaluation = evaluate(ShadowSOFS(5).fit(X, many), (X, many))
        assert len(evaluation.plot().texts) == 9
        with pytest.raises(ValueError, match=r"kind='roc' is not available for this evaluation; it has confusion"):
            evaluation.plot("roc")


def test_curve(rows):
    curve = path(ShadowSOFS(), rows, n_features=[5, 20, 40])
    ax = curve.plot()
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([curve.n_features, curve.accuracy]))
    assert ax.lines[1].get_xdata()[0] == curve.suggested


class TestFeatures:
    def test_best_first(self, run, tmp_path):
        model = run[0]
        ax = model.plot_features(7)
        weights = model.coef_.toarray()[0, model.selected_[:7]]
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], weights)
        assert [label.get_text() for label in ax.get_yticklabels()] == model.selected_names_[:7]
        assert ax.yaxis_inverted()
        save(model, tmp_path / "m.thresher")
        assert len(load(tmp_path / "m.thresher").plot_features().patches) == 20

    @pytest.mark.filterwarnings("ignore:Glyph")  # matplotlib's font has no pictures of control characters
    def test_names_are_text(self):
        nasty = NASTY.replace("\ud800", "")  # which pandas refuses
        X = pandas.DataFrame({nasty: [1.0, -1.0, 1.0, -1.0], "$y$": [0.0, 1.0, 1.0, 0.0]})
        ax = ShadowSOFS(2).fit(X, ["a$b$", "c", "a$b$", "c"]).plot_features()
        ax.figure.canvas.draw()  # which would read a formula between two dollar signs
        labels = ax.get_yticklabels()
        assert {label.get_text() for label in labels} <= {escape_controls(nasty), "$y$"}
        assert not any(label.get_parse_math() for label in [*labels, ax.xaxis.label])

    def test_of_many_classes(self, rows):
        X, y = rows
        model = ShadowSOFS(5).fit(X, np.arange(len(y)) % 3)
        ax = model.plot_features()
        weights = model.coef_.toarray()[:, model.selected_]
        strongest = np.abs(weights).argmax(axis=0)
        expected = [weights[c, k] for k, c in enumerate(strongest)]
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected)
        assert ax.get_yticklabels()[0].get_text() == f"{model.selected_names_[0]} ({strongest[0]})"

    def test_n_is_checked(self, run):
        with pytest.raises(ValueError, match="n must be"):
            run[0].plot_features(0)


class TestNotebooks:
    def test_html_is_escaped(self, rows):
        X, y = rows
        labels = np.where(y == 1, "<script>a</script>", "b & c")
        evaluation = evaluate(ShadowSOFS(5).fit(X, labels), (X, labels))
        html = evaluation._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;a&lt;/script&gt;" in html
        ElementTree.fromstring(html)

    def test_histories_and_curves(self, run, rows):
        history = run[1]
        root = ElementTree.fromstring(history._repr_html_())
        assert len(list(root.iter(f"{SVG}svg"))) == 2
        assert "1,500 rows in 3 passes and a closing one" in history._repr_html_()
        assert History()._repr_html_().count("svg") == 0
        html = path(ShadowSOFS(), rows, n_features=[5, 20])._repr_html_()
        assert "suggested" in html
        ElementTree.fromstring(html)

    def test_estimators_keep_scikit_learns(self, run):
        assert "sk-estimator" in run[0]._repr_html_()


def test_without_matplotlib_one_line_says_what_to_install(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from thresher import ShadowSOFS, datasets, train\n"
        "history = train(ShadowSOFS(5), datasets.make_x1(200, n_features=50, n_informative=5, n_noise=5))\n"
        "history._repr_html_()\n"
        "history.plot()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last == "ImportError: plots need matplotlib: install it with pip install 'thresher[report]'."
