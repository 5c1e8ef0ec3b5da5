"""The paper's method on open software: its l1 pruner as a linear program and its MILP oracle, both on HiGHS.

    min sum of w  such that  s(x) * sum of w_m h_m(x) >= 1 on a finite set of points,  w >= 0

alternates with the separation problem of section 4 (`bench/oracle/milp.py`): maximise the reweighted score on one side where the
original's is on the other. The loop ends where neither direction finds a violation above the solver's tolerance.
Settings as in the authors' package: original weights scaled to a maximum of 1e5, epsilon 1e-6, tolerance 1e-4.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import highspy
import numpy as np

from instances import PlainModel
from milp import _Builder, run_for

SCALE = 1e5
EPSILON = 1e-6
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Answer:
    """`ended` (no violation found), `limit`, or `infeasible` (the linear program has no solution)."""

    outcome: str
    weights: np.ndarray
    calls: int
    seconds: float


def prune(plain: PlainModel, rows: np.ndarray, limit: float) -> Answer:
    """The loop, within `limit` seconds of processor time."""
    started = time.process_time()
    original = plain.weights * (SCALE / plain.weights.max())
    constant = (plain.intercept - plain.level) * (SCALE / plain.weights.max())
    count = len(plain.trees)
    columns = np.arange(count, dtype=np.int32)
    lp = highspy.Highs()
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("threads", 1)
    for _ in range(count):
        lp.addCol(1.0, 0.0, highspy.kHighsInf, 0, np.empty(0, dtype=np.int32), np.empty(0))
    seen: set[bytes] = set()

    def add(points: np.ndarray) -> int:
        added = 0
        values = plain.columns(points)
        for value, score in zip(values, values @ original + constant):
            sign = 1.0 if score > 0 else -1.0
            row = sign * value
            if row.tobytes() not in seen:
                seen.add(row.tobytes())
                lp.addRow(1.0, highspy.kHighsInf, count, columns, row)
                added += 1
        return added

    add(rows)
    weights, calls = np.zeros(count), 0
    while True:
        left = limit - (time.process_time() - started)
        if left <= 0:
            return Answer("limit", weights, calls, time.process_time() - started)
        lp.run()
        status = lp.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            outcome = "infeasible" if status == highspy.HighsModelStatus.kInfeasible else f"LP: {status.name}"
            return Answer(outcome, weights, calls, time.process_time() - started)
        weights = np.array(lp.getSolution().col_value)
        calls += 1
        points = []
        for sign in (1.0, -1.0):
            left = limit - (time.process_time() - started)
            found, complete = _separate(plain, original, constant, weights, sign, max(left, 0.1))
            if not complete:
                return Answer("limit", weights, calls, time.process_time() - started)
            if found is not None:
                points.append(found)
        if not points:
            return Answer("ended", weights, calls, time.process_time() - started)
        if not add(np.array(points)):
            # Every point is known to the linear program, whose tolerance is wider than the violation.
            return Answer("stuck at the tolerance", weights, calls, time.process_time() - started)


def _separate(plain: PlainModel, original, constant: float, weights, sign: float, limit: float):
    """A point where the reweighted model decides otherwise, if there is one; and whether the search came to its end."""
    model = _Builder(plain)
    ours = [(column, sign * weight * value) for column, value, weight in model.leaves(original)]
    model.row(ours, EPSILON - sign * constant, np.inf)
    for column, value, weight in model.leaves(weights):
        model.costs[column] -= sign * weight * value
    solver = model.solver()
    run_for(solver, limit)
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None, True
    if status != highspy.HighsModelStatus.kOptimal:
        return None, False
    if solver.getInfo().objective_function_value < -TOLERANCE:
        return None, True
    return _point(plain, np.array(solver.getSolution().col_value)), True


def _point(plain: PlainModel, solution: np.ndarray) -> np.ndarray:
    """An input in the cell of a solution: the builder's first columns say, threshold by threshold, whether it is right of it."""
    width = 1 + max(feature for feature in plain.thresholds())
    for tree in plain.trees:
        width = max(width, 1 + int(tree.feature.max()))
    row = np.zeros(width)
    column = 0
    for feature, cells in plain.cell_values().items():
        levels = len(cells) - 1
        row[feature] = cells[int(round(solution[column : column + levels].sum()))]
        column += levels
    return row
