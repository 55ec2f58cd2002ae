"""The harness of the paper's experiments: its protocol, its memory, and a report that says what the numbers say."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from experiments import config, paper, x2
from experiments.__main__ import run_set
from experiments.config import Config
from experiments.data import Rows, folds, load, split
from experiments.forks import Forks, Stopped
from experiments.methods import METHODS
from experiments.protocol import DATA, Experiment
from experiments.reporting import bars, write_report
from experiments.reporting.finding import Verdict
from experiments.results import Results
from experiments.store import FITS, Store, read_csv, write_csv
from thresher import SOFS, datasets
from thresher.progress import Steps

TINY = Config(
    "tiny", "tiny", "medium", n_train=200, n_test=80, split="random", methods=("SOFS", "PET", "mRMR"),
    norms=("l2", "none"), budgets=(5, 10), generate={"n_features": 60, "n_informative": 8, "n_noise": 12},
    most_permutations=2,
)  # fmt: skip


def without_times(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def rows():
    return load(TINY)


class TestData:
    def test_every_config_can_be_read(self):
        for name in config.names():
            told = config.read(name)
            assert set(told.methods) <= set(METHODS)
            assert told.known or told.file or told.generate
            assert told.split in ("random", "first", "last")
            assert told.home or not told.file

    @pytest.mark.parametrize("how", ["random", "first", "last"])
    def test_no_row_is_both_learned_and_tested(self, rows, how):
        numbered = Rows(rows.X, np.arange(len(rows.y)))
        for permutation in range(3):
            train, test = split(numbered, replace(TINY, split=how), permutation)
            assert (len(train.y), len(test.y)) == (200, 80)
            assert not set(train.y) & set(test.y)
            if how != "random":
                assert sorted(train.y) == list(range(200) if how == "first" else range(80, 280))
                assert list(train.y) != sorted(train.y)

    def test_permutations_differ_and_come_again(self, rows):
        numbered = Rows(rows.X, np.arange(len(rows.y)))
        orders = [split(numbered, TINY, permutation)[0].y.tolist() for permutation in (0, 1, 0)]
        assert orders[0] == orders[2] != orders[1]

    def test_folds_judge_each_row_once(self, rows):
        divided = folds(Rows(rows.X, np.arange(len(rows.y))))
        assert sorted(np.concatenate([judged.y for _, judged in divided])) == list(range(len(rows.y)))
        assert all(not set(learned.y) & set(judged.y) for learned, judged in divided)

    def test_a_stream_of_rows_gives_the_rows(self, rows):
        parts = list(rows.stream())
        assert np.array_equal(np.concatenate([X.toarray() for X, _ in parts]), rows.X.toarray())
        assert np.array_equal(np.concatenate([y for _, y in parts]), rows.y)

    def test_data_that_are_not_here(self, monkeypatch, tmp_path):
        monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        told = config.read("aut")
        assert load(told) is None
        (tmp_path / "aut.svm").write_text("1 1:0.5 4:2\n-1 2:1\n1 1:1\n")
        here = load(told)
        assert here.X.toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0], [1, 0, 0, 0]]
        assert here.y.tolist() == [1, -1, 1]


class TestProtocol:
    def test_grids(self):
        assert len(METHODS["SOFS"].grid(("l2", "none"))) == 22
        assert {p["gamma"] for p in METHODS["SOFS"].grid(("l2",))} == {2.0**k for k in range(-5, 6)}
        fofs = METHODS["FOFS"].grid(("l2",))
        assert all(p["eta"] * p["lam"] < 1 for p in fofs)
        assert {p["lam"] for p in fofs} == {2.0**k / 100 for k in range(-5, 6, 2)}

    def test_parameters_are_chosen_without_the_test_rows(self, rows, tmp_path):
        """Other test rows, the same choice."""
        order = np.random.default_rng(1000).permutation(len(rows.y))
        poisoned = Rows(rows.X.copy(), rows.y.copy())
        for row in order[TINY.n_train :]:
            poisoned.X.data[poisoned.X.indptr[row] : poisoned.X.indptr[row + 1]] = 77.0
            poisoned.y[row] *= -1
        found = []
        for number, data in enumerate((rows, poisoned)):
            experiment = Experiment(replace(TINY, most_permutations=1), Store(tmp_path / f"{number}.jsonl"))
            experiment.rows = data
            experiment.run(Steps())
            found.append(experiment.choices())
        assert found[0] == found[1]
        assert all(choice["status"] == "done" for choice in found[0])

    def test_twice_the_same(self, tmp_path):
        for turn in ("one", "two"):
            run_set(TINY, tmp_path / turn, n_at_once=2, cache=tmp_path / turn / "cache")
        one, two = (read_csv(tmp_path / turn / "tiny.csv") for turn in ("one", "two"))
        assert len(one) == 3 * 2 * 2
        assert without_times(one) == without_times(two)
        assert all(float(row["seconds"]) > 0 for row in one)
        names = [(tmp_path / turn / "tiny-parameters.csv").read_text() for turn in ("one", "two")]
        assert names[0] == names[1]

    def test_accuracy_is_that_of_the_estimator(self, rows, tmp_path):
        """What the harness writes is what a user would get by hand."""
        told = replace(TINY, methods=("SOFS",), budgets=(10,), norms=("l2",), most_permutations=1)
        experiment = Experiment(told, Store(tmp_path / "c.jsonl"))
        experiment.run(Steps())
        train, test = split(rows, told, 0)

        def judged(gamma):
            models = [(SOFS(10, gamma=gamma).fit(a.X, a.y), b) for a, b in folds(train)]
            return np.mean([model.score(b.X, b.y) for model, b in models])

        gamma = max((2.0**power for power in range(-5, 6)), key=judged)
        assert experiment.choices()[0]["parameters"] == f'{{"gamma": {gamma}, "norm": "l2"}}'
        by_hand = SOFS(10, gamma=gamma).fit(train.X, train.y).score(test.X, test.y)
        assert experiment.fits()[0]["accuracy"] == pytest.approx(by_hand, abs=1e-8)

    @pytest.mark.parametrize("after", [1, 4, 9])
    def test_a_stopped_run_goes_on(self, tmp_path, after):
        class Impatient(Steps):
            def done(self, n_steps, told):
                if n_steps > after:
                    raise KeyboardInterrupt

        whole = Experiment(TINY, Store(tmp_path / "whole.jsonl"))
        whole.run(Steps())
        path = tmp_path / "part.jsonl"
        with pytest.raises(KeyboardInterrupt):
            Experiment(TINY, Store(path)).run(Impatient())
        before = path.read_text()
        path.write_text(before + '{"key": ["fit", "SO')  # and it was writing at the time
        again = Experiment(TINY, Store(path))
        again.run(Steps())
        assert path.read_text().startswith(before)
        assert without_times(again.fits()) == without_times(whole.fits())
        lines = [line for line in path.read_text().splitlines() if line.endswith("}")]
        assert len(lines) == len(whole.fits()) + len(whole.choices()), "a finished cell was run again"

    def test_what_takes_too_long_is_stopped_and_larger_budgets_are_not_tried(self, tmp_path):
        told = replace(TINY, methods=("l1-SVM",))
        experiment = Experiment(told, Store(tmp_path / "c.jsonl"), n_at_once=1, seconds=0.0)
        experiment.run(Steps())
        status = {(fit["budget"], fit["permutation"]): fit["status"] for fit in experiment.fits()}
        assert status == {(5, 0): "stopped", (10, 0): "not tried", (5, 1): "not tried", (10, 1): "not tried"}

    def test_the_cache_knows_another_config(self, tmp_path):
        one, two = (Store.of(told, tmp_path) for told in (TINY, replace(TINY, n_train=199)))
        one.put(("fit", "SOFS", 5, 0), {"status": "done"})
        assert Store.of(TINY, tmp_path).get("fit", "SOFS", 5, 0) == {"status": "done"}
        assert two.get("fit", "SOFS", 5, 0) is None


class TestForks:
    def test_results_and_stops(self):
        def busy():
            while True:
                pass

        tasks = [("quick", lambda: 7), ("asleep", lambda: time.sleep(60)), ("busy", busy), ("next", lambda: 8)]
        found = dict(Forks(0.3, 2).run(tasks))
        assert (found["quick"], found["next"]) == (7, 8)
        assert isinstance(found["asleep"], Stopped)
        assert isinstance(found["busy"], Stopped)

    def test_an_error_is_told(self):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            list(Forks(10.0, 1).run([("bad", lambda: 1 / 0)]))


class TestX2:
    def test_ids_numbered_anew_make_the_same_mistakes(self):
        X, y = next(iter(datasets.make_x2(300, n_features=100_000, n_informative=20, n_noise=30)))
        models = [SOFS(20).fit(rows, y) for rows in (X, x2.numbered_anew(X))]
        assert models[0].n_mistakes_ == models[1].n_mistakes_
        assert models[0].coef_.data.tolist() == models[1].coef_.data.tolist()


def write_fits(folder, name, accuracies, methods=("SOFS", "ShadowSOFS", "mRMR", "PET", "FOFS", "FGM", "l1-SVM")):
    """Write results in which every method has these accuracies, a budget each, on two permutations."""
    fits = [
        {
            "set": name, "method": method, "budget": budget, "permutation": permutation, "status": "done",
            "accuracy": (accuracy + permutation) / 100, "seconds": 0.5, "n_selected": budget, "n_updates": 50,
        }
        for method in methods for budget, accuracy in zip(paper.BUDGETS, accuracies, strict=True)
        for permutation in (0, 1)
    ]  # fmt: skip
    write_csv(folder / f"{name}.csv", FITS, fits)
    costs = [{"set": name, "n_features": 1_000, "budget": budget, "seconds": 0.001} for budget in paper.BUDGETS]
    write_csv(folder / f"{name}-truncation.csv", costs[0], costs)
    sizes = {"n_train": 100, "n_test": 50, "n_features": 1_000, "train_nonzeros": 5_000}
    write_csv(folder / f"{name}-data.csv", DATA, [{"set": name, **sizes}])


class TestReport:
    def test_it_can_be_written_without_any_result(self, tmp_path):
        write_report(tmp_path)
        text = (tmp_path / "REPORT.md").read_text()
        assert "82.76" in text  # the paper's rows stay
        assert "data not present" in text

    @pytest.mark.parametrize(("shift", "holds"), [(-0.9, True), (-1.6, False), (3.0, True)])
    def test_its_verdicts_follow_the_numbers(self, tmp_path, shift, holds):
        # Two permutations a point apart have their mean half a point higher.
        write_fits(tmp_path / "results", "ccat", [value - 0.5 + shift for value in paper.TABLE_6["ccat"]["SOFS"]])
        finding = bars.sofs_beside_the_paper(Results(tmp_path / "results"), "ccat", -1.0)
        assert (finding.verdict is Verdict.HOLDS) is holds
        write_report(tmp_path)
        text = (tmp_path / "REPORT.md").read_text()
        verdict = "holds" if holds else "**does not hold**"
        assert f"| SOFS on ccat is no more than 1 point below the paper | {verdict} |" in text
        assert f"{82.76 + shift:.2f} ± 0.71 (n = 2)" in text
        assert f"| – difference | {shift:+.2f} (se 0.50) |".replace("-", "−") in text

    def test_a_cell_that_was_stopped_says_so(self, tmp_path):
        write_fits(tmp_path / "results", "ccat", paper.TABLE_6["ccat"]["SOFS"])
        path = tmp_path / "results" / "ccat.csv"
        fits = read_csv(path)
        for fit in fits:
            if fit["method"] == "l1-SVM":
                fit.update(status="stopped", accuracy="", seconds="", n_selected="", n_updates="")
        write_csv(path, FITS, fits)
        write_report(tmp_path)
        assert "| l1-SVM | > 120 s | > 120 s |" in (tmp_path / "REPORT.md").read_text()

    def test_where_shadow_sofs_is_below(self, tmp_path):
        write_fits(tmp_path / "results", "ccat", [80.0] * 5)
        path = tmp_path / "results" / "ccat.csv"
        fits = read_csv(path)
        for fit in fits:
            if (fit["method"], fit["budget"]) == ("ShadowSOFS", "300"):
                fit["accuracy"] = "0.79"
        write_csv(path, FITS, fits)
        finding = bars.shadow_at_or_above(Results(tmp_path / "results"), "SOFS")
        assert finding.verdict is Verdict.FAILS
        assert "Below by the mean at ccat B = 300, −1.50 (se 0.50)" in finding.found

    def test_figures_are_drawn_and_the_same_each_time(self, tmp_path):
        figures = pytest.importorskip("experiments.figures")
        write_fits(tmp_path / "results", "ccat", [80.0, 81.0, 82.0, 83.0, 84.0])
        pictures = []
        for _ in range(2):
            figures.draw_all(tmp_path)
            pictures.append((tmp_path / "figures" / "fig2-accuracy.svg").read_bytes())
        assert pictures[0] == pictures[1]
        assert (tmp_path / "figures" / "fig3-time.png").stat().st_size > 1_000
