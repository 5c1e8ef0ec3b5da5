"""scikit-learn's classifiers, from skops archives and from memory, against scikit-learn itself.

Forests are compared with `n_jobs=1`: with more jobs scikit-learn adds trees in an order of its own.
"""

from __future__ import annotations

import functools
import io
import pickle
import zipfile
from typing import Any, Callable, NamedTuple

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import harness
import secateur
from secateur import _sklearn

ROWS = 10_000
EDITED_ROWS = 1_000
WORDS = ["ash", "beech", "cedar", "elm", "fir", "hazel"]


@functools.cache
def data(classes: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        400, 6, n_informative=5, n_redundant=0, n_classes=classes, weights=[0.5, 0.2], random_state=classes
    )


def with_missing(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    return rows


def with_categories(rows: np.ndarray) -> np.ndarray:
    """Columns 1 and 4 hold categories: whole numbers with gaps, and numbers with fractions."""
    rows = rows.copy()
    random = np.random.default_rng(2)
    rows[:, 1] = random.integers(0, 12, len(rows)) * 3.0 + (rows[:, 0] > 0)
    rows[:, 4] = random.choice([-2.5, 0.0, 0.1, 7.0], len(rows))
    return rows


def with_words(rows: np.ndarray) -> pd.DataFrame:
    """Column c holds words, column e whole numbers; both are categorical."""
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    random = np.random.default_rng(3)
    frame["c"] = pd.Categorical(np.array(WORDS)[random.integers(0, 6, len(rows))])
    frame["e"] = pd.Categorical(random.integers(0, 5, len(rows)) * 10)
    return frame


class Case(NamedTuple):
    estimator: Any
    base: np.ndarray
    """Rows to start from, as numbers."""
    to_library: Callable[[np.ndarray], Any]
    """From rows of numbers to what scikit-learn takes."""


def plain(estimator, classes: int = 2, labels=None, missing: bool = False) -> Case:
    rows, target = data(classes)
    if missing:
        rows = with_missing(rows)
    return Case(estimator.fit(rows, target if labels is None else np.array(labels)[target]), rows, lambda x: x)


def named(estimator, classes: int = 2) -> Case:
    rows, target = data(classes)
    frame = functools.partial(pd.DataFrame, columns=list("abcdef"))
    return Case(estimator.fit(frame(rows), target), rows, frame)


def categorical(estimator, classes: int = 2, missing: bool = False) -> Case:
    rows, target = data(classes)
    rows = with_categories(rows)
    if missing:
        rows = with_missing(rows)
    return Case(estimator.fit(rows, target), rows, lambda x: x)


def words(estimator, classes: int = 2) -> Case:
    rows, target = data(classes)
    frame = with_words(rows)
    numbers = rows.copy()
    numbers[:, 2] = frame["c"].cat.codes
    numbers[:, 4] = frame["e"].astype(int)

    def to_library(x: np.ndarray) -> pd.DataFrame:
        new = pd.DataFrame(x, columns=list("abcdef"))
        known = np.isin(x[:, 2], range(len(WORDS)))
        column = np.array([*WORDS, "yew"], dtype=object)[np.where(known, x[:, 2], len(WORDS)).astype(int)]
        column[np.isnan(x[:, 2])] = np.nan
        new["c"] = pd.Series(column, dtype=object).astype("category")
        return new

    return Case(estimator.fit(frame, target), numbers, to_library)


def histogram(**options) -> HistGradientBoostingClassifier:
    options = {"max_iter": 12, "max_leaf_nodes": 9, "min_samples_leaf": 4, "random_state": 0} | options
    return HistGradientBoostingClassifier(**options)


MASK = [False, True, False, False, True, False]

CASES: dict[str, Callable[[], Case]] = {
    "tree": lambda: plain(DecisionTreeClassifier(max_depth=7, random_state=0)),
    "tree_one_class": lambda: plain(DecisionTreeClassifier(), labels=[5, 5]),
    "tree_missing_words": lambda: plain(
        DecisionTreeClassifier(max_leaf_nodes=40, ccp_alpha=0.001, class_weight="balanced", random_state=0),
        3,
        labels=["no", "perhaps", "yes"],
        missing=True,
    ),
    "tree_monotonic": lambda: plain(DecisionTreeClassifier(max_depth=6, monotonic_cst=[1, 0, 0, -1, 0, 0])),
    "extra_tree": lambda: plain(ExtraTreeClassifier(max_depth=7, random_state=0), 3, missing=True),
    "forest": lambda: named(
        RandomForestClassifier(15, max_depth=6, random_state=np.random.RandomState(0), n_jobs=1)
    ),
    "forest_missing": lambda: plain(
        RandomForestClassifier(15, max_depth=6, random_state=0, class_weight="balanced", warm_start=False),
        labels=[False, True],
        missing=True,
    ),
    "forest_three": lambda: plain(RandomForestClassifier(15, max_depth=6, random_state=0), 3, labels=[2.0, 4.0, 8.0]),
    "extra_trees": lambda: plain(ExtraTreesClassifier(15, max_depth=6, random_state=0), labels=["no", "yes"]),
    "extra_trees_missing": lambda: plain(ExtraTreesClassifier(15, max_depth=6, random_state=0), 3, missing=True),
    "adaboost": lambda: plain(AdaBoostClassifier(n_estimators=40, random_state=0)),
    "adaboost_named": lambda: named(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=40, learning_rate=0.3, random_state=0)
    ),
    "adaboost_three": lambda: plain(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=20, random_state=0), 3
    ),
    "adaboost_ended_early": lambda: plain(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=60, random_state=0), 2
    ),
    "boosting": lambda: plain(GradientBoostingClassifier(n_estimators=20, random_state=0)),
    "boosting_exponential": lambda: named(
        GradientBoostingClassifier(n_estimators=15, loss="exponential", subsample=0.6, random_state=0)
    ),
    "boosting_from_zero": lambda: plain(
        GradientBoostingClassifier(n_estimators=15, init="zero", learning_rate=0.37, random_state=0)
    ),
    "boosting_dummy": lambda: plain(
        GradientBoostingClassifier(n_estimators=5, init=DummyClassifier(), random_state=0), labels=["b", "a"]
    ),
    "boosting_three": lambda: plain(
        GradientBoostingClassifier(n_estimators=10, n_iter_no_change=5, random_state=0), 3, labels=["a", "b", "c"]
    ),
    "boosting_three_from_zero": lambda: plain(
        GradientBoostingClassifier(n_estimators=10, init="zero", random_state=0), 3
    ),
    "histogram": lambda: named(histogram(monotonic_cst={"a": 1})),
    "histogram_missing": lambda: plain(histogram(class_weight="balanced"), labels=["no", "yes"], missing=True),
    "histogram_three": lambda: plain(histogram(interaction_cst="pairwise"), 3),
    "histogram_categories": lambda: categorical(histogram(categorical_features=MASK, early_stopping=True)),
    "histogram_categories_missing": lambda: categorical(histogram(categorical_features=[1, 4]), 3, missing=True),
    "histogram_words": lambda: words(histogram(categorical_features="from_dtype")),
    "histogram_named_words": lambda: words(histogram(categorical_features=["c", "e"]), 3),
}

# The start of these is the logarithm of class priors, which NumPy computes in its own way on some processors.
START_BY_PROCESSOR = {"boosting_three"}


@functools.cache
def case(name: str) -> Case:
    return CASES[name]()


@functools.cache
def archive(name: str) -> bytes:
    return skops.io.dumps(case(name).estimator)


def raw(estimator, rows) -> np.ndarray:
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(rows)
    return estimator.predict_proba(rows)


def from_archive(data: bytes):
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def models(name: str) -> dict[str, secateur.Model]:
    return {"skops": secateur.Model.parse(archive(name)), "memory": secateur.load(case(name).estimator)}


def assert_predicts_as(model: secateur.Model, estimator, rows: np.ndarray, to_library) -> None:
    theirs = to_library(rows)
    # The library's check for infinities adds up the whole table, which overflows.
    with np.errstate(over="ignore", invalid="ignore"):
        scores, labels = raw(estimator, theirs), estimator.predict(theirs)
    harness.assert_same_bits(model.raw_scores(rows), scores, rows)
    harness.assert_same_classes(harness.classes(model, rows), labels, rows)


@pytest.mark.parametrize("name", CASES)
def test_raw_scores_and_classes_are_those_of_the_library(name):
    estimator, base, to_library = case(name)
    both = models(name)
    rows = harness.hostile_rows(both["memory"], base, ROWS)
    assert_predicts_as(both["memory"], estimator, rows, to_library)
    if name in START_BY_PROCESSOR:
        np.testing.assert_allclose(both["skops"].intercepts, both["memory"].intercepts, rtol=0, atol=4e-16)
        if both["skops"].intercepts != both["memory"].intercepts:
            assert "AVX-512" in both["skops"].notes[0]
            np.testing.assert_allclose(
                both["skops"].raw_scores(rows), both["memory"].raw_scores(rows), rtol=0, atol=1e-14
            )
            return
    harness.assert_same_bits(both["skops"].raw_scores(rows), both["memory"].raw_scores(rows), rows)
    assert both["skops"].classes == both["memory"].classes
    assert both["skops"].feature_names == both["memory"].feature_names
    assert both["skops"].domain == both["memory"].domain


@pytest.mark.parametrize("name", CASES)
def test_the_input_domain_is_that_of_the_library(name):
    estimator, base, to_library = case(name)
    model = secateur.load(estimator)
    for value, accepted in [(np.nan, model.domain["missing"]), (np.inf, model.domain["infinities"]), (1e39, None)]:
        row = np.nan_to_num(base[:1].copy())
        row[0, 0] = value
        if accepted is None:
            accepted = model.domain["number"] == "f64"
        if accepted:
            assert_predicts_as(model, estimator, row, to_library)
            continue
        with pytest.raises(ValueError, match="NaN|infinity"), np.errstate(over="ignore"):
            estimator.predict(to_library(row))
        with pytest.raises(secateur.InputError):
            model.raw_scores(row)


def edits(model: secateur.Model, name: str) -> dict[str, tuple[list, list[float] | None]]:
    """Edits by name. What an AdaBoost of several classes can hold as an intercept is a vote."""
    everything = [(tree, None) for tree in range(model.tree_count)]
    if name == "adaboost_three":
        moved = [-0.5 * 0.37, 0.37, -0.5 * 0.37]
    else:
        moved = [value + 0.1 * (group + 1) for group, value in enumerate(model.intercepts)]
    return {
        "unchanged": (everything, None),
        "half": (harness.half_of_the_trees(model), None),
        "reweighted": (harness.reweighted_trees(model), None),
        "moved": (everything, moved),
        "all_at_once": ([(t, f) for t, f in harness.reweighted_trees(model, 1) if t % 3], moved),
        "one_tree": ([(model.tree_count - 1, 0.7)], None),
        "constant": ([], moved),
    }


@pytest.mark.parametrize("name", CASES)
def test_edited_archives_load_and_predict_what_the_model_says(name):
    _, base, to_library = case(name)
    model = secateur.Model.parse(archive(name))
    rows = harness.hostile_rows(model, base, EDITED_ROWS, seed=1)
    for edit, (trees, intercepts) in edits(model, name).items():
        edited = model.edit(trees, intercepts)
        data = edited.to_bytes()
        if edit == "unchanged":
            assert data == archive(name)
            continue
        again = secateur.Model.parse(data)
        assert again.to_bytes() == data
        harness.assert_same_bits(again.raw_scores(rows), edited.raw_scores(rows), rows)
        assert_predicts_as(edited, from_archive(data), rows, to_library)
        assert_no_stale_members(data)


@pytest.mark.parametrize("name", CASES)
def test_edited_estimators_predict_what_the_model_says(name):
    estimator, base, to_library = case(name)
    model = secateur.load(estimator)
    rows = harness.hostile_rows(model, base, EDITED_ROWS, seed=2)
    assert_predicts_as(model, estimator, rows, to_library)
    for trees, intercepts in edits(model, name).values():
        edited = model.edit(trees, intercepts)
        new = _sklearn.rebuild(estimator, edited)
        assert type(new) is type(estimator)
        assert_predicts_as(edited, new, rows, to_library)
        assert_predicts_as(edited, pickle.loads(pickle.dumps(new)), rows, to_library)
        np.testing.assert_array_equal(new.classes_, estimator.classes_)
        if hasattr(new, "estimators_"):
            assert new.n_estimators == len(new.estimators_)
        # An edited model can be read and edited again.
        again = secateur.load(new)
        harness.assert_same_bits(again.raw_scores(rows), edited.raw_scores(rows), rows)
        twice = edited.edit([(tree, None) for tree in range(0, edited.tree_count, 2)])
        assert_predicts_as(twice, _sklearn.rebuild(estimator, twice), rows, to_library)
    # The original is as it was.
    assert_predicts_as(model, estimator, rows, to_library)


def assert_no_stale_members(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = archive.read("schema.json").decode()
        assert archive.testzip() is None
        for name in archive.namelist():
            assert name == "schema.json" or f'"{name}"' in schema, f"{name} is of no use"


def test_edits_really_change_the_model():
    model = secateur.Model.parse(archive("boosting"))
    rows = case("boosting").base
    scores = model.raw_scores(rows)
    for edit, (trees, intercepts) in edits(model, "boosting").items():
        same = np.array_equal(model.edit(trees, intercepts).raw_scores(rows), scores)
        assert same == (edit == "unchanged"), edit


def test_ties_go_the_way_of_each_library():
    rows, target = data(2)
    for name, winner in [("boosting", 1), ("histogram_missing", 0), ("forest_missing", 0), ("tree", 0)]:
        estimator, _, to_library = case(name)
        model = secateur.load(estimator)
        tied = model.edit([], [0.0] * len(model.intercepts))
        assert (tied.raw_scores(rows) == 0.0).all()
        assert (tied.class_indices(rows) == winner).all()
        assert_predicts_as(tied, _sklearn.rebuild(estimator, tied), rows, to_library)
    voters = AdaBoostClassifier(n_estimators=2, random_state=0).fit(rows, target)
    voters.estimator_weights_ = np.array([0.1, 0.1])
    model = secateur.load(voters)
    tied = np.flatnonzero(model.raw_scores(rows)[:, 0] == 0.0)
    assert len(tied) > 10 and (model.class_indices(rows[tied]) == 0).all()
    assert_predicts_as(model, voters, rows, lambda x: x)


def test_a_compressed_archive_is_read_and_edited():
    estimator, base, to_library = case("forest")
    data = skops.io.dumps(estimator, compression=zipfile.ZIP_DEFLATED, compresslevel=9)
    model = secateur.Model.parse(data)
    assert model.to_bytes() == data
    assert_predicts_as(model, estimator, base, to_library)
    edited = model.edit(harness.half_of_the_trees(model))
    assert_predicts_as(edited, from_archive(edited.to_bytes()), base, to_library)


def test_a_large_archive_has_more_members_than_a_plain_directory_counts():
    """Above 65,535 members the directory has another form (ZIP64)."""
    estimator = case("tree").estimator
    buffer = io.BytesIO(skops.io.dumps(estimator))
    with zipfile.ZipFile(buffer, "a") as archive:
        for index in range(66_000):
            archive.writestr(f"extra/{index}", b"")
    model = secateur.Model.parse(buffer.getvalue())
    rows = case("tree").base
    edited = model.edit([(0, 2.0)])
    with zipfile.ZipFile(io.BytesIO(edited.to_bytes())) as archive:
        assert len(archive.namelist()) > 66_000
    harness.assert_same_bits(from_archive(edited.to_bytes()).predict_proba(rows), edited.raw_scores(rows), rows)


def test_weights_of_adaboost_are_summed_as_numpy_does():
    """The divisor of the decision function, for every way in which NumPy groups a sum."""
    rows, target = data(2)
    estimator = AdaBoostClassifier(n_estimators=3, random_state=0).fit(rows, target)
    random = np.random.default_rng(0)
    for count in [*range(3, 30), 127, 128, 129, 200, 255, 256, 257, 1000, 4099]:
        estimator.estimator_weights_ = random.uniform(0.01, 3.0, count)
        model = secateur.load(estimator)
        harness.assert_same_bits(model.raw_scores(rows), estimator.decision_function(rows), rows)


def test_the_start_of_boosting_is_computed_as_scipy_does():
    rows, target = data(2)
    random = np.random.default_rng(0)
    for loss in ("log_loss", "exponential"):
        estimator = GradientBoostingClassifier(n_estimators=1, loss=loss, random_state=0).fit(rows, target)
        priors = [0.0, 1.0, 1e-300, 0.3, 0.65, 0.5, np.nextafter(0.3, 0), np.nextafter(0.65, 1), *random.random(40)]
        for prior in priors:
            estimator.init_.class_prior_ = np.array([1.0 - prior, prior])
            model = secateur.Model.parse(skops.io.dumps(estimator))
            harness.assert_same_bits(model.raw_scores(rows[:1]), estimator.decision_function(rows[:1]), rows[:1])


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (RandomForestClassifier(2), "several outputs"),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=2), "AdaBoost of"),
        (GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier(max_depth=1)), "starts? from"),
        (GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="uniform")), "starts? from"),
        (LogisticRegression(), "LogisticRegression"),
    ],
)
def test_what_is_not_supported_is_refused_on_both_ways(estimator, words):
    rows, target = data(2)
    several = isinstance(estimator, RandomForestClassifier)
    estimator.fit(rows, np.column_stack([target, target]) if several else target)
    with pytest.raises(secateur.ModelError, match=words):
        secateur.load(estimator)
    with pytest.raises(secateur.ModelError, match=words):
        secateur.Model.parse(skops.io.dumps(estimator))


def test_an_unfitted_estimator_and_a_subclass_are_refused():
    class Mine(RandomForestClassifier):
        pass

    Mine.__module__ = "sklearn.mine"
    with pytest.raises(secateur.ModelError, match="not fitted"):
        secateur.load(RandomForestClassifier())
    with pytest.raises(secateur.ModelError, match="sklearn.mine"):
        secateur.load(Mine())


def test_an_adaboost_cannot_hold_every_edit():
    three = secateur.Model.parse(archive("adaboost_three"))
    with pytest.raises(secateur.EditingError, match="vote"):
        three.edit([(0, None)], [0.1, 0.2, 0.3])
    with pytest.raises(secateur.EditingError, match="at least one tree"):
        three.edit([])


def test_a_model_from_memory_has_no_file():
    with pytest.raises(secateur.EditingError, match="skops.io.dump"):
        secateur.load(case("tree").estimator).to_bytes()
