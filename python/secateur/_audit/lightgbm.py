"""A model as LightGBM has it."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np

from .live import Live, Node, NotJudged, Test, Tree

ZERO = float(np.float32(1e-35))


class LightGBM(Live):
    """The structure is that of `Booster.dump_model`; leaf values come through `Booster.get_leaf_output`."""

    library = "LightGBM"
    number = "f64"
    reads = "f64"
    zero_window = ZERO

    def __init__(self, path: str) -> None:
        import lightgbm

        self._booster = lightgbm.Booster(model_file=path)
        whole = self._booster.dump_model(num_iteration=-1)
        self.width = whole["max_feature_idx"] + 1
        self.names = self.listed_names = whole["feature_names"]
        if self.names == [f"Column_{index}" for index in range(self.width)]:
            self.names = None
        self.category_lists = whole.get("pandas_categorical") or None
        words = str(whole.get("objective", "")).split()
        sigmoid = next((float(word.removeprefix("sigmoid:")) for word in words if word.startswith("sigmoid:")), 1.0)
        self.classes = whole["num_class"]
        match words[0] if words else "":
            case "binary":
                self.threshold = 0, Fraction(_last_of_class_0(sigmoid)), True
            case "cross_entropy" | "xentropy":
                self.threshold = 0, Fraction(3, 2**54), True
            case "multiclass":
                self.gap = 3.0 * 2.0**-52
            case "multiclassova":
                self._sigmoid = sigmoid
            case other:
                raise NotJudged(f"a model of LightGBM with the objective {other!r}")
        if self.threshold is not None:
            self.classes = 2
        groups = whole["num_tree_per_iteration"]
        self.intercepts = [Fraction(0)] * groups
        if whole["average_output"]:
            self.averaged = True
            self.divisor = Fraction(len(whole["tree_info"]) // groups)
        # The library's JSON has 1e300 in place of infinity and all above it; its text has the numbers themselves.
        text = self._booster.model_to_string(num_iteration=-1)
        blocks = re.split(r"^Tree=\d+$", text, flags=re.MULTILINE)[1:]
        lists = [re.search(r"^threshold=(.*)$", block, re.MULTILINE) for block in blocks]
        self._thresholds = [[float(word) for word in found.group(1).split()] if found else [] for found in lists]
        self.trees = []
        for index, own in enumerate(whole["tree_info"]):
            self.trees.append(self._tree(index, own["tree_structure"], index % groups))
        if words[0] == "multiclassova":
            self.gap = self._sigmoid_gap(sigmoid)

    def _tree(self, index: int, root: dict, group: int) -> Tree:
        nodes: list[Node] = []
        stored = []
        # Nodes still to be placed, with the node and side that lead there.
        open_nodes: list[tuple[dict, int, bool]] = [(root, -1, False)]
        while open_nodes:
            own, parent, first = open_nodes.pop()
            at = len(nodes)
            if parent >= 0:
                if first:
                    nodes[parent].yes = at
                else:
                    nodes[parent].no = at
            if "split_index" not in own:
                if "leaf_const" in own or "leaf_coeff" in own:
                    raise NotJudged("linear trees of LightGBM")
                name = own.get("leaf_index", 0)
                value = self._booster.get_leaf_output(index, name)
                stored.append(value)
                nodes.append(Node(added={group: Fraction(value)}, name=name))
                continue
            nodes.append(Node(own["split_feature"], _test(own, self._thresholds[index][own["split_index"]])))
            open_nodes.append((own["right_child"], at, False))
            open_nodes.append((own["left_child"], at, True))
        return Tree(nodes, (group,), Fraction(1), {group: stored})

    def _sigmoid_gap(self, scale: float) -> float:
        """How far scores must be apart for the sigmoids of one-against-all to be different floats."""
        highest = max(
            (sum(max(tree.stored[group]) for tree in self.trees if group in tree.sums) / float(self.divisor))
            for group in range(self.groups)
        )
        lowest = min(
            (sum(min(tree.stored[group]) for tree in self.trees if group in tree.sums) / float(self.divisor))
            for group in range(self.groups)
        )
        magnitude = max(abs(highest), abs(lowest)) * scale
        # Slightly smaller, since it is only compared from below and computed in floats.
        return 3.0 * 2.0**-53 * (magnitude + 5.0) * (1.0 + math.exp(highest * scale)) / scale * (1.0 - 1e-9)

    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        names = self._booster.predict(rows, pred_leaf=True, num_threads=1)
        names = np.asarray(names).reshape(len(rows), -1).astype(np.int64)
        return [names[:, tree].tolist() for tree in range(len(self.trees))]

    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        group = self.trees[tree].sums[0]
        return {group: Fraction(self._booster.get_leaf_output(tree, name))}

    def scores(self, rows: np.ndarray) -> np.ndarray | None:
        if self.averaged:
            return None
        return np.asarray(self._booster.predict(rows, raw_score=True, num_threads=1)).reshape(len(rows), -1)

    def decides(self, rows: np.ndarray) -> np.ndarray:
        answers = np.asarray(self._booster.predict(rows, num_threads=1))
        return (answers > 0.5).astype(int) if answers.ndim == 1 else answers.argmax(axis=1)


def _test(own: dict, exact: float) -> Test:
    if own["decision_type"] == "==":
        return Test("categories of LightGBM", members=frozenset(int(code) for code in str(own["threshold"]).split("||")))
    threshold = float(own["threshold"])
    if abs(threshold) >= 1e300:
        threshold = exact
    match own["missing_type"]:
        case "None":
            # A missing value is read as zero.
            return Test("<=", threshold, missing=0.0 <= threshold)
        case "Zero":
            return Test("<=", threshold, missing=own["default_left"], zero_is_missing=True)
        case "NaN":
            return Test("<=", threshold, missing=own["default_left"])
        case other:
            raise NotJudged(f"a split of LightGBM with the missing type {other!r}")


def _last_of_class_0(sigmoid: float) -> float:
    """The largest score whose product with the sigmoid's factor is at most 1.5 * 2^-53."""
    zone = 1.5 * 2.0**-53
    score = zone / sigmoid
    while sigmoid * score > zone:
        score = math.nextafter(score, -math.inf)
    while sigmoid * math.nextafter(score, math.inf) <= zone:
        score = math.nextafter(score, math.inf)
    return score
