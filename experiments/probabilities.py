"""What probabilities are worth on test rows: probabilities.csv, probabilities-groups.csv and docs/probabilities.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from experiments import data
from experiments.config import HOME
from experiments.data import Rows
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table, means
from thresher import ShadowSOFS, datasets, open_stream

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Groups of rows by their probability. Their bounds are powers of the square root of ten.
BOUNDS = 10.0 ** np.arange(-4.0, 0.01, 0.5)
N_PARTS = 10  # of the calibration error
N_FOLDS = 3
CODES = ["ip", "app", "device", "os", "channel"]


@dataclass(frozen=True)
class Task:
    """A set, and how it is divided: training rows by their number or share, at most 30,000 test rows."""

    name: str
    budget: int
    n_train: int | float
    n_splits: int = 3

    def splits(self, n: int) -> Iterator[tuple[Places, Places]]:
        """Yield training and test rows of permutations."""
        n_train = self.n_train if isinstance(self.n_train, int) else int(self.n_train * n)
        for seed in range(self.n_splits):
            order = np.random.default_rng(seed).permutation(n)
            yield order[:n_train], order[n_train : n_train + 30_000]

    def folds(self, n: int) -> Iterator[tuple[Places, Places]]:
        """Yield training and test rows so that every row is a test row once."""
        of_fold = np.random.default_rng(0).permutation(n) % N_FOLDS
        for fold in range(N_FOLDS):
            yield np.flatnonzero(of_fold != fold), np.flatnonzero(of_fold == fold)


TASKS = (Task("ccat", 500, 13_149), Task("w8a", 50, 20_000), Task("news20.multiclass", 500, 12_000),
         Task("talkingdata", 500, 0.7))  # fmt: skip
SMALLEST = (Task("generated", 20, 0.5, 1),)


def rows_of(name: str) -> Rows:
    """Return all rows of a set."""
    if name == "generated":  # with few rows of the second class
        X, y, _ = datasets.make_x2(4_000, n_features=500, n_informative=20, n_noise=30).to_csr()
        kept = np.flatnonzero((y < 0) | (np.arange(len(y)) % 10 == 0))
        return Rows(X[kept], y[kept])
    if name == "talkingdata":
        path = data.find("talkingdata.csv.xz", "https://www.kaggle.com/c/talkingdata-adtracking-fraud-detection")
        X, y, _ = open_stream(path, label="is_attributed", categorical=CODES).to_csr()
        names, columns = np.unique(X.indices, return_inverse=True)
        return Rows(sp.csr_matrix((X.data, columns, X.indptr), (len(y), len(names))), y)
    X, y, _ = open_stream(data.find(f"{name}.svm.xz"), "svmlight").to_csr()
    return Rows(X, y)


def steps(tasks: tuple[Task, ...], of_groups: bool) -> list[Step]:
    """Return what is measured."""
    measure = groups if of_groups else losses
    return [(task.name, partial(measure, task)) for task in tasks if not of_groups or is_rare(task.name)]


def is_rare(name: str) -> bool:
    """Return whether a set has few rows of its second class."""
    return name in ("w8a", "talkingdata", "generated")


def fitted(
    task: Task, rows: Rows, splits: Iterable[tuple[Places, Places]]
) -> Iterator[tuple[int, str, ShadowSOFS, Rows]]:
    """Yield models with their defaults, in one reading alone and as `fit` learns, and the test rows of each split."""
    for split, (train_rows, test_rows) in enumerate(splits):
        training, test = rows.take(train_rows), rows.take(test_rows)
        once = ShadowSOFS(task.budget, n_passes=1, refit=False).fit(training.X, training.y)
        yield split, "one reading", once, test
        yield split, "fit", ShadowSOFS(task.budget).fit(training.X, training.y), test


def losses(task: Task) -> Iterator[Found]:
    """Yield log loss and calibration error on the second half of the test rows; scalings see the first."""
    rows = rows_of(task.name)
    for split, what, model, test in fitted(task, rows, task.splits(len(rows.y))):
        codes = np.searchsorted(model.classes_, test.y)
        scores, chances = model.decision_function(test.X), model.predict_proba(test.X)
        first, second = np.split(np.arange(len(codes)), [len(codes) // 2])
        if scores.ndim == 1:  # σ(a·s + b)
            scaling = LogisticRegression(C=1e6).fit(scores[first, None], codes[first])
            scaled = scaling.predict_proba(scores[second, None])
        else:  # softmax(a·s)
            scaled = tempered(scores[first], codes[first], scores[second])
        rates = np.bincount(codes[first], minlength=chances.shape[1]) / len(first)
        yield {
            "set": task.name, "budget": task.budget, "split": split, "what": what,
            "rate": f"{(codes == 1).mean():.5f}" if scores.ndim == 1 else "",
            "scale": f"{model._model.counters['margin_scale']:.4f}",  # no public name: users need the probabilities
            "log_loss": f"{log_loss(chances[second], codes[second]):.5f}",
            "scaled": f"{log_loss(scaled, codes[second]):.5f}",
            "of_rates": f"{log_loss(np.tile(np.maximum(rates, 1e-9), (len(second), 1)), codes[second]):.5f}",
            "calibration_error": f"{calibration_error(chances, codes):.5f}",
        }  # fmt: skip


def tempered(scores: Floats, codes: Places, new: Floats) -> Floats:
    """Return softmax(a·s) of new scores; a has the least log loss on others, among numbers 2 % apart."""
    tried = 1.02 ** np.arange(-120, 121)
    best = min(tried, key=lambda a: log_loss(softmax(a * scores), codes))
    return softmax(best * new)


def softmax(scores: Floats) -> Floats:
    """Return the probabilities that scores stand for."""
    powers: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: Floats = powers / powers.sum(axis=1, keepdims=True)
    return chances


def log_loss(chances: Floats, codes: Places) -> float:
    """Return the mean of −ln of the true class's probability."""
    return float(-np.log(np.maximum(chances[np.arange(len(codes)), codes], 1e-15)).mean())


def calibration_error(chances: Floats, codes: Places) -> float:
    """Return how far probabilities are from frequencies, in ten groups of equal size by probability.

    Of two classes those of the second one, of more those of the label that is predicted.
    """
    best = chances.argmax(axis=1)
    of, is_it = (chances[:, 1], codes == 1) if chances.shape[1] == 2 else (chances.max(axis=1), best == codes)
    groups = np.array_split(np.argsort(of, kind="stable"), N_PARTS)
    gaps = [len(each) * abs(float(of[each].mean()) - float(is_it[each].mean())) for each in groups]
    return sum(gaps) / len(codes)


def groups(task: Task) -> Iterator[Found]:
    """Yield, for groups of test rows by their probability, its mean and how often the second class came."""
    found: dict[tuple[str, int], list[Floats]] = {}
    rows = rows_of(task.name)
    for _, what, model, test in fitted(task, rows, task.folds(len(rows.y))):
        chances, is_second = model.predict_proba(test.X)[:, 1], test.y == model.classes_[1]
        places = np.searchsorted(BOUNDS, chances)
        for place in np.unique(places).tolist():
            here = places == place
            sums = np.array([here.sum(), chances[here].sum(), is_second[here].sum()], np.float64)
            found.setdefault((what, place), []).append(sums)
    for (what, place), parts in sorted(found.items()):
        n, predicted, came = np.sum(parts, axis=0)
        yield {
            "set": task.name, "budget": task.budget, "what": what, "from": f"{BOUNDS[place - 1] if place else 0:.5f}",
            "rows": int(n), "predicted": f"{predicted / n:.6f}", "came": int(came),
        }  # fmt: skip


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of probabilities.md."""
    figures = ("scale", "log_loss", "scaled", "of_rates", "calibration_error")
    cells = [
        [*key, f"{scale:.2f}", f"{loss:.4f}", f"{scaled:.4f}", f"{of_rates:.4f}", f"{error:.4f}"]
        for key, (scale, loss, scaled, of_rates, error) in means(
            tables["probabilities"], ("set", "budget", "what"), figures
        )
    ]
    head = [
        "set",
        "B",
        "learned by",
        "τ",
        "log loss",
        "scaled on held-out rows",
        "always the rates",
        "calibration error",
    ]
    rare = [
        [f"{float(row['predicted']):.3%}", f"{int(row['came']) / int(row['rows']):.3%}", row["came"],
         f"{int(row['rows']):,}"]
        for row in tables["probabilities-groups"] if (row["set"], row["what"]) == ("talkingdata", "fit")
    ]  # fmt: skip
    of_groups = table(["mean probability", "it came in", "how often", "of rows"], rare)
    return {"losses": table(head, cells), "groups": of_groups}


STUDY = Study(
    "probabilities", "what probabilities are worth", HOME.parent / "docs" / "probabilities.md", ("ShadowSOFS",),
    {
        "probabilities": lambda smallest: steps(SMALLEST if smallest else TASKS, of_groups=False),
        "probabilities-groups": lambda smallest: steps(SMALLEST if smallest else TASKS, of_groups=True),
    },
    placeholders,
)  # fmt: skip
