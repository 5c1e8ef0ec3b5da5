"""`PrunedClassifier` as scikit-learn sees it."""

from __future__ import annotations

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from prunable import few_values
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import secateur


ESTIMATORS = [
    DecisionTreeClassifier(max_depth=4, random_state=0),
    RandomForestClassifier(4, max_depth=3, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, random_state=0),
]
# scikit-learn expects its own estimators to fail these too, for the same reasons.
WEIGHTS = "the estimator's own fit does not treat a weight of two as two rows, or draws rows at random"
EXPECTED = {
    RandomForestClassifier: WEIGHTS,
    AdaBoostClassifier: WEIGHTS,
    GradientBoostingClassifier: WEIGHTS,
}


def expected_failures(estimator: secateur.PrunedClassifier) -> dict[str, str]:
    reason = EXPECTED.get(type(estimator.estimator))
    if reason is None:
        return {}
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, reason)


@parametrize_with_checks(
    [secateur.PrunedClassifier(estimator, threads=1, time_limit=5) for estimator in ESTIMATORS],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning", "ignore:divide by zero:RuntimeWarning")
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


def test_cross_validation_gives_the_scores_of_the_plain_estimator():
    rows, target = few_values(2)
    plain = AdaBoostClassifier(n_estimators=15, random_state=0)
    pruned = secateur.PrunedClassifier(plain, threads=1)
    np.testing.assert_array_equal(cross_val_score(pruned, rows, target), cross_val_score(plain, rows, target))
    inside = make_pipeline(StandardScaler(), pruned)
    outside = make_pipeline(StandardScaler(), plain)
    np.testing.assert_array_equal(cross_val_score(inside, rows, target), cross_val_score(outside, rows, target))


def test_a_grid_search_reaches_the_estimator_and_the_options():
    rows, target = few_values(2)
    pruned = secateur.PrunedClassifier(AdaBoostClassifier(random_state=0), threads=1)
    grid = {"estimator__n_estimators": [5, 10], "effort": ["fast", "thorough"]}
    search = GridSearchCV(pruned, grid, cv=2).fit(rows, target)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.pruning_.trees_before <= search.best_params_["estimator__n_estimators"]


def test_it_prunes_and_is_a_classifier_like_any():
    rows, target = few_values(2)
    labels = np.array(["no", "yes"])[target]
    frame = pd.DataFrame(rows, columns=list("abcd"))
    pruned = secateur.PrunedClassifier(AdaBoostClassifier(n_estimators=40, random_state=0), threads=1)
    assert is_classifier(pruned)
    with pytest.raises(NotFittedError):
        pruned.predict(frame)
    assert not hasattr(pruned, "classes_")
    pruned.fit(frame, labels)
    assert pruned.pruning_.trees_after < 40
    assert type(pruned.estimator_) is AdaBoostClassifier
    assert list(pruned.classes_) == ["no", "yes"]
    assert list(pruned.feature_names_in_) == list("abcd") and pruned.n_features_in_ == 4
    plain = clone(pruned.estimator).fit(frame, labels)
    np.testing.assert_array_equal(pruned.predict(frame), plain.predict(frame))
    assert pruned.predict_proba(frame).shape == (len(frame), 2)
    again = pickle.loads(pickle.dumps(pruned))
    np.testing.assert_array_equal(again.predict(frame), pruned.predict(frame))
    assert secateur.verify(pruned, plain).identical


@pytest.mark.parametrize(
    "estimator",
    [
        xgboost.XGBClassifier(n_estimators=10, max_depth=1, random_state=0),
        lightgbm.LGBMClassifier(n_estimators=10, num_leaves=2, min_child_samples=5, verbose=-1, random_state=0),
    ],
    ids=["xgboost", "lightgbm"],
)
def test_other_libraries_are_pruned_too(estimator):
    rows, target = few_values(2)
    pruned = secateur.PrunedClassifier(estimator, threads=1).fit(rows, target, sample_weight=np.ones(len(rows)))
    assert type(pruned.estimator_) is type(estimator)
    plain = clone(estimator).fit(rows, target)
    np.testing.assert_array_equal(pruned.predict(rows), plain.predict(rows))
    assert hasattr(pruned, "decision_function") == hasattr(plain, "decision_function")


def test_a_single_class_leaves_nothing_to_prune():
    rows, target = few_values(2)
    pruned = secateur.PrunedClassifier(DecisionTreeClassifier()).fit(rows, np.zeros(len(rows)))
    assert pruned.pruning_ is None
    assert (pruned.predict(rows) == 0.0).all()
