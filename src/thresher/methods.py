"""The table of methods: one row has all facts about a method.

`Model`, the estimators, the command line, saving, the experiments, the benchmarks and the tests read it. A new method
is a row here, a kernel or a batch solver, an estimator, a test file and a page in docs/.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thresher.parameters import (
    Between,
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
    "n_features_to_select": Parameter(100, (Whole(1), Between(0.0, 1.0)), "the budget: how many features to keep"),
    "keep": Parameter(None, (OneOf((None,)), ColumnList()), "features to select in any case; they count in the budget"),
}
NORM = {"norm": Parameter("l2", (OneOf(("l2", None)),), "l2 scales each row to unit length; none leaves it as it is")}
INTERCEPT = {"fit_intercept": Parameter(False, _FLAG, "learn an intercept, outside the budget")}

SHARED_ONLINE: Mapping[str, Parameter] = {
    **NORM,
    **INTERCEPT,
    "class_weight": Parameter(
        None, (OneOf((None, "balanced")), Instance(dict)), "weights of the classes, as A=1,B=20, or balanced"
    ),
    "n_passes": Parameter(1, (Whole(1),), "number of passes over the data"),
    "shuffle": Parameter(True, _FLAG),
    "random_state": Parameter(0, _SEED, "seed of the shuffle"),
    "memory": Parameter(
        "auto", (OneOf(("auto", "dense", "hash", "sketch")),),
        "where features are stored: by id (dense), in a hash table, or in a sketch; auto takes dense or hash",
    ),
    "memory_bytes": Parameter(
        None, (OneOf((None,)), Whole(LEAST_BYTES, MOST_BYTES)), "size of the sketch, such as 64M"
    ),
}  # fmt: skip
SHARED_BATCH: Mapping[str, Parameter] = {**BUDGET, **NORM, **INTERCEPT, "progress": Parameter(False, _FLAG)}


def _gamma(default: float) -> dict[str, Parameter]:
    text = "larger is slower and steadier; auto tries 2^-7 … 2^7 in the same pass and keeps the best"
    return {"gamma": Parameter(default, (*_POSITIVE, OneOf(("auto",))), text)}


def _eta(default: float) -> dict[str, Parameter]:
    return {"eta": Parameter(default, _POSITIVE, "the size of a step")}


def _loss(default: str) -> dict[str, Parameter]:
    return {"loss": Parameter(default, _LOSSES, "perceptron learns from mistakes, hinge from margins below 1")}


_NOTHING_TO_SKETCH = "it stores its selected features only, which takes little memory at any width"
_KEEPS_ALL = "it keeps every feature exactly; use ShadowSOFS or SOFS, or memory='hash' (--memory hash)"


def _check_decay(values: Mapping[str, Any]) -> None:
    if values["eta"] * values["lam"] >= 1:
        raise ValueError(
            "eta times lam of FOFS must be below 1, or the decay (1 − lam·eta) would flip the sign of the weights. "
            f"Got eta={values['eta']:g} and lam={values['lam']:g} instead."
        )


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    name: str  # in model files and for `Model`
    estimator: str  # the public class
    cli: str  # after --method
    help: str  # what it keeps, in a few words
    own: Mapping[str, Parameter]  # parameters that are not in all methods
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of shared parameters, where they are not the usual ones
    kernels: tuple[str, str] | None = None  # in thresher._core, for two classes and for more; batch methods have none
    sketch_kernels: tuple[str, str] | None = None  # the same with memory="sketch", if that is possible
    why_no_sketch: str = ""  # else the reason
    keeps_members_only: bool = False  # nothing of other features, so a hash table is always small
    is_second_order: bool = False  # has a precision for each weight
    has_z_scores: bool = False  # the precision counts the same rows as the weight
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
    def parameters(self) -> dict[str, Parameter]:
        """All parameters, its own first."""
        shared = SHARED_BATCH if self.is_batch else SHARED_ONLINE
        others = {name: replace(shared[name], default=value) for name, value in self.defaults.items()}
        return {**self.own, **shared, **others}

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given values with defaults filled in, or raise ValueError for the first that is not allowed."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise ValueError(f"{self.estimator} has no parameter {name!r}; it has {', '.join(known)}.")
        values = {name: plain(given.get(name, parameter.default)) for name, parameter in known.items()}
        for name, value in values.items():
            check(f"{name} of {self.estimator}", value, *known[name].allowed)
        if self.check_together is not None:
            self.check_together(values)
        self._check_memory(values)
        if isinstance(values.get("n_features_to_select"), int):
            check_keep(values, values["n_features_to_select"])
        return values

    def _check_memory(self, values: Mapping[str, Any]) -> None:
        memory, n_bytes = values.get("memory"), values.get("memory_bytes")
        if memory == "sketch" and self.sketch_kernels is None:
            raise ValueError(f"memory='sketch' can't be used with {self.estimator}: {self.why_no_sketch}.")
        if n_bytes is not None and memory != "sketch":
            raise ValueError(
                f"memory_bytes={n_bytes} is the size of a sketch: use memory='sketch' (--memory sketch), or leave it "
                "out."
            )

    def of_kernel(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the kernel needs for its step."""
        return {name: values[name] for name in self.own if name not in BUDGET}

    def load_estimator(self) -> Any:
        """Return the public class; scikit-learn is imported only now."""
        module = f"thresher.estimators.{self.name}"
        return getattr(importlib.import_module(module), self.estimator)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "shadow_sofs", "ShadowSOFS", "shadow",
            "ranks features by the cost of dropping them; the best choice for most data",
            own=BUDGET | _gamma(0.5), defaults={"fit_intercept": True},
            kernels=("ShadowSofs", "ManyShadowSofs"), is_second_order=True, has_z_scores=True,
            sketch_kernels=("SketchShadowSofs", "ManySketchShadowSofs"),
        ),
        Method(
            "sofs", "SOFS", "sofs", "the paper's method: the features of highest precision",
            own=BUDGET | _gamma(1.0), kernels=("Sofs", "ManySofs"), is_second_order=True,
            sketch_kernels=("SketchSofs", "ManySketchSofs"),
        ),
        Method(
            "pet", "PET", "pet", "a truncated perceptron",
            own=BUDGET | _eta(1.0) | _loss("perceptron"), kernels=("Pet", "ManyPet"),
            keeps_members_only=True, why_no_sketch=_NOTHING_TO_SKETCH,
        ),
        Method(
            "fofs", "FOFS", "fofs", "truncated gradient descent",
            own=BUDGET | _eta(0.2)
            | {"lam": Parameter(0.01, _POSITIVE, "how fast weights decay; lam times eta must be below 1")}
            | _loss("hinge"),
            kernels=("Fofs", "ManyFofs"), check_together=_check_decay,
            keeps_members_only=True, why_no_sketch=_NOTHING_TO_SKETCH,
        ),
        Method(
            "arow", "AROW", "arow", "AROW on all features, second-order baseline",
            own=_gamma(1.0), kernels=("Arow", "ManyArow"), is_second_order=True, has_z_scores=True,
            why_no_sketch=_KEEPS_ALL,
        ),
        Method(
            "ogd", "OGD", "ogd", "gradient descent on all features, first-order baseline",
            own=_eta(1.0), kernels=("Ogd", "ManyOgd"), why_no_sketch=_KEEPS_ALL,
        ),
        Method(
            "mrmr", "MRMR", "mrmr", "batch, by mutual information",
            own={
                "scheme": Parameter("MID", (OneOf(("MID", "MIQ")),)),
                "discretize": Parameter("auto", (OneOf(("auto", "presence", "mean_std")),)),
                "classifier": Parameter("perceptron", (OneOf(("perceptron",)), WithMethods(("fit", "predict")))),
                "random_state": Parameter(0, _SEED),
            },
        ),
        Method(
            "l1svm", "L1SVM", "l1svm", "batch, LIBLINEAR's l1-regularised SVM",
            own={"max_iter": Parameter(20_000, (Whole(1, 2**31 - 1),)), "random_state": Parameter(0, _SEED)},
        ),
        Method(
            "fgm", "FGM", "fgm", "batch, feature generating machine",
            own={
                "group_size": Parameter(None, (OneOf((None,)), Whole(1))),
                "C": Parameter(10.0, _POSITIVE),
                "tol": Parameter(1e-4, _POSITIVE),
            },
        ),
    )
}  # fmt: skip

ONLINE = tuple(method for method in METHODS.values() if not method.is_batch)
BATCH = tuple(method for method in METHODS.values() if method.is_batch)


def find(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}. Got {name!r} instead.")
    return METHODS[name]


def find_for_cli(name: str) -> Method:
    """Return a method by the value of --method; its full name, as `thresher show` prints it, works too."""
    for method in METHODS.values():
        if name in (method.cli, method.name):
            return method
    raise ValueError(f"--method must be one of {', '.join(m.cli for m in METHODS.values())}. Got {name!r} instead.")
