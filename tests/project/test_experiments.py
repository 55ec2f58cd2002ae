"""The harness of the paper's experiments: its protocol and its memory."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import config, store, x2
from experiments.__main__ import app, run_set
from experiments.config import Config
from experiments.data import MissingDataError, Rows, folds, load, split
from experiments.forks import Forks, Stopped
from experiments.methods import METHODS
from experiments.protocol import SOON, Experiment, fitted
from experiments.store import Store, read_csv
from experiments.truncation import truncate
from thresher import OGD, SOFS, ShadowSOFS, datasets
from thresher.progress import Steps
from thresher.training import train

TINY = Config(
    "tiny", "tiny", "medium", n_train=200, n_test=80, split="random", methods=("SOFS", "PET", "mRMR"),
    norms=("l2", "none"), budgets=(5, 10), generate={"n_features": 60, "n_informative": 8, "n_noise": 12},
    gamma_powers=(-5, 5), most_permutations=2,
)  # fmt: skip


TINY_X2 = x2.Size(n_train=400, n_test=200, n_features=500_000, budget=500, prefix=200, probes=200_000)


def without_times(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def rows():
    return load(TINY)


class TestData:
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

    @pytest.mark.parametrize("n", [200, 1_200])  # one batch, or more than two
    def test_a_stream_of_rows_gives_the_rows(self, n):
        rows = load(replace(TINY, n_train=n))
        parts = list(rows.stream())
        assert (len(parts) > 2) == (n > 1_000)
        assert np.array_equal(np.concatenate([X.toarray() for X, _ in parts]), rows.X.toarray())
        assert np.array_equal(np.concatenate([y for _, y in parts]), rows.y)

    def test_data_that_are_not_present(self, monkeypatch, tmp_path):
        monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        wanted = config.read("aut")
        with pytest.raises(MissingDataError, match=r"get aut\.svm from http://.* and put it into"):
            load(wanted)
        (tmp_path / "aut.svm").write_text("1 1:0.5 4:2\n-1 2:1\n1 1:1\n")
        found = load(wanted)
        assert found.X.toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0], [1, 0, 0, 0]]
        assert found.y.tolist() == [1, -1, 1]


class TestProtocol:
    def test_grids(self):
        assert len(METHODS["SOFS"].grid(("l2", "none"))) == 22
        assert {p["gamma"] for p in METHODS["SOFS"].grid(("l2",))} == {2.0**k for k in range(-5, 6)}
        fofs = METHODS["FOFS"].grid(("l2",))
        assert all(p["eta"] * p["lam"] < 1 for p in fofs)
        assert {p["lam"] for p in fofs} == {2.0**k / 100 for k in range(-5, 6, 2)}
        assert METHODS["mRMR"].grid(("l2", "none")) == [{"norm": "l2"}, {"norm": None}]
        assert METHODS["l1-SVM"].grid(("l2", "none")) == [{"norm": "l2"}]

    def test_online_methods_learn_as_in_the_paper(self):
        """Whatever the defaults of the library are: one pass in the order of rows, without an intercept."""
        for name, method in METHODS.items():
            if method.is_online and name != "ShadowSOFS defaults":
                made = method.make(5, method.grid(("l2",))[0]).get_params()
                assert (made["n_passes"], made["shuffle"], made["fit_intercept"]) == (1, False, False)

    def test_the_defaults_are_those_of_the_library(self):
        method = METHODS["ShadowSOFS defaults"]
        assert method.grid(("l2", "none")) == [{"norm": "l2"}], "nothing to choose"
        assert method.make(7, {"norm": "l2"}).get_params() == ShadowSOFS(7).get_params()

    def test_a_config_sets_the_grid_of_gamma(self, tmp_path):
        assert max(p["gamma"] for p in METHODS["SOFS"].grid(("l2",), (-5, 13))) == 2.0**13
        assert METHODS["SOFS"].ends((-5, 13)) == {"gamma": (2.0**-5, 2.0**13)}
        assert METHODS["PET"].ends((-5, 13)) == {"eta": (2.0**-5, 2.0**5)}
        wide = replace(TINY, methods=("SOFS",), budgets=(5,), norms=("l2",), gamma_powers=(3, 3), most_permutations=1)
        experiment = Experiment(wide, Store(tmp_path / "wide.jsonl"))
        experiment.run(Steps())
        assert json.loads(experiment.choices()[0]["parameters"])["gamma"] == 8.0

    @pytest.mark.slow
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

    def test_accuracy_is_that_of_the_estimator(self, rows, tmp_path):
        """What the harness writes is what a user would get by hand."""
        wanted = replace(TINY, methods=("SOFS",), budgets=(10,), norms=("l2",), most_permutations=1)
        experiment = Experiment(wanted, Store(tmp_path / "c.jsonl"))
        experiment.run(Steps())
        train, test = split(rows, wanted, 0)

        def judged(gamma):
            models = [(SOFS(10, gamma=gamma, shuffle=False).fit(a.X, a.y), b) for a, b in folds(train)]
            return np.mean([model.score(b.X, b.y) for model, b in models])

        gamma = max((2.0**power for power in range(-5, 6)), key=judged)
        assert experiment.choices()[0]["parameters"] == f'{{"gamma": {gamma}, "norm": "l2"}}'
        by_hand = SOFS(10, gamma=gamma, shuffle=False).fit(train.X, train.y).score(test.X, test.y)
        assert experiment.fits()[0]["accuracy"] == pytest.approx(by_hand, abs=1e-8)

    @pytest.mark.slow
    @pytest.mark.parametrize("after", [1, 4, 9])
    def test_a_stopped_run_goes_on(self, tmp_path, after):
        class Impatient(Steps):
            def done(self, n_steps, message):
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
        wanted = replace(TINY, methods=("l1-SVM",))
        experiment = Experiment(wanted, Store(tmp_path / "c.jsonl"), n_at_once=1, seconds=0.0)
        experiment.run(Steps())
        status = {(fit["budget"], fit["permutation"]): fit["status"] for fit in experiment.fits()}
        assert status == {(5, 0): "stopped", (10, 0): "not tried", (5, 1): "not tried", (10, 1): "not tried"}

    def test_some_methods_are_run_again_and_the_rows_of_others_stay(self, tmp_path, monkeypatch):
        def run(names=None, **changes):
            run_set(replace(TINY, norms=("l2",), **changes), tmp_path, 2, tmp_path / "cache", names=names)
            return {name: read_csv(tmp_path / f"{name}.csv") for name in ("tiny", "tiny-parameters", "runs")}

        def of(tables, *methods):
            return {name: [row for row in rows if row["method"] in methods] for name, rows in tables.items()}

        before = run()
        monkeypatch.setattr(store, "commit", lambda: "another")
        after = run({"PET", "mRMR"}, permutations={"PET": 1})
        assert of(after, "SOFS") == of(before, "SOFS")
        assert of(after, "mRMR")["tiny"] == of(before, "mRMR")["tiny"], "what is finished is not run again"
        assert [(row["budget"], row["permutation"]) for row in of(after, "PET")["tiny"]] == [("5", "0"), ("10", "0")]
        assert {row["method"]: row["commit"] == "another" for row in after["runs"]} == {
            "SOFS": False, "PET": True, "mRMR": True,
        }  # fmt: skip
        for name in ("tiny", "tiny-parameters"):
            order = [TINY.methods.index(row["method"]) for row in after[name]]
            assert order == sorted(order)
        fewer = run(methods=("SOFS", "PET"))
        assert {row["method"] for rows in fewer.values() for row in rows} == {"SOFS", "PET"}

    def test_permutations_are_added_to_those_that_are_there(self, tmp_path, monkeypatch):
        wanted = replace(TINY, methods=("SOFS", "PET"), norms=("l2",), gamma_powers=(0, 1))
        run_set(replace(wanted, permutations={"SOFS": 1}), tmp_path, 2, tmp_path / "one")
        before = read_csv(tmp_path / "tiny.csv")
        monkeypatch.setattr(store, "commit", lambda: "another")
        run_set(wanted, tmp_path, 2, tmp_path / "two", names={"SOFS"}, add=True)
        after = read_csv(tmp_path / "tiny.csv")
        new = [row for row in after if row not in before]
        assert [(row["method"], row["budget"], row["permutation"]) for row in new] == [
            ("SOFS", "5", "1"), ("SOFS", "10", "1"),
        ]  # fmt: skip
        assert [row for row in after if row in before] == before
        commits = {row["method"]: row["commit"] for row in read_csv(tmp_path / "runs.csv")}
        assert commits["SOFS"] == f"{commits['PET']}, another"
        run_set(wanted, tmp_path / "all", 2, tmp_path / "three")
        assert without_times(read_csv(tmp_path / "all" / "tiny.csv")) == without_times(after)

    def test_budgets_that_take_long_are_run_once(self, tmp_path):
        wanted = replace(TINY, methods=("SOFS", "PET"), once_above={"PET": 5})
        experiment = Experiment(wanted, Store(tmp_path / "c.jsonl"))
        experiment.run(Steps())
        n_fits = Counter((fit["method"], fit["budget"]) for fit in experiment.fits())
        assert n_fits == {("SOFS", 5): 2, ("SOFS", 10): 2, ("PET", 5): 2, ("PET", 10): 1}

    def test_the_cache_knows_other_configs_and_other_code(self, tmp_path, monkeypatch):
        source = tmp_path / "protocol.py"
        source.write_text("one = 1")
        monkeypatch.setattr(store, "sources", lambda: [source])
        Store.of(TINY, tmp_path).put(("fit", "SOFS", 5, 0), {"status": "done"})
        assert Store.of(TINY, tmp_path).get("fit", "SOFS", 5, 0) == {"status": "done"}
        assert Store.of(replace(TINY, n_train=199), tmp_path).get("fit", "SOFS", 5, 0) is None
        source.write_text("one = 2")
        assert Store.of(TINY, tmp_path).get("fit", "SOFS", 5, 0) is None

    def test_seconds_are_cpu_seconds_of_the_fastest_of_three_fits(self, rows, monkeypatch):
        clock = iter((0.0, 0.5, 1.0, 1.25, 2.0, 3.0))
        monkeypatch.setattr(time, "process_time", lambda: next(clock))
        method = SimpleNamespace(make=lambda budget, parameters: OGD(shuffle=False))
        assert fitted(method, 2, {}, rows, rows)["seconds"] == 0.25
        assert next(clock, None) is None

    def test_what_takes_long_is_fitted_once(self, rows, monkeypatch):
        clock = iter((0.0, SOON + 1))
        monkeypatch.setattr(time, "process_time", lambda: next(clock))
        method = SimpleNamespace(make=lambda budget, parameters: OGD(shuffle=False))
        assert fitted(method, 2, {}, rows, rows)["seconds"] == SOON + 1


class TestForks:
    @pytest.mark.slow
    def test_results_and_stops(self):
        def busy():
            while True:
                pass

        tasks = [("quick", lambda: 7), ("asleep", lambda: time.sleep(60)), ("busy", busy), ("next", lambda: 8)]
        found = dict(Forks(0.3, 2).run(tasks))
        assert (found["quick"], found["next"]) == (7, 8)
        assert isinstance(found["asleep"], Stopped)
        assert isinstance(found["busy"], Stopped)

    def test_an_error_is_raised(self):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            list(Forks(10.0, 1).run([("bad", lambda: 1 / 0)]))


class TestX2:
    def test_renumbered_ids_make_the_same_mistakes(self):
        X, y = next(iter(datasets.make_x2(300, n_features=100_000, n_informative=20, n_noise=30)))
        models = [SOFS(20, shuffle=False).fit(rows, y) for rows in (X, x2.renumbered(X))]
        assert models[0].n_mistakes_ == models[1].n_mistakes_
        assert models[0].coef_.data.tolist() == models[1].coef_.data.tolist()

    @pytest.mark.slow
    def test_a_tiny_run(self, tmp_path):
        """What is measured is what a user would get by hand, and what is finished is not run again."""
        methods = ("SOFS", "OGD", "ShadowSOFS defaults")
        tried, measured = x2.run(TINY_X2, Store(tmp_path / "x2.jsonl"), Steps(), methods)
        for row in measured:
            grid = {one["parameters"]: one["n_mistakes"] for one in tried if one["method"] == row["method"]}
            assert len(grid) == (1 if row["method"] == "ShadowSOFS defaults" else 11)
            assert grid[row["parameters"]] == min(grid.values())
        sofs = next(row for row in measured if row["method"] == "SOFS")
        model = SOFS(TINY_X2.budget, shuffle=False, **json.loads(sofs["parameters"]))
        train(model, TINY_X2.stream(0, TINY_X2.n_train))
        right = [model.predict(X) == y for X, y in TINY_X2.stream(TINY_X2.n_train, TINY_X2.n_test)]
        assert sofs["accuracy"] == pytest.approx(np.mean(np.concatenate(right)))
        assert sofs["sparsity"] == 100 * (1 - TINY_X2.budget / TINY_X2.n_features)
        assert x2.run(TINY_X2, Store(tmp_path / "x2.jsonl"), Steps(), methods) == (tried, measured)

    def test_zeros_are_counted(self):
        found = x2.measure("OGD", {"eta": 8.0}, TINY_X2)
        model = OGD(eta=8.0, shuffle=False)
        train(model, TINY_X2.stream(0, TINY_X2.n_train))
        zeros = 100 * (1 - np.count_nonzero(model.coef_.data) / TINY_X2.n_features)
        assert 50 < zeros < 95
        assert found["sparsity"] == pytest.approx(zeros, abs=0.5)


class TestTruncation:
    def test_the_largest_stay_whatever_their_sign(self):
        weights = np.array([0, -5, 1, 0, -2, 3, 0.5, -0.1], dtype=np.float32)
        truncate(weights, 3)
        assert weights.tolist() == [0, -5, 0, 0, -2, 3, 0, 0]


class TestCommandLine:
    @pytest.mark.parametrize(("arguments", "message"), [
        (["basehok"], "there is no basehok; there are relathe"),
        (["relathe", "--methods", "SOFS, FGN"], "--methods: there is no FGN; there are SOFS"),
    ])  # fmt: skip
    def test_an_unknown_name_is_refused(self, arguments, message):
        done = CliRunner().invoke(app, ["run", *arguments])
        assert done.exit_code == 2
        assert message in " ".join(done.output.replace("│", " ").split())

    def test_a_method_that_a_set_does_not_have(self, tmp_path, monkeypatch):
        monkeypatch.setattr("experiments.__main__.SMALLEST", tmp_path / "smallest")
        done = CliRunner().invoke(app, ["run", "dense", "x2", "--smallest", "--methods", "mRMR"])
        assert done.exit_code == 0, done.output
        assert "dense: it has SOFS" in done.output
        assert "x2: it has OGD" in done.output
        assert not (tmp_path / "smallest" / "results").exists()
