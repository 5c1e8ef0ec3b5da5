"""Edge families about tables: batches of every size."""

from __future__ import annotations

import numpy as np
from families import FAMILIES, draw
from seen import Seen

import secateur


def batches(seed: int) -> Seen:
    """A packed model scores rows alike in batches of every size, order, type and number of threads, and decides as its library."""
    random = np.random.default_rng([seed, 11])
    family = sorted(FAMILIES)[seed % len(FAMILIES)]
    drawn = draw(family, seed)
    seen = Seen(cases=1)
    try:
        model = secateur.Model.parse(drawn.data)
        packed = secateur.pack(model)
    except secateur.ModelError:
        seen.refused += 1
        return seen
    # The values are float32 numbers, so that both types of an array hold them.
    values = drawn.rows.astype(np.float32).astype(np.float64)
    try:
        model.raw_scores(values)
    except secateur.InputError:
        # This model takes no missing values in some column.
        values = values[~np.isnan(values).any(axis=1)]
    rows = values[random.integers(0, len(values), 300)]
    expected = np.vstack([packed.raw_scores(row[None]) for row in rows])
    if not np.array_equal(expected, model.raw_scores(rows), equal_nan=True):
        seen.wrong.append("a row at a time and the exact predictor differ")
    if packed._packed.is_classifier and not np.array_equal(packed._packed.class_indices(rows), drawn.decide(drawn.data, rows)):
        seen.wrong.append("the library decides otherwise")
    sizes = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, *random.integers(1, 301, 12)]
    for size in sizes:
        start = int(random.integers(0, len(rows) - size + 1))
        batch = rows[start : start + size]
        order = [np.ascontiguousarray, np.asfortranarray, _with_gaps][int(random.integers(3))]
        given = order(batch.astype([np.float32, np.float64][int(random.integers(2))]))
        threads = int(random.integers(1, 4))
        found = packed.raw_scores(given, threads=threads)
        seen.rows += int(size)
        if found.shape != (size, expected.shape[1]) or not np.array_equal(found, expected[start : start + size], equal_nan=True):
            seen.wrong.append(f"{size} rows from {start}, {order.__name__}, {given.dtype}, {threads} threads: other scores")
    seen.wrong = [f"batches {seed}: {wrong} ({family}: {drawn.words})" for wrong in seen.wrong]
    return seen


def _with_gaps(array: np.ndarray) -> np.ndarray:
    """The same values with others between them: neither order is contiguous."""
    wide = np.full((2 * array.shape[0], 2 * array.shape[1]), 7.0, array.dtype)
    wide[::2, ::2] = array
    return wide[::2, ::2]
