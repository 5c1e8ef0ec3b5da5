"""`make bench-oracle`: secateur's oracle beside the paper's MILP on HiGHS, in one run and on one thread.

Every instance is the last question of a pruning loop: an original model, its pruned version, and no input on which
they differ. Models and weights are cached in `--work`, measurements are not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import highspy
import numpy as np

import secateur
from instances import PROOFS, WALL, Instance, PlainModel, path_of, plain, train, training_rows
from milp import separate
from prune import prune

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> None:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [f"secateur {secateur.__version__}, {_machine()}", ""]
    print(lines[0] + "\n", flush=True)
    table = _wall_table(options) if options.wall else _proof_table(options)
    for line in table:
        print(line, flush=True)
        lines.append(line)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "target" / "bench-oracle")
    parser.add_argument("--measure", type=Path, default=CHECKOUT / "target" / "release" / "examples" / "measure")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each form of the MILP")
    parser.add_argument("--prune-limit", type=float, default=60.0, help="processor seconds for each pruning loop")
    parser.add_argument("--both-forms", action="store_true", help="try the max form also where the other hit the limit")
    parser.add_argument("--only", default="", help="instances whose name holds this text")
    parser.add_argument("--wall", action="store_true", help="the second table: search over boxes alone")
    parser.add_argument("--wall-limit", type=float, default=150.0, help="seconds for each search")
    parser.add_argument("--out", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    return options


def _machine() -> str:
    model = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    load = os.getloadavg()[0]
    solver = highspy.Highs().version()
    return f"{os.cpu_count()} cores ({model}), load {load:.1f}, HiGHS {solver}, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _model(instance: Instance, options: argparse.Namespace) -> tuple[Path, PlainModel, np.ndarray]:
    """The file of a trained model, its trees, and the training rows."""
    path = path_of(instance, options.work)
    rows, classes = training_rows(instance, options.datasets)
    if not path.exists():
        train(instance, rows, classes, path)
    trees = plain(instance, path)
    _agree(path, trees, rows)
    return path, trees, rows


def _agree(path: Path, trees: PlainModel, rows: np.ndarray) -> None:
    """Both sides must see the same model: the trees read here and the file as secateur reads it."""
    scores = trees.columns(rows) @ trees.weights + trees.intercept
    classes = secateur.load(path).class_indices(rows)
    clear = np.abs(scores - trees.level) > 1e-5
    if not np.array_equal(scores[clear] > trees.level, classes[clear] == 1):
        raise SystemExit(f"{path}: the trees of the MILP are not those of the file")


def _pruned(instance: Instance, options: argparse.Namespace) -> tuple[Path, Path, PlainModel, dict]:
    path, trees, rows = _model(instance, options)
    pruned = path.with_name("pruned-" + path.name)
    facts = path.with_name("pruned-" + instance.slug + ".weights.json")
    if not (pruned.exists() and facts.exists()):
        model = secateur.load(path)
        result, kind = prune(instance, model, trees, rows, True, options.prune_limit), "1"
        if result is None:
            result, kind = prune(instance, model, trees, rows, False, options.prune_limit), "|f|"
        if result is None:
            raise SystemExit(f"{instance.name}: neither pruning loop ended")
        pruned.write_bytes(result.model.to_bytes())
        known = {"rows": kind, "calls": result.calls, "intercept": result.intercept, "weights": result.weights.tolist()}
        facts.write_text(json.dumps(known))
    return path, pruned, trees, json.loads(facts.read_text())


def _proof_table(options: argparse.Namespace):
    yield "| instance | kept | rows | cells | ours, s | nodes | boxes alone, s | nodes | MILP, s | form, nodes | ratio |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    ratios = []
    for instance in PROOFS:
        if options.only not in instance.name:
            continue
        path, pruned, trees, facts = _pruned(instance, options)
        weights = np.array(facts["weights"])
        measured = _measure(options, "proof", path, pruned)
        ours, boxes = measured["all"], measured["boxes"]
        if ours["verdict"] != "identical":
            raise SystemExit(f"{instance.name}: our own answer is {ours['verdict']}")
        milp = _milp(trees, weights, facts["intercept"], options)
        ratio = milp["seconds"] / ours["seconds"]
        over = ">" if milp["outcome"] == "limit" else ""
        note = "" if milp["outcome"] != "violated" else " (wrongly finds a violation)"
        ratios.append((ratio, over, instance.name))
        kept = f"{np.count_nonzero(weights)}/{len(weights)}"
        boxes_time = f"{boxes['seconds']:.3g}" if boxes["verdict"] == "identical" else f">{boxes['seconds']:.0f}"
        cells = f"10^{measured['log10_cells']:.1f}"
        yield (
            f"| {instance.name} | {kept} | {facts['rows']} | {cells} | {ours['seconds']:.3g} | {ours['nodes']} | {boxes_time} "
            f"| {boxes['nodes']} | {over}{milp['seconds']:.3g}{note} | {milp['form']}, {milp['nodes']} | {over}{ratio:.0f} |"
        )
    if ratios:
        median = statistics.median(ratio for ratio, _, _ in ratios)
        worst = min(ratios)
        yield ""
        yield f"Median ratio {median:.0f} (a limit counts as the time it allows), worst {worst[1]}{worst[0]:.0f} ({worst[2]})."


def _milp(trees: PlainModel, weights: np.ndarray, intercept: float, options: argparse.Namespace) -> dict:
    """The better of the two forms. The second one gets no more time than the first one needed."""
    first = separate(trees, weights, intercept, "feasibility", options.limit)
    best, form = first, "feasibility"
    if first.outcome != "limit" or options.both_forms:
        second = separate(trees, weights, intercept, "max", min(first.seconds, options.limit))
        if second.outcome == "proved":
            best, form = second, "max"
    return {"outcome": best.outcome, "seconds": best.seconds, "nodes": best.nodes, "form": form}


def _wall_table(options: argparse.Namespace):
    yield "| model | cells | prototype's nodes | nodes, 1 thread | ratio | s (CPU s) | nodes, 2 threads | s (CPU s) | speed-up |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for instance, prototype in WALL:
        if options.only not in instance.name:
            continue
        path, _, _ = _model(instance, options)
        one, two = (_measure(options, "wall", path, str(threads), str(options.wall_limit)) for threads in (1, 2))
        times = [f"{run['seconds']:.1f} ({run['cpu']:.1f})" for run in (one, two)]
        speed_up = f"{one['seconds'] / two['seconds']:.2f}"
        if one["answer"] != "proof" or two["answer"] != "proof":
            times = [t if m["answer"] == "proof" else ">" + t for t, m in zip(times, (one, two))]
            speed_up = f"{two['nodes'] / two['seconds'] / (one['nodes'] / one['seconds']):.2f} (nodes/s)"
        ratio = f"{one['nodes'] / prototype:.2f}" if one["answer"] == "proof" else "-"
        yield (
            f"| {instance.name} | 10^{one['log10_cells']:.1f} | {prototype / 1e6:.1f} M | {one['nodes'] / 1e6:.2f} M | {ratio} "
            f"| {times[0]} | {two['nodes'] / 1e6:.2f} M | {times[1]} | {speed_up} |"
        )


def _measure(options: argparse.Namespace, *arguments: object) -> dict:
    """What the Rust side measured, and the processor time of its process."""
    command = [str(options.measure), *map(str, arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(answer.stdout) | {"cpu": cpu}


if __name__ == "__main__":
    sys.exit(main())
