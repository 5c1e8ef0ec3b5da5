"""The paper's tables and figures: `python experiments/run.py [TABLE ...]`, or all of `make experiments`.

Every finished run is one line of `results.jsonl` in the output folder; a second call skips what is there, so an
interrupted run goes on where it stopped. CSV, Markdown page and plots are made anew from all lines at the end (and by
`--page-only`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import cases
import data
import tables
import work

CHECKOUT = Path(__file__).resolve().parents[1]


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The records by key; the last one counts, and a line that was cut off is left out."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            found[record["key"]] = record
    return found


def plan(names: list[str], scope: cases.Scope, done: dict[str, Any], again: set[str]) -> dict[cases.Training, list[cases.Case]]:
    """What is left to do, by model."""
    left: dict[cases.Training, dict[str, cases.Case]] = {}
    for name in names:
        for case in cases.TABLES[name](scope):
            # A run with baselines stands for the same run without.
            record = done.get(case.key) or done.get(f"{case.key}-baselines")
            if record is None or record["status"] in again:
                left.setdefault(case.training, {})[case.key] = case
    # Seed by seed, so that a run which is cut off has every row of its tables; small models first.
    order = sorted(left, key=lambda one: (one.seed, one.trees * 4**one.depth, one))
    return {training: _without_repeats(list(left[training].values())) for training in order}


def _without_repeats(wanted: list[cases.Case]) -> list[cases.Case]:
    """A run with baselines stands for the same run without."""
    with_baselines = {case.variant for case in wanted if case.baselines}
    return [case for case in wanted if case.baselines or case.variant not in with_baselines]


class Progress:
    """A bar on a terminal, else a line now and then."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.open, self.started, self.last = total, 0, 0, time.monotonic(), 0.0
        self.live = sys.stderr.isatty()

    def add(self, records: list[dict[str, Any]]) -> None:
        self.done += len(records)
        self.open += sum(record["status"] != "done" for record in records)
        now = time.monotonic()
        if now - self.last < (0.2 if self.live else 20.0) and self.done < self.total:
            return
        self.last = now
        spent = now - self.started
        left = spent / self.done * (self.total - self.done)
        words = f"{self.done}/{self.total} runs, {self.open} open, {spent / 60:.1f} min, about {left / 60:.1f} min to go"
        if self.live:
            filled = round(30 * self.done / self.total)
            print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {words}   ", end="", file=sys.stderr, flush=True)
        else:
            print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)


def execute(
    left: dict[cases.Training, list[cases.Case]], setting: work.Setting, workers: int, results: Path, deadline: float
) -> int:
    """Runs what is left, a model at a time for each worker; after the deadline none is begun. How many runs stay undone."""
    progress = Progress(sum(map(len, left.values())))
    waiting = iter(left.items())
    running: set[Future] = set()
    with results.open("a") as file, ProcessPoolExecutor(workers) as pool:
        try:
            while True:
                while len(running) < workers and time.monotonic() < deadline:
                    following = next(waiting, None)
                    if following is None:
                        break
                    running.add(pool.submit(work.run, *following, setting))
                if not running:
                    break
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for job in ended:
                    records = job.result()
                    for record in records:
                        file.write(json.dumps(record) + "\n")
                    file.flush()
                    progress.add(records)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            progress.close()
    return progress.total - progress.done


def about(records: list[dict[str, Any]], command: str) -> list[str]:
    import lightgbm
    import sklearn
    import xgboost

    limits = sorted({record["limit"] for record in records})
    return [
        f"Made by `{command}`: {len(records)} runs on {os.cpu_count()} cores ({platform.machine()}), one thread each, "
        f"at most {', '.join(f'{limit:g}' for limit in limits)} s for a run. Python {platform.python_version()}, scikit-learn "
        f"{sklearn.__version__}, XGBoost {xgboost.__version__}, LightGBM {lightgbm.__version__}. Every run is a line of "
        "`results.csv`.",
    ]


def write_pages(folder: Path, records: list[dict[str, Any]], command: str) -> None:
    tables.write_csv(records, folder / "results.csv")
    (folder / "README.md").write_text(tables.page(records, folder, about(records, command)))


def program(name: str, given: Path | None) -> Path | None:
    path = given or CHECKOUT / "target" / "release" / name
    return path if path.exists() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", default=[],
                        help=f"{', '.join(cases.TABLES)}, `main` (what `make experiments` runs) or `all` (default: main)")
    parser.add_argument("--datasets", type=Path, help="the folder of the paper's datasets")
    parser.add_argument("--only", default="", help="these datasets alone, by comma (iris and breast-cancer are built in)")
    parser.add_argument("--out", type=Path, default=CHECKOUT / "target" / "experiments")
    parser.add_argument("--seeds", type=int, default=cases.SEEDS)
    parser.add_argument("--shrink", type=int, default=1, help="divide every M by this; for a quick look")
    parser.add_argument("--limit", type=float, default=15.0, help="seconds for a run of the pruner")
    parser.add_argument("--stop-after", type=float, metavar="MINUTES", default=math.inf,
                        help="begin no model after so many minutes; the same call goes on later")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--paper", action="store_true", help='start boosting at zero, as the paper does (init="zero", base_score=0.5)')
    parser.add_argument("--again", default="", help="run again what ended so: limit, failed, killed")
    parser.add_argument("--page-only", action="store_true", help="make CSV, page and plots from what is there")
    parser.add_argument("--secateur", type=Path, help="the program; target/release/secateur unless given")
    parser.add_argument("--checker", type=Path, help="the checker; target/release/secateur-check unless given")
    parser.add_argument("--no-certificates", action="store_true")
    options = parser.parse_args()
    names: list[str] = []
    for name in options.tables or ["main"]:
        names += {"main": cases.MAIN, "all": list(cases.TABLES)}.get(name, [name])
    for name in names:
        if name not in cases.TABLES:
            parser.error(f"no table {name!r}; there are {', '.join(cases.TABLES)}, main and all")
    datasets = tuple(filter(None, options.only.split(","))) or tuple(data.NAMES)
    for name in datasets:
        if name not in data.BUILT_IN and (options.datasets is None or not (options.datasets / name).is_dir()):
            parser.error(f"{name} is not in {options.datasets}; say where the datasets are with --datasets")
    secateur = program("secateur", options.secateur)
    if secateur is None:
        parser.error("no secateur: cargo build --release, or --secateur PATH")
    checker = None if options.no_certificates else program("secateur-check", options.checker)
    if checker is None and not options.no_certificates:
        print("NO CERTIFICATES ARE CHECKED: there is no secateur-check (cargo build --release, or --checker PATH)", file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "results.jsonl"
    if not options.page_only:
        scope = cases.Scope(datasets, options.seeds, options.paper, options.shrink)
        left = plan(names, scope, read(results), set(options.again.split(",")))
        setting = work.Setting(secateur, checker, options.datasets, options.out, options.limit)
        undone = execute(left, setting, options.workers, results, time.monotonic() + 60 * options.stop_after)
        if undone:
            print(f"{undone} runs were not begun within {options.stop_after:g} minutes; the same call does them", file=sys.stderr)
    command = "python experiments/run.py " + " ".join(names)
    write_pages(options.out, list(read(results).values()), command)
    print(options.out / "README.md")


if __name__ == "__main__":
    main()
