"""Training on shards: the options of `thresher train` that say how many, and where."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from thresher.cli.options import WHOLE, WITHOUT_VALUE, Group, option
from thresher.parameters import Whole, check

if TYPE_CHECKING:
    from thresher.model.model import Model
    from thresher.streams import Stream
    from thresher.training import History


_shards = partial(option, panel="Shards")
SHARDING = Group("sharding", {
    "shards": (
        _shards(
            int | None, **WHOLE,
            help="Cut the data into this many parts, which learn side by side and are merged; with --ray or --local.",
        ),
        None,
    ),
    "syncs": (
        _shards(int | None, **WHOLE, help="With --shards: how often they are merged in a pass.", show_default="16"),
        None,
    ),
    "ray": (
        _shards(
            str | None, metavar="[ADDRESS]",
            help="Train the shards on the Ray cluster at ADDRESS; without one, on a Ray of its own on this machine.",
        ),
        None,
    ),
    "local": (_shards(bool, "--local", help="Train the shards in processes on this machine."), False),
    "workers": (
        _shards(int | None, **WHOLE, help="With --local: how many processes.", show_default="one per core"), None
    ),
})  # fmt: skip


def train_on_shards(model: Model, stream: Stream, sharding: dict[str, Any], options: dict[str, Any]) -> History:
    """Train a model on the shards of a stream, each of which learns its rows in their order."""
    from thresher.distributed import train

    if sharding["workers"] is not None:
        check("--workers", sharding["workers"], Whole(1))
    ray, syncs = sharding["ray"], sharding["syncs"]
    return train(
        model, stream, n_shards=sharding["shards"], syncs=16 if syncs is None else syncs,
        engine="local" if ray is None else "ray", address=None if ray == WITHOUT_VALUE["--ray"] else ray,
        workers=sharding["workers"], **{name: value for name, value in options.items() if name != "shuffle"},
    )  # fmt: skip
