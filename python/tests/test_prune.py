"""Pruning of every supported class, judged by the library itself.

For each: the pruned model is an object of the same kind that the library runs, saves and loads; on training rows,
test rows and rows built to hurt it decides as the original; and its certificate checks.
"""

from __future__ import annotations

import copy
import functools
import html
import json
import logging
import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse
import xgboost
from harness import hostile_rows
from prunable import CASES, case, saved_and_loaded
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur


HOSTILE = 5_000


_done: dict[str, secateur.Pruning] = {}


def pruning(name: str) -> secateur.Pruning:
    if name not in _done:
        _done[name] = secateur.prune(case(name).model, case(name).to_library(case(name).train), threads=1, certificate=True)
    return _done[name]


def hostile(name: str) -> np.ndarray:
    """Rows that the library accepts, as far as they are outside the band."""
    model, rows = secateur.load(case(name).model), case(name).train
    if isinstance(case(name).inner(case(name).model), type(case(name).model)):
        rows = hostile_rows(model, rows, HOSTILE)
    else:
        # A pipeline's steps take numbers that they can compute with.
        rows = np.random.default_rng(0).normal(1.5, 2.0, (HOSTILE, rows.shape[1]))
    # XGBoost's tables and scikit-learn's encoders refuse infinities; the largest numbers lie in the same cells.
    largest = float(np.finfo(np.float32).max)
    return np.nan_to_num(rows, nan=np.nan, posinf=largest, neginf=-largest)


@pytest.mark.parametrize("name", CASES)
def test_the_pruned_model_decides_as_the_original_in_its_own_library(name, tmp_path):
    own, result = case(name), pruning(name)
    assert type(result.model) is type(own.model)
    assert result.outcome in ("proved", "already_minimal")
    assert result.trees_after <= result.trees_before
    again, path = saved_and_loaded(result.model, tmp_path)
    for rows in (own.train, own.test, hostile(name)):
        inner_rows = rows if own.inner(own.model) is own.model else own.model[:-1].transform(rows)
        rows = rows[own.certain(inner_rows, result.band)]
        assert len(rows)
        expected = own.classes(own.model, rows)
        np.testing.assert_array_equal(own.classes(result.model, rows), expected)
        np.testing.assert_array_equal(own.classes(again, rows), expected)
    assert secateur.verify(own.model, result.model, time_limit=20).identical
    # The certificate is about these objects, and about their files.
    claim = secateur.check(own.model, result.model, result.certificate)
    assert claim["band"]["score"] == result.band
    if name != "Pipeline":
        assert secateur.check(own.model, path, result.certificate) == claim


@pytest.mark.parametrize("name", CASES)
def test_the_shift_of_probabilities_is_the_librarys(name):
    case_, result = case(name), pruning(name)
    shift = result.probability_shift
    rows = case_.to_library(case_.train)
    if name == "xgboost.Booster":
        rows = xgboost.DMatrix(rows)
    before, after = (
        np.asarray(getattr(model, "predict_proba", model.predict)(rows), dtype=np.float64)
        for model in (case_.model, result.model)
    )
    # A booster gives the probability of class 1 alone, and that of class 0 moves as far.
    moved = np.abs(before - after).reshape(len(before), -1).max(axis=1)
    assert shift["rows"] == len(moved)
    np.testing.assert_allclose([shift["largest"], shift["mean"]], [moved.max(), moved.mean()], atol=1e-6)


def test_trees_behind_the_best_round_go_also_where_no_other_can(tmp_path):
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 6))
    y = (X[:, 0] * X[:, 1] + random.normal(size=600) > 0).astype(int)
    fitted = xgboost.XGBClassifier(n_estimators=60, max_depth=6, learning_rate=0.5, early_stopping_rounds=8, n_jobs=1)
    fitted.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    used, unused = fitted.best_iteration + 1, fitted.get_booster().num_boosted_rounds() - fitted.best_iteration - 1
    assert unused == 8
    path, out = tmp_path / "model.ubj", tmp_path / "out.ubj"
    fitted.save_model(path)
    result = secateur.prune(path, keep="scores")
    assert result.unchanged and (result.trees_before, result.trees_after) == (used, used)
    assert result.to_dict()["trees"]["unused"] == unused
    assert "the 8 trees behind the best round, which do not count, are gone" in str(result)
    result.model.save(str(out))
    result.model.save(out)
    loaded = xgboost.XGBClassifier()
    loaded.load_model(out)
    assert loaded.get_booster().num_boosted_rounds() == used and out.stat().st_size < 0.8 * path.stat().st_size
    rows = hostile_rows(secateur.load(path), X, 2000)
    np.testing.assert_array_equal(
        loaded.predict(rows, output_margin=True).view(np.uint32), fitted.predict(rows, output_margin=True).view(np.uint32)
    )
    assert secateur.prune(fitted, keep="scores").model.get_booster().num_boosted_rounds() == used


def test_no_limit_is_a_limit_that_can_be_asked_for():
    fitted = AdaBoostClassifier(n_estimators=5, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    for limit in ("none", float("inf"), None):
        assert secateur.prune(fitted, time_limit=limit).to_dict()["met_standard_limit"] is False
    with pytest.raises(secateur.OptionError, match="time_limit"):
        secateur.verify(fitted, fitted, time_limit="none")


def test_the_area_under_the_curve_is_measured_where_classes_are_given():
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    fitted = AdaBoostClassifier(n_estimators=30, random_state=0).fit(X[::2], names[::2])
    result = secateur.prune(fitted, X[1::2], y=names[1::2], effort="fast")
    auc = result.probability_shift["auc"]
    truth = names[1::2] == fitted.classes_[1]
    expected = [roc_auc_score(truth, model.predict_proba(X[1::2])[:, 1]) for model in (fitted, result.model)]
    np.testing.assert_allclose([auc["before"], auc["after"]], expected, atol=1e-12)
    assert secateur.prune(fitted, X, effort="fast").probability_shift["auc"] is None
    with pytest.raises(secateur.OptionError, match="'other' is not a class"):
        secateur.prune(fitted, X[:1], y=["other"])
    with pytest.raises(secateur.OptionError, match="569 rows and y 1 classes"):
        secateur.prune(fitted, X, y=names[:1])
    with pytest.raises(secateur.OptionError, match="there are none"):
        secateur.prune(fitted, y=names)


@pytest.mark.parametrize("name", CASES)
def test_the_pruned_model_is_a_whole_object_of_its_library(name):
    own, result = case(name), pruning(name)
    table = own.to_library(own.test)
    for attribute in ("classes_", "feature_names_in_", "n_features_in_"):
        if hasattr(own.model, attribute):
            np.testing.assert_array_equal(getattr(result.model, attribute), getattr(own.model, attribute))
            assert np.asarray(getattr(result.model, attribute)).dtype == np.asarray(getattr(own.model, attribute)).dtype
    if hasattr(own.model, "predict_proba"):
        probabilities = result.model.predict_proba(table)
        assert probabilities.shape == own.model.predict_proba(table).shape
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
        assert result.model.predict(table).dtype == own.model.predict(table).dtype
    for copied in (pickle.loads(pickle.dumps(result.model)), copy.deepcopy(result.model)):
        np.testing.assert_array_equal(own.predict(copied, table), own.predict(result.model, table))
    if hasattr(own.model, "get_params"):
        fresh = clone(result.model)
        assert type(fresh) is type(own.model)
        if "Pipeline" not in name:
            kept = {name: value for name, value in fresh.get_params().items() if name in KEPT}
            assert kept == {name: value for name, value in own.model.get_params().items() if name in KEPT}


# Parameters that pruning leaves alone. (The number of trees follows the trees, and scikit-learn's gradient boosting
# carries its learning rate in the leaves afterwards.)
KEPT = {"max_depth", "random_state", "num_leaves", "max_leaf_nodes", "min_child_samples"}


@pytest.mark.parametrize("name", CASES)
def test_the_original_is_left_alone(name):
    own = case(name)
    before = pickle.dumps(own.model)
    table = own.to_library(own.train)
    frozen = pickle.dumps(table)
    secateur.prune(own.model, table, effort="fast")
    assert pickle.dumps(own.model) == before
    assert pickle.dumps(table) == frozen


def test_something_is_pruned_where_there_is_something():
    for name in ("AdaBoostClassifier", "XGBClassifier", "LGBMClassifier", "GradientBoostingClassifier", "Pipeline"):
        result = pruning(name)
        assert result.trees_after < result.trees_before, name
        assert result.outcome == "proved"


def test_equal_votes_of_many_classes_become_one_without_a_search():
    # Merged into the last of them, votes round no more than they did, so the proof is in the first bound.
    rows, target = load_digits(return_X_y=True)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = AdaBoostClassifier(stump, n_estimators=50, random_state=0).fit(rows, target)
    splits = {(each.tree_.feature[0], each.tree_.threshold[0]) for each in model.estimators_}
    assert len(splits) < 50
    result = secateur.prune(model)
    assert result.trees_after < 50
    assert result.lower_bound == result.trees_after
    assert (result.model.predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_start_of_boosted_classes_takes_no_round_of_its_own(seed):
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=seed).fit(X, y)
    pruned = secateur.prune(model, moves="weights", effort="fast").model
    assert len(pruned.estimators_) < len(model.estimators_)
    assert all(tree.tree_.node_count > 1 for tree in pruned.estimators_.ravel())
    rows = np.concatenate([X, np.random.default_rng(seed).uniform(0, 8, (5000, 4))])
    assert (pruned.predict(rows) == model.predict(rows)).all()


def test_weights_and_fates_say_what_became_of_each_tree():
    for name in CASES:
        result = pruning(name)
        # Trees of a single leaf of zero do not count as trees.
        assert len(result.weights) == len(result.fates) >= result.trees_before
        for weight, fate in zip(result.weights, result.fates):
            assert fate in ("kept", "scaled", "rewritten", "merged", "constant", "dropped")
            assert (weight == 0.0) == (fate in ("constant", "dropped"))
        alone = sum(fate in ("kept", "scaled", "rewritten") for fate in result.fates)
        # A constant that votes need is a tree of its own, and none of the model's.
        assert alone + (name == "AdaBoostClassifier") >= result.trees_after


def test_a_path_gives_a_model_that_can_be_written(tmp_path):
    own = case("AdaBoostClassifier")
    import skops.io

    skops.io.dump(own.model, tmp_path / "model.skops")
    result = secateur.prune(tmp_path / "model.skops")
    assert isinstance(result.model, secateur.Model)
    assert result.bytes_after == len(result.model.to_bytes()) < result.bytes_before
    (tmp_path / "pruned.skops").write_bytes(result.model.to_bytes())
    assert secateur.verify(str(tmp_path / "model.skops"), tmp_path / "pruned.skops").identical


def test_columns_come_from_any_kind_of_table():
    own = case("XGBClassifier")
    tables = {
        "array": own.train,
        "float32": own.train.astype(np.float32),
        "list": own.train.tolist(),
        "pandas": pd.DataFrame(own.train, columns=list("abcd")),
        "polars": polars.DataFrame(own.train, schema=list("abcd")),
        "csr": scipy.sparse.csr_matrix(own.train),
        "csc": scipy.sparse.csc_array(own.train),
    }
    sizes = {kind: secateur.prune(own.model, table, threads=1).trees_after for kind, table in tables.items()}
    assert set(sizes.values()) == {pruning("XGBClassifier").trees_after}, sizes
    for table, words in ((own.train[:, :3], "4 columns"), (own.train[None], "two dimensions"), (pd.DataFrame(own.train[:, :3]), "4 columns")):
        with pytest.raises(secateur.InputError, match=words):
            secateur.prune(own.model, table)


def test_named_columns_may_come_in_any_order():
    from secateur._model import recognise

    own = case("GradientBoostingClassifier")
    rows = recognise(own.model).rows
    frame = own.to_library(own.train)
    np.testing.assert_array_equal(rows(frame[["worst", "points", "size", "texture"]]), own.train)
    np.testing.assert_array_equal(rows(polars.from_pandas(frame).select("worst", "points", "size", "texture")), own.train)


@pytest.mark.parametrize("name", ["XGBClassifier, categories", "LGBMClassifier, categories",
                                  "HistGradientBoostingClassifier, categories"])
def test_categories_are_read_as_the_library_reads_them(name):
    from secateur._model import recognise

    own = case(name)
    subject = recognise(own.model)
    table = own.to_library(own.train)
    shuffled = table.copy()
    shuffled["d"] = shuffled["d"].cat.reorder_categories(["drab", "blue", "coral", "amber"])
    tables = [table]
    if name != "XGBClassifier, categories" or tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 1):
        tables.append(shuffled)
    for given in tables:
        ours = subject.model.predict(subject.rows(given))
        np.testing.assert_array_equal(ours, own.model.predict(given))
    enum = polars.from_pandas(table.assign(d=table["d"].astype(object))).with_columns(polars.col("d").cast(polars.Categorical))
    np.testing.assert_array_equal(subject.rows(enum), subject.rows(table))


def test_the_result_speaks_in_words_pictures_and_data():
    result = pruning("AdaBoostClassifier")
    assert repr(result).startswith(f"<Pruning: {result.trees_before} -> {result.trees_after} trees")
    page = result._repr_html_()
    assert page.count("<rect") == 2 * len(result.weights)
    assert html.escape(result.claim) in page and "decides the same" in page and "<svg" in page
    facts = json.loads(json.dumps(result.to_dict()))
    assert set(facts) >= {"outcome", "trees", "leaves", "bytes", "lower_bound", "minimal", "band", "oracle_calls",
                          "points", "seconds", "certificate"}
    assert facts["trees"] == {"before": result.trees_before, "after": result.trees_after, "empty": result.trees_empty, "unused": 0}
    assert set(facts["band"]) == {"score", "probability", "exact"}
    assert facts["seconds"]["total"] == result.seconds
    logistic = pruning("LGBMClassifier")
    low, high = logistic.probability
    assert 0.0 < low < 0.5 < high < 1.0
    assert "probability" in logistic.claim
    exact = secateur.prune(case("LGBMClassifier").model, band=0)
    assert exact.band == 0.0 and "exact sums" in exact.claim and exact.exact


def test_the_picture_of_a_thousand_trees_is_small():
    import dataclasses

    result = pruning("AdaBoostClassifier")
    many = dataclasses.replace(result, weights=np.resize(result.weights, 1000), fates=(result.fates * 100)[:1000])
    assert len(many._repr_html_()) < 100_000


def test_progress_goes_to_a_function_a_bar_or_lines(capsys, monkeypatch):
    model = hard_model()
    seen = []
    secateur.prune(model, time_limit=0.5, progress=seen.append)
    assert seen and set(seen[0]) == {
        "pass", "round", "points", "candidate", "best", "lower_bound", "boxes", "share"
    }
    secateur.prune(model, time_limit=0.5, progress=True)
    assert "trees, at least" in capsys.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    secateur.prune(model, time_limit=0.5, progress=True)
    assert "secateur: " in capsys.readouterr().err
    secateur.prune(model, time_limit=0.2)
    assert capsys.readouterr().err == ""
    with pytest.raises(ZeroDivisionError):
        secateur.prune(model, time_limit=60, progress=lambda status: 1 / 0)


def test_the_log_tells_what_happens(caplog):
    with caplog.at_level(logging.DEBUG, logger="secateur"):
        secateur.prune(hard_model(), time_limit=0.5)
    messages = [record.getMessage() for record in caplog.records if record.name == "secateur"]
    assert messages[0].startswith("pruning ") and "trees" in messages[-1]
    assert len(messages) > 2


@functools.cache
def hard_model() -> xgboost.XGBClassifier:
    """One that keeps the search busy for longer than these tests let it."""
    random = np.random.default_rng(0)
    rows = np.digitize(random.normal(size=(600, 12)), [-1.0, -0.3, 0.3, 1.0]).astype(float)
    target = (rows[:, :5].sum(axis=1) + rows[:, 5] * rows[:, 6] > 12).astype(int)
    return xgboost.XGBClassifier(n_estimators=150, max_depth=2, n_jobs=1, random_state=0).fit(rows, target)


def test_a_time_limit_gives_the_best_that_was_proved():
    model = hard_model()
    started = time.monotonic()
    result = secateur.prune(model, time_limit="1s")
    assert time.monotonic() - started < 5.0
    assert result.outcome == "budget_reached"
    assert secateur.verify(model, result.model, time_limit=10).identical


def test_an_interrupt_gives_the_best_that_was_proved_and_a_second_one_is_raised():
    model = hard_model()

    def interrupted(times, **options):
        timers = [threading.Timer(0.7 + 0.2 * n, os.kill, (os.getpid(), signal.SIGINT)) for n in range(times)]
        for timer in timers:
            timer.start()
        started = time.monotonic()
        try:
            # Again and again, so that the signal comes while it works however fast that is.
            for _ in range(20):
                result = secateur.prune(model, effort="minimum", time_limit=30, **options)
                if result.interrupted:
                    return result
        finally:
            for timer in timers:
                timer.join()
            # The certificate has some seconds of its own.
            assert time.monotonic() - started < 20.0
        raise AssertionError("nothing was interrupted")

    result = interrupted(1)
    assert result.outcome == "budget_reached" or result.minimal
    assert secateur.verify(model, result.model, time_limit=30).identical
    with pytest.raises(KeyboardInterrupt):
        # One signal for the search and one for what follows; a search that has ended by then leaves it to the caller.
        interrupted(2)
        time.sleep(5.0)


def test_progress_is_told_every_second():
    told = []
    result = secateur.prune(hard_model(), effort="minimum", time_limit=4, progress=lambda status: told.append(time.monotonic()))
    assert result.timings["total"] > 1.5, "too fast to look at"
    gaps = [later - earlier for earlier, later in zip(told, told[1:])]
    # On a machine that does other things too, a second is not kept to the moment.
    assert len(told) >= 3 and max(gaps) < 5.0


def test_other_threads_run_meanwhile():
    counted = []

    def count():
        while not done.is_set():
            counted.append(time.monotonic())
            time.sleep(0.01)

    done = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    secateur.prune(hard_model(), time_limit=1.0)
    done.set()
    thread.join()
    assert max(np.diff(counted)) < 0.5


def test_two_prunes_at_once_are_as_one_after_the_other():
    names = ["AdaBoostClassifier", "LGBMClassifier", "XGBClassifier, three classes", "RandomForestClassifier"]

    def run(name: str) -> bytes:
        own = case(name)
        result = secateur.prune(own.model, own.to_library(own.train), threads=1)
        facts = result.to_dict() | {"seconds": None}
        for key in ("search_seconds", "check_seconds"):
            del facts["proof"][key]
        return pickle.dumps((facts, result.weights.tolist(), result.fates, own.classes(result.model, own.test).tolist()))

    alone = {name: run(name) for name in names}
    together: dict[str, bytes] = {}
    threads = [threading.Thread(target=lambda name=name: together.update({name: run(name)})) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def resident_kilobytes() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def test_a_thousand_prunes_leave_no_memory_behind():
    rows = np.array([[a, b] for a in range(4) for b in range(4)], dtype=float)
    target = (rows.sum(axis=1) > 3).astype(int)
    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(rows, target)
    size = {}
    for run in range(1, 1001):
        secateur.prune(model, rows, threads=1)
        if run in (200, 1000):
            size[run] = resident_kilobytes()
    assert size[1000] - size[200] < 2_000, size


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effort": "some"}, "effort must be 'fast', 'thorough' or 'minimum', not 'some'"),
        ({"objective": 3}, "objective must be 'trees', 'leaves' or 'bytes', not 3"),
        ({"moves": None}, "moves must be 'leaves' or 'weights', not None"),
        ({"band": "wide"}, "band must be"),
        ({"band": -1.0}, "band must be"),
        ({"band": float("nan")}, "band must be"),
        ({"time_limit": "3 days"}, "time_limit must be"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"threads": 0}, "threads must be"),
        ({"threads": 1.5}, "threads must be"),
        ({"seed": -1}, "seed must be"),
        ({"progress": "yes"}, "progress must be"),
        ({"weight_per": "leaf"}, "weight_per must be"),
        ({"self_check": 1}, "self_check must be"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(secateur.OptionError, match=words) as raised:
        secateur.prune(case("XGBClassifier").model, **options)
    assert isinstance(raised.value, ValueError)


def test_what_holds_a_model_is_refused_with_advice():
    rows, target = np.array([[0.0], [1.0]] * 10), np.array([0, 1] * 10)
    boosting = GradientBoostingClassifier(n_estimators=2).fit(rows, target)
    calibrated = CalibratedClassifierCV(RandomForestClassifier(3), cv=2).fit(rows, target)
    unrefitted = GridSearchCV(RandomForestClassifier(3), {"max_depth": [1, 2]}, cv=2, refit=False).fit(rows, target)
    members = [("boosting", GradientBoostingClassifier(n_estimators=2))]

    def votes(voting):
        return VotingClassifier(members, voting=voting).fit(rows, target)

    unfitted = make_pipeline(StandardScaler(), RandomForestClassifier())
    scaled = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2)).fit(rows, target)
    for model, words in [
        (calibrated, "calibrated probabilities.*prune the classifier first"),
        (make_pipeline(StandardScaler(), calibrated), "calibrated probabilities"),
        (unrefitted, "GridSearchCV has no best_estimator_"),
        (votes("soft"), "keeps those of each of its estimators_, and secateur.pack"),
        (votes("hard"), "voting='hard', which takes their classes alone, prune each of its estimators_"),
        (OneVsRestClassifier(boosting).fit(rows, target), "keeps those of each of its estimators_, and secateur.pack"),
        (unfitted, "not fitted"),
        (xgboost.XGBClassifier(), "this XGBClassifier is not fitted"),
        (xgboost.XGBRegressor(), "this XGBRegressor is not fitted"),
        (CASES["LGBMClassifier"]().model.__class__(), "this LGBMClassifier is not fitted"),
        (secateur.PrunedClassifier(boosting), "this PrunedClassifier is not fitted"),
        (make_pipeline(StandardScaler(), scaled), "pipeline inside a pipeline"),
    ]:
        with pytest.raises(secateur.ModelError, match=words):
            secateur.prune(model)


@pytest.mark.parametrize("hold", ["grid", "random", "frozen", "grid of a pipeline"])
def test_what_decides_by_one_estimator_is_taken_for_it(hold):
    rows = np.random.default_rng(0).integers(0, 3, (80, 3)).astype(np.float64)
    target = (rows[:, 0] + rows[:, 1] > 2).astype(int)
    forest = RandomForestClassifier(8, max_depth=2, random_state=0)
    model = {
        "grid": lambda: GridSearchCV(forest, {"max_depth": [1, 2]}, cv=2),
        "random": lambda: RandomizedSearchCV(forest, {"max_depth": [2]}, n_iter=1, cv=2),
        "frozen": lambda: FrozenEstimator(forest.fit(rows, target)),
        "grid of a pipeline": lambda: GridSearchCV(
            make_pipeline(StandardScaler(), forest), {"randomforestclassifier__max_depth": [2]}, cv=2
        ),
    }[hold]().fit(rows, target)
    result = secateur.prune(model, rows)
    inner = model.estimator if hold == "frozen" else model.best_estimator_
    assert type(result.model) is type(inner)
    assert result.trees_after < 8
    assert (result.model.predict(rows) == model.predict(rows)).all()
    assert secateur.verify(model, result.model).identical


def test_pipelines_are_compared_where_the_same_inputs_reach_them():
    own, result = case("Pipeline"), pruning("Pipeline")
    assert [name for name, _ in result.model.steps] == [name for name, _ in own.model.steps]
    assert secateur.verify(own.model, result.model).identical
    rows, _, target = __import__("prunable").parts(2)
    other = clone(own.model).fit(rows * 2.0, target)
    with pytest.raises(secateur.ComparisonError, match="not the same.*pipeline\\[-1\\]"):
        secateur.verify(own.model, other)
    with pytest.raises(secateur.ComparisonError, match="only one"):
        secateur.verify(own.model, own.model[-1])
    assert secateur.verify(own.model[-1], result.model[-1]).identical


def test_a_booster_keeps_all_its_trees():
    """Only XGBClassifier heeds the best iteration; a booster on its own predicts with all."""
    own = case("XGBClassifier, stopped early")
    booster = own.model.get_booster()
    assert secateur.load(booster).tree_count == booster.num_boosted_rounds()
    assert secateur.load(own.model).tree_count == own.model.best_iteration + 1
    rows = xgboost.DMatrix(own.test)
    margins = secateur.load(booster).raw_scores(own.test)[:, 0]
    np.testing.assert_array_equal(margins.astype(np.float32), booster.predict(rows, output_margin=True))
    pruned = secateur.prune(booster).model
    np.testing.assert_array_equal(pruned.predict(rows) > 0.5, booster.predict(rows) > 0.5)


def test_offers_are_measured_and_hold():
    """Three columns of which exactly one is one: a domain that the rows suggest leaves fewer trees, and keeps the decisions there."""
    X = np.eye(3)[np.arange(90) % 3]
    random = np.random.default_rng(0)
    every = random.integers(0, 2, size=(400, 3)).astype(float)
    fitted = AdaBoostClassifier(n_estimators=9, random_state=0).fit(every, every.sum(axis=1) > 1)
    plain = secateur.prune(fitted, X)
    offers = {offer["option"]: offer for offer in secateur.offers(fitted, X)}
    like_rows = offers["domain=Domain.from_data(X)"]
    assert like_rows["trees"] < plain.trees_after
    assert secateur.prune(fitted, X, domain=secateur.Domain.from_data(X)).trees_after == like_rows["trees"]
    packed = offers["pack(model)"]
    assert packed["trees"] == 9 and packed["bytes"] == secateur.pack(fitted).nbytes
    with pytest.raises(secateur.OptionError, match="needs a time_limit"):
        secateur.offers(fitted, time_limit=None)
