"""The page on gamma="auto": it says of each promise whether it held."""

from __future__ import annotations

import pytest

from experiments.gamma_auto import STUDY
from experiments.store import write_csv


@pytest.mark.parametrize(("auto", "verdict"), [(89.1, "yes"), (88.9, "**no**")])
def test_the_verdict(tmp_path, auto, verdict):
    """A point below the best γ in one cell is allowed; the mean over the cells is well above."""
    accuracy = []
    for budget, gap in ((50, auto - 90.0), (100, 0.5), (200, 0.0)):
        for permutation in range(2):
            cell = {"method": "SOFS", "set": "ccat", "budget": budget, "permutation": permutation}
            # Of the others, one is better than the best on one permutation, and worse on average.
            for gamma, value in ((1.0, 90.0), (2.0, 91.0 - 4 * permutation), ("auto", 90.0 + gap)):
                chosen = 2.0 if gamma == "auto" else gamma
                accuracy.append({**cell, "gamma": gamma, "accuracy": value, "chosen": chosen})
    write_csv(tmp_path / "results" / "gamma-auto.csv", accuracy[0], accuracy)
    times = {"method": "SOFS", "set": "ccat", "budget": 50, "fixed": 1.0}
    ratios = [
        {**times, "where": where, "auto": auto} for where, auto in (("memory", 3.9), ("memory", 4.1), ("text", 2.1))
    ]
    write_csv(tmp_path / "results" / "gamma-auto-time.csv", ratios[0], ratios)
    STUDY.write_page(tmp_path)
    text = (tmp_path / "GAMMA.md").read_text()
    assert f"| SOFS | 3 | {auto - 90:+.2f} | {(auto - 90 + 0.5) / 3:+.2f} | {verdict} |" in text
    assert f"| SOFS | ccat | 50 | 2^0 | 90.00 | {auto:.2f} | {auto - 90:+.2f} ± 0.00 | 90.00 | 2^1 (2) |" in text
    assert [word in text for word in ("| 3.90 | 4 |", "| **4.10** | 4 |", "| **2.10** | 2 |")] == [True] * 3
