"""A long search with two threads, and with two processes of a pool: what dealing boxes out costs.

    python bench/cluster/run.py [--trees N] [--rounds N] [--save]

The question is how far the scores of two random forests can be apart, which takes some hundred thousand boxes; with more trees it takes longer. Without a certificate, so that only the search is measured.
The time is that of the clock and, beside it, the processor time of this process and of its workers.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import pathlib
import resource
import statistics
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import secateur

RESULTS = pathlib.Path(__file__).parents[1] / "results"


def pair(trees: int) -> tuple[secateur.Model, secateur.Model, float]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 8)), 1).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=400) > 0).astype(int)
    first, second = (
        secateur.load(RandomForestClassifier(trees, max_depth=5, random_state=0).fit(X[:rows], y[:rows]))
        for rows in (400, 350)
    )
    return first, second, secateur.verify(first, second, scores=True).at_most


def workers_time(pool: ProcessPoolExecutor) -> float:
    """Processor seconds of a pool's processes so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for process in pool._processes:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / ticks


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trees", type=int, default=36, help="trees of each forest")
    options.add_argument("--rounds", type=int, default=1, help="times each is measured")
    options.add_argument("--save", action="store_true", help="write the table to bench/results")
    given = options.parse_args()
    first, second, within = pair(given.trees)
    seconds: dict[str, list[tuple[float, float]]] = {"two threads": [], "two processes": []}
    boxes = set()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(time.sleep, [0.2, 0.2]))
        for _ in range(given.rounds):
            for name, how in (("two threads", {"threads": 2}), ("two processes", {"executor": pool})):
                usage = resource.getrusage(resource.RUSAGE_SELF)
                before = usage.ru_utime + usage.ru_stime + workers_time(pool)
                started = time.monotonic()
                answer = secateur.verify(first, second, scores=True, within=within, **how)
                clock = time.monotonic() - started
                usage = resource.getrusage(resource.RUSAGE_SELF)
                spent = usage.ru_utime + usage.ru_stime + workers_time(pool) - before
                assert answer.outcome == "within"
                boxes.add(answer.nodes)
                seconds[name].append((clock, spent))
    assert len(boxes) == 1, "the same boxes, whoever visits them"
    lines = [
        f"{boxes.pop():,} boxes, forests of {given.trees} trees, medians of {given.rounds}",
        "",
        "| | clock, s | processor, s |",
        "|---|---|---|",
    ]
    for name, measured in seconds.items():
        clock, spent = (statistics.median(part) for part in zip(*measured))
        lines.append(f"| {name} | {clock:.1f} | {spent:.1f} |")
    ratio = [statistics.median(part[0] for part in seconds[name]) for name in ("two threads", "two processes")]
    lines.append(f"\nEfficiency of two processes beside two threads: {ratio[0] / ratio[1]:.2f}")
    print("\n".join(lines))
    if given.save:
        place = RESULTS / f"{datetime.date.today()}-cluster.md"
        place.write_text("# Two processes beside two threads\n\n`python -m bench cluster`\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
