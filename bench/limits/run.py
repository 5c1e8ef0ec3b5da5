"""`python -m bench limits`: what large models cost, and whether limits are kept.

First the ladder (`rungs.py`): time and peak memory of `inspect`, `verify` of a model and itself, `verify` of it and a copy that
differs, and `prune`, each with a limit that is far away. Then default forests on well-known tables, without a limit. Then "limit asked, limit kept": every command that has a limit, on each model, with 0s,
1ms, 1s and 5s, once on a quiet machine and once with a busy loop on every core. A limit is kept where the command ends
within a tenth or half a second of it, whichever is more, beyond what reading the files takes (`inspect` of them). Every
run is a process of its own.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rungs import DEPTHS, FORESTS, deep, default_forests, forest, leaves_of

CHECKOUT = Path(__file__).resolve().parents[2]
LIMITS = ["0s", "1ms", "1s", "5s"]
SECONDS = {"0s": 0.0, "1ms": 0.001, "1s": 1.0, "5s": 5.0}
WORDS = {0: "done", 1: "different", 3: "limit reached"}


@dataclass(frozen=True)
class Run:
    seconds: float
    megabytes: float
    code: int

    @property
    def word(self) -> str:
        return WORDS.get(self.code, f"exit code {self.code}")


def run(words: list[object], longest: float) -> Run:
    """Runs the command in a process of its own and measures it; one that takes too long is ended."""
    started = time.monotonic()
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while True:
        # What the system says of a child that has ended counts this process's own memory too.
        peak = max(peak, _peak_megabytes(process.pid))
        code = process.poll()
        seconds = time.monotonic() - started
        if code is not None:
            return Run(seconds, peak, code)
        if seconds > longest:
            process.kill()
            process.wait()
            return Run(seconds, peak, -9)
        time.sleep(0.002)


def _peak_megabytes(pid: int) -> float:
    """The most memory that a process has held so far."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return max((float(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM:")), default=0.0)


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """A busy loop on every core."""
    loops = [multiprocessing.Process(target=_spin, daemon=True) for _ in range((os.cpu_count() or 1) if wanted else 0)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()
            loop.join()


def ladder(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    for name in FORESTS:
        if options.only in f"forest {name}":
            yield f"forest {name}", *forest(name, folder)
    for levels in DEPTHS:
        if options.only in f"deep {levels}":
            yield f"deep {levels}", *deep(levels, folder)


def commands(secateur: Path, path: Path, other: Path, out: Path) -> dict[str, list[object]]:
    return {
        "verify X X": [secateur, "verify", path, path],
        "verify changed": [secateur, "verify", path, other],
        "prune": [secateur, "prune", path, "-o", out / f"out{path.suffix}"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=CHECKOUT / "target" / "bench-limits", help="cache of models")
    parser.add_argument("--secateur", type=Path, default=CHECKOUT / "target" / "release" / "secateur")
    parser.add_argument("--only", default="", help="models whose name holds this text")
    parser.add_argument("--longest", default="60s", help="the limit of the ladder")
    parser.add_argument("--save", action="store_true", help="write the table under bench/results")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    models = list(ladder(options, options.work))
    defaults = default_forests(options.work) if options.only in "default forests" else {}
    lines = [f"# Limits, {datetime.date.today()}", ""]
    lines.append(f"`python -m bench limits`, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start.")
    print("\n".join(lines), flush=True)

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    say(f"\n## The ladder\n\nLimit {options.longest}; seconds, peak MB, how it ended.\n")
    say("| model | leaves | inspect | verify X X | verify changed | prune |\n|---|---|---|---|---|---|")
    longest = float(options.longest[:-1]) * {"s": 1.0, "m": 60.0}[options.longest[-1]]
    reading: dict[str, float] = {}
    late = 0
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        for name, path, other in models:
            row = [name, str(leaves_of(path))]
            inspected = run([options.secateur, "inspect", path], 4 * longest)
            reading[name] = inspected.seconds
            row.append(f"{inspected.seconds:.2f} s, {inspected.megabytes:.0f} MB")
            for words in commands(options.secateur, path, other, out).values():
                done = run([*words, "--time-limit", options.longest], 4 * longest)
                row.append(f"{done.seconds:.2f} s, {done.megabytes:.0f} MB, {done.word}")
            say("| " + " | ".join(row) + " |")
        say("\n## Default forests, without a limit\n\nSeconds, peak MB, how it ended.\n")
        say("| table | leaves | prune | verify of it and its conversion to ONNX |\n|---|---|---|---|")
        for name, (path, converted) in defaults.items():
            row = [name, str(leaves_of(path))]
            for words in (["prune", path, "-o", out / "default.skops"], ["verify", path, converted]):
                done = run([options.secateur, *words], 20 * longest)
                row.append(f"{done.seconds:.2f} s, {done.megabytes:.0f} MB, {done.word}")
            say("| " + " | ".join(row) + " |")
        say("\n## Limit asked, limit kept\n")
        say("Seconds from start to end of the process; **bold** where that is more than half a second or a tenth over the ")
        say("limit and the time that reading takes.\n")
        say("| model | machine | command | " + " | ".join(LIMITS) + " |\n|---|---|---|" + "---|" * len(LIMITS))
        for loaded in (False, True):
            with busy(loaded):
                for name, path, other in models:
                    for command, words in commands(options.secateur, path, other, out).items():
                        row = []
                        for limit in LIMITS:
                            asked = SECONDS[limit]
                            done = run([*words, "--time-limit", limit], 120.0)
                            files = 1 if command == "prune" else 2
                            # On a busy machine reading takes its share of the cores too.
                            read = files * reading[name] * (2.0 if loaded else 1.0)
                            kept = done.seconds <= max(asked, read) + max(0.5, 0.1 * asked) + read
                            late += not kept
                            shown = f"{done.seconds:.2f}"
                            row.append(shown if kept else f"**{shown}**")
                        machine = "busy" if loaded else "quiet"
                        say(f"| {name} | {machine} | {command} | " + " | ".join(row) + " |")
    say(f"\n{late} limits were not kept.")
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-limits.md"
        path.write_text("\n".join(lines) + "\n")
        print(f"written to {path.relative_to(CHECKOUT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
