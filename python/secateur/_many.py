"""Many pairs of models: which of them decide alike? On this machine, or on the workers of an executor."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from secateur import _domain, _options, _workers
from secateur._errors import OptionError
from secateur._model import recognise
from secateur._secateur import SecateurError
from secateur._verify import ScoreVerification, Verification, verify

# Outcomes that stay what they are when a pair is asked again.
_FINAL = ("identical", "different", "within", "exceeds", "measured")


@dataclass(frozen=True)
class PairResult:
    """What is known of one pair of models of `verify_many`.

    `index` is the pair's place in the list, from 0, and `first` and `second` are the names of its models: a path, or the kind
    of an object. `outcome` is that of `verify`, or "failed" where a model could not be read, the two could not be
    compared or a worker was lost; `error` is the exception then, and `message` its words. `answer` is what `verify` returned; `facts` the same
    as `secateur verify --json` prints it. A result that was taken from the file `results` has `kept=True`, its `facts`, and no `answer`.
    """

    index: int
    first: str
    second: str
    outcome: str
    message: str | None = None
    error: BaseException | None = None
    answer: Verification | ScoreVerification | None = None
    facts: dict[str, Any] | None = None
    kept: bool = False
    _models: tuple[str, str] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The result as `secateur verify-many --json` prints it, and as a line of the file `results` holds it."""
        return {
            "index": self.index,
            "first": self.first,
            "second": self.second,
            "models": None if self._models is None else list(self._models),
            "outcome": self.outcome,
            "message": self.message,
            "answer": self.facts,
        }


def verify_many(
    pairs: Iterable[tuple[Any, Any]],
    executor: Executor | None = None,
    time_limit: float | str | None = None,
    *,
    results: str | os.PathLike[str] | None = None,
    band: str | float = "auto",
    threshold: float | None = None,
    scores: bool = False,
    within: float | None = None,
    missing: bool = True,
    domain: Any = None,
    doubles: bool = False,
    threads: int | None = None,
    seed: int = 0,
) -> Iterator[PairResult]:
    """Compares many pairs of models, and yields a `PairResult` for each as soon as it is known, in no fixed order.

    `pairs` are two models each, whatever `verify` takes; they are taken from an iterator as they are needed. A pair that fails
    (a file that cannot be read, models that cannot be compared) is a result with `outcome` "failed", and does not stop the others. `time_limit` is for
    each pair. The other options are those of `verify` and hold for every pair.

    With `executor`, any `concurrent.futures.Executor`, pairs are compared by its workers, each with one thread unless `threads` says
    otherwise. Paths travel as paths, so the workers must see the same files; objects travel pickled. A process pool that breaks because a
    worker died is replaced by one of the same size; the pairs that were under way are then asked again one at a time, so that
    only the one that ends its worker fails. Without `executor` pairs are compared one after the other here, with all cores.

    `results` is a file that gets one line of JSON for each result. If it exists, pairs whose models and question it has a proof or a counterexample
    of are not asked again: their results are yielded from it, with `kept=True`. Pairs that failed or were undecided are asked again.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fitted = [AdaBoostClassifier(n_estimators=n, random_state=0).fit(X, y) for n in (20, 30)]
    >>> pairs = [(fitted[0], fitted[0]), (fitted[0], fitted[1]), (fitted[0], "no_such_file.json")]
    >>> for result in secateur.verify_many(pairs):
    ...     print(result.index, result.outcome)
    0 identical
    1 different
    2 failed
    """
    limit = _options.time_limit(time_limit)
    options: dict[str, Any] = {
        "missing": _options.flag("missing", missing),
        "domain": domain,
        "time_limit": limit,
        "threads": _options.threads(threads),
        "seed": _options.count("seed", seed, 0),
    }
    if _options.flag("scores", scores):
        if band != "auto" or threshold is not None:
            raise OptionError("band and threshold are about decisions, and do not go with scores=True")
        options |= {"scores": True, "within": within, "doubles": _options.flag("doubles", doubles)}
    else:
        if within is not None or doubles:
            raise OptionError("within and doubles go with scores=True")
        _options.band(band)
        options |= {"band": band, "threshold": _options.threshold(threshold)}
    given = _domain.as_given(domain, missing)
    if executor is not None and options["threads"] is None:
        # Workers share their machines.
        options["threads"] = 1
    question = {
        "scores": scores,
        "band": None if scores else str(band) if band == "auto" else float(band),
        "threshold": threshold,
        "within": within,
        "doubles": doubles,
        "missing": missing,
        "domain": None if given is None else hashlib.sha256(repr(_plain_domain(given)).encode()).hexdigest(),
    }
    file = None if results is None else _ResultsFile(os.fsdecode(results), question)
    if executor is None:
        return _here(pairs, options, file)
    return _elsewhere(pairs, _workers.Workers(executor), options, file)


def _plain_domain(given: Any) -> Any:
    """What tells one domain from another: its text, and the digests of the models that it names."""
    text, models = given
    return text, [model.digest for model in models]


@dataclass(frozen=True)
class _Task:
    """A pair that is to be asked."""

    index: int
    a: Any
    b: Any
    models: tuple[str, str] | None


def _name(model: Any) -> str:
    return os.fsdecode(model) if isinstance(model, (str, os.PathLike)) else type(model).__name__


def _identity(model: Any) -> str:
    """What an answer about this model depends on: its trees and rules, and for an object also what the file does not have."""
    subject = recognise(model, thresholds=True)
    parts = [subject.model.digest]
    own = [subject.threshold, None if subject.path is not None else repr(subject.model.classes)]
    if subject.before is not None:
        # scikit-learn brings joblib along.
        import joblib

        own.append(joblib.hash(subject.before))
    if subject.path is None:
        parts.append(hashlib.sha256(repr(own).encode()).hexdigest()[:16])
    return "-".join(parts)


def _ask(a: Any, b: Any, options: dict[str, Any]) -> tuple[Verification | ScoreVerification | None, BaseException | None]:
    """One pair, on whatever machine: the answer, or what went wrong."""
    try:
        return verify(a, b, **options), None
    except Exception as error:
        return None, _travels(error)
    except BaseException as error:
        # A bug of ours in one pair is no reason to lose the others.
        if type(error).__name__ != "PanicException":
            raise
        return None, SecateurError(f"secateur itself failed: {error}. This is a bug: please report it")


def _travels(error: Exception) -> Exception:
    """An exception that survives the way home."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return SecateurError(f"{type(error).__name__}: {error}")
    return error


def _tasks(
    pairs: Iterable[tuple[Any, Any]], file: _ResultsFile | None
) -> Iterator[tuple[_Task, PairResult | None]]:
    """The pairs in their order, and for each what the file knows of it."""
    for index, pair in enumerate(pairs):
        try:
            a, b = pair
        except (TypeError, ValueError):
            raise OptionError(f"pair {index} is not two models: {pair!r}") from None
        models = None
        if file is not None:
            try:
                models = (_identity(a), _identity(b))
            except Exception:
                # Who asks will hear why it cannot be read.
                models = None
        task = _Task(index, a, b, models)
        known = None if file is None or models is None else file.known.get(models)
        if known is None:
            yield task, None
        else:
            yield task, PairResult(
                index=index,
                first=_name(a),
                second=_name(b),
                outcome=known["outcome"],
                facts=known["answer"],
                kept=True,
                _models=models,
            )


def _result(task: _Task, answer: Any, error: BaseException | None, file: _ResultsFile | None) -> PairResult:
    failed = error is not None
    result = PairResult(
        index=task.index,
        first=_name(task.a),
        second=_name(task.b),
        outcome="failed" if failed else answer.outcome,
        message=(str(error) or type(error).__name__) if failed else answer.reason,
        error=error,
        answer=answer,
        facts=None if failed else answer.to_dict(),
        _models=task.models,
    )
    if file is not None:
        file.write(result)
    return result


def _here(
    pairs: Iterable[tuple[Any, Any]], options: dict[str, Any], file: _ResultsFile | None
) -> Iterator[PairResult]:
    for task, known in _tasks(pairs, file):
        yield known if known is not None else _result(task, *_ask(task.a, task.b, options), file)


def _elsewhere(
    pairs: Iterable[tuple[Any, Any]],
    workers: _workers.Workers,
    options: dict[str, Any],
    file: _ResultsFile | None,
) -> Iterator[PairResult]:
    tasks = _tasks(pairs, file)
    waiting: dict[Future, _Task] = {}
    suspects: list[_Task] = []
    more = True
    try:
        while more or waiting or suspects:
            while more and len(waiting) < workers.ahead:
                task, known = next(tasks, (None, None))
                if task is None:
                    more = False
                elif known is not None:
                    yield known
                else:
                    try:
                        waiting[workers.submit(_ask, task.a, task.b, options)] = task
                    except BrokenExecutor:
                        suspects.append(task)
                        break
                    except Exception as refused:
                        yield _result(task, None, refused, file)
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                task = waiting.pop(future)
                try:
                    answer, error = future.result()
                except BrokenExecutor:
                    suspects.append(task)
                except Exception as lost:
                    yield _result(task, None, lost, file)
                else:
                    yield _result(task, answer, error, file)
            if suspects and not waiting:
                # The pool is gone, and one of these pairs, or the machine, has ended it.
                for task, (answer, error) in workers.one_at_a_time(
                    _ask, [(task, (task.a, task.b, options)) for task in suspects]
                ):
                    yield _result(task, answer, error, file)
                suspects.clear()
    finally:
        for future in waiting:
            future.cancel()
        workers.close()


class _ResultsFile:
    """Results as lines of JSON: those that were there, and those that are added."""

    def __init__(self, path: str, question: dict[str, Any]) -> None:
        self.path = path
        self.question = question
        self.known: dict[tuple[str, str], dict[str, Any]] = {}
        if not os.path.exists(path):
            return
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
        for number, line in enumerate(lines, 1):
            last = number == len(lines)
            if last:
                # What stands behind the last line feed was cut off when its writer was ended.
                self._cut(len(line))
                break
            try:
                entry = json.loads(line)
                models, outcome = entry["models"], entry["outcome"]
                asked, answer = entry["question"], entry["answer"]
            except (ValueError, KeyError, TypeError):
                raise OptionError(f"{path}, line {number}: this is not a result of verify_many; give another file") from None
            if asked == question and models is not None and outcome in _FINAL and isinstance(answer, dict):
                self.known[tuple(models)] = {"outcome": outcome, "answer": answer}

    def _cut(self, rest: int) -> None:
        if rest:
            with open(self.path, "r+b") as file:
                file.truncate(os.path.getsize(self.path) - rest)

    def write(self, result: PairResult) -> None:
        """Adds a line, whole or not at all."""
        line = json.dumps({**result.to_dict(), "question": self.question}) + "\n"
        with open(self.path, "ab") as file:
            file.write(line.encode())
