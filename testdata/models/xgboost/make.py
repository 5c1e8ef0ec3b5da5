"""Makes the XGBoost fixtures of one version: small models in both encodings, with what the library itself says of them.

Run once for each version, in an environment of its own (see README.md); the file names carry the version that is
installed. Every model is saved as JSON and UBJSON; `<version>.expected.tsv` holds, for each, hostile rows and
their margins as f32 bit patterns, and the classes of XGBClassifier.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd
import xgboost as xgb

HERE = pathlib.Path(__file__).parent
VERSION = tuple(int(part) for part in xgb.__version__.split("."))
ROWS = 50
warnings.simplefilter("ignore")


def table(seed, rows=240, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32)
    X[:, 2] = rng.integers(0, 6, rows)
    score = X[:, 0] + 0.7 * X[:, 1] + 1.6 * (X[:, 2] % 2) - 0.8
    X[rng.random(X.shape) < missing] = np.nan
    binary = (score > 0.4).astype(int)
    classes = np.digitize(score, [-0.5, 0.8])
    return X, binary, classes


def thresholds(trees):
    found = {0: [], 1: [], 2: []}
    for tree in trees:
        for left, feature, value in zip(tree["left_children"], tree["split_indices"], tree["split_conditions"]):
            if left != -1:
                found[feature].append(value)
    return found


def hostile(model, rng):
    """Thresholds and their neighbours, and every kind of float that DMatrix accepts."""
    booster = model["learner"]["gradient_booster"]
    trees = (booster.get("gbtree") or booster)["model"]["trees"]
    odd = [np.nan, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 16777216.0, -1.0, 0.999, 2.5, 5.0, 1e9]
    columns = []
    for values in thresholds(trees).values():
        near = np.array(values or [0.0], dtype=np.float32)
        pool = np.concatenate([near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf)),
                               np.array(odd, dtype=np.float32), rng.integers(0, 7, 6).astype(np.float32)])
        columns.append(rng.choice(pool, ROWS))
    return np.stack(columns, axis=1).astype(np.float32)


def models():
    X, y, classes = table(1)
    make = lambda **options: xgb.XGBClassifier(n_jobs=1, **{"n_estimators": 4, "max_depth": 3, **options})
    yield "logistic", make().fit(X, y)
    yield "base_score", make(base_score=0.3, n_estimators=2).fit(X, y)
    yield "hinge", make(objective="binary:hinge", n_estimators=3).fit(X, y)
    yield "logitraw", make(objective="binary:logitraw", n_estimators=3).fit(X, y)
    yield "softprob", make(n_estimators=2, max_depth=2).fit(X, classes)
    yield "softmax", make(objective="multi:softmax", n_estimators=2, max_depth=2).fit(X, classes)
    yield "parallel", make(n_estimators=2, max_depth=2, num_parallel_tree=2, subsample=0.7).fit(X, classes)
    yield "deleted", make(tree_method="exact", gamma=1.0, n_estimators=2, max_depth=4).fit(X, y)
    yield "dart", make(booster="dart", rate_drop=0.5, n_estimators=6, max_depth=2, learning_rate=0.7).fit(X, y)
    yield "dart_softprob", make(booster="dart", rate_drop=0.5, n_estimators=3, max_depth=1).fit(X, classes)
    early = make(n_estimators=9, max_depth=2, learning_rate=1.0, early_stopping_rounds=2, eval_metric="logloss")
    Xv, yv, _ = table(2)
    yv ^= np.random.default_rng(3).random(len(yv)) < 0.25
    yield "early", early.fit(X, y, eval_set=[(Xv, yv)], verbose=False)
    types = ["q", "q", "c"]
    Xc = X.copy()
    options = dict(tree_method="hist", enable_categorical=True, max_cat_to_onehot=2)
    yield "categorical", make(feature_types=types, n_estimators=3, **options).fit(Xc, y)
    frame = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1],
                          "colour": pd.Categorical.from_codes(np.nan_to_num(X[:, 2], nan=-1).astype(int),
                                                              list("bcdfgh"))})
    yield "frame", make(n_estimators=3, **options).fit(frame, y)
    if VERSION >= (2,):
        yield "vector_leaf", make(n_estimators=2, max_depth=2, tree_method="hist",
                                  multi_strategy="multi_output_tree").fit(X, classes)


def main():
    expected = {}
    for name, model in models():
        stem = f"{xgb.__version__}-{name}"
        paths = [HERE / f"{stem}.{encoding}" for encoding in ("json", "ubj")]
        for path in paths:
            model.save_model(path)
        rows = hostile(json.loads(paths[0].read_text()), np.random.default_rng(7))
        for path in paths:
            loaded = xgb.XGBClassifier(n_jobs=1)
            loaded.load_model(path)
            booster = loaded.get_booster()
            types = booster.feature_types
            matrix = xgb.DMatrix(rows, feature_names=booster.feature_names, feature_types=types,
                                 enable_categorical=types is not None and "c" in types)
            try:
                rounds = (0, booster.best_iteration + 1)
            except AttributeError:
                rounds = (0, 0)
            margins = booster.predict(matrix, output_margin=True, iteration_range=rounds)
            answers = booster.predict(matrix, iteration_range=rounds)
            # What XGBClassifier.predict makes of the booster's answers.
            classes = answers.argmax(axis=1) if answers.ndim == 2 else (
                answers if name == "softmax" else answers > 0.5)
            if "c" not in (types or []) and not (VERSION < (3, 3) and name.startswith("dart")):
                assert np.array_equal(loaded.predict(rows), classes), stem
            words = lambda values: [",".join(format(bits, "08x") for bits in row) for row in values]
            entry = [stem + "\t" + "\t".join(line) for line in zip(
                words(rows.view(np.uint32).tolist()),
                words(margins.reshape(ROWS, -1).view(np.uint32).tolist()),
                (str(int(value)) for value in classes),
            )]
            assert expected.setdefault(stem, entry) == entry, stem
    lines = [line for entry in expected.values() for line in entry]
    (HERE / f"{xgb.__version__}.expected.tsv").write_text("\n".join(lines) + "\n")
    print(xgb.__version__, len(expected), "models", file=sys.stderr)


main()
