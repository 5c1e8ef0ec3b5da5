"""From whatever a user has, a file or a fitted object, to a `Model`."""

from __future__ import annotations

import os
from typing import Any

from secateur import _sklearn
from secateur._secateur import Model, ModelError


def load(model: Any) -> Model:
    """Reads a model: the path of a file, an XGBoost or LightGBM model, or a scikit-learn classifier.

    Libraries are never imported here: an object of theirs brings its own.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return Model.read(os.fspath(model))
    package = type(model).__module__.partition(".")[0]
    if package == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return Model.parse(bytes(booster.save_raw("ubj")))
    if package == "lightgbm":
        booster = getattr(model, "booster_", model)
        return Model.parse(booster.model_to_string().encode())
    if package == "sklearn":
        return _sklearn.load(model)
    raise ModelError(f"{type(model).__module__}.{type(model).__qualname__} is not a model that secateur can read")
