"""The paper's X2: a million rows with a billion columns, streamed from the generator, exact state."""

from __future__ import annotations

import json

from measure import PYTHON, Bar, Effort, Section, process

PAPER_SECONDS = 480

TRAIN = """
import json, sys
from thresher import SOFS, datasets, train
n_rows, n_features, n_test = map(int, sys.argv[1:])
stream, informative = datasets.make_x2(n_samples=n_rows, n_features=n_features, return_informative=True)
model = SOFS(n_features_to_select=500)
history = train(model, stream)
test = datasets.make_x2(n_samples=n_test, n_features=n_features, start=n_rows)
right = sum(int((model.predict(X) == y).sum()) for X, y in test)
found = len(set(model.selected_.tolist()) & set(informative.tolist()))
print(json.dumps({"seconds": history.seconds[-1], "accuracy": right / n_test, "found": found}))
"""


def section(effort: Effort) -> Section:
    """Measure once: in full it takes most of a minute and 8 GB."""
    n_rows, n_features = effort.pick((1_000_000, 1_000_000_000), (0, 0), (1_000, 1_000_000))
    if not n_rows:
        return Section([], [])
    cost = process(PYTHON, "-c", TRAIN, str(n_rows), str(n_features), str(effort.pick(20_000, 0, 1_000)))
    report = json.loads(cost.output)
    size = f"{n_rows:,} rows, {n_features:,} columns, " + f"{1_000 * n_rows:.0e}".replace("e+0", "e")
    lines = [
        f"## X2: {size} nonzeros, B = 500, streamed from the generator, once",
        "",
        "| | seconds | CPU s | peak MB | accuracy, held out | informative columns found, of 500 |",
        "|---|---|---|---|---|---|",
        f"| thresher SOFS | {report['seconds']:.1f} | {cost.cpu:.1f} | {cost.memory:,.0f} | {report['accuracy']:.4f} "
        f"| {report['found']} |",
        f"| the paper's SOFS, on its machine | {PAPER_SECONDS} | – | – | – | – |",
        "",
    ]
    bars = [Bar("X2 exact", cost.wall, 60, " s"), Bar("X2 exact, peak memory", cost.memory / 1000, 10, " GB")]
    return Section(lines, bars)
