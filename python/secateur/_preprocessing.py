"""What fitted scikit-learn steps guarantee of their outputs: `Domain.from_pipeline`.

Every input of a pipeline lands in what its steps can give, whatever the data was. Only what a step guarantees by its
code is taken: a step that is not known guarantees nothing, and a column that may be missing loses its other
guarantees where a later step fills it.

Floating point: a value list is computed by the very arithmetic of the step (`transform`), not by a formula of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur._errors import OptionError


@dataclass
class Column:
    """What is known of one column: `None` for nothing."""

    missing: bool = True
    limits: dict[str, Any] = field(default_factory=dict)
    group: int | None = None


@dataclass
class Guarantee:
    """Columns in their order, and groups by number."""

    columns: list[Column]
    groups: dict[int, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, count: int) -> Guarantee:
        return cls([Column() for _ in range(count)])

    def picked(self, positions: list[int]) -> Guarantee:
        """Some columns; a group that is not picked whole is gone, its columns stay 0 or 1."""
        columns = [self.columns[at] for at in positions]
        result = Guarantee([Column(own.missing, dict(own.limits), own.group) for own in columns])
        for number, group in self.groups.items():
            members = [at for at, own in enumerate(result.columns) if own.group == number]
            if len(members) == group["count"] and len(set(positions)) == len(positions):
                result.groups[number] = group
            else:
                for at in members:
                    result.columns[at].group = None
        return result

    def joined(self, other: Guarantee) -> Guarantee:
        """The columns of the other behind these."""
        shift = 1 + max(self.groups, default=-1)
        for own in other.columns:
            if own.group is not None:
                own.group += shift
        self.groups |= {number + shift: group for number, group in other.groups.items()}
        self.columns += other.columns
        return self


def guarantee(steps: list[Any], count: int) -> Guarantee:
    """What is known behind these steps of rows of `count` columns."""
    known = Guarantee.nothing(count)
    for step in steps:
        known = _behind(step, known)
    return known


def may_be_sparse(step: Any) -> bool:
    """Could these steps give sparse rows? XGBoost reads what such a row does not hold as missing, not as zero."""
    if step is None or isinstance(step, str):
        return False
    name = type(step).__name__
    if name == "Pipeline":
        return bool(step.steps) and may_be_sparse(step.steps[-1][1])
    if name == "ColumnTransformer":
        return bool(getattr(step, "sparse_output_", True))
    if name == "OneHotEncoder":
        return bool(step.sparse_output)
    if name == "KBinsDiscretizer":
        return step.encode == "onehot"
    return name not in {"OrdinalEncoder", "SimpleImputer", "MinMaxScaler", "FunctionTransformer"}


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


def _behind(step: Any, known: Guarantee) -> Guarantee:
    if step is None or isinstance(step, str) and step == "passthrough":
        return known
    name = type(step).__name__
    if not type(step).__module__.startswith("sklearn."):
        return Guarantee.nothing(_outputs(step, known))
    rule = _RULES.get(name)
    if rule is None:
        return Guarantee.nothing(_outputs(step, known))
    behind = rule(step, known)
    if name == "Pipeline":
        return behind
    # Whatever a version of scikit-learn does otherwise than the rules know shows in the number of columns, if anywhere.
    count = _outputs(step, known)
    return behind if len(behind.columns) == count else Guarantee.nothing(count)


def _outputs(step: Any, known: Guarantee) -> int:
    """How many columns a step gives."""
    try:
        return len(step.get_feature_names_out())
    except Exception:  # noqa: BLE001 - whatever a foreign step raises, its width is then unknown
        width = getattr(step, "n_features_in_", None)
        if width is None:
            raise OptionError(f"the step {step!r} does not say how many columns it gives") from None
        return len(known.columns)


def _pipeline(step: Any, known: Guarantee) -> Guarantee:
    for _, inner in step.steps:
        known = _behind(inner, known)
    return known


def _column_transformer(step: Any, known: Guarantee) -> Guarantee:
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
        part = _behind(inner, known.picked(positions))
        if len(part.columns) != place.stop - place.start:
            part = Guarantee.nothing(place.stop - place.start)
        parts.append((place.start, part))
    for _, part in sorted(parts, key=lambda part: part[0]):
        result = result.joined(part)
    return result


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


def _one_hot(step: Any, known: Guarantee) -> Guarantee:
    result = Guarantee([])
    grouped = getattr(step, "_infrequent_enabled", False)
    for at, categories in enumerate(step.categories_):
        names = len(categories)
        dropped = step.drop_idx_[at] is not None if step.drop_idx_ is not None else False
        if grouped and step.infrequent_categories_[at] is not None:
            names = names - len(step.infrequent_categories_[at]) + 1
        width = names - int(dropped)
        if width == 0:
            continue
        # A dropped category, and an unknown one where they are ignored, is a row of zeros.
        ignored = step.handle_unknown in ("ignore", "warn") or step.handle_unknown == "infrequent_if_exist"
        number = len(result.groups)
        result.groups[number] = {"none": bool(dropped or ignored), "count": width}
        result.columns += [Column(missing=False, limits={"values": [0, 1]}, group=number) for _ in range(width)]
    return result


def _ordinal(step: Any, known: Guarantee) -> Guarantee:
    result = Guarantee([])
    for at, categories in enumerate(step.categories_):
        codes = [float(code) for code in range(len(categories))]
        missing = False
        if step.handle_unknown == "use_encoded_value":
            if _is_nan(step.unknown_value):
                missing = True
            else:
                codes.append(float(step.unknown_value))
        encoded = getattr(step, "encoded_missing_value", np.nan)
        if len(categories) and _is_nan(categories[-1]):
            if _is_nan(encoded):
                missing = True
            else:
                codes.append(float(encoded))
        result.columns.append(Column(missing=missing, limits={"values": sorted(set(codes))}))
    return result


def _bins(step: Any, known: Guarantee) -> Guarantee:
    if step.encode == "ordinal":
        values = [[float(code) for code in range(int(bins))] for bins in step.n_bins_]
        return Guarantee([Column(missing=False, limits={"values": own}) for own in values])
    result = Guarantee([])
    for number, bins in enumerate(step.n_bins_):
        result.groups[number] = {"none": False, "count": int(bins)}
        result.columns += [
            Column(missing=False, limits={"values": [0, 1]}, group=number) for _ in range(int(bins))
        ]
    return result


def _imputer(step: Any, known: Guarantee) -> Guarantee:
    if not _is_nan(step.missing_values):
        return Guarantee.nothing(_outputs(step, known))
    statistics = np.asarray(step.statistics_)
    kept = [
        at
        for at, value in enumerate(statistics)
        if step.keep_empty_features or not (isinstance(value, float) and np.isnan(value))
    ]
    result = known.picked(kept)
    for own in result.columns:
        if own.missing:
            # What is filled in need not be within the limits.
            own.limits = {}
            if own.group is not None:
                result.groups.pop(own.group, None)
                for other in result.columns:
                    if other is not own and other.group == own.group:
                        other.group = None
                own.group = None
        own.missing = False
    if step.add_indicator:
        flags = len(step.indicator_.features_)
        result = result.joined(
            Guarantee([Column(missing=False, limits={"values": [0, 1]}) for _ in range(flags)])
        )
    return result


def _indicator(step: Any, known: Guarantee) -> Guarantee:
    flags = len(step.features_)
    return Guarantee([Column(missing=False, limits={"values": [0, 1]}) for _ in range(flags)])


def _min_max(step: Any, known: Guarantee) -> Guarantee:
    # Of float32 columns the ends are rounded.
    low = min(float(step.feature_range[0]), float(np.float32(step.feature_range[0])))
    high = max(float(step.feature_range[1]), float(np.float32(step.feature_range[1])))
    columns = []
    for own in known.columns:
        limits = {"min": low, "max": high} if step.clip else {}
        columns.append(Column(missing=own.missing, limits=limits))
    return Guarantee(columns)


def _function(step: Any, known: Guarantee) -> Guarantee:
    """What a ColumnTransformer makes of "passthrough": no function at all."""
    return known if step.func is None else Guarantee.nothing(_outputs(step, known))


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


_RULES = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "KBinsDiscretizer": _bins,
    "SimpleImputer": _imputer,
    "MissingIndicator": _indicator,
    "MinMaxScaler": _min_max,
    "FunctionTransformer": _function,
}
