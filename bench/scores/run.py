"""`python -m bench scores`: what can be said of scores beside conversions.

1. `prune --within` on COMPAS and FICO, classifiers and regressors, and on deep regressors of numeric columns: sizes, proofs, times.
2. Leaves rounded to 16 and to 8 bits, with a grid for each tree, as original and rounded model: the greatest distance, from both sides.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import os
import platform
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np
from tables import CHECKOUT, LEARNERS, QUANTISED, fitted, training_rows

import secateur

EPSILONS = [0.01, 0.05, 0.1]
DEEP = [
    ("Pima-Diabetes", "XGBoost"),
    ("Pima-Diabetes", "LightGBM"),
    ("House-16H", "XGBoost"),
    ("ELEC2", "LightGBM"),
    ("HTRU2", "GradientBoosting"),
    ("PoL", "RandomForest"),
]


class Table:
    """Lines of the page, printed as they come."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += lines
        print("\n".join(lines), flush=True)


def pruned_row(model, rows: np.ndarray, name: str, within: float, limit: float | None) -> tuple[str, float, bool]:
    wall, started = time.monotonic(), time.process_time()
    result = secateur.prune(model, rows, within=within, time_limit=limit, threads=1)
    wall, spent = time.monotonic() - wall, time.process_time() - started
    facts = result.to_dict()
    ended = "no" if facts["cut_short"] or result.outcome == "budget_reached" else "yes"
    seen = result.score_shift["largest"] if result.score_shift else 0.0
    proof = "checked" if result.checked else "NOT CHECKED"
    line = (
        f"| {name} | {within} | {result.trees_before} → {result.trees_after} | {result.leaves_before} → {result.leaves_after} "
        f"| {proof} | {seen:.3g} | {ended} | {spent:.1f} | {wall:.1f} |"
    )
    return line, wall, result.checked


def grid(values: np.ndarray, bits: int) -> np.ndarray:
    """The values of a tree's leaves, rounded to 2^bits levels between the least and the greatest."""
    low, high = values.min(), values.max()
    step = (high - low) / (2**bits - 1)
    return values if step == 0 else low + np.round((values - low) / step) * step


def rounded(learner: str, model, bits: int):
    """The same model with rounded leaves."""
    if learner == "XGBoost":
        document = json.loads(model.get_booster().save_raw("json"))
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            leaves = [node for node, child in enumerate(tree["left_children"]) if child == -1]
            values = np.array([tree["split_conditions"][node] for node in leaves])
            for node, value in zip(leaves, grid(values, bits).astype(np.float32)):
                tree["split_conditions"][node] = tree["base_weights"][node] = float(value)
        return secateur.Model.parse(json.dumps(document).encode())
    if learner == "LightGBM":
        lines = []
        for line in model.booster_.model_to_string().splitlines():
            if line.startswith("leaf_value="):
                values = grid(np.array([float(value) for value in line[11:].split()]), bits)
                line = "leaf_value=" + " ".join(f"{value:.17g}" for value in values)
            if not line.startswith("tree_sizes="):
                lines.append(line)
        return secateur.Model.parse(("\n".join(lines) + "\n").encode())
    copied = copy.deepcopy(model)
    for member in np.asarray(copied.estimators_, dtype=object).ravel():
        tree = member.tree_
        leaves = tree.children_left == -1
        tree.value[leaves, 0, 0] = grid(tree.value[leaves, 0, 0], bits)
    return secateur.load(copied)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--parts", nargs="+", default=["prune", "deep", "quantised"])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--save", action="store_true", help="write bench/results/DATE-scores.md")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    table = Table()
    table.add(
        "# Scores: pruning within a distance, and rounded leaves",
        "",
        f"`python -m bench scores`: secateur {secateur.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, one used; load "
        f"{os.getloadavg()[0]:.1f}. Seconds are processor time.",
    )
    head = "| model | within | trees | leaves | proof | largest change on the rows | ended by itself | seconds | wall |"
    rule = "|---|---:|---:|---:|---|---:|---|---:|---:|"
    if "prune" in options.parts:
        table.add(
            "",
            "## `prune --within` on binary columns",
            "",
            f"{options.trees} trees of depth 3; classifiers of the class (EPS in log-odds; in probability for forests), regressors of the sum of the second "
            "half of the columns from the first half and the class. At most 60 s for each.",
            "",
            head,
            rule,
        )
        for name in ("COMPAS-ProPublica", "FICO"):
            for kind in ("classifier", "regressor"):
                rows, target = training_rows(name, options.datasets, kind)
                for learner in LEARNERS:
                    model = fitted(learner, kind, options.trees, 3, rows, target)
                    for within in EPSILONS:
                        line, _, _ = pruned_row(model, rows, f"{name} {learner} {kind}", within, 60.0)
                        table.add(line)
    if "deep" in options.parts:
        table.add(
            "",
            "## `prune --within` on deep regressors of numeric columns",
            "",
            f"{options.trees} trees of depth 6, within the given share of the standard deviation of the target, and a limit of 30 s for all of it: search, "
            "proof and check.",
            "",
            head.replace("within", "within (share)", 1),
            rule,
        )
        for name, learner in DEEP:
            rows, target = training_rows(name, options.datasets, "regressor")
            model = fitted(learner, "regressor", options.trees, 6, rows, target / target.std())
            for within in EPSILONS:
                line, _, _ = pruned_row(model, rows, f"{name} {learner} regressor", within, 30.0)
                table.add(line)
    if "quantised" in options.parts:
        table.add(
            "",
            "## Rounded leaves",
            "",
            f"{options.trees} trees of depth 6, leaves rounded to a grid of 2^bits levels between the least and the greatest leaf of each tree. At most 60 s. "
            "U is proved, L is shown; the last ratio leaves out what the bound allows for the rounding of the two libraries' sums, which is not the grid's doing.",
            "",
            "| model | bits | leaves | U | L | rounding in U | U/L | U/L without rounding | ended | boxes | seconds |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|",
        )
        for name, learner, kind in QUANTISED:
            rows, target = training_rows(name, options.datasets, kind)
            model = fitted(learner, kind, options.trees, 6, rows, target)
            first = secateur.load(model)
            for bits in (16, 8):
                second = rounded(learner, model, bits)
                started = time.process_time()
                found = secateur.verify(first, second, rows, scores=True, time_limit=60.0, threads=1)
                spent = time.process_time() - started
                table.add(
                    f"| {name} {learner} {kind} | {bits} | {first.leaf_count} | {found.at_most:.4g} | {found.at_least:.4g} | {found.rounding:.2g} "
                    f"| {found.at_most / found.at_least:.3f} | {(found.at_most - found.rounding) / found.at_least:.3f} "
                    f"| {'yes' if found.ended else 'no'} | {found.nodes} | {spent:.1f} |"
                )
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-scores.md"
        path.write_text("\n".join(table.lines) + "\n")


if __name__ == "__main__":
    main()
