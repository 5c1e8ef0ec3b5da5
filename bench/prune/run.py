"""`python -m bench prune`: sizes, proofs and times of `secateur prune`, and the libraries' word on every pruned file.

Models are trained once and cached in `--work`; measurements are not. Every case is a row of the table, also one that
did not finish.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import secateur
from cases import Case, all_cases, every_input, isolation, split, train
from library import adversarial, classes, outside_band

CHECKOUT = Path(__file__).resolve().parents[2]
GROUPS = ("stumps", "discrete", "deep", "paper", "catboost", "domains", "plausible")
# One of each kind of case, all of them quick.
QUICK = {
    ("stumps", "adaboost-d1-m50-pima-s0"),
    ("stumps", "xgboost-d1-m100-htru2-s0"),
    ("stumps", "adaboost-d1-m50-seeds-s0"),
    ("discrete", "xgboost-d2-m50-compas-s0"),
    ("discrete", "randomforest-d3-m50-compas-s0"),
    ("deep", "xgboost-d3-m50-pima-s0"),
    ("paper", "adaboost-d1-m50-fico-s0"),
    ("paper", "lightgbm-d1-m50-breast-s0"),
    ("catboost", "catboost-d1-m50-fico-s0"),
    ("domains", "xgboost-d2-m50-compas-s0"),
    ("plausible", "xgboost-d1-m50-compas-s0"),
}


# A goal that is out of reach.
PROVED = ", proved: no smaller one does"


@dataclass
class Cost:
    """What the certificate of one run costs. `search` and `written` are the run's last proof once more, without and
    with its record, in one thread; `check` is that of the certificate that the run wrote, with its bounds."""

    bytes: int
    steps: int
    search: float
    written: float
    check: float

    def writing(self) -> float:
        """Seconds; what is not measurable is none."""
        return max(self.written - self.search, 0.0)


@dataclass
class Result:
    case: Case
    answer: dict | None
    wall: float
    cpu: float
    error: str = ""
    rows: int = 0
    changed: int = 0
    changed_outside_band: int = 0
    cost: Cost | None = None
    verdict: str = "-"

    def misses(self) -> list[str]:
        """What the goal asks for and is not met."""
        goal, answer = self.case.goal, self.answer
        if answer is None:
            return ["no answer"]
        missed = []
        after = answer["trees"]["after"]
        if goal.trees is not None and after > goal.trees:
            missed.append(f"size {after} > {goal.trees}" + (PROVED if answer["minimal"] else ""))
        if goal.minimal and not answer["minimal"]:
            missed.append("not proved minimal")
        if goal.irreducible and not answer["irreducible"]:
            missed.append("not irreducible")
        # Where a tree is the sum of others it goes all the same; what stays has to be proved minimal.
        if goal.nothing_goes and not answer["minimal"]:
            missed.append(f"{answer['outcome']}, not proved minimal")
        if answer["outcome"] == "budget_reached":
            missed.append("budget reached")
        if goal.seconds is not None and self.wall > goal.seconds:
            missed.append(f"{self.wall:.1f} s > {goal.seconds:g} s")
        if goal.peer_seconds is not None and self.cpu > goal.peer_seconds / 100:
            missed.append(f"{goal.peer_seconds / max(self.cpu, 1e-9):.0f} times faster than the peer, not 100")
        if self.changed_outside_band:
            missed.append("THE LIBRARY DISAGREES")
        if self.verdict not in ("-", "valid"):
            missed.append(f"certificate {self.verdict}")
        return missed


def main() -> None:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [f"# Pruning, {options.date}", "", f"secateur {secateur.__version__}, {_machine()}.", ""]
    print(lines[2] + "\n", flush=True)
    for group in options.group:
        cases = [case for case in all_cases() if case.group == group and options.only in case.name]
        if options.quick:
            cases = [case for case in cases if (group, case.slug) in QUICK]
        if not cases:
            continue
        lines += _show([f"## {group}", "", *HEADER])
        results = []
        for case in cases:
            results.append(_run(case, options))
            lines += _show([_row(results[-1])])
        lines += _show(["", *_summary(results), ""])
    if options.out:
        options.out.write_text("\n".join(lines).rstrip("\n") + "\n")


def _show(lines: list[str]) -> list[str]:
    print("\n".join(lines), flush=True)
    return lines


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "target" / "bench-prune", help="cache of models")
    parser.add_argument("--secateur", type=Path, default=CHECKOUT / "target" / "release" / "secateur")
    parser.add_argument("--group", action="append", choices=GROUPS, help="all of them unless given")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--quick", action="store_true", help="one case of each kind")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=100_000, help="adversarial rows for each model")
    parser.add_argument("--with-data", action="store_true", help="give the training rows as start points")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--out", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    options.group = options.group or list(GROUPS)
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    return options


def _machine() -> str:
    names = (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name"))
    model = next(names, platform.processor())
    return f"{os.cpu_count()} cores ({model}), load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _run(case: Case, options: argparse.Namespace) -> Result:
    model = case.path(options.work)
    rows, test_rows, labels, _ = split(case, options.datasets)
    if not model.exists():
        train(case, rows, labels, model)
    pruned = model.with_name("pruned-" + model.name)
    certificate = model.with_name(model.name + ".certificate")
    checker = options.secateur.with_name("secateur-check")
    flags = [*case.flags, "--threads", str(options.threads), "--time-limit", f"{options.limit}s"]
    if case.domain is not None:
        flags += ["--domain", case.domain]
    plausible = isolation(case, rows, options.work) if case.plausible else None
    known = []
    if plausible is not None:
        domain, forest, _, _ = plausible
        flags += ["--domain", domain]
        known = ["--where", forest]
    if checker.exists():
        flags += ["--certificate", certificate]
    if options.with_data:
        table = options.work / f"{case.dataset}-{case.seed}.csv".lower()
        header = ",".join(f"f{index}" for index in range(rows.shape[1]))
        np.savetxt(table, rows, delimiter=",", header=header, comments="", fmt="%.17g")
        flags += ["--data", table]
    pruned.unlink(missing_ok=True)
    result = _measured([options.secateur, "prune", model, "-o", pruned, "--json", "-q", *flags], case, options.limit)
    if result.answer is None:
        return result
    if checker.exists() and result.answer["certificate"] is None:
        result.verdict = "not finished in the limit"
    elif checker.exists():
        checked = subprocess.run([checker, model, pruned, certificate, "--json", *known], capture_output=True, text=True)
        result.verdict = json.loads(checked.stdout)["verdict"] if checked.stdout else "unreadable"
        result.cost = None if case.domain or case.plausible else _cost(case, options, model, pruned, certificate)
    # With a domain the libraries decide every input of it.
    hostile = every_input(case) if case.domain else adversarial(model, rows, options.rows, missing=case.missing)
    tables = [rows, test_rows, hostile]
    if plausible is not None:
        # Of these, what the forest's own library finds plausible.
        _, _, forest, bound = plausible
        tables = [table[forest.score_samples(table) >= bound] for table in tables]
    _ask_library(case, model, pruned, tables, options, result)
    return result


def _cost(case: Case, options: argparse.Namespace, model: Path, pruned: Path, certificate: Path) -> Cost | None:
    measure = options.secateur.with_name("examples") / "certificate_cost"
    if not measure.exists():
        return None

    def run(mode: str, *words: object) -> dict:
        ran = subprocess.run([*map(str, [measure, mode, model, pruned, *words])], capture_output=True, text=True)
        return json.loads(ran.stdout) if ran.returncode == 0 else {}

    flags = [*map(str, case.flags)]
    band = flags[flags.index("--band") + 1] if "--band" in flags else "auto"
    again = certificate.with_name(certificate.name + "-again")
    scope = [] if case.missing else ["no_missing"]
    results = run("search", band, *scope), run("write", band, again, *scope), run("check", certificate)
    again.unlink(missing_ok=True)
    if not all(results):
        return None
    search, written, checked = results
    return Cost(checked["bytes"], checked["steps"], search["seconds"], written["seconds"], checked["seconds"])


def _measured(command: list, case: Case, limit: float) -> Result:
    """Runs the command; reading and writing are part of its time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    try:
        ran = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=2 * limit + 30)
    except subprocess.TimeoutExpired:
        return Result(case, None, time.perf_counter() - started, float("nan"), "did not hold its time limit")
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if ran.returncode not in (0, 3):
        return Result(case, None, wall, cpu, ran.stderr.strip().splitlines()[-1])
    return Result(case, json.loads(ran.stdout), wall, cpu)


def _ask_library(case: Case, model: Path, pruned: Path, tables: list, options: argparse.Namespace, result: Result):
    rows = np.concatenate([np.asarray(table, dtype=np.float64) for table in tables])
    changed = classes(case.kind, model, rows) != classes(case.kind, pruned, rows)
    result.rows, result.changed = len(rows), int(changed.sum())
    if result.changed:
        facts = subprocess.run([options.secateur, "inspect", model, "--json"], capture_output=True, text=True)
        level = json.loads(facts.stdout)["decision"]["threshold"]
        band = result.answer["band"]["score"]
        result.changed_outside_band = outside_band(model, rows[changed], band, level)


HEADER = [
    "| model | options | trees | bytes | goal | at least | outcome | wall, s | CPU, s | library: rows, changed | certificate "
    "| bytes per step | check: of its proof, of the run | writing: of its proof, of the run | missed |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
]


def _row(result: Result) -> str:
    case, goal, answer = result.case, result.case.goal, result.answer
    if answer is None:
        return f"| {case.name} | {case.options} | - | - | - | - | {result.error} | {result.wall:.2f} | - | - | - | - | - | - | no answer |"
    trees = f"{answer['trees']['before']} -> {answer['trees']['after']}"
    size = f"{answer['bytes']['before']} -> {answer['bytes']['after']}"
    wanted = "none goes" if goal.nothing_goes else "-" if goal.trees is None else f"{goal.trees}"
    if goal.cut_off:
        wanted += " (cut off)"
    outcome = answer["outcome"] + (", minimal" if answer["minimal"] else "")
    library = f"{result.rows}, {result.changed}"
    if result.changed:
        library += f" ({result.changed_outside_band} outside the band)"
    certificate = f"{result.verdict} | - | - | -"
    if (cost := result.cost) is not None:
        run = result.cpu
        certificate = (
            f"{result.verdict}, {cost.bytes} B, {cost.steps} steps | {cost.bytes / max(cost.steps, 1):.2f} "
            f"| {cost.check / cost.search:.2f}, {cost.check / run:.3f} "
            f"| {cost.writing() / cost.search:.1%}, {cost.writing() / run:.2%}"
        )
    return (
        f"| {case.name} | {case.options} | {trees} | {size} | {wanted} | {answer['lower_bound']} | {outcome} | {result.wall:.3f} "
        f"| {result.cpu:.3f} | {library} | {certificate} | {'; '.join(result.misses())} |"
    )


def _summary(results: list[Result]) -> list[str]:
    answered = [result for result in results if result.answer is not None]
    lines = [f"- {len(answered)} of {len(results)} cases ended with an answer."]
    if not answered:
        return lines
    met = sum(not result.misses() for result in results)
    minimal = sum(result.answer["minimal"] for result in answered)
    cut = sum(result.answer["outcome"] == "budget_reached" for result in answered)
    walls = [result.wall for result in answered]
    beyond = sum(bool(missed) and all(PROVED in miss for miss in missed) for missed in (each.misses() for each in results))
    lines.append(
        f"- {met} of {len(results)} cases meet every goal, and in {beyond} more it is proved that none can; "
        f"{minimal} are proved minimal, {cut} hit the time limit."
    )
    lines.append(f"- Wall seconds: median {statistics.median(walls):.3f}, largest {max(walls):.2f}.")
    rows = sum(result.rows for result in answered)
    outside = sum(result.changed_outside_band for result in answered)
    inside = sum(result.changed for result in answered) - outside
    lines.append(f"- The libraries decided {rows} rows; {outside} changed outside the band, {inside} inside it.")
    ratios = [
        (result.case.goal.peer_seconds / max(result.cpu, 1e-3), result.case.name)
        for result in answered
        if result.case.goal.peer_seconds is not None
    ]
    if ratios:
        worst, name = min(ratios)
        lines.append(f"- Beside the peer: {worst:.0f} times faster at least ({name}), CPU seconds on both sides.")
    costs = [(result.cost, result.cpu) for result in answered if result.cost is not None]
    if costs:
        spread = lambda values: f"{statistics.median(values):.3f} (median), {max(values):.3f} at most"  # noqa: E731
        lines += [
            f"- Bytes per step: {spread([cost.bytes / max(cost.steps, 1) for cost, _ in costs])}.",
            f"- Checking took, of the run: {spread([cost.check / run for cost, run in costs])}; of the last proof alone: "
            f"{spread([cost.check / cost.search for cost, _ in costs])} (goal: below 1 on the median).",
            f"- Writing took, of the run: {spread([cost.writing() / run for cost, run in costs])}; of the last proof alone: "
            f"{spread([cost.writing() / cost.search for cost, _ in costs])} (goal: below 0.15).",
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
