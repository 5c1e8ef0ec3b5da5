"""Ray as a `concurrent.futures.Executor`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class RayExecutor(Executor):
    """Runs functions as Ray tasks. Made by `secateur.ray_executor`."""

    def __init__(self, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        # Ray repeats a task whose worker died; whoever waits here repeats it too, and knows better when.
        self._call = ray.remote(max_retries=0, **options)(_call)
        self._max_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._open = True

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return self._call.remote(fn, args, kwargs).future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks. Ray itself is the caller's, and goes on."""
        self._open = False


def _call(fn: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    return fn(*args, **kwargs)


def ray_executor(**options: Any) -> RayExecutor:
    """The workers of a Ray cluster as an executor for `verify`, `prune` and `verify_many`. `ray.init` is called where that has not
    happened yet; `options` are those of `ray.remote`, such as `num_cpus`.

    >>> answer = secateur.verify(a, b, executor=secateur.ray_executor())     # doctest: +SKIP
    """
    return RayExecutor(**options)
