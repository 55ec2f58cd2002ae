"""Reading, parsing and learning at the same time: threads read blocks, which come out in their order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias, TypeVar

from thresher.batch import Batch

T = TypeVar("T")
ReadBlock: TypeAlias = Callable[[], Batch]  # reads a block; where in the stream its rows are is added later


def in_order(reads: Iterator[Callable[[], T]], n_threads: int) -> Generator[T, None, None]:
    """Yield the results of some functions in order, while the next ones run on `n_threads` threads.

    At most `2 × n_threads` results wait, so memory does not depend on how many there are. The iterator runs in its own
    thread, since it can read or decompress. An error in any of them is raised here, after the results before it. When
    the consumer stops early, the threads stop too. With no threads, all runs in the caller's.
    """
    if n_threads == 0:
        for read in reads:
            yield read()
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
            for read in reads:
                if stop.is_set():
                    return
                hand_over(pool.submit(read))
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
