"""Training on Ray: a real one, started here, of one node and of two. Run by `make test-system`."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import ray
from command_line import in_a_process

from thresher import SOFS, ShadowSOFS, datasets, distributed, load, open_stream, save, train
from thresher.streams import DataError
from thresher.streams.writing import write_stream

# Ray warns of its own settings.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers can't import this file
# With a token in ~/.ray, which any local Ray leaves there, `ray start` would refuse whoever comes without one.
os.environ["RAY_AUTH_MODE"] = "disabled"
RAY = str(Path(sys.executable).with_name("ray"))
SHARDS = {"n_shards": 6, "syncs": 4}
# Rows of one length, so that cuts by bytes and cuts by rows are the same.
N_ROWS, N_VALUES = 2_400, 10


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Write the same rows as svmlight, all lines of one length, and as Parquet in several files."""
    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(0)
    ids = np.array([np.sort(random.choice(np.arange(1_000, 3_000), N_VALUES, replace=False)) for _ in range(N_ROWS)])
    weights = np.where(np.arange(3_000) % 10 == 0, random.choice([-1.0, 1.0], 3_000), 0)
    values = random.integers(1, 10, ids.shape) / 10
    labels = np.where((weights[ids] * values).sum(axis=1) > 0, 1, 0)
    lines = [
        f"{label} {' '.join(f'{id_}:{value:.1f}' for id_, value in zip(*row, strict=True))}\n"
        for label, *row in zip(labels, ids, values, strict=True)
    ]
    (folder / "rows.svm").write_text("".join(lines))
    (folder / "parquet").mkdir()
    for k, part in enumerate(np.array_split(np.arange(N_ROWS), [500, 1_111, 2_000])):
        table = pa.table(
            {"label": labels[part], "ids": list(ids[part]), "values": list(values[part].astype(np.float32))}
        )
        pa.parquet.write_table(table, folder / "parquet" / f"{k}.parquet", row_group_size=170)
    return folder


@pytest.fixture(scope="module")
def expected(rows):
    """Train in this process, one shard after the other."""
    model = ShadowSOFS(50)
    distributed.train(model, rows / "rows.svm", **SHARDS, engine="local", workers=1)
    return bytes_of(model, rows)


@pytest.fixture(scope="module")
def two_nodes():
    """Start a cluster of two nodes with one core each, on this machine; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    common = ["--num-cpus=1", "--object-store-memory=200000000", "--disable-usage-stats", "--block"]
    nodes = (
        ["--head", f"--port={address.partition(':')[2]}", "--include-dashboard=false", '--resources={"first": 1}'],
        [f"--address={address}", '--resources={"second": 1}'],
    )
    started = []
    try:
        for node in nodes:
            command = [RAY, "start", *common, *node]
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True))
            _wait_for_nodes(address, len(started))
        yield address
    finally:
        for each in started:  # asked to stop, a node would take half a minute
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def _wait_for_nodes(address, n):
    """Wait until a cluster has n nodes."""
    code = f"""if True:
        import ray, sys
        ray.init({address!r}, log_to_driver=False, logging_level="critical")
        sys.exit(sum(node["Alive"] for node in ray.nodes()) != {n})
    """
    end = time.monotonic() + 120
    while (done := subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)).returncode != 0:
        assert time.monotonic() < end, f"no {n} nodes within two minutes: {done.stderr}"


@pytest.fixture(scope="class")
def connected(two_nodes):
    """Connect once for all tests of a class: Ray starts new workers for each connection."""
    ray.init(address=two_nodes, log_to_driver=False, logging_level=logging.ERROR)
    yield
    ray.shutdown()


def bytes_of(model, folder):
    save(model, folder / "compared.thresher")
    return (folder / "compared.thresher").read_bytes()


def test_a_ray_of_its_own_starts_and_stops(rows, expected):
    model = ShadowSOFS(50)
    history = distributed.train(model, rows / "rows.svm", **SHARDS)
    assert not ray.is_initialized()
    assert bytes_of(model, rows) == expected
    # Three passes; the last point is that of the closing one, in which no row is new.
    assert history.rows == list(range(600, 7_201, 600))


def test_two_nodes(rows, expected, two_nodes):
    model, nodes = ShadowSOFS(50), set()

    def look_at_nodes(_):
        nodes.update(node["NodeID"] for node in ray.nodes() if node["Alive"])

    distributed.train(model, rows / "rows.svm", **SHARDS, address=two_nodes, callback=look_at_nodes)
    assert not ray.is_initialized()
    assert len(nodes) == 2
    assert bytes_of(model, rows) == expected


def test_the_address_is_that_of_the_connection(rows, connected, two_nodes):
    """However it is written; that of another cluster is refused, not ignored."""
    ip, port = ray.get_runtime_context().gcs_address.split(":")
    for address in (f"{ip}:{port}", f"localhost:{port}", two_nodes, "auto"):
        distributed.train(SOFS(5), rows / "rows.svm", n_shards=2, syncs=1, passes=1, address=address)
    for address in (f"{ip}:1", f"192.0.2.1:{port}"):
        with pytest.raises(ValueError, match=f"^address='{address}': this process is connected to another cluster"):
            distributed.train(SOFS(5), rows / "rows.svm", n_shards=2, address=address)
    assert ray.is_initialized()


def test_both_nodes_take_part(rows, connected):
    """A task needs a core, and each node has one."""
    from thresher.distributed.ray_engine import OnRay

    engine = OnRay(ray)
    seen = engine.merge(_united, engine.map(_node_after, (), [(2.0,)] * 4))
    assert len(seen) == 2


def _node_after(seconds):
    time.sleep(seconds)
    return {ray.get_runtime_context().get_node_id()}


def _united(sets):
    return set().union(*sets)


def test_a_worker_that_is_killed_does_not_change_the_model(rows, expected, connected):
    killed, is_done = [], threading.Event()

    def kill_a_worker(history):
        """Once, while the shards of the second sync or a later one learn."""
        if len(history.rows) == 1:
            threading.Thread(target=_kill_a_worker, args=(killed, is_done)).start()

    model = ShadowSOFS(50)
    try:
        distributed.train(model, rows / "rows.svm", **SHARDS, callback=kill_a_worker)
    finally:
        is_done.set()
    assert killed
    assert ray.is_initialized()  # as it was
    assert bytes_of(model, rows) == expected


def _kill_a_worker(killed, is_done):
    while not is_done.is_set():
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_at_work = (folder / "cmdline").read_bytes().startswith(b"ray::_run")
            except OSError:
                continue
            if is_at_work:
                os.kill(int(folder.name), signal.SIGKILL)
                killed.append(int(folder.name))
                return


def read_parquet(rows):
    """Return the rows as a Dataset, in few blocks: Ray would make 200 of them, however few rows there are."""
    return ray.data.read_parquet(str(rows / "parquet"), override_num_blocks=8)


class TestDatasets:
    def test_the_same_shards_give_the_same_model(self, rows, expected, connected):
        dataset = read_parquet(rows)
        model = ShadowSOFS(50)
        distributed.train(model, dataset, **SHARDS)
        assert bytes_of(model, rows) == expected

    def test_as_a_stream(self, rows, connected):
        """Positions, shards, and plain training."""
        stream = open_stream(read_parquet(rows))
        assert stream.n_rows == N_ROWS
        one, other = ShadowSOFS(50), ShadowSOFS(50)
        train(one, stream, shuffle=False)
        train(other, rows / "rows.svm", shuffle=False)
        assert bytes_of(one, rows) == bytes_of(other, rows)
        batches = list(stream.batches())
        rest = sum(batch.n_rows for batch in stream.batches(batches[0].end))
        assert batches[0].n_rows + rest == N_ROWS
        assert open_stream(ray.data.read_parquet(str(rows / "parquet")), zero_based=True).id_base == 0

    def test_text(self, rows, connected, tmp_path):
        words = [{"label": k % 2, "t": f"w{k % 2} x{k % 5}"} for k in range(600)]
        dataset = ray.data.from_items(words)
        model = ShadowSOFS(3)
        distributed.train(model, open_stream(dataset, text="t"), n_shards=3, syncs=2)
        assert {"w0", "w1"} <= set(model.get_feature_names_out())

    def test_a_bad_row(self, connected):
        dataset = ray.data.from_items([{"label": k % 2, "ids": [k], "values": [1.0]} for k in range(100)])
        broken = dataset.map(lambda row: row if row["ids"] != [40] else {**row, "values": [float("nan")]})
        model = ShadowSOFS(3)
        with pytest.raises(DataError, match="the Ray Dataset, row 41: 40:nan; ids must be"):
            distributed.train(model, broken, n_shards=3, syncs=2)
        assert not hasattr(model, "classes_")

    def test_one_that_fails(self, connected):
        with pytest.raises(DataError, match="the Ray Dataset can't be computed: "):
            open_stream(ray.data.range(10).map(lambda _: 1 / 0))
        with pytest.raises(DataError, match="the Ray Dataset has no rows"):
            open_stream(ray.data.from_items([{"label": 1}]).limit(0))

    def test_it_needs_ray(self, rows, connected):
        with pytest.raises(ValueError, match="can be read on Ray alone"):
            distributed.train(ShadowSOFS(5), read_parquet(rows), n_shards=2, engine="local")


class TestBadInput:
    def test_nobody_at_the_address(self, rows):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        model = ShadowSOFS(5)
        with pytest.raises(ConnectionError, match="no answer from there"):
            distributed.train(model, rows / "rows.svm", n_shards=2, address=address)
        done = in_a_process("train", rows / "rows.svm", "--shards", 2, "--ray", address)
        assert done.returncode == 2
        assert f"thresher: --ray {address}: no answer from there" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not hasattr(model, "classes_")

    def test_someone_else_at_the_address(self, rows):
        """A server that takes connections, and is not Ray."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            done = in_a_process("train", rows / "rows.svm", "--shards", 2, "--ray", address)
        assert done.returncode == 2
        assert done.stderr.startswith(f"thresher: --ray {address}: the server there is not Ray")
        assert done.stderr.count("\n") == 1

    def test_a_malformed_row(self, rows, two_nodes, tmp_path):
        lines = (rows / "rows.svm").read_text().splitlines(keepends=True)
        lines[1_500] = "1 7:x\n"
        (tmp_path / "bad.svm").write_text("".join(lines))
        done = in_a_process("train", tmp_path / "bad.svm", "--shards", 4, "--ray", two_nodes)
        assert done.returncode == 2
        assert f"{tmp_path / 'bad.svm'}, line 1501: " in done.stderr
        assert done.stderr.count("\n") == 1


def test_command_line(rows, expected, two_nodes, tmp_path):
    common = ["train", rows / "rows.svm", "-k", 50, "--full", "--shards", 6, "--syncs", 4]
    for where in ([], [two_nodes]):
        done = in_a_process(*common, "-o", tmp_path / "m.thresher", "--ray", *where)
        assert done.returncode == 0, done.stderr
        assert bytes_of(load(tmp_path / "m.thresher"), rows) == expected


def test_a_generator(connected, tmp_path):
    """A stream without files is handed over as it is."""
    stream = datasets.make_x2(2_000, n_features=1_000, n_informative=50)
    one, other = ShadowSOFS(50), ShadowSOFS(50)
    distributed.train(one, stream, n_shards=3, syncs=2)
    distributed.train(other, stream, n_shards=3, syncs=2, engine="local", workers=1)
    assert bytes_of(one, tmp_path) == bytes_of(other, tmp_path)
    write_stream(stream.batches(), str(tmp_path / "a.thc"))
    distributed.train(one, tmp_path / "a.thc", n_shards=3, syncs=2)
    assert one.n_samples_seen_ == 3 * 2_000 + 2_000  # three passes of a new model, one of a model that goes on
