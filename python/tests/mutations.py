"""Changed copies of model files, one small change each, and the library as the judge of what they do.

A `Subject` is a model file with what the tests ask of the library that wrote it: classes, raw scores, and the leaf
of each tree, from which scores follow in exact arithmetic without any code of ours.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

import lightgbm
import numpy as np
import xgboost

import secateur


def next_single(value: float) -> float:
    return float(np.nextafter(np.float32(value), np.float32(np.inf)))


def next_double(value: float) -> float:
    return float(np.nextafter(value, np.inf))


class Subject:
    """A model file and its library."""

    classes: int
    # The file's class 1 needs a raw score above this: up to here the probability rounds to one half.
    dead_zone: float

    def __init__(self, data: bytes):
        self.data = data
        self.model = secateur.Model.parse(data)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Raw scores of the library, one column for each sum."""
        raise NotImplementedError

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Classes of the library."""
        raise NotImplementedError

    def leaf_values(self, rows: np.ndarray) -> list[tuple[int, list[float], np.ndarray]]:
        """For each tree its sum, the values of its leaves, and which of them each row reaches."""
        raise NotImplementedError

    def mutants(self, random: np.random.Generator) -> Iterator[tuple[str, bytes]]:
        """Names and changed files."""
        raise NotImplementedError

    def margin(self, rows: np.ndarray) -> np.ndarray:
        """How far the winner leads by the library's scores."""
        scores = self.scores(rows).astype(np.float64)
        if scores.shape[1] == 1:
            return np.abs(scores[:, 0] - self.dead_zone)
        ordered = np.sort(scores, axis=1)
        return ordered[:, -1] - ordered[:, -2]

    def exact_classes(self, rows: np.ndarray) -> np.ndarray:
        """Classes in exact arithmetic: whole numbers at a scale that no leaf is finer than."""
        trees = self.leaf_values(rows)
        intercepts = [Fraction(value) for value in self.model.intercepts]
        leaves = [[Fraction(value) for value in values] for _, values, _ in trees]
        zone = Fraction(self.dead_zone)
        scale = max(f.denominator for f in [zone, *intercepts, *(f for values in leaves for f in values)])
        sums = [np.full(len(rows), int(intercept * scale), dtype=object) for intercept in intercepts]
        for (group, _, reached), values in zip(trees, leaves):
            sums[group] += np.array([int(value * scale) for value in values], dtype=object)[reached]
        if len(sums) == 1:
            return (sums[0] > int(zone * scale)).astype(int)
        return np.argmax(np.stack(sums, axis=1), axis=1)


class XgboostFile(Subject):
    """An XGBoost model in JSON."""

    def __init__(self, data: bytes):
        super().__init__(data)
        self.document = json.loads(data)
        learner = self.document["learner"]
        self.groups = max(1, int(learner["learner_model_param"]["num_class"]))
        self.classes = max(2, self.groups)
        self.dead_zone = 1.5 / 2**24 if self.groups == 1 else 0.0
        self.types = learner["feature_types"] or None
        self.booster = xgboost.Booster({"nthread": 1})
        self.booster.load_model(bytearray(data))

    @property
    def forest(self) -> dict:
        return self.document["learner"]["gradient_booster"]["model"]

    def matrix(self, rows: np.ndarray) -> xgboost.DMatrix:
        categorical = self.types is not None and "c" in self.types
        return xgboost.DMatrix(
            rows.astype(np.float32), feature_types=self.types, enable_categorical=categorical, nthread=1
        )

    def scores(self, rows):
        return self.booster.predict(self.matrix(rows), output_margin=True).reshape(len(rows), -1)

    def predict(self, rows):
        # As XGBClassifier.predict does.
        shares = self.booster.predict(self.matrix(rows))
        return (shares > 0.5).astype(int) if shares.ndim == 1 else np.argmax(shares, axis=1)

    def leaf_values(self, rows):
        reached = self.booster.predict(self.matrix(rows), pred_leaf=True).reshape(len(rows), -1).astype(int)
        return [
            # The document's decimals are those of single precision.
            (group, [float(np.float32(value)) for value in tree["split_conditions"]], reached[:, index])
            for index, (tree, group) in enumerate(zip(self.forest["trees"], self.forest["tree_info"]))
        ]

    def mutants(self, random):
        def changed(change: Callable[[dict, list, Callable], None]) -> bytes:
            document = copy.deepcopy(self.document)
            forest = document["learner"]["gradient_booster"]["model"]

            def pick(wanted: Callable[[dict, int], bool]) -> tuple[dict, int]:
                places = [(t, n) for t in forest["trees"] for n in range(len(t["left_children"])) if wanted(t, n)]
                return places[random.integers(len(places))]

            change(document["learner"], forest, pick)
            for index, tree in enumerate(forest["trees"]):
                tree["id"] = index
            count = len(forest["trees"])
            forest["gbtree_model_param"]["num_trees"] = str(count)
            forest["iteration_indptr"] = list(range(0, count + 1, self.groups))
            return json.dumps(document).encode()

        def is_leaf(tree, node):
            return tree["left_children"][node] == -1

        def is_split(tree, node):
            return not is_leaf(tree, node)

        def is_numeric(tree, node):
            return is_split(tree, node) and tree["split_type"][node] == 0

        def leaf(to: Callable[[float], float]):
            def change(learner, forest, pick):
                tree, node = pick(is_leaf)
                value = to(float(np.float32(tree["split_conditions"][node])))
                tree["split_conditions"][node] = tree["base_weights"][node] = value

            return change

        def threshold(to: Callable[[float], float]):
            def change(learner, forest, pick):
                tree, node = pick(is_numeric)
                tree["split_conditions"][node] = to(float(np.float32(tree["split_conditions"][node])))

            return change

        def swap(learner, forest, pick):
            # The right child stands behind the left one, so their contents change places.
            tree, node = pick(lambda t, n: is_split(t, n) and not t["categories"])
            left, right = tree["left_children"][node], tree["right_children"][node]
            for values in tree.values():
                if isinstance(values, list) and len(values) == len(tree["left_children"]):
                    values[left], values[right] = values[right], values[left]
            for parent in (left, right):
                for side in ("left_children", "right_children"):
                    if tree[side][parent] != -1:
                        tree["parents"][tree[side][parent]] = parent

        def missing(learner, forest, pick):
            tree, node = pick(is_split)
            tree["default_left"][node] = 1 - tree["default_left"][node]

        def drop(learner, forest, pick):
            # A whole round, so that every class keeps its share.
            at = int(random.integers(len(forest["trees"]) // self.groups)) * self.groups
            del forest["trees"][at : at + self.groups], forest["tree_info"][at : at + self.groups]

        def double(learner, forest, pick):
            at = int(random.integers(len(forest["trees"]) // self.groups)) * self.groups
            forest["trees"] += copy.deepcopy(forest["trees"][at : at + self.groups])
            forest["tree_info"] += forest["tree_info"][at : at + self.groups]

        def reverse(learner, forest, pick):
            forest["trees"].reverse()
            forest["tree_info"].reverse()

        def move(learner, forest, pick):
            rounds = len(forest["trees"]) // self.groups
            source, target = (int(at) * self.groups for at in random.choice(rounds, 2, replace=False))
            for name in ("trees", "tree_info"):
                moved = forest[name][source : source + self.groups]
                del forest[name][source : source + self.groups]
                forest[name][target:target] = moved

        def base(learner, forest, pick):
            scores = json.loads(learner["learner_model_param"]["base_score"])
            scores[0] += 1e-3
            learner["learner_model_param"]["base_score"] = json.dumps(scores)

        def scale(learner, forest, pick):
            for tree in forest["trees"]:
                for node in range(len(tree["left_children"])):
                    if is_leaf(tree, node):
                        tree["split_conditions"][node] = 2.0 * float(np.float32(tree["split_conditions"][node]))

        def category(learner, forest, pick):
            tree, node = pick(lambda t, n: n in t["categories_nodes"])
            index = tree["categories_nodes"].index(node)
            begin, size = tree["categories_segments"][index], tree["categories_sizes"][index]
            named = tree["categories"][begin : begin + size]
            flipped = sorted(set(named) ^ {int(random.integers(max(named) + 2))}) or [max(named) + 1]
            tree["categories"][begin : begin + size] = flipped
            tree["categories_sizes"][index] = len(flipped)
            for later, start in enumerate(tree["categories_segments"]):
                if start > begin:
                    tree["categories_segments"][later] += len(flipped) - size

        changes = {
            "unchanged": lambda learner, forest, pick: None,
            "leaf by one unit in the last place": leaf(next_single),
            "leaf by 1e-3": leaf(lambda value: value + 1e-3),
            "leaf by 10": leaf(lambda value: value - 10.0),
            "leaf with its sign changed": leaf(lambda value: -value),
            "threshold to its neighbour": threshold(next_single),
            "threshold by 10 per cent": threshold(lambda value: value * 1.1 + 1e-3),
            "children swapped": swap,
            "missing direction flipped": missing,
            "round dropped": drop,
            "round doubled": double,
            "round moved": move,
            "all trees reversed": reverse,
            "base score by 1e-3": base,
        }
        if set(self.model.intercepts) == {0.0}:
            changes["all leaves doubled"] = scale
        if any(tree["categories"] for tree in self.forest["trees"]):
            changes["category flipped"] = category
        for name, change in changes.items():
            yield name, changed(change)


class LightgbmFile(Subject):
    """A LightGBM model in text."""

    dead_zone = 0.0

    def __init__(self, data: bytes):
        super().__init__(data)
        head, *trees = re.split(r"(?m)^(?=Tree=\d+$)", data.decode())
        trees[-1], self.tail = re.split(r"(?m)^(?=end of trees$)", trees[-1])
        self.head, self.trees = head, trees
        self.groups = int(re.search(r"num_tree_per_iteration=(\d+)", head)[1])
        self.classes = max(2, self.groups)
        if self.groups == 1:
            # The largest score whose sigmoid is one half, found by halving.
            low, high = 0.0, 1.0
            while low < (middle := (low + high) / 2.0) < high:
                low, high = (middle, high) if 1.0 / (1.0 + np.exp(-middle)) <= 0.5 else (low, middle)
            self.dead_zone = low
        self.booster = lightgbm.Booster(model_str=data.decode())

    def scores(self, rows):
        return self.booster.predict(rows, raw_score=True, num_threads=1).reshape(len(rows), -1)

    def predict(self, rows):
        # As LGBMClassifier.predict does.
        shares = self.booster.predict(rows, num_threads=1)
        if shares.ndim == 1:
            shares = np.vstack((1.0 - shares, shares)).T
        return np.argmax(shares, axis=1)

    def leaf_values(self, rows):
        reached = self.booster.predict(rows, pred_leaf=True, num_threads=1).reshape(len(rows), -1).astype(int)
        return [
            (index % self.groups, [float(v) for v in field(tree, "leaf_value")], reached[:, index])
            for index, tree in enumerate(self.trees)
        ]

    def written(self, trees: list[str], head: str | None = None) -> bytes:
        trees = [re.sub(r"^Tree=\d+", f"Tree={index}", tree) for index, tree in enumerate(trees)]
        sizes = " ".join(str(len(tree)) for tree in trees)
        head = re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", head or self.head)
        return (head + "".join(trees) + self.tail).encode()

    def mutants(self, random):
        def one(key: str, change: Callable[[list[str], int], None], wanted: Callable[[str, int], bool]) -> bytes:
            """One entry of a list in one tree changed."""
            places = [
                (index, at)
                for index, tree in enumerate(self.trees)
                for at in range(len(field(tree, key)))
                if wanted(tree, at)
            ]
            index, at = places[random.integers(len(places))]
            trees = list(self.trees)
            values = field(trees[index], key)
            change(values, at)
            trees[index] = with_field(trees[index], key, values)
            return self.written(trees)

        def to(function: Callable[[float], float]) -> Callable[[list[str], int], None]:
            def change(values, at):
                values[at] = repr(function(float(values[at])))

            return change

        def kind(tree: str, at: int) -> int:
            return int(field(tree, "decision_type")[at])

        def numeric(tree, at):
            return kind(tree, at) & 1 == 0

        def any_leaf(tree, at):
            return len(field(tree, "leaf_value")) > 1

        def swapped() -> bytes:
            index = int(random.integers(len(self.trees)))
            trees = list(self.trees)
            left, right = field(trees[index], "left_child"), field(trees[index], "right_child")
            at = int(random.integers(len(left)))
            left[at], right[at] = right[at], left[at]
            trees[index] = with_field(with_field(trees[index], "left_child", left), "right_child", right)
            return self.written(trees)

        def flip(bit: int) -> Callable[[list[str], int], None]:
            def change(values, at):
                values[at] = str(int(values[at]) ^ bit)

            return change

        def rounds(change: Callable[[list], list]) -> bytes:
            whole = [self.trees[at : at + self.groups] for at in range(0, len(self.trees), self.groups)]
            return self.written([tree for group in change(whole) for tree in group])

        def dropped(whole):
            at = int(random.integers(len(whole)))
            return whole[:at] + whole[at + 1 :]

        def moved(whole):
            source, target = (int(at) for at in random.choice(len(whole), 2, replace=False))
            rest = whole[:source] + whole[source + 1 :]
            return rest[:target] + [whole[source]] + rest[target:]

        def scaled() -> bytes:
            trees = [
                with_field(tree, "leaf_value", [repr(2.0 * float(v)) for v in field(tree, "leaf_value")])
                for tree in self.trees
            ]
            return self.written(trees)

        yield "unchanged", self.data
        yield "leaf by one unit in the last place", one("leaf_value", to(next_double), any_leaf)
        yield "leaf by 1e-3", one("leaf_value", to(lambda value: value + 1e-3), any_leaf)
        yield "leaf by 10", one("leaf_value", to(lambda value: value - 10.0), any_leaf)
        yield "leaf with its sign changed", one("leaf_value", to(lambda value: -value), any_leaf)
        yield "threshold to its neighbour", one("threshold", to(next_double), numeric)
        yield "threshold to single precision", one("threshold", to(lambda value: float(np.float32(value))), numeric)
        yield "threshold by 10 per cent", one("threshold", to(lambda value: value * 1.1 + 1e-3), numeric)
        yield "children swapped", swapped()
        yield "missing direction flipped", one("decision_type", flip(2), numeric)
        yield "round dropped", rounds(dropped)
        yield "round doubled", rounds(lambda whole: whole + [whole[int(random.integers(len(whole)))]])
        yield "round moved", rounds(moved)
        yield "all rounds reversed", rounds(lambda whole: whole[::-1])
        yield "all leaves doubled", scaled()
        if "cat_threshold=" in "".join(self.trees):
            bit = 1 << int(random.integers(4))
            yield "category flipped", one("cat_threshold", flip(bit), lambda tree, at: True)


def field(tree: str, key: str) -> list[str]:
    """The entries of one line of a LightGBM tree."""
    found = re.search(rf"(?m)^{key}=(.*)$", tree)
    return found[1].split() if found else []


def with_field(tree: str, key: str, values: list[str]) -> str:
    return re.sub(rf"(?m)^{key}=.*$", f"{key}={' '.join(values)}", tree)
