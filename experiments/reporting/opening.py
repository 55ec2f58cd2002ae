"""How everything was done, and how often a parameter was chosen from the end of its grid."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from experiments import x2
from experiments.methods import METHODS, Parameters
from experiments.protocol import _RUNS, _SOON, SECONDS_A_CELL
from experiments.reporting.words import GREEK, listed
from experiments.results import REACHED, Results

_SHARE = f"{100 * REACHED:g} %"
_OPENING = f"""\
# The paper's experiments, side by side with the paper

Written by `python -m experiments report` from the files in results/; `make paper` runs all of it. The paper is
Wu, Hoi, Mei, Yu, *Large-scale online feature selection for ultra-high dimensional sparse data*, arXiv:1409.7794.

- **Protocol.** Random permutations, one pass, mean ± standard deviation; 10 of them unless a cell says n = …
  γ and η from 2⁻⁵ … 2⁵, λ the same over 100 (FOFS: every second power, λη < 1); rows of unit length or as they are on
  relathe, basehock and pcmac, of unit length elsewhere and for l1-SVM everywhere. PET and FOFS with hinge loss, as the
  paper says; PET with the perceptron's stands beside it.
- **Parameters** by 5-fold cross-validation, one for each set, method and B, on the training rows of permutation 0 (at
  most 20,000 of them on X1 and dense rows), fixed for all permutations. It never sees a test row of permutation 0.
  Where rows are divided at random, though, the test rows of the later permutations are in part training rows of
  permutation 0, so the choice has seen some of the rows that those are tested on; where the first or the last rows
  train, it has not.
- **Differences** are paired: over the permutations that both cells have, with the standard error (se) of their mean.
  One of 2 se or less is no difference that can be told; of one permutation there is no se. Permutations share rows, so
  that an se is, if anything, too small, and with n = 3 it is a rough one. Where the first or the last rows train, only
  the order of training rows changes, and an se knows nothing of other test rows. Of the paper's figures no se is known.
- **Fewer features than B.** A cell with fewer than {_SHARE} of its B features says how many it has, and the curves
  in the figures end before it.
- **Time** is that of selection and learning: the data are in memory before the clock starts. Each fit has a process of
  its own with one thread, and CPU seconds are counted, so that others on the machine disturb less; as many fits as
  there are cores run at the same time and share its memory. The least of {_RUNS} runs where one takes
  no more than {_SOON:g} s, and the median over permutations.
- **A cell over {SECONDS_A_CELL:.0f} s is stopped** and says so; larger budgets of that method are then not tried.
- Accuracies are in %, differences in points. They are the same in every run, digit for digit; times are not.
"""


def opening(results: Results) -> list[str]:
    """Return the head of the report."""
    return [*_OPENING.splitlines(), *(["- " + " ".join(said)] if (said := list(edges(results))) else []), ""]


def edges(results: Results) -> Iterator[str]:
    """Count the parameters that were chosen from an end of their grid: a better one may lie beyond."""
    chosen = [
        (method, parameters)
        for told in results.sets.values()
        for (method, _), parameters in told.chosen.items()
    ]  # fmt: skip
    if chosen:
        yield (
            "**Ends of the grid.** A choice at an end of its grid may hide a better one beyond. Cross-validation chose "
            f"the smallest or the largest value so often: {listed(_counted(chosen))}."
        )
    on_x2 = [(name, best) for name in x2.NAMES if (best := _fewest_mistakes(results, name)) is not None]
    if on_x2:
        at_end = [
            f"{name}'s {GREEK[key]} = {best[key]:g}"
            for name, best in on_x2
            for key in _ends(name)
            if best[key] in _ends(name)[key]
        ]
        yield f"On X2, of {len(on_x2)} methods: {listed(at_end) or 'none'}."


def _counted(chosen: list[tuple[str, Parameters]]) -> Iterator[str]:
    for name in METHODS:
        of = [parameters for method, parameters in chosen if method == name]
        for key, ends in _ends(name).items() if of else ():
            counts = Counter(parameters[key] for parameters in of)
            low, high = ends
            yield (
                f"{name}'s {GREEK[key]} {counts[low] + counts[high]} of {len(of)} ({low:g} in {counts[low]}, "
                f"{high:g} in {counts[high]})"
            )


def _ends(name: str) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest value of each parameter that a method has a grid for."""
    own = METHODS[name].own
    return {key: (min(p[key] for p in own), max(p[key] for p in own)) for key in own[0]}


def _fewest_mistakes(results: Results, name: str) -> Parameters | None:
    tried = [row for row in results.x2_tried if row["method"] == name]
    best = min(tried, key=lambda row: int(row["n_mistakes"]), default=None)
    parameters: Parameters | None = None if best is None else json.loads(best["parameters"])
    return parameters
