"""A model as CatBoost has it."""

from __future__ import annotations

import json
import os
import tempfile
from fractions import Fraction
from typing import Any

import numpy as np

from .live import Live, Node, NotJudged, Test, Tree


class CatBoost(Live):
    """The structure is what the library writes as JSON; leaves and their values are `calc_leaf_indexes` and
    `get_leaf_values` of the loaded model."""

    library = "CatBoost"
    number = "f64"
    reads = "f32"
    intercept_last = True

    def __init__(self, path: str) -> None:
        import catboost

        self._catboost = catboost
        self._model = catboost.CatBoostClassifier()
        self._model.load_model(path, format="json" if path.endswith(".json") else "cbm")
        with tempfile.TemporaryDirectory() as folder:
            written = os.path.join(folder, "model.json")
            self._model.save_model(written, format="json")
            with open(written) as file:
                whole = json.load(file)
        information = whole["features_info"]
        if any(information.get(kind) for kind in ("categorical_features", "text_features", "embedding_features")):
            raise NotJudged(
                "columns of categories of CatBoost: its file has hashes instead of categories, and no input can be made of a hash"
            )
        columns = {own["feature_index"]: own for own in information["float_features"]}
        self.width = 1 + max(own["flat_feature_index"] for own in columns.values())
        names = [str(own["feature_id"]) for own in columns.values()]
        self.names = names if all(names) else None
        if self._model.classes_ is None or not len(self._model.classes_):
            raise NotJudged("a model of CatBoost without classes")
        self.labels = list(self._model.classes_)
        if abs((self._model.get_probability_threshold() or 0.5) - 0.5) > 0.0:
            raise NotJudged("a model of CatBoost with a probability threshold of its own")
        scale, bias = self._model.get_scale_and_bias()
        biases = bias if isinstance(bias, list) else [bias]
        self.intercepts = [Fraction(value) for value in biases]
        groups = len(biases)
        self.classes = 2 if groups == 1 else groups
        if groups > 1:
            # Classes without a row in training have a label and no sum.
            places = json.loads(self._model.get_metadata()["class_params"])["class_to_label"]
            self.labels = [self.labels[int(place)] for place in places]
        if len(self.labels) != self.classes:
            raise NotJudged(f"a model of CatBoost with {len(self.labels)} labels for {self.classes} classes")
        if groups == 1:
            self.threshold = 0, Fraction(0), True
        weight = Fraction(scale)
        self.scale = weight if scale != 1.0 else None
        values = self._model.get_leaf_values()
        counts = self._model.get_tree_leaf_counts()
        self._leaf_values: list[np.ndarray] = []
        first = 0
        for count in counts:
            size = int(count) * groups
            self._leaf_values.append(np.asarray(values[first : first + size]).reshape(int(count), groups))
            first += size
        if first != len(values):
            raise NotJudged("a model of CatBoost whose leaves do not add up to its list of values")
        missing = {at: own["nan_value_treatment"] == "AsTrue" for at, own in columns.items()}
        flat = {at: own["flat_feature_index"] for at, own in columns.items()}

        def split(own: dict) -> Node:
            if own["split_type"] != "FloatFeature":
                raise NotJudged(f"a split of CatBoost of the type {own['split_type']!r}")
            # The file's borders are f32, as decimal digits.
            border = float(np.float32(own["border"]))
            column = own["float_feature_index"]
            return Node(flat[column], Test(">", border, missing=missing[column]))

        sums = tuple(range(groups))
        self.trees = []
        symmetric = "oblivious_trees" in whole
        for index, own in enumerate(whole["oblivious_trees" if symmetric else "trees"]):
            stored = self._leaf_values[index]
            nodes: list[Node] = []
            if symmetric:
                # The answer to split d is bit d of the leaf's number; the last split becomes the root.
                splits = own["splits"] or []
                depth = len(splits)
                for level in range(depth):
                    for place in range(2**level):
                        node = split(splits[depth - 1 - level])
                        at = 2**level - 1 + place
                        node.no, node.yes = 2 * at + 1, 2 * at + 2
                        nodes.append(node)
                for leaf in range(2**depth):
                    nodes.append(self._leaf_node(stored[leaf], weight, leaf))
            else:
                self._grow(own, nodes, split, weight, groups)
            by_sum = {group: stored[:, group].tolist() for group in sums}
            self.trees.append(Tree(nodes, sums, weight, by_sum))

    @staticmethod
    def _leaf_node(values: Any, weight: Fraction, name: Any) -> Node:
        return Node(added={at: weight * Fraction(float(value)) for at, value in enumerate(values)}, name=name)

    def _grow(self, root: dict, nodes: list[Node], split: Any, weight: Fraction, groups: int) -> None:
        open_nodes: list[tuple[dict, int, bool]] = [(root, -1, False)]
        while open_nodes:
            own, parent, yes = open_nodes.pop()
            at = len(nodes)
            if parent >= 0:
                if yes:
                    nodes[parent].yes = at
                else:
                    nodes[parent].no = at
            if "split" in own:
                nodes.append(split(own["split"]))
                open_nodes.append((own["right"], at, True))
                open_nodes.append((own["left"], at, False))
                continue
            value = own["value"]
            nodes.append(self._leaf_node(value if isinstance(value, list) else [value], weight, None))

    def _pool(self, rows: np.ndarray) -> Any:
        with np.errstate(over="ignore"):
            return self._catboost.Pool(rows.astype(np.float32))

    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        names = np.asarray(self._model.calc_leaf_indexes(self._pool(rows), thread_count=1)).reshape(len(rows), -1)
        return [names[:, tree].tolist() for tree in range(len(self.trees))]

    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        weight = self.scale or Fraction(1)
        return {at: weight * Fraction(float(value)) for at, value in enumerate(self._leaf_values[tree][name])}

    def scores(self, rows: np.ndarray) -> np.ndarray:
        answers = self._model.predict(self._pool(rows), prediction_type="RawFormulaVal", thread_count=1)
        return np.asarray(answers).reshape(len(rows), -1)

    def decides(self, rows: np.ndarray) -> np.ndarray:
        answers = np.ravel(self._model.predict(self._pool(rows), thread_count=1))
        place = {str(label): at for at, label in enumerate(self.labels or [])}
        return np.array([place[str(answer)] for answer in answers])
