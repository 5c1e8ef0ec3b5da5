"""Records into CSV, a Markdown page and plots.

Means are over seeds. A table says in each row how many of its runs hit the limit or failed: those count with the best that was
proved by then, and are never left out.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any, Iterable

import plots

Record = dict[str, Any]

COLUMNS = [
    "key", "learner", "depth", "trees", "dataset", "seed", "paper", "variant", "limit", "status", "outcome", "trees_before",
    "trees_after", "leaves_before", "leaves_after", "bytes_before", "bytes_after", "lower_bound", "minimal", "irreducible",
    "oracle_calls", "points", "seconds", "pruner_seconds", "oracle_seconds", "fidelity", "accuracy", "accuracy_after", "band", "certificate",
    "certificate_bytes", "check_seconds", "training_seconds", "rows", "classes", "error",
]
BASELINES = {"ic": "IC", "imd": "IMD", "drep": "DREP"}
VARIANTS = {"l1": "l1 (fast, weights)", "l0": "l0 (minimum, weights)", "default": "default (thorough, leaves)"}


def write_csv(records: list[Record], path: Path) -> None:
    extra = [f"{name}_{what}" for name in BASELINES for what in ("fidelity", "accuracy")]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *extra], extrasaction="ignore", restval="")
        writer.writeheader()
        for record in sorted(records, key=lambda one: one["key"]):
            row = dict(record)
            for name in BASELINES:
                for what in ("fidelity", "accuracy"):
                    row[f"{name}_{what}"] = record.get("baselines", {}).get(name, {}).get(what, "")
            if "error" in row:
                row["error"] = " ".join(str(row["error"]).split())
            writer.writerow(row)


def page(records: list[Record], folder: Path, about: list[str]) -> str:
    """The Markdown page; plots go into the folder."""
    lines = ["# Experiments", "", *about, "", LEGEND, ""]
    lines += datasets(records)
    lines += ada_l0_l1(records) + ada_l1(records, folder) + baselines(records) + weights(records, folder)
    lines += overview(records) + appendix(records) + troubles(records)
    return "\n".join(lines) + "\n"


LEGEND = """\
**trees**: mean size of the pruned ensemble (for several classes and boosting, trees of all classes). **bound**: mean proved
lower bound. **minimal**: runs whose size is proved the smallest for the moves. **calls**: mean oracle calls, rounded up.
**Fi**: test rows on which the library decides the same with the pruned file. **Acc**: test accuracy. **s**: mean seconds,
reading, proving and writing included, one thread; of these **pruner** in its linear programs and **oracle** in its questions (the
rest folds, bounds, certifies). **cert**: runs whose certificate `secateur-check` accepted. **open**: runs that hit
their limit or failed; they count with the best that was proved by then. `l1` and `l0` are the paper's two pruners
(weights on the model's own trees); `default` may also merge trees and move the intercept, and eliminates tree by tree."""


def groups(records: Iterable[Record], *keys: str) -> dict[tuple, list[Record]]:
    found: dict[tuple, list[Record]] = defaultdict(list)
    for record in records:
        found[tuple(record[key] for key in keys)].append(record)
    return dict(sorted(found.items()))


def chosen(records: list[Record], **wanted: Any) -> list[Record]:
    """Records with these values; one for each model and variant (a baselines run repeats its l1 run)."""
    fits = [record for record in records if all(record[key] == value for key, value in wanted.items())]
    return list({(record["key"].removesuffix("-baselines")): record for record in fits}.values())


def mean(records: list[Record], key: str) -> float | None:
    values = [record[key] for record in records if record.get(key) is not None]
    return fmean(values) if values else None


def number(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text[:-2] if digits == 1 and text.endswith(".0") else text


def percent(value: float | None) -> str:
    return "–" if value is None else ("100 %" if value == 1.0 else f"{math.floor(value * 1e4) / 100:.2f} %")


def share(records: list[Record], test) -> str:
    return f"{sum(1 for record in records if test(record))}/{len(records)}"


def cells(records: list[Record]) -> list[str]:
    """One cell for each of `NAMES`."""
    if not records:
        return ["–"] * len(NAMES)
    calls = mean(records, "oracle_calls")
    return [
        number(mean(records, "trees_after")),
        number(mean(records, "lower_bound")),
        share(records, lambda one: one.get("minimal")),
        "–" if calls is None else str(math.ceil(calls)),
        percent(mean(records, "fidelity")),
        number(mean(records, "seconds"), 2),
        number(mean(records, "pruner_seconds"), 2),
        number(mean(records, "oracle_seconds"), 2),
        share(records, lambda one: one.get("certificate") == "valid"),
        share(records, lambda one: one["status"] != "done"),
    ]


NAMES = ["trees", "bound", "minimal", "calls", "Fi", "s", "pruner", "oracle", "cert", "open"]


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    if not rows:
        return ["Not run yet.", ""]
    words = ("dataset", "variant", "method", "learner", "models")
    sides = ["---" if name in words else "---:" for name in header]
    return ["| " + " | ".join(line) + " |" for line in [header, sides, *rows]] + [""]


def datasets(records: list[Record]) -> list[str]:
    """The paper's table of datasets, smallest first."""
    lines = ["## Datasets", "",
             "**n**: rows. **p**: feature columns, of which numeric, discrete and binary. **C**: classes.", ""]
    known = {record["dataset"]: record for record in records if record.get("columns")}
    rows = []
    for name, record in sorted(known.items(), key=lambda item: (item[1]["rows"], item[0])):
        columns = record["columns"]
        kinds = [str(columns.get(letter, 0)) for letter in "FDB"]
        rows.append([name, str(record["rows"]), str(sum(columns.values())), *kinds, str(record["classes"])])
    return lines + table(["dataset", "n", "p", "numeric", "discrete", "binary", "C"], rows)


def ada_l0_l1(records: list[Record]) -> list[str]:
    lines = ["## AdaBoost, M = 50: l0 against l1", ""]
    rows = []
    fitting = chosen(records, learner="AdaBoost", depth=1, trees=50)
    for (dataset,), group in groups(fitting, "dataset").items():
        for variant in VARIANTS:
            own = [record for record in group if record["variant"] == variant]
            if own:
                rows.append([dataset, variant, *cells(own), percent(mean(own, "accuracy_after"))])
    return lines + table(["dataset", "variant", *NAMES, "Acc"], rows)


def ada_l1(records: list[Record], folder: Path) -> list[str]:
    lines = ["## AdaBoost, M = 100, 200, 500, 1000", ""]
    rows = []
    fitting = [one for one in chosen(records, learner="AdaBoost", depth=1) if one["trees"] >= 100]
    for (dataset, trees), group in groups(fitting, "dataset", "trees").items():
        for variant in ("l1", "default"):
            own = [record for record in group if record["variant"] == variant]
            if own:
                rows.append([dataset, str(trees), variant, *cells(own), percent(mean(own, "accuracy_after"))])
    lines += table(["dataset", "M", "variant", *NAMES, "Acc"], rows)
    curves = {}
    for (dataset,), group in groups(chosen(records, learner="AdaBoost", depth=1, variant="l1"), "dataset").items():
        points = [(trees, mean(own, "trees_after")) for (trees,), own in groups(group, "trees").items()]
        points = [(float(trees), value) for trees, value in points if value]
        if len(points) > 1:
            curves[dataset] = points
    if curves:
        sizes = [x for points in curves.values() for x, _ in points]
        top = max(y for points in curves.values() for _, y in points)
        ticks = sorted(set(sizes))
        axis = plots.Axis(min(sizes), max(sizes), ticks, log=True)
        plot = plots.Plot("AdaBoost: size after pruning (l1)", axis, plots.linear(top * 1.25), "M, trees before",
                          "trees after", f"{len(curves)} datasets, mean over seeds")
        for index, (dataset, points) in enumerate(curves.items()):
            plot.line(dataset, points, index)
        (folder / "sizes.svg").write_text(plot.svg())
        lines += ["![Trees after pruning against trees before, by dataset](sizes.svg)", ""]
    return lines


def baselines(records: list[Record]) -> list[str]:
    lines = ["## Baselines at the size that l1 found (AdaBoost)", "",
             "Means over all datasets and seeds. The baselines choose by the training rows.", ""]
    rows = []
    for (trees,), group in groups([one for one in records if one.get("baselines")], "trees").items():
        size = number(mean(group, "trees_after"))
        rows.append([str(trees), size, "secateur", percent(mean(group, "fidelity")), percent(mean(group, "accuracy_after")),
                     str(len(group))])
        for key, name in BASELINES.items():
            own = [record["baselines"][key] for record in group if "fidelity" in record["baselines"].get(key, {})]
            rows.append([str(trees), size, name, percent(mean(own, "fidelity")), percent(mean(own, "accuracy")), str(len(own))])
    return lines + table(["M", "trees", "method", "Fi", "Acc", "runs"], rows)


def weights(records: list[Record], folder: Path) -> list[str]:
    found = [one for one in records if one.get("weights") and one["variant"] == "l1"]
    lines = ["## Weights before and after (AdaBoost, FICO, M = 200)", ""]
    if not found:
        return lines + ["Not run yet.", ""]
    # FICO where it was run, and the largest ensemble.
    record = max(found, key=lambda one: (one["dataset"] == "FICO", one["trees"], one["key"]))
    for side, name in enumerate(("before", "after")):
        values = [(float(index), pair[side]) for index, pair in enumerate(record["weights"])]
        kept = sum(1 for _, value in values if value)
        last = len(values) - 1
        axis = plots.Axis(0.0, max(last, 1), [tick for tick in range(0, last + 1, max(1, (last + 1) // 4))])
        plot = plots.Plot(f"{record['dataset']}, M = {record['trees']}, {name}: {kept} trees", axis,
                          plots.linear(max(value for _, value in values)), "tree", "weight",
                          f"the weight of each of {len(values)} trees {name} pruning; {kept} are not zero")
        plot.stems(values, side)
        (folder / f"weights-{name}.svg").write_text(plot.svg())
        lines += [f"![Weights of the trees {name} pruning](weights-{name}.svg)", ""]
    return lines


def overview(records: list[Record]) -> list[str]:
    lines = ["## Relative size and accuracy, all learners", "",
             "Mean of trees after / trees before over all datasets and seeds, by M; then test accuracy.", ""]
    sizes = [50, 100, 200]
    rows = []
    for variant in ("l1", "default"):
        for (learner, depth), group in groups(chosen(records, variant=variant), "learner", "depth").items():
            by_size = {size: [one for one in group if one["trees"] == size and one.get("trees_after")] for size in sizes}
            if not any(by_size.values()):
                continue
            relative = [fmean(one["trees_after"] / one["trees_before"] for one in own) if own else None
                        for own in by_size.values()]
            accuracy = [mean(own, "accuracy_after") for own in by_size.values()]
            rows.append([learner, str(depth), variant, *map(percent, relative), *map(percent, accuracy)])
    header = ["learner", "depth", "variant", *(f"size, M={size}" for size in sizes), *(f"Acc, M={size}" for size in sizes)]
    return lines + table(header, rows)


def appendix(records: list[Record]) -> list[str]:
    lines = ["## Appendix: other learners", ""]
    others = [one for one in chosen(records) if one["learner"] != "AdaBoost"]
    for (learner, depth), group in groups(others, "learner", "depth").items():
        rows = []
        for (dataset, trees), own in groups(group, "dataset", "trees").items():
            for variant in VARIANTS:
                these = [record for record in own if record["variant"] == variant]
                if these:
                    rows.append([dataset, str(trees), variant, *cells(these), percent(mean(these, "accuracy_after"))])
        lines += [f"### {learner}, depth {depth}", ""] + table(["dataset", "M", "variant", *NAMES, "Acc"], rows)
    return lines if others else [*lines, "Not run yet.", ""]


def troubles(records: list[Record]) -> list[str]:
    """What did not go well, in full."""
    lines = ["## What did not end well", ""]
    rows = []
    for (learner, depth, trees, variant), group in groups(records, "learner", "depth", "trees", "variant").items():
        limit = [one for one in group if one["status"] == "limit"]
        failed = [one for one in group if one["status"] in ("failed", "killed")]
        unfaithful = [one for one in group if one.get("fidelity") not in (None, 1.0)]
        refused = [one for one in group if one.get("certificate") not in (None, "valid", "not asked for")]
        if limit or failed or unfaithful or refused:
            rows.append([f"{learner} depth {depth} M {trees} {variant}", str(len(group)), str(len(limit)), str(len(failed)),
                         str(len(unfaithful)), str(len(refused))])
    lines += table(["models", "runs", "limit", "failed", "test rows differ", "certificate not accepted"], rows) if rows else [
        "Nothing: every run ended within its limit, every certificate was accepted, every test row is decided as before.", ""]
    for record in records:
        if record["status"] in ("failed", "killed"):
            lines.append(f"- `{record['key']}`: {' '.join(str(record.get('error', '')).split())[-200:]}")
    return lines
