"""XGBoost's and LightGBM's classifiers and boosters: their files, and new objects from edited files.

Neither library is imported here: an object of theirs brings its own.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

from secateur._secateur import Model, ModelError


def xgboost_file(model: Any) -> bytes:
    """The file of a fitted model."""
    name = _name(model, "xgboost", "XGBClassifier", "XGBRFClassifier", "Booster")
    if name == "Booster":
        booster = model
        if booster.attr("best_iteration") is not None:
            # The attribute is for XGBClassifier; a booster on its own predicts with all its trees.
            booster = booster.copy()
            booster.set_attr(best_iteration=None)
    else:
        _check_fitted(name, model.__sklearn_is_fitted__())
        booster = model.get_booster()
    return bytes(booster.save_raw("ubj"))


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


def lightgbm_file(model: Any) -> bytes:
    """The file of a fitted model: the rounds up to the best one, with which it predicts."""
    name = _name(model, "lightgbm", "LGBMClassifier", "Booster")
    if name != "Booster":
        _check_fitted(name, model.__sklearn_is_fitted__())
        model = model.booster_
    return model.model_to_string().encode()


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


def _name(model: Any, package: str, *supported: str) -> str:
    name = type(model).__qualname__
    if name not in supported:
        listed = f"{', '.join(supported[:-1])} and {supported[-1]}"
        raise ModelError(f"{package}'s {name} is not supported; {listed} are")
    return name


def _check_fitted(name: str, fitted: bool) -> None:
    if not fitted:
        raise ModelError(f"this {name} is not fitted")
