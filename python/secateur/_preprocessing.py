"""What fitted scikit-learn steps guarantee of their outputs: `Domain.from_pipeline`.

Every input of a pipeline lands in what its steps can give, whatever the data was. Only what a step guarantees by its
code is taken: a step that is not known guarantees nothing, a known one whose methods were replaced is refused, and a
column that may be missing loses its other guarantees where a later step fills it.

Floating point: the numbers that a step gives are computed by its own `transform`, in its own dtype. Where they depend
on the dtype of its input, which nobody knows before it comes, all of them count; and so does every rounding on the way
to the trees (`_readings`). Settings count as they are now, whatever they were in `fit`.
"""

from __future__ import annotations

import copy
import sys
import types
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secateur import _settings
from secateur._errors import OptionError
from secateur._secateur import ModelError


@dataclass
class Column:
    """What is known of one column: `None` for nothing."""

    missing: bool = True
    limits: dict[str, Any] = field(default_factory=dict)
    group: int | None = None
    numeric: bool = False
    """A missing value is NaN here, and neither None nor the text "nan" nor anything else that is read as NaN later."""


@dataclass
class Guarantee:
    """Columns in their order, and groups by number."""

    columns: list[Column]
    groups: dict[int, dict[str, Any]] = field(default_factory=dict)
    sparse: bool = True
    """Can the rows be sparse? XGBoost reads what such a row does not hold as missing, not as zero."""

    @classmethod
    def nothing(cls, count: int) -> Guarantee:
        return cls([Column() for _ in range(count)])

    def picked(self, positions: list[int]) -> Guarantee:
        """Some columns; a group that is not picked whole is gone, its columns stay 0 or 1."""
        columns = [self.columns[at] for at in positions]
        result = Guarantee([replace(own, limits=dict(own.limits)) for own in columns], sparse=self.sparse)
        for number, group in self.groups.items():
            members = [at for at, own in enumerate(result.columns) if own.group == number]
            if len(members) == group["count"] and len(set(positions)) == len(positions):
                result.groups[number] = group
            else:
                for at in members:
                    result.columns[at].group = None
        return result

    def joined(self, other: Guarantee) -> Guarantee:
        """The columns of the other after these."""
        shift = 1 + max(self.groups, default=-1)
        for own in other.columns:
            if own.group is not None:
                own.group += shift
        self.groups |= {number + shift: group for number, group in other.groups.items()}
        self.columns += other.columns
        return self


def guarantee(pipeline: Any, count: int) -> Guarantee:
    """What is known of the rows that this pipeline of transformers gives, for inputs of `count` columns. A step that is
    not what its class makes it is a `ModelError`."""
    return _after(pipeline, Guarantee.nothing(count), "")


def gives_frames(pipeline: Any) -> bool:
    """Are these rows frames, whatever came in? A ColumnTransformer that was told so by `set_output` gives nothing else."""
    last = pipeline.steps[-1][1]
    told = getattr(last, "_sklearn_output_config", {}).get("transform") in ("pandas", "polars")
    return told and _rule(last, pipeline.steps[-1][0]) is _column_transformer


def arguments(known: Guarantee, names: list[str]) -> dict[str, Any]:
    """The arguments of `Domain` for columns of these names."""
    columns: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for name, own in zip(names, known.columns, strict=True):
        if own.group is None:
            limits = dict(own.limits)
            if not own.missing:
                limits["missing"] = False
            if limits:
                columns[name] = limits
    for number, group in known.groups.items():
        members = [name for name, own in zip(names, known.columns, strict=True) if own.group == number]
        if len(members) >= 2:
            groups.append({"kind": "one-hot", "columns": members, "none": group["none"]})
        else:
            columns[members[0]] = {"values": [0, 1] if group["none"] else [1], "missing": False}
    return {"columns": columns, "groups": groups}


def _after(step: Any, known: Guarantee, where: str) -> Guarantee:
    """What is known after a step; `where` is its name, after those of the steps that hold it."""
    if step is None or isinstance(step, str) and step == "passthrough":
        return known
    rule = _rule(step, where)
    if rule is None:
        return Guarantee.nothing(_outputs(step, known))
    try:
        after = rule(step, known, where)
    except (ModelError, OptionError):
        raise
    except Exception:  # noqa: BLE001 - an object that lacks what `fit` gives it, whose `transform` fails as well
        return Guarantee.nothing(_outputs(step, known))
    if rule in (_pipeline, _column_transformer):
        # Their parts were counted; the whole may have no names.
        return after
    # Whatever a version of scikit-learn does otherwise than the rules know shows in the number of columns, if anywhere.
    count = _outputs(step, known)
    return after if len(after.columns) == count else Guarantee.nothing(count)


def _rule(step: Any, where: str) -> Any:
    """The rule for a step of a known class, `None` for a step of which nothing is known."""
    kind = type(step)
    for (module, name), rule in RULES.items():
        known = getattr(sys.modules.get(module), name, None)
        if known is None or not issubclass(kind, known):
            continue
        if kind is not known:
            raise _refused(where, f"is a {kind.__qualname__}, a subclass of {name}", f"use a {name} itself")
        replaced = _settings.replaced_methods(step)
        if replaced:
            own = f"has a {replaced[0]} of its own instead of that of its class {name}"
            raise _refused(where, own, f"delete it (del step.{replaced[0]})")
        for method in _foreign_methods(kind):
            raise _refused(where, f"is a {name}, whose {method} was replaced on the class", "undo that")
        return rule
    return None


def _refused(where: str, what: str, remedy: str) -> ModelError:
    subject = f"the step {where!r} of this pipeline" if where else "this pipeline"
    return ModelError(
        f"{subject} {what}, which may do anything, so that nothing is known of the rows that it gives; {remedy}, or say "
        "which inputs of the last step can occur: domain=False for all of them, or a Domain of your own"
    )


def _foreign_methods(kind: type) -> list[str]:
    """The methods of a class of scikit-learn that are not those of its source. Those of `fit`, which tracking tools
    replace, have no part in `transform`, nor has a picture of the object."""
    found = []
    for owner in kind.__mro__[:-1]:
        for name, method in vars(owner).items():
            inner = getattr(method, "__func__", None) or getattr(method, "fget", None) or getattr(method, "fn", method)
            if name.startswith(("fit", "_html_repr")) or not callable(inner):
                continue
            while isinstance(inner, types.FunctionType):
                # The names in which a function looks up others, unlike `__module__`, are no copy of another one's.
                own = str(inner.__globals__.get("__name__")).partition(".")[0] == "sklearn"
                if not own or inner.__qualname__ != f"{owner.__qualname__}.{name}":
                    found.append(name)
                inner = getattr(inner, "__wrapped__", None)
            if inner is not None and type(inner).__module__.partition(".")[0] != "sklearn":
                found.append(name)
    return found


def _outputs(step: Any, known: Guarantee) -> int:
    """How many columns a step gives."""
    try:
        return len(step.get_feature_names_out())
    except Exception:  # noqa: BLE001 - whatever a foreign step raises, its width is then unknown
        width = getattr(step, "n_features_in_", None)
        if width is None:
            raise OptionError(f"the step {step!r} does not say how many columns it gives") from None
        return len(known.columns)


def _pipeline(step: Any, known: Guarantee, where: str) -> Guarantee:
    for name, inner in step.steps:
        known = _after(inner, known, _inside(where, name))
    return known


def _inside(where: str, name: str) -> str:
    return f"{where}/{name}" if where else name


def _column_transformer(step: Any, known: Guarantee, where: str) -> Guarantee:
    result = Guarantee([])
    # Positions in the output, which need not be in the order of the transformers' list.
    parts: list[tuple[int, Guarantee]] = []
    for name, inner, columns in step.transformers_:
        if isinstance(inner, str) and inner == "drop" or name not in step.output_indices_:
            continue
        place = step.output_indices_[name]
        positions = _positions(step, columns, len(known.columns))
        if place.stop == place.start:
            continue
        part = _after(inner, known.picked(positions), _inside(where, name))
        # A weight multiplies everything, in the dtype of the part.
        weighted = (step.transformer_weights or {}).get(name) is not None
        if weighted or len(part.columns) != place.stop - place.start:
            part = Guarantee.nothing(place.stop - place.start)
        parts.append((place.start, part))
    for _, part in sorted(parts, key=lambda part: part[0]):
        result = result.joined(part)
    result.sparse = bool(step.sparse_output_)
    return result


def _feature_union(step: Any, known: Guarantee, where: str) -> Guarantee:
    result = Guarantee([], sparse=False)
    everything = list(range(len(known.columns)))
    for name, inner, weight in step._iter():
        part = _after(inner, known.picked(everything), _inside(where, name))
        result.sparse |= part.sparse
        result = result.joined(part if weight is None else Guarantee.nothing(len(part.columns)))
    if not all(_keeps_rows(inner) for _, inner, _ in step._iter()):
        # pandas puts frames of other indexes side by side with missing values between them.
        result.groups = {}
        for own in result.columns:
            own.missing, own.group = True, None
    return result


def _keeps_rows(step: Any) -> bool:
    """Do the frames that a part gives have the index of its input? A function of one's own, and a class that is not scikit-learn's, may
    give another one."""
    if step is None or isinstance(step, str):
        return True
    kind = type(step)
    if kind.__module__.partition(".")[0] != "sklearn" or _settings.replaced_methods(step):
        return False
    inner = [own[1] for name in ("steps", "transformer_list", "transformers_") for own in getattr(step, name, [])]
    return getattr(step, "func", None) is None and all(map(_keeps_rows, inner))


def _positions(step: Any, columns: Any, count: int) -> list[int]:
    """The numbers of the columns that a part of a ColumnTransformer gets."""
    if callable(columns):
        columns = columns.__name__
    if isinstance(columns, slice):
        if all(end is None or isinstance(end, (int, np.integer)) for end in (columns.start, columns.stop)):
            return list(range(count))[columns]
        names = list(step.feature_names_in_)
        first = 0 if columns.start is None else names.index(columns.start)
        last = count - 1 if columns.stop is None else names.index(columns.stop)
        return list(range(first, last + 1))
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    columns = list(columns)
    if columns and all(isinstance(own, (bool, np.bool_)) for own in columns):
        return [at for at, own in enumerate(columns) if own]
    names = list(getattr(step, "feature_names_in_", []))
    return [names.index(own) if isinstance(own, str) else int(own) % count for own in columns]


def _encoded(step: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The codes of every category and of one that is not known, and what the encoder's own `transform` makes of them, in
    its dtype; `None` where its codes are none of those."""
    counts = [len(categories) for categories in step.categories_]
    if len(counts) != step.n_features_in_ or np.dtype(step.dtype).kind not in "biuf":
        return None
    if not all(_in_order(categories) for categories in step.categories_):
        return None
    rows = np.repeat(np.arange(max(counts)), 2)
    codes = np.column_stack([rows % count for count in counts])
    known = np.ones(codes.shape, dtype=bool)
    if step.handle_unknown != "error":
        known[1::2] = False

    def every_code(X: Any, ignore_category_indices: Any = None, **_: Any) -> tuple[np.ndarray, np.ndarray]:
        step._map_infrequent_categories(codes, known, ignore_category_indices)
        return codes, known

    probe = copy.copy(step)
    probe._sklearn_output_config = {"transform": "default"}
    probe._transform = every_code
    with np.errstate(all="ignore"):
        given = probe.transform(np.zeros(codes.shape))
    return codes, given.toarray() if hasattr(given, "toarray") else np.asarray(given)


def _in_order(categories: np.ndarray) -> bool:
    """Does every known value have a code below the number of categories? Numbers are looked for by bisection, which in a
    list that is not in its order ends anywhere; text is looked up."""
    listed = categories.tolist()
    present = [value for value in listed if value is not None and value == value]
    if listed[: len(present)] != present:
        return False
    if categories.dtype.kind == "O" and all(isinstance(value, str) for value in present):
        return True
    return all(first < second for first, second in zip(present, present[1:]))


def _one_hot(step: Any, known: Guarantee, where: str) -> Guarantee:
    result = Guarantee([], sparse=bool(step.sparse_output))
    encoded = _encoded(step)
    if encoded is None or step._n_features_outs != step._compute_n_features_outs():
        return Guarantee.nothing(_outputs(step, known))
    rows, start = encoded[1], 0
    for width in map(int, step._n_features_outs):
        block = rows[:, start : start + width]
        ones = (block == 1).sum(axis=1)
        if not ((block == 0) | (block == 1)).all() or (ones > 1).any():
            return Guarantee.nothing(_outputs(step, known))
        start += width
        if width == 0:
            continue
        # A dropped category, and an unknown one where they are ignored, is a row of zeros.
        number = len(result.groups)
        result.groups[number] = {"none": bool((ones == 0).any()), "count": width}
        result.columns += [_listed(np.array([0, 1]), number) for _ in range(width)]
    return result


def _ordinal(step: Any, known: Guarantee, where: str) -> Guarantee:
    encoded = _encoded(step)
    if encoded is None:
        return Guarantee.nothing(_outputs(step, known))
    return Guarantee([_listed(own) for own in encoded[1].T], sparse=False)


def _readings(values: np.ndarray) -> np.ndarray:
    """What the trees may see of these numbers: the numbers, rounded to float32 (LightGBM does that to whole numbers of
    NumPy), or read from the text that NumPy makes of them beside a column of text."""
    with np.errstate(over="ignore"):
        readings = [values, values.astype(np.float32), values.astype("U")]
        return np.concatenate([own.astype(np.float64) for own in readings])


def _listed(values: np.ndarray, group: int | None = None) -> Column:
    """A column of nothing but these numbers."""
    numbers = np.unique(values.astype(np.uint8) if values.dtype.kind == "b" else values)
    missing = bool(np.isnan(numbers).any())
    readings = np.unique(_readings(numbers[~np.isnan(numbers)]))
    # Whole numbers beyond 2^53 are rounded once or twice, and infinite ones are no values of a domain.
    limits = {"values": readings.tolist()} if readings.size and (np.abs(readings) <= 2.0**53).all() else {}
    return Column(missing, limits, group, numeric=True)


def _bins(step: Any, known: Guarantee, where: str) -> Guarantee:
    if step.encode != "ordinal":
        # The encoder has its own settings, which `fit` gave it.
        return _after(step._encoder, known, _inside(where, "_encoder"))
    dtype = np.dtype(np.float64 if step.dtype is None else step.dtype)
    if dtype.kind not in "biuf":
        return Guarantee.nothing(_outputs(step, known))
    return Guarantee([_listed(np.arange(len(own) - 1).astype(dtype)) for own in step.bin_edges_], sparse=False)


def _imputer(step: Any, known: Guarantee, where: str) -> Guarantee:
    if not _is_nan(step.missing_values):
        return Guarantee.nothing(_outputs(step, known))
    kept = [at for at, value in enumerate(step.statistics_) if step.keep_empty_features or not _is_nan(value)]
    result = known.picked(kept)
    # These strategies make numbers of everything that can be missing; the others leave None and the text "nan".
    numeric = step.strategy not in ("most_frequent", "constant") and step._fit_dtype.kind != "O"
    for at, own in zip(kept, result.columns):
        own.numeric |= numeric
        if own.missing:
            # What is filled in need not be within the limits.
            own.limits = {}
            own.missing = not own.numeric or not _is_number(step.statistics_[at])
    if step.add_indicator:
        result = result.joined(_after(step.indicator_, known, _inside(where, "indicator_")))
    return result


def _indicator(step: Any, known: Guarantee, where: str) -> Guarantee:
    return Guarantee([_listed(np.array([0, 1])) for _ in step.features_], sparse=step.sparse is not False)


def _min_max(step: Any, known: Guarantee, where: str) -> Guarantee:
    """The ends are rounded to the dtype of the rows, which are clipped in it."""
    limits = {}
    scaled = bool(np.isfinite(step.scale_).all() and np.isfinite(step.min_).all())
    if step.clip:
        with np.errstate(over="ignore"):
            dtypes = (np.float16, np.float32, np.float64)
            ends = np.concatenate([_readings(np.array(step.feature_range[:2], dtype=own)) for own in dtypes])
        scaled &= not np.isnan(ends).any()
        named = {"min": float(ends.min()), "max": float(ends.max())}
        limits = {name: end for name, end in named.items() if np.isfinite(end)}
    columns = [Column(own.missing or not scaled, dict(limits), numeric=True) for own in known.columns]
    return Guarantee(columns, sparse=False)


def _function(step: Any, known: Guarantee, where: str) -> Guarantee:
    """What a ColumnTransformer makes of "passthrough": no function at all."""
    return known if step.func is None else Guarantee.nothing(_outputs(step, known))


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not _is_nan(value)


# By the module that a class is imported from, and its name there.
RULES = {
    ("sklearn.pipeline", "Pipeline"): _pipeline,
    ("sklearn.pipeline", "FeatureUnion"): _feature_union,
    ("sklearn.compose", "ColumnTransformer"): _column_transformer,
    ("sklearn.preprocessing", "OneHotEncoder"): _one_hot,
    ("sklearn.preprocessing", "OrdinalEncoder"): _ordinal,
    ("sklearn.preprocessing", "KBinsDiscretizer"): _bins,
    ("sklearn.preprocessing", "MinMaxScaler"): _min_max,
    ("sklearn.preprocessing", "FunctionTransformer"): _function,
    ("sklearn.impute", "SimpleImputer"): _imputer,
    ("sklearn.impute", "MissingIndicator"): _indicator,
}
