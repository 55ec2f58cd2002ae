"""Features with names: mail as n-grams, the speed from text beside scikit-learn, k-mers; names.csv and NAMES.md."""

from __future__ import annotations

import json
import lzma
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from experiments import data
from experiments.config import HOME
from experiments.processes import apart, cost
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table
from thresher import ShadowSOFS, cross_validate, evaluate, open_stream, train
from thresher.model.model import Model

MAIL = "enron1.jsonl.xz"
K = 21


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_mails: int | None = None  # None: all that there are
    megabytes: int = 120
    folds: int = 5
    genomes: int = 200
    bases: int = 200_000
    planted: int = 20
    n_times: int = 7


SMALLEST = Size(300, 1, 2, 20, 2_000, 5, 1)


def read_mails(size: Size) -> list[dict[str, str]]:
    """Return the mails, sorted by label as they are in the file; the smallest form has generated ones."""
    if size.n_mails is not None:
        return generated_mails(size.n_mails)
    with lzma.open(data.find(MAIL), "rt") as file:
        return [json.loads(line) for line in file]


def generated_mails(n: int) -> list[dict[str, str]]:
    """Return mails of random words, one of which marks spam."""
    random = np.random.default_rng(0)
    mails = []
    for k in range(n):
        label = "ham" if k < n // 2 else "spam"
        words = [f"word{word}" for word in random.integers(1_000, size=30)]
        mails.append({"label": label, "text": " ".join([*words, "free" if label == "spam" else "thanks"])})
    return mails


def write(mails: list[dict[str, str]], path: Path) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(mail) + "\n" for mail in mails))
    return path


def cross_validated(size: Size, folder: Path) -> Iterator[Found]:
    """Yield the accuracy on all mail as 1–3-grams, with the best names."""
    path = write(read_mails(size), folder / "mail.jsonl")
    for budget in (50, 200, 2_000):
        stream = open_stream(path, text="text", ngrams=(1, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rows are grouped by label
            started = time.perf_counter()
            cv = cross_validate(ShadowSOFS(budget), stream, folds=size.folds)
        seconds = time.perf_counter() - started
        weights = dict(zip(cv.model.coef_.indices.tolist(), cv.model.coef_.data.tolist(), strict=True))
        sides: dict[str, list[str]] = {"spam": [], "ham": []}
        for column, name in zip(cv.model.selected_.tolist(), cv.model.selected_names_, strict=True):
            sides["spam" if weights[column] > 0 else "ham"].append(name)
        best = json.dumps({side: names[:30] for side, names in sides.items()}) if budget == 200 else ""
        yield _row("ShadowSOFS", budget, seconds, accuracy=cv.accuracy, names=best)


def speed(size: Size, folder: Path) -> Iterator[Found]:
    """Yield the time from a long file of 1–2-grams to a model, ours and scikit-learn's."""
    random, mails = np.random.default_rng(0), read_mails(size)
    path, n_bytes = folder / "long.jsonl", 0
    with path.open("w") as file:
        while n_bytes < size.megabytes * 10**6:
            for k in random.permutation(len(mails)):
                n_bytes += file.write(json.dumps(mails[k]) + "\n")
    runs: dict[str, list[Found]] = {THRESHER: [], SKLEARN: []}
    for turn in range(size.n_times):
        for name, of in runs.items():
            if turn == 0 or name == THRESHER:  # scikit-learn takes too long to repeat
                of.append(apart(METHODS[name], str(path)))
    for name, of in runs.items():
        best = min(of, key=lambda once: float(once["seconds"]))
        yield _row(name, 2_000, best["seconds"], n_bytes / 1e6 / best["seconds"], best["mb"])


def held_out(size: Size, folder: Path) -> Iterator[Found]:
    """Yield the accuracy on a fifth of the mail, after one pass over the rest, with 2,000 features each."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    mails = read_mails(size)
    for turn in range(size.folds):
        order = np.random.default_rng(1_000 + turn).permutation(len(mails))
        cut = len(mails) * 4 // 5
        paths = [
            str(write([mails[k] for k in part], folder / name))
            for name, part in (("train.jsonl", order[:cut]), ("test.jsonl", order[cut:]))
        ]
        for name, run in METHODS.items():
            found[name].append(run(*paths)["accuracy"])
    for name, each in found.items():
        yield _row(name, 2_048 if name == HASHED else 2_000, accuracy=float(np.mean(each)))


def thresher_run(path: str, test: str | None = None) -> Found:
    """Train on text with a sketch of 64 MB."""
    model = Model("shadow_sofs", n_features_to_select=2_000, memory="sketch", memory_bytes=64 << 20)
    found = cost(lambda: train(model, open_stream(path, text="text", ngrams=(1, 2)), shuffle=False))
    return {**found, "accuracy": evaluate(model, test).accuracy if test else None}


def sklearn_run(path: str, test: str | None = None, *, n_features: int = 1 << 20) -> Found:
    """Do what a scikit-learn user does: hash batches of text, learn them, and keep the 2,000 largest weights."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    hasher = HashingVectorizer(ngram_range=(1, 2), n_features=n_features, binary=True)
    model = SGDClassifier(random_state=0)

    def batches(name: str) -> Any:
        with Path(name).open() as file:
            while rows := [json.loads(line) for line in islice(file, 1_000)]:
                yield hasher.transform([row["text"] for row in rows]), [row["label"] for row in rows]

    def learn() -> None:
        for X, y in batches(path):
            model.partial_fit(X, y, classes=["ham", "spam"])
        if n_features > 2_048:
            model.coef_[0, np.argsort(-np.abs(model.coef_[0]))[2_000:]] = 0.0

    found = cost(learn)
    right = [(model.predict(X) == np.array(y)) for X, y in batches(test)] if test else []
    return {**found, "accuracy": float(np.concatenate(right).mean()) if right else None}


def hashed_run(path: str, test: str | None = None) -> Found:
    """Do the same with as many columns as there may be features."""
    return sklearn_run(path, test, n_features=1 << 11)


THRESHER, SKLEARN, HASHED = (
    "ShadowSOFS, 64 MB sketch",
    "HashingVectorizer (2^20) + SGD, largest weights kept",
    "HashingVectorizer (2^11) + SGD, all kept",
)
METHODS = {THRESHER: thresher_run, SKLEARN: sklearn_run, HASHED: hashed_run}


def kmers(size: Size, folder: Path) -> Iterator[Found]:
    """Yield how many planted mutations are found among the k-mers of genomes."""
    path = folder / "genomes.jsonl"
    ancestor, places = write_genomes(path, size)
    run = apart(kmers_run, str(path))
    n_found = sum(any(name in run["names"] for name in around(ancestor, *place)) for place in places)
    speed = path.stat().st_size / 1e6 / run["seconds"]
    found = f"{n_found} of {len(places)}"
    yield _row("ShadowSOFS, 256 MB sketch", 200, run["seconds"], speed, run["mb"], found=found)


def write_genomes(path: Path, size: Size, seed: int = 0) -> tuple[str, list[tuple[int, str]]]:
    """Write genomes of two classes with a common ancestor; return it, and where the second class differs.

    Each genome has a random mutation in every 1,000 bases on average. The second class has the planted ones as well.
    """
    random = np.random.default_rng(seed)
    bases = np.frombuffer(b"ACGT", np.uint8)
    ancestor = random.integers(4, size=size.bases)
    # Far enough apart that no k-mer has two of them.
    gaps = np.sort(random.choice((size.bases - 2 * K) // (2 * K), size.planted, replace=False))
    at = K + 2 * K * gaps
    planted = (ancestor[at] + random.integers(1, 4, size=size.planted)) % 4
    labels = random.permutation(np.arange(size.genomes) % 2)
    with path.open("w") as file:
        for label in labels.tolist():
            genome = ancestor.copy()
            changed = random.integers(size.bases, size=size.bases // 1_000)
            genome[changed] = (genome[changed] + random.integers(1, 4, size=len(changed))) % 4
            genome[at] = planted if label else ancestor[at]
            file.write(json.dumps({"label": label, "dna": bases[genome].tobytes().decode()}) + "\n")
    letters = bases[planted].tobytes().decode()
    return bases[ancestor].tobytes().decode(), list(zip(at.tolist(), letters, strict=True))


def around(ancestor: str, place: int, letter: str) -> set[str]:
    """Return the k-mers that have a planted mutation, or the base that was there before."""
    with_it = ancestor[:place] + letter + ancestor[place + 1 :]
    return {whole[k : k + K] for whole in (ancestor, with_it) for k in range(place - K + 1, place + 1)}


def kmers_run(path: str) -> Found:
    """Train on k-mers with a sketch of 256 MB."""
    model = Model("shadow_sofs", n_features_to_select=200, memory="sketch", memory_bytes=256 << 20)
    found = cost(lambda: train(model, open_stream(path, text="dna", analyzer="char", ngrams=K), shuffle=False))
    return {**found, "names": [model.name_of(column) for column in model.members()[0].tolist()]}


def _row(
    method: str, features: int, seconds: float | None = None, mb_per_second: float | None = None,
    mb: float | None = None, accuracy: float | None = None, found: str = "", names: str = "",
) -> Found:  # fmt: skip
    numbers = {"seconds": seconds, "mb_per_second": mb_per_second, "mb": mb, "accuracy": accuracy}
    shown = {name: "" if value is None else f"{value:.4g}" for name, value in numbers.items()}
    return {"method": method, "features": features, **shown, "found": found, "names": names}


WHAT = {
    "mail, cross-validated": cross_validated, "mail, speed": speed, "mail, held out": held_out, "k-mers": kmers
}  # fmt: skip


def steps(smallest: bool) -> list[Step]:
    """Return what is measured; the mail must be there."""
    return [(what, partial(measured, what, SMALLEST if smallest else Size())) for what in WHAT]


def measured(what: str, size: Size) -> Iterator[Found]:
    """Yield the rows of the table on one thing."""
    with tempfile.TemporaryDirectory() as folder:
        yield from ({"what": what, **row} for row in WHAT[what](size, Path(folder)))


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of NAMES.md."""
    rows, size = tables["names"], Size()
    columns = ("method", "features", "seconds", "mb_per_second", "mb")
    mail = [[row[name] for name in ("what", *columns, "accuracy")] for row in rows if row["what"].startswith("mail")]
    of_kmers = [[row[name] for name in (*columns, "found")] for row in rows if row["what"] == "k-mers"]
    head = ["method", "features", "seconds", "MB per second", "peak MB"]
    best = json.loads(next(row["names"] for row in rows if row["names"]))
    return {
        "megabytes": str(size.megabytes), "mail": table(["", *head, "accuracy"], mail),
        "spam": ", ".join(best["spam"]), "ham": ", ".join(best["ham"]), "genomes": str(size.genomes),
        "bases": f"{size.bases:,}", "planted": str(size.planted), "k": str(K),
        "kmers": table([*head, "found"], of_kmers),
    }  # fmt: skip


STUDY = Study(
    "names", "what features with names give and cost", HOME / "NAMES.md", ("ShadowSOFS",), {"names": steps},
    placeholders,
)  # fmt: skip
