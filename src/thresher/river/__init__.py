"""The online methods as classifiers, regressors and transformers of river (https://riverml.xyz), for rows of dicts.

There is a class for each online method of `thresher.methods`, under the name of its estimator.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from thresher.river import ShadowSOFS
>>> model = preprocessing.StandardScaler() | ShadowSOFS(n_features_to_select=3)
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 88.56%
>>> model["ShadowSOFS"].selected_names_
['empty_server_form_handler', 'popup_window', 'https']
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from thresher import methods

try:
    from thresher.river.classifier import RiverClassifier
    from thresher.river.regressor import RiverRegressor
    from thresher.river.selector import RiverSelector
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ModuleNotFoundError(
        "thresher.river needs river: install it with pip install 'thresher[river]'.", name="river"
    ) from None

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[RiverSelector]:
        """Stand for the classes, which are created at the end of this module."""
        raise AttributeError


def _class_of(method: methods.Method) -> type[RiverSelector]:
    """Return a class with the method's parameters in the signature of `__init__`, where river looks for them."""
    base: type[RiverSelector] = RiverRegressor if method.predicts == "numbers" else RiverClassifier
    table = base.table(method)
    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter("self", positional),
            *(
                inspect.Parameter(name, positional if name == "n_features_to_select" else keyword, default=each.default)
                for name, each in table.items()
            ),
        ]
    )

    def __init__(*args: Any, **given: Any) -> None:  # noqa: N807 it becomes a method below
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        base.__init__(**bound.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # functions can have one
    lines = (
        f"{name} : default={each.default!r}\n    {each.help[0].upper()}{each.help[1:]}." for name, each in table.items()
    )
    doc = f"{method.estimator} for river: {method.help}.\n\nParameters\n----------\n" + "\n".join(lines)
    contents = {"__init__": __init__, "__doc__": doc, "__module__": __name__, "_method": method}
    return type(method.estimator, (base,), contents)


_METHODS = (*methods.ONLINE, *methods.REGRESSORS)
__all__ = [method.estimator for method in _METHODS]
globals().update({method.estimator: _class_of(method) for method in _METHODS})
