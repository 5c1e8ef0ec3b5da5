"""Do two models decide alike on every input?"""

from __future__ import annotations

import json
import os
import warnings
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np

from secateur import _domain, _files, _labels, _options
from secateur._crew import crew_of
from secateur._errors import OptionError
from secateur._model import one_threshold, recognise, same_inputs
from secateur._secateur import verify as _run


@dataclass(frozen=True)
class Verification:
    """What is known of two models. Exactly one of `identical`, `different` and `undecided` is true.

    `identical` is a proof: on every input that both libraries accept and where the first model's winner
    leads by more than `band`, the second model decides the same. `counterexample` is an input row on which
    they differ. `undecided` says that neither was found, and `reason` why; `proved_above` then is a lead of the
    first model's winner above which the two are proved to decide alike, where they are similar enough for that.
    With `exact` (`band=0`) all this is about the models' exact sums: where a library's rounding decides, its classes can
    differ.
    `scope` says which inputs are meant: "all", "no_missing" where those with missing values are left out, or "domain",
    and `domain` is that domain. Of a model that reads float64 (LightGBM, HistGradientBoosting) and one that reads float32
    the answer is about float32 numbers only, and `scope` is "f32", "f32_no_missing" or "f32_domain". `notes` says
    what else to know of the comparison, such as classes that could only be matched by position.
    `certificate` is the proof, or where it was written, as asked for; `checked` says whether the independent checker
    accepted it. `str` gives what `secateur verify` prints.

    Category columns are compared by label where both models have labels (`matched_by_label`): one label is one
    input, whatever code each model gives it. Where only one has labels (`matched_by_code`) the answer is about codes, and
    a warning says so. In `counterexample` categories are codes of the first model; `counterexample_labels` has the labels
    that they stand for, by column.
    """

    outcome: str
    scope: str
    band: float
    exact: bool
    counterexample: np.ndarray | None
    classes: tuple[Any, Any] | None
    counterexample_labels: dict[str, Any] | None
    scores: tuple[list[float], list[float]] | None
    reason: str | None
    proved_above: float | None
    matched_by_label: tuple[str, ...]
    matched_by_code: tuple[str, ...]
    nodes: int
    seconds: float
    notes: tuple[str, ...] = ()
    checked: bool = False
    certificate: str | bytes | None = None
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)
    _words: str = field(default="", repr=False)
    domain: _domain.Domain | None = None

    @property
    def identical(self) -> bool:
        return self.outcome == "identical"

    @property
    def different(self) -> bool:
        return self.outcome == "different"

    @property
    def undecided(self) -> bool:
        return self.outcome == "undecided"

    def to_dict(self) -> dict[str, Any]:
        """Everything as `secateur verify --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._words

    def __bool__(self) -> bool:
        raise TypeError("a verification has three outcomes: ask for .identical, .different or .undecided")


@dataclass(frozen=True)
class ScoreVerification:
    """How far the scores of two models can be apart, over all inputs.

    `outcome` is "measured"; where a limit was given (`within`), "within" (proved), "exceeds" (`input` shows it) or
    "undecided", and `reason` says why. `at_most` is proved by the search, the rounding of both libraries included
    (`rounding` says how much of it that is); with a `certificate` also by the independent checker (`checked`). `at_least` is what the libraries' own arithmetic
    shows on `input`: their `scores` there, for this `output`. `ended` says that the greatest difference of the exact scores
    is known, to four digits of `at_most` or to a thousandth of `rounding`, so that else nothing but rounding is between the two. Where one of two binary classifiers has a score for
    each class and the other a single one (a forest and its conversion to ONNX), those of the second class are compared. `probability` is what `at_most` means for the probabilities of
    logistic and softmax models, before a library rounds these. `str` gives what `secateur verify --scores` prints.
    """

    outcome: str
    within: float | None
    at_most: float | None
    at_least: float | None
    rounding: float | None
    input: np.ndarray | None
    output: int | None
    scores: tuple[float, float] | None
    ended: bool
    probability: float | None
    reason: str | None
    scope: str
    nodes: int
    seconds: float
    domain: _domain.Domain | None = None
    checked: bool = False
    certificate: str | bytes | None = None
    _words: str = field(default="", repr=False)
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything as `secateur verify --scores --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._words.rstrip("\n")

    def __bool__(self) -> bool:
        raise TypeError("ask for .outcome, or for .at_most and .at_least")


@overload
def verify(
    a: Any,
    b: Any,
    X: Any = None,
    *,
    scores: Literal[True],
    within: float | None = None,
    missing: bool = True,
    domain: Any = None,
    doubles: bool = False,
    time_limit: float | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    certificate: bool | str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ScoreVerification: ...
@overload
def verify(
    a: Any,
    b: Any,
    X: Any = None,
    *,
    band: str | float = "auto",
    threshold: float | None = None,
    scores: Literal[False] = False,
    missing: bool = True,
    domain: Any = None,
    time_limit: float | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    certificate: bool | str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Verification: ...
def verify(
    a: Any,
    b: Any,
    X: Any = None,
    *,
    band: str | float = "auto",
    threshold: float | None = None,
    scores: bool = False,
    within: float | None = None,
    missing: bool = True,
    domain: Any = None,
    doubles: bool = False,
    time_limit: float | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    certificate: bool | str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Verification | ScoreVerification:
    """Proves that two models decide alike on every input, or finds one on which they differ.

    `a` and `b` are whatever `secateur.load` reads, of any two formats. Columns are matched by name where both have
    names, else by order; categories by label where both have labels. Classes are matched by the labels that `predict`
    returns; beside a booster or a file without labels they are matched by position, and `notes` says so. Of two
    pipelines the last steps are compared, and the steps before must be the same. `band` is "auto" (the smallest one for
    which the first model's own decision is no artefact of its rounding), 0 (the exact sums, ties included, and not what
    a library's rounding makes of them) or
    a larger score. `missing=False` leaves inputs with missing values out; `domain`, a `secateur.Domain` or the path of
    its file, says which inputs can occur, and counterexamples are among them. `time_limit` is in seconds, or "30s", "10m", "2h".
    `X` may hold rows to start from; a counterexample is brought as near to one of them as it can be. `certificate` is
    a path to write the proof to, or True to have it in the result; the independent checker has accepted it then.
    `report` is a path to write an HTML page about the answer to. `threshold` compares decisions at that probability of the second
    class, in place of the libraries' own rules: for boosted trees with two classes. Objects of scikit-learn that have a threshold
    of their own bring it.

    With `executor`, any `concurrent.futures.Executor`, a search that takes more than a second goes on on its workers: Dask
    (`Client.get_executor()`), Ray (`secateur.ray_executor()`), `mpi4py.futures`, a process pool. The answer and the certificate are the same, byte by byte, as
    those of one thread, and a worker that is lost costs a repeat. The workers need the same version of secateur.

    `checkpoint` is a path where the search keeps how far it has come. One that was stopped, killed or ran out of time goes on from there. What the file says is not believed:
    the independent checker goes over the whole proof before the models are called identical. The file is removed when the answer is known; one that is
    damaged or about something else is refused.

    With `scores=True` the scores are compared and not the decisions, of classifiers, regressors and rankers alike: the
    answer is a `ScoreVerification` with the greatest difference over all inputs, proved from above (`at_most`) and
    shown from below (`at_least`). With `within` the question is whether no difference exceeds that. A `certificate` proves
    `within`, or without it `at_most`. Where one library reads doubles and the other rounds them to f32 (LightGBM beside ONNX), the answer is about
    values that an f32 can hold, which both read alike; with `doubles=True` about every double, without a certificate. `band` is not for
    these answers.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> small = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> large = AdaBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    >>> answer = secateur.verify(small, large)
    >>> answer.outcome
    'different'
    >>> row = answer.counterexample.reshape(1, -1)
    >>> bool(small.predict(row)[0] == large.predict(row)[0])
    False
    """
    about_scores = _options.flag("scores", scores)
    doubles = _options.flag("doubles", doubles)
    if about_scores and (band != "auto" or threshold is not None):
        raise OptionError("band and threshold are about decisions, and do not go with scores=True")
    if about_scores and checkpoint is not None and (within is None or doubles):
        raise OptionError("checkpoint goes with within where scores are compared, and not with doubles")
    if not about_scores and (within is not None or doubles):
        raise OptionError("within and doubles go with scores=True")
    # A threshold of an object's own is about its decisions.
    first, second = recognise(a, thresholds=not about_scores), recognise(b, thresholds=not about_scores)
    if not about_scores:
        threshold = one_threshold(_options.threshold(threshold), first, second)
    if threshold is not None and report is not None:
        raise OptionError("a page about decisions at a threshold is not made; leave report out")
    same_inputs(first, second)
    notes = () if about_scores else _labels.compared_classes(first.model, second.model)
    certifies = certificate is not None and certificate is not False
    if certifies:
        # A certificate is about the models' files, whatever labels their objects have.
        _labels.certified_classes(first.model, second.model)
    place = os.fsdecode(certificate) if isinstance(certificate, (str, os.PathLike)) else None
    given = _domain.as_given(domain, missing)
    answer = _run(
        first.model,
        second.model,
        first.rows(X),
        band=_options.band(band),
        threshold=threshold,
        scores=about_scores,
        within=None if within is None else float(within),
        doubles=doubles,
        missing=_options.flag("missing", missing),
        domain=given,
        time_limit=_options.time_limit(time_limit),
        threads=_options.threads(threads),
        seed=_options.count("seed", seed, 0),
        certify=certifies,
        certificate=place,
        paths=(first.path, second.path),
        report=report is not None,
        crew=crew_of(executor),
        checkpoint=checkpoint,
    )
    proof = answer["certificate"]
    if place is not None and proof is not None:
        _files.write(place, proof)
    if report is not None:
        _files.write(os.fsdecode(report), answer["html"].encode())
    facts = json.loads(answer["json"])
    both: dict[str, Any] = {
        "outcome": facts["outcome"],
        "reason": answer["reason"],
        "scope": facts["scope"],
        "nodes": facts["nodes"],
        "seconds": facts["seconds"],
        "domain": _domain.of_facts(facts["domain"], given),
        "checked": facts["checked"],
        "certificate": facts["certificate"] if place is not None else proof if certificate is True else None,
        "_words": answer["words"],
        "_facts": facts,
    }
    shown = answer.get("scores")
    shown = None if shown is None else tuple(shown)
    if about_scores:
        found = facts["scores"]
        return ScoreVerification(
            within=found["within"],
            at_most=found["at_most"],
            at_least=found["at_least"],
            rounding=found["rounding"],
            input=answer["row"],
            output=found["output"],
            scores=shown,
            ended=found["ended"],
            probability=found["probability"],
            **both,
        )
    loud = _labels.loud(facts["labels"])
    for note in loud:
        warnings.warn(note, stacklevel=2)
    classes = answer.get("classes")
    if classes is not None:
        classes = (first.model.classes[classes[0]], second.model.classes[classes[1]])
    return Verification(
        band=facts["band"]["score"],
        exact=facts["band"]["exact"],
        counterexample=answer["row"],
        classes=classes,
        counterexample_labels=None if facts["counterexample"] is None else facts["counterexample"]["labels"],
        scores=shown,
        proved_above=facts["proved_above"],
        matched_by_label=tuple(facts["labels"]["by_label"]),
        matched_by_code=tuple(facts["labels"]["by_code"]),
        notes=(*notes, *loud),
        **both,
    )
