"""Makes the LightGBM fixtures: small models, and what the library says on rows built to hurt.

    python make.py            with lightgbm 4.7.0: every model but the old ones
    python make.py old        with lightgbm 2.2.3, 2.3.1 or 3.3.5: the models named after that version

Runs on Python 3.7 and later. Each NAME.txt comes with NAME.rows: for each row the inputs, the raw scores
(f64 bit patterns in hexadecimal) and the class, separated by `|`.
"""

import os
import re
import struct
import sys

import lightgbm as lgb
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ZERO_WINDOW = float(np.float32(1e-35))
COMMON = dict(
    num_leaves=6,
    min_data_in_leaf=5,
    num_threads=1,
    verbosity=-1,
    seed=7,
    deterministic=True,
    min_data_per_group=5,
    max_cat_to_onehot=1,
    cat_smooth=1,
    learning_rate=0.3,
)


def table(classes, categorical=False):
    """Rows of three numbers and a code, with zeros and missing values, and a class for each."""
    random = np.random.RandomState(0)
    rows = random.normal(size=(600, 4)).round(2)
    rows[:, 3] = random.randint(0, 40 if categorical else 6, 600)
    rows[random.uniform(size=rows.shape) < 0.15] = 0.0
    target = rows[:, 0] + np.abs(rows[:, 1]) + (rows[:, 3].astype(int) * 7 % 5 - 2) * 0.5
    cuts = np.quantile(target, np.arange(1, classes) / classes)
    rows[random.uniform(size=rows.shape) < 0.1] = np.nan
    return rows, np.searchsorted(cuts, target)


def train(classes=2, rounds=5, categorical=False, **parameters):
    rows, labels = table(classes, categorical)
    parameters = dict(COMMON, **parameters)
    if classes > 2:
        parameters.setdefault("num_class", classes)
    data = lgb.Dataset(rows, labels, categorical_feature=[3] if categorical else "auto")
    return lgb.train(parameters, data, rounds).model_to_string()


def train_pandas():
    import pandas

    rows, labels = table(2, categorical=True)
    random = np.random.RandomState(3)
    frame = pandas.DataFrame(
        {
            "height": rows[:, 0],
            "town": pandas.Categorical(random.choice(["Bern", "Genf", "Zug, ZG", "Basel = BS"], len(rows))),
            "width": rows[:, 1],
            "floor": pandas.Categorical(random.choice([3, 1, 20], len(rows))),
        }
    )
    labels = (labels + frame["town"].isin(["Bern", "Genf"]) + (frame["floor"] == 20) > 1).astype(int)
    return lgb.train(dict(COMMON, objective="binary"), lgb.Dataset(frame, labels), 5).model_to_string()


def hand_made(head, trees):
    """A model of given blocks under a header, without `tree_sizes`."""
    blocks = ["Tree=%d\n%s\nshrinkage=1\n\n\n" % (index, body) for index, body in enumerate(trees)]
    return "tree\nversion=v4\n%s\nfeature_infos=none none\n\n%send of trees\n" % (head, "".join(blocks))


def leaf(value):
    return "num_leaves=1\nnum_cat=0\nleaf_value=%r" % value


def stump(feature, threshold, kind, low, high):
    return (
        "num_leaves=2\nnum_cat=0\nsplit_feature=%d\nthreshold=%s\ndecision_type=%d\nleft_child=-1\n"
        "right_child=-2\nleaf_value=%r %r" % (feature, threshold, kind, low, high)
    )


HEAD = (
    "num_class=%d\nnum_tree_per_iteration=%d\nlabel_index=0\nmax_feature_idx=1\nobjective=%s\n"
    "feature_names=a b"
)


def thresholds():
    """Infinite and zero thresholds with each missing type and default side."""
    trees = [
        stump(index % 2, threshold, kind, -(2.0**-index), 2.0**-index)
        for index, (threshold, kind) in enumerate(
            (threshold, kind)
            for threshold in (
                "inf",
                "-inf",
                "0",
                "-0",
                "1.0000000180025095e-35",
                "-1.0000000180025095e-35",
                "1e400",
            )
            for kind in (0, 2, 4, 6, 8, 10)
        )
    ]
    return hand_made(HEAD % (1, 1, "binary sigmoid:1"), trees)


def dead_zone(sigmoid, edge):
    """Scores on both sides of the last one that is class 0."""
    below, above = np.nextafter(edge, 0), np.nextafter(edge, 1)
    trees = [stump(0, "0", 10, float(below), float(edge)), stump(1, "0", 8, 0.0, float(above - edge))]
    return hand_made(HEAD % (1, 1, "binary sigmoid:" + sigmoid), trees)


def near_ties(objective, scale):
    """Three classes whose scores are equal, or a few units in the last place apart."""
    unit = float(np.spacing(scale))
    trees = [
        leaf(scale),
        stump(0, "0.5", 10, scale, scale + unit),
        stump(1, "0.5", 10, scale - unit, scale + 2 * unit),
    ]
    return hand_made(HEAD % (3, 3, objective), trees)


NEW = {
    "binary": lambda: train(objective="binary"),
    "binary_sigmoid": lambda: train(objective="binary", sigmoid=7.82),
    "multiclass": lambda: train(3, 3, objective="multiclass"),
    "multiclassova": lambda: train(3, 3, objective="multiclassova", sigmoid=0.7),
    "cross_entropy": lambda: train(objective="cross_entropy"),
    "rf": lambda: train(objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6),
    "rf_multiclass": lambda: train(
        3, 3, objective="multiclass", boosting="rf", bagging_freq=1, bagging_fraction=0.6
    ),
    "dart": lambda: train(objective="binary", boosting="dart", drop_rate=0.5),
    "goss": lambda: train(objective="binary", data_sample_strategy="goss", top_rate=0.3, other_rate=0.3),
    "categorical": lambda: train(objective="binary", categorical=True),
    "categorical_multiclass": lambda: train(3, 3, objective="multiclass", categorical=True),
    "pandas": train_pandas,
    "zero_as_missing": lambda: train(objective="binary", zero_as_missing=True),
    "no_missing": lambda: train(objective="binary", use_missing=False),
    "single_leaf": lambda: train(3, 3, objective="multiclass", num_class=4),
    "thresholds": thresholds,
    "dead_zone": lambda: dead_zone("1", float.fromhex("0x1.8p-53")),
    "dead_zone_sigmoid": lambda: dead_zone("0.7", float.fromhex("0x1.1249249249249p-52")),
    "near_ties_softmax": lambda: near_ties("multiclass num_class:3", 0.75),
    "near_ties_ova": lambda: near_ties("multiclassova num_class:3 sigmoid:1", 0.75),
    "saturated_ova": lambda: near_ties("multiclassova num_class:3 sigmoid:1.3", 64.0),
}
OLD = {
    "binary": lambda: train(objective="binary", categorical=True, sigmoid=1.3),
    "multiclassova": lambda: train(3, 2, objective="multiclassova", zero_as_missing=True),
    "rf": lambda: train(objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6),
}


def hostile_rows(text, width, count=48):
    """Thresholds and their neighbours, zeros of every kind, codes, NaN and infinities."""
    pools = [
        [
            np.nan,
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -0.0,
            5e-324,
            1e300,
            -1e300,
            -1.0,
            -0.5,
            2.0,
            2.9,
            31.0,
            39.0,
            2.0**31,
            ZERO_WINDOW,
            -ZERO_WINDOW,
            np.nextafter(ZERO_WINDOW, 1),
            np.nextafter(-ZERO_WINDOW, -1),
        ]
        for _ in range(width)
    ]
    features = re.findall(r"^split_feature=(.+)$", text, re.M)
    for feature, threshold in zip(features, re.findall(r"^threshold=(.+)$", text, re.M)):
        for column, value in zip(map(int, feature.split()), map(float, threshold.split())):
            pools[column] += [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
    random = np.random.RandomState(1)
    return np.column_stack([random.choice(pool, count) for pool in pools])


def main(made, prefix):
    for name, make in sorted(made.items()):
        text = make()
        path = os.path.join(HERE, prefix + name + ".txt")
        with open(path, "w", newline="") as file:
            file.write(text)
        booster = lgb.Booster(model_file=path)
        rows = hostile_rows(text, booster.num_feature())
        scores = booster.predict(rows, raw_score=True).reshape(len(rows), -1)
        shares = booster.predict(rows).reshape(len(rows), -1)
        if shares.shape[1] == 1:  # as LGBMClassifier does
            shares = np.hstack([1 - shares, shares])
        with open(path[:-4] + ".rows", "w") as file:
            for row, score, share in zip(rows, scores, shares):
                parts = [" ".join(struct.pack(">d", v).hex() for v in values) for values in (row, score)]
                file.write("%s|%s|%d\n" % (parts[0], parts[1], np.argmax(share)))
        print(
            prefix + name,
            len(text),
            "bytes,",
            len(np.unique(scores)),
            "scores,",
            np.bincount(np.argmax(shares, axis=1)),
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["old"]:
        main(OLD, "v%s_" % lgb.__version__.replace(".", ""))
    else:
        main(NEW, "")
