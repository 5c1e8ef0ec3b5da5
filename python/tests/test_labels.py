"""Class labels of live objects: what `predict` returns is what counts, in every wrapper and for every type of label.

`load(object).predict` gives the object's labels in their type, comparisons match classes by label, a model without
labels is matched by position with a note, and certificates stay about the files.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import pickle
import subprocess
import sys
from typing import Any, Callable

import lightgbm
import numpy as np
import pytest
import xgboost
from harness import hostile_rows
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import _labels


random = np.random.default_rng(7)
X = random.integers(0, 5, (300, 3)).astype(np.float64)
CODES = {2: (X[:, 0] + X[:, 1] > 4).astype(int), 3: (X[:, 0] > 2).astype(int) + (X[:, 1] > 1)}
# Every cell of models that were trained on whole numbers from 0 to 4.
CELLS = np.array(list(itertools.product(range(5), repeat=3)), dtype=np.float64)


def lgbm(**options: Any) -> lightgbm.LGBMClassifier:
    options = {"n_estimators": 6, "num_leaves": 4, "verbose": -1, "n_jobs": 1, "min_child_samples": 5, **options}
    return lightgbm.LGBMClassifier(**options)


WRAPPERS: dict[str, Callable[[], Any]] = {
    "LGBMClassifier": lgbm,
    "DecisionTreeClassifier": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "RandomForestClassifier": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "ExtraTreesClassifier": lambda: ExtraTreesClassifier(5, max_depth=3, random_state=0),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(n_estimators=5, random_state=0),
    "GradientBoostingClassifier": lambda: GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(max_iter=4, max_depth=2),
    "PrunedClassifier": lambda: secateur.PrunedClassifier(lgbm(), effort="fast"),
    "pipeline": lambda: Pipeline([("classifier", lgbm())]),
}
# For each kind of label three of them, as someone would have them in a target column.
LABELS = {
    "offset": np.array([5, 6, 7]),
    "negative": np.array([-3, -1, 4]),
    "int8": np.array([1, 2, 3], dtype=np.int8),
    "unsigned": np.array([1, 2, 250], dtype=np.uint8),
    "floats": np.array([-2.0, 1.0, 7.0]),
    "float32": np.array([1.0, 2.0, 1e9], dtype=np.float32),
    "strings": np.array(["no", "perhaps", "yes"]),
    "objects": np.array(["no", "perhaps", "yes"], dtype=object),
    "digits": np.array(["0", "1", "2"]),
    "booleans": np.array([False, True]),
    "plain": np.array([0, 1, 2]),
}


def fitted(wrapper: str, labels: np.ndarray, classes: int) -> Any:
    return WRAPPERS[wrapper]().fit(X, labels[:classes][CODES[classes]])


CASES = [
    (wrapper, labels, classes)
    for wrapper in WRAPPERS
    for labels in LABELS
    for classes in (2, 3)
    if not (labels == "booleans" and classes == 3)
]


@pytest.mark.parametrize("wrapper, labels, classes", CASES)
def test_a_loaded_object_predicts_its_own_labels(wrapper, labels, classes):
    model = fitted(wrapper, LABELS[labels], classes)
    for again in (model, pickle.loads(pickle.dumps(model))):
        loaded = secateur.load(again)
        rows = hostile_rows(loaded, X, 300)
        # Checks for infinities add up whole tables, which overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            ours, theirs = loaded.predict(rows), again.predict(rows)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
        assert loaded.classes == LABELS[labels][:classes].tolist()
        assert loaded.has_labels
    # The labels that it was loaded with stay.
    edited = loaded.edit([(tree, None) for tree in range(loaded.tree_count)])
    assert edited.predict(rows).dtype == theirs.dtype and edited.classes == loaded.classes


@pytest.mark.parametrize("make", [xgboost.XGBClassifier, xgboost.XGBRFClassifier])
@pytest.mark.parametrize("objective, classes, kind", [
    ("binary:logistic", 2, np.int64),
    ("multi:softprob", 3, np.int64),
    ("multi:softmax", 3, np.int32),
])
@pytest.mark.parametrize("target", [int, float, bool])
def test_xgboost_returns_class_numbers_whatever_the_target_was(make, objective, classes, kind, target):
    if target is bool and classes == 3:
        target = np.int8
    model = make(n_estimators=4, max_depth=2, objective=objective, n_jobs=1).fit(X, CODES[classes].astype(target))
    for again in (model, pickle.loads(pickle.dumps(model))):
        loaded = secateur.load(again)
        rows = hostile_rows(loaded, X, 1000)
        rows = np.nan_to_num(rows, nan=np.nan, posinf=1e30, neginf=-1e30)
        ours, theirs = loaded.predict(rows), again.predict(rows)
        assert ours.dtype == theirs.dtype == kind
        np.testing.assert_array_equal(ours, theirs)
    # A booster has no labels.
    assert not secateur.load(model.get_booster()).has_labels


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_models_that_never_return_the_same_label_are_not_identical(wrapper, classes):
    models = {name: fitted(wrapper, LABELS[name], classes) for name in ("offset", "plain", "digits", "strings")}
    for first, second in itertools.permutations(models, 2):
        with pytest.raises(secateur.ComparisonError, match="is not a class of the second"):
            secateur.verify(models[first], models[second])
    for model in models.values():
        answer = secateur.verify(model, pickle.loads(pickle.dumps(model)))
        assert answer.identical and answer.notes == ()


def test_labels_of_another_type_and_the_same_value_are_the_same():
    target = CODES[2]
    models = [lgbm().fit(X, target.astype(kind)) for kind in (int, float, bool, np.int8, np.float32)]
    models.append(DecisionTreeClassifier(max_depth=3).fit(X, models[0].predict(X).astype(bool)))
    for first, second in itertools.permutations(models, 2):
        answer = secateur.verify(first, second)
        assert answer.identical == bool((first.predict(CELLS) == second.predict(CELLS)).all())
        assert answer.notes == ()


def test_the_classes_of_a_difference_are_those_that_the_objects_return():
    first = lgbm(n_estimators=2).fit(X, LABELS["strings"][CODES[3]])
    second = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, LABELS["strings"][CODES[3]])
    for a, b in ((first, second), (second, first)):
        answer = secateur.verify(a, b)
        assert answer.different
        row = answer.counterexample.reshape(1, -1)
        assert answer.classes == (a.predict(row)[0], b.predict(row)[0])
        assert answer.classes[0] != answer.classes[1]


def relabelled(model: Any, labels: np.ndarray) -> Any:
    """The same trees, with other labels in the same order of classes."""
    other = copy.deepcopy(model)
    if hasattr(other, "_le"):
        other._le.classes_ = other._classes = labels
    else:
        other.classes_ = labels
    return other


@pytest.mark.parametrize("wrapper", ["LGBMClassifier", "RandomForestClassifier", "HistGradientBoostingClassifier"])
@pytest.mark.parametrize("classes", [2, 3])
def test_equal_trees_with_labels_in_another_order_differ(wrapper, classes):
    model = fitted(wrapper, LABELS["strings"], classes)
    other = relabelled(model, LABELS["strings"][:classes][::-1].copy())
    for a, b in ((model, other), (other, model)):
        answer = secateur.verify(a, b)
        assert answer.different
        row = answer.counterexample.reshape(1, -1)
        assert answer.classes == (a.predict(row)[0], b.predict(row)[0])


def test_random_labels_and_trees_are_judged_as_by_predicting_every_cell():
    """Pairs of models whose labels and trees are equal or not: the answer is that of `predict` on all cells."""
    rng = np.random.default_rng(3)
    kinds = [np.array([3, 4, 5]), np.array([3.0, 4.0, 5.0]), np.array(["3", "4", "5"]), np.array([4, 3, 5])]
    seen = {"identical": 0, "different": 0, "refused": 0}
    for _ in range(60):
        classes = int(rng.integers(2, 4))
        models = []
        for _ in range(2):
            base = fitted(str(rng.choice(["LGBMClassifier", "DecisionTreeClassifier"])), LABELS["plain"], classes)
            if rng.random() < 0.3:
                base = DecisionTreeClassifier(random_state=0).fit(CELLS, base.predict(CELLS))
            models.append(relabelled(base, kinds[rng.integers(len(kinds))][:classes]))
        first, second = models
        returned = [model.predict(CELLS) for model in models]
        try:
            answer = secateur.verify(first, second, missing=False)
        except secateur.ComparisonError:
            seen["refused"] += 1
            # Numbers beside texts; or sets of labels that are not the same.
            assert set(returned[0].tolist()) != set(returned[1].tolist())
            continue
        assert not answer.undecided
        assert answer.identical == bool((returned[0] == returned[1]).all())
        seen[answer.outcome] += 1
    assert min(seen.values()) >= 5, seen


def test_an_object_beside_a_file_without_labels_is_compared_by_position_and_says_so(tmp_path, caplog):
    model = fitted("LGBMClassifier", LABELS["strings"], 3)
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    for a, b, which in ((model, path, "second"), (path, model, "first"), (model, model.booster_, "second")):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="secateur"):
            answer = secateur.verify(a, b)
        assert answer.identical
        assert answer.notes == (
            f"classes are compared by position, because the {which} model has no class labels: 'no' with class 0, "
            "'perhaps' with class 1, 'yes' with class 2",
        )
        assert answer.notes[0] in caplog.text
    # Labels that are the class numbers need no note.
    for labels in (LABELS["plain"], np.array([0.0, 1.0]), LABELS["booleans"]):
        numbered = fitted("LGBMClassifier", labels, 2)
        caplog.clear()
        answer = secateur.verify(numbered, numbered.booster_)
        assert answer.identical and answer.notes == () and not caplog.records
    # Without labels on both sides there is nothing to say.
    assert secateur.verify(path, model.booster_).notes == ()


def test_an_xgboost_classifier_has_labels_and_they_are_numbers():
    numbers = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, CODES[2])
    words = fitted("LGBMClassifier", LABELS["strings"], 2)
    with pytest.raises(secateur.ComparisonError, match="give the boosters or the model files, which have no labels"):
        secateur.verify(numbers, words)
    # The boosters of the two are compared by position.
    assert secateur.verify(numbers.get_booster(), words.booster_).notes == ()
    assert secateur.verify(numbers, numbers.get_booster()).identical


@pytest.mark.parametrize("classes", [2, 3])
def test_certificates_are_about_the_files_and_check_refuses_other_labels(classes, tmp_path, caplog):
    model = fitted("LGBMClassifier", LABELS["strings"], classes)
    result = secateur.prune(model, X, certificate=True)
    assert (result.model.predict(CELLS) == model.predict(CELLS)).all()
    claim = secateur.check(model, result.model, result.certificate)
    assert not caplog.records
    # The files of the two objects and the certificate, as an auditor has them.
    paths = [tmp_path / name for name in ("original.txt", "pruned.txt", "proof.cert")]
    model.booster_.save_model(paths[0])
    result.model.booster_.save_model(paths[1])
    paths[2].write_bytes(result.certificate)
    script = "import sys; from secateur._secateur import run_secateur_check; sys.exit(run_secateur_check(sys.argv))"
    command = [sys.executable, "-c", script, *map(str, paths), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["verdict"] == "valid"
    # An object beside a file.
    with caplog.at_level(logging.WARNING, logger="secateur"):
        assert secateur.check(model, paths[1], paths[2]) == claim
    assert "classes are compared by position, because the second model has no class labels" in caplog.text
    # The certificate would do for the trees; the objects return other labels.
    for labels in (LABELS["offset"][:classes], LABELS["digits"][:classes]):
        with pytest.raises(secateur.ComparisonError, match="is not a class of the second"):
            secateur.check(model, relabelled(result.model, labels), result.certificate)
    swapped = relabelled(result.model, LABELS["strings"][:classes][::-1].copy())
    with pytest.raises(secateur.ComparisonError, match="the objects' labels are in another order: "):
        secateur.check(model, swapped, result.certificate)


def test_a_loaded_model_keeps_its_labels_when_it_is_pruned():
    model = fitted("LGBMClassifier", LABELS["float32"], 3)
    loaded = secateur.load(model)
    pruned = secateur.prune(loaded, X).model
    assert pruned.predict(CELLS).dtype == np.float32
    np.testing.assert_array_equal(pruned.predict(CELLS), model.predict(CELLS))
    assert secateur.verify(model, pruned).notes == ()
    assert secateur.verify(loaded, fitted("LGBMClassifier", LABELS["float32"], 3)).identical


def test_a_pipeline_is_compared_by_the_labels_of_its_last_step():
    steps = [FunctionTransformer().fit(X), fitted("LGBMClassifier", LABELS["strings"], 3)]
    pipeline = make_pipeline(*steps)
    other = make_pipeline(steps[0], relabelled(steps[1], LABELS["offset"]))
    assert secateur.verify(pipeline, copy.deepcopy(pipeline)).identical
    with pytest.raises(secateur.ComparisonError, match="is not a class of the second"):
        secateur.verify(pipeline, other)
    assert secateur.prune(pipeline, X).model.predict(CELLS).tolist() == pipeline.predict(CELLS).tolist()


@pytest.mark.parametrize("labels, message", [
    (np.array([1, "a"], dtype=object), "the class labels [1, 'a'] are not of one type"),
    (np.array([b"a", b"b"]), "class labels like np.bytes_(b'a') are not supported; numbers, booleans and text are"),
    (np.array(["2020", "2021"], dtype="datetime64[Y]"), "are not supported; numbers, booleans and text are"),
    (np.array([None, None]), "class labels like None are not supported"),
    (np.array([1, 2**63], dtype=np.uint64), "the class labels [1, 9223372036854775808] do not fit into 64 bits"),
    (np.array([[1, 2], [3, 4]]), "a classifier with several outputs is not supported"),
    (np.array([1, 2, 3]), "the object has 3 class labels, and its trees decide among 2 classes"),
    (np.array([1]), "the object knows the single class np.int64(1): there is nothing to decide"),
])
def test_labels_that_are_not_understood_are_refused(labels, message):
    model = secateur.load(fitted("LGBMClassifier", LABELS["plain"], 2).booster_)
    with pytest.raises(secateur.ModelError) as refused:
        _labels.with_labels(model, labels)
    assert message in str(refused.value)


def test_a_number_of_classes_that_is_not_that_of_the_labels_is_refused():
    model = fitted("LGBMClassifier", LABELS["plain"], 3)
    model._n_classes = 4
    with pytest.raises(secateur.ModelError, match="has 3 class labels and says that it has 4 classes"):
        secateur.load(model)
