"""The table of methods: one row has all facts about a method.

`Model`, the command line, saving, the experiments, the benchmarks and the tests read it, and what the estimators say
about parameters is written from it (`make format`). A new method is a row here, a kernel or a batch solver, an
estimator, a test file and a page in docs/.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from thresher.messages import parameter
from thresher.parameters import (
    Between,
    Bytes,
    ColumnList,
    Instance,
    LegacyGenerator,
    OneOf,
    Parameter,
    Whole,
    WithMethods,
    check,
    check_keep,
    plain,
)

# Bytes of a sketch: from one page to as many slots as 32 bits can number.
LEAST_BYTES, DEFAULT_BYTES, MOST_BYTES = 4096, 64 << 20, 32 << 30

_FLAG = (OneOf((True, False)),)
_POSITIVE = (Between(0.0, float("inf")),)
_SEED = (OneOf((None,)), Whole(0, 2**32 - 1), LegacyGenerator())
_LOSSES = (OneOf(("perceptron", "hinge")),)

BUDGET = {
    "n_features_to_select": Parameter(
        100, (Whole(1), Between(0.0, 1.0)), "the budget: how many features to select",
        "The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.",
    ),
    "keep": Parameter(
        None, (OneOf((None,)), ColumnList()), "features to select in any case; they count in the budget",
        "Columns, by number or by name, that are selected in any case. They count in the budget.",
    ),
}  # fmt: skip
NORM = {
    "norm": Parameter(
        "l2", (OneOf(("l2", None)),), "l2 scales each row to unit length; none leaves it as it is",
        '"l2" scales each row to unit length first, in training and in prediction.',
    )
}  # fmt: skip
INTERCEPT = {
    "fit_intercept": Parameter(
        False, _FLAG, "learn an intercept, outside the budget", "Adds an intercept, outside the budget."
    )
}

SHARED_ONLINE: Mapping[str, Parameter] = {
    **NORM,
    **INTERCEPT,
    "class_weight": Parameter(
        None, (OneOf((None, "balanced")), Instance(dict)), "weights of the classes, as A=1,B=20, or balanced",
        'Weight of each class; "balanced" makes all classes count alike. `fit` then counts all rows first, '
        "`partial_fit` and `train` count the rows so far.",
    ),
    "n_passes": Parameter(
        1, (Whole(1),), "number of passes over the data", "The number of passes of `fit` over the data."
    ),
    "shuffle": Parameter(
        True, _FLAG,
        doc="Whether `fit` takes the rows in a new random order in each pass. `partial_fit` takes them as they come, "
        "and `train` has a `shuffle` of its own.",
    ),
    "random_state": Parameter(0, _SEED, "seed of the shuffle"),
    "memory": Parameter(
        "auto", (OneOf(("auto", "dense", "hash", "sketch")),),
        "where features are stored: by id (dense), in a hash table, or in a sketch; auto takes dense or hash",
        "Where features are stored (docs/memory.md): by id, in a hash table, or the selected ones exactly and all "
        'others in a sketch of fixed size. "auto" takes dense or hash, whichever suits the ids; the result is the '
        "same.",
    ),
    "memory_bytes": Parameter(
        None, (OneOf((None,)), Bytes(LEAST_BYTES, MOST_BYTES)), "size of the sketch, such as 64M",
        "The size of the sketch; 64 MiB by default.",
    ),
}  # fmt: skip
SHARED_BATCH: Mapping[str, Parameter] = {
    **BUDGET,
    **NORM,
    **INTERCEPT,
    "progress": Parameter(
        False, _FLAG, doc="Whether to show a progress bar, on stderr and only on a terminal."
    ),
}  # fmt: skip
_WITHOUT_SKETCH: dict[str, dict[str, Any]] = {
    "memory": {
        "type": '{"auto", "dense", "hash"}',
        "doc": 'Where features are stored (docs/memory.md): by id, or in a hash table. "auto" takes the one that suits '
        "the ids; the result is the same.",
    },
}


def _gamma(default: float, wins: str = "the fewest mistakes") -> dict[str, Parameter]:
    return {
        "gamma": Parameter(
            default, (*_POSITIVE, OneOf(("auto",))),
            "larger is slower and steadier; auto tries 2^-7 … 2^7 in the same pass and keeps the best",
            'Regularisation of the AROW step; larger values learn more slowly and more steadily. With "auto", learners '
            f"with 2^-7, 2^-5 … 2^7 and the default race on the same rows, and the one with {wins} wins. "
            'A race needs all rows: "auto" works in `fit` and `train`, not in `partial_fit`.',
        )
    }  # fmt: skip


def _eta(default: float, doc: str) -> dict[str, Parameter]:
    return {"eta": Parameter(default, _POSITIVE, "the size of a step", doc)}


def _loss(default: str) -> dict[str, Parameter]:
    return {
        "loss": Parameter(
            default, _LOSSES, "perceptron learns from mistakes, hinge from margins below 1",
            "Which rows are learned: those predicted wrong, or all with a margin below 1.",
        )
    }  # fmt: skip


_REFIT: dict[str, Parameter] = {
    "refit": Parameter(
        "auto", (OneOf(("auto", True, False)),),
        "end with a closing pass that learns the weights again, on the selected features alone",
        "Whether to end with a closing pass, which learns the weights again, on the selected features alone. "
        '"auto": always in `fit`; in `train` if the rows are read more than once anyway, or if there are more than '
        "two classes and the data can be read again.",
    )
}  # fmt: skip
_REFIT_NUMBERS = {
    "refit": replace(
        _REFIT["refit"],
        doc="Whether to end with a closing pass, which learns the weights again, on the selected features alone. "
        '"auto": always in `fit`; in `train` if the data can be read again.',
    )
}
_DECOYS = {
    "decoys": Parameter(
        False, (OneOf((False, True, 1.0)), Between(0.0, 1.0)),
        "learn decoys, which show what rank features reach by chance: q-values (docs/how_sure.md)",
        "Whether to learn decoys, which show what rank features reach by chance, and so give q-values "
        "(docs/how_sure.md). True: columns below 65,536 have one each, of the others, and with a sketch of all, one in "
        "eight. A number is the share of the columns that have one.",
    ),
    "max_fdr": Parameter(
        None, (OneOf((None,)), Between(0.0, 1.0)),
        "leave only features with a q-value up to this; implies decoys",
        "Leaves only features with a q-value up to this one selected, at most B. It implies decoys.",
    ),
}  # fmt: skip
# Parameters that a kernel's step does not need.
_BESIDE_THE_STEP = (*BUDGET, *_REFIT, *_DECOYS)
_AUTO_PASSES: dict[str, dict[str, Any]] = {
    "n_passes": {
        "default": "auto",
        "allowed": (Whole(1), OneOf(("auto",))),
        "help": "number of passes over the data; auto: 3 for up to 5,000 rows, otherwise 1",
        "doc": 'The number of passes over the data. "auto" means 3 passes for data of up to 5,000 rows that can be '
        "read again, otherwise 1.",
    }
}  # fmt: skip
_MEAN_LENGTH: dict[str, dict[str, Any]] = {
    "norm": {
        "default": "mean",
        "allowed": (OneOf(("mean", None)),),
        "help": "mean divides all rows by the mean length of rows; none leaves them as they are",
        "doc": '"mean" divides all rows by the mean length of the rows so far: over all features to select, over the '
        "selected ones to predict. None leaves them as they are. Rows are not scaled one by one, since a number "
        "depends on their length.",
    }
}
_TWO_NORMS: dict[str, dict[str, Any]] = {
    "norm": {
        "doc": '"l2" scales each row to unit length, in training and in prediction: over all features to select, over '
        "the selected ones to predict.",
    }
}
FEW_ROWS, PASSES_OF_FEW = 5_000, 3  # what "auto" means


_NOTHING_TO_SKETCH = "it stores its selected features only, which takes little memory at any width"
_KEEPS_ALL = "it keeps every feature exactly; use ShadowSOFS or SOFS, or {hash}"


def _check_decay(values: Mapping[str, Any]) -> None:
    if values["eta"] * values["lam"] >= 1:
        raise ValueError(
            "eta times lam of FOFS must be below 1, or the decay (1 − lam·eta) would flip the sign of the weights. "
            f"Got {parameter('eta', values['eta'])} and {parameter('lam', values['lam'])} instead."
        )


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    name: str  # in model files and for `Model`
    estimator: str  # the public class
    cli: str  # on the command line
    help: str  # what it keeps, in a few words
    own: Mapping[str, Parameter]  # parameters that are not in all methods
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of shared parameters, what is not as usual
    # In thresher._core, for two classes and for more, or for numbers; batch methods have none.
    kernels: tuple[str, ...] | None = None
    sketch_kernels: tuple[str, ...] | None = None  # the same with memory="sketch", if that is possible
    why_no_sketch: str = ""  # else the reason
    keeps_members_only: bool = False  # nothing of other features, so a hash table is always small
    predicts: Literal["classes", "numbers"] = "classes"
    predicts_apart: bool = False  # a layer of its own predicts, which a closing pass can train again
    ranks_by_turn: bool = False  # of a batch method: by the turn in which it took a feature, not by weight
    check_together: Callable[[Mapping[str, Any]], None] | None = None  # checks values that depend on each other

    @property
    def is_batch(self) -> bool:
        """Whether it needs all rows in memory, and so can't learn batch by batch."""
        return self.kernels is None

    @property
    def has_budget(self) -> bool:
        """Whether it keeps at most `n_features_to_select` features, rather than all."""
        return "n_features_to_select" in self.parameters

    @property
    def has_probabilities(self) -> bool:
        """Whether its models have probabilities; online methods learn their scale while they train."""
        return not self.is_batch and self.predicts == "classes"

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """All parameters, its own first."""
        shared = SHARED_BATCH if self.is_batch else SHARED_ONLINE
        changed = {name: replace(shared[name], **changes) for name, changes in self.changes.items()}
        known = {**self.own, **shared, **changed}
        if self.sketch_kernels is None:
            known.pop("memory_bytes", None)
        if self.predicts == "numbers":
            known.pop("class_weight", None)
        return known

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given values with defaults filled in, or raise ValueError for the first that is not allowed."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise ValueError(f"{self.estimator} has no parameter {name!r}; it has {', '.join(known)}.")
        values = {name: plain(given.get(name, parameter.default)) for name, parameter in known.items()}
        for name, value in values.items():
            check(f"{parameter(name)} of {self.estimator}", value, *known[name].allowed)
        if self.check_together is not None:
            self.check_together(values)
        self._check_memory(values)
        if isinstance(values.get("n_features_to_select"), int):
            check_keep(values, values["n_features_to_select"])
        return values

    def _check_memory(self, values: Mapping[str, Any]) -> None:
        memory, n_bytes = values.get("memory"), values.get("memory_bytes")
        if memory == "sketch" and self.sketch_kernels is None:
            why = self.why_no_sketch.format(hash=parameter("memory", "hash"))
            raise ValueError(f"{parameter('memory', 'sketch')} can't be used with {self.estimator}: {why}.")
        if n_bytes is not None and memory != "sketch":
            raise ValueError(
                f"{parameter('memory_bytes', n_bytes)} is the size of a sketch: use {parameter('memory', 'sketch')}, "
                "or leave it out."
            )

    def kernel_parameters(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the kernel needs for its step."""
        return {name: values[name] for name in self.own if name not in _BESIDE_THE_STEP}

    def load_estimator(self) -> Any:
        """Return the public class; scikit-learn is imported only now."""
        module = f"thresher.estimators.{self.name}"
        return getattr(importlib.import_module(module), self.estimator)

    def load_solver(self) -> Any:
        """Return the solver of a batch method, a module; scipy and scikit-learn are imported only now."""
        return importlib.import_module(f"thresher.training.solvers.{self.name}")


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "shadow_sofs", "ShadowSOFS", "shadow",
            "ranks features by the cost of dropping them; the best choice for most data",
            own=BUDGET | _gamma(0.5) | _REFIT | _DECOYS,
            changes={"fit_intercept": {"default": True}} | _AUTO_PASSES | _TWO_NORMS,
            kernels=("ShadowSofs", "ManyShadowSofs"), predicts_apart=True,
            sketch_kernels=("SketchShadowSofs", "ManySketchShadowSofs"),
        ),
        Method(
            "shadow_sofs_regressor", "ShadowSOFSRegressor", "shadow",
            "the same for numbers",
            own=BUDGET | _gamma(0.5, "the least squared errors") | _REFIT_NUMBERS | _DECOYS, predicts="numbers",
            changes={"fit_intercept": {"default": True}} | _AUTO_PASSES | _MEAN_LENGTH,
            kernels=("NumberShadowSofs",), predicts_apart=True, sketch_kernels=("SketchNumberShadowSofs",),
        ),
        Method(
            "sofs", "SOFS", "sofs", "the paper's method: the features of highest precision",
            own=BUDGET | _gamma(1.0), kernels=("Sofs", "ManySofs"),
            sketch_kernels=("SketchSofs", "ManySketchSofs"),
        ),
        Method(
            "pet", "PET", "pet", "a truncated perceptron",
            own=BUDGET
            | _eta(
                1.0,
                'The size of a step. With loss="perceptron" and no intercept it scales all weights and changes no '
                "prediction.",
            )
            | _loss("perceptron"),
            changes=_WITHOUT_SKETCH, kernels=("Pet", "ManyPet"),
            keeps_members_only=True, why_no_sketch=_NOTHING_TO_SKETCH,
        ),
        Method(
            "fofs", "FOFS", "fofs", "truncated gradient descent",
            own=BUDGET
            | _eta(0.2, "The size of a step. eta times lam must be below 1.")
            | {
                "lam": Parameter(
                    0.01, _POSITIVE, "how fast weights decay; lam times eta must be below 1",
                    "λ: how fast the weights decay; their norm stays at most 1/√lam.",
                )
            }
            | _loss("hinge"),
            changes=_WITHOUT_SKETCH, kernels=("Fofs", "ManyFofs"), check_together=_check_decay,
            keeps_members_only=True, why_no_sketch=_NOTHING_TO_SKETCH,
        ),
        Method(
            "arow", "AROW", "arow", "AROW on all features, second-order baseline",
            own=_gamma(1.0), changes=_WITHOUT_SKETCH | {"fit_intercept": {"doc": "Adds an intercept."}},
            kernels=("Arow", "ManyArow"), why_no_sketch=_KEEPS_ALL,
        ),
        Method(
            "ogd", "OGD", "ogd", "gradient descent on all features, first-order baseline",
            own=_eta(1.0, "The size of the first step; the t-th row's is eta/√t."),
            changes=_WITHOUT_SKETCH | {"fit_intercept": {"doc": "Adds an intercept."}},
            kernels=("Ogd", "ManyOgd"), why_no_sketch=_KEEPS_ALL,
        ),
        Method(
            "mrmr", "MRMR", "mrmr", "batch, by mutual information",
            ranks_by_turn=True,
            own={
                "scheme": Parameter(
                    "MID", (OneOf(("MID", "MIQ")),),
                    doc='"MID" takes relevance minus mean redundancy, "MIQ" relevance divided by (mean redundancy + '
                    "0.0001), in bits.",
                ),
                "discretize": Parameter(
                    "auto", (OneOf(("auto", "presence", "mean_std")),),
                    doc='Mutual information needs few values. "presence" asks whether a value is zero; "mean_std" '
                    'whether it is below mean − std of its column, above mean + std, or between. "auto" takes presence '
                    "for columns that have no negative value and are zero in at least half of the rows, and mean_std "
                    "for the others.",
                ),
                "classifier": Parameter(
                    "perceptron", (OneOf(("perceptron",)), WithMethods(("fit", "predict"))),
                    doc="What is trained on the selected features. It must have `coef_` and `intercept_` after `fit`.",
                    type='"perceptron" or a linear scikit-learn classifier',
                ),
                "random_state": Parameter(0, _SEED, doc="Seed of the Perceptron's shuffle."),
            },
            changes={"fit_intercept": {"doc": "Whether the Perceptron has an intercept."}},
        ),
        Method(
            "l1svm", "L1SVM", "l1svm", "batch, LIBLINEAR's l1-regularised SVM",
            own={
                "max_iter": Parameter(
                    20_000, (Whole(1, 2**31 - 1),),
                    doc="Iterations after which a fit is given up. A fit that has not converged has too many nonzero "
                    "weights, so it counts as one with too many features.",
                ),
                "random_state": Parameter(
                    0, _SEED, doc="Seed of the order in which LIBLINEAR takes the weights."
                ),
            },
            changes={
                "n_features_to_select": {
                    "doc": "The budget B: how many features to select at most, or a share of the columns, strictly "
                    "between 0 and 1."
                },
                "keep": {
                    "doc": "Columns, by number or by name, that are selected in any case. They count in the budget. "
                    "Their weights are regularised like all others, and can be zero."
                },
                "fit_intercept": {
                    "doc": "Adds an intercept, outside the budget. As in LIBLINEAR it is regularised like a weight."
                },
            },
        ),
        Method(
            "fgm", "FGM", "fgm", "batch, feature generating machine",
            own={
                "group_size": Parameter(
                    None, (OneOf((None,)), Whole(1)),
                    doc="Features that a round adds; by default max(1, B // 10). The last group is cut at B.",
                ),
                "C": Parameter(10.0, _POSITIVE, doc="Weight of the loss; 10 in the paper."),
                "tol": Parameter(
                    1e-4, _POSITIVE,
                    doc="No more groups are added once a round lowers the objective by less than this share of its "
                    "value at w = 0.",
                ),
            },
        ),
    )
}  # fmt: skip

CLASSIFIERS = tuple(method for method in METHODS.values() if method.predicts == "classes")
ONLINE = tuple(method for method in CLASSIFIERS if not method.is_batch)
BATCH = tuple(method for method in CLASSIFIERS if method.is_batch)
REGRESSORS = tuple(method for method in METHODS.values() if method.predicts == "numbers")


def find(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}. Got {name!r} instead.")
    return METHODS[name]
