"""How a search would do on 1 to 1,000 workers, from the times of its own jobs.

    python bench/cluster/simulate.py [--trees N] [--latency SECONDS] [--save]

First a real search is made on one worker, in the smallest jobs that there are (256 boxes), and the processor time of each is noted, with the boxes that it leaves open: these are the
pieces of the search and the order in which they can be done. Also noted is what a job costs the process that deals them out, and what the models cost a worker that sees them first. Then workers are
simulated, with the rule that `crates/search/oracle/src/jobs/foreman.rs` splits by: how many boxes travel together, how long a job should take, how many jobs wait at the workers. Nothing is simulated that was
not measured but the latency of a message, which is given.
"""

from __future__ import annotations

import argparse
import bisect
import datetime
import heapq
import multiprocessing
import pathlib
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field

import run
import secateur
from secateur import _crew

RESULTS = pathlib.Path(__file__).parents[1] / "results"
# The rule of the foreman.
SHORT, LONG = 0.1, 1.5
FEWEST, MOST, MOST_OPEN = 256, 1 << 24, 256
# Searches of more boxes have so many times as many.
COPIES = 64
# What a search does before others help, in seconds.
ALONE = 1.0

Path = tuple[bool, ...]
# The copy of the search that it is in, and where.
Box = tuple[int, Path]
Question = bytes


class Bytes:
    """Reads the encoding of `crates/search/oracle/src/jobs`."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, data.index(b"\n") + 1 + 32

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def skip(self, count: int) -> None:
        self.at += count

    def path(self) -> Path:
        bits = self.number()
        packed = self.data[self.at : self.at + (bits + 7) // 8]
        self.skip(len(packed))
        return tuple(bool(packed[bit // 8] >> (bit % 8) & 1) for bit in range(bits))

    def boxes(self) -> list[Path]:
        return [self.box() for _ in range(self.number())]

    def box(self) -> Path:
        for _ in range(3 * self.number()):
            self.number()
        self.skip(8)
        return self.path()


def skip_question(read: Bytes) -> None:
    """Goes over what a job and a checkpoint say of the question: what is asked, the multipliers, and how boxes are visited."""
    read.skip(1)
    if read.data[read.at - 1] == 0:
        read.number(), read.number(), read.skip(1)
    else:
        read.number(), read.skip(9)
    for _ in range(read.number()):
        for _ in range(read.number()):
            read.number()
    read.number(), read.skip(1), read.number(), read.skip(1)


def boxes_of_job(job: bytes) -> tuple[Question, list[Path]]:
    """The question that a job is about (which is asked how), and the paths of its boxes."""
    read = Bytes(job)
    start = read.at
    skip_question(read)
    question = job[start : read.at]
    read.number()
    return question, read.boxes()


def open_after(answer: bytes) -> tuple[int, list[Path]]:
    """How many boxes a job visited, and the paths of those that it leaves open."""
    read = Bytes(answer)
    nodes, _ = read.number(), read.number()
    assert read.number() == 0, "a search that finds something is no search for the whole proof"
    return nodes, read.boxes()


@dataclass
class Piece:
    """At most 256 boxes, which one job has visited: its processor time, and what it left open."""

    seconds: float
    nodes: int
    left: list[Path]


@dataclass
class Recorded:
    """A search, piece by piece."""

    questions: dict[Question, dict[Path, Piece]] = field(default_factory=dict)
    """A comparison asks several questions, one after the other."""
    dealing: float = 0.0
    """Processor seconds that a job costs the process that deals them out."""
    arriving: float = 0.0
    """Processor seconds that a worker takes for models that it has not seen."""
    nodes: int = 0

    @property
    def pieces(self) -> list[Piece]:
        return [piece for pieces in self.questions.values() for piece in pieces.values()]

    @property
    def work(self) -> float:
        return sum(piece.seconds for piece in self.pieces)

    @property
    def pace(self) -> float:
        return sum(piece.nodes for piece in self.pieces) / self.work


def timed_work(job: bytes, models: bytes | None) -> tuple[bytes | None, float]:
    started = time.process_time()
    answer = _crew.work(job, models)
    return answer, time.process_time() - started


class Recorder(Executor):
    """One worker that says that it is thousands, so that every job is as small as jobs get."""

    _max_workers = 1 << 16

    def __init__(self, pool: Executor, recorded: Recorded) -> None:
        self.pool, self.recorded = pool, recorded
        self.arrived: list[Piece] = []

    def submit(self, fn, /, *args, **kwargs) -> Future:
        job, models = args
        future: Future = Future()
        inner = self.pool.submit(timed_work, job, models)
        inner.add_done_callback(lambda done: self.finish(job, models is not None, done, future))
        return future

    def finish(self, job: bytes, arrived: bool, done: Future, future: Future) -> None:
        try:
            future.set_result(self.note(job, arrived, *done.result()))
        except Exception as error:
            future.set_exception(error)

    def note(self, job: bytes, arrived: bool, answer: bytes | None, seconds: float) -> bytes | None:
        if answer is not None:
            question, [path] = boxes_of_job(job)
            piece = Piece(seconds, *open_after(answer))
            if arrived:
                self.arrived.append(piece)
            self.recorded.questions.setdefault(question, {})[path] = piece
        return answer


def record(first: secateur.Model, second: secateur.Model, within: float) -> Recorded:
    """Makes the search, and notes its pieces."""
    recorded = Recorded()
    was = _crew.AFTER, _crew.PATIENCE
    _crew.AFTER, _crew.PATIENCE = 0.0, 1e6
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(time.process_time).result()
            recorder = Recorder(pool, recorded)
            started = time.process_time()
            answer = secateur.verify(first, second, scores=True, within=within, executor=recorder)
            spent = time.process_time() - started
    finally:
        _crew.AFTER, _crew.PATIENCE = was
    assert answer.outcome == "within" and recorded.pieces, answer.outcome
    # A worker lays the models out before its first answer: that is no part of the piece.
    paces = sorted(piece.seconds / max(1, piece.nodes) for piece in recorded.pieces)
    for piece in recorder.arrived:
        usual = min(piece.seconds, piece.nodes * paces[len(paces) // 2])
        recorded.arriving = max(recorded.arriving, piece.seconds - usual)
        piece.seconds = usual
    recorded.dealing = spent / len(recorded.pieces)
    recorded.nodes = answer.nodes
    return recorded


def longest_chain(recorded: Recorded) -> tuple[float, int]:
    """Seconds and number of the pieces that wait for each other: no number of workers is faster."""
    total, count = 0.0, 0
    for pieces in recorded.questions.values():
        chains: dict[Path, tuple[float, int]] = {}
        # What a piece leaves open lies behind it, so that the last come first.
        for path in sorted(pieces, reverse=True):
            behind = max((chains[other] for other in pieces[path].left), default=(0.0, 0))
            chains[path] = behind[0] + pieces[path].seconds, behind[1] + 1
        seconds, length = max(chains.values())
        total, count = total + seconds, count + length
    return total, count


@dataclass
class Simulated:
    workers: int
    seconds: float
    jobs: int
    pieces: int
    dealing: float
    """The share of the time in which the process that deals out is busy."""
    efficiency: float


def simulate(recorded: Recorded, workers: int, latency: float, longer: float = 1.0, copies: int = 1) -> Simulated:
    """The search on so many workers, so many times side by side, each of whose pieces takes `longer` times as long as measured."""
    state = State(recorded, workers, latency, longer)
    for pieces in recorded.questions.values():
        state.ask(pieces, copies)
    assert state.done == len(recorded.pieces) * copies, "every piece is done once"
    work = recorded.work * longer * copies
    shares = state.busy / state.clock, work / (workers * state.clock)
    return Simulated(workers, state.clock, state.jobs, state.done, min(1.0, shares[0]), shares[1])


class State:
    """Workers in the middle of a comparison."""

    def __init__(self, recorded: Recorded, workers: int, latency: float, longer: float) -> None:
        self.recorded, self.workers, self.latency, self.longer = recorded, workers, latency, longer
        self.pace = recorded.pace / longer
        self.clock = self.busy = 0.0
        self.done = self.jobs = 0
        # When each worker has done what it was given, and those that do not have the models yet.
        self.idle = [(0.0, worker) for worker in range(workers)]
        self.fresh = set(range(workers))

    def visit(self, pieces: dict[Path, Piece], boxes: list[Box], limit: float) -> tuple[float, list[Box]]:
        """A job: pieces in the order of paths, until the limit is met."""
        stack, seconds, nodes = boxes[::-1], 0.0, 0
        while stack and nodes < limit:
            copy, path = stack.pop()
            piece = pieces[path]
            self.done += 1
            seconds, nodes = seconds + piece.seconds * self.longer, nodes + piece.nodes
            stack.extend((copy, left) for left in reversed(piece.left))
        return seconds, stack[::-1]

    def ask(self, pieces: dict[Path, Piece], copies: int) -> None:
        """One question: jobs out, answers back, until nothing is open."""
        inner = {path for piece in pieces.values() for path in piece.left}
        roots = sorted(set(pieces) - inner)
        # The first second is nobody else's.
        seconds, queue = self.visit(pieces, [(copy, root) for copy in range(copies) for root in roots], self.pace * ALONE)
        self.clock += seconds
        answers: list[tuple[float, int, list[Box]]] = []
        while queue or answers:
            queue = self.deal(pieces, queue, answers)
            if answers:
                at, _, left = heapq.heappop(answers)
                self.clock = max(self.clock, at)
                for path in left:
                    bisect.insort(queue, path)

    def deal(self, pieces: dict[Path, Piece], queue: list[Box], answers: list[tuple[float, int, list[Box]]]) -> list[Box]:
        """Hands out what may be, one job after the other; what stays."""
        workers, cost = self.workers, self.recorded.dealing
        while queue and len(answers) < 2 * workers:
            count = min(max(1, len(queue) // (2 * workers)), MOST_OPEN)
            goal = LONG if len(queue) >= 2 * workers else SHORT
            limit = min(max(self.pace * goal, FEWEST), MOST)
            boxes, queue = queue[:count], queue[count:]
            self.clock += cost
            self.busy += cost
            at, worker = heapq.heappop(self.idle)
            begin = max(at, self.clock + self.latency)
            if worker in self.fresh:
                # It asks for the models, gets them, and lays them out.
                self.fresh.discard(worker)
                begin += 2 * self.latency + self.recorded.arriving
            seconds, left = self.visit(pieces, boxes, limit)
            heapq.heappush(self.idle, (begin + seconds, worker))
            self.jobs += 1
            heapq.heappush(answers, (begin + seconds + self.latency, self.jobs, left))
        return queue


def counts(most: int) -> Iterator[int]:
    yield from (count for count in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000) if count <= most)


def svg(curves: dict[str, list[Simulated]]) -> str:
    """Efficiency over workers, both as they are read: workers in powers of two."""
    import math

    def x(workers: int) -> float:
        return 60 + 560 * math.log2(workers) / 10

    def y(efficiency: float) -> float:
        return 320 - 280 * efficiency

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="720" height="370" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="720" height="370" fill="white"/>')
    for share in (0, 0.25, 0.5, 0.75, 0.9, 1):
        parts.append(f'<line x1="60" x2="620" y1="{y(share):.0f}" y2="{y(share):.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="30" y="{y(share) + 4:.0f}">{share}</text>')
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        parts.append(f'<text x="{x(workers) - 8:.0f}" y="340">{workers}</text>')
    for index, (name, curve) in enumerate(curves.items()):
        colour = ("#1b6ca8", "#c0392b", "#27864b", "#7d3c98")[index % 4]
        line = " ".join(f"{x(point.workers):.1f},{y(point.efficiency):.1f}" for point in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="70" y="{240 + 18 * index}" fill="{colour}">{name}</text>')
    parts.append('<text x="300" y="360">workers</text><text x="20" y="25">efficiency</text></svg>')
    return "\n".join(parts) + "\n"


def page(recorded: Recorded, latency: float, most: int, sizes: tuple[tuple[int, float], ...]) -> tuple[str, str]:
    """The table, and the picture, for searches of so many times the boxes, each so many times as long."""
    curves = {
        f"{copies:,} x boxes, {recorded.work * longer * copies:,.0f} s of work": [
            simulate(recorded, workers, latency, longer, copies) for workers in counts(most)
        ]
        for copies, longer in sizes
    }
    chain, length = longest_chain(recorded)
    lines = [
        f"A search of {recorded.nodes:,} boxes and {recorded.work:.1f} s of processor time in {len(recorded.pieces):,} pieces of at most {FEWEST} boxes. Dealing a job "
        f"out and taking its answer costs {1e3 * recorded.dealing:.2f} ms, models that a worker has not seen {recorded.arriving:.2f} s, a message {1e3 * latency:.0f} ms (given). "
        f"The longest chain of pieces that wait for each other has {length} of them, {chain / recorded.work:.1%} of the work: no more than {recorded.work / chain:,.0f} workers can ever be busy on average. "
        f"A search of more boxes is this one many times side by side, below splits that cost nothing; one of larger models has pieces that take longer.",
        "",
        "Efficiency (how busy the dealing process is):",
        "",
        "| workers | " + " | ".join(curves) + " |",
        "|---|" + "---|" * len(curves),
    ]
    for index, workers in enumerate(counts(most)):
        cells = (f"{curve[index].efficiency:.2f} ({curve[index].dealing:.0%})" for curve in curves.values())
        lines.append(f"| {workers} | " + " | ".join(cells) + " |")
    lines += ["", "Where it falls:", ""]
    for name, curve in curves.items():
        fall = next((point for point in curve if point.efficiency < 0.9), None)
        if fall is None:
            lines.append(f"- {name}: nowhere up to {most} workers.")
            continue
        head = min(ALONE, recorded.work) / fall.seconds
        lines.append(
            f"- {name}: below 0.9 from {fall.workers} workers on, where it takes {fall.seconds:.1f} s. The first second, which one thread has for itself, is {head:.0%} of that, "
            f"the models {(recorded.arriving + 2 * latency) / fall.seconds:.0%}; each worker gets {fall.pieces / fall.workers:.0f} pieces, and the dealing process is busy for {fall.dealing:.0%} of the time."
        )
    return "\n".join(lines) + "\n", svg(curves)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trees", type=int, default=36, help="trees of each forest: with more, the search takes longer")
    options.add_argument("--latency", type=float, default=0.005, help="seconds that a message takes")
    options.add_argument("--workers", type=int, default=1000, help="the most workers")
    options.add_argument("--save", action="store_true", help="write the table and the picture to bench/results")
    given = options.parse_args()
    recorded = record(*run.pair(given.trees))
    text, picture = page(recorded, given.latency, given.workers, ((1, 1.0), (1, 100.0), (COPIES, 1.0), (COPIES, 100.0)))
    print(text)
    if given.save:
        place = RESULTS / f"{datetime.date.today()}-cluster-simulated.md"
        title = "# A search on 1 to 1,000 workers, simulated\n\n`python -m bench cluster-simulated`: pieces measured, workers simulated\n\n"
        place.write_text(title + text + f"\n![efficiency over workers]({place.stem}.svg)\n")
        place.with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
