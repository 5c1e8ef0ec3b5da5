"""Do two models decide alike on every input?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur import _labels, _options
from secateur._model import recognise, same_inputs
from secateur._secateur import compare


@dataclass(frozen=True)
class Verification:
    """What is known of two models. Exactly one of `identical`, `different` and `undecided` is true.

    `identical` is a proof: on every input that both libraries accept and where the first model's winner
    leads by more than `band`, the second model decides the same. `counterexample` is an input row on which
    they differ. `undecided` says that neither was found, and `reason` why; `proved_above` then is a lead of the
    first model's winner above which the two are proved to decide alike, where they are similar enough for that.
    With `exact` (`band=0`) all this is about the models' exact sums: where a library's rounding decides, its classes can
    differ.
    `scope` says which inputs are meant: "all", or "no_missing" where those with missing values are left out. `notes` says
    what else to know of the comparison, such as classes that could only be matched by position.

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

    @property
    def identical(self) -> bool:
        return self.outcome == "identical"

    @property
    def different(self) -> bool:
        return self.outcome == "different"

    @property
    def undecided(self) -> bool:
        return self.outcome == "undecided"

    def __bool__(self) -> bool:
        raise TypeError("a verification has three outcomes: ask for .identical, .different or .undecided")


def verify(
    a: Any,
    b: Any,
    *,
    band: str | float = "auto",
    missing: bool = True,
    time_limit: float | str | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Verification:
    """Proves that two models decide alike on every input, or finds one on which they differ.

    `a` and `b` are whatever `secateur.load` reads, of any two formats. Columns are matched by name where both have
    names, else by order; categories by label where both have labels. Classes are matched by the labels that `predict`
    returns; beside a booster or a file without labels they are matched by position, and `notes` says so. Of two
    pipelines the last steps are compared, and the steps before must be the same. `band` is "auto" (the smallest one for
    which the first model's own decision is no artefact of its rounding), 0 (the exact sums, ties included, and not what
    a library's rounding makes of them) or
    a larger score. `missing=False` leaves inputs with missing values out. `time_limit` is in seconds, or "30s", "10m", "2h".

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
    first, second = recognise(a), recognise(b)
    same_inputs(first, second)
    notes = _labels.compared_classes(first.model, second.model)
    answer = compare(
        first.model,
        second.model,
        band=_options.band(band),
        missing=_options.missing(missing),
        time_limit=_options.time_limit(time_limit),
        threads=_options.threads(threads),
        seed=_options.count("seed", seed, 0),
    )
    loud = []
    if answer["by_code"]:
        columns = ", ".join(answer["by_code"])
        loud.append(f"only one of the models has category labels for {columns}: the answer is about codes, not labels")
    if answer["unplaced"]:
        loud.append(
            "one of the models has category labels without naming their columns and the other has none: the answer is "
            "about codes, not labels"
        )
    for note in loud:
        warnings.warn(note, stacklevel=2)
    classes = answer.get("classes")
    if classes is not None:
        classes = (first.model.classes[classes[0]], second.model.classes[classes[1]])
    scores = answer.get("scores")
    different = answer["outcome"] == "different"
    return Verification(
        outcome=answer["outcome"],
        scope=answer["scope"],
        band=answer["band"],
        exact=_options.band(band) == 0.0,
        counterexample=answer["row"] if different else None,
        classes=classes,
        counterexample_labels=answer.get("labels"),
        scores=None if scores is None else tuple(scores),
        reason=answer.get("reason"),
        proved_above=answer["proved_above"],
        matched_by_label=tuple(answer["by_label"]),
        matched_by_code=tuple(answer["by_code"]),
        nodes=answer["nodes"],
        seconds=answer["seconds"],
        notes=(*notes, *loud),
    )
