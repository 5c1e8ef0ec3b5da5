"""What a family of the edges saw: the part of `soak/run.py` that is not about pruning random models.

An edge family is a function that takes a seed, draws a random case from it and returns a `Seen`; the same seed is always the same
case. `EDGES` in `run.py` names all of them. A case should take about a second, so that none starves the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Seen:
    """What was seen of one family, or in one case of it."""

    cases: int = 0
    rows: int = 0
    """Rows (or other answers) that were compared with what they must be."""
    refused: int = 0
    """Questions that were refused with an error of ours, where the library gives no answer either or a refusal is allowed."""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    """What must not be, a line for each; it says enough to do it again by hand."""

    def add(self, other: "Seen") -> None:
        for name in ("cases", "rows", "refused", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrong += other.wrong
