"""How small a model of XGBoost or LightGBM can be without loss: the bytes that its leaves, thresholds and nodes need, in four ways of counting."""

from __future__ import annotations

import lzma
import math
from typing import Any

import numpy as np

import ydf_model


class Parts:
    """A model's numbers: leaves and nodes in the order of the trees, thresholds once for each feature, in order."""

    def __init__(self, kind: str, fitted: Any) -> None:
        leaves: list[float] = []
        nodes: list[tuple[int, float]] = []
        self.shapes = 0.0
        if kind == "lightgbm":
            roots, visit, number = [tree["tree_structure"] for tree in fitted.booster_.dump_model()["tree_info"]], visit_lightgbm, np.float64
        else:
            roots, visit, number = ydf_model.of_xgboost(fitted).roots, visit_xgboost, np.float32
        for root in roots:
            before = len(leaves)
            visit(root, leaves, nodes)
            self.shapes += log2_shapes(len(leaves) - before - 1)
        self.leaves = np.array(leaves, number)
        self.distinct = sorted(set(nodes))
        self.thresholds = np.array([threshold for _, threshold in self.distinct], number)
        place = {node: at for at, node in enumerate(self.distinct)}
        self.nodes = np.array([place[node] for node in nodes])
        self.features = np.array([feature for feature, _ in self.distinct])


def visit_lightgbm(node: dict[str, Any], leaves: list[float], nodes: list[tuple[int, float]]) -> None:
    if "leaf_value" in node:
        leaves.append(float(node["leaf_value"]))
        return
    nodes.append((node["split_feature"], float(node["threshold"])))
    visit_lightgbm(node["left_child"], leaves, nodes)
    visit_lightgbm(node["right_child"], leaves, nodes)


def visit_xgboost(node: Any, leaves: list[float], nodes: list[tuple[int, float]]) -> None:
    if isinstance(node, ydf_model.Leaf):
        leaves.append(float(node.values[0]))
        return
    nodes.append((node.feature, float(node.threshold)))
    visit_xgboost(node.lower, leaves, nodes)
    visit_xgboost(node.upper, leaves, nodes)


def log2_shapes(inner: int) -> float:
    """The logarithm of how many shapes a tree with so many inner nodes can have, a Catalan number."""
    return math.log2(math.comb(2 * inner, inner) // (inner + 1))


def entropy(values: np.ndarray) -> float:
    """The bytes that these values need if each is coded by how frequent it is."""
    counts = np.unique(values, return_counts=True)[1]
    return float((counts * np.log2(counts.sum() / counts)).sum() / 8)


def planes(numbers: np.ndarray) -> np.ndarray:
    """The bytes of numbers, those of the same place beside each other."""
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), -1).T


def compressed(data: np.ndarray) -> int:
    return len(lzma.compress(data.tobytes(), preset=9 | lzma.PRESET_EXTREME))


def fixed(numbers: np.ndarray) -> int:
    """The bits of each of these floats if all have the same: sign and exponent by a table, and the digits that differ at all."""
    whole, digits = (np.uint64, 52) if numbers.dtype == np.float64 else (np.uint32, 23)
    bits = numbers.view(whole)
    heads = len(np.unique(bits >> whole(digits)))
    differ = int(np.bitwise_or.reduce(bits ^ bits[0])) & ((1 << digits) - 1)
    # Thresholds often are one step above a number of few digits: the last digit is counted, those between are not.
    return max(1, math.ceil(math.log2(heads))) + differ.bit_count()


def page(kind: str, fitted: Any, others: dict[str, int], code: int, goal: float) -> str:
    """A table, and what it says of so many times less flash than others'. `code` is what our image has beside its tables."""
    parts = Parts(kind, fitted)
    width = parts.leaves.itemsize
    ranks = np.bincount(parts.features)
    ordered = sum(math.lgamma(count + 1) for count in ranks) / math.log(2) / 8
    node_bits = math.ceil(math.log2(len(ranks))) + math.ceil(math.log2(ranks.max()))
    rank = np.arange(len(parts.features)) - np.searchsorted(parts.features, parts.features)
    table = np.column_stack([parts.features, rank])[parts.nodes].astype(np.uint16)
    rows = [
        ("leaves", len(parts.leaves), width * len(parts.leaves), fixed(parts.leaves) * len(parts.leaves) / 8,
         sum(map(entropy, planes(parts.leaves))), compressed(planes(parts.leaves))),
        ("thresholds, each once for a feature", len(parts.thresholds), width * len(parts.thresholds), fixed(parts.thresholds) * len(parts.thresholds) / 8,
         sum(map(entropy, planes(parts.thresholds))) - ordered, compressed(planes(parts.thresholds))),
        ("nodes: feature and place of the threshold", len(parts.nodes), 3 * len(parts.nodes), node_bits * len(parts.nodes) / 8,
         entropy(parts.nodes), compressed(planes(table[:, 0])) + compressed(planes(table[:, 1]))),
        ("shapes of the trees", len(parts.leaves) - len(parts.nodes), 0, 2 * len(parts.nodes) / 8, parts.shapes / 8, parts.shapes / 8),
    ]  # fmt: skip
    text = "\nWhat this model needs without loss, in bytes:\n\n| | how many | plain | bits of a fixed number | by frequency | xz -9e |\n|---|---|---|---|---|---|\n"
    for name, count, *found in rows:
        text += f"| {name} | {count:,} | " + " | ".join(f"{value:,.0f}" if value else "-" for value in found) + " |\n"
    sums = [sum(row[at] for row in rows) for at in range(2, 6)]
    text += "| **together** | | " + " | ".join(f"{value:,.0f}" for value in sums) + " |\n"
    text += (
        '\n"Plain" are the library\'s own floats and three bytes a node. "Bits of a fixed number" are tables that can be walked: sign and exponent by a table, only the binary digits in which the numbers differ, a shape of two bits '
        'a node. "By frequency" is the entropy of each byte of these floats (less what the order of the thresholds tells) and of each pair of feature and place, which '
        "nobody can walk: it would have to be decoded, all of it, for every row. These are measures of known ways, no proof that there is no better one.\n"
    )
    alone = rows[0][4] + min(rows[1][4], rows[1][5])
    walked, least = sums[1] + code, min(sums[2], sums[3]) + code
    text += f"With our {code:,} bytes of code an image has at least {walked:,.0f} bytes with bits of a fixed number and {least:,.0f} by frequency; leaves and thresholds alone have {alone:,.0f} by frequency.\n"
    for who, flash in others.items():
        wanted = flash / goal
        text += f"\n{goal:g} times less than the {flash:,} bytes of {who} are {wanted:,.0f}: those images are {flash / walked:.2f} and {flash / least:.2f} times smaller. "
        if alone > wanted:
            text += "Leaves and thresholds alone need more, so that it is out of reach without loss.\n"
        elif least > wanted:
            text += "It is out of reach without loss.\n"
        elif walked > wanted:
            text += f"Tables that can be walked do not get there without loss; a decoder of the whole model for every row would have {wanted - least:,.0f} bytes to spare for more code.\n"
        else:
            text += "It can be reached without loss.\n"
    return text
