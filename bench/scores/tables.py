"""Training tables of the benchmarks about scores, and models that each learner makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier, XGBRegressor

CHECKOUT = Path(__file__).resolve().parents[2]
# Dataset, learner, kind: the models with quantised leaves.
QUANTISED = [
    ("FICO", "XGBoost", "classifier"),
    ("Pima-Diabetes", "XGBoost", "regressor"),
    ("Pima-Diabetes", "LightGBM", "classifier"),
    ("ELEC2", "LightGBM", "regressor"),
    ("Breast-Cancer-Wisconsin", "GradientBoosting", "classifier"),
    ("COMPAS-ProPublica", "GradientBoosting", "regressor"),
    ("Seeds", "RandomForest", "regressor"),
]
# A column with more values than this is worth predicting.
MANY_VALUES = 20


def training_rows(name: str, folder: Path, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and target. A classifier's target is the class. A regressor predicts the column with the most values from the others and
    the class; where all columns have few values, the sum of the second half of the columns from the first half and the class."""
    table = pd.read_csv(folder / name / f"{name}.full.csv")
    classes = pd.factorize(table.iloc[:, -1], sort=True)[0]
    columns = table.iloc[:, :-1]
    if kind == "classifier":
        rows, target = columns.to_numpy(np.float64), classes
    else:
        values = columns.nunique()
        if values.max() > MANY_VALUES:
            target = columns[values.idxmax()].to_numpy(np.float64)
            rest = columns.drop(columns=values.idxmax())
        else:
            half = columns.shape[1] // 2
            target = columns.iloc[:, half:].sum(axis=1).to_numpy(np.float64)
            rest = columns.iloc[:, :half]
        rows = np.column_stack([rest.to_numpy(np.float64), classes.astype(np.float64)])
    rows, _, target, _ = train_test_split(rows, target, test_size=0.2, random_state=0)
    return rows, target


LEARNERS = {
    "XGBoost": {"classifier": XGBClassifier, "regressor": XGBRegressor},
    "LightGBM": {"classifier": LGBMClassifier, "regressor": LGBMRegressor},
    "GradientBoosting": {"classifier": GradientBoostingClassifier, "regressor": GradientBoostingRegressor},
    "RandomForest": {"classifier": RandomForestClassifier, "regressor": RandomForestRegressor},
}


def fitted(learner: str, kind: str, trees: int, depth: int, rows: np.ndarray, target: np.ndarray):
    options = dict(n_estimators=trees, max_depth=depth, random_state=0)
    if learner == "LightGBM":
        options |= dict(num_leaves=2**depth, n_jobs=1, verbose=-1)
    elif learner != "GradientBoosting":
        options |= dict(n_jobs=1)
    return LEARNERS[learner][kind](**options).fit(rows, target)
