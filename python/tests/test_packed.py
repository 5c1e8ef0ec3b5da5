"""Packed models beside the live libraries: raw scores in every bit, on every path and in every order of memory."""

from __future__ import annotations

import _thread
import pickle

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xgboost
from harness import assert_same_bits, hostile_rows
from prunable import CASES, case
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import get_scorer

import secateur

PATHS = list(secateur.pack(case("XGBClassifier").model).self_test())


def test_this_machine_has_more_than_one_path():
    assert {"portable", "scalar"} <= set(PATHS)


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model_packs_with_its_own_bits(name):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    rows = hostile_rows(model, found.train, 2500)
    for path in PATHS:
        assert_same_bits(packed.raw_scores(rows, path=path), model.raw_scores(rows), rows)
    assert (packed.predict(rows) == model.predict(rows)).all()
    # CatBoost returns text as Python objects, which a file does not know.
    kinds = [np.asarray(own.predict(rows)).dtype.kind.replace("O", "U") for own in (packed, model)]
    assert kinds[0] == kinds[1]
    assert all(packed.self_test().values())
    claim = secateur.check(inner, packed, packed.certificate)
    assert claim["outcome"] == "same_bits" and claim["pruning"] is None


def boosted(objective: str) -> tuple:
    data = load_breast_cancer() if objective == "binary:logistic" else load_wine()
    rows = data.data.astype(np.float32)
    rows[::7, ::3] = np.nan
    return xgboost.XGBClassifier(n_estimators=40, max_depth=6, random_state=0).fit(rows, data.target), rows


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob"])
def test_xgboost_itself_gives_these_bits(objective):
    model, rows = boosted(objective)
    packed = secateur.pack(model)
    hostile = hostile_rows(secateur.load(model), rows, 5000).astype(np.float32)
    hostile[np.isinf(hostile)] = 0
    table = np.concatenate([rows, hostile])
    theirs = model.get_booster().predict(xgboost.DMatrix(table), output_margin=True)
    for path in PATHS:
        ours = packed.raw_scores(table, path=path)
        assert ours.dtype == np.float32
        assert_same_bits(ours, theirs, table)
    assert_same_bits(packed.raw_scores(table, threads=2), theirs, table)
    assert (packed.predict(rows) == model.predict(rows)).all()
    assert np.abs(packed.predict_proba(rows) - model.predict_proba(rows)).max() < 3e-7


@pytest.mark.parametrize("options", [{}, {"zero_as_missing": True}, {"use_missing": False}, {"boosting_type": "rf"}])
def test_lightgbm_itself_gives_these_bits(options):
    rows, target = load_wine(return_X_y=True)
    rows[::5, ::2] = 0.0
    if options.get("use_missing", True):
        rows[1::9, 1::3] = np.nan
    more = {"bagging_freq": 1, "bagging_fraction": 0.7} if "boosting_type" in options else {}
    kind = lightgbm.LGBMClassifier(n_estimators=15, min_child_samples=3, verbose=-1, n_jobs=1, **options, **more)
    model = kind.fit(rows, np.array(["red", "rose", "white"])[target])
    packed = secateur.pack(model)
    table = hostile_rows(secateur.load(model), rows, 4000)
    theirs = model.booster_.predict(table, raw_score=True)
    for path in PATHS:
        assert_same_bits(packed.raw_scores(table, path=path), theirs, table)
    assert (packed.predict(rows) == model.predict(rows)).all()
    assert set(packed.predict(rows)) <= {"red", "rose", "white"}
    assert np.abs(packed.predict_proba(rows) - model.predict_proba(rows)).max() < 1e-12


@pytest.mark.parametrize(
    "kind",
    [
        RandomForestClassifier(30, random_state=0),
        ExtraTreesClassifier(20, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_scikit_learn_itself_gives_these_bits(kind):
    rows, target = load_digits(return_X_y=True)
    model = kind.fit(rows, target)
    packed = secateur.pack(model)
    if hasattr(model, "decision_function"):
        assert_same_bits(packed.decision_function(rows), model.decision_function(rows), rows)
        assert np.abs(packed.predict_proba(rows) - model.predict_proba(rows)).max() < 1e-12
    else:
        assert_same_bits(packed.predict_proba(rows), model.predict_proba(rows), rows)
    assert (packed.predict(rows) == model.predict(rows)).all()


def test_every_order_and_type_of_memory_is_read_as_it_is():
    model, rows = boosted("binary:logistic")
    packed = secateur.pack(model)
    expected = packed.raw_scores(rows)
    wide = rows.astype(np.float64)
    doubled = np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)
    tables = {
        "f64": wide,
        "by columns": np.asfortranarray(rows),
        "f64 by columns": np.asfortranarray(wide),
        "strided": doubled[::2, ::2],
        "backwards": rows[::-1][::-1],
        "lists": wide.tolist(),
        "a frame": pd.DataFrame(rows),
    }
    for name, table in tables.items():
        assert_same_bits(packed.raw_scores(table), expected, rows), name
    with pytest.raises(secateur.InputError, match="XGBoost misreads numbers of the other byte order"):
        packed.raw_scores(rows.astype(">f4"))
    whole = np.round(np.nan_to_num(wide)).astype(np.int32)
    assert_same_bits(packed.raw_scores(whole), packed.raw_scores(whole.astype(np.float64)), whole)
    assert packed.raw_scores(rows[:0]).shape == (0, 1)


def test_every_number_of_rows_has_the_same_bits():
    model, rows = boosted("multi:softprob")
    packed = secateur.pack(model)
    rows = np.tile(rows, (6, 1))[:1000]
    expected = packed.raw_scores(rows, path="scalar")
    for path in PATHS:
        for count in [*range(1, 130), *range(500, 530), 700, 999, 1000]:
            assert_same_bits(packed.raw_scores(rows[:count], path=path), expected[:count], rows[:count])


def test_frames_are_matched_by_name_and_categories_by_label():
    found = case("LGBMClassifier, categories")
    packed = secateur.pack(found.model)
    frame = found.to_library(found.test)
    expected = found.model.predict(frame, raw_score=True)
    for columns in (list("abcd"), list("dcba")):
        assert_same_bits(packed.raw_scores(frame[columns]), expected, frame)
    named = case("XGBClassifier, three classes")
    packed = secateur.pack(named.model)
    frame = named.to_library(named.test)
    assert (packed.predict(frame[frame.columns[::-1]]) == named.model.predict(frame)).all()
    assert list(packed.feature_names_in_) == list(frame.columns)
    with pytest.raises(secateur.InputError, match="3 columns"):
        packed.predict(frame.iloc[:, :3])


def test_what_a_sparse_matrix_leaves_out_is_what_the_library_takes_it_for():
    rows, target = load_digits(return_X_y=True)
    sparse = scipy.sparse.csr_matrix(rows)
    forest = RandomForestClassifier(5, random_state=0).fit(rows, target)
    assert (secateur.pack(forest).predict(sparse) == forest.predict(sparse)).all()
    booster = xgboost.XGBClassifier(n_estimators=4, random_state=0).fit(sparse, target)
    theirs = booster.get_booster().predict(xgboost.DMatrix(sparse), output_margin=True)
    assert_same_bits(secateur.pack(booster).raw_scores(sparse), theirs, rows)


@pytest.mark.parametrize("library", ["xgboost", "xgboost large", "lightgbm", "catboost", "forest"])
def test_sparse_matrices_of_all_forms_give_the_librarys_bits(library):
    random = np.random.default_rng(3)
    rows = np.where(random.random((700, 60)) < 0.1, random.normal(size=(700, 60)).round(2), 0.0).astype(np.float32)
    target = (rows[:, :20].sum(axis=1) + rows[:, 5] * 3 > 0).astype(int)
    sparse = scipy.sparse.csr_matrix(rows)
    # Values that are there and are zero or missing.
    sparse.data[:40:2] = 0.0
    sparse.data[1:40:2] = np.nan if library != "forest" else 5.0
    if library.startswith("xgboost"):
        # Trees of the second kind are walked, and get rows with all values.
        size = {"max_depth": 14, "min_child_weight": 0, "n_estimators": 2} if "large" in library else {"n_estimators": 30}
        model = xgboost.XGBClassifier(random_state=0, n_jobs=1, **size).fit(sparse, target)
        scores = lambda rows: model.get_booster().predict(xgboost.DMatrix(rows), output_margin=True)
    elif library == "lightgbm":
        model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(sparse, target)
        scores = lambda rows: model.predict(rows, raw_score=True)
    elif library == "catboost":
        model = catboost.CatBoostClassifier(iterations=30, verbose=0, allow_writing_files=False, thread_count=1).fit(sparse, target)
        scores = lambda rows: model.predict(rows, prediction_type="RawFormulaVal")
    else:
        model = RandomForestClassifier(5, random_state=0).fit(sparse, target)
        scores = model.predict_proba
    packed = secateur.pack(model)
    ours = packed.predict_proba if library == "forest" else packed.raw_scores
    expected = scores(sparse)
    shuffled = sparse.copy()
    for row in range(0, 700, 3):
        at = slice(*shuffled.indptr[row : row + 2])
        shuffled.indices[at], shuffled.data[at] = shuffled.indices[at][::-1].copy(), shuffled.data[at][::-1].copy()
    shuffled.has_sorted_indices = False
    forms = [sparse, sparse.tocsc(), sparse.tocoo(), scipy.sparse.csr_array(sparse), sparse.astype(np.float64), shuffled]
    for form in forms:
        assert_same_bits(ours(form), expected, rows)
    assert ours(sparse[:0]).shape[0] == 0
    for count in (1, 5, 100, 513):
        assert_same_bits(ours(sparse[:count]), expected[:count], rows[:count])
    assert_same_bits(ours(sparse, threads=2), expected, rows)
    assert (packed.predict(sparse) == model.predict(sparse)).all()
    for path in packed.self_test():
        assert_same_bits(packed.raw_scores(sparse, path=path), packed.raw_scores(sparse), rows)
    with pytest.raises(secateur.InputError, match="59 columns"):
        packed.predict(sparse[:, :59])
    twice = scipy.sparse.csr_matrix((np.float32([9.0, 0.5]), np.int32([3, 3]), np.int32([0, 2])), shape=(1, 60))
    with pytest.raises(secateur.InputError, match="two entries in one place"):
        ours(twice)


def test_saving_loading_and_pickling_keep_every_bit(tmp_path):
    found = case("LGBMClassifier")
    packed = secateur.pack(found.model)
    packed.save(tmp_path / "model.spk")
    loaded = secateur.load(tmp_path / "model.spk")
    for other in (loaded, pickle.loads(pickle.dumps(packed)), secateur.pack(packed)):
        assert isinstance(other, secateur.PackedModel)
        assert other.to_bytes() == packed.to_bytes()
        assert_same_bits(other.raw_scores(found.test), packed.raw_scores(found.test), found.test)
        # The file of the booster has no labels; the packed one has those of the object.
        assert set(other.predict(found.test)) == {"benign", "malign"}
    assert loaded.certificate is None and packed.certificate is not None
    assert (tmp_path / "model.spk").stat().st_size == packed.nbytes
    assert secateur.verify(found.model, loaded).identical
    assert "packed model" in str(secateur.inspect(tmp_path / "model.spk"))


def test_it_is_a_classifier_for_scikit_learn():
    rows, target = load_wine(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(rows, target)
    packed = secateur.pack(forest)
    for name in ("accuracy", "roc_auc_ovr", "neg_log_loss"):
        scorer = get_scorer(name)
        assert scorer(packed, rows, target) == scorer(forest, rows, target), name
    assert packed.score(rows, target) == forest.score(rows, target)
    assert (packed.classes_ == forest.classes_).all() and packed.n_features_in_ == forest.n_features_in_
    assert "10 trees" in repr(packed)


def test_refusals_say_what_to_do(tmp_path):
    packed = secateur.pack(case("GradientBoostingClassifier").model)
    row = np.zeros((1, packed.n_features_in_))
    row[0, 1] = np.nan
    with pytest.raises(secateur.InputError, match="row 0, feature 1"):
        packed.predict(row)
    with pytest.raises(secateur.InputError, match="shape"):
        packed.predict(row[:, :2])
    with pytest.raises(secateur.InputError, match="path"):
        packed.raw_scores(np.zeros_like(row), path="quantum")
    with pytest.raises(secateur.SecateurError, match="cannot be pruned"):
        secateur.prune(packed)
    data = bytearray(packed.to_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / "broken.spk").write_bytes(data)
    with pytest.raises(secateur.ModelError, match="checksum"):
        secateur.load(tmp_path / "broken.spk")
    other = secateur.pack(case("XGBClassifier").model)
    with pytest.raises(secateur.CertificateError) as refused:
        secateur.check(case("XGBClassifier").model, other, packed.certificate)
    assert refused.value.reason == "packing.original"


@pytest.fixture(scope="module")
def large():
    """A forest whose packing takes a second and more."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(4000, 6))
    return secateur.load(RandomForestClassifier(60, n_jobs=2, random_state=0).fit(rows, random.integers(0, 2, 4000)))


def test_packing_shows_how_far_it_is_and_ends_when_the_time_is_over(large, capsys):
    shares = []
    packed = secateur.pack(large, time_limit="10m", progress=lambda status: shares.append(status["share"]))
    assert packed.tree_count == large.tree_count
    assert len(shares) > 1 and shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    for limit in (0, "1ms", 0.1):
        with pytest.raises(secateur.SecateurError, match="the time limit was reached before the packed model was tested"):
            secateur.pack(large, time_limit=limit)
    assert secateur.pack(large, progress=True).to_bytes() == packed.to_bytes()
    assert "packing" in capsys.readouterr().err
    for wrong in ({"time_limit": -1}, {"time_limit": "soon"}, {"progress": 1}):
        with pytest.raises(secateur.OptionError):
            secateur.pack(large, **wrong)


def test_what_the_progress_function_raises_ends_packing(large):
    def fail(status):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        secateur.pack(large, progress=fail)
    with pytest.raises(KeyboardInterrupt):
        secateur.pack(large, progress=lambda status: _thread.interrupt_main())


def regressor(name: str):
    """A regressor or ranker, its rows, and its library's raw scores of rows."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(400, 5))
    rows[::11, 2] = np.nan
    target = rows[:, 0] - np.nan_to_num(rows[:, 2]) + (rows[:, 1] > 0.3)
    positive = np.exp(target / 2)
    library, kind = name.split(" ")
    if library == "xgboost":
        options = dict(n_estimators=15, max_depth=5, random_state=0, n_jobs=1)
        if kind == "targets":
            fitted = xgboost.XGBRegressor(**options).fit(rows, np.c_[target, positive, -target])
        elif kind == "vectors":
            fitted = xgboost.XGBRegressor(multi_strategy="multi_output_tree", **options).fit(rows, np.c_[target, -target])
        elif kind == "ranker":
            relevance = np.digitize(target, [-1, 0, 1])
            fitted = xgboost.XGBRanker(**options).fit(rows, relevance, qid=np.arange(400) // 20)
        else:
            fitted = xgboost.XGBRegressor(objective=kind, **options).fit(rows, positive if "poisson" in kind else target)
        booster = fitted.get_booster()
        return fitted, rows, lambda table: booster.predict(xgboost.DMatrix(table), output_margin=True)
    if library == "lightgbm":
        options = dict(n_estimators=15, num_leaves=15, random_state=0, n_jobs=1, verbose=-1)
        if kind == "ranker":
            fitted = lightgbm.LGBMRanker(**options).fit(rows, np.digitize(target, [-1, 0, 1]), group=[20] * 20)
        elif kind == "sqrt":
            fitted = lightgbm.LGBMRegressor(reg_sqrt=True, **options).fit(rows, target)
        elif kind == "rf":
            more = dict(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7)
            fitted = lightgbm.LGBMRegressor(**options, **more).fit(rows, target)
        else:
            share = 1 / (1 + positive)
            fitted = lightgbm.LGBMRegressor(objective=kind, **options).fit(rows, share if "entropy" in kind else positive)
        return fitted, rows, lambda table: fitted.booster_.predict(table, raw_score=True)
    rows = np.nan_to_num(rows)
    fitted = {
        "forest": RandomForestRegressor(20, random_state=0),
        "extra": ExtraTreesRegressor(20, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
        "histogram": HistGradientBoostingRegressor(max_iter=20, random_state=0),
        "gamma": HistGradientBoostingRegressor(loss="gamma", max_iter=20, random_state=0),
    }[kind].fit(rows, positive if kind == "gamma" else target)
    raw = (lambda table: fitted._raw_predict(table)) if kind == "gamma" else fitted.predict
    return fitted, rows, raw


REGRESSORS = [
    *[f"xgboost {kind}" for kind in ("reg:squarederror", "reg:absoluteerror", "count:poisson", "targets", "vectors", "ranker")],
    *[f"lightgbm {kind}" for kind in ("regression", "poisson", "gamma", "sqrt", "rf", "ranker", "cross_entropy_lambda")],
    *[f"sklearn {kind}" for kind in ("forest", "extra", "boosting", "histogram", "gamma")],
]


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_and_rankers_pack_with_their_own_bits(name, tmp_path):
    fitted, rows, raw = regressor(name)
    model = secateur.load(fitted)
    packed = secateur.pack(fitted)
    table = hostile_rows(model, rows, 3000)
    with np.errstate(over="ignore"):
        table = table[~np.isinf(table.astype(np.float32)).any(axis=1)]
    with np.errstate(all="ignore"):
        theirs, predicted = np.asarray(raw(table)), fitted.predict(table)
    for path in PATHS:
        assert_same_bits(packed.raw_scores(table, path=path), theirs, table)
    ours = packed.predict(table)
    assert ours.dtype == predicted.dtype and ours.shape == predicted.shape
    if any(word in name for word in ("poisson", "gamma", "entropy")):
        # They end in the exponential function.
        assert np.allclose(ours, predicted, rtol=1e-6, atol=0)
    else:
        assert_same_bits(ours, predicted, table)
    claim = secateur.check(fitted, packed, packed.certificate)
    assert claim["outcome"] == "same_bits"
    assert all(packed.self_test().values())
    packed.save(tmp_path / "model.spk")
    again = pickle.loads(pickle.dumps(secateur.load(tmp_path / "model.spk")))
    assert_same_bits(again.predict(table), ours, table)
    assert not hasattr(packed, "classes_")
    with pytest.raises(AttributeError, match="no probabilities"):
        packed.predict_proba(table)


def test_it_is_a_regressor_for_scikit_learn():
    fitted, rows, _ = regressor("sklearn forest")
    packed = secateur.pack(fitted)
    assert is_regressor(packed) and not is_classifier(packed)
    target = rows[:, 0]
    for name in ("r2", "neg_mean_squared_error"):
        assert get_scorer(name)(packed, rows, target) == get_scorer(name)(fitted, rows, target)
    assert packed.score(rows, target) == fitted.score(rows, target)


def test_quantiles_that_some_versions_sort_have_raw_scores_only():
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 3))
    fitted = xgboost.XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.2, 0.8], n_estimators=5, n_jobs=1)
    packed = secateur.pack(fitted.fit(rows, rows[:, 0]))
    theirs = fitted.get_booster().predict(xgboost.DMatrix(rows), output_margin=True)
    assert_same_bits(packed.raw_scores(rows), theirs, rows)
    with pytest.raises(secateur.ModelError, match="raw scores"):
        packed.predict(rows)


@pytest.mark.parametrize("options", [{}, {"max_samples": 20, "max_features": 3}])
def test_isolation_forests_have_their_path_lengths(options, tmp_path):
    rows = load_wine(return_X_y=True)[0]
    forest = IsolationForest(n_estimators=30, random_state=0, **options).fit(rows)
    packed = secateur.pack(forest)
    table = hostile_rows(secateur.load(forest), rows, 3000)
    for path in PATHS:
        assert_same_bits(packed.raw_scores(table, path=path), secateur.load(forest).raw_scores(table), table)
    # What the library makes of the sum of path lengths: relative to what is to be expected of as many trees.
    size = forest.max_samples_
    expected = 2 * (np.log(size - 1) + np.euler_gamma) - 2 * (size - 1) / size
    samples = -(2 ** -(packed.raw_scores(rows)[:, 0] / (30 * expected)))
    assert np.abs(samples - forest.score_samples(rows)).max() < 1e-12
    packed.save(tmp_path / "forest.spk")
    for own in (packed, secateur.load(tmp_path / "forest.spk")):
        assert all(own.self_test().values())
        with pytest.raises(secateur.ModelError, match="path lengths.*raw scores"):
            own.predict(rows)
    assert secateur.check(forest, packed, packed.certificate)["outcome"] == "same_bits"


@pytest.mark.parametrize("classes", [2, 3])
def test_adaboost_has_its_probabilities(classes):
    rows, target = load_wine(return_X_y=True)
    fitted = AdaBoostClassifier(n_estimators=25, random_state=0).fit(rows, np.minimum(target, classes - 1))
    packed = secateur.pack(fitted)
    assert_same_bits(packed.decision_function(rows), fitted.decision_function(rows), rows)
    assert np.abs(packed.predict_proba(rows) - fitted.predict_proba(rows)).max() < 1e-12
    assert (packed.predict(rows) == fitted.predict(rows)).all()


@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "MultiClassOneVsAll"])
def test_catboost_takes_its_own_categories_and_has_its_probabilities(loss):
    random = np.random.default_rng(3)
    words = np.array(["amber", "blue", "coral", "", "-1", "é unicode ü"], dtype=object)
    frame = pd.DataFrame({"size": random.normal(size=400), "word": random.choice(words, 400), "number": random.integers(-3, 4, 400)})
    frame.loc[::9, "size"] = np.nan
    target = (frame["number"] > 0).astype(int) + (frame["word"] == "blue") * (loss != "Logloss")
    classifier = catboost.CatBoostClassifier(
        iterations=20, depth=4, one_hot_max_size=50, loss_function=loss, thread_count=1, verbose=0, allow_writing_files=False
    ).fit(frame, target, cat_features=["word", "number"])
    packed = secateur.pack(classifier)
    rows = frame.copy()
    rows.loc[::5, "word"] = "unseen"
    rows.loc[::7, "number"] = 99
    theirs = classifier.predict(rows, prediction_type="RawFormulaVal", thread_count=1)
    for given in (rows, rows[["number", "size", "word"]], rows.to_numpy(dtype=object), rows.to_numpy(dtype=object).tolist()):
        assert_same_bits(packed.raw_scores(given), theirs, rows)
    assert np.abs(packed.predict_proba(rows) - classifier.predict_proba(rows)).max() < 1e-12
    assert (packed.predict(rows) == np.ravel(classifier.predict(rows))).all()
    rows["number"] = rows["number"] + 0.5
    with pytest.raises(secateur.InputError, match="no category"):
        packed.raw_scores(rows)
