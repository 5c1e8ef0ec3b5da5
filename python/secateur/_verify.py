"""Do two models decide alike on every input?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._model import load
from secateur._secateur import compare


@dataclass(frozen=True)
class Verification:
    """What is known of two models. Exactly one of `identical`, `different` and `undecided` is true.

    `identical` is a proof: on every input that both libraries accept and where the first model's winner
    leads by more than `band`, the second model decides the same. `counterexample` is an input row on which
    they differ. `undecided` says that neither was found, and `reason` why.
    """

    outcome: str
    band: float
    counterexample: np.ndarray | None
    classes: tuple[Any, Any] | None
    scores: tuple[list[float], list[float]] | None
    reason: str | None
    nodes: int
    seconds: float

    @property
    def identical(self) -> bool:
        return self.outcome == "identical"

    @property
    def different(self) -> bool:
        return self.outcome == "different"

    @property
    def undecided(self) -> bool:
        return self.outcome == "undecided"

    def __bool__(self) -> bool:
        raise TypeError("a verification has three outcomes: ask for .identical, .different or .undecided")


def verify(
    a: Any,
    b: Any,
    *,
    band: str | float = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Verification:
    """Proves that two models decide alike on every input, or finds one on which they differ.

    `a` and `b` are whatever `secateur.load` reads, of any two formats. `band` is "auto" (the smallest one for
    which the first model's own decision is no artefact of its rounding), 0 (exact arithmetic, ties included) or
    a larger score.
    """
    first, second = load(a), load(b)
    if isinstance(band, str) and band != "auto":
        raise ValueError(f"band must be 'auto' or a number, not {band!r}")
    score = None if band == "auto" else float(band)
    answer = compare(
        first, second, band=score, time_limit=time_limit, threads=threads or os.cpu_count() or 1, seed=seed
    )
    classes = answer.get("classes")
    if classes is not None:
        classes = (first.classes[classes[0]], second.classes[classes[1]])
    scores = answer.get("scores")
    different = answer["outcome"] == "different"
    return Verification(
        outcome=answer["outcome"],
        band=answer["band"],
        counterexample=answer["row"] if different else None,
        classes=classes,
        scores=None if scores is None else tuple(scores),
        reason=answer.get("reason"),
        nodes=answer["nodes"],
        seconds=answer["seconds"],
    )
