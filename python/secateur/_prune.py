"""`prune`: a smaller model that decides the same on every input, proved."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Callable, overload

import numpy as np

from secateur import _domain, _files, _options, _picture, _progress
from secateur._model import Subject, one_threshold, recognise
from secateur._secateur import prune as _run
from secateur._secateur import prune_to_size, prune_without_proof
from secateur._crew import crew_of
from secateur._errors import OptionError

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
    trees_empty: int
    """Trees of the pruned file that are a leaf of zero: formats that hold one tree of each class in every round fill rounds up
    with such. The library counts them (`trees_after + trees_empty`); `trees_after` does not."""
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
    """The inputs of the claim: "all", "no_missing" where those with missing values are left out, or "domain"."""
    band: float | None
    """The claim is for inputs on which the original's winner leads by more than this. `None` where scores are kept."""
    exact: bool
    """The claim is about exact sums (`band=0`), and not about what the library's rounding makes of them."""
    probability: tuple[float, float] | None
    """The same as an interval of probabilities, for logistic models."""
    data: dict[str, Any] | None
    """What the rows of `X` say of the band: "rows", of which "measured" in exact arithmetic; "in_band" of these lie inside the
    band (`None` where no band covers the library's rounding), "rounded" are decided otherwise by the library than by the
    exact sums, "changed_in_band" of all rows are decided otherwise by the library with the pruned model; "words" says it.
    `None` without rows."""
    probability_shift: dict[str, Any] | None
    """How far probabilities move on the rows of `X`: "rows", the "largest" difference of a class's probability, the
    "mean", and where there are two classes and `y` was given the "auc" "before" and "after". This is measured, and not part of the claim, which is about decisions. `None` without rows, and for models
    whose scores do not become probabilities."""
    lower_bound: int | None
    """No model that the moves allow has fewer trees. `None` where scores are kept: no bound is claimed then."""
    irreducible: bool
    """No tree can go on its own, by the solver's word (which is not proved as `lower_bound` is)."""
    cut_short: bool
    """The model is large and no `time_limit` was given, so not every tree was tried; with a limit more are."""
    certificate: str | bytes | None
    """Where the certificate was written, or the certificate itself, as asked for; `None` also where the time limit was
    too short for it."""
    oracle_calls: int
    points: int
    """How many inputs the solver looked at."""
    timings: dict[str, float]
    """Seconds spent, by what they were spent on."""
    checked: bool
    """Whether the independent checker accepted the proof. False only where `self_check=False` asked for that, or where
    the time limit was too short for the certificate."""
    claim: str
    """What is proved, in a sentence."""
    _facts: dict[str, Any] = field(default_factory=dict)
    _words: str = ""
    domain: _domain.Domain | None = None
    """The domain of the claim; `None` where it is about every input that the library accepts."""
    within: float | None = None
    """Where scores are kept: none moves by more than this, the library's rounding included."""
    unchanged: bool = False
    """Whether the model is what it was, in every tree and number."""
    interrupted: bool = False
    """Whether Ctrl-C ended the search: the model is the best that was proved by then."""
    threshold: float | None = None
    """The probability of the second class at which the claim is about decisions; `None` for the library's own rule."""
    pack: dict[str, Any] | None = None
    """Where pruning removed less than a tenth of the trees, what `secateur.pack` gives for this model: its "bytes", and the seconds for one row
    alone ("row_seconds") and among many ("batch_row_seconds"), measured on this machine."""
    score_shift: dict[str, Any] | None = None
    """Where scores are kept: how many "rows" of `X` there are, and the "largest" difference of a score on them."""

    @property
    def minimal(self) -> bool:
        """Whether no model that the moves allow has fewer trees: proved."""
        return self.lower_bound is not None and self.trees_after <= self.lower_bound

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.timings["total"]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, as `secateur prune --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def picture(self) -> str:
        """An SVG of the trees before and after, with their weights."""
        return _picture.svg(self)

    def __repr__(self) -> str:
        return f"<Pruning: {_picture.summary(self)}>"

    def __str__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return _picture.html(self)


@dataclass(frozen=True, eq=False, repr=False)
class Unproved:
    """A model that MAY DECIDE OTHERWISE than the original: what `prune` gives with `method`. Nothing is proved of it."""

    model: Any
    """The model, of the same type as the one that was given (for a path: a `secateur.Model`)."""
    method: str
    trees_before: int
    trees_after: int
    fidelity: float
    """The share of the given rows that are decided as before."""
    accuracy: tuple[float, float] | None
    """The shares of the given rows that are decided for their own class, before and after; None without `y`."""
    oracle: dict[str, Any] | None = None
    """With "rows" and "boxes": what the oracle finds against the model, as `secateur verify --json` prints it."""
    _facts: dict[str, Any] = field(default_factory=dict)
    _words: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, as `secateur prune --method --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def __repr__(self) -> str:
        may = "" if self.oracle is None else " MAY"
        return f"<Unproved: {self.trees_before} -> {self.trees_after} trees, DECISIONS{may} CHANGE>"

    def __str__(self) -> str:
        return self._words


@overload
def prune(
    model: Any,
    X: Any = ...,
    *,
    effort: str = ...,
    objective: str = ...,
    moves: str = ...,
    weight_per: str | None = ...,
    band: str | float = ...,
    within: float | None = ...,
    keep: str = ...,
    threshold: float | None = ...,
    missing: bool = ...,
    domain: Any = ...,
    time_limit: float | str | None = ...,
    threads: int | None = ...,
    certificate: bool | str | os.PathLike[str] | None = ...,
    self_check: bool = ...,
    report: str | os.PathLike[str] | None = ...,
    progress: bool | Callable[[dict[str, Any]], None] | None = ...,
    seed: int = ...,
    executor: Executor | None = ...,
    method: None = ...,
    size: None = ...,
    y: Any = ...,
) -> Pruning: ...


@overload
def prune(
    model: Any,
    X: Any,
    *,
    method: str,
    accept_unproved: bool,
    size: int | None = ...,
    boxes: int | None = ...,
    y: Any = ...,
    effort: str = ...,
    objective: str = ...,
    moves: str = ...,
    weight_per: str | None = ...,
    band: str | float = ...,
    missing: bool = ...,
    domain: Any = ...,
    time_limit: float | str | None = ...,
    threads: int | None = ...,
    seed: int = ...,
) -> Unproved: ...


def prune(
    model: Any,
    X: Any = None,
    *,
    effort: str = "thorough",
    objective: str = "trees",
    moves: str = "leaves",
    weight_per: str | None = None,
    band: str | float = "auto",
    within: float | None = None,
    keep: str = "decisions",
    threshold: float | None = None,
    missing: bool = True,
    domain: Any = None,
    time_limit: float | str | None = None,
    threads: int | None = None,
    certificate: bool | str | os.PathLike[str] | None = None,
    self_check: bool = True,
    report: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    method: str | None = None,
    size: int | None = None,
    boxes: int | None = None,
    y: Any = None,
    accept_unproved: bool = False,
) -> Pruning | Unproved:
    """A smaller model that decides as `model` does on every input, or with `within` keeps its scores, proved. `model` stays as
    it is.

    The result was pruned, read back, certified and, unless `self_check=False`, accepted by the independent checker
    (`result.checked`), all within `time_limit`. Ctrl-C ends the search with the best model that is proved by then (`result.interrupted`); a
    second one raises `KeyboardInterrupt`. The command line goes the same road and gives the same model.

    `model` is a fitted classifier (with `within` also a regressor or ranker) of XGBoost, LightGBM, CatBoost or
    scikit-learn, a booster, a pipeline that ends in one of these, or the path of a model file. `X` may hold rows of its inputs; they make the search faster, and the
    answer holds for every input with or without them.

    - `effort`: "fast" folds and reweights, "thorough" also tries to do without each tree, "minimum" looks for the
      smallest size and proves it.
    - `objective`: what is made small, "trees", "leaves" or "bytes".
    - `moves`: "leaves" may merge trees and move the intercept, "weights" only scales and drops trees.
    - `weight_per`: what one weight belongs to, "round" (all trees of a boosting round) or "tree"; "round" with
      `moves="weights"`, "tree" otherwise.
    - `band`: "auto" is the smallest for which the model's own decisions are no artefact of its rounding, 0 is a
      claim about the exact sums with their ties and not about what the library's rounding returns, a larger score
      allows changes that near to the decision boundary.
    - `within`: keep scores and not only decisions: on every input the library's raw scores (averaged where it averages)
      with the pruned model are at most this far from those with `model`, rounding included. 0 allows what gives the same
      bits. For regressors, rankers and classifiers; it does not go with `band` and `effort="minimum"`, and no
      lower bound is claimed.
    - `keep`: "scores" keeps every score up to the library's own rounding (what `within` is then, `result.within` says), so that
      calibration, stacking, ranking and every threshold go on as before; "decisions", the default, keeps classes, and
      far more can go.
    - `threshold`: decide by comparing the probability of the second class with this, instead of the library's own rule: the
      claim is about `predict_proba(X)[:, 1] >= threshold` (or `>`), and `predict` itself may change. For boosted trees with
      two classes. A `FixedThresholdClassifier` or `TunedThresholdClassifierCV` brings its own, and is kept as a whole.
    - `missing`: False leaves inputs with missing values out of the claim, for those who never have any. More can go
      then, from forests most of all. Rows of `X` with missing values do not count. Where the library takes no missing
      values, this changes nothing.
    - `domain`: which inputs can occur, a `secateur.Domain` or the path of its file. The claim is about these inputs and no
      others, and far more can go where columns depend on each other (one-hot encoded columns most of all). Rows of `X`
      outside of it do not count. For a pipeline the default is what its steps guarantee (`Domain.from_pipeline`), since
      every input of the pipeline lands there; `result.domain` says what that is. False is every input.
    - `time_limit`: seconds, or "500ms", "30s", "10m", "2h"; the best model that is proved by then is the answer. Without it a fixed
      amount of work is done, the same on every machine, for at most five minutes; "none" is no limit.
    - `threads`: all cores unless given. `seed`: where random choices start.
    - `executor`: any `concurrent.futures.Executor`, whose workers help with the certificate where that takes more than a second, as in
      `verify`. The questions of the search itself are short and stay here. The result is the same.
    - `certificate`: a path to write it to, or True to have it in the result.
    - `self_check`: False leaves the certificate and its check out; the result is then the search's word alone.
    - `report`: a path to write an HTML page about the run to.
    - `y`: the classes of the rows `X`. Where these are two, the area under the ROC curve is measured before and after
      (`result.probability_shift["auc"]`). The search does not use them.
    - `method`, `size`, `y`, `accept_unproved`: one of the paper's baselines instead ("ic", "imd", "drep"), which keeps
      `size` trees (with trees for each class: rounds), chosen on the rows `X` with the classes `y`. DECISIONS CHANGE
      and nothing is proved, so `accept_unproved=True` is needed, and the result is a `secateur.Unproved`.
    - `method="rows"`: the paper's pruner on the rows `X` alone, without its oracle; `method="boxes"`: with an oracle that
      may visit `boxes` boxes for each question, and what it does not refute is taken. DECISIONS MAY CHANGE and nothing is
      proved, so these need `accept_unproved=True` too; `result.oracle` says what the oracle finds against the model in
      the end. They find their own size, need no `y`, and take the other options but `effort="minimum"`.
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
        "weight_per": None if weight_per is None else _options.choice("weight_per", weight_per, _options.UNITS),
        "band": _options.band(band),
        "within": None if within is None else float(within),
        "keep_scores": _options.choice("keep", keep, _options.KEPT) == "scores",
        "missing": _options.flag("missing", missing),
        "time_limit": math.inf if time_limit in ("none", math.inf) else _options.time_limit(time_limit),
        "threads": _options.threads(threads),
        "seed": _options.count("seed", seed, 0),
        # A certificate that is asked for is checked in any case.
        "self_check": _options.flag("self_check", self_check) or _wanted(certificate),
    }
    if within is not None and (band != "auto" or method is not None):
        raise OptionError("band and method are about decisions, and do not go with within")
    if keep == "scores" and (band != "auto" or method is not None or within is not None):
        raise OptionError('band, method and within do not go with keep="scores"')
    threshold = _options.threshold(threshold)
    if threshold is not None and (within is not None or keep == "scores" or method is not None):
        raise OptionError("a threshold is about decisions, and does not go with within, keep and method")
    started = time.monotonic()
    subject = recognise(model, thresholds=True)
    settings["threshold"] = one_threshold(threshold, subject)
    if settings["threshold"] is not None and (
        within is not None or keep == "scores" or method is not None
    ):
        raise OptionError(
            f"this {type(model).__name__} decides at a threshold; within, keep and method do not go with one: give the "
            "classifier that it holds (estimator_)"
        )
    if method is not None:
        if executor is not None:
            raise OptionError("executor is for proofs, and does not go with method")
        searched = {key: value for key, value in settings.items() if key not in ("within", "keep_scores", "threshold", "self_check")}
        if searched["time_limit"] == math.inf:
            searched["time_limit"] = None
        if method in ("rows", "boxes"):
            searched["domain"] = _chosen_domain(subject, domain, missing)
        return _unproved(subject, X, method, size, boxes, y, accept_unproved, searched)
    if size is not None or boxes is not None or accept_unproved:
        raise OptionError("size, boxes and accept_unproved go with method; a proved model has the size that can be proved")
    if y is not None and X is None:
        raise OptionError("y holds the classes of the rows X, and there are none")
    classes = _classes(subject, y)
    before = subject.model
    settings["domain"] = _chosen_domain(subject, domain, missing)
    rows = subject.rows(X)
    if rows is not None and classes and len(classes) != len(rows):
        raise OptionError(f"X has {len(rows)} rows and y {len(classes)} classes")
    place = os.fsdecode(certificate) if isinstance(certificate, (str, os.PathLike)) else None
    if settings["time_limit"] is not None:
        # What it took to read the model and the rows counts too.
        settings["time_limit"] = max(0.0, settings["time_limit"] - (time.monotonic() - started))
    _log.info("pruning %s: %d trees, %d leaves", before.dialect, before.tree_count, before.leaf_count)
    with _progress.watching(progress, before.tree_count) as news:
        answer = _run(
            before,
            rows,
            progress=news,
            path=subject.path,
            certificate=place,
            report=report is not None,
            classes=classes,
            crew=crew_of(executor),
            **settings,
        )
    proof = answer["certificate"]
    if place is not None and proof is not None:
        _files.write(place, proof)
    if report is not None:
        _files.write(os.fsdecode(report), answer["html"].encode())
    facts = json.loads(answer["json"])
    # Where scores are kept, there is no band.
    band_facts = facts["band"] or {"score": None, "exact": False, "probability": None}
    probability = band_facts["probability"]
    result = Pruning(
        model=subject.rebuild(answer["model"]),
        outcome=facts["outcome"],
        trees_before=facts["trees"]["before"],
        trees_after=facts["trees"]["after"],
        trees_empty=facts["trees"]["empty"],
        leaves_before=facts["leaves"]["before"],
        leaves_after=facts["leaves"]["after"],
        bytes_before=facts["bytes"]["before"],
        bytes_after=facts["bytes"]["after"],
        weights=np.array([fate.get("weight", 0.0) for fate in facts["fates"]], dtype=np.float64),
        fates=[fate["fate"] for fate in facts["fates"]],
        scope=facts["scope"],
        band=band_facts["score"],
        exact=band_facts["exact"],
        probability=None if probability is None else tuple(probability),
        data=None if facts["data"] is None else facts["data"] | {"words": answer["data"]},
        probability_shift=facts["probability_shift"],
        lower_bound=facts["lower_bound"],
        irreducible=facts["irreducible"],
        cut_short=facts["cut_short"],
        certificate=facts["certificate"] if place is not None else proof if certificate is True else None,
        oracle_calls=facts["oracle_calls"],
        points=facts["points"],
        timings=facts["seconds"],
        checked=facts["checked"],
        claim=answer["claim"],
        _facts=facts,
        _words=answer["words"],
        domain=_domain.of_facts(facts["domain"], settings["domain"]),
        within=facts["within"],
        unchanged=facts["unchanged"],
        interrupted=facts["interrupted"],
        threshold=settings["threshold"],
        pack=facts["pack"],
        score_shift=facts["score_shift"],
    )
    if result.interrupted:
        _log.warning("interrupted: this is the best model that was proved by then")
    if settings["self_check"] and not result.checked:
        _log.warning("the time was too short for a certificate; the model is proved, but the checker has not seen it")
    _log.info("%s", _picture.summary(result))
    return result


def _chosen_domain(subject: Subject, domain: Any, missing: bool) -> _domain.Given | None:
    """The domain that was given; for a pipeline, what its steps guarantee."""
    if domain is False or domain is None and not missing:
        return None
    if domain is None:
        found = _domain.of_steps(subject)
        if found is None:
            return None
        _log.info("the steps of the pipeline guarantee a domain, which the claim is about: %r", found)
        domain = found
    return _domain.as_given(domain, missing)


def _classes(subject: Subject, y: Any) -> list[int]:
    """The positions of the rows' classes among those of the model; empty where they are not given."""
    places = {label: index for index, label in enumerate(subject.model.classes)}
    try:
        return [] if y is None else [places[label] for label in np.asarray(y).tolist()]
    except KeyError as unknown:
        raise OptionError(f"y: {unknown.args[0]!r} is not a class of the model") from None


def _wanted(certificate: bool | str | os.PathLike[str] | None) -> bool:
    return certificate is not None and certificate is not False


def _unproved(
    subject: Subject, X: Any, method: Any, size: Any, boxes: Any, y: Any, accepted: Any, settings: dict[str, Any]
) -> Unproved:
    """One of the paper's baselines, or its pruner without the whole oracle."""
    _options.choice("method", method, _options.METHODS)
    if accepted is not True:
        raise OptionError("with method decisions change and nothing is proved; accept_unproved=True says that this is meant")
    searches = method in ("rows", "boxes")
    if searches and (X is None or size is not None or (boxes is None) == (method == "boxes")):
        raise OptionError("method \"rows\" needs rows X; method \"boxes\" needs rows X and boxes; neither has a size")
    if searches and settings["effort"] == "minimum":
        raise OptionError("without a proof there is no smallest size: effort must be \"fast\" or \"thorough\"")
    if not searches and (X is None or y is None or size is None or boxes is not None):
        raise OptionError("method needs size, rows X and their classes y")
    classes = _classes(subject, y)
    rows = subject.rows(X)
    assert rows is not None, "rows were given"
    if searches:
        limit = None if boxes is None else _options.count("boxes", boxes, 1)
        answer = prune_without_proof(subject.model, rows, classes, boxes=limit, **settings)
    else:
        answer = prune_to_size(subject.model, rows, classes, method=method, size=_options.count("size", size, 1))
    facts = json.loads(answer["json"])
    accuracy = facts["accuracy"]
    return Unproved(
        model=subject.rebuild(answer["model"]),
        method=facts["method"],
        trees_before=facts["trees"]["before"],
        trees_after=facts["trees"]["after"],
        fidelity=facts["fidelity"],
        accuracy=None if accuracy is None else (accuracy["before"], accuracy["after"]),
        oracle=facts["oracle"],
        _facts=facts,
        _words=answer["words"],
    )
