"""Contributions of packed models: the libraries' own SHAP values up to rounding, and additive within the stated bound."""

from __future__ import annotations

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import secateur


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


CANCER, ILL = load_breast_cancer(return_X_y=True)
FLOWERS, KINDS = load_iris(return_X_y=True)
PEOPLE, DISEASE = load_diabetes(return_X_y=True)
SMALL = {"n_jobs": 1, "random_state": 0}


def hostile(X: np.ndarray) -> np.ndarray:
    """Rows of the data, with missing values, and with values at and beside others' values."""
    random = np.random.default_rng(1)
    rows = X[random.integers(0, len(X), size=200)].astype(np.float32)
    shuffled = rows.copy()
    for column in range(X.shape[1]):
        random.shuffle(shuffled[:, column])
    missing = shuffled.copy()
    missing[random.random(missing.shape) < 0.3] = np.nan
    return np.vstack([rows, shuffled, np.nextafter(shuffled, np.float32(np.inf)), missing]).astype(np.float64)


def xgboost_own(model: object, X: np.ndarray) -> np.ndarray:
    booster = model.get_booster()
    own = booster.predict(xgboost.DMatrix(X, feature_names=booster.feature_names), pred_contribs=True, strict_shape=True)
    return own[:, 0] if own.shape[1] == 1 else own


def lightgbm_own(model: object, X: np.ndarray) -> np.ndarray:
    own = model.predict(X, pred_contrib=True)
    classes = own.shape[1] // (X.shape[1] + 1)
    return own if classes == 1 else own.reshape(len(X), classes, X.shape[1] + 1)


def categorical() -> tuple[object, pd.DataFrame]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=400), "b": pd.Categorical(random.choice(list("uvwxyz"), size=400))})
    y = (frame["a"] + frame["b"].cat.codes % 2 > 0.5).astype(int)
    return y, frame


MODELS = {
    "xgboost": lambda: (xgboost.XGBClassifier(n_estimators=40, max_depth=6, **SMALL).fit(CANCER, ILL), CANCER, xgboost_own),
    "xgboost, deep": lambda: (xgboost.XGBRegressor(n_estimators=10, max_depth=12, **SMALL).fit(PEOPLE, DISEASE), PEOPLE, xgboost_own),
    "xgboost, classes": lambda: (xgboost.XGBClassifier(n_estimators=15, max_depth=4, **SMALL).fit(FLOWERS, KINDS), FLOWERS, xgboost_own),
    "xgboost, dart": lambda: (
        xgboost.XGBClassifier(n_estimators=15, booster="dart", rate_drop=0.3, **SMALL).fit(CANCER, ILL), CANCER, xgboost_own),
    "lightgbm": lambda: (lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, **SMALL).fit(CANCER, ILL), CANCER, lightgbm_own),
    "lightgbm, regressor": lambda: (lightgbm.LGBMRegressor(n_estimators=30, verbose=-1, **SMALL).fit(PEOPLE, DISEASE), PEOPLE, lightgbm_own),
    "lightgbm, classes": lambda: (
        lightgbm.LGBMClassifier(n_estimators=12, min_child_samples=5, verbose=-1, **SMALL).fit(FLOWERS, KINDS), FLOWERS, lightgbm_own),
}


@pytest.mark.parametrize("name", MODELS)
def test_contributions_are_the_librarys_and_add_up(name):
    model, X, own = MODELS[name]()
    packed = secateur.pack(model)
    rows = hostile(X)
    found, expected = packed.contributions(rows), own(model, rows)
    assert found.shape == expected.shape and found.dtype == np.float64
    scores = packed.raw_scores(rows)
    scale = np.abs(expected).sum(axis=-1, keepdims=True) + 1
    # XGBoost computes its own in float32, and takes sums of covers that were rounded to float32.
    tolerance = 1e-4 if "xgboost" in name else 1e-12
    assert (np.abs(found - expected) <= tolerance * scale).all(), np.abs(found - expected).max()
    sums = found.sum(axis=-1).reshape(len(rows), -1)
    error = np.abs(sums - scores)
    assert (error <= packed.contributions_error).all(), (error.max(), packed.contributions_error)
    # The bound says something.
    assert packed.contributions_error < 1e-4 * scale.max()


def test_categories_and_frames():
    y, frame = categorical()
    model = xgboost.XGBClassifier(n_estimators=10, enable_categorical=True, **SMALL).fit(frame, y)
    packed = secateur.pack(model)
    own = model.get_booster().predict(xgboost.DMatrix(frame, enable_categorical=True), pred_contribs=True)
    np.testing.assert_allclose(packed.contributions(frame), own, atol=1e-4)
    light = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, **SMALL).fit(frame, y)
    np.testing.assert_allclose(secateur.pack(light).contributions(frame), light.predict(frame, pred_contrib=True), atol=1e-12)


def test_a_saved_file_keeps_covers_where_that_was_asked_for(tmp_path):
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, **SMALL).fit(CANCER, ILL)
    plain, full = secateur.pack(model), secateur.pack(model, contributions=True)
    expected = plain.contributions(CANCER)
    assert np.array_equal(full.contributions(CANCER), expected)
    # A file of the same model as before, and one that is larger.
    assert plain.nbytes < full.nbytes
    for packed in (plain, full):
        packed.save(tmp_path / "model.spk", certificate=tmp_path / "model.cert")
        secateur.check(model.booster_, tmp_path / "model.spk", tmp_path / "model.cert")
    read = secateur.load(tmp_path / "model.spk")
    assert np.array_equal(read.contributions(CANCER), expected) and read.self_test()
    assert np.array_equal(read.raw_scores(CANCER), plain.raw_scores(CANCER))
    assert np.array_equal(pickle.loads(pickle.dumps(full)).contributions(CANCER[:5]), expected[:5])
    plain.save(tmp_path / "plain.spk")
    with pytest.raises(secateur.ModelError, match="contributions=True"):
        secateur.load(tmp_path / "plain.spk").contributions(CANCER)
    # A pipeline's last step.
    pipeline = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, **SMALL)).fit(CANCER, ILL)
    assert secateur.pack(pipeline, contributions=True)[-1].contributions(CANCER).shape == (569, 31)


def test_models_without_covers_are_refused():
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(FLOWERS, KINDS)
    with pytest.raises(secateur.SecateurError, match="contributions need the cover of every node"):
        secateur.pack(forest, contributions=True)
    with pytest.raises(secateur.SecateurError, match="read from XGBoost's and LightGBM's files"):
        secateur.pack(forest).contributions(FLOWERS)


def test_changed_covers_are_refused():
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, **SMALL).fit(CANCER, ILL)
    data = bytearray(secateur.pack(model, contributions=True).to_bytes())
    # The last cover becomes NaN, negative, or more than its parent's, under a checksum that fits.
    for cover in (np.nan, -1.0, 1e9, np.inf):
        data[-12:-8] = np.float32(cover).tobytes()
        data[-8:] = checksum(bytes(data[:-8])).to_bytes(8, "little")
        with pytest.raises(secateur.ModelError, match="cover"):
            secateur._packed.read(bytes(data))
    data[-12:-8] = np.float32(0).tobytes()
    data[-8:] = checksum(bytes(data[:-8])).to_bytes(8, "little")
    secateur._packed.read(bytes(data)).contributions(CANCER[:3])
    # A cover too few, and one too many.
    for content in (data[:-12], data[:-8] + bytes(4)):
        changed = bytes(content) + checksum(bytes(content)).to_bytes(8, "little")
        with pytest.raises(secateur.ModelError):
            secateur._packed.read(changed)


def checksum(content: bytes) -> int:
    """As docs/spec/packed-v1.md defines it."""
    state, mask = 0x5345434154455552, 2**64 - 1
    words = [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content), 8)]
    for word in [*words, len(content)]:
        mixed = (state ^ word) * 0x9E3779B97F4A7C15 & mask
        state = mixed ^ mixed >> 29
    return state
