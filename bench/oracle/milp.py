"""The paper's separation problem as a mixed-integer program on HiGHS.

Section 4 of the paper: flow variables for the nodes of each tree, a binary `lambda` for each depth of each tree that
says whether the path goes left there, and `mu` for each threshold of each feature, which ties the trees together. The
flows and `mu` are continuous: integral `lambda` makes them so. The original score must be at least `EPSILON` on one
side; the reweighted score must be at least `EPSILON` on the other (feasibility form), or is pushed there as far as it
goes (the paper's form).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import highspy
import numpy as np

from instances import PlainModel

EPSILON = 1e-4


@dataclass(frozen=True)
class Separation:
    """How one form ended: `proved` (no violation), `violated` (the solver found one) or `limit`."""

    outcome: str
    seconds: float
    nodes: int


def separate(plain: PlainModel, weights: np.ndarray, intercept: float, form: str, limit: float) -> Separation:
    """Both directions one after the other, within `limit` seconds of processor time."""
    spent, nodes = 0.0, 0
    for sign in (1.0, -1.0):
        one = _direction(plain, weights, intercept, sign, form, limit - spent)
        spent += one.seconds
        nodes += one.nodes
        if one.outcome != "proved":
            return Separation(one.outcome, spent, nodes)
    return Separation("proved", spent, nodes)


def _direction(
    plain: PlainModel, weights: np.ndarray, intercept: float, sign: float, form: str, limit: float
) -> Separation:
    model = _Builder(plain)
    original = [(column, sign * weight * value) for column, value, weight in model.leaves(plain.weights)]
    other = [(column, -sign * weight * value) for column, value, weight in model.leaves(weights)]
    model.row(original, EPSILON - sign * (plain.intercept - plain.level), np.inf)
    if form == "feasibility":
        model.row(other, EPSILON + sign * intercept, np.inf)
    else:
        for column, value in other:
            model.costs[column] += value
    solver = model.solver()
    seconds = run_for(solver, limit)
    status = solver.getModelStatus()
    information = solver.getInfo()
    nodes = max(int(information.mip_node_count), 0)
    if status == highspy.HighsModelStatus.kInfeasible:
        return Separation("proved", seconds, nodes)
    if status == highspy.HighsModelStatus.kOptimal:
        reached = form == "feasibility" or information.objective_function_value - sign * intercept >= EPSILON
        return Separation("violated" if reached else "proved", seconds, nodes)
    return Separation("limit", seconds, nodes)


def run_for(solver: highspy.Highs, limit: float) -> float:
    """Runs the solver on one thread for at most this many seconds of processor time, and returns how many it took.

    The limit is on processor time, because other work on the machine must not count against the MILP; the clock on the
    wall only guards against a solver that never asks."""
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("parallel", "off")
    started = time.process_time()
    solver.setOptionValue("time_limit", 20.0 * limit)

    def interrupt(event: highspy.highs.HighsCallbackEvent) -> None:
        if time.process_time() - started >= limit:
            event.interrupt()

    solver.cbMipInterrupt.subscribe(interrupt)
    solver.cbSimplexInterrupt.subscribe(interrupt)
    solver.run()
    return time.process_time() - started


class _Builder:
    """Columns and rows of the trees and of the features."""

    def __init__(self, plain: PlainModel) -> None:
        self.plain = plain
        self.costs: list[float] = []
        self.integer: list[bool] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.starts = [0]
        self.indices: list[int] = []
        self.values: list[float] = []
        # For each tree the column of each node.
        self.nodes: list[list[int]] = []
        thresholds = plain.thresholds()
        places: dict[tuple[int, float], int] = {}
        for feature, levels in thresholds.items():
            columns = [self.column() for _ in levels]
            places.update({(feature, float(level)): column for level, column in zip(levels, columns)})
            for above, below in zip(columns, columns[1:]):
                # mu is 1 right of the threshold: right of a larger one means right of a smaller one.
                self.row([(above, 1.0), (below, -1.0)], 0.0, np.inf)
        for tree in plain.trees:
            self._tree(tree, places)

    def column(self, integer: bool = False) -> int:
        self.costs.append(0.0)
        self.integer.append(integer)
        return len(self.costs) - 1

    def row(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        self.indices.extend(column for column, _ in terms)
        self.values.extend(value for _, value in terms)
        self.starts.append(len(self.indices))
        self.lower.append(lower)
        self.upper.append(upper)

    def _tree(self, tree, places: dict[tuple[int, float], int]) -> None:
        flows = [self.column() for _ in tree.feature]
        self.nodes.append(flows)
        self.row([(flows[0], 1.0)], 1.0, 1.0)
        level = [0]
        while level:
            inner = [node for node in level if tree.feature[node] >= 0]
            if inner:
                goes_left = self.column(integer=True)
                terms = [(flows[tree.left[node]], 1.0) for node in inner]
                self.row([*terms, (goes_left, -1.0)], 0.0, 0.0)
            for node in inner:
                left, right = flows[tree.left[node]], flows[tree.right[node]]
                self.row([(left, 1.0), (right, 1.0), (flows[node], -1.0)], 0.0, 0.0)
                level_value = self.plain._as_f32(tree.threshold[node])
                mu = places[int(tree.feature[node]), level_value]
                self.row([(left, 1.0), (mu, 1.0)], -np.inf, 1.0)
                self.row([(right, 1.0), (mu, -1.0)], -np.inf, 0.0)
            level = [child for node in inner for child in (tree.left[node], tree.right[node])]

    def leaves(self, weights: np.ndarray) -> list[tuple[int, float, float]]:
        """Column, value and tree weight of all leaves."""
        result = []
        for tree, flows, weight in zip(self.plain.trees, self.nodes, weights):
            for node, feature in enumerate(tree.feature):
                if feature < 0 and weight != 0 and tree.value[node] != 0:
                    result.append((flows[node], float(tree.value[node]), float(weight)))
        return result

    def solver(self) -> highspy.Highs:
        columns, rows = len(self.costs), len(self.lower)
        infinity = highspy.kHighsInf
        lp = highspy.HighsLp()
        lp.num_col_ = columns
        lp.num_row_ = rows
        lp.col_cost_ = np.array(self.costs)
        lp.col_lower_ = np.zeros(columns)
        lp.col_upper_ = np.ones(columns)
        lp.row_lower_ = np.where(np.isinf(self.lower), -infinity, self.lower)
        lp.row_upper_ = np.where(np.isinf(self.upper), infinity, self.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(self.indices, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(self.values)
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if integer else kinds.kContinuous for integer in self.integer]
        lp.sense_ = highspy.ObjSense.kMaximize
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(lp)
        return solver
