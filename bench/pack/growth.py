"""How the time of a packed model grows with trees, depth, columns and rows: `python -m bench pack-growth`.

XGBoost on made data. Each call is one of the C interface, from Python, on one thread, for rows of float32 that follow one another; times are processor time a
row, the least of several rounds. A call through ctypes takes 3 to 4 microseconds, which are in all of them: they are most of the time of one row.
Beside the times of large batches is the least that the method needs, estimated: its instructions on blocks of 512 rows with AVX-512, at four in each cycle of
4 GHz, or the bytes of a row at 40 GB/s, if these take longer.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import os
import pathlib
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import xgboost
from sklearn.datasets import make_classification

import secateur

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTRUCTIONS = 16


class Packed:
    """A packed model in the C library."""

    def __init__(self, data: bytes) -> None:
        self.library = ctypes.CDLL(str(ROOT / "target/release/libsecateur_c.so"))
        self.model = ctypes.c_void_p()
        size = ctypes.c_size_t(len(data))
        if self.library.secateur_load(data, size, ctypes.byref(self.model), None, ctypes.c_size_t(0)) != 0:
            raise RuntimeError("the C library does not load the model")
        self.library.secateur_outputs.restype = ctypes.c_size_t
        self.outputs = self.library.secateur_outputs(self.model)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        scores = np.empty((len(rows), self.outputs))
        sizes = [ctypes.c_size_t(size) for size in (len(rows), rows.shape[1], 1, 1)]
        out = ctypes.c_void_p(scores.ctypes.data)
        code = self.library.secateur_raw_scores_f32(self.model, ctypes.c_void_p(rows.ctypes.data), *sizes, out, None, ctypes.c_size_t(0))
        if code != 0:
            raise RuntimeError(f"the C library says {code}")
        return scores


def least(packed: Packed, rows: np.ndarray, batch: int) -> float:
    """Nanoseconds of processor time a row."""
    rows = rows[: max(batch, 2000)]
    parts = [rows[at : at + batch] for at in range(0, len(rows) - batch + 1, batch)]
    best = float("inf")
    for _ in range(7):
        start = time.process_time_ns()
        for part in parts:
            packed(part)
        best = min(best, (time.process_time_ns() - start) / (batch * len(parts)))
    return best


def needed(model: secateur.Model, trees: int, depth: int, columns: int) -> float:
    """The least that the method needs for a row, in nanoseconds: an estimate."""
    tests = sum(len(numbers) for _, numbers in model.split_values().values())
    splits = (1 << depth) - 1
    # Of a block: a test is 32 comparisons and 32 stores of their bits; a split is a selection and a load; a leaf of a row is 1.6.
    instructions = 64 * tests / 512 + trees * (2 * splits / 512 + 1.6) + columns * 0.5
    return max(instructions / INSTRUCTIONS, 4 * columns / 40)


def made(columns: int) -> tuple[np.ndarray, np.ndarray]:
    rows, target = make_classification(4000, columns, n_informative=min(columns, 15), n_redundant=0, n_clusters_per_class=3, flip_y=0.05, random_state=0)
    return rows.astype(np.float32), target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=pathlib.Path, help="write the page to this file")
    options = parser.parse_args()
    usual = (100, 6, 30)
    cases = [(trees, 6, 30) for trees in (10, 100, 500, 1000)] + [(100, depth, 30) for depth in (3, 8, 10)]
    cases += [(100, 6, columns) for columns in (10, 100, 1000)]
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    out = [f"# How the time of a packed model grows, {datetime.date.today()}", "", __doc__.split("\n", 2)[2].strip(), ""]
    out += [f"{processor}, {os.cpu_count()} cores, XGBoost {xgboost.__version__}. Load of the machine at the start: {os.getloadavg()[0]:.0f}.", ""]
    out += ["| trees | depth | columns | ns a row, 10,000 rows | estimated least | 100 rows | 10 rows | one row |", "|---|---|---|---|---|---|---|---|"]
    for trees, depth, columns in cases:
        rows, target = made(columns)
        fitted = xgboost.XGBClassifier(n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=0).fit(rows, target)
        packed = Packed(secateur.pack(fitted).to_bytes())
        many = np.ascontiguousarray(rows[np.random.default_rng(0).integers(0, len(rows), 10_000)])
        times = [least(packed, many, batch) for batch in (10_000, 100, 10, 1)]
        if not np.array_equal(packed(many)[:, 0].astype(np.float32), fitted.get_booster().inplace_predict(many, predict_type="margin")):
            raise RuntimeError("the scores are not the library's")
        limit = needed(secateur.load(fitted), trees, depth, columns)
        told = [f"{times[0]:,.0f}", f"{limit:,.0f}", *(f"{found:,.0f}" for found in times[1:])]
        mark = "**" if (trees, depth, columns) == usual else ""
        out.append("| " + " | ".join([f"{mark}{trees}{mark}", str(depth), f"{columns:,}", *told]) + " |")
        print(out[-1], flush=True)
    if options.save:
        options.save.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
