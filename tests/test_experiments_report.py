"""The report of the paper's experiments says what the numbers say: each statement is judged once true, once false."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from experiments import paper, x2
from experiments.config import HOME, Config
from experiments.protocol import DATA
from experiments.reporting import bars, claims, opening, others, runs, words
from experiments.reporting.finding import Verdict
from experiments.reporting.report import report, write_report
from experiments.results import Cell, Difference, Results, against_paper
from experiments.store import CHOICES, FITS, read_csv, write_csv

HOLDS, FAILS, UNTOLD, NO_DATA = Verdict
METHODS = ("SOFS", "ShadowSOFS", "mRMR", "PET", "PET perceptron", "FOFS", "FGM", "l1-SVM")
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
    rows = [
        {
            "set": "x2", "method": name, "parameters": '{"gamma": 2.0, "norm": "l2"}', "accuracy": accuracies[name],
            "seconds": seconds, "learning_seconds": 20.0, "sparsity": 80.0, "n_selected": "", "n_updates": 300_000,
            "peak_mb": 5_000,
        }
        for name in x2.NAMES
    ]  # fmt: skip
    write_csv(folder / "x2.csv", x2.MEASURED, rows)
    tried = [
        {"set": "x2", "method": "OGD", "parameters": json.dumps({"eta": eta}), "n_mistakes": n, "n_rows": size.prefix}
        for eta, n in ((1.0, 50), (32.0, 40))
    ]
    write_csv(folder / "x2-tried.csv", x2.TRIED, tried)


class TestDifference:
    def test_it_is_paired(self):
        """What two methods share on a permutation is no part of the error."""
        mine, other = Cell("done", 100, {0: 71.0, 1: 81.0, 2: 91.3}), Cell("done", 100, {0: 70.0, 1: 80.0, 2: 90.0})
        gap = Difference.of(mine, other)
        assert (gap.mean, gap.n) == (pytest.approx(1.1), 3)
        assert gap.standard_error == pytest.approx(0.1)
        assert gap.is_above
        assert not gap.is_below

    def test_it_is_over_common_permutations(self):
        gap = Difference.of(Cell("done", 100, {0: 71.0, 1: 20.0}), Cell("done", 100, {0: 70.0, 2: 90.0}))
        assert gap == Difference(1.0, None, 1)
        assert not gap.is_told, "one permutation tells nothing of the error"
        assert Difference.of(Cell("done", 100, {1: 20.0}), Cell("done", 100, {2: 90.0})) is None

    def test_within_two_standard_errors_nothing_is_told(self):
        zero = Cell("done", 100, dict.fromkeys(range(3), 0.0))
        for shift, told in ((2.9, False), (3.1, True)):  # the standard error is 1.53
            cell = Cell("done", 100, {place: shift + value for place, value in enumerate(SHAKEN)})
            assert Difference.of(cell, zero).is_above is told
            assert Difference.of(zero, cell).is_below is told

    def test_against_the_paper_the_error_is_ours(self):
        gaps = against_paper([Cell("done", 100, {0: 80.0, 1: 82.0}), Cell("stopped", 200)], (80.0, 90.0))
        assert gaps == {100: Difference(1.0, pytest.approx(1.0), 2)}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


class TestBars:
    @pytest.mark.parametrize(("name", "least", "shift", "verdict"), [
        ("ccat", -1.0, -0.9, HOLDS), ("ccat", -1.0, -1.1, FAILS), ("relathe", 0.0, 0.1, HOLDS),
        ("relathe", 0.0, -0.1, FAILS),
    ])  # fmt: skip
    def test_sofs_beside_the_paper(self, folder, name, least, shift, verdict):
        write_set(folder, name, table_6(SOFS=[value + shift for value in paper.TABLE_6[name]["SOFS"]]))
        finding = bars.sofs_beside_the_paper(Results(folder), name, least)
        assert finding.verdict is verdict
        assert ("(se 0.58)" in finding.found) is (verdict is FAILS), "a miss has its standard error beside it"

    @pytest.mark.parametrize("pet", ["PET", "PET perceptron"])
    @pytest.mark.parametrize(
        ("three", "verdict"), [((70, 75, 80), HOLDS), ((75, 70, 80), FAILS), ((70, 80, 75), FAILS)]
    )
    def test_ranking(self, folder, pet, three, verdict):
        cells = {(name, 100): of for name, of in zip((pet, "FOFS", "SOFS"), three, strict=True)}
        write_set(folder, "ccat", cells)
        write_set(folder, "pcmac-raw", cells)
        finding = bars.ranking(Results(folder), pet)
        assert finding.verdict is verdict
        assert any("pcmac, rows as they are" in line for line in finding.table)

    @pytest.mark.parametrize("rival", ["SOFS", "mRMR"])
    def test_where_shadow_sofs_is_below(self, folder, rival):
        write_set(folder, "ccat", table_6(**{"ShadowSOFS": [80.0] * 5, rival: [80.0] * 5}))
        assert bars.shadow_at_or_above(Results(folder), rival).verdict is HOLDS
        write_set(folder, "ccat", table_6(**{"ShadowSOFS": [80.0] * 5, rival: [80, 80, Made((79, 80, 84)), 80, 80]}))
        finding = bars.shadow_at_or_above(Results(folder), rival)
        assert finding.verdict is FAILS, "a bar is missed by the mean, told or not"
        assert "Below by the mean at ccat B = 300, −1.00 (se 1.00)" in finding.found

    @pytest.mark.parametrize(("accuracy", "seconds", "verdicts"), [
        (0.994, 60.0, [HOLDS, HOLDS]), (0.9939, 60.0, [FAILS, HOLDS]), (0.995, 61.0, [HOLDS, FAILS]),
    ])  # fmt: skip
    def test_x2(self, folder, accuracy, seconds, verdicts):
        write_x2(folder, dict.fromkeys(x2.NAMES, accuracy), seconds)
        assert [finding.verdict for finding in bars.billion(Results(folder))] == verdicts


class TestClaims:
    @pytest.mark.parametrize(("apart", "verdict"), [(1.6, HOLDS), (1.4, FAILS)])
    def test_fofs_varies_more(self, folder, apart, verdict):
        wild = Made(tuple(80 + apart * shift for shift in (-1, 0, 1)))
        write_set(folder, "ccat", table_6(FOFS=wild, SOFS=80.0, PET=80.0))
        assert claims.fofs_varies_more(Results(folder)).verdict is verdict

    @pytest.mark.parametrize(("times", "verdict"), [
        ((3, 2, 1, 2, 3), HOLDS), ((1, 2, 3, 4, 5), FAILS), ((5, 4, 3, 2, 1), FAILS), ((1.04, 1, 1, 1, 1.04), FAILS),
    ])  # fmt: skip
    def test_time_falls_then_rises(self, folder, times, verdict):
        cells = [same(80.0, seconds=float(took)) for took in times]
        write_set(folder, "ccat", table_6(PET=cells, FOFS=cells, SOFS=cells))
        assert claims.time_falls_then_rises(Results(folder)).verdict is verdict

    @pytest.mark.parametrize(("curve", "other", "verdict"), [
        ((80, 90, 88, 85, 85), (70, 80, 81, 81, 82), HOLDS),
        ((80, 82, 84, 86, 88), (70, 80, 81, 81, 82), FAILS),
        ((80, 90, 90, 90, 89.8), (70, 80, 81, 81, 82), FAILS),  # told, but not considerable
        ((80, 90, 88, 85, 85), (70, 80, 79, 78, 77), FAILS),  # the others drop too
    ])  # fmt: skip
    def test_l1svm_drops(self, folder, curve, other, verdict):
        write_set(folder, "ccat", table_6(l1SVM=list(curve), SOFS=list(other), PET=list(other)))
        assert claims.l1svm_drops(Results(folder)).verdict is verdict

    @pytest.mark.parametrize("last", [Made((85.0,)), Made((80.0, 96.0, 79.0))])
    def test_a_drop_that_cannot_be_told(self, folder, last):
        """One permutation, or three that are far apart."""
        write_set(folder, "ccat", table_6(l1SVM=[80, 90, 88, 86, last], SOFS=[70, 80, 81, 81, 82]))
        finding = claims.l1svm_drops(Results(folder))
        assert finding.verdict is UNTOLD
        assert "on 0 of 1 sets" in finding.found
        assert ("n = 1, no se" in finding.found) is (len(last.accuracies) == 1)

    @pytest.mark.parametrize(("sofs", "verdict"), [(0.1, HOLDS), (0.209, HOLDS), (0.3, FAILS)])
    def test_sofs_cheapest_on_dense_rows(self, folder, sofs, verdict):
        times = {"SOFS": sofs, "PET": 0.2, "FOFS": 0.25}
        cells = {(name, 50): same(80.0, seconds=took, n_updates=60) for name, took in times.items()}
        write_set(folder, "dense", cells, cost=0.01)
        finding = claims.sofs_cheapest_on_dense_rows(Results(folder))
        assert finding.verdict is verdict
        assert "with a full truncation 0.80 and 0.85 s" in finding.found  # 60 of 10 ms each
        assert "it is the cheapest at 1" in finding.found

    @pytest.mark.parametrize(("batch", "verdict"), [
        (90.0, HOLDS), (70.0, FAILS), (Made(tuple(81 + shift for shift in SHAKEN)), UNTOLD), (Made((90.0,)), UNTOLD),
    ])  # fmt: skip
    def test_batch_wins_at_small_budgets(self, folder, batch, verdict):
        write_set(folder, "ccat", table_6(FGM=batch, PET=75.0, SOFS=80.0, ShadowSOFS=85.0))
        assert claims.batch_wins_at_small_budgets(Results(folder)).verdict is verdict

    @pytest.mark.parametrize(("shadow", "says"), [
        (95.0, "it ends that"), (85.0, "it does not end that on 1 of 1"),
        (Made(tuple(91 + shift for shift in SHAKEN)), "whether it ends that can't be told"),
    ])  # fmt: skip
    def test_whether_shadow_sofs_ends_that(self, folder, shadow, says):
        write_set(folder, "ccat", table_6(FGM=90.0, PET=75.0, SOFS=80.0, ShadowSOFS=shadow))
        assert claims.batch_wins_at_small_budgets(Results(folder)).found.endswith(says)


def write_news(folder, name, pet, sofs, fgm, nonzeros=1):
    cells = {
        (method, Config.budget_of(share, 1_000)): value[place] if isinstance(value, list) else value
        for method, value in (("PET", pet), ("SOFS", sofs), ("FGM", fgm))
        for place, share in enumerate(paper.RHO)
    }
    write_set(folder, name, cells, nonzeros=nonzeros)


class TestOtherFindings:
    @pytest.mark.parametrize(("pet", "sofs", "fgm", "verdict"), [
        (70, 75, 80, HOLDS), (70, 85, 80, FAILS), (76, 75, 80, FAILS), (Made((77, 72, 73)), 75, 80, UNTOLD),
    ])  # fmt: skip
    def test_order_on_news(self, folder, pet, sofs, fgm, verdict):
        write_news(folder, "news-last", pet, sofs, fgm)
        assert others.order_on_news(Results(folder)).verdict is verdict

    def test_which_split_is_the_papers(self, folder):
        """By its nonzeros, or else by the distance from its figures, above or below."""
        theirs = [value for value, _ in paper.TABLE_4["news"]["SOFS"]]
        shifts = (3, -3, 3, -3)  # 0 on the average, 3 away
        write_news(folder, "news-first", 70, [value + shift for value, shift in zip(theirs, shifts, strict=True)], 80)
        write_news(folder, "news-last", 70, [value + 2 for value in theirs], 80)
        assert others.split_of_the_paper(Results(folder)).config.name == "news-last"
        write_news(folder, "news-random", 90, [value + 9 for value in theirs], 99, nonzeros=paper.NEWS_NONZEROS)
        assert others.split_of_the_paper(Results(folder)).config.name == "news-random"

    def test_sofs_against_mrmr(self, folder):
        theirs = paper.TABLE_6["relathe"]
        write_set(folder, "relathe", table_6(SOFS=theirs["SOFS"], mRMR=theirs["mRMR"]))
        assert others.sofs_against_mrmr(Results(folder)).verdict is HOLDS
        write_set(folder, "relathe", table_6(SOFS=theirs["mRMR"], mRMR=theirs["SOFS"]))
        finding = others.sofs_against_mrmr(Results(folder))
        assert finding.verdict is FAILS
        assert "the other one in 5 of 5" in finding.found

    @pytest.mark.parametrize(("mrmr", "verdict"), [(60, HOLDS), (75, FAILS), (Made((60.0,)), UNTOLD)])
    def test_mrmr_worst_on_x1(self, folder, mrmr, verdict):
        write_set(folder, "x1", {("mRMR", 50): mrmr, ("PET", 50): 70, ("SOFS", 50): 80, ("PET perceptron", 50): 50})
        assert others.mrmr_worst_on_x1(Results(folder)).verdict is verdict

    @pytest.mark.parametrize("name", ["x1", "x1-20k", "dense"])
    @pytest.mark.parametrize(("small", "verdict"), [(80, HOLDS), (60, FAILS), (70, UNTOLD)])
    def test_sofs_first(self, folder, name, small, verdict):
        cells = {("SOFS", 50): small, ("SOFS", 200): 99, ("PET", 50): 65, ("PET", 200): 90, ("FOFS", 50): 70}
        write_set(folder, name, cells)
        assert others.sofs_first_on(Results(folder), name).verdict is verdict

    @pytest.mark.parametrize(("large", "verdict"), [(99.5, HOLDS), (98.5, FAILS)])
    def test_shadow_on_x1(self, folder, large, verdict):
        cells = {("SOFS", 50): 60, ("SOFS", 200): 99, ("ShadowSOFS", 50): 75, ("ShadowSOFS", 200): large}
        write_set(folder, "x1", cells)
        assert others.shadow_on_x1(Results(folder)).verdict is verdict

    @pytest.mark.parametrize(("sofs", "verdict"), [(0.9962, HOLDS), (0.9938, FAILS), (0.9951, UNTOLD)])
    def test_no_selection_is_worse(self, folder, sofs, verdict):
        write_x2(folder, {"OGD": 0.99, "AROW": 0.995, "SOFS": sofs, "ShadowSOFS": sofs})
        assert others.no_selection_is_worse(Results(folder)).verdict is verdict

    def test_the_error_of_a_difference_on_the_same_rows(self):
        """Shared mistakes make it smaller, and it is largest where there are none."""
        least, most = others.errors_of_a_difference(0.9, 0.8, 1_000)
        rows = [(one, other) for one in range(10) for other in range(10)]
        independent = sum((a < 9) != (b < 8) for a, b in rows) / 100
        assert least < ((independent - 0.1**2) / 1_000) ** 0.5 < most
        assert least == pytest.approx((0.09 / 1_000) ** 0.5)
        assert most == pytest.approx((0.29 / 1_000) ** 0.5)


class TestReport:
    def test_the_committed_report_is_that_of_the_committed_results(self):
        assert (HOME / "REPORT.md").read_text() == report(Results(HOME / "results")), (
            "run `python -m experiments report`"
        )

    def test_no_figures_of_a_statement_are_told_twice(self):
        results = Results(HOME / "results")
        text = report(results)
        for finding in [*bars.bars(results), *claims.claims(results), *others.others(results)]:
            if len(finding.found) > 60:
                assert text.count(words.capital(finding.found)) == 1
                assert text.count(finding.found[1:]) == 1

    def test_it_can_be_written_without_any_result(self, tmp_path):
        write_report(tmp_path)
        text = (tmp_path / "REPORT.md").read_text()
        assert "82.76" in text  # the paper's rows stay
        assert "data not present" in text
        assert "| On X1 mRMR is the worst method | no data |" in text

    def test_its_verdicts_follow_the_numbers(self, tmp_path):
        write_set(tmp_path / "results", "ccat", table_6(SOFS=[v - 1.6 for v in paper.TABLE_6["ccat"]["SOFS"]]))
        text = report(Results(tmp_path / "results"))
        assert "| SOFS on ccat is no more than 1 point below the paper | **does not hold** |" in text
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
        assert row in report(Results(folder))

    def test_a_cell_without_its_features_says_so_and_ends_its_curve(self, folder):
        short = same(80.0, n_selected=359)
        write_set(folder, "ccat", table_6(SOFS=80, FGM=[80, 80, 80, short, 80]))
        told = Results(folder).sets["ccat"]
        assert words.accuracy(told.cell("FGM", 400)) == "80.00 ± 1.00 (n = 3) [359 features]"
        assert words.accuracy(told.cell("FGM", 300)) == "80.00 ± 1.00 (n = 3)"
        assert [cell.budget for cell in told.reached_curve("FGM")] == [100, 200, 300]

    def test_ends_of_the_grid_are_counted(self, folder):
        chosen = [(100, 32.0), (200, 32.0), (300, 1.0), (400, 0.03125)]
        rows = [
            {
                "set": "ccat",
                "method": "SOFS",
                "budget": budget,
                "status": "done",
                "parameters": json.dumps({"gamma": of}),
            }
            for budget, of in chosen
        ]
        write_csv(folder / "ccat-parameters.csv", CHOICES, rows)
        write_x2(folder, dict.fromkeys(x2.NAMES, 0.99))
        said = " ".join(opening.edges(Results(folder)))
        assert "SOFS's γ 3 of 4 (0.03125 in 1, 32 in 2)" in said
        assert "On X2, of 1 methods: OGD's η = 32." in said

    def test_scaled_rows_are_counted_in_the_cells_of_table_6(self, folder):
        rows = [
            {
                "set": "pcmac",
                "method": method,
                "budget": budget,
                "status": "done",
                "parameters": json.dumps({"norm": norm}),
            }
            for method, norm in (("mRMR", None), ("PET perceptron", "l2"))
            for budget in (32, *paper.BUDGETS)
        ]
        write_csv(folder / "pcmac-parameters.csv", CHOICES, rows)
        for name in ("pcmac", "pcmac-raw"):
            write_set(folder, name, table_6(SOFS=80))
        assert "unit length in 5 of 5 for PET perceptron and 0 of 5 for mRMR." in report(Results(folder))

    def test_sizes_of_x2_are_those_that_were_run(self, folder):
        write_x2(folder, dict.fromkeys(x2.NAMES, 0.99), size=x2.QUICK)
        text = report(Results(folder))
        assert "## Table 2: X2, 20,000 rows, 1,000,000 columns" in text
        assert "takes 5,000 rows more" in text
        assert "100,000 rows more" not in text

    def test_a_busy_machine_and_uncommitted_code_are_told(self, folder):
        rows = [
            {"set": "one", "commit": "abc", "cores": 2, "load": 3.0},
            {"set": "two", "commit": "abc and changes", "cores": 2, "load": 3.1},
        ]
        write_csv(folder / "runs.csv", rows[0], rows)
        said = "\n".join(runs.warnings(Results(folder)))
        assert "busy** at the end of two (3.1)" in said
        assert "that ran two:" in said
        assert "one (" not in said

    def test_figures_are_drawn_and_the_same_each_time(self, tmp_path):
        figures = pytest.importorskip("experiments.figures")
        cells = table_6(**{method.replace(" ", "_").replace("-", ""): [80, 81, 82, 83, 84] for method in METHODS})
        write_set(tmp_path / "results", "ccat", cells)
        pictures = []
        for _ in range(2):
            figures.draw_all(tmp_path)
            pictures.append((tmp_path / "figures" / "fig2-accuracy.svg").read_bytes())
        assert pictures[0] == pictures[1]
        assert (tmp_path / "figures" / "fig3-time.png").stat().st_size > 1_000
