"""What a band promises, against the live libraries where their rounding decides: one-against-all probabilities that
saturate, and sums in single precision that cancel."""

from __future__ import annotations

import copy
import json
import re

import lightgbm
import numpy as np
import pytest
import xgboost

import mutations
import secateur


def table(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = np.round(random.normal(size=(600, 3)), 1)
    return X, (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)


@pytest.fixture(scope="module")
def saturated() -> tuple[bytes, np.ndarray]:
    """A one-against-all model with leaves so large that its scores are far beyond what a probability can show."""
    X, y = table(np.random.default_rng(3))
    parameters = {"objective": "multiclassova", "num_class": 3, "num_leaves": 6, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), num_boost_round=6)
    subject = mutations.LightgbmFile(booster.model_to_string().encode())
    trees = [
        mutations.with_field(tree, "leaf_value", [repr(100.0 * float(v) + 30.0) for v in mutations.field(tree, "leaf_value")])
        for tree in subject.trees
    ]
    return subject.written(trees), X


def test_saturated_scores_are_refused_with_the_truth(saturated, tmp_path):
    data, X = saturated
    path = tmp_path / "model.txt"
    path.write_bytes(data)
    subject = mutations.LightgbmFile(data)
    shares = subject.booster.predict(X, num_threads=1)
    several = (shares == 1.0).sum(axis=1) > 1
    assert several.any(), "the model does not saturate: the test shows nothing"
    with pytest.raises(secateur.SecateurError) as refusal:
        secateur.prune(path, X, time_limit=20)
    message = str(refusal.value)
    assert "round to the same number" in message and "overflow" not in message and "use band 0" not in message
    # What the message says of the library is so.
    lowest = np.argmax(shares == 1.0, axis=1)
    assert (subject.predict(X)[several] == lowest[several]).all()
    reached = float(re.search(r"may go up to ([0-9.]+)", message)[1])
    assert reached >= subject.scores(X).max()
    # The advice works: with that sigmoid there is a band, and outside of it the library decides the same.
    sigmoid = re.search(r"sigmoid of at most ([0-9.]+)", message)[1]
    advised = re.sub(rb"(?m)^(objective=multiclassova.*sigmoid:)\S+", rb"\g<1>" + sigmoid.encode(), data)
    assert advised != data
    other = tmp_path / "advised.txt"
    other.write_bytes(advised)
    result = secateur.prune(other, X, time_limit=20)
    assert not result.exact and 0.0 < result.band < 1e-2
    library = mutations.LightgbmFile(advised)
    outside = library.margin(X) > 2.0 * result.band
    pruned = mutations.LightgbmFile(result.model.to_bytes())
    assert outside.any() and (library.predict(X) == pruned.predict(X))[outside].all()


def test_band_zero_of_a_saturated_model_promises_sums_and_counts_decisions(saturated, tmp_path):
    data, X = saturated
    path = tmp_path / "model.txt"
    path.write_bytes(data)
    result = secateur.prune(path, X, band=0, time_limit=20)
    before, after = mutations.LightgbmFile(data), mutations.LightgbmFile(result.model.to_bytes())
    assert (before.exact_classes(X) == after.exact_classes(X)).all()
    check_counts(result, before, after, X)
    assert result.data["rounded"] > 0 and result.data["in_band"] is None


def check_counts(result, before, after, X):
    """The result promises no more than exact sums, and counts what the library does."""
    assert result.exact and "exact sums" in result.claim and "can differ" in result.claim
    assert "decide the same" not in repr(result) or "exact sums decide the same" in repr(result)
    assert result.data["rows"] == result.data["measured"] == len(X)
    assert result.data["changed_in_band"] == (before.predict(X) != after.predict(X)).sum()
    assert result.data["rounded"] == (before.predict(X) != before.exact_classes(X)).sum()


@pytest.fixture(scope="module")
def cancelling() -> tuple[bytes, np.ndarray]:
    """An XGBoost model with two trees of large leaves that cancel, and take the last bits of the others with them."""
    X, y = table(np.random.default_rng(4))
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 2, "nthread": 1, "base_score": 0.5},
        xgboost.DMatrix(X, y > 0, nthread=1),
        num_boost_round=12,
    )
    document = json.loads(booster.save_raw("json"))
    forest = document["learner"]["gradient_booster"]["model"]
    large = copy.deepcopy(forest["trees"][0])
    for node, left in enumerate(large["left_children"]):
        if left == -1:
            large["split_conditions"][node] = large["base_weights"][node] = 2.0**26
    minus = copy.deepcopy(large)
    for node, left in enumerate(minus["left_children"]):
        if left == -1:
            minus["split_conditions"][node] = minus["base_weights"][node] = -(2.0**26)
    half = len(forest["trees"]) // 2
    forest["trees"] = [*forest["trees"][:half], large, *forest["trees"][half:], minus]
    forest["tree_info"] = [0] * len(forest["trees"])
    for index, tree in enumerate(forest["trees"]):
        tree["id"] = index
    forest["gbtree_model_param"]["num_trees"] = str(len(forest["trees"]))
    forest["iteration_indptr"] = list(range(len(forest["trees"]) + 1))
    return json.dumps(document).encode(), X.astype(np.float32).astype(np.float64)


def test_cancelling_sums_have_a_wide_band_that_is_told(cancelling, tmp_path):
    data, X = cancelling
    path = tmp_path / "model.json"
    path.write_bytes(data)
    before = mutations.XgboostFile(data)
    rounded = before.predict(X) != before.exact_classes(X)
    assert rounded.any(), "nothing cancels: the test shows nothing"
    # By default nothing is claimed where the library's decision is an artefact, and the rows there are counted.
    result = secateur.prune(path, X, time_limit=20)
    after = mutations.XgboostFile(result.model.to_bytes())
    changed = before.predict(X) != after.predict(X)
    assert result.data["in_band"] >= changed.sum() and result.data["rounded"] == rounded.sum()
    assert result.data["in_band"] > 0 and "inside the band" in result.data["words"]
    # Band 0 is about the exact sums.
    exact = secateur.prune(path, X, band=0, time_limit=20)
    pruned = mutations.XgboostFile(exact.model.to_bytes())
    assert (before.exact_classes(X) == pruned.exact_classes(X)).all()
    check_counts(exact, before, pruned, X)
    assert exact.data["changed_in_band"] > 0
    answer = secateur.verify(path, path, band=0)
    assert answer.identical and answer.exact
