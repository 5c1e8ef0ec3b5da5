"""Reads the problems that `secateur-check --dump` writes (docs/spec/dump.md).

The comment lines of a problem say which column an axis is about and give an input of each of its cells. They are
claims like everything else in the file: the comparison finds out whether the libraries agree with them.
"""

from __future__ import annotations

import dataclasses
import pathlib
from fractions import Fraction

import numpy as np


class Unreadable(Exception):
    """A dump that is not what the page says, with the file and the line."""


@dataclasses.dataclass
class Node:
    """A split (axis, cells, yes, no), or a leaf (added)."""

    axis: int = -1
    cells: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    yes: int = -1
    no: int = -1
    added: dict[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Rounding:
    """What the pruned model's rounding is said to be, in scores."""

    over_all: Fraction | None = None
    """One bound for all inputs. None for exact sums, and for rounding by input."""
    factor_bits: int = 0
    """Rounding by input: the unit of the rows is smaller by these bits."""
    gap: Fraction = Fraction(0)
    fixed: list[Fraction] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Problem:
    name: str
    question: tuple[str | int, ...]
    """`classes` with the one that the original decides and the one that the pruned model does not put it above, `output` with its
    number and `above` or `below`, or `class` with the one that is not allowed."""
    unit: int
    """The rows count in two to this power."""
    trees_of: tuple[int, int]
    rounding: Rounding
    columns: list[list[int]]
    """The columns of each axis."""
    witnesses: list[list[list[float]]]
    """For each axis and cell a value for each of its columns."""
    axes: list[int]
    sums: int
    trees: list[list[Node]]
    rows: list[tuple[int, dict[int, int]]]
    """The bound and the factor of each sum."""
    excused: list[tuple[int, ...]]


def read(path: pathlib.Path) -> Problem:
    """Reads one problem, or says which line is wrong."""
    lines = path.read_text(encoding="ascii").split("\n")
    at = 0

    def wrong(what: str) -> Unreadable:
        return Unreadable(f"{path.name}, line {at + 1}: {what}")

    if lines[0] != "secateur problem 1":
        raise wrong("this is not a problem of version 1")
    question: tuple[str | int, ...] | None = None
    unit: int | None = None
    trees_of: tuple[int, int] | None = None
    rounding: Rounding | None = None
    columns: dict[int, list[int]] = {}
    witnesses: dict[int, list[list[float]]] = {}
    axes: list[int] | None = None
    sums: int | None = None
    trees: list[list[Node]] = []
    rows: list[tuple[int, dict[int, int]]] = []
    excused: list[tuple[int, ...]] = []
    for at, line in enumerate(lines):
        words = line.split(" ")
        try:
            match words:
                case ["secateur", "problem", "1"] if at == 0:
                    pass
                case ["#", "system", "classes", winner, other]:
                    question = "classes", int(winner), int(other)
                case ["#", "system", "output", output, "above" | "below" as side]:
                    question = "output", int(output), side
                case ["#", "system", "class", forbidden]:
                    question = "class", int(forbidden)
                case ["#", "unit", power]:
                    unit = int(power.removeprefix("2^"))
                case ["#", "trees", "of", "the", "original", first, "of", "the", "pruned", "model", second]:
                    trees_of = int(first.rstrip(",")), int(second)
                case ["#", "rounding", "none"]:
                    rounding = Rounding()
                case ["#", "rounding", value]:
                    rounding = Rounding(Fraction(float(value)))
                case ["#", "rounding", "by", "input", "bits", bits, "gap", gap, "fixed", *fixed]:
                    own = [Fraction(float(value)) for value in fixed]
                    rounding = Rounding(None, int(bits), Fraction(float(gap)), own)
                case ["#", "axis", name, "columns", *listed]:
                    columns[int(name)] = [int(column) for column in listed]
                    witnesses[int(name)] = []
                case ["#", "cell", name, place, "input", *values]:
                    if int(place) != len(witnesses[int(name)]) or len(values) != len(columns[int(name)]):
                        raise wrong("the cells of this axis are not counted in order, with a value for each column")
                    witnesses[int(name)].append([float(value) for value in values])
                case ["#", *_]:
                    pass
                case ["axes", *sizes]:
                    axes = [int(size) for size in sizes]
                case ["sums", count]:
                    sums = int(count)
                case ["tree"]:
                    trees.append([])
                case ["split", axis, yes, no, *ranges]:
                    cells = [(int(low), int(high)) for low, high in (pair.split("-") for pair in ranges)]
                    trees[-1].append(Node(int(axis), cells, int(yes), int(no)))
                case ["leaf", *added]:
                    trees[-1].append(Node(added=_terms(added)))
                case ["row", bound, *terms]:
                    rows.append((int(bound), _terms(terms)))
                case ["excused", *cell]:
                    excused.append(tuple(int(number) for number in cell))
                case ["end"] if at == len(lines) - 2:
                    pass
                case [""] if at == len(lines) - 1:
                    pass
                case _:
                    raise wrong("no such line has a place here")
        except (ValueError, KeyError, IndexError):
            raise wrong(f"cannot be read: {line[:80]}") from None
    if axes is None or sums is None:
        raise wrong("the file has no axes or no sums")
    if question is None or unit is None or trees_of is None or rounding is None:
        raise wrong(
            "the file does not say its question, unit, trees and rounding in comment lines; the audit needs a dump of "
            "secateur-check as it is today"
        )
    if sorted(columns) != list(range(len(axes))):
        raise wrong("the file does not say which columns its axes are about")
    for place_of, size in enumerate(axes):
        if len(witnesses[place_of]) != size:
            raise wrong(f"axis {place_of} has {size} cells and {len(witnesses[place_of])} inputs of cells")
    problem = Problem(
        path.name,
        question,
        unit,
        trees_of,
        rounding,
        [columns[axis] for axis in range(len(axes))],
        [witnesses[axis] for axis in range(len(axes))],
        axes,
        sums,
        trees,
        rows,
        excused,
    )
    _check(problem)
    return problem


def _terms(words: list[str]) -> dict[int, int]:
    terms: dict[int, int] = {}
    for word in words:
        name, value = word.split(":")
        terms[int(name)] = terms.get(int(name), 0) + int(value)
    return terms


def _check(problem: Problem) -> None:
    """Indices that exist, and splits before the nodes that they lead to: then every cell reaches one leaf."""
    for index, tree in enumerate(problem.trees):
        for at, node in enumerate(tree):
            if node.axis < 0:
                fits = all(0 <= name < problem.sums for name in node.added)
            else:
                fits = node.axis < len(problem.axes) and all(at < child < len(tree) for child in (node.yes, node.no))
                size = problem.axes[node.axis] if fits else 0
                fits = fits and all(0 <= low < high <= size for low, high in node.cells)
            if not fits:
                raise Unreadable(f"{problem.name}: node {at} of tree {index} names something that does not exist")
        if not tree:
            raise Unreadable(f"{problem.name}: tree {index} has no nodes")
    for _, terms in problem.rows:
        if not all(0 <= name < problem.sums for name in terms):
            raise Unreadable(f"{problem.name}: a row names a sum that does not exist")
    for cell in problem.excused:
        if len(cell) != len(problem.axes) or not all(0 <= own < size for own, size in zip(cell, problem.axes)):
            raise Unreadable(f"{problem.name}: an excused cell is not a cell of the grid")


class Masks:
    """The sets of cells of a problem's splits, as arrays of flags."""

    def __init__(self, problem: Problem) -> None:
        self.axes = problem.axes
        self.known: dict[tuple[int, tuple[tuple[int, int], ...]], np.ndarray] = {}

    def of(self, node: Node) -> np.ndarray:
        key = node.axis, tuple(node.cells)
        if key not in self.known:
            mask = np.zeros(self.axes[node.axis], dtype=bool)
            for low, high in node.cells:
                mask[low:high] = True
            self.known[key] = mask
        return self.known[key]


def leaves_at(tree: list[Node], cells: np.ndarray, masks: Masks) -> np.ndarray:
    """The node of the leaf that each of these cells (a row each) reaches."""
    at = np.zeros(len(cells), dtype=np.int64)
    # Splits stand before the nodes that they lead to, so one pass over the nodes is enough.
    for index, node in enumerate(tree):
        if node.axis < 0:
            continue
        here = np.flatnonzero(at == index)
        if len(here):
            yes = masks.of(node)[cells[here, node.axis]]
            at[here] = np.where(yes, node.yes, node.no)
    return at
