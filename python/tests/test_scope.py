"""`missing=False`: claims about inputs without missing values, on models of the libraries themselves."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from harness import hostile_rows
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier

import secateur

HOSTILE = 10_000


@functools.cache
def yes_and_no(count: int = 400, width: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Columns of zeros and ones, and a class that depends on a few of them, not always."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 2, (count, width)).astype(np.float64)
    target = (rows[:, 0] + rows[:, 1] * rows[:, 2] + random.random(count) > 1.3).astype(int)
    return rows, target


def models() -> dict[str, Any]:
    return {
        "forest": RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0),
        "boosted": xgboost.XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1, random_state=0),
    }


@functools.cache
def fitted(name: str) -> Any:
    rows, target = yes_and_no()
    if name == "boosted":
        # With holes in training, splits learn different sides for them.
        rows = rows.copy()
        rows[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    return models()[name].fit(rows, target)


def leads(model: Any, rows: np.ndarray) -> np.ndarray:
    """How far the winner is ahead."""
    scores = secateur.load(model).raw_scores(rows)
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


@pytest.mark.parametrize("name", models())
def test_the_library_agrees_wherever_nothing_is_missing(name: str) -> None:
    rows, _ = yes_and_no()
    model = fitted(name)
    whole = secateur.prune(model, rows)
    narrow = secateur.prune(model, rows, missing=False, certificate=True)
    assert (whole.scope, narrow.scope) == ("all", "no_missing")
    assert narrow.trees_after <= whole.trees_after
    assert narrow.to_dict()["scope"] == "no_missing"
    for words in (narrow.claim, repr(narrow), narrow._repr_html_()):
        assert "without missing values" in words
    assert "missing" not in whole.claim + repr(whole) + whole._repr_html_()

    hostile = hostile_rows(secateur.load(model), rows, HOSTILE, missing=False)
    assert not np.isnan(hostile).any()
    certain = hostile[leads(model, hostile) > 2.0 * narrow.band + 2e-7]
    assert len(certain) > HOSTILE / 2
    with np.errstate(over="ignore", invalid="ignore"):
        assert (model.predict(certain) == narrow.model.predict(certain)).all()

    claim = secateur.check(model, narrow.model, narrow.certificate)
    assert claim["scope"] == "no_missing"
    assert secateur.verify(model, narrow.model, missing=False).identical
    everywhere = secateur.verify(model, narrow.model)
    assert everywhere.scope == "all"
    if narrow.trees_after < whole.lower_bound:
        # Fewer than any model for every input can have.
        assert everywhere.different and np.isnan(everywhere.counterexample).any()


def test_a_forest_without_missing_values_becomes_much_smaller() -> None:
    rows, _ = yes_and_no()
    whole, narrow = (secateur.prune(fitted("forest"), rows, missing=missing) for missing in (True, False))
    assert narrow.trees_after < whole.trees_after
    assert secateur.verify(fitted("forest"), narrow.model).different


@pytest.mark.parametrize("name", models())
def test_a_counterexample_has_no_missing_value(name: str) -> None:
    rows, target = yes_and_no()
    other = models()[name].fit(rows, 1 - target)
    answer = secateur.verify(fitted(name), other, missing=False)
    assert answer.different and answer.scope == "no_missing"
    row = answer.counterexample.reshape(1, -1)
    assert not np.isnan(row).any()
    assert fitted(name).predict(row)[0] != other.predict(row)[0]


def test_rows_with_missing_values_are_no_start_points() -> None:
    rows, _ = yes_and_no()
    holes = rows.copy()
    holes[:, 0] = np.nan
    for data in (holes, np.vstack([rows[:5], holes])):
        assert secateur.prune(fitted("forest"), data, missing=False).scope == "no_missing"


def test_unknown_categories_stay_in_scope() -> None:
    rows, target = yes_and_no()
    table = pd.DataFrame({"a": rows[:, 0] + 2 * rows[:, 1], "b": rows[:, 2]})
    options = {"max_iter": 10, "max_depth": 2, "random_state": 0, "categorical_features": [0]}
    model = HistGradientBoostingClassifier(**options).fit(table, target)
    narrow = secateur.prune(model, table, missing=False, certificate=True)
    assert narrow.scope == "no_missing"
    assert secateur.check(model, narrow.model, narrow.certificate)["scope"] == "no_missing"
    random = np.random.default_rng(2)
    unknown = pd.DataFrame(
        {"a": random.choice([-1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 90.0], 2000), "b": random.choice([0.0, 0.4, 1.0], 2000)}
    )
    assert (model.predict(unknown) == narrow.model.predict(unknown)).all()


def test_where_nothing_may_be_missing_the_option_changes_nothing() -> None:
    rows, target = yes_and_no()
    model = AdaBoostClassifier(n_estimators=10, random_state=0).fit(rows, target)
    results = [secateur.prune(model, rows, missing=missing, certificate=True) for missing in (True, False)]
    assert results[0].certificate == results[1].certificate
    assert [result.scope for result in results] == ["all", "all"]


def test_the_option_is_true_or_false() -> None:
    with pytest.raises(secateur.OptionError, match="missing must be True or False"):
        secateur.prune(fitted("forest"), missing="no")
    with pytest.raises(secateur.OptionError, match="missing must be True or False"):
        secateur.verify(fitted("forest"), fitted("forest"), missing=None)


def test_an_estimator_takes_the_option() -> None:
    rows, target = yes_and_no()
    pruned = secateur.PrunedClassifier(models()["forest"], missing=False).fit(rows, target)
    assert pruned.pruning_.scope == "no_missing"
    assert (pruned.predict(rows) == fitted("forest").predict(rows)).all()
