"""XGBoost models against the library itself: margins in every bit, classes, and edited files.

Every configuration is trained here, saved in both encodings and read back; 10,000 hostile rows each. Rows with
infinities go through `inplace_predict`, which accepts them; the others through DMatrix as well. Up to version 3.2
`inplace_predict` rounds dart models in its own way, so there only DMatrix counts.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from harness import (
    assert_same_bits,
    assert_same_classes,
    half_of_the_trees,
    hostile_rows,
    reweighted_trees,
)

import secateur

VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
ROWS = 10_000
EDIT_ROWS = 1_000
ENCODINGS = ("json", "ubj")


def table(seed: int = 0, rows: int = 800, missing: float = 0.1):
    """Two measurements, a whole number, a category code; a binary target and one of four classes."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 4)).astype(np.float32)
    X[:, 2] = random.integers(0, 5, rows)
    X[:, 3] = random.integers(0, 9, rows)
    score = X[:, 0] - 0.6 * X[:, 1] * (X[:, 2] > 2) + 0.9 * np.isin(X[:, 3], (1, 4, 6)) + random.normal(size=rows) / 3
    X[random.random(X.shape) < missing] = np.nan
    return X, (score > 0.4).astype(int), np.digitize(score, [-0.7, 0.4, 1.2])


def frame(X: np.ndarray) -> pd.DataFrame:
    """The same columns, the last two as categories with names."""
    codes = np.nan_to_num(X, nan=-1).astype(int)
    return pd.DataFrame(
        {
            "length": X[:, 0],
            "width": X[:, 1],
            "grade": pd.Categorical.from_codes(codes[:, 2], [10, 20, 30, 40, 50]),
            "colour": pd.Categorical.from_codes(codes[:, 3], list("stuvwxyzä")),
        }
    )


def classifier(**options) -> xgb.XGBClassifier:
    return xgb.XGBClassifier(**{"n_estimators": 15, "max_depth": 4, "n_jobs": 1, "tree_method": "hist", **options})


def early_stopping(X, y):
    Xv, yv, _ = table(seed=1)
    yv ^= np.random.default_rng(2).random(len(yv)) < 0.2
    model = classifier(n_estimators=40, early_stopping_rounds=3, eval_metric="logloss")
    model.fit(X, y, eval_set=[(Xv, yv)], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


CATEGORICAL = {"enable_categorical": True, "feature_types": ["q", "q", "c", "c"]}
DART = {"booster": "dart", "rate_drop": 0.3, "learning_rate": 0.5}
if VERSION >= (3, 4):  # there `booster="dart"` is deprecated
    del DART["booster"]

# A function of (X, binary target, four classes) for each configuration.
CONFIGURATIONS = {
    "logistic": lambda X, y, k: classifier().fit(X, y),
    "logistic, no missing values": lambda X, y, k: classifier(max_depth=6).fit(np.nan_to_num(X), y),
    "logistic, base_score 0.5": lambda X, y, k: classifier(base_score=0.5).fit(X, y),
    "logistic, base_score near 1": lambda X, y, k: classifier(base_score=0.9999).fit(X, y),
    "exact, with deleted nodes": lambda X, y, k: classifier(tree_method="exact", gamma=0.8).fit(X, y),
    "approx, lossguide": lambda X, y, k: classifier(
        tree_method="approx", grow_policy="lossguide", max_leaves=9, max_depth=0
    ).fit(X, y),
    "stumps": lambda X, y, k: classifier(n_estimators=60, max_depth=1).fit(X, y),
    "hinge": lambda X, y, k: classifier(objective="binary:hinge").fit(X, y),
    "logitraw": lambda X, y, k: classifier(objective="binary:logitraw").fit(X, y),
    "softprob": lambda X, y, k: classifier(n_estimators=8).fit(X, k),
    "softprob, base_score 0": lambda X, y, k: classifier(n_estimators=8, base_score=0.0).fit(X, k),
    "softmax": lambda X, y, k: classifier(n_estimators=8, objective="multi:softmax").fit(X, k),
    "parallel trees": lambda X, y, k: classifier(n_estimators=4, num_parallel_tree=3, subsample=0.6).fit(X, k),
    "random forest": lambda X, y, k: classifier(
        n_estimators=1, num_parallel_tree=20, max_depth=5, subsample=0.8, colsample_bynode=0.8, learning_rate=1.0
    ).fit(X, y),
    "vector leaves": lambda X, y, k: classifier(n_estimators=8, multi_strategy="multi_output_tree").fit(X, k),
    "dart": lambda X, y, k: classifier(**DART).fit(X, y),
    "dart softprob": lambda X, y, k: classifier(n_estimators=8, **DART).fit(X, k),
    "categories as codes": lambda X, y, k: classifier(**CATEGORICAL).fit(X, y),
    "categories one by one": lambda X, y, k: classifier(max_cat_to_onehot=20, **CATEGORICAL).fit(X, k),
    "categories of a frame": lambda X, y, k: classifier(enable_categorical=True).fit(frame(X), y),
    "early stopping": lambda X, y, k: early_stopping(X, y),
}


@pytest.fixture(scope="module")
def trained():
    """Trains a configuration when it is first asked for."""
    models: dict[str, xgb.XGBClassifier] = {}

    def get(name: str) -> xgb.XGBClassifier:
        if name not in models:
            models[name] = CONFIGURATIONS[name](*table())
        return models[name]

    return get


def reload(path) -> xgb.XGBClassifier:
    model = xgb.XGBClassifier(n_jobs=1)
    model.load_model(path)
    return model


def rounds(model: xgb.XGBClassifier) -> tuple[int, int]:
    try:
        return (0, model.best_iteration + 1)
    except AttributeError:
        return (0, 0)


def is_old_dart(booster: xgb.Booster) -> bool:
    return VERSION < (3, 3) and '"weight_drop"' in booster.save_raw("json").decode()


def library_answers(model: xgb.XGBClassifier, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins and classes as the library gives them; where it has two ways, both must agree."""
    booster = model.get_booster()
    single = rows.astype(np.float32)
    types = booster.feature_types
    kinds = {"feature_names": booster.feature_names, "feature_types": types}
    finite = ~np.isinf(single).any(axis=1)
    matrix = xgb.DMatrix(single[finite], enable_categorical="c" in (types or []), **kinds)
    margins = booster.predict(matrix, output_margin=True, iteration_range=rounds(model))
    if is_old_dart(booster):
        assert finite.all()
        answers = booster.predict(matrix, iteration_range=rounds(model))
        return margins, decide(model, answers)
    options = {"iteration_range": rounds(model), "validate_features": False}
    inplace = booster.inplace_predict(single, predict_type="margin", **options)
    assert_same_bits(inplace[finite], margins, single[finite])
    if booster.feature_names is None:
        classes = model.predict(single)
        # A single row takes another path through the library than many.
        for row in range(5):
            assert model.predict(single[row : row + 1]) == classes[row]
            alone = booster.inplace_predict(single[row : row + 1], predict_type="margin", **options)
            assert_same_bits(alone, inplace[row : row + 1], single[row : row + 1])
        return inplace, classes
    return inplace, decide(model, booster.inplace_predict(single, predict_type="value", **options))


def decide(model: xgb.XGBClassifier, answers: np.ndarray) -> np.ndarray:
    """What XGBClassifier.predict makes of the booster's answers."""
    if answers.ndim == 2:
        return answers.argmax(axis=1)
    return answers.astype(int) if model.objective == "multi:softmax" else (answers > 0.5).astype(int)


def test_rows(ours: secateur.Model, model: xgb.XGBClassifier, count: int) -> np.ndarray:
    rows = hostile_rows(ours, table()[0], count)
    if is_old_dart(model.get_booster()):
        rows[np.isinf(rows.astype(np.float32))] = np.nan
    return rows


test_rows.__test__ = False


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_scores_are_equal_in_every_bit_and_classes_too(trained, tmp_path, name, encoding):
    path = tmp_path / f"model.{encoding}"
    trained(name).save_model(path)
    ours = secateur.Model.read(path)
    assert ours.to_bytes() == path.read_bytes()
    model = reload(path)
    rows = test_rows(ours, model, ROWS)
    margins, classes = library_answers(model, rows)
    assert_same_bits(ours.raw_scores(rows), margins, rows)
    assert_same_classes(ours.class_indices(rows), classes, rows)


def check_edited(edited: secateur.Model, path) -> None:
    """The library loads the edited file and gives the bits that our model of it predicts."""
    path.write_bytes(edited.to_bytes())
    model = reload(path)
    rows = test_rows(edited, model, EDIT_ROWS)
    margins, classes = library_answers(model, rows)
    assert_same_bits(edited.raw_scores(rows), margins, rows)
    assert_same_classes(edited.class_indices(rows), classes, rows)
    # The library's own copy of the edited file is the file: nothing is left to be repaired on loading.
    content = json.loads(model.get_booster().save_raw("json"))
    trees = (content["learner"]["gradient_booster"].get("gbtree") or content["learner"]["gradient_booster"])["model"]
    assert len(trees["trees"]) == edited.tree_count


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_edited_models_load_and_predict_our_bits(trained, tmp_path, name, encoding):
    path = tmp_path / f"model.{encoding}"
    trained(name).save_model(path)
    ours = secateur.Model.read(path)
    moved = [0.3 * (group + 1) for group in range(len(ours.intercepts))]
    check_edited(ours.edit(half_of_the_trees(ours)), path)
    check_edited(ours.edit(reweighted_trees(ours)), path)
    check_edited(ours.edit(reweighted_trees(ours)[::3], moved), path)
    check_edited(ours.edit([], moved), path)
    check_edited(ours.edit([(1, None)], [-0.25] * len(moved)), path)
    check_edited(ours.edit([]), path)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_library_writes_an_edited_file_with_our_bytes(trained, tmp_path, encoding):
    """Printing and types are the library's own, for every kind of value that an edit writes."""
    for name in ("softprob", "dart softprob", "vector leaves", "categories of a frame"):
        path = tmp_path / f"model.{encoding}"
        trained(name).save_model(path)
        ours = secateur.Model.read(path)
        edited = ours.edit(reweighted_trees(ours)[::2], [1e-30 * 7**group for group in range(len(ours.intercepts))])
        path.write_bytes(edited.to_bytes())
        booster = xgb.Booster({"nthread": 1}, model_file=path)
        booster.save_model(path)
        assert path.read_bytes() == edited.to_bytes(), name


def test_any_float_is_printed_as_the_library_prints_it(trained, tmp_path):
    """Leaves of any bit pattern, written by us as JSON and by the library from our UBJSON."""
    random = np.random.default_rng(5)
    path = tmp_path / "model.ubj"
    trained("stumps").save_model(path)
    ours = secateur.Model.read(path)
    for _ in range(10):
        factors = 10.0 ** random.uniform(-44, 36, ours.tree_count)
        trees = [(tree, float(factor)) for tree, factor in enumerate(factors)]
        path.write_bytes(ours.edit(trees).to_bytes())
        booster = xgb.Booster({"nthread": 1}, model_file=path)
        text = bytes(booster.save_raw("json"))
        ours_text = secateur.Model.parse(bytes(xgb.Booster(model_file=bytearray(ours.to_bytes())).save_raw("json")))
        assert ours_text.edit(trees).to_bytes() == text


def test_a_file_without_best_round_uses_all_trees(trained, tmp_path):
    path = tmp_path / "model.json"
    model = trained("early stopping")
    model.save_model(path)
    ours = secateur.Model.read(path)
    assert any("best round" in note for note in ours.notes)
    assert ours.tree_count == model.best_iteration + 1
    content = json.loads(path.read_text())
    del content["learner"]["attributes"]["best_iteration"]
    path.write_text(json.dumps(content))
    assert secateur.Model.read(path).tree_count == model.get_booster().num_boosted_rounds()


BASE_SCORES = ["0.25", "[2.5E-1]", "[ 0.25 ]", "2.5e-1", "1E-8", "[0]", "1", "[9.9999999E-1]", "[7E-1]"]


@pytest.mark.parametrize("text", BASE_SCORES)
def test_every_form_of_base_score_gives_the_library_s_margin(trained, tmp_path, text):
    path = tmp_path / "model.json"
    trained("stumps").save_model(path)
    content = json.loads(path.read_text())
    content["learner"]["learner_model_param"]["base_score"] = text
    path.write_text(json.dumps(content))
    ours = secateur.Model.read(path)
    model = reload(path)
    rows = test_rows(ours, model, 500)
    margins, _ = library_answers(model, rows)
    assert_same_bits(ours.raw_scores(rows), margins, rows)


@pytest.mark.parametrize("base_score", [0.4, 0.5, np.nextafter(np.float32(0.5), np.float32(1)), 0.7])
@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge", "binary:logistic"])
def test_classes_near_the_threshold(tmp_path, objective, base_score):
    """Margins just around each threshold: a constant tree, moved bit by bit."""
    X, y, _ = table()
    path = tmp_path / "model.json"
    classifier(n_estimators=1, max_depth=1, objective=objective, base_score=0.5).fit(X, y).save_model(path)
    ours = secateur.Model.read(path)
    threshold = {"binary:logitraw": 0.5, "binary:hinge": 0.0, "binary:logistic": 1.5 * 2.0**-24}[objective]
    seen = set()
    for value in [threshold, float(base_score) - 0.5, *np.linspace(-2, 2, 9) * 2.0**-24 + threshold]:
        near = np.float32(value)
        for margin in (np.nextafter(near, np.float32(-1)), near, np.nextafter(near, np.float32(1))):
            edited = ours.edit([], [float(margin)])
            path.write_bytes(edited.to_bytes())
            model = reload(path)
            rows = X[:2].astype(np.float64)
            margins, classes = library_answers_of_two(model, rows)
            assert_same_bits(edited.raw_scores(rows), margins, rows)
            assert_same_classes(edited.class_indices(rows), classes, rows)
            seen.update(classes.tolist())
    assert seen == {0, 1}


def library_answers_of_two(model, rows):
    single = rows.astype(np.float32)
    return model.get_booster().inplace_predict(single, predict_type="margin"), model.predict(single)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "binary:logistic", "booster": "gblinear"}, "gblinear.*consist of trees"),
    ],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_models_that_are_no_tree_classifiers_are_refused(options, words, encoding):
    X, y, _ = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster = xgb.train(options, xgb.DMatrix(np.nan_to_num(X), label=y, qid=np.zeros(len(y))), 2)
        content = bytes(booster.save_raw(encoding))
    with pytest.raises(secateur.ModelError, match=words):
        secateur.Model.parse(content)


def test_several_labels_for_a_row_are_refused():
    X, y, k = table()
    model = classifier(n_estimators=2).fit(X, np.stack([y, k > 1], axis=1))
    with pytest.raises(secateur.ModelError, match="2 labels for each row"):
        secateur.Model.parse(bytes(model.get_booster().save_raw("json")))


def test_an_order_of_labels_that_does_not_fit_them_is_refused():
    labels = ["c", "a", "d", "b"]
    X = pd.DataFrame({"x": pd.Categorical.from_codes([0, 1, 2, 3] * 50, labels)})
    y = np.array([0.0, 1.0, 5.0, 20.0] * 50)
    settings = {"max_depth": 3, "max_cat_to_onehot": 9, "nthread": 1}
    booster = xgb.train(settings, xgb.DMatrix(X, y, enable_categorical=True), 3)
    text = bytes(booster.save_raw("json")).decode()
    assert text.count('"sorted_idx":[1,3,0,2]') == 1
    # XGBoost searches for a label by halves through this list: it misses labels, or takes them for others.
    wrong = text.replace('"sorted_idx":[1,3,0,2]', '"sorted_idx":[3,1,0,2]')
    other_frame = pd.DataFrame({"x": pd.Categorical(["a", "b", "d"], categories=["a", "b", "d"])})
    other = xgb.DMatrix(other_frame, enable_categorical=True)
    right = booster.predict(other)
    assert_same_bits(xgb.Booster(model_file=bytearray(text.encode())).predict(other), right, other_frame)
    secateur.Model.parse(text.encode())
    with pytest.raises(secateur.ModelError, match="sorted_idx: the part of column 0"):
        secateur.Model.parse(wrong.encode())
    read = xgb.Booster(model_file=bytearray(wrong.encode()))
    try:
        found = read.predict(other)
    except xgb.core.XGBoostError:
        found = np.full(len(right), np.nan)
    assert (found != right).any()
    with pytest.raises(secateur.ModelError, match="sorted_idx: the part of column 0"):
        secateur.Model.parse(bytes(read.save_raw("ubj")))


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("values", [(-0.0, -0.0), (0.0, -0.0), (-0.0, 0.0), (0.0, 0.0), (-1e-45, -1e-45)])
def test_zeros_keep_the_library_s_sign(tmp_path, booster, values):
    X, y, *_ = table()
    # A base score of one half is a margin of minus zero.
    settings = {"booster": booster, "objective": "binary:logistic", "base_score": 0.5, "max_depth": 2}
    trained = xgb.train({**settings, "nthread": 1}, xgb.DMatrix(X, y), len(values))
    document = json.loads(bytes(trained.save_raw("json")))
    gradient = document["learner"]["gradient_booster"]
    model = gradient.get("gbtree", gradient)["model"]
    for tree, value in zip(model["trees"], values, strict=True):
        for node, child in enumerate(tree["left_children"]):
            if child == -1:
                tree["split_conditions"][node] = value
    data = json.dumps(document).encode()
    read = xgb.Booster(model_file=bytearray(data))
    path_of = tmp_path / "model.json"
    path_of.write_bytes(data)
    for rows in (X[:1], X[:3], X):
        expected = read.predict(xgb.DMatrix(rows), output_margin=True)
        assert_same_bits(secateur.Model.parse(data).raw_scores(rows).ravel(), expected, rows)
        packed = secateur.pack(path_of)
        for path in packed.self_test():
            assert_same_bits(packed.raw_scores(rows, path=path).ravel(), expected, rows)
