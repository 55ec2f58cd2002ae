"""Prints a digest of every kind of trained model on real data: two commits that print the same learn the same bits.

    python tests/system/digests.py > before.txt     # then change the code
    python tests/system/digests.py | diff before.txt -

It uses public names only, so that it runs on any commit. With an argument, only the lines that contain it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thresher import (
    AROW,
    FGM,
    FOFS,
    L1SVM,
    MRMR,
    OGD,
    PET,
    SOFS,
    ShadowSOFS,
    convert,
    datasets,
    distributed,
    open_stream,
    train,
)

ONLINE = (ShadowSOFS, SOFS, PET, FOFS, AROW, OGD)
DATA = Path(os.environ.get("THRESHER_DATA", Path(__file__).parents[3] / "shared" / "data"))


def digest(model: Any, X: Any) -> str:
    """Return a hash of what a model has learned and of what it predicts."""
    coef = model.coef_
    parts = [model.selected_, coef.data, coef.indices, model.intercept_, model.decision_function(X)]
    counts = [getattr(model, name, 0) for name in ("n_samples_seen_", "n_updates_", "n_mistakes_")]
    if hasattr(model, "predict_proba"):
        parts.append(model.predict_proba(X))
    whole = hashlib.sha256(repr(counts).encode())
    for part in parts:
        whole.update(np.ascontiguousarray(part).tobytes())
    return whole.hexdigest()[:16]


def matrices() -> Iterator[tuple[str, Callable[[], str]]]:
    """`fit` and `partial_fit` on matrices."""
    two, three = _set("relathe", 1_427), _set("news20.multiclass", 3_000)
    for (name, (X, y)), estimator in itertools.product((("two", two), ("many", three)), ONLINE):
        kinds = [{}, {"memory": "dense"}, {"memory": "hash"}, {"norm": None}, {"fit_intercept": True}, {"n_passes": 3}]
        kinds += [{"class_weight": "balanced"}, {"shuffle": False}]
        if estimator in (SOFS, ShadowSOFS):
            kinds += [{"memory": "sketch", "memory_bytes": 1 << 20}]
        if estimator in (SOFS, ShadowSOFS, AROW):
            kinds += [{"gamma": "auto"}, {"gamma": 0.1}]
        if estimator not in (AROW, OGD):
            kinds += [{"keep": [3, 17, 40]}]
        for kind in kinds:
            yield f"fit {name} {estimator.__name__} {kind}", lambda e=estimator, k=kind, X=X, y=y: _fitted(e, k, X, y)
        yield f"partial_fit {name} {estimator.__name__}", lambda e=estimator, X=X, y=y: _partially(e, X, y)
    X, y = two
    for estimator in (MRMR, L1SVM, FGM):
        yield f"fit two {estimator.__name__}", lambda e=estimator: digest(e(20).fit(X[:600], y[:600]), X)


def streams() -> Iterator[tuple[str, Callable[[], str]]]:
    """`train` on files of every format, with shards and checkpoints."""
    for estimator in ONLINE:
        yield f"train ccat {estimator.__name__}", lambda e=estimator: _trained(e, "ccat.svm.xz", "ccat")
        yield (
            f"train multiclass {estimator.__name__}",
            lambda e=estimator: _trained(e, "news20.multiclass.svm.xz", "news20.multiclass", multiclass=True),
        )
        yield f"shards {estimator.__name__}", lambda e=estimator: _sharded(e)
        yield f"resumed {estimator.__name__}", lambda e=estimator: _resumed(e, {})
    for kind in ({"gamma": "auto"}, {"memory": "hash"}, {"memory": "sketch", "memory_bytes": 1 << 20}):
        yield f"train ccat ShadowSOFS {kind}", lambda k=kind: _trained(ShadowSOFS, "ccat.svm.xz", "ccat", **k)
        yield f"resumed ShadowSOFS {kind}", lambda k=kind: _resumed(ShadowSOFS, k)
    yield "names enron1", lambda: _named("enron1.jsonl.xz", text="text", ngrams="1-2")
    yield "names adult", lambda: _named("adult.csv.xz", label="income", categorical=["workclass", "education"])
    yield "names vw", lambda: _named("vw/rcv1_small.train.vw", hash="all")
    for format_ in ("csv", "parquet", "thc"):
        yield f"train {format_}", lambda f=format_: _converted(f)
    for estimator in (MRMR, L1SVM, FGM):
        yield f"train {estimator.__name__}", lambda e=estimator: _at_once(e)


def _set(name: str, n_rows: int) -> tuple[Any, Any]:
    X, y = datasets.load(name)
    order = np.random.default_rng(0).permutation(X.shape[0])[:n_rows]
    return X[order], y[order]


def _fitted(estimator: Any, kind: dict[str, Any], X: Any, y: Any) -> str:
    budget = {} if estimator in (AROW, OGD) else {"n_features_to_select": 50}
    return digest(estimator(**budget, **kind).fit(X, y), X)


def _partially(estimator: Any, X: Any, y: Any) -> str:
    model, classes = estimator(), np.unique(y)
    for begin in range(0, X.shape[0], 300):
        model.partial_fit(X[begin : begin + 300], y[begin : begin + 300], classes=classes)
    return digest(model, X)


def _trained(estimator: Any, file: str, name: str, *, multiclass: bool = False, **kind: Any) -> str:
    model = estimator(**kind)
    train(model, str(DATA / file), multiclass=multiclass)
    return digest(model, open_stream(str(DATA / file)).to_csr()[0])


def _sharded(estimator: Any) -> str:
    model = estimator()
    rows = datasets.make_x2(4_000, n_features=2_000, n_informative=50)
    distributed.train(model, rows, n_shards=4, syncs=4, engine="local", workers=1)
    return digest(model, rows.to_csr()[0])


def _resumed(estimator: Any, kind: dict[str, Any]) -> str:
    """Return the digest of a run that was stopped in its second pass."""
    with tempfile.TemporaryDirectory() as folder:
        rows, path = Path(folder) / "rows.svm", Path(folder) / "run.ckpt"
        convert(datasets.make_x2(6_000, n_features=3_000, n_informative=50), str(rows))

        def stop(history: Any) -> None:
            if history.n_passes == 2 and history.rows[-1] > 8_000:
                raise RuntimeError

        given: dict[str, Any] = {"passes": 2, "shuffle": True, "checkpoint": path, "every": 500}
        try:
            train(estimator(**kind), str(rows), **given, callback=stop)
        except RuntimeError:
            model = estimator(**kind)
            train(model, str(rows), **given, resume=True)
            return digest(model, open_stream(str(rows)).to_csr()[0])
        raise AssertionError("the run was not stopped")


def _named(file: str, **roles: Any) -> str:
    model = ShadowSOFS(100)
    train(model, open_stream(str(DATA / file), **roles))
    coef = model.coef_
    parts = [repr(model.selected_names_).encode(), coef.data.tobytes(), coef.indices.tobytes()]
    return hashlib.sha256(b"".join(parts) + model.intercept_.tobytes()).hexdigest()[:16]


def _converted(format_: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path, source = f"{folder}/rows.{format_}", str(DATA / "allaml.csv.xz")
        if format_ == "csv":
            path = source
        elif format_ == "parquet":
            import pandas

            pandas.read_csv(source).to_parquet(path)
        else:
            convert(open_stream(source, label="type"), path)
        model = ShadowSOFS(20)
        train(model, open_stream(path) if format_ == "thc" else open_stream(path, label="type"))
        return digest(model, open_stream(source, label="type").to_csr()[0])


def _at_once(estimator: Any) -> str:
    model = estimator(20)
    train(model, str(DATA / "basehock.svm.xz"))
    return digest(model, open_stream(str(DATA / "basehock.svm.xz")).to_csr()[0])


def main() -> None:
    """Print a line for each model."""
    warnings.simplefilter("ignore")
    os.environ.setdefault("THRESHER_DATA", str(DATA))
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, compute in itertools.chain(matrices(), streams()):
        if wanted in name:
            print(f"{compute()}  {name}", flush=True)


if __name__ == "__main__":
    main()
