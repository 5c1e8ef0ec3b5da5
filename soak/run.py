"""`make soak`: random models of every library with every cell decided by it, what happens at the edges (tables, batches, ...), then
forged certificates, for an hour.

    python soak/run.py --seconds 3600             as long as this; each part has its share of the time
    python soak/run.py --models 60 --edges 20     this many models and cases of the edges, always the same ones: `make test` runs a
                                                  share of them
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import chains
import kernels
import others
import pipelines
import tables
from families import FAMILIES
from forge import Forged, forge
from judge import Tally, judge
from seen import Seen

# The families of the edges, each a function of a seed (see `seen.py`). A new one is a line here, and nothing else.
EDGES: dict[str, Callable[[int], Seen]] = {
    "tables by container and dtype": tables.judge,
    "batches of every size": tables.batches,
    "pipelines": pipelines.pipelines,
    "replaced methods": pipelines.replaced,
    "deep chains": chains.chains,
    "two proof kernels": kernels.agree,
    "claims about scores and one model": others.others,
}

# The shares of the time that models and the edges have; the rest is for certificates.
MODELS_SHARE = 0.6
EDGES_SHARE = 0.25
HEADER = (
    "| family | models | refused | every cell | rows decided | changed in band | trees before | after | certificates "
    "| identical, different, undecided | seconds | wrong |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def numbers(names: Mapping[str, Any], first: int) -> Iterator[tuple[str, int]]:
    """Families in turn, each with its next number."""
    seed = first
    while True:
        for family in names:
            yield family, seed
        seed += 1


def edge(family: str, seed: int) -> Seen:
    """One case of a family of the edges. What it raises is a mistake of ours."""
    started = time.monotonic()
    try:
        seen = EDGES[family](seed)
    except Exception as error:  # noqa: BLE001
        seen = Seen(cases=1, wrong=[f"{family} {seed}: {type(error).__name__}: {error}"])
    seen.seconds = time.monotonic() - started
    return seen


def _one(one: Callable[[str, int], Any], work: tuple[str, int]) -> tuple[str, Any]:
    return work[0], one(*work)


def soak(
    tallies: dict[str, Any], one: Callable[[str, int], Any], first: int, count: int | None, until: float, jobs: int
) -> dict[str, Any]:
    """Judges cases of these families until there are `count`, or until that time, and adds them up."""

    def work() -> Iterator[tuple[str, int]]:
        for index, item in enumerate(numbers(tallies, first)):
            if index == count or time.monotonic() >= until:
                return
            yield item

    def take(results: Iterator[tuple[str, Any]]) -> None:
        for done, (family, tally) in enumerate(results, start=1):
            tallies[family].add(tally)
            for wrong in tally.wrong:
                print(f"WRONG: {wrong}", flush=True)
            if done % 200 == 0:
                print(f"{done} done", file=sys.stderr, flush=True)

    if jobs == 1:
        take(map(partial(_one, one), work()))
    else:
        # A pool takes all work at once, and there is no end of it: no more than a few models wait.
        waiting = threading.Semaphore(3 * jobs)

        def admitted() -> Iterator[tuple[str, int]]:
            for item in work():
                waiting.acquire()
                yield item

        def done(results: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
            for result in results:
                waiting.release()
                yield result

        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            take(done(pool.imap_unordered(partial(_one, one), admitted())))
    return tallies


def row(name: str, tally: Tally) -> str:
    verified = ", ".join(str(count) for count in tally.verified.values())
    return (
        f"| {name} | {tally.models} | {tally.refused} | {tally.every_cell} | {tally.decided} | {tally.in_band} "
        f"| {tally.trees[0]} | {tally.trees[1]} | {tally.certificates} | {verified} | {tally.seconds:.0f} "
        f"| {len(tally.wrong)} |"
    )


def show(tallies: dict[str, Tally]) -> None:
    total = Tally()
    print(HEADER)
    for family, tally in tallies.items():
        print(row(family, tally))
        total.add(tally)
    print(row("**all**", total))
    for reason, count in sorted(total.reasons.items(), key=lambda item: -item[1])[:12]:
        print(f"- refused {count} times: {reason}")


def show_edges(edges: dict[str, Seen]) -> None:
    print("\n| at the edge | cases | rows compared | refused | seconds | wrong |\n|---|---|---|---|---|---|")
    for family, seen in edges.items():
        print(f"| {family} | {seen.cases} | {seen.rows} | {seen.refused} | {seen.seconds:.0f} | {len(seen.wrong)} |")


def show_forged(forged: Forged) -> None:
    print(
        f"\nForged certificates: {forged.count} of {forged.pairs} pairs, {forged.differing} for pairs that differ; "
        f"accepted {forged.harmless} whose claim is no more than what holds, {len(forged.wrong)} wrong"
    )
    print("| how | forged | refused | no certificate | incomplete | accepted, harmless |\n|---|---|---|---|---|---|")
    for name, counts in sorted(forged.by_kind.items()):
        print(f"| {name} | {sum(counts.values())} | " + " | ".join(str(counts[key]) for key in Forged.KEYS) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0, help="for everything")
    parser.add_argument("--models", type=int, help="no more models than this, whatever the time")
    parser.add_argument("--edges", type=int, help="no more cases of the edges than this, whatever the time")
    parser.add_argument("--forged", type=int, help="no more forged certificates than this")
    parser.add_argument("--first", type=int, default=0, help="the number of the first model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    started = time.monotonic()
    until = started + MODELS_SHARE * chosen.seconds
    tallies = soak({family: Tally() for family in FAMILIES}, judge, chosen.first, chosen.models, until, chosen.jobs)
    show(tallies)
    until = time.monotonic() + EDGES_SHARE * chosen.seconds
    edges = soak({family: Seen() for family in EDGES}, edge, chosen.first, chosen.edges, until, chosen.jobs)
    show_edges(edges)
    forged = forge(chosen.first, chosen.forged, started + chosen.seconds)
    show_forged(forged)
    wrong = [wrong for tally in (*tallies.values(), *edges.values()) for wrong in tally.wrong] + forged.wrong
    for line in wrong:
        print(f"WRONG: {line}")
    print(f"\n{time.monotonic() - started:.0f} s, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
