"""Random models of every library, small enough for every cell of their inputs to be looked at.

A `Drawn` is a model file as its library wrote it, and the library as the judge: `decide` loads a file of the same kind,
the original or a pruned one, and gives the classes that the library itself decides, by position.
"""

from __future__ import annotations

import functools
import pathlib
import tempfile
import warnings
from dataclasses import dataclass
from typing import Any, Callable

import catboost
import lightgbm
import numpy as np
import onnxruntime
import skops.io
import xgboost
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxmltools
    import skl2onnx
    from onnx import TensorProto
    from onnxmltools.convert.common import data_types as onnxml_types
    from skl2onnx.common import data_types as skl_types

Decide = Callable[[bytes, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Drawn:
    """A model file, rows that it was trained on, and its library."""

    data: bytes
    rows: np.ndarray
    decide: Decide
    words: str
    """What it is, to be drawn again by hand."""
    infinities: bool = True
    """The interface that decides here takes infinities, where the library does."""


@dataclass(frozen=True)
class Table:
    """Few columns of few values each."""

    rows: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    categorical: list[int]
    classes: int


def table(
    random: np.random.Generator, *, classes: int, missing: bool = False, categories: bool = False, columns: int = 0
) -> Table:
    """A random table whose classes depend on its columns, with noise."""
    width = columns or int(random.integers(2, 5))
    # All cells together stay few: three values in each of four columns, or more in fewer.
    most = {1: 8, 2: 8, 3: 5, 4: 4}[width]
    count = int(random.integers(40, 160))
    sizes = random.integers(2, most + 1, width)
    rows = np.column_stack([random.integers(0, size, count) for size in sizes]).astype(np.float64)
    categorical = [int(random.integers(width))] if categories else []
    scores = random.normal(size=(classes, width, int(sizes.max())))
    sums = sum(scores[:, column, rows[:, column].astype(int)] for column in range(width))
    sums = sums + random.normal(scale=random.uniform(0.1, 1.5), size=sums.shape)
    target = np.argmax(sums, axis=0)
    # Every class occurs, so that libraries see them all.
    target[:classes] = np.arange(classes)
    if random.random() < 0.5:
        # Values that no float holds exactly, negative ones and zero.
        for column in set(range(width)) - set(categorical):
            rows[:, column] = (rows[:, column] - random.integers(0, 2)) * random.choice([0.1, 1.0, 7.3])
    if missing:
        holes = random.random(rows.shape) < 0.15
        rows[holes] = np.nan
    weights = random.uniform(0.2, 3.0, count) if random.random() < 0.3 else None
    return Table(rows, target, weights, categorical, classes)


def _classes(random: np.random.Generator) -> int:
    return int(random.choice([2, 2, 2, 3, 4, 5]))


# XGBoost


def _xgboost(random: np.random.Generator, booster: str) -> Drawn:
    drawn = table(random, classes=_classes(random), missing=random.random() < 0.5, categories=random.random() < 0.35)
    types = ["c" if column in drawn.categorical else "q" for column in range(drawn.rows.shape[1])]
    multi = drawn.classes > 2
    settings: dict[str, Any] = {
        "booster": booster,
        "objective": str(random.choice(["multi:softprob", "multi:softmax"])) if multi else "binary:logistic",
        "max_depth": int(random.integers(1, 4)),
        "eta": float(random.uniform(0.1, 1.0)),
        "lambda": float(random.choice([0.0, 1.0, 3.0])),
        "subsample": float(random.choice([0.6, 1.0])),
        "num_parallel_tree": int(random.choice([1, 1, 1, 3])),
        "tree_method": "hist",
        "max_cat_to_onehot": int(random.choice([1, 8])),
        "min_child_weight": 0.0,
        "nthread": 1,
        "seed": int(random.integers(1 << 30)),
    }
    if multi:
        settings["num_class"] = drawn.classes
    if booster == "dart":
        settings.update(rate_drop=0.3, skip_drop=0.2)
    rounds = int(random.integers(2, 10 if not multi else 5))

    def matrix(rows: np.ndarray, **more: Any) -> xgboost.DMatrix:
        return xgboost.DMatrix(rows, feature_types=types, enable_categorical=True, nthread=1, **more)

    trained = xgboost.train(settings, matrix(drawn.rows, label=drawn.target, weight=drawn.weights), rounds)
    form = str(random.choice(["json", "ubj"]))

    def decide(data: bytes, rows: np.ndarray) -> np.ndarray:
        model = xgboost.Booster({"nthread": 1})
        model.load_model(bytearray(data))
        answer = np.asarray(model.predict(matrix(rows)))
        if not multi:
            return (answer > 0.5).astype(int)
        return answer.astype(int) if answer.ndim == 1 else np.argmax(answer, axis=1)

    words = f"{settings}, {rounds} rounds, {form}, {types}"
    # A DMatrix refuses infinities; predicting in place does not.
    return Drawn(bytes(trained.save_raw(form)), drawn.rows, decide, words, infinities=False)


# LightGBM


def _lightgbm_settings(random: np.random.Generator, boosting: str, classes: int) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "boosting": boosting,
        "objective": "binary" if classes == 2 else str(random.choice(["multiclass", "multiclassova"])),
        "num_leaves": int(random.integers(2, 8)),
        "learning_rate": float(random.uniform(0.1, 1.0)),
        "min_data_in_leaf": int(random.integers(1, 6)),
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "min_data_per_group": 1,
        "cat_smooth": 1.0,
        "max_cat_to_onehot": int(random.choice([1, 8])),
        "zero_as_missing": bool(random.random() < 0.2),
        "seed": int(random.integers(1 << 30)),
        "num_threads": 1,
        "deterministic": True,
        "verbose": -1,
    }
    if classes > 2:
        settings["num_class"] = classes
    if boosting == "rf":
        settings.update(bagging_freq=1, bagging_fraction=0.7, feature_fraction=0.8)
    if boosting == "dart":
        settings.update(drop_rate=0.4)
    return settings


def _decide_lightgbm(data: bytes, rows: np.ndarray) -> np.ndarray:
    shares = np.asarray(lightgbm.Booster(model_str=data.decode()).predict(rows, num_threads=1))
    if shares.ndim == 1:
        shares = np.vstack((1.0 - shares, shares)).T
    return np.argmax(shares, axis=1)


def _lightgbm(random: np.random.Generator, boosting: str) -> Drawn:
    drawn = table(random, classes=_classes(random), missing=random.random() < 0.5, categories=random.random() < 0.35)
    settings = _lightgbm_settings(random, boosting, drawn.classes)
    rounds = int(random.integers(2, 10 if drawn.classes == 2 else 5))
    data = lightgbm.Dataset(
        drawn.rows,
        drawn.target,
        weight=drawn.weights,
        categorical_feature=drawn.categorical,
        params={"verbose": -1, "min_data_in_bin": 1},
    )
    try:
        trained = lightgbm.train(settings, data, rounds)
    except lightgbm.basic.LightGBMError:
        # Its trainer stumbles over some tables ("Check failed: left_count > 0"): another one then.
        return _lightgbm(random, boosting)
    text = trained.model_to_string().encode()
    return Drawn(text, drawn.rows, _decide_lightgbm, f"{settings}, {rounds} rounds, categories {drawn.categorical}")


# CatBoost


def _catboost_rows(rows: np.ndarray, words: dict[int, dict[float, str]]) -> list[list[Any]]:
    """Rows with texts in the columns of categories."""
    return [
        [words[at].get(value, "unheard of") if at in words else value for at, value in enumerate(row)] for row in rows.tolist()
    ]


def _catboost_words(data: bytes) -> dict[int, dict[float, str]]:
    """For each column of categories the text of each code: tables here hold small whole numbers."""
    model = secateur.Model.parse(data)
    texts = {secateur.Model.category_hash(str(number)): str(number) for number in range(16)}
    labels = model.category_labels()
    return {column: {float(code): texts[label] for code, label in enumerate(labels[column])} for column in model.hashed_columns()}


def _decide_catboost(data: bytes, rows: np.ndarray, form: str) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        path.write_bytes(data)
        model = catboost.CatBoostClassifier()
        model.load_model(str(path), format=form)
    words = _catboost_words(data)
    given = _catboost_rows(rows, words) if words else rows
    # Labels are 0, 1, ...: positions.
    return np.ravel(model.predict(given, thread_count=1)).astype(int)


def _catboost(random: np.random.Generator) -> Drawn:
    drawn = table(random, classes=_classes(random), missing=random.random() < 0.5, categories=random.random() < 0.35)
    policy = str(random.choice(["SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"]))
    settings: dict[str, Any] = {
        "iterations": int(random.integers(2, 10 if drawn.classes == 2 else 5)),
        "depth": int(random.integers(1, 4)),
        "learning_rate": float(random.uniform(0.1, 1.0)),
        "l2_leaf_reg": float(random.choice([0.1, 1.0, 3.0])),
        "nan_mode": str(random.choice(["Min", "Max"])),
        "grow_policy": policy,
        "one_hot_max_size": 50,
        "random_seed": int(random.integers(1 << 30)),
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    }
    if drawn.classes > 2:
        settings["loss_function"] = str(random.choice(["MultiClass", "MultiClassOneVsAll"]))
    rows: Any = drawn.rows
    if drawn.categorical:
        codes = {column: {float(code): str(code) for code in range(16)} for column in drawn.categorical}
        rows = _catboost_rows(np.where(np.isin(np.arange(drawn.rows.shape[1]), drawn.categorical), np.nan_to_num(drawn.rows), drawn.rows), codes)
    model = catboost.CatBoostClassifier(**settings)
    model.fit(rows, drawn.target, sample_weight=drawn.weights, cat_features=drawn.categorical or None)
    form = str(random.choice(["cbm", "cbm", "json"]))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        model.save_model(str(path), format=form)
        data = path.read_bytes()
    decide = functools.partial(_decide_catboost, form=form)
    return Drawn(data, drawn.rows, decide, f"{settings}, {form}, categories {drawn.categorical}")


# scikit-learn


def _dumped(model: Any) -> bytes:
    return skops.io.dumps(model)


def _decide_sklearn(data: bytes, rows: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.skops"
        path.write_bytes(data)
        model = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    with np.errstate(all="ignore"):
        predicted = np.asarray(model.predict(rows))
    return np.searchsorted(model.classes_, predicted)


def _fit(model: Any, drawn: Table) -> Any:
    return model.fit(drawn.rows, drawn.target, sample_weight=drawn.weights)


def _sklearn(random: np.random.Generator, family: str) -> Drawn:
    seed = int(random.integers(1 << 30))
    depth = int(random.integers(1, 5))
    classes = _classes(random)
    few = int(random.integers(2, 12))
    gaps = family in ("DecisionTree", "RandomForest", "ExtraTrees", "HistGradientBoosting")
    drawn = table(
        random,
        classes=classes,
        missing=gaps and random.random() < 0.5,
        categories=family == "HistGradientBoosting" and random.random() < 0.4,
    )
    rate = float(random.uniform(0.1, 1.0))
    model = {
        "DecisionTree": lambda: DecisionTreeClassifier(max_depth=depth + 1, random_state=seed),
        "RandomForest": lambda: RandomForestClassifier(few, max_depth=depth, n_jobs=1, random_state=seed),
        "ExtraTrees": lambda: ExtraTreesClassifier(few, max_depth=depth, n_jobs=1, random_state=seed),
        "AdaBoost": lambda: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=min(depth, 2)), n_estimators=few, learning_rate=rate, random_state=seed
        ),
        "GradientBoosting": lambda: GradientBoostingClassifier(
            n_estimators=max(2, few // (1 if classes == 2 else 3)), max_depth=min(depth, 3), learning_rate=rate, random_state=seed
        ),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
            max_iter=max(2, few // (1 if classes == 2 else 3)),
            max_leaf_nodes=int(random.integers(2, 7)),
            min_samples_leaf=3,
            learning_rate=rate,
            categorical_features=drawn.categorical or None,
            early_stopping=False,
            random_state=seed,
        ),
    }[family]()
    return Drawn(_dumped(_fit(model, drawn)), drawn.rows, _decide_sklearn, f"{model!r}, {drawn.categorical}")


# ONNX


def _decide_onnx(data: bytes, rows: np.ndarray, double: bool = False) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    label = next(output.name for output in session.get_outputs() if "label" in output.name)
    return np.asarray(session.run([label], {"X": rows.astype(np.float64 if double else np.float32)})[0]).astype(int)


def _onnx(random: np.random.Generator) -> Drawn:
    source = str(random.choice(["xgboost", "lightgbm", "tree", "forest", "extra", "boosting", "adaboost"]))
    classes = int(random.choice([2, 2, 3, 4]))
    drawn = table(random, classes=classes, missing=source in ("xgboost", "lightgbm") and random.random() < 0.4)
    seed, depth, few = int(random.integers(1 << 30)), int(random.integers(1, 4)), int(random.integers(2, 9))
    width = drawn.rows.shape[1]
    double = source not in ("xgboost", "lightgbm") and random.random() < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if source == "xgboost":
            model = xgboost.XGBClassifier(n_estimators=few, max_depth=depth, n_jobs=1, random_state=seed)
            types = [("X", onnxml_types.FloatTensorType([None, width]))]
            converted = onnxmltools.convert_xgboost(_fit(model, drawn), initial_types=types)
        elif source == "lightgbm":
            model = lightgbm.LGBMClassifier(
                n_estimators=few, num_leaves=depth + 2, min_child_samples=3, n_jobs=1, verbose=-1, random_state=seed
            )
            types = [("X", onnxml_types.FloatTensorType([None, width]))]
            converted = onnxmltools.convert_lightgbm(_fit(model, drawn), initial_types=types, zipmap=False)
        else:
            model = {
                "tree": lambda: DecisionTreeClassifier(max_depth=depth + 1, random_state=seed),
                "forest": lambda: RandomForestClassifier(few, max_depth=depth, random_state=seed),
                "extra": lambda: ExtraTreesClassifier(few, max_depth=depth, random_state=seed),
                "boosting": lambda: GradientBoostingClassifier(n_estimators=few, max_depth=depth, random_state=seed),
                "adaboost": lambda: AdaBoostClassifier(n_estimators=few, random_state=seed),
            }[source]()
            tensor = skl_types.DoubleTensorType if double else skl_types.FloatTensorType
            converted = skl2onnx.to_onnx(
                _fit(model, drawn),
                initial_types=[("X", tensor([None, width]))],
                options={id(model): {"zipmap": False}},
            )
            # skl2onnx calls these scores double, and onnxruntime, whose scores are float, refuses to load that.
            for output in converted.graph.output:
                if output.type.tensor_type.elem_type == TensorProto.DOUBLE:
                    output.type.tensor_type.elem_type = TensorProto.FLOAT
    return Drawn(
        converted.SerializeToString(),
        drawn.rows,
        lambda data, rows: _decide_onnx(data, rows, double),
        f"{source}: {model!r}{', double' if double else ''}",
    )


FAMILIES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "XGBoost gbtree": lambda random: _xgboost(random, "gbtree"),
    "XGBoost dart": lambda random: _xgboost(random, "dart"),
    "LightGBM gbdt": lambda random: _lightgbm(random, "gbdt"),
    "LightGBM rf": lambda random: _lightgbm(random, "rf"),
    "LightGBM dart": lambda random: _lightgbm(random, "dart"),
    "DecisionTree": lambda random: _sklearn(random, "DecisionTree"),
    "RandomForest": lambda random: _sklearn(random, "RandomForest"),
    "ExtraTrees": lambda random: _sklearn(random, "ExtraTrees"),
    "AdaBoost": lambda random: _sklearn(random, "AdaBoost"),
    "GradientBoosting": lambda random: _sklearn(random, "GradientBoosting"),
    "HistGradientBoosting": lambda random: _sklearn(random, "HistGradientBoosting"),
    "ONNX": _onnx,
    "CatBoost": _catboost,
}


def draw(family: str, seed: int) -> Drawn:
    """The model of a family with this number: the same every time."""
    number = list(FAMILIES).index(family)
    # Histogram-based models start threads for every tree, which takes longer than the rows do.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return FAMILIES[family](np.random.default_rng([seed, number]))
