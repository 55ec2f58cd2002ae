"""Caches whose footer is well-formed, with the right checksum, and absurd: each is one error that names the file."""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import thresher
from forged_files import changed

from thresher import open_stream, train
from thresher.model.model import Model
from thresher.streams import DataError
from thresher.streams.formats.cache import TAIL, crc32
from thresher.streams.writing import write_stream

ABSURD = [
    -1, 0, 1, 2, 3, 5, 63, 65, 2**31, 2**32, 2**60, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400, 0.5, 1e300,
    float("nan"), float("inf"), True, False, None, "", "x", "\ud800", [], {}, [[]], [None], ["x"], [0], {"x": 1},
]  # fmt: skip


def footer_of(path: Path) -> tuple[bytes, dict]:
    raw = path.read_bytes()
    length, _, _ = TAIL.unpack(raw[-TAIL.size :])
    return raw[: -TAIL.size - length], json.loads(raw[-TAIL.size - length : -TAIL.size])


def write_footer(path: Path, body: bytes, text: bytes) -> None:
    """Write a cache with a footer, whatever it says, and a checksum that fits."""
    path.write_bytes(body + text + TAIL.pack(len(text), crc32(text), b"THRESHC1"))


def places(value, place=()):
    """Yield where values are in the footer."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*place, key))


def use(path: Path) -> None:
    """Read a cache, and do what is done with its rows, labels and names."""
    stream = open_stream(path)
    list(stream.batches())
    list(stream.shard(0, 2).batches())
    train(Model("sofs", n_features_to_select=3), stream)
    stream.to_csr()


def make(folder: Path) -> list[Path]:
    """Write caches of all kinds: numbers, words, weights, wide ids, names of columns, hashed names."""
    (folder / "numbers.svm").write_text("1 1:0.5 7:2\n-1 3:1\n" * 3)
    (folder / "words.svm").write_text(f"spam {2**40}:0.5\nmail 3:1\n" * 3)
    (folder / "weights.vw").write_text("1 2.5 |f 4\n-1 |f 2\n" * 3)
    (folder / "columns.csv").write_text("label,x,y\n1,2,3\n0,5,6\n" * 1)
    (folder / "names.jsonl").write_text('{"label": 1, "t": "one two"}\n{"label": 0, "t": "three"}\n' * 3)
    made = []
    for name in ("numbers.svm", "words.svm", "weights.vw", "columns.csv", "names.jsonl"):
        stream = open_stream(folder / name, **({"text": "t"} if name == "names.jsonl" else {}))
        made.append(folder / f"{name}.thc")
        write_stream(stream.batches(), str(made[-1]), feature_names=stream.feature_names, naming=stream.naming)
    return made


def check_all(folder: Path) -> int:
    """Read every cache with every value of its footer replaced by a third of the absurd ones, each in its turn.

    Return how many were refused.
    """
    n_refused, wrong, turn = 0, [], 0
    for path in make(folder):
        use(path)
        body, footer = footer_of(path)
        bad = folder / "bad.thc"
        for place in places(footer):
            removed = copy.deepcopy(footer)
            texts = [json.dumps(changed(footer, place, value)).encode() for value in ABSURD]
            texts.append(json.dumps(changed(footer, place, {"more": 1})).encode())
            if place and isinstance(place[-1], str):
                into = removed
                for key in place[:-1]:
                    into = into[key]
                del into[place[-1]]
                texts.append(json.dumps(removed).encode())
            turn += 1
            for text in texts[turn % 3 :: 3]:
                write_footer(bad, body, text)
                try:
                    use(bad)
                except DataError as error:
                    n_refused += 1
                    wrong += [] if str(error).startswith(str(bad)) else [(place, text, error)]
                except ValueError as error:
                    # What a model says of rows that are there, such as that all have one label.
                    is_of_labels = "label" in str(error) or "class" in str(error)
                    wrong += [] if is_of_labels else [(place, text, error)]
                except Exception as error:
                    wrong.append((place, text, repr(error)))
    assert not wrong, wrong[:5]
    return n_refused


@pytest.mark.slow
@pytest.mark.memory
def test_every_absurd_footer_is_refused_within_little_memory(tmp_path):
    """In a process that has 400 MB more than it needs, so that a size that is believed would be an error."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import test_cache_footer as t; t.in_little_memory(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert int(done.stdout) > 700


def in_little_memory(folder: str) -> None:
    warnings.simplefilter("ignore")
    for path in make(Path(folder)):
        use(path)  # so that everything is imported
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 400_000_000, -1))
    print(check_all(Path(folder)))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (64, np.int32(1)),  # the first value is in no row, which nothing else would check
        (72, np.int32(2)),  # the last one
        (68, np.int32(77)),  # a row that ends beyond the values
        (128, np.int32(-100_000_000)),  # ids, with which memory is indexed
        (128, np.int32(99)),
        (192, np.float32("nan")),
        (256, np.int32(7)),  # the code of a label
    ],
)
def test_a_block_that_is_not_possible_is_refused(tmp_path, at, value):
    """A right checksum does not make it safe to use."""
    path = tmp_path / "a.thc"
    (tmp_path / "a.svm").write_text("1 1:0.5 7:2\n-1 3:1\n")
    write_stream(open_stream(tmp_path / "a.svm").batches(), str(path))
    body, footer = footer_of(path)
    (block,) = footer["blocks"]
    body = body[:at] + value.tobytes() + body[at + 4 :]
    block["crc"] = crc32(body[block["at"] : block["at"] + block["n_bytes"]])
    write_footer(path, body, json.dumps(footer).encode())
    with pytest.raises(DataError, match="block 1: the cache is damaged"):
        use(path)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"0", b"[]", b'"x"', b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"[" * 50_000 + b"]" * 50_000,
        b"\xff\xfe", b"1" * 10_000, b"NaN", b'{"version": 2}',
    ],
)  # fmt: skip
def test_a_footer_that_is_something_else(tmp_path, text):
    path = tmp_path / "a.thc"
    write_stream(iter(()), str(path))
    body, _ = footer_of(path)
    write_footer(path, body, text)
    done = thresher("train", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thresher: {path}: ")
    assert done.stderr.count("\n") == 1


def test_a_long_label_does_not_take_its_length_for_each_row(tmp_path):
    """numpy gives each of an array's strings the memory of the longest."""
    path = tmp_path / "a.thc"
    (tmp_path / "a.svm").write_text("a 1:1\nb 2:1\n" * 20_000)
    write_stream(open_stream(tmp_path / "a.svm").batches(), str(path))
    body, footer = footer_of(path)
    for labels in (["a", "b" * 200_000], ["a", "b", "c" * 50_000_000]):
        write_footer(path, body, json.dumps({**footer, "labels": labels}).encode())
        if len(labels) == 2:
            with pytest.raises(DataError, match=r"a.thc, block 1: a label has 200,000 characters"):
                list(open_stream(path).batches())
        else:
            # One that no row has takes no memory.
            (batch,) = open_stream(path).batches()
            assert batch.labels.dtype == "<U1"


def test_blocks_may_neither_overlap_nor_leave_gaps(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 7:2\n-1 3:1\n" * 100_000)
    write_stream(open_stream(tmp_path / "a.svm").batches(), str(tmp_path / "a.thc"))
    body, footer = footer_of(tmp_path / "a.thc")
    blocks = footer["blocks"]
    assert len(blocks) > 1
    for wrong in (
        [blocks[0], *blocks], blocks[::-1], blocks[1:], [*blocks[:-1], {**blocks[-1], "at": blocks[-1]["at"] - 64}]
    ):  # fmt: skip
        totals = {name: sum(block[name] for block in wrong) for name in ("n_rows", "n_values")}
        write_footer(tmp_path / "b.thc", body, json.dumps({**footer, **totals, "blocks": wrong}).encode())
        with pytest.raises(DataError, match=r"b.thc: the cache is damaged"):
            open_stream(tmp_path / "b.thc")
    write_footer(tmp_path / "b.thc", body + bytes(64), json.dumps(footer).encode())
    with pytest.raises(DataError, match=r"b.thc: the cache is damaged"):
        open_stream(tmp_path / "b.thc")
