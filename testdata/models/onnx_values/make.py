"""Makes the models of this folder and what onnxruntime says of them.

Run from the project's root with the test environment: `python testdata/models/onnx_values/make.py`.
For each model NAME.onnx there is NAME.expected: 50 rows, each with its input and the values of all targets (bits of f64 in
hexadecimal; values that onnxruntime shows as f32 are widened).
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[2] / "python" / "tests"))

import secateur
import test_onnx_values as made
from harness import hostile_rows
from onnx import TensorProto


def is_editable(trees: made.Trees) -> bool:
    """Can the trees, as one where they are laid over each other, be written back with other weights?"""
    try:
        model = secateur.Model.parse(trees.model().SerializeToString())
        model.edit([(tree, 2.0) for tree in range(model.tree_count)])
    except (secateur.ModelError, secateur.EditingError):
        return False
    return True


def first(newer: bool, aggregate: str, condition) -> made.Trees:
    """The first random trees with many modes, missing values that go to either side, and what is wanted."""
    candidates = (made.Trees(seed, newer, [aggregate]) for seed in range(100_000))
    return next(
        trees
        for trees in candidates
        if trees.tracks and len(set(trees.modes)) >= 4 and len(trees.trees) >= 3 and condition(trees) and is_editable(trees)
    )


def is_double(trees: made.Trees) -> bool:
    return trees.number == TensorProto.DOUBLE


MODELS = {
    "newer_float": first(True, "SUM", lambda t: not is_double(t) and t.targets == 1),
    "newer_double": first(True, "SUM", lambda t: is_double(t) and t.targets == 3),
    "newer_average": first(True, "AVERAGE", lambda t: not is_double(t) and t.targets == 2 and t.hit_rates),
    "newer_largest": first(True, "MAX", lambda t: is_double(t) and t.targets == 2),
    "smallest": first(False, "MIN", lambda t: not is_double(t) and t.targets == 1 and t.base),
    "largest_double": first(False, "MAX", lambda t: is_double(t) and t.targets == 2 and t.base),
}


def hexadecimal(values: np.ndarray) -> str:
    return " ".join(f"{bits:016x}" for bits in np.asarray(values, dtype=np.float64).view(np.uint64))


def main() -> None:
    for name, trees in MODELS.items():
        data = trees.model().SerializeToString()
        rows = hostile_rows(secateur.Model.parse(data), made.BASE, 50)
        values = made.theirs(data, rows)
        lines = [f"{hexadecimal(row)} | {hexadecimal(value)}\n" for row, value in zip(rows, values, strict=True)]
        (FOLDER / f"{name}.onnx").write_bytes(data)
        (FOLDER / f"{name}.expected").write_text("".join(lines))


if __name__ == "__main__":
    main()
