"""The ladder: default forests on tables of twenty columns, and single trees of ever more levels; each with a copy that differs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import skl2onnx
import skops.io
import xgboost
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier

COLUMNS = 20
# Rows of the table, which give about so many leaves to the hundred trees of a default forest.
FORESTS = {"28k": 2_100, "68k": 5_300, "267k": 22_800, "300k": 26_500}
DEPTHS = [300, 1_000, 3_000, 10_000]


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty columns of which half say something, with one label in five wrong."""
    return make_classification(
        rows, COLUMNS, n_informative=10, n_redundant=2, flip_y=0.2, class_sep=0.7, random_state=1
    )


def forest(name: str, folder: Path) -> tuple[Path, Path]:
    """A default forest as a file, and the same with one leaf of one tree changed."""
    path, other = folder / f"forest-{name}.skops", folder / f"forest-{name}-changed.skops"
    if not other.exists():
        rows, target = table(FORESTS[name])
        model = RandomForestClassifier(n_jobs=2, random_state=0).fit(rows, target)
        skops.io.dump(model, path)
        tree = model.estimators_[0].tree_
        leaf = int(np.flatnonzero(tree.children_left == -1)[0])
        tree.value[leaf] = tree.value[leaf][:, ::-1]
        skops.io.dump(model, other)
    return path, other


def default_forests(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Default forests on tables that everybody has, and one as large as the ladder's: files and their conversions to ONNX."""
    tables = {
        "breast cancer": lambda: load_breast_cancer(return_X_y=True),
        "digits": lambda: load_digits(return_X_y=True),
        "20,000 rows": lambda: table(20_000),
        "300k leaves": lambda: table(FORESTS["300k"]),
    }
    files = {}
    for name, make in tables.items():
        path = folder / f"default-{name.replace(' ', '-').replace(',', '')}.skops"
        converted = path.with_suffix(".onnx")
        if not converted.exists():
            rows, target = make()
            model = RandomForestClassifier(n_jobs=2, random_state=0).fit(rows, target)
            skops.io.dump(model, path)
            rows = rows[:1].astype(np.float32)
            converted.write_bytes(skl2onnx.to_onnx(model, rows, options={"zipmap": False}).SerializeToString())
        files[name] = path, converted
    return files


def leaves_of(path: Path) -> int:
    import secateur

    return secateur.load(path).leaf_count


def deep(levels: int, folder: Path) -> tuple[Path, Path]:
    """One XGBoost tree with a split on each of so many levels, over three columns in turn; and one with a leaf changed."""
    path, other = folder / f"deep-{levels}.json", folder / f"deep-{levels}-changed.json"
    if not other.exists():
        document = _skeleton()
        _put(document, _chain(levels, changed=False))
        path.write_text(json.dumps(document))
        _put(document, _chain(levels, changed=True))
        other.write_text(json.dumps(document))
    return path, other


def _skeleton() -> dict:
    rows = np.arange(60.0).reshape(20, 3)
    data = xgboost.DMatrix(rows, label=np.arange(20) % 2)
    settings = {"objective": "binary:logistic", "base_score": 0.5, "max_depth": 1}
    return json.loads(bytes(xgboost.train(settings, data, 1).save_raw("json")))


def _put(document: dict, tree: dict) -> None:
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    tree = {**trees[0], **tree}
    tree["tree_param"] = {**tree["tree_param"], "num_nodes": str(len(tree["left_children"]))}
    trees[0] = tree


def _chain(levels: int, changed: bool) -> dict:
    """Node 2i splits; node 2i + 1 is its leaf, and node 2i + 2 the next split or the last leaf."""
    count = 2 * levels + 1
    splits = np.arange(count) % 2 == 0
    splits[-1] = False
    nodes = np.arange(count)
    level = nodes // 2
    # Each column is cut in order, so that every level can be reached.
    conditions = np.where(splits, (level // 3).astype(float), np.where(level % 2 == 0, 0.25, -0.25))
    conditions[-1] = 0.125
    if changed:
        conditions[2 * (levels // 2) + 1] *= -1.0
    parents = np.where(nodes % 2 == 1, nodes - 1, nodes - 2)
    parents[0] = 2147483647
    return {
        "left_children": np.where(splits, nodes + 1, -1).tolist(),
        "right_children": np.where(splits, nodes + 2, -1).tolist(),
        "parents": parents.tolist(),
        "split_indices": np.where(splits, level % 3, 0).tolist(),
        "split_conditions": conditions.tolist(),
        "base_weights": conditions.tolist(),
        "split_type": [0] * count,
        "default_left": [0] * count,
        "loss_changes": [0.0] * count,
        "sum_hessian": [1.0] * count,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }
