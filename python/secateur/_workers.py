"""An executor's workers, some of which may die."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

# Tasks that wait at an executor whose number of workers is not known.
_AHEAD = 256
# Seconds after which a cluster is asked again how many workers it has.
_AGAIN = 10.0


class Workers:
    """Whoever an executor sends tasks to. A process pool that broke is replaced by one of the same size."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._given = executor
        size = getattr(executor, "_max_workers", None)
        self._size = size if isinstance(size, int) and size > 0 else None
        self._asked, self._known = -_AGAIN, 0

    @property
    def size(self) -> int:
        """How many tasks are done at the same time, about."""
        if self._size is not None:
            return self._size
        # Dask knows how many threads its workers have now; asking it every time would take longer than a job.
        client = getattr(self._given, "_client", None)
        if client is not None and time.monotonic() - self._asked > _AGAIN:
            self._asked, self._known = time.monotonic(), max(1, sum(client.nthreads().values()))
        return self._known or os.cpu_count() or 1

    @property
    def ahead(self) -> int:
        """How many tasks to hand over before one is done: enough that no worker waits, few that are lost with a pool."""
        return _AHEAD if self._size is None else 2 * self._size

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Hands a task over. A broken executor that cannot be replaced raises `BrokenExecutor`."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            if not isinstance(self._given, ProcessPoolExecutor):
                raise
            self._replace(_pool(self._size))
            return self._executor.submit(function, *arguments)

    def one_at_a_time(
        self, function: Callable[..., tuple[Any, BaseException | None]], tasks: list[tuple[T, tuple]]
    ) -> Iterator[tuple[T, tuple[Any, BaseException | None]]]:
        """Tasks that were under way when an executor broke, each on its own, in processes of this machine: only one that ends its
        process is lost."""
        pool = _pool(1)
        try:
            for task, arguments in tasks:
                try:
                    yield task, pool.submit(function, *arguments).result()
                except BrokenExecutor as error:
                    pool.shutdown(wait=False)
                    pool = _pool(1)
                    yield task, (None, error)
                except Exception as error:
                    yield task, (None, error)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Ends what was started here. The caller's own executor is the caller's."""
        if self._executor is not self._given:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = self._given

    def _replace(self, executor: Executor) -> None:
        self.close()
        self._executor = executor


def _pool(size: int | None) -> ProcessPoolExecutor:
    # A fork of a process that has threads may never answer.
    return ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn"))
