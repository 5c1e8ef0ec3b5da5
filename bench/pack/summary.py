"""What `python -m bench pack` says of its numbers: a model's part of the page, and the goals beside what all models gave."""

from __future__ import annotations

from typing import Any

import numpy as np

LIBRARY, OURS, BEST, SECOND, STANDALONE = "the library", "packed, ", "packed, AVX-512", "packed, AVX2", "YDF standalone"


def gain(result: dict[str, Any], ours: str, at: int) -> tuple[float, str] | None:
    """How many times as fast as the best other predictor one of ours is, and which that is."""
    # Older pages have no batches of 100 rows.
    time = lambda found: found[at] if at < len(found) else None
    others = {name: time(found) for name, found in result["times"].items() if not name.startswith(OURS) and time(found) is not None}
    found = time(result["times"].get(ours, []))
    if not others or found is None:
        return None
    best = min(others, key=others.__getitem__)
    return others[best] / found, best


WAYS = ("batch", "one row from Python", "one row from C", "100 rows")


def ratios(result: dict[str, Any]) -> str:
    """The best other predictor beside ours."""
    words = []
    for at, what in enumerate(WAYS):
        shown = {name: gain(result, name, at) for name in (BEST, SECOND)}
        shown = {name: found for name, found in shown.items() if found}
        if shown:
            best = next(iter(shown.values()))[1]
            words.append(f"{what}: {' and '.join(f'{name.removeprefix(OURS)} {times:.1f}' for name, (times, _) in shown.items())} times ({best})")
    return "Faster than the best other, " + "; ".join(words) + "."


def section(result: dict[str, Any]) -> list[str]:
    """A model's part of the page."""
    more = result["extras"]
    out = [f"## {result['title']}", "", "| predictor | bytes | batch, ns a row | 100 rows, ns a row | one row, us | from C, ns | bits | classes |", "|---|---|---|---|---|---|---|---|"]
    out += ["| " + " | ".join(line) + " |" for line in result["lines"]]
    out += ["", ratios(result), ""]
    out += [
        f"Packed: loads and predicts one row in {more['load']:.2f} ms; two threads are {more['threads']:.2f} times as fast as one (wall time); "
        f"{more['grown']} KB more memory while predicting 100,000 rows.", "",
    ]
    told = f"Load of the machine: {result['loads'][0]:.1f} at the start, {result['loads'][1]:.1f} at the end; {result['seconds'] / 60:.1f} minutes."
    return [*out, " ".join([*result["notes"], told]), ""]


def slower_than(results: list[dict[str, Any]], at: int) -> list[tuple[str, float, str]]:
    """The models for which another predictor is faster than our fastest path: how large a part of our time it takes, and which it is."""
    found = [(result["title"], gain(result, BEST, at) or gain(result, SECOND, at)) for result in results]
    return [(title, *times) for title, times in found if times and times[0] < 1]


def spread(found: list[float], digits: int = 1) -> str:
    median, least, greatest = (f"{take(found):.{digits}f}" if found else "-" for take in (np.median, min, max))
    return f"{median} ({least} to {greatest}; {len(found)})" if found else "-"


GOALS = {WAYS[0]: (8, 5), WAYS[1]: (8, 8), WAYS[2]: (3, 3), WAYS[3]: (6, 6)}
SMALLER = [("than XGBoost's UBJ", "xgboost", 10), ("than LightGBM's text", "lightgbm", 8), ("than scikit-learn's pickle", "forest", None), ("than CatBoost's cbm", "catboost", None)]


def against_goals(results: list[dict[str, Any]]) -> list[str]:
    """The goals beside what was found, all of it computed from the models' numbers."""
    out = ["**Against the goals**: the median over models, and from the least to the greatest; how many models.", ""]
    out += ["| times as fast as the best other predictor | goal | AVX-512 | AVX2 |", "|---|---|---|---|"]
    below = []
    for at, what in enumerate(WAYS):
        cells = []
        for name, goal in zip((BEST, SECOND), GOALS[what], strict=True):
            found = {result["title"]: gain(result, name, at) for result in results}
            found = {title: times for title, times in found.items() if times}
            numbers = [times for times, _ in found.values()]
            # As it is shown: 2.96 is 3.0.
            met = numbers and round(float(np.median(numbers)), 1) >= goal
            slower = sum(times < 1 for times in numbers)
            cells.append(spread(numbers) + (": met" if met else ": **missed**" if numbers else "") + (f", **{slower} slower**" if slower else ""))
            few = [f"{title} {times:.1f} ({best})" for title, (times, best) in found.items() if times < goal]
            if few:
                below.append(f"Below the goal of {goal}, {what}, {name.removeprefix(OURS)}: {'; '.join(few)}.")
        goals = GOALS[what]
        out.append(f"| {what} | {goals[0] if goals[0] == goals[1] else f'{goals[0]} and {goals[1]}'} | " + " | ".join(cells) + " |")
    # No predictor is the fastest for every model: where another one is, a reader should find it.
    shown = [(title, what, times, best) for at, what in enumerate(WAYS) for title, times, best in slower_than(results, at)]
    told = "; ".join(f"{title}, {what}: {best} takes {times:.2f} of our time" for title, what, times, best in shown)
    out += ["", f"**Another predictor is faster** than our fastest path: {told or 'nowhere'}."]
    out += ["", *[line + "\n" for line in below]]
    out += ["| times smaller | goal | found |", "|---|---|---|"]
    verdict = lambda found, goal: "" if not found or goal is None else ": met" if min(found) >= goal else ": **missed**"
    packed_size = lambda result: next(size for name, (size, _) in result["sizes"].items() if name.startswith(OURS))
    with_packed = [result for result in results if any(name.startswith(OURS) for name in result["sizes"])]
    for what, kind, goal in SMALLER:
        found = [result["sizes"][LIBRARY][0] / packed_size(result) for result in with_packed if result["kind"] == kind]
        out.append(f"| {what} | {goal or '-'} | {spread(found)}{verdict(found, goal)} |")
    for kind, words, goal in (("xgboost", "XGBoost", 1.8), ("lightgbm", "LightGBM, whose doubles YDF stores as floats", 1.8), ("forest", "forests, whose shares YDF stores as floats", None)):
        found = [result["sizes"][STANDALONE][1] / packed_size(result) for result in with_packed if result["kind"] == kind and STANDALONE in result["sizes"]]
        out.append(f"| than the tables of YDF's standalone code, {words} | {goal or '-'} | {spread(found)}{verdict(found, goal)} |")
    shares = [(result["title"], name, *found) for result in results for name, found in result["bits"].items()]
    wrong = [f"{title}, {name}" for title, name, bits, classes in shares if name.startswith(OURS) and (bits != "100.0%" or classes != "100.00%")]
    checked = sum(name.startswith(OURS) for _, name, _, _ in shares)
    out += ["", f"Bits: the library's on all rows, with all {checked} paths and models." if not wrong else f"Bits: **not the library's** with {'; '.join(wrong)}."]
    flips: dict[str, list[float]] = {}
    for _, name, _, classes in shares:
        if not name.startswith(OURS) and classes not in ("", "100.00%"):
            flips.setdefault(name, []).append(100 - float(classes.removesuffix("%")))
    if flips:
        told = "; ".join(f"{name} on up to {max(found):.2f} % of them ({len(found)} of the models)" for name, found in flips.items())
        out += [f"Other classes than the library's on these rows: {told}."]
    loads = [(result["extras"]["load"], result["title"]) for result in results if "1000 trees" in result["title"]]
    if loads:
        out += ["Loading 1,000 trees and predicting a row (goal: less than 5 ms): " + "; ".join(f"{load:.1f} ms ({title})" for load, title in loads) + "."]
    out += [f"Two threads beside one (wall time; goal 1.9): {spread([result['extras']['threads'] for result in results], 2)}."]
    return [*out, ""]
