"""The same function with other trees: an XGBoost model whose trees are added up two by two.

Each new tree is one tree with another in place of every leaf, so no tree of the new model has the structure of one
of the old. A proof that both decide alike cannot cancel trees against each other and has to search the whole space.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

LISTS = (
    "base_weights",
    "default_left",
    "loss_changes",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
)
NO_PARENT = 2**31 - 1


def merge_in_pairs(source: Path, target: Path) -> None:
    """Writes the model whose trees are sums of the first and the last tree, the second and the last but one, ..."""
    document = json.loads(source.read_text())
    model = document["learner"]["gradient_booster"]["model"]
    trees = model["trees"]
    pairs = [(trees[index], trees[-1 - index]) for index in range(len(trees) // 2)]
    merged = [_merge(first, second) for first, second in pairs]
    if len(trees) % 2:
        merged.append(trees[len(trees) // 2])
    model["trees"] = [dict(tree, id=index) for index, tree in enumerate(merged)]
    model["tree_info"] = [0] * len(merged)
    model["iteration_indptr"] = list(range(len(merged) + 1))
    model["gbtree_model_param"]["num_trees"] = str(len(merged))
    target.write_text(json.dumps(document))


def _merge(first: dict, second: dict) -> dict:
    """Nodes in breadth-first order, as the library writes them: a right child stands behind the left one."""
    lists: dict[str, list] = {name: [] for name in LISTS}
    left, right, parents = [], [], []
    # The tree that a node is of, its number there, what the leaf of the first tree adds, and the parent.
    waiting = [(first, 0, None, NO_PARENT)]
    for tree, node, above, parent in waiting:
        if tree is first and first["left_children"][node] == -1:
            tree, above, node = second, first["split_conditions"][node], 0
        place = len(left)
        for name in LISTS:
            lists[name].append(tree[name][node])
        parents.append(parent)
        if tree["left_children"][node] == -1:
            value = float(np.float32(tree["split_conditions"][node] + above))
            lists["split_conditions"][place] = lists["base_weights"][place] = value
            left.append(-1)
            right.append(-1)
            continue
        left.append(len(waiting))
        right.append(len(waiting) + 1)
        for children in ("left_children", "right_children"):
            waiting.append((tree, tree[children][node], above, place))
    numbers = dict(first["tree_param"], num_nodes=str(len(left)))
    children = {"left_children": left, "right_children": right, "parents": parents}
    return {**first, **lists, **children, "tree_param": numbers}
