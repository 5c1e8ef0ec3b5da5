"""`secateur prune` on model files of every family: the library loads what is written and decides the same.

Columns hold few values, so that trees can go, and are compared on the training rows, on rows that training never saw,
and on hostile ones (thresholds and their neighbours, missing values, unseen categories).
"""

import json

import lightgbm
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
import skops.io
import xgboost
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import command
import secateur
from harness import assert_same_classes, hostile_rows

HOSTILE = 5_000


def coarse(load, columns: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """A data set of scikit-learn's with so many columns, each cut into so many levels."""
    X, y = load(return_X_y=True)
    X = X[:, :columns]
    edges = [np.quantile(column, np.linspace(0, 1, levels + 1)[1:-1]) for column in X.T]
    return np.column_stack([np.digitize(column, edge) for column, edge in zip(X.T, edges)]).astype(float), y


TWO = coarse(load_breast_cancer, 6, 3)
THREE = coarse(load_wine, 5, 3)


def with_missing(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def xgboost_classes(path):
    booster = xgboost.Booster(model_file=path)

    def classes(rows):
        values = booster.inplace_predict(rows.astype(np.float32), predict_type="value")
        return values > 0.5 if values.ndim == 1 else values.argmax(axis=1)

    return classes


def lightgbm_classes(path):
    booster = lightgbm.Booster(model_file=path)

    def classes(rows):
        values = booster.predict(rows)
        return values > 0.5 if values.ndim == 1 else values.argmax(axis=1)

    return classes


def sklearn_classes(path):
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path)).predict


def onnx_classes(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda rows: session.run(None, {name: rows.astype(np.float32)})[0]


def xgboost_two(folder):
    fitted = xgboost.XGBClassifier(n_estimators=30, max_depth=2).fit(*TWO)
    fitted.save_model(folder / "model.json")
    return "model.json", TWO[0], xgboost_classes


def xgboost_missing(folder):
    X = with_missing(TWO[0])
    xgboost.XGBClassifier(n_estimators=20, max_depth=2).fit(X, TWO[1]).save_model(folder / "model.ubj")
    return "model.ubj", X, xgboost_classes


def xgboost_three(folder):
    xgboost.XGBClassifier(n_estimators=8, max_depth=2).fit(*THREE).save_model(folder / "model.json")
    return "model.json", THREE[0], xgboost_classes


def xgboost_categories(folder):
    X, y = TWO
    frame = pd.DataFrame(X[:, :4].astype(int)).astype("category")
    fitted = xgboost.XGBClassifier(n_estimators=20, max_depth=2, enable_categorical=True, tree_method="hist")
    fitted.fit(frame, y).save_model(folder / "model.json")
    return "model.json", X[:, :4], xgboost_classes


def lightgbm_two(folder):
    X = with_missing(TWO[0])
    fitted = lightgbm.LGBMClassifier(n_estimators=30, num_leaves=4, verbose=-1).fit(X, TWO[1])
    fitted.booster_.save_model(folder / "model.txt")
    return "model.txt", X, lightgbm_classes


def lightgbm_categories(folder):
    X, y = THREE
    fitted = lightgbm.LGBMClassifier(n_estimators=6, num_leaves=4, verbose=-1, min_child_samples=5)
    fitted.fit(X, y, categorical_feature=[0, 1]).booster_.save_model(folder / "model.txt")
    return "model.txt", X, lightgbm_classes


def from_sklearn(name, estimator, data):
    def family(folder):
        skops.io.dump(estimator.fit(*data), folder / "model.skops")
        return "model.skops", data[0], sklearn_classes

    family.__name__ = name
    return family


def onnx_forest(folder):
    X, y = TWO
    fitted = RandomForestClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
    model = skl2onnx.to_onnx(fitted, X[:1].astype(np.float32), options={"zipmap": False})
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return "model.onnx", X, onnx_classes


FAMILIES = [
    xgboost_two,
    xgboost_missing,
    xgboost_three,
    xgboost_categories,
    lightgbm_two,
    lightgbm_categories,
    from_sklearn("adaboost", AdaBoostClassifier(n_estimators=40, random_state=0), TWO),
    from_sklearn(
        "adaboost_three", AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0), THREE
    ),
    from_sklearn("forest", RandomForestClassifier(n_estimators=20, max_depth=2, n_jobs=1, random_state=0), TWO),
    from_sklearn("extra_trees", ExtraTreesClassifier(n_estimators=20, max_depth=2, n_jobs=1, random_state=0), TWO),
    from_sklearn("boosting", GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0), TWO),
    from_sklearn("boosting_three", GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0), THREE),
    from_sklearn("histogram_boosting", HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=4), TWO),
    onnx_forest,
]
# Families of which some tree has to go on these data.
SMALLER = {"xgboost_two", "lightgbm_two", "adaboost", "boosting", "onnx_forest", "forest"}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_library_decides_the_same_with_the_pruned_file(family, tmp_path):
    name, X, loaded = family(tmp_path)
    pruned = f"pruned-{name}"
    answer = json.loads(command.run("prune", name, "-o", pruned, "--json", "--threads", 1, cwd=tmp_path))
    trees = answer["trees"]
    assert answer["outcome"] in ("proved", "already_minimal")
    assert trees["after"] <= trees["before"]
    if family.__name__ in SMALLER:
        assert trees["after"] < trees["before"]
    assert secateur.load(tmp_path / pruned).dialect == secateur.load(tmp_path / name).dialect
    hostile = hostile_rows(secateur.load(tmp_path / name), X, count=HOSTILE)
    random = np.random.default_rng(1)
    unseen = X[random.integers(0, len(X), (2_000, X.shape[1])), np.arange(X.shape[1])]
    rows = np.concatenate([X, unseen, hostile])
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = loaded(tmp_path / name)(rows), loaded(tmp_path / pruned)(rows)
    assert_same_classes(after, before, rows)


def test_the_paper_s_moves_only_change_weights(tmp_path):
    """With `--moves weights` the trees are the model's own, each with a new weight."""
    name, X, _ = FAMILIES[6](tmp_path)
    flags = ["--moves", "weights", "--effort", "fast", "--json"]
    answer = json.loads(command.run("prune", name, "-o", "pruned.skops", *flags, cwd=tmp_path))
    kinds = {fate["fate"] for fate in answer["fates"]}
    assert kinds <= {"kept", "scaled", "dropped", "rewritten"}, kinds
    assert (sklearn_classes(tmp_path / "pruned.skops")(X) == sklearn_classes(tmp_path / name)(X)).all()


def test_baselines_have_the_size_that_was_asked_for(tmp_path):
    name, X, loaded = FAMILIES[8](tmp_path)
    table = pd.DataFrame(X, columns=[f"f{index}" for index in range(X.shape[1])])
    table.assign(label=TWO[1]).to_csv(tmp_path / "table.csv", index=False)
    for method in ["ic", "imd", "drep"]:
        flags = ["--method", method, "--size", 5, "--accept-unproved", "--data", "table.csv", "--target", "label"]
        answer = json.loads(command.run("prune", name, "-o", "small.skops", "--json", *flags, cwd=tmp_path))
        assert answer["outcome"] == "unproved"
        model = skops.io.load(tmp_path / "small.skops", trusted=skops.io.get_untrusted_types(file=tmp_path / "small.skops"))
        assert len(model.estimators_) == 5
        original = loaded(tmp_path / name)(X)
        assert answer["fidelity"] == pytest.approx((model.predict(X) == original).mean())
        assert answer["accuracy"]["after"] == pytest.approx((model.predict(X) == TWO[1]).mean())
