"""Bounds on rounding in every bit that docs/spec/models.md, section 6, gives them.

`live.rounding` bounds the same in exact fractions, and a bound that a dump states is compared with that from below. Where a dump
states none (claims about one model), its rows hold the very bits of a bound, and these are computed here.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .live import Live, NotJudged, power, rounded

LARGEST = {"f32": float.fromhex("0x1.fffffep127"), "f64": float.fromhex("0x1.fffffffffffffp1023")}


def up(value: float) -> float:
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    return math.nextafter(value, -math.inf)


def plus(a: float, b: float) -> float:
    """The sum, rounded up where it may not be exact."""
    return b if a == 0.0 else a if b == 0.0 else up(a + b)


def _at_least(value: Fraction) -> float:
    """The least f64 that is not below a number."""
    nearest = float(value)
    return up(nearest) if Fraction(nearest) < value else nearest


class _Term:
    """What one tree, or the intercept, adds to a sum."""

    def __init__(self, values: list[Fraction], product_error: float) -> None:
        self.low, self.high = float(min(values)), float(max(values))
        self.grain = min((power(value) for value in values if value), default=math.inf)
        self.product_error = product_error

    @property
    def magnitude(self) -> float:
        return max(abs(self.low), abs(self.high))


class _Sum:
    """The numbers that all bounds of one sum use, with the letters of the page."""

    def __init__(self, live: Live, group: int) -> None:
        self.live = live
        self.u, self.h = math.ldexp(1.0, -live.bits), math.ldexp(1.0, -149 if live.number == "f32" else -1074)
        self.trees = []
        self.P = 0.0
        for tree in live.trees:
            if group not in tree.sums:
                continue
            weight = Fraction(1) if live.scale is not None else tree.weight
            products = [weight * Fraction(value) for value in tree.stored[group]]
            values = [rounded(product, live.number) for product in products]
            error = max(_at_least(abs(product - value)) for product, value in zip(products, values))
            self.trees.append(_Term(values, error))
            self.P = plus(self.P, error)
        self.intercept = _Term([live.intercepts[group]], 0.0)

    def below_largest(self, value: float) -> float:
        if not value < LARGEST[self.live.number]:
            raise NotJudged("a sum that may leave the range of its type")
        return value

    def step(self, largest: float, half: bool) -> float:
        """The most that rounding a number of this magnitude can change."""
        if not half:
            return up(self.u * largest)
        if largest < math.ldexp(1.0, -1022):
            return self.h
        exponent = math.frexp(largest)[1] - 1
        return max(math.ldexp(1.0, exponent - self.live.bits), math.ldexp(1.0, -1022))

    def fits(self, largest: float, grain: float) -> bool:
        exponent = grain + self.live.bits
        return exponent > 1023 or exponent >= -1022 and largest <= math.ldexp(1.0, int(exponent))

    def in_order(self, terms: list[_Term], half: bool) -> tuple[float, float]:
        """E and L of section 6.2."""
        low = high = E = 0.0
        grain = math.inf
        for term in terms:
            low, high = down(low + term.low), up(high + term.high)
            grain = min(grain, term.grain)
            M = self.below_largest(plus(max(abs(low), abs(high)), E))
            if not self.fits(M, grain):
                E = plus(E, self.step(M, half))
        return E, max(abs(low), abs(high))

    def in_any_order(self, half: bool) -> tuple[float, float]:
        """E and L of section 6.3, or with its change for claims about scores."""
        terms = [*self.trees, self.intercept]
        grain = min(term.grain for term in terms)
        E = L = 0.0
        if not half:
            for term in terms:
                L = plus(L, term.magnitude)
            a = up(len(self.trees) * self.u)
            E = 0.0 if self.fits(L, grain) else up(up(a / down(1.0 - a)) * L)
            self.below_largest(plus(L, E))
            return E, L
        largest = sorted((max(term.high, 0.0) for term in terms), reverse=True)
        least = sorted((max(-term.low, 0.0) for term in terms), reverse=True)
        a = b = 0.0
        for at, (one, other) in enumerate(zip(largest, least)):
            a, b = plus(a, one), plus(b, other)
            if at > 0:
                E = plus(E, self.step(self.below_largest(plus(max(a, b), E)), half))
        L = max(a, b)
        return 0.0 if self.fits(L, grain) else E, L

    def bound(self, half: bool) -> float:
        """The rounding of the score, section 6.5."""
        live = self.live
        if live.free_order:
            E, L = self.in_any_order(half)
        elif live.scale is not None:
            E, L = self.in_order(self.trees, half)
            scale = float(abs(live.scale))
            A = up(scale * plus(L, E))
            B = plus(up(self.u * A), self.h)
            E, L = plus(up(scale * E), B), plus(up(scale * L), self.intercept.magnitude)
            E = plus(E, up(self.u * plus(L, E)))
            self.below_largest(plus(A, B))
            self.below_largest(plus(L, E))
        else:
            own = [self.intercept]
            E, L = self.in_order([*self.trees, *own] if live.intercept_last else [*own, *self.trees], half)
        R = plus(self.P, E)
        if not live.averaged:
            return R
        divisor = float(live.divisor)
        Q = up(plus(L, R) / divisor)
        return plus(up(R / divisor), plus(up(Q * self.u), self.h))


def rounding(live: Live, group: int) -> float:
    """How far a score of the library can be from the exact one."""
    return _Sum(live, group).bound(half=False)


def score_rounding(live: Live, group: int) -> float:
    """The same for claims about scores."""
    own = _Sum(live, group)
    return min(own.bound(half=False), own.bound(half=True))


def margin(live: Live) -> float:
    """A lead, in scores, above which the library's decision is certain: section 6.7."""
    if live.threshold is not None:
        return plus(rounding(live, live.threshold[0]), live.gap)
    return plus(up(2.0 * max(rounding(live, group) for group in range(live.groups))), live.gap)
