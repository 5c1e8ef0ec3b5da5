"""`make fuzz`: targets in libFuzzer, each for a time, and a table of what they did.

    python fuzz/run.py                                  every target for a minute
    python fuzz/run.py --seconds 3600 packed onnx       these for an hour each

A target that finds something does not keep the others from running; the command then ends with 1, and the input is in
`fuzz/artifacts/TARGET`. What libFuzzer prints is in `target/fuzz/TARGET.log`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "fuzz"
TARGETS = sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))
NEEDED = {
    "cargo-fuzz": (["cargo", "fuzz", "--version"], "cargo install cargo-fuzz"),
    "a nightly compiler": (["cargo", "+nightly", "--version"], "rustup toolchain install nightly --profile minimal"),
    "a C++ compiler": (["c++", "--version"], "apt install g++"),
}
FUZZ = ["cargo", "+nightly", "fuzz"]
LIMITS = ["-rss_limit_mb=1024", "-timeout=10", "-max_len=262144"]


def runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def last(pattern: str, text: str) -> str:
    return (re.findall(pattern, text) or ["?"])[-1]


def fuzz(target: str, seconds: int) -> bool:
    """Runs a target and prints its row; did it find nothing?"""
    log = LOGS / f"{target}.log"
    start = time.monotonic()
    with log.open("w") as out:
        options = [f"-max_total_time={seconds}", "-print_final_stats=1", *LIMITS]
        command = [*FUZZ, "run", "--sanitizer", "none", target, "--", *options]
        clean = subprocess.run(command, cwd=ROOT, stdout=out, stderr=out).returncode == 0
    minutes = (time.monotonic() - start) / 60
    text = log.read_text(errors="replace")
    count, edges = last(r"stat::number_of_executed_units: (\d+)", text), last(r"cov: (\d+)", text)
    found = "nothing" if clean else f"see {log.relative_to(ROOT)}"
    print(f"| `{target}` | {count} | {minutes:.1f} | {edges} | {found} |", flush=True)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all without one")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.targets) - set(TARGETS))
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    missing = [f"{what}: {install}" for what, (command, install) in NEEDED.items() if not runs(command)]
    if missing:
        print("make fuzz needs what is not installed here.", *missing, sep="\n  ", file=sys.stderr)
        return 1
    seeds = "cargo run --profile test --locked --quiet -p secateur-testkit --example seeds -- fuzz/corpus"
    subprocess.run(seeds.split(), cwd=ROOT, check=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    targets = arguments.targets or TARGETS
    for target in targets:
        subprocess.run([*FUZZ, "build", "--sanitizer", "none", target], cwd=ROOT, check=True)
    print("| target | executions | minutes | edges covered | found |\n|---|---|---|---|---|", flush=True)
    clean = [fuzz(target, arguments.seconds) for target in targets]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
