"""A result in words and as a small picture, for terminals and notebooks."""

from __future__ import annotations

import html as _html
import math
from typing import TYPE_CHECKING

# What a result is proved for, by its scope.
_INPUTS = {
    "all": "",
    "no_missing": " for inputs without missing values",
    "domain": " for every input of its domain",
    "f32_domain": " for every input of f32 numbers of its domain",
}

if TYPE_CHECKING:
    from secateur._prune import Pruning

_OUTCOMES = {
    "proved": "proved to decide the same",
    "already_minimal": "already minimal, proved: no tree can go",
    "budget_reached": "time was over: the best that was proved by then",
}
# The picture: bars of the trees, in pixels.
_WIDTH = 480
_HEIGHT = 44
_MOST_BARS = 240
_KEPT, _MERGED, _GONE = "#2a7f62", "#d08c1d", "#d9d9d9"


def summary(result: Pruning) -> str:
    """The result in a line."""
    words = f"{result.trees_before:,} -> {result.trees_after:,} trees"
    if result.leaves_before != result.leaves_after:
        words += f", {result.leaves_before:,} -> {result.leaves_after:,} leaves"
    words += f"; {_outcome(result)}"
    words += _INPUTS[result.scope]
    if result.outcome != "already_minimal" and not (result.unchanged and result.minimal):
        if result.minimal:
            words += ", and no smaller number of trees can"
        elif result.lower_bound:
            words += f"; at least {result.lower_bound:,} trees are needed"
    claimed = f"scores within {result.within:.3g}" if result.band is None else f"band {result.band:.3g}"
    helps = "" if result.pack is None else f"; pack(model): {result.pack['bytes']:,} bytes"
    return f"{words}; {claimed}, {result.seconds:.2f} s{helps}"


def _outcome(result: Pruning) -> str:
    if result.unchanged:
        needed = result.minimal and result.band is not None
        return "unchanged: every tree is needed (proved)" if needed else "unchanged: nothing smaller was found"
    if result.exact and result.outcome == "proved":
        return "proved: the exact sums decide the same"
    if result.within is not None and result.outcome == "proved":
        return "proved to keep every score"
    return _OUTCOMES[result.outcome]


def html(result: Pruning) -> str:
    """The result for a notebook."""
    rows = [
        ("trees", f"{result.trees_before:,} &rarr; <b>{result.trees_after:,}</b>"),
        ("leaves", f"{result.leaves_before:,} &rarr; {result.leaves_after:,}"),
    ]
    if result.bytes_before is not None:
        rows.append(("bytes", f"{result.bytes_before:,} &rarr; {result.bytes_after:,}"))
    if result.lower_bound is not None:
        needed = "as many are needed" if result.minimal else "not known to be the least"
        rows.append(("at least", f"{result.lower_bound:,} trees ({needed})"))
    rows += [
        ("claim", _html.escape(result.claim)),
        ("checked", "by the independent checker" if result.checked else "no: the search's word alone"),
        ("time", f"{result.seconds:.2f} s"),
    ]
    if result.data is not None:
        rows.append(("rows", _html.escape(result.data["words"])))
    if result.pack is not None:
        rows.append(("pack", f"<code>secateur.pack(model)</code>: {_html.escape(_packed(result))}"))
    if isinstance(result.certificate, str):
        rows.append(("certificate", f"<code>{_html.escape(result.certificate)}</code>"))
    table = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{text}</td></tr>'
        for name, text in rows
    )
    inputs = f",{_INPUTS[result.scope]}" if _INPUTS[result.scope] else ""
    title = _html.escape(_outcome(result) + inputs)
    return f'<div class="secateur"><p><b>Pruning</b>: {title}</p>{svg(result)}<table>{table}</table></div>'


def _packed(result: Pruning) -> str:
    """What packing gives where pruning removed little."""
    assert result.pack is not None
    words = f"{result.pack['bytes']:,} bytes"
    if result.bytes_before:
        words += f" ({result.bytes_before / result.pack['bytes']:.1f} times smaller)"
    if result.pack["row_seconds"] is not None:
        words += f", a row in {result.pack['row_seconds'] * 1e6:.1f} µs alone (measured here)"
    return f"{words}, with every bit of the scores"


def svg(result: Pruning) -> str:
    """A bar for each tree, before and after: as high as its weight, amber where it lives in another tree now, and
    grey where it is gone."""
    height = 2 * _HEIGHT + 40
    middle = _HEIGHT + 32
    count = len(result.weights)
    fates = dict.fromkeys(result.fates)
    colors = [name for name, words in (("amber: merged", "merged"), ("grey: gone", "dropped")) if words in fates]
    legend = f"after: {result.trees_after} trees; as high as their weights" + "".join(f", {name}" for name in colors)
    after = [
        (abs(float(weight)), _MERGED if fate == "merged" else _KEPT if weight else _GONE)
        for weight, fate in zip(result.weights, result.fates)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{result.trees_before} trees before, {result.trees_after} after">',
        _text(12, f"before: {result.trees_before} trees"),
        *_bars([(1.0, _KEPT)] * count, 16),
        _text(middle, legend),
        *_bars(after, middle + 4),
        "</svg>",
    ]
    return "".join(parts)


def _text(y: int, words: str) -> str:
    return f'<text x="0" y="{y}" fill="#555">{_html.escape(words)}</text>'


def _bars(trees: list[tuple[float, str]], top: int) -> list[str]:
    # Of many trees some share a bar: the largest weight speaks for them.
    shared = max(1, math.ceil(len(trees) / _MOST_BARS))
    groups = [trees[start : start + shared] for start in range(0, len(trees), shared)]
    step = _WIDTH / max(1, len(groups))
    highest = max((weight for weight, _ in trees), default=0.0) or 1.0
    bars = []
    for place, group in enumerate(groups):
        weight, color = max(group)
        share = weight / highest if weight else 0.2
        high = max(3.0, (_HEIGHT - 4) * share)
        bars.append(
            f'<rect x="{place * step:.2f}" y="{top + _HEIGHT - 4 - high:.2f}" width="{max(step * 0.8, 0.5):.2f}" '
            f'height="{high:.2f}" fill="{color}"/>'
        )
    return bars
