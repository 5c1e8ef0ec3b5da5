"""Makes the skops archives in this folder, and for each the scores and classes that scikit-learn gives.

Run it with NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" on a processor with AVX-512: NumPy's own logarithm
there differs in the last bit from the C library's, and `boosting_three` starts from logarithms.
"""

import json
import pathlib
import zipfile

import numpy as np
import pandas as pd
import skops.io
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

HERE = pathlib.Path(__file__).parent
ROWS = 50
WORDS = ["ash", "beech", "cedar", "elm", "fir"]


def data(classes):
    return make_classification(
        200, 4, n_informative=4, n_redundant=0, n_classes=classes, weights=[0.5, 0.2], random_state=classes
    )


def thresholds(estimator):
    """Each feature's split values, in the order of the input columns."""
    found = [[] for _ in range(estimator.n_features_in_)]
    if hasattr(estimator, "_predictors"):
        order = range(len(found))
        if estimator._preprocessor is not None:
            indices = estimator._preprocessor._transformer_to_input_indices
            order = [*indices["encoder"], *indices["numerical"]]
        for round_ in estimator._predictors:
            for tree in round_:
                for node in tree.nodes[tree.nodes["is_leaf"] == 0]:
                    if not node["is_categorical"]:
                        found[order[node["feature_idx"]]].append(float(node["num_threshold"]))
        return found
    trees = [estimator] if hasattr(estimator, "tree_") else np.ravel(estimator.estimators_)
    for tree in trees:
        for feature, threshold in zip(tree.tree_.feature, tree.tree_.threshold):
            if feature >= 0:
                found[feature].append(float(threshold))
    return found


def hostile_rows(estimator, rows, missing, categories=()):
    random = np.random.default_rng(0)
    double = hasattr(estimator, "_predictors")
    with np.errstate(over="ignore"):
        limit = np.finfo(np.float64 if double else np.float32).max
        chosen = rows[random.integers(0, len(rows), ROWS)].copy()
        for feature, values in enumerate(thresholds(estimator)):
            pool = [0.0, -0.0, 1e-40, -1e-40, float(limit), -float(limit)]
            for value in values:
                single = np.float32(value)
                pool += [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf), float(single)]
                pool += [float(np.nextafter(single, np.float32(d))) for d in (-np.inf, np.inf)]
            pool = [value for value in pool if abs(value) <= limit]
            pool += [np.nan] * (3 * missing) + [np.inf, -np.inf] * double
            if feature in categories:
                pool = [*categories[feature], -1.0, 0.5, 99.0, np.nan]
            hit = random.random(ROWS) < 0.6
            chosen[hit, feature] = random.choice(pool, hit.sum())
    return chosen


def save(name, estimator, rows, to_library=lambda x: x, compression=zipfile.ZIP_DEFLATED):
    data = skops.io.dumps(estimator, compression=compression)
    (HERE / f"{name}.skops").write_bytes(data)
    with np.errstate(all="ignore"):
        given = to_library(rows)
        scores = getattr(estimator, "decision_function", None) or estimator.predict_proba
        raw, classes = scores(given), estimator.predict(given)
    bits = [[f"{bits:016x}" for bits in row] for row in rows.view(np.uint64).tolist()]
    raw = np.ascontiguousarray(raw.reshape(len(rows), -1)).view(np.uint64).tolist()
    lines = [
        json.dumps({"row": row, "raw": [f"{bits:016x}" for bits in scores], "class": str(label)})
        for row, scores, label in zip(bits, raw, classes)
    ]
    (HERE / f"{name}.expected.jsonl").write_text("\n".join(lines) + "\n")


def plain(name, estimator, classes=2, labels=None, missing=False, accepts_missing=True, **options):
    rows, target = data(classes)
    if missing:
        rows[np.random.default_rng(1).random(rows.shape) < 0.15] = np.nan
    estimator.fit(rows, target if labels is None else np.array(labels)[target])
    save(name, estimator, hostile_rows(estimator, np.nan_to_num(rows), accepts_missing), **options)


def categorical(name, estimator):
    rows, target = data(3)
    random = np.random.default_rng(2)
    rows[:, 1] = random.integers(0, 5, len(rows))
    rows[:, 3] = random.choice([-2.5, 0.1, 7.0], len(rows))

    def to_library(x):
        frame = pd.DataFrame(x, columns=list("abcd"))
        known = np.isin(x[:, 1], range(5))
        column = np.array([*WORDS, "yew"], dtype=object)[np.where(known, x[:, 1], 5).astype(int)]
        column[np.isnan(x[:, 1])] = np.nan
        frame["b"] = pd.Series(column, dtype=object)
        return frame

    estimator.fit(to_library(rows), target)
    chosen = hostile_rows(estimator, rows, True, {1: range(5), 3: [-2.5, 0.1, 7.0]})
    save(name, estimator, chosen, to_library)


def isolation(name, estimator):
    """The raw score is the sum of path lengths, which the library adds up before it makes its scores of it."""
    rows, _ = data(2)
    estimator.fit(rows)
    random = np.random.default_rng(3)
    pool = [0.0, -0.0, 1e-40, 1e30, -1e30, 1e300, np.inf, -np.inf, np.nan]
    for tree in estimator.estimators_:
        pool += [v for t in tree.tree_.threshold for v in (float(t), float(np.nextafter(np.float32(t), np.float32(9))))]
    chosen = rows[random.integers(0, len(rows), ROWS)].copy()
    hit = random.random(chosen.shape) < 0.4
    chosen[hit] = random.choice(pool, hit.sum())
    with np.errstate(over="ignore"):
        single = chosen.astype(np.float32)
    depths = np.zeros(ROWS)
    for at, (tree, columns) in enumerate(zip(estimator.estimators_, estimator.estimators_features_)):
        seen = single[:, columns] if estimator._max_features != rows.shape[1] else single
        leaves = tree.apply(seen, check_input=False)
        depths += estimator._decision_path_lengths[at][leaves] + estimator._average_path_length_per_tree[at][leaves] - 1.0
    n = estimator._max_samples
    expected = len(estimator.estimators_) * (2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n)
    assert np.allclose(-(2 ** -(depths / expected)), estimator.score_samples(chosen), rtol=1e-14)
    (HERE / f"{name}.skops").write_bytes(skops.io.dumps(estimator, compression=zipfile.ZIP_DEFLATED))
    lines = [
        json.dumps(
            {
                "row": [f"{bits:016x}" for bits in row.view(np.uint64).tolist()],
                "raw": [f"{np.float64(depth).view(np.uint64):016x}"],
                "class": "",
            }
        )
        for row, depth in zip(chosen, depths)
    ]
    (HERE / f"{name}.expected.jsonl").write_text("\n".join(lines) + "\n")


plain(
    "tree",
    DecisionTreeClassifier(max_depth=4, random_state=0),
    labels=["no", "yes"],
    missing=True,
    compression=zipfile.ZIP_STORED,
)
plain("forest", RandomForestClassifier(3, max_depth=4, random_state=0), 3, missing=True)
plain("extra_trees", ExtraTreesClassifier(3, max_depth=4, random_state=0), labels=[False, True])
stump = DecisionTreeClassifier(max_depth=1)
plain("adaboost", AdaBoostClassifier(stump, n_estimators=6, random_state=0), accepts_missing=False)
deeper = DecisionTreeClassifier(max_depth=2)
plain("adaboost_three", AdaBoostClassifier(deeper, n_estimators=4, random_state=0), 3, accepts_missing=False)
boosting = {"n_estimators": 3, "max_depth": 3, "random_state": 0}
plain("boosting", GradientBoostingClassifier(**boosting), accepts_missing=False)
boosting = {"n_estimators": 2, "max_depth": 2, "random_state": 0}
plain("boosting_three", GradientBoostingClassifier(**boosting), 3, labels=[2.0, 3.0, 5.0], accepts_missing=False)
histogram = {"max_iter": 3, "max_leaf_nodes": 6, "min_samples_leaf": 4, "random_state": 0}
plain("histogram", HistGradientBoostingClassifier(**histogram), missing=True)
categorical("histogram_categories", HistGradientBoostingClassifier(**histogram, categorical_features=["b", "d"]))
isolation("isolation", IsolationForest(n_estimators=4, max_samples=20, random_state=0))
isolation("isolation_columns", IsolationForest(n_estimators=4, max_samples=20, max_features=2, random_state=0))
