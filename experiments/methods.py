"""The methods, and the parameters that cross-validation may choose from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from thresher import AROW, FGM, FOFS, L1SVM, MRMR, OGD, PET, SOFS, ShadowSOFS

Parameters = dict[str, Any]

POWERS = tuple(2.0**power for power in range(-5, 6))


@dataclass(frozen=True)
class Method:
    """How to make an estimator, and the grid for its own parameters."""

    name: str
    make: Callable[..., Any]
    own: tuple[Parameters, ...] = ({},)
    online: bool = True
    has_norm_grid: bool = True

    def grid(self, norms: tuple[str, ...]) -> list[Parameters]:
        """Return all parameters to choose from on a data set whose rows may be scaled in these ways."""
        scalings = norms if self.has_norm_grid else norms[:1]
        return [{**own, "norm": None if norm == "none" else norm} for norm in scalings for own in self.own]


def _each(name: str) -> tuple[Parameters, ...]:
    return tuple({name: value} for value in POWERS)


# Every second power, or the grid would have hundreds of points; λη < 1, or the decay would turn the weights around.
_OF_FOFS = tuple(
    {"eta": eta, "lam": power / 100} for eta in POWERS[::2] for power in POWERS[::2] if eta * power / 100 < 1
)

METHODS = {
    method.name: method
    for method in (
        Method("SOFS", SOFS, _each("gamma")),
        Method("ShadowSOFS", ShadowSOFS, _each("gamma")),
        Method("PET", partial(PET, loss="hinge"), _each("eta")),
        # Without an intercept η only scales its weights.
        Method("PET perceptron", partial(PET, loss="perceptron")),
        Method("FOFS", FOFS, _OF_FOFS),
        Method("AROW", AROW, _each("gamma")),
        Method("OGD", OGD, _each("eta")),
        Method("mRMR", MRMR, online=False),
        Method("FGM", FGM, online=False),
        # C is what it searches, and a search can take a minute: ten more of them for the rows' scaling would be hours.
        Method("l1-SVM", L1SVM, online=False, has_norm_grid=False),
    )
}
