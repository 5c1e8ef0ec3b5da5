"""Random pairs of trained models of every family, both claims, against the libraries themselves on every cell.

Columns hold 0, 1, 2 or 3, and every threshold that the libraries choose lies in between, so a grid of quarters (and a missing value)
reaches every cell. `make test` tries a share; `SECATEUR_TRUTH_PAIRS=500` tries as many as it says.
"""

from __future__ import annotations

import itertools
import os

import lightgbm
import numpy as np
import xgboost
from sklearn import ensemble, tree

import secateur

PAIRS = int(os.environ.get("SECATEUR_TRUTH_PAIRS", "40"))
COLUMNS = 3
QUARTERS = np.arange(-0.5, 3.75, 0.25)


def table(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = random.integers(0, 4, size=(120, COLUMNS)).astype(np.float64)
    target = rows @ random.normal(size=COLUMNS) + np.abs(rows[:, 0] - 1.5) + 0.2 * random.normal(size=len(rows))
    return rows, target


def regressor(family: str, random: np.random.Generator, rows, target):
    seed, trees, depth = int(random.integers(1 << 30)), int(random.integers(1, 9)), int(random.integers(1, 4))
    if family == "xgboost":
        return xgboost.XGBRegressor(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=seed).fit(rows, target)
    if family == "lightgbm":
        return lightgbm.LGBMRegressor(
            n_estimators=trees, max_depth=depth, min_child_samples=5, n_jobs=1, verbosity=-1, random_state=seed
        ).fit(rows, target)
    if family == "boosting":
        return ensemble.GradientBoostingRegressor(n_estimators=trees, max_depth=depth, random_state=seed).fit(rows, target)
    if family == "histogram":
        return ensemble.HistGradientBoostingRegressor(
            max_iter=trees, max_depth=depth, min_samples_leaf=5, random_state=seed
        ).fit(rows, target)
    if family == "forest":
        return ensemble.RandomForestRegressor(trees, max_depth=depth, random_state=seed, n_jobs=1).fit(rows, target)
    return tree.DecisionTreeRegressor(max_depth=depth, random_state=seed).fit(rows, target)


def classifier(family: str, random: np.random.Generator, rows, target):
    seed, trees, depth = int(random.integers(1 << 30)), int(random.integers(1, 7)), int(random.integers(1, 4))
    classes = np.digitize(target, np.quantile(target, [0.5] if random.random() < 0.6 else [0.33, 0.66]))
    if family == "xgboost":
        return xgboost.XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=seed).fit(rows, classes)
    if family == "lightgbm":
        return lightgbm.LGBMClassifier(
            n_estimators=trees, max_depth=depth, min_child_samples=5, n_jobs=1, verbosity=-1, random_state=seed
        ).fit(rows, classes)
    if family == "boosting":
        return ensemble.GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=seed).fit(rows, classes)
    if family == "histogram":
        return ensemble.HistGradientBoostingClassifier(
            max_iter=trees, max_depth=depth, min_samples_leaf=5, random_state=seed
        ).fit(rows, classes)
    if family == "forest":
        return ensemble.RandomForestClassifier(trees, max_depth=depth, random_state=seed, n_jobs=1).fit(rows, classes)
    return tree.DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(rows, classes)


FAMILIES = ["xgboost", "lightgbm", "boosting", "histogram", "forest", "tree"]


def scores(model, rows: np.ndarray) -> np.ndarray:
    """What the library itself says before any link, for each row a number for each output."""
    if isinstance(model, (xgboost.XGBRegressor, xgboost.XGBClassifier)):
        found = model.predict(rows, output_margin=True)
    elif isinstance(model, (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier)):
        found = model.predict(rows, raw_score=True)
    elif isinstance(model, (ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier)):
        found = model.decision_function(rows)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(rows)
    else:
        found = model.predict(rows)
    return np.asarray(found, dtype=np.float64).reshape(len(rows), -1)


def cells(*models) -> np.ndarray:
    values = list(QUARTERS)
    boosted = (xgboost.XGBModel, lightgbm.LGBMModel, ensemble.HistGradientBoostingRegressor, ensemble.HistGradientBoostingClassifier)
    if all(isinstance(model, boosted) for model in models):
        values.append(np.nan)
    return np.array(list(itertools.product(values, repeat=COLUMNS)))


def test_both_claims_are_those_of_the_libraries() -> None:
    measured = within = refuted = same = different = 0
    for pair in range(PAIRS):
        random = np.random.default_rng(pair)
        rows, target = table(random)
        make = regressor if pair % 2 else classifier
        first = make(FAMILIES[pair // 2 % len(FAMILIES)], random, rows, target)
        # Another model of the family, or of any other; a smaller distance by another number of trees.
        family = FAMILIES[pair // 2 % len(FAMILIES)] if random.random() < 0.6 else random.choice(FAMILIES)
        second = make(str(family), random, rows, target)
        inputs = cells(first, second)
        ours, theirs = scores(first, inputs), scores(second, inputs)
        if ours.shape == theirs.shape:
            truth = np.abs(ours - theirs).max()
            answer = secateur.verify(first, second, scores=True, certificate=True)
            assert answer.ended and answer.checked, pair
            # U is never below what an input shows, L is what the libraries say on its own input, and where the search ended nothing
            # but rounding lies between the two.
            assert truth <= answer.at_most, (pair, truth, answer)
            shown = answer.input.reshape(1, -1)
            there = np.abs(scores(first, shown) - scores(second, shown)).max()
            assert answer.at_least <= there * (1 + 1e-12) + 1e-300, (pair, there, answer)
            assert truth <= answer.at_least + 2 * answer.rounding, (pair, truth, answer)
            assert answer.at_most <= answer.at_least + 2 * answer.rounding + 1e-15, (pair, answer)
            measured += 1
            limit = answer.at_most * 1.01 + 1e-9
            assert secateur.verify(first, second, scores=True, within=limit).outcome == "within", pair
            within += 1
            if truth > 1e-6:
                below = secateur.verify(first, second, scores=True, within=truth * 0.9)
                assert below.outcome == "exceeds" and below.at_least > truth * 0.9, (pair, below)
                refuted += 1
        if make is classifier and list(first.classes_) == list(second.classes_):
            decided = secateur.verify(first, second)
            assert not decided.undecided, (pair, decided)
            if decided.different:
                example = decided.counterexample.reshape(1, -1)
                assert first.predict(example)[0] != second.predict(example)[0], (pair, decided)
                different += 1
            else:
                changed = first.predict(inputs) != second.predict(inputs)
                # The claim is silent where the first model's own lead is within its rounding.
                ordered = np.sort(ours, axis=1)
                lead = np.abs(ours[:, 0]) if ours.shape[1] == 1 else ordered[:, -1] - ordered[:, -2]
                assert not (changed & (lead > decided.band * 2 + 1e-12)).any(), (pair, decided)
                same += 1
    print(f"{measured} measured, {within} within, {refuted} refuted; {same} the same, {different} different")
    assert measured >= PAIRS * 0.6 and refuted >= PAIRS * 0.4 and different >= PAIRS * 0.1
