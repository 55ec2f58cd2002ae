"""What tables give without an option but the label: tables-roles.csv, tables-quality.csv and docs/tables.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # pandas has no types
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments import data
from experiments.config import HOME
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table, means
from thresher import ShadowSOFS, evaluate, open_stream, train
from thresher.features import ColumnHasher

CODES = ("ip", "app", "device", "os", "channel")


@dataclass(frozen=True)
class Task:
    """A table, its label, and how it is read and divided."""

    name: str
    file: str
    label: str
    budget: int
    ignore: tuple[str, ...] = ()
    folds: int = 0  # of cross-validation; 0: three permutations, 70 % of the rows to learn
    ways: tuple[tuple[str, dict[str, Any]], ...] = field(default=())  # in which it is read

    @property
    def rows(self) -> pd.DataFrame:
        """All rows."""
        if not self.file:
            return generated()
        path = data.find(self.file)
        return pd.read_parquet(path) if self.file.endswith(".parquet") else pd.read_csv(path)

    def splits(self, labels: Any) -> Iterator[tuple[Any, Any]]:
        """Yield training and test rows."""
        if self.folds:
            yield from StratifiedKFold(self.folds, shuffle=True, random_state=0).split(labels, labels)
            return
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(labels))
            cut = int(0.7 * len(labels))
            yield order[:cut], order[cut:]


AUTO: tuple[str, dict[str, Any]] = ("no other option", {"roles": "auto"})
TASKS = (
    Task(
        "adult", "adult.csv.xz", "income", 60, folds=5,
        ways=(AUTO, ("`--no-scale`", {"roles": "auto", "scale": False}),
              ("`--cross education,sex`", {"roles": "auto", "crosses": ["education,sex"]})),
    ),
    Task(
        "talkingdata", "talkingdata.csv.xz", "is_attributed", 500, ("attributed_time",),
        ways=(AUTO, ("`--categorical` five codes", {"roles": "auto", "categorical": CODES}),
              ("these five alone, `--roles given`", {"categorical": CODES}),
              ("`--cross app,channel`", {"roles": "auto", "crosses": ["app,channel"]})),
    ),
    Task(
        "amazon_access", "amazon_access.csv.xz", "ACTION", 500,
        ways=(AUTO, ("all as numbers, `--numeric '*'`", {"numeric": "*"}),
              ("all as codes, `--categorical '*'`", {"categorical": "*"})),
    ),
)  # fmt: skip
ONLY_ROLES = Task("mercari", "mercari.parquet", "price", 100)
SMALLEST = Task("generated", "", "label", 10, folds=2, ways=(AUTO, ("no scale", {"roles": "auto", "scale": False})))


def generated() -> pd.DataFrame:
    """Return a small table of each role."""
    rng = np.random.default_rng(0)
    n = 400
    site, amount = rng.choice([*"abc"], n), rng.normal(1e4, 1e3, n).round(2)
    label = (site == "a") ^ (amount > 1e4)
    return pd.DataFrame({"row": np.arange(n), "label": label.astype(int), "site": site, "amount": amount})


def roles_steps(smallest: bool) -> list[Step]:
    """Return the tables."""
    return [(task.name, partial(roles, task)) for task in ((SMALLEST,) if smallest else (*TASKS, ONLY_ROLES))]


def roles(task: Task) -> Iterator[Found]:
    """Yield what is decided of the columns."""
    decided = open_stream(task.rows, label=task.label, ignore=task.ignore, roles="auto").roles
    assert decided is not None
    for each in decided.columns:
        yield {"set": task.name, "column": each.name, "type": each.type, "role": each.role, "why": each.why}


def quality_steps(smallest: bool) -> list[Step]:
    """Return each table in each way, and beside other code."""
    steps: list[Step] = []
    for task in (SMALLEST,) if smallest else TASKS:
        steps += [(f"{task.name}, {way}", partial(by_thresher, task, way, options)) for way, options in task.ways]
        if task.folds:
            steps.append((f"{task.name}, hasher", partial(by_pipeline, task, "ColumnHasher", hashed)))
            steps.append((f"{task.name}, scikit-learn", partial(by_pipeline, task, "scikit-learn", one_hot)))
    return steps


def by_thresher(task: Task, way: str, options: dict[str, Any]) -> Iterator[Found]:
    """Yield how good a model is on test rows of each split."""
    rows = task.rows
    for split, (learned, tested) in enumerate(task.splits(rows[task.label])):
        stream = open_stream(rows.iloc[learned], label=task.label, ignore=task.ignore, **options)
        model = ShadowSOFS(task.budget)
        train(model, stream)
        found = evaluate(model, open_stream(rows.iloc[tested], label=task.label, naming=stream.naming))
        yield {
            "set": task.name, "budget": task.budget, "way": way, "split": split, "accuracy": f"{found.accuracy:.5f}",
            "auc": f"{found.roc_auc:.5f}", "average_precision": f"{found.average_precision:.5f}",
        }  # fmt: skip


def hashed(budget: int, _rows: pd.DataFrame) -> Any:
    """Return a pipeline of thresher."""
    return make_pipeline(ColumnHasher(), ShadowSOFS(budget))


def one_hot(_budget: int, rows: pd.DataFrame) -> Any:
    """Return a logistic regression of scikit-learn on all columns."""
    words = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]
    numbers = [name for name in rows if name not in words]
    coded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
    return make_pipeline(coded, LogisticRegression(max_iter=1_000))


def by_pipeline(task: Task, way: str, of: Callable[[int, pd.DataFrame], Any]) -> Iterator[Found]:
    """Yield how good a pipeline of scikit-learn is."""
    rows = task.rows.drop(columns=[name for name in ("row",) if not task.file])
    labels, features = rows[task.label], rows.drop(columns=task.label)
    for split, (learned, tested) in enumerate(task.splits(labels)):
        model = of(task.budget, features).fit(features.iloc[learned], labels.iloc[learned])
        chances = model.predict_proba(features.iloc[tested])[:, 1]
        yield {
            "set": task.name, "budget": task.budget, "way": way, "split": split,
            "accuracy": f"{model.score(features.iloc[tested], labels.iloc[tested]):.5f}",
            "auc": f"{roc_auc_score(labels.iloc[tested] == model.classes_[1], chances):.5f}",
            "average_precision": "nan",
        }  # fmt: skip


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the tables of tables.md."""
    cells: dict[str, dict[str, list[str]]] = {}
    for row in tables["tables-roles"]:
        role = f"left out: {row['why']}" if row["why"] else row["role"]
        cells.setdefault(row["set"], {}).setdefault(role, []).append(f"`{row['column']}`")
    figures = means(tables["tables-quality"], ("set", "budget", "way"), ("accuracy", "auc", "average_precision"))
    return {
        "roles": table(
            ["table", "role", "columns"],
            [[name, role, ", ".join(columns)] for name, by_role in cells.items() for role, columns in by_role.items()],
        ),
        "quality": table(
            ["table", "B", "read with", "accuracy", "ROC AUC", "average precision"],
            [[name, budget, way, *("–" if np.isnan(each) else f"{each:.3f}" for each in found)]
             for (name, budget, way), found in figures],
        ),
    }  # fmt: skip


STUDY = Study(
    "tables", "what tables give without an option", HOME.parent / "docs" / "tables.md", ("ShadowSOFS",),
    {"tables-roles": roles_steps, "tables-quality": quality_steps}, placeholders,
)  # fmt: skip
