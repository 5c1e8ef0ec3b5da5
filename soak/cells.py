"""Every cell of the inputs of one or two models, one row or more for each.

Nothing here is taken from our grid but the values that splits compare with: each of them and the floats beside it, so
that both sides of every comparison are there whatever its kind, and missing values, infinities and zeros as far as the library
takes them.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

import secateur

# LightGBM takes what is no larger than this for zero.
ZERO = float(np.float32(1e-35))


def values_of(models: list[secateur.Model], column: int, infinities: bool) -> list[float]:
    """Values of one column, at least one in each of its cells."""
    domain = models[0].domain
    kinds = [model.split_values().get(column) for model in models]
    known = [kind for kind in kinds if kind is not None]
    if not known:
        return [0.0]
    named = sorted({value for _, values in known for value in values})
    found: set[float] = set()
    if any(categorical for categorical, _ in known):
        top = int(max(named, default=0.0))
        # Categories that no split names are one cell; so is what no library takes for a category.
        found.update(float(code) for code in range(top + 2))
    else:
        single = domain["number"] == "f32"
        for value in named:
            if single:
                with np.errstate(over="ignore"):
                    at = np.float32(value)
                    around = [at, np.nextafter(at, np.float32(-np.inf)), np.nextafter(at, np.float32(np.inf))]
            else:
                around = [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
            found.update(float(other) for other in around)
        found.add(0.0)
        if domain.get("zero_window") is not None:
            found.update((ZERO, -ZERO, 2 * ZERO, -2 * ZERO))
        largest = float(np.finfo(np.float32 if single else np.float64).max)
        found = {value for value in found if abs(value) <= largest}
        if infinities and domain["infinities"]:
            found.update((math.inf, -math.inf))
    values = sorted(found)
    # CatBoost refuses a missing category.
    if all(model.domain["missing"] and column not in model.hashed_columns() for model in models):
        values.append(math.nan)
    return values


def every_cell(
    models: list[secateur.Model],
    most: int,
    random: np.random.Generator,
    infinities: bool = True,
    more: dict[int, list[float]] | None = None,
) -> tuple[np.ndarray, bool]:
    """Rows that meet every cell, and these values of some columns; where there are more than `most`, so many of them at random, and
    false."""
    axes = [values_of(models, column, infinities) for column in range(len(models[0].feature_names))]
    for column, values in (more or {}).items():
        axes[column] += [value for value in values if value not in axes[column]]
    count = math.prod(len(axis) for axis in axes)
    if count <= most:
        return np.array(list(itertools.product(*axes)), dtype=np.float64).reshape(count, len(axes)), True
    return np.column_stack([random.choice(axis, most) for axis in axes]), False
