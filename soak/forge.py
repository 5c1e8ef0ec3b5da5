"""Forged certificates: changed with an eye for what they mean, and never to be accepted for more than what holds.

Each pair of models is small enough for every cell to be decided by its library. There are two kinds:
- a model and its pruned copy, which decide alike outside the band. A changed certificate may still prove its claim (a step that is not
  needed, a lens multiplied by two); where it is accepted, the claim that it makes is held against every cell.
- a model and a copy that is decided otherwise on some cell outside the band. The certificates of the first kind are given the digests
  of this pair, then changed: whatever is in them, none may be accepted.
Half of the claims are about a domain: a column with limits, two columns that hold one of a few rows, inputs on which a third model
scores so much. Which cells those are is told here from the definition on the page.
Bounds are held against the pruned model itself: it is in the family that a bound is about, as long as the columns are the
certificate's own, so no bound may exceed its trees.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from cells import every_cell, values_of
from certificate import Certificate, Domain, Step, read, write
from families import FAMILIES, draw
from judge import SECONDS, Pair, leads

import secateur
from secateur._secateur import check

# Cells of a pair; what has more is left out, for the judgement rests on all of them.
MOST_CELLS = 20_000
# Steps that settle a box: nothing is left to prove in it.
ENDS = ("Close", "Cells", "Join")
# Forged certificates of one pair.
PER_PAIR = 120


@dataclass
class Forged:
    KEYS: ClassVar[list[str]] = ["invalid", "malformed", "incomplete", "valid"]
    count: int = 0
    pairs: int = 0
    differing: int = 0
    harmless: int = 0
    wrong: list[str] = field(default_factory=list)
    by_kind: dict[str, Counter[str]] = field(default_factory=dict)


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
    """Where the proof of each pair of classes begins and ends."""
    starts = [index for index, step in enumerate(steps) if step[0] == "System"]
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
    if at is None:
        return None
    rows = list(steps[at][1])
    which = int(random.integers(6))
    index = int(random.integers(len(rows))) if rows else 0
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


def _domains(certificate: Certificate, random: np.random.Generator) -> tuple[str, Certificate]:
    """A claim about other inputs than were proved."""
    claim, domain = certificate.claim, certificate.claim.domain
    assert domain is not None
    changed: list[tuple[str, Certificate]] = [
        ("every input for a domain", certificate.with_claim(domain=None, scope=0)),
        ("every input for a domain", certificate.with_claim(domain=None, scope=1)),
        ("missing values in or out", certificate.with_claim(domain=replace(domain, missing=1 - domain.missing))),
    ]

    def put(name: str, kind: str, at: int, *entries: Any) -> None:
        own = getattr(domain, kind)
        parts = {kind: (*own[:at], *entries, *own[at + 1 :])}
        changed.append((name, certificate.with_claim(domain=replace(domain, **parts))))

    for at, column in enumerate(domain.columns):
        put("a column without its limits", "columns", at)
        if column.least is not None:
            lower = float(column.least - random.choice([1e-3, 0.5, 10.0]))
            put("a column with a lower limit", "columns", at, replace(column, least=lower))
        put("a column with missing values", "columns", at, replace(column, flags=column.flags ^ 1))
    for at, (kind, columns, rows) in enumerate(domain.groups):
        put("columns that do not go together", "groups", at)
        if kind == 3:
            mixed = tuple(rows[int(random.integers(len(rows)))][place] for place in range(len(columns)))
            put("more rows of a table", "groups", at, (kind, columns, tuple(sorted({*rows, mixed}))))
    for at, (digest, which, side, bound) in enumerate(domain.wheres):
        put("whatever a third model scores", "wheres", at)
        for other in (bound - 0.1, bound + 0.1, float(np.nextafter(bound, -np.inf)), float(np.nextafter(bound, np.inf))):
            put("another score of a third model", "wheres", at, (digest, which, side, other))
        put("the other side of a score", "wheres", at, (digest, which, 1 - side, bound))
        put("the score of another model", "wheres", at, (claim.original, which, side, bound))
        put("another output of a third model", "wheres", at, (digest, which + 1, side, bound))
    return changed[int(random.integers(len(changed)))]


def holds(domain: Domain, rows: np.ndarray, scorers: dict[bytes, secateur.Model]) -> np.ndarray:
    """Which rows are in a domain, by the definition on the page. Rows whose score is at the very bound of a third model are left
    out: its last bits may be open, and then they may be in or not."""
    inside = np.ones(len(rows), dtype=bool)
    limited = {column.number: column for column in domain.columns}
    grouped = {column for _, columns, _ in domain.groups for column in columns}
    for number in range(rows.shape[1]):
        values, column = rows[:, number], limited.get(number)
        if column is None:
            if number not in grouped and not domain.missing:
                inside &= ~np.isnan(values)
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            fits = np.ones(len(rows), dtype=bool)
            if column.least is not None:
                fits &= values >= column.least
            if column.greatest is not None:
                fits &= values <= column.greatest
            if column.values is not None:
                fits &= np.isin(values, column.values)
            if column.flags & 8:
                fits &= np.isfinite(values) & (values == np.floor(values))
            if column.flags & 16:
                fits &= values.astype(np.float32).astype(np.float64) == values
        inside &= np.where(np.isnan(values), bool(column.flags & 1), fits)
    for kind, columns, table in domain.groups:
        own = rows[:, list(columns)]
        if kind == 3:
            allowed = {_key(row) for row in table}
            inside &= np.array([_key(row) in allowed for row in own.tolist()], dtype=bool)
            continue
        ones = (own == 1).sum(axis=1)
        fits = [ones == 1, ones <= 1, (np.diff(own, axis=1) >= 0).all(axis=1)][kind]
        inside &= fits & np.isin(own, [0.0, 1.0]).all(axis=1)
    for digest, which, side, bound in domain.wheres:
        scores = np.full(len(rows), np.nan)
        if digest in scorers and inside.any():
            scores[inside] = np.asarray(scorers[digest].raw_scores(rows[inside]), dtype=np.float64)[:, which]
        near = 1e-6 * (1.0 + abs(bound))
        with np.errstate(invalid="ignore"):
            inside &= scores > bound + near if side == 0 else scores < bound - near
    return inside


def _key(row: Any) -> tuple[Any, ...]:
    """Equal for rows of the same numbers; a missing value is one."""
    return tuple(None if np.isnan(value) else float(value) + 0.0 for value in row)


def _drawn_domain(
    original: secateur.Model, random: np.random.Generator
) -> tuple[secateur.Domain, secateur.Model | None, dict[int, list[float]]]:
    """A random domain, the third model that it asks for, and values that its columns hold."""
    columns: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    more: dict[int, list[float]] = {}
    kinds = original.split_values()
    numbers = [at for at in range(len(original.feature_names)) if not (at in kinds and kinds[at][0])]
    random.shuffle(numbers)
    finite = {at: [value for value in values_of([original], at, False) if np.isfinite(value)] for at in numbers}
    if len(numbers) > 1 and random.random() < 0.6:
        pair = sorted(numbers[:2])
        rows = {tuple(float(random.choice(finite[at])) for at in pair) for _ in range(int(random.integers(2, 5)))}
        groups.append({"kind": "table", "columns": [str(at) for at in pair], "rows": [list(row) for row in rows]})
        more |= {at: [row[place] for row in rows] for place, at in enumerate(pair)}
    for at in numbers[2:]:
        if random.random() < 0.5:
            low = float(random.choice(finite[at]))
            columns[str(at)] = {"min": low, "missing": bool(random.random() < 0.5)}
            more[at] = [low, low + 1.0]
    scorer = None
    where: list[dict[str, Any]] = []
    if random.random() < 0.6 and original.tree_count > 1:
        kept = sorted(random.choice(original.tree_count, size=min(3, original.tree_count), replace=False).tolist())
        try:
            scorer = original.edit([(tree, None) for tree in kept])
        except secateur.EditingError:
            scorer = None
    if scorer is not None:
        rows_seen, _ = every_cell([scorer], 400, random, False)
        rows_seen = rows_seen[~np.isnan(rows_seen).any(axis=1)]
        scores = np.unique(np.asarray(scorer.raw_scores(rows_seen), dtype=np.float64)[:, 0])
        at = int(random.integers(len(scores)))
        bound = float(scores[at] / 2 + scores[max(at - 1, 0)] / 2)
        where.append({"model": scorer, "output": 0, ("at_least", "at_most")[int(random.integers(2))]: bound})
    missing = bool(random.random() < 0.5)
    return secateur.Domain(missing=missing, columns=columns, groups=groups, where=where), scorer, more


def _claims(certificate: Certificate, certain: float, random: np.random.Generator) -> tuple[str, Certificate]:
    """A claim that says more, or something else."""
    band = certificate.claim.band
    if certificate.claim.domain is not None and random.random() < 0.7:
        return _domains(certificate, random)
    changed: list[tuple[str, Certificate]] = [
        ("a smaller band", certificate.with_claim(band=certain)),
        ("a smaller band", certificate.with_claim(band=0.0)),
        ("a band below the rounding", certificate.with_claim(band=certain / 2.0)),
        ("a band that is no number", certificate.with_claim(band=float("nan"))),
        ("exact for a band, a band for exact", certificate.with_claim(band=certain if band is None else None)),
        ("another scope", certificate.with_claim(scope=1 - certificate.claim.scope)),
        ("another rounding", certificate.with_claim(local=1 - certificate.claim.local)),
        (
            "digests exchanged",
            certificate.with_claim(original=certificate.claim.pruned, pruned=certificate.claim.original),
        ),
        ("one digest for both", certificate.with_claim(pruned=certificate.claim.original)),
    ]
    return changed[int(random.integers(len(changed)))]


def _pairs(first: int, until: float) -> Iterator[tuple[str, int]]:
    for seed in itertools.count(first):
        for family in FAMILIES:
            if time.monotonic() >= until:
                return
            yield family, seed


def forge(first: int, count: int | None, until: float) -> Forged:
    """Forges certificates until there are `count`, or until that time."""
    forged = Forged()
    for family, seed in _pairs(first, until):
        if count is not None and forged.count >= count:
            break
        try:
            _forge(family, seed, forged)
        except (secateur.ModelError, secateur.ComparisonError, secateur.EditingError):
            continue
    return forged


def _forge(family: str, seed: int, forged: Forged) -> None:
    random = np.random.default_rng([seed, 13])
    drawn = draw(family, seed)
    original = secateur.Model.parse(drawn.data)
    if original.leaf_count > 120:
        return
    settings = {"band": [0.0, "auto", "auto", 0.3][int(random.integers(4))], "missing": bool(random.random() < 0.7)}
    scorer: secateur.Model | None = None
    more: dict[int, list[float]] = {}
    chosen: dict[str, Any] = dict(settings)
    if random.random() < 0.5:
        domain, scorer, more = _drawn_domain(original, random)
        chosen = {"band": settings["band"], "domain": domain}
    try:
        result = secateur.prune(
            original, threads=1, time_limit=SECONDS, certificate=True, effort="minimum", moves="leaves", **chosen
        )
    except (ValueError, secateur.SecateurError) as error:
        if "domain" in chosen and "domain" in str(error):
            # The domain does not fit the model, or no input is in it, and that is told.
            return
        raise
    if result.certificate is None:
        return
    true = read(result.certificate)
    scorers = {} if scorer is None else {bytes.fromhex(scorer.digest): scorer}
    again = _verdict(original, result.model, write(true), scorers)
    assert again == "valid", "a certificate that is written again is the same"
    models = [original, result.model, *scorers.values()]
    rows, whole = every_cell(models, MOST_CELLS, random, drawn.infinities, more)
    if not whole:
        return
    pairs = [(result.model, Pair(drawn, [drawn.data, bytes(result.model.to_bytes())], rows), true)]
    for other, own in _differing(original, random):
        pair = Pair(drawn, [drawn.data, bytes(other.to_bytes())], rows)
        pairs.append((other, pair, true.with_claim(pruned=own)))
    forged.pairs += len(pairs)
    certain = float(secateur.inspect(original).to_dict()["band"]["score"] or 0.0)
    for other, pair, start in pairs:
        for _ in range(PER_PAIR // len(pairs)):
            names, changed = _change(start, certain, random)
            data = write(changed, count=random.random() < 0.97)
            verdict = _verdict(original, other, data, scorers)
            differs = pair.outside(0, certain, missing=False).size > 0
            forged.count += 1
            forged.differing += differs
            for name in names:
                forged.by_kind.setdefault(name, Counter())[verdict] += 1
            if verdict == "valid":
                wrong = _wrong(original, other, pair, changed, data, certain, result.trees_after, true, scorers)
                if wrong:
                    forged.wrong.append(f"{family} {seed}: {', '.join(names)}: {wrong}")
                else:
                    forged.harmless += 1


def _change(start: Certificate, certain: float, random: np.random.Generator) -> tuple[list[str], Certificate]:
    """One to three changes."""
    names, changed = [], start
    for _ in range(int(random.choice([1, 1, 2, 3]))):
        if random.random() < 0.15:
            name, changed = _claims(changed, certain, random)
        else:
            name = str(random.choice(list(CHANGES)))
            steps = CHANGES[name](list(changed.steps), random)
            if steps is None:
                continue
            changed = Certificate(changed.claim, steps)
        names.append(name)
    return names or ["nothing"], changed


def _differing(original: secateur.Model, random: np.random.Generator) -> Iterator[tuple[secateur.Model, bytes]]:
    """Copies that are not the original, with their digests."""
    for _ in range(2):
        weights = random.uniform(-1.0, 2.0, original.tree_count)
        try:
            other = original.edit([(tree, float(weight)) for tree, weight in enumerate(weights)])
        except secateur.EditingError:
            continue
        yield other, bytes.fromhex(other.digest)


def _verdict(
    original: secateur.Model, pruned: secateur.Model, data: bytes, scorers: dict[bytes, secateur.Model]
) -> str:
    given = [("third", model) for model in scorers.values()]
    return str(check(original, pruned, content=data, scorers=given)["verdict"])


def _wrong(
    original: secateur.Model,
    other: secateur.Model,
    pair: Pair,
    changed: Certificate,
    data: bytes,
    certain: float,
    trees: int,
    true: Certificate,
    scorers: dict[bytes, secateur.Model],
) -> str | None:
    """Why an accepted certificate claims too much, if it does."""
    claim = changed.claim
    # Exact arithmetic says nothing of what a library rounds.
    band = certain if claim.band is None else claim.band
    if claim.band is not None and not claim.band >= certain:
        return f"a band of {claim.band}, below the rounding {certain}"
    outside = pair.outside(0, band, missing=claim.domain is not None or claim.scope == 0)
    if claim.domain is not None and outside.size:
        outside = outside[holds(claim.domain, pair.rows[outside], scorers)]
    if outside.size:
        row = pair.rows[outside[0]]
        lead = leads(original, row.reshape(1, -1))[0]
        return f"accepted, and {outside.size} rows differ: {row.tolist()}, lead {lead} above {band}"
    same_columns = [step for step in changed.steps if step[0] == "Columns"] == [
        step for step in true.steps if step[0] == "Columns"
    ]
    if same_columns:
        given = [("third", model) for model in scorers.values()]
        bounds = check(original, other, content=data, scorers=given)["claim"].get("columns")
        if bounds and bounds["bound"] > trees:
            return f"a bound of {bounds['bound']} columns, and {trees} trees do"
    return None
