"""Comparisons that one machine does not finish in an hour: how far two processes get, and what a hundred machines would need.

    python bench/cluster/wall.py --datasets FOLDER --keep FOLDER [--minutes N] [--only NAME] [--save]

XGBoost with 50 trees on HTRU2 (depth 6), House-16H and Spambase (depth 3) is compared with the same function as other trees: its trees are added up two by two (`bench/certificates/merged.py`), so that none of the
one cancels one of the other, and the whole space has to be searched. (One leaf that is a unit in the last place larger is no such question any more: it is answered within seconds.) Each comparison gets so many minutes on two processes. It keeps a checkpoint in the folder, with the share that is proved over time beside it, and the next call
goes on from there. The proof so far is in memory and in the checkpoint: about a gigabyte for an hour.

The share of a box is that of the space where every split halves what it splits, as the search shows it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import multiprocessing
import pathlib
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import secateur
import simulate

# Behind this folder, which has a `run` of its own.
sys.path += [str(pathlib.Path(__file__).parents[1] / name) for name in ("oracle", "certificates")]
import instances  # noqa: E402
import merged  # noqa: E402

RESULTS = pathlib.Path(__file__).parents[1] / "results"
CASES = [
    instances.Instance("XGBoost", 6, 50, "HTRU2"),
    instances.Instance("XGBoost", 3, 50, "House"),
    instances.Instance("XGBoost", 3, 50, "Spambase"),
]
# Two classes: one says first, and the other does not.
QUESTIONS = 2
# Seconds between two looks at the checkpoint.
LOOK = 10.0
# Cores of a machine of a cluster.
CORES = 16


@dataclass(frozen=True)
class Point:
    """What was known when: seconds of the clock of all calls so far, boxes, and the share that is proved."""

    seconds: float
    nodes: int
    share: float


def share_of(checkpoint: bytes) -> tuple[int, float]:
    """The boxes that a search has visited, and the share that it has proved, from its checkpoint."""
    read = simulate.Bytes(checkpoint)
    question = read.number()
    simulate.skip_question(read)
    nodes = read.number()
    still_open = sum(0.5 ** len(path) for path in read.boxes())
    return nodes, (question + 1.0 - still_open) / QUESTIONS


def search(first: secateur.Model, second: secateur.Model, kept: pathlib.Path, seconds: float, look: float = LOOK) -> tuple[str, list[Point]]:
    """Goes on with a comparison for so long: its outcome, and all that is known of its progress."""
    table = kept.with_suffix(".progress.csv")
    known = table.read_text().splitlines() if table.exists() else []
    points = [Point(float(row[0]), int(row[1]), float(row[2])) for row in csv.reader(known)]
    before = points[-1].seconds if points else 0.0
    started, over = time.monotonic(), threading.Event()

    def note() -> None:
        if kept.exists():
            nodes, share = share_of(kept.read_bytes())
            if not points or nodes > points[-1].nodes:
                points.append(Point(before + time.monotonic() - started, nodes, share))
                with table.open("a", newline="") as out:
                    csv.writer(out).writerow([points[-1].seconds, nodes, repr(share)])

    def watch() -> None:
        while not over.wait(look):
            note()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            answer = secateur.verify(first, second, executor=pool, checkpoint=kept, time_limit=seconds)
    finally:
        over.set()
        watcher.join()
        note()
    return answer.outcome, points


def words(seconds: float) -> str:
    """A time as people say it."""
    for size, name in ((31_557_600.0, "years"), (86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}" if seconds < 1e4 * size else f"{seconds / size:.0e} {name}"
    return f"{seconds:.0f} seconds"


def line(name: str, outcome: str, points: list[Point]) -> str:
    """A row of the table."""
    if outcome != "undecided":
        return f"| {name} | {outcome} | | | |"
    if not points or points[-1].share <= 0.0:
        return f"| {name} | nothing is proved yet | | | |"
    last = points[-1]
    stops = [points[min(len(points) - 1, len(points) * part // 4)] for part in (1, 2, 3)] + [last]
    over_time = ", ".join(f"{point.share:.3g} after {words(point.seconds)}" for point in stops)
    # As if the rest took as long as what is proved; no part of the space is like another.
    whole = last.seconds / last.share
    many = whole * 2 / (100 * CORES)
    return f"| {name} | {over_time} | {last.nodes:,} | {words(whole)} | {words(many)} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--datasets", type=pathlib.Path, required=True, help="the folder of the data sets")
    options.add_argument("--keep", type=pathlib.Path, required=True, help="the folder for models and checkpoints")
    options.add_argument("--minutes", type=float, default=10.0, help="how long each comparison gets")
    options.add_argument("--only", help="one data set")
    options.add_argument("--save", action="store_true", help="write the table to bench/results")
    given = options.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    lines = [
        f"Two processes. The last two columns go on from the share that is proved, as if the rest took as long: on these two processes, and on 100 machines of {CORES} cores each that lose nothing.",
        "",
        "| comparison | share proved | boxes | two processes would need | a hundred machines |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        if given.only not in (None, case.dataset):
            continue
        path = instances.path_of(case, given.keep)
        if not path.exists():
            instances.train(case, *instances.training_rows(case, given.datasets), path)
        other = path.with_name(f"merged-{path.name}")
        merged.merge_in_pairs(path, other)
        first, second = secateur.load(path), secateur.load(other)
        outcome, points = search(first, second, given.keep / f"{case.slug}.checkpoint", 60 * given.minutes)
        lines.append(line(case.name, outcome, points))
        print(lines[-1], flush=True)
    print("\n".join(lines))
    if given.save:
        place = RESULTS / f"{datetime.date.today()}-cluster-wall.md"
        place.write_text("# Beyond what one machine proves in an hour\n\n`bench/cluster/wall.py`\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
