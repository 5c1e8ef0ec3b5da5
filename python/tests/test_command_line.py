"""`secateur predict` on model files and CSV tables, against the libraries, in every bit.

Each family has 10,000 hostile rows. Libraries run with one thread where their result depends on that.
"""

import catboost
import lightgbm
import numpy as np
import onnxruntime
import pytest
import skl2onnx
import skops.io
import xgboost
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import command
import secateur
from harness import assert_same_bits, assert_same_classes, hostile_rows


def with_missing(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X


def xgboost_json(folder):
    X, y = load_breast_cancer(return_X_y=True)
    fitted = xgboost.XGBClassifier(n_estimators=40, max_depth=4).fit(with_missing(X), y)
    fitted.save_model(folder / "model.json")

    def margins(rows):
        return fitted.get_booster().inplace_predict(rows.astype(np.float32), predict_type="margin")

    return "model.json", X, margins, lambda rows: (margins(rows) > 1.5 * 2.0**-24).astype(int)


def xgboost_ubj(folder):
    X, y = load_iris(return_X_y=True)
    fitted = xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(with_missing(X), y)
    fitted.save_model(folder / "model.ubj")

    def margins(rows):
        return fitted.get_booster().inplace_predict(rows.astype(np.float32), predict_type="margin")

    return "model.ubj", X, margins, fitted.predict


def lightgbm_text(folder):
    X, y = load_breast_cancer(return_X_y=True)
    fitted = lightgbm.LGBMClassifier(n_estimators=40, verbose=-1).fit(with_missing(X), y)
    fitted.booster_.save_model(folder / "model.txt")
    return "model.txt", X, lambda rows: fitted.booster_.predict(rows, raw_score=True), fitted.predict


def forest(folder):
    X, y = load_iris(return_X_y=True)
    fitted = RandomForestClassifier(n_estimators=30, n_jobs=1, random_state=0).fit(with_missing(X), y)
    skops.io.dump(fitted, folder / "model.skops")
    return "model.skops", X, fitted.predict_proba, fitted.predict


def histogram_boosting(folder):
    X, y = load_breast_cancer(return_X_y=True)
    fitted = HistGradientBoostingClassifier(max_iter=30).fit(with_missing(X), y)
    skops.io.dump(fitted, folder / "model.skops")
    return "model.skops", X, fitted.decision_function, fitted.predict


def onnx_forest(folder):
    X, y = load_iris(return_X_y=True)
    fitted = RandomForestClassifier(n_estimators=20, max_depth=5, random_state=0).fit(X, y)
    # The post transform of a forest is NONE: the scores are the sums.
    model = skl2onnx.to_onnx(fitted, X[:1].astype(np.float32), options={"zipmap": False})
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def outputs(rows):
        return session.run(None, {session.get_inputs()[0].name: rows.astype(np.float32)})

    return "model.onnx", X, lambda rows: outputs(rows)[1], lambda rows: outputs(rows)[0]


def _catboost(folder, kind, **options):
    X, y = load_iris(return_X_y=True) if kind == "json" else load_breast_cancer(return_X_y=True)
    options = {"iterations": 30, "depth": 4, "thread_count": 1, "verbose": 0, "allow_writing_files": False, **options}
    fitted = catboost.CatBoostClassifier(**options).fit(with_missing(X), y)
    path = folder / f"model.{kind}"
    fitted.save_model(str(path), format=kind)
    # CatBoost does not read its own JSON exactly: the file counts.
    read = catboost.CatBoostClassifier()
    read.load_model(str(path), format=kind)
    return path.name, X, lambda rows: read.predict(rows, prediction_type="RawFormulaVal"), lambda rows: np.ravel(read.predict(rows))


def catboost_binary(folder):
    return _catboost(folder, "cbm", grow_policy="Lossguide")


def catboost_json(folder):
    return _catboost(folder, "json")


FAMILIES = [xgboost_json, xgboost_ubj, lightgbm_text, catboost_binary, catboost_json, forest, histogram_boosting, onnx_forest]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_predict_prints_the_library_s_scores_in_every_bit(family, tmp_path):
    name, X, scores, classes = family(tmp_path)
    rows = hostile_rows(secateur.load(tmp_path / name), X, count=10_000)
    with np.errstate(over="ignore"):
        theirs, their_classes = scores(rows), classes(rows)
    text = [",".join(f"column{index}" for index in range(rows.shape[1]))]
    text += [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in rows]
    (tmp_path / "rows.csv").write_text("\n".join(text) + "\n")

    printed = command.run("predict", name, "--data", "rows.csv", "--raw", cwd=tmp_path).splitlines()
    ours = np.array([[float(v) for v in line.split(",")] for line in printed[1:]])
    assert printed[0] == ",".join(f"score_{index}" for index in range(ours.shape[1]))
    assert_same_bits(ours, theirs, rows)

    printed = command.run("predict", name, "--data", "rows.csv", cwd=tmp_path).splitlines()
    assert printed[0] == "class"
    assert_same_classes(np.array(printed[1:]), their_classes.astype(str), rows)
