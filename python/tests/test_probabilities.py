"""The factor that turns a score into a probability, against what the libraries answer."""

from __future__ import annotations

import pathlib

import lightgbm
import numpy as np
import pytest
import skops.io
import xgboost
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import secateur

X, Y = make_classification(300, 6, random_state=0)

LOGISTIC = {
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "boosting_exponential": GradientBoostingClassifier(n_estimators=5, loss="exponential", random_state=0),
    "boosting_exponential_from_zero": GradientBoostingClassifier(
        n_estimators=5, loss="exponential", init="zero", random_state=0
    ),
    "histogram": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "xgboost": xgboost.XGBClassifier(n_estimators=5, max_depth=3),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
    "lightgbm_sigmoid": lightgbm.LGBMClassifier(n_estimators=5, sigmoid=2.5, verbose=-1),
}


def scale(model: object) -> float | None:
    return secateur.inspect(model)["decision"]["scale"]


@pytest.mark.parametrize("name", LOGISTIC)
def test_the_factor_gives_the_librarys_probabilities(name: str, tmp_path: pathlib.Path) -> None:
    fitted = LOGISTIC[name].fit(X, Y)
    models: list[object] = [fitted, secateur.prune(fitted, effort="fast").model]
    if type(fitted).__module__.startswith("sklearn."):
        skops.io.dump(fitted, tmp_path / "model.skops")
        models.append(str(tmp_path / "model.skops"))
    for model in models:
        factor = scale(model)
        scores = secateur.load(model).raw_scores(X)[:, 0].astype(np.float64)
        library = fitted if isinstance(model, str) else model
        expected = library.predict_proba(X)[:, 1]  # type: ignore[attr-defined]
        np.testing.assert_allclose(1 / (1 + np.exp(-factor * scores)), expected, rtol=1e-5)


def test_the_loss_that_was_fitted_counts() -> None:
    fitted = GradientBoostingClassifier(n_estimators=3, loss="exponential", random_state=0).fit(X, Y)
    assert scale(fitted.set_params(loss="log_loss")) == 2.0


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        AdaBoostClassifier(n_estimators=5, random_state=0),
        xgboost.XGBClassifier(n_estimators=3, objective="binary:hinge"),
        xgboost.XGBClassifier(n_estimators=3, objective="binary:logitraw"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_have_no_such_factor(model) -> None:
    assert scale(model.fit(X, Y)) is None
