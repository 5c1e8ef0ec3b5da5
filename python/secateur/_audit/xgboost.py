"""A model as XGBoost has it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np

from .live import Live, Node, NotJudged, Test, Tree


class XGBoost(Live):
    """The library writes its model as JSON, with numbers that read back as the same f32."""

    library = "XGBoost"
    number = "f32"
    reads = "f32"

    def __init__(self, path: str) -> None:
        import xgboost

        self._xgboost: Any = xgboost
        self._booster = xgboost.Booster(model_file=path)
        self._booster.set_param({"nthread": 1})
        learner = json.loads(self._booster.save_raw("json"))["learner"]
        booster = learner["gradient_booster"]
        dart = booster["name"] == "dart"
        if dart:
            weights = [float(np.float32(weight)) for weight in booster["weight_drop"]]
            booster = booster["gbtree"]
        elif booster["name"] != "gbtree":
            raise NotJudged(f"a model of XGBoost with the booster {booster['name']!r}")
        contents = booster["model"]
        self.width = int(learner["learner_model_param"]["num_feature"])
        self.names = learner.get("feature_names") or None
        self._types = learner.get("feature_types") or None
        self.category_lists = contents.get("cats", {}).get("enc") or None
        self._objective = learner["objective"]["name"]
        count = int(learner["learner_model_param"].get("num_class", "0"))
        match self._objective:
            case "binary:logistic":
                self.threshold = 0, Fraction(3, 2**25), True
            case "binary:logitraw":
                self.threshold = 0, Fraction(1, 2), True
            case "binary:hinge":
                self.threshold = 0, Fraction(0), True
            case "multi:softmax":
                pass
            case "multi:softprob":
                self.gap = 3.0 * 2.0**-23
            case other:
                raise NotJudged(f"a model of XGBoost with the objective {other!r}")
        self.classes = 2 if self.threshold is not None else count
        groups = 1 if self.threshold is not None else count
        best = learner.get("attributes", {}).get("best_iteration")
        self._rounds = int(best) + 1 if best is not None and int(best) >= 0 else 0
        used = len(contents["trees"])
        if self._rounds:
            used = contents["iteration_indptr"][self._rounds]
        self.trees = []
        for index, tree in enumerate(contents["trees"][:used]):
            if int(tree["tree_param"]["size_leaf_vector"]) > 1:
                raise NotJudged("trees of XGBoost with a value for each class in their leaves")
            weight = Fraction(weights[index]) if dart else Fraction(1)
            self.trees.append(_tree(tree, int(contents["tree_info"][index]), weight))
        self._tell_apart = self._without_trees(learner)
        margins = self._margins(self._tell_apart, np.zeros((1, self.width)))
        self.intercepts = [Fraction(float(value)) for value in margins.reshape(1, groups)[0]]
        self._check_threshold()

    def _without_trees(self, learner: dict) -> Any:
        """The same model with zero in every leaf: what is left is the intercept, as the library computes it."""
        whole = json.loads(self._booster.save_raw("json"))
        booster = whole["learner"]["gradient_booster"]
        trees = booster.get("gbtree", booster)["model"]["trees"]
        for tree in trees:
            leaves = [left == -1 for left in tree["left_children"]]
            tree["split_conditions"] = [0.0 if leaf else value for leaf, value in zip(leaves, tree["split_conditions"])]
        zeroed = self._xgboost.Booster()
        zeroed.load_model(bytearray(json.dumps(whole).encode()))
        zeroed.set_param({"nthread": 1})
        return zeroed

    def _matrix(self, rows: np.ndarray, **more: Any) -> Any:
        return self._xgboost.DMatrix(
            rows.astype(np.float32),
            feature_names=self.names,
            feature_types=self._types,
            missing=np.nan,
            enable_categorical=True,
            nthread=1,
            **more,
        )

    def _margins(self, booster: Any, rows: np.ndarray) -> np.ndarray:
        return booster.predict(self._matrix(rows), output_margin=True, iteration_range=(0, self._rounds))

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return self._margins(self._booster, rows).reshape(len(rows), -1)

    def _check_threshold(self) -> None:
        """The library itself says at which margin its decision changes."""
        if self.threshold is None:
            return
        at = np.float32(float(self.threshold[1]))
        margins = np.array([np.nextafter(at, np.float32(-1)), at, np.nextafter(at, np.float32(1))], dtype=np.float32)
        rows = np.zeros((3, self.width))
        answers = self._tell_apart.predict(self._matrix(rows, base_margin=margins)) > 0.5
        if answers.tolist() != [False, False, True]:
            raise NotJudged(f"this version of XGBoost does not decide at the margin {float(at)!r}")

    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        names = self._booster.predict(self._matrix(rows), pred_leaf=True, iteration_range=(0, self._rounds))
        names = np.asarray(names).reshape(len(rows), -1).astype(np.int64)
        return [names[:, tree].tolist() for tree in range(len(self.trees))]

    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        return self.trees[tree].nodes[name].added

    def decides(self, rows: np.ndarray) -> np.ndarray:
        answers = self._booster.predict(self._matrix(rows), iteration_range=(0, self._rounds))
        if self.threshold is not None:
            return (answers > 0.5).astype(int)
        return answers.astype(int) if answers.ndim == 1 else answers.argmax(axis=1)


def _tree(tree: dict, group: int, weight: Fraction) -> Tree:
    """The library's own numbering: node names of `pred_leaf` are places in these lists."""
    sets = {
        node: frozenset(tree["categories"][begin : begin + size])
        for node, begin, size in zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"])
    }
    nodes = []
    for at, left in enumerate(tree["left_children"]):
        value = float(np.float32(tree["split_conditions"][at]))
        if left == -1:
            nodes.append(Node(added={group: weight * Fraction(value)}, name=at))
            continue
        missing = bool(tree["default_left"][at])
        if tree["split_type"][at] == 1:
            test = Test("categories of XGBoost", members=sets.get(at, frozenset()), missing=missing)
        else:
            test = Test("<", value, missing=missing)
        nodes.append(Node(tree["split_indices"][at], test, left, tree["right_children"][at]))
    built = Tree(nodes, (group,), weight)
    # Deleted nodes have no way to them.
    leaves = [node for node in built.reachable() if node.column < 0]
    built.stored[group] = [float(np.float32(tree["split_conditions"][node.name])) for node in leaves]
    return built
