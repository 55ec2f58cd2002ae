"""What is special about OGD; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import numpy as np
from states import state_of
from strategies import random_problem

from thresher import OGD, datasets


def test_is_gradient_descent_with_a_shrinking_step():
    X, y = random_problem(300, 40, 0.3, seed=2)
    w = np.zeros(40)
    for t, (x, label) in enumerate(zip(X.toarray().astype(float), y, strict=True), start=1):
        if label * (w @ x) < 1:
            w += 0.5 / np.sqrt(t) * label * x
    model = OGD(eta=0.5, norm=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_.toarray()[0], w, atol=1e-4)


def test_rows_without_a_loss_count_in_t():
    """The third row's step is eta/√3, though the second changed nothing."""
    X = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    model = OGD(norm=None).partial_fit(X, [1, 1, 0], classes=[0, 1])
    assert model.n_updates_ == 2
    np.testing.assert_allclose(model.coef_.toarray()[0], [2.0, -1 / np.sqrt(3)], rtol=1e-6)


def test_four_bytes_a_feature():
    X, y = datasets.make_x1(500)
    state = state_of(OGD().fit(X, y))["learned"]
    assert state["cells"].dtype == np.float32
    assert len(state["cells"]) == len(state["ids"])
