"""Archives that unpack to thousands of times their size: time in proportion to the content, and little memory."""

from __future__ import annotations

from pathlib import Path

from faults.apart import of_module
from faults.files import COMPRESS
from faults.trial import Figures, Trial, demand

_BLANKS = b" " * 20_000  # which even gzip packs to a thousandth
_ROW = b"1 1:0.5 7:2" + _BLANKS + b"\n-1 1:0.5 9:2" + _BLANKS + b"\n"
_PART = 20  # MB that bzip2, slow to write, packs at a time
_MOST_MEGABYTES = 200
_MOST_GROWTH = 1.6  # of the time per megabyte, from the smallest to the largest: clocks are not exact


def run(trial: Trial) -> Figures:
    """Train on archives of growing size, of all four kinds."""
    found: dict[str, list[Figures]] = {}
    for ending in COMPRESS:
        path = trial.folder / f"rows.svm.{ending}"
        found[ending] = []
        for megabytes in trial.size((100, 200, 400), (20, 40)):
            _write(path, ending, megabytes)
            measured = of_module("faults.measured_training", path)
            ratio = round(megabytes * 1e6 / path.stat().st_size)
            found[ending].append({"megabytes": megabytes, "ratio": ratio, **measured})
            trial.say(f"{ending}: {found[ending][-1]}")
            path.unlink()
        first, last = found[ending][0], found[ending][-1]
        growth = last["cpu_seconds"] / last["megabytes"] / (first["cpu_seconds"] / first["megabytes"])
        demand(trial.smallest or growth < _MOST_GROWTH, f"{ending}: the time grows faster than the content: {found}")
        peak = max(each["peak_megabytes"] for each in found[ending])
        demand(peak < _MOST_MEGABYTES, f"{ending} takes {peak} MB")
    return found


def _write(path: Path, ending: str, megabytes: int) -> None:
    """Write an archive; of bzip2, whose blocks are independent, several behind each other."""
    n_parts = megabytes // _PART if ending == "bz2" else 1
    rows = _ROW * (megabytes * 1_000_000 // n_parts // len(_ROW))
    path.write_bytes(COMPRESS[ending](rows) * n_parts)
