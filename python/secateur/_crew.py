"""A long search on the workers of an executor: jobs out, answers back."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from typing import Any

from secateur._errors import OptionError
from secateur._secateur import SecateurError
from secateur._secateur import work as _do
from secateur._workers import Workers

# Seconds that a question is worked on here before others help.
AFTER = 1.0
# Seconds without an answer after which a job is given to somebody else too.
PATIENCE = 60.0
# Jobs that fail before any has been done, for each worker: then no worker can do them.
_HOPELESS = 4


def crew_of(executor: Executor | None) -> Crew | None:
    """The workers of an executor, as the extension takes them."""
    if executor is None:
        return None
    if not callable(getattr(executor, "submit", None)):
        raise OptionError(f"executor must be a concurrent.futures.Executor, not {executor!r}")
    return Crew(executor)


def work(job: bytes, subject: bytes | None) -> bytes | None:
    """What a worker does, on whatever machine: the answer to a job, or `None` where it has not seen the job's models."""
    return _do(job, subject)


class Crew:
    """Hands jobs to an executor and collects their answers. Its methods are called by the extension, from one thread."""

    def __init__(self, executor: Executor) -> None:
        self.after = AFTER
        self.patience = PATIENCE
        self._workers = Workers(executor)
        self._done: queue.SimpleQueue[tuple[int, bytes, bytes, Future]] = queue.SimpleQueue()
        self._subject: tuple[bytes, bytes] = (b"", b"")
        self._open: set[Future] = set()
        self._answers = 0
        self._failures = 0

    def count(self) -> int:
        """How many jobs are done at the same time, about."""
        return self._workers.size

    def subject(self, name: bytes, models: bytes) -> None:
        """What the next jobs are about."""
        self._subject = (name, models)

    def send(self, number: int, name: bytes, job: bytes) -> None:
        """Hands a job over. A worker that has not seen the models asks for them."""
        self._submit(number, name, job, None)

    def receive(self, seconds: float) -> tuple[int, bytes | None] | None:
        """The number and the answer of a job that is done; no answer where its worker was lost; `None` where nothing is done."""
        try:
            number, name, job, future = self._done.get(timeout=seconds)
        except queue.Empty:
            return None
        self._open.discard(future)
        try:
            answer = future.result()
        except CancelledError:
            return number, None
        except Exception as error:
            self._failures += 1
            if not self._answers and self._failures >= _HOPELESS * self.count():
                raise SecateurError(
                    f"the workers of the executor cannot do the work: {type(error).__name__}: {error}. They need the same "
                    "version of secateur as this process"
                ) from error
            return number, None
        if answer is None:
            if name == self._subject[0]:
                self._submit(number, name, job, self._subject[1])
            return None
        self._answers += 1
        return number, answer

    def forget(self) -> None:
        """Nobody waits for the open jobs any more."""
        for future in list(self._open):
            future.cancel()
        self._open.clear()
        self._workers.close()

    def _submit(self, number: int, name: bytes, job: bytes, models: bytes | None) -> None:
        future = self._workers.submit(work, job, models)
        self._open.add(future)
        finished: Callable[[Future], Any] = partial(self._finished, number, name, job)
        future.add_done_callback(finished)

    def _finished(self, number: int, name: bytes, job: bytes, future: Future) -> None:
        self._done.put((number, name, job, future))
