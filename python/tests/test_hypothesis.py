"""Random training sets, parameters and class labels, small enough for the library to be asked in every cell."""

from __future__ import annotations

import itertools
import warnings

import lightgbm
import numpy as np
import xgboost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import secateur

# Values that sit on and around splits, both zeros, fractions that no float holds exactly.
VALUES = [-2.0, -0.0, 0.1, 0.30000000000000004, 1.0, 7.0]
LABELS = [[0, 1, 2], [-5, 3, 12], ["low", "mid", "top"], [1.0, 2.0, 4.0], [False, True]]


@st.composite
def training(draw):
    """Rows, labels, and an unfitted estimator."""
    width = draw(st.integers(1, 3))
    count = draw(st.integers(8, 40))
    rows = np.array(draw(st.lists(st.lists(st.sampled_from(VALUES), min_size=width, max_size=width),
                                  min_size=count, max_size=count)))
    names = draw(st.sampled_from(LABELS))
    codes = draw(st.lists(st.integers(0, len(names) - 1), min_size=count, max_size=count))
    # At least two classes, and every class up to the last that occurs.
    codes = np.array(codes) % draw(st.integers(2, len(names)))
    codes[:2] = [0, 1]
    rounds = draw(st.integers(1, 6))
    depth = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(sorted(ESTIMATORS)))
    if kind == "xgboost":
        # It takes classes by number only, all of them.
        return rows, np.unique(codes, return_inverse=True)[1], ESTIMATORS[kind](rounds, depth, seed)
    return rows, np.array(names)[codes], ESTIMATORS[kind](rounds, depth, seed)


ESTIMATORS = {
    "tree": lambda n, d, s: DecisionTreeClassifier(max_depth=d, random_state=s),
    "forest": lambda n, d, s: RandomForestClassifier(n, max_depth=d, random_state=s, n_jobs=1),
    "extra": lambda n, d, s: ExtraTreesClassifier(n, max_depth=d, random_state=s, n_jobs=1),
    "adaboost": lambda n, d, s: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=d), n_estimators=2 * n, random_state=s
    ),
    "boosting": lambda n, d, s: GradientBoostingClassifier(n_estimators=n, max_depth=d, random_state=s),
    "histogram": lambda n, d, s: HistGradientBoostingClassifier(
        max_iter=n, max_depth=d, min_samples_leaf=2, random_state=s
    ),
    "xgboost": lambda n, d, s: xgboost.XGBClassifier(n_estimators=n, max_depth=d, random_state=s, n_jobs=1),
    "lightgbm": lambda n, d, s: lightgbm.LGBMClassifier(
        n_estimators=n, max_depth=d, min_child_samples=2, random_state=s, n_jobs=1, verbose=-1
    ),
}


def every_cell(model: secateur.Model) -> np.ndarray:
    """A row in every cell: each split's value, its neighbours in single and double precision, and the ends."""
    axes = []
    domain, splits = model.domain, model.split_values()
    for feature in range(len(model.feature_names)):
        values = [0.0, -1e30, 1e30]
        for value in splits.get(feature, (False, []))[1]:
            single = np.float32(value)
            values += [value, float(np.nextafter(single, np.float32(-np.inf))), float(np.nextafter(single, np.float32(np.inf)))]
            if domain["number"] == "f64":
                values += [np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
        if domain["number"] == "f32":
            values = [float(np.float32(value)) for value in values]
        values = sorted(set(values))
        axes.append([*values, np.nan] if domain["missing"] else values)
    return np.array(list(itertools.islice(itertools.product(*axes), 40_000)))


def certain(model: secateur.Model, rows: np.ndarray, band: float) -> np.ndarray:
    scores = model.raw_scores(rows)
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0]) > 2.0 * band + 2e-7
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 2.0 * band


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(training(), st.sampled_from(["fast", "thorough"]), st.sampled_from(["leaves", "weights"]),
       st.sampled_from(["trees", "leaves"]), st.booleans())
def test_the_library_decides_alike_in_every_cell(training, effort, moves, objective, with_rows):
    rows, labels, estimator = training
    with warnings.catch_warnings():
        # Libraries warn of tiny data and of perfect fits.
        warnings.simplefilter("ignore")
        fitted = estimator.fit(rows, labels)
    model = secateur.load(fitted)
    result = secateur.prune(fitted, rows if with_rows else None, effort=effort, moves=moves, objective=objective,
                            threads=1, time_limit=10)
    assert result.trees_after <= result.trees_before
    if objective == "leaves":
        assert result.leaves_after <= result.leaves_before
    cells = every_cell(model)
    cells = cells[certain(model, cells, result.band)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(cells):
            np.testing.assert_array_equal(result.model.predict(cells), fitted.predict(cells))
    assert list(result.model.classes_) == list(fitted.classes_)
    assert secateur.verify(fitted, result.model, threads=1, time_limit=10).identical
