"""Decisions at a threshold of the caller's, judged by each library's own probabilities on every cell."""

from __future__ import annotations

import itertools
import pathlib

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur

# Columns of few values, so that all inputs can be listed.
COLUMNS, VALUES = 7, 3
RNG = np.random.default_rng(5)
X = RNG.integers(0, VALUES, (400, COLUMNS)).astype(np.float64)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) - X[:, 3] + RNG.normal(size=400) > 0.4).astype(int)
EVERY = np.array(list(itertools.product(range(VALUES), repeat=COLUMNS)), dtype=np.float64)

MODELS = {
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=30, max_depth=2, random_state=0),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=30, num_leaves=4, verbose=-1),
    "lightgbm_sigmoid": lambda: lightgbm.LGBMClassifier(n_estimators=30, num_leaves=4, sigmoid=2.5, verbose=-1),
    "catboost": lambda: catboost.CatBoostClassifier(iterations=30, depth=2, verbose=False, allow_writing_files=False),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0),
    "exponential": lambda: GradientBoostingClassifier(n_estimators=30, max_depth=2, loss="exponential", random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=4, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=30, random_state=0),
}


def above(model: object, threshold: float) -> list[np.ndarray]:
    """The ways in which people write it."""
    p = model.predict_proba(EVERY)[:, 1]  # type: ignore[attr-defined]
    return [p >= threshold, p > threshold, p >= np.float64(threshold), p >= np.float32(threshold)]


@pytest.mark.parametrize("threshold", [0.2, 0.7])
@pytest.mark.parametrize("name", MODELS)
def test_decisions_at_a_threshold_are_kept(name: str, threshold: float) -> None:
    fitted = MODELS[name]().fit(X, Y)
    result = secateur.prune(fitted, X, threshold=threshold, certificate=True)
    assert result.checked and result.threshold == threshold
    assert result.trees_after < result.trees_before, "nothing was pruned, so nothing is tested"
    low, high = result.probability
    assert low < threshold < high
    inside = (fitted.predict_proba(EVERY)[:, 1] >= low) & (fitted.predict_proba(EVERY)[:, 1] <= high)
    assert inside.mean() < 0.01
    for before, after in zip(above(fitted, threshold), above(result.model, threshold)):
        assert 0 < before.mean() < 1
        assert ((before == after) | inside).all()
    assert f"is on the same side of {threshold}" in result.claim
    # The certificate is for those who ask for this threshold, and for nobody else.
    claim = secateur.check(fitted, result.model, result.certificate, threshold=threshold)
    assert claim["cuts"] is not None
    for asked in (None, 0.5, threshold + 0.01):
        with pytest.raises(secateur.CertificateError, match="was asked for") as refused:
            secateur.check(fitted, result.model, result.certificate, threshold=asked)
        assert refused.value.reason == "claim.threshold_asked"
    answer = secateur.verify(fitted, result.model, threshold=threshold)
    assert answer.identical and f"compared with {threshold}" in str(answer)


def test_the_threshold_makes_a_difference() -> None:
    """The library's own decisions are not what is kept."""
    changed = 0
    for name in ("xgboost", "lightgbm", "boosting"):
        fitted = MODELS[name]().fit(X, Y)
        result = secateur.prune(fitted, X, threshold=0.2)
        changed += int((fitted.predict(EVERY) != result.model.predict(EVERY)).sum())
        if changed:
            answer = secateur.verify(fitted, result.model)
            assert answer.outcome == "different"
            assert "the library's own predict among them" in str(result)
            break
    assert changed > 0, "every decision was kept, so that the threshold was not needed"


def test_a_counterexample_is_on_two_sides_of_the_threshold() -> None:
    first = MODELS["xgboost"]().fit(X, Y)
    second = MODELS["lightgbm"]().fit(X, Y)
    answer = secateur.verify(first, second, threshold=0.3)
    assert answer.outcome == "different"
    row = answer.counterexample.reshape(1, -1)
    assert (first.predict_proba(row)[0, 1] >= 0.3) != (second.predict_proba(row)[0, 1] >= 0.3)


def test_thresholds_of_scikit_learn_are_kept_with_their_classifier() -> None:
    inner = MODELS["boosting"]()
    fixed = FixedThresholdClassifier(inner, threshold=0.3).fit(X, Y)
    tuned = TunedThresholdClassifierCV(inner, scoring="balanced_accuracy", cv=3, random_state=0).fit(X, Y)
    piped = FixedThresholdClassifier(make_pipeline(StandardScaler(), inner), threshold=0.3).fit(X, Y)
    for wrapper in (fixed, tuned, piped):
        result = secateur.prune(wrapper, X, certificate=True)
        assert type(result.model) is type(wrapper)
        assert result.trees_after < result.trees_before
        assert 0 < result.threshold < 1 and result.threshold != 0.5
        before = wrapper.estimator_.predict_proba(EVERY)[:, 1]
        inside = (before >= result.probability[0]) & (before <= result.probability[1])
        assert ((wrapper.predict(EVERY) == result.model.predict(EVERY)) | inside).all()
        assert wrapper.estimator_ is not result.model.estimator_
        assert secateur.verify(wrapper, result.model).identical
        secateur.check(wrapper, result.model, result.certificate)
    with pytest.raises(secateur.ComparisonError, match="do not decide at the same threshold"):
        secateur.verify(fixed, tuned)
    with pytest.raises(secateur.OptionError, match="a threshold of its own"):
        secateur.prune(fixed, threshold=0.4)
    for function in (secateur.inspect, secateur.load):
        with pytest.raises(secateur.ModelError, match="decides at a threshold of its own"):
            function(fixed)


def test_what_has_no_threshold_is_refused_with_a_reason(tmp_path: pathlib.Path) -> None:
    forest = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, Y)
    with pytest.raises(secateur.SecateurError, match="logistic function of one score"):
        secateur.prune(forest, threshold=0.3)
    with pytest.raises(secateur.SecateurError, match="logistic function of one score"):
        secateur.prune(FixedThresholdClassifier(forest, threshold=0.3).fit(X, Y))
    three = GradientBoostingClassifier(n_estimators=3).fit(X, X[:, 0])
    with pytest.raises(secateur.SecateurError, match="two classes, and this one has 3"):
        secateur.prune(three, threshold=0.3)
    binary = MODELS["xgboost"]().fit(X, Y)
    for wrong in (0, 1, -0.5, float("nan"), "half", True):
        with pytest.raises(secateur.OptionError, match="between 0 and 1"):
            secateur.prune(binary, threshold=wrong)
    with pytest.raises(secateur.SecateurError, match="so near to 0 or 1"):
        secateur.prune(binary, threshold=1 - 1e-9)
    with pytest.raises(secateur.OptionError, match="does not go with"):
        secateur.prune(binary, threshold=0.3, within=0.1)
    first = FixedThresholdClassifier(MODELS["boosting"](), threshold=0.3, pos_label=0).fit(X, Y)
    with pytest.raises(secateur.ModelError, match="probability of its first class"):
        secateur.prune(first)
    scores = FixedThresholdClassifier(
        MODELS["boosting"](), threshold=0.3, response_method="decision_function"
    ).fit(X, Y)
    with pytest.raises(secateur.ModelError, match="decision_function and not probabilities"):
        secateur.prune(scores)
    linear = FixedThresholdClassifier(LogisticRegression(), threshold=0.3).fit(X, Y)
    with pytest.raises(secateur.ModelError):
        secateur.prune(linear)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "boosting", "histogram"])
def test_scores_are_kept_up_to_rounding(name: str) -> None:
    rows, classes = make_classification(300, 5, random_state=1)
    fitted = MODELS[name]().fit(np.round(rows, 1), classes)
    result = secateur.prune(fitted, keep="scores")
    assert result.checked and result.within < 1e-4
    before, after = (model.predict_proba(rows)[:, 1] for model in (fitted, result.model))
    np.testing.assert_allclose(before, after, atol=max(result.within, 1e-7))
    assert secateur.verify(fitted, result.model, scores=True, within=result.within).outcome == "within"
    for other in ({"band": 0.1}, {"within": 0.1}, {"threshold": 0.3}):
        with pytest.raises(secateur.OptionError, match="do(es)? not go with"):
            secateur.prune(fitted, keep="scores", **other)
