"""A model as scikit-learn has it, from a skops archive."""

from __future__ import annotations

import copy
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from .live import Live, Node, NotJudged, Test, Tree


class ScikitLearn(Live):
    """Trees are the `tree_` of each estimator, or the nodes of each predictor of histogram-based boosting."""

    library = "scikit-learn"
    number = "f64"
    reads = "f32"

    def __init__(self, path: str) -> None:
        import skops.io

        model = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
        kind = type(model).__name__
        if kind == "Pipeline":
            raise NotJudged("a pipeline of scikit-learn; save its last step and the certificate of it alone")
        self._model = model
        if not hasattr(model, "classes_"):
            raise NotJudged(f"{kind} of scikit-learn, which is no classifier")
        self.labels = list(model.classes_)
        self.classes = len(self.labels)
        self.width = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self._estimators: list[Any] = []
        one = self.classes == 2
        match kind:
            case "DecisionTreeClassifier":
                self._estimators = [model]
                self._plain(lambda tree, leaf: tree.value[leaf, 0, :].tolist())
                self.intercepts = [Fraction(0)] * self.classes
            case "RandomForestClassifier" | "ExtraTreesClassifier":
                self._estimators = list(model.estimators_)
                self._plain(lambda tree, leaf: tree.value[leaf, 0, :].tolist())
                self.intercepts = [Fraction(0)] * self.classes
                self.free_order = self.averaged = True
                self.divisor = Fraction(len(self._estimators))
            case "AdaBoostClassifier":
                self._estimators = list(model.estimators_)
                self._votes(one)
            case "GradientBoostingClassifier":
                self._gradient(one)
            case "HistGradientBoostingClassifier":
                self._histogram(one)
            case _:
                raise NotJudged(f"{kind} of scikit-learn")

    def _plain(self, values: Any) -> None:
        """Each leaf adds to every class."""
        self.trees = []
        for estimator in self._estimators:
            tree = _plain_tree(estimator.tree_, values, Fraction(1), tuple(range(self.classes)))
            self.trees.append(tree)

    def _votes(self, one: bool) -> None:
        """AdaBoost: the first class with the largest fraction gets the weight, each other one a negative part of it."""
        model = self._model
        weights = [float(weight) for weight in model.estimator_weights_]
        total = float(np.sum(model.estimator_weights_))
        self.averaged = True
        # With two classes the library's decision function is twice the second class's sum over the total.
        self.divisor = Fraction(total) / 2 if one else Fraction(total)
        self.intercepts = [Fraction(0)] * (1 if one else self.classes)
        if one:
            self.threshold = 0, Fraction(0), True
        others = -1.0 / (self.classes - 1.0)

        def vote(tree: Any, leaf: int) -> list[float]:
            winner = int(np.argmax(tree.value[leaf, 0, :]))
            if one:
                return [1.0 if winner == 1 else -1.0]
            return [1.0 if place == winner else others for place in range(self.classes)]

        sums = (0,) if one else tuple(range(self.classes))
        self.trees = [
            _plain_tree(estimator.tree_, vote, Fraction(weight), sums)
            for estimator, weight in zip(self._estimators, weights)
        ]

    def _gradient(self, one: bool) -> None:
        model = self._model
        columns = 1 if one else self.classes
        self._estimators = [estimator for row in model.estimators_ for estimator in row]
        start = model._raw_predict_init(np.zeros((1, self.width), dtype=np.float32))
        self.intercepts = [Fraction(float(value)) for value in np.ravel(start)]
        if one:
            self.threshold = 0, Fraction(0), False
        rate = Fraction(float(model.learning_rate))
        self.trees = [
            _plain_tree(estimator.tree_, lambda tree, leaf: [float(tree.value[leaf, 0, 0])], rate, (index % columns,))
            for index, estimator in enumerate(self._estimators)
        ]

    def _histogram(self, one: bool) -> None:
        model = self._model
        if model.is_categorical_ is not None and np.any(model.is_categorical_):
            raise NotJudged("columns of categories of HistGradientBoostingClassifier")
        self.reads = "f64"
        self.intercepts = [Fraction(float(value)) for value in np.ravel(model._baseline_prediction)]
        if one:
            self.threshold = 0, Fraction(0), True
        self.trees = []
        for rounds in model._predictors:
            for group, predictor in enumerate(rounds):
                stored = []
                nodes = []
                for at, own in enumerate(predictor.nodes):
                    if own["is_leaf"]:
                        stored.append(float(own["value"]))
                        nodes.append(Node(added={group: Fraction(float(own["value"]))}, name=at))
                        continue
                    test = Test("<=", float(own["num_threshold"]), missing=bool(own["missing_go_to_left"]))
                    nodes.append(Node(int(own["feature_idx"]), test, int(own["left"]), int(own["right"])))
                self.trees.append(Tree(nodes, (group,), Fraction(1), {group: stored}))
        self._probes = [_numbered(predictor) for rounds in model._predictors for predictor in rounds]
        self._sets = model._bin_mapper.make_known_categories_bitsets()

    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        if not self._estimators:
            sets, places = self._sets
            table = np.ascontiguousarray(rows, dtype=np.float64)
            found = (
                probe.predict(table, known_cat_bitsets=sets, f_idx_map=places, n_threads=1) for probe in self._probes
            )
            return [names.astype(np.int64).tolist() for names in found]
        table = rows.astype(np.float32)
        return [estimator.tree_.apply(table).tolist() for estimator in self._estimators]

    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        return self.trees[tree].nodes[name].added

    def scores(self, rows: np.ndarray) -> np.ndarray | None:
        # AdaBoost's decision function is not the quotient that its docs name, in the last bits.
        if not hasattr(self._model, "_raw_predict"):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self._model.decision_function(rows)).reshape(len(rows), -1)

    def decides(self, rows: np.ndarray) -> np.ndarray:
        table: Any = rows
        with warnings.catch_warnings():
            # The model may have been fitted to a table with names.
            warnings.simplefilter("ignore")
            answers = self._model.predict(table)
        place = {label: at for at, label in enumerate(self.labels or [])}
        return np.array([place[answer] for answer in answers])


def _plain_tree(tree: Any, values: Any, weight: Fraction, sums: tuple[int, ...]) -> Tree:
    nodes = []
    stored: dict[int, list[float]] = {group: [] for group in sums}
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=np.uint8))
    for at in range(tree.node_count):
        left = int(tree.children_left[at])
        if left == -1:
            own = [float(value) for value in values(tree, at)]
            for group, value in zip(sums, own):
                stored[group].append(value)
            nodes.append(Node(added={group: weight * Fraction(value) for group, value in zip(sums, own)}, name=at))
            continue
        test = Test("<=", float(tree.threshold[at]), missing=bool(missing[at]))
        nodes.append(Node(int(tree.feature[at]), test, left, int(tree.children_right[at])))
    return Tree(nodes, sums, weight, stored)


def _numbered(predictor: Any) -> Any:
    """The same predictor, which answers with the number of the node that a row ends in."""
    probe = copy.deepcopy(predictor)
    probe.nodes["value"] = np.arange(len(probe.nodes))
    return probe
