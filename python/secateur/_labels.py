"""Class labels: those that a live object's `predict` returns, and what they mean for a comparison.

The files of XGBoost and LightGBM have no class labels, their classifiers do. What people compare is what `predict`
returns, so a model that came from a live object has the object's labels, and two models with labels are matched by
label: numbers by value (True, 1 and 1.0 are the same label, as they are for `==`), texts letter by letter. Beside a
model without labels classes can only be matched by their position, and the result says so.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from secateur._secateur import ComparisonError, Model, ModelError

_log = logging.getLogger("secateur")


def checked(classes: Any) -> np.ndarray:
    """An object's class labels as an array of one type that a comparison understands."""
    labels = np.asarray(classes)
    if labels.ndim != 1:
        raise ModelError("a classifier with several outputs is not supported; fit one model for each output")
    listed = labels.tolist()
    if len({type(label) for label in listed}) != 1:
        raise ModelError(f"the class labels {listed!r} are not of one type")
    if labels.dtype.kind not in "biufUO" or not isinstance(listed[0], (bool, int, float, str)):
        raise ModelError(
            f"class labels like {labels[0]!r} are not supported; numbers, booleans and text are"
        )
    if isinstance(listed[0], int) and any(not -(2**63) <= label < 2**63 for label in listed):
        raise ModelError(f"the class labels {listed!r} do not fit into 64 bits with a sign")
    return labels


def with_labels(model: Model, classes: Any, count: int | None = None) -> Model:
    """The model with the labels of its object, in the type that `predict` returns. `count` is how many classes the
    object says that it has, where it says so apart from the labels."""
    labels = checked(classes)
    if count is not None and count != len(labels):
        raise ModelError(f"the object has {len(labels)} class labels and says that it has {count} classes")
    if len(labels) == 1 != len(model.classes):
        raise ModelError(f"the object knows the single class {labels[0]!r}: there is nothing to decide")
    # A copy: the model stays as it is whatever becomes of the object.
    return model.with_labels(labels.copy())


def compared_classes(first: Model, second: Model) -> list[str]:
    """What to know of how the classes of two models are matched: notes for the result, which are logged too.
    Raises `ComparisonError` where the two never return the same labels."""
    _partners(first, second)
    if first.has_labels == second.has_labels:
        return []
    labels = first.classes if first.has_labels else second.classes
    if labels == list(range(len(labels))):
        return []
    which = "second" if first.has_labels else "first"
    shown = ", ".join(f"{label!r} with class {index}" for index, label in enumerate(labels[:4]))
    note = (
        f"classes are compared by position, because the {which} model has no class labels: {shown}"
        f"{', ...' if len(labels) > 4 else ''}"
    )
    _log.warning("%s", note)
    return [note]


def certified_classes(original: Model, pruned: Model) -> None:
    """The same for a certificate, which is about model files: where a file has no labels, the checker matches classes
    by position, and the objects' labels have to say the same."""
    if not (original.is_classifier and pruned.is_classifier):
        # The claim can only be about scores; the checker refuses any other.
        return
    partners = _partners(original, pruned)
    by_position = not (original.file_has_labels and pruned.file_has_labels)
    if by_position and partners is not None and partners != list(range(len(partners))):
        raise ComparisonError(
            "a certificate for files without class labels matches classes by position, and the objects' labels "
            f"are in another order: {original.classes!r} and {pruned.classes!r}"
        )
    compared_classes(original, pruned)


def loud(labels: dict[str, Any]) -> list[str]:
    """What to warn of: where only one of two models has category labels, the answer is about codes."""
    notes = []
    if labels["by_code"]:
        columns = ", ".join(labels["by_code"])
        notes.append(f"only one of the models has category labels for {columns}: the answer is about codes, not labels")
    if labels["unplaced"]:
        notes.append(
            "one of the models has category labels without naming their columns and the other has none: the answer is "
            "about codes, not labels"
        )
    return notes


def _partners(first: Model, second: Model) -> list[int] | None:
    """For each class of the first model the position of the second's class of the same label; `None` where one of the
    two has no labels."""
    ours, theirs = first.classes, second.classes
    if len(ours) != len(theirs):
        raise ComparisonError(f"the models have {len(ours)} and {len(theirs)} classes")
    if not (first.has_labels and second.has_labels):
        return None
    for label in ours:
        if label not in theirs:
            raise ComparisonError(
                f"the models have different classes: {label!r} is not a class of the second. The first returns "
                f"{_listed(ours)}, the second {_listed(theirs)}; to compare classes by position, give the boosters or "
                "the model files, which have no labels"
            )
    return [theirs.index(label) for label in ours]


def _listed(labels: list[Any]) -> str:
    return ", ".join(repr(label) for label in labels[:6]) + (", ..." if len(labels) > 6 else "")
