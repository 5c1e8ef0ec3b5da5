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
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from cells import every_cell, values_of
from certificate import Certificate, Domain, read, write
from changes import CHANGES
from families import FAMILIES, draw
from judge import SECONDS, Pair, leads

import secateur
from secateur._secateur import check

# Cells of a pair; what has more is left out, for the judgement rests on all of them.
MOST_CELLS = 20_000
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
    # No limits for categories, also where no split looks at them.
    known = original.text_categories()
    numbers = [at for at in range(len(original.feature_names)) if at not in known and not (at in kinds and kinds[at][0])]
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
