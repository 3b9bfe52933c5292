"""Parts in a pipeline on the sessions of a search: while one is searched, the next is read and the last is taken."""

from __future__ import annotations

import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from ..host.progress import progress_bar
from ..runtime.session import Session

__all__ = ["pipelined"]

Job = TypeVar("Job")
Read = TypeVar("Read")
Result = TypeVar("Result")

#: Results of a part that wait to be taken; the search of the part goes on when one of them is taken.
_WAITING = 2

#: Seconds after which a thread that waits looks whether the results are still wanted.
_LOOK = 0.1

#: What stands behind the last result of a part.
_END = object()


def pipelined(
    sessions: Sequence[Session],
    jobs: Sequence[Job],
    reading: Callable[[Job], Read],
    searching: Callable[[Session, Read], Iterable[Result]],
    *,
    what: str,
    progress: bool = False,
) -> Iterator[Result]:
    """Yield the results of all jobs, in the order of the jobs, with one thread for each session.

    Where the driver of a session does not serve several threads, jobs go from session to session in the thread of the
    caller, one after the other.

    Parameters
    ----------
    sessions : each searches one part at a time
    jobs : what `reading` is called with, in threads of its own, and what it returns is given to `searching`
    searching : yields the results of a part; at most two of these wait for the caller
    what : what a progress bar says, where `progress` says that a terminal shows one

    Notes
    -----
    At most one part more than there are sessions is in memory. An error in a part is raised where its results would
    come, and later parts are given up, as they are where the caller takes no more results.
    """
    with progress_bar(what, len(jobs), shown=progress) as done:
        if all(session.profile.concurrent for session in sessions):
            yield from _at_the_same_time(_Pipeline(sessions, reading, searching), len(sessions), jobs, done)
            return
        for session, job in zip(itertools.cycle(sessions), jobs, strict=False):
            yield from searching(session, reading(job))
            done(1)


def _at_the_same_time(
    pipeline: _Pipeline[Job, Read, Result], threads: int, jobs: Sequence[Job], done: Callable[[int], object]
) -> Iterator[Result]:
    """The results of all jobs, which threads make ahead; `done` is called after each job."""
    left = iter(jobs)
    with ThreadPoolExecutor(threads) as readers, ThreadPoolExecutor(threads) as workers:
        ahead: deque[queue.Queue[Any]] = deque()

        def begin(job: Job) -> None:
            results: queue.Queue[Any] = queue.Queue(_WAITING)
            workers.submit(pipeline.serve, readers.submit(pipeline.reading, job), results)
            ahead.append(results)

        try:
            for job in itertools.islice(left, threads + 1):
                begin(job)
            while ahead:
                results = ahead.popleft()
                while (result := results.get()) is not _END:
                    if isinstance(result, BaseException):
                        raise result
                    yield result
                done(1)
                for job in itertools.islice(left, 1):
                    begin(job)
        finally:
            pipeline.ended.set()
            readers.shutdown(wait=False, cancel_futures=True)
            workers.shutdown(wait=False, cancel_futures=True)


class _Pipeline(Generic[Job, Read, Result]):
    """The sessions that are free, and what a thread does with one of them."""

    def __init__(
        self,
        sessions: Sequence[Session],
        reading: Callable[[Job], Read],
        searching: Callable[[Session, Read], Iterable[Result]],
    ) -> None:
        self.reading, self.searching = reading, searching
        self.ended = threading.Event()
        self._free: queue.SimpleQueue[Session] = queue.SimpleQueue()
        for session in sessions:
            self._free.put(session)

    def serve(self, read: Future[Read], results: queue.Queue[Any]) -> None:
        """Search a part on a free session, and put its results, or an error, where the caller takes them."""
        session = self._free.get()
        try:
            for result in self.searching(session, read.result()):
                self._put(results, result)
                if self.ended.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that takes the results
            self._put(results, error)
        else:
            self._put(results, _END)
        finally:
            self._free.put(session)

    def _put(self, results: queue.Queue[Any], result: Any) -> None:
        while not self.ended.is_set():
            try:
                results.put(result, timeout=_LOOK)
            except queue.Full:
                continue
            return
