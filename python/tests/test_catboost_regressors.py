"""CatBoost's regressors, rankers and models of several labels, scales and sums, against the live library."""

from __future__ import annotations

import copy
import pathlib
import pickle

import catboost
import numpy as np
import pandas as pd
import pytest
from harness import assert_same_bits, half_of_the_trees, hostile_rows, reweighted_trees
from sklearn.base import is_classifier

import secateur

COMMON = dict(iterations=12, depth=4, learning_rate=0.4, thread_count=1, verbose=0, allow_writing_files=False, random_seed=1)
Regressor, Ranker, Classifier = catboost.CatBoostRegressor, catboost.CatBoostRanker, catboost.CatBoostClassifier

# Name, kind of model, parameters.
CONFIGURATIONS = {
    "squares": (Regressor, dict(loss_function="RMSE")),
    "squares_max": (Regressor, dict(loss_function="RMSE", nan_mode="Max", depth=7, border_count=1000)),
    "depthwise": (Regressor, dict(loss_function="RMSE", grow_policy="Depthwise")),
    "lossguide": (Regressor, dict(loss_function="RMSE", grow_policy="Lossguide", max_leaves=12)),
    "absolute": (Regressor, dict(loss_function="MAE")),
    "quantile": (Regressor, dict(loss_function="Quantile:alpha=0.3")),
    "log_quantile": (Regressor, dict(loss_function="LogLinQuantile")),
    "huber": (Regressor, dict(loss_function="Huber:delta=1.5")),
    "expectile": (Regressor, dict(loss_function="Expectile:alpha=0.3")),
    "log_cosh": (Regressor, dict(loss_function="LogCosh")),
    "percent": (Regressor, dict(loss_function="MAPE")),
    "power": (Regressor, dict(loss_function="Lq:q=3")),
    "cox": (Regressor, dict(loss_function="Cox")),
    "survival": (Regressor, dict(loss_function="SurvivalAft")),
    "poisson": (Regressor, dict(loss_function="Poisson")),
    "tweedie": (Regressor, dict(loss_function="Tweedie:variance_power=1.5")),
    "uncertainty": (Regressor, dict(loss_function="RMSEWithUncertainty")),
    "quantiles": (Regressor, dict(loss_function="MultiQuantile:alpha=0.1,0.5,0.9")),
    "targets": (Regressor, dict(loss_function="MultiRMSE")),
    "targets_lossguide": (Regressor, dict(loss_function="MultiRMSE", grow_policy="Lossguide")),
    "base": (catboost.CatBoost, dict(loss_function="RMSE")),
    "yeti": (Ranker, dict(loss_function="YetiRank")),
    "pairs": (Ranker, dict(loss_function="PairLogit")),
    "queries": (Ranker, dict(loss_function="QueryRMSE")),
    "labels": (Classifier, dict(loss_function="MultiLogloss")),
    "labels_threshold": (Classifier, dict(loss_function="MultiCrossEntropy")),
    "scaled": (Regressor, dict(loss_function="RMSE")),
    "scaled_targets": (Regressor, dict(loss_function="MultiRMSE")),
    "sum": (Regressor, dict(loss_function="RMSE")),
}
EXP = ("poisson", "tweedie", "uncertainty")


def table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    rows = random.normal(size=(600, 5))
    rows[:, 1] = random.integers(0, 5, 600)
    rows[:, 3] *= 1e6
    target = np.abs(rows[:, 0] + np.sin(3 * rows[:, 1]) + 0.3 * random.normal(size=600)) + 0.01
    rows[random.random(rows.shape) < 0.1] = np.nan
    return rows, target


def fitted(name: str) -> tuple[catboost.CatBoost, np.ndarray]:
    kind, parameters = CONFIGURATIONS[name]
    rows, target = table()
    parameters = {**COMMON, **parameters}
    model = kind(parameters) if kind is catboost.CatBoost else kind(**parameters)
    if kind is Ranker:
        model.fit(rows, np.digitize(target, [0.5, 1.0]), group_id=np.arange(600) // 20)
    elif name == "survival":
        model.fit(rows, np.c_[target, np.where(target > 1, -1, target + 1)])
    elif kind is Classifier:
        model.fit(rows, np.c_[target > 0.5, target > 1, np.arange(600) % 2].astype(int))
    elif "targets" in name:
        model.fit(rows, np.c_[target, -(target**2), np.sin(target)])
    else:
        model.fit(rows, target)
    if name == "labels_threshold":
        model.set_probability_threshold(0.3)
    if name == "scaled":
        model.set_scale_and_bias(0.7, -0.1)
    if name == "scaled_targets":
        model.set_scale_and_bias(-1.3, [0.0, 1e-3, 2.0])
    if name == "sum":
        model = catboost.sum_models([model, Regressor(**{**COMMON, "depth": 2}).fit(rows, target)], weights=[0.3, 1.7])
    return model, rows


def raw(model: catboost.CatBoost, rows: np.ndarray | pd.DataFrame) -> np.ndarray:
    return np.asarray(catboost.CatBoost.predict(model, rows, "RawFormulaVal")).reshape(len(rows), -1)


def wild_rows(model: secateur.Model, base: np.ndarray, count: int = 10_000) -> np.ndarray:
    """Hostile rows with numbers beyond f32 among them."""
    rows = hostile_rows(model, base, count)
    random = np.random.default_rng(1)
    wide = random.random(rows.shape) < 0.05
    rows[wide] = random.choice([1e300, -1e300, 3.5e38, 1e-310, -5e-324, 3.4028235677973366e38], wide.sum())
    return rows


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_scores_and_predictions_have_the_bits_of_the_library(name, tmp_path):
    library, base = fitted(name)
    model = secateur.load(library)
    assert not model.is_classifier and model.classes == []
    rows = wild_rows(model, base)
    assert_same_bits(model.raw_scores(rows), raw(library, rows), rows)
    if name in EXP:
        with pytest.raises(secateur.ModelError, match="raw_scores"):
            model.predict(rows)
    else:
        assert_same_bits(model.predict(rows), np.asarray(library.predict(rows), dtype=float), rows)
    with pytest.raises(secateur.ModelError, match="regressor or ranker"):
        model.class_indices(rows)
    for kind in ("cbm", "json"):
        path = tmp_path / f"model.{kind}"
        library.save_model(str(path), format=kind)
        read = secateur.load(path)
        assert read.to_bytes() == path.read_bytes()
        # What CatBoost makes of the file: its JSON reader moves last bits.
        assert_same_bits(read.raw_scores(rows), raw(loaded(read, path, type(library)), rows), rows)
        groups = len(read.intercepts)
        for trees, intercepts in (
            (half_of_the_trees(read), None),
            (reweighted_trees(read), [0.5 * group - 0.3 for group in range(groups)]),
            ([], None),
        ):
            edited = read.edit(trees, intercepts)
            again = loaded(edited, path, type(library))
            assert_same_bits(edited.raw_scores(rows), raw(again, rows), rows)
            if name not in EXP:
                assert_same_bits(edited.predict(rows), np.asarray(again.predict(rows), dtype=float), rows)


PATHS = list(secateur.pack(Regressor(**COMMON).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])).self_test())


def assert_packs(library: catboost.CatBoost, base: np.ndarray, folder: pathlib.Path) -> secateur.PackedModel:
    """The packed model has the library's bits on every path, alone and in blocks, comes back from its file, and is certified."""
    packed = secateur.pack(library)
    rows = wild_rows(secateur.load(library), base, 4000)
    theirs = raw(library, rows)
    for path in PATHS:
        assert_same_bits(packed.raw_scores(rows, path=path), theirs, rows)
        assert_same_bits(np.concatenate([packed.raw_scores(rows[i : i + 1], path=path) for i in range(200)]), theirs[:200], rows[:200])
    packed.save(folder / "model.spk", certificate=folder / "model.cert")
    again = secateur.load(folder / "model.spk")
    assert_same_bits(again.raw_scores(rows, threads=2), theirs, rows)
    library.save_model(str(folder / "model.cbm"))
    assert secateur.check(folder / "model.cbm", folder / "model.spk", folder / "model.cert")["outcome"] == "same_bits"
    assert packed.self_test() == dict.fromkeys(PATHS, True)
    return again


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_kind_packs_with_the_bits_of_the_library(name, tmp_path):
    library, base = fitted(name)
    packed = assert_packs(library, base, tmp_path)
    rows = wild_rows(secateur.load(library), base, 4000)
    ours, theirs = packed.predict(rows), np.asarray(library.predict(rows))
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if name in EXP:
        assert np.allclose(ours, theirs, rtol=1e-12, atol=0)
    else:
        assert np.array_equal(ours, theirs)
    if name.startswith("labels"):
        assert np.abs(packed.predict_proba(rows) - library.predict_proba(rows)).max() < 1e-12
        assert np.array_equal(packed.classes_, library.classes_)
        target = np.asarray(library.predict(base))
        target[::3, 0] ^= 1
        assert packed.score(base, target) == (len(target) - len(target[::3])) / len(target)
        assert is_classifier(packed) and packed.__sklearn_tags__().classifier_tags.multi_label
    else:
        with pytest.raises(AttributeError, match="no probabilities"):
            packed.predict_proba(rows)


@pytest.mark.parametrize("scale, bias", [(0.7, 0.1), (-2.0, 0.0), (0.0, -0.1), (-0.0, 0.0), (1e-200, 0.0), (1e300, 1e-300)])
@pytest.mark.parametrize("labels", [2, 3, "several"])
def test_scaled_models_pack_with_the_bits_of_the_library(scale, bias, labels, tmp_path):
    rows, target = table()
    if labels == "several":
        target, loss = np.c_[target > 0.5, target > 1, np.arange(600) % 2].astype(int), "MultiLogloss"
    else:
        target, loss = np.digitize(target, [0.5, 1.0][: labels - 1]), None
    library = Classifier(**{**COMMON, "loss_function": loss}).fit(rows, target)
    library.set_scale_and_bias(scale, bias if labels == 2 else [bias, 0.0, -bias])
    packed = assert_packs(library, rows, tmp_path)
    hostile = wild_rows(secateur.load(library), rows, 4000)
    ours, theirs = packed.predict(hostile), np.asarray(library.predict(hostile))
    assert np.array_equal(ours, theirs if labels == "several" else np.ravel(theirs))
    assert np.abs(packed.predict_proba(hostile) - library.predict_proba(hostile)).max() < 1e-12


def loaded(model: secateur.Model, path: pathlib.Path, kind: type) -> catboost.CatBoost:
    """CatBoost with the file of a model."""
    path.write_bytes(model.to_bytes())
    new = kind()
    return new.load_model(str(path), format=path.suffix[1:])


def test_what_the_predictions_with_exp_are() -> None:
    """The words about them are true, up to the last bits."""
    for name, made in (
        ("poisson", lambda scores: np.exp(scores[:, 0])),
        ("tweedie", lambda scores: np.exp(scores[:, 0])),
        ("uncertainty", lambda scores: np.c_[scores[:, 0], np.exp(2 * scores[:, 1])]),
    ):
        library, rows = fitted(name)
        scores = secateur.load(library).raw_scores(rows)
        assert np.allclose(library.predict(rows), made(scores), rtol=1e-12)
        words = "exp of twice the second" if name == "uncertainty" else "exp of the score"
        assert words in str(secateur.inspect(library)), secateur.inspect(library)


def test_categories_of_a_regressor() -> None:
    rows, target = table()
    words = np.array(["amber", "blue", "", "é", "17"])[np.random.default_rng(0).integers(0, 5, 600)]
    frame = pd.DataFrame({"size": rows[:, 0], "word": words, "width": rows[:, 1]})
    library = Regressor(**{**COMMON, "one_hot_max_size": 20}).fit(frame, target + (words == "blue"), cat_features=["word"])
    from secateur import _model

    frame["word"] = [w if i % 3 else "unseen" for i, w in enumerate(words)]
    codes = _model.recognise(library).rows(frame)
    assert_same_bits(secateur.load(library).raw_scores(codes), raw(library, frame), codes)


@pytest.mark.parametrize("name", ["squares", "poisson", "targets", "yeti", "base", "scaled", "sum", "labels"])
def test_objects_come_back_as_they_were(name):
    library, rows = fitted(name)
    from secateur import _model

    subject = _model.recognise(library)
    half = subject.model.edit(half_of_the_trees(subject.model))
    new = subject.rebuild(half)
    assert type(new) is type(library) and new.get_params() == library.get_params()
    assert_same_bits(half.raw_scores(rows), raw(new, rows), rows)
    same = subject.rebuild(subject.model)
    for other in (same, pickle.loads(pickle.dumps(same)), copy.deepcopy(same)):
        assert np.array_equal(other.predict(rows), library.predict(rows))


def test_scores_are_compared() -> None:
    """The greatest difference is a bound, and the input that shows the least one shows it in the library, too."""
    for name in ("squares", "targets", "labels", "scaled"):
        kind, parameters = CONFIGURATIONS[name]
        library, base = fitted(name)
        model = secateur.load(library)
        edited = model.edit([(tree, 1.01 if tree == 2 else None) for tree in range(model.tree_count)])
        answer = secateur.verify(library, edited, scores=True, time_limit=60)
        assert answer.outcome == "measured" and 0 < answer.at_least <= answer.at_most
        from secateur import _model

        other = _model.recognise(library).rebuild(edited)
        rows = wild_rows(model, base, 5000)
        assert np.abs(raw(library, rows) - raw(other, rows)).max() <= answer.at_most
        shown = answer.input.reshape(1, -1)
        assert np.abs(raw(library, shown) - raw(other, shown)).max() == pytest.approx(answer.at_least, rel=1e-9)
        assert secateur.verify(library, library, scores=True).at_most <= 1e-12
        with pytest.raises(secateur.ComparisonError, match="several labels"):
            secateur.verify(library, edited)
        with pytest.raises(secateur.SecateurError, match="no classes to choose from"):
            secateur.prune(library)


def test_a_scaled_classifier_is_pruned() -> None:
    rows, target = table()
    for scale, bias in ((0.7, 0.1), (-2.0, 0.3), (0.0, -0.1), (1e-200, 0.0)):
        for classes in (2, 3):
            library = Classifier(**{**COMMON, "depth": 2}).fit(rows, np.digitize(target, [0.5, 1.0][: classes - 1]))
            library.set_scale_and_bias(scale, bias if classes == 2 else [bias, 0.0, -bias])
            model = secateur.load(library)
            hostile = wild_rows(model, rows, 5000)
            assert_same_bits(model.raw_scores(hostile), raw(library, hostile), hostile)
            result = secateur.prune(library, rows, time_limit=20)
            assert result.checked and secateur.load(result.model).dialect.count("CatBoost")
            before, after = raw(library, hostile), raw(result.model, hostile)
            ordered = np.sort(before, axis=1)
            lead = np.abs(ordered[:, 0]) if classes == 2 else ordered[:, -1] - ordered[:, -2]
            clear = lead > 1e-9 * np.abs(before).max() + 1e-300
            same = np.ravel(library.predict(hostile)) == np.ravel(result.model.predict(hostile))
            assert same[clear].all(), (scale, classes)
            assert result.trees_after <= result.trees_before and after.shape == before.shape


def test_objects_that_hold_another_kind_of_model_are_refused(tmp_path):
    rows, target = table()
    path = str(tmp_path / "model.cbm")
    fitted("squares")[0].save_model(path)
    with pytest.raises(secateur.ModelError, match="load its file into a CatBoostRegressor"):
        secateur.load(Classifier().load_model(path))
    Classifier(**COMMON).fit(rows, target > 1).save_model(path)
    for kind in (Regressor, Ranker):
        with pytest.raises(secateur.ModelError, match="load its file into a CatBoostClassifier"):
            secateur.load(kind().load_model(path))
    odd, _ = fitted("squares")
    odd._init_params["loss_function"] = "Poisson"
    odd._canonized_params = None
    with pytest.raises(secateur.ModelError, match="predict returns Exponent"):
        secateur.load(odd)
    # The library forgets the parameters here, and predict returns the scores: nothing is claimed of anything else.
    poisson, _ = fitted("poisson")
    forgetful = Regressor().load_model(blob=poisson._serialize_model())
    assert_same_bits(secateur.load(forgetful).raw_scores(rows), np.asarray(forgetful.predict(rows)), rows)
