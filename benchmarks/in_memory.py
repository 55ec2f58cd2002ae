"""SOFS in memory beside its peers and floors."""

from __future__ import annotations

import numpy as np
from measure import least_seconds
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

from thresher import SOFS, ShadowSOFS, datasets

ROUNDS = 7


def section(permute: bool) -> list[str]:
    """Return the table's rows for X1: unit rows, norm=None, so that all do the same work."""
    X, y = datasets.make_x1(100_000, permute=permute)
    X = normalize(X, copy=False)
    X_test, y_test = datasets.make_x1(10_000, permute=permute, start=100_000)
    X_test = normalize(X_test, copy=False)
    w = np.zeros(X.shape[1], dtype=np.float32)
    sofs, shadow = SOFS(200, norm=None), ShadowSOFS(200, norm=None)
    sgd = SGDClassifier(loss="hinge", penalty="l1", random_state=0)

    def sgd_one_pass() -> None:
        nonlocal sgd
        sgd = SGDClassifier(loss="hinge", penalty="l1", random_state=0)
        sgd.partial_fit(X, y, classes=np.array([-1, 1]))

    least = least_seconds(
        {
            "scipy `X @ w` (floor)": lambda: X @ w,
            "thresher SOFS `fit`, B = 200": lambda: sofs.fit(X, y),
            "thresher ShadowSOFS `fit`, B = 200": lambda: shadow.fit(X, y),
            "scikit-learn SGD hinge l1, one `partial_fit`": sgd_one_pass,
        },
        ROUNDS,
    )
    floor, ours, shadows, peer = least.values()
    quality = {
        "thresher SOFS `fit`, B = 200": (sofs.score(X_test, y_test), len(sofs.selected_)),
        "thresher ShadowSOFS `fit`, B = 200": (shadow.score(X_test, y_test), len(shadow.selected_)),
        "scikit-learn SGD hinge l1, one `partial_fit`": (sgd.score(X_test, y_test), int(np.count_nonzero(sgd.coef_))),
    }
    lines = [
        f"## X1{', ids permuted' if permute else ''}: 100,000 rows, {X.nnz / 1e6:.0f}M nonzeros",
        "",
        "| | ns a nonzero | × floor | accuracy, held out | features |",
        "|---|---|---|---|---|",
    ]
    for name, seconds in least.items():
        accuracy, features = quality.get(name, (None, None))
        told = f"{accuracy:.4f} | {features:,}" if accuracy is not None else "– | –"
        lines.append(f"| {name} | {seconds / X.nnz * 1e9:.2f} | {seconds / floor:.2f} | {told} |")
    return [
        *lines,
        "",
        f"SOFS / SGD: **{ours / peer:.2f}** (bar: 0.5). SOFS / floor: {ours / floor:.2f}. "
        f"ShadowSOFS / SOFS: {shadows / ours:.2f} (bar: 2).",
        "",
    ]
