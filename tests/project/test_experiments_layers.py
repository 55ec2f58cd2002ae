"""The page on the two layers: its calibration error, its halves of rows, and its verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import layers
from experiments.layers import calibration_error
from experiments.layers_sets import FIT, ONE, TASKS, tasks
from experiments.reporting.layers import placeholders


def table_of(shift=0.0, at=()):
    """Return a table in which every cell is that of the prototype, but for one that is `shift` points beside it."""
    rows = []
    for task in TASKS:
        for place, budget in enumerate(task.budgets):
            for way in (ONE, FIT):
                accuracy = task.prototype.get(way, (90.0,) * len(task.budgets))[place]
                loss = task.prototype_losses.get(way, (0.005,) * len(task.budgets))[place]
                moved = shift if at == (task.name, budget, way) else 0.0
                found = {"accuracy": str(accuracy + moved), "loss": str(loss)}
                rows.append({"set": task.name, "budget": str(budget), "split": "0", "way": way, "test": "9", **found})
    return rows


def page(rows, calibration=(), alone=()):
    others = {"layers-calibration": list(calibration), "layers-alone": list(alone), "layers-once": []}
    return placeholders({"layers": rows, **others})


class TestCalibrationError:
    def test_is_zero_where_probabilities_are_right_as_often_as_they_say(self):
        probabilities = np.array([[0.75, 0.25]] * 4)
        assert calibration_error(np.array([True, True, True, False]), probabilities) == 0

    def test_weighs_bins_by_their_rows_and_has_one_for_certainty(self):
        probabilities = np.array([[1.0, 0.0]] * 2 + [[0.5, 0.5]] * 2)
        assert calibration_error(np.array([True, False, True, False]), probabilities) == pytest.approx(0.25)

    def test_errors_of_either_sign_do_not_cancel_across_bins(self):
        probabilities = np.array([[0.95, 0.05], [0.55, 0.45]])
        assert calibration_error(np.array([False, True]), probabilities) == pytest.approx((0.95 + 0.45) / 2)

    def test_by_chance_falls_with_the_rows(self):
        few, many = (layers.error_by_chance(np.array([[0.7, 0.3]] * n)) for n in (50, 5_000))
        assert 0 < many < few / 3


class TestRows:
    def test_no_row_is_both_learned_and_tested(self):
        task = tasks(smallest=True)[0]
        rows = task.load()
        training, rest = task.split(0)
        assert len(training.y) == task.n_train
        assert len(training.y) + len(rest.y) == len(rows.y)
        order = np.random.default_rng(0).permutation(len(rows.y))
        assert np.array_equal(np.concatenate([training.y, rest.y]), rows.y[order])

    def test_fit_is_fit_with_all_defaults_and_one_reading_has_no_closing_pass(self):
        training, _ = tasks(smallest=True)[0].split(0)
        by_fit, once = (layers.learned(20, way, training) for way in (FIT, ONE))
        assert by_fit.get_params() == layers.ShadowSOFS(20).get_params()
        in_order = layers.ShadowSOFS(20, shuffle=False, n_passes=1, refit=False).fit(training.X, training.y)
        assert once.decision_function(training.X).tobytes() == in_order.decision_function(training.X).tobytes()


class TestVerdicts:
    def test_hold_where_every_cell_is_the_prototypes(self):
        found = page(table_of())
        assert "does not hold" not in found["verdicts"]
        assert found["missed"] == "No cell is beyond its limit."

    @pytest.mark.parametrize(
        ("at", "shift", "is_beyond"),
        [
            (("ccat", 20, FIT), -0.49, False), (("ccat", 20, FIT), -0.52, True), (("pcmac", 100, FIT), -1.4, False),
            (("pcmac", 100, FIT), -1.6, True), (("news20.multiclass", 500, ONE), -1.4, False),
            (("news20.multiclass", 500, FIT), -1.4, True), (("ccat", 20, FIT), 5.0, False),
        ],
    )  # fmt: skip
    def test_follow_the_limit_of_a_cell(self, at, shift, is_beyond):
        found = page(table_of(shift, at))
        assert ("does not hold" in found["verdicts"]) == is_beyond
        assert (f"{at[0]}, B = {at[1]}, {at[2]}" in found["missed"]) == is_beyond

    def test_a_label_that_changes_is_told(self):
        row = {
            "set": "ccat", "budget": "20", "rows": "9", "nonzeros": "9", "kept": "2", "changed": "1",
            "same_bits": "False", "whole": "0.3", "alone": "0.4",
        }  # fmt: skip
        assert "| 1 labels | **does not hold**" in page(table_of(), alone=[row])["verdicts"]

    def test_it_can_be_written_without_any_result(self):
        assert page([])["accuracies"] == "*No results yet.*"
