"""Contributions (SHAP values) beside the libraries' own: `python -m bench contributions`.

One thread and processor time, since the machine may be busy: the least of several rounds in which the two take turns.
Goal: at least three times the library's speed on 100 trees of depth 6.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import time
from pathlib import Path
from typing import Callable

import lightgbm
import numpy as np
import secateur
import xgboost

RESULTS = Path(__file__).resolve().parent / "results"
ROUNDS = 5


def least(*works: Callable[[], object]) -> list[float]:
    """The least processor time of each, in seconds."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, taken in zip(works, times):
            before = time.process_time()
            work()
            taken.append(time.process_time() - before)
    return [min(taken) for taken in times]


def models(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> list[tuple[str, object, Callable[[], np.ndarray]]]:
    """Each with how its own library explains the rows."""
    found: list[tuple[str, object, Callable[[], np.ndarray]]] = []
    table = xgboost.DMatrix(rows, nthread=1)
    for depth, trees in ((3, 100), (6, 100), (6, 500), (10, 100)):
        model = xgboost.XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0).fit(X, y)
        booster = model.get_booster()
        booster.set_param({"nthread": 1})
        found.append((f"XGBoost, depth {depth}, {trees} trees", model, lambda own=booster: own.predict(table, pred_contribs=True)))
    for leaves, trees in ((31, 100), (63, 100), (63, 500)):
        light = lightgbm.LGBMClassifier(n_estimators=trees, num_leaves=leaves, n_jobs=1, verbose=-1, random_state=0).fit(X, y)
        found.append((f"LightGBM, {leaves} leaves, {trees} trees", light, lambda own=light: own.predict(rows, pred_contrib=True, num_threads=1)))
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=1000)
    count = arguments.parse_args().rows
    X = np.random.default_rng(0).normal(size=(max(count, 4000), 20)).astype(np.float32)
    y = (X[:, :6].prod(axis=1) + X[:, 6:].sum(axis=1) > 0).astype(int)
    rows = X[:count]
    lines = []
    for name, model, own in models(X, y, rows):
        packed = secateur.pack(model)
        ours, theirs = packed.contributions(rows), own()
        distance = np.abs(ours - theirs).max()
        added = np.abs(ours.sum(axis=1) - packed.raw_scores(rows)[:, 0]).max()
        library, here = least(own, lambda: packed.contributions(rows))
        micro = len(rows) / 1e6
        lines.append(
            f"| {name} | {library / micro:,.1f} | {here / micro:,.1f} | {library / here:.1f} | {distance:.1e} | {added:.1e} | "
            f"{packed.contributions_error:.1e} |"
        )
        print(lines[-1], flush=True)
    today = datetime.date.today().isoformat()
    page = f"""# Contributions beside the libraries' own, {today}

`python -m bench contributions`: secateur {secateur.__version__}, Python {platform.python_version()}, XGBoost {xgboost.__version__}, LightGBM
{lightgbm.__version__}, {os.cpu_count()} cores, one used; load {os.getloadavg()[0]:.0f}. Processor time in µs for a row of 20 columns, {len(rows):,} rows at a time: the least of {ROUNDS} rounds
in which both take turns. "Distance" is the largest from the library's number (XGBoost computes in float32), "off" how far a row's contributions are
from its raw score at most, "bound" what `contributions_error` says of that.

| model | library | packed | times | distance | off | bound |
|---|---|---|---|---|---|---|
""" + "\n".join(lines) + "\n"
    (RESULTS / f"{today}-contributions.md").write_text(page)


if __name__ == "__main__":
    main()
