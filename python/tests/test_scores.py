"""`verify(..., scores=True)`: how far the scores of two models can be apart, by conversions and by hand."""

from __future__ import annotations

import copy
import json
import subprocess
import warnings

import lightgbm
import numpy as np
import onnxruntime
import pytest
import xgboost
from command import binary
from harness import hostile_rows
from onnx import TensorProto
from sklearn import ensemble, tree

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType


def table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    rows = random.normal(size=(400, 4)).astype(np.float32).astype(np.float64)
    return rows, rows[:, 0] + np.abs(rows[:, 1]) + 0.1 * random.normal(size=400)


def distances(a: secateur.Model, b: secateur.Model, rows: np.ndarray) -> np.ndarray:
    return np.abs(a.raw_scores(rows) - b.raw_scores(rows)).max(axis=1)


def test_quantised_leaves_are_as_far_apart_as_they_can_be() -> None:
    """Leaves rounded to a hundredth: hostile rows never exceed the bound, and the input shows what it says."""
    rows, target = table()
    booster = lightgbm.train(
        dict(objective="regression", num_leaves=8, verbosity=-1, num_threads=1), lightgbm.Dataset(rows, target), 20
    )
    model = secateur.load(booster)
    text = booster.model_to_string()
    rounded = []
    for line in text.splitlines():
        if line.startswith("leaf_value="):
            line = "leaf_value=" + " ".join(f"{round(float(v), 2):.17g}" for v in line[11:].split())
        if not line.startswith("tree_sizes="):
            rounded.append(line)
    other = secateur.Model.parse(("\n".join(rounded) + "\n").encode())
    answer = secateur.verify(model, other, rows, scores=True, time_limit=60)
    assert answer.outcome == "measured" and answer.at_least <= answer.at_most
    shown = distances(model, other, answer.input.reshape(1, -1))[0]
    assert shown == pytest.approx(answer.at_least, rel=1e-12)
    hostile = hostile_rows(model, rows, 10_000)
    assert distances(model, other, hostile).max() <= answer.at_most
    # The same question with limits on both sides of the answer.
    assert secateur.verify(model, other, scores=True, within=answer.at_most).outcome == "within"
    below = secateur.verify(model, other, scores=True, within=answer.at_least * 0.9)
    assert below.outcome == "exceeds" and below.at_least > answer.at_least * 0.9
    assert "exceeds" in str(below)


def test_a_logistic_model_says_what_it_means_as_a_probability() -> None:
    rows, target = table()
    model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(rows, target > 0.5)
    read = secateur.load(model)
    other = read.edit([(tree, 1.25 if tree == 3 else None) for tree in range(read.tree_count)])
    answer = secateur.verify(read, other, scores=True)
    assert answer.ended and answer.probability is not None
    rows = hostile_rows(read, rows, 5000)
    first, second = (1 / (1 + np.exp(-m.raw_scores(rows).ravel())) for m in (read, other))
    assert np.abs(first - second).max() <= answer.probability
    assert answer.probability <= answer.at_most / 4 + 1e-9


def test_rounding_of_both_libraries_is_in_the_bound() -> None:
    """A forest and itself with its trees in another order: the exact scores are the same, the libraries' are not."""
    rows, target = table()
    forest = ensemble.RandomForestRegressor(30, max_depth=4, random_state=0).fit(rows, target)
    turned = copy.deepcopy(forest)
    turned.estimators_.reverse()
    other = secateur.load(turned)
    answer = secateur.verify(forest, turned, scores=True)
    assert answer.ended and answer.at_most == answer.rounding > 0
    hostile = hostile_rows(secateur.load(forest), rows, 10_000)
    seen = distances(secateur.load(forest), other, hostile).max()
    assert 0 < seen <= answer.at_most < 1e-12


def test_a_distance_is_certified(tmp_path) -> None:
    rows, target = table()
    first = xgboost.XGBRegressor(n_estimators=6, max_depth=3, n_jobs=1, random_state=0).fit(rows, target)
    read = secateur.load(first)
    other = read.edit([(tree, 1.25 if tree == 3 else None) for tree in range(read.tree_count)])
    measured = secateur.verify(read, other, scores=True, certificate=True)
    assert measured.checked and "independent" in str(measured)
    claim = secateur.check(read, other, measured.certificate)
    assert claim["about"] == "scores" and claim["within"] == measured.at_most and claim["band"] is None
    path = tmp_path / "near.cert"
    near = secateur.verify(read, other, scores=True, within=measured.at_most * 2, certificate=path)
    assert near.outcome == "within" and near.checked and near.certificate == str(path)
    assert secateur.check(read, other, path)["within"] == measured.at_most * 2
    with pytest.raises(secateur.CertificateError, match="another original"):
        secateur.check(other, other, path)
    # What is false has no certificate, and without one nothing is called checked.
    far = secateur.verify(read, other, scores=True, within=measured.at_least / 2, certificate=True)
    assert far.outcome == "exceeds" and far.certificate is None and not far.checked
    assert not secateur.verify(read, other, scores=True).checked


def discrete_table() -> tuple[np.ndarray, np.ndarray]:
    """Columns of few values: there is room to prune."""
    random = np.random.default_rng(5)
    rows = random.integers(0, 2, size=(600, 6)).astype(np.float64)
    return rows, rows @ [3.0, 2.0, 1.0, 0.5, 0.25, 0.1] + 0.05 * random.normal(size=600)


def all_rows() -> np.ndarray:
    """Every input that the models of that table tell apart: beyond all thresholds on either side, and missing."""
    cells = np.array([-1.0, 2.0, np.nan])
    return np.stack(np.meshgrid(*[cells] * 6), axis=-1).reshape(-1, 6)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "boosting", "histogram", "ranker", "classifier"])
def test_scores_are_kept(kind: str, tmp_path) -> None:
    """A pruned model's own library is asked on every cell: no score is farther away than was claimed."""
    rows, target = discrete_table()
    model = {
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=30, max_depth=2, n_jobs=1).fit(rows, target),
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=30, num_leaves=4, n_jobs=1, verbosity=-1).fit(rows, target),
        "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=30, max_depth=2).fit(rows, target),
        "histogram": lambda: ensemble.HistGradientBoostingRegressor(max_iter=30, max_depth=2).fit(rows, target),
        "ranker": lambda: xgboost.XGBRanker(n_estimators=30, max_depth=2, n_jobs=1).fit(
            rows, (target > 3).astype(int), group=[100] * 6
        ),
        "classifier": lambda: xgboost.XGBClassifier(n_estimators=30, max_depth=2, n_jobs=1).fit(rows, target > 3),
    }[kind]()
    result = secateur.prune(model, rows, within=0.1, certificate=True)
    assert type(result.model) is type(model)
    assert result.trees_after < result.trees_before and result.checked and result.outcome == "proved"
    assert result.within == 0.1 and result.lower_bound is None and result.band is None
    assert result.score_shift["rows"] == len(rows) and result.score_shift["largest"] <= 0.1
    assert "0.1" in repr(result) and "at most 0.1 apart" in result.claim
    inputs = all_rows()
    if kind == "boosting":
        inputs = inputs[~np.isnan(inputs).any(axis=1)]

    def scores(model):
        if kind in ("xgboost", "ranker"):
            return model.predict(inputs, output_margin=True)
        if kind == "classifier":
            return model.predict(inputs, output_margin=True)
        return model.predict(inputs)

    assert np.abs(scores(model).astype(np.float64) - scores(result.model).astype(np.float64)).max() <= 0.1
    claim = secateur.check(model, result.model, result.certificate)
    assert claim["about"] == "scores" and claim["within"] == 0.1
    assert secateur.verify(model, result.model, scores=True).at_most <= 0.1 + 1e-9


def test_a_forest_keeps_its_average() -> None:
    rows, target = discrete_table()
    forest = ensemble.RandomForestRegressor(20, max_depth=3, random_state=0).fit(rows, target)
    result = secateur.prune(forest, rows, within=0.2)
    assert result.trees_after < result.trees_before and result.checked
    inputs = all_rows()
    inputs = inputs[~np.isnan(inputs).any(axis=1)]
    assert np.abs(forest.predict(inputs) - result.model.predict(inputs)).max() <= 0.2


def test_pruning_for_scores_refuses_what_it_cannot_do() -> None:
    rows, target = discrete_table()
    model = xgboost.XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(rows, target)
    with pytest.raises(secateur.SecateurError, match="within"):
        secateur.prune(model)
    for option in (dict(band=0), dict(method="ic")):
        with pytest.raises(secateur.OptionError, match="within"):
            secateur.prune(model, rows, within=0.1, **option)
    with pytest.raises(secateur.SecateurError, match="minimum"):
        secateur.prune(model, within=0.1, effort="minimum")
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(secateur.SecateurError, match="no distance"):
            secateur.prune(model, within=wrong)
    # Nothing goes where no score may move, and the model is as it was.
    same = secateur.prune(model, within=0.0)
    assert same.checked and same.trees_after == same.trees_before


def test_what_does_not_go_together_is_refused() -> None:
    rows, target = table()
    model = ensemble.RandomForestRegressor(3, max_depth=2).fit(rows, target)
    two = ensemble.RandomForestClassifier(3, max_depth=2).fit(rows, target > 0.5)
    with pytest.raises(secateur.ComparisonError, match="1 and 2 scores"):
        secateur.verify(model, two, scores=True)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(secateur.SecateurError, match="no limit"):
            secateur.verify(model, model, scores=True, within=wrong)
    with pytest.raises(secateur.OptionError, match="scores=True"):
        secateur.verify(model, model, scores=True, band=0)
    with pytest.raises(secateur.OptionError, match="scores=True"):
        secateur.verify(model, model, within=0.1)
    with pytest.raises(TypeError, match="at_most"):
        bool(secateur.verify(model, model, scores=True))


def test_the_command_says_the_same(tmp_path) -> None:
    rows, target = table()
    paths = []
    for seed in range(2):
        model = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1, random_state=seed, subsample=0.7)
        paths.append(tmp_path / f"{seed}.json")
        model.fit(rows, target).save_model(paths[-1])

    def run(*options: str) -> tuple[int, dict]:
        done = subprocess.run(
            [binary(), "verify", *paths, "--scores", "--json", *options], capture_output=True, text=True
        )
        return done.returncode, json.loads(done.stdout)

    code, facts = run()
    assert code == 0 and facts["outcome"] == "measured"
    answer = secateur.verify(*paths, scores=True)
    assert (facts["scores"]["at_most"], facts["scores"]["at_least"]) == (answer.at_most, answer.at_least)
    assert run("--within", str(answer.at_most))[0] == 0
    code, facts = run("--within", str(answer.at_least / 2))
    assert code == 1 and facts["outcome"] == "exceeds" and facts["scores"]["at_least"] > answer.at_least / 2
    assert run("--within", "0", "--time-limit", "0s")[0] == 3


def test_every_double_is_more_than_what_both_read_alike(tmp_path) -> None:
    """scikit-learn rounds inputs to f32, a double ensemble of onnxruntime does not: the two part between a threshold and the last
    double that is rounded to its side."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(400, 4))
    target = rows[:, 0] + np.abs(rows[:, 1])
    model = ensemble.GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0).fit(rows, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted = skl2onnx.to_onnx(model, initial_types=[("X", DoubleTensorType([None, 4]))])
    converted.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    data = converted.SerializeToString()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])

    def apart(rows: np.ndarray) -> np.ndarray:
        return np.abs(model.predict(rows) - session.run(None, {"X": rows})[0].ravel())

    other = secateur.Model.parse(data)
    alike = secateur.verify(model, other, rows, scores=True)
    every = secateur.verify(model, other, rows, scores=True, doubles=True)
    back = secateur.verify(other, model, rows, scores=True, doubles=True)
    assert every.ended and back.at_most == pytest.approx(every.at_most, rel=1e-3)
    assert alike.at_most < 1e-5 < 0.1 < every.at_most < every.at_least * 1.001
    assert "every f64 number" in str(every) and "first library rounds them to f32" in str(every)
    assert "second library rounds" in str(back) and "every f32 number" in str(alike)
    # The libraries themselves, on the input that is shown (onnxruntime shows an f32), and on doubles around every threshold.
    shown = 2.0**-22 * np.abs(target).max()
    assert apart(every.input.reshape(1, -1))[0] >= every.at_least - shown
    hostile = hostile_rows(other, rows, 20_000, missing=False)
    hostile = hostile[np.abs(hostile).max(axis=1) < 1e38]
    assert 0.1 < apart(hostile).max() <= every.at_most + shown
    # On values that both read alike the smaller bound holds.
    assert apart(hostile.astype(np.float32).astype(np.float64)).max() <= alike.at_most + shown
    # The page draws the same question.
    page = tmp_path / "page.html"
    drawn = secateur.verify(model, other, rows, scores=True, doubles=True, report=page)
    text = page.read_text()
    assert f'data-key="scores.at_most" value="{drawn.at_most!r}"' in text
    assert "first library rounds them to f32" in text and 'id="along-0-t"' in text
    # Where both libraries read the same numbers nothing changes, and a certificate is about those alone.
    same = secateur.verify(other, other.edit([(0, 2.0)]), scores=True, doubles=True)
    assert "rounds them" not in str(same)
    with pytest.raises(secateur.ComparisonError, match="certificate"):
        secateur.verify(model, other, scores=True, doubles=True, certificate=True)
    with pytest.raises(secateur.OptionError, match="scores=True"):
        secateur.verify(model, other, doubles=True)


def test_a_forest_is_beside_its_single_score() -> None:
    """A forest has a probability for each class, its conversion one for the second."""
    rows, target = table()
    forest = ensemble.RandomForestClassifier(12, max_depth=4, random_state=0).fit(rows, target > 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        types = [("X", FloatTensorType([None, 4]))]
        data = skl2onnx.to_onnx(forest, initial_types=types, options={id(forest): {"zipmap": False}}).SerializeToString()
    first, second = secateur.load(forest), secateur.Model.parse(data)
    assert len(first.intercepts) == 2 and len(second.intercepts) == 1
    for pair in ((first, second), (second, first)):
        answer = secateur.verify(*pair, rows, scores=True, certificate=True)
        assert answer.checked and answer.output == 0 and "those of class" in str(answer)
        hostile = hostile_rows(first, rows, 5000)
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        theirs = session.run(None, {"X": hostile.astype(np.float32)})[1][:, 1]
        seen = np.abs(forest.predict_proba(hostile)[:, 1] - theirs).max()
        assert 0 < seen <= answer.at_most


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "forest"])
def test_scores_where_another_model_scores_high(kind: str) -> None:
    """Six binary columns: the libraries say on all 64 rows what is true, and the other model's library which rows are meant."""
    rows = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)], dtype=np.float64)
    random = np.random.default_rng(3)
    target = rows @ random.normal(size=6) + 0.5 * random.normal(size=64)
    fit = {
        "xgboost": lambda trees: xgboost.XGBRegressor(n_estimators=trees, max_depth=3, n_jobs=1),
        "lightgbm": lambda trees: lightgbm.LGBMRegressor(
            n_estimators=trees, max_depth=3, min_child_samples=1, n_jobs=1, verbosity=-1
        ),
        "forest": lambda trees: ensemble.RandomForestRegressor(trees, max_depth=3, random_state=trees),
    }[kind]
    first, second = fit(12).fit(rows, target), fit(9).fit(rows, target)
    scorer = tree.DecisionTreeRegressor(max_depth=4, random_state=1).fit(rows, random.normal(size=64))
    chosen = scorer.predict(rows) >= 0.1
    assert 8 < chosen.sum() < 56
    columns = {column: {"values": [0.0, 1.0]} for column in range(6)}
    domain = secateur.Domain(missing=False, columns=columns, where=[{"model": scorer, "at_least": 0.1}])
    apart = np.abs(first.predict(rows).astype(np.float64) - second.predict(rows).astype(np.float64))
    truth = apart[chosen].max()
    found = secateur.verify(first, second, rows, scores=True, domain=domain, threads=1)
    assert found.ended
    assert found.at_least <= truth * (1 + 1e-12) and truth <= found.at_most <= truth * 1.001
    shown = scorer.predict(found.input.reshape(1, -1))[0]
    assert shown >= 0.1
    # A limit that only the inputs outside exceed is proved, and the checker needs the model that chooses.
    limit = float(found.at_most)
    within = secateur.verify(first, second, scores=True, within=limit, domain=domain, certificate=True)
    assert within.outcome == "within" and within.checked
    secateur.check(first, second, within.certificate, domain=domain)
    with pytest.raises(secateur.CertificateError, match="that model is not given"):
        secateur.check(first, second, within.certificate)
    beyond = secateur.verify(first, second, scores=True, within=truth * 0.9, domain=domain)
    assert beyond.outcome == "exceeds" and scorer.predict(beyond.input.reshape(1, -1))[0] >= 0.1
    pruned = secateur.prune(first, rows, within=0.2, domain=domain, threads=1, time_limit=20)
    assert pruned.checked
    change = np.abs(first.predict(rows).astype(np.float64) - pruned.model.predict(rows).astype(np.float64))
    assert change[chosen].max() <= 0.2
    plain = secateur.Domain(missing=False, columns=columns)
    everywhere = secateur.prune(first, rows, within=0.2, domain=plain, threads=1, time_limit=20)
    assert pruned.trees_after <= everywhere.trees_after
