"""The ensembles of the paper, trained with their libraries' defaults or with the paper's settings.

The paper's settings start gradient boosting at zero (`init="zero"`, `base_score=0.5`): its pruner has no intercept. By
default the start is the library's own, and secateur keeps it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

NAMES = ["AdaBoost", "GradientBoosting", "RandomForest", "LightGBM", "XGBoost"]
EXTENSION = {"XGBoost": "json", "LightGBM": "txt"}


def fit(name: str, trees: int, depth: int, seed: int, paper: bool, rows: np.ndarray, target: np.ndarray) -> Any:
    """A fitted classifier."""
    if name == "AdaBoost":
        from sklearn.ensemble import AdaBoostClassifier
        from sklearn.tree import DecisionTreeClassifier

        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=trees, random_state=seed)
    elif name == "GradientBoosting":
        from sklearn.ensemble import GradientBoostingClassifier

        start = {"init": "zero"} if paper else {}
        model = GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=seed, **start)
    elif name == "RandomForest":
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1)
    elif name == "LightGBM":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1, verbose=-1)
    elif name == "XGBoost":
        from xgboost import XGBClassifier

        start = {"base_score": 0.5} if paper else {}
        model = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1, **start)
    else:
        raise ValueError(f"no learner {name!r}; there are {', '.join(NAMES)}")
    return model.fit(rows, target)


def save(name: str, fitted: Any, path: Path) -> None:
    """Writes the model's own file."""
    if name == "XGBoost":
        fitted.get_booster().save_model(path)
    elif name == "LightGBM":
        fitted.booster_.save_model(path)
    else:
        import skops.io

        skops.io.dump(fitted, path)


def predict(name: str, path: Path, rows: np.ndarray) -> np.ndarray:
    """What the library itself decides with this file: the judge of fidelity, not secateur."""
    if name == "XGBoost":
        import xgboost

        booster = xgboost.Booster(model_file=path)
        margin = booster.predict(xgboost.DMatrix(rows))
        return margin.argmax(axis=1) if margin.ndim == 2 else (margin > 0.5).astype(int)
    if name == "LightGBM":
        import lightgbm

        probability = lightgbm.Booster(model_file=path).predict(rows)
        return probability.argmax(axis=1) if probability.ndim == 2 else (probability > 0.5).astype(int)
    return load_sklearn(path).predict(rows)


def load_sklearn(path: Path) -> Any:
    import skops.io

    # These files are written by this program a moment before; nothing foreign is trusted.
    unknown = skops.io.get_untrusted_types(file=path)
    stray = [one for one in unknown if not one.startswith(("sklearn.", "numpy."))]
    if stray:
        raise ValueError(f"{path}: holds {', '.join(stray)}")
    return skops.io.load(path, trusted=unknown)
