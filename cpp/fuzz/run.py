"""Runs the fuzz targets, one after another, and writes what they did to build/fuzz.json.

Each target starts with the seeds in corpus/, the inputs of findings that were fixed in regressions/, and what earlier
runs on this machine found interesting. An input that fails is kept in build/findings/TARGET; fix it, and move it to
regressions/TARGET.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build"
PROGRAMS = BUILD / "fuzz"
RECORD = BUILD / "fuzz.json"
NATIVE = ("svmlight", "vw", "json_lines", "text", "cache_block")
PARTLY_PYTHON = ("cache", "model", "checkpoint")
# Entropic's bookkeeping takes a quarter of the time of such small inputs.
LIMITS = (
    "-max_len=65536",
    "-entropic=0",
    "-timeout=60",
    "-report_slow_units=60",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=256",
    "-detect_leaks=0",
)


def main() -> int:
    """Run what the command line says; return 1 if there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", default=[*NATIVE, *PARTLY_PYTHON])
    parser.add_argument("--native", action="store_true", help="only targets without Python")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--replay", action="store_true", help="run seeds and regressions once, without a record")
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--add", action="store_true", help="to what build/fuzz.json has")
    given = parser.parse_args()
    targets = [target for target in given.targets if target in NATIVE or not given.native]
    if given.replay:
        return max(map(replay, targets))
    record = {each["target"]: each for each in json.loads(RECORD.read_text())} if given.add and RECORD.exists() else {}
    n_findings = 0
    for target in targets:
        done = fuzz(target, given.seconds)
        n_findings += done["findings"]
        print(f"{target:12} {done['executions']:>12,} executions {done['seconds']:>8.0f} s {done['findings']} findings")
        before = record.get(target, {"executions": 0, "seconds": 0.0, "findings": 0})
        record[target] = {"target": target, **{key: before[key] + done[key] for key in before if key != "target"}}
        if not given.no_record:
            RECORD.write_text(json.dumps(list(record.values()), indent=1) + "\n")
    return min(n_findings, 1)


def fuzz(target: str, seconds: float) -> dict[str, Any]:
    """Run a target for some seconds; return its line of the record."""
    found, corpus = BUILD / "findings" / target, BUILD / "corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    start = time.monotonic()
    done = _run(target, corpus, *_inputs(target), *LIMITS, f"-max_total_time={max(1, round(seconds))}",
                "-print_final_stats=1", f"-artifact_prefix={found}/")  # fmt: skip
    executed = re.search(r"number_of_executed_units: (\d+)", done.stdout)
    new = set(found.iterdir()) - before
    if done.returncode != 0 or executed is None or new:
        print(done.stdout[-6000:], file=sys.stderr)
        print(f"{target}: {', '.join(map(str, new)) or 'the target ended with an error'}", file=sys.stderr)
    return {
        "executions": int(executed[1]) if executed else 0,
        "seconds": round(time.monotonic() - start, 1),
        "findings": max(len(new), int(done.returncode != 0)),
    }


def replay(target: str) -> int:
    """Run the seeds and the regression inputs of a target; return 1 if one fails."""
    inputs = [path for folder in _inputs(target) for path in sorted(folder.iterdir())]
    os.environ["THRESHER_FUZZ_ALL"] = "1"
    done = _run(target, *inputs, *LIMITS)
    if done.returncode != 0:
        print(done.stdout[-6000:], file=sys.stderr)
    print(f"{target:12} {len(inputs):>12,} inputs again: {'good' if done.returncode == 0 else 'bad'}")
    return int(done.returncode != 0)


def _inputs(target: str) -> list[Path]:
    return [folder for kind in ("corpus", "regressions") if (folder := HERE / kind / target).is_dir()]


def _run(target: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    sanitizers = {
        # Few frames per allocation and a small quarantine: most of the time would go there.
        "ASAN_OPTIONS": "malloc_context_size=3:quarantine_size_mb=16:detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "THRESHER_FUZZ_PYTHON": str(PROGRAMS / "env" / "bin" / "python"),
        "PYTHONMALLOC": "malloc",
    }
    return subprocess.run(
        [PROGRAMS / f"fuzz_{target}", *arguments], env={**os.environ, **sanitizers}, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
