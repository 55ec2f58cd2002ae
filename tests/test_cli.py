"""The command line as a user meets it: real processes, their output and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thresher.cli.training import ONLINE

DATA = Path(os.environ.get("THRESHER_DATA", Path(__file__).parents[2] / "shared" / "data"))
THRESHER = str(Path(sys.executable).with_name("thresher"))


def thresher(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [THRESHER, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, input=stdin)


def test_demo_prints_its_table_and_what_to_try_next():
    done = thresher("demo", "--rows", "5000")
    assert done.returncode == 0
    assert done.stderr == ""  # no terminal, no progress bar
    rows = re.findall(r"│\s+(\d+) │\s+(0\.\d+) │\s+(\d+) of 200 │\s+([\d.]+) │\s+(\d+) │", done.stdout)
    assert [row[0] for row in rows] == ["50", "100", "150", "200", "300", "400"]
    assert float(rows[3][1]) > 0.9
    assert int(rows[3][2]) == 200
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
    assert b"training, B = 400" in on_a_terminal("demo", "--rows", 5_000)


def test_what_the_demo_says_to_try_works():
    from thresher.cli.demo import NEXT

    code = "\n".join(line.strip() for line in NEXT.splitlines() if line.startswith("    "))
    assert "SOFS" in code
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["demo", "--rows", "3"], "thresher: Invalid value for '--rows'"),
        (["demo", "--rows", "many"], "thresher: Invalid value for '--rows'"),
        (["demo", "--seed", "-1"], "thresher: Invalid value for '--seed'"),
        (["dmo"], "thresher: No such command 'dmo'"),
        (["demo", "--rwos", "3"], "thresher: No such option"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, line):
    done = thresher(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


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
        ("import thresher.model", {"scipy", "sklearn", "typer"}),
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
        assert "2,000 rows, 20,000 columns, classes -1 and 1" in done.stdout
        assert "kept 200 features" in done.stdout
        assert model.stat().st_size < 10_000
        shown = json.loads(thresher("show", model, "--json").stdout)
        assert shown["selected"] == len(shown["features"]) == 200
        assert shown["can_go_on_learning"] is False
        assert "… and 195 more" in thresher("show", model, "-n", 5).stdout

    def test_json_is_one_object(self, x1):
        report = json.loads(thresher("train", x1 / "train.svm", "-k", 200, "--test", x1 / "test.svm", "--json").stdout)
        assert report["rows"] == 2_000
        assert report["n_selected"] == len(report["selected"]) == len(report["weights"]) == 200
        assert report["accuracy_on_test"] > 0.8
        assert report["seconds"] > 0

    def test_goes_on_from_a_full_model(self, x1, tmp_path):
        half, whole = tmp_path / "half.thresher", tmp_path / "whole.thresher"
        assert thresher("train", x1 / "train.svm", "-k", 100, "-o", half, "--full").returncode == 0
        done = thresher("train", x1 / "test.svm", "--from", half, "-o", whole, "--full")
        assert done.returncode == 0, done.stderr
        straight = tmp_path / "straight.thresher"
        thresher("train", x1 / "train.svm", x1 / "test.svm", "-k", 100, "-o", straight, "--full")
        assert whole.read_bytes() == straight.read_bytes()
        compact = tmp_path / "compact.thresher"
        thresher("train", x1 / "train.svm", "-k", 100, "-o", compact)
        done = thresher("train", x1 / "test.svm", "--from", compact)
        assert done.returncode == 2
        assert "saved compact" in done.stderr

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

    def test_passes_are_told(self, x1):
        assert "rows in 3 passes, " in thresher("train", x1 / "train.svm", "-k", 5, "--passes", 3).stdout

    def test_a_warning_is_one_line_wherever_it_comes_from(self, x1, tmp_path):
        model = tmp_path / "m.thresher"
        (tmp_path / "zero.svm").write_text("1 0:1\n-1 1:1\n" * 100)
        (tmp_path / "one.svm").write_text("1 2:1\n-1 1:1\n" * 100)
        assert thresher("train", tmp_path / "zero.svm", "-k", 2, "-o", model).returncode == 0
        done = thresher("predict", model, tmp_path / "one.svm", "--accuracy")
        assert done.returncode == 0
        assert done.stderr.startswith("thresher: warning: ")
        assert done.stderr.count("\n") == 1

    def test_a_shuffle_shows_that_it_reads_and_what_it_skips(self, x1, tmp_path):
        path = tmp_path / "bad.svm"
        path.write_text((x1 / "train.svm").read_text() + "1 nonsense\n")
        shown = on_a_terminal("train", path, "-k", 50, "--shuffle", "--on-bad-line", "skip")
        for part in (b"reading", b"training", b"1 line was skipped: "):
            assert part in shown

    def test_tables(self, tmp_path):
        (tmp_path / "t.csv").write_text("age,kind,height\n3,cat,0.5\n9,dog,0.9\n4,cat,0.4\n8,dog,1.1\n")
        done = thresher("train", tmp_path / "t.csv", "--label", "kind", "-k", 2, "-o", tmp_path / "m.thresher")
        assert done.returncode == 0, done.stderr
        assert "classes cat and dog" in done.stdout
        assert "age" in thresher("show", tmp_path / "m.thresher").stdout
        assert (
            thresher("predict", tmp_path / "m.thresher", tmp_path / "t.csv", "--label", "kind").stdout.count("\n") == 4
        )

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

    @pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
    def test_news20_as_typed(self):
        news = DATA / "news20.binary.bz2"
        report = json.loads(thresher("train", news, "-k", 5000, "--shuffle", "--test", news, "--json").stdout)
        assert (report["rows"], report["n_features"], report["n_selected"]) == (19_996, 1_355_191, 5_000)
        assert report["accuracy_on_test"] > 0.93
        assert "the labels come in" in thresher("train", news, "-k", 5000).stderr


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
        assert float(thresher("predict", model, x1 / "test.svm", "--accuracy").stdout) == pytest.approx(accuracy)
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
        assert thresher("convert", x1 / "test.svm", tmp_path / "a.thc").returncode == 0
        for ending in ("svm", "svm.gz", "svm.zst", "svm.xz", "svm.bz2"):
            assert thresher("convert", tmp_path / "a.thc", tmp_path / f"a.{ending}").returncode == 0
            thresher("convert", tmp_path / f"a.{ending}", tmp_path / "back.svm")
            assert (tmp_path / "back.svm").read_bytes() == (x1 / "test.svm").read_bytes()

    def test_data(self):
        listed = thresher("data", "list").stdout
        assert all(name in listed for name in ("relathe", "ccat", "news20", "w8a"))
        done = thresher("data", "get", "nothing")
        assert (done.returncode, done.stdout) == (2, "")
        assert "unknown data set 'nothing'" in done.stderr


class TestMistakes:
    """One line on stderr, exit 2, nothing written."""

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (b"1 1:1\n-1 2:abc\n", "data.svm, line 2: '2:abc': the value must be a finite number"),
            (b"1 1:1\n-1 2:nan\n", "data.svm, line 2: '2:nan': the value must be a finite number"),
            (b"1 1:1\n-1 -1:3\n", "data.svm, line 2: '-1:3': an id must be a whole number"),
            (b"1 1:1\n-1 2\n", "data.svm, line 2: '2' is not id:value"),
            (b"1 1:1\n2 1:1\n3 1:1\n", "data.svm, line 3: the label 3 is a third class, after 1 and 2"),
            (b"", "data.svm: there are no rows"),
            (b"1 1:1\n1 2:1\n", "data.svm: all rows have the label 1"),
            (b"\x1f\x8b\x08\x00\x00", "data.svm: the gz archive is damaged or truncated"),
            (b"\x28\xb5\x2f\xfd\x04", "data.svm: the zst archive is damaged or truncated"),
            (bytes(range(256)), "data.svm, line "),
            (b"PAR1nonsense", "data.svm: "),
            (b"THRESHC1", "data.svm: the cache is truncated"),
        ],
    )
    def test_data(self, tmp_path, content, line):
        (tmp_path / "data.svm").write_bytes(content)
        done = thresher("train", tmp_path / "data.svm", "-o", tmp_path / "m.thresher")
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith(f"thresher: {tmp_path / line}")
        assert done.stderr.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == ["data.svm"]

    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            (["train", "nowhere.svm"], "nowhere.svm: there is no such file"),
            (["train"], "Missing argument"),
            (["train", "{train}", "-k", "0"], "Invalid value for '-k'"),
            (["train", "{train}", "--gamma", "0"], "gamma of shadow_sofs must be a number above 0. Got 0.0 instead"),
            (["train", "{train}", "--norm", "l3"], "--norm must be l2 or none. Got 'l3' instead"),
            (
                ["train", "{train}", "--method", "magic"],
                "--method must be one of shadow, sofs, pet, fofs, arow, ogd, mrmr, l1svm, fgm. Got 'magic'",
            ),
            (["train", "{train}", "--classes", "a"], "--classes must name two classes"),
            (["train", "{train}", "-o", "no/where/m.thresher"], "no/where/m.thresher: there is no folder no/where"),
            (["train", "{train}", "--test", "nowhere.svm"], "nowhere.svm: there is no such file"),
            (["train", "{train}", "--on-bad-line", "maybe"], "on_bad_line must be one of error, skip"),
            (["train", "{train}", "--format", "xml"], "format must be one of auto"),
            (["train", "-", "--passes", "2"], "standard input can be read only once, but passes=2"),
            (["train", "-", "--shuffle"], "standard input can't be shuffled"),
            (["train", "{train}", "-o", "-"], "-o - : a model is no text"),
            (["train", "{train}", "--method", "mrmr", "--seed", "5000000000"], "random_state of mrmr must be"),
            (["predict", "{train}", "{train}"], "{train}: this is not a thresher model"),
            (["show", "nowhere.thresher"], "nowhere.thresher: there is no such file"),
            (["convert", "{train}", "out.xyz"], "out.xyz: the name must end in .thc"),
            (["synth", "x3", "-o", "-"], "there is no synthetic data set 'x3'"),
        ],
    )
    def test_arguments(self, x1, tmp_path, arguments, line):
        train = x1 / "train.svm"
        done = subprocess.run(
            [THRESHER, *(argument.format(train=train) for argument in arguments)],
            capture_output=True, text=True, timeout=60, cwd=tmp_path, input="1 1:1\n-1 2:1\n", check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith(f"thresher: {line.format(train=train)}")
        assert done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []

    def test_skipping_counts_and_reports(self, tmp_path):
        (tmp_path / "d.svm").write_text("1 1:1\nx y\n-1 2:1\n1 z\n")
        done = thresher("train", tmp_path / "d.svm", "--on-bad-line", "skip")
        assert done.returncode == 0
        assert "2 lines were skipped; the first is" in done.stderr
        assert "d.svm, line 2: 'y' is not id:value" in done.stderr


def run(*arguments: object, stdin: str | None = None, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command that ends as it should."""
    done = thresher(*arguments, stdin=stdin)
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
        assert "3: ash, elm, oak" in shown
        assert "of class" in shown
        lines = run("predict", model, data, "--margins").stdout.splitlines()
        assert {len(line.split("\t")) for line in lines} == {4}
        assert float(run("predict", model, data, "--accuracy").stdout) == 1.0

    def test_class_names_may_be_anything(self, tmp_path):
        path, model = tmp_path / "odd.svm", tmp_path / "m.thresher"
        path.write_text("[b] 1:1\nc[/b] 2:1\n1_000 3:1\n" * 50)
        run("train", path, "-k", "3", "--classes", "1_000,[b],c[/b]", "-o", model)
        shown = run("show", model).stdout
        assert "c[/b]" in shown.split("of class")[1]

    def test_known_classes_are_not_looked_for(self, data, tmp_path):
        done = run("train", data, "-k", "3", "--multiclass", "--classes", "ash,elm,oak", status=2)
        assert "--multiclass can't be used with --classes" in done.stderr

    def test_labels_that_the_model_does_not_know_are_told(self, data, tmp_path):
        other = tmp_path / "other.svm"
        other.write_text("fir 1:1\nyew 2:1\n")
        assert "not one row was right" in run("train", data, "-k", "3", "--multiclass", "--test", other).stderr

    def test_a_pipe_must_name_them(self, data):
        done = run("train", "-", "-k", "3", "--multiclass", stdin=data.read_text(), status=2)
        assert "can be read only once" in done.stderr
        assert "--classes a,b,c" in done.stderr
        told = run("train", "-", "-k", "3", "--classes", "ash,elm,oak", stdin=data.read_text()).stdout
        assert "classes 3: ash, elm, oak" in told

    def test_a_third_class_is_told_what_to_do(self, data):
        done = run("train", data, "-k", "3", status=2)
        assert re.search(r"line \d+: the label \w+ is a third class", done.stderr)
        assert "--multiclass" in done.stderr


class TestMethods:
    @pytest.mark.parametrize("method", ONLINE)
    def test_every_method_trains_and_goes_on(self, x1, method, tmp_path):
        train, test = x1 / "train.svm", x1 / "test.svm"
        model = tmp_path / "m.thresher"
        budget = [] if method in ("arow", "ogd") else ["-k", "50"]
        report = json.loads(run("train", train, *budget, "--method", method, "-o", model, "--full", "--json").stdout)
        assert report["n_selected"] == 50 if budget else report["n_selected"] > 1_000
        run("train", test, "--from", model, "-o", model)
        assert json.loads(run("show", model, "--json").stdout)["method"].startswith(method)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["--method", "ogd", "-k", "5"], "-k can't be used with --method ogd: it keeps all features"),
            (["--method", "pet", "--gamma", "1"], "--gamma can't be used with --method pet: it has --eta, --loss"),
            (["--method", "fofs", "--eta", "10", "--lam", "0.1"], "eta=10 and lam=0.1"),
            (["--method", "fofs", "--loss", "squared"], "loss of fofs must be one of 'perceptron', 'hinge'"),
            (["--classes", "a"], "--classes must name two classes or more"),
            (["--classes", "a,b,a"], "--classes must name two classes or more"),
        ],
    )
    def test_parameters_that_do_not_fit(self, x1, given, message):
        assert message in run("train", x1 / "train.svm", *given, status=2).stderr
