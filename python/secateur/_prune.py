"""`prune`: a smaller model that decides the same on every input, proved."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from secateur import _options, _picture, _progress
from secateur._model import recognise
from secateur._secateur import EditingError, Model
from secateur._secateur import Evidence, certify, compare
from secateur._secateur import prune as _run
from secateur._secateur import rows_seen

_log = logging.getLogger("secateur")


@dataclass(frozen=True, eq=False, repr=False)
class Pruning:
    """A pruned model, and what is proved of it."""

    model: Any
    """The pruned model, of the same type as the one that was given (for a path: a `secateur.Model`)."""
    outcome: str
    """"proved" (smaller, and proved to decide the same), "already_minimal" (proved that nothing can go) or
    "budget_reached" (the best that was proved when the time was over)."""
    trees_before: int
    trees_after: int
    leaves_before: int
    leaves_after: int
    bytes_before: int | None
    """The size of the model's file; `None` for a scikit-learn object, which has none."""
    bytes_after: int | None
    weights: np.ndarray
    """For each tree of the original, what its values are multiplied by now; 0 for one that is gone."""
    fates: list[str]
    """What became of each tree of the original: "kept", "scaled", "rewritten" (with other leaves), "merged" (into the
    leaves of another tree), "constant" (the same everywhere, now in the intercept) or "dropped"."""
    scope: str
    """The inputs of the claim: "all", or "no_missing" where those with missing values are left out."""
    band: float
    """The claim is for inputs on which the original's winner leads by more than this."""
    exact: bool
    """The claim is about exact sums (`band=0`), and not about what the library's rounding makes of them."""
    probability: tuple[float, float] | None
    """The same as an interval of probabilities, for logistic models."""
    data: dict[str, Any] | None
    """What the rows of `X` say of the band: "rows", of which "measured" in exact arithmetic; "in_band" of these lie inside the
    band (`None` where no band covers the library's rounding), "rounded" are decided otherwise by the library than by the
    exact sums, "changed_in_band" of all rows are decided otherwise by the library with the pruned model; "words" says it.
    `None` without rows."""
    lower_bound: int
    """No model that the moves allow has fewer trees."""
    irreducible: bool
    """No tree can go on its own, by the solver's word (which is not proved as `lower_bound` is)."""
    certificate: str | bytes | None
    """Where the certificate was written, or the certificate itself, as asked for; `None` also where the time limit was
    too short for it."""
    oracle_calls: int
    points: int
    """How many inputs the solver looked at."""
    timings: dict[str, float]
    """Seconds spent, by what they were spent on."""

    @property
    def minimal(self) -> bool:
        """Whether no model that the moves allow has fewer trees: proved."""
        return self.trees_after <= self.lower_bound

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.timings["total"]

    @property
    def claim(self) -> str:
        """What is proved, in words."""
        return _picture.claim(self.band, self.probability, self.scope, self.exact)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, as `secateur prune --json` prints it."""
        return {
            "outcome": self.outcome,
            "trees": {"before": self.trees_before, "after": self.trees_after},
            "leaves": {"before": self.leaves_before, "after": self.leaves_after},
            "bytes": {"before": self.bytes_before, "after": self.bytes_after},
            "lower_bound": self.lower_bound,
            "minimal": self.minimal,
            "irreducible": self.irreducible,
            "scope": self.scope,
            "band": {
                "score": self.band,
                "probability": None if self.probability is None else list(self.probability),
                "exact": self.exact,
            },
            "data": None if self.data is None else {key: value for key, value in self.data.items() if key != "words"},
            "oracle_calls": self.oracle_calls,
            "points": self.points,
            "seconds": dict(self.timings),
            "certificate": self.certificate if isinstance(self.certificate, str) else None,
        }

    def picture(self) -> str:
        """An SVG of the trees before and after, with their weights."""
        return _picture.svg(self)

    def __repr__(self) -> str:
        return f"<Pruning: {_picture.summary(self)}>"

    def _repr_html_(self) -> str:
        return _picture.html(self)


def prune(
    model: Any,
    X: Any = None,
    *,
    effort: str = "thorough",
    objective: str = "trees",
    moves: str = "leaves",
    band: str | float = "auto",
    missing: bool = True,
    time_limit: float | str | None = None,
    threads: int | None = None,
    certificate: bool | str | os.PathLike[str] | None = None,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
    seed: int = 0,
) -> Pruning:
    """A smaller model that decides as `model` does on every input, proved. `model` stays as it is.

    `model` is a fitted classifier of XGBoost, LightGBM or scikit-learn, a booster, a pipeline that ends in one of
    these, or the path of a model file. `X` may hold rows of its inputs; they make the search faster, and the
    answer holds for every input with or without them.

    - `effort`: "fast" folds and reweights, "thorough" also tries to do without each tree, "minimum" looks for the
      smallest size and proves it.
    - `objective`: what is made small, "trees", "leaves" or "bytes".
    - `moves`: "leaves" may merge trees and move the intercept, "weights" only scales and drops trees.
    - `band`: "auto" is the smallest for which the model's own decisions are no artefact of its rounding, 0 is a
      claim about the exact sums with their ties and not about what the library's rounding returns, a larger score
      allows changes that near to the decision boundary.
    - `missing`: False leaves inputs with missing values out of the claim, for those who never have any. More can go
      then, from forests most of all. Rows of `X` with missing values do not count. Where the library takes no missing
      values, this changes nothing.
    - `time_limit`: seconds, or "500ms", "30s", "10m", "2h"; the best model that is proved by then is the answer.
    - `threads`: all cores unless given. `seed`: where random choices start.
    - `certificate`: a path to write it to, or True to have it in the result.
    - `progress`: True for a bar (tqdm where it is installed, else lines on stderr), or a function that is called
      with a dictionary whenever there is news.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fitted = AdaBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> result = secateur.prune(fitted, X)
    >>> result.outcome
    'proved'
    >>> result.trees_after < result.trees_before
    True
    >>> type(result.model).__name__
    'AdaBoostClassifier'
    >>> secateur.verify(fitted, result.model).identical
    True
    """
    settings: dict[str, Any] = {
        "effort": _options.choice("effort", effort, _options.EFFORTS),
        "objective": _options.choice("objective", objective, _options.OBJECTIVES),
        "moves": _options.choice("moves", moves, _options.MOVES),
        "band": _options.band(band),
        "missing": _options.missing(missing),
        "time_limit": _options.time_limit(time_limit),
        "threads": _options.threads(threads),
        "seed": _options.count("seed", seed, 0),
    }
    clock = _Clock(settings["time_limit"])
    subject = recognise(model)
    before = subject.model
    rows = subject.rows(X)
    # What comes after the search has its share of the time.
    if certificate or _is_averaged(before):
        settings["time_limit"] = clock.without(_kept_back)
    else:
        settings["time_limit"] = clock.left()
    _log.info("pruning %s: %d trees, %d leaves", before.dialect, before.tree_count, before.leaf_count)
    with _progress.watching(progress, before.tree_count) as news:
        answer = _run(before, rows, progress=news, **settings)
    after, fates = _averaged(before, answer, settings, clock)
    proof = _certified(before, after, certificate, answer["evidence"], settings, clock)
    result = Pruning(
        model=subject.rebuild(after),
        outcome=answer["outcome"],
        trees_before=answer["trees"][0],
        trees_after=answer["trees"][1],
        leaves_before=answer["leaves"][0],
        leaves_after=answer["leaves"][1],
        bytes_before=_size(before),
        bytes_after=_size(after),
        weights=np.array([weight for _, weight in fates], dtype=np.float64),
        fates=[fate for fate, _ in fates],
        scope=answer["scope"],
        band=answer["band"],
        exact=settings["band"] == 0.0,
        probability=None if answer["probability"] is None else tuple(answer["probability"]),
        data=None
        if rows is None
        else rows_seen(before, after, rows, settings["band"], answer["band"], missing=settings["missing"]),
        lower_bound=answer["lower_bound"],
        irreducible=answer["irreducible"],
        certificate=proof,
        oracle_calls=answer["oracle_calls"],
        points=answer["points"],
        timings=answer["seconds"],
    )
    _log.info("%s", _picture.summary(result))
    return result


class _Clock:
    """What is left of a time limit, in seconds; `None` where there is none."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._started = time.monotonic()

    def left(self) -> float | None:
        if self._limit is None:
            return None
        return max(0.0, self._limit - (time.monotonic() - self._started))

    def without(self, share: Callable[[float], float]) -> float | None:
        """The same, less a share of the limit."""
        left = self.left()
        return None if self._limit is None or left is None else max(0.0, left - share(self._limit))


def _kept_back(limit: float) -> float:
    """The part of a time limit that is for the proof at the end, as on the command line."""
    return min(max(0.15 * limit, 5.0), 0.4 * limit)


# Their probabilities are averages of their trees' leaves, with nothing that would make them add up to one.
_AVERAGES = ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier")


def _is_averaged(model: Model) -> bool:
    return any(name in model.dialect for name in _AVERAGES) and not model.dialect.startswith("ONNX")


def _averaged(
    before: Model, answer: dict[str, Any], settings: dict[str, Any], clock: _Clock
) -> tuple[Model, list[tuple[str, float]]]:
    """The pruned model, scaled so that a forest's probabilities add up to one, where that is proved too; and what
    became of its trees."""
    after, fates = answer["model"], answer["fates"]
    if not _is_averaged(before):
        return after, fates
    total = float(after.raw_scores(np.zeros((1, len(after.feature_names)))).sum())
    if not total > 0.0 or abs(total - 1.0) < 1e-12:
        return after, fates
    factor = 1.0 / total
    scaled = after.edit([(tree, factor) for tree in range(after.tree_count)])
    chosen = {name: settings[name] for name in ("band", "threads", "seed", "missing")}
    # Rounding is all that can differ, so the proof is as long as the one before.
    limit = max(1.0, 2.0 * answer["seconds"]["total"])
    left = clock.left()
    proof = compare(before, scaled, time_limit=limit if left is None else min(limit, left), **chosen)
    if proof["outcome"] != "identical":
        return after, fates
    return scaled, [("scaled" if fate == "kept" else fate, weight * factor) for fate, weight in fates]


def _certified(
    before: Model,
    after: Model,
    certificate: bool | str | os.PathLike[str] | None,
    evidence: Evidence,
    settings: dict[str, Any],
    clock: _Clock,
) -> str | bytes | None:
    """The certificate, or the path to which it was written, whole or not at all; `None` where the time was too short."""
    if certificate is None or certificate is False:
        return None
    chosen = {name: settings[name] for name in ("band", "threads", "missing")}
    content = certify(before, after, evidence=evidence, time_limit=clock.left(), **chosen)
    if content is None:
        _log.warning("the time limit was too short for a certificate; the model is proved, but the checker has not seen it")
        return None
    if certificate is True:
        return content
    path = os.fsdecode(certificate)
    # A name of its own, so that two runs do not write into each other's file.
    temporary = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
    return path


def _size(model: Model) -> int | None:
    try:
        return len(model.to_bytes())
    except EditingError:
        return None
