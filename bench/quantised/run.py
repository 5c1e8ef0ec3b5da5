"""`python -m bench quantised`: models as C with leaves of 16 and of 8 bits: how large, how far from the library's scores (U proved, L shown), and rows.

Each model is compiled, and 100,000 rows are predicted by it and by its own library: no score may be farther than U from the library's, and no class may
differ where the library's score is farther than U from the threshold.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scores"))

import numpy as np
from tables import CHECKOUT, QUANTISED, fitted, training_rows

import secateur

LOOP = """
#include "model.h"
void all(const %(kind)s *rows, int32_t *sums, int *classes, long count);
void all(const %(kind)s *rows, int32_t *sums, int *classes, long count)
{
    long at;
    for (at = 0; at < count; at++) {
        model_raw(rows + at * model_FEATURES, sums + at * model_OUTPUTS);
        classes[at] = %(decide)s;
    }
}
"""


def many_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Rows of the table, half of them with every value taken from some other row of its column."""
    rng = np.random.default_rng(0)
    found = rows[rng.integers(len(rows), size=count)].copy()
    for column in range(rows.shape[1]):
        found[: count // 2, column] = rows[rng.integers(len(rows), size=count // 2), column]
    return found


def tables(folder: Path) -> int:
    """The bytes of the tables of model.c once they are compiled."""
    sizes = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "float": 4, "double": 8}
    found = re.findall(r"^static const (\w+) model_\w+\[(\d+)\]", (folder / "model.c").read_text(), re.M)
    return sum(sizes[kind] * int(count) for kind, count in found)


def program(folder: Path, rows: np.ndarray, outputs: int, decides: bool) -> tuple[np.ndarray, np.ndarray]:
    """What the compiled model says of all rows."""
    narrow = "f32_input" in (folder / "model.c").read_text().splitlines()[2]
    words = {"kind": "float" if narrow else "double", "decide": "model_class(rows + at * model_FEATURES)" if decides else "0"}
    (folder / "all.c").write_text(LOOP % words)
    subprocess.run("cc -std=c99 -O2 -shared -fPIC model.c all.c -o all.so".split(), cwd=folder, check=True)
    given = np.ascontiguousarray(rows, dtype=np.float32 if narrow else np.float64)
    sums, classes = np.empty((len(rows), outputs), dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (given, sums, classes)]
    # A name of its own: a library of the same path is not loaded twice.
    library = ctypes.CDLL(str((folder / "all.so").rename(folder / f"all{time.monotonic_ns()}.so")))
    library.all(*pointers, ctypes.c_long(len(rows)))
    return sums, classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each search, its certificate and the check")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the search")
    parser.add_argument("--only", default="", help="models whose name has this text")
    parser.add_argument("--save", action="store_true", help="write bench/results/DATE-quantised.md")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    lines: list[str] = []

    def add(*more: str) -> None:
        lines.extend(more)
        print("\n".join(more), flush=True)

    add(
        "# Quantised leaves",
        "",
        f"`python -m bench quantised`: secateur {secateur.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, {options.threads} threads, load "
        f"{os.getloadavg()[0]:.1f}. {options.trees} trees of depth 6; at most {options.limit:g} s of wall time for search, certificate and check, of which the search has 0.38. "
        "U is proved and checked, L is shown by an input; *trees* is the bound that the leaves of each tree give without a search. "
        f"{options.rows:,} rows are predicted by the compiled source and by the library: *farther* counts scores beyond U, *changed* decisions that differ "
        "where the library's score is farther than U from the threshold, *in U* those that differ within it.",
        "",
        "| model | bits | bytes of tables, exact | quantised | trees | U | L | U/L | ended | farther | changed | in U | seconds (CPU) | wall |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|",
    )
    for name, learner, kind in QUANTISED:
        if options.only not in f"{name} {learner} {kind}":
            continue
        rows, target = training_rows(name, options.datasets, kind)
        model = fitted(learner, kind, options.trees, 6, rows, target)
        packed = secateur.pack(model)
        many = many_rows(rows, options.rows)
        decides = kind == "classifier"
        # The library itself decides; its raw scores, bit for bit, are those of `raw_scores`.
        decided = model.predict(many)
        scores = np.asarray(secateur.load(model).raw_scores(many), dtype=np.float64)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            packed.save(folder / "model.c")
            exact = tables(folder)
            for bits in (16, 8):
                started, wall = time.process_time(), time.monotonic()
                facts = packed.save(
                    folder / "model.c", leaves=bits, certificate=folder / "model.cert", time_limit=options.limit, threads=options.threads
                )
                spent, wall = time.process_time() - started, time.monotonic() - wall
                secateur.check(model, folder / "model.c", folder / "model.cert")
                leaves = facts["leaves"]
                sums, classes = program(folder, many, scores.shape[1], decides)
                apart = np.abs(sums * leaves["unit"] - scores)
                farther = int((apart > facts["within"] * (1 + 1e-12)).sum())
                changed = inside = "-"
                if decides:
                    other = packed.classes_[classes] != decided
                    certain = np.abs(scores[:, 0]) > facts["within"] * (1 + 1e-9) + 1e-6
                    changed, inside = int((other & certain).sum()), int((other & ~certain).sum())
                least = leaves["at_least"]
                ratio = "-" if not least else f"{facts['within'] / least:.3f}"
                add(
                    f"| {name} {learner} {kind} | {bits} | {exact} | {tables(folder)} | {leaves['by_trees']:.4g} | {facts['within']:.4g} "
                    f"| {'-' if least is None else f'{least:.4g}'} | {ratio} | {'yes' if leaves['ended'] else 'no'} | {farther} | {changed} | {inside} | {spent:.1f} | {wall:.1f} |"
                )
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-quantised.md"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
