"""`python -m bench certificates`: what a proof of millions of steps costs to write and to check, in time, bytes and memory.

Each case is a model and the same function as other trees (`merged.py`), proved to decide alike outside a band, once
with small boxes split to the end and once with joins. Search, writing and check run in processes of their own (`certificate_cost`), so that each has its own peak of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from merged import merge_in_pairs

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "bench" / "oracle"))

from instances import Instance, path_of, train, training_rows  # noqa: E402

CASES = [
    (Instance("XGBoost", 3, 50, "ELEC2"), 0.3),
    (Instance("XGBoost", 2, 100, "Pima"), 0.5),
    (Instance("XGBoost", 3, 50, "Pima"), 0.5),
    (Instance("XGBoost", 3, 50, "HTRU2"), 0.5),
    (Instance("XGBoost", 3, 50, "HTRU2"), 0.2),
]
HEADER = [
    "| model | band | small boxes | boxes | steps | bytes | per step | search, s | with writing, s | writing | check, s | of the search | "
    "peak MB: search, writing, check |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "target" / "bench-certificates", help="cache of models")
    parser.add_argument("--measure", type=Path, default=CHECKOUT / "target/release/examples/certificate_cost")
    parser.add_argument("--only", default="", help="cases whose model and band hold this text")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"load {os.getloadavg()[0]:.1f}\n\n" + "\n".join(HEADER), flush=True)
    for instance, band in CASES:
        if options.only in f"{instance.name} {band}":
            for how in ("splits", "joins"):
                print(_row(instance, band, how, options), flush=True)


def _row(instance: Instance, band: float, how: str, options: argparse.Namespace) -> str:
    model = path_of(instance, options.work)
    if not model.exists():
        train(instance, *training_rows(instance, options.datasets), model)
    other = model.with_name(model.stem + "-merged.json")
    merge_in_pairs(model, other)
    file = model.with_name(model.stem + ".certificate")

    def run(mode: str, *words: object) -> dict:
        command = [options.measure, *(["splits"] if how == "splits" else []), mode, model, other, *words]
        return json.loads(subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout)

    search, written, checked = run("search", band), run("write", band, file), run("check", file)
    writing = written["seconds"] / search["seconds"] - 1
    peaks = ", ".join(f"{result['peak'] / 1e6:.1f}" for result in (search, written, checked))
    return (
        f"| {instance.name} | {band} | {how} | {written['nodes']} | {written['steps']} | {checked['bytes']} "
        f"| {checked['bytes'] / written['steps']:.2f} | {search['seconds']:.2f} | {written['seconds']:.2f} "
        f"| {writing:+.1%} | {checked['seconds']:.2f} | {checked['seconds'] / search['seconds']:.2f} | {peaks} |"
    )


if __name__ == "__main__":
    sys.exit(main())
