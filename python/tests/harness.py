"""Input rows built to hurt, and comparisons in every bit.

The rows mix training data with each split's threshold and its float neighbours, missing values,
infinities, both zeros, subnormals, huge values, and categories that no split names.
"""

from __future__ import annotations

import numpy as np

import secateur

F32 = np.finfo(np.float32)
F64 = np.finfo(np.float64)
# LightGBM reads what is no larger than this as zero.
ZERO_WINDOW = float(np.float32(1e-35))


def neighbours(value: float) -> list[float]:
    """The value and those next to it in f32 and in f64."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(value)
        around = [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
        # CatBoost has borders at the end of f32.
        around += [
            float(single),
            float(np.nextafter(single, np.float32(-np.inf))),
            float(np.nextafter(single, np.float32(np.inf))),
        ]
    return around


def special_values(domain: dict) -> list[float]:
    """Values that are hard for every model with this input domain."""
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e30, -1e30]
    values += [float(F32.max), float(F32.min), float(F32.tiny), float(F32.smallest_subnormal)]
    values += [-float(F32.tiny), -float(F32.smallest_subnormal)]
    values += [v for edge in (ZERO_WINDOW, -ZERO_WINDOW) for v in neighbours(edge)]
    if domain["number"] == "f64":
        values += [float(F64.max), float(F64.min), float(F64.tiny), float(F64.smallest_subnormal)]
        values += [1e300, -1e300]
    if domain["missing"]:
        values += [np.nan] * 4
    if domain["infinities"]:
        values += [np.inf, -np.inf]
    return values


def category_values(codes: list[float], domain: dict) -> list[float]:
    """Named categories, those around them, and numbers that are no category."""
    top = max(codes, default=0.0)
    values = [v for code in codes for v in (code, code + 0.5)]
    values += [v for v in range(int(min(top, 40)) + 3)]
    values += [-1.0, -0.5, -0.0, top + 1, top + 33, 2.0**24 - 1, 2.0**24, 2.0**31, 1e20, -1e20]
    if domain["missing"]:
        values += [np.nan] * 3
    if domain["infinities"]:
        values += [np.inf, -np.inf]
    return [float(v) for v in values]


def accepted(values: list[float], domain: dict) -> np.ndarray:
    """Those that the library does not refuse."""
    array = np.asarray(values, dtype=np.float64)
    if not domain["infinities"]:
        largest = float(F32.max) if domain["number"] == "f32" else float(F64.max)
        array = array[~(np.abs(array) > largest)]
    if not domain["missing"]:
        array = array[~np.isnan(array)]
    return array


def takes_infinity(model: secateur.Model, row: np.ndarray, feature: int) -> bool:
    """Whether this column takes infinities: scikit-learn's encoder of categories refuses them."""
    row = np.nan_to_num(np.array([row]))
    row[0, feature] = np.inf
    try:
        model.raw_scores(row)
    except secateur.InputError:
        return False
    return True


def hostile_rows(
    model: secateur.Model, base: np.ndarray, count: int = 10_000, seed: int = 0, missing: bool = True
) -> np.ndarray:
    """`count` rows for `model`: a third with one or two hostile values in a row of `base`, a third with
    about half of the values hostile, a third with nothing else. Missing values are hostile unless they are not
    wanted."""
    random = np.random.default_rng(seed)
    base = np.asarray(base, dtype=np.float64)
    rows = base[random.integers(0, len(base), count)].copy()
    domain = {**model.domain, "missing": missing and model.domain["missing"]}
    if domain["number"] == "f32":
        rows = rows.astype(np.float32).astype(np.float64)
    splits = model.split_values()
    width = rows.shape[1]
    share = np.repeat([1.5 / width, 0.5, 1.0], -(-count // 3))[:count]
    random.shuffle(share)
    for feature in range(width):
        categorical, values = splits.get(feature, (False, []))
        if categorical:
            pool = category_values(values, domain)
        else:
            pool = [v for t in values for v in neighbours(t)]
            # Thresholds are many: the special values keep their weight.
            special = special_values(domain)
            pool += special * max(1, len(pool) // (4 * len(special)))
        pool = accepted(pool, domain)
        # CatBoost refuses rows whose category is missing.
        if feature in model.hashed_columns():
            pool = pool[~np.isnan(pool)]
        if domain["infinities"] and not takes_infinity(model, base[0], feature):
            pool = [value for value in pool if not np.isinf(value)]
        hit = random.random(count) < share
        rows[hit, feature] = random.choice(pool, hit.sum())
    return rows


def bits(values: np.ndarray) -> np.ndarray:
    """The bit patterns, so that -0.0 and NaN compare as what they are."""
    values = np.ascontiguousarray(values)
    return values.view({4: np.uint32, 8: np.uint64}[values.dtype.itemsize])


def assert_same_bits(ours: np.ndarray, theirs: np.ndarray, rows: np.ndarray) -> None:
    """Every score equal in every bit; the message shows the first row that is not."""
    ours = np.asarray(ours).reshape(len(rows), -1).astype(np.asarray(theirs).dtype)
    theirs = np.asarray(theirs).reshape(len(rows), -1)
    assert ours.shape == theirs.shape, f"{ours.shape} scores for {theirs.shape}"
    wrong = np.flatnonzero((bits(ours) != bits(theirs)).any(axis=1))
    assert wrong.size == 0, (
        f"{wrong.size} of {len(rows)} rows differ, the first is {wrong[0]}: "
        f"ours {ours[wrong[0]]!r}, theirs {theirs[wrong[0]]!r}, input {rows[wrong[0]]!r}"
    )


def assert_same_classes(ours: np.ndarray, theirs: np.ndarray, rows: np.ndarray) -> None:
    """Every class equal; the message shows the first row that is not."""
    wrong = np.flatnonzero(np.asarray(ours) != np.asarray(theirs))
    assert wrong.size == 0, (
        f"{wrong.size} of {len(rows)} classes differ, the first in row {wrong[0]}: "
        f"ours {ours[wrong[0]]!r}, theirs {theirs[wrong[0]]!r}, input {rows[wrong[0]]!r}"
    )


def classes(model: secateur.Model, rows: np.ndarray) -> np.ndarray:
    """The labels that our model predicts."""
    return np.asarray(model.classes)[model.class_indices(rows)]


def half_of_the_trees(model: secateur.Model, rounds: int = 1) -> list[tuple[int, None]]:
    """Every other group of `rounds` trees, as they are: an edit."""
    return [(tree, None) for tree in range(model.tree_count) if tree // rounds % 2 == 0]


def reweighted_trees(model: secateur.Model, seed: int = 0) -> list[tuple[int, float]]:
    """All trees, each with a factor that rounds: an edit."""
    random = np.random.default_rng(seed)
    return [(tree, float(random.uniform(0.1, 3.0))) for tree in range(model.tree_count)]
