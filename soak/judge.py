"""One random model, pruned with random options, and everything that is said of it held against its library.

What must hold, for every cell of the inputs (`cells.py`):
- the library decides the pruned file as it decides the original, wherever the original's winner leads by more than the band;
- the checker accepts the certificate;
- `verify` of the two, either way round, and of the original and a changed copy of it, is never contradicted: what it calls identical
  differs on no cell outside the band, and where it names an input, the library decides that input differently.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cells import every_cell
from families import Drawn, draw

import secateur

# Rows that are looked at of one pair of models.
MOST_ROWS = 40_000
# Seconds for one run of `prune` or `verify`: what is not proved by then is not proved, which is no mistake.
SECONDS = 4.0


@dataclass
class Tally:
    """What was seen of one family."""

    models: int = 0
    refused: int = 0
    every_cell: int = 0
    """Models of which every cell was looked at."""
    decided: int = 0
    """Rows decided by the library, both models counted."""
    in_band: int = 0
    """Rows inside the band that are decided otherwise now."""
    trees: list[int] = field(default_factory=lambda: [0, 0])
    verified: dict[str, int] = field(default_factory=lambda: {"identical": 0, "different": 0, "undecided": 0})
    certificates: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        for name in ("models", "refused", "every_cell", "decided", "in_band", "certificates", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.trees = [a + b for a, b in zip(self.trees, other.trees)]
        for name, count in other.verified.items():
            self.verified[name] += count
        for name, count in other.reasons.items():
            self.reasons[name] = self.reasons.get(name, 0) + count
        self.wrong += other.wrong


def leads(model: secateur.Model, rows: np.ndarray) -> np.ndarray:
    """How far the winner of each row is ahead, in the scores of its library."""
    scores = np.asarray(model.raw_scores(rows), dtype=np.float64)
    facts = json.loads(model.describe(None, None)[0])
    decision = facts["decision"]
    average = facts["scores"]["average"]
    if average is not None and not average["in_raw_scores"]:
        scores = scores / average["divisor"]
    if decision["rule"] == "threshold":
        return np.abs(scores[:, decision["score"]] - decision["threshold"])
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


class Pair:
    """Two files of one library, and every cell decided by it."""

    def __init__(self, drawn: Drawn, files: list[bytes], rows: np.ndarray) -> None:
        self.models = [secateur.Model.parse(data) for data in files]
        self.rows = rows
        self.classes = [drawn.decide(data, rows) for data in files]
        self.differ = self.classes[0] != self.classes[1]

    def outside(self, first: int, band: float, missing: bool, exact: bool = False) -> np.ndarray:
        """Rows that are decided differently although one model's winner leads by more than the band; where the claim is about
        exact sums, the other's by more than its own rounding too."""
        different = np.flatnonzero(self.differ)
        if not missing:
            different = different[~np.isnan(self.rows[different]).any(axis=1)]
        if different.size == 0:
            return different
        # Scores that are shown rounded may be off by their last bits.
        least = band * (1.0 + 1e-6) + 1e-12
        different = different[leads(self.models[first], self.rows[different]) > least]
        if exact and different.size:
            other = self.models[1 - first]
            certain = json.loads(other.describe(None, None)[0])["band"]["score"] or 0.0
            different = different[leads(other, self.rows[different]) > certain * (1.0 + 1e-6)]
        return different


def options(random: np.random.Generator) -> dict[str, Any]:
    return {
        "effort": str(random.choice(["fast", "thorough", "thorough", "minimum"])),
        "objective": str(random.choice(["trees", "trees", "leaves", "bytes"])),
        "moves": str(random.choice(["leaves", "leaves", "weights"])),
        "band": [0.0, "auto", "auto", float(random.uniform(0.01, 0.5))][int(random.integers(4))],
        "missing": bool(random.random() < 0.75),
        "seed": int(random.integers(1 << 20)),
    }


def judge(family: str, seed: int) -> Tally:
    """Draws the model of this number and judges everything that is said of it."""
    tally = Tally()
    started = time.monotonic()
    drawn = draw(family, seed)
    random = np.random.default_rng([seed, 7])
    chosen = options(random)
    try:
        _judge(drawn, chosen, random, tally)
    except (secateur.ModelError, secateur.ComparisonError, secateur.EditingError) as error:
        tally.refused += 1
        reason = f"{family}: {error}"[:160]
        tally.reasons[reason] = 1
    except Exception as error:  # noqa: BLE001: whatever else is raised is a mistake of ours, with its place
        tally.wrong.append(f"{type(error).__name__}: {error}")
    tally.models = 1
    tally.seconds = time.monotonic() - started
    tally.wrong = [f"{family} {seed}: {wrong} ({drawn.words}; {chosen})" for wrong in tally.wrong]
    return tally


def _judge(drawn: Drawn, chosen: dict[str, Any], random: np.random.Generator, tally: Tally) -> None:
    original = secateur.Model.parse(drawn.data)
    # Some runs begin at rows of the table.
    rows = drawn.rows if random.random() < 0.5 else None
    if rows is not None and not original.domain["missing"]:
        rows = rows[~np.isnan(rows).any(axis=1)]
    certain = json.loads(original.describe(None, None)[0])["band"]["score"]
    if isinstance(chosen["band"], float) and chosen["band"] > 0.0 and certain is not None:
        chosen["band"] = max(chosen["band"], certain * 1.01)
    result = secateur.prune(original, rows, threads=1, time_limit=SECONDS, certificate=True, **chosen)
    pruned = result.model
    tally.trees = [result.trees_before, result.trees_after]
    if result.certificate is not None:
        claim = secateur.check(original, pruned, result.certificate)
        tally.certificates += 1
        if claim["band"]["score"] != result.band or claim["scope"] != result.scope:
            tally.wrong.append(f"the certificate is about {claim}, the result about {result.claim}")
    # Exact arithmetic says nothing of what a library rounds.
    band = max(result.band, certain or 0.0) if chosen["band"] == 0.0 else result.band
    cells, whole = every_cell([original, pruned], MOST_ROWS, random, drawn.infinities)
    tally.every_cell += whole
    pair = Pair(drawn, [drawn.data, bytes(pruned.to_bytes())], cells)
    tally.decided += 2 * len(cells)
    tally.in_band += int(pair.differ.sum())
    exact = chosen["band"] == 0.0
    outside = pair.outside(0, band, chosen["missing"], exact)
    tally.in_band -= outside.size
    if outside.size:
        tally.wrong.append(f"{outside.size} of {len(cells)} rows changed, the first {cells[outside[0]].tolist()}")
    _verified(pair, 0, chosen, result.band, exact, tally, must_be="identical")
    _verified(pair, 1, {**chosen, "band": 0.0 if exact else "auto"}, None, exact, tally)
    # A copy with something changed: half of the trees, or all of them with other weights.
    changed = _changed(original, random)
    if changed is not None:
        pair = Pair(drawn, [drawn.data, bytes(changed.to_bytes())], cells)
        tally.decided += len(cells)
        _verified(pair, 0, {**chosen, "band": 0.0 if exact else "auto"}, None, exact, tally)


def _changed(model: secateur.Model, random: np.random.Generator) -> secateur.Model | None:
    count = model.tree_count
    try:
        if random.random() < 0.5 and count > 1:
            left_out = int(random.integers(count))
            return model.edit([(tree, None) for tree in range(count) if tree != left_out])
        return model.edit([(tree, float(random.uniform(0.5, 1.5))) for tree in range(count)])
    except secateur.EditingError:
        return None


def _verified(
    pair: Pair,
    first: int,
    chosen: dict[str, Any],
    band: float | None,
    exact: bool,
    tally: Tally,
    must_be: str | None = None,
) -> None:
    """What `verify` says of the pair, held against every row."""
    ours, theirs = pair.models[first], pair.models[1 - first]
    asked = chosen["band"] if band is None else band
    try:
        answer = secateur.verify(
            ours, theirs, band=asked, missing=chosen["missing"], threads=1, time_limit=SECONDS, seed=chosen["seed"]
        )
    except secateur.ComparisonError:
        # A band below the rounding of the model that comes first this time.
        return
    tally.verified[answer.outcome] += 1
    if must_be == "identical" and answer.different:
        tally.wrong.append("prune calls it proved, and verify different")
    certain = json.loads(ours.describe(None, None)[0])["band"]["score"] or 0.0
    outside = pair.outside(first, max(answer.band, certain) if exact else answer.band, chosen["missing"], exact)
    if answer.identical and outside.size:
        row = pair.rows[outside[0]].tolist()
        tally.wrong.append(f"verify ({first}) says identical, {outside.size} rows differ, the first {row}")
    if answer.different and not exact:
        row = np.asarray(answer.counterexample).reshape(1, -1)
        ours_class, theirs_class = ours.class_indices(row)[0], theirs.class_indices(row)[0]
        if ours_class == theirs_class or not leads(ours, row)[0] > answer.band * (1.0 - 1e-6) - 1e-12:
            tally.wrong.append(f"verify ({first}) names {row.tolist()}, which is decided alike")
