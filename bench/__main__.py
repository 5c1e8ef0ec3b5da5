"""`python -m bench NAME`: builds what a benchmark measures, makes its virtual environment, and runs it.

    python -m bench                    the names
    python -m bench pack --quick       options after the name are those of the benchmark
    python -m bench pack --help        which options it has

A benchmark of the paper's datasets takes `--datasets FOLDER`, and looks for them in `../shared/datasets`
without it. The pages of results are in `bench/results`.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATASETS = ROOT.parent / "shared" / "datasets"
sys.path.insert(0, str(ROOT / "dev"))
from environment import environment  # noqa: E402


@dataclass(frozen=True)
class Bench:
    what: str
    script: str
    # What cargo builds for it, and whether it imports the Python package.
    builds: tuple[str, ...] = ()
    package: bool = True
    # Of `[dependency-groups]` in pyproject.toml.
    group: str = "bench"
    datasets: bool = True
    options: tuple[str, ...] = ()
    # A program that must be installed, and how to get it.
    needs: tuple[str, str] | None = None


ARM_COMPILER = (
    "arm-none-eabi-gcc",
    "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib",
)
BENCHES = {
    "formats": Bench("reading and prediction beside the libraries", "formats.py", datasets=False),
    "prune": Bench("sizes, proofs and times of prune on seven groups of models", "prune/run.py",
                   ("--bins", "-p secateur-prune --example certificate_cost")),
    "oracle": Bench("the oracle beside the paper's MILP on HiGHS; --wall: large searches", "oracle/run.py",
                    ("-p secateur-oracle --example measure",)),
    "certificates": Bench("what proofs of millions of steps cost to write and to check", "certificates/run.py",
                          ("-p secateur-prune --example certificate_cost",), package=False),
    "conversions": Bench("models beside their ONNX conversions: the same decisions?", "oracle/conversions.py"),
    "conversions-scores": Bench("how far their scores can be apart, for the same page", "scores/conversions.py"),
    "scores": Bench("prune --within, and leaves rounded to 16 and 8 bits", "scores/run.py"),
    "quantised": Bench("models as C with leaves of 16 and 8 bits: bound, size, rows", "quantised/run.py",
                       needs=("cc", "apt-get install gcc")),
    "pack": Bench("packed models beside the libraries and other predictors", "pack/run.py", ("-p secateur-c",), group="pack"),
    "pack-growth": Bench("how the time of a packed model grows with trees, depth, columns and rows", "pack/growth.py",
                         ("-p secateur-c",), group="pack", datasets=False),
    "contributions": Bench("contributions (SHAP values) beside the libraries' own", "contributions.py", datasets=False),
    "ask": Bench("questions about single rows: radius, reason, nearest input of another class", "ask/run.py"),
    "embedded": Bench("models as C on an emulated Cortex-M4, beside other generators of C", "embedded/run.py",
                      ("-p secateur-cli --bins",), package=False, group="embedded", needs=ARM_COMPILER),
    "cluster": Bench("a long search with two processes beside two threads", "cluster/run.py", datasets=False),
    "cluster-simulated": Bench("the same search on 1 to 1,000 simulated workers", "cluster/simulate.py", datasets=False),
    "cluster-wall": Bench("comparisons beyond an hour of one machine, with checkpoints", "cluster/wall.py",
                          options=("--keep", str(ROOT / "target" / "wall"))),
    "limits": Bench("large forests and deep trees: time, memory, and limits asked and kept", "limits/run.py",
                    ("--bin secateur",), datasets=False),
    "peers": Bench("secateur beside the paper's method on HiGHS and beside fipepy", "peers/run.py",
                   ("--bin secateur",), package=False),
}


def fipe() -> tuple[str, ...]:
    """The options for the authors' package, which has an environment of its own and may be missing."""
    try:
        return "--fipe-python", str(environment("fipe"))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"without fipepy: {error}", file=sys.stderr)
        return ()


def start(name: str, given: list[str]) -> int:
    bench = BENCHES[name]
    options = [*bench.options]
    helps = "-h" in given or "--help" in given
    if bench.datasets and not any(option.split("=")[0] == "--datasets" for option in given):
        if not DATASETS.is_dir() and not helps:
            sys.exit(f"python -m bench {name}: the datasets are not in {DATASETS}; say --datasets FOLDER")
        options += ["--datasets", str(DATASETS)]
    if bench.needs and shutil.which(bench.needs[0]) is None and not helps:
        sys.exit(f"python -m bench {name}: {bench.needs[0]} is missing ({bench.needs[1]})")
    python = environment(bench.group)
    if not helps:
        if name == "peers":
            options += fipe()
        for targets in bench.builds:
            build = ["cargo", "build", "--release", "--locked", "--quiet", *targets.split()]
            subprocess.run(build, cwd=ROOT, check=True)
    if bench.package:
        develop = [python.with_name("maturin"), "develop", "--release", "--locked", "--quiet"]
        subprocess.run(develop, cwd=ROOT, env={**os.environ, "VIRTUAL_ENV": str(python.parents[1])}, check=True)
    return subprocess.run([python, ROOT / "bench" / bench.script, *options, *given], check=False).returncode


def main(words: list[str]) -> int:
    if not words:
        print("python -m bench NAME [OPTION...]\n")
        for name, bench in BENCHES.items():
            print(f"{name:20}{bench.what}")
        return 0
    if words[0] not in BENCHES:
        print(f"python -m bench: there is no {words[0]}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    try:
        return start(words[0], words[1:])
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"python -m bench {words[0]}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
