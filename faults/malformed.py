"""Malformed files of every format, through the command line: exit code 0, or 2 with a line that names the file.

They are made and read in a child process, one after the other, so that a crash or a hang is noticed.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from faults.commands import error_lines, in_this_process, works
from faults.files import COMPRESS, make
from faults.mutations import OF_BINARY, OF_TEXT, Mutation, forge_cache, forge_container
from faults.trial import SEED, Figures, Trial, demand

_SECONDS = 60  # that one file may take
_MOST_BYTES = 8 << 30  # of address space
_AT_ONCE = 4  # processes
FINDINGS = Path(__file__).parents[1] / "build" / "faults"


def run(trial: Trial) -> Figures:
    """Make so many variants, and read each."""
    folders = [trial.folder / str(k) for k in range(_AT_ONCE)]
    folders[0].mkdir()
    is_real = _make(folders[0])
    for folder in folders[1:]:
        shutil.copytree(folders[0], folder)
    n = trial.size(10_000, 160)
    outcomes: Counter[str] = Counter()
    findings: list[str] = []

    def read_some(k: int) -> None:
        """Read every variant whose turn it is; go on after one that ended the child."""
        number = k
        while number < n:
            for last, kind, outcome, detail in _child(folders[k], number, n):
                number = last + _AT_ONCE
                outcomes[f"{kind}: {outcome}"] += 1
                if outcome == "broken":
                    findings.append(f"{last}: {detail}")
                    trial.say(findings[-1])
                    _keep(folders[k], last)
                if outcomes.total() % 1_000 == 0:
                    trial.say(f"{outcomes.total()} files")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(read_some, range(_AT_ONCE)))
    totals = Counter[str]()
    for name, count in outcomes.items():
        totals[name.rpartition(": ")[2]] += count
    trial.say(f"{dict(totals)}")
    demand(not findings, f"{len(findings)} of {n} files, kept in {FINDINGS}: {'; '.join(findings[:5])}")
    return {"variants": n, "real_data": is_real, "outcomes": dict(totals), "formats": dict(outcomes)}


@dataclass(frozen=True)
class Kind:
    """A file to spoil, how it is spoiled, and the commands that read it; "FILE" stands for it."""

    file: str
    mutations: tuple[Mutation, ...]
    commands: tuple[str, ...]
    pack: str | None = None  # the text is compressed after it was spoiled


def _kinds() -> dict[str, Kind]:
    reads = ("train FILE -k 5", "evaluate model FILE", "predict model FILE", "convert FILE out.svm")
    text = "--text text --label label -k 5"
    kinds = {
        "svmlight": Kind("rows.svm", OF_TEXT, reads),
        "vw": Kind("rows.vw", OF_TEXT, reads),
        "vw with names": Kind("names.vw", OF_TEXT, ("train FILE -k 5", "convert FILE out.thc")),
        "jsonl": Kind("mail.jsonl", OF_TEXT, (f"train FILE {text}", "evaluate mail.model FILE")),
        "csv": Kind("rows.csv", OF_TEXT, ("train FILE -k 5", "train FILE -k 5 --categorical x --label label")),
        "csv with text": Kind("mail.csv", OF_TEXT, (f"train FILE {text} --ignore file",)),
        "parquet": Kind("rows.parquet", OF_BINARY, ("train FILE -k 5",)),
        "parquet with text": Kind("mail.parquet", OF_BINARY, (f"train FILE {text} --ignore file",)),
        "parquet with lists": Kind("lists.parquet", OF_BINARY, ("train FILE -k 5",)),
        "arrow": Kind("rows.arrow", OF_BINARY, ("train FILE -k 5",)),
        "arrow with text": Kind("mail.arrow", OF_BINARY, (f"train FILE {text} --ignore file",)),
        "arrow with lists": Kind("lists.arrow", OF_BINARY, ("train FILE -k 5",)),
        "arrow stream": Kind("stream.arrow", OF_BINARY, ("train FILE -k 5",)),
        "feather": Kind("rows.feather", OF_BINARY, ("train FILE -k 5",)),
        "cache": Kind("rows.thc", OF_BINARY, reads),
        "forged cache": Kind("rows.thc", (forge_cache,), reads),
        "forged cache with names": Kind("mail.thc", (forge_cache,), ("train FILE -k 5", "convert FILE out.thc")),
        "model": Kind("model", OF_BINARY, ("show FILE", "predict FILE rows.svm", "train rows.svm --from FILE")),
        "forged model": Kind(
            "model", (forge_container,), ("show FILE", "predict FILE rows.svm", "train rows.svm --from FILE")
        ),
        "forged model with names": Kind("mail.model", (forge_container,), ("show FILE", "predict FILE mail.jsonl")),
        "checkpoint": Kind("run.ckpt", OF_BINARY, ("train rows.svm -k 5 --checkpoint FILE --resume",)),
        "forged checkpoint": Kind(
            "run.ckpt", (forge_container,), ("train rows.svm -k 5 --checkpoint FILE --resume --no-shuffle",)
        ),
    }
    for ending in COMPRESS:
        kinds[f"{ending}, spoiled before"] = Kind("rows.svm", OF_TEXT, ("train FILE -k 5",), ending)
        kinds[f"{ending}, spoiled after"] = Kind(f"rows.svm.{ending}", OF_BINARY, ("train FILE -k 5",))
    kinds["jsonl.gz, spoiled after"] = Kind("mail.jsonl.gz", OF_BINARY, (f"train FILE {text}",))
    kinds["csv.zst, spoiled after"] = Kind("rows.csv.zst", OF_BINARY, ("train FILE -k 5",))
    return kinds


def _make(folder: Path) -> bool:
    """Write the files to spoil: the first rows of real data sets where they are at hand, else generated ones."""
    home = Path(os.environ.get("THRESHER_DATA") or Path(__file__).parents[2] / "shared" / "data")
    real = all((home / name).exists() for name in ("basehock.svm.xz", "enron1.jsonl.xz", "vw/rcv1_small.train.vw"))
    rows: dict[str, bytes] = {}
    if real:
        basehock, enron = home / "basehock.svm.xz", home / "enron1.jsonl.xz"  # sorted by label
        rows = {"svmlight": _head(basehock, 12) + _head(basehock, 12, 1_500)}
        rows["vw"] = _head(home / "vw/rcv1_small.train.vw", 24)
        mails = _head(enron, 12) + _head(enron, 12, 4_000)
    else:
        words = ("Subject: re", "gas", "meeting", "cheap", "pills", "Ünïcode", "farm")
        said = [" ".join(words[(r * k) % 7] for k in range(1, 40)) for r in range(24)]
        mail = [{"file": str(r), "label": ("ham", "spam")[r % 2], "text": text} for r, text in enumerate(said)]
        mails = b"".join(json.dumps(each).encode() + b"\n" for each in mail)
    make(folder, 60, **rows)
    (folder / "mail.jsonl").write_bytes(mails)
    names = b"".join(b"%d %.1f 'tag%d|user u%d |words a%d b:2 c%d:.5\n" % (r % 2, r, r, r, r % 5, r) for r in range(24))
    (folder / "names.vw").write_bytes(names)
    random = np.random.default_rng(1)
    ids = [sorted(set(random.integers(0, 90, size=5).tolist())) for _ in range(60)]
    lists = pa.table({"label": np.arange(60) % 2, "ids": ids, "values": [[0.5] * len(row) for row in ids]})
    mail_table = pa.Table.from_pylist([json.loads(line) for line in mails.splitlines()])
    pa.csv.write_csv(mail_table, folder / "mail.csv")
    for name, table in (("mail", mail_table), ("lists", lists)):
        pa.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=20)
        with pa.ipc.new_file(folder / f"{name}.arrow", table.schema) as sink:
            sink.write_table(table, max_chunksize=20)
    for name, ending in (("mail.jsonl", "gz"), ("rows.csv", "zst")):
        (folder / f"{name}.{ending}").write_bytes(COMPRESS[ending]((folder / name).read_bytes()))
    text = ["--text", "text", "--label", "label"]
    works("convert", folder / "mail.jsonl", folder / "mail.thc", *text)
    saving = ["--checkpoint", folder / "run.ckpt", "--no-shuffle"]
    works("train", folder / "rows.svm", "-k", "5", "--full", *saving, "-o", folder / "model")
    works("train", folder / "mail.jsonl", "-k", "5", "--full", *text, "-o", folder / "mail.model")
    return real


def _head(path: Path, n: int, skip: int = 0) -> bytes:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        return b"".join(line[:4_000] if b'"text"' not in line else line for line in islice(file, skip, skip + n))


def _child(folder: Path, first: int, end: int) -> Iterator[tuple[int, str, str, str]]:
    """Yield number, kind, outcome and message of variants, until all are done or one ends or stops the child."""
    command = [sys.executable, "-m", "faults.malformed", str(folder), str(first), str(end)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    names = list(_kinds())
    number, why = first, None
    while why is None and number < end:
        if not select.select([child.stdout], [], [], _SECONDS)[0]:
            child.kill()
            why = f"no answer after {_SECONDS} s"
        elif line := child.stdout.readline():
            yield tuple(json.loads(line))
            number += _AT_ONCE
        else:
            code = child.wait()
            why = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    child.wait()
    child.stdout.close()
    if why is not None:
        yield number, names[number % len(names)], "broken", why


def _keep(folder: Path, number: int) -> None:
    """Keep a variant, to look at it."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    path, _, raw = _variant(folder, number)
    (FINDINGS / f"{number}-{path.name}").write_bytes(raw)


def _variant(folder: Path, number: int) -> tuple[Path, str, bytes]:
    """Return where a variant is written, the command that reads it, and its bytes."""
    kinds = list(_kinds().values())
    kind, random = kinds[number % len(kinds)], np.random.default_rng([SEED, number])
    raw = kind.mutations[int(random.integers(len(kind.mutations)))]((folder / kind.file).read_bytes(), random)
    path = folder / "bad" / kind.file
    if kind.pack is not None:
        raw, path = COMPRESS[kind.pack](raw), path.with_name(f"{kind.file}.{kind.pack}")
    return path, kind.commands[int(random.integers(len(kind.commands)))], raw


def _read_all(folder: Path, first: int, end: int) -> None:
    """Read variants, and print what comes of each."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    os.chdir(folder)
    names = list(_kinds())
    answers = os.fdopen(os.dup(1), "w")
    for number in range(first, end, _AT_ONCE):
        shutil.rmtree("bad", ignore_errors=True)
        Path("bad").mkdir()
        path, command, raw = _variant(Path(), number)
        path.write_bytes(raw)
        outcome, detail = _outcome(path, [str(path) if word == "FILE" else word for word in command.split()])
        print(json.dumps([number, names[number % len(names)], outcome, detail]), file=answers, flush=True)


def _outcome(path: Path, command: list[str]) -> tuple[str, str]:
    shown = " ".join(command)
    try:
        done = in_this_process(*command)
    except BaseException as error:
        return "broken", f"{shown}: {''.join(traceback.format_exception(error))[-600:]}"
    if done.returncode == 0:
        return "read", ""
    lines = error_lines(done)
    message = lines[0] if len(lines) == 1 else ""
    named = [str(path)]
    if path.suffix in ("", ".model", ".ckpt"):
        named += [word for word in command if Path(word).exists()]  # a valid model, but not one of these rows
    if done.returncode != 2 or not message.startswith("thresher: ") or not any(name in message for name in named):
        return "broken", f"{shown} ends with {done.returncode}: {done.stderr[-600:]}"
    return _place(path, message)


# What is wrong with text as a whole: there is no line to name.
_OF_ALL = re.compile(
    r"two classes are needed|has no rows|no row|is empty|header|no column|no key|a quote is never closed|"
    r"known by name|archive is damaged|say which keys|different formats|not among the model's classes|one feature|"
    r"not enough memory|columns"
)


def _place(path: Path, message: str) -> tuple[str, str]:
    if re.search(r", (line|row|rows|block) \d", message):
        return "refused with its line", message
    is_text = path.name.split(".")[1:2] in (["svm"], ["vw"], ["jsonl"], ["csv"])
    if is_text and not _OF_ALL.search(message):
        return "broken", f"no line: {message}"
    return "refused", message


if __name__ == "__main__":
    _read_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
