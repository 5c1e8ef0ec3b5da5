"""Edge family about deep trees: chains with a split on each of up to thousands of levels, which no library trains and a file may hold.

XGBoost decides what such a model gives. Packing, comparing and pruning it end within their time limit, which is counted in seconds of
the processor, since other work may run beside.
"""

from __future__ import annotations

import functools
import json
import time
from typing import Any, Callable

import numpy as np
import xgboost
from seen import Seen
from threadpoolctl import threadpool_limits

import secateur

LIMIT = 1.0
# Steps between two looks at the clock, and the noise of the machine. With a row for every leaf a chain of 3,000 levels took 35 seconds.
LATE = 6.0


@functools.cache
def _skeleton() -> str:
    data = xgboost.DMatrix(np.arange(60.0).reshape(20, 3), label=np.arange(20) % 2)
    trained = xgboost.train({"objective": "binary:logistic", "base_score": 0.5, "max_depth": 1}, data, 1)
    return bytes(trained.save_raw("json")).decode()


def _chain(random: np.random.Generator, levels: int, columns: int, ordered: bool) -> dict[str, Any]:
    """The split on level i has the nodes 2i + 1 and 2i + 2 below it. One of them, on a random side or always on the left, is a leaf, and
    the other one the next split or the last leaf."""
    count = 2 * levels + 1
    level = np.arange(levels)
    leaf_left = (random.random(levels) < 0.5) | ordered
    below = 2 * level + 1 + leaf_left
    nodes = np.concatenate([[0], below[:-1]])
    conditions = random.normal(size=count).astype(np.float32).astype(float)
    # In order every leaf can be reached; in another order most cannot.
    conditions[nodes] = level // columns if ordered else random.integers(0, levels, levels)
    left, right, features, missing = np.full(count, -1), np.full(count, -1), np.zeros(count, int), np.zeros(count, int)
    left[nodes], right[nodes], features[nodes] = 2 * level + 1, 2 * level + 2, level % columns
    missing[nodes] = random.random(levels) < 0.3
    parents = np.concatenate([[2147483647], np.repeat(nodes, 2)])
    return {
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "parents": parents.tolist(),
        "split_indices": features.tolist(),
        "split_conditions": conditions.tolist(),
        "base_weights": conditions.tolist(),
        "split_type": [0] * count,
        "default_left": missing.tolist(),
        "loss_changes": [0.0] * count,
        "sum_hessian": [1.0] * count,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }


def _file(trees: list[dict[str, Any]]) -> bytes:
    document = json.loads(_skeleton())
    inner = document["learner"]["gradient_booster"]["model"]
    first = inner["trees"][0]
    inner["trees"] = [
        {**first, **tree, "id": at, "tree_param": {**first["tree_param"], "num_nodes": str(len(tree["parents"]))}}
        for at, tree in enumerate(trees)
    ]
    inner["tree_info"] = [0] * len(trees)
    inner["iteration_indptr"] = list(range(len(trees) + 1))
    inner["gbtree_model_param"]["num_trees"] = str(len(trees))
    return json.dumps(document).encode()


@threadpool_limits.wrap(limits=1)
def chains(seed: int) -> Seen:
    """One random model of chains."""
    random = np.random.default_rng([seed, 41])
    levels = int(random.choice([1, 7, 64, 65, 300, 1500, 3000], p=[0.05, 0.1, 0.15, 0.1, 0.3, 0.2, 0.1]))
    columns, ordered = int(random.integers(1, 4)), bool(random.random() < 0.5)
    count = int(random.integers(1, 4)) if levels <= 300 else 1
    trees = [_chain(random, levels, columns, ordered) for _ in range(count)]
    changed = json.loads(json.dumps(trees))
    # The leaf below the root can always be reached.
    leaf = next(node for node in (1, 2) if trees[0]["left_children"][node] < 0)
    changed[0]["split_conditions"][leaf] += 1.0
    data = _file(trees)
    where = f"chains {seed}: {count} of {levels} levels, {columns} columns, {'' if ordered else 'not '}in order"
    seen = Seen(cases=1)

    def timed(what: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        try:
            return work()
        except secateur.SecateurError as error:
            if "time limit" not in str(error):
                raise
            seen.refused += 1
            return None
        finally:
            took = time.process_time() - started
            if took > LATE:
                seen.wrong.append(f"{where}: {what} took {took:.1f} seconds of the processor, and had {LIMIT:.0f}")

    rows = random.integers(-1, levels // columns + 2, (300, 3)).astype(np.float64)
    rows = np.where(random.random(rows.shape) < 0.3, np.nextafter(rows.astype(np.float32), np.float32(-np.inf)).astype(float), rows)
    rows[random.random(rows.shape) < 0.1] = np.nan
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(data))
    expected = booster.predict(xgboost.DMatrix(rows, nthread=1), output_margin=True).astype(float)
    model, other = secateur.Model.parse(data), secateur.Model.parse(_file(changed))
    packed = timed("pack", lambda: secateur.pack(model, time_limit=LIMIT))
    for kind in (model, packed):
        if kind is not None:
            seen.rows += len(rows)
            if not np.array_equal(np.asarray(kind.raw_scores(rows))[:, 0], expected):
                seen.wrong.append(f"{where}: {type(kind).__name__} gives other scores")
    same = timed("verify", lambda: secateur.verify(model, model, time_limit=LIMIT, threads=1))
    apart = timed("verify of another", lambda: secateur.verify(model, other, time_limit=LIMIT, threads=1))
    if same is not None and same.different:
        seen.wrong.append(f"{where}: a model differs from itself")
    if apart is not None and apart.identical and _decisions_differ(booster, _file(changed), rows):
        seen.wrong.append(f"{where}: models that decide otherwise are called identical")
    timed("prune", lambda: secateur.prune(model, time_limit=LIMIT, threads=1))
    return seen


def _decisions_differ(booster: xgboost.Booster, data: bytes, rows: np.ndarray) -> bool:
    other = xgboost.Booster({"nthread": 1})
    other.load_model(bytearray(data))
    table = xgboost.DMatrix(rows, nthread=1)
    return bool(((booster.predict(table) > 0.5) != (other.predict(table) > 0.5)).any())
