"""CatBoost models against the live library: raw scores in every bit, classes, and edited files."""

from __future__ import annotations

import copy
import pathlib
import pickle

import catboost
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from harness import assert_same_bits, assert_same_classes, classes, half_of_the_trees, hostile_rows, reweighted_trees

from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import secateur

COMMON = dict(iterations=16, depth=4, learning_rate=0.4, thread_count=1, verbose=0, allow_writing_files=False)
COMMON["random_seed"] = 1

# Name, number of classes, parameters, share of missing values in training.
CONFIGURATIONS = {
    "binary": (2, dict(), 0.1),
    "binary_max": (2, dict(nan_mode="Max"), 0.1),
    "binary_no_missing": (2, dict(), 0.0),
    "binary_forbidden": (2, dict(nan_mode="Forbidden"), 0.0),
    "stumps": (2, dict(depth=1, iterations=60), 0.1),
    "deep": (2, dict(depth=10, iterations=5), 0.1),
    "many_borders": (2, dict(border_count=1000, iterations=60), 0.1),
    "one_border": (2, dict(border_count=1), 0.1),
    "weights": (2, dict(class_weights=[1, 7.3], boost_from_average=True), 0.1),
    "depthwise": (2, dict(grow_policy="Depthwise", depth=5), 0.1),
    "lossguide": (2, dict(grow_policy="Lossguide", max_leaves=30, depth=10, nan_mode="Max"), 0.1),
    "multiclass": (4, dict(loss_function="MultiClass"), 0.1),
    "multiclass_lossguide": (3, dict(loss_function="MultiClass", grow_policy="Lossguide", max_leaves=12), 0.1),
    "one_against_all": (3, dict(loss_function="MultiClassOneVsAll", depth=7), 0.1),
}


def table(class_count: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    rows = random.normal(size=(800, 5))
    rows[:, 1] = random.integers(0, 5, 800)
    rows[:, 2] *= 1e-3
    rows[:, 3] *= 1e6
    target = rows[:, 0] + np.sin(3 * rows[:, 1]) + 1e3 * rows[:, 2] * rows[:, 0] + 0.3 * random.normal(size=800)
    labels = np.searchsorted(np.quantile(target, np.arange(1, class_count) / class_count), target)
    rows[random.random(rows.shape) < missing] = np.nan
    return rows, labels


def fitted(name: str) -> tuple[catboost.CatBoostClassifier, np.ndarray]:
    class_count, parameters, missing = CONFIGURATIONS[name]
    rows, labels = table(class_count, missing)
    return catboost.CatBoostClassifier(**{**COMMON, **parameters}).fit(rows, labels), rows


def raw(model: catboost.CatBoost, rows: np.ndarray | pd.DataFrame) -> np.ndarray:
    return np.asarray(model.predict(rows, prediction_type="RawFormulaVal")).reshape(len(rows), -1)


def loaded(model: secateur.Model, folder: pathlib.Path) -> catboost.CatBoostClassifier:
    """CatBoost with the file of a model."""
    kind = "json" if "JSON" in model.dialect else "cbm"
    path = folder / f"edited.{kind}"
    path.write_bytes(model.to_bytes())
    new = catboost.CatBoostClassifier()
    new.load_model(str(path), format=kind)
    return new


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_scores_have_the_bits_of_the_library_and_classes_agree(name):
    classifier, base = fitted(name)
    model = secateur.load(classifier)
    rows = hostile_rows(model, base)
    # Beyond f32, which the library rounds to.
    random = np.random.default_rng(1)
    wide = random.random(rows.shape) < 0.05
    rows[wide] = random.choice([1e300, -1e300, 3.5e38, 1e-310, -5e-324, 3.4028235677973366e38], wide.sum())
    assert_same_bits(model.raw_scores(rows), raw(classifier, rows), rows)
    assert_same_classes(model.predict(rows), np.ravel(classifier.predict(rows)), rows)


@pytest.mark.parametrize("kind", ["cbm", "json"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_files_and_their_edits_score_the_same_in_the_library(name, kind, tmp_path):
    classifier, base = fitted(name)
    path = tmp_path / f"model.{kind}"
    classifier.save_model(str(path), format=kind)
    model = secateur.load(path)
    assert model.to_bytes() == path.read_bytes()
    rows = hostile_rows(model, base, 2000)
    # What CatBoost makes of the file: its JSON reader moves last bits.
    read = loaded(model, tmp_path)
    assert_same_bits(model.raw_scores(rows), raw(read, rows), rows)
    for edited in (
        model.edit(half_of_the_trees(model)),
        model.edit(reweighted_trees(model), [0.5 * group - 0.3 for group in range(len(model.intercepts))]),
        model.edit([]),
    ):
        library = loaded(edited, tmp_path)
        assert_same_bits(edited.raw_scores(rows), raw(library, rows), rows)
        assert_same_classes(classes(edited, rows), np.ravel(library.predict(rows)), rows)


def test_pruned_files_load_and_decide_the_same(tmp_path):
    for name in ("stumps", "binary", "lossguide", "multiclass"):
        classifier, base = fitted(name)
        for kind in ("cbm", "json"):
            path = tmp_path / f"model.{kind}"
            classifier.save_model(str(path), format=kind)
            original = catboost.CatBoostClassifier()
            original.load_model(str(path), format=kind)
            pruned = secateur.prune(str(path), base, time_limit=20)
            rows = hostile_rows(secateur.load(path), base, 5000)
            library = loaded(pruned.model, tmp_path)
            assert_same_bits(pruned.model.raw_scores(rows), raw(library, rows), rows)
            scores = np.sort(raw(original, rows), axis=1)
            lead = np.abs(scores[:, 0]) if scores.shape[1] == 1 else scores[:, -1] - scores[:, -2]
            clear = lead > 1e-9
            assert_same_classes(np.ravel(library.predict(rows))[clear], np.ravel(original.predict(rows))[clear], rows[clear])


def test_pipelines_and_estimators_hold_catboost():
    """A pipeline's last step is pruned, and PrunedClassifier fits, prunes and stays an estimator."""
    rows, target = table(3, 0.0)
    names = np.array(["x", "y", "z"])[target]
    classifier = catboost.CatBoostClassifier(**{**COMMON, "depth": 2})
    pipeline = make_pipeline(StandardScaler(), classifier).fit(rows, names)
    result = secateur.prune(pipeline, rows, time_limit=20)
    assert type(result.model) is Pipeline and type(result.model[-1]) is catboost.CatBoostClassifier
    assert result.checked and result.trees_after <= result.trees_before
    assert (np.ravel(result.model.predict(rows)) == np.ravel(pipeline.predict(rows))).all()
    regressor = make_pipeline(StandardScaler(), catboost.CatBoostRegressor(**COMMON)).fit(rows, target.astype(float))
    scaled = regressor[:-1].transform(rows)
    assert_same_bits(secateur.load(regressor).raw_scores(scaled), raw(regressor[-1], scaled), scaled)
    assert secateur.verify(regressor, regressor, scores=True).at_most <= 1e-12
    estimator = secateur.PrunedClassifier(catboost.CatBoostClassifier(**{**COMMON, "depth": 1}), time_limit=20)
    estimator.fit(rows, names)
    plain = catboost.CatBoostClassifier(**{**COMMON, "depth": 1}).fit(rows, names)
    assert (np.ravel(estimator.predict(rows)) == np.ravel(plain.predict(rows))).all()
    assert estimator.estimator_.tree_count_ <= plain.tree_count_
    assert estimator.predict_proba(rows).shape == (len(rows), 3) and list(estimator.classes_) == ["x", "y", "z"]
    again = pickle.loads(pickle.dumps(estimator))
    assert (np.ravel(again.predict(rows)) == np.ravel(estimator.predict(rows))).all()


def test_a_missing_category_is_refused_as_the_library_refuses_it():
    """Such a row is no input: it is in no counterexample, and no proof is about it."""
    classifier, frame = categorical(iterations=4, depth=2)
    other, _ = categorical(iterations=4, depth=2, learning_rate=0.1, random_seed=3)
    model = secateur.load(classifier)
    from secateur import _model

    for value in (np.nan, None, pd.NA, 1.5):
        broken = frame.head(3).astype({"word": object})
        broken.loc[1, "word"] = value
        with pytest.raises((catboost.CatBoostError, TypeError)):
            classifier.predict(broken)
        codes = _model.recognise(classifier).rows(broken)
        assert np.isnan(codes[1, 1]) and not np.isnan(codes[[0, 2], 1:3]).any()
        with pytest.raises(secateur.InputError):
            model.raw_scores(codes)
    numbers = model.raw_scores(np.array([[np.nan, 0.0, 0.0, np.nan]]))
    assert np.isfinite(numbers).all(), "a number may be missing"
    answer = secateur.verify(classifier, other)
    assert answer.outcome == "different"
    assert not np.isnan(np.asarray(answer.counterexample, dtype=float).ravel()[1:3]).any(), answer
    result = secateur.prune(classifier, frame, time_limit=10)
    assert result.checked


WORDS = ["amber", "blue", "coral", "", "exactly-sixteen!", "x" * 40, "é unicode ü", "v" * 70, "-1", "nan"]


def categorical(class_count: int = 2, **parameters) -> tuple[catboost.CatBoostClassifier, pd.DataFrame]:
    rows, target = table(class_count, 0.1)
    random = np.random.default_rng(3)
    words = random.integers(0, len(WORDS), len(rows))
    numbers = random.integers(-3, 4, len(rows))
    target = (target + (words % 3 == 0) + (numbers > 1)) % class_count
    frame = pd.DataFrame({"size": rows[:, 0], "word": [WORDS[i] for i in words], "number": numbers, "width": rows[:, 1]})
    model = catboost.CatBoostClassifier(**{**COMMON, "one_hot_max_size": 50, **parameters})
    return model.fit(frame, target, cat_features=["word", "number"]), frame


@pytest.mark.parametrize("parameters", [dict(), dict(grow_policy="Lossguide"), dict(loss_function="MultiClass")])
def test_categories_are_known_by_the_hash_of_their_text(parameters):
    classifier, frame = categorical(3 if parameters.get("loss_function") else 2, **parameters)
    model = secateur.load(classifier)
    assert model.hashed_columns() == [1, 2]
    random = np.random.default_rng(4)
    rows = frame.iloc[random.integers(0, len(frame), 3000)].reset_index(drop=True)
    rows["word"] = [w if random.random() < 0.7 else ["unseen", "Z", "中文", "0"][random.integers(4)] for w in rows["word"]]
    rows["number"] = [n if random.random() < 0.8 else int(random.integers(-50, 50)) for n in rows["number"]]
    from secateur import _model

    subject = _model.recognise(classifier)
    for given in (rows, rows.to_numpy(dtype=object)):
        codes = subject.rows(given)
        assert_same_bits(model.raw_scores(codes), raw(classifier, rows), codes)
    assert set(codes[:, 1]) >= {-1.0, 0.0}
    pruned = secateur.prune(classifier, rows, time_limit=10)
    scores = np.sort(raw(classifier, rows), axis=1)
    lead = np.abs(scores[:, 0]) if scores.shape[1] == 1 else scores[:, -1] - scores[:, -2]
    same = np.ravel(pruned.model.predict(rows)) == np.ravel(classifier.predict(rows))
    assert same[lead > 1e-9].all()


def test_models_with_other_categories_are_compared_by_hash():
    classifier, _ = categorical(iterations=2, depth=2)
    other, _ = categorical(iterations=2, depth=2, learning_rate=0.1)
    answer = secateur.verify(classifier, other)
    assert answer.outcome in ("identical", "different"), answer


@pytest.mark.parametrize("threshold", [0.5, 0.3, 0.7, 0.1, 0.01, 0.999, 0.123456789, 1e-6, 1 / 3])
def test_thresholds_are_those_of_the_library(threshold, tmp_path):
    """Scores around the threshold, as biases of a model that says nothing else."""
    classifier, rows = fitted("binary")
    classifier.set_probability_threshold(threshold)
    model = secateur.load(classifier)
    edge = -np.log(1 / threshold - 1)
    for bias in (edge, np.nextafter(edge, np.inf), np.nextafter(edge, -np.inf)):
        flat = model.edit([], [float(bias)])
        library = loaded(flat, tmp_path)
        assert flat.predict(rows[:1])[0] == library.predict(rows[:1])[0], (threshold, bias)


@pytest.mark.parametrize(
    "labels", [[0, 1], ["no", "yes"], [False, True], [0.5, 1.5], [-1, 7], ["a", "b", "c"], [10, 20, 30], [0, 2, 4]]
)
def test_labels_are_those_of_the_classifier(labels):
    rows, target = table(len(labels), 0.1)
    classifier = catboost.CatBoostClassifier(**COMMON).fit(rows, np.array(labels)[target])
    model = secateur.load(classifier)
    assert model.classes == labels
    ours, theirs = model.predict(rows), np.ravel(classifier.predict(rows))
    assert (ours == theirs).all()
    assert type(ours.tolist()[0]) is type(np.asarray(theirs).tolist()[0])


def test_objects_stay_what_they_are():
    rows, target = table(3, 0.1)
    classifier = catboost.CatBoostClassifier(**COMMON).fit(rows, np.array(["x", "y", "z"])[target])
    pruned = secateur.prune(classifier, rows, time_limit=10).model
    assert type(pruned) is catboost.CatBoostClassifier
    assert pruned.get_params() == classifier.get_params()
    assert pruned.tree_count_ <= classifier.tree_count_
    again = pickle.loads(pickle.dumps(pruned))
    for new in (again, copy.deepcopy(pruned)):
        assert (new.predict(rows) == pruned.predict(rows)).all()
    assert len(pruned.get_feature_importance()) == rows.shape[1]
    base = catboost.CatBoost(dict(COMMON, loss_function="MultiClass")).fit(rows, target)
    assert type(secateur.prune(base, rows, time_limit=5).model) is catboost.CatBoost
    assert secateur.verify(base, base).outcome == "identical"


def test_the_result_says_whether_its_trees_are_symmetric(tmp_path):
    """Whichever is smaller is written, and every output says which."""
    rows, target = table(2, 0.1)
    cases = {
        # Stumps are both; symmetric ones are smaller.
        ("symmetric", "symmetric"): dict(depth=1, iterations=20),
        ("asymmetric", "symmetric"): dict(depth=1, iterations=20, grow_policy="Depthwise"),
        # Six questions about one column have seven different answers, and sixty-four leaves in a symmetric tree.
        ("symmetric", "asymmetric"): dict(depth=6, iterations=3, one_column=True),
    }
    for (before, after), parameters in cases.items():
        given = rows[:, :1] if parameters.pop("one_column", False) else rows
        path = tmp_path / "model.cbm"
        catboost.CatBoostClassifier(**{**COMMON, **parameters}).fit(given, target).save_model(str(path))
        assert secateur.inspect(path)["dialect"].endswith(f" {before} trees")
        result = secateur.prune(path, given, time_limit=20)
        assert result.model.dialect.endswith(f", {after} trees"), (before, after)
        assert result.to_dict()["dialect"] == result.model.dialect
        words = " ".join(str(result).split())
        assert f", {after} trees" in words and (before == after) == ("(the original: CatBoost" not in words), words
        library = loaded(result.model, tmp_path)
        assert_same_bits(result.model.raw_scores(given), raw(library, given), given)


def test_what_is_not_read_says_why():
    rows, target = table(2, 0.0)
    small = dict(COMMON, iterations=2)
    words = pd.DataFrame({"a": rows[:, 0], "c": [f"w{i * 7 % 90}" for i in range(len(rows))]})
    cases = {
        "one_hot_max_size": catboost.CatBoostClassifier(**small).fit(words, np.arange(len(rows)) * 7 % 90 % 2, cat_features=["c"]),
        "not fitted": catboost.CatBoostClassifier(),
    }
    for text, model in cases.items():
        with pytest.raises(secateur.ModelError, match=text):
            secateur.load(model)


EXPORTS = {
    "small": (2, dict(iterations=3, depth=2), "identical"),
    "binary": (2, dict(), "identical"),
    "binary_max": (2, dict(nan_mode="Max"), "identical"),
    "multiclass": (3, dict(), "identical"),
    "multiclass_max": (4, dict(nan_mode="Max", loss_function="MultiClassOneVsAll"), "identical"),
    # The export knows nothing of the threshold.
    "threshold": (2, dict(iterations=6, depth=3), "different"),
    # Sums of f32 fall on the other side of zero somewhere.
    "many": (2, dict(iterations=150, depth=6, learning_rate=0.03), "different"),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_library_s_own_onnx_is_compared_with_the_original(name, tmp_path):
    """What is proved holds on hostile rows in both libraries, and a counterexample is one in both."""
    class_count, parameters, expected = EXPORTS[name]
    rows, target = table(class_count, 0.1)
    classifier = catboost.CatBoostClassifier(**{**COMMON, **parameters}).fit(rows, target)
    if name == "threshold":
        classifier.set_probability_threshold(0.3)
    original, export = tmp_path / "model.cbm", tmp_path / "model.onnx"
    classifier.save_model(str(original))
    classifier.save_model(str(export), format="onnx", export_parameters={"onnx_domain": "secateur"})
    session = onnxruntime.InferenceSession(str(export))

    def exported(given: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.ravel(session.run(None, {session.get_inputs()[0].name: given.astype(np.float32)})[0])

    for first, second in ((classifier, str(export)), (str(original), str(export))):
        answer = secateur.verify(first, second, time_limit=60)
        assert answer.outcome == expected, answer
        if expected == "different":
            shown = np.asarray(answer.counterexample, dtype=float).reshape(1, -1)
            ours, theirs = np.ravel(classifier.predict(shown))[0], exported(shown)[0]
            assert ours != theirs and [ours, theirs] == list(answer.classes), answer
    if expected == "identical":
        hostile = hostile_rows(secateur.load(classifier), rows)
        assert_same_classes(exported(hostile), np.ravel(classifier.predict(hostile)), hostile)


def test_the_onnx_of_a_regressor_is_as_far_as_it_can_be(tmp_path):
    rows, target = table(4, 0.1)
    regressor = catboost.CatBoostRegressor(**{**COMMON, "iterations": 8}).fit(rows, target.astype(float))
    path = str(tmp_path / "model.onnx")
    regressor.save_model(path, format="onnx")
    answer = secateur.verify(regressor, path, scores=True, time_limit=60)
    assert answer.outcome == "measured" and 0 < answer.at_most < 1e-4
    session = onnxruntime.InferenceSession(path)
    hostile = hostile_rows(secateur.load(regressor), rows)
    found = session.run(None, {session.get_inputs()[0].name: hostile.astype(np.float32)})[0].astype(float).reshape(-1)
    apart = np.abs(found - regressor.predict(hostile))
    assert apart.max() <= answer.at_most
