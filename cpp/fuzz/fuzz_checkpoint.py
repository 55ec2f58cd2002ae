"""Checkpoints: whatever a file says, a run is restored from it, or it is refused in one line."""

from __future__ import annotations

from forged import container as mutated
from inputs import ROOM, check_refusal, file_of

from thresher.io.checkpoints import read_checkpoint, write_checkpoint
from thresher.model.model import Model
from thresher.model.state import restore

__all__ = ["mutated", "run"]


def run(data: bytes) -> None:
    """Read a checkpoint, restore a model from it, and write it again."""
    with file_of(data) as path:
        try:
            saved = read_checkpoint(path)
        except (ValueError, MemoryError) as error:
            return check_refusal(error, path)
    assert saved is not None
    settings = saved.about["settings"]
    given = {"n_features_to_select": 3, "gamma": settings.get("gamma", 1.0) if isinstance(settings, dict) else 1.0}
    model = Model("sofs", **{**given, "gamma": "auto" if given["gamma"] == "auto" else 1.0})
    try:
        with saved.name_file_in_errors():
            restore(model, saved.state)
    except ValueError as error:
        return check_refusal(error, path)
    once, twice = ROOM / "once.ckpt", ROOM / "twice.ckpt"
    write_checkpoint(once, model, saved.about)
    again = read_checkpoint(once)
    assert again is not None
    other = Model("sofs", **model.parameters)
    restore(other, again.state)
    write_checkpoint(twice, other, again.about)
    assert once.read_bytes() == twice.read_bytes()
    return None
