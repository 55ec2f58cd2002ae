"""Too little memory is one line, also where Python has another exception for it than MemoryError."""

from __future__ import annotations

import pytest
from command_line import thresher


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libscipy_openblas.so: failed to map segment from shared object"),
        ImportError("libx.so: cannot allocate memory in static TLS block"),
        MemoryError(),
    ],
    ids=["thread", "library", "memory of a library", "memory"],
)
def test_is_one_line(tmp_path, monkeypatch, error):
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n" * 5)

    def fail(*_arguments, **_options):
        try:
            raise error
        except ImportError as inner:
            raise ImportError("\n\nnumpy could not be imported\n\n") from inner

    monkeypatch.setattr("thresher.streams.files.in_order", fail)
    done = thresher("train", tmp_path / "rows.svm")
    assert (done.returncode, done.stderr) == (2, "thresher: not enough memory.\n")


@pytest.mark.parametrize("error", [RuntimeError("something else"), ImportError("No module named 'x'")])
def test_mistakes_of_ours_are_not_hidden(tmp_path, monkeypatch, error):
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n" * 5)

    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr("thresher.streams.files.in_order", fail)
    with pytest.raises(type(error), match=str(error)):
        thresher("train", tmp_path / "rows.svm")
