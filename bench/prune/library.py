"""What the libraries themselves say about an original and its pruned file, on real and on adversarial rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import secateur

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
from harness import hostile_rows  # noqa: E402

CHUNK = 20_000


def classes(kind: str, path: Path, rows: np.ndarray) -> np.ndarray:
    """The classes that the model's own library predicts from the file."""
    predict = _loaded(kind, path)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([predict(rows[at : at + CHUNK]) for at in range(0, len(rows), CHUNK)])


def _loaded(kind: str, path: Path):
    if kind == "XGBoost":
        import xgboost

        booster = xgboost.Booster(model_file=path)
        booster.set_param({"nthread": 1})
        return lambda rows: _decide(booster.inplace_predict(rows.astype(np.float32), predict_type="value"))
    if kind == "LightGBM":
        import lightgbm

        booster = lightgbm.Booster(model_file=path)
        return lambda rows: _decide(booster.predict(rows, num_threads=1))
    if kind == "CatBoost":
        import catboost

        model = catboost.CatBoostClassifier()
        model.load_model(str(path))
        return lambda rows: np.ravel(model.predict(rows, thread_count=1))
    import skops.io

    model = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    return model.predict


def _decide(probabilities: np.ndarray) -> np.ndarray:
    return probabilities > 0.5 if probabilities.ndim == 1 else probabilities.argmax(axis=1)


def adversarial(model: Path, rows: np.ndarray, count: int, seed: int = 0, missing: bool = True) -> np.ndarray:
    """Half of them hostile (thresholds and their neighbours, missing values where wanted), half mixes of training
    rows."""
    random = np.random.default_rng(seed)
    mixed = rows[random.integers(0, len(rows), (count // 2, rows.shape[1])), np.arange(rows.shape[1])]
    hostile = hostile_rows(secateur.load(model), rows, count=count - count // 2, seed=seed, missing=missing)
    return np.concatenate([hostile, mixed])


def outside_band(model: Path, rows: np.ndarray, band: float, level: float | None) -> int:
    """How many rows the claim is about: the original leads by more than the band."""
    scores = secateur.load(model).raw_scores(np.asarray(rows, dtype=np.float64))
    if scores.shape[1] == 1:
        leads = np.abs(scores[:, 0] - (level or 0.0))
    else:
        ordered = np.sort(scores, axis=1)
        leads = ordered[:, -1] - ordered[:, -2]
    return int((leads > band).sum())
