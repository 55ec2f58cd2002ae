"""The report of the paper's experiments: each statement is judged once true and once false, on made-up results."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from experiments import paper, x2
from experiments.__main__ import STUDIES
from experiments.config import HOME, Config
from experiments.methods import TABLE_2_METHODS, TABLE_6_METHODS
from experiments.protocol import DATA
from experiments.reporting import findings, paper_tables, tables
from experiments.reporting.differences import (
    Difference,
    Standing,
    Verdict,
    against_paper,
    difference,
    mean_difference,
    most_above,
)
from experiments.reporting.report import report, write_report
from experiments.results import Cell, Record
from experiments.store import CHOICES, FITS, read_csv, write_csv

HOLDS, FAILS, UNDECIDED, NO_DATA = Verdict
SHAKEN = (3.0, -2.0, -1.0)  # three permutations that are far apart


@dataclass
class Made:
    """A cell that was made up."""

    accuracies: tuple[float, ...]
    seconds: float = 0.5
    n_selected: int | None = None
    n_updates: int = 50


def same(accuracy, **others):
    """Return a cell of three permutations whose distances are those of every other cell: differences have no error."""
    return Made(tuple(accuracy + shift for shift in (-1.0, 0.0, 1.0)), **others)


def shaken(accuracy):
    return Made(tuple(accuracy + shift for shift in SHAKEN))


def write_set(folder, name, cells, nonzeros=5_000, cost=0.001):
    """Write results from {(method, budget): cell}; a number is the accuracy of a cell that has no surprise."""
    made = {key: cell if isinstance(cell, Made) else same(cell) for key, cell in cells.items()}
    fits = [
        {
            "set": name, "method": method, "budget": budget, "permutation": permutation, "status": "done",
            "accuracy": accuracy / 100, "seconds": cell.seconds, "n_selected": cell.n_selected or budget,
            "n_updates": cell.n_updates,
        }
        for (method, budget), cell in made.items() for permutation, accuracy in enumerate(cell.accuracies)
    ]  # fmt: skip
    write_csv(folder / f"{name}.csv", FITS, fits)
    costs = [{"set": name, "budget": budget, "seconds": cost} for budget in sorted({budget for _, budget in cells})]
    write_csv(folder / f"{name}-truncation.csv", costs[0], costs)
    sizes = {"n_train": 100, "n_test": 50, "n_features": 1_000, "train_nonzeros": nonzeros}
    write_csv(folder / f"{name}-data.csv", DATA, [{"set": name, **sizes}])


def table_6(by_method):
    """Return the cells of a medium set: an accuracy or a cell for all budgets, or one for each."""
    return {
        (method, budget): of[place] if isinstance(of, list | tuple) else of
        for method, of in by_method.items()
        for place, budget in enumerate(paper.BUDGETS)
    }


def write_x2(folder, accuracy=0.99, seconds=40.0, size=None):
    rows = [
        {
            "set": "x2", "method": name, "parameters": json.dumps({"eta": 32.0} if name == "OGD" else {"gamma": 2.0}),
            "accuracy": accuracy, "seconds": seconds, "learning_seconds": 20.0, "sparsity": 80.0,
            "n_selected": "", "n_updates": 300_000, "peak_mb": 5_000,
        }
        for name in TABLE_2_METHODS
    ]  # fmt: skip
    write_csv(folder / "x2.csv", x2.MEASURED, rows)
    tried = {"set": "x2", "method": "OGD", "n_rows": (size or x2.Size()).prefix}
    write_csv(folder / "x2-tried.csv", x2.TRIED, [tried])


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def verdicts(folder):
    return {name: verdict for of in findings.ALL for name, verdict in of(Record(folder))[1].items()}


class TestDifferences:
    def test_they_are_paired(self):
        """What two methods share on a permutation is no part of the error."""
        mine, other = Cell("done", 100, {0: 71.0, 1: 81.0, 2: 91.3}), Cell("done", 100, {0: 70.0, 1: 80.0, 2: 90.0})
        gap = difference(mine, other)
        assert (gap.mean, gap.n) == (pytest.approx(1.1), 3)
        assert gap.standard_error == pytest.approx(0.1)
        assert gap.standing is Standing.ABOVE
        assert difference(other, mine).standing is Standing.BELOW

    def test_they_are_over_common_permutations(self):
        gap = difference(Cell("done", 100, {0: 71.0, 1: 20.0}), Cell("done", 100, {0: 70.0, 2: 90.0}))
        assert gap == Difference(1.0, None, 1)
        assert gap.standing is Standing.UNKNOWN, "one permutation has no standard error"
        assert difference(Cell("done", 100, {1: 20.0}), Cell("done", 100, {2: 90.0})) is None

    def test_within_two_standard_errors_is_level(self):
        zero = Cell("done", 100, dict.fromkeys(range(3), 0.0))
        for shift, standing in ((2.9, Standing.LEVEL), (3.1, Standing.ABOVE)):  # the standard error is 1.53
            cell = Cell("done", 100, {place: shift + value for place, value in enumerate(SHAKEN)})
            assert difference(cell, zero).standing is standing

    def test_a_mean_over_budgets_is_taken_permutation_by_permutation(self):
        zero = Cell("done", 100, {0: 0.0, 1: 0.0})
        up, down = Cell("done", 100, {0: 1.0, 1: 5.0}), Cell("done", 100, {0: 3.0, 1: -1.0})
        assert mean_difference([(up, zero), (down, zero)]) == Difference(2.0, 0.0, 2)

    def test_against_the_paper_the_error_is_ours(self):
        gaps = against_paper([Cell("done", 100, {0: 80.0, 1: 82.0}), Cell("stopped", 200)], (80.0, 90.0))
        assert gaps == {100: Difference(1.0, pytest.approx(1.0), 2)}

    @pytest.mark.parametrize(("gaps", "verdict"), [
        ("", NO_DATA), ("++", HOLDS), ("+=", UNDECIDED), ("++-", HOLDS), ("=-", FAILS), ("==-", UNDECIDED),
        ("1", UNDECIDED), ("--1", FAILS),
    ])  # fmt: skip
    def test_verdicts_on_many(self, gaps, verdict):
        """Above, level, below, and one permutation alone."""
        made = {"+": (3, 1, 9), "=": (2, 1, 9), "-": (-3, 1, 9), "1": (9, None, 1)}
        assert most_above([Difference(*made[gap]) for gap in gaps]) is verdict


def sofs_beside_paper(name, shift):
    return {name: table_6({"SOFS": [value + shift for value in paper.TABLE_6[name]["SOFS"]]})}


def three(*accuracies, pet="PET"):
    """Return PET, FOFS and SOFS on a set, and in another order on rows as they are, which do not count."""
    keys = [(name, 100) for name in (pet, "FOFS", "SOFS")]
    return {"ccat": dict(zip(keys, accuracies, strict=True)), "pcmac-raw": dict(zip(keys, (90, 80, 70), strict=True))}


def beside_batch(*cells, shadow="ShadowSOFS"):
    """Return ShadowSOFS beside batch methods; cells of other budgets do not decide."""
    others = {(shadow, 1_000): 80, ("FGM", 1_000): 90}
    return {"ccat": table_6({shadow: cells, "FGM": 90.0, "mRMR": 70.0}) | others}


def more_rows(many):
    few = {("ShadowSOFS", 50): 70, ("ShadowSOFS", 100): 80}
    return {"x1-20k": few, "x1": {("ShadowSOFS", 50): many, ("ShadowSOFS", 100): 81}}


def times(*seconds):
    cells = [same(80.0, seconds=float(each)) for each in seconds]
    return {"ccat": table_6(dict.fromkeys(("PET", "FOFS", "SOFS"), cells))}


def dense(sofs):
    seconds = {"SOFS": sofs, "PET": 0.2, "FOFS": 0.25}
    return {"dense": {(name, 50): same(80.0, seconds=each, n_updates=60) for name, each in seconds.items()}}


def small(batch):
    return {"ccat": table_6({"FGM": batch, "PET": 75.0, "SOFS": 80.0, "ShadowSOFS": 85.0})}


@pytest.mark.parametrize(("name", "verdict", "sets"), [
    ("sofs_on_ccat", HOLDS, sofs_beside_paper("ccat", -0.9)),
    ("sofs_on_ccat", FAILS, sofs_beside_paper("ccat", -1.1)),
    ("sofs_on_relathe", HOLDS, sofs_beside_paper("relathe", 0.1)),
    ("sofs_on_relathe", FAILS, sofs_beside_paper("relathe", -0.1)),
    ("order_with_pet", HOLDS, three(70, 75, 80)),
    ("order_with_pet", FAILS, three(75, 70, 80)),
    ("order_with_pet_perceptron", HOLDS, three(70, 75, 80, pet="PET perceptron")),
    ("order_with_pet_perceptron", FAILS, three(70, 80, 75, pet="PET perceptron")),
    # By the mean, whatever its error.
    ("shadow_at_least_mrmr", HOLDS, {"ccat": table_6({"ShadowSOFS": 80.0, "mRMR": 80.0})}),
    ("shadow_at_least_mrmr", FAILS, {"ccat": table_6({"ShadowSOFS": 80.0, "mRMR": [80, 80, shaken(81), 80, 80]})}),
    # Level with FGM; two below; more; one permutation; below, within two standard errors.
    ("shadow_level_with_batch", HOLDS, beside_batch(90, 90, 90, 90, 90)),
    ("shadow_level_with_batch", HOLDS, beside_batch(80, 80, 90, 95, 95)),
    ("shadow_level_with_batch", FAILS, beside_batch(80, 80, 80, 95, 95)),
    ("shadow_level_with_batch", UNDECIDED, beside_batch(80, 80, Made((80.0,)), 95, 95)),
    ("shadow_level_with_batch", HOLDS, beside_batch(80, 80, shaken(89), 95, 95)),
    ("defaults_level_with_batch", FAILS, beside_batch(80, 80, 80, 95, 95, shadow="ShadowSOFS defaults")),
    ("shadow_gains_by_rows", HOLDS, more_rows(70)),
    ("shadow_gains_by_rows", FAILS, more_rows(65)),
    ("shadow_gains_by_rows", UNDECIDED, more_rows(Made((65.0,)))),
    ("time_falls_then_rises", HOLDS, times(3, 2, 1, 2, 3)),
    ("time_falls_then_rises", FAILS, times(5, 4, 3, 2, 1)),
    ("time_falls_then_rises", FAILS, times(1.04, 1, 1, 1, 1.04)),  # level
    ("sofs_cheapest_on_dense", HOLDS, dense(0.209)),  # as good as 0.2
    ("sofs_cheapest_on_dense", FAILS, dense(0.3)),
    ("batch_better_at_small_budgets", HOLDS, small(90.0)),
    ("batch_better_at_small_budgets", FAILS, small(70.0)),
    ("batch_better_at_small_budgets", UNDECIDED, small(shaken(81))),
])  # fmt: skip
def test_verdicts(folder, name, verdict, sets):
    for each, cells in sets.items():
        write_set(folder, each, cells)
    assert verdicts(folder)[name] is verdict


@pytest.mark.parametrize(("accuracy", "seconds", "both"), [
    (0.994, 60.0, (HOLDS, HOLDS)), (0.9939, 60.0, (FAILS, HOLDS)), (0.995, 61.0, (HOLDS, FAILS)),
])  # fmt: skip
def test_verdicts_on_x2(folder, accuracy, seconds, both):
    write_x2(folder, accuracy, seconds)
    found = verdicts(folder)
    assert (found["accuracy_on_x2"], found["speed_on_x2"]) == both


class TestTables:
    def test_the_best_batch_method_is_the_best_over_common_permutations(self, folder):
        """l1-SVM has the higher mean, because it was run on an easier permutation only."""
        made = table_6({"ShadowSOFS": Made((80, 90, 85)), "FGM": Made((81, 91, 87)), "l1-SVM": Made((88, 89.5))})
        write_set(folder, "ccat", made | {("l1-SVM", 200): Made((70, 89.5))})
        row = findings.table_6_batch(Record(folder))[0]["ShadowSOFS"].splitlines()[2].split(" | ")
        assert row[1:3] == ["−3.75 (se 4.25) level, l1-SVM", "−1.33 (se 0.33) below, FGM"]

    def test_rows_of_other_tests_are_not_paired(self, folder):
        for name, cells in more_rows(70).items():
            write_set(folder, name, cells)
        assert "+1.00 (se 0.82) level" in findings.fig_1_more_rows(Record(folder))[0]

    def test_a_full_truncation_for_each_update(self, folder):
        write_set(folder, "dense", dense(0.1)["dense"], cost=0.01)  # 60 of 10 ms
        assert "| 50 | 0.100 | 0.200 | 0.250 | 0.80 | 0.85 |" in findings.dense_seconds(Record(folder))[0]

    def test_which_split_is_the_papers(self, folder):
        """By its nonzeros, or else by the distance from its figures, above or below."""
        theirs = [value for value, _ in paper.TABLE_4["news"]["SOFS"]]

        def write(name, *shifts, nonzeros=1):
            pairs = zip(paper.RHO, theirs, shifts, strict=True)
            cells = {("SOFS", Config.budget_of(share, 1_000)): value + shift for share, value, shift in pairs}
            write_set(folder, name, cells, nonzeros=nonzeros)

        write("news-first", 3, -3, 3, -3)  # 0 on average, 3 away
        write("news-last", 2, 2, 2, 2)
        assert paper_tables.news_splits(Record(folder))["taken"] == "news, last 10,000 rows"
        write("news-random", 9, 9, 9, 9, nonzeros=paper.NEWS_NONZEROS)
        assert paper_tables.news_splits(Record(folder))["taken"] == "news, random 10,000 rows"

    def test_a_cell_that_was_stopped_says_where(self, folder):
        write_set(folder, "ccat", table_6({"SOFS": 80, "l1-SVM": 80}))
        fits = read_csv(folder / "ccat.csv")
        status = {"100": "stopped", "200": "not tried", "300": "not tried"}
        for fit in fits:
            if fit["method"] == "l1-SVM" and fit["budget"] in status:
                fit.update(status=status[fit["budget"]], accuracy="", seconds="", n_selected="", n_updates="")
        write_csv(folder / "ccat.csv", FITS, fits)
        stopped = {"set": "ccat", "method": "l1-SVM", "budget": 300, "status": "stopped"}
        write_csv(folder / "ccat-parameters.csv", CHOICES, [stopped])
        row = "| l1-SVM | > 120 s | > 120 s at a smaller B | cross-validation > 120 s | 80.00"
        assert row in paper_tables.table_6(Record(folder))["ccat"]

    def test_a_cell_without_its_features_says_so_and_ends_its_curve(self, folder):
        write_set(folder, "ccat", table_6({"SOFS": 80, "FGM": [80, 80, 80, same(80.0, n_selected=359), 80]}))
        results = Record(folder).sets["ccat"]
        assert tables.accuracy(results.cell("FGM", 400)) == "80.00 ± 1.00 (n = 3) [359 features]"
        assert tables.accuracy(results.cell("FGM", 300)) == "80.00 ± 1.00 (n = 3)"
        assert [cell.budget for cell in results.reached_curve("FGM")] == [100, 200, 300]

    def test_a_comparison_counts_where_differences_stand(self):
        gaps = [Difference(3, 1, 9), Difference(-0.004, 1, 9), Difference(-3, 1, 9), Difference(9, None, 1)]
        rows = tables.comparisons([("ccat", "one − other", gaps), ("none", "one − other", [])]).splitlines()
        assert rows[2:] == ["| ccat | one − other | 4 | −3.00 | +9.00 | 1 | 1 | 1 | 1 |"]
        assert tables.counts(gaps) == "1 / 1 / 1, 1 without se"
        assert [tables.signed(value) for value in (-0.004, 0.0, -1.5)] == ["+0.00", "+0.00", "−1.50"]

    def test_ends_of_the_grid_are_counted(self, folder):
        chosen = {100: 2.0**13, 200: 2.0**13, 300: 1.0, 400: 0.03125}
        rows = [
            {"set": "ccat", "method": "SOFS", "budget": budget, "status": "done", "parameters": f'{{"gamma": {gamma}}}'}
            for budget, gamma in chosen.items()
        ]
        write_csv(folder / "ccat-parameters.csv", CHOICES, rows)
        write_x2(folder)
        shown = paper_tables.grid_ends(Record(folder))
        for row in ("| SOFS | γ | 4 | 1 | 2 |", "| OGD on X2 | η | 1 | 0 | 1 |", "| SOFS on X2 | γ | 1 | 0 | 0 |"):
            assert row in shown

    def test_a_busy_machine_and_uncommitted_code_are_noted(self, folder):
        rows = [
            {"set": "one", "method": "SOFS", "commit": "abc", "cores": 2, "load": 3.0},
            {"set": "one", "method": "FGM", "commit": "abc", "cores": 2, "load": 3.0},
            {"set": "one", "method": "PET", "commit": "abc and changes", "cores": 2, "load": 3.1},
        ]
        write_csv(folder / "runs.csv", rows[0], rows)
        assert paper_tables.runs(Record(folder)).splitlines()[2:] == [
            "| one | SOFS, FGM | abc | 2 | 3.0 |  |",
            "| one | PET | abc and changes | 2 | 3.1 | busy, uncommitted |",
        ]


class TestPages:
    def test_the_committed_report_is_that_of_the_committed_results(self):
        """Guards against results, or text, that were changed without the other."""
        assert (HOME / "REPORT.md").read_text() == report(Record(HOME / "results")), (
            "run `python -m experiments report`"
        )

    @pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
    def test_the_committed_pages_are_those_of_the_committed_tables(self, tmp_path, study):
        """Guards against the same."""
        (tmp_path / "results").symlink_to(HOME / "results")
        assert study.write_page(tmp_path).read_text() == study.page.read_text()

    def test_it_can_be_written_without_any_result(self, tmp_path):
        write_report(tmp_path)
        text = (tmp_path / "REPORT.md").read_text()
        assert "82.76" in text  # the paper's rows stay
        assert "data not present" in text
        assert set(verdicts(tmp_path / "results").values()) == {NO_DATA}
        assert text.count("| no data |") == len(verdicts(tmp_path / "results"))

    def test_it_follows_the_numbers(self, folder):
        write_set(folder, "ccat", sofs_beside_paper("ccat", -1.6)["ccat"])
        write_x2(folder, size=x2.SMALLEST)
        text = report(Record(folder))
        assert "below the paper](#table-6-the-medium-sets) | **does not hold** |" in text
        assert "| SOFS | 81.16 ± 1.00 (n = 3) |" in text
        assert "| – difference | −1.60 (se 0.58) |" in text
        assert "2,000 training rows, 1,000,000 columns" in text

    def test_figures_are_the_same_each_time(self, tmp_path, monkeypatch):
        """And a method without a look of its own is in them."""
        figures = pytest.importorskip("experiments.figures")
        monkeypatch.delitem(figures.LOOKS, "FGM")
        write_set(tmp_path / "results", "ccat", table_6(dict.fromkeys(TABLE_6_METHODS, (80, 81, 82, 83, 84))))
        pictures = []
        for _ in range(2):
            figures.draw_all(tmp_path)
            pictures.append((tmp_path / "figures" / "fig2-accuracy.svg").read_text())
        assert pictures[0] == pictures[1]
        assert ">FGM</text>" in pictures[0]
