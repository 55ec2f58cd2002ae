"""Downloads from a real server that closes connections early, stalls, or sends wrong data."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import shutil
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest
import real_data

from thresher import datasets
from thresher.datasets import download as download_module
from thresher.datasets import registry
from thresher.datasets.download import download

CONTENT = b"".join(b"%d 1:%d 5:2\n" % (r % 2, r + 1) for r in range(30_000))


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT; `mood` says how."""

    mood = "well"
    location = ""
    ranges: list[str | None]
    tries = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.tries += 1
        wanted = self.headers.get("Range")
        server.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if server.mood == "missing":
            return self.send_error(404)
        if server.mood.startswith("elsewhere"):
            server.mood = "well" if server.mood == "elsewhere once" else server.mood
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return None
        if server.mood == "no ranges":
            start, wanted = 0, None
        if start >= len(CONTENT):
            return self.send_error(416)
        body = CONTENT[start:]
        if server.mood == "another file":
            body = b"<html>" + body[6:]
        self.send_response(206 if wanted else 200)
        lengths = {"no length": None, "huge length": 3 << 30}
        if (length := lengths.get(server.mood, len(body))) is not None:
            self.send_header("Content-Length", str(length))
        if wanted:
            shown = start + 7 if server.mood == "wrong range" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()
        broken = server.mood in ("breaks off", "wrong range") and server.tries == 1
        if broken or server.mood == "always breaks off":
            body = body[: len(body) // 2]
        if server.mood == "stalls" and server.tries == 1:
            self.wfile.write(body[:1000])
            self.wfile.flush()
            time.sleep(2)
            return None
        return self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download_module, "TIMEOUT", 0.5)
    with Server(("127.0.0.1", 0), Handler) as running:
        running.ranges = []
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        running.url = f"http://127.0.0.1:{running.server_port}/data.svm"
        yield running
        running.shutdown()


DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize("mood", ["well", "breaks off", "stalls", "no ranges", "wrong range"])
def test_arrives_whole(server, tmp_path, mood):
    server.mood = mood
    download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert (tmp_path / "data.svm").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["data.svm"]
    if mood == "breaks off":
        assert server.ranges == [None, f"bytes={len(CONTENT) // 2}-"]  # it resumed and did not start again


def test_goes_on_in_a_later_call(server, tmp_path):
    server.mood = "always breaks off"
    with pytest.raises(OSError, match=r"the download failed .*was lost.*try again to resume"):
        download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert not (tmp_path / "data.svm").exists()
    have = (tmp_path / "data.svm.part").stat().st_size
    assert have > len(CONTENT) // 2
    server.mood, server.ranges = "well", []
    download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert server.ranges == [f"bytes={have}-"]
    assert (tmp_path / "data.svm").read_bytes() == CONTENT


def test_a_whole_part_needs_no_more(server, tmp_path):
    (tmp_path / "data.svm.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert (tmp_path / "data.svm").read_bytes() == CONTENT


def test_another_file_is_refused_and_removed(server, tmp_path):
    server.mood = "another file"
    with pytest.raises(ValueError, match="the downloaded file is not the data set: its checksum"):
        download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert list(tmp_path.iterdir()) == []


def test_what_the_server_says_is_told(server, tmp_path):
    server.mood = "missing"
    with pytest.raises(OSError, match="the server answers 404"):
        download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    with pytest.raises(OSError, match="the download failed"):
        download("http://127.0.0.1:1/data.svm", tmp_path / "data.svm", sha256=DIGEST)


@pytest.mark.parametrize("mood", ["well", "no length"])
@pytest.mark.parametrize("n_resumed", [0, 1_000])
def test_a_download_that_is_too_large_is_given_up(server, tmp_path, monkeypatch, mood, n_resumed):
    monkeypatch.setattr(download_module, "_SLACK", 1_000)
    monkeypatch.setattr(download_module, "_BLOCK", 4_096)
    server.mood = mood
    if n_resumed:
        (tmp_path / "data.svm.part").write_bytes(CONTENT[:n_resumed])
    with pytest.raises(OSError, match=r"data.svm: the download was refused: it is larger than 101,000 bytes\."):
        download(server.url, tmp_path / "data.svm", sha256=DIGEST, n_bytes=100_000)
    assert list(tmp_path.iterdir()) == []
    assert server.tries == 1
    server.mood = "well"
    download(server.url, tmp_path / "data.svm", sha256=DIGEST, n_bytes=len(CONTENT) - 1_000)  # within the room


def test_without_a_known_size_there_is_a_limit_too(server, tmp_path):
    server.mood = "huge length"
    with pytest.raises(OSError, match="the download was refused: it is larger than 2 GB"):
        download(server.url, tmp_path / "data.svm", sha256=DIGEST)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this machine, which must be trusted by its name."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    here = tmp_path_factory.mktemp("certificate")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 "
        "-keyout key.pem -out cert.pem"
    )
    subprocess.run(command.split(), cwd=here, check=True, capture_output=True)
    return here


@pytest.fixture
def safe_server(certificate, monkeypatch):
    """The server behind https."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    monkeypatch.setattr(download_module, "TIMEOUT", 5)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with Server(("127.0.0.1", 0), Handler) as running:
        running.ranges = []
        running.socket = context.wrap_socket(running.socket, server_side=True)
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        running.url = f"https://127.0.0.1:{running.server_port}/data.svm"
        yield running
        running.shutdown()


class TestRedirects:
    def test_what_is_safe_stays_so(self, server, safe_server, tmp_path):
        safe_server.mood, safe_server.location = "elsewhere", server.url
        with pytest.raises(
            OSError, match=r"https://.*the download was refused: it is redirected from https to http://"
        ):
            download(safe_server.url, tmp_path / "data.svm", sha256=DIGEST)
        assert (safe_server.tries, server.tries) == (1, 0)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("location", ["ftp://127.0.0.1/data.svm", "file:///etc/passwd", "data:text/plain,x"])
    def test_no_other_scheme(self, server, safe_server, tmp_path, location):
        for each in (server, safe_server):
            each.mood, each.location = "elsewhere", location
            with pytest.raises(OSError, match=r"refused: it is redirected from|is not allowed"):
                download(each.url, tmp_path / "data.svm", sha256=DIGEST)
            assert each.tries == 1

    def test_others_are_followed(self, server, safe_server, tmp_path):
        for each, location in ((safe_server, "/other.svm"), (server, "/other.svm"), (server, safe_server.url)):
            safe_server.mood = server.mood = "well"
            each.mood, each.location = "elsewhere once", location
            download(each.url, tmp_path / "data.svm", sha256=DIGEST)
            assert (tmp_path / "data.svm").read_bytes() == CONTENT


class TestRegistry:
    @pytest.fixture
    def elsewhere(self, monkeypatch, tmp_path):
        monkeypatch.setenv("THRESHER_DATA", str(tmp_path / "mine"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return tmp_path

    @pytest.fixture
    def known(self, monkeypatch, server):
        entry = registry.Dataset(
            "tiny", ("data.svm",), 30_000, 5, 60_000, 2, "for tests", server.url, len(CONTENT), DIGEST
        )
        monkeypatch.setitem(registry.KNOWN, "tiny", entry)
        return entry

    def test_fetches_once_and_loads(self, server, elsewhere, known):
        for _ in range(2):
            X, y = datasets.load("tiny")
            assert X.shape == (30_000, 5)
            assert (X[4, 0], X[4, 4], y[4]) == (5.0, 2.0, 0.0)
        assert server.tries == 1
        assert registry.find("tiny") == elsewhere / "cache" / "thresher" / "data.svm"

    @pytest.mark.parametrize("change", [{"sha256": DIGEST[::-1]}, {"n_bytes": len(CONTENT) - 1}])
    def test_another_file_is_refused(self, monkeypatch, elsewhere, known, change):
        monkeypatch.setattr(download_module, "_SLACK", 0)
        monkeypatch.setitem(registry.KNOWN, "tiny", dataclasses.replace(known, **change))
        with pytest.raises((ValueError, OSError), match=r"the downloaded file is not the data set|it is larger than"):
            datasets.load("tiny")
        assert registry.find("tiny") is None

    def test_what_can_be_downloaded_is_known_byte_by_byte(self):
        for known in registry.KNOWN.values():
            if known.url is not None:
                assert known.url.startswith("https://")
                assert len(bytes.fromhex(known.sha256)) == 32
                assert known.n_bytes > 0
        assert registry.KNOWN["news20"].url is not None

    def test_the_file_that_is_here_is_the_one_that_is_known(self):
        known, path = registry.KNOWN["news20"], real_data.path_of("news20.binary.bz2")
        assert path.stat().st_size == known.n_bytes
        assert hashlib.sha256(path.read_bytes()).hexdigest() == known.sha256

    def test_names(self, elsewhere):
        assert registry._dataset("news20.binary") is registry.KNOWN["news20"]
        assert registry._dataset("news20.multiclass.svm.xz") is registry.KNOWN["news20.multiclass"]
        assert registry._dataset("news20") is registry.KNOWN["news20"]
        with pytest.raises(ValueError, match="unknown data set 'nothing'; the known ones are relathe"):
            datasets.load("nothing")
        with pytest.raises(FileNotFoundError, match=r"ccat: the file ccat.svm.xz was not found .* set THRESHER_DATA"):
            datasets.load("ccat")
        with pytest.raises(FileNotFoundError, match=r"w8a: .* get it from https://www.csie.ntu.edu.tw/.*#w8a, put it"):
            datasets.load("w8a")

    def test_looks_in_the_named_folder_and_the_cache_and_nowhere_else(self, monkeypatch, elsewhere):
        """A folder ../shared/data next to the user's working directory is not used."""
        shared = elsewhere / "shared" / "data"
        for folder in (shared, elsewhere / "work", elsewhere / "mine", elsewhere / "cache" / "thresher"):
            folder.mkdir(parents=True)
        (shared / "basehock.svm.xz").touch()
        monkeypatch.chdir(elsewhere / "work")
        assert registry.find("basehock") is None
        (elsewhere / "cache" / "thresher" / "basehock.svm.xz").touch()
        assert registry.find("basehock") == elsewhere / "cache" / "thresher" / "basehock.svm.xz"
        (elsewhere / "mine" / "basehock.svm.xz").touch()
        assert registry.find("basehock") == elsewhere / "mine" / "basehock.svm.xz"
        monkeypatch.delenv("THRESHER_DATA")
        assert registry.find("basehock") == elsewhere / "cache" / "thresher" / "basehock.svm.xz"


@pytest.mark.parametrize("name", ["basehock", "ccat", "w8a", "news20.multiclass"])
def test_real_data_load_as_scikit_learn_loads_them(name):
    expected, labels = real_data.load(name)
    X, y = datasets.load(name)
    assert X.shape[0] == expected.shape[0]
    np.testing.assert_array_equal(y, labels)
    assert (X[:, : expected.shape[1]] != expected).nnz == 0
    assert X.nnz == registry.KNOWN[name].n_nonzeros
