"""The report of the paper's experiments: each statement is judged once true and once false, on made-up results."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from string import Formatter

import pytest

from experiments import paper, x2
from experiments.__main__ import STUDIES
from experiments.config import HOME, Config
from experiments.methods import SHADOW, TABLE_2_METHODS, TABLE_6_METHODS
from experiments.protocol import DATA
from experiments.reporting import evidence, paper_tables, tables
from experiments.reporting.claims import verdicts
from experiments.reporting.comparisons import against_paper, paper_split
from experiments.reporting.report import TEMPLATE, placeholders, report, write_report
from experiments.reporting.statistics import (
    Difference,
    Standing,
    Verdict,
    difference,
    mean_difference,
    most_above,
)
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


def write_set(folder, name, cells, n_features=1_000, nonzeros=5_000, cost=0.001):
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
    budgets = sorted({budget for _, budget in cells})
    costs = [{"set": name, "n_features": n_features, "budget": budget, "seconds": cost} for budget in budgets]
    write_csv(folder / f"{name}-truncation.csv", costs[0], costs)
    sizes = {"n_train": 100, "n_test": 50, "n_features": n_features, "train_nonzeros": nonzeros}
    write_csv(folder / f"{name}-data.csv", DATA, [{"set": name, **sizes}])


def table_6(**by_method):
    """Return the cells of a medium set: an accuracy or a cell for all budgets, or one for each."""
    return {
        (method.replace("_", " ").replace("l1SVM", "l1-SVM"), budget): of[place] if isinstance(of, list | tuple) else of
        for method, of in by_method.items()
        for place, budget in enumerate(paper.BUDGETS)
    }


def write_x2(folder, accuracies, seconds=40.0, size=None):
    size = size or x2.Size()
    given = {"OGD": {"eta": 32.0}}
    rows = [
        {
            "set": "x2", "method": name, "parameters": json.dumps(given.get(name, {"gamma": 2.0})),
            "accuracy": accuracies[name], "seconds": seconds, "learning_seconds": 20.0, "sparsity": 80.0,
            "n_selected": "", "n_updates": 300_000, "peak_mb": 5_000,
        }
        for name in TABLE_2_METHODS
    ]  # fmt: skip
    write_csv(folder / "x2.csv", x2.MEASURED, rows)
    write_csv(folder / "x2-tried.csv", x2.TRIED, [{"set": "x2", "method": "OGD", "n_rows": size.prefix}])


def write_choices(folder, name, chosen):
    """Write what cross-validation chose, as {(method, budget): parameters}."""
    rows = [
        {"set": name, "method": method, "budget": budget, "status": "done", "parameters": json.dumps(parameters)}
        for (method, budget), parameters in chosen.items()
    ]
    write_csv(folder / f"{name}-parameters.csv", CHOICES, rows)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@pytest.fixture(scope="module")
def committed():
    return Record(HOME / "results")


class TestStatistics:
    def test_differences_are_paired(self):
        """What two methods share on a permutation is no part of the error."""
        mine, other = Cell("done", 100, {0: 71.0, 1: 81.0, 2: 91.3}), Cell("done", 100, {0: 70.0, 1: 80.0, 2: 90.0})
        gap = difference(mine, other)
        assert (gap.mean, gap.n) == (pytest.approx(1.1), 3)
        assert gap.standard_error == pytest.approx(0.1)
        assert gap.standing is Standing.ABOVE
        assert difference(other, mine).standing is Standing.BELOW

    def test_differences_are_over_common_permutations(self):
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
        ("", NO_DATA), ("++", HOLDS), ("+=", UNDECIDED), ("++=", HOLDS), ("++-", HOLDS), ("+-", FAILS), ("=-", FAILS),
        ("==-", UNDECIDED), ("1", UNDECIDED), ("--1", FAILS),
    ])  # fmt: skip
    def test_verdicts_on_many_differences(self, gaps, verdict):
        """Above, level, below, and one permutation alone."""
        made = {
            "+": Difference(3, 1, 9),
            "=": Difference(2, 1, 9),
            "-": Difference(-3, 1, 9),
            "1": Difference(9, None, 1),
        }
        assert most_above([made[gap] for gap in gaps]) is verdict


def judged(folder, name):
    return verdicts(Record(folder))[name]


class TestAims:
    @pytest.mark.parametrize(("name", "shift", "verdict"), [
        ("ccat", -0.9, HOLDS), ("ccat", -1.1, FAILS), ("basehock", -0.9, HOLDS), ("basehock", -1.1, FAILS),
        ("relathe", 0.1, HOLDS), ("relathe", -0.1, FAILS),
    ])  # fmt: skip
    def test_sofs_beside_the_paper(self, folder, name, shift, verdict):
        write_set(folder, name, table_6(SOFS=[value + shift for value in paper.TABLE_6[name]["SOFS"]]))
        assert judged(folder, f"sofs_on_{name}") is verdict

    @pytest.mark.parametrize("pet", ["PET", "PET perceptron"])
    @pytest.mark.parametrize(
        ("three", "verdict"), [((70, 75, 80), HOLDS), ((75, 70, 80), FAILS), ((70, 80, 75), FAILS)]
    )
    def test_the_order_of_the_online_methods(self, folder, pet, three, verdict):
        """Rows as they are stand in the table, but do not count."""
        write_set(folder, "ccat", dict(zip(((pet, 100), ("FOFS", 100), ("SOFS", 100)), three, strict=True)))
        write_set(folder, "pcmac-raw", {(pet, 100): 90, ("FOFS", 100): 80, ("SOFS", 100): 70})
        assert judged(folder, "order_with_" + pet.lower().replace(" ", "_")) is verdict
        assert "| pcmac, rows as they are | 90.00 | 80.00 | 70.00 |" in evidence.online_order(Record(folder))[pet]

    @pytest.mark.parametrize("rival", ["SOFS", "mRMR"])
    def test_where_shadow_sofs_is_below(self, folder, rival):
        """By the mean, whatever its error."""
        write_set(folder, "ccat", table_6(**{"ShadowSOFS": 80.0, rival: 80.0}))
        assert judged(folder, f"shadow_at_least_{rival.lower()}") is HOLDS
        write_set(folder, "ccat", table_6(**{"ShadowSOFS": 80.0, rival: [80, 80, Made((79, 80, 84)), 80, 80]}))
        assert judged(folder, f"shadow_at_least_{rival.lower()}") is FAILS
        assert "−1.00 (se 1.00) level" in evidence.table_6_shadow(Record(folder))[rival]

    @pytest.mark.parametrize("shadow", SHADOW)
    @pytest.mark.parametrize(("cells", "verdict"), [
        ((90, 90, 90, 90, 90), HOLDS),  # level with FGM
        ((80, 80, 90, 95, 95), HOLDS),  # two below
        ((80, 80, 80, 95, 95), FAILS),
        ((80, 80, Made((80.0,)), 95, 95), UNDECIDED),  # one permutation
        ((80, 80, Made(tuple(89 + shift for shift in SHAKEN)), 95, 95), HOLDS),
    ])  # fmt: skip
    def test_shadow_beside_the_best_batch_method(self, folder, shadow, cells, verdict):
        """Cells of other budgets do not decide."""
        made = table_6(**{shadow.replace(" ", "_"): cells, "FGM": 90.0, "mRMR": 70.0})
        write_set(folder, "ccat", made | {(shadow, 1_000): 80, ("FGM", 1_000): 90})
        name = "shadow" if shadow == "ShadowSOFS" else "defaults"
        assert judged(folder, f"{name}_level_with_batch") is verdict

    def test_the_best_batch_method_is_the_best_over_common_permutations(self, folder):
        """l1-SVM has the higher mean, because it was run on an easier permutation only."""
        made = table_6(ShadowSOFS=Made((80, 90, 85)), FGM=Made((81, 91, 87)), l1SVM=Made((88, 89.5)))
        made |= {("l1-SVM", 200): Made((70, 89.5))}
        write_set(folder, "ccat", made)
        row = evidence.table_6_batch(Record(folder))["ShadowSOFS"].splitlines()[2].split(" | ")
        assert row[1] == "−3.75 (se 4.25) level, l1-SVM"
        assert row[2] == "−1.33 (se 0.33) below, FGM"

    @pytest.mark.parametrize(("many", "verdict"), [(75, HOLDS), (70, HOLDS), (65, FAILS), (Made((65.0,)), UNDECIDED)])
    def test_more_rows(self, folder, many, verdict):
        write_set(folder, "x1-20k", {("ShadowSOFS", 50): 70, ("ShadowSOFS", 100): 80})
        write_set(folder, "x1", {("ShadowSOFS", 50): many, ("ShadowSOFS", 100): 81})
        assert judged(folder, "shadow_gains_by_rows") is verdict
        assert "+1.00 (se 0.82) level" in evidence.fig_1_more_rows(Record(folder)), "test rows differ: not paired"

    @pytest.mark.parametrize(("accuracy", "seconds", "both"), [
        (0.994, 60.0, (HOLDS, HOLDS)), (0.9939, 60.0, (FAILS, HOLDS)), (0.995, 61.0, (HOLDS, FAILS)),
    ])  # fmt: skip
    def test_x2(self, folder, accuracy, seconds, both):
        write_x2(folder, dict.fromkeys(TABLE_2_METHODS, accuracy), seconds)
        assert (judged(folder, "accuracy_on_x2"), judged(folder, "speed_on_x2")) == both


class TestClaims:
    @pytest.mark.parametrize(("times", "verdict", "shape"), [
        ((3, 2, 1, 2, 3), HOLDS, "falls, then rises"), ((1, 2, 3, 4, 5), FAILS, "rises"),
        ((5, 4, 3, 2, 1), FAILS, "falls"), ((1.04, 1, 1, 1, 1.04), FAILS, "level"),
    ])  # fmt: skip
    def test_time_falls_then_rises(self, folder, times, verdict, shape):
        cells = [same(80.0, seconds=float(took)) for took in times]
        write_set(folder, "ccat", table_6(PET=cells, FOFS=cells, SOFS=cells))
        assert judged(folder, "time_falls_then_rises") is verdict
        assert f"| ccat | {shape} | {shape} | {shape} |" in evidence.time_curves(Record(folder))

    @pytest.mark.parametrize(("sofs", "verdict"), [(0.1, HOLDS), (0.209, HOLDS), (0.3, FAILS)])
    def test_sofs_cheapest_on_dense_rows(self, folder, sofs, verdict):
        times = {"SOFS": sofs, "PET": 0.2, "FOFS": 0.25}
        cells = {(name, 50): same(80.0, seconds=took, n_updates=60) for name, took in times.items()}
        write_set(folder, "dense", cells, cost=0.01)
        assert judged(folder, "sofs_cheapest_on_dense") is verdict
        row = f"| 50 | {sofs:.3f} | 0.200 | 0.250 | 0.80 | 0.85 |"  # 60 truncations of 10 ms each
        assert row in evidence.dense_seconds(Record(folder))

    @pytest.mark.parametrize(("batch", "verdict"), [
        (90.0, HOLDS), (70.0, FAILS),
        (Made(tuple(81 + shift for shift in SHAKEN)), UNDECIDED), (Made((90.0,)), UNDECIDED),
    ])  # fmt: skip
    def test_batch_better_at_small_budgets(self, folder, batch, verdict):
        write_set(folder, "ccat", table_6(FGM=batch, PET=75.0, SOFS=80.0, ShadowSOFS=85.0))
        assert judged(folder, "batch_better_at_small_budgets") is verdict


def write_news(folder, name, pet, sofs, fgm, nonzeros=1):
    cells = {
        (method, Config.budget_of(share, 1_000)): value[place] if isinstance(value, list) else value
        for method, value in (("PET", pet), ("SOFS", sofs), ("FGM", fgm))
        for place, share in enumerate(paper.RHO)
    }
    write_set(folder, name, cells, nonzeros=nonzeros)


class TestOtherFindings:
    def test_which_split_is_the_papers(self, folder):
        """By its nonzeros, or else by the distance from its figures, above or below."""
        theirs = [value for value, _ in paper.TABLE_4["news"]["SOFS"]]
        shifts = (3, -3, 3, -3)  # 0 on average, 3 away
        write_news(folder, "news-first", 70, [value + shift for value, shift in zip(theirs, shifts, strict=True)], 80)
        write_news(folder, "news-last", 70, [value + 2 for value in theirs], 80)
        assert paper_split(Record(folder)).name == "news-last"
        write_news(folder, "news-random", 90, [value + 9 for value in theirs], 99, nonzeros=paper.NEWS_NONZEROS)
        assert paper_split(Record(folder)).name == "news-random"


class TestReport:
    def test_the_committed_report_is_that_of_the_committed_results(self, committed):
        """Guards against results, or text, that were changed without the other."""
        assert (HOME / "REPORT.md").read_text() == report(committed), "run `python -m experiments report`"

    @pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
    def test_the_committed_pages_are_those_of_the_committed_tables(self, tmp_path, study):
        (tmp_path / "results").symlink_to(HOME / "results")
        assert study.write_page(tmp_path).read_text() == study.page.read_text()

    def test_the_template_uses_every_figure_and_verdict(self, committed):
        """A verdict or a table that no text asks for would be computed for nobody."""
        found = {name for _, name, _, _ in Formatter().parse(TEMPLATE.read_text()) if name}
        given = placeholders(committed)
        asked = {re.split(r"[.\[]", name)[0] for name in found}
        assert asked == set(given)
        for name, of in given.items():
            if isinstance(of, dict):
                assert {f"{name}[{key}]" for key in of} <= found

    def test_links_lead_to_headings(self, committed):
        text = report(committed)
        titles = re.findall(r"(?m)^#+ (.*)$", text)
        anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= anchors

    def test_it_can_be_written_without_any_result(self, tmp_path):
        write_report(tmp_path)
        text = (tmp_path / "REPORT.md").read_text()
        assert "82.76" in text  # the paper's rows stay
        assert "data not present" in text
        assert set(verdicts(Record(tmp_path / "results")).values()) == {NO_DATA}
        assert text.count("| no data |") == len(verdicts(Record(tmp_path / "results")))

    def test_its_verdicts_follow_the_numbers(self, tmp_path):
        write_set(tmp_path / "results", "ccat", table_6(SOFS=[v - 1.6 for v in paper.TABLE_6["ccat"]["SOFS"]]))
        text = report(Record(tmp_path / "results"))
        assert (
            "| [SOFS on ccat is at most 1 point below the paper](#table-6-the-medium-sets) | **does not hold** |"
            in text
        )
        assert "| SOFS | 81.16 ± 1.00 (n = 3) |" in text
        assert "| – difference | −1.60 (se 0.58) |" in text

    def test_a_cell_that_was_stopped_says_where(self, folder):
        write_set(folder, "ccat", table_6(**{"SOFS": 80, "l1SVM": 80}))
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
        short = same(80.0, n_selected=359)
        write_set(folder, "ccat", table_6(SOFS=80, FGM=[80, 80, 80, short, 80]))
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
        gammas = {100: 2.0**13, 200: 2.0**13, 300: 1.0, 400: 0.03125}
        write_choices(folder, "ccat", {("SOFS", budget): {"gamma": gamma} for budget, gamma in gammas.items()})
        write_x2(folder, dict.fromkeys(TABLE_2_METHODS, 0.99))
        text = evidence.grid_ends(Record(folder))
        assert "| SOFS | γ | 4 | 1 | 2 |" in text
        assert "| OGD on X2 | η | 1 | 0 | 1 |" in text
        assert "| SOFS on X2 | γ | 1 | 0 | 0 |" in text

    def test_sizes_of_x2_are_those_that_were_run(self, folder):
        write_x2(folder, dict.fromkeys(TABLE_2_METHODS, 0.99), size=x2.SMALLEST)
        text = report(Record(folder))
        assert "2,000 training rows, 1,000,000 columns" in text
        assert "1,000 more rows are the test" in text

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

    def test_figures_are_drawn_and_the_same_each_time(self, tmp_path):
        figures = pytest.importorskip("experiments.figures")
        names = (method.replace(" ", "_").replace("-", "") for method in TABLE_6_METHODS)
        cells = table_6(**{name: [80, 81, 82, 83, 84] for name in names})
        write_set(tmp_path / "results", "ccat", cells)
        pictures = []
        for _ in range(2):
            figures.draw_all(tmp_path)
            pictures.append((tmp_path / "figures" / "fig2-accuracy.svg").read_bytes())
        assert pictures[0] == pictures[1]
        assert (tmp_path / "figures" / "fig3-time.png").stat().st_size > 1_000

    def test_a_method_without_a_look_is_drawn(self, tmp_path, monkeypatch):
        figures = pytest.importorskip("experiments.figures")
        monkeypatch.delitem(figures.LOOKS, "FGM")
        write_set(tmp_path / "results", "ccat", table_6(SOFS=[80, 81, 82, 83, 84], FGM=[70, 71, 72, 73, 74]))
        figures.draw_all(tmp_path)
        assert ">FGM</text>" in (tmp_path / "figures" / "fig2-accuracy.svg").read_text()
