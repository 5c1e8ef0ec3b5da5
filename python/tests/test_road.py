"""One road: the command line and the Python package give the same model, checked, for the same input and seed."""

from __future__ import annotations

import json
import pathlib
import time

import lightgbm
import numpy as np
import pytest
import skops.io
import xgboost
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import command
import secateur

MODELS = pathlib.Path(__file__).parents[2] / "testdata" / "models"
FILES = [
    "lightgbm/binary.txt",
    "lightgbm/multiclass.txt",
    "sklearn/adaboost.skops",
    "sklearn/forest.skops",
    "sklearn/boosting_three.skops",
    "onnx/forest.onnx",
    "xgboost/2.1.4-logistic.json",
    "xgboost/2.1.4-logistic.ubj",
]


def coarse() -> tuple[np.ndarray, np.ndarray]:
    """A table of few levels, so that trees can go."""
    X, y = load_wine(return_X_y=True)
    edges = [np.quantile(column, [0.33, 0.67]) for column in X[:, :4].T]
    return np.column_stack([np.digitize(column, edge) for column, edge in zip(X.T, edges)]).astype(float), y


X, Y = coarse()
FORESTS = {
    "forest": RandomForestClassifier(25, max_depth=3, random_state=0),
    "extra": ExtraTreesClassifier(25, max_depth=3, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
}


def by_command(folder: pathlib.Path, model: pathlib.Path, *options: str) -> tuple[bytes, dict]:
    out = folder / f"out{model.suffix}"
    printed = command.run("prune", model, "-o", out, "--json", "--effort", "fast", *options, cwd=folder)
    return out.read_bytes(), json.loads(printed)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("name", FILES)
def test_the_command_and_the_package_write_the_same_bytes(name, seed, tmp_path):
    bytes_, facts = by_command(tmp_path, MODELS / name, "--seed", str(seed))
    result = secateur.prune(MODELS / name, effort="fast", seed=seed)
    assert result.model.to_bytes() == bytes_
    assert result.checked and facts["checked"]
    ours = result.to_dict()
    # Where it was written and how long it took differ; everything else is the same.
    for key in ("output", "seconds"):
        facts.pop(key), ours.pop(key)
    for one in (facts, ours):
        for key in ("search_seconds", "check_seconds"):
            one["proof"].pop(key)
        for key in ("row_seconds", "batch_row_seconds"):
            (one["pack"] or {}).pop(key, None)
    assert ours == facts


@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_stays_an_average_in_every_interface(name, tmp_path):
    fitted = FORESTS[name].fit(X, Y)
    skops.io.dump(fitted, tmp_path / "model.skops")
    object_ = secateur.prune(fitted, missing=False)
    file = secateur.prune(tmp_path / "model.skops", missing=False)
    command.run("prune", "model.skops", "-o", "out.skops", "--no-missing", cwd=tmp_path)
    assert file.model.to_bytes() == (tmp_path / "out.skops").read_bytes()
    # The object and the file hold the same numbers, in the library as here.
    trusted = skops.io.get_untrusted_types(file=tmp_path / "out.skops")
    written = skops.io.load(tmp_path / "out.skops", trusted=trusted)
    np.testing.assert_array_equal(object_.model.predict_proba(X), written.predict_proba(X))
    np.testing.assert_array_equal(object_.weights, file.weights)
    np.testing.assert_allclose(written.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(written.predict(X), fitted.predict(X))
    assert object_.checked and file.checked


def test_the_forests_above_need_a_factor():
    """Otherwise the test above would test nothing: some pruned forest has weights."""
    scaled = [secateur.prune(forest.fit(X, Y), missing=False).fates for forest in FORESTS.values()]
    assert any("scaled" in fates or "rewritten" in fates for fates in scaled), scaled


def test_an_object_and_its_file_become_the_same_model(tmp_path):
    y = (Y == 1).astype(int)
    boosted = xgboost.XGBClassifier(n_estimators=12, max_depth=2, random_state=0).fit(X, y)
    boosted.save_model(tmp_path / "model.ubj")
    light = lightgbm.LGBMClassifier(n_estimators=12, num_leaves=4, verbose=-1, random_state=0).fit(X, y)
    light.booster_.save_model(tmp_path / "model.txt")
    for fitted, path in ((boosted, "model.ubj"), (light, "model.txt")):
        object_, (bytes_, _) = secateur.prune(fitted, effort="fast"), by_command(tmp_path, tmp_path / path)
        file = secateur.Model.parse(bytes_)
        np.testing.assert_array_equal(secateur.load(object_.model).raw_scores(X), file.raw_scores(X))


def test_the_checker_runs_unless_it_is_told_not_to(tmp_path):
    model = MODELS / "lightgbm/binary.txt"
    result = secateur.prune(model)
    assert result.checked and result.certificate is None and result.to_dict()["checked"]
    unchecked = secateur.prune(model, self_check=False)
    assert not unchecked.checked and not unchecked.to_dict()["checked"]
    assert unchecked.model.to_bytes() == result.model.to_bytes()
    # A certificate that is asked for is checked in any case.
    asked = secateur.prune(model, self_check=False, certificate=tmp_path / "proof.cert")
    assert asked.checked and asked.certificate == str(tmp_path / "proof.cert")
    secateur.check(model, asked.model, asked.certificate)


def test_the_time_limit_holds_for_the_certificate_too():
    rows = np.random.default_rng(0).normal(size=(400, 8))
    target = (rows[:, :4].sum(axis=1) + rows[:, 4] * rows[:, 5] > 0).astype(int)
    forest = RandomForestClassifier(60, max_depth=6, random_state=0).fit(rows, target)
    started = time.monotonic()
    result = secateur.prune(forest, time_limit=2, certificate=True)
    # Far more than the limit, and far less than an endless proof.
    assert time.monotonic() - started < 60
    assert result.checked == (result.certificate is not None)


def test_what_the_command_line_can_do_python_can(tmp_path):
    model = MODELS / "lightgbm/multiclass.txt"
    for python, flags in (
        ({"moves": "weights", "weight_per": "tree"}, ["--moves", "weights", "--weight-per", "tree"]),
    ):
        result = secateur.prune(model, effort="fast", **python)
        assert result.model.to_bytes() == by_command(tmp_path, model, *flags)[0]
    with pytest.raises(secateur.OptionError, match="weight_per"):
        secateur.prune(model, weight_per="leaf")
    secateur.prune(model, effort="fast", report=tmp_path / "page.html", certificate=tmp_path / "proof.cert")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!") and "proof.cert" in page and str(model) in page


def test_verify_gives_certificates_pages_and_words(tmp_path):
    model = MODELS / "lightgbm/binary.txt"
    pruned = secateur.prune(model).model
    answer = secateur.verify(model, pruned, certificate=True, report=tmp_path / "page.html")
    assert answer.identical and answer.checked
    secateur.check(model, pruned, answer.certificate)
    assert (tmp_path / "page.html").read_text().startswith("<!")
    assert str(answer).startswith("identical: proved\n")
    assert secateur.verify(model, pruned).checked is False


def test_the_pruner_without_its_whole_oracle_is_marked_and_says_what_the_oracle_finds():
    y = np.array(["no", "yes"])[(Y == 1).astype(int)]
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, y)
    few = X[::3]
    result = secateur.prune(forest, few, method="rows", accept_unproved=True)
    assert isinstance(result, secateur.Unproved) and result.trees_after < 12
    assert (result.model.predict(few) == forest.predict(few)).all() and result.fidelity == 1.0
    assert result.accuracy is None and result.oracle["outcome"] == "different"
    shown = np.array([list(result.oracle["counterexample"]["input"].values())])
    assert result.model.predict(shown) != forest.predict(shown)
    assert "MAY CHANGE" in repr(result) and str(result).startswith("NOT PROVED")
    looser = secateur.prune(forest, X, y=y, method="boxes", boxes=1, effort="fast", accept_unproved=True)
    assert looser.accuracy[1] == (looser.model.predict(X) == y).mean()
    assert looser.to_dict()["checked"] is False
    for wrong, words in [
        ({"method": "rows"}, "accept_unproved"),
        ({"method": "rows", "size": 3, "accept_unproved": True}, "neither has a size"),
        ({"method": "boxes", "accept_unproved": True}, "needs rows X and boxes"),
        ({"method": "rows", "boxes": 5, "accept_unproved": True}, "needs rows X"),
        ({"method": "rows", "effort": "minimum", "accept_unproved": True}, "no smallest size"),
        ({"boxes": 5}, "go with method"),
    ]:
        with pytest.raises(secateur.OptionError, match=words):
            secateur.prune(forest, X, **wrong)


def test_baselines_are_marked_as_what_they_are():
    y = np.array(["no", "yes"])[(Y == 1).astype(int)]
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(secateur.OptionError, match="accept_unproved"):
        secateur.prune(forest, X, method="ic", size=3, y=y)
    with pytest.raises(secateur.OptionError, match="go with method"):
        secateur.prune(forest, X, size=3)
    for method in ("ic", "imd", "drep"):
        result = secateur.prune(forest, X, method=method, size=3, y=y, accept_unproved=True)
        assert isinstance(result, secateur.Unproved)
        assert len(result.model.estimators_) == result.trees_after == 3
        assert result.fidelity == (result.model.predict(X) == forest.predict(X)).mean()
        assert result.accuracy[1] == (result.model.predict(X) == y).mean()
        assert str(result).startswith("NOT PROVED") and "CHANGE" in repr(result)
        assert result.to_dict()["outcome"] == "unproved" and result.to_dict()["checked"] is False
    with pytest.raises(secateur.OptionError, match="not a class"):
        secateur.prune(forest, X, method="ic", size=3, y=["maybe"] * len(X), accept_unproved=True)
