"""The paper's l1 pruning, to get a reweighted model for which no counterexample exists.

    min sum of w  such that  s(x) * (sum of w_m h_m(x) + b) >= r(x) on a finite set of points,  w >= 0, b free

alternates with secateur's oracle, which adds the points where the reweighted model file decides otherwise. `r = 1` is
the paper's; `r = |f|` (f the original score) can always end, at the original weights.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

import secateur
from instances import Instance, PlainModel

ENUMERATED = 150_000
SAMPLED = 300_000
POOL = 40_000
ADDED = 100
# Weights below this share of the largest are zero.
TINY = 1e-9


@dataclass(frozen=True)
class Pruned:
    weights: np.ndarray
    intercept: float
    model: Any
    calls: int


class _Points:
    """Points with the values of all trees and what the reweighted score must reach there."""

    def __init__(self, plain: PlainModel, unit: bool) -> None:
        self.plain = plain
        self.unit = unit
        self.columns = np.empty((0, len(plain.trees)))
        self.signs = np.empty(0)
        self.needs = np.empty(0)
        self.scores = np.empty(0)

    def add(self, rows: np.ndarray, keep: int | None = None) -> None:
        columns = self.plain.columns(rows)
        scores = columns @ self.plain.weights + self.plain.intercept - self.plain.level
        if keep is not None and len(scores) > keep:
            nearest = np.argpartition(np.abs(scores), keep)[:keep]
            columns, scores = columns[nearest], scores[nearest]
        self.columns = np.vstack([self.columns, columns])
        self.scores = np.append(self.scores, scores)
        # A tie is class 0: `score > level` decides for class 1.
        signs = np.where(scores > 0, 1.0, -1.0)
        self.signs = np.append(self.signs, signs)
        self.needs = np.append(self.needs, np.ones(len(scores)) if self.unit else np.abs(scores))


def _first_points(points: _Points, rows: np.ndarray, rng: np.random.Generator) -> None:
    cells = points.plain.cell_values()
    sizes = [len(values) for values in cells.values()]
    features = list(cells)
    total = float(np.prod([float(size) for size in sizes]))
    if total <= ENUMERATED:
        numbers = np.array(np.unravel_index(np.arange(int(total)), sizes)).T
    else:
        numbers = np.column_stack([rng.integers(size, size=SAMPLED) for size in sizes])
    sampled = np.zeros((len(numbers), rows.shape[1]))
    for place, feature in enumerate(features):
        sampled[:, feature] = cells[feature][numbers[:, place]]
    points.add(rows)
    points.add(sampled, keep=None if total <= ENUMERATED else POOL)


def _neighbours(plain: PlainModel, row: np.ndarray) -> np.ndarray:
    """The row itself, then all rows that differ from it in the cell of one feature."""
    result = [row]
    for feature, values in plain.cell_values().items():
        for value in values:
            other = row.copy()
            other[feature] = value
            result.append(other)
    return np.array(result)


def _snapped(plain: PlainModel, weights: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
    """The original weights themselves where the LP found nothing but a multiple of them."""
    factor = weights.sum() / plain.weights.sum()
    if factor > 0 and np.allclose(weights, factor * plain.weights, rtol=1e-6, atol=0):
        return plain.weights, plain.intercept
    return weights, intercept


def _edited(instance: Instance, model: Any, plain: PlainModel, weights: np.ndarray, intercept: float) -> Any:
    kept = [(index, float(w / a)) for index, (w, a) in enumerate(zip(weights, plain.weights)) if w > 0]
    if instance.kind == "RandomForest":
        intercepts = [max(-intercept, 0.0), max(intercept, 0.0)]
    else:
        intercepts = [intercept]
    return model.edit(trees=kept, intercepts=intercepts)


def prune(instance: Instance, model: Any, plain: PlainModel, rows: np.ndarray, unit: bool, limit: float) -> Pruned | None:
    """The pruned model, or `None` where the loop did not end within `limit` seconds of processor time."""
    deadline = time.process_time() + limit
    rng = np.random.default_rng(0)
    points = _Points(plain, unit)
    _first_points(points, rows, rng)
    count = len(plain.trees)
    infinity = highspy.kHighsInf
    lp = highspy.Highs()
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("threads", 1)
    for _ in range(count):
        lp.addCol(1.0, 0.0, infinity, 0, np.empty(0, dtype=np.int32), np.empty(0))
    lp.addCol(0.0, -infinity, infinity, 0, np.empty(0, dtype=np.int32), np.empty(0))
    indices = np.arange(count + 1, dtype=np.int32)
    weights, intercept = np.zeros(count), 0.0
    active = np.zeros(0, dtype=bool)
    calls = 0
    while time.process_time() < deadline:
        active = np.append(active, np.zeros(len(points.signs) - len(active), dtype=bool))
        lacks = points.needs - points.signs * (points.columns @ weights + intercept)
        lacks[active] = -np.inf
        worst = np.argsort(-lacks / np.maximum(points.needs, 1e-12))[:ADDED] if unit else np.argsort(-lacks)[:ADDED]
        worst = worst[lacks[worst] > 1e-6 * points.needs[worst]]
        if len(worst):
            for index in worst:
                sign = points.signs[index]
                values = np.append(sign * points.columns[index], sign)
                lp.addRow(points.needs[index], infinity, count + 1, indices, values)
            active[worst] = True
            lp.run()
            if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            solution = np.array(lp.getSolution().col_value)
            weights, intercept = solution[:count], float(solution[count])
            weights = np.where(weights > TINY * weights.max(), weights, 0.0)
            weights, intercept = _snapped(plain, weights, intercept)
            continue
        edited = _edited(instance, model, plain, weights, intercept)
        left = max(deadline - time.process_time(), 1.0)
        answer = secateur.verify(model, edited, band=0, time_limit=left, threads=1, seed=calls)
        calls += 1
        if answer.identical:
            return Pruned(weights, intercept, edited, calls)
        if answer.undecided:
            return None
        before = len(points.signs)
        points.add(_neighbours(plain, answer.counterexample))
        # The rows of the LP already hold there: its tolerance or the file's number type is too coarse.
        if points.signs[before] * (points.columns[before] @ weights + intercept) >= points.needs[before]:
            return None
    return None
