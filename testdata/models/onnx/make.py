"""Makes the models of this folder and what onnxruntime says of them.

Run from the project's root with the test environment: `python testdata/models/onnx/make.py`.
For each model NAME.onnx there is NAME.expected: 50 rows, each with its input, the raw scores (bits of f64 in
hexadecimal; scores that onnxruntime shows as f32 are widened) and the label.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[2] / "python" / "tests"))

import secateur
import test_onnx as models
from harness import hostile_rows
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

X2, Y2, X3, Y3 = models.X2, models.Y2, models.X3, models.Y3


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(4, max_depth=3, random_state=0)


def boosting() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)


SMALL = {"n_estimators": 4, "num_leaves": 5}
MODELS = {
    "forest": lambda: models.sklearn_model(forest(), X2, Y2, zipmap=True),
    "forest_text_labels": lambda: models.sklearn_model(forest(), X3, models.LABELS[Y3], zipmap=True),
    "forest_double": lambda: models.sklearn_model(forest(), X2, Y2, double=True),
    "gradient_boosting": lambda: models.sklearn_model(boosting(), X2, Y2),
    "gradient_boosting_three": lambda: models.sklearn_model(boosting(), X3, Y3, zipmap=True),
    "xgboost": lambda: models.xgboost_model(X2, Y2, n_estimators=3),
    "xgboost_missing": lambda: models.xgboost_model(models.with_holes(X2), Y2, n_estimators=3),
    "xgboost_three": lambda: models.xgboost_model(X3, Y3, n_estimators=2),
    "lightgbm_missing": lambda: models.lightgbm_model(models.with_holes(X2), Y2, **SMALL, zipmap=True),
    "lightgbm_categories": lambda: models.lightgbm_model(
        *models.with_categories(X2, Y2), **SMALL, **models.CATEGORICAL
    ),
    "lightgbm_three": lambda: models.lightgbm_model(X3, models.LABELS[Y3], **SMALL),
    # Random ensembles of every mode: see the test for what the numbers choose.
    "every_mode": lambda: models.Generated(GENERATED["float"]).model(),
    "every_mode_double": lambda: models.Generated(GENERATED["double"]).model(),
    "weights_of_class_one": lambda: models.Generated(GENERATED["one"]).model(),
    "weights_of_both_classes": lambda: models.Generated(GENERATED["both"]).model(),
}


def first(condition) -> int:
    """The first seed whose ensemble has many modes and missing-value tracks, and is as wanted."""
    return next(
        seed
        for seed in range(10_000)
        if (g := models.Generated(seed)).tracks and len(set(g.modes)) >= 4 and condition(g)
    )


GENERATED = {
    "float": first(lambda g: not g.double and g.labels == 3),
    "double": first(lambda g: g.double and g.tensors and g.form == "zero" and g.negative),
    "one": first(lambda g: g.form == "one"),
    "both": first(lambda g: g.form == "both"),
}


def hexadecimal(values: np.ndarray) -> str:
    return " ".join(f"{bits:016x}" for bits in np.asarray(values, dtype=np.float64).view(np.uint64))


def main() -> None:
    for name, make in MODELS.items():
        proto = make()
        # onnxmltools gives every graph a random name.
        proto.graph.name = name
        data = proto.SerializeToString()
        model = secateur.Model.parse(data)
        width = len(model.feature_names)
        base = X2 if width == X2.shape[1] else np.random.default_rng(0).integers(0, 40, (200, width))
        rows = hostile_rows(model, base, 50)
        labels, scores = models.theirs(data, rows)
        if len(model.intercepts) == 1:
            scores = scores[:, 1:]
        lines = [
            f"{hexadecimal(row)} | {hexadecimal(score)} | {label}\n"
            for row, score, label in zip(rows, scores, labels, strict=True)
        ]
        (FOLDER / f"{name}.onnx").write_bytes(data)
        (FOLDER / f"{name}.expected").write_text("".join(lines))


if __name__ == "__main__":
    main()
