"""scikit-learn classifiers and regressors: a fitted estimator's parts for the extension, and a new estimator from edited ones.

scikit-learn is not imported here: an estimator brings its own. Arrays travel in `.npy` form, so that a live
model is read and checked by the code that reads skops archives.
"""

from __future__ import annotations

import copy
import io
import sys
from typing import Any

import numpy as np

from secateur import _labels, _settings
from secateur._secateur import Model, ModelError, sklearn_model, sklearn_parts

_TREES = "sklearn.tree._classes"
_FORESTS = "sklearn.ensemble._forest"
_ISOLATION = "sklearn.ensemble._iforest"
_HISTOGRAM = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
_CLASSIFIER_TREES = {(_TREES, "DecisionTreeClassifier"), (_TREES, "ExtraTreeClassifier")}
_REGRESSOR_TREES = {(_TREES, "DecisionTreeRegressor"), (_TREES, "ExtraTreeRegressor")}
_BOOSTED_TREES = {(_TREES, "DecisionTreeRegressor")}
_HISTOGRAM_TREES = {("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")}
SUPPORTED = {
    (_TREES, "DecisionTreeClassifier"),
    (_TREES, "ExtraTreeClassifier"),
    (_FORESTS, "RandomForestClassifier"),
    (_FORESTS, "ExtraTreesClassifier"),
    ("sklearn.ensemble._weight_boosting", "AdaBoostClassifier"),
    ("sklearn.ensemble._gb", "GradientBoostingClassifier"),
    (_HISTOGRAM, "HistGradientBoostingClassifier"),
    (_TREES, "DecisionTreeRegressor"),
    (_TREES, "ExtraTreeRegressor"),
    (_FORESTS, "RandomForestRegressor"),
    (_FORESTS, "ExtraTreesRegressor"),
    ("sklearn.ensemble._gb", "GradientBoostingRegressor"),
    (_HISTOGRAM, "HistGradientBoostingRegressor"),
    (_ISOLATION, "IsolationForest"),
}


def load(estimator: Any) -> Model:
    """The model of a fitted classifier or regressor."""
    _settings.check_methods(estimator)
    if _has_no_classes(_name(estimator)):
        return sklearn_model(_extract(estimator))
    return _labels.with_labels(sklearn_model(_extract(estimator)), estimator.classes_)


def rebuild(estimator: Any, model: Model) -> Any:
    """A new estimator for `model`, which came from `estimator` by `load` and edits. `estimator` itself stays
    as it is, and the two share nothing."""
    parts = sklearn_parts(model)
    name = _name(estimator)
    kind = name.removesuffix("Classifier").removesuffix("Regressor")
    if kind in ("DecisionTree", "ExtraTree"):
        return _plain_tree(estimator, *parts["trees"][0][1:])
    attribute = "_predictors" if kind == "HistGradientBoosting" else "estimators_"
    old = _flat(getattr(estimator, attribute))
    # The old trees are not copied only to be thrown away.
    shell = copy.copy(estimator)
    delattr(shell, attribute)
    new = copy.deepcopy(shell)
    make = _histogram_tree if kind == "HistGradientBoosting" else _plain_tree
    trees = [make(old[origin], depth, arrays) for origin, depth, arrays in parts["trees"]]
    if kind == "HistGradientBoosting":
        groups = len(parts["baseline"])
        new._predictors = [trees[start : start + groups] for start in range(0, len(trees), groups)]
        new._baseline_prediction = np.array([parts["baseline"]], dtype=np.float64)
        return new
    if kind == "GradientBoosting":
        rounds = np.empty(len(trees), dtype=object)
        rounds[:] = trees
        new.estimators_ = rounds.reshape(-1, estimator.estimators_.shape[1])
        new.n_estimators_ = len(new.estimators_)
        new.learning_rate = parts["learning_rate"]
        if parts["start_from_zero"]:
            new.init_ = "zero"
    else:
        new.estimators_ = trees
    if name == "AdaBoostClassifier":
        new.estimator_weights_ = np.array(parts["weights"], dtype=np.float64)
    new.n_estimators = len(new.estimators_)
    return new


def fitted(estimator: Any, attribute: str) -> Any:
    """What fitting has put there."""
    if not hasattr(estimator, attribute):
        raise ModelError(f"this {type(estimator).__qualname__} is not fitted")
    return getattr(estimator, attribute)


# What decides as the estimator does that it holds under this name.
_HOLDERS = {
    "GridSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "FrozenEstimator": "estimator",
}

_COMPARES = (
    "it compares scores or probabilities of several models, which pruning changes; "
    'secateur.prune(each, keep="scores") keeps those '
    "of each of its estimators_, and secateur.pack keeps them bit by bit"
)

# What is not an ensemble of trees itself but often holds one, and what to do then.
_REASONS = {
    "CalibratedClassifierCV": "it decides by calibrated probabilities, often averaged over several models, and not "
    "by the trees' scores; prune the classifier first, then calibrate the pruned one with FrozenEstimator; "
    'or prune the one that it holds with keep="scores"',
    "OneVsRestClassifier": _COMPARES,
    "OneVsOneClassifier": _COMPARES,
    "StackingClassifier": _COMPARES,
    "AdaBoostRegressor": "its prediction is a weighted median of the trees' and no sum of them; a "
    "GradientBoostingRegressor or RandomForestRegressor is a sum",
    "BaggingClassifier": "it decides among several models; a RandomForestClassifier of the same trees is supported",
}


def held(estimator: Any) -> Any | None:
    """The fitted estimator that decides for this one; `None` where it decides itself."""
    kind = type(estimator)
    if not kind.__module__.startswith("sklearn.") or kind.__qualname__ not in _HOLDERS:
        return None
    name = _HOLDERS[kind.__qualname__]
    if not hasattr(estimator, name):
        raise ModelError(f"this {kind.__qualname__} has no {name}: it is not fitted, or refit=False kept none")
    _settings.check_methods(estimator)
    return getattr(estimator, name)


def _name(estimator: Any) -> str:
    kind = type(estimator)
    if kind.__qualname__ == "VotingClassifier" and kind.__module__.startswith("sklearn."):
        raise ModelError(
            "VotingClassifier is not supported: it decides among several models; with voting='hard', which takes their "
            "classes alone, prune each of its estimators_"
            if getattr(estimator, "voting", None) == "hard"
            else f"VotingClassifier is not supported: {_COMPARES}"
        )
    if kind.__module__.startswith("sklearn.") and kind.__qualname__ in _REASONS:
        raise ModelError(f"{kind.__qualname__} is not supported: {_REASONS[kind.__qualname__]}")
    # Subclasses may predict as they like.
    if (kind.__module__, kind.__qualname__) not in SUPPORTED:
        raise ModelError(
            f"{kind.__module__}.{kind.__qualname__} is not supported; scikit-learn's DecisionTree, RandomForest, "
            "ExtraTrees, AdaBoost, GradientBoosting and HistGradientBoosting classifiers are, their regressors but "
            "for AdaBoost's, and IsolationForest"
        )
    return kind.__qualname__


def _extract(estimator: Any) -> dict[str, Any]:
    name = _name(estimator)
    version = sys.modules["sklearn"].__version__
    if tuple(int(number) for number in version.split(".")[:2]) < (1, 4):
        raise ModelError(f"scikit-learn {version} is not supported; versions from 1.4 on are")
    regressor = _has_no_classes(name)
    if not hasattr(estimator, "n_features_in_" if regressor else "classes_"):
        raise ModelError(f"this {name} is not fitted")
    if not regressor and isinstance(estimator.classes_, list):
        raise ModelError("a classifier with several outputs is not supported; fit one model for each output")
    names = getattr(estimator, "feature_names_in_", None)
    parts: dict[str, Any] = {
        "estimator": name,
        "version": version,
        "classes": [] if regressor else _labels.checked(estimator.classes_).tolist(),
        "feature_count": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(column) for column in names],
        "missing": False,
        "weights": [],
        "learning_rate": 1.0,
        "start": None,
        "exponential_loss": False,
        "exponential_link": False,
        "baseline": [],
        "columns": [],
        "categories": [],
        "max_samples": 0,
    }
    if name == "IsolationForest":
        return parts | _isolation(estimator)
    kind = name.removesuffix("Classifier").removesuffix("Regressor")
    if kind == "HistGradientBoosting":
        _settings.check_sklearn(estimator, name, _flat(estimator._predictors), _HISTOGRAM_TREES)
        if regressor:
            parts["exponential_link"] = _has_exponential_link(estimator)
        return parts | _histogram(estimator)
    if kind in ("DecisionTree", "ExtraTree"):
        trees = [estimator]
    else:
        trees = _flat(estimator.estimators_)
    if name == "AdaBoostClassifier":
        _check_voters(estimator, trees)
    tree_types = _REGRESSOR_TREES if regressor else _CLASSIFIER_TREES
    if kind == "GradientBoosting":
        tree_types = _BOOSTED_TREES
    _settings.check_sklearn(estimator, name, trees, tree_types)
    if name == "AdaBoostClassifier":
        parts["weights"] = np.asarray(estimator.estimator_weights_, dtype=np.float64).tolist()
    elif kind == "GradientBoosting":
        parts["learning_rate"] = float(estimator.learning_rate)
        parts["start"] = _start(estimator)
        # What was fitted: `loss` may have been set to another one since.
        parts["exponential_loss"] = type(estimator._loss).__qualname__ == "ExponentialLoss"
    elif trees:
        parts["missing"] = bool(trees[0]._support_missing_values(np.zeros((1, 1))))
    parts["trees"] = [_plain_arrays(tree.tree_) for tree in trees]
    return parts


def _is_regressor(name: str) -> bool:
    return name.endswith("Regressor")


def _has_no_classes(name: str) -> bool:
    return _is_regressor(name) or name == "IsolationForest"


def _isolation(estimator: Any) -> dict[str, Any]:
    """What an isolation forest adds at each leaf, and its splits as columns of the whole table."""
    trees = list(estimator.estimators_)
    _settings.check_sklearn(estimator, "IsolationForest", trees, {(_TREES, "ExtraTreeRegressor")})
    if estimator._max_samples < 2:
        raise ModelError("an IsolationForest of trees of one row gives every input the same score")
    some_columns = estimator._max_features != estimator.n_features_in_
    arrays = []
    for at, tree in enumerate(trees):
        nodes = tree.tree_.__getstate__()["nodes"].copy()
        if some_columns:
            splits = nodes["left_child"] != -1
            nodes["feature"][splits] = np.asarray(estimator.estimators_features_[at])[nodes["feature"][splits]]
        lengths = estimator._decision_path_lengths[at] + estimator._average_path_length_per_tree[at] - 1.0
        arrays.append([_npy(nodes), _npy(np.asarray(lengths, dtype=np.float64).reshape(-1, 1, 1))])
    return {"missing": True, "max_samples": int(estimator._max_samples), "trees": arrays}


def _has_exponential_link(estimator: Any) -> bool:
    """Whether predict of a HistGradientBoostingRegressor takes exp of the score: what was fitted, as `loss` may have
    been set to another one since."""
    loss = type(estimator._loss).__qualname__
    if loss in ("HalfPoissonLoss", "HalfGammaLoss"):
        return True
    if loss in ("HalfSquaredError", "AbsoluteError", "PinballLoss"):
        return False
    raise ModelError(f"HistGradientBoostingRegressor with a {loss} is not supported")


def _flat(trees: Any) -> list[Any]:
    """The trees of all rounds in one list."""
    flat: list[Any] = []
    for item in trees:
        if isinstance(item, (list, np.ndarray)):
            flat.extend(item)
        else:
            flat.append(item)
    return flat


def _check_voters(estimator: Any, trees: list[Any]) -> None:
    for tree in trees:
        kind = type(tree)
        if (kind.__module__, kind.__qualname__) not in _CLASSIFIER_TREES:
            raise ModelError(f"AdaBoost of {kind.__qualname__} is not supported, of decision trees it is")
        if not np.array_equal(tree.classes_, estimator.classes_):
            raise ModelError("AdaBoost with a tree of other classes is not supported")


def _start(estimator: Any) -> list[float] | None:
    """The scores that gradient boosting starts from, from the library itself: NumPy's logarithm depends on
    the processor."""
    init = estimator.init_
    if isinstance(init, str) and init == "zero":
        return None
    constant = type(init).__qualname__ == "DummyRegressor" and _is_regressor(type(estimator).__qualname__)
    if not constant and (type(init).__qualname__ != "DummyClassifier" or init._strategy != "prior"):
        raise ModelError(
            f"gradient boosting that starts from {init!r} is not supported; it starts from the class priors or a "
            'constant (init=None) or from init="zero"'
        )
    _settings.check_methods(init)
    row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    return estimator._raw_predict_init(row)[0].tolist()


def _histogram(estimator: Any) -> dict[str, Any]:
    predictors = _flat(estimator._predictors)
    preprocessor = estimator._preprocessor
    columns = list(range(estimator.n_features_in_))
    categories = []
    if preprocessor is not None:
        kind = type(preprocessor)
        if (kind.__module__, kind.__qualname__) != ("sklearn.compose._column_transformer", "ColumnTransformer"):
            raise ModelError(f"HistGradientBoosting with a {kind.__qualname__} as its _preprocessor is not supported")
        _settings.check_methods(preprocessor)
        indices = preprocessor._transformer_to_input_indices
        columns = [int(index) for key in ("encoder", "numerical") for index in indices[key]]
        encoder = _encoder(estimator, preprocessor)
        known = estimator._bin_mapper.bin_thresholds_
        categories = [(_categories(values), _bits(codes)) for values, codes in zip(encoder.categories_, known)]
    return {
        "missing": True,
        "trees": [
            [_npy(tree.nodes), _npy(tree.raw_left_cat_bitsets), _npy(tree.binned_left_cat_bitsets)]
            for tree in predictors
        ],
        "baseline": estimator._baseline_prediction.ravel().tolist(),
        "columns": columns,
        "categories": categories,
    }


def _encoder(estimator: Any, preprocessor: Any) -> Any:
    """The encoder of HistGradientBoosting's categories, where the steps before its trees are as the library makes them."""
    steps = {name: step for name, step, _ in preprocessor.transformers_ if not isinstance(step, str) or step != "drop"}
    classes = {"encoder": "OrdinalEncoder", "numerical": "FunctionTransformer"}
    if list(steps) != list(classes) or preprocessor.transformer_weights:
        raise ModelError("HistGradientBoosting with other steps in its _preprocessor than the library's own is not supported")
    for name, step in steps.items():
        _settings.check_own(step, "sklearn", classes[name], estimator)
    encoder = steps["encoder"]
    own = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan, "encoded_missing_value": np.nan, "dtype": np.float64}
    changed = [name for name, value in own.items() if not _same(getattr(encoder, name), value)]
    # A check of the table, which changes no number.
    check, numerical = sys.modules["sklearn.utils.validation"].check_array, steps["numerical"]
    if getattr(numerical.func, "func", None) is not check or numerical.func.keywords.get("dtype") != [np.float64] or numerical.kw_args:
        changed.append("func")
    if changed:
        raise ModelError(f"{changed[0]} of a step in HistGradientBoosting's _preprocessor is not what the library sets; fit it again")
    return encoder


def _same(value: Any, expected: Any) -> bool:
    return value is expected or value == expected or value != value and expected != expected


def _categories(values: np.ndarray) -> list[Any]:
    """The categories without NaN and None, which are listed last."""
    listed = [value for value in np.asarray(values).tolist() if value is not None and value == value]
    if all(isinstance(value, str) for value in listed):
        return listed
    if all(isinstance(value, (int, float)) for value in listed):
        return [float(value) for value in listed]
    raise ModelError(f"the categories {listed!r} are neither all numbers nor all text")


def _bits(codes: np.ndarray) -> list[int]:
    words = [0] * 8
    for code in np.asarray(codes).astype(int).tolist():
        words[code // 32] |= 1 << code % 32
    return words


def _plain_arrays(tree: Any) -> list[bytes]:
    state = tree.__getstate__()
    return [_npy(state["nodes"]), _npy(state["values"])]


def _plain_tree(estimator: Any, depth: int, arrays: list[bytes] | None) -> Any:
    """A copy of an estimator with one tree, with other arrays in it."""
    if arrays is None:
        return copy.deepcopy(estimator)
    constructor, arguments, _ = estimator.tree_.__reduce__()
    tree = constructor(*arguments)
    nodes, values = (_array(data) for data in arrays)
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    shell = copy.copy(estimator)
    del shell.tree_
    new = copy.deepcopy(shell)
    new.tree_ = tree
    return new


def _histogram_tree(predictor: Any, depth: int, arrays: list[bytes] | None) -> Any:
    new = copy.deepcopy(predictor)
    if arrays is not None:
        new.nodes, new.raw_left_cat_bitsets, new.binned_left_cat_bitsets = (_array(data) for data in arrays)
    return new


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data), allow_pickle=False)
