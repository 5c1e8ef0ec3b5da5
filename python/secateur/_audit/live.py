"""A model as its own library has it: trees and exact leaf values, and the library's own answers.

`rounding` bounds how far a library's floats can be from the exact sums, written once more in exact fractions.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from fractions import Fraction
from typing import Any

import numpy as np

from .dump import Rounding


class NotJudged(Exception):
    """Something that this tool cannot judge, in a sentence. It is never skipped."""


@dataclasses.dataclass(frozen=True)
class Test:
    """Which values of a column a split sends to its first child."""

    compare: str
    """`<`, `<=`, `>`, `>=`, `==`, `!=`, `in` a set of numbers, or the library whose sets of categories these are."""
    threshold: float = 0.0
    members: frozenset[float] = frozenset()
    missing: bool = False
    """Is a missing value sent to the first child?"""
    zero_is_missing: bool = False

    def holds(self, values: np.ndarray) -> np.ndarray:
        missing = np.isnan(values)
        if self.zero_is_missing:
            missing = missing | (values == 0.0)
        with np.errstate(invalid="ignore"):
            return np.where(missing, self.missing, self._known(values))

    def _known(self, values: np.ndarray) -> np.ndarray:
        match self.compare:
            case "<":
                return values < self.threshold
            case "<=":
                return values <= self.threshold
            case ">":
                return values > self.threshold
            case ">=":
                return values >= self.threshold
            case "==":
                return values == self.threshold
            case "!=":
                return values != self.threshold
            case "in":
                return np.isin(values, sorted(self.members))
        whole = np.trunc(np.where(np.isfinite(values), values, -1.0))
        inside = np.isin(whole, sorted(self.members))
        if self.compare == "categories of XGBoost":
            # The listed categories go to the second child, and so does no value that is not a category.
            return ~(inside & (values >= 0.0) & (values < 2.0**24))
        # LightGBM: the listed categories go to the first child.
        return inside & (whole >= 0.0) & (np.abs(values) < 2.0**31)

    def edges(self) -> list[float]:
        """Numbers at which the answer may change."""
        if self.compare == "in":
            return sorted(self.members)
        if not self.compare.startswith("categories"):
            return [self.threshold]
        codes = [float(code) for code in self.members]
        return [value for code in codes for value in (code - 1.0, code, code + 0.5, code + 1.0)]


@dataclasses.dataclass
class Node:
    """A split, or a leaf with an amount for each of its sums."""

    column: int = -1
    test: Test = Test("<")
    yes: int = -1
    no: int = -1
    added: dict[int, Fraction] = dataclasses.field(default_factory=dict)
    name: Any = None
    """What the library calls this leaf."""


@dataclasses.dataclass
class Tree:
    nodes: list[Node]
    """The root is node 0."""
    sums: tuple[int, ...]
    weight: Fraction = Fraction(1)
    """The library multiplies what a leaf stores with this, and rounds; `added` is the exact product."""
    stored: dict[int, list[float]] = dataclasses.field(default_factory=dict)
    """For each sum the numbers that the leaves store."""


    def reachable(self) -> list[Node]:
        """The nodes that some way from the root leads to; files may have others."""
        seen, open_nodes = {0}, [0]
        while open_nodes:
            node = self.nodes[open_nodes.pop()]
            for child in (node.yes, node.no) if node.column >= 0 else ():
                if child not in seen:
                    seen.add(child)
                    open_nodes.append(child)
        return [self.nodes[at] for at in sorted(seen)]


class Live(abc.ABC):
    """A model that a library has loaded."""

    library: str
    number: str
    """The type of its sums: f32 or f64."""
    reads: str
    """The type of its inputs."""
    zero_window: float | None = None
    width: int
    """How many columns it has."""
    names: list[str] | None = None
    listed_names: list[str] | None = None
    """The names in the file, also where the library made them up."""
    labels: list[Any] | None = None
    classes: int
    trees: list[Tree]
    intercepts: list[Fraction]
    intercept_last: bool = False
    free_order: bool = False
    scale: Fraction | None = None
    divisor: Fraction = Fraction(1)
    averaged: bool = False
    threshold: tuple[int, Fraction, bool] | None = None
    """Two classes and one sum: the sum, the number that it is compared with, and whether by `>` (or `>=`)."""
    gap: float = 0.0
    """How far scores have to be apart for the library's probabilities to be different."""
    category_lists: Any = None
    """The labels of categories, where the file has them."""

    @abc.abstractmethod
    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        """For each tree the library's name of the leaf that each row reaches."""

    @abc.abstractmethod
    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        """What the leaf that the library calls so adds to each sum, exactly."""

    @abc.abstractmethod
    def decides(self, rows: np.ndarray) -> np.ndarray:
        """The number of the class that the library decides."""

    def scores(self, rows: np.ndarray) -> np.ndarray | None:
        """The library's own raw scores, after averaging; none if it does not show them."""
        return None

    def read(self, values: np.ndarray) -> np.ndarray:
        """Values as the library's comparisons see them."""
        if self.reads == "f32":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32).astype(np.float64)
        if self.zero_window is not None:
            values = np.where(np.abs(values) <= self.zero_window, 0.0, values)
        return values

    def accepts(self, value: float) -> bool:
        """Does the library take a row with this value?"""
        row = np.zeros((1, self.width))
        row[0, 0] = value
        try:
            self.decides(row)
        except (ValueError, TypeError):
            return False
        except Exception as error:
            # XGBoost and CatBoost have errors of their own.
            if type(error).__name__ in ("XGBoostError", "CatBoostError"):
                return False
            raise
        return True

    @property
    def bits(self) -> int:
        return 24 if self.number == "f32" else 53

    @functools.cached_property
    def margin(self) -> Fraction:
        return margin(self)

    @property
    def groups(self) -> int:
        return len(self.intercepts)

    @functools.cached_property
    def exponent(self) -> int:
        """Two to this power divides every amount and intercept; at most 0."""
        lowest = 0
        for value in self.intercepts:
            lowest = min(lowest, power(value))
        for tree in self.trees:
            for node in tree.nodes:
                for value in node.added.values():
                    lowest = min(lowest, power(value))
        return lowest

    def lead(self, winner: int, other: int) -> tuple[dict[int, int], Fraction, bool]:
        """How far a class is ahead of another, times the divisor: factors of sums and a constant; and does it win ties?"""
        if self.threshold is not None:
            group, threshold, strict = self.threshold
            sign = 1 if winner == 1 else -1
            return {group: sign}, -sign * threshold * self.divisor, (winner == 1) != strict
        return {winner: 1, other: -1}, Fraction(0), winner < other


def power(value: Fraction) -> int:
    """The exponent of the lowest bit of a number with finitely many bits; large for zero."""
    if value == 0:
        return 1 << 20
    if value.denominator > 1:
        assert value.denominator & (value.denominator - 1) == 0, "floats have finitely many bits"
        return 1 - value.denominator.bit_length()
    return (value.numerator & -value.numerator).bit_length() - 1


def rounded(value: Fraction, number: str) -> Fraction:
    """The float that is nearest to an exact number, as IEEE 754 rounds."""
    if value == 0:
        return Fraction(0)
    bits, least = (24, -149) if number == "f32" else (53, -1074)
    # The exponent of the last bit of a float of this size.
    size = abs(value.numerator).bit_length() - value.denominator.bit_length()
    for exponent in range(size - bits - 1, size - bits + 2):
        unit = Fraction(2) ** max(exponent, least)
        if abs(value) / unit < 2**bits:
            break
    return round(value / unit) * unit  # Python rounds halves to even, as IEEE 754 does.


@dataclasses.dataclass
class _Term:
    low: Fraction
    high: Fraction
    power: int
    product: Fraction
    """The most that rounding weight times leaf can change."""

    @property
    def largest(self) -> Fraction:
        return max(abs(self.low), abs(self.high))


def _terms(live: Live, group: int) -> list[tuple[int, _Term]]:
    terms = []
    for index, tree in enumerate(live.trees):
        if group not in tree.sums:
            continue
        weight = Fraction(1) if live.scale is not None else tree.weight
        products = [weight * Fraction(value) for value in tree.stored[group]]
        values = [rounded(product, live.number) for product in products]
        term = _Term(
            min(values),
            max(values),
            min(map(power, values)),
            max(abs(value - product) for value, product in zip(values, products)),
        )
        terms.append((index, term))
    return terms


def _least(number: str) -> Fraction:
    return Fraction(2) ** (-149 if number == "f32" else -1074)


def rounding(live: Live, group: int) -> Fraction:
    """How far the library's score of a group can be from the exact one, over all inputs.

    One addition errs by at most the unit roundoff times the largest partial sum that is possible there, and not at
    all where every partial sum fits into the type.
    """
    unit = Fraction(1, 2**live.bits)
    own = [term for _, term in _terms(live, group)]
    value = live.intercepts[group]
    intercept = _Term(value, value, power(value), Fraction(0))

    def fits(largest: Fraction, grain: int) -> bool:
        return grain >= 1 << 20 or largest <= Fraction(2) ** (grain + live.bits)

    if live.free_order:
        largest = sum((term.largest for term in [*own, intercept]), Fraction(0))
        grain = min(term.power for term in [*own, intercept])
        steps = len(own) * unit
        error = Fraction(0) if fits(largest, grain) else steps / (1 - steps) * largest
    else:
        if live.scale is not None:
            order = own
        else:
            order = [*own, intercept] if live.intercept_last else [intercept, *own]
        low = high = error = largest = Fraction(0)
        grain = 1 << 20
        for term in order:
            low, high = low + term.low, high + term.high
            grain = min(grain, term.power)
            largest = max(abs(low), abs(high)) + error
            if not fits(largest, grain):
                error += unit * largest
        largest = max(abs(low), abs(high))
        if live.scale is not None:
            scale = abs(live.scale)
            product = scale * (largest + error)
            step = unit * product + _least(live.number)
            error = scale * error + step
            largest = scale * largest + abs(value)
            error += unit * (largest + error)
    error += sum((term.product for term in own), Fraction(0))
    if not live.averaged:
        return error
    quotient = (largest + error) / live.divisor
    return error / live.divisor + quotient * unit + _least(live.number)


def margin(live: Live) -> Fraction:
    """A lead, in scores, above which the library's decision is certain."""
    if live.threshold is not None:
        return rounding(live, live.threshold[0]) + Fraction(live.gap)
    return 2 * max(rounding(live, group) for group in range(live.groups)) + Fraction(live.gap)


def steps_by_input(live: Live) -> list[int]:
    """For each tree the largest number of additions that its leaf takes part in."""
    steps = [0] * len(live.trees)
    scaling = int(live.scale is not None)
    for group in range(live.groups):
        terms = _terms(live, group)
        for position, (index, _) in enumerate(terms):
            count = len(terms)
            own = count if live.free_order else min(count + 1 - position, count)
            steps[index] = max(steps[index], own + scaling)
    return steps


def fixed_by_input(live: Live, group: int) -> Fraction:
    """The part of a bound on rounding by input that is the same for all inputs."""
    unit = Fraction(1, 2**live.bits)
    factor = unit * Fraction(257, 256)
    terms = [term for _, term in _terms(live, group)]
    scaling = int(live.scale is not None)
    intercept = abs(live.intercepts[group])
    products = sum((term.product for term in terms), Fraction(0))
    all_steps = factor * (len(terms) + scaling)
    fixed = all_steps * (intercept + products) + products
    if scaling:
        fixed += 2 * _least(live.number)
    fixed /= live.divisor
    if live.averaged:
        largest = intercept + sum((term.largest + term.product for term in terms), Fraction(0))
        fixed += largest * (1 + all_steps) / live.divisor * unit + _least(live.number)
    return fixed


def too_small(live: Live, said: Rounding) -> str | None:
    """Why the rounding that a dump says is smaller than ours; none if it is large enough."""
    if said.over_all is not None:
        own = live.margin
        if said.over_all < own:
            return f"the rounding of the pruned model is said to be {float(said.over_all)!r}, and it can be {float(own)!r}"
        return None
    if said.factor_bits != live.bits + 8 or len(said.fixed) != live.groups:
        return "the rounding by input is not one of this model's number type"
    if said.gap < Fraction(live.gap):
        return f"the gap that decisions need is said to be {float(said.gap)!r}, and it is {live.gap!r}"
    for group, fixed in enumerate(said.fixed):
        own = fixed_by_input(live, group)
        if fixed < own:
            return f"the fixed rounding of sum {group} is said to be {float(fixed)!r}, and it can be {float(own)!r}"
    return None
