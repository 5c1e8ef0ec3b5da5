"""LightGBM text models against the live library: raw scores in every bit, classes, and edited files."""

from __future__ import annotations

import pathlib
import re

import lightgbm
import numpy as np
import pandas
import pytest
import scipy.sparse
from harness import (
    ZERO_WINDOW,
    assert_same_bits,
    assert_same_classes,
    classes,
    half_of_the_trees,
    hostile_rows,
    neighbours,
    reweighted_trees,
)

import secateur

FIXTURES = pathlib.Path(__file__).parents[2] / "testdata" / "models" / "lightgbm"
COMMON = dict(n_estimators=16, num_leaves=15, min_child_samples=5, n_jobs=1, verbosity=-1, random_state=3)
CATEGORICAL = dict(min_data_per_group=5, cat_smooth=1.0, max_cat_to_onehot=2)
FOREST = dict(boosting_type="rf", subsample=0.6, subsample_freq=1)

# Name, number of classes, parameters, whether a column is categorical.
CONFIGURATIONS = {
    "binary": (2, dict(), False),
    "binary_sigmoid": (2, dict(sigmoid=7.82), False),
    "binary_small_sigmoid": (2, dict(sigmoid=0.001), False),
    "one_leaf_trees": (2, dict(min_child_samples=2000, n_estimators=3), False),
    "deep": (2, dict(num_leaves=200, min_child_samples=1), False),
    "stumps": (2, dict(num_leaves=2, n_estimators=60), False),
    "cross_entropy": (2, dict(objective="cross_entropy"), False),
    "multiclass": (4, dict(), False),
    "multiclassova": (3, dict(objective="multiclassova"), False),
    "multiclassova_sigmoid": (3, dict(objective="multiclassova", sigmoid=1.7), False),
    "rf": (2, FOREST, False),
    "rf_multiclass": (3, FOREST, False),
    "rf_multiclassova": (3, dict(FOREST, objective="multiclassova"), False),
    "dart": (2, dict(boosting_type="dart", drop_rate=0.5), False),
    "dart_multiclass": (3, dict(boosting_type="dart", drop_rate=0.5), False),
    "goss": (2, dict(data_sample_strategy="goss"), False),
    "zero_as_missing": (2, dict(zero_as_missing=True), False),
    "use_missing_false": (2, dict(use_missing=False), False),
    "categorical": (2, CATEGORICAL, True),
    "categorical_multiclass": (3, CATEGORICAL, True),
    "categorical_zero_as_missing": (2, dict(CATEGORICAL, zero_as_missing=True), True),
    "categorical_use_missing_false": (2, dict(CATEGORICAL, use_missing=False), True),
    "extra_trees_with_monotone_constraints": (
        2,
        dict(extra_trees=True, monotone_constraints=[1, 0, -1, 0, 0]),
        False,
    ),
}


def table(class_count: int, missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Five columns, the last two small whole numbers, with many zeros and missing values."""
    random = np.random.default_rng(11)
    rows = random.normal(size=(1500, 5))
    rows[:, 2] = np.where(random.random(1500) < 0.5, 0.0, rows[:, 2] * 1e-35)
    rows[:, 3] = random.integers(0, 4, 1500)
    rows[:, 4] = random.integers(0, 70, 1500)
    target = rows[:, 0] + np.abs(rows[:, 1]) + (rows[:, 2] > 0) + (rows[:, 4].astype(int) * 7 % 5) / 2
    target += 0.3 * random.normal(size=1500)
    if missing:
        rows[random.random(rows.shape) < 0.08] = np.nan
    labels = np.searchsorted(np.quantile(target, np.arange(1, class_count) / class_count), target)
    return rows, labels


def fitted(name: str) -> tuple[lightgbm.LGBMClassifier, np.ndarray]:
    class_count, parameters, categorical = CONFIGURATIONS[name]
    rows, labels = table(class_count)
    classifier = lightgbm.LGBMClassifier(**{**COMMON, **parameters})
    classifier.fit(rows, labels, categorical_feature=[3, 4] if categorical else "auto")
    return classifier, rows


def library_classes(booster: lightgbm.Booster, rows: np.ndarray) -> np.ndarray:
    """The class that LGBMClassifier.predict gives with this booster in it."""
    shares = booster.predict(rows)
    if shares.ndim == 1:
        shares = np.vstack((1.0 - shares, shares)).T
    classifier = lightgbm.LGBMClassifier(n_estimators=1, verbosity=-1, n_jobs=1)
    classes = np.arange(shares.shape[1])
    classifier.fit(np.zeros((40, rows.shape[1])), np.resize(classes, 40))
    classifier._Booster = booster
    return classifier.predict(rows)


def loaded(model: secateur.Model) -> lightgbm.Booster:
    return lightgbm.Booster(model_str=model.to_bytes().decode())


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_scores_have_the_bits_of_the_library_and_classes_agree(name):
    classifier, base = fitted(name)
    model = secateur.load(classifier)
    rows = hostile_rows(model, base)
    assert_same_bits(model.raw_scores(rows), classifier.predict(rows, raw_score=True), rows)
    assert_same_classes(classes(model, rows), classifier.predict(rows), rows)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_unchanged_file_keeps_its_bytes_and_loads(name, tmp_path):
    classifier, _ = fitted(name)
    path = tmp_path / "model.txt"
    classifier.booster_.save_model(path)
    model = secateur.load(path)
    assert model.to_bytes() == path.read_bytes()


def edits(model: secateur.Model, groups: int) -> dict[str, secateur.Model]:
    """Edited models: rounds and single trees removed, weights folded, the intercept moved, and all."""
    intercepts = [0.1 - 0.7 * group for group in range(groups)]
    both = [(tree, 0.3 + tree / 7) for tree in range(model.tree_count) if tree % 3 != 1]
    return {
        "half of the rounds": model.edit(half_of_the_trees(model, groups)),
        "half of the trees": model.edit(half_of_the_trees(model)),
        "weights": model.edit(reweighted_trees(model)),
        "intercept": model.edit([(tree, None) for tree in range(model.tree_count)], intercepts),
        "all": model.edit(both, intercepts),
        "nothing but the intercept": model.edit([], intercepts),
        "nothing": model.edit([]),
    }


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_edited_models_load_in_the_library_and_predict_the_same_bits(name):
    classifier, base = fitted(name)
    model = secateur.load(classifier)
    groups = classifier.booster_.num_model_per_iteration()
    rows = hostile_rows(model, base, count=2500, seed=1)
    for kind, edited in edits(model, groups).items():
        booster = loaded(edited)
        assert booster.num_trees() == edited.tree_count, kind
        assert_same_bits(edited.raw_scores(rows), booster.predict(rows, raw_score=True), rows)
        assert_same_classes(classes(edited, rows), library_classes(booster, rows), rows)
        # What LightGBM itself writes of it says the same.
        again = secateur.Model.parse(booster.model_to_string().encode())
        assert_same_bits(again.raw_scores(rows), edited.raw_scores(rows), rows)


def test_folded_weights_and_a_moved_intercept_are_what_was_asked_for():
    classifier, base = fitted("multiclass")
    model = secateur.load(classifier)
    rows = hostile_rows(model, base, count=500)
    trees = [(tree, 0.5) for tree in range(model.tree_count)]
    scores = model.edit(trees, [1.0, 2.0, 3.0, 4.0]).raw_scores(rows)
    assert np.allclose(scores, model.raw_scores(rows) * 0.5 + [1.0, 2.0, 3.0, 4.0], rtol=0, atol=1e-12)


def test_early_stopping_leaves_only_the_best_rounds_in_the_file():
    rows, labels = table(2)
    stop = lightgbm.early_stopping(3, verbose=False)
    classifier = lightgbm.LGBMClassifier(**{**COMMON, "n_estimators": 400, "learning_rate": 0.5})
    classifier.fit(rows[:900], labels[:900], eval_X=rows[900:], eval_y=labels[900:], callbacks=[stop])
    training = lightgbm.Dataset(rows[:900], labels[:900])
    booster = lightgbm.train(
        dict(objective="binary", num_threads=1, verbosity=-1, learning_rate=0.5),
        training,
        400,
        valid_sets=[lightgbm.Dataset(rows[900:], labels[900:], reference=training)],
        callbacks=[stop],
        keep_training_booster=True,
    )
    assert 0 < booster.best_iteration < booster.num_trees() < 400
    for trained, best in ((classifier, classifier.best_iteration_), (booster, booster.best_iteration)):
        model = secateur.load(trained)
        assert model.tree_count == best
        hostile = hostile_rows(model, rows)
        assert_same_bits(model.raw_scores(hostile), trained.predict(hostile, raw_score=True), hostile)
    assert_same_classes(classes(model, hostile), booster.predict(hostile) > 0.5, hostile)


def test_pandas_categories_are_read_by_their_codes():
    random = np.random.default_rng(5)
    towns, floors = ["Bern", "Genf", "Zug, ZG", "Ölten"], [3, 1, 20]
    frame = pandas.DataFrame(
        {
            "height": random.normal(size=1200),
            "town": pandas.Categorical(random.choice(towns, 1200)),
            "floor": pandas.Categorical(random.choice(floors, 1200)),
        }
    )
    labels = (frame["height"] + frame["town"].isin(["Bern", "Ölten"]) + (frame["floor"] == 20) > 0.8).astype(
        int
    )
    classifier = lightgbm.LGBMClassifier(**COMMON, **CATEGORICAL).fit(frame, labels)
    model = secateur.load(classifier)
    codes = frame.assign(town=frame["town"].cat.codes, floor=frame["floor"].cat.codes).to_numpy(np.float64)
    assert_same_bits(model.raw_scores(codes), classifier.predict(frame, raw_score=True), codes)
    assert_same_classes(classes(model, codes), classifier.predict(frame), codes)
    hostile = hostile_rows(model, codes)
    assert_same_bits(model.raw_scores(hostile), classifier.booster_.predict(hostile, raw_score=True), hostile)
    for edited in edits(model, 1).values():
        assert_same_bits(edited.raw_scores(hostile), loaded(edited).predict(hostile, raw_score=True), hostile)
        assert b'"Zug, ZG"' in edited.to_bytes()


def test_a_threshold_of_infinity_splits_missing_from_the_rest():
    random = np.random.default_rng(2)
    rows = random.normal(size=(1000, 2))
    rows[:, 0] = np.where(random.random(1000) < 0.5, np.nan, 1.0)
    labels = (np.isnan(rows[:, 0]) ^ (random.random(1000) < 0.1)).astype(int)
    classifier = lightgbm.LGBMClassifier(**COMMON).fit(rows, labels)
    text = classifier.booster_.model_to_string()
    # Training writes the largest number where it means infinity; a file may hold either.
    for replaced in (
        text,
        re.sub(r"(?m)^(threshold=)\S+", r"\1inf", text),
        re.sub(r"(?m)^(threshold=)\S+", r"\1-inf", text),
    ):
        replaced = re.sub(r"tree_sizes=.*\n", "", replaced)
        model = secateur.Model.parse(replaced.encode())
        booster = lightgbm.Booster(model_str=replaced)
        hostile = hostile_rows(model, rows)
        assert_same_bits(model.raw_scores(hostile), booster.predict(hostile, raw_score=True), hostile)
        written = model.edit(reweighted_trees(model))
        assert_same_bits(
            written.raw_scores(hostile), loaded(written).predict(hostile, raw_score=True), hostile
        )


def test_dense_and_csc_input_read_tiny_numbers_as_zero_and_csr_does_not():
    classifier, base = fitted("binary")
    model = secateur.load(classifier)
    rows = hostile_rows(model, base)
    scores = model.raw_scores(rows)
    booster = classifier.booster_
    assert_same_bits(scores, booster.predict(np.asfortranarray(rows), raw_score=True), rows)
    assert_same_bits(scores, booster.predict(scipy.sparse.csc_matrix(rows), raw_score=True), rows)
    plain = rows[~((np.abs(rows) <= ZERO_WINDOW) & (rows != 0)).any(axis=1)]
    assert_same_bits(
        model.raw_scores(plain), booster.predict(scipy.sparse.csr_matrix(plain), raw_score=True), plain
    )
    assert (booster.predict(scipy.sparse.csr_matrix(rows), raw_score=True) != scores).any()


def ladder(objective: str, leaves: np.ndarray, average: bool = False) -> str:
    """A model whose row `[i]` gets the scores `leaves[:, i]`: one chain of splits for each tree."""
    groups = int(re.search(r"num_class:(\d+)|$", objective)[1] or 1)
    count = leaves.shape[1]
    inner = range(count - 1)
    head = f"tree\nversion=v4\nnum_class={groups}\nnum_tree_per_iteration={groups}\n"
    head += "label_index=0\nmax_feature_idx=0\n"
    head += (
        f"objective={objective}\n" + "average_output\n" * average + "feature_names=x\nfeature_infos=none\n\n"
    )
    blocks = [
        f"Tree={index}\nnum_leaves={count}\nnum_cat=0\nsplit_feature={' '.join('0' for _ in inner)}\n"
        f"threshold={' '.join(str(i) for i in inner)}\ndecision_type={' '.join('10' for _ in inner)}\n"
        f"left_child={' '.join(str(~i) for i in inner)}\n"
        f"right_child={' '.join(str(i + 1) if i + 2 < count else str(~(i + 1)) for i in inner)}\n"
        f"leaf_value={' '.join(repr(float(v)) for v in values)}\nshrinkage=1\n\n\n"
        for index, values in enumerate(leaves)
    ]
    return head + "".join(blocks) + "end of trees\n"


def around(value: float, steps: int) -> list[float]:
    """So many floats on each side of a value."""
    bits = np.float64(value).view(np.int64) + np.arange(-steps, steps + 1)
    return list(bits[bits >= 0].view(np.float64))


def agree(objective: str, leaves: np.ndarray, average: bool = False) -> np.ndarray:
    """Our classes and the library's on a ladder; returns them."""
    text = ladder(objective, leaves, average)
    model = secateur.Model.parse(text.encode())
    booster = lightgbm.Booster(model_str=text)
    rows = np.arange(leaves.shape[1], dtype=np.float64)[:, None]
    assert_same_bits(model.raw_scores(rows), booster.predict(rows, raw_score=True), rows)
    ours = classes(model, rows)
    assert_same_classes(ours, library_classes(booster, rows), rows)
    return ours


@pytest.mark.parametrize(
    "sigmoid", ["1", "0.7", "1.3", "7.82", "3", "0.123457", "2.5e-05", "1e+10", "1e-300", "1e300"]
)
@pytest.mark.parametrize("average", [False, True])
def test_the_binary_dead_zone_ends_where_the_library_says(sigmoid, average):
    edge = 1.5 * 2.0**-53 / float(sigmoid)
    values = [*around(edge, 150), *around(0.0, 3), *around(edge / 2, 5), *around(edge * 2, 5)]
    values += [-v for v in values]
    leaves = np.array([values] * 3 if average else [values])
    found = agree(f"binary sigmoid:{sigmoid}", leaves, average)
    assert 0 < found.sum() < len(values)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    "objective",
    [
        "multiclass num_class:3",
        "multiclassova num_class:3 sigmoid:1",
        "multiclassova num_class:3 sigmoid:7.82",
    ],
)
def test_near_ties_of_several_classes_are_decided_as_in_the_library(objective, average):
    random = np.random.default_rng(8)
    centre = np.concatenate(
        [random.normal(size=1000), random.uniform(30, 45, 250), random.uniform(-750, 750, 250)]
    )
    near = centre + random.integers(-4, 5, (3, centre.size)) * np.spacing(centre)
    near[:, ::7] += random.normal(size=near[:, ::7].shape) * 1e-15
    found = agree(objective, np.concatenate([near, near]) if average else near, average)
    assert len(set(found)) == 3
    # The rule is not that of the scores: some of these are ties of probabilities only.
    assert (found != np.argmax(near, axis=0)).any()


def test_cross_entropy_has_the_dead_zone_of_binary():
    values = around(1.5 * 2.0**-53, 200)
    found = agree("cross_entropy", np.array([values]))
    assert 0 < found.sum() < len(values)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_committed_answers_are_those_of_this_library(path):
    parts = [line.split("|") for line in path.with_suffix(".rows").read_text().splitlines()]
    rows, scores = (
        np.array([[int(word, 16) for word in part[index].split()] for part in parts], dtype=np.uint64).view(
            np.float64
        )
        for index in (0, 1)
    )
    text = path.read_text()
    # Parameters that this version no longer knows only make it warn.
    text = re.sub(r"(?s)\nparameters:.*?end of parameters\n", "\n", text)
    booster = lightgbm.Booster(model_str=text)
    assert_same_bits(scores, booster.predict(rows, raw_score=True), rows)
    assert_same_classes([int(part[2]) for part in parts], library_classes(booster, rows), rows)
    model = secateur.load(path)
    for edited in edits(model, booster.num_model_per_iteration()).values():
        written = re.sub(r"(?s)\nparameters:.*?end of parameters\n", "\n", edited.to_bytes().decode())
        assert_same_bits(
            edited.raw_scores(rows), lightgbm.Booster(model_str=written).predict(rows, raw_score=True), rows
        )


def test_linear_trees_and_other_objectives_are_refused_with_advice():
    rows, labels = table(2, missing=False)
    data = lightgbm.Dataset(rows, labels, params=dict(linear_tree=True, verbosity=-1))
    linear = lightgbm.train(dict(objective="binary", linear_tree=True, verbosity=-1, num_threads=1), data, 3)
    with pytest.raises(secateur.ModelError, match="linear_tree=false"):
        secateur.load(linear)
    binary = lightgbm.LGBMRegressor(objective="binary", n_estimators=2, verbosity=-1, n_jobs=1).fit(rows, labels)
    with pytest.raises(secateur.ModelError, match="objective of another kind of model"):
        secateur.load(binary)


def test_neighbours_of_the_zero_window_are_in_the_rows():
    # The harness promises them; without them most of the above would pass with a wrong window.
    classifier, base = fitted("zero_as_missing")
    rows = hostile_rows(secateur.load(classifier), base)
    for value in neighbours(ZERO_WINDOW) + neighbours(-ZERO_WINDOW):
        assert (rows == value).any()
