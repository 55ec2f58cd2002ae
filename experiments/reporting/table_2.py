"""Table 2: X2."""

from __future__ import annotations

import math

from experiments import x2
from experiments.paper import TABLE_2, X2_NOISE
from experiments.reporting.others import no_selection_is_worse
from experiments.reporting.words import listed, parameters, signed, table
from experiments.results import Results

_HEAD = [
    "", "chosen", "s, with the generator", "CPU s of the learner", "s, paper", "accuracy", "paper", "difference",
    "sparsity %", "paper", "peak memory",
]  # fmt: skip


def table_2(results: Results) -> list[str]:
    """Return the section."""
    size = results.x2_size
    lines = [f"## Table 2: X2, {size.n_train:,} rows, {size.n_features:,} columns, B = {size.budget}", ""]
    if not results.x2:
        return [*lines, "Not run.", ""]
    rows = []
    for name in (name for name in x2.NAMES if name in results.x2):
        ours, paper = results.x2[name], TABLE_2.get(name)
        found = _accuracy(results, name)
        there = (
            ["–"] * 4
            if paper is None
            else [f"{paper[0]:.0f}", f"{paper[1]:.2f}", signed(found - paper[1]), f"{paper[2]}"]
        )
        rows.append(
            [
                name, parameters(ours["parameters"]), f"{float(ours['seconds']):.1f}",
                f"{float(ours['learning_seconds']):.1f}", there[0], f"{found:.2f}", there[1], there[2],
                f"{float(ours['sparsity']):.5f}".rstrip("0"), there[3], f"{float(ours['peak_mb']) / 1000:.2f} GB",
            ]
        )  # fmt: skip
    said = _about(results) if set(x2.NAMES) <= set(results.x2) else []
    return [*lines, *table(_HEAD, rows), *([" ".join(said), ""] if said else [])]


def _accuracy(results: Results, name: str) -> float:
    return 100 * float(results.x2[name]["accuracy"])


def _about(results: Results) -> list[str]:
    size = results.x2_size
    found = {name: _accuracy(results, name) for name in x2.NAMES}
    times = [f"{name} {TABLE_2[name][0] / float(results.x2[name]['seconds']):.1f}" for name in TABLE_2]
    order = listed(f"{name} {found[name]:.3f}" for name in sorted(x2.NAMES, key=lambda name: found[name]))
    return [
        f"Parameters are those with the fewest mistakes on the first {size.prefix:,} rows, each row judged before it "
        "was learned.",
        f"From lowest to highest: {order}; one order of rows, so there is no standard error over permutations.",
        "That SOFS is above both methods without selection, as the paper finds, "
        f"{no_selection_is_worse(results).verdict.value}; see [there](#other-findings).",
        f"The paper's time over ours: {listed(times)}.",
        "Rows are generated on a thread of their own while the learner learns, as the paper loads its data; the test "
        f"takes {size.n_test:,} rows more.",
        *_about_sparsity(results),
        *_about_sofs(results),
    ]


def _about_sparsity(results: Results) -> list[str]:
    """Say where the sparsity of OGD and AROW comes from: how many updates they make."""
    size = results.x2_size
    zeros = {name: float(results.x2[name]["sparsity"]) / 100 for name in ("OGD", "AROW")}
    error = 100 * max(math.sqrt(share * (1 - share) / size.probes) for share in zeros.values())
    n_updates = {name: int(results.x2[name]["n_updates"]) for name in zeros}
    untouched = {name: 100 * math.exp(-n * X2_NOISE / size.n_features) for name, n in n_updates.items()}
    theirs = {name: -math.log(TABLE_2[name][2] / 100) * x2.Size().n_features / X2_NOISE for name in zeros}
    said = [
        f"The sparsity of OGD and AROW is that of {size.probes:,} columns taken at random (se {error:.2g}).",
        f"It is about the share of columns that no update has touched, exp(−{X2_NOISE}·updates/d): "
        + listed(
            f"{name}'s {n_updates[name]:,} updates make {untouched[name]:.2f} %, found were {100 * zeros[name]:.2f} %"
            for name in zeros
        )
        + ".",
        "The paper's figures would take some "
        + listed(f"{round(theirs[name], -3):,.0f} updates of {name}" for name in zeros)
        + "; it does not give its η and γ, so why their number differs from ours is not known.",
    ]
    if size == x2.Size():
        real = 100 * (1 - size.budget / size.n_features)
        said.append(f"The paper's {TABLE_2['SOFS'][2]} % for SOFS can't be: with B = {size.budget} it is {real:.5f} %.")
    return said


def _about_sofs(results: Results) -> list[str]:
    """Say what is known of the distance of SOFS from the paper."""
    size = results.x2_size
    if size != x2.Size():
        return []
    share = float(results.x2["SOFS"]["accuracy"])
    gap, error = 100 * share - TABLE_2["SOFS"][1], 100 * math.sqrt(share * (1 - share) / size.n_test)
    if abs(gap) <= 2 * error:
        return [f"SOFS is {signed(gap)} from the paper's, no difference that can be told (se {error:.2f})."]
    rate = size.n_train * X2_NOISE / size.n_features
    return [
        f"SOFS is {signed(gap)} from the paper's (se of ours {error:.2f}), and why is not known. What is known: a "
        f"column of noise is in {rate:g} training rows on average, so selection has little to remove; SOFS makes "
        f"{int(results.x2['SOFS']['n_updates']):,} updates, AROW {int(results.x2['AROW']['n_updates']):,}."
    ]
