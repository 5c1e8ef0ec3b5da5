"""From whatever a user has, a file or a fitted object, to a `Model`, and back to an object of the same kind."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from secateur import _boosting, _rows, _sklearn
from secateur._secateur import ComparisonError, Model, ModelError


@dataclass(frozen=True)
class Subject:
    """A model, and its way back to an object of the kind that it came from."""

    model: Model
    rebuild: Callable[[Model], Any]
    """A new object for an edit of `model`."""
    rows: Callable[[Any], np.ndarray | None]
    """A table in the space of the object's inputs, as rows of the model."""
    labels: list[Any] | None = None
    """Class labels that the object has and its model does not."""
    path: str | None = None
    before: Any = None
    """What a pipeline does to its inputs before the model sees them."""

    @property
    def classes(self) -> list[Any]:
        return self.model.classes if self.labels is None else self.labels


def load(model: Any) -> Model:
    """Reads a model: the path of a file, an XGBoost or LightGBM model, a scikit-learn classifier, or a
    scikit-learn pipeline that ends in one of them (its last step is read).

    Libraries are never imported here: an object of theirs brings its own.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model = secateur.load(forest)
    >>> model.tree_count
    10
    >>> bool((model.predict(X) == forest.predict(X)).all())
    True
    """
    return recognise(model).model


def recognise(model: Any) -> Subject:
    """What a user's object is."""
    if isinstance(model, Model):
        return Subject(model, rebuild=lambda pruned: pruned, rows=_numbers(model))
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        read = Model.read(path)
        return Subject(read, rebuild=lambda pruned: pruned, rows=_numbers(read), path=str(path))
    kind = type(model)
    package = kind.__module__.partition(".")[0]
    if package == "xgboost":
        read = Model.parse(_boosting.xgboost_file(model))
        return Subject(
            read,
            rebuild=lambda pruned: _boosting.xgboost_rebuild(model, pruned),
            rows=_numbers(read, absent=np.nan),
            labels=_labels(model),
        )
    if package == "lightgbm":
        read = Model.parse(_boosting.lightgbm_file(model))
        return Subject(
            read,
            rebuild=lambda pruned: _boosting.lightgbm_rebuild(model, pruned),
            rows=_numbers(read),
            labels=_labels(model),
        )
    if (kind.__module__, kind.__qualname__) == ("sklearn.pipeline", "Pipeline"):
        return _pipeline(model)
    if (kind.__module__, kind.__qualname__) == ("secateur._estimator", "PrunedClassifier"):
        return recognise(_sklearn.fitted(model, "estimator_"))
    if package == "sklearn":
        read = _sklearn.load(model)
        return Subject(read, rebuild=lambda pruned: _sklearn.rebuild(model, pruned), rows=_numbers(read))
    raise ModelError(f"{kind.__module__}.{kind.__qualname__} is not a model that secateur can read")


def _numbers(model: Model, absent: float = 0.0) -> Callable[[Any], np.ndarray | None]:
    return lambda X: _rows.numbers(X, model, absent)


def _labels(model: Any) -> list[Any] | None:
    classes = getattr(model, "classes_", None)
    return None if classes is None else np.asarray(classes).tolist()


def _pipeline(pipeline: Any) -> Subject:
    """The last step, in the space of its own inputs."""
    name, last = pipeline.steps[-1]
    inner = recognise(last)

    def rebuild(pruned: Model) -> Any:
        shell = copy.copy(pipeline)
        shell.steps = [*pipeline.steps[:-1], (name, None)]
        new = copy.deepcopy(shell)
        new.steps[-1] = (name, inner.rebuild(pruned))
        return new

    def rows(X: Any) -> np.ndarray | None:
        if X is None:
            return None
        return inner.rows(pipeline[:-1].transform(X) if len(pipeline.steps) > 1 else X)

    if inner.before is not None:
        raise ModelError("a pipeline inside a pipeline is not supported; put its steps into one")

    before = pipeline[:-1] if len(pipeline.steps) > 1 else None
    return Subject(inner.model, rebuild=rebuild, rows=rows, labels=inner.labels, before=before)


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
