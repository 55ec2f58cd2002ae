"""Features with names: mail as n-grams, the speed from text beside scikit-learn, k-mers; names.csv and NAMES.md."""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import data
from experiments.processes import apart, peak_megabytes
from experiments.reporting.tables import table
from experiments.store import Found, Methods, note_run, read_csv, write_csv
from thresher import ShadowSOFS, cross_validate, evaluate, open_stream, train
from thresher.model.model import Model
from thresher.progress import Steps

COLUMNS = ("what", "method", "features", "seconds", "mb_per_second", "mb", "accuracy", "found", "names")
STEPS = ("mail, cross-validated", "mail, speed", "mail, held out", "k-mers")
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


def run(folder: Path, bar: Steps, smallest: bool) -> None:
    """Measure everything and write the table and the page; the mail must be there."""
    size = SMALLEST if smallest else Size()
    with tempfile.TemporaryDirectory() as temporary:
        mails = read_mails(size)
        found: list[Found] = []
        for done, step in enumerate((cross_validated, speed, held_out, kmers)):
            bar.done(done, STEPS[done])
            found += step(mails, size, Path(temporary))
    write_csv(folder / "results" / "names.csv", COLUMNS, found)
    note_run("names", Methods(("ShadowSOFS",), ("ShadowSOFS",)), folder / "results")
    write_report(folder)


def read_mails(size: Size) -> list[dict[str, str]]:
    """Return the mails, sorted by label as they are in the file; the smallest form has generated ones."""
    if size.n_mails is not None:
        return generated_mails(size.n_mails)
    path = data.find(MAIL)
    if path is None:
        raise data.MissingDataError(MAIL)
    with lzma.open(path, "rt") as file:
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


def cross_validated(mails: list[dict[str, str]], size: Size, folder: Path) -> list[Found]:
    """Return the accuracy on all mail as 1–3-grams, with the best names."""
    path, found = write(mails, folder / "mail.jsonl"), []
    for budget in (50, 200, 2_000):
        stream = open_stream(path, text="text", ngrams=(1, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rows are grouped by label
            started = time.perf_counter()
            cv = cross_validate(ShadowSOFS(budget), stream, folds=size.folds)
        weights = cv.model._model.members()[1][:, 0].tolist()
        sides: dict[str, list[str]] = {"spam": [], "ham": []}
        for name, weight in zip(cv.model.selected_names_, weights, strict=True):
            sides["spam" if weight > 0 else "ham"].append(name)
        best = json.dumps({side: names[:30] for side, names in sides.items()}) if budget == 200 else ""
        seconds = time.perf_counter() - started
        found.append(_row(STEPS[0], "ShadowSOFS", budget, seconds, accuracy=cv.accuracy, names=best))
    return found


def speed(mails: list[dict[str, str]], size: Size, folder: Path) -> list[Found]:
    """Return the time from a long file of 1–2-grams to a model, ours and scikit-learn's."""
    random = np.random.default_rng(0)
    path, n_bytes = folder / "long.jsonl", 0
    with path.open("w") as file:
        while n_bytes < size.megabytes * 10**6:
            for k in random.permutation(len(mails)):
                n_bytes += file.write(json.dumps(mails[k]) + "\n")
    peers: dict[str, Found] = {}
    for turn in range(size.n_times):
        for name in ("thresher", "scikit-learn"):
            if turn == 0 or name == "thresher":  # scikit-learn takes too long to repeat
                once = apart("experiments.names", job=name, path=str(path), size=asdict(size))
                if name not in peers or once["seconds"] < peers[name]["seconds"]:
                    peers[name] = once
    return [
        _row(STEPS[1], METHODS[name], 2_000, each["seconds"], n_bytes / 1e6 / each["seconds"], each["mb"])
        for name, each in peers.items()
    ]


METHODS = {
    "thresher": "ShadowSOFS, 64 MB sketch",
    "scikit-learn": "HashingVectorizer (2^20) + SGD, largest weights kept",
    "hashed": "HashingVectorizer (2^11) + SGD, all kept",
}


def held_out(mails: list[dict[str, str]], size: Size, folder: Path) -> list[Found]:
    """Return the accuracy on a fifth of the mail, after one pass over the rest, with 2,000 features each."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for turn in range(size.folds):
        order = np.random.default_rng(1_000 + turn).permutation(len(mails))
        cut = len(mails) * 4 // 5
        paths = [
            str(write([mails[k] for k in part], folder / name))
            for name, part in (("train.jsonl", order[:cut]), ("test.jsonl", order[cut:]))
        ]
        for name in METHODS:
            found[name].append(JOBS[name](*paths, size=size)["accuracy"])
    return [
        _row(STEPS[2], METHODS[name], 2_048 if name == "hashed" else 2_000, accuracy=float(np.mean(each)))
        for name, each in found.items()
    ]


def thresher_run(path: str, test: str | None = None, *, size: Size) -> Found:
    """Train on text with a sketch of 64 MB."""
    model = Model("shadow_sofs", n_features_to_select=2_000, memory="sketch", memory_bytes=64 << 20)
    started = time.perf_counter()
    train(model, open_stream(path, text="text", ngrams=(1, 2)), shuffle=False)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "mb": peak_megabytes(), "accuracy": evaluate(model, test).accuracy if test else None}


def sklearn_run(path: str, test: str | None = None, *, size: Size, n_features: int = 1 << 20) -> Found:
    """Do what a scikit-learn user does: hash batches of text, learn them, and keep the 2,000 largest weights."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    hasher = HashingVectorizer(ngram_range=(1, 2), n_features=n_features, binary=True)
    model = SGDClassifier(random_state=0)

    def batches(name: str) -> Any:
        texts, labels = [], []
        with Path(name).open() as file:
            for line in file:
                row = json.loads(line)
                texts.append(row["text"])
                labels.append(row["label"])
                if len(texts) == 1_000:
                    yield hasher.transform(texts), labels
                    texts, labels = [], []
        if texts:
            yield hasher.transform(texts), labels

    started = time.perf_counter()
    for X, y in batches(path):
        model.partial_fit(X, y, classes=["ham", "spam"])
    if n_features > 2_048:
        model.coef_[0, np.argsort(-np.abs(model.coef_[0]))[2_000:]] = 0.0
    seconds = time.perf_counter() - started
    right = [(model.predict(X) == np.array(y)) for X, y in batches(test)] if test else []
    accuracy = float(np.concatenate(right).mean()) if right else None
    return {"seconds": seconds, "mb": peak_megabytes(), "accuracy": accuracy}


def hashed_run(path: str, test: str | None = None, *, size: Size) -> Found:
    """Do the same with as many columns as there may be features."""
    return sklearn_run(path, test, size=size, n_features=1 << 11)


def kmers(mails: list[dict[str, str]], size: Size, folder: Path) -> list[Found]:
    """Return how many planted mutations are found among the k-mers of genomes."""
    path = folder / "genomes.jsonl"
    ancestor, places = write_genomes(path, size)
    found = apart("experiments.names", job="kmers", path=str(path), size=asdict(size))
    n_found = sum(any(name in found["names"] for name in around(ancestor, *place)) for place in places)
    return [
        _row(STEPS[3], "ShadowSOFS, 256 MB sketch", 200, found["seconds"], found["mb_per_second"], found["mb"],
             found=f"{n_found} of {len(places)}")
    ]  # fmt: skip


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


def kmers_run(path: str, size: Size) -> Found:
    """Train on k-mers with a sketch of 256 MB."""
    model = Model("shadow_sofs", n_features_to_select=200, memory="sketch", memory_bytes=256 << 20)
    started = time.perf_counter()
    train(model, open_stream(path, text="dna", analyzer="char", ngrams=K), shuffle=False)
    seconds = time.perf_counter() - started
    names = [model.name_of(column) for column in model.members()[0].tolist()]
    speed = Path(path).stat().st_size / 1e6 / seconds
    return {"seconds": seconds, "mb_per_second": speed, "mb": peak_megabytes(), "names": names}


JOBS: dict[str, Any] = {
    "thresher": thresher_run, "scikit-learn": sklearn_run, "hashed": hashed_run, "kmers": kmers_run
}  # fmt: skip


def _row(
    what: str, method: str, features: int, seconds: float | None = None, mb_per_second: float | None = None,
    mb: float | None = None, accuracy: float | None = None, found: str = "", names: str = "",
) -> Found:  # fmt: skip
    numbers = (seconds, mb_per_second, mb, accuracy)
    shown = ["" if value is None else f"{value:.4g}" for value in numbers]
    return dict(zip(COLUMNS, (what, method, features, *shown, found, names), strict=True))


TEXT = """\
# Features with names

Written by `python -m experiments names`.

## Mail: enron1, straight from JSON lines

The rows are sorted by label, so that training shuffles them. *Cross-validated* is five-fold accuracy with 1–3-grams.
*Speed* is from a file of {megabytes} MB, the mails again and again in random order, to a model of 1–2-grams, on two
cores, without start-up; scikit-learn reads batches of 1,000 rows. *Held out* is the mean accuracy on a fifth of the
mail, five times, after one pass over the rest with either.

{mail}

The best names at B = 200, those of spam first:

> {spam}

and those of other mail:

> {ham}

## k-mers

{genomes} genomes of {bases} bases, one per row, with a common ancestor. Each has a random mutation in every 1,000 bases
on average; one class has {planted} planted ones as well. Features are all runs of {k} bases, ShadowSOFS keeps 200 of
them. A planted mutation is *found* if one of the 200 names has it, or the base that was there before, in its place.

{kmers}
"""


def write_report(folder: Path) -> None:
    """Write NAMES.md from names.csv."""
    rows, size = read_csv(folder / "results" / "names.csv"), Size()
    mail = [row for row in rows if row["what"].startswith("mail")]
    head = ["", "method", "features", "seconds", "MB per second", "peak MB", "accuracy"]
    cells = [[row[name] for name in COLUMNS[:7]] for row in mail]
    names = json.loads(next(row["names"] for row in rows if row["names"]))
    kmers_head = ["method", "features", "seconds", "MB per second", "peak MB", "found"]
    of_kmers = [[row[name] for name in (*COLUMNS[1:6], "found")] for row in rows if row["what"] == STEPS[3]]
    text = TEXT.format(
        megabytes=size.megabytes, mail=table(head, cells), spam=", ".join(names["spam"]), ham=", ".join(names["ham"]),
        genomes=size.genomes, bases=f"{size.bases:,}", planted=size.planted, k=K, kmers=table(kmers_head, of_kmers),
    )  # fmt: skip
    (folder / "NAMES.md").write_text(text)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    job, order["size"] = JOBS[order.pop("job")], Size(**order["size"])
    print(json.dumps(job(**order)))
