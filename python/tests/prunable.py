"""Fitted models of every supported class, with rows of their own and ways to save and load them."""

from __future__ import annotations

import functools
import pathlib
import pickle
from typing import Any, Callable, NamedTuple

import catboost
import lightgbm
import numpy as np
import pandas as pd
import skops.io
import xgboost
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur

COLORS = ["amber", "blue", "coral", "drab"]


class Case(NamedTuple):
    model: Any
    train: np.ndarray
    test: np.ndarray
    to_library: Callable[[np.ndarray], Any] = lambda rows: rows
    """From rows of numbers to what `predict` takes."""
    predict: Callable[[Any, Any], np.ndarray] = lambda model, table: np.asarray(model.predict(table))
    inner: Callable[[Any], Any] = lambda model: model
    """The classifier itself."""

    def classes(self, model: Any, rows: np.ndarray) -> np.ndarray:
        # Checks for infinities add up whole tables, which overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.predict(model, self.to_library(rows))

    def certain(self, rows: np.ndarray, band: float) -> np.ndarray:
        """Rows on which the winner leads by more than the band, whatever rounding does."""
        model = secateur.load(self.model)
        scores = model.raw_scores(rows)
        if scores.shape[1] == 1:
            return np.abs(scores[:, 0]) > 2.0 * band + 2e-7
        ordered = np.sort(scores, axis=1)
        return ordered[:, -1] - ordered[:, -2] > 2.0 * band


@functools.cache
def few_values(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of few values each, where pruning has something to find."""
    if classes == 2:
        rows, target = load_breast_cancer(return_X_y=True)
        rows = rows[:, [0, 1, 7, 21]]
    else:
        rows, target = load_wine(return_X_y=True)
        rows = rows[:, [0, 6, 9, 12]]
    rows = np.column_stack([np.digitize(column, np.quantile(column, [0.25, 0.5, 0.75])) for column in rows.T])
    return rows.astype(np.float64), target


def parts(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, target = few_values(classes)
    return rows[::2], rows[1::2], target[::2]


def plain(model: Any, classes: int = 2, labels: list | None = None, **more: Any) -> Case:
    train, test, target = parts(classes)
    return Case(model.fit(train, target if labels is None else np.array(labels)[target]), train, test, **more)


def framed(model: Any, classes: int = 2) -> Case:
    """Named columns."""
    train, test, target = parts(classes)
    table = functools.partial(pd.DataFrame, columns=["size", "texture", "points", "worst"])
    return Case(model.fit(table(train), target), train, test, to_library=table)


def categorical(model: Any) -> Case:
    """The last column holds words."""
    train, test, target = parts(2)

    def table(rows: np.ndarray) -> pd.DataFrame:
        frame = pd.DataFrame(rows, columns=list("abcd"))
        known = np.isin(rows[:, 3], range(len(COLORS)))
        words = np.array(COLORS, dtype=object)[np.where(known, rows[:, 3], 0).astype(int)]
        words[~known] = np.nan
        frame["d"] = pd.Categorical(words, categories=COLORS)
        return frame

    return Case(model.fit(table(train), target), train, test, to_library=table)


def xgboost_booster() -> Case:
    case = plain(xgboost.XGBClassifier(n_estimators=15, max_depth=2, learning_rate=0.5, random_state=0))

    def predict(booster: xgboost.Booster, table: np.ndarray) -> np.ndarray:
        return booster.predict(xgboost.DMatrix(table)) > 0.5

    return case._replace(model=case.model.get_booster(), predict=predict)


def lightgbm_booster() -> Case:
    case = plain(boosted(n_estimators=15, num_leaves=3))
    return case._replace(model=case.model.booster_, predict=lambda booster, table: booster.predict(table) > 0.5)


def boosted(**options: Any) -> lightgbm.LGBMClassifier:
    return lightgbm.LGBMClassifier(min_child_samples=5, verbose=-1, n_jobs=1, random_state=0, **options)


def catboosted(**options: Any) -> catboost.CatBoostClassifier:
    options = {"learning_rate": 0.5, "random_seed": 0, "thread_count": 1, **options}
    return catboost.CatBoostClassifier(verbose=0, allow_writing_files=False, **options)


def flat(model: Any, table: Any) -> np.ndarray:
    """CatBoost gives a column for several classes."""
    return np.ravel(model.predict(table))


def catboost_categories() -> Case:
    """The last column holds words; a code is the place of a word's hash in the model's list."""
    train, test, target = parts(2)

    def table(rows: np.ndarray, words: list[str]) -> pd.DataFrame:
        frame = pd.DataFrame(rows, columns=list("abcd"))
        known = np.isin(rows[:, 3], range(len(words)))
        places = np.where(known, rows[:, 3], 0).astype(int)
        frame["d"] = [words[place] if here else "unheard of" for place, here in zip(places, known)]
        return frame

    model = catboosted(iterations=10, depth=2, one_hot_max_size=10)
    model.fit(table(train, COLORS), target, cat_features=["d"])
    by_hash = {secateur.Model.category_hash(word): word for word in COLORS}
    order = [by_hash[label] for label in secateur.load(model).category_labels()[3]]
    return Case(model, train, test, to_library=functools.partial(table, words=order), predict=flat)


def pipeline() -> Case:
    model = make_pipeline(
        FunctionTransformer(), StandardScaler(), AdaBoostClassifier(n_estimators=25, random_state=0)
    )
    case = plain(model)
    return case._replace(inner=lambda model: model[-1])


CASES: dict[str, Callable[[], Case]] = {
    "XGBClassifier": lambda: plain(xgboost.XGBClassifier(n_estimators=20, max_depth=1, random_state=0)),
    "XGBClassifier, three classes": lambda: framed(
        xgboost.XGBClassifier(n_estimators=6, max_depth=2, random_state=0), 3
    ),
    "XGBClassifier, categories": lambda: categorical(
        xgboost.XGBClassifier(n_estimators=10, max_depth=2, enable_categorical=True, random_state=0)
    ),
    "XGBClassifier, stopped early": lambda: stopped_early(),
    "XGBClassifier, forest": lambda: plain(
        xgboost.XGBClassifier(
            n_estimators=1, num_parallel_tree=10, max_depth=2, subsample=0.8, colsample_bynode=0.5, random_state=0
        )
    ),
    "xgboost.Booster": xgboost_booster,
    "LGBMClassifier": lambda: plain(boosted(n_estimators=20, num_leaves=2), labels=["benign", "malign"]),
    "LGBMClassifier, three classes": lambda: framed(boosted(n_estimators=6, num_leaves=3), 3),
    "LGBMClassifier, categories": lambda: categorical(boosted(n_estimators=10, num_leaves=3)),
    "lightgbm.Booster": lightgbm_booster,
    "CatBoostClassifier": lambda: plain(catboosted(iterations=20, depth=1), labels=["benign", "malign"], predict=flat),
    "CatBoostClassifier, three classes": lambda: framed(catboosted(iterations=6, depth=2), 3)._replace(predict=flat),
    "CatBoostClassifier, asymmetric": lambda: plain(
        catboosted(iterations=10, grow_policy="Lossguide", max_leaves=4, min_data_in_leaf=3), predict=flat
    ),
    "CatBoostClassifier, categories": catboost_categories,
    "DecisionTreeClassifier": lambda: plain(DecisionTreeClassifier(random_state=0), labels=[False, True]),
    "RandomForestClassifier": lambda: framed(RandomForestClassifier(15, max_depth=3, random_state=0)),
    "ExtraTreesClassifier": lambda: plain(ExtraTreesClassifier(12, max_depth=3, random_state=0), labels=[1.0, 3.0]),
    "AdaBoostClassifier": lambda: plain(AdaBoostClassifier(n_estimators=40, random_state=0), labels=["no", "yes"]),
    "AdaBoostClassifier, three classes": lambda: plain(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0), 3
    ),
    "GradientBoostingClassifier": lambda: framed(
        GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0)
    ),
    "HistGradientBoostingClassifier": lambda: plain(
        HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=3, min_samples_leaf=5, random_state=0)
    ),
    "HistGradientBoostingClassifier, categories": lambda: categorical(
        HistGradientBoostingClassifier(
            max_iter=10, max_leaf_nodes=3, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
        )
    ),
    "Pipeline": pipeline,
}


def stopped_early() -> Case:
    train, test, target = parts(2)
    model = xgboost.XGBClassifier(
        n_estimators=60, max_depth=2, learning_rate=0.8, early_stopping_rounds=3, random_state=0
    )
    model.fit(train, target, eval_set=[(test, few_values(2)[1][1::2])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return Case(model, train, test)


@functools.cache
def case(name: str) -> Case:
    return CASES[name]()


def saved_and_loaded(model: Any, folder: pathlib.Path) -> tuple[Any, pathlib.Path]:
    """The model as its library writes and reads it, and the file."""
    if isinstance(model, xgboost.XGBClassifier):
        path = folder / "model.json"
        model.save_model(path)
        new = type(model)()
        new.load_model(path)
        return new, path
    if isinstance(model, xgboost.Booster):
        path = folder / "model.ubj"
        model.save_model(path)
        return xgboost.Booster(model_file=path), path
    if isinstance(model, (lightgbm.LGBMClassifier, lightgbm.Booster)):
        path = folder / "model.txt"
        booster = getattr(model, "booster_", model)
        booster.save_model(path)
        # LightGBM's wrapper has no file of its own but a pickle.
        return pickle.loads(pickle.dumps(model)), path
    if isinstance(model, catboost.CatBoost):
        path = folder / "model.cbm"
        model.save_model(str(path))
        new = type(model)()
        new.load_model(str(path))
        return new, path
    path = folder / "model.skops"
    skops.io.dump(model, path)
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path)), path
