"""The commands that use models and data: predict, transform, show, convert, synth, data."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from thresher import _core, methods
from thresher.cli.console import say, told_together, watched
from thresher.csr import trusted_batch
from thresher.evaluation import accuracy as accuracy_on
from thresher.io.atomic import written_whole
from thresher.io.model_files import load_model
from thresher.labels import shown
from thresher.model import Model
from thresher.streams import Batch, Stream
from thresher.streams.writing import write_stream


def predict(model_file: str, stream: Stream, output: str, *, margins: bool, accuracy: bool) -> None:
    """Write a label a line."""
    model = load_model(model_file)
    if accuracy:
        print(f"{accuracy_on(model, stream, watched(stream, 'testing', model)):.4f}")
        return
    with _writable(output) as file:
        for batch in watched(stream, "predicting", model):
            scores, _ = model.score_batch(batch)
            labels = model.labels_of(scores)
            lines = [shown(label) for label in labels.tolist()]
            if margins:
                each = scores.reshape(len(lines), -1).tolist()
                lines = ["\t".join([label, *(f"{s:.9g}" for s in row)]) for label, row in zip(lines, each, strict=True)]
            file.write("".join(f"{line}\n" for line in lines).encode())


def transform(model_file: str, stream: Stream, output: str, keep_ids: bool) -> None:
    """Write the data with only the selected columns."""
    model = load_model(model_file)
    columns = np.sort(model.members()[0])
    n = write_stream(_picked(model, columns, watched(stream, "transforming", model), keep_ids), output)
    say(f"wrote {n:,} rows with at most {len(columns):,} features each to {_named(output)}")


def show(model_file: str, n_features: int, as_json: bool) -> None:
    """Tell what a model is."""
    model = load_model(model_file)
    columns, weights = model.members()
    counters = model.counters
    assert model.classes is not None
    about: dict[str, Any] = {
        "method": model.method,
        **{name: value for name, value in model.parameters.items() if value is not None and name != "progress"},
        "classes": [shown(label) for label in model.classes.tolist()],
        "columns": model.n_features,
        "ids_count_from": model.id_base,
        "selected": len(columns),
        "intercept": model.intercept.tolist() if model.n_vectors > 1 else float(model.intercept[0]),
        "rows_seen": counters["n_samples"],
        **(
            {}
            if methods.find(model.method).is_batch
            else {"rows_with_a_loss": counters["n_updates"], "mistakes_while_learning": counters["n_mistakes"]}
        ),
        "can_go_on_learning": not model.compact,
    }
    names = [model.name_of(column) for column in columns.tolist()]
    if as_json:
        each = weights.tolist() if model.n_vectors > 1 else weights[:, 0].tolist()
        key = "weights" if model.n_vectors > 1 else "weight"
        features = [{"feature": name, key: weight} for name, weight in zip(names, each, strict=True)]
        print(json_.dumps({**about, "features": features}))
        return
    console = Console()
    for name, value in about.items():
        told = told_together([str(item) for item in value]) if isinstance(value, list) else value
        console.print(f"{name.replace('_', ' '):24} {told}", highlight=False, markup=False)
    table = Table()
    table.add_column("best first", justify="right")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    if model.n_vectors > 1:
        table.add_column("of class")
    for rank, (name, row) in enumerate(zip(names[:n_features], weights, strict=False), start=1):
        # Of many classes, the one to which the feature says most.
        c = int(np.abs(row).argmax())
        of_class = [Text(about["classes"][c])] if model.n_vectors > 1 else []
        table.add_row(str(rank), Text(name), f"{row[c]:+.5f}", *of_class)
    if n_features:
        console.print(table)
    if len(names) > n_features > 0:
        console.print(f"… and {len(names) - n_features:,} more (-n)", highlight=False)


def convert(stream: Stream, output: str) -> None:
    """Write a stream in another format."""
    # Columns of a table count from 0, rows of text from 1 unless id 0 occurs, which it need not.
    shift = 1 if stream.id_base == 0 and not output.endswith(".thc") else 0
    n = write_stream(watched(stream, "converting"), output, shift=shift, feature_names=stream.feature_names)
    size = "" if output == "-" else f", {Path(output).stat().st_size:,} bytes"
    say(f"wrote {n:,} rows to {_named(output)}{size}")


def synth(which: str, output: str, *, rows: int | None, start: int, seed: int, permute: bool, dense_noise: int) -> None:
    """Write synthetic data."""
    from thresher.datasets import make_x2

    shapes: dict[str, dict[str, Any]] = {
        "x1": {"n_samples": 110_000, "n_features": 20_000, "n_informative": 200, "n_noise": 400},
        "x2": {},
    }
    if which not in shapes:
        raise ValueError(f"there is no synthetic data set {which!r}; there are {', '.join(shapes)}.")
    shape = shapes[which] | ({} if rows is None else {"n_samples": rows})
    stream: Stream = make_x2(start=start, random_state=seed, permute=permute, dense_noise=dense_noise, **shape)
    # Files of this kind count from 1.
    n = write_stream(watched(stream, f"making {which}"), output, shift=1)
    if output != "-":
        say(f"wrote {n:,} rows to {output}, {Path(output).stat().st_size:,} bytes")


def list_data() -> None:
    """List the known data sets."""
    from thresher.datasets import registry

    table = Table()
    for heading in ("name", "rows", "columns", "classes", "here", "what it is"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns", "classes") else "left")
    for known in registry.KNOWN.values():
        place = registry.find(known.name)
        here = "yes" if place else "can be fetched" if known.url else "no"
        table.add_row(
            known.name, f"{known.n_rows:,}", f"{known.n_features:,}", str(known.n_classes), here, known.description
        )
    Console().print(table)


def get_data(name: str) -> None:
    """Fetch a data set and print where it is."""
    from thresher.datasets import registry

    print(registry.fetch(name, progress=True))


def _picked(model: Model, columns: Any, batches: Iterator[Batch], keep_ids: bool) -> Iterator[Batch]:
    ids = columns + model.id_base
    for batch in batches:
        starts, picked, places = _core.pick_columns(trusted_batch(batch), ids)
        kept = batch.indices[places] if keep_ids else picked + 1
        batch.data, batch.indices, batch.indptr = batch.data[places], kept, starts.astype(kept.dtype)
        batch.largest_id = int(kept.max(initial=-1))
        batch.zero_seen = bool(len(kept)) and int(kept.min()) == 0
        yield batch


@contextmanager
def _writable(output: str) -> Iterator[IO[bytes]]:
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with written_whole(output) as file:
        yield file


def _named(output: str) -> str:
    return "standard output" if output == "-" else output
