"""`PrunedClassifier`: fit, prune and predict as one scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from secateur._prune import Pruning, prune


def _has(method: str) -> Any:
    def check(self: PrunedClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class PrunedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that is pruned after it was fitted, and decides as before.

    `estimator` is an unfitted classifier that `secateur.prune` can prune; the options are those of
    `secateur.prune`. After `fit`, `estimator_` is the pruned classifier and `pruning_` what is known of it (`None` where the
    target had a single class and there was nothing to decide).

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = AdaBoostClassifier(n_estimators=20, random_state=0)
    >>> pruned = secateur.PrunedClassifier(plain)
    >>> bool((cross_val_score(pruned, X, y) == cross_val_score(plain, X, y)).all())
    True
    >>> pruned.fit(X, y).pruning_.outcome in ("proved", "already_minimal")
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        effort: str = "thorough",
        objective: str = "trees",
        moves: str = "leaves",
        band: str | float = "auto",
        missing: bool = True,
        time_limit: float | str | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.effort = effort
        self.objective = objective
        self.moves = moves
        self.band = band
        self.missing = missing
        self.time_limit = time_limit
        self.threads = threads
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> PrunedClassifier:
        """Fits a clone of the estimator, and prunes it. Parameters are those of its own `fit`."""
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        fitted = clone(self.estimator).fit(X, column_or_1d(y, warn=True), **fit_params)
        self.estimator_ = fitted
        self.pruning_: Pruning | None = None
        if len(fitted.classes_) == 1:
            # There is nothing to decide.
            return self
        pruned = prune(
            fitted,
            X,
            effort=self.effort,
            objective=self.objective,
            moves=self.moves,
            band=self.band,
            missing=self.missing,
            time_limit=self.time_limit,
            threads=self.threads,
            seed=self.seed,
        )
        if pruned.interrupted:
            # Whoever fits many estimators wants to end all of it.
            raise KeyboardInterrupt
        self.pruning_ = pruned
        self.estimator_ = pruned.model
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row: that of the estimator without pruning, outside the band."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The pruned estimator's probabilities. Pruning keeps decisions, not probabilities."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The pruned estimator's scores. Pruning keeps decisions, not scores."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @property
    def classes_(self) -> Any:
        """The class labels."""
        return self._of_fitted("classes_")

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return self._of_fitted("n_features_in_")

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns, where the estimator was fitted with names."""
        return self._of_fitted("feature_names_in_")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags

    def _of_fitted(self, name: str) -> Any:
        # hasattr must say no before fitting.
        if "estimator_" not in self.__dict__:
            raise AttributeError(f"this PrunedClassifier has no {name}: it is not fitted yet")
        return getattr(self.estimator_, name)
