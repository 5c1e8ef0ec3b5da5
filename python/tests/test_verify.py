"""Verification of real models against changed copies of their own files.

Each change is small and the answer often is not obvious, so nothing is expected beforehand: a difference must show
when the library itself predicts the counterexample with both files (with band 0: in exact arithmetic over the leaves
that the library reaches), and where the models are called identical an independent search must find no difference,
over every cell where cells are few, else over 100,000 hostile rows.
"""

from __future__ import annotations

import functools
import itertools

import lightgbm
import numpy as np
import pytest
import xgboost
from harness import accepted, hostile_rows
from mutations import LightgbmFile, Subject, XgboostFile
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import secateur

HOSTILE = 100_000
# Rows of one request to a library.
BATCH = 50_000
# Cells that brute force looks at.
MOST_CELLS = 300_000


def with_holes(rows: np.ndarray, share: float = 0.08) -> np.ndarray:
    rows = rows.copy()
    rows[np.random.default_rng(1).random(rows.shape) < share] = np.nan
    return rows


def wine_with_categories() -> tuple[np.ndarray, np.ndarray]:
    """Two columns cut into codes, the others as they are."""
    rows, target = load_wine(return_X_y=True)
    rows = rows[:, [0, 6, 9, 12]].copy()
    for column, count in ((0, 7), (3, 12)):
        edges = np.quantile(rows[:, column], np.linspace(0, 1, count + 1)[1:-1])
        codes = np.searchsorted(edges, rows[:, column])
        rows[:, column] = (codes * 5 + 3) % count  # no order left
    return with_holes(rows, 0.03), target


def xgboost_file(rows, target, **options) -> Subject:
    options = {"n_jobs": 1, "random_state": 0, "learning_rate": 0.4, **options}
    model = xgboost.XGBClassifier(**options).fit(rows.astype(np.float32), target)
    return XgboostFile(bytes(model.get_booster().save_raw("json")))


def lightgbm_file(rows, target, categories="auto", **options) -> Subject:
    options = {"n_jobs": 1, "random_state": 0, "verbosity": -1, "min_child_samples": 5, **options}
    model = lightgbm.LGBMClassifier(**options).fit(rows, target, categorical_feature=categories)
    return LightgbmFile(model.booster_.model_to_string().encode())


CATEGORIES = dict(enable_categorical=True, feature_types=["c", "q", "q", "c"], max_cat_to_onehot=1)
UNORDERED = dict(categories=[0, 3], min_data_per_group=5, cat_smooth=1.0, max_cat_to_onehot=1)
IRIS, IRIS_CLASS = load_iris(return_X_y=True)
CANCER, CANCER_CLASS = load_breast_cancer(return_X_y=True)
WINE, WINE_CLASS = wine_with_categories()

# Training rows and a model of them.
MODELS = {
    "xgboost, three classes, few cells": (
        IRIS,
        lambda: xgboost_file(with_holes(IRIS), IRIS_CLASS, n_estimators=8, max_depth=2, base_score=0.0),
    ),
    "xgboost, two classes, few cells": (
        CANCER[:, [0, 1, 7]],
        lambda: xgboost_file(with_holes(CANCER[:, [0, 1, 7]]), CANCER_CLASS, n_estimators=20, max_depth=3,
                             base_score=0.5),
    ),
    "xgboost, categories": (
        WINE,
        lambda: xgboost_file(WINE, WINE_CLASS, n_estimators=10, max_depth=3, **CATEGORIES),
    ),
    "xgboost, thirty columns": (
        CANCER,
        lambda: xgboost_file(with_holes(CANCER), CANCER_CLASS, n_estimators=100, max_depth=6, learning_rate=0.3),
    ),
    "lightgbm, three classes, few cells": (
        IRIS,
        lambda: lightgbm_file(with_holes(IRIS), IRIS_CLASS, n_estimators=8, num_leaves=4),
    ),
    "lightgbm, two classes, few cells": (
        CANCER[:, [0, 1, 7]],
        lambda: lightgbm_file(with_holes(CANCER[:, [0, 1, 7]]), CANCER_CLASS, n_estimators=20, num_leaves=6),
    ),
    "lightgbm, categories": (
        WINE,
        lambda: lightgbm_file(WINE, WINE_CLASS == 1, n_estimators=20, num_leaves=6, **UNORDERED),
    ),
    "lightgbm, thirty columns": (
        CANCER,
        lambda: lightgbm_file(with_holes(CANCER), CANCER_CLASS, n_estimators=60, num_leaves=16),
    ),
}


@functools.cache
def original(name: str) -> Subject:
    return MODELS[name][1]()


@functools.cache
def mutants(name: str) -> dict[str, bytes]:
    return dict(original(name).mutants(np.random.default_rng(5)))


CASES = [
    (name, change)
    for name, (_, _) in MODELS.items()
    for change in sorted(mutants(name))
]


def every_cell(first: Subject, second: Subject) -> np.ndarray | None:
    """A row in every cell of both models, from the split values alone; `None` where there are too many."""
    axes = []
    width = len(first.model.feature_names)
    domain = first.model.domain
    for feature in range(width):
        categorical, values = False, []
        for subject in (first, second):
            if feature in subject.model.split_values():
                categorical, own = subject.model.split_values()[feature]
                values += own
        values = sorted(set(values))
        if categorical:
            # Codes beyond the largest one named are all unseen.
            values = [*range(int(max(values, default=0)) + 2), -1.0]
        elif values:
            # A value equal to each split, one below and one above all: `<` and `<=` alike.
            values = [values[0] - 1.0, *values, values[-1] + 1.0]
            values += [np.nextafter(values[1], -np.inf), 0.0]
        else:
            values = [0.0]
        if domain["missing"]:
            values.append(np.nan)
        axes.append(accepted(values, domain))
    if np.prod([float(len(axis)) for axis in axes]) > MOST_CELLS:
        return None
    return np.array(list(itertools.product(*axes)), dtype=np.float64)


def independent_rows(first: Subject, second: Subject, base: np.ndarray) -> np.ndarray:
    rows = every_cell(first, second)
    if rows is not None:
        return rows
    half = HOSTILE // 2
    return np.concatenate([hostile_rows(s.model, base, half, seed) for seed, s in enumerate((first, second))])


def confirm_identical(first: Subject, second: Subject, base: np.ndarray, band: float) -> None:
    rows = independent_rows(first, second, base)
    checked = 0
    for at in range(0, len(rows), BATCH):
        batch = rows[at : at + BATCH]
        if band == 0.0:
            wrong = first.exact_classes(batch) != second.exact_classes(batch)
            checked += len(batch)
        else:
            # The library's margin errs by at most the band, so these exceed it for certain.
            certain = first.margin(batch) > 2.0 * band
            wrong = (first.predict(batch) != second.predict(batch)) & certain
            checked += certain.sum()
        assert not wrong.any(), f"called identical, but not at {batch[wrong][0]!r}"
    assert checked > len(rows) / 2


def confirm_different(first: Subject, second: Subject, found: secateur.Verification, exact: bool) -> None:
    row = found.counterexample[np.newaxis, :]
    judge = "exact_classes" if exact else "predict"
    theirs = tuple(int(getattr(subject, judge)(row)[0]) for subject in (first, second))
    assert theirs == found.classes, f"at {row!r}"
    assert theirs[0] != theirs[1]
    if not exact:
        assert first.margin(row)[0] > found.band / 2.0


@pytest.mark.parametrize("band", ["auto", 0], ids=["auto", "exact"])
@pytest.mark.parametrize(("name", "change"), CASES, ids=[f"{name}: {change}" for name, change in CASES])
def test_a_changed_file_is_judged_as_the_library_judges_it(name, change, band):
    first = original(name)
    second = type(first)(mutants(name)[change])
    found = secateur.verify(first.model, second.model, band=band, time_limit=60)
    assert not found.undecided, found.reason
    if found.different:
        confirm_different(first, second, found, exact=band == 0)
    else:
        confirm_identical(first, second, MODELS[name][0], found.band)
