"""The edge family of certificates about the scores of two models and about one model: their claims hold in every cell, and no forged
one is accepted for more than what holds.

The models are small enough for every cell; what a score or a class is there is the library's own arithmetic (`raw_scores`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from cells import every_cell
from certificate import Certificate, Step, read, write
from changes import CHANGES
from families import FAMILIES, Drawn, draw
from seen import Seen

import secateur
from secateur._secateur import check

MOST_CELLS = 4_000
PER_CERTIFICATE = 12


def others(seed: int) -> Seen:
    """One model, what is proved of it and of a copy, and forged copies of these proofs."""
    seen = Seen(cases=1)
    family = list(FAMILIES)[seed % len(FAMILIES)]
    drawn = draw(family, seed // len(FAMILIES))
    for original, other, certificate, random in proofs(drawn, seed):
        models = [original, other] if other is not original else [original]
        rows, whole = every_cell(models, MOST_CELLS, random, drawn.infinities)
        if not whole:
            continue
        for forged in [certificate, *(change(certificate, random) for _ in range(PER_CERTIFICATE))]:
            verdict = check(original, other, content=write(forged, count=random.random() < 0.97))["verdict"]
            seen.rows += 1
            seen.refused += verdict != "valid"
            if forged is certificate and verdict != "valid":
                seen.wrong.append(f"{family} {seed}: a certificate that is written again is {verdict}")
            if verdict == "valid" and (why := broken(forged, original, other, rows, drawn, family == "LightGBM rf")):
                seen.wrong.append(f"{family} {seed}: {forged.claim.said} was accepted: {why}")
    return seen


def proofs(drawn: Drawn, seed: int) -> Iterator[tuple[secateur.Model, secateur.Model, Certificate, np.random.Generator]]:
    """Certificates of every kind of claim about scores and one model, as far as they are found in little time."""
    random = np.random.default_rng([seed, 17])
    try:
        original = secateur.Model.parse(drawn.data)
    except secateur.SecateurError:
        return
    if original.leaf_count > 120:
        return
    columns = len(original.feature_names)
    moved = sorted(random.choice(columns, min(columns, int(random.integers(1, 3))), replace=False).tolist())
    ask = secateur.ask(original, threads=1, time_limit=5.0, missing=bool(random.random() < 0.7))
    asked = [
        lambda: ask.range(),
        lambda: ask.moves(moved),
        lambda: ask.keeps(moved),
        *(lambda up=up, at=at: ask.monotone(at, up, of=0) for up in ("up", "down") for at in range(min(columns, 2))),
        *(lambda never=never: ask.decides(never=never) for never in (original.classes or [])[:3]),
    ]
    for question in asked:
        try:
            answer = question()
        except (ValueError, secateur.SecateurError):
            continue
        if answer.certificate is not None:
            yield original, original, read(answer.certificate), random
    yield from scored(drawn, seed)


def scored(drawn: Drawn, seed: int) -> Iterator[tuple[secateur.Model, secateur.Model, Certificate, np.random.Generator]]:
    """A certificate about the scores of the model and of a copy with other weights."""
    random = np.random.default_rng([seed, 19])
    try:
        original = secateur.Model.parse(drawn.data)
        weights = random.uniform(0.8, 1.2, original.tree_count)
        other = original.edit([(tree, float(weight)) for tree, weight in enumerate(weights)])
        near = float(random.choice([0.3, 1.0, 10.0]))
        result = secateur.verify(original, other, scores=True, within=near, time_limit=5.0, certificate=True)
    except (ValueError, secateur.SecateurError):
        return
    if result.certificate is not None:
        yield original, other, read(result.certificate), random


def change(start: Certificate, random: np.random.Generator) -> Certificate:
    """One to three changes of the claim or of the steps."""
    changed = start
    for _ in range(int(random.choice([1, 1, 2, 3]))):
        if random.random() < 0.25:
            changed = replace(changed, claim=replace(changed.claim, said=_claimed(changed.claim.about, changed.claim.said, random)))
            continue
        name = str(random.choice([*CHANGES, "another system of these claims", "another system of these claims"]))
        make = CHANGES.get(name, _other_system)
        steps = make(list(changed.steps), random)
        if steps is not None:
            changed = Certificate(changed.claim, steps)
    return changed


def _other_system(steps: list[Step], random: np.random.Generator) -> list[Step] | None:
    places = [at for at, step in enumerate(steps) if step[0] in ("ScoreSystem", "ClassSystem", "Shown")]
    if not places:
        return None
    at = int(random.choice(places))
    name, number, *rest = steps[at]
    number = max(0, number + int(random.choice([-1, 0, 1])))
    if name == "ScoreSystem":
        rest = [rest[0] ^ int(random.integers(2))]
    elif name == "Shown":
        values = list(rest[0])
        values[int(random.integers(len(values)))] = float(random.choice([0.0, -1e300, np.nan, np.inf, 0.5]))
        rest = [tuple(values if random.random() < 0.8 else values[:-1])]
    steps[at] = (name, number, *rest)
    return steps


def _number(value: float | None, random: np.random.Generator) -> float | None:
    """A number near this one, or far from it."""
    value = 0.0 if value is None else value
    others = [value / 2, value * 0.999, value - 1e-6, np.nextafter(value, -np.inf), np.nextafter(value, np.inf), -value, np.nan, 0.0]
    return float(random.choice(others))


def _claimed(about: int, said: tuple, random: np.random.Generator) -> tuple:
    """The claim with one of its fields changed."""
    match about:
        case 1:
            return (_number(said[0], random),)
        case 3:
            outputs = [list(own) for own in said]
            own = outputs[int(random.integers(len(outputs)))]
            at = int(random.integers(3))
            own[at] = max(0, own[0] + int(random.choice([-1, 1]))) if at == 0 else random.choice([None, _number(own[at], random)])
            return tuple(map(tuple, outputs))
        case 4:
            allowed, cut = said
            if random.random() < 0.5:
                return tuple(own for own in allowed if random.random() < 0.7), cut
            return (*allowed, max(allowed, default=-1) + 1), cut
    columns, kind, *rest = said
    if random.random() < 0.4:
        columns = tuple(sorted({*columns, int(random.integers(4))} if random.random() < 0.5 else columns[1:]))
    elif kind == 0:
        rest[0] = _number(rest[0], random)
    elif kind == 1:
        rest = [None if random.random() < 0.3 else _number(rest[0], random), rest[1] ^ int(random.integers(2))]
    else:
        at = int(random.integers(3))
        rest[at] = rest[at] + 1 if at == 0 else 1 - rest[at]
    return columns, kind, *rest


def broken(
    certificate: Certificate,
    original: secateur.Model,
    other: secateur.Model,
    rows: np.ndarray,
    drawn: Drawn,
    averaged: bool,
) -> str | None:
    """How an accepted claim does not hold in some cell, if so."""
    about, said = certificate.claim.about, certificate.claim.said
    domain = certificate.claim.domain
    assert domain is not None and not domain.columns and not domain.groups
    if not domain.missing:
        rows = rows[~np.isnan(rows).any(axis=1)]
    scores, theirs = (np.asarray(model.raw_scores(rows), dtype=np.float64).reshape(len(rows), -1) for model in (original, other))
    if averaged:
        # The claim is about averages, and raw scores are sums. The quotient may be rounded in another direction.
        scores, theirs = (own * own.shape[1] / original.tree_count for own in (scores, theirs))
    slack = 1e-12 * float(np.abs(scores).max(initial=1.0)) if averaged else 0.0

    def worst(reached: float, allowed: float) -> str | None:
        return f"{reached!r} is above {allowed!r}" if reached > allowed + slack else None

    if about == 1:
        return worst(np.abs(scores - theirs).max(initial=0.0), said[0])
    if about == 3:
        wrong = [worst(-scores[:, output].min(), -low) for output, low, _ in said if low is not None]
        wrong += [worst(scores[:, output].max(), high) for output, _, high in said if high is not None]
        return next((why for why in wrong if why), None)
    if about == 4:
        decided = set(np.asarray(drawn.decide(drawn.data, rows)).tolist())
        return f"the classes {decided} are decided" if decided - set(said[0]) else None
    columns, kind, *rest = said
    # Rows that differ in the moved columns alone follow each other.
    shared = [at for at in range(rows.shape[1]) if at not in columns]
    order = np.lexsort([*(rows[:, at] for at in reversed(columns)), *(rows[:, at] for at in shared)])
    groups = len(np.unique(rows[:, shared], axis=0)) if not np.isnan(rows).any() else None
    if groups is None or len(rows) % groups:
        return None
    by_group = scores[order].reshape(groups, -1, scores.shape[1])
    if kind == 0:
        return worst((by_group.max(axis=1) - by_group.min(axis=1)).max(), rest[0])
    if kind == 2:
        steps = np.diff(by_group[:, :, rest[0]], axis=1) * (-1 if rest[1] else 1)
        # As exact sums the scores are in order; the library's can fall by its rounding.
        return worst(-steps.min(initial=0.0), 0.0 if rest[2] else 1e-4 * (1.0 + float(np.abs(scores).max())))
    return None
