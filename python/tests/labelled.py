"""Models on tables of labels, files whose lists of labels are changed, and what the live libraries decide.

A case is two models of any libraries over the columns `c`, `d` (labels) and `v` (a number). `decisions` asks the
library itself, with a pandas frame, on every combination of labels.
"""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier

COLUMNS = ["c", "d", "v"]
#: A label that no model here knows, of each type.
STRANGE = {str: "no such label", float: 98765.0, bool: None}


def kind(label: Any) -> type:
    """The type of a label as a table tells types apart."""
    if isinstance(label, bool):
        return bool
    return str if isinstance(label, str) else float


def frame(rows: list[tuple], lists: list[list] | None = None) -> pd.DataFrame:
    """A table; the labels of each column are of one type, None is missing. A column without any label is one of `lists`."""
    table = {}
    for index, (name, values) in enumerate(zip(COLUMNS[:2], zip(*rows, strict=True), strict=False)):
        known = sorted({value for value in values if value is not None}, key=lambda label: (str(label), label))
        known = known or (lists[index] if lists else [])
        # Number labels that are all whole are whole numbers, as XGBoost wants them.
        if known and all(kind(label) is float and float(label).is_integer() for label in known):
            categories = pd.Index([int(label) for label in known], dtype="int64")
            values = [None if value is None else int(value) for value in values]
        else:
            categories = pd.Index(known) if known else pd.Index([], dtype="object")
        table[name] = pd.Categorical(values, categories=categories)
    table["v"] = np.array([row[2] for row in rows], dtype=np.float64)
    return pd.DataFrame(table)


@dataclass
class LightGbm:
    """A LightGBM file."""

    text: str

    @staticmethod
    def train(rows: list[tuple], lists: list[list], classes: np.ndarray, seed: int) -> LightGbm:
        table = frame(rows)
        for name, labels in zip(COLUMNS, lists, strict=False):
            table[name] = pd.Categorical(table[name], categories=labels)
        settings = {
            "objective": "binary", "learning_rate": 0.7, "boost_from_average": False, "num_leaves": 4, "min_data_in_leaf": 1, "min_data_per_group": 1, "cat_smooth": 0,
            "cat_l2": 0, "max_cat_to_onehot": 1 + 3 * (seed % 2), "verbosity": -1, "min_data_in_bin": 1, "num_threads": 1,
            "seed": seed, "deterministic": True, "min_sum_hessian_in_leaf": 0,
        }  # fmt: skip
        data = lgb.Dataset(table, classes, params={"verbosity": -1, "min_data_in_bin": 1})
        return LightGbm(lgb.train(settings, data, 2).model_to_string())

    @property
    def data(self) -> bytes:
        return self.text.encode()

    @property
    def lists(self) -> list[list]:
        return json.loads(self.text.rstrip().rsplit("pandas_categorical:", 1)[1])

    @functools.cached_property
    def booster(self) -> lgb.Booster:
        return lgb.Booster(model_str=self.text)

    def with_lists(self, lists: list[list]) -> LightGbm:
        head = self.text.rstrip().rsplit("pandas_categorical:", 1)[0]
        return LightGbm(f"{head}pandas_categorical:{json.dumps(lists)}\n")

    def recoded(self, codes: list[dict[int, int]]) -> LightGbm:
        """The file with other codes in its splits: `codes` has the new one of each, column by column."""
        head, *blocks = self.text.split("\nTree=")
        head = "\n".join(line for line in head.split("\n") if not line.startswith("tree_sizes="))
        return LightGbm("\nTree=".join([head, *(_recoded_tree(block, codes) for block in blocks)]))

    def decide(self, rows: list[tuple]) -> np.ndarray:
        return self.booster.predict(frame(rows, self.lists), num_threads=1) > 0.5

    def accepts(self, column: int, label: Any) -> bool:
        # Whether 1 is true depends on the table's other labels, so that is nobody's claim.
        kinds = {kind(label), kind(self.lists[column][0])}
        return label is None or kinds != {bool, float}


def _recoded_tree(block: str, codes: list[dict[int, int]]) -> str:
    lines = block.split("\n")
    place = {line.split("=", 1)[0]: index for index, line in enumerate(lines) if "=" in line}
    if "cat_threshold" not in place:
        return block
    field = {key: lines[at].split("=", 1)[1].split() for key, at in place.items()}
    words = [int(word) for word in field["cat_threshold"]]
    bounds = [int(bound) for bound in field["cat_boundaries"]]
    new_words: list[int] = []
    new_bounds = [0]
    column_of = {}
    for feature, decision, threshold in zip(
        field["split_feature"], field["decision_type"], field["threshold"], strict=True
    ):
        if int(decision) & 1:
            column_of[int(float(threshold))] = int(feature)
    for index, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False)):
        members = {32 * word + bit for word in range(high - low) for bit in range(32) if words[low + word] >> bit & 1}
        members = {codes[column_of[index]].get(code, code) for code in members}
        size = max(members, default=0) // 32 + 1
        new_words += [sum(1 << code % 32 for code in members if code // 32 == word) for word in range(size)]
        new_bounds.append(len(new_words))
    lines[place["cat_threshold"]] = "cat_threshold=" + " ".join(map(str, new_words))
    lines[place["cat_boundaries"]] = "cat_boundaries=" + " ".join(map(str, new_bounds))
    return "\n".join(lines)


@dataclass
class XgBoost:
    """An XGBoost file with stored categories."""

    document: dict

    @staticmethod
    def train(rows: list[tuple], lists: list[list], classes: np.ndarray, seed: int) -> XgBoost:
        table = frame(rows)
        for name, labels in zip(COLUMNS, lists, strict=False):
            table[name] = pd.Categorical(table[name], categories=labels)
        settings = {
            "objective": "binary:logistic", "max_depth": 3, "eta": 0.8, "tree_method": "hist", "max_cat_to_onehot": 1 + 3 * (seed % 2),
            "min_child_weight": 0, "lambda": 0.125, "seed": seed, "nthread": 1, "base_score": 0.5,
        }  # fmt: skip
        booster = xgb.train(settings, xgb.DMatrix(table, classes, enable_categorical=True, nthread=1), 2)
        return XgBoost(json.loads(bytes(booster.save_raw("json"))))

    @property
    def data(self) -> bytes:
        return json.dumps(self.document).encode()

    @functools.cached_property
    def booster(self) -> xgb.Booster:
        booster = xgb.Booster(model_file=bytearray(self.data))
        booster.set_param({"nthread": 1})
        return booster

    @property
    def model(self) -> dict:
        return self.document["learner"]["gradient_booster"]["model"]

    @property
    def lists(self) -> list[list]:
        def labels(entry: dict) -> list:
            if "offsets" not in entry:
                return entry["values"]
            text = bytes(value & 255 for value in entry["values"])
            ends = entry["offsets"]
            return [text[low:high].decode() for low, high in zip(ends, ends[1:], strict=False)]

        return [labels(entry) for entry in self.model["cats"]["enc"]][:2]

    def with_lists(self, lists: list[list]) -> XgBoost:
        changed = XgBoost(json.loads(self.data))
        enc, segments, order = [], [0], []
        for labels in lists:
            if all(isinstance(label, str) for label in labels):
                ends = np.cumsum([0] + [len(label.encode()) for label in labels]).tolist()
                text = "".join(labels).encode()
                enc.append({"offsets": ends, "values": [value - 256 * (value > 127) for value in text]})
            else:
                enc.append({"type": 15, "values": [int(label) for label in labels]})
            segments.append(segments[-1] + len(labels))
            # XGBoost compares bytes as signed numbers.
            keys = [np.frombuffer(label.encode(), np.int8).tolist() if isinstance(label, str) else label for label in labels]
            order += sorted(range(len(labels)), key=keys.__getitem__)
        enc.append({"offsets": [], "values": []})
        segments.append(segments[-1])
        changed.model["cats"] = {"enc": enc, "feature_segments": segments, "sorted_idx": order}
        return changed

    def recoded(self, codes: list[dict[int, int]]) -> XgBoost:
        changed = XgBoost(json.loads(self.data))
        for tree in changed.model["trees"]:
            for node, start, size in zip(
                tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
            ):
                new = codes[tree["split_indices"][node]]
                members = tree["categories"][start : start + size]
                tree["categories"][start : start + size] = sorted(new.get(code, code) for code in members)
        return changed

    def decide(self, rows: list[tuple]) -> np.ndarray:
        return self.booster.predict(xgb.DMatrix(frame(rows, self.lists), enable_categorical=True, nthread=1)) > 0.5

    def accepts(self, column: int, label: Any) -> bool:
        own = self.lists[column]
        return label is None or any(kind(label) is kind(other) and label == other for other in own)


@dataclass
class Histogram:
    """scikit-learn's HistGradientBoostingClassifier, fitted on labels."""

    fitted: HistGradientBoostingClassifier

    @staticmethod
    def train(rows: list[tuple], lists: list[list], classes: np.ndarray, seed: int, weight: Any = None) -> Histogram:
        settings = {"max_iter": 2, "learning_rate": 0.7, "max_leaf_nodes": 4, "min_samples_leaf": 1, "categorical_features": ["c", "d"]}
        fitted = HistGradientBoostingClassifier(**settings, random_state=seed)
        return Histogram(fitted.fit(frame(rows), classes, sample_weight=weight))

    @property
    def data(self) -> HistGradientBoostingClassifier:
        return self.fitted

    @property
    def lists(self) -> list[list]:
        encoder = self.fitted._preprocessor.named_transformers_["encoder"]
        return [[label for label in known.tolist() if label == label and label is not None] for known in encoder.categories_]

    def decide(self, rows: list[tuple]) -> np.ndarray:
        return self.fitted.predict(frame(rows, self.lists)).astype(bool)

    def accepts(self, column: int, label: Any) -> bool:
        return label is None or kind(label) is kind(self.lists[column][0])


def sendable(models: list, column: int) -> list:
    """The labels that people may send in this column: those of the lists, one that is in none, and none at all."""
    labels: list = []
    for model in models:
        for label in model.lists[column]:
            # Numbers are equal by value; other types are told apart.
            if not any(kind(label) is kind(other) and label == other for other in labels):
                labels.append(label)
    kinds = {kind(label) for label in labels}
    labels += [STRANGE[one] for one in sorted(kinds, key=str) if STRANGE[one] is not None]
    labels = [*labels, None]
    return [label for label in labels if all(model.accepts(column, label) for model in models)]


def every_row(models: list, numbers: list[float]) -> list[tuple]:
    return list(itertools.product(sendable(models, 0), sendable(models, 1), numbers))


def decisions(model: Any, rows: list[tuple]) -> np.ndarray:
    """What the library decides; tables of one type in each column, as a table is."""
    answers = np.zeros(len(rows), dtype=bool)
    groups: dict[tuple, list[int]] = {}
    for index, row in enumerate(rows):
        types = tuple(None if label is None else kind(label) for label in row[:2])
        groups.setdefault(types, []).append(index)
    for chosen in groups.values():
        answers[chosen] = model.decide([rows[index] for index in chosen])
    return answers
