"""Settings of live objects that `predict` reads, in every interface and against the live `predict`.

A setting that is honoured or harmless: the model decides as the object does, whatever the interface. One that is
refused: every interface says so and names it. And the lists in `secateur._settings` are complete: the installed
libraries are walked, and what their `predict` reads or accepts without being listed fails here.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import pathlib
import pickle
import re
import warnings
from typing import Any, Callable, NamedTuple

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from harness import hostile_rows
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import secateur
from secateur import _settings


random = np.random.default_rng(11)
X = random.integers(0, 5, (240, 3)).astype(np.float64)
NOISE = random.random(len(X)) < 0.15
TARGETS = {2: ((X[:, 0] + X[:, 1] > 4) ^ NOISE).astype(int), 3: ((X[:, 0] > 2).astype(int) + (X[:, 1] > 1) + NOISE) % 3}


def lgbm(**options: Any) -> lightgbm.LGBMClassifier:
    options = {"n_estimators": 12, "num_leaves": 3, "verbose": -1, "n_jobs": 1, "min_child_samples": 5, **options}
    return lightgbm.LGBMClassifier(**options)


def xgb(**options: Any) -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(**{"n_estimators": 6, "max_depth": 2, "n_jobs": 1, **options})


def logistic(target: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = 1.0 / (1.0 + np.exp(-scores))
    return share - target, share * (1.0 - share)


class Case(NamedTuple):
    make: Callable[[], Any]
    """An unfitted object."""
    change: Callable[[Any], Any] = lambda model: None
    """What happens to it after it was fitted."""
    classes: int = 2
    refused: str | None = None
    """What the refusal says."""
    predicts: bool = True
    """Whether the object's own `predict` works."""


def changed(**params: Any) -> Callable[[Any], Any]:
    return lambda model: model.set_params(**params)


def assigned(**attributes: Any) -> Callable[[Any], Any]:
    def change(model: Any) -> None:
        for name, value in attributes.items():
            setattr(model, name, value)

    return change


def stop_at_two(model: Any) -> None:
    model.booster_.best_iteration = 2


def backwards(model: Any) -> None:
    model.estimators_ = model.estimators_[::-1]


def always_zero(rows: Any, **_: Any) -> np.ndarray:
    return np.zeros(len(rows), dtype=int)


EARLY = dict(pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.1)
FLAGS = """
    predict_raw_score raw_score is_predict_raw_score predict_leaf_index leaf_index predict_contrib is_predict_contrib pred_leaf
    pred_contrib predict_disable_shape_check data_has_header zero_as_missing is_unbalance linear_tree
""".split()
METHOD = r"has a predict of its own in place of its class's, .* \(del model.predict\)"

CASES: dict[str, Case] = {
    # LightGBM
    "lgbm": Case(lgbm),
    "lgbm 3": Case(lgbm, classes=3),
    "lgbm early stop": Case(lambda: lgbm(**EARLY), refused=r"pred_early_stop=True is not supported: .*set_params"),
    "lgbm early stop, 3": Case(lambda: lgbm(**EARLY), classes=3, refused=r"pred_early_stop=True is not supported"),
    "lgbm early stop after fit": Case(lgbm, changed(**EARLY), refused=r"pred_early_stop=True is not supported"),
    "lgbm early stop as text": Case(lgbm, changed(**{**EARLY, "pred_early_stop": "true"}), refused="pred_early_stop='true'"),
    "lgbm early stop off": Case(lambda: lgbm(**{**EARLY, "pred_early_stop": False})),
    "lgbm early stop off as text": Case(lgbm, changed(**{**EARLY, "pred_early_stop": "false"})),
    "lgbm start_iteration": Case(lgbm, changed(start_iteration=5)),
    "lgbm start_iteration_predict": Case(lgbm, changed(start_iteration_predict=5)),
    "lgbm num_iteration": Case(lgbm, changed(num_iteration=2)),
    "lgbm num_iteration_predict": Case(lgbm, changed(num_iteration_predict=2)),
    "lgbm n_estimators": Case(lgbm, changed(n_estimators=2)),
    "lgbm best_iteration": Case(lgbm, stop_at_two),
    "lgbm best_iteration 3": Case(lgbm, stop_at_two, classes=3),
    "lgbm booster's params": Case(lgbm, lambda model: model.booster_.params.update(EARLY)),
    "lgbm class_weight": Case(lambda: lgbm(class_weight={0: 1.0, 1: 5.0})),
    "lgbm class_weight after fit": Case(lgbm, changed(class_weight="balanced")),
    "lgbm learning_rate after fit": Case(lgbm, changed(learning_rate=9.0)),
    "lgbm sigmoid after fit": Case(lgbm, changed(sigmoid=9.0)),
    "lgbm boosting after fit": Case(lgbm, changed(boosting_type="rf")),
    "lgbm device after fit": Case(lgbm, changed(device_type="gpu")),
    "lgbm n_jobs": Case(lgbm, changed(n_jobs=2)),
    "lgbm unknown parameter": Case(lgbm, changed(nonsense=3)),
    "lgbm rf": Case(lambda: lgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5)),
    "lgbm dart": Case(lambda: lgbm(boosting_type="dart")),
    "lgbm one against all": Case(lambda: lgbm(objective="multiclassova"), classes=3),
    "lgbm softmax for two": Case(lambda: lgbm(objective="multiclass", num_class=2)),
    "lgbm cross entropy": Case(lambda: lgbm(objective="cross_entropy")),
    "lgbm function": Case(lambda: lgbm(objective=logistic), refused="is a function: its predict returns raw scores"),
    "lgbm function after fit": Case(lgbm, changed(objective=logistic), refused="is a function: its predict returns raw"),
    "lgbm other objective after fit": Case(
        lgbm, changed(objective="multiclass"), refused="'multiclass' of this LGBMClassifier does not go", predicts=False
    ),
    "lgbm too many classes": Case(
        lambda: lgbm(objective="multiclass", num_class=5), refused="has 2 class labels, and its trees decide among 5"
    ),
    "lgbm validate_features": Case(
        lgbm, changed(validate_features=True), refused="every predict fails; it belongs", predicts=False
    ),
    "lgbm method": Case(lgbm, assigned(predict=always_zero), refused=METHOD),
    "lgbm booster's method": Case(
        lgbm, lambda model: setattr(model.booster_, "predict", lambda rows, **_: np.zeros(len(rows))), refused=METHOD
    ),
    **{f"lgbm {name}": Case(lgbm, changed(**{name: True})) for name in FLAGS},
    # XGBoost
    "xgb": Case(xgb),
    "xgb 3": Case(xgb, classes=3),
    "xgb softmax": Case(lambda: xgb(objective="multi:softmax"), classes=3),
    "xgb forest": Case(lambda: xgboost.XGBRFClassifier(n_estimators=6, max_depth=2, n_jobs=1)),
    "xgb forest, n_estimators": Case(
        lambda: xgboost.XGBRFClassifier(n_estimators=6, max_depth=2, n_jobs=1), changed(n_estimators=2)
    ),
    "xgb missing": Case(lambda: xgb(missing=2.0), refused=r"missing=2.0 is not supported: .* set_params\(missing"),
    "xgb missing after fit": Case(xgb, changed(missing=2.0), refused="missing=2.0 is not supported"),
    "xgb missing zero": Case(lambda: xgb(missing=0), refused="missing=0 is not supported"),
    "xgb missing infinity": Case(xgb, changed(missing=np.inf), refused="missing=inf is not supported"),
    "xgb missing None": Case(xgb, changed(missing=None), refused="missing=None makes every predict fail", predicts=False),
    "xgb missing f32 NaN": Case(xgb, changed(missing=float(np.float32("nan")))),
    "xgb base_score": Case(lambda: xgb(base_score=0.9)),
    "xgb base_score after fit": Case(xgb, changed(base_score=0.95)),
    "xgb dart": Case(lambda: xgb(booster="dart", rate_drop=0.5)),
    "xgb dart rate_drop after fit": Case(lambda: xgb(booster="dart"), changed(rate_drop=0.99, one_drop=1)),
    "xgb booster after fit": Case(xgb, assigned(booster="gblinear"), refused=r"booster='gblinear' is not what was fitted \(gbtree\)"),
    "xgb other booster after fit": Case(xgb, changed(booster="dart"), refused="weight_drop: the field is missing|a model without trees", predicts=False),
    "xgb hinge": Case(lambda: xgb(objective="binary:hinge")),
    "xgb raw": Case(lambda: xgb(objective="binary:logitraw")),
    "xgb hinge after fit": Case(xgb, changed(objective="binary:hinge")),
    "xgb raw after fit": Case(xgb, changed(objective="binary:logitraw")),
    "xgb softmax after fit": Case(xgb, changed(objective="multi:softmax"), classes=3),
    "xgb softprob after fit": Case(lambda: xgb(objective="multi:softmax"), changed(objective="multi:softprob"), classes=3),
    "xgb objective of the object alone": Case(
        lambda: xgb(objective="multi:softmax"), assigned(objective="multi:softprob"), classes=3,
        refused=r"objective='multi:softprob' is not that of the booster \(multi:softmax\)",
    ),
    "xgb function": Case(lambda: xgb(objective=logistic)),
    "xgb n_classes_": Case(xgb, assigned(n_classes_=2), classes=3, refused="has 2 class labels, and its trees decide"),
    "xgb softprob for two": Case(
        lambda: xgb(objective="multi:softprob", num_class=2), refused="predict return a table of flags, one for each class"
    ),
    "xgb softmax for two": Case(lambda: xgb(objective="multi:softmax", num_class=2)),
    "xgb without n_classes_": Case(xgb, lambda model: delattr(model, "n_classes_")),
    "xgb without n_classes_, 3": Case(
        xgb, lambda model: delattr(model, "n_classes_"), classes=3, refused="has no n_classes_, and its predict fails",
        predicts=False,
    ),
    "lgbm without labels": Case(
        lgbm, lambda model: delattr(model, "_le"), refused=r"has no labels \(_le\), and its predict fails", predicts=False
    ),
    "ada negative weights": Case(
        lambda: AdaBoostClassifier(n_estimators=6), lambda model: model.estimator_weights_.fill(-1.0),
        refused="is not a set of weights that can be divided by its sum",
    ),
    "xgb unusable objective": Case(xgb, changed(objective="multi:softmax"), refused="XGBoost cannot write this model", predicts=False),
    "xgb best_iteration": Case(xgb, lambda model: model.get_booster().set_attr(best_iteration="1")),
    "xgb best_iteration 3": Case(xgb, lambda model: model.get_booster().set_attr(best_iteration="1"), classes=3),
    "xgb n_estimators after fit": Case(xgb, changed(n_estimators=2)),
    "xgb num_parallel_tree after fit": Case(xgb, changed(num_parallel_tree=2)),
    "xgb enable_categorical": Case(xgb, changed(enable_categorical=True)),
    "xgb feature_types": Case(xgb, changed(feature_types=["q", "q", "q"])),
    "xgb n_jobs": Case(xgb, changed(n_jobs=2)),
    "xgb learning_rate after fit": Case(xgb, changed(learning_rate=9.0)),
    "xgb unknown parameter": Case(xgb, changed(max_delta_step=3)),
    "xgb method": Case(xgb, assigned(predict=always_zero), refused=METHOD),
    "xgb booster's method": Case(
        xgb, lambda model: setattr(model.get_booster(), "predict", always_zero), refused=METHOD
    ),
    # scikit-learn
    "forest": Case(lambda: RandomForestClassifier(6, max_depth=2, random_state=0)),
    "forest n_jobs": Case(lambda: RandomForestClassifier(6, max_depth=2, random_state=0, n_jobs=2)),
    "forest backwards": Case(lambda: RandomForestClassifier(6, max_depth=2, random_state=0), backwards, classes=3),
    "forest n_estimators after fit": Case(lambda: ExtraTreesClassifier(6, max_depth=2, random_state=0), changed(n_estimators=2)),
    "forest fewer trees": Case(
        lambda: RandomForestClassifier(6, max_depth=2, random_state=0), lambda model: model.estimators_.pop(), classes=3
    ),
    "forest criterion after fit": Case(lambda: RandomForestClassifier(6, max_depth=2), changed(criterion="entropy")),
    "forest class_weight": Case(lambda: RandomForestClassifier(6, max_depth=2, class_weight="balanced")),
    "forest monotonic": Case(lambda: RandomForestClassifier(6, max_depth=2, monotonic_cst=[1, 1, 0])),
    "forest of something else": Case(
        lambda: RandomForestClassifier(6, max_depth=2),
        lambda model: model.estimators_.__setitem__(2, AdaBoostClassifier(n_estimators=2).fit(X, TARGETS[2])),
        refused="RandomForestClassifier of AdaBoostClassifier is not supported", predicts=False,
    ),
    "forest, a tree's method": Case(
        lambda: RandomForestClassifier(6, max_depth=2),
        lambda model: setattr(model.estimators_[3], "predict_proba", lambda rows, **_: np.tile([0.0, 9.0], (len(rows), 1))),
        refused=r"this DecisionTreeClassifier has a predict_proba of its own",
    ),
    "forest method": Case(lambda: RandomForestClassifier(6, max_depth=2), assigned(predict=always_zero), refused=METHOD),
    "tree": Case(lambda: DecisionTreeClassifier(max_depth=3), classes=3),
    "tree splitter after fit": Case(lambda: ExtraTreeClassifier(max_depth=3), changed(splitter="best")),
    "ada": Case(lambda: AdaBoostClassifier(n_estimators=6, random_state=0), classes=3),
    "ada weights": Case(
        lambda: AdaBoostClassifier(n_estimators=6, random_state=0), lambda model: model.estimator_weights_.__setitem__(0, 9.0)
    ),
    "ada learning_rate after fit": Case(lambda: AdaBoostClassifier(n_estimators=6, random_state=0), changed(learning_rate=9.0)),
    "ada SAMME.R": Case(
        lambda: AdaBoostClassifier(n_estimators=6), assigned(algorithm="SAMME.R"), refused='AdaBoost with algorithm="SAMME.R"'
    ),
    "ada decision_function": Case(
        lambda: AdaBoostClassifier(n_estimators=6), assigned(decision_function=lambda rows: np.ones(len(rows))),
        refused="this AdaBoostClassifier has a decision_function of its own",
    ),
    "gradient": Case(lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2), classes=3),
    "gradient learning_rate after fit": Case(
        lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2), changed(learning_rate=-0.4)
    ),
    "gradient loss after fit": Case(lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2), changed(loss="exponential")),
    "gradient init after fit": Case(lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2), changed(init="zero")),
    "gradient from zero": Case(lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2, init="zero")),
    "gradient from a tree": Case(
        lambda: GradientBoostingClassifier(n_estimators=5, init=DecisionTreeClassifier(max_depth=1)),
        refused="gradient boosting that starts from DecisionTreeClassifier",
    ),
    "histogram": Case(lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2), classes=3),
    "histogram categories": Case(lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2, categorical_features=[0])),
    "histogram categories after fit": Case(
        lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2), changed(categorical_features=[0])
    ),
    "histogram learning_rate after fit": Case(
        lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2), changed(learning_rate=9.0)
    ),
    "histogram in fit": Case(
        lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2), assigned(_in_fit=True),
        refused=r"the fit of this HistGradientBoostingClassifier was interrupted", predicts=False,
    ),
    "histogram preprocessor": Case(
        lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=2),
        assigned(_preprocessor=FunctionTransformer(lambda rows: 0 * rows).fit(X)),
        refused="with a FunctionTransformer as its _preprocessor is not supported",
    ),
}


def fitted(case: Case) -> Any:
    model = case.make().fit(X, TARGETS[case.classes])
    case.change(model)
    return model


_other: dict[int, Any] = {}


def other(classes: int) -> Any:
    """A model of other trees with the same labels."""
    if classes not in _other:
        _other[classes] = lgbm(n_estimators=2).fit(X, TARGETS[classes])
    return _other[classes]


def live(model: Any, rows: np.ndarray) -> np.ndarray:
    # Checks for infinities add up whole tables, which overflows.
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        # LightGBM warns of scores in place of labels.
        warnings.filterwarnings("ignore", "Cannot compute class probabilities")
        return np.asarray(model.predict(rows))


def rows_for(model: secateur.Model) -> np.ndarray:
    """Rows of data, thresholds and their neighbours, NaN and huge numbers, as far as the library takes them."""
    rows = hostile_rows(model, X, 1200)
    # XGBoost's and scikit-learn's tables refuse infinities; the largest numbers lie in the same cells.
    return np.nan_to_num(rows, nan=np.nan, posinf=1e30, neginf=-1e30)


def clear(model: secateur.Model, rows: np.ndarray) -> np.ndarray:
    """Rows outside any band that these small models have."""
    scores = np.sort(model.raw_scores(rows), axis=1)
    lead = np.abs(scores[:, 0]) if scores.shape[1] == 1 else scores[:, -1] - scores[:, -2]
    return rows[lead > 1e-5]


UNREFUSED = [name for name, case in CASES.items() if case.refused is None]
REFUSED = [name for name, case in CASES.items() if case.refused is not None]


@pytest.mark.parametrize("name", UNREFUSED)
def test_what_is_not_refused_is_what_the_object_does(name):
    case = CASES[name]
    model = fitted(case)
    # Objects that keep a function of ours cannot be pickled by every library.
    again = pickle.loads(pickle.dumps(model))
    pipeline = Pipeline([("same", FunctionTransformer().fit(X)), ("classifier", model)])
    for held in (model, again, pipeline):
        loaded = secateur.load(held)
        rows = rows_for(loaded)
        expected = live(model, rows)
        assert (live(held, rows) == expected).all()
        ours = loaded.predict(rows)
        assert ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours, expected)

    rows = clear(loaded, rows)
    reference = other(case.classes)
    for first, second in ((model, reference), (reference, model), (model, again)):
        answer = secateur.verify(first, second, time_limit=20)
        assert not answer.undecided
        if answer.identical:
            assert (live(first, rows) == live(second, rows)).all()
        else:
            row = answer.counterexample.reshape(1, -1)
            assert answer.classes == (live(first, row)[0], live(second, row)[0])
            assert answer.classes[0] != answer.classes[1]
    assert answer.identical

    # The object and the file that its library writes say the same.
    if not type(model).__module__.startswith("sklearn"):
        file = secateur.Model.parse(loaded.to_bytes())
        assert not file.has_labels
        answer = secateur.verify(model, file, time_limit=20)
        assert answer.identical and answer.notes == ()

    result = secateur.prune(model, X, effort="fast", certificate=True, time_limit=20)
    np.testing.assert_array_equal(live(result.model, rows), live(model, rows))
    secateur.check(model, result.model, result.certificate)
    assert secateur.verify(model, result.model, time_limit=20).identical
    in_pipeline = secateur.prune(pipeline, X, effort="fast", time_limit=20).model
    np.testing.assert_array_equal(live(in_pipeline, rows), live(model, rows))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_everywhere_and_by_name(name):
    case = CASES[name]
    model = fitted(case)
    if case.predicts:
        live(model, X)
    else:
        with pytest.raises(Exception):
            live(model, X)
    held = secateur.PrunedClassifier(clone(case.make()))
    held.estimator_ = model
    pipeline = Pipeline([("same", FunctionTransformer().fit(X)), ("classifier", model)])
    reference = other(case.classes)
    for refuse in (
        lambda: secateur.load(model),
        lambda: secateur.load(held),
        lambda: secateur.load(pipeline),
        lambda: secateur.inspect(model),
        lambda: secateur.verify(model, reference),
        lambda: secateur.verify(reference, model),
        lambda: secateur.verify(pipeline, pipeline),
        lambda: secateur.prune(model, X),
        lambda: secateur.prune(pipeline, X),
        lambda: secateur.check(model, model, b""),
        lambda: secateur.check(reference, model, b""),
    ):
        with pytest.raises(secateur.ModelError, match=case.refused):
            refuse()


@pytest.mark.parametrize("name", ["lgbm early stop", "xgb missing", "lgbm function", "gradient from a tree"])
def test_a_pruned_classifier_refuses_what_its_classifier_is_refused_for(name):
    case = CASES[name]
    with pytest.raises(secateur.ModelError, match=case.refused):
        secateur.PrunedClassifier(case.make()).fit(X, TARGETS[case.classes])


@pytest.mark.parametrize("name", ["lgbm class_weight", "xgb base_score", "xgb dart", "forest monotonic", "gradient from zero"])
def test_a_pruned_classifier_does_what_its_classifier_does(name):
    case = CASES[name]
    plain = case.make().set_params(random_state=0)
    rows = np.array(list(itertools.product(range(5), repeat=3)), dtype=np.float64)
    pruned = secateur.PrunedClassifier(plain, effort="fast").fit(X, TARGETS[2])
    np.testing.assert_array_equal(pruned.predict(rows), clone(plain).fit(X, TARGETS[2]).predict(rows))


def test_what_the_refused_settings_would_have_done():
    """The refusals are not idle: the trees alone decide otherwise than the object."""
    for name in ("lgbm early stop", "lgbm early stop, 3", "xgb missing", "xgb objective of the object alone"):
        case = CASES[name]
        model = fitted(case)
        booster = model.get_booster() if hasattr(model, "get_booster") else model.booster_
        trees = secateur.load(booster)
        assert (trees.predict(X) != live(model, X)).any(), name


def test_the_advice_for_a_number_that_is_missing_works():
    model = xgb(missing=2.0).fit(X, TARGETS[2])
    replaced = np.where(X == 2.0, np.nan, X)
    advised = copy.deepcopy(model).set_params(missing=float("nan"))
    np.testing.assert_array_equal(live(advised, replaced), live(model, X))
    np.testing.assert_array_equal(secateur.load(advised).predict(replaced), live(model, X))


def test_early_stopping_with_an_evaluation_set_is_honoured():
    half, rest = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    for classes, target in TARGETS.items():
        boosted = xgb(n_estimators=40, learning_rate=1.0, early_stopping_rounds=2)
        boosted.fit(X[half], target[half], eval_set=[(X[rest], target[rest])], verbose=False)
        light = lgbm(n_estimators=40, learning_rate=1.0)
        stop = lightgbm.early_stopping(2, verbose=False)
        light.fit(X[half], target[half], sample_weight=np.linspace(0.5, 2, half.sum()),
                  eval_X=X[rest], eval_y=target[rest], callbacks=[stop])
        assert boosted.best_iteration + 1 < boosted.get_booster().num_boosted_rounds(), classes
        for model in (boosted, light, pickle.loads(pickle.dumps(boosted)), pickle.loads(pickle.dumps(light))):
            loaded = secateur.load(model)
            rows = rows_for(loaded)
            np.testing.assert_array_equal(loaded.predict(rows), live(model, rows))


def test_a_classifier_that_was_loaded_from_a_file_is_what_it_was(tmp_path):
    for model in (xgb(), xgb(booster="dart"), xgboost.XGBRFClassifier(n_estimators=4, max_depth=2)):
        for target in TARGETS.values():
            model.fit(X, target)
            model.save_model(tmp_path / "model.ubj")
            again = type(model)()
            again.load_model(tmp_path / "model.ubj")
            loaded = secateur.load(again)
            rows = rows_for(loaded)
            np.testing.assert_array_equal(loaded.predict(rows), live(again, rows))
            assert secateur.verify(model, again).identical
            assert secateur.verify(tmp_path / "model.ubj", again).notes == ()


def test_what_was_given_to_fit_is_in_the_trees():
    weights, scores = np.linspace(0.1, 3.0, len(X)), np.full(len(X), 2.0)
    target = TARGETS[2]
    first = lgbm().fit(X, target)
    for model in (
        xgb().fit(X, target, sample_weight=weights),
        xgb().fit(X, target, base_margin=scores),
        xgb().fit(X, target, xgb_model=xgb().fit(X, 1 - target)),
        lgbm().fit(X, target, sample_weight=weights),
        lgbm().fit(X, target, init_score=scores),
        lgbm().fit(X, target + 3, init_model=first),
        RandomForestClassifier(4, max_depth=2).fit(X, target, sample_weight=weights),
        HistGradientBoostingClassifier(max_iter=4).fit(X, target, sample_weight=weights),
    ):
        loaded = secateur.load(model)
        rows = rows_for(loaded)
        np.testing.assert_array_equal(loaded.predict(rows), live(model, rows))


def test_subclasses_are_refused_with_the_reason():
    class Mine(xgboost.XGBClassifier):
        pass

    class Tree(DecisionTreeClassifier):
        def predict(self, rows, check_input=True):
            return np.zeros(len(rows))

    class Light(lightgbm.LGBMClassifier):
        pass

    for model, base in ((Tree(), "DecisionTreeClassifier"), (Light(verbose=-1), "LGBMClassifier"), (Mine(), "XGBClassifier")):
        model.fit(X, TARGETS[2])
        with pytest.raises(secateur.ModelError, match=f"a subclass of {base} may predict as it likes; give a {base}"):
            secateur.load(model)


class Flipped(lightgbm.Booster):
    def predict(self, *arguments, **options):
        return 1.0 - super().predict(*arguments, **options)


class FlippedToo(xgboost.Booster):
    def inplace_predict(self, *arguments, **options):
        return 1.0 - super().inplace_predict(*arguments, **options)


class Wrapped:
    """Looks like another object and predicts otherwise."""

    def __init__(self, inner):
        self.__dict__["inner"] = inner

    def __getattr__(self, name):
        return getattr(self.__dict__["inner"], name)

    def predict(self, rows):
        return self.inner.predict(rows)[:, ::-1]

    def _base_predict(self, *arguments):
        return 1.0 - np.asarray(self.inner._base_predict(*arguments))


def histogram() -> Any:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": int}).astype({"a": "category"})
    return HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(frame, TARGETS[2])


def catboosted() -> Any:
    return catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(X, TARGETS[2])


def step(model: Any, name: str) -> Any:
    return model._preprocessor.named_transformers_[name]


PARTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], str]] = {
    "lgbm labels": (lambda: lgbm().fit(X, TARGETS[2]), lambda m: setattr(m._le, "inverse_transform", lambda at: 1 - at), "inverse_transform of its own"),
    "lgbm other labels": (lambda: lgbm().fit(X, TARGETS[2]), lambda m: setattr(m, "_le", Wrapped(m._le)), "Wrapped where the library puts its own LabelEncoder"),
    "lgbm booster": (
        lambda: lgbm().fit(X, TARGETS[2]),
        lambda m: setattr(m, "_Booster", Flipped(model_str=m.booster_.model_to_string())),
        "Flipped where the library puts its own Booster",
    ),
    "xgb booster": (
        lambda: xgb().fit(X, TARGETS[2]),
        lambda m: setattr(m, "_Booster", FlippedToo(model_file=m.get_booster().save_raw())),
        "FlippedToo where the library puts its own Booster",
    ),
    "catboost": (catboosted, lambda m: setattr(m, "_object", Wrapped(m._object)), "Wrapped where the library puts its own _CatBoost"),
    "forest": (
        lambda: RandomForestClassifier(3, max_depth=2).fit(X, TARGETS[2]),
        lambda m: setattr(m.estimators_[1], "tree_", Wrapped(m.estimators_[1].tree_)),
        "Wrapped where the library puts its own Tree",
    ),
    "histogram encoder": (histogram, lambda m: setattr(step(m, "encoder"), "transform", lambda rows: 0 * rows), "transform of its own"),
    "histogram numbers": (histogram, lambda m: setattr(step(m, "numerical"), "func", lambda rows: 0 * rows), "func of a step"),
    "histogram unknown": (histogram, lambda m: step(m, "encoder").set_params(unknown_value=1.0), "unknown_value of a step"),
    "histogram weights": (histogram, lambda m: m._preprocessor.set_params(transformer_weights={"numerical": -1.0}), "other steps"),
    "histogram other step": (
        histogram,
        lambda m: m._preprocessor.transformers_.__setitem__(1, ("numerical", StandardScaler(), slice(0, 0))),
        "StandardScaler where the library puts its own FunctionTransformer",
    ),
    "packed": (
        lambda: secateur.pack(lgbm().fit(X, TARGETS[2])), lambda m: setattr(m, "predict", always_zero), "predict of its own",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_not_the_librarys_own_is_refused(name):
    make, spoil, words = PARTS[name]
    model = make()
    assert secateur.verify(model, model).identical
    spoil(model)
    for use in (secateur.prune, lambda model: secateur.verify(model, model)):
        with pytest.raises(secateur.ModelError, match=words):
            use(model)


def test_a_subclass_of_a_packed_model_is_no_packed_model():
    class Mine(secateur.PackedModel):
        def predict(self, X, **options):
            return 1 - super().predict(X, **options)

    packed = secateur.pack(lgbm().fit(X, TARGETS[2]))
    with pytest.raises(secateur.ModelError, match="Mine is not a model that secateur can read"):
        secateur.verify(Mine(packed._packed), packed)


def test_a_pipeline_without_a_classifier_at_its_end_is_refused():
    for last in ("passthrough", None):
        pipeline = Pipeline([("same", FunctionTransformer()), ("last", last)])
        with pytest.raises(secateur.ModelError, match="the last step of this pipeline .*'last'.* and no classifier"):
            secateur.load(pipeline)
    pipeline = Pipeline([("classifier", DecisionTreeClassifier(max_depth=2))]).fit(X, TARGETS[2])
    pipeline.predict = always_zero
    with pytest.raises(secateur.ModelError, match="this Pipeline has a predict of its own"):
        secateur.load(pipeline)


def test_a_pipeline_with_memory_is_what_it_is_without(tmp_path):
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier(max_depth=2))], memory=str(tmp_path))
    # A table with names as the step gives them to the tree, in fit as in predict.
    pipeline.set_output(transform="pandas")
    pipeline.fit(X, TARGETS[2])
    with sklearn.config_context(transform_output="pandas", enable_metadata_routing=True, assume_finite=True):
        result = secateur.prune(pipeline, X)
        np.testing.assert_array_equal(result.model.predict(X), pipeline.predict(X))
        assert secateur.verify(pipeline, result.model).identical


def test_a_booster_on_a_gpu_is_refused():
    class Gpu:
        """As a booster would say on a machine with a GPU."""

        def save_config(self):
            return '{"learner": {"generic_param": {"device": "cuda:0"}}}'

    with pytest.raises(secateur.ModelError, match=r"device='cuda:0' is not supported: .* set_params\(device='cpu'\)"):
        _settings.check_xgboost_device(Gpu())


# The lists are complete.


def names(settings: tuple[_settings.Setting, ...]) -> set[str]:
    return {name for setting in settings for name in setting.names}


def read(*functions: Callable) -> set[str]:
    """The attributes of `self` that functions read."""
    found: set[str] = set()
    for function in functions:
        found |= set(re.findall(r"\bself\.(\w+)", inspect.getsource(inspect.unwrap(function))))
    return found


def accepted(*functions: Callable) -> set[str]:
    return {name for function in functions for name in inspect.signature(function).parameters} - {"self", "cls"}


def test_every_parameter_of_lightgbm_is_listed():
    known = names(_settings.LIGHTGBM) | _settings.LIGHTGBM_TRAINING
    parameters = set(_settings._lightgbm_aliases())
    assert len(parameters) > 100
    assert parameters - known == set()
    assert not _settings.LIGHTGBM_TRAINING & names(_settings.LIGHTGBM)
    model = lightgbm.LGBMClassifier
    main = {alias: name for name, aliases in _settings._lightgbm_aliases().items() for alias in aliases}
    constructor = {main.get(name, name) for name in accepted(model.__init__)}
    assert constructor - known == set()
    inner = lightgbm.basic._InnerPredictor
    assert accepted(model.predict, lightgbm.Booster.predict, inner.predict, model.predict_proba) - known == set()
    wrapper = lightgbm.sklearn.LGBMModel
    uses = read(model.predict, model.predict_proba, wrapper.predict, wrapper._process_params, wrapper._process_n_jobs)
    methods = {"predict_proba", "_process_params", "_process_n_jobs", "__sklearn_is_fitted__", "__is_multiclass"}
    assert uses - known - methods == set()
    assert read(lightgbm.Booster.predict) - known == set()


def test_a_parameter_of_a_newer_lightgbm_is_refused(monkeypatch):
    model = lgbm().fit(X, TARGETS[2])
    known = _settings._lightgbm_aliases()
    monkeypatch.setattr(lightgbm.basic._ConfigAliases, "aliases", {**known, "predict_new": ["predict_new", "new_way"]})
    secateur.load(model)
    model.set_params(new_way=1)
    with pytest.raises(secateur.ModelError, match="the parameter new_way of this version of LightGBM is not known here"):
        secateur.load(model)


def test_an_alias_of_a_refused_parameter_is_refused(monkeypatch):
    model = lgbm().fit(X, TARGETS[2])
    known = _settings._lightgbm_aliases()
    aliases = {**known, "pred_early_stop": ["pred_early_stop", "stop_soon"]}
    monkeypatch.setattr(lightgbm.basic._ConfigAliases, "aliases", aliases)
    with pytest.raises(secateur.ModelError, match="stop_soon=True is not supported"):
        secateur.load(model.set_params(stop_soon=True))


def test_everything_that_xgboost_predicts_by_is_listed():
    known = names(_settings.XGBOOST)
    model, wrapper = xgboost.XGBClassifier, xgboost.XGBModel
    constructors = accepted(wrapper.__init__, model.__init__, xgboost.XGBRFClassifier.__init__)
    assert constructors - known - _settings.XGBOOST_TRAINING == set()
    assert not _settings.XGBOOST_TRAINING & known
    uses = read(model.predict, wrapper.predict, wrapper._get_iteration_range, wrapper._can_use_inplace_predict)
    assert uses - known == set()
    # Arguments of a call, which the claim is not about; those that an object gives are among its attributes.
    arguments = {"X", "output_margin", "base_margin", "iteration_range"}
    assert accepted(model.predict, wrapper.predict) - known == arguments
    inplace = {"data", "predict_type", "base_margin", "iteration_range", "strict_shape"}
    assert accepted(xgboost.Booster.inplace_predict) - known == inplace
    by_matrix = {"data", "output_margin", "pred_leaf", "pred_contribs", "approx_contribs", "pred_interactions", "training",
                 "iteration_range", "strict_shape"}
    assert accepted(xgboost.Booster.predict) - known == by_matrix
    # XGBRFClassifier has no way of its own to predict.
    assert xgboost.XGBRFClassifier.predict is model.predict


def test_everything_that_catboost_predicts_by_is_listed():
    base, classifier, regressor = catboost.CatBoost, catboost.CatBoostClassifier, catboost.CatBoostRegressor
    functions = [classifier.predict, base.predict, base._predict, base._process_predict_input_data]
    functions += [regressor.predict, regressor._get_default_prediction_type, regressor._get_canonized_params]
    functions += [catboost.CatBoostRanker.predict, base._validate_prediction_type, base.is_fitted]
    predicts = [classifier.predict, base.predict, regressor.predict, catboost.CatBoostRanker.predict]
    found = (read(*functions) | accepted(*predicts)) - {"X"}
    assert {"_object", "prediction_type"} <= found | {"_object"}
    assert found - names(_settings.CATBOOST) == set()
    # The rest is the library's own, behind these.
    assert read(base._base_predict, base._get_cat_feature_indices) == {"_object"}


def test_everything_that_scikit_learn_predicts_by_is_listed():
    known = names(_settings.SKLEARN)
    histogram = HistGradientBoostingClassifier
    # What they decide about is whether a table is accepted, or how a binned training table would be read.
    fitting = {"is_categorical_", "_is_categorical_remapped", "categorical_features", "_check_categories"}
    paths = {
        DecisionTreeClassifier: ["predict", "_validate_X_predict", "_support_missing_values", "predict_proba"],
        ExtraTreeClassifier: ["predict", "_validate_X_predict", "_support_missing_values", "predict_proba"],
        RandomForestClassifier: ["predict", "predict_proba", "_validate_X_predict"],
        ExtraTreesClassifier: ["predict", "predict_proba", "_validate_X_predict"],
        AdaBoostClassifier: ["predict", "decision_function"],
        GradientBoostingClassifier: ["predict", "decision_function", "_raw_predict", "_raw_predict_init"],
        histogram: ["predict", "_raw_predict", "_predict_iterations", "_preprocess_X"],
    }
    for kind, path in paths.items():
        uses = read(*(getattr(kind, name) for name in path))
        assert uses - known - fitting - {"__sklearn_tags__"} == set(), kind
        assert accepted(kind.predict) <= {"X", "check_input"}
    assert read(DecisionTreeClassifier.__sklearn_tags__, ExtraTreeClassifier.__sklearn_tags__) <= known
    assert BaseHistGradientBoosting._raw_predict is histogram._raw_predict
    assert read(Pipeline.predict) <= names(_settings.PIPELINES) | {"_iter"}
    constructor = accepted(Pipeline.__init__)
    assert constructor <= names(_settings.PIPELINES)


LISTS = (
    _settings.ANY_OBJECT, _settings.LIGHTGBM, _settings.XGBOOST, _settings.CATBOOST, _settings.SKLEARN, _settings.PIPELINES
)


def test_the_guide_shows_the_lists():
    text = (pathlib.Path(__file__).parents[2] / "docs" / "guide" / "live-objects.md").read_text()
    for settings in LISTS:
        for line in lines(settings):
            assert line in text, f"docs/guide/live-objects.md lacks this line:\n{line}"
    assert len(re.findall(r"^\| .* \| (?:honoured|harmless|refused) \|", text, re.MULTILINE)) == sum(
        len(settings)
        for settings in LISTS
    )


def lines(settings: tuple[_settings.Setting, ...]) -> list[str]:
    """The table of a list."""
    def shown(name: str) -> str:
        return name if settings is _settings.ANY_OBJECT else f"`{name}`"

    return [f"| {', '.join(map(shown, s.names))} | {s.answer} | {s.reason} |" for s in settings]
