"""Models of XGBoost, LightGBM and scikit-learn's forests as models of YDF, through its tree API, and the C++ that YDF writes for them.

YDF has no reader for these models. Its trees test `x >= t` in float32. XGBoost's test is that one. LightGBM and scikit-learn test `x <= t` with a threshold that
is a double: for every x that a float32 holds it is the same as `x >= t'` with the least float32 t' above t (but for numbers within 1e-35 of zero, which LightGBM takes for zero). Leaves become float32. A missing value has a side of
its own at every node of YDF's model, but its standalone C++ replaces it by one number for each feature.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Node:
    feature: int
    threshold: np.float32
    """From this value on a row goes to the upper side."""
    missing: bool
    """A missing value goes to the upper side."""
    lower: "Node | Leaf"
    upper: "Node | Leaf"


@dataclass
class Leaf:
    values: list[np.float32]


@dataclass
class Trees:
    """An ensemble in the terms of YDF. Boosted trees add to the classes in turn; a forest has a share for each class in every leaf."""

    roots: list[Node | Leaf]
    start: list[float]
    features: int
    classes: int
    forest: bool


def above(threshold: float) -> np.float32:
    """The least float32 above a double."""
    near = np.float32(threshold)
    return near if float(near) > threshold else np.nextafter(near, np.float32(np.inf))


def trees_of(kind: str, fitted: Any) -> Trees:
    return {"xgboost": of_xgboost, "lightgbm": of_lightgbm, "forest": of_forest}[kind](fitted)


def of_xgboost(fitted: Any) -> Trees:
    learner = json.loads(bytes(fitted.get_booster().save_raw("json")))["learner"]
    parameters = learner["learner_model_param"]
    base = np.ravel(json.loads(parameters["base_score"])).astype(float)
    classes = max(2, int(parameters["num_class"]))
    if classes == 2:
        start = [float(np.log(base[0] / (1 - base[0])))]
    else:
        start = np.broadcast_to(base, classes).tolist()
    trees = learner["gradient_booster"]["model"]["trees"]

    def node(tree: dict[str, Any], at: int) -> Node | Leaf:
        left, value = tree["left_children"][at], np.float32(tree["split_conditions"][at])
        if left < 0:
            return Leaf([value])
        if tree["split_type"][at]:
            raise ValueError("set up for numeric features only")
        sides = node(tree, left), node(tree, tree["right_children"][at])
        return Node(tree["split_indices"][at], value, not tree["default_left"][at], *sides)

    return Trees([node(tree, 0) for tree in trees], start, fitted.n_features_in_, classes, False)


def of_lightgbm(fitted: Any) -> Trees:
    dump = fitted.booster_.dump_model()

    def node(found: dict[str, Any]) -> Node | Leaf:
        if "leaf_value" in found:
            return Leaf([np.float32(found["leaf_value"])])
        if found["decision_type"] != "<=" or found["missing_type"] == "Zero":
            raise ValueError("set up for numeric features without zeros as missing values only")
        threshold = above(float(found["threshold"]))
        # Without missing values in the training data one is taken for zero.
        missing = not found["default_left"] if found["missing_type"] == "NaN" else 0 >= threshold
        return Node(found["split_feature"], threshold, bool(missing), node(found["left_child"]), node(found["right_child"]))

    classes = max(2, dump["num_class"])
    roots = [node(tree["tree_structure"]) for tree in dump["tree_info"]]
    return Trees(roots, [0.0] * (1 if classes == 2 else classes), fitted.n_features_in_, classes, False)


def of_forest(fitted: Any) -> Trees:
    def node(tree: Any, at: int) -> Node | Leaf:
        left = tree.children_left[at]
        if left < 0:
            return Leaf((tree.value[at][0] / tree.value[at][0].sum()).astype(np.float32).tolist())
        sides = node(tree, left), node(tree, tree.children_right[at])
        return Node(int(tree.feature[at]), above(tree.threshold[at]), not tree.missing_go_to_left[at], *sides)

    roots = [node(found.tree_, 0) for found in fitted.estimators_]
    return Trees(roots, [], fitted.n_features_in_, len(fitted.classes_), True)


def names_of(trees: Trees) -> list[str]:
    return [f"f{column:03d}" for column in range(trees.features)]


def as_columns(trees: Trees, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Rows as YDF takes them."""
    return {name: np.ascontiguousarray(rows[:, at], dtype=np.float32) for at, name in enumerate(names_of(trees))}


def ydf_model(trees: Trees, rows: np.ndarray) -> Any:
    """YDF's model of these trees. It is trained on some rows, which makes its columns and classes; then its trees are replaced."""
    import ydf
    from ydf import tree as parts

    rows = np.nan_to_num(rows[:2000])
    settings: dict[str, Any] = {
        "label": "label", "num_trees": 1, "max_depth": 2, "num_threads": 1, "include_all_columns": False,
        "features": [(name, ydf.Semantic.NUMERICAL) for name in names_of(trees)],
    }
    if trees.forest:
        learner = ydf.RandomForestLearner(**settings, winner_take_all=False, compute_oob_performances=False)
    else:
        learner = ydf.GradientBoostedTreesLearner(**settings, validation_ratio=0.0)
    model = learner.train({**as_columns(trees, rows), "label": np.arange(len(rows)) % trees.classes}, verbose=0)
    column = {feature.name: feature.column_idx for feature in model.input_features()}
    attributes = [column[name] for name in names_of(trees)]
    there = model.num_trees()

    def value(leaf: Leaf | None) -> Any:
        if trees.forest:
            shares = leaf.values if leaf else [1 / trees.classes] * trees.classes
            return parts.ProbabilityValue(num_examples=1.0, probability=[float(share) for share in shares])
        return parts.RegressionValue(num_examples=1.0, value=float(leaf.values[0]) if leaf else 0.0)

    def converted(node: Node | Leaf) -> Any:
        if isinstance(node, Leaf):
            return parts.Leaf(value=value(node))
        test = parts.NumericalHigherThanCondition(
            missing=node.missing, score=1.0, attribute=attributes[node.feature], threshold=float(node.threshold)
        )
        return parts.NonLeaf(value=value(None), condition=test, neg_child=converted(node.lower), pos_child=converted(node.upper))

    for root in trees.roots:
        model.add_tree(parts.Tree(root=converted(root)))
    for _ in range(there):
        model.remove_tree(0)
    if not trees.forest:
        model.set_initial_predictions(trees.start)
    return model


def write_standalone(trees: Trees, model: Any, folder: pathlib.Path, safe: bool = False) -> int:
    """YDF's standalone C++ as `standalone.h`, and `standalone.cc` with `void score(const float *row, float *out)` for C; how many numbers it gives.

    Raw scores, or the shares of the classes of a forest (of the second one alone where there are two). `safe` takes the entry that looks for missing values.
    """
    output = "PROBABILITY" if trees.forest else "SCORE"
    header = model.to_standalone_cc(name="ydf_model", algorithm="ROUTING", classification_output=output)
    if f"kNumFeatures = {trees.features};" not in header:
        raise RuntimeError("the standalone code has other features than the model")
    (folder / "standalone.h").write_text(header)
    entry = "Predict" if safe else "PredictUnsafe"
    call = f"ydf_model::{entry}(*reinterpret_cast<const ydf_model::Instance *>(row))"
    outputs = 1 if trees.classes == 2 else trees.classes
    body = f"*out = {call};" if outputs == 1 else f"const auto found = {call}; for (float value : found) *out++ = value;"
    (folder / "standalone.cc").write_text(f'#include <array>\n#include "standalone.h"\nextern "C" void score(const float *row, float *out) {{ {body} }}\n')
    return outputs


CPP = ["-std=c++20", "-fno-exceptions", "-fno-rtti", "-DNDEBUG"]


def standalone_sizes(folder: pathlib.Path) -> tuple[int, int]:
    """The bytes that the compiled code loads, and those of its tables alone: g++ -Os for this machine."""
    command = ["g++", *CPP, "-Os", "-fno-asynchronous-unwind-tables", "-c", "standalone.cc", "-o", "standalone.o"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    told = subprocess.run(["size", "standalone.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
    text, data, zeros = map(int, told.splitlines()[1].split()[:3])
    symbols = subprocess.run(["nm", "-S", "-C", "standalone.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
    tables = sum(int(size, 16) for size, kind in re.findall(r"^\w+ (\w+) ([rRdDbB]) ", symbols, re.MULTILINE))
    return text + data + zeros, tables


def standalone_library(folder: pathlib.Path) -> pathlib.Path:
    """The same code as a shared library made for speed."""
    command = ["g++", *CPP, "-O3", "-march=native", "-shared", "-fPIC", "standalone.cc", "-o", "standalone.so"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "standalone.so"


def other_constants(trees: Trees, folder: pathlib.Path) -> str:
    """How many thresholds and leaves of boosted trees are other numbers in the standalone code, which has six digits of each."""
    thresholds, leaves = [], []

    def visit(node: Node | Leaf) -> None:
        if isinstance(node, Leaf):
            leaves.append(node.values[0])
        else:
            thresholds.append(node.threshold)
            visit(node.lower)
            visit(node.upper)

    for root in trees.roots:
        visit(root)
    header = (folder / "standalone.h").read_text()
    words = []
    for name, exact, what in (("thr", thresholds, "thresholds"), ("val", leaves, "leaves")):
        printed = np.array([float(text) for text in re.findall(rf"\.{name}=([^}}]+)}}", header)], np.float32)
        if len(printed) != len(exact):
            raise RuntimeError(f"the standalone code has {len(printed)} {what}, the model {len(exact)}")
        words.append(f"{int((printed != np.array(exact, np.float32)).sum()):,} of {len(exact):,} {what}")
    return " and ".join(words)
