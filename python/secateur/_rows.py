"""Tables of any library as rows of numbers, as the model's library would read them.

Rows are only where a search starts: what is proved does not depend on them. So a value that has no number
here (a word that is no category of the model) becomes a missing value instead of an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._secateur import InputError, Model

# More rows teach the search nothing.
MOST = 100_000


def numbers(X: Any, model: Model, absent: float) -> np.ndarray | None:
    """The rows of a NumPy array, a pandas or polars frame or a SciPy matrix; `absent` is what the model's
    library takes for the entries that a sparse matrix leaves out."""
    if X is None:
        return None
    names = model.feature_names
    shape = getattr(X, "shape", None)
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        rows = _frame(X[:MOST], names, model)
    elif hasattr(X, "tocsr"):
        rows = _sparse(X.tocsr()[:MOST], absent)
    else:
        hashed = model.hashed_columns()
        if shape is None or len(shape) != 2:
            # Words beside numbers would all become words.
            X = np.asarray(X, dtype=object if hashed else None)
        if hashed:
            rows = _with_hashes(X[:MOST], hashed, model)
        else:
            rows = _plain(X[:MOST])
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InputError(f"X has the shape {shape or rows.shape}, the model has {len(names)} columns")
    return np.ascontiguousarray(rows)


def _plain(X: Any) -> np.ndarray:
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([[_number(value, {}) for value in row] for row in X], dtype=np.float64)


def _with_hashes(X: Any, hashed: list[int], model: Model) -> np.ndarray:
    """Rows with CatBoost's categories in some columns."""
    labels = model.category_labels()
    columns = [
        _hash_codes(X[:, index], labels[index]) if index in hashed else _plain(X[:, [index]])[:, 0]
        for index in range(X.shape[1])
    ]
    return np.column_stack(columns)


def _hash_codes(values: Any, labels: list[str]) -> np.ndarray:
    """The codes of categories that CatBoost knows by a hash of their text; -1 for others."""
    codes = {label: float(code) for code, label in enumerate(labels)}

    def code(value: Any) -> float:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        return codes.get(Model.category_hash(str(value)), -1.0)

    return np.array([code(value) for value in values], dtype=np.float64)


def _sparse(matrix: Any, absent: float) -> np.ndarray:
    rows = np.full(matrix.shape, absent)
    entries = matrix.tocoo()
    rows[entries.row, entries.col] = entries.data
    return rows


def _frame(frame: Any, names: list[str], model: Model) -> np.ndarray:
    columns = list(frame.columns)
    if model.has_feature_names and set(names) <= {str(column) for column in columns}:
        by_name = {str(column): column for column in columns}
        columns = [by_name[name] for name in names]
    labels = model.category_labels()
    hashed = model.hashed_columns()
    listed = [
        _hash_codes(frame[column], labels[index]) if index in hashed else _column(frame[column], labels.get(index))
        for index, column in enumerate(columns)
    ]
    return np.column_stack(listed) if listed else np.empty((len(frame), 0))


def _column(column: Any, labels: list[str] | None) -> np.ndarray:
    categories = getattr(column.dtype, "categories", None)
    if labels is None and categories is not None and hasattr(column, "cat") and hasattr(column.cat, "codes"):
        # pandas: a model that does not know the labels was given numbers, or the codes.
        if getattr(categories, "dtype", None) is not None and categories.dtype.kind in "iuf":
            return column.astype(np.float64).to_numpy()
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return codes
    if labels is None:
        try:
            return np.asarray(column.to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            pass
    codes = {label: float(code) for code, label in enumerate(labels or [])}
    return np.array([_number(value, codes) for value in column.to_numpy()], dtype=np.float64)


def _number(value: Any, codes: dict[str, float]) -> float:
    if codes:
        return codes.get(str(value), np.nan)
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan
