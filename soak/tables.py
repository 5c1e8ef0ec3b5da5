"""Edge families about tables: every container and type of number, and batches of every size."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars
import scipy.sparse
import xgboost
from families import FAMILIES, draw
from seen import Seen
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from threadpoolctl import threadpool_limits

import secateur

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">i4", ">i8", ">f4", ">f8"]
CONTAINERS = {
    "array": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "list": lambda rows: rows.tolist(),
    "objects": lambda rows: rows.astype(object),
    "pandas": pd.DataFrame,
    "pandas, mixed": lambda rows: pd.DataFrame({0: rows[:, 0], 1: rows[:, 1].astype("f4")}),
    "pandas, nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "polars": lambda rows: polars.DataFrame({"0": rows[:, 0], "1": rows[:, 1]}),
    "sparse": scipy.sparse.csr_matrix,
}
LIBRARIES = {
    "LightGBM": lambda: lightgbm.LGBMRegressor(n_estimators=3, num_leaves=100, min_child_samples=1, verbose=-1, n_jobs=1),
    "XGBoost": lambda: xgboost.XGBRegressor(n_estimators=3, max_depth=8, n_jobs=1),
    "forest": lambda: RandomForestRegressor(3, random_state=0),
    "hist": lambda: HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1, max_leaf_nodes=100, early_stopping=False),
}


@threadpool_limits.wrap(limits=1)
def judge(seed: int) -> Seen:
    """A table of every container and a random type becomes what the library makes of it, or is refused."""
    random = np.random.default_rng([seed, 13])
    library = list(LIBRARIES)[seed % len(LIBRARIES)]
    dtype = np.dtype(str(random.choice(TYPES)))
    seen = Seen(cases=1)
    # Neighbours of a large number, where rounding shows.
    if dtype.kind == "f":
        middle = float(random.choice([0.1, 1.0, 1000.0, 60000.0]))
        values = middle * (1.0 + random.normal(size=(300, 2)) * 10.0 ** -float(random.integers(1, 9)))
        # XGBoost does not train on infinite values, which float16 would round some to.
        largest = float(min(np.finfo(dtype).max, np.finfo(np.float64).max))
        values = np.clip(values, -largest, largest).astype(dtype)
    else:
        info = np.iinfo(dtype)
        power = int(random.integers(4, 8 * dtype.itemsize - 1))
        spread = random.integers(-40, 41, (300, 2)) * 2 ** int(random.integers(0, max(power - 20, 0) + 1))
        exact = [[min(max(2**power + int(value), int(info.min)), int(info.max)) for value in row] for row in spread]
        values = np.array(exact, dtype=dtype)
    with np.errstate(over="ignore"):
        fitted = LIBRARIES[library]().fit(values.astype(np.float64), random.normal(size=300))
    ours = [secateur.load(fitted), secateur.pack(fitted)]
    for name, make in CONTAINERS.items():
        try:
            table = make(values)
            expected = np.asarray(fitted.predict(table))
        except Exception:  # noqa: BLE001
            # There is no such table, or the library refuses it.
            seen.refused += 1
            continue
        for model in ours:
            try:
                found = model.predict(table)
            except secateur.InputError:
                seen.refused += 1
                continue
            seen.rows += len(values)
            if not np.array_equal(found, expected):
                seen.wrong.append(f"tables {seed}: {library}, {dtype} in {name}: {type(model).__name__} gives other numbers")
    return seen


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
