"""`python -m bench oracle`: secateur's oracle beside the paper's MILP on HiGHS, in one run and on one thread.

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
from itertools import chain
from pathlib import Path

import highspy
import numpy as np

import secateur
from instances import BANDS, PROOFS, WALL, Instance, PlainModel, path_of, plain, train, training_rows
from milp import separate
from prune import prune

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "bench" / "certificates"))

from merged import merge_in_pairs  # noqa: E402


def main() -> None:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [f"secateur {secateur.__version__}, {_machine()}", ""]
    print(lines[0] + "\n", flush=True)
    table = chain(_wall_table(options), [""], _band_table(options)) if options.wall else _proof_table(options)
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
    parser.add_argument("--wall", action="store_true", help="the other tables: small boxes joined or split to the end")
    parser.add_argument("--wall-limit", type=float, default=150.0, help="seconds for each search")
    parser.add_argument("--splits-limit", type=float, default=60.0, help="seconds for each search without joins")
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
    yield "Boxes alone, the sign of the score; `splits` splits small boxes to the end, `joins` closes them at once."
    yield ""
    yield "| model | cells | splits: nodes | CPU s | joins: nodes | CPU s | nodes | time | share proved | 2 threads, s | speed-up |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    shares = []
    for instance in WALL:
        if options.only not in instance.name:
            continue
        path, _, _ = _model(instance, options)
        splits = _measure(options, "wall", path, "1", options.splits_limit, "splits")
        one, two = (_measure(options, "wall", path, threads, options.wall_limit) for threads in ("1", "2"))
        for run in (splits, one, two):
            run["over"] = "" if run["answer"] == "proof" else ">"
        nodes, time = one["nodes"] / splits["nodes"], one["cpu"] / splits["cpu"]
        both = not one["over"] and not splits["over"]
        if both:
            shares.append((nodes, time))
        speed_up = two["nodes"] / two["seconds"] / (one["nodes"] / one["seconds"])
        yield (
            f"| {instance.name} | 10^{one['log10_cells']:.1f} | {splits['over']}{splits['nodes'] / 1e3:.0f} k "
            f"| {splits['over']}{splits['cpu']:.1f} | {one['over']}{one['nodes'] / 1e3:.0f} k | {one['over']}{one['cpu']:.2f} "
            f"| {f'1/{1 / nodes:.0f}' if both else '-'} | {f'1/{1 / time:.1f}' if both else '-'} "
            f"| {_percent(one['share'])} | {two['over']}{two['seconds']:.2f} | {speed_up:.2f} |"
        )
    if shares:
        nodes, time = (statistics.median(column) for column in zip(*shares))
        yield ""
        yield f"Medians over the {len(shares)} models that both settle: nodes 1/{1 / nodes:.0f}, time 1/{1 / time:.1f}."


def _band_table(options: argparse.Namespace):
    yield "Models against another form of themselves, above a band, with all layers; one thread."
    yield ""
    yield "| model | the other | band | cells | splits: nodes | CPU s | joins: nodes | CPU s | nodes | time |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for instance, band in BANDS:
        if options.only not in instance.name:
            continue
        path, other, word = _pair(instance, band, options)
        splits = _repeated(options, "compare", path, other, band, options.splits_limit, "splits")
        joins = _repeated(options, "compare", path, other, band, options.wall_limit)
        for run in (splits, joins):
            if run["verdict"] not in ("identical", "unknown"):
                raise SystemExit(f"{instance.name}: the answer is {run['verdict']}")
            run["over"] = "" if run["verdict"] == "identical" else ">"
        yield (
            f"| {instance.name} | {word} | {band:g} | 10^{joins['log10_cells']:.1f} | {splits['over']}{splits['nodes']} "
            f"| {splits['over']}{splits['cpu']:.3g} | {joins['over']}{joins['nodes']} | {joins['over']}{joins['cpu']:.3g} "
            f"| {joins['nodes'] / max(splits['nodes'], 1):.3g} | {joins['cpu'] / splits['cpu']:.2f} |"
        )


def _pair(instance: Instance, band: float, options: argparse.Namespace) -> tuple[Path, Path, str]:
    """A model and its pruned self; where nothing goes or the band is wide, the same function as other trees."""
    path = path_of(instance, options.work)
    if not path.exists():
        train(instance, *training_rows(instance, options.datasets), path)
    other = path.with_name(f"band-{band:g}-{path.name}")
    if not other.exists():
        ways = [{"moves": "weights", "effort": "fast"}, {}] if band < 0.3 else []
        tried = (secateur.prune(path, band=band, time_limit=60, **way) for way in ways)
        smaller = next((one for one in tried if one.trees_after < one.trees_before), None)
        if smaller is not None:
            other.write_bytes(smaller.model.to_bytes())
        else:
            merge_in_pairs(path, other)
    trees = len(json.loads(other.read_text())["learner"]["gradient_booster"]["model"]["trees"])
    return path, other, f"{trees} trees"


def _repeated(options: argparse.Namespace, *arguments: object) -> dict:
    """The fastest of three runs; of one where a run is long."""
    runs = [_measure(options, *arguments)]
    while len(runs) < 3 and runs[0]["cpu"] < 2:
        runs.append(_measure(options, *arguments))
    return min(runs, key=lambda run: run["cpu"])


def _percent(share: float) -> str:
    return "100 %" if share == 1 else f"{100 * share:.3g} %"


def _measure(options: argparse.Namespace, *arguments: object) -> dict:
    """What the Rust side measured, and the processor time of its process."""
    command = [str(options.measure), *map(str, arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu} | json.loads(answer.stdout)


if __name__ == "__main__":
    sys.exit(main())
