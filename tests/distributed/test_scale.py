"""The measured tables of docs/scale.md hold what is promised; `python -m experiments scale` measures them."""

from __future__ import annotations

import pytest

from experiments import scale
from experiments.config import HOME
from experiments.store import read_csv
from experiments.study import means
from thresher import datasets, open_stream

RESULTS = HOME / "results"


@pytest.mark.parametrize(
    ("name", "budget", "method", "shards", "points"),
    [
        ("x1", 100, "ShadowSOFS", 4, 0.5),
        ("x1", 100, "ShadowSOFS", 16, 0.5),
        ("x1", 200, "ShadowSOFS", 4, 0.5),
        ("x1", 200, "ShadowSOFS", 16, 0.5),
        ("x1", 200, "SOFS", 4, 0.5),
        ("ccat", 500, "ShadowSOFS", 16, 0.8),
        ("news-random", 5_000, "ShadowSOFS", 16, 0.8),
        ("ccat", 500, "SOFS", 16, 1.0),
        ("news-random", 5_000, "SOFS", 16, 1.0),
    ],
)
def test_shards_cost_little(name, budget, method, shards, points):
    """What docs/scale.md promises; a new measurement that is worse must not go unnoticed."""
    wanted = (name, str(budget), method, "auto", str(shards), "16")
    rows = read_csv(RESULTS / "scale.csv")
    (found,) = (found for key, found in means(rows, scale.CELL, ("sequential", "accuracy")) if key == wanted)
    assert found[0] - found[1] <= points


def test_a_sketch_sends_no_more_than_its_bytes_and_members():
    """What docs/scale.md promises of what is sent; a new measurement that sends more must not go unnoticed."""
    for row in read_csv(RESULTS / "scale.csv"):
        if row["memory"] != "auto":
            table = int(row["memory"].split()[2].replace(",", ""))
            assert int(row["moved"]) <= table + 24 * (int(row["budget"]) + 1)


def test_text_of_x1_is_x1(tmp_path):
    scale.write_x1(tmp_path / "x1.svm", 30)
    X, y, _ = open_stream(tmp_path / "x1.svm", zero_based=False).to_csr()
    expected, labels = datasets.make_x1(30)
    assert (expected[:, : X.shape[1]] != X).nnz == 0
    assert y.tolist() == labels.tolist()
