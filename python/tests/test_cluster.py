"""Searches on the workers of executors: a process pool, Dask and Ray, each with two processes of their own. The answer and the certificate are those of one
thread, byte by byte, whatever happens to the workers. `make test` runs a part of this file, `make test-all` all of it."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import secateur
import test_verify
from secateur import _crew

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing is too easy to leave the machine but what two thousand boxes settle."""
    monkeypatch.setattr(_crew, "AFTER", 0.0)


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client():
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def ray():
    import ray

    os.environ["RAY_AUTH_MODE"] = "disabled"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 8)), 1).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=400) > 0).astype(int)


FAMILIES = {
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1),
    "lightgbm": lambda: lightgbm.LGBMClassifier(
        n_estimators=60, num_leaves=15, min_child_samples=5, verbose=-1, n_jobs=1
    ),
    "catboost": lambda: catboost.CatBoostClassifier(
        iterations=30, depth=4, verbose=0, thread_count=1, allow_writing_files=False
    ),
    "forest": lambda: RandomForestClassifier(20, max_depth=5, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=30, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=40, max_depth=4, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=50, max_depth=4, min_samples_leaf=5),
}


@functools.cache
def pair(family: str) -> tuple[secateur.Model, secateur.Model, float]:
    """Two models of a family, of which one has not seen some rows, and how far their scores can be apart: a question that takes thousands
    of boxes."""
    X, y = table()
    first, second = (secateur.load(FAMILIES[family]().fit(X[:rows], y[:rows])) for rows in (400, 350))
    return first, second, secateur.verify(first, second, scores=True, threads=1).at_most


@functools.cache
def alone(family: str) -> secateur.ScoreVerification:
    first, second, within = pair(family)
    return secateur.verify(first, second, scores=True, within=within, threads=1, certificate=True)


class Through(Executor):
    """Hands everything on to another executor, counts it, and does something before one of the calls."""

    def __init__(self, inner: Executor, at: int = 0, do: Callable[[], None] = lambda: None) -> None:
        self.inner, self.at, self.do, self.sent = inner, at, do, 0
        if hasattr(inner, "_max_workers"):
            self._max_workers = inner._max_workers

    def submit(self, fn, /, *args, **kwargs) -> Future:
        self.sent += 1
        if self.sent == self.at:
            self.do()
        return self.inner.submit(fn, *args, **kwargs)


def same_as_alone(family: str, executor: Executor) -> None:
    first, second, within = pair(family)
    expected = alone(family)
    through = Through(executor)
    answer = secateur.verify(first, second, scores=True, within=within, certificate=True, executor=through)
    assert (expected.outcome, answer.outcome) == ("within", "within")
    assert answer.certificate == expected.certificate and answer.checked
    assert answer.nodes == expected.nodes > 2_000
    assert through.sent > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_process_pool_gives_the_bytes_of_one_thread(family, pool):
    same_as_alone(family, pool)


# What travels to a worker is bytes, whatever carries them there: two families stand for all, and `make test-all` has the others.
OFTEN = ("xgboost", "forest")
FEW = [pytest.param(family, marks=() if family in OFTEN else pytest.mark.full) for family in FAMILIES]


@pytest.mark.parametrize("family", FEW)
def test_dask_gives_the_bytes_of_one_thread(family, client):
    same_as_alone(family, client.get_executor())


@pytest.mark.parametrize("family", FEW)
def test_ray_gives_the_bytes_of_one_thread(family, ray):
    same_as_alone(family, secateur.ray_executor())


def hard_decisions() -> tuple[secateur.Model, secateur.Model, float]:
    """Two forests, and a band above which they decide alike, near the smallest: thousands of boxes."""
    X, y = table()
    first, second = (
        secateur.load(RandomForestClassifier(30, max_depth=5, random_state=0).fit(X[:rows], y[:rows]))
        for rows in (400, 350)
    )
    low, high = 0.0, 1.0
    for _ in range(7):
        middle = (low + high) / 2
        alike = secateur.verify(first, second, band=middle, threads=1).identical
        low, high = (low, middle) if alike else (middle, high)
    return first, second, high


def test_decisions_have_the_bytes_of_one_thread_and_differences_the_same_input(pool):
    first, second, band = hard_decisions()
    here = secateur.verify(first, second, band=band, threads=1, certificate=True)
    there = secateur.verify(first, second, band=band, certificate=True, executor=pool)
    assert here.nodes > 2_000 and (here.outcome, there.outcome) == ("identical", "identical")
    assert here.certificate == there.certificate
    here = secateur.verify(first, second, band=0.01, threads=1)
    there = secateur.verify(first, second, band=0.01, executor=pool)
    assert (here.outcome, there.outcome) == ("different", "different")
    assert np.array_equal(here.counterexample, there.counterexample)


def test_pruning_gives_the_same_model_and_certificate(pool):
    X, y = table()
    model = RandomForestClassifier(9, max_depth=5, random_state=0).fit(X, y)
    here = secateur.prune(model, X, effort="fast", threads=1, certificate=True)
    through = Through(pool)
    there = secateur.prune(model, X, effort="fast", threads=1, certificate=True, executor=through)
    assert there.checked and here.certificate == there.certificate
    assert here.trees_after == there.trees_after
    with pytest.raises(secateur.OptionError, match="executor is for proofs"):
        secateur.prune(model, X, y=y, method="ic", size=3, accept_unproved=True, executor=pool)


def test_easy_questions_never_leave_the_machine(monkeypatch):
    class Refusing(Executor):
        def submit(self, fn, /, *args, **kwargs):
            raise AssertionError("this was easy")

    first, second, _ = pair("xgboost")
    assert secateur.verify(first, second, executor=Refusing()).different
    monkeypatch.setattr(_crew, "AFTER", 3600.0)
    _, _, within = pair("xgboost")
    assert secateur.verify(first, second, scores=True, within=within, executor=Refusing()).outcome == "within"


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


class Mortal(ProcessPoolExecutor):
    """A pool one of whose processes is killed in the middle."""

    sent = 0

    def submit(self, fn, /, *args, **kwargs) -> Future:
        self.sent += 1
        if self.sent == 6:
            kill(next(iter(self._processes)))
        return super().submit(fn, *args, **kwargs)


def test_a_killed_process_of_a_pool_costs_a_repeat():
    first, second, within = pair("forest")
    with Mortal(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        answer = secateur.verify(first, second, scores=True, within=within, certificate=True, executor=pool)
    assert pool.sent >= 6
    assert answer.certificate == alone("forest").certificate


def test_a_killed_worker_of_dask_costs_a_repeat(client):
    first, second, within = pair("forest")
    workers = list(client.run(os.getpid).values())
    through = Through(client.get_executor(), at=6, do=lambda: kill(workers[0]))
    answer = secateur.verify(first, second, scores=True, within=within, certificate=True, executor=through)
    assert through.sent >= 6
    assert answer.certificate == alone("forest").certificate


def test_a_killed_worker_of_ray_costs_a_repeat(ray):
    first, second, within = pair("forest")
    executor = secateur.ray_executor()
    worker = executor.submit(os.getpid).result()
    through = Through(executor, at=6, do=lambda: kill(worker))
    answer = secateur.verify(first, second, scores=True, within=within, certificate=True, executor=through)
    assert through.sent >= 6
    assert answer.certificate == alone("forest").certificate
    assert answer.nodes == alone("forest").nodes, "nothing is lost, and nothing counts twice"


class DaskProcesses:
    """A scheduler of Dask and two workers, each a process of its own."""

    def __init__(self, port: int) -> None:
        self.address = f"tcp://127.0.0.1:{port}"
        self.processes = [self.start("scheduler", "--host", "127.0.0.1", "--port", str(port))]
        self.processes += [self.start("worker", self.address, "--nthreads", "1", "--no-nanny") for _ in range(2)]

    @staticmethod
    def start(*words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:], "--no-dashboard"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def test_a_search_goes_on_from_its_checkpoint_when_the_scheduler_of_dask_died(tmp_path):
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first, second, within = pair("forest")
    file = tmp_path / "search.checkpoint"
    asked = {"scores": True, "within": within, "certificate": True, "checkpoint": file}
    cluster = DaskProcesses(port)
    try:
        with distributed.Client(cluster.address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            through = Through(client.get_executor(), at=9, do=cluster.processes[0].kill)
            answer = secateur.verify(first, second, executor=through, time_limit=6.0, **asked)
            assert through.sent >= 9
            assert answer.outcome == "undecided" and file.exists(), "nobody answers any more"
            cluster.kill()
            cluster = DaskProcesses(port)
            # The client finds the new scheduler under the old address.
            client.wait_for_workers(2, timeout=60)
            answer = secateur.verify(first, second, executor=client.get_executor(), **asked)
            assert answer.certificate == alone("forest").certificate and not file.exists()
            # A search with a checkpoint takes no first look.
            uninterrupted = secateur.verify(first, second, **asked | {"checkpoint": tmp_path / "other.checkpoint"})
            assert answer.nodes == uninterrupted.nodes, "nothing is lost, and nothing is proved twice"
    finally:
        cluster.kill()


def test_a_worker_that_never_answers_is_not_waited_for(pool, monkeypatch):
    monkeypatch.setattr(_crew, "PATIENCE", 0.5)

    class Silent(Through):
        """Every fifth job is never answered."""

        def submit(self, fn, /, *args, **kwargs) -> Future:
            future = super().submit(fn, *args, **kwargs)
            return Future() if self.sent % 5 == 2 else future

    first, second, within = pair("forest")
    through = Silent(pool)
    answer = secateur.verify(first, second, scores=True, within=within, certificate=True, executor=through)
    assert through.sent >= 5
    assert answer.certificate == alone("forest").certificate


def memory(name: str) -> float:
    """Megabytes of this process: VmRSS now, VmHWM at most since the last reset."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def begin_measuring() -> float:
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


class Weighed(Through):
    """Keeps the sizes of the largest job, of the models and of the largest answer, in bytes."""

    job = models = answer = 0

    def submit(self, fn, /, *args, **kwargs) -> Future:
        job, models = args
        self.job, self.models = max(self.job, len(job)), max(self.models, len(models or b""))
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self.weigh)
        return future

    def weigh(self, future: Future) -> None:
        if not future.cancelled() and future.exception() is None:
            self.answer = max(self.answer, len(future.result() or b""))


def thousand_trees() -> tuple[secateur.Model, secateur.Model]:
    """Two models of a thousand trees each, which differ in the last rows that they have seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=600) > 0).astype(int)
    fitted = (xgboost.XGBClassifier(n_estimators=1000, max_depth=3, n_jobs=1).fit(X[:rows], y[:rows]) for rows in (600, 595))
    first, second = (secateur.load(model) for model in fitted)
    return first, second


@pytest.mark.alone
@pytest.mark.parametrize("search", ["decisions", pytest.param("scores", marks=pytest.mark.full), pytest.param("a thousand trees", marks=pytest.mark.full)])
def test_a_job_takes_little_memory_and_few_bytes(search):
    """Searches that do not end, or take long, with their proof: the worst for a worker."""
    if search == "decisions":
        (first, second), asked = test_verify.hard_pair(), {"band": 0}
    elif search == "scores":
        (first, second), asked = pair("lightgbm")[:2], {"scores": True, "within": pair("lightgbm")[2]}
    else:
        (first, second), asked = thousand_trees(), {"scores": True, "within": 60.0}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        before = pool.submit(begin_measuring).result()
        through = Weighed(pool)
        secateur.verify(first, second, certificate=True, time_limit=6.0, executor=through, **asked)
        more = pool.submit(memory, "VmHWM").result() - before
    assert through.sent > 2 and through.answer > 1_000, "nothing was tested"
    print(f"{search}: {more:.0f} MB more, jobs of {through.job} bytes, answers of {through.answer}, models of {through.models}")
    assert more < 100
    assert through.job < 1_000_000 and through.answer < 10_000_000


def test_workers_that_cannot_do_the_work_are_told_of():
    class Useless(Executor):
        _max_workers = 2

        def submit(self, fn, /, *args, **kwargs):
            future: Future = Future()
            future.set_exception(ModuleNotFoundError("No module named 'secateur'"))
            return future

    first, second, within = pair("forest")
    with pytest.raises(secateur.SecateurError, match="cannot do the work: ModuleNotFoundError"):
        secateur.verify(first, second, scores=True, within=within, executor=Useless())
    with pytest.raises(RuntimeError, match="after shutdown"):
        closed = ProcessPoolExecutor(1)
        closed.shutdown()
        secateur.verify(first, second, scores=True, within=within, executor=closed)
    with pytest.raises(secateur.OptionError, match="must be a concurrent.futures.Executor"):
        secateur.verify(first, second, executor=3)


def test_a_time_limit_and_an_interrupt_end_it_as_on_one_machine(pool):
    first, second = test_verify.hard_pair()
    started = time.monotonic()
    answer = secateur.verify(first, second, band=0, time_limit=2.0, executor=pool)
    assert answer.undecided and answer.reason == "the time limit was reached"
    assert time.monotonic() - started < 30
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        secateur.verify(first, second, band=0, executor=pool)
    # The pool goes on.
    assert pool.submit(os.getpid).result(timeout=60)
