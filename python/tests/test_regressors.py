"""Regressors and rankers against the live libraries: raw scores in every bit on hostile rows, predictions where their
bits are fixed, edited models, and what is refused with its reason."""

from __future__ import annotations

import lightgbm
import numpy as np
import onnx
import onnxruntime
import pytest
import skops.io
import xgboost
from harness import assert_same_bits, half_of_the_trees, hostile_rows, reweighted_trees
from onnx import TensorProto, helper
from sklearn import ensemble, tree

import secateur

ROWS = 10_000


def table(missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Five columns, one of them of small whole numbers, and a target."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(500, 5)).astype(np.float32).astype(np.float64)
    rows[:, 1] = random.integers(0, 6, 500)
    target = rows[:, 0] + np.sin(2 * rows[:, 1]) + 0.3 * random.normal(size=500)
    if missing:
        rows[random.random(rows.shape) < 0.1] = np.nan
    return rows, target


def labels(objective: str, target: np.ndarray) -> np.ndarray:
    """A target of the kind that the objective takes."""
    positive = np.exp(target / 2) + 0.01
    if "poisson" in objective:
        return np.random.default_rng(0).poisson(positive).astype(float)
    if any(word in objective for word in ("gamma", "tweedie", "squaredlog", "mape")):
        return positive
    if "cox" in objective:
        return np.where(target > 0.5, -positive, positive)
    if "logistic" in objective or "entropy" in objective:
        return 1 / (1 + np.exp(-target))
    if "rank" in objective:
        return np.digitize(target, [-1, 0, 1]) if "map" not in objective else (target > 0).astype(int)
    return target


XGBOOST = {
    "squarederror": dict(objective="reg:squarederror"),
    "squarederror_base": dict(objective="reg:squarederror", base_score=3.25),
    "squaredlogerror": dict(objective="reg:squaredlogerror"),
    "pseudohuber": dict(objective="reg:pseudohubererror"),
    "absolute": dict(objective="reg:absoluteerror"),
    "gamma": dict(objective="reg:gamma"),
    "tweedie": dict(objective="reg:tweedie"),
    "poisson": dict(objective="count:poisson"),
    "poisson_base": dict(objective="count:poisson", base_score=0.7),
    "logistic": dict(objective="reg:logistic"),
    "cox": dict(objective="survival:cox"),
    "quantile": dict(objective="reg:quantileerror", quantile_alpha=0.3),
    "quantiles": dict(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]),
    "targets": dict(objective="reg:squarederror"),
    "vector_leaves": dict(objective="reg:squarederror", multi_strategy="multi_output_tree", tree_method="hist"),
    "forest": dict(objective="reg:squarederror", num_parallel_tree=5, subsample=0.7, learning_rate=1),
    "dart": dict(objective="reg:squarederror", booster="dart", rate_drop=0.3),
    "dart_poisson": dict(objective="count:poisson", booster="dart", rate_drop=0.3),
    "aft": dict(objective="survival:aft"),
    "ndcg": dict(objective="rank:ndcg"),
    "pairwise": dict(objective="rank:pairwise"),
    "map": dict(objective="rank:map"),
}
NOT_FIXED = ("gamma", "tweedie", "poisson", "logistic", "cox", "quantiles", "aft", "entropy")


def xgboost_booster(name: str) -> tuple[xgboost.Booster, np.ndarray]:
    rows, target = table()
    parameters = XGBOOST[name]
    y = labels(parameters["objective"], target)
    if name in ("targets", "vector_leaves"):
        y = np.c_[target, -(target**2), np.abs(target)]
    data = xgboost.DMatrix(rows, label=None if name == "aft" else y)
    if name == "aft":
        positive = np.exp(target / 2)
        data.set_float_info("label_lower_bound", positive)
        data.set_float_info("label_upper_bound", np.where(target > 0.5, np.inf, positive))
    if "rank" in parameters["objective"]:
        data.set_info(qid=np.arange(500) // 20)
    booster = xgboost.train({"max_depth": 4, "seed": 1, "nthread": 1, **parameters}, data, 12)
    return booster, rows


def without_infinities(rows: np.ndarray) -> np.ndarray:
    """XGBoost's DMatrix refuses what is infinite as an f32."""
    with np.errstate(over="ignore"):
        return rows[~np.isinf(rows.astype(np.float32)).any(axis=1)]


@pytest.mark.parametrize("name", XGBOOST)
def test_xgboost(name: str) -> None:
    booster, rows = xgboost_booster(name)
    model = secateur.load(booster)
    assert not model.is_classifier and model.classes == []
    hostile = without_infinities(hostile_rows(model, rows, ROWS))
    data = xgboost.DMatrix(hostile)
    assert_same_bits(model.raw_scores(hostile), booster.predict(data, output_margin=True), hostile)
    if any(word in name for word in NOT_FIXED):
        with pytest.raises(secateur.ModelError, match="raw_scores"):
            model.predict(hostile)
    else:
        assert_same_bits(model.predict(hostile), booster.predict(data), hostile)
    rounds = max(1, len(model.intercepts)) * (5 if name == "forest" else 1)
    edits = [(half_of_the_trees(model, 1 if name == "vector_leaves" else rounds), None)]
    edits.append((reweighted_trees(model), [0.3 + n for n in range(len(model.intercepts))]))
    for trees, intercepts in edits:
        edited = model.edit(trees, intercepts)
        again = xgboost.Booster(model_file=bytearray(edited.to_bytes()))
        assert_same_bits(edited.raw_scores(hostile), again.predict(data, output_margin=True), hostile)


LIGHTGBM = {
    **{name: dict(objective=name) for name in ("regression", "regression_l1", "huber", "fair", "quantile", "mape")},
    **{name: dict(objective=name) for name in ("poisson", "gamma", "tweedie", "cross_entropy_lambda")},
    **{name: dict(objective=name) for name in ("lambdarank", "rank_xendcg")},
    "sqrt": dict(objective="regression", reg_sqrt=True),
    "dart": dict(objective="regression", boosting="dart"),
    "forest": dict(objective="regression", boosting="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest_poisson": dict(objective="poisson", boosting="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest_sqrt": dict(objective="regression", reg_sqrt=True, boosting="rf", bagging_freq=1, bagging_fraction=0.6),
    "categorical": dict(objective="regression", min_data_per_group=5, cat_smooth=1.0),
}


@pytest.mark.parametrize("name", LIGHTGBM)
def test_lightgbm(name: str) -> None:
    rows, target = table()
    objective = LIGHTGBM[name]["objective"]
    data = lightgbm.Dataset(
        rows,
        labels(objective, target),
        group=[20] * 25 if "rank" in objective else None,
        categorical_feature=[1] if name == "categorical" else "auto",
    )
    common = dict(num_threads=1, verbosity=-1, num_leaves=15, min_data_in_leaf=5, seed=1)
    booster = lightgbm.train({**common, **LIGHTGBM[name]}, data, 12)
    model = secateur.load(booster)
    assert not model.is_classifier
    hostile = hostile_rows(model, rows, ROWS)
    assert_same_bits(model.raw_scores(hostile), booster.predict(hostile, raw_score=True), hostile)
    if any(word in name for word in NOT_FIXED):
        with pytest.raises(secateur.ModelError, match="raw_scores"):
            model.predict(hostile)
    else:
        assert_same_bits(model.predict(hostile), booster.predict(hostile), hostile)
    for trees in (half_of_the_trees(model), reweighted_trees(model)):
        edited = model.edit(trees)
        again = lightgbm.Booster(model_str=edited.to_bytes().decode())
        assert_same_bits(edited.raw_scores(hostile), again.predict(hostile, raw_score=True), hostile)


SKLEARN = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=6, random_state=0),
    "extra_tree": lambda: tree.ExtraTreeRegressor(max_depth=6, random_state=0),
    "forest": lambda: ensemble.RandomForestRegressor(13, max_depth=6, random_state=0),
    "extra_trees": lambda: ensemble.ExtraTreesRegressor(13, max_depth=6, random_state=0),
    "tree_outputs": lambda: tree.DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest_outputs": lambda: ensemble.RandomForestRegressor(13, max_depth=5, random_state=0),
    "extra_trees_outputs": lambda: ensemble.ExtraTreesRegressor(13, max_depth=6, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=15, random_state=0),
    "boosting_quantile": lambda: ensemble.GradientBoostingRegressor(loss="quantile", n_estimators=15),
    "boosting_huber": lambda: ensemble.GradientBoostingRegressor(loss="huber", n_estimators=15),
    "boosting_zero": lambda: ensemble.GradientBoostingRegressor(init="zero", n_estimators=15),
    "histogram": lambda: ensemble.HistGradientBoostingRegressor(max_iter=15),
    "histogram_absolute": lambda: ensemble.HistGradientBoostingRegressor(loss="absolute_error", max_iter=15),
    "histogram_quantile": lambda: ensemble.HistGradientBoostingRegressor(loss="quantile", quantile=0.3, max_iter=15),
    "histogram_poisson": lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=15),
    "histogram_gamma": lambda: ensemble.HistGradientBoostingRegressor(loss="gamma", max_iter=15),
    "histogram_categories": lambda: ensemble.HistGradientBoostingRegressor(categorical_features=[1], max_iter=15),
}


def sklearn_scores(estimator, rows: np.ndarray) -> np.ndarray:
    # scikit-learn adds all values up to see whether they are finite, which may overflow.
    with np.errstate(all="ignore"):
        if hasattr(estimator, "_baseline_prediction"):
            return estimator._raw_predict(rows).ravel()
        return estimator.predict(rows)


@pytest.mark.parametrize("name", SKLEARN)
def test_sklearn(name: str, tmp_path) -> None:
    rows, target = table(missing=False)
    if name in ("histogram_poisson", "histogram_gamma"):
        target = np.exp(target / 2)
    if name.endswith("_outputs"):
        target = np.c_[target, -(target**2), np.abs(target)]
    estimator = SKLEARN[name]().fit(rows, target)
    model = secateur.load(estimator)
    assert not model.is_classifier and "Regressor" in model.dialect
    hostile = hostile_rows(model, rows, ROWS)
    assert_same_bits(model.raw_scores(hostile), sklearn_scores(estimator, hostile), hostile)
    if name in ("histogram_poisson", "histogram_gamma"):
        with pytest.raises(secateur.ModelError, match="raw_scores"):
            model.predict(hostile)
    else:
        assert_same_bits(model.predict(hostile), sklearn_scores(estimator, hostile), hostile)
    path = tmp_path / "model.skops"
    skops.io.dump(estimator, path)
    read = secateur.load(path)
    assert_same_bits(read.raw_scores(hostile), sklearn_scores(estimator, hostile), hostile)
    for trees in (half_of_the_trees(model), reweighted_trees(model)):
        edited = read.edit(trees, [0.25 + 0.5 * n for n in range(len(model.intercepts))])
        path.write_bytes(edited.to_bytes())
        again = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
        assert_same_bits(edited.raw_scores(hostile), sklearn_scores(again, hostile), hostile)


@pytest.mark.parametrize("name", ["tree_outputs", "forest_outputs", "extra_trees_outputs"])
def test_several_outputs_are_pruned_and_verified(name: str) -> None:
    """One-hot columns and three targets, so that every input is a row of the table."""
    rows = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)], dtype=np.float64)
    target = rows @ np.random.default_rng(0).random((6, 3))
    estimator = SKLEARN[name]().fit(rows, target)
    domain = secateur.Domain(missing=False, columns={column: {"values": [0.0, 1.0]} for column in range(6)})
    result = secateur.prune(estimator, rows, within=0.4, domain=domain, threads=1, time_limit=20)
    assert result.checked
    before, after = estimator.predict(rows), result.model.predict(rows)
    assert after.shape == (64, 3)
    assert np.abs(before - after).max() <= 0.4
    # A tree by itself has nothing to spare.
    assert result.trees_after < result.trees_before or name == "tree_outputs"
    found = secateur.verify(estimator, result.model, rows, scores=True, domain=domain, threads=1)
    shown = np.abs(before - after).max()
    # Order of addition is free in forests: the bound has room for it.
    assert found.at_least <= shown * (1 + 1e-12) and shown <= found.at_most
    assert found.at_most <= shown * (1 + 1e-6) + 1e-12
    kind = type(estimator)
    other = kind(max_depth=5, random_state=0).fit(rows, target[:, :2])
    with pytest.raises(secateur.ComparisonError, match="scores"):
        secateur.verify(estimator, other, scores=True)


def test_live_objects_of_the_boosting_libraries() -> None:
    rows, target = table()
    relevance = np.digitize(target, [-1, 0, 1])
    models = [
        xgboost.XGBRegressor(n_estimators=8, n_jobs=1).fit(rows, target),
        xgboost.XGBRFRegressor(n_estimators=8, n_jobs=1).fit(rows, target),
        xgboost.XGBRanker(n_estimators=8, n_jobs=1).fit(rows, relevance, qid=np.arange(500) // 20),
        lightgbm.LGBMRegressor(n_estimators=8, n_jobs=1, verbosity=-1).fit(rows, target),
        lightgbm.LGBMRanker(n_estimators=8, n_jobs=1, verbosity=-1).fit(rows, relevance, group=[20] * 25),
    ]
    for model in models:
        read = secateur.load(model)
        hostile = without_infinities(hostile_rows(read, rows, 2000))
        assert_same_bits(read.predict(hostile), model.predict(hostile), hostile)


def regressor_graph(targets: int, number: int, **attributes) -> onnx.ModelProto:
    """Three trees: two stumps that have weights for every target and a deeper one that has one for each leaf."""
    random = np.random.default_rng(targets)
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")}
    weights = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def node(tree, index, feature, mode, value, yes, no):
        for name, content in zip(nodes, (tree, index, feature, mode, value, yes, no)):
            nodes[name].append(content)

    for index, modes in enumerate((["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_GT", "BRANCH_LEQ", "BRANCH_LEQ"])):
        inner = len(modes)
        for at, mode in enumerate(modes):
            node(index, at, int(random.integers(5)), mode, float(np.float32(random.normal())), 2 * at + 1, 2 * at + 2)
        for at in range(inner, 2 * inner + 1):
            node(index, at, 0, "LEAF", 0.0, 0, 0)
            for target in range(targets) if inner == 1 else [at % targets]:
                for name, content in zip(weights, (index, at, target, float(np.float32(random.normal())))):
                    weights[name].append(content)
    double = number == TensorProto.DOUBLE
    floats = {"nodes_values": nodes.pop("values"), "target_weights": weights.pop("weights")}
    floats |= {name: attributes.pop(name) for name in ("base_values",) if name in attributes}
    attributes |= {f"nodes_{name}": content for name, content in nodes.items()}
    attributes |= {f"target_{name}": content for name, content in weights.items()}
    for name, content in floats.items():
        if double:
            attributes[f"{name}_as_tensor"] = helper.make_tensor(name, number, [len(content)], content)
        else:
            attributes[name] = content
    ensemble_node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets, **attributes
    )
    graph = helper.make_graph(
        [ensemble_node],
        "g",
        [helper.make_tensor_value_info("x", number, [None, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, targets])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


ONNX = {
    "sum": (1, TensorProto.FLOAT, {}),
    "base": (1, TensorProto.FLOAT, dict(base_values=[0.7])),
    "average": (1, TensorProto.FLOAT, dict(aggregate_function="AVERAGE")),
    "ignored_transform": (1, TensorProto.FLOAT, dict(post_transform="LOGISTIC")),
    "targets": (3, TensorProto.FLOAT, dict(base_values=[0.7, 0.0, -1.25])),
    "targets_average": (3, TensorProto.FLOAT, dict(aggregate_function="AVERAGE")),
    "smallest": (1, TensorProto.FLOAT, dict(aggregate_function="MIN", base_values=[0.7])),
    "largest": (3, TensorProto.DOUBLE, dict(aggregate_function="MAX", base_values=[0.7, 0.0, -1.25])),
    "double": (1, TensorProto.DOUBLE, dict(base_values=[0.7])),
    "double_average": (2, TensorProto.DOUBLE, dict(aggregate_function="AVERAGE")),
}


def onnx_session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", ONNX)
def test_onnx(name: str) -> None:
    targets, number, attributes = ONNX[name]
    content = regressor_graph(targets, number, **attributes).SerializeToString()
    kind = np.float64 if number == TensorProto.DOUBLE else np.float32

    def library(content: bytes, rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return onnx_session(content).run(None, {"x": rows.astype(kind)})[0]

    model = secateur.Model.parse(content)
    assert not model.is_classifier
    hostile = hostile_rows(model, table()[0], ROWS)
    # What onnxruntime shows is f32, whatever the sums are.
    assert_same_bits(model.predict(hostile).astype(np.float32), library(content, hostile), hostile)
    for trees in (half_of_the_trees(model), reweighted_trees(model)):
        edited = model.edit(trees)
        ours = edited.predict(hostile).astype(np.float32)
        assert_same_bits(ours, library(edited.to_bytes(), hostile), hostile)


def test_what_onnx_cannot_say_as_a_sum_is_refused() -> None:
    def refused(targets: int, match: str, **attributes) -> None:
        content = regressor_graph(targets, TensorProto.FLOAT, **attributes).SerializeToString()
        with pytest.raises(secateur.ModelError, match=match):
            secateur.Model.parse(content)

    refused(1, "PROBIT", post_transform="PROBIT")
    refused(2, "LOGISTIC", post_transform="LOGISTIC")
    refused(1, "after the division", aggregate_function="AVERAGE", base_values=[0.5])
    changed = regressor_graph(1, TensorProto.FLOAT)
    changed.graph.node.append(helper.make_node("Exp", ["y"], ["z"]))
    changed.graph.output[0].name = "z"
    with pytest.raises(secateur.ModelError, match="changes the values"):
        secateur.Model.parse(changed.SerializeToString())


def test_a_target_without_a_weight_loses_its_base_value() -> None:
    """With several targets onnxruntime gives 0 where no leaf that is reached has a weight for a target."""
    graph = regressor_graph(2, TensorProto.FLOAT, base_values=[0.0, 1.5])
    node = graph.graph.node[0]
    lists = {attribute.name: attribute for attribute in node.attribute}
    keep = [index for index, target in enumerate(lists["target_ids"].ints) if target == 0]
    for name in ("target_ids", "target_treeids", "target_nodeids"):
        values = [lists[name].ints[index] for index in keep]
        del lists[name].ints[:]
        lists[name].ints.extend(values)
    values = [lists["target_weights"].floats[index] for index in keep]
    del lists["target_weights"].floats[:]
    lists["target_weights"].floats.extend(values)
    rows = np.zeros((1, 5), np.float32)
    assert onnx_session(graph.SerializeToString()).run(None, {"x": rows})[0][0, 1] == 0.0
    with pytest.raises(secateur.ModelError, match="target 1"):
        secateur.Model.parse(graph.SerializeToString())


def test_refusals_say_why() -> None:
    rows, target = table(missing=False)
    with pytest.raises(secateur.ModelError, match="weighted median"):
        secateur.load(ensemble.AdaBoostRegressor(n_estimators=3).fit(rows, target))
    model = ensemble.RandomForestRegressor(3, max_depth=2).fit(rows, target)
    with pytest.raises(secateur.SecateurError, match="scores"):
        secateur.prune(model)
    with pytest.raises(secateur.ComparisonError, match="scores"):
        secateur.verify(model, model)
    with pytest.raises(secateur.ModelError, match="no classes"):
        secateur.load(model).class_indices(rows)
