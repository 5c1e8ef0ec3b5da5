"""From whatever a user has, a file or a fitted object, to a `Model`, and back to an object of the same kind."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from secateur import _boosting, _rows, _settings, _sklearn
from secateur._errors import OptionError
from secateur._secateur import ComparisonError, Model, ModelError


@dataclass(frozen=True)
class Subject:
    """A model, and its way back to an object of the kind that it came from."""

    model: Model
    rebuild: Callable[[Model], Any]
    """A new object for an edit of `model`."""
    rows: Callable[[Any], np.ndarray | None]
    """A table in the space of the object's inputs, as rows of the model."""
    path: str | None = None
    before: Any = None
    """What a pipeline does to its inputs before the model sees them."""
    threshold: float | None = None
    """The probability of the second class from which on the object decides for it, where that is not the library's own rule."""


def recognise(model: Any, thresholds: bool = False) -> Subject:
    """What a user's object is. Objects that decide at a threshold of their own are taken where `thresholds` says so: for
    what looks at trees and scores alone, or at the library's own decisions, they are something else."""
    if isinstance(model, Model):
        return Subject(model, rebuild=lambda pruned: pruned, rows=_numbers(model))
    kind = type(model)
    if (kind.__module__, kind.__qualname__) == ("secateur._packed", "PackedModel"):
        _settings.check_methods(model)
        read = model._model()
        return Subject(read, rebuild=lambda pruned: pruned, rows=_numbers(read))
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        read = Model.read(path)
        return Subject(read, rebuild=lambda pruned: pruned, rows=_numbers(read), path=str(path))
    package = kind.__module__.partition(".")[0]
    if package == "xgboost":
        read = _boosting.xgboost_model(model)
        return Subject(
            read,
            rebuild=lambda pruned: _boosting.xgboost_rebuild(model, pruned),
            rows=_numbers(read),
        )
    if package == "lightgbm":
        read = _boosting.lightgbm_model(model)
        return Subject(
            read,
            rebuild=lambda pruned: _boosting.lightgbm_rebuild(model, pruned),
            rows=_numbers(read),
        )
    if package == "catboost":
        read = _boosting.catboost_model(model)
        return Subject(
            read,
            rebuild=lambda pruned: _boosting.catboost_rebuild(model, pruned),
            rows=_numbers(read),
        )
    if (kind.__module__, kind.__qualname__) == _PIPELINE:
        return _pipeline(model)
    if (kind.__module__, kind.__qualname__) == ("secateur._estimator", "PrunedClassifier"):
        _settings.check_methods(model)
        return recognise(_sklearn.fitted(model, "estimator_"), thresholds)
    if (kind.__module__, kind.__qualname__) in _THRESHOLDS:
        if not thresholds:
            raise ModelError(
                f"{kind.__qualname__} decides at a threshold of its own, which prune, verify and check know; here, give "
                "the classifier that it holds (estimator_)"
            )
        return _at_threshold(model)
    if package == "sklearn":
        held = _sklearn.held(model)
        if held is not None:
            return recognise(held, thresholds)
        read = _sklearn.load(model)
        return Subject(read, rebuild=lambda pruned: _sklearn.rebuild(model, pruned), rows=_numbers(read))
    raise ModelError(f"{kind.__module__}.{kind.__qualname__} is not a model that secateur can read{_base(kind)}")


_PIPELINE = ("sklearn.pipeline", "Pipeline")

# Where each of them keeps its threshold.
_THRESHOLDS = {
    ("sklearn.model_selection._classification_threshold", "FixedThresholdClassifier"): "threshold",
    ("sklearn.model_selection._classification_threshold", "TunedThresholdClassifierCV"): "best_threshold_",
}


def _at_threshold(model: Any) -> Subject:
    """A classifier of scikit-learn that compares the probability of another one with a threshold of its own."""
    kind = type(model)
    _settings.check_methods(model)
    name = "estimator_" if hasattr(model, "estimator_") else "estimator"
    inner = recognise(getattr(model, name))
    threshold = _sklearn.fitted(model, _THRESHOLDS[(kind.__module__, kind.__qualname__)])
    if model.response_method == "decision_function" or not hasattr(getattr(model, name), "predict_proba"):
        raise ModelError(
            f"this {kind.__qualname__} compares decision_function and not probabilities with its threshold, which is not "
            "supported; give it response_method='predict_proba'"
        )
    classes = list(model.classes_)
    positive = getattr(model, "pos_label", None)
    if positive is None and hasattr(model, "_curve_scorer"):
        positive = model._curve_scorer._get_pos_label()
    if len(classes) == 2 and positive is not None and positive != classes[1]:
        raise ModelError(
            f"this {kind.__qualname__} compares the probability of its first class ({classes[0]!r}) with its threshold, and "
            "only the second one's is supported"
        )

    return Subject(
        inner.model,
        rebuild=lambda pruned: _with(model, name, inner.rebuild(pruned)),
        rows=inner.rows,
        before=inner.before,
        threshold=0.5 if isinstance(threshold, str) else float(threshold),
    )


def _with(holder: Any, name: str, held: Any) -> Any:
    """A copy of an object that holds this one under that name. The two objects share nothing else."""
    shell = copy.copy(holder)
    setattr(shell, name, None)
    new = copy.deepcopy(shell)
    setattr(new, name, held)
    return new


def _with_last_step(pipeline: Any, last: Any) -> Any:
    """A copy of a pipeline with another last step."""
    *before, (name, _) = pipeline.steps
    new = _with(pipeline, "steps", None)
    new.steps = [*copy.deepcopy(before), (name, last)]
    return new


def holder(model: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """For an object of scikit-learn that holds the fitted model: that model, and how to put another one in its place. Searches hold the
    model that they found and nothing that a prediction needs, so another model takes their place; a pipeline and a classifier
    with a threshold of its own are copied. `None` for other objects."""
    kind = type(model)
    where = (kind.__module__, kind.__qualname__)
    if where == _PIPELINE:
        _settings.check_methods(model)
        return _last_step(model), lambda last: _with_last_step(model, last)
    if where in _THRESHOLDS:
        _settings.check_methods(model)
        _sklearn.fitted(model, _THRESHOLDS[where])
        name = "estimator_" if hasattr(model, "estimator_") else "estimator"
        return getattr(model, name), lambda held: _with(model, name, held)
    held = _sklearn.held(model)
    return None if held is None else (held, lambda packed: packed)


def one_threshold(given: float | None, *subjects: Subject) -> float | None:
    """The threshold of a claim about these objects: what the caller gives, or what all of them have."""
    own = {subject.threshold for subject in subjects}
    if given is not None:
        if own != {None}:
            raise OptionError("the object has a threshold of its own; give threshold= with the classifier that it holds")
        return given
    if len(own) > 1:
        raise ComparisonError(
            "the objects do not decide at the same threshold; to compare the classifiers that they hold, give their "
            "estimator_"
        )
    return own.pop()


def _base(kind: type) -> str:
    """What to say of a class that extends one that is read."""
    for base in kind.__mro__[1:]:
        known = (base.__module__, base.__qualname__) in _sklearn.SUPPORTED or base.__qualname__ in _boosting.SUPPORTED
        if known and base.__module__.partition(".")[0] in ("sklearn", "xgboost", "lightgbm", "catboost"):
            return f": a subclass of {base.__qualname__} may predict as it likes; give a {base.__qualname__} itself"
    return ""


def _numbers(model: Model) -> Callable[[Any], np.ndarray | None]:
    return lambda X: _rows.numbers(X, model)


def _last_step(pipeline: Any) -> Any:
    name, last = pipeline.steps[-1]
    if last is None or isinstance(last, str):
        raise ModelError(f"the last step of this pipeline ({name!r}) is {last!r} and no classifier")
    return last


def _pipeline(pipeline: Any) -> Subject:
    """The last step, in the space of its own inputs."""
    last = _last_step(pipeline)
    _settings.check_methods(pipeline)
    inner = recognise(last)

    def rows(X: Any) -> np.ndarray | None:
        if X is None:
            return None
        return inner.rows(pipeline[:-1].transform(X) if len(pipeline.steps) > 1 else X)

    if inner.before is not None:
        raise ModelError("a pipeline inside a pipeline is not supported; put its steps into one")

    before = pipeline[:-1] if len(pipeline.steps) > 1 else None
    return Subject(
        inner.model.shown_with(_names_after(before)), rebuild=lambda pruned: _with_last_step(pipeline, inner.rebuild(pruned)), rows=rows, before=before
    )


def _names_after(before: Any) -> list[str]:
    """What the steps call the columns that they return; nothing where they do not say, or were fitted without names."""
    if not hasattr(before, "feature_names_in_"):
        return []
    try:
        return [str(name) for name in before.get_feature_names_out()]
    except Exception:  # noqa: BLE001 - steps of users may fail in any way, and no answer depends on names
        return []


def same_inputs(first: Subject, second: Subject) -> None:
    """Two models can be compared only where the same inputs reach both: pipelines with the same earlier steps."""
    if first.before is None and second.before is None:
        return
    if first.before is None or second.before is None:
        what = "only one of the models is a pipeline with steps before its classifier"
    else:
        # scikit-learn brings joblib along.
        import joblib

        if joblib.hash(first.before) == joblib.hash(second.before):
            return
        what = "the pipelines' steps before their classifiers are not the same"
    raise ComparisonError(f"{what}; to compare the classifiers alone, give the last steps (pipeline[-1])")
