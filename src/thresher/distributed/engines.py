"""Where workers run: an engine calls a function many times and merges the results in a fixed tree.

The tree depends on the number of results alone, so the merged result is the same bytes on every engine, whatever the
number of workers. An error in the data moves up the tree as a Failure, in one line: an exception would arrive with the
worker's traceback.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from thresher.batch import DataError
from thresher.messages import Spelling, spell_parameters, spelling
from thresher.threads import default_threads

T = TypeVar("T")
Function: TypeAlias = Callable[..., Any]
Calls: TypeAlias = Sequence[tuple[Any, ...]]  # the arguments of each
After: TypeAlias = Callable[[], None]

# How many results are merged at a time.
FAN_IN = 8
_MOST_DEATHS = 3  # of a worker in one merge


def do_nothing() -> None:
    """Stand for the `after_each` of calls that need none."""


class Engine(Protocol):
    """Calls functions somewhere. A handle stands for a result that may not be there yet."""

    def map(
        self, function: Function, common: tuple[Any, ...], calls: Calls, after_each: After = do_nothing
    ) -> list[Any]:
        """Start function(*common, *call) for each call; return their handles, in order.

        Each object of `common` is sent once, and not again if it was in the last call.
        `after_each` is called after each call, now or while `merge` waits.
        """

    def merge(self, function: Function, handles: list[Any], *arguments: Any) -> Any:
        """Wait for the results and return function(results, *arguments), applied group by group up a tree.

        Raise DataError if a call has failed.
        """


@dataclass(frozen=True)
class Failure:
    """Why a call failed, in one line."""

    message: str


def attempt(function: Function, *arguments: Any) -> Any:
    """Return function(*arguments), or a Failure for an error about the data."""
    try:
        return function(*arguments)
    except (ValueError, OSError, MemoryError) as error:
        return Failure(str(error))


def join(function: Function, results: list[Any], *arguments: Any) -> Any:
    """Return function(results, *arguments), or the first Failure among the results."""
    failure = next((each for each in results if isinstance(each, Failure)), None)
    return function(results, *arguments) if failure is None else failure


def result_or_raise(result: T | Failure) -> T:
    """Return the result of the last merge; raise DataError for a Failure."""
    if isinstance(result, Failure):
        raise DataError(result.message)
    return result


def merge_groups(handles: list[T]) -> list[list[T]]:
    """Return the groups that are merged first."""
    return [handles[k : k + FAN_IN] for k in range(0, len(handles), FAN_IN)]


class InProcess:
    """Runs everything in this process, one call after the other: the reference for the other engines."""

    def map(
        self, function: Function, common: tuple[Any, ...], calls: Calls, after_each: After = do_nothing
    ) -> list[Any]:
        """Make all calls."""
        results = []
        for call in calls:
            results.append(attempt(function, *common, *call))
            after_each()
        return results

    def merge(self, function: Function, handles: list[Any], *arguments: Any) -> Any:
        """Merge the results."""
        while len(handles) > 1:
            handles = [join(function, group, *arguments) for group in merge_groups(handles)]
        return result_or_raise(join(function, handles, *arguments))


class SharedObjects:
    """Objects that workers have, each with a reference to it: only new ones are sent."""

    def __init__(self, put: Callable[[Any], Any], drop: Callable[[Any], None]) -> None:
        self._put, self._drop = put, drop
        self._known: list[tuple[Any, Any]] = []

    def references(self, objects: tuple[Any, ...]) -> list[Any]:
        """Return the references to these objects; all others are dropped."""
        before, self._known = self._known, []
        for each in objects:
            reference = next((reference for known, reference in before if known is each), None)
            self._known.append((each, self._put(each) if reference is None else reference))
        for known, reference in before:
            if not any(known is each for each in objects):
                self._drop(reference)
        return [reference for _, reference in self._known]


class Processes:
    """Processes on this machine. Objects common to all calls are in files, which each process reads once.

    If a process is killed, new ones take over what was not finished.
    """

    def __init__(self, n_workers: int, folder: Path) -> None:
        self._n_workers, self._folder, self._n_files = n_workers, folder, 0
        self._shared = SharedObjects(self._write, os.unlink)
        self._pool = self._new_pool()

    def map(
        self, function: Function, common: tuple[Any, ...], calls: Calls, after_each: After = do_nothing
    ) -> list[Any]:
        """Start all calls; a handle is a future and what started it."""
        paths = self._shared.references(common)
        return [self._submit((function, paths, call), after_each) for call in calls]

    def merge(self, function: Function, handles: list[Any], *arguments: Any) -> Any:
        """Merge the results here, each group as soon as it is complete."""
        results: list[Any] = []
        deaths = 0
        while len(results) * FAN_IN < len(handles):
            begin = len(results) * FAN_IN
            try:
                group = [future.result() for future, *_ in handles[begin : begin + FAN_IN]]
            except BrokenProcessPool:
                deaths += 1
                if deaths > _MOST_DEATHS:
                    raise ChildProcessError(
                        f"Worker processes ended {deaths} times. In a script, call train under if __name__ == "
                        "'__main__':. If memory ran out, use fewer workers."
                    ) from None
                self._pool.shutdown()  # every future is done after that
                self._pool = self._new_pool()
                handles = [self._submit(*begun) if _is_lost(future) else (future, *begun) for future, *begun in handles]
            else:
                results.append(join(function, group, *arguments))
        return InProcess().merge(function, results, *arguments)

    def stop(self) -> None:
        """End all processes."""
        self._pool.shutdown(cancel_futures=True)

    def _submit(self, begun: Any, after_each: After) -> Any:
        future: Future[Any]
        try:
            future = self._pool.submit(_run, *begun)
        except BrokenProcessPool as error:  # a worker died while there was nothing to do; `merge` starts new ones
            future = Future()
            future.set_exception(error)
        future.add_done_callback(lambda done: None if done.cancelled() or done.exception() else after_each())
        return future, begun, after_each

    def _write(self, value: Any) -> str:
        self._n_files += 1
        path = self._folder / f"{self._n_files}.pickle"
        path.write_bytes(pickle.dumps(value, protocol=5))
        return str(path)

    def _new_pool(self) -> ProcessPoolExecutor:
        # A new process must not inherit the threads of this one.
        return ProcessPoolExecutor(self._n_workers, multiprocessing.get_context("spawn"), _start_worker, (spelling(),))


@contextmanager
def local(n_workers: int | None) -> Iterator[Engine]:
    """Start an engine of processes on this machine; one worker is this process itself."""
    n = default_threads() if n_workers is None else n_workers
    if n == 1:
        yield InProcess()
        return
    with tempfile.TemporaryDirectory(prefix="thresher-") as folder:
        engine = Processes(n, Path(folder))
        try:
            yield engine
        finally:
            engine.stop()


def _is_lost(future: Future[Any]) -> bool:
    """Return whether the worker died."""
    return isinstance(future.exception(), BrokenProcessPool)


def _start_worker(spelled: Spelling) -> None:
    spell_parameters(spelled)  # a message that ends the run is read where it was started
    os.environ["OMP_NUM_THREADS"] = "1"  # the processes share the cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which stops the workers


_read: dict[str, Any] = {}  # what this process has read of what is common to calls


def _run(function: Function, paths: list[str], call: tuple[Any, ...]) -> Any:
    for path in _read.keys() - set(paths):
        del _read[path]
    for path in paths:
        if path not in _read:
            _read[path] = pickle.loads(Path(path).read_bytes())
    return attempt(function, *(_read[path] for path in paths), *call)
