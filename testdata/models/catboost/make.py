"""Makes the CatBoost fixtures: small models, and what the library says on rows built to hurt.

    python make.py                  with catboost 1.2.10: every model
    python make.py 1.2              with catboost 1.2: the models named after that version
    python make.py FOLDER COUNT     every model, made by the version that runs, into a folder, with COUNT rows each
    python make.py only NAME ...    these models, beside this file

Each NAME.cbm or NAME.json comes with NAME.rows (NAME.cbm.rows, NAME.json.rows): for each row the inputs, the raw scores (f64 bit
patterns in hexadecimal) and the position of the class among those of the file, separated by `|`. In the place of the class, models
without classes have `=` and what `predict` returns, or `=` alone where that ends in `exp`. A category is its position in the file's
list of hashes, or -1. Files whose names end with `.refused` are models that are not read.
"""

import json
import os
import struct
import sys

import catboost
import numpy as np
import pandas as pd

HERE = os.path.dirname(os.path.abspath(__file__))
COMMON = dict(
    iterations=8, depth=3, learning_rate=0.5, thread_count=1, verbose=0, allow_writing_files=False, random_seed=1
)
F32 = np.float32
SPECIAL = [
    0.0, -0.0, 1e-45, -1e-45, 1e-310, -5e-324, 1.1754942e-38, 3.4028234663852886e38, -3.4028234663852886e38,
    3.4028235677973366e38, 3.5e38, -1e39, 1e300, -1e308, np.inf, -np.inf, np.nan, np.nan, np.nan,
]
WORDS = ["amber", "blue", "coral", "", "exactly-sixteen!", "x" * 40, "é unicode ü", "v" * 70, "-1", "nan"]


def table(classes, missing=0.1):
    """Rows of four numbers and a class for each."""
    random = np.random.RandomState(0)
    rows = random.normal(size=(500, 4))
    rows[:, 1] = random.randint(0, 5, 500)
    rows[:, 2] *= 1e-3
    target = rows[:, 0] + np.sin(3 * rows[:, 1]) + 1e3 * rows[:, 2] * rows[:, 0] + 0.3 * random.normal(size=500)
    labels = np.searchsorted(np.quantile(target, np.arange(1, classes) / classes), target)
    rows[random.uniform(size=rows.shape) < missing] = np.nan
    return rows, labels


def train(classes=2, missing=0.1, labels=None, kind=catboost.CatBoostClassifier, **parameters):
    rows, target = table(classes, missing)
    if labels is not None:
        target = np.array(labels)[target]
    model = kind(**dict(COMMON, **parameters))
    model.fit(rows, target)
    return model, rows


def train_categories(classes=2, **parameters):
    rows, target = table(classes)
    random = np.random.RandomState(1)
    words = random.randint(0, len(WORDS), len(rows))
    numbers = random.randint(-3, 4, len(rows))
    target = (target + (words % 3 == 0) + (numbers > 1)) % classes
    frame = pd.DataFrame(
        {"size": rows[:, 0], "word": [WORDS[i] for i in words], "width": rows[:, 1], "number": numbers, "none": "same"}
    )
    model = catboost.CatBoostClassifier(**dict(COMMON, one_hot_max_size=50, **parameters))
    model.fit(frame, target, cat_features=["word", "number", "none"])
    return model, frame


def thresholded():
    model, rows = train()
    model.set_probability_threshold(0.3)
    return model, rows


def biased():
    model, rows = train(classes=3)
    model.set_scale_and_bias(1.0, [0.1, -0.7, 1e-3])
    return model, rows


def summed():
    first, rows = train()
    second, _ = train(depth=2)
    return catboost.sum_models([first, second], weights=[0.3, 1.7]), rows


def scaled(scale, bias, **parameters):
    model, rows = train(**parameters)
    model.set_scale_and_bias(scale, bias)
    return model, rows


def regress(loss, targets=1, kind=catboost.CatBoostRegressor, **parameters):
    """A model of numbers: a function of the rows, positive, one column for each target."""
    rows, labels = table(4)
    numbers = np.column_stack([(labels + 1.5 + np.sin(labels * (i + 1) + np.arange(len(rows)))) ** 2 for i in range(targets)])
    model = kind(**dict(COMMON, loss_function=loss, **parameters))
    model.fit(rows, numbers if targets > 1 else numbers[:, 0])
    return model, rows


def regress_categories():
    rows, labels = table(4)
    words = [WORDS[i] for i in np.random.RandomState(1).randint(0, len(WORDS), len(rows))]
    frame = pd.DataFrame({"size": rows[:, 0], "word": words, "width": rows[:, 1]})
    model = catboost.CatBoostRegressor(**dict(COMMON, one_hot_max_size=50))
    return model.fit(frame, labels + 0.3 * np.array([len(word) for word in words]), cat_features=["word"]), frame


def rank(loss):
    rows, labels = table(3)
    model = catboost.CatBoostRanker(**dict(COMMON, loss_function=loss))
    return model.fit(rows, labels, group_id=np.arange(len(rows)) // 10), rows


def survive():
    rows, labels = table(4)
    model = catboost.CatBoostRegressor(**dict(COMMON, loss_function="SurvivalAft"))
    return model.fit(rows, np.column_stack([labels + 1.0, np.where(labels > 2, -1.0, labels + 2.0)])), rows


def several_labels(threshold=None, loss="MultiLogloss", **parameters):
    rows, labels = table(4)
    model = catboost.CatBoostClassifier(**dict(COMMON, loss_function=loss, **parameters))
    model.fit(rows, np.column_stack([labels > 0, labels % 2, labels > 2]).astype(int))
    if threshold is not None:
        model.set_probability_threshold(threshold)
    return model, rows


def summed_numbers(loss="RMSE"):
    first, rows = regress(loss)
    second, _ = regress("MAE", depth=2)
    return catboost.sum_models([first, second], weights=[0.3, 1.7]), rows


MODELS = {
    "binary": lambda: train(),
    "binary_max": lambda: train(nan_mode="Max"),
    "binary_no_missing": lambda: train(missing=0.0),
    "binary_forbidden": lambda: train(missing=0.0, nan_mode="Forbidden"),
    "stumps": lambda: train(depth=1, iterations=20),
    "deep": lambda: train(depth=9, iterations=2),
    "many_borders": lambda: train(border_count=1000, iterations=30),
    "one_border": lambda: train(border_count=1),
    "weights": lambda: train(class_weights=[1, 7.3], boost_from_average=True),
    "texts": lambda: train(labels=["no", "yes"]),
    "floats": lambda: train(labels=[0.5, 1.5]),
    "booleans": lambda: train(labels=[False, True]),
    "threshold": thresholded,
    "cross_entropy": lambda: train(loss_function="CrossEntropy"),
    "focal": lambda: train(loss_function="Focal:focal_alpha=0.3;focal_gamma=1"),
    "depthwise": lambda: train(grow_policy="Depthwise"),
    "lossguide": lambda: train(grow_policy="Lossguide", max_leaves=9, depth=6, nan_mode="Max"),
    "no_splits": lambda: train(grow_policy="Depthwise", min_data_in_leaf=5000, iterations=2),
    "multiclass": lambda: train(classes=4, loss_function="MultiClass"),
    "multiclass_two": lambda: train(loss_function="MultiClass"),
    "multiclass_absent": lambda: train(
        classes=3, labels=["b", "d", "a"], class_names=["e", "d", "b", "a"], loss_function="MultiClass"
    ),
    "multiclass_count": lambda: train(classes=3, labels=[0, 2, 4], classes_count=6, loss_function="MultiClass"),
    "multiclass_lossguide": lambda: train(classes=3, grow_policy="Lossguide", max_leaves=6, loss_function="MultiClass"),
    "one_against_all": lambda: train(classes=3, loss_function="MultiClassOneVsAll"),
    "bias": biased,
    "sum": summed,
    "categories": lambda: train_categories(),
    "categories_lossguide": lambda: train_categories(grow_policy="Lossguide", max_leaves=8),
    "categories_multiclass": lambda: train_categories(classes=3, loss_function="MultiClass"),
    "base_class": lambda: train(
        kind=lambda **p: catboost.CatBoost(dict(p, loss_function="MultiClass")), classes=3, labels=["x", "y", "z"]
    ),
    "scale": lambda: scaled(0.7, 0.1),
    "scale_negative": lambda: scaled(-0.3, 0.0),
    "scale_multiclass": lambda: scaled(1.7, [0.1, -0.2, 0.0], classes=3),
    "scale_regressor": lambda: scaled(1e-3, 0.1, classes=4, kind=catboost.CatBoostRegressor, grow_policy="Lossguide"),
    "regressor": lambda: regress("RMSE"),
    "regressor_max": lambda: regress("RMSE", nan_mode="Max", depth=6, iterations=3),
    "regressor_lossguide": lambda: regress("RMSE", grow_policy="Lossguide", max_leaves=9, depth=6),
    "regressor_absolute": lambda: regress("MAE"),
    "regressor_quantile": lambda: regress("Quantile:alpha=0.3"),
    "regressor_huber": lambda: regress("Huber:delta=1.5"),
    "regressor_percent": lambda: regress("MAPE"),
    "regressor_log_quantile": lambda: regress("LogLinQuantile"),
    "regressor_poisson": lambda: regress("Poisson"),
    "regressor_tweedie": lambda: regress("Tweedie:variance_power=1.5"),
    "regressor_cox": lambda: regress("Cox"),
    "regressor_survival": survive,
    "regressor_base": lambda: regress("Lq:q=3", kind=lambda **p: catboost.CatBoost(p)),
    "regressor_categories": regress_categories,
    "quantiles": lambda: regress("MultiQuantile:alpha=0.1,0.5,0.9"),
    "targets": lambda: regress("MultiRMSE", targets=3),
    "targets_depthwise": lambda: regress("MultiRMSE", targets=2, grow_policy="Depthwise"),
    "uncertainty": lambda: regress("RMSEWithUncertainty"),
    "sum_regressor": summed_numbers,
    "sum_poisson": lambda: summed_numbers("Poisson"),
    "ranker": lambda: rank("YetiRank"),
    "ranker_pairs": lambda: rank("PairLogit"),
    "ranker_query": lambda: rank("QueryRMSE"),
    "several_labels": several_labels,
    "several_labels_threshold": lambda: several_labels(0.3, "MultiCrossEntropy"),
    "several_labels_lossguide": lambda: several_labels(grow_policy="Depthwise"),
}
OLD = ["binary", "binary_max", "lossguide", "multiclass", "categories"]
OLD += ["regressor", "scale", "targets", "uncertainty", "ranker", "several_labels"]


def refused():
    """Files that are recognised and not read, by name."""
    rows, target = table(2, missing=0.0)
    words = pd.DataFrame({"a": rows[:, 0], "c": ["w%d" % (i * 7 % 90) for i in range(len(rows))]})
    texts = pd.DataFrame({"a": rows[:, 0], "t": ["some words %d" % (i % 3) for i in range(len(rows))]})
    small = dict(COMMON, iterations=2, depth=2)
    by_word = np.arange(len(rows)) * 7 % 90 % 2
    counters = catboost.CatBoostClassifier(**small).fit(words, by_word, cat_features=["c"])
    return {
        "counters": counters,
        "text": catboost.CatBoostClassifier(**small).fit(texts, np.arange(len(rows)) % 3 == 0, text_features=["t"]),
    }, catboost.Pool(words, by_word, cat_features=["c"])


def make_refused():
    models, pool = refused()
    for name, model in models.items():
        model.save_model(os.path.join(HERE, name + ".cbm.refused"), format="cbm")
        if name != "text":
            given = dict(pool=pool) if name == "counters" else {}
            model.save_model(os.path.join(HERE, name + ".json.refused"), format="json", **given)


def json_of(model, folder):
    path = os.path.join(folder, "scratch.json")
    model.save_model(path, format="json")
    with open(path) as file:
        text = file.read()
    os.remove(path)
    return text


def hostile(features, base, count, random):
    """Rows of borders, their neighbours, and values that are hard anywhere; categories known and unknown."""
    floats = {f["flat_feature_index"]: f["borders"] or [] for f in features.get("float_features") or []}
    rows = []
    for index in random.randint(0, len(base), count):
        row = list(base.iloc[index]) if isinstance(base, pd.DataFrame) else list(base[index])
        for column, value in enumerate(row):
            if column not in floats:
                row[column] = int(value) if isinstance(value, (int, np.integer)) else value
                if random.uniform() < 0.3:
                    word = isinstance(row[column], str)
                    row[column] = ["unseen", "Z", "", "中文"][random.randint(4)] if word else int(random.randint(-50, 50))
                continue
            row[column] = float(value)
            borders, chance = floats[column], random.uniform()
            if chance < 0.45 and borders:
                border = F32(borders[random.randint(len(borders))])
                up, down = np.nextafter(border, F32(np.inf)), np.nextafter(border, F32(-np.inf))
                row[column] = float(
                    [
                        border, up, down, (float(border) + float(up)) / 2, (float(border) + float(down)) / 2,
                        np.nextafter(float(border), np.inf), np.nextafter((float(border) + float(up)) / 2, np.inf),
                    ][random.randint(7)]
                )
            elif chance < 0.65:
                row[column] = SPECIAL[random.randint(len(SPECIAL))]
        rows.append(row)
    return rows


def bits(value):
    return "%016x" % struct.unpack("<Q", struct.pack("<d", value))[0]


def answers(path, kind, features, rows, base):
    """What the library makes of the file."""
    model = catboost.CatBoost()
    model.load_model(path, format=kind)
    with_classes = len(model.classes_) > 0
    model = catboost.CatBoostClassifier() if with_classes else catboost.CatBoostRegressor()
    model.load_model(path, format=kind)
    several = with_classes and model._object._get_loss_function_name() in ("MultiLogloss", "MultiCrossEntropy")
    given = pd.DataFrame(rows, columns=base.columns) if isinstance(base, pd.DataFrame) else np.array(rows)
    raw = np.asarray(model.predict(given, prediction_type="RawFormulaVal")).reshape(len(rows), -1)
    # Classes that the model was told of and never saw have a column of minus infinities.
    present = ~np.isneginf(raw).all(axis=0)
    labels = list(np.asarray(model.classes_))
    labels = labels if raw.shape[1] == 1 else [label for label, here in zip(labels, present) if here]
    predicted = np.asarray(model.predict(given)).reshape(len(rows), -1)
    if with_classes and not several:
        last = ["%d" % labels.index(label) for label in predicted.ravel()]
    elif several or model._get_default_prediction_type() == "RawFormulaVal":
        last = ["=" + " ".join(bits(float(value)) for value in row) for row in predicted]
    else:
        last = ["="] * len(rows)
    categories = features.get("categorical_features") or []
    known = {c["flat_feature_index"]: c.get("values") or [] for c in categories}
    hashes = {}
    if known:
        pool = catboost.Pool(given, cat_features=sorted(known))
        scratch = path + ".scratch"
        model.save_model(scratch, format="json", pool=pool)
        with open(scratch) as file:
            listed = json.load(file)["features_info"]["cat_features_hash"]
        os.remove(scratch)
        hashes = {entry["value"]: entry["hash"] for entry in listed}
    lines = []
    for row, scores, label in zip(rows, raw[:, present], last):
        numbers = []
        for column, value in enumerate(row):
            if column in known:
                value = hashes[str(value)]
                value = value - (1 << 32) if value >> 31 else value
                value = known[column].index(value) if value in known[column] else -1
            numbers.append(bits(float(value)))
        lines.append("%s|%s|%s" % (" ".join(numbers), " ".join(bits(score) for score in scores), label))
    return lines


def make(name, folder, count):
    model, base = MODELS[name.split("-")[0]]()
    features = json.loads(json_of(model, folder))["features_info"]
    rows = hostile(features, base, count, np.random.RandomState(2))
    for kind in ("cbm", "json"):
        path = os.path.join(folder, "%s.%s" % (name, kind))
        model.save_model(path, format=kind)
        with open(path + ".rows", "w") as file:
            file.write("\n".join(answers(path, kind, features, rows, base)) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["1.2"]:
        assert catboost.__version__ == "1.2", catboost.__version__
        for name in OLD:
            make(name + "-1.2", HERE, 40)
    elif sys.argv[1:2] == ["only"]:
        for name in sys.argv[2:]:
            make(name, HERE, 40)
    elif len(sys.argv) == 3:
        for name in MODELS:
            make(name + "-" + catboost.__version__, sys.argv[1], int(sys.argv[2]))
    else:
        assert catboost.__version__ == "1.2.10", catboost.__version__
        for name in MODELS:
            make(name, HERE, 40)
        make_refused()
