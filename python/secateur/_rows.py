"""Tables of any library as rows of numbers, as the model's library would read them.

For a search (`numbers`) rows are only where it starts, and what is proved does not depend on them. So a value that has no number
here (a word that is no category of the model) becomes a missing value instead of an error. For a prediction (`to_predict`) it
is an error.
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
    model.check_rows()
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


def to_predict(X: Any, model: Model) -> np.ndarray:
    """The rows of a table of any kind, every one of them and each value as the model's library takes it. What is neither a
    number nor a category is an error."""
    names = model.feature_names
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        columns = _matched(X, names, model)
        absent = [name for name in names if name not in map(str, X.columns)]
        if columns == list(X.columns) and model.has_feature_names and 0 < len(absent) < len(names):
            raise InputError(f"X has no column {absent[0]!r}, which the model needs")
        rows = _frame(X, names, model)
        for column, values in zip(columns, rows.T):
            if np.isnan(values).sum() > _missing(X[column]):
                raise InputError(f"column {column!r} holds a value that is neither a number nor a category of the model")
    elif hasattr(X, "tocsr"):
        rows = _sparse(X.tocsr(), np.nan if model.dialect.startswith("XGBoost") else 0.0)
    else:
        hashed = model.hashed_columns()
        array = np.asarray(X, dtype=object if hashed else None)
        if array.ndim != 2:
            raise InputError(f"X has the shape {array.shape}; give a row for each input, so two dimensions")
        try:
            rows = _with_hashes(array, hashed, model) if hashed else np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"X cannot be read as numbers: {error}") from None
    if rows.shape[1] != len(names):
        raise InputError(f"X has {rows.shape[1]} columns, the model has {len(names)}")
    return np.ascontiguousarray(rows)


def _missing(column: Any) -> int:
    """How many values of a frame's column are missing."""
    missing = column.isna() if hasattr(column, "isna") else column.is_null() | (column != column)
    return int(missing.sum())


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
    """The codes of categories that CatBoost knows by a hash of their text; -1 for others, and NaN for what CatBoost refuses
    there, which is all but text and whole numbers."""
    codes = {label: float(code) for code, label in enumerate(labels)}

    def code(value: Any) -> float:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif not isinstance(value, (str, int, np.integer, np.bool_)):
            return np.nan
        return codes.get(Model.category_hash(str(value)), -1.0)

    return np.array([code(value) for value in values], dtype=np.float64)


def _sparse(matrix: Any, absent: float) -> np.ndarray:
    rows = np.full(matrix.shape, absent)
    entries = matrix.tocoo()
    rows[entries.row, entries.col] = entries.data
    return rows


def _matched(frame: Any, names: list[str], model: Model) -> list[Any]:
    """The columns of a frame that are the model's features: by name where it has all of them, else all in their order."""
    columns = list(frame.columns)
    # LightGBM writes spaces as underscores.
    by_name = {str(column).replace(" ", "_"): column for column in columns} | {str(column): column for column in columns}
    if model.has_feature_names and set(names) <= by_name.keys():
        return [by_name[name] for name in names]
    return columns


def _frame(frame: Any, names: list[str], model: Model) -> np.ndarray:
    columns = _matched(frame, names, model)
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
