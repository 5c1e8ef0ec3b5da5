"""What a table becomes: the one place where a user's rows are made the numbers that the model's library would read.

`becomes` is the rule, by library, container and type; docs/guide/tables.md shows it, and python/tests/test_tables.py holds every cell
of it against the library. Everything that takes rows comes through here: `numbers` for a search, `to_predict` for `Model`, `to_pack` for
`PackedModel`, `named` for `Domain.from_data`.

For a search rows are only where it starts, and what is proved does not depend on them. So a value that has no number here (a word that
is no category of the model) becomes a missing value instead of an error. For a prediction it is an error.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur._secateur import InputError, Model, Packed

# More rows teach the search nothing.
MOST = 100_000
# From here on neighbouring whole numbers have one float64, so that rounding it to float32 rounds twice.
INEXACT = 2.0**53


@dataclass(frozen=True)
class Reader:
    """What a model's library knows of its columns."""

    library: str
    names: list[str]
    named: bool
    """The names are the model's own. LightGBM makes names up for arrays, Column_0 and so on, and writes them like others."""
    labels: dict[int, list[str]]
    hashed: frozenset[int]
    """CatBoost's categories, known by a hash of their text."""
    texts: dict[int, bool]
    """The columns of categories, and whether these are texts and not numbers."""
    seen: list[tuple[list[Any], list[int] | None]] = field(default_factory=list)
    """The names of the last frame that was read, and where the model's columns are in it (`None`: they are in the model's order)."""

    @staticmethod
    def of_model(model: Model) -> Reader:
        names, hashed = model.feature_names, model.hashed_columns()
        return Reader._of(model.dialect, names, model.has_feature_names, model.category_labels(), hashed, model.text_categories())

    @staticmethod
    def of_packed(packed: Packed) -> Reader:
        labels = packed.category_labels()
        names = packed.feature_names
        width = range(packed.feature_count)
        hashed = list(labels) if packed.framework == "catboost" else []
        listed = names or [f"f{at}" for at in width]
        return Reader._of(packed.source, listed, names is not None, labels, hashed, packed.text_categories())

    @staticmethod
    def _of(
        dialect: str, names: list[str], named: bool, labels: dict[int, list[str]], hashed: list[int], texts: dict[int, bool]
    ) -> Reader:
        library = _library(dialect)
        if library == "lightgbm" and names == [f"Column_{at}" for at in range(len(names))]:
            named = False
        return Reader(library, names, named, labels, frozenset(hashed), texts)

    @property
    def wide(self) -> bool:
        """The trees compare float64 numbers."""
        return self.library in ("lightgbm", "hist", "onnx double", "none")


def _library(dialect: str) -> str:
    dialect = dialect.rpartition("packed model, version 1, of ")[2]
    if dialect.startswith("ONNX"):
        return "onnx double" if dialect.endswith("double") else "onnx"
    for library in ("LightGBM", "XGBoost", "CatBoost"):
        if library in dialect:
            return library.lower()
    return "hist" if "HistGradientBoosting" in dialect else "forest"


def becomes(library: str, container: str, dtype: np.dtype, alike: bool = True) -> str:
    """What a library makes of the values of this type in this container ("array", "list", "pandas", "polars", "columns" for other tables
    with named columns, "batch" for PyArrow's batches, "sparse" for matrices by rows or columns, "other sparse"), whose columns are `alike`
    if they have one type.

    - "wide": float64, which a library of float32 rounds then;
    - "once": float32, rounded once from the value itself;
    - "either": the library refuses such a table, or its interfaces disagree. It is taken where all ways give one number.
    """
    if dtype.kind not in "biufOUST":
        raise InputError(f"X holds {dtype} values, which are no numbers")
    if (library == "xgboost" or library.startswith("onnx")) and not dtype.isnative:
        name = "XGBoost" if library == "xgboost" else "onnxruntime"
        raise InputError(f"{name} misreads numbers of the other byte order; give X.astype(X.dtype.newbyteorder('='))")
    if dtype.char == "g" and (library == "xgboost" or library == "lightgbm" and container == "pandas"):
        raise InputError("the library does not read long doubles; give X.astype('float64')")
    if dtype.kind in "biuf" and (dtype.itemsize <= 2 or dtype.isnative and dtype.char in "fd") or library in ("hist", "onnx double", "none"):
        return "wide"
    if library == "onnx" or dtype.kind in "UST":
        return "either"
    if dtype.kind == "O":
        return "either" if library == "lightgbm" else "wide"
    if library == "lightgbm":
        ways = {"array": "once", "list": "once", "sparse": "either", "other sparse": "either", "batch": "either"}
        return ways.get(container, "wide")
    if library == "xgboost":
        return "either" if container in ("polars", "columns", "batch") else "once"
    if container in ("list", "columns", "batch") or library == "forest" and not alike:
        return "either"
    if library == "catboost" and (not dtype.isnative or container == "other sparse"):
        return "either"
    return "once"


def numbers(X: Any, model: Model) -> np.ndarray | None:
    """The first rows of a table, for a search."""
    if X is None:
        return None
    model.check_rows()
    if hasattr(X, "tocsr"):
        # Before the next line, since SciPy's dok_matrix is a mapping too.
        X = X.tocsr()[:MOST]
    elif isinstance(X, Mapping):
        X = {name: values if np.ndim(values) == 0 else values[:MOST] for name, values in X.items()}
    elif hasattr(X, "__getitem__"):
        X = X[:MOST]
    return np.ascontiguousarray(_read(X, Reader.of_model(model), "missing"), dtype=np.float64)


def to_predict(X: Any, model: Model) -> np.ndarray:
    """Every row of a table. What is neither a number nor a category of the model is an error."""
    return np.ascontiguousarray(_read(X, Reader.of_model(model), "error"), dtype=np.float64)


def to_pack(X: Any, reader: Reader) -> np.ndarray | tuple[Any, ...]:
    """Every row of a table, in float32 or float64 and in either order. A label that the model does not know is missing, a word where a
    number belongs is an error. Of a sparse matrix the values that it has: where each row starts, columns, values, the number of columns,
    and what the library reads for the others."""
    if (parts := _parts(X, reader)) is not None:
        return parts
    rows = _read(X, reader, "label missing")
    return rows if rows.flags.c_contiguous or rows.flags.f_contiguous else np.ascontiguousarray(rows)


def named(X: Any) -> tuple[list[str] | None, np.ndarray, list[str]]:
    """The names of a table's columns of numbers, where it has names; their values for no model in particular, as float64; and the
    names of the columns of text or categories, which only a model can read."""
    columns, container = _columns(X)
    if columns is None:
        return None, _nameless(X, Reader("none", [], False, {}, frozenset(), {}), "error"), []
    texts = [name for name, column in columns.items() if _is_category(column) or _holds_text(_values(column, name))]
    numbers = {name: column for name, column in columns.items() if name not in texts}
    return list(numbers), _frame(numbers, container, Reader("none", list(numbers), True, {}, frozenset(), {}), "error"), texts


def _of_floats(X: Any, reader: Reader) -> np.ndarray | None:
    """The numbers of a pandas frame or of records, where all are plain numbers, in a fraction of the time that the general way takes, which
    matters for single rows. `None` where only the general way knows what the library makes of them."""
    if reader.labels or reader.texts or hasattr(X, "tocsr"):
        return None
    if isinstance(X, dict) or isinstance(X, (list, tuple)) and X and isinstance(X[0], dict):
        return _of_plain_records([X] if isinstance(X, dict) else X, reader)
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame:
        return None
    kinds = set(X.dtypes.array)
    if not all(isinstance(kind, np.dtype) and kind.isnative and kind.char in "fdbhilqBHILQ" for kind in kinds):
        return None
    given = X.columns.tolist()
    # Read once: another thread may put the order of another frame there at any time.
    names, places = next(iter(reader.seen), (None, None))
    if names != given:
        texts = [str(name) for name in given]
        _single(texts)
        matched = list(_matched({name: at for at, name in enumerate(texts)}, reader).values())
        places = None if matched == list(range(len(given))) else matched
        reader.seen[:] = [(given, places)]
    values = X.to_numpy()
    if values.dtype.char not in "fd":
        values = values.astype(np.float64)
    # Whole numbers below this limit are the same in float64, so that every library reads the same float32 from them.
    if any(kind.kind != "f" for kind in kinds) and (np.abs(values) >= INEXACT).any():
        return None
    return values if places is None else values[:, places]


def _of_plain_records(records: Any, reader: Reader) -> np.ndarray | None:
    try:
        rows = [[record[name] for name in reader.names] for record in records] if reader.named else []
    except (KeyError, TypeError):
        return None
    kinds = {type(value) for row in rows for value in row}
    if not rows or not kinds <= {float, int, type(None)}:
        return None
    try:
        values = np.array(rows, dtype=np.float64)
    except OverflowError:
        return None
    return None if int in kinds and (np.abs(values) >= INEXACT).any() else values


def _read(X: Any, reader: Reader, words: str) -> np.ndarray:
    """`words` says what a value becomes that is no number here: "error", "missing", or "label missing"."""
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray) and X.dtype.char in "fd" and X.dtype.isnative:
        # CatBoost, which would refuse floats as categories, has their codes here.
        rows = X[None] if X.ndim == 1 else X
    elif (plain := _of_floats(X, reader)) is not None:
        rows = plain
    else:
        columns, container = _columns(X, reader)
        if columns is not None:
            rows = _frame(_matched(columns, reader), container, reader, words)
        else:
            rows = _nameless(X, reader, words)
    if rows.ndim != 2:
        raise InputError(f"X has the shape {rows.shape}; give a row for each input, so two dimensions")
    if rows.shape[1] != len(reader.names):
        raise InputError(f"X has the shape {rows.shape}: {rows.shape[1]} columns, the model has {len(reader.names)} columns")
    return rows


def _nameless(X: Any, reader: Reader, words: str) -> np.ndarray:
    return _sparse(X, reader) if hasattr(X, "tocsr") else _array(X, reader, words)


def _refuse_masks(values: Any, what: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{what} is a masked array, whose mask most libraries do not look at; give its filled(numpy.nan)")


def _settled(values: np.ndarray, how: str, reader: Reader) -> np.ndarray:
    """An array of any type as float32 or float64."""
    if values.dtype.kind == "O" and any(isinstance(value, (np.datetime64, np.timedelta64)) for value in values.flat):
        raise InputError("X holds dates or times, which are no numbers")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            wide = values.astype(np.float64)
            if how == "wide":
                return wide
            once = values.astype(np.float32)
            if how == "once":
                return once
            read = wide if reader.wide else wide.astype(np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"X cannot be read as numbers: {error}") from None
    if not np.array_equal(once, read, equal_nan=True):
        raise InputError(
            f"X holds {values.dtype} values that the library rounds in one way or another, depending on how they are given; "
            "give an array of float32 or float64"
        )
    return wide


def _array(X: Any, reader: Reader, words: str) -> np.ndarray:
    container = "array" if isinstance(X, np.ndarray) else "list"
    if isinstance(X, memoryview):
        raise InputError("X is a memoryview, which the libraries read in different ways; give numpy.asarray(X)")
    _refuse_masks(X, "X")
    for row in X if isinstance(X, (list, tuple)) else ():
        _refuse_masks(row, "a row of X")
    try:
        # Words beside numbers would all become words.
        array = np.asarray(X, dtype=object if reader.hashed and container == "list" else None)
    except (TypeError, ValueError) as error:
        raise InputError(f"X cannot be read as numbers: {error}") from None
    if array.ndim == 1 and reader.library != "none":
        # One row.
        array = array[None]
    if array.ndim != 2:
        width = f" with {len(reader.names)} columns" if reader.library != "none" else ""
        raise InputError(f"X has the shape {array.shape}; give a row for each input, so two dimensions{width}")
    how = becomes(reader.library, container, array.dtype)
    if not reader.hashed and (words != "missing" or array.dtype.kind not in "OUST"):
        return _settled(array, how, reader)
    columns = dict(enumerate(array.T))
    return _frame(columns, container, reader, words) if array.shape[1] else np.empty(array.shape)


def _sparse(matrix: Any, reader: Reader) -> np.ndarray:
    """A sparse matrix with all its values."""
    if len(matrix.shape) != 2:
        raise InputError(f"X has the shape {matrix.shape}; give a row for each input, so two dimensions")
    entries = matrix.tocsr().tocoo()
    places = entries.row.astype(np.int64) * max(matrix.shape[1], 1) + entries.col
    if (np.diff(places) <= 0).any() and np.unique(places).size < places.size:
        raise InputError(
            "X is a sparse matrix with two entries in one place, of which the libraries read one, the other or the sum; "
            "call X.sum_duplicates() first"
        )
    values = _of_sparse(entries.data, matrix, reader)
    rows = np.full(matrix.shape, _absent(reader), values.dtype)
    rows[entries.row, entries.col] = values
    return rows


def _parts(X: Any, reader: Reader) -> tuple[Any, ...] | None:
    """The values of a sparse matrix, row by row. `None` for other tables, for another width than the model's, which is an error
    elsewhere, and for a matrix with two entries in one place, which is one, too."""
    if not hasattr(X, "tocsr") or len(X.shape) != 2 or X.shape[1] != len(reader.names):
        return None
    matrix = X.tocsr()
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    if not matrix.has_canonical_format:
        return None
    count = int(matrix.indptr[-1])
    values = np.ascontiguousarray(_of_sparse(matrix.data[:count], X, reader))
    columns = np.ascontiguousarray(matrix.indices[:count], dtype=np.uint32)
    return np.ascontiguousarray(matrix.indptr, dtype=np.uint64), columns, values, X.shape[1], _absent(reader)


def _absent(reader: Reader) -> float:
    """What a sparse matrix leaves out is missing for XGBoost, and zero for the others."""
    return np.nan if reader.library == "xgboost" else 0.0


def _of_sparse(values: np.ndarray, matrix: Any, reader: Reader) -> np.ndarray:
    container = "sparse" if getattr(matrix, "format", "") in ("csr", "csc") else "other sparse"
    return _settled(values, becomes(reader.library, container, values.dtype), reader)


def _columns(X: Any, reader: Reader | None = None) -> tuple[dict[str, Any] | None, str]:
    """The columns of a table by name, and what kind of table it is; `None` for a table without names. Of a table that is still to be
    computed only the columns of the reader's model are."""
    pairs: list[tuple[str, Any]]
    if hasattr(X, "tocsr"):
        return None, ""
    kinds = {base.__module__.partition(".")[0] for base in type(X).__mro__}
    if "pandas" in kinds and getattr(X, "ndim", 0) == 1 and hasattr(X, "index"):
        # One row, as `frame.iloc[0]` gives it.
        X = dict(zip(map(str, X.index), X.tolist()))
    elif hasattr(X, "__arrow_c_stream__") and not kinds & {"pandas", "polars"} and not hasattr(X, "column_names"):
        X = _of_stream(X)
    elif isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        X = _of_records(X)
    if isinstance(X, Mapping):
        scalars = all(np.ndim(value) == 0 for value in X.values())
        X = {name: [value] for name, value in X.items()} if scalars else X
        pairs, container = [(str(name), _column_of(name, values)) for name, values in X.items()], "columns"
        if len({len(values) for _, values in pairs}) > 1:
            raise InputError("the columns of X have different lengths")
        indices = [values.index for _, values in pairs if hasattr(values, "index")]
        if any(not index.equals(indices[0]) for index in indices):
            raise InputError("the columns of X have different indexes; give a DataFrame, or arrays without an index")
    elif hasattr(X, "column_names") and hasattr(X, "column"):
        # PyArrow's tables and batches; missing values become NaN.
        names = list(X.column_names)
        pairs = [(name, _Arrow.of(X.column(at))) for at, name in enumerate(names)]
        container = "columns" if hasattr(X, "to_batches") else "batch"
    elif hasattr(X, "collect_schema") and hasattr(X, "collect") or hasattr(X, "columns") and hasattr(X, "__getitem__"):
        if hasattr(X, "compute"):
            raise InputError("X is a frame whose values are not computed yet; give X.compute()")
        X = _collected(X, reader) if hasattr(X, "collect") else X
        container = "polars" if type(X).__module__.partition(".")[0] == "polars" else "pandas"
        texts = [str(column) for column in X.columns]
        pairs = [] if len(set(texts)) < len(texts) else [(str(column), X[column]) for column in X.columns]
        _single(texts)
    else:
        return None, ""
    _single([name for name, _ in pairs])
    return dict(pairs), container


def _collected(X: Any, reader: Reader | None) -> Any:
    """What polars computes of a lazy frame: the model's columns alone, where the frame has them under their names."""
    names = X.collect_schema().names()
    wanted = reader.names if reader is not None and reader.named and set(reader.names) <= set(names) else names
    return X.select(wanted).collect()


def _of_stream(X: Any) -> Any:
    """The table of anything that hands out Arrow data, as DuckDB's results do: read by PyArrow or polars, whichever is there."""
    for name, read in (("pyarrow", "table"), ("polars", "DataFrame")):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        return getattr(library, read)(X)
    raise InputError(f"X is a {type(X).__qualname__}, which hands out Arrow data; install pyarrow or polars to read it")


def _of_records(X: Any) -> dict[str, list[Any]]:
    """The columns of a list of records, each a dictionary. All have the names of the first; what one of them lacks is no missing value, which
    would be written as None."""
    columns: dict[str, list[Any]] = {str(name): [] for name in X[0]}
    for at, record in enumerate(X):
        for name in X[0]:
            try:
                columns[str(name)].append(record[name])
            except (KeyError, TypeError):
                raise InputError(f"record {at} of X has no {name!r}, and record 0 has; a missing value is written as None") from None
    return columns


def _column_of(name: Any, values: Any) -> Any:
    """A column of a dict. A Series stays what it is, since its type says more than its values do."""
    _refuse_masks(values, f"column {name!r} of X")
    kinds = {base.__module__.partition(".")[0] for base in type(values).__mro__}
    if kinds & {"pandas", "polars"} and hasattr(values, "dtype") and type(values).__name__ == "Series":
        return values
    if "pyarrow" in kinds:
        return _Arrow.of(values)
    column = np.asarray(values)
    if column.ndim != 1:
        raise InputError(f"column {name!r} of X has the shape {column.shape}; give one value for each row")
    return column


def _single(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InputError(f"X has two columns of one name: {_listed(twice)}")


@dataclass(frozen=True)
class _Arrow:
    """A column of PyArrow: its values, and the name of its own type, since whole numbers beside missing ones become floats."""

    values: np.ndarray
    kind: str

    @staticmethod
    def of(column: Any) -> _Arrow:
        try:
            values = column.to_numpy(zero_copy_only=False)
        except TypeError:
            values = column.to_numpy()
        return _Arrow(np.asarray(values), str(getattr(column, "type", values.dtype)).lower())

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def to_numpy(self) -> np.ndarray:
        return self.values


def _kind(column: Any) -> str:
    """The name of a column's type, in small letters."""
    return column.kind if isinstance(column, _Arrow) else str(column.dtype).lower()


def _is_category(column: Any) -> bool:
    return _kind(column).startswith(("category", "categorical", "enum", "dictionary"))


def _holds_text(values: np.ndarray) -> bool:
    return values.dtype.kind in "UST" or values.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in values)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _matched(columns: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """The model's columns in its order: by name where it has names, and then other columns do not matter; else by position."""
    if not reader.named:
        # Also where these names happen to be the ones that a file without names is given (f0, f1, ...): no library looks at them.
        return columns
    by_name = {name: name for name in columns}
    if reader.library == "lightgbm":
        # LightGBM writes spaces as underscores.
        for name in columns:
            written = name.replace(" ", "_")
            if written != name and written in by_name and written in reader.names:
                raise InputError(f"X has more than one column that LightGBM would write as {written!r}")
            by_name.setdefault(written, name)
    missing = [name for name in reader.names if name not in by_name]
    if not missing:
        return {by_name[name]: columns[by_name[name]] for name in reader.names}
    known = set(reader.names)
    extra = [name for name in columns if name not in known and name.replace(" ", "_") not in known]
    raise InputError(
        f"X has no column {_listed(missing)}, which the model needs"
        + (f"; the model does not know {_listed(extra)}" if extra else "")
        + f". X has {len(columns)} columns, the model has {len(reader.names)}; if they are the model's in its order, give X.to_numpy()"
    )


def _frame(columns: dict[Any, Any], container: str, reader: Reader, words: str) -> np.ndarray:
    alike = len({str(column.dtype) for column in columns.values()}) <= 1
    listed = []
    for at, (name, column) in enumerate(columns.items()):
        labels = reader.labels.get(at)
        if at in reader.hashed and labels is not None:
            listed.append(_hash_codes(column.values if isinstance(column, _Arrow) else column, labels, words))
            continue
        if words != "missing":
            _refuse_categories(column, name, at, container, reader)
        values = _column(column, name, labels, container, reader, alike)
        if words == "error" or words == "label missing" and labels is None:
            if np.isnan(values).sum() > _missing(column):
                raise InputError(
                    f"X cannot be read as numbers: column {name!r} holds a value that is neither a number nor a category of the model"
                )
        listed.append(values)
    return np.column_stack(listed) if listed else np.empty((0, 0))


NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool")


def _refuse_categories(column: Any, name: Any, at: int, container: str, reader: Reader) -> None:
    """Categories, and numbers beside categories, that the library refuses or takes for something else than this place would."""

    def refused(what: str) -> InputError:
        return InputError(f"column {name!r} of X holds {what}")

    if reader.library == "none":
        return
    kind, labels = _kind(column), reader.labels.get(at)
    if labels is None and _is_category(column):
        categories = getattr(column.dtype, "categories", None)
        inner = getattr(getattr(categories, "dtype", None), "kind", "O") if hasattr(column, "cat") and container == "pandas" else ""
        # XGBoost reads their positions, scikit-learn their values; the others refuse them.
        if reader.library == "xgboost" and inner in ("i", "u", "O") or reader.library in ("forest", "hist") and inner in ("i", "u", "f", "b"):
            return
        raise refused("categories, and the model knows none in this column; give the numbers that it was fitted on")
    if reader.texts.get(at) is False and _holds_text(_values(column, name)):
        raise refused("texts, and the model's categories in this column are numbers")
    if reader.library == "lightgbm" and labels is not None and kind.startswith(NUMBERS):
        raise refused(
            "numbers where the model knows categories by their labels: LightGBM refuses that in a pandas frame, and takes them for codes "
            "elsewhere; give a pandas frame with categories, or an array with their codes"
        )


def _missing(column: Any) -> int:
    """How many values of a column are missing."""
    if isinstance(column, (np.ndarray, _Arrow)) or str(column.dtype) == "Object":
        column = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        return sum(map(_is_missing, column)) if column.dtype.kind in "Of" else 0
    missing = column.isna() if hasattr(column, "isna") else column.is_null() | (column != column)
    return int(missing.sum())


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA says neither yes nor no, and an array says both.
        return type(value).__name__ == "NAType"


def _hash_codes(values: Any, labels: list[str], words: str) -> np.ndarray:
    """The codes of categories that CatBoost knows by a hash of their text; -1 for those that the model does not know. CatBoost takes
    texts and whole numbers alone."""
    codes = {label: float(code) for code, label in enumerate(labels)}

    def code(value: Any) -> float:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, np.integer)):
            if words == "missing":
                return np.nan
            raise InputError(
                f"{value!r} is no category: CatBoost takes texts and whole numbers, and knows others by the text that they "
                "were given as"
            )
        return codes.get(Model.category_hash(str(value)), -1.0)

    return np.array([code(value) for value in values], dtype=np.float64)


def _values(column: Any, name: Any) -> np.ndarray:
    """The values of a column as NumPy has them."""
    try:
        values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    except Exception as error:  # noqa: BLE001 - each library of tables has errors of its own
        raise InputError(f"column {name!r} of X holds {column.dtype} values, which are no numbers: {error}") from None
    if values.ndim != 1:
        raise InputError(f"column {name!r} of X holds {column.dtype} values, which are no numbers")
    return values


def _column(column: Any, name: Any, labels: list[str] | None, container: str, reader: Reader, alike: bool) -> np.ndarray:
    categories = getattr(column.dtype, "categories", None)
    if labels is None and categories is not None and hasattr(column, "cat") and hasattr(column.cat, "codes"):
        # pandas: a model that does not know the labels was given numbers, or the codes.
        if reader.library != "xgboost" and categories.dtype.kind in "iufb":
            if categories.dtype.kind in "iu" and not reader.wide and (np.abs(categories.astype(np.float64)) >= INEXACT).any():
                raise InputError("X holds categories from 2^53; give an array of float32 or float64")
            return column.astype(np.float64).to_numpy()
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return codes
    if labels is None:
        kind = _kind(column)
        if isinstance(column, np.ndarray):
            values = column
        elif hasattr(column.dtype, "na_value") and hasattr(column.dtype, "numpy_dtype") and kind.startswith(("int", "uint", "float", "boolean", "bool", "double")):
            # pandas' types with missing values.
            values = column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy(column.dtype.numpy_dtype)
        else:
            values = _values(column, name)
        if kind.startswith("sparse["):
            # Which became floats on the way, in pandas or in the library.
            kind = kind.removeprefix("sparse[")
            values = values.astype(np.float64) if kind.startswith(("int", "uint")) else values
        if values.dtype.kind == "f" and kind.startswith(("int", "uint")):
            # Whole numbers that became floats, as there are missing ones beside them.
            if not reader.wide and (np.abs(values) >= INEXACT).any():
                raise InputError(
                    f"X holds {kind.strip(']')} values from 2^53 beside missing ones or in a sparse column; give an array of float32 or float64"
                )
            return values.astype(np.float64)
        how = becomes(reader.library, container, values.dtype, alike)
        if values.dtype.kind in "biuf":
            return _settled(values, how, reader)
        try:
            return _settled(values, how, reader)
        except InputError as error:
            if "cannot be read" not in str(error):
                raise
    else:
        values = _values(column, name)
    codes = {label: float(code) for code, label in enumerate(labels or [])}
    return np.array([_number(value, codes) for value in values], dtype=np.float64)


def _number(value: Any, codes: dict[str, float]) -> float:
    if codes:
        # 3.0 is the category 3, as it is for pandas.
        whole = isinstance(value, (float, np.floating)) and float(value).is_integer() and str(value) not in codes
        return codes.get(str(int(value)) if whole else str(value), np.nan)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan
