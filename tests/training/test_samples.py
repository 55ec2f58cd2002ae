"""Samples of rows by a hash of their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.batch import Batch
from thresher.training.samples import AllBut, Half, fold_of, permuted_labels

ROWS = np.arange(20_000)


@pytest.mark.parametrize("n", [2, 5, 7])
def test_folds_are_even_and_unrelated_to_the_number(n):
    folds = fold_of(ROWS, n, seed=3)
    expected = len(ROWS) / n
    counts = np.bincount(folds, minlength=n)
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()
    for step in (2, 3, n, 64):
        some = folds[::step]
        assert abs(np.bincount(some, minlength=n) - len(some) / n).max() < 5 * np.sqrt(len(some) / n)


def test_a_row_has_the_same_fold_wherever_it_is_in_a_batch():
    np.testing.assert_array_equal(fold_of(ROWS, 5, 0)[7_000:7_100], fold_of(ROWS[7_000:7_100], 5, 0))


def test_each_row_is_left_out_once():
    learned = sum(AllBut(fold, 5, 1).learns(ROWS).astype(int) for fold in range(5))
    assert (learned == 4).all()


def test_halves_are_independent_of_each_other_and_of_folds():
    halves = np.array([Half(number, 0).learns(ROWS) for number in range(4)]).astype(float)
    correlation = np.corrcoef(np.vstack([halves, fold_of(ROWS, 2, 0)]))
    assert abs(halves.mean(axis=1) - 0.5).max() < 0.02
    assert abs(correlation - np.eye(5)).max() < 0.03


def test_the_seed_matters():
    assert 0.4 < np.mean(Half(0, 0).learns(ROWS) == Half(0, 1).learns(ROWS)) < 0.6
    assert np.mean(fold_of(ROWS, 5, 0) == fold_of(ROWS, 5, 1)) < 0.3


@pytest.mark.parametrize("predicts", ["classes", "numbers"])
def test_permuted_labels_are_the_same_in_all_passes(predicts):
    """Also if rows come in another order, in which batches have other rows."""
    random = np.random.default_rng(0)
    labels = random.standard_normal(1_000) if predicts == "numbers" else random.integers(0, 5, 1_000).astype(float)
    permuted, passes = permuted_labels(predicts, seed=1), []
    for order in (np.arange(1_000), random.permutation(1_000), random.permutation(1_000)):
        found = np.full(1_000, np.nan)
        for rows in np.split(order, [100, 101, 700]):
            batch = Batch.empty()
            batch.labels = labels[rows]
            found[rows] = permuted.of_batch(batch, rows, are_shuffled=True).labels
        passes.append(found)
    np.testing.assert_array_equal(np.sort(passes[0]), np.sort(labels))
    assert (passes[0] != labels).mean() > 0.5
    for each in passes[1:]:
        np.testing.assert_array_equal(each, passes[0])
