"""A packed model takes the place of the original in scikit-learn's tools, and the tools say the same as with the original."""

from __future__ import annotations

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import secateur

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6]
KINDS = {
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
    "CatBoost": lambda: catboost.CatBoostClassifier(iterations=8, thread_count=1, verbose=0, allow_writing_files=False),
    "forest": lambda: RandomForestClassifier(8, random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(n_estimators=8, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8),
}


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    fitted = KINDS[request.param]().fit(X, Y)
    return fitted, secateur.pack(fitted)


def test_it_has_the_methods_that_the_original_has(both):
    fitted, packed = both
    for method in ("predict", "predict_proba", "decision_function", "score", "fit"):
        assert hasattr(packed, method) == hasattr(fitted, method), method
    assert is_classifier(packed) and not is_regressor(packed)
    check_is_fitted(packed)
    assert clone(packed) is packed and packed.get_params() == {} and packed.set_params() is packed
    regressor = secateur.pack(RandomForestRegressor(3, random_state=0).fit(X, Y))
    assert is_regressor(regressor) and not hasattr(regressor, "predict_proba") and not hasattr(regressor, "decision_function")


def test_fit_and_parameters_say_what_to_do_instead(both):
    with pytest.raises(secateur.ModelError, match="fitted already.*FrozenEstimator"):
        both[1].fit(X, Y)
    with pytest.raises(secateur.ModelError, match="no parameters.*'depth'"):
        both[1].set_params(depth=3)


def test_inspection_sees_the_same_model(both):
    fitted, packed = both
    rows, target = X[:100], Y[:100]
    ours, theirs = (permutation_importance(model, rows, target, n_repeats=2, random_state=0) for model in (packed, fitted))
    assert (ours.importances == theirs.importances).all()
    ours, theirs = (
        partial_dependence(model, rows, ["mean radius"], method="brute", response_method="predict_proba", grid_resolution=5)
        for model in (packed, fitted)
    )
    assert np.allclose(ours.average, theirs.average, rtol=0, atol=1e-7)


def test_tools_that_fit_take_it_frozen(both):
    fitted, packed = both
    ours, theirs = FrozenEstimator(packed), FrozenEstimator(fitted)
    assert (cross_val_score(ours, X, Y, cv=2) == cross_val_score(theirs, X, Y, cv=2)).all()
    for tool in (lambda model: CalibratedClassifierCV(model), lambda model: VotingClassifier([("one", model), ("two", model)], voting="soft")):
        found, expected = (tool(model).fit(X, Y).predict_proba(X) for model in (ours, theirs))
        assert np.abs(found - expected).max() < 1e-5
    hard = VotingClassifier([("one", ours)]).fit(X, Y)
    assert (hard.predict(X) == fitted.predict(X)).all()


def test_a_pipeline_comes_back_with_its_last_step_packed():
    scaled = ColumnTransformer([("scale", StandardScaler(), list(X.columns[:3]))], remainder="passthrough")
    for last in (KINDS["forest"](), GridSearchCV(KINDS["forest"](), {"max_depth": [2, 3]}, cv=2), make_pipeline(StandardScaler(), KINDS["forest"]())):
        pipeline = Pipeline([("columns", scaled), ("model", last)]).fit(X, Y)
        packed = secateur.pack(pipeline, time_limit="5m")
        assert type(packed) is Pipeline and packed["columns"] is not pipeline["columns"] and pipeline["model"] is last
        assert (packed.predict_proba(X[::-1]) == pipeline.predict_proba(X[::-1])).all()
        assert "Pipeline" in packed._repr_html_()
    assert isinstance(secateur.pack(make_pipeline(StandardScaler(), KINDS["forest"]()).fit(X, Y))[-1], secateur.PackedModel)
    plain = make_pipeline(StandardScaler(), KINDS["forest"]()).fit(X, Y)
    assert secateur.verify(plain, secateur.pack(plain)).identical
    with pytest.raises(secateur.ModelError, match="'passthrough'"):
        secateur.pack(make_pipeline(StandardScaler(), "passthrough"))


@pytest.mark.parametrize("kind", ["forest", "XGBoost"])
def test_a_threshold_stays_around_the_packed_model(kind):
    whole = GridSearchCV(KINDS[kind](), {"max_depth": [2, 3]}, cv=2).fit(X, Y)
    assert isinstance(secateur.pack(whole), secateur.PackedModel)
    for wrapped in (
        TunedThresholdClassifierCV(KINDS[kind](), random_state=0, cv=2).fit(X, Y),
        FixedThresholdClassifier(KINDS[kind](), threshold=0.2).fit(X, Y),
        FixedThresholdClassifier(whole, threshold=0.9).fit(X, Y),
        FixedThresholdClassifier(FrozenEstimator(KINDS[kind]().fit(X, Y)), threshold=0.9).fit(X, Y),
    ):
        packed = secateur.pack(wrapped)
        assert type(packed) is type(wrapped) and isinstance(packed.estimator_, secateur.PackedModel)
        assert not isinstance(wrapped.estimator_, secateur.PackedModel)
        assert (packed.predict(X) == wrapped.predict(X)).all()
        # The threshold matters, unless the tuned one happens to decide as the library does.
        assert isinstance(wrapped, TunedThresholdClassifierCV) or (packed.predict(X) != packed.estimator_.predict(X)).any()
    with pytest.raises(secateur.ModelError, match="not fitted"):
        secateur.pack(TunedThresholdClassifierCV(KINDS[kind]()))


def test_a_frame_goes_through_a_pipeline_of_names():
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), KINDS["LightGBM"]()).fit(X, Y)
    packed = secateur.pack(pipeline)
    assert (packed.predict(X) == pipeline.predict(X)).all()
    assert (packed.predict(pd.DataFrame(X)) == pipeline.predict(X)).all()
