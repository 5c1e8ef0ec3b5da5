"""The datasets of the paper, and two small ones that need no download.

A dataset is a folder `NAME` with `NAME.full.csv` (a header, the features, the class last) and
`NAME.featurelist.csv` (one letter for each column: F numeric, D discrete, B binary). Splits are 80/20 with the seed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

NAMES = [
    "Breast-Cancer-Wisconsin",
    "COMPAS-ProPublica",
    "ELEC2",
    "FICO",
    "House-16H",
    "HTRU2",
    "Ionosphere",
    "Pima-Diabetes",
    "PoL",
    "Seeds",
    "Spambase",
]

# Part of scikit-learn; for tests and for a first look.
BUILT_IN = ["iris", "breast-cancer"]


@dataclass(frozen=True)
class Split:
    """One dataset, cut into training and test rows."""

    features: list[str]
    letters: list[str]
    classes: int
    training: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    @property
    def columns(self) -> dict[str, int]:
        """How many feature columns there are of each letter."""
        return {letter: self.letters.count(letter) for letter in sorted(set(self.letters))}

    @property
    def rows(self) -> int:
        return len(self.training[1]) + len(self.test[1])


def load(name: str, folder: Path | None, seed: int) -> Split:
    features, letters, rows, labels = _built_in(name) if name in BUILT_IN else _from_folder(name, folder)
    known, target = np.unique(labels, return_inverse=True)
    train_rows, test_rows, train_target, test_target = train_test_split(
        rows, target, test_size=0.2, random_state=seed
    )
    return Split(features, letters, len(known), (train_rows, train_target), (test_rows, test_target))


def _from_folder(name: str, folder: Path | None) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    if folder is None:
        raise FileNotFoundError(f"{name}: say where the datasets are with --datasets")
    path = folder / name / f"{name}.full.csv"
    with path.open(newline="") as file:
        features = next(csv.reader(file))[:-1]
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    with (folder / name / f"{name}.featurelist.csv").open(newline="") as file:
        letters = next(csv.reader(file))[: len(features)]
    return features, letters, table[:, :-1], table[:, -1]


def _built_in(name: str) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer, load_iris

    loaded = load_iris() if name == "iris" else load_breast_cancer()
    features = [str(feature) for feature in loaded.feature_names]
    return features, ["F"] * len(features), loaded.data, loaded.target
