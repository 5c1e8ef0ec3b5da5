"""Pipelines with every transformer that a domain is taken from, random settings and dtypes, and hostile rows.

What the live steps give must lie in `Domain.from_pipeline`, the pruned pipeline must keep the classes of those rows, and a
pipeline whose step had a method replaced must be refused.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from seen import Seen
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder

import secateur

DTYPES = (np.int8, np.uint8, np.int16, np.float16, np.float32, np.float64, np.int64)
ROWS = (np.float16, np.float32, np.float64, np.int32, np.int64, object)


def outside(domain: secateur.Domain, names: list[str], rows: np.ndarray) -> list[str]:
    """The parts of a domain that some of these rows are not in."""
    facts, found = domain.to_dict(), []
    for name, limits in facts["columns"].items():
        own = rows[:, names.index(name)]
        present = own[~np.isnan(own)]
        if not limits.get("missing", True) and present.size < own.size:
            found.append(f"{name} is missing")
        if "values" in limits and not np.isin(present, limits["values"]).all():
            found.append(f"{name} is {present[~np.isin(present, limits['values'])][0]}")
        if (present < limits.get("min", -np.inf)).any() or (present > limits.get("max", np.inf)).any():
            found.append(f"{name} is from {present.min()} to {present.max()}, and not {limits}")
    for group in facts["groups"]:
        own = rows[:, [names.index(name) for name in group["columns"]]]
        ones = (own == 1).sum(axis=1)
        if not ((own == 0) | (own == 1)).all() or not ((ones == 1) | (group["none"] & (ones == 0))).all():
            found.append(f"{group}")
    return found


def numeric_step(random: np.random.Generator) -> Any:
    """A step for a column of numbers, some of which are missing."""
    ends = tuple(sorted(random.choice([-0.3, 0.0, 0.1, 0.7, 0.9, 1.0, 70000.0], 2, replace=False).tolist()))
    scale = MinMaxScaler(feature_range=ends, clip=bool(random.random() < 0.8))
    fill = SimpleImputer(
        strategy=str(random.choice(["mean", "median", "most_frequent", "constant"])),
        add_indicator=bool(random.random() < 0.5),
    )
    encode = str(random.choice(["ordinal", "onehot-dense", "onehot"]))
    bins = KBinsDiscretizer(int(random.integers(2, 6)), encode=encode, strategy="uniform")
    both = FeatureUnion([("scale", MinMaxScaler(clip=True)), ("missing", MissingIndicator(features="all"))])
    return [
        scale,
        fill,
        Pipeline([("scale", scale), ("fill", fill)]),
        Pipeline([("fill", SimpleImputer()), ("bins", bins)]),
        both,
        FunctionTransformer(),
    ][int(random.integers(6))]


def code_step(random: np.random.Generator) -> Any:
    """A step for a column of many categories, which are whole numbers."""
    if random.random() < 0.3:
        ignored = str(random.choice(["ignore", "infrequent_if_exist"]))
        drop = [None, "first"][int(random.integers(2))]
        fewer = [None, 5][int(random.integers(2))]
        # SciPy has no sparse rows of float16, through which the encoder goes.
        dtype = [own for own in DTYPES if own is not np.float16][int(random.integers(len(DTYPES) - 1))]
        return OneHotEncoder(handle_unknown=ignored, drop=drop, max_categories=fewer, dtype=dtype, sparse_output=False)
    dtype = DTYPES[int(random.integers(len(DTYPES)))]
    unknown = [-1, 2049, np.nan][int(random.integers(3))] if np.dtype(dtype).kind == "f" else 120_000
    if np.dtype(dtype).kind != "f":
        unknown = min(unknown, int(np.iinfo(dtype).max))
    return OrdinalEncoder(dtype=dtype).set_params(handle_unknown="use_encoded_value", unknown_value=unknown)


def drawn(random: np.random.Generator) -> tuple[Pipeline, np.ndarray]:
    """A fitted pipeline, and the rows that it was fitted on."""
    many = int(random.choice([5, 130, 300]))
    train = np.column_stack([random.integers(0, many, 600), random.normal(0, 3, (600, 2)).round(2)]).astype(float)
    train[random.random(600) < 0.1, 1] = np.nan
    y = (train[:, 0] > many / 2).astype(int) ^ (np.nan_to_num(train[:, 1]) > 0.5)
    code = code_step(random)
    # Codes that are unknown values already are refused by `fit`.
    if isinstance(code, OrdinalEncoder) and 0 <= (code.unknown_value or 0) < many:
        code.set_params(unknown_value=-1 if np.dtype(code.dtype).kind != "u" else None, handle_unknown="use_encoded_value")
        if code.unknown_value is None:
            code.set_params(handle_unknown="error")
    weights = {"second": 0.3} if random.random() < 0.2 else None
    parts = [("codes", code, [0]), ("first", numeric_step(random), [1]), ("second", numeric_step(random), [2])]
    steps = ColumnTransformer(parts, transformer_weights=weights, sparse_threshold=0.0)
    forest = RandomForestClassifier(9, max_depth=4, random_state=int(random.integers(1 << 20)))
    return Pipeline([("columns", steps), ("model", forest)]).fit(train, y), train


def hostile(random: np.random.Generator, train: np.ndarray, dtype: Any) -> np.ndarray:
    """Rows of this dtype: those of the training with numbers beyond all of them, and missing ones."""
    rows = train[random.permutation(len(train))].copy()
    kind = np.dtype(dtype).kind
    far = [1e4, -1e4, 0.099, 65504.0] + ([] if kind in "iu" else [np.nan])
    for column in (1, 2):
        places = random.integers(0, len(rows), 60)
        rows[places, column] = random.choice(far, 60)
    rows[:20, 0] = 999
    return (np.nan_to_num(rows) if kind in "iu" else rows).astype(dtype)


def pipelines(seed: int) -> Seen:
    """One random pipeline with rows of every dtype."""
    random = np.random.default_rng([seed, 31])
    seen = Seen(cases=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline, train = drawn(random)
        domain = secateur.Domain.from_pipeline(pipeline)
        names = secateur.load(pipeline).feature_names
        pruned = secateur.prune(pipeline, domain=domain, threads=1, time_limit=4.0).model
        for dtype in ROWS:
            rows = hostile(random, train, dtype)
            # Some steps refuse missing values or unknown categories for all rows of a batch: each row on its own then.
            for batch in (rows[:20], rows[20:300], rows[300:]):
                try:
                    given = np.asarray(pipeline[:-1].transform(batch), dtype=np.float64)
                    expected = pipeline.predict(batch)
                except ValueError:
                    seen.refused += 1
                    continue
                seen.rows += len(batch)
                where = f"pipelines {seed}: {np.dtype(dtype)}, {pipeline[0].transformers_}"
                seen.wrong += [f"{where}: {what}" for what in outside(domain, names, given)]
                if (pruned.predict(batch) != expected).any():
                    seen.wrong.append(f"{where}: classes changed")
    return seen


def replaced(seed: int) -> Seen:
    """A step of a random pipeline with a method of its own."""
    random = np.random.default_rng([seed, 32])
    seen = Seen(cases=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline, _ = drawn(random)
        places = [pipeline[0], *(step for _, step, _ in pipeline[0].transformers_ if not isinstance(step, str))]
        places += [step for place in places[1:] if isinstance(place, Pipeline) for _, step in place.steps]
        place = places[int(random.integers(len(places)))]
        name = str(random.choice(["transform", "get_feature_names_out", "_check_feature_names", "_more_tags"]))
        if not hasattr(type(place), name):
            name = "transform"
        setattr(place, name, lambda X: X)
        try:
            secateur.Domain.from_pipeline(pipeline)
            seen.wrong.append(f"replaced {seed}: {type(place).__name__}.{name} was not refused")
        except secateur.ModelError:
            seen.refused += 1
    return seen
