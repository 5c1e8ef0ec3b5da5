"""What would help a model is measured, and what is said holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import secateur

X, y = load_breast_cancer(return_X_y=True)
# Columns with few values, on which trees can go quickly.
FEW = X[:, [0, 1, 7]].round()


@pytest.fixture(scope="module")
def deep():
    """A model that pruning does not help."""
    return RandomForestClassifier(n_estimators=8, max_depth=5, random_state=0).fit(X, y)


def test_a_model_that_pruning_helps_is_told_so():
    stumps = AdaBoostClassifier(n_estimators=20, random_state=0).fit(FEW, y)
    advice = secateur.advise(stumps, FEW, time_limit=60)
    assert advice.door == "prune" and repr(advice) == "<Advice: prune>"
    first = advice.trials[0]
    assert first["way"] == "decisions" and first["trees"] < 18
    assert secateur.prune(stumps, FEW).trees_after <= first["trees"]
    assert "secateur.prune(model)" in str(advice) and "secateur.pack(model)" in str(advice)
    assert advice.pack["bytes"] == secateur.pack(stumps).nbytes
    assert advice.library["own"] > advice.library["packed"] > 0
    assert "µs with the model's own library" in " ".join(str(advice).split())


def test_a_model_that_pruning_does_not_help_is_told_to_pack(deep):
    with threadpool_limits(1):
        advice = secateur.advise(deep, X, time_limit=6)
    assert advice.door in ("pack", "prune_less") and advice.pack is not None
    assert json.loads(json.dumps(advice.to_dict()))["advice"] == advice.door
    assert str(advice) in advice._repr_html_().replace("&#x27;", "'").replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")
    # Scores that may move by a hundredth of their spread.
    within = [trial for trial in advice.trials if trial["way"] == "within"]
    assert len(within) == 1 and 0 < within[0]["within"] < 0.1


def test_every_kind_of_model_gets_advice(deep, tmp_path):
    regressor = RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0).fit(X, y)
    advice = secateur.advise(regressor, time_limit=4)
    assert [trial["way"] for trial in advice.trials] == ["within"] and advice.library is None
    packed = secateur.pack(deep)
    packed.save(tmp_path / "model.spk")
    advice = secateur.advise(tmp_path / "model.spk", time_limit=1)
    assert all("packed" in trial["refused"] for trial in advice.trials)
    assert f"secateur pack {tmp_path / 'model.spk'}" in " ".join(str(advice).split())
    pipeline = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=5, random_state=0)).fit(X, y)
    assert secateur.advise(pipeline, X, time_limit=4).library is None
    with pytest.raises(secateur.OptionError, match="needs a time_limit"):
        secateur.advise(deep, time_limit=None)


def test_what_prune_returns_says_pack_where_little_went(deep):
    result = secateur.prune(deep, X, time_limit=20, effort="fast")
    size = secateur.pack(deep).nbytes
    assert result.trees_after > 7 and result.pack["bytes"] == size
    assert result.pack["row_seconds"] > 0 and result.pack["batch_row_seconds"] > 0
    assert result.to_dict()["pack"]["bytes"] == size
    words = " ".join(str(result).split())
    assert f"pack `secateur.pack(model)`: {size:,} bytes, a row in" in words
    assert f"pack(model): {size:,} bytes" in repr(result)
    assert f"<code>secateur.pack(model)</code>: {size:,} bytes" in result._repr_html_()
    # Where much went there is nothing to say.
    stumps = AdaBoostClassifier(n_estimators=20, random_state=0).fit(FEW, y)
    helped = secateur.prune(stumps, FEW, effort="fast")
    assert helped.pack is None and "secateur.pack" not in str(helped) + helped._repr_html_()
    assert np.array_equal(result.model.predict(X), deep.predict(X))


def test_the_labels_of_an_object_count_for_its_packed_size():
    from xgboost import XGBClassifier

    named = XGBClassifier(n_estimators=4, max_depth=6, n_jobs=1, random_state=0).fit(X, np.where(y == 1, "benign", "malignant") == "benign")
    size = secateur.pack(named).nbytes
    assert secateur.advise(named, time_limit=1).pack["bytes"] == size
    result = secateur.prune(named, effort="fast")
    assert result.pack is None or result.pack["bytes"] == size


def test_limits_may_have_several_units(deep):
    for text, seconds in [("5m30s", 330), ("1h30m", 5400), ("2s500ms", 2.5), ("500ms", 0.5), ("1.5m", 90)]:
        assert secateur._options.time_limit(text) == seconds
    for text in ["", "30", "30s5m", "5s5s", "5m30", "m", "5 m"]:
        with pytest.raises(secateur.OptionError, match="time_limit"):
            secateur._options.time_limit(text)


def test_a_model_that_was_read_has_probabilities(deep, tmp_path):
    from xgboost import XGBClassifier, XGBRegressor

    boosted = XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(X, y)
    boosted.save_model(tmp_path / "model.json")
    np.testing.assert_allclose(secateur.load(tmp_path / "model.json").predict_proba(X), boosted.predict_proba(X), atol=1e-6)
    assert np.array_equal(secateur.load(deep).predict_proba(X), deep.predict_proba(X))
    with pytest.raises(secateur.ModelError, match="no probabilities"):
        secateur.load(XGBRegressor(n_estimators=2).fit(X, y)).predict_proba(X)
    with pytest.raises(secateur.InputError):
        secateur.load(deep).predict_proba(X[:, :3])
