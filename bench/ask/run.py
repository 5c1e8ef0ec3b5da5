"""Questions about single rows, with their proofs: `python -m bench ask`.

For models of Spambase, House-16H and Pima: the exact radius, a reason without a superfluous column, and the nearest
input of another class, of rows from the data. One thread, processor time, each certificate and its check included. Beside
them Veritas (dtai-veritas), where it is installed: its radius to 1e-6, without a proof.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lightgbm
import numpy as np
import secateur
import xgboost

RESULTS = Path(__file__).resolve().parents[1] / "results"
TABLES = ("Pima-Diabetes", "Spambase", "House-16H")


def table(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The columns, and the class, which is the last one."""
    with open(folder / name / f"{name}.full.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    values = np.array(rows, dtype=float)
    return values[:, :-1].astype(np.float32).astype(float), (values[:, -1] > np.median(values[:, -1])).astype(int)


def models(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, object]]:
    train = np.random.default_rng(0).permutation(len(X))[: len(X) * 4 // 5]
    yield "XGBoost d6x100", xgboost.XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0).fit(X[train], y[train])
    light = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1, random_state=0)
    yield "LightGBM 100x31", light.fit(X[train], y[train])


def timed(work: Callable[[], object]) -> tuple[object, float]:
    before = time.process_time()
    return work(), time.process_time() - before


def told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} / {max(seconds):.3f} / {sum(seconds):.2f}"


def veritas_radius(model: object, rows: np.ndarray, scale: np.ndarray) -> list[float] | None:
    """The processor time of each row's radius; None where Veritas is not installed or does not read the model."""
    try:
        import veritas
    except ImportError:
        return None
    # Its boxes are in the model's own columns: the thresholds are divided by the scale of each.
    ensemble = veritas.get_addtree(model)
    taken = []
    for row in rows:
        label = int(ensemble.eval(row.reshape(1, -1))[0, 0] > 0)

        def found(radius: float, row: np.ndarray = row, label: int = label) -> bool:
            box = [veritas.Interval(low, high) for low, high in zip(row - radius * scale, np.nextafter(row + radius * scale, np.inf))]
            config = veritas.Config(veritas.HeuristicType.MIN_OUTPUT if label else veritas.HeuristicType.MAX_OUTPUT)
            config.stop_when_optimal = True
            config.ignore_state_when_worse_than = 0.0
            config.max_focal_size, config.focal_eps = 1, 1.0
            search = config.get_search(ensemble, box)
            search.step_for(10.0, 100)
            return search.num_solutions() > 0

        def radius(found: Callable[[float], bool] = found) -> float:
            low, high = 0.0, 1.0
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (low, middle) if found(middle) else (middle, high)
            return high

        taken.append(timed(radius)[1])
    return taken


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--datasets", type=Path, required=True)
    arguments.add_argument("--rows", type=int, default=50, help="rows of each model")
    arguments.add_argument("--tables", nargs="+", default=TABLES)
    arguments.add_argument("--page", type=Path, help="write the page here instead of bench/results")
    given = arguments.parse_args()
    lines, others = [], []
    for name in given.tables:
        X, y = table(given.datasets, name)
        rows = X[np.random.default_rng(1).permutation(len(X))[: given.rows]]
        width = X.max(axis=0) - X.min(axis=0)
        scale = np.where(width > 0, width, 1.0)
        for kind, model in models(X, y):
            questions = secateur.ask(model, X, missing=False, threads=1)
            units = {str(column): float(own) for column, own in enumerate(scale)}
            radii, reasons, nearest = [], [], []
            exact = minimal = found = 0
            sizes, kept = [], []
            for row in rows:
                answer, seconds = timed(lambda row=row: questions.robust(row.reshape(1, -1), units=units))
                radii.append(seconds)
                exact += answer.proved is True and answer.checked
                answer, seconds = timed(lambda row=row: questions.explain(row, widen=False))
                reasons.append(seconds)
                minimal += answer.proved is True and answer.checked and answer.cases[0].minimal
                kept.append(len(answer.cases[0].columns or ()))
                answer, seconds = timed(lambda row=row: questions.counterfactual(row))
                nearest.append(seconds)
                found += answer.proved is True and answer.checked
                sizes.append(len(answer.certificate or b""))
            # The rows of a table share one layout of the model.
            answer, together = timed(lambda: questions.robust(rows, units=units))
            lines.append(
                f"| {name} ({X.shape[1]}), {kind} | {together:.2f} | {told(radii)} | {told(reasons)} | {min(kept)}-{max(kept)} | "
                f"{told(nearest)} | {max(sizes) / 1000:.1f} | {exact}, {minimal}, {found} of {len(rows)} |"
            )
            print(lines[-1], flush=True)
            if (peer := veritas_radius(model, rows, scale)) is not None:
                others.append(f"| {name}, {kind} | {sum(peer):.2f} | {statistics.median(peer):.3f} | {max(peer):.3f} |")
                print(others[-1], flush=True)
    today = datetime.date.today().isoformat()
    page = f"""# Questions about single rows, {today}

`python -m bench ask`: secateur {secateur.__version__}, Python {platform.python_version()}, XGBoost {xgboost.__version__}, LightGBM {lightgbm.__version__},
{os.cpu_count()} cores, one used; load {os.getloadavg()[0]:.0f}. Processor time in seconds; {given.rows} rows of each table, one thread, without missing values, all
columns free. Each time has the certificate and its check in it, and laying the model out, which each call does once. "Table" is the exact
radius of all rows in one call; the others are median / greatest / total of calls for single rows. The radius is in ranges of the columns, the
distance adds up changes in ranges. "Kept" says how many columns a reason keeps, "kB" is the largest certificate of a nearest
input, and "proved" counts exact radii, reasons without a superfluous column, and nearest inputs.

| table (columns), model | radius, table | radius | reason | kept | nearest | kB | proved |
|---|---|---|---|---|---|---|---|
{chr(10).join(lines)}
"""
    if others:
        page += f"""
Veritas (dtai-veritas) by bisection in 20 steps, to 1e-6 of the ranges, without a proof (`max_focal_size=1`, `focal_eps=1`):

| table, model | total | median | greatest |
|---|---|---|---|
{chr(10).join(others)}
"""
    (given.page or RESULTS / f"{today}-ask.md").write_text(page)


if __name__ == "__main__":
    main()
