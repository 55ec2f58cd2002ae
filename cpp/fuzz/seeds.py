"""Writes the seed corpus again: small files from our own writers, and by hand what no writer writes.

python cpp/fuzz/seeds.py
"""

from __future__ import annotations

import struct
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from thresher import methods, open_stream, train
from thresher.datasets import make_x1
from thresher.io.model_files import save_model
from thresher.model.model import Model
from thresher.streams.writing import write_stream

HERE = Path(__file__).parent

SVMLIGHT = {
    "plain": "1 1:0.5 7:2\n-1 3:1\n",
    "words": "spam 3:1 2:0.25\nmail 1:1e-3\n",
    "qid": "1 qid:3 1:0.5 # a comment\n\n# only a comment\n0\n",
    "repeated": "1 5:1 2:3 5:2 2:-3\n",
    "wide": "1 9223372036854775806:1 4294967296:2 0:3\n",
    "crlf": "1 1:1\r\n-1\t2:2 \r\n",
    "numbers": "+1.5e-3 1:1e38 2:-1e-45 3:.5 4:5. 5:12345678.12345678 6:0.1234567890123456789\n",
    "long_pairs": "1" + "".join(f" {k}{k}:{k}.{k}25" for k in range(1, 40)) + "\n",
    "bad": "1 1:x\nnan 1:1\n1 -1:1\n1 1:1e39\n3:4\n1 a\n",
    "no_labels": "1:1 2:2\n3:3\n ",
    "mark": "\ufeff1 1:1\n",
    "zero_byte": "1 1:1\0\n2 2:2\n",
    "overflow": "1 7:3e38 7:3e38\n",
}
VW = {
    "numbers": "1 |f 1:0.5 7:2\n-1 |f 3\n",
    "names": "1 2.5 'tag|words one two:3 |other:0.5 one\n-1 |words two\n",
    "mixed": "1 | a 12 b:2 99:1e-3\n0 | 5\n",
    "no_labels": "| a b\n'tag| c:2\n|x y\n",
    "spaces": "1|a x|b y| z\n1 0.5 0 tag|a:2 x:3\n",
    "unicode": "1 |ü é:1 字:2\n",
    "bad": "1 a\n1 |a x:\n1 |a :3\n1 |a 1 |b 1\n1 -1 |a x\n1 |a:x y\nnan | 1\n",
    "wide": "1 | 9223372036854775806 4611686018427387904:2 0\n",
    "many": "1 |a" + "".join(f" w{k % 17}:{k}" for k in range(80)) + "\n",
}
JSON = {
    "all": '{"y": 1, "t": "Hello World", "c": "red", "n": 2.5, "u": "more", "w": 0.5}\n',
    "lists": '{"y": "spam", "t": ["one two", "three"], "c": ["a", 1, true], "n": null}\n{"y": false}\n',
    "escapes": '{"y": 1, "t": "\\u00e9 \\ud83d\\ude00 \\"x\\" \\n\\/", "c": "\\\\"}\n',
    "others": '{"z": {"a": [1, {"b": null}], "c": "\\t"}, "y": -1e-3, "t": "", "q": [[[[]]]]}\n',
    "numbers": '{"y": 1, "n": 1e308}\n{"y": 1, "n": -0}\n{"y": 1e999}\n{"y": NaN, "n": NaN}\n',
    "twice": '{"y": 1, "t": "a", "t": "b"}\n',
    "bad": '{"y": 1\n[1]\n{"y": 1} x\n{"y": "\\ud800"}\n{"t": "a\tb"}\n{y: 1}\n{"y": 1,}\n',
    "deep": '{"z": ' + "[" * 250 + "]" * 250 + ', "y": 1}\n',
    "crlf": '{"y": 1, "c": 3}\r\n\r\n {"y": 2, "c": "3"} \n',
    "names": '{"y": 1, "t": "n n n u", "n": 3, "c": "x=y^z"}\n',
}
TEXT = {
    "english": "The quick brown fox, the lazy dog's tail; x_1 3.14",
    "cases": "ÀÉÎ ΑΒΓ ДЖЗ İıſß ǅ Ꞌ 𐐀",
    "scripts": "字典 مرحبا नमस्ते สวัสดี 한국어 e\u0301 🙂👩‍👩‍👧",
    "spaces": "a\u00a0b\u2003c\u3000d\te\n f\u200bg  ",
    "repeated": "to be or not to be " * 8,
    "no_text": "\ufffe\uffff\U0010ffff",
    "bytes": "",
}
BROKEN_TEXT = {
    "truncated": b"caf\xc3", "overlong": b"a\xc0\x80b", "surrogate": b"\xed\xa0\x80", "beyond": b"\xf4\x90\x80\x80"
}  # fmt: skip


def main() -> None:
    """Write all seeds."""
    for target, texts in (("svmlight", SVMLIGHT), ("vw", VW), ("json_lines", JSON), ("text", TEXT)):
        for name, text in texts.items():
            _write(target, name, text.encode())
    for name, content in BROKEN_TEXT.items():
        _write("text", name, content)
    for name, block in _blocks():
        _write("cache_block", name, block)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write_caches(Path(folder))
        _write_models(Path(folder))
        _write_checkpoints(Path(folder))


def _write(target: str, name: str, content: bytes) -> None:
    (HERE / "corpus" / target).mkdir(parents=True, exist_ok=True)
    (HERE / "corpus" / target / name).write_bytes(content)


def _blocks() -> list[tuple[str, bytes]]:
    """Return inputs of cache_block.cpp: flags, rows, values, prefixes, and the arrays."""
    marks = np.array([2 << 16, 2 << 32 | 3 << 16 | 1, 2**64 - 1, 0], np.uint64)
    made = []
    for wide in (0, 1):
        for doubles in (0, 1):
            for weighted in (0, 1):
                ids = np.int64 if wide else np.int32
                arrays: list[Any] = [
                    np.array([0, 1, 1, 4], ids), np.array([5, 0, 3, 2**40 if wide else 2**31 - 1], ids),
                    np.array([1, -2.5, 1e-30, 7], np.float64 if doubles else np.float32),
                ]  # fmt: skip
                if weighted:
                    arrays.append(np.array([1.0, 0.0, 2.5]))
                head = struct.pack("<BBHB", wide | 2 * doubles | 4 * weighted, 3, 4, 2)
                body = b"".join(array.tobytes() for array in [*arrays, marks])
                made.append((f"{8 * (1 + wide)}_{doubles}_{weighted}", head + body + b"onetwo"))
    return made


def _write_caches(folder: Path) -> None:
    texts = {
        "numbers.svm": "1 1:0.5 7:2\n-1 3:1\n", "words.svm": f"spam {2**40}:0.5\nmail 3:1\n",
        "weights.vw": "1 2.5 |f 4\n-1 |f 2\n", "columns.csv": "label,x,y\n1,2,3\n0,5,6\n",
        "names.jsonl": '{"label": 1, "t": "one two"}\n{"label": 0, "t": "three"}\n', "mixed.vw": "1 | 3\n-1 |w a b\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
        stream = open_stream(folder / name, **({"text": "t"} if name == "names.jsonl" else {}))
        write_stream(stream.batches(), str(folder / "x.thc"), feature_names=stream.feature_names, naming=stream.naming)
        _write("cache", name.replace(".", "_"), (folder / "x.thc").read_bytes())


def _write_models(folder: Path) -> None:
    X, y = make_x1(n_samples=30, n_features=60, n_informative=5, n_noise=10, random_state=0)
    many = np.arange(len(y)) % 3
    for method in methods.METHODS.values():
        for labels, kind in ((y, "two"), (many, "many")):
            estimator = method.load_estimator()(**({"n_features_to_select": 3} if method.has_budget else {}))
            estimator.fit(X[:6] if method.name == "ogd" else X, labels[:6] if method.name == "ogd" else labels)
            for compact in (False, True):
                path = folder / "x.thresher"
                save_model(estimator._fitted_model(), path, compact=compact)
                if path.stat().st_size < 6000:
                    _write("model", f"{method.name}_{kind}{'_compact' if compact else ''}", path.read_bytes())
    (folder / "x.jsonl").write_text('{"label": 1, "t": "one two"}\n{"label": 0, "t": "three"}\n')
    for name, given in {
        "named": {}, "keep": {"keep": ["one"]}, "auto": {"gamma": "auto"}, "hash": {"memory": "hash"},
        "sketch": {"memory": "sketch", "memory_bytes": 4096}, "weights": {"class_weight": "balanced"},
    }.items():  # fmt: skip
        given = {**given}
        keep = given.pop("keep", None)
        model = Model("sofs", n_features_to_select=3, **given)
        if keep:
            model.keep_as_written(keep)
        train(model, open_stream(folder / "x.jsonl", text="t"))
        save_model(model, folder / "x.thresher")
        _write("model", f"text_{name}", (folder / "x.thresher").read_bytes())


def _write_checkpoints(folder: Path) -> None:
    (folder / "x.svm").write_text("1 1:0.5 7:2\n-1 3:1\n" * 20)
    for name, given, options in (
        ("plain", {}, {}), ("race", {"gamma": "auto"}, {}), ("shuffled", {}, {"shuffle": True}), ("names", {}, {}),
        ("weights", {"class_weight": "balanced"}, {"n_passes": 2}),
    ):  # fmt: skip
        model = Model("sofs", n_features_to_select=3, **given, **options)
        stream = open_stream(
            folder / ("x.jsonl" if name == "names" else "x.svm"), **({"text": "t"} if name == "names" else {})
        )
        train(model, stream, checkpoint=folder / "x.ckpt", every=1)
        _write("checkpoint", name, (folder / "x.ckpt").read_bytes())


if __name__ == "__main__":
    main()
