"""Reading, parsing and learning at the same time: tasks run on threads, results come out in the order of the tasks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias, TypeVar

from thresher.batch import Batch

T = TypeVar("T")
Task: TypeAlias = Callable[[], Batch]  # which does not know yet where in the stream its rows are


def in_order(tasks: Iterator[Callable[[], T]], n_threads: int) -> Generator[T, None, None]:
    """Yield the results of the tasks in order, while the next tasks run on `n_threads` threads.

    At most `2 × n_threads` results wait, so memory does not depend on the number of tasks. The iterator of tasks runs
    in its own thread, since it can read or decompress. An error in any of them is raised here, after the results of the
    tasks before it. When the consumer stops early, the threads stop too. With no threads, all runs in the caller's.
    """
    if n_threads == 0:
        for task in tasks:
            yield task()
        return
    waiting: queue.Queue[Future[T] | BaseException | None] = queue.Queue(maxsize=2 * n_threads)
    stop = threading.Event()

    def hand_over(item: Future[T] | BaseException | None) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                return

    def feed() -> None:
        try:
            for task in tasks:
                if stop.is_set():
                    return
                hand_over(pool.submit(task))
            hand_over(None)
        except BaseException as error:
            hand_over(error)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="thresher-parse") as pool:
        feeder = threading.Thread(target=feed, name="thresher-read", daemon=True)
        feeder.start()
        try:
            while (item := waiting.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                result = item.result()
                yield result
                del item, result  # not kept while the next one is waited for
        finally:
            stop.set()
            feeder.join(timeout=1.0)  # it takes longer only if it waits for an idle pipe; then it is left running
            pool.shutdown(cancel_futures=True)
