"""Claims about one model (docs/spec/certificate-v2.md, section 2.4), judged by the model as its own library has it."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from . import bits
from .compare import Claim, Found, Inputs, Pair, Row, _words, numbers_of
from .dump import Problem
from .live import Test, Tree, power


@dataclasses.dataclass
class OneModel(Claim):
    def hold(self, pair: Pair, problem: Problem, inputs: Inputs) -> list[np.ndarray]:
        # The numbers of the rows have been compared; here the leaves count that the library reaches.
        unit = Fraction(2) ** (problem.unit - inputs.exponent)
        sums = [own - int(model.intercepts[group] / Fraction(2) ** inputs.exponent)
                for which, model in enumerate(pair.models) for group, own in enumerate(inputs.sums[which])]
        # Nothing adds to the sums of rounding by input, the last of a pair.
        sums += [np.zeros(len(inputs.rows), dtype=object)] * (problem.sums - len(sums))
        totals = [sum((factor * sums[name] for name, factor in terms.items())) for _, terms in problem.rows]
        return [np.array(total >= bound * unit, dtype=bool) for total, (bound, _) in zip(totals, problem.rows)]

    def kept(self, pair: Pair, inputs: Inputs, found: Found) -> None:
        found.in_claim = len(inputs.rows)
        for row, why in self.broken(pair, inputs.rows, inputs):
            found.differs("claim", f"On the input {_words(inputs.rows[row])} {why}.")

    def excused(self, pair: Pair, problem: Problem, rows: np.ndarray, found: Found) -> None:
        inputs = Inputs(pair, rows, Found())
        for row, why in self.broken(pair, rows, inputs):
            found.differs("excused", f"{problem.name}: cell {problem.excused[row]} was excused, and {why}.")

    def broken(self, pair: Pair, rows: np.ndarray, inputs: Inputs) -> list[tuple[int, str]]:
        """The inputs on which the library does not do what is claimed, and what it does."""
        raise NotImplementedError


def scores(pair: Pair, which: int, inputs: Inputs, output: int) -> tuple[Any, Fraction]:
    """The library's scores of an output on each input, as exact numbers, and how far they can be from what it would compute. A library
    that does not show its scores: the exact ones, and how far the library's can be from these."""
    model = pair.models[which]
    own = model.scores(pair.rows_of(which, inputs.rows))
    if own is not None:
        return [Fraction(float(score)) for score in own[:, output]], Fraction(0)
    unit = Fraction(2) ** inputs.exponent / model.divisor
    return [total * unit for total in inputs.sums[which][output]], Fraction(bits.score_rounding(model, output))


@dataclasses.dataclass
class Range(OneModel):
    """No score is above or below a limit."""

    says: ClassVar[str] = "what the scores can be"
    limits: list[tuple[int, str, Fraction]] = dataclasses.field(default_factory=list)
    """Each limit: its output, `above` or `below`, and the score."""

    def words(self) -> str:
        said = [f"score {output} is {'at most' if side == 'above' else 'at least'} {float(limit)!r}" for output, side, limit in self.limits]
        return f"the raw {' and '.join(said)}"

    def questions(self, pair: Pair) -> list[tuple[str | int, ...]]:
        return [("output", output, side) for output, side, _ in self.limits]

    def rows(self, pair: Pair, problem: Problem, found: Found) -> list[Row]:
        _, output, side = problem.question
        (limit,) = [own for *named, own in self.limits if named == [output, side]]
        model, sign = pair.models[0], 1 if side == "above" else -1
        needed = sign * limit - Fraction(bits.score_rounding(model, int(output)))
        return [Row({int(output): sign}, needed * model.divisor, True, may_ask_more=True)]

    def broken(self, pair: Pair, rows: np.ndarray, inputs: Inputs) -> list[tuple[int, str]]:
        found = []
        for output, side, limit in self.limits:
            sign = 1 if side == "above" else -1
            own, slack = scores(pair, 0, inputs, output)
            found += [
                (row, f"score {output} is {float(score)!r}, {side} {float(limit)!r}")
                for row, score in enumerate(own)
                if sign * (score - limit) > slack
            ]
        return found


@dataclasses.dataclass
class Classes(OneModel):
    """Only these classes are decided."""

    allowed: tuple[str, ...] = ()

    def words(self) -> str:
        return f"no other class than {', '.join(self.allowed)} is decided"

    def _allowed(self, pair: Pair) -> list[int]:
        model = pair.models[0]
        labels = range(model.classes) if model.labels is None else model.labels
        return numbers_of(self.allowed, [str(label) for label in labels], "classes")

    def questions(self, pair: Pair) -> list[tuple[str | int, ...]]:
        allowed = self._allowed(pair)
        return [("class", own) for own in range(pair.models[0].classes) if own not in allowed]

    def rows(self, pair: Pair, problem: Problem, found: Found) -> list[Row]:
        model, forbidden = pair.models[0], int(problem.question[1])
        slack = Fraction(bits.margin(model)) * model.divisor
        rows = []
        for other in range(model.classes):
            if other != forbidden:
                terms, constant, _ = model.lead(forbidden, other)
                rows.append(Row(terms, -slack - constant, False, may_ask_more=True))
        return rows

    def broken(self, pair: Pair, rows: np.ndarray, inputs: Inputs) -> list[tuple[int, str]]:
        allowed = self._allowed(pair)
        return [
            (row, f"the library decides class {decided}")
            for row, decided in enumerate(inputs.decided[0].tolist())
            if decided not in allowed
        ]


@dataclasses.dataclass
class Apart(OneModel):
    """No score of the two inputs is farther apart than this."""

    says: ClassVar[str] = "how far the scores are apart"
    within: Fraction = Fraction(0)

    def words(self) -> str:
        return f"changing {', '.join(self.moved)} alone moves no raw score by more than {float(self.within)!r}"

    def questions(self, pair: Pair) -> list[tuple[str | int, ...]]:
        return [("output", output, "above") for output in range(pair.models[0].groups)]

    def rows(self, pair: Pair, problem: Problem, found: Found) -> list[Row]:
        output, model = int(problem.question[1]), pair.models[0]
        # The row is multiplied by both divisors and divided by the power of two in which they end.
        factor = model.divisor / Fraction(2) ** power(model.divisor)
        needed = self.within - 2 * Fraction(bits.score_rounding(model, output))
        terms = {output: -int(factor), model.groups + output: int(factor)}
        return [Row(terms, needed * model.divisor * factor, True, may_ask_more=True)]

    def broken(self, pair: Pair, rows: np.ndarray, inputs: Inputs) -> list[tuple[int, str]]:
        found = []
        for output in range(pair.models[0].groups):
            (first, slack), (second, _) = (scores(pair, which, inputs, output) for which in (0, 1))
            found += [
                (row, f"score {output} is {float(one)!r} and {float(other)!r}")
                for row, (one, other) in enumerate(zip(first, second))
                if abs(one - other) > self.within + 2 * slack
            ]
        return found


@dataclasses.dataclass
class Rises(OneModel):
    """When the column rises, the score of an output never falls (or never rises), as an exact sum or in the library's own bits."""

    rises: ClassVar[bool] = True
    says: ClassVar[str] = "which score is larger"
    output: int = 0
    falls: bool = False
    bits: bool = False

    def words(self) -> str:
        how = "in every bit that the library computes" if self.bits else "as an exact sum"
        return f"score {self.output} never {'rises' if self.falls else 'falls'} when {self.moved[0]} rises, {how}"

    def questions(self, pair: Pair) -> list[tuple[str | int, ...]]:
        return [] if self.bits else [("output", self.output, "above" if self.falls else "below")]

    def rows(self, pair: Pair, problem: Problem, found: Found) -> list[Row]:
        sign = -1 if self.falls else 1
        return [Row({self.output: sign, pair.models[0].groups + self.output: -sign}, Fraction(0), True)]

    def broken(self, pair: Pair, rows: np.ndarray, inputs: Inputs) -> list[tuple[int, str]]:
        if self.bits:
            own = [scores(pair, which, inputs, self.output) for which in (0, 1)]
            if own[0][1]:
                return []  # What is compared tree by tree is all that can be seen of such a library.
            (first, _), (second, _) = own
        else:
            first, second = (inputs.sums[which][self.output] for which in (0, 1))
        return [
            (row, f"the score goes from {float(one)!r} to {float(other)!r}")
            for row, (one, other) in enumerate(zip(first, second))
            if (one < other if self.falls else one > other)
        ]

    def excused(self, pair: Pair, problem: Problem, rows: np.ndarray, found: Found) -> None:
        found.differs("excused", f"{problem.name}: a claim about exact sums excuses no cell, and the dump has excused ones.")


def tree_by_tree(pair: Pair, found: Found) -> None:
    """What proves `bits`: from each run of the column's values to the next no tree of the library's adds less (or more)."""
    claim = pair.claim
    model = pair.models[0]
    if model.free_order:
        found.differs("order", f"{model.library} does not fix the order in which it adds up the trees, so the bits have no order.")
    if pair.steps is None:
        return
    low, high = pair.steps.neighbours.T
    for place, tree in enumerate(model.trees):
        found.trees += 1
        where = _where_it_falls(pair, tree, claim.output, claim.falls, low, high)
        if where is not None:
            found.differs("treewise", f"Tree {place} adds {where} when column {pair.moved[0]} rises.")


def _where_it_falls(pair: Pair, tree: Tree, output: int, falls: bool, low: np.ndarray, high: np.ndarray) -> str | None:
    model, (column,) = pair.models[0], pair.moved

    def ways(test: Test, values: np.ndarray) -> np.ndarray:
        return test.holds(model.read(values))

    # A node for the first input, one for the second, the steps and the values of other columns with which both are reached.
    start: dict[int, np.ndarray] = {column: np.ones(len(low), dtype=bool)}
    open_pairs = [(0, 0, start)]
    while open_pairs:
        first, second, box = open_pairs.pop()
        at_leaf = tree.nodes[first].column < 0
        node = tree.nodes[second if at_leaf else first]
        if node.column < 0:
            amounts = [tree.nodes[own].added.get(output, Fraction(0)) for own in (first, second)]
            if amounts[0] < amounts[1] if falls else amounts[0] > amounts[1]:
                return f"{float(amounts[0])!r} and then {float(amounts[1])!r}"
            continue
        values = pair.candidates[node.column] if node.column != column else high if at_leaf else low
        now = box.get(node.column, np.ones(len(values), dtype=bool))
        yes = ways(node.test, values)
        for left, child in [(now & yes, node.yes), (now & ~yes, node.no)]:
            if left.any():
                open_pairs.append((*((first, child) if at_leaf else (child, second)), {**box, node.column: left}))
    return None

