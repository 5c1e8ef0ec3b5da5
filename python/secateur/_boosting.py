"""Classifiers, regressors, rankers and boosters of XGBoost, LightGBM and CatBoost: their files, and new objects from edited
files.

None of the libraries is imported here: an object of theirs brings its own.
"""

from __future__ import annotations

import copy
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np

from secateur import _labels, _settings
from secateur._secateur import Model, ModelError

_XGBOOST = ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "XGBRanker", "Booster")
_LIGHTGBM = ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "Booster")
_CATBOOST = ("CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker", "CatBoost")
SUPPORTED = (*_XGBOOST, *_LIGHTGBM, *_CATBOOST)


def xgboost_model(model: Any) -> Model:
    """What a fitted model does: the trees of its booster, and of a classifier also its labels."""
    name = _name(model, "xgboost", *_XGBOOST)
    _settings.check_methods(model)
    if name == "Booster":
        booster = model
        if booster.attr("best_iteration") is not None:
            # The attribute is for XGBClassifier; a booster on its own predicts with all its trees.
            booster = booster.copy()
            booster.set_attr(best_iteration=None)
    else:
        _check_fitted(name, model.__sklearn_is_fitted__())
        booster = model.get_booster()
        _settings.check_own(booster, "xgboost", "Booster", model)
    read = Model.parse(_settings.from_library("XGBoost", lambda: bytes(booster.save_raw("ubj"))))
    _settings.check_xgboost_device(booster)
    if name == "Booster":
        return read
    _settings.check_xgboost(model, booster)
    if not name.endswith("Classifier"):
        _check_kind(name, read.is_classifier)
        return read
    _check_kind(name, not read.is_classifier)
    classes = _settings.xgboost_classes(model, read)
    # multi:softmax gives classes, which predict returns in this type.
    kind = np.int32 if model.objective == "multi:softmax" else np.int64
    return _labels.with_labels(read, np.arange(classes, dtype=kind))


def xgboost_rebuild(model: Any, pruned: Model) -> Any:
    """A new object like `model`, with the trees of `pruned`."""
    booster_type = sys.modules["xgboost"].Booster
    content = bytearray(pruned.to_bytes())
    if isinstance(model, booster_type):
        return booster_type(model_file=content)
    shell = copy.copy(model)
    del shell._Booster
    new = copy.deepcopy(shell)
    new._Booster = booster_type({"n_jobs": model.n_jobs}, model_file=content)
    return new


def lightgbm_model(model: Any) -> Model:
    """What a fitted model does: the rounds up to the best one, with which it predicts, and of a classifier also its
    labels."""
    name = _name(model, "lightgbm", *_LIGHTGBM)
    _settings.check_methods(model)
    booster = model
    if name != "Booster":
        _check_fitted(name, model.__sklearn_is_fitted__())
        _settings.check_lightgbm(model)
        booster = model.booster_
        _settings.check_own(booster, "lightgbm", "Booster", model)
    read = Model.parse(_settings.from_library("LightGBM", lambda: booster.model_to_string().encode()))
    if name == "Booster":
        return read
    if not name.endswith("Classifier"):
        _check_kind(name, read.is_classifier)
        return read
    _check_kind(name, not read.is_classifier)
    _settings.check_lightgbm_classes(model, read)
    return _labels.with_labels(read, model._le.classes_, model._n_classes)


def lightgbm_rebuild(model: Any, pruned: Model) -> Any:
    """A new object like `model`, with the trees of `pruned`."""
    booster_type = sys.modules["lightgbm"].Booster
    booster = booster_type(model_str=pruned.to_bytes().decode())
    if isinstance(model, booster_type):
        return booster
    shell = copy.copy(model)
    shell._Booster = None
    new = copy.deepcopy(shell)
    new._Booster = booster
    # All its rounds count.
    new._best_iteration = 0
    return new


def catboost_model(model: Any) -> Model:
    """What a fitted model does: its trees, scale, bias, threshold and class labels, all of which are in its file."""
    name = _name(model, "catboost", *_CATBOOST)
    _settings.check_methods(model)
    _check_fitted(name, model.is_fitted())
    _settings.check_own(model._object, "_catboost", "_CatBoost", model)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.cbm")

        def saved() -> bytes:
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

        read = Model.parse(_settings.from_library("CatBoost", saved))
        if name == "CatBoostRegressor":
            _settings.check_catboost_regressor(model, str(path))
    # Models of several labels have names of classes, too, although no class is chosen.
    has_classes = len(model.classes_) > 0
    if name == "CatBoostClassifier" and not has_classes or name in ("CatBoostRegressor", "CatBoostRanker") and has_classes:
        right = "CatBoostClassifier" if has_classes else "CatBoostRegressor"
        raise ModelError(
            f"this {name} holds the trees of another kind of model, and its predict does not return what those return; load "
            f"its file into a {right}"
        )
    if not read.is_classifier:
        return read
    # In the type that predict returns. Classes that the object was told of and never saw are not among them.
    return _labels.with_labels(read, np.asarray(read.classes, dtype=np.asarray(model.classes_).dtype))


def catboost_rebuild(model: Any, pruned: Model) -> Any:
    """A new object like `model`, with the trees of `pruned`."""
    new = copy.deepcopy(model)
    new.load_model(blob=pruned.to_bytes())
    # A model that was loaded does not know how many columns it was fitted with.
    if hasattr(model, "_n_features_in"):
        new._n_features_in = model._n_features_in
    # What the object has kept about its old trees.
    for kept in ("_prediction_values_change", "_loss_value_change"):
        if getattr(new, kept, None) is not None:
            setattr(new, kept, None)
    return new


def _name(model: Any, package: str, *supported: str) -> str:
    name = type(model).__qualname__
    if name not in supported:
        listed = f"{', '.join(supported[:-1])} and {supported[-1]}"
        raise ModelError(f"{package}'s {name} is not supported; {listed} are")
    return name


def _check_kind(name: str, wrong: bool) -> None:
    """A regressor of a classifier's trees returns probabilities, a classifier of a regressor's trees anything."""
    if wrong:
        raise ModelError(
            f"this {name} was fitted with an objective of another kind of model, and its predict does not return what "
            "those return; give its booster"
        )


def _check_fitted(name: str, fitted: bool) -> None:
    if not fitted:
        raise ModelError(f"this {name} is not fitted")
