"""Options of `open_stream` that are given to a function that opens its data itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from thresher.streams.opening import open_stream

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_OPTIONS = tuple(inspect.signature(open_stream).parameters)[1:]


def takes_data(**called_elsewhere: str) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Let a function that takes data answer an option of `open_stream` with where it belongs.

    `called_elsewhere` are names that other libraries have for its parameters. Its signature stays as it is: Python's
    own message would only say that the keyword is unexpected.
    """

    def decorate(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        own, name = inspect.signature(function).parameters, function.__name__

        @wraps(function)
        def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            for given in kwargs:
                if given in own:
                    continue
                if given in called_elsewhere:
                    raise TypeError(
                        f"{name} has no parameter {given!r}: it is called {called_elsewhere[given]!r} here."
                    )
                if given in _OPTIONS:
                    raise TypeError(
                        f"{name} has no parameter {given!r}: give it to open_stream, as in "
                        f"open_stream(data, {given}=…), and the stream to {name}."
                    )
            return function(*args, **kwargs)

        return call

    return decorate
