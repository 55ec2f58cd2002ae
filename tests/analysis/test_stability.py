"""`stability`: how much the selection changes from sample to sample."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from hypothesis import assume, given
from hypothesis import strategies as st
from states import model_of
from strategies import random_problem

from thresher import AROW, L1SVM, SOFS, ShadowSOFS, convert, datasets, load, stability, train
from thresher.analysis.selection_stability import stability_of
from thresher.streams import DataError
from thresher.training.samples import Half, PermutedLabels


def naive(selections, n_features):
    """As in the paper: a row per selection, a column per feature, and every sum written out."""
    Z = np.zeros((len(selections), n_features))
    for row, selection in zip(Z, selections, strict=True):
        row[selection] = 1.0
    M, d = Z.shape
    p = Z.mean(axis=0)
    k = Z.sum(axis=1)
    k_mean = k.mean()
    spread = (k_mean / d) * (1 - k_mean / d)
    value = 1 - np.mean([M / (M - 1) * share * (1 - share) for share in p]) / spread
    own = []
    for i in range(M):
        agreement = sum(Z[i, f] * p[f] for f in range(d)) / d
        correction = value / 2 * (2 * k[i] * k_mean / d**2 - k[i] / d - k_mean / d + 1)
        own.append((agreement - k[i] * k_mean / d**2 + correction) / spread)
    return value, 4 / M**2 * sum((each - np.mean(own)) ** 2 for each in own)


@given(st.integers(2, 30), st.data())
def test_equals_a_naive_implementation(n_features, data):
    one = st.lists(st.integers(0, n_features - 1), unique=True, max_size=n_features)
    selections = data.draw(st.lists(one, min_size=2, max_size=8))
    size = sum(map(len, selections))
    assume(0 < size < n_features * len(selections))
    np.testing.assert_allclose(stability_of(selections, n_features), naive(selections, n_features), atol=1e-9)


def test_known_values():
    assert stability_of([[1, 2], [1, 2], [1, 2]], 10)[0] == 1.0
    np.testing.assert_allclose(stability_of([[0], [1]], 2)[0], -1.0)
    random = np.random.default_rng(0)
    by_chance = [random.choice(10_000, 300, replace=False).tolist() for _ in range(50)]
    assert abs(stability_of(by_chance, 10_000)[0]) < 0.01
    assert stability_of([[], []], 5) == (1.0, 0.0)
    assert stability_of([[0, 1], [0, 1]], 2) == (1.0, 0.0)


def test_hashed_names_have_an_interval_too():
    """Among 2^62 columns as among a million: the terms of the formula that all selections share can't drown it."""
    random = np.random.default_rng(0)
    selections = [random.choice(300, random.integers(90, 110), replace=False).tolist() for _ in range(10)]
    value, variance = stability_of(selections, 2**62)
    assert 0 < variance < 0.001
    np.testing.assert_allclose((value, variance), stability_of(selections, 10**6), rtol=1e-3)


def test_any_width_costs_nothing():
    wide = stability_of([[1, 2**61], [1, 5]], 2**62)
    np.testing.assert_allclose(wide[0], 0.5)


@pytest.mark.parametrize("method", [SOFS, ShadowSOFS, L1SVM])
def test_each_half_is_a_run_of_its_own(method):
    X, y = random_problem(800, 100, 0.2, seed=0)
    found = stability(method(12), (X, y), n=4)
    selections = []
    for number in range(4):
        rows = Half(number, 0).learns(np.arange(800))
        model = method(12)
        train(model, (X[rows], y[rows]), **({} if method is L1SVM else {"shuffle": False}))
        selections.append(model.selected_.tolist())
    value, variance = naive(selections, 100)
    np.testing.assert_allclose(found.value, value)
    np.testing.assert_allclose(found.interval, [value - 1.96 * variance**0.5, value + 1.96 * variance**0.5], atol=1e-4)
    counts = {j: sum(j in each for each in selections) / 4 for each in selections for j in each}
    assert found.frequency == counts
    assert list(found.frequency.values()) == sorted(counts.values(), reverse=True)
    assert model_of(found.model).selection_frequency == {j: counts.get(j, 0.0) for j in found.model.selected_.tolist()}


class TestChance:
    def test_permuted_labels_are_no_better_than_random_ones(self):
        """What is selected from labels that say nothing, and from these permuted once more, is as frequent."""
        X, y = random_problem(800, 100, 0.2, seed=0)
        found = stability(SOFS(12), (X, y), n=6)
        assert found.n_above_chance == sum(share > found.chance for share in found.frequency.values())
        X, y = random_problem(3_000, 300, 0.1, seed=0)
        real = stability(ShadowSOFS(10), (X, y), n=20)
        assert max(real.frequency.values()) == 1.0 > real.chance > 0.2
        assert set(list(real.frequency)[: real.n_above_chance]) <= set(range(10))  # the columns that decide the labels
        assert real.n_above_chance >= 8
        random = np.random.default_rng(0)
        exceeding = [stability(ShadowSOFS(10), (X, random.permutation(y)), n=20).n_above_chance for _ in range(5)]
        assert np.mean(exceeding) < 3

    def test_kept_columns_do_not_count(self):
        X, y = random_problem(3_000, 300, 0.1, seed=0)
        found = stability(ShadowSOFS(10, keep=[299]), (X, y), n=10)
        assert found.frequency[299] == 1.0 > found.chance

    @pytest.mark.parametrize("options", [{"shuffle": True, "passes": 3}, {"shuffle": False, "passes": 2}, {}])
    def test_a_row_has_the_same_label_in_all_passes(self, options, monkeypatch):
        X, y = random_problem(900, 50, 0.2, seed=0)
        monkeypatch.setattr("thresher.streams.shuffling._BATCH_ROWS", 128)
        seen = [{} for _ in range(900)]
        of_batch = PermutedLabels.of_batch

        def noted(self, batch, rows, *, are_shuffled):
            out = of_batch(self, batch, rows, are_shuffled=are_shuffled)
            for row, label in zip(rows.tolist(), out.labels.tolist(), strict=True):
                seen[row][label] = True
            return out

        monkeypatch.setattr(PermutedLabels, "of_batch", noted)
        stability(ShadowSOFS(5), (X, y), n=2, **options)
        assert {len(labels) for labels in seen} == {1}
        permuted = np.array([next(iter(labels)) for labels in seen])
        assert sorted(permuted) == sorted(y)
        assert abs(np.corrcoef(permuted, y)[0, 1]) < 0.15

    def test_labels_can_be_text(self):
        X, y = random_problem(600, 50, 0.2, seed=0)
        words = np.where(y > 0, "spam", "ham")
        for shuffle in (False, True):
            found = stability(ShadowSOFS(5), (X, words), n=3, shuffle=shuffle)
            assert found.chance == stability(ShadowSOFS(5), (X, y), n=3, shuffle=shuffle).chance

    def test_the_selection_is_that_of_before(self):
        """The models with permuted labels change nothing of the others."""
        X, y = random_problem(600, 50, 0.2, seed=0)
        alone = ShadowSOFS(5)
        train(alone, (X, y))
        found = stability(ShadowSOFS(5), (X, y), n=3)
        np.testing.assert_array_equal(found.model.selected_, alone.selected_)
        np.testing.assert_array_equal(found.model.coef_.data, alone.coef_.data)

    def test_is_forgotten_when_more_rows_are_learned(self):
        X, y = random_problem(600, 50, 0.2, seed=0)
        model = stability(ShadowSOFS(5), (X, y), n=3).model
        assert model_of(model).selection_chance is not None
        model.partial_fit(X[:5], y[:5])
        assert model_of(model).selection_chance is None


def test_a_plot_has_the_frequencies_and_the_level_of_chance():
    X, y = random_problem(600, 50, 0.2, seed=0)
    found = stability(ShadowSOFS(5), (X, y), n=4)
    ax = found.plot()
    chance, shares = ax.get_lines()
    assert list(chance.get_ydata()) == [found.chance] * 2
    assert list(shares.get_ydata()) == list(found.frequency.values())
    assert found.plot(ax=ax) is ax
    html = found._repr_html_()  # what Jupyter calls
    assert "<svg" in html
    assert f"{found.chance:.0%}" in html


def test_frequency_is_in_the_model_file_and_shown(tmp_path):
    convert(datasets.make_x1(1_500), str(tmp_path / "x1.svm"))
    model = tmp_path / "m.thresher"
    done = thresher("train", tmp_path / "x1.svm", "-k", 50, "--stability", 5, "--cv", 3, "-o", model, "--json")
    found = json.loads(done.stdout)
    assert found["stability"]["n"] == 5
    assert 0 < found["stability"]["value"] < 1
    assert found["cv"]["folds"] == 3
    expected = stability(ShadowSOFS(50), tmp_path / "x1.svm", n=5)
    assert found["stability"] == expected.to_dict()
    frequency = model_of(load(model)).selection_frequency
    assert frequency == {j: expected.frequency.get(j, 0.0) for j in load(model).selected_.tolist()}
    shown = json.loads(thresher("show", model, "--json").stdout)["features"]
    assert [each["frequency"] for each in shown] == list(frequency.values())
    assert "selected in" in thresher("show", model).stdout
    reached = f"With permuted labels features were selected in up to {expected.chance:.0%} of the samples."
    assert reached in thresher("show", model).stdout
    assert json.loads(thresher("show", model, "--json").stdout)["selected_by_chance"] == expected.chance
    text = thresher("train", tmp_path / "x1.svm", "-k", 50, "--stability", 5).stdout
    assert "95 % interval" in text


def test_what_only_a_half_has_selected_has_its_name_too(tmp_path):
    """Names are hashed, and the model on all rows knows those of its own selection alone."""
    random = np.random.default_rng(0)
    words = [f"word{k}" for k in range(60)]
    rows = [
        {"label": "ab"[k % 2], "text": " ".join([*random.choice(words, 4), *(["yes"] if k % 2 else [])])}
        for k in range(200)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(thresher("train", path, "--text", "text", "-k", 5, "--stability", 6, "--json").stdout)
    selected = found["stability"]["frequency"].keys()
    assert selected - set(found["selected"])
    assert selected <= {"yes", *words}


@pytest.mark.parametrize("n", [1, 0, 1001, "3"])
def test_bad_input(n):
    X, y = random_problem(100, 20, 0.3, seed=0)
    with pytest.raises(ValueError, match="n must be a whole number from 2 to 1000"):
        stability(SOFS(3), (X, y), n=n)


def test_what_can_not_be_measured():
    X, y = random_problem(100, 20, 0.3, seed=0)
    with pytest.raises(ValueError, match="AROW keeps all features"):
        stability(AROW(), (X, y))
    with pytest.raises(DataError, match=r"random half \d learns rows of one class only"):
        stability(SOFS(3), (X, np.where(np.arange(100) == 5, 1, -1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stability", "1"], "--stability must be a whole number from 2 to 1000. Got 1 instead"),
        (["--stability", "3", "--method", "arow"], "AROW keeps all features, so there is nothing to select"),
    ],
)
def test_bad_options(tmp_path, options, message):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    done = thresher("train", tmp_path / "a.svm", *options, "-o", tmp_path / "m.thresher")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "m.thresher").exists()
