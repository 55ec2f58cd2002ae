"""How sure a weight is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from oracles import ArowOracle, ShadowSofsOracle
from states import model_of
from strategies import random_problem

from thresher import AROW, SOFS, ShadowSOFS, datasets, load, train
from thresher.io.model_files import save_model
from thresher.model.z_scores import z_scores


@pytest.mark.parametrize(("method", "oracle"), [(ShadowSOFS, ShadowSofsOracle), (AROW, ArowOracle)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_defined(method, oracle, n_classes):
    """z = μ·√(γ(P − 1)/s²), with s² the mean of ℓ² over the rows that had a loss."""

    class WithLosses(oracle):
        losses = ()

        def learn(self, ids, x, pulls, margin, importance):
            self.losses = (*self.losses, (1.0 - margin) ** 2)
            super().learn(ids, x, pulls, margin, importance)

    X, y = random_problem(300, 40, 0.3, seed=0, n_classes=n_classes)
    budget = {"n_features_to_select": 8} if method is ShadowSOFS else {}
    model = method(**budget, gamma=0.7, fit_intercept=False, shuffle=False, n_passes=1).fit(X, y)
    naive = WithLosses(n_classes=n_classes, gamma=0.7, **budget).fit(X, np.maximum(y, 0))
    expected = np.array(
        [
            [naive.weight[v][j] * np.sqrt(0.7 * naive.excess[v][j] / np.mean(naive.losses)) for v in naive.vectors]
            for j in range(40)
        ]
    )
    expected = expected[:, 0] if n_classes == 2 else expected
    np.testing.assert_allclose(model.z_scores(np.arange(40)), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.z_scores_, expected[model.selected_], rtol=1e-5)
    assert model.z_scores([39, 0]).shape == ((2,) if n_classes == 2 else (2, 3))


def test_noise_is_seldom_significant():
    """Columns of noise that are in every row, as an analyst has them in a table."""
    X, y, informative = datasets.make_x1(20_000, dense_noise=400, return_informative=True)
    model = ShadowSOFS(200).fit(X, y)
    always = np.flatnonzero(np.diff(X.tocsc().indptr) == X.shape[0])
    outsiders = np.setdiff1d(always, [*model.selected_, *informative])
    share = np.mean(np.abs(model.z_scores(outsiders)) > 1.96)
    print(f"{len(outsiders)} columns of noise outside the set: {share:.1%} have |z| > 1.96")
    assert len(outsiders) > 200
    assert share <= 0.05
    assert np.median(np.abs(model.z_scores(informative))) > 5


@pytest.mark.parametrize("how", ["passes", "weights"])
def test_a_row_is_one_row_however_often_it_is_learned(how):
    X, y, informative = datasets.make_x1(8_000, dense_noise=400, return_informative=True)
    model = ShadowSOFS(200, n_passes=5 if how == "passes" else 1)
    model.fit(X, y, sample_weight=np.full(8_000, 16.0) if how == "weights" else None)
    always = np.flatnonzero(np.diff(X.tocsc().indptr) == X.shape[0])
    outsiders = np.setdiff1d(always, [*model.selected_, *informative])
    assert np.mean(np.abs(model.z_scores(outsiders)) > 1.96) <= 0.05


def test_another_gamma_has_another_scale():
    X, y = random_problem(300, 40, 0.3, seed=0)
    model = ShadowSOFS(8).fit(X, y).set_params(gamma=50.0).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="gamma was changed while the model learned"):
        model.z_scores(range(40))


def test_another_gamma_that_learned_nothing(tmp_path):
    X, y = random_problem(300, 40, 0.3, seed=0)
    model = ShadowSOFS(8, gamma=1.0).fit(X, y)
    before = model.z_scores_
    bad = X.copy()
    bad.data[3] = np.nan
    model.set_params(gamma=2.0)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y)
    with pytest.raises(FileNotFoundError):
        train(model, tmp_path / "none.svm")
    assert model.gamma_ == 1.0
    np.testing.assert_array_equal(model.set_params(gamma=1.0).z_scores_, before)
    model.set_params(gamma=2.0)
    train(model, (X, y), shuffle=False)
    with pytest.raises(ValueError, match="gamma was changed while the model learned"):
        model.set_params(gamma=1.0).z_scores(range(40))


def test_in_model_files_and_shown(tmp_path):
    X, y = random_problem(300, 40, 0.3, seed=0)
    model = ShadowSOFS(8).fit(X, y)
    save_model(model_of(model), tmp_path / "full.thresher", compact=False)
    save_model(model_of(model), tmp_path / "compact.thresher", compact=True)
    full, compact = load(tmp_path / "full.thresher"), load(tmp_path / "compact.thresher")
    np.testing.assert_array_equal(full.z_scores(range(40)), model.z_scores(range(40)))
    np.testing.assert_array_equal(compact.z_scores_, model.z_scores_)
    np.testing.assert_array_equal(compact.z_scores(model.selected_), model.z_scores_)
    other = int(np.setdiff1d(range(40), model.selected_)[0])
    with pytest.raises(ValueError, match="saved compact, with its selected features only"):
        compact.z_scores([other])
    shown = json.loads(thresher("show", tmp_path / "compact.thresher", "--json").stdout)["features"]
    np.testing.assert_allclose([each["z"] for each in shown], model.z_scores_)
    assert f"{model.z_scores_[0]:+.1f}" in thresher("show", tmp_path / "compact.thresher").stdout


def test_bad_columns():
    X, y = random_problem(100, 20, 0.3, seed=0)
    model = ShadowSOFS(5).fit(X, y)
    for columns in ([20], [-1]):
        with pytest.raises(ValueError, match=rf"there is no column {columns[0]}: the model has 20"):
            model.z_scores(columns)
    for columns in ([0.5], [[1]], "ab"):
        with pytest.raises(ValueError, match="columns must be a list of whole numbers"):
            model.z_scores(columns)
    assert not hasattr(SOFS(5), "z_scores_")
    with pytest.raises(ValueError, match="SOFS has no z-scores; use ShadowSOFS or AROW"):
        z_scores(model_of(SOFS(5).fit(X, y)))
