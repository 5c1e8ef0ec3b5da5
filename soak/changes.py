"""Changes of a certificate's steps, each with an eye for what the step means. A change that does not apply gives `None`."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from certificate import Step

# Steps that settle a box: nothing is left to prove in it.
ENDS = ("Close", "Cells", "Join")

Change = Callable[[list[Step], np.random.Generator], list[Step] | None]


def _pick(steps: list[Step], random: np.random.Generator, *names: str) -> int | None:
    places = [index for index, step in enumerate(steps) if step[0] in names]
    return int(random.choice(places)) if places else None


def _dropped(*names: str) -> Change:
    def change(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
        at = _pick(steps, random, *names)
        return None if at is None else steps[:at] + steps[at + 1 :]

    return change


def _doubled(steps: list[Step], random: np.random.Generator) -> list[Step]:
    at = int(random.integers(len(steps)))
    return steps[: at + 1] + steps[at:]


def _exchanged(steps: list[Step], random: np.random.Generator) -> list[Step]:
    a, b = (int(at) for at in random.integers(len(steps), size=2))
    steps[a], steps[b] = steps[b], steps[a]
    return steps


def _sections(steps: list[Step]) -> list[tuple[int, int]]:
    """Where the proof of each system begins and ends."""
    starts = [index for index, step in enumerate(steps) if step[0] in ("System", "ScoreSystem", "ClassSystem")]
    return list(zip(starts, starts[1:] + [len(steps) - 1]))


def _pair_dropped(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    sections = _sections(steps)
    if not sections:
        return None
    begin, end = sections[int(random.integers(len(sections)))]
    return steps[:begin] + steps[end:]


def _pair_repeated(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """One pair's proof in the place of another's."""
    sections = _sections(steps)
    if len(sections) < 2:
        return None
    (a, a_end), (b, b_end) = (sections[int(at)] for at in random.choice(len(sections), 2, replace=False))
    proof = [steps[b], *steps[a + 1 : a_end]]
    return steps[:b] + proof + steps[b_end:]


def _system(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "System")
    if at is None:
        return None
    _, winner, other, slack = steps[at]
    steps[at] = [
        ("System", other, winner, slack),
        ("System", winner, winner, slack),
        ("System", winner, other, 1 - slack),
        ("System", winner + 1, other, slack),
    ][int(random.integers(4))]
    return steps


def _weakened(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """A system shown to be empty by less: lenses of zeros, of one row, of the negation by wrapping round."""
    at = _pick(steps, random, "Lens")
    if at is None or not steps[at][1]:
        return None
    rows = list(steps[at][1])
    which = int(random.integers(6))
    index = int(random.integers(len(rows)))
    if which == 0:
        rows = [0] * len(rows)
    elif which == 1:
        rows = [0] * len(rows)
        rows[index] = 1
    elif which == 2:
        rows[index] = (1 << 64) - 1
    elif which == 3:
        rows[index] = max(0, rows[index] + int(random.choice([-1, 1])))
    elif which == 4:
        rows = rows[:-1]
    else:
        rows = [2 * row for row in rows]
    steps[at] = ("Lens", tuple(rows))
    return steps


def _lens_used(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Close", "Narrow")
    if at is None:
        return None
    name, lens, *rest = steps[at]
    steps[at] = (name, int(random.choice([0, 1, 2, lens + 1, max(0, lens - 1), 40])), *rest)
    return steps


def _narrowed(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """A box made smaller than what was closed."""
    at = _pick(steps, random, "Narrow")
    if at is None:
        return None
    name, lens, axis, low, high = steps[at]
    low, high, axis = [
        (low + 1, high, axis),
        (low, high - 1, axis),
        (high - 1, high, axis),
        (low, low, axis),
        (low, high, axis + 1),
    ][int(random.integers(5))]
    steps[at] = (name, lens, axis, low, high)
    return steps


def _narrow_added(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Split", *ENDS)
    if at is None:
        return None
    low = int(random.integers(3))
    return steps[:at] + [("Narrow", 0, int(random.integers(3)), low, low + 1)] + steps[at:]


def _split(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Split")
    if at is None:
        return None
    name, axis, cell, low_first = steps[at]
    steps[at] = [
        (name, axis, cell + 1, low_first),
        (name, axis, max(0, cell - 1), low_first),
        (name, axis + 1, cell, low_first),
        (name, axis, cell, not low_first),
    ][int(random.integers(4))]
    return steps


def _side_dropped(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """A split that keeps one side only: what follows it, and nothing for the other."""
    at = _pick(steps, random, "Split")
    if at is None:
        return None
    open_sides, end = 1, at + 1
    while open_sides and end < len(steps):
        name = steps[end][0]
        open_sides += (name == "Split") - (name in ENDS)
        end += 1
    return steps[:at] + steps[at + 1 : end] + _after(steps, end)


def _after(steps: list[Step], at: int) -> list[Step]:
    """What follows the side of a split that begins here."""
    open_sides = 1
    while open_sides and at < len(steps):
        name = steps[at][0]
        open_sides += (name == "Split") - (name in ENDS)
        at += 1
    return steps[at:]


def _closed_early(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """The whole proof of a system in one step."""
    sections = _sections(steps)
    if not sections:
        return None
    begin, end = sections[int(random.integers(len(sections)))]
    inside = steps[begin + 1 : end]
    lenses = list(itertools.takewhile(lambda step: step[0] == "Lens", inside))
    rest = [step for step in inside if step[0] in ("Point", "Columns", "Cut", "Cover", "Branch", "Dual", "Crossing")]
    last: Step = [("Close", 0), ("Cells",), ("Join", 0, ()), ("Meet", (0,))][int(random.integers(4))]
    if last[0] == "Meet":
        lenses = []
    return steps[: begin + 1] + lenses + [last] + rest + steps[end:]


def _cells_for(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Meet", *ENDS)
    if at is None:
        return None
    others: list[Step] = [("Close", int(random.integers(3))), ("Cells",), ("Join", 0, ())]
    steps[at] = [step for step in others if step[0] != steps[at][0]][int(random.integers(2))]
    return steps


def _joined(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """A join of another row, or with other axes fixed."""
    at = _pick(steps, random, "Join")
    if at is None:
        return None
    _, row, fixed = steps[at]
    if random.random() < 0.5:
        row = int(random.integers(4))
    else:
        fixed = tuple(axis for axis in range(6) if random.random() < 0.3)
    steps[at] = ("Join", row, fixed)
    return steps


def _met(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Meet")
    if at is None:
        return None
    axes = set(steps[at][1])
    axes ^= {int(random.integers(max(axes, default=0) + 3))}
    steps[at] = ("Meet", tuple(sorted(axes)))
    return steps


def _stacked(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """Trees moved between stacks, named twice, or left out."""
    at = _pick(steps, random, "Stack")
    if at is None:
        return [("Stack", (0,), (0,)), *steps]
    ours, theirs = set(steps[at][1]), set(steps[at][2])
    (ours if random.random() < 0.5 else theirs).symmetric_difference_update({int(random.integers(6))})
    steps[at] = ("Stack", tuple(sorted(ours)), tuple(sorted(theirs)))
    return steps


def _columns(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """Columns of other trees, of fewer, or with another intercept."""
    at = _pick(steps, random, "Columns")
    if at is None:
        return None
    _, intercept, columns = steps[at]
    columns = list(columns)
    which = int(random.integers(4))
    if which == 0:
        intercept = (intercept + 1) % 4
    elif which == 1 and columns:
        del columns[int(random.integers(len(columns)))]
    elif which == 2 and len(columns) > 1:
        a, b = columns.pop(), columns.pop()
        columns.append(tuple(sorted(a + b)))
    elif columns:
        columns[0] = tuple(sorted({*columns[0], int(random.integers(4))}))
    steps[at] = ("Columns", intercept, tuple(columns))
    return steps


def _cut(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Cut")
    if at is None:
        return None
    terms = list(steps[at][1])
    index = int(random.integers(len(terms)))
    point, winner, other, multiplier = terms[index]
    which = int(random.integers(6))
    if which == 0:
        del terms[index]
    elif which == 1:
        terms[index] = (point, other, winner, multiplier)
    elif which == 2:
        terms[index] = (point, winner, other, multiplier + 1)
    elif which == 3:
        terms[index] = (point, winner, other, multiplier * 1000)
    elif which == 4:
        terms[index] = (point + 1, winner, other, multiplier)
    else:
        terms[index] = (point, winner, other, 0)
    steps[at] = ("Cut", tuple(terms))
    return steps


def _cover(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    """A bound that is one higher, or columns that cost more."""
    at = _pick(steps, random, "Cover")
    if at is None:
        return None
    _, costs, bound = steps[at]
    if costs and random.random() < 0.4:
        costs = (costs[0] + 1, *costs[1:])
        steps[at] = ("Cover", costs, bound + 1)
    elif costs and random.random() < 0.3:
        # Every column for one: a bound on their number from one on their cost.
        steps[at] = ("Cover", None, bound)
    else:
        steps[at] = ("Cover", costs, bound + int(random.integers(1, 4)))
    return steps


def _dual(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Dual")
    if at is None:
        return None
    _, denominator, terms = steps[at]
    terms = [(cut, numerator) for cut, numerator in terms]
    which = int(random.integers(4))
    if which == 0 and terms:
        cut, numerator = terms[0]
        terms[0] = (cut, 2 * numerator + 1)
    elif which == 1:
        denominator = max(0, denominator // 2)
    elif which == 2 and terms:
        terms.append(terms[0])
    else:
        terms = [((cut + 1), numerator) for cut, numerator in terms]
    steps[at] = ("Dual", denominator, tuple(terms))
    return steps


def _point(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Point")
    if at is None:
        return None
    values = list(steps[at][1])
    if values:
        values[int(random.integers(len(values)))] = float(random.choice([np.nan, np.inf, 0.0, 1e300, -3.0]))
    steps[at] = ("Point", tuple(values))
    return steps


def _crossing(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    at = _pick(steps, random, "Crossing")
    if at is None:
        return None
    name, point, column, low, high = steps[at]
    changed = [
        (name, point, column, high, low),
        (name, point, column + 1, low, high),
        (name, point + 1, column, low, high),
        (name, point, column, low, float(np.nextafter(low, np.inf))),
    ][int(random.integers(4))]
    if random.random() < 0.3:
        # One threshold counted twice.
        return steps[: at + 1] + [steps[at]] + steps[at + 1 :]
    steps[at] = changed
    return steps


def _truncated(steps: list[Step], random: np.random.Generator) -> list[Step]:
    at = int(random.integers(len(steps)))
    return [*steps[:at], ("End", at, 1)]


def _emptied(steps: list[Step], random: np.random.Generator) -> list[Step]:
    return [("End", 0, 1)]


def _random_step(steps: list[Step], random: np.random.Generator) -> list[Step]:
    made: list[Step] = [
        ("Close", int(random.integers(4))),
        ("Cells",),
        ("Split", int(random.integers(4)), int(random.integers(6)), bool(random.random() < 0.5)),
        ("Lens", tuple(int(value) for value in random.integers(0, 5, int(random.integers(1, 5))))),
        ("Narrow", 0, int(random.integers(4)), 0, int(random.integers(1, 6))),
        ("System", int(random.integers(3)), int(random.integers(3)), 0),
        ("Meet", (0,)),
        ("Join", int(random.integers(3)), ()),
        ("End", 0, 1),
    ]
    at = int(random.integers(len(steps) + 1))
    return steps[:at] + [made[int(random.integers(len(made)))]] + steps[at:]


CHANGES: dict[str, Change] = {
    "a step dropped": _dropped("Narrow", "Split", *ENDS, "Lens", "Cut", "Dual", "Branch", "Point"),
    "a stack dropped": _dropped("Stack"),
    "a step doubled": _doubled,
    "steps exchanged": _exchanged,
    "a random step": _random_step,
    "a pair of classes dropped": _pair_dropped,
    "one pair's proof for another": _pair_repeated,
    "another system": _system,
    "a weakened lens": _weakened,
    "another lens used": _lens_used,
    "a narrower box": _narrowed,
    "a narrowing added": _narrow_added,
    "another split": _split,
    "a side dropped": _side_dropped,
    "closed in one step": _closed_early,
    "cells for a bound, a bound for cells": _cells_for,
    "other halves": _met,
    "another join": _joined,
    "other stacks": _stacked,
    "other columns": _columns,
    "another cut": _cut,
    "a higher bound": _cover,
    "another dual": _dual,
    "another point": _point,
    "another crossing": _crossing,
    "truncated": _truncated,
    "emptied": _emptied,
}
