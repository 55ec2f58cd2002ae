"""The command line as a user meets it: real processes, their output and exit codes."""

from __future__ import annotations

import ast
import gzip
import json
import lzma
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import THRESHER, Done, in_a_process, thresher
from typer.main import get_command

from thresher import evaluate, load, open_stream
from thresher.cli import convert, demo, predict, show, synth, train, transform
from thresher.cli import evaluate as evaluate_command
from thresher.cli import path as path_command
from thresher.cli.app import app
from thresher.cli.flags import as_option, flags, flags_of
from thresher.cli.option_rules import RULES
from thresher.messages import as_keyword
from thresher.methods import CLASSIFIERS, METHODS, ONLINE
from thresher.progress import speed

DATA = Path(os.environ.get("THRESHER_DATA", Path(__file__).parents[3] / "shared" / "data"))


def test_demo_prints_its_table_and_what_to_try_next():
    done = thresher("demo", "--rows", "5000")
    assert done.returncode == 0
    assert done.stderr == ""  # no terminal, no progress bar
    cells = (r"(\d+)", *[r"(0\.\d+)"] * 2, *[r"(\d+) of 200"] * 2, *[r"([\d.]+)"] * 2)
    rows = re.findall("│" + "".join(rf"\s+{cell} │" for cell in cells), done.stdout)
    assert [row[0] for row in rows] == ["50", "100", "150", "200", "300", "400"]
    assert all(float(shadow) > float(sofs) + 0.05 for _, sofs, shadow, *_ in rows[:2])
    assert float(rows[3][1]) > 0.9
    assert int(rows[3][3]) == 200
    assert "Try next" in done.stdout


def on_a_terminal(*arguments: object) -> bytes:
    """Run a command whose stderr is a terminal, and return what that showed."""
    reader, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [THRESHER, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:  # the terminal's end, on Linux
        pass
    os.close(reader)
    assert process.wait(timeout=120) == 0
    return shown


def test_demo_shows_progress_on_a_terminal():
    assert b"ShadowSOFS, B = 400" in on_a_terminal("demo", "--rows", 5_000)


def test_what_the_demo_says_to_try_works():
    from thresher.cli.demo import NEXT

    code = "\n".join(line.strip() for line in NEXT.splitlines() if line.startswith("    "))
    assert "SOFS" in code
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_help_and_version():
    assert "demo" in thresher("--help").stdout
    assert thresher().stdout == thresher("--help").stdout
    assert re.fullmatch(r"thresher \d+\.\d+\.\d+\n", thresher("--version").stdout)


HELP = """
import sys
from thresher.cli import main
sys.argv = ["thresher", "--help"]
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import thresher", {"numpy", "scipy", "sklearn", "typer", "rich"}),
        ("import thresher; thresher.datasets", {"sklearn", "typer"}),
        ("import thresher.model.model", {"scipy", "sklearn", "typer"}),
        (HELP, {"numpy", "scipy", "sklearn"}),
    ],
)
def test_start_up_imports_nothing_heavy(code, absent):
    """Seconds differ between machines; what is imported does not."""
    code += "\nimport sys; print('modules:', *sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert not absent & set(out.rsplit("modules:", 1)[1].split())


@pytest.fixture(scope="module")
def x1(tmp_path_factory):
    """2,000 rows to train on and 500 to test on, as files."""
    here = tmp_path_factory.mktemp("x1")
    for name, rows, start in (("train.svm", 2_000, 0), ("test.svm", 500, 2_000)):
        done = thresher("synth", "x1", "-o", here / name, "--rows", rows, "--start", start)
        assert done.returncode == 0, done.stderr
    return here


class TestTrain:
    def test_reports_and_writes_a_model(self, x1, tmp_path):
        model = tmp_path / "m.thresher"
        done = thresher("train", x1 / "train.svm", "-k", 200, "--test", x1 / "test.svm", "-o", model)
        assert done.returncode == 0
        assert done.stderr == ""
        assert list(tmp_path.iterdir()) == [model]
        assert "2,000 rows in 3 passes and a closing one, 20,000 columns, classes -1 and 1" in done.stdout
        assert "selected 200 features" in done.stdout
        assert model.stat().st_size < 12_000  # 200 features, not 20,000
        shown = json.loads(thresher("show", model, "--json").stdout)
        assert shown["selected"] == len(shown["features"]) == 200
        assert shown["can_continue_learning"] is False
        assert "… and 195 more" in thresher("show", model, "-n", 5).stdout
        alone = thresher("show", model, "-n", 0)  # what the model is, without its features
        assert alone.returncode == 0
        assert thresher("show", model).stdout.startswith(alone.stdout)
        assert "best first" not in alone.stdout

    def test_json_is_one_object(self, x1):
        report = json.loads(thresher("train", x1 / "train.svm", "-k", 200, "--test", x1 / "test.svm", "--json").stdout)
        assert (report["rows"], report["passes"], report["refitted"]) == (6_000, 3, True)  # rows of all passes
        assert report["n_selected"] == len(report["selected"]) == len(report["weights"]) == 200
        assert report["accuracy_on_test"] > 0.8
        assert report["seconds"] > 0

    def test_goes_on_from_a_full_model(self, x1, tmp_path):
        half, whole = tmp_path / "half.thresher", tmp_path / "whole.thresher"
        once = ["--passes", 1, "--no-refit"]
        assert thresher("train", x1 / "train.svm", "-k", 100, "-o", half, "--full", *once).returncode == 0
        done = thresher("train", x1 / "test.svm", "--from", half, "-o", whole, "--full")
        assert done.returncode == 0, done.stderr
        straight = tmp_path / "straight.thresher"
        thresher("train", x1 / "train.svm", x1 / "test.svm", "-k", 100, "-o", straight, "--full", *once)
        assert whole.read_bytes() == straight.read_bytes()

    def test_from_a_pipe(self, x1, tmp_path):
        done = subprocess.run(
            f"{THRESHER} synth x2 -o - --rows 300 | {THRESHER} train - -k 50",
            shell=True, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert "standard input: 300 rows" in done.stdout

    def test_a_reader_that_leaves_early(self):
        done = subprocess.run(
            f"{THRESHER} synth x1 -o - | head -1 | wc -l", shell=True, capture_output=True, text=True, timeout=120,
            check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "1"
        assert done.stderr == ""

    def test_progress_on_a_terminal(self, x1):
        shown = on_a_terminal("train", x1 / "train.svm", "--passes", 30)
        for part in (b"training", b"rows", b"MB/s", b"error"):
            assert part in shown

    @pytest.mark.parametrize(
        ("megabytes", "seconds", "shown"),
        [
            (40, 0.5, ", 40 MB/s"),
            (1_500, 2.0, ", 1,500 MB/s"),
            (200, 0.09, ""),  # what starting takes counts as much
            (0.004, 0.9, ""),  # not 0 MB/s
            (0, 1.0, ""),
        ],
    )
    def test_a_speed_is_shown_where_it_says_something(self, megabytes, seconds, shown):
        assert speed(megabytes, seconds) == shown

    def test_a_tiny_file_has_no_speed(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
        assert re.search(r"^\d+\.\d\d s$", run("train", tmp_path / "a.svm").stdout, re.MULTILINE)

    def test_a_shuffle_shows_that_it_reads_and_what_it_skips(self, x1, tmp_path):
        path = tmp_path / "bad.svm"
        path.write_text((x1 / "train.svm").read_text() + "1 nonsense\n")
        shown = on_a_terminal("train", path, "-k", 50, "--shuffle", "--on-bad-line", "skip")
        for part in (b"reading", b"training", b"1 line was skipped: "):
            assert part in shown

    @pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
    def test_vw_and_svmlight_agree_on_real_rows(self, tmp_path):
        for part in ("train", "test"):
            rows = (DATA / "vw" / f"rcv1_small.{part}.vw").read_text().replace(" |f", "")
            (tmp_path / f"{part}.svm").write_text(rows)
        accuracy = [
            json.loads(thresher("train", train, "-k", 500, "--test", test, "--json").stdout)["accuracy_on_test"]
            for train, test in (
                (DATA / "vw" / "rcv1_small.train.vw", DATA / "vw" / "rcv1_small.test.vw"),
                (tmp_path / "train.svm", tmp_path / "test.svm"),
            )
        ]
        assert abs(accuracy[0] - accuracy[1]) <= 0.01
        assert accuracy[0] > 0.8

    @pytest.mark.slow
    @pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
    def test_news20_as_typed(self):
        news = DATA / "news20.binary.bz2"
        done = thresher("train", news, "-k", 5000, "--json")
        assert "news20.binary.bz2: the rows are grouped by label (one class: " in done.stderr
        report = json.loads(done.stdout)
        assert (report["rows"], report["n_features"], report["n_selected"]) == (19_996, 1_355_191, 5_000)
        assert report["error_while_learning"] < 0.1


class TestGroupedRows:
    """A file sorted by label: the model is that of --shuffle, and the output says so."""

    @pytest.fixture
    def by_label(self, x1, tmp_path):
        lines = (x1 / "train.svm").read_text().splitlines(keepends=True)
        for n_rows in (300, 2_000):
            (tmp_path / f"{n_rows}.svm").write_text("".join(sorted(lines[:n_rows], key=lambda line: line.split()[0])))
        return tmp_path

    @pytest.mark.parametrize("n_rows", [300, 2_000])
    @pytest.mark.parametrize("options", [[], ["--threads", 1], ["--full", "--passes", 2, "--seed", 7]])
    def test_a_new_model_is_trained_again(self, by_label, n_rows, options):
        data, models = by_label / f"{n_rows}.svm", [by_label / "auto.thresher", by_label / "asked.thresher"]
        done = thresher("train", data, "-k", 50, "-o", models[0], *options)
        assert done.returncode == 0
        assert done.stderr.startswith(f"thresher: warning: {data}: the rows are grouped by label (one class: ")
        assert "Training starts again on a seeded shuffle of them" in done.stderr
        assert done.stderr.count("\n") == 1
        asked = thresher("train", data, "-k", 50, "-o", models[1], "--shuffle", *options)
        assert asked.stderr == ""
        assert models[0].read_bytes() == models[1].read_bytes()
        for out in (done.stdout, asked.stdout):
            passes = 2 if "--passes" in options else 3
            assert f": {n_rows:,} rows in {passes} passes and a closing one, in random order, 20,000 columns" in out
        assert re.findall("error while learning .*", done.stdout) == re.findall("error while learning .*", asked.stdout)

    def test_in_their_order_if_asked(self, by_label):
        model = by_label / "m.thresher"
        done = thresher("train", by_label / "300.svm", "-k", 50, "--no-shuffle", "-o", model)
        assert re.search(r"grouped by label .*poor results on such rows: use --shuffle", done.stderr)
        assert "300 rows in 3 passes and a closing one, 20,000 columns" in done.stdout
        assert "error while learning: not shown, since the rows are grouped by label" in done.stdout
        report = json.loads(thresher("train", by_label / "300.svm", "-k", 50, "--no-shuffle", "--json").stdout)
        assert (report["shuffled"], report["grouped_by_label"]) == (False, True)
        assert report["error_while_learning"] is report["loss_while_learning"] is None
        assert "mistakes while learning  not shown: the rows were grouped by label\n" in thresher("show", model).stdout
        shown = json.loads(thresher("show", model, "--json").stdout)
        assert shown["mistakes_while_learning"] is None
        assert shown["grouped_by_label"] is True
        assert "shuffle" not in shown  # a parameter for fit, which says nothing about this run

    def test_standard_input(self, by_label, x1):
        rows = (by_label / "300.svm").read_text()
        done = in_a_process("train", "-", "-k", 50, stdin=rows)
        assert done.returncode == 0
        assert re.search(r"standard input: the rows are grouped by label .*: write them to a file", done.stderr)
        assert "error while learning: not shown" in done.stdout
        model = by_label / "m.thresher"
        model.write_bytes(b"as it was")
        done = in_a_process("train", "-", "-k", 50, "--shuffle", "-o", model, stdin=rows)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "thresher: standard input can't be shuffled, since it can be read only once: write it to a file first.\n"
        )
        assert model.read_bytes() == b"as it was"

    def test_a_model_that_continues(self, by_label, x1):
        model = by_label / "m.thresher"
        thresher("train", x1 / "test.svm", "-k", 50, "--full", "-o", model)
        done = thresher("train", by_label / "300.svm", "--from", model)
        assert re.search(r"grouped by label .*: start from the earlier model again, with .*--shuffle", done.stderr)
        assert "error while learning: not shown" in done.stdout
        done = thresher("train", by_label / "300.svm", "--from", model, "--shuffle")
        assert "grouped" not in done.stderr
        assert "300 rows in random order" in done.stdout

    def test_batch_methods(self, by_label):
        done = thresher("train", by_label / "300.svm", "-k", 5, "--method", "mrmr", "--no-shuffle")
        assert done.returncode == 0
        assert "grouped" not in done.stderr + done.stdout

    def test_the_bar(self, by_label):
        shown = on_a_terminal("train", by_label / "2000.svm", "-k", 50, "--passes", 10, "--no-shuffle")
        assert b"rows, " in shown
        assert b", error " not in shown


@pytest.fixture(scope="module")
def model(x1, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.thresher"
    thresher("train", x1 / "train.svm", "-k", 200, "-o", path)
    return path


def test_synth_counts_alike_in_text_and_cache(tmp_path):
    reports = []
    for path in (tmp_path / "x.svm", tmp_path / "x.thc"):
        thresher("synth", "x1", "-o", path, "--rows", 500)
        report = json.loads(thresher("train", path, "-k", 9, "--json").stdout)
        reports.append((report["selected"], report["weights"], report["n_features"]))
    assert reports[0] == reports[1]


class TestUse:
    def test_predict(self, x1, model, tmp_path):
        labels = thresher("predict", model, x1 / "test.svm").stdout.split()
        assert len(labels) == 500
        assert set(labels) == {"-1", "1"}
        truth = [line.split()[0] for line in (x1 / "test.svm").read_text().splitlines()]
        accuracy = sum(a == b for a, b in zip(labels, truth, strict=True)) / 500
        evaluation = json.loads(thresher("evaluate", model, x1 / "test.svm", "--json").stdout)
        assert evaluation["accuracy"] == pytest.approx(accuracy)
        thresher("predict", model, x1 / "test.svm", "--margins", "-o", tmp_path / "out.txt")
        for line, label in zip((tmp_path / "out.txt").read_text().splitlines(), labels, strict=True):
            assert line.split("\t")[0] == label
            assert (float(line.split("\t")[1]) > 0) == (label == "1")

    def test_transform(self, x1, model, tmp_path):
        chosen = sorted(int(f["feature"]) for f in json.loads(thresher("show", model, "--json").stdout)["features"])
        place = {id_: k + 1 for k, id_ in enumerate(chosen)}
        expected, kept = [], []
        for line in (x1 / "test.svm").read_text().splitlines():
            label, *pairs = line.split()
            pairs = [pair.split(":") for pair in pairs if int(pair.split(":")[0]) in place]
            kept.append(" ".join([label, *(f"{i}:{v}" for i, v in pairs)]))
            expected.append(" ".join([label, *(f"{place[int(i)]}:{v}" for i, v in pairs)]))
        assert thresher("transform", model, x1 / "test.svm", "-o", "-").stdout.splitlines() == expected
        thresher("transform", model, x1 / "test.svm", "-o", tmp_path / "small.svm", "--keep-ids")
        assert (tmp_path / "small.svm").read_text().splitlines() == kept

    def test_convert_there_and_back(self, x1, tmp_path):
        given = (x1 / "test.svm").read_bytes()[:300_000].rpartition(b"\n")[0] + b"\n"
        (tmp_path / "given.svm").write_bytes(given)
        assert thresher("convert", tmp_path / "given.svm", tmp_path / "a.thc").returncode == 0
        for ending in ("svm", "svm.gz", "svm.zst", "svm.xz", "svm.bz2"):
            assert thresher("convert", tmp_path / "a.thc", tmp_path / f"a.{ending}").returncode == 0
            thresher("convert", tmp_path / f"a.{ending}", tmp_path / "back.svm")
            assert (tmp_path / "back.svm").read_bytes() == given

    def test_data(self):
        listed = thresher("data", "list").stdout
        assert all(name in listed for name in ("relathe", "ccat", "news20", "w8a"))


class TestPredictions:
    """What `predict` writes, in each of its formats, is what the estimator says."""

    def expected(self, x1, model):
        X, _, _ = open_stream(x1 / "test.svm").to_csr()
        estimator = load(model)
        return estimator.predict(X), estimator.decision_function(X), estimator.predict_proba(X)

    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
    def test_tables(self, x1, model, tmp_path, ending):
        path = tmp_path / f"out.{ending}"
        run("predict", model, x1 / "test.svm", "--margins", "--probabilities", "-o", path)
        table = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
        labels, margins, probabilities = self.expected(x1, model)
        assert list(table) == ["label", "margin", "probability_-1", "probability_1"]
        assert table["label"].dtype == np.int64
        np.testing.assert_array_equal(table["label"], labels)
        np.testing.assert_array_equal(table["margin"], margins)
        np.testing.assert_array_equal(table[["probability_-1", "probability_1"]], probabilities)

    def test_text(self, x1, model, tmp_path):
        labels, margins, probabilities = self.expected(x1, model)
        out = run("predict", model, x1 / "test.svm", "--margins", "--probabilities").stdout
        cells = np.array([line.split("\t") for line in out.splitlines()], dtype=float)
        np.testing.assert_allclose(cells, np.column_stack([labels, margins, probabilities]), rtol=1e-8)
        out = run("predict", model, x1 / "test.svm", "--probabilities", "-o", tmp_path / "out.txt.gz")
        assert "wrote 500 rows to" in out.stderr
        with gzip.open(tmp_path / "out.txt.gz", "rt") as file:
            assert {len(line.split("\t")) for line in file} == {3}

    def test_text_has_no_header_so_stderr_names_its_columns(self, x1, model, tmp_path):
        names = "label, margin, probability_-1, probability_1"
        done = run("predict", model, x1 / "test.svm", "--margins", "--probabilities")
        assert done.stderr == f"thresher: the columns are {names}\n"
        done = run("predict", model, x1 / "test.svm", "--probabilities", "-o", tmp_path / "out.txt")
        assert "thresher: the columns are label, probability_-1, probability_1\n" in done.stderr
        assert (
            "columns" not in run("predict", model, x1 / "test.svm", "--probabilities", "-o", tmp_path / "a.csv").stderr
        )
        assert run("predict", model, x1 / "test.svm").stderr == ""

    def test_no_rows_are_a_table_without_rows(self, model, tmp_path):
        (tmp_path / "empty.svm").write_text("")
        for path in (tmp_path / "out.csv", tmp_path / "out.parquet"):
            run("predict", model, tmp_path / "empty.svm", "--margins", "-o", path)
        assert (tmp_path / "out.csv").read_text() == "label,margin\n"
        assert pd.read_parquet(tmp_path / "out.parquet").columns.tolist() == ["label", "margin"]

    def test_many_classes_of_words(self, tmp_path):
        rows, model, out = tmp_path / "rows.svm", tmp_path / "m.thresher", tmp_path / "out.parquet"
        rows.write_text("ash 1:1\nelm 2:1\noak 3:1\n" * 50)
        run("train", rows, "-k", 3, "--multiclass", "-o", model)
        run("predict", model, rows, "--margins", "--probabilities", "-o", out)
        table = pd.read_parquet(out)
        names = ["ash", "elm", "oak"]
        assert list(table) == ["label", *(f"margin_{name}" for name in names), *(f"probability_{n}" for n in names)]
        assert table["label"].tolist() == names * 50
        assert (table[[f"probability_{name}" for name in names]].sum(axis=1) - 1).abs().max() < 1e-9

    def test_probabilities_are_for_methods_that_have_them(self, x1, tmp_path):
        model, out = tmp_path / "m.thresher", tmp_path / "out.csv"
        run("train", x1 / "test.svm", "-k", 5, "--method", "mrmr", "-o", model)
        done = run("predict", model, x1 / "test.svm", "--probabilities", "-o", out, status=2)
        assert done.stderr == "thresher: mrmr has no probabilities; use --margins instead.\n"
        assert not out.exists()

    @pytest.mark.parametrize("options", [[], ["--no-labels"]])
    def test_rows_without_labels(self, x1, model, options, tmp_path):
        with_labels = (x1 / "test.svm").read_text()
        without = "".join(line.split(" ", 1)[1] for line in with_labels.splitlines(keepends=True))
        (tmp_path / "rows.svm").write_text(without)
        expected = run("predict", model, x1 / "test.svm").stdout
        assert run("predict", model, tmp_path / "rows.svm", *options).stdout == expected
        assert run("predict", model, "-", *options, stdin=without).stdout == expected
        expected = run("transform", model, x1 / "test.svm", "-o", "-").stdout
        expected = re.sub(r"(?m)^-?1", "0", expected)
        assert run("transform", model, tmp_path / "rows.svm", *options, "-o", "-").stdout == expected
        run("transform", model, tmp_path / "rows.svm", *options, "-o", tmp_path / "small.thc")
        run("convert", tmp_path / "small.thc", tmp_path / "small.svm")
        assert (tmp_path / "small.svm").read_text() == expected


def test_show_has_four_digits_and_json_has_all(tmp_path):
    path, model = tmp_path / "a.svm", tmp_path / "m.thresher"
    path.write_text("1 1:0.123456 2:7.7\n-1 2:3.1 3:0.9\n" * 30)
    run("train", path, "-k", 3, "--test", path, "--threshold", "f1", "-o", model)
    text, found = run("show", model).stdout, json.loads(run("show", model, "--json").stdout)
    for feature in found["features"]:
        assert len(repr(feature["weight"])) > 9
        assert f" {feature['weight']:+.4g} │" in text
    for name in ("intercept", "threshold"):
        assert re.search(rf"^{name} +{re.escape(format(found[name], '.4g'))}$", text, re.MULTILINE)


def test_evaluate_prints_what_the_library_measures(x1, model):
    found = evaluate(load(model), x1 / "test.svm")
    assert json.loads(run("evaluate", model, x1 / "test.svm", "--json").stdout) == found.to_dict()
    assert run("evaluate", model, x1 / "test.svm").stdout == f"{found}\n"


class TestNothingIsLost:
    """What was there before, or what was read, is never overwritten by mistake."""

    @pytest.fixture
    def place(self, x1, model, tmp_path):
        for source, name in ((x1 / "test.svm", "a.svm"), (model, "m.thresher")):
            (tmp_path / name).write_bytes(source.read_bytes())
        (tmp_path / "link.svm").symlink_to("a.svm")
        (tmp_path / "hard.svm").hardlink_to(tmp_path / "a.svm")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "b.svm").hardlink_to(tmp_path / "a.svm")
        (tmp_path / "model-link").symlink_to("m.thresher")
        return tmp_path

    @pytest.mark.parametrize(
        "command",
        [
            "train a.svm -o a.svm",
            "train a.svm -o ./a.svm",
            "train a.svm -o link.svm",
            "train link.svm -o a.svm",
            "train a.svm -o hard.svm",
            "train *.svm -o a.svm",
            "train folder -o folder/b.svm",
            "train folder -o a.svm",
            "train folder --test a.svm -o hard.svm",
            "train - -o a.svm",
            "train a.svm --method mrmr -o a.svm",
            "predict m.thresher a.svm -o a.svm",
            "predict m.thresher a.svm -o m.thresher",
            "predict m.thresher a.svm -o model-link",
            "predict m.thresher folder -o link.svm",
            "predict m.thresher - -o a.svm",
            "transform m.thresher a.svm -o a.svm",
            "transform m.thresher a.svm -o m.thresher",
            "convert a.svm a.svm",
            "convert *.svm link.svm",
            "convert folder folder/b.svm",
        ],
    )
    def test_an_output_is_not_an_input(self, place, command, monkeypatch):
        monkeypatch.chdir(place)
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        with (place / "a.svm").open() as stdin:
            given = command.split()
            done = in_a_process(*given, stdin=stdin) if "-" in given else thresher(*given)
        assert (done.returncode, done.stdout) == (2, "")
        assert "this file is also an input" in done.stderr
        assert done.stderr.count("\n") == 1
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before

    def test_a_model_may_be_updated_in_place(self, x1, tmp_path):
        model = tmp_path / "m.thresher"
        run("train", x1 / "test.svm", "-k", 9, "--passes", 1, "--full", "-o", model)
        run("train", x1 / "test.svm", "--from", model, "--full", "-o", model)
        assert json.loads(run("show", model, "--json").stdout)["rows_seen"] == 1_000
        # An error leaves it as it was.
        before = model.read_bytes()
        (tmp_path / "bad.svm").write_text((x1 / "test.svm").read_text() + "1 x\n")
        run("train", tmp_path / "bad.svm", "--from", model, "-o", model, status=2)
        assert model.read_bytes() == before

    @pytest.mark.parametrize("with_from", [False, True])
    def test_ctrl_c_leaves_the_older_model_alone(self, x1, tmp_path, with_from):
        model, partial = tmp_path / "m.thresher", tmp_path / "m.thresher.interrupted"
        run("train", x1 / "train.svm", "-k", 50, "--passes", 1, "--full", "-o", model)
        before = model.read_bytes()
        options = ["--from", model] if with_from else ["-k", "50"]
        command = [THRESHER, "train", "-", *options, "--full", "-o", model]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        # 16 MB are more than wait to be learned; once they are written, some are learned, and there is no end in sight.
        process.stdin.write((x1 / "train.svm").read_bytes())
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = (part.decode() for part in process.communicate(timeout=60))
        assert process.returncode == 130, err
        assert model.read_bytes() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == [model.name, partial.name]
        n_rows = int(re.search(r"stopped by Ctrl-C: the model has learned ([\d,]+) rows", err)[1].replace(",", ""))
        assert f"and was written to {partial}." in err
        assert f"wrote {partial}" in out
        seen = json.loads(run("show", partial, "--json").stdout)["rows_seen"]
        assert seen == n_rows + 2_000 * with_from
        assert 0 < n_rows <= 2_000

    def test_what_ctrl_c_left_is_named_and_stays(self, x1, tmp_path):
        model, partial = tmp_path / "m.thresher", tmp_path / "m.thresher.interrupted"
        partial.write_bytes(b"the model of another file")
        done = run("train", x1 / "test.svm", "-k", 5, "-o", model)
        line = f"{partial} is still there, from a run that was stopped: remove it if you don't need it."
        assert done.stderr == f"thresher: {line}\n"
        assert partial.read_bytes() == b"the model of another file"


class TestColumns:
    """Options that list columns of a table."""

    HEADER = 'row,a,b,"c,d",label\n'

    @pytest.mark.parametrize(
        ("option", "listed", "each", "columns"),
        [
            ("--categorical", "a,b", ["a", "b"], {"a", "b"}),
            ("--text", 'a,"c,d"', ["a", '"c,d"'], {"a", "c,d"}),
            ("--numeric", '"c,d"', ['"c,d"'], {"c,d"}),
            ("--ignore", 'row,"c,d"', ["row", '"c,d"'], {"a", "b"}),
        ],
    )
    def test_one_list_is_as_good_as_many_options(self, tmp_path, option, listed, each, columns):
        (tmp_path / "a.csv").write_text(self.HEADER + "1,2,3,4,x\n2,3,5,5,y\n" * 30)
        train = ("train", tmp_path / "a.csv", "--roles", "given", "-k", 9)
        run(*train, option, listed, "-o", tmp_path / "one")
        run(*train, *chain.from_iterable((option, name) for name in each), "-o", tmp_path / "many")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
        assert {re.split("[=^]", name)[0] for name in load(tmp_path / "one").selected_names_} == columns

    def test_the_first_column_of_pandas_has_no_name(self, tmp_path):
        (tmp_path / "a.csv").write_text(",a,b,label\n0,1,0,x\n1,0,1,y\n" + "2,1,0,x\n3,0,1,y\n" * 20)
        run("train", tmp_path / "a.csv", "--ignore", "", "-k", 3, "-o", tmp_path / "m")
        assert sorted(load(tmp_path / "m").selected_names_) == ["a", "b"]

    @pytest.mark.parametrize("given", ["a,e", "a,,b", "a, b", "a\nb"])
    def test_what_is_no_column_is_one_line(self, tmp_path, given):
        (tmp_path / "a.csv").write_text(self.HEADER + "1,2,3,4,x\n2,3,5,5,y\n")
        done = thresher("train", tmp_path / "a.csv", "--categorical", given)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "column" in done.stderr


class TestHelp:
    def test_it_names_every_method_and_what_it_can_do(self):
        """From the table of methods, so that a new one is listed without another word."""
        text = " ".join(strip(thresher("train", "--help").stdout).split())
        for method in CLASSIFIERS:
            assert f"{method.cli} ({method.help})" in text
        having = [method for method in METHODS.values() if "gamma" in method.own]
        gamma = ", ".join(method.cli if method in CLASSIFIERS else "numbers" for method in having)
        assert f"{gamma}: larger is slower" in text
        assert "1; fofs: 0.2" in text
        assert "--no-intercept" in text

    def test_it_shows_no_python_types_of_lists(self):
        for command in ("train", "path", "predict", "evaluate", "transform", "convert"):
            text = strip(thresher(command, "--help").stdout)
            assert "list[" not in text
            assert "--ignore" not in text or "COL[,COL…]" in text

    def test_defaults_have_no_brackets_of_their_own(self):
        for command in ("train", "path", "predict", "synth", "demo"):
            text = " ".join(strip(thresher(command, "--help").stdout).split())
            assert "[default: " in text
            assert "[default: (" not in text
        assert "[default: 60s]" in " ".join(strip(thresher("train", "--help").stdout).split())

    def test_its_examples_work(self, x1, model, tmp_path, monkeypatch):
        """Every example, in the order of the commands; `data get` needs the data set, or the network."""
        for name, source in (("train.svm", x1 / "train.svm"), ("test.svm", x1 / "test.svm"), ("model.thresher", model)):
            (tmp_path / name).write_bytes(source.read_bytes())
        for part in "12":
            (tmp_path / f"part-{part}.csv").write_text("a,b,y\n1,0,1\n0,1,-1\n")
        (tmp_path / "prices.csv").write_text("rooms,price\n" + "".join(f"{n % 7},{n % 7 + 0.5}\n" for n in range(20)))
        rows = [f"{k},{k % 7},{k / 3},{k % 2}\n" for k in range(40)]
        (tmp_path / "table.csv").write_text("id,zip,size,y\n" + "".join(rows))
        (tmp_path / "customers.csv").write_text("id,a,b\nx7,1,0\nx8,0,1\n")
        with lzma.open(tmp_path / "mail.jsonl.xz", "wt") as mails:
            mails.writelines(f'{{"label": "{w}", "text": "see {w}"}}\n' for w in ["ham", "spam"] * 20)
        search = f"{Path(THRESHER).parent}{os.pathsep}{os.environ['PATH']}"
        examples = [
            example
            for command in (evaluate_command, path_command, predict, transform, show, convert, synth, train, demo)
            for example in command.EXAMPLES
        ]
        monkeypatch.chdir(tmp_path)
        for example in examples:
            if "|" in example or ">" in example:
                done = subprocess.run(
                    ["bash", "-c", f"set -o pipefail; {example}"], env={**os.environ, "PATH": search},
                    capture_output=True, text=True, timeout=120, check=False,
                )  # fmt: skip
            else:
                done = thresher(*shlex.split(example)[1:])
            assert done.returncode == 0, f"{example}: {done.stderr}"
            shown = strip(thresher(example.split()[1], "--help").stdout)
            assert " ".join(example.split()) in " ".join(shown.split())

    @pytest.mark.parametrize("given", [[], ["--intercept"], ["--no-intercept"]])
    def test_the_intercept_is_asked_for_or_not(self, x1, tmp_path, given):
        run("train", x1 / "test.svm", "-k", 5, *given, "-o", tmp_path / "m")
        default = METHODS["shadow_sofs"].parameters["fit_intercept"].default
        about = json.loads(run("show", tmp_path / "m", "--json").stdout)
        assert about["fit_intercept"] == {"": default, "--intercept": True, "--no-intercept": False}["".join(given)]


def strip(text: str) -> str:
    """Return help without the lines of its boxes."""
    return re.sub("[│╭╮╰╯─]", " ", text)


def all_options() -> set[str]:
    commands = get_command(app).commands.values()
    return {name for each in commands for one in each.params for name in (*one.opts, *one.secondary_opts)}


def test_only_the_command_line_names_its_options():
    """A message of the library names parameters; thresher.cli.flags makes options of them."""
    root = Path(__file__).parents[2]
    files = [path for path in (root / "src/thresher").rglob("*.py") if "cli" not in path.parts]
    for path in [*files, *(root / "cpp/include").rglob("*.hpp"), *(root / "cpp/bindings").rglob("*.cpp")]:
        assert not set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text())) & all_options(), path


@pytest.mark.parametrize(
    ("given", "keyword", "option"),
    [
        (("shuffle", True), "shuffle=True", "--shuffle"),
        (("shuffle", False), "shuffle=False", "--no-shuffle"),
        (("validate", ...), "validate=", "--test"),
        (("classes", ["a", "b"]), "classes=['a', 'b']", "--classes a,b"),
        (("memory", "hash"), "memory='hash'", "--memory hash"),
        (("eta", 0.5), "eta=0.5", "--eta 0.5"),
        (("gamma", 8.0), "gamma=8", "--gamma 8"),
        (("norm", None), "norm=None", "--norm none"),
        (("zero_based", False), "zero_based=False", "--one-based"),
        (("engine", "ray"), "engine='ray'", "--ray"),
        (("n_passes",), "n_passes", "--passes"),
        (("sample_weight", 1), "sample_weight=1", "sample_weight=1"),
    ],
)
def test_parameters_in_python_and_on_the_command_line(given, keyword, option):
    assert (as_keyword(*given), as_option(*given)) == (keyword, option)


def test_a_message_names_every_parameter_by_the_function_for_it():
    """In a finished message a parameter can't be told from the user's own words."""
    root = Path(__file__).parents[2] / "src/thresher"
    of_python = ("cli", "charts", "estimators", "features", "report", "river")  # no message for the command line
    given = re.compile(rf"(?<![\w'\"/])({'|'.join([*flags(), 'engine'])})=")
    found = []
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text())
        messages = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Call)]
        texts = {
            text
            for node in messages
            if isinstance(node, ast.Raise) or getattr(node.func, "id", "") == "warn"
            for text in ast.walk(node)
            if isinstance(text, ast.Constant) and isinstance(text.value, str)
        }
        found += [f"{path}:{text.lineno}" for text in texts if given.search(text.value)]
    assert not [each for each in found if Path(each).relative_to(root).parts[0] not in of_python]


def test_workers_write_messages_as_the_command_line_does(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 400 + "1 0:1\n-1 2:1\n" * 400)
    done = thresher(
        "train", tmp_path / "a.svm", "--shards", 2, "--local", "--workers", 2, "--one-based", "-o", tmp_path / "m"
    )
    assert done.returncode == 2
    assert done.stderr == f"thresher: {tmp_path / 'a.svm'}: id 0 occurs, but --one-based says that ids count from 1.\n"


ONE_MORE_PARAMETER = """
import sys
from dataclasses import replace
from thresher import methods
from thresher.parameters import Between, Parameter
decay = Parameter(0.5, (Between(0.0, 1.0),), "how fast weights decay")
methods.METHODS["pet"] = replace(methods.METHODS["pet"], own={**methods.METHODS["pet"].own, "how_fast": decay})
from thresher.cli import main
main()
"""


class TestTables:
    """Options of methods are in the table of methods; what can't go together is in the table of rules."""

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--how-fast", "7"], "--how-fast of --method pet must be a number above 0 and below 1. Got 7.0 instead."),
            (["--how-fast", "7", "--method", "sofs"], "--how-fast can't be used with --method sofs: pet has it."),
            (["--how-fast", "7", "--from", "m"], "--how-fast can't be used with --from: the model keeps what it was"),
            (["--gamma", "2"], "--gamma can't be used with --method pet: shadow, sofs, arow have it."),
        ],
    )
    def test_a_new_parameter_is_an_option(self, options, line):
        method = [] if options[-2].startswith(("--m", "--from")) else ["--method", "pet"]
        command = [sys.executable, "-c", ONE_MORE_PARAMETER, "train", "rows.svm", *options, *method]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"thresher: {line}")

    def test_a_new_parameter_is_in_the_help(self):
        command = [sys.executable, "-c", ONE_MORE_PARAMETER, "train", "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        text = " ".join(strip(done.stdout).split())
        assert "--how-fast X pet: how fast weights decay. [default: 0.5]" in text

    def test_rules_name_options_that_exist(self):
        options, methods = all_options(), set(map(flags_of, METHODS.values()))
        for rule in RULES:
            assert {*rule.options, *(each.split()[0] for each in rule.needs)} <= options
            assert {*rule.excludes} <= options | methods
            assert bool(rule.needs) != bool(rule.excludes)


def run(*arguments: object, stdin: str | None = None, status: int = 0) -> Done | subprocess.CompletedProcess[str]:
    """Run a command that ends as it should."""
    done = thresher(*arguments) if stdin is None else in_a_process(*arguments, stdin=stdin)
    assert done.returncode == status, done.stderr
    return done


class TestManyClasses:
    @pytest.fixture
    def data(self, tmp_path):
        random = np.random.default_rng(0)
        path = tmp_path / "trees.svm"
        names = ["ash", "elm", "oak"]
        path.write_text(
            "".join(f"{names[k]} {k + 1}:1 {random.integers(4, 40)}:0.5\n" for k in random.integers(0, 3, 600))
        )
        return path

    @pytest.mark.parametrize("asked", [["--multiclass"], ["--classes", "oak,ash,elm"]])
    def test_train_show_predict(self, data, asked, tmp_path):
        model = tmp_path / "m.thresher"
        report = json.loads(run("train", data, "-k", "3", *asked, "-o", model, "--json").stdout)
        assert report["classes"] == ["ash", "elm", "oak"]
        assert sorted(report["selected"]) == ["1", "2", "3"]
        assert np.array(report["weights"]).shape == (3, 3)
        shown = run("show", model).stdout
        assert "ash, elm, oak" in shown
        assert "of class" in shown
        lines = run("predict", model, data, "--margins").stdout.splitlines()
        assert {len(line.split("\t")) for line in lines} == {4}
        assert "600 rows, accuracy 1.0000" in run("evaluate", model, data).stdout

    def test_class_names_may_be_anything(self, tmp_path):
        path, model = tmp_path / "odd.svm", tmp_path / "m.thresher"
        path.write_text("[b] 1:1\nc[/b] 2:1\n1_000 3:1\n" * 50)
        run("train", path, "-k", "3", "--classes", "1_000,[b],c[/b]", "-o", model)
        shown = run("show", model).stdout
        assert "c[/b]" in shown.split("of class")[1]

    def test_labels_that_the_model_does_not_know_are_told(self, data, tmp_path):
        other = tmp_path / "other.svm"
        other.write_text("fir 1:1\nyew 2:1\n")
        done = run("train", data, "-k", "3", "--multiclass", "--test", other)
        assert "2 of 2 rows have labels (fir, yew) not among the model's classes (ash, elm, oak)" in done.stderr

    def test_a_pipe_must_name_them(self, data):
        done = run("train", "-", "-k", "3", "--multiclass", stdin=data.read_text(), status=2)
        assert "can be read only once" in done.stderr
        assert "--classes a,b,c" in done.stderr
        told = run("train", "-", "-k", "3", "--classes", "ash,elm,oak", stdin=data.read_text()).stdout
        assert "classes ash, elm, oak" in told


class TestMethods:
    @pytest.mark.parametrize("method", ONLINE, ids=lambda method: method.cli)
    def test_every_method_trains_and_goes_on(self, x1, method, tmp_path):
        train, test = x1 / "train.svm", x1 / "test.svm"
        model = tmp_path / "m.thresher"
        budget = ["-k", "50"] if method.has_budget else []
        done = run("train", train, *budget, "--method", method.cli, "-o", model, "--full", "--json")
        assert (json.loads(done.stdout)["n_selected"] == 50) == method.has_budget
        run("train", test, "--from", model, "-o", model)
        about = json.loads(run("show", model, "--json").stdout)
        passes = 3 if method.predicts_apart else 1  # of so few rows; a model that goes on makes one
        assert (about["method"], about["rows_seen"]) == (method.name, passes * 2_000 + 500)
