"""The paper's X2: a million rows with a billion columns, streamed from the generator, exact state."""

from __future__ import annotations

import json

from measure import PYTHON, Bar, Effort, Section, least_process_costs, table

METHODS = ("SOFS", "ShadowSOFS")
PAPER_SECONDS = 480

TRAIN = """
import json, sys
import thresher
from thresher import datasets, train
n_rows, n_features, n_test = map(int, sys.argv[2:])
stream, informative = datasets.make_x2(n_samples=n_rows, n_features=n_features, return_informative=True)
model = getattr(thresher, sys.argv[1])(n_features_to_select=500, gamma=1.0, fit_intercept=False)
history = train(model, stream, shuffle=False)
test = datasets.make_x2(n_samples=n_test, n_features=n_features, start=n_rows)
right = sum(int((model.predict(X) == y).sum()) for X, y in test)
found = len(set(model.selected_.tolist()) & set(informative.tolist()))
print(json.dumps({"seconds": history.seconds[-1], "accuracy": right / n_test, "found": found}))
"""


def section(effort: Effort) -> Section:
    """Measure SOFS and ShadowSOFS in turn: in full each run takes most of a minute and 8 GB."""
    n_rows, n_features = effort.pick((1_000_000, 1_000_000_000), (0, 0), (1_000, 1_000_000))
    if not n_rows:
        return Section([], [])
    sizes = (str(n_rows), str(n_features), str(effort.pick(20_000, 0, 1_000)))
    size = f"{n_rows:,} rows, {n_features:,} columns, " + f"{1_000 * n_rows:.0e}".replace("e+0", "e")
    commands = {name: (PYTHON, "-c", TRAIN, name, *sizes) for name in METHODS}
    costs = least_process_costs(commands, effort.pick(2, 1, 1))
    seconds, rows = {}, []
    for name, cost in costs.items():
        report = json.loads(cost.output)
        seconds[name] = report["seconds"]
        figures = f"{seconds[name]:.1f}", f"{cost.cpu:.1f}", f"{cost.memory:,.0f}", f"{report['accuracy']:.4f}"
        rows.append([f"thresher {name}", *figures, str(report["found"])])
    rows.append(["the paper's SOFS, on its machine", str(PAPER_SECONDS), *"––––"])
    head = ["", "seconds", "CPU s", "peak MB", "accuracy, held out", "informative columns found, of 500"]
    title = f"## X2: {size} nonzeros, B = 500, streamed from the generator, {effort.pick('twice', '', 'once')}"
    bars = [
        Bar("X2 exact", costs["SOFS"].wall, 60, " s"),
        Bar("X2 exact, peak memory", costs["SOFS"].memory / 1000, 10, " GB"),
        Bar("ShadowSOFS / SOFS, X2", seconds["ShadowSOFS"] / seconds["SOFS"], 1.3),
    ]
    return Section([title, "", *table(head, rows)], bars)
