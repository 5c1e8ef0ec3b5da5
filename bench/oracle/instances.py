"""The models of the benchmark, and their trees as plain arrays.

Both the linear programs and the MILP need the trees themselves. They are taken from the libraries' own objects, not
from secateur, so that the two sides of the comparison share nothing but the model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATASETS = {
    "Breast": "Breast-Cancer-Wisconsin",
    "COMPAS": "COMPAS-ProPublica",
    "ELEC2": "ELEC2",
    "FICO": "FICO",
    "House": "House-16H",
    "HTRU2": "HTRU2",
    "Pima": "Pima-Diabetes",
    "PoL": "PoL",
    "Seeds": "Seeds",
    "Spambase": "Spambase",
}


@dataclass(frozen=True)
class Instance:
    kind: str
    depth: int
    trees: int
    dataset: str

    @property
    def name(self) -> str:
        return f"{self.kind} d{self.depth} M{self.trees} {self.dataset}"

    @property
    def slug(self) -> str:
        return f"{self.kind}-d{self.depth}-m{self.trees}-{self.dataset}".lower()


PROOFS = [
    Instance("AdaBoost", 1, 50, "FICO"),
    Instance("AdaBoost", 1, 200, "FICO"),
    Instance("AdaBoost", 1, 50, "Pima"),
    Instance("AdaBoost", 1, 200, "Pima"),
    Instance("AdaBoost", 1, 50, "HTRU2"),
    Instance("AdaBoost", 1, 200, "HTRU2"),
    Instance("XGBoost", 1, 100, "Pima"),
    Instance("XGBoost", 2, 50, "COMPAS"),
    Instance("XGBoost", 3, 50, "COMPAS"),
    Instance("XGBoost", 6, 50, "COMPAS"),
    Instance("RandomForest", 3, 50, "COMPAS"),
    Instance("XGBoost", 3, 50, "FICO"),
    Instance("XGBoost", 2, 50, "ELEC2"),
    Instance("XGBoost", 3, 50, "Breast"),
]

# Searches over boxes alone: the sign of the score splits the space.
WALL = [
    Instance("XGBoost", 2, 100, "Pima"),
    Instance("XGBoost", 3, 50, "Pima"),
    Instance("XGBoost", 3, 50, "HTRU2"),
    Instance("XGBoost", 4, 50, "ELEC2"),
    Instance("XGBoost", 3, 50, "PoL"),
    Instance("XGBoost", 2, 200, "Pima"),
    Instance("XGBoost", 3, 100, "Pima"),
    Instance("XGBoost", 4, 100, "ELEC2"),
    Instance("XGBoost", 3, 100, "HTRU2"),
    Instance("XGBoost", 2, 50, "House"),
    Instance("XGBoost", 6, 50, "Pima"),
    Instance("XGBoost", 6, 50, "HTRU2"),
    Instance("XGBoost", 3, 50, "House"),
    Instance("XGBoost", 3, 50, "Spambase"),
]

# Models against their pruned selves, with the band above which they are compared.
BANDS = [
    (Instance("XGBoost", 2, 200, "Breast"), 1e-3),
    (Instance("XGBoost", 3, 100, "Breast"), 1e-3),
    (Instance("XGBoost", 2, 200, "FICO"), 1e-3),
    (Instance("XGBoost", 3, 200, "COMPAS"), 1e-3),
    (Instance("XGBoost", 2, 50, "Seeds"), 0.1),
    (Instance("XGBoost", 3, 50, "ELEC2"), 0.3),
    (Instance("XGBoost", 3, 50, "HTRU2"), 0.3),
    (Instance("XGBoost", 3, 50, "Pima"), 0.5),
    (Instance("XGBoost", 3, 50, "Breast"), 0.3),
    (Instance("XGBoost", 2, 100, "Pima"), 0.5),
    (Instance("XGBoost", 4, 50, "ELEC2"), 1.0),
]


@dataclass(frozen=True)
class PlainTree:
    """A binary tree; `feature` is -1 at a leaf, `value` what a leaf adds to the score of class 1 over class 0."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_goes_left: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class PlainModel:
    """Score `intercept + sum of weight * tree(x)`; class 1 where it is above `level`. Inputs are f32."""

    trees: list[PlainTree]
    weights: np.ndarray
    intercept: float
    level: float
    # A value equal to a threshold goes left.
    equal_goes_left: bool

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """The value of each tree on each row, weights aside."""
        rows = rows.astype(np.float32).astype(np.float64)
        result = np.empty((len(rows), len(self.trees)))
        for index, tree in enumerate(self.trees):
            node = np.zeros(len(rows), dtype=np.int64)
            while True:
                feature = tree.feature[node]
                inner = feature >= 0
                if not inner.any():
                    break
                values = rows[np.arange(len(rows)), np.maximum(feature, 0)]
                left = values <= tree.threshold[node] if self.equal_goes_left else values < tree.threshold[node]
                left = np.where(np.isnan(values), tree.missing_goes_left[node], left)
                node = np.where(inner, np.where(left, tree.left[node], tree.right[node]), node)
            result[:, index] = tree.value[node]
        return result

    def thresholds(self) -> dict[int, np.ndarray]:
        """The distinct thresholds of each feature, ascending, as f32: there the split tells two inputs apart."""
        found: dict[int, set[float]] = {}
        for tree in self.trees:
            for feature, threshold in zip(tree.feature, tree.threshold):
                if feature >= 0:
                    found.setdefault(int(feature), set()).add(self._as_f32(threshold))
        return {feature: np.array(sorted(values)) for feature, values in sorted(found.items())}

    def _as_f32(self, threshold: float) -> float:
        rounded = np.float32(threshold)
        if self.equal_goes_left and float(rounded) > threshold:
            rounded = np.nextafter(rounded, np.float32(-np.inf))
        return float(rounded)

    def cell_values(self) -> dict[int, np.ndarray]:
        """One value in each cell of each feature."""
        result = {}
        for feature, values in self.thresholds().items():
            values = values.astype(np.float32)
            if self.equal_goes_left:
                cells = np.append(values, np.nextafter(values[-1], np.float32(np.inf)))
            else:
                cells = np.insert(values, 0, np.nextafter(values[0], np.float32(-np.inf)))
            result[feature] = cells.astype(np.float64)
        return result


def training_rows(instance: Instance, datasets: Path) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    name = DATASETS[instance.dataset]
    table = np.genfromtxt(datasets / name / f"{name}.full.csv", delimiter=",", skip_header=1)
    labels = np.unique(table[:, -1], return_inverse=True)[1]
    rows, _, classes, _ = train_test_split(table[:, :-1], labels, test_size=0.2, random_state=0)
    return rows, classes


def train(instance: Instance, rows: np.ndarray, classes: np.ndarray, path: Path) -> None:
    """Fits the model and writes its file."""
    if instance.kind == "XGBoost":
        import xgboost

        model = xgboost.XGBClassifier(
            n_estimators=instance.trees, max_depth=instance.depth, random_state=0, n_jobs=1
        )
        model.fit(rows, classes)
        model.get_booster().save_model(path)
        return
    import skops.io
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if instance.kind == "AdaBoost":
        stump = DecisionTreeClassifier(max_depth=instance.depth)
        model = AdaBoostClassifier(stump, n_estimators=instance.trees, random_state=0)
    else:
        model = RandomForestClassifier(n_estimators=instance.trees, max_depth=instance.depth, random_state=0)
    model.fit(rows, classes)
    skops.io.dump(model, path)


def path_of(instance: Instance, folder: Path) -> Path:
    return folder / f"{instance.slug}.{'json' if instance.kind == 'XGBoost' else 'skops'}"


def plain(instance: Instance, path: Path) -> PlainModel:
    """The trees of a trained model file, by its own library's reader."""
    return _plain_xgboost(path) if instance.kind == "XGBoost" else _plain_sklearn(instance, path)


def _plain_xgboost(path: Path) -> PlainModel:
    learner = json.loads(path.read_text())["learner"]
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        left = np.array(tree["left_children"])
        conditions = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
        leaf = left < 0
        trees.append(
            PlainTree(
                feature=np.where(leaf, -1, tree["split_indices"]),
                threshold=conditions,
                left=left,
                right=np.array(tree["right_children"]),
                missing_goes_left=np.array(tree["default_left"], dtype=bool),
                value=np.where(leaf, conditions, 0.0),
            )
        )
    base = float(np.float32(learner["learner_model_param"]["base_score"].strip("[]")))
    intercept = float(np.float32(-np.log(1.0 / base - 1.0)))
    # The probability in f32 exceeds one half only from here on.
    return PlainModel(trees, np.ones(len(trees)), intercept, 1.5 * 2.0**-24, equal_goes_left=False)


def _plain_sklearn(instance: Instance, path: Path) -> PlainModel:
    import skops.io

    model = skops.io.load(path, trusted=["sklearn.tree._tree.Tree"])
    trees = []
    for estimator in model.estimators_:
        tree = estimator.tree_
        fractions = tree.value[:, 0, :]
        value = fractions[:, 1] - fractions[:, 0]
        if instance.kind == "AdaBoost":
            value = np.where(value > 0, 1.0, -1.0)
        leaf = tree.children_left < 0
        trees.append(
            PlainTree(
                feature=np.where(leaf, -1, tree.feature),
                threshold=tree.threshold,
                left=tree.children_left,
                right=tree.children_right,
                missing_goes_left=tree.missing_go_to_left.astype(bool),
                value=np.where(leaf, value, 0.0),
            )
        )
    weights = model.estimator_weights_ if instance.kind == "AdaBoost" else np.ones(len(trees))
    return PlainModel(trees, np.array(weights[: len(trees)]), 0.0, 0.0, equal_goes_left=True)
