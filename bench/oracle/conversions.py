"""`python -m bench conversions`: models of the paper's datasets against their ONNX conversions.

For each dataset and learner, 100 trees of depth 6: proved, refuted (confirmed by running both libraries on the row)
or undecided, with time and boxes, on one thread and with a minute for each question. Both directions are asked:
the band of the claim is the rounding of the model that comes first. Where that ends undecided, the table says above
which lead the two models are proved to decide alike.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")  # of converters and wrappers; nothing here depends on them

import onnxmltools
import onnxruntime
import skl2onnx
from lightgbm import LGBMClassifier
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx.common.data_types import FloatTensorType as SklearnFloatTensorType
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

import secateur

CHECKOUT = Path(__file__).resolve().parents[2]
DATASETS = ["Pima-Diabetes", "Breast-Cancer-Wisconsin", "FICO", "COMPAS-ProPublica", "Seeds"]
LEARNERS = {
    "XGBoost": lambda trees, depth: XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0),
    "LightGBM": lambda trees, depth: LGBMClassifier(
        n_estimators=trees, max_depth=depth, num_leaves=2**depth, n_jobs=1, verbose=-1, random_state=0
    ),
    "RandomForest": lambda trees, depth: RandomForestClassifier(trees, max_depth=depth, random_state=0),
    "GradientBoosting": lambda trees, depth: GradientBoostingClassifier(
        n_estimators=trees, max_depth=depth, random_state=0
    ),
}


def training_rows(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(folder / name / f"{name}.full.csv")
    rows = table.iloc[:, :-1].to_numpy(np.float64)
    target = pd.factorize(table.iloc[:, -1], sort=True)[0]
    rows, _, target, _ = train_test_split(rows, target, test_size=0.2, random_state=0)
    return rows, target


def converted(learner: str, fitted, width: int) -> bytes:
    types = [("X", FloatTensorType([None, width]))]
    if learner == "XGBoost":
        model = onnxmltools.convert_xgboost(fitted, initial_types=types)
    elif learner == "LightGBM":
        model = onnxmltools.convert_lightgbm(fitted, initial_types=types, zipmap=False)
    else:
        types = [("X", SklearnFloatTensorType([None, width]))]
        model = skl2onnx.to_onnx(fitted, initial_types=types, options={id(fitted): {"zipmap": False}})
    return model.SerializeToString()


def confirmed(fitted, data: bytes, row: np.ndarray) -> bool:
    """Do the two libraries themselves differ on this row?"""
    single = row[np.newaxis, :].astype(np.float32)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    label = session.run([session.get_outputs()[0].name], {"X": single})[0][0]
    return fitted.predict(single.astype(np.float64))[0] != label


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each question")
    parser.add_argument("--only", default="", help="learners whose name holds this text")
    parser.add_argument("--tables", nargs="+", default=DATASETS, metavar="NAME", help="datasets, by their folders")
    parser.add_argument("--save", action="store_true", help="write bench/results/DATE-conversions.md")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    lines = [
        f"# {options.trees} trees of depth {options.depth} against their ONNX conversions",
        "",
        f"secateur {secateur.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, one used; "
        f"load {os.getloadavg()[0]:.1f}. A difference is confirmed by running both libraries on the row.",
        "",
        "| dataset | learner | leaves | first model | answer | band | boxes | seconds |",
        "|---|---|---:|---|---|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    for name in options.tables:
        rows, target = training_rows(name, options.datasets)
        for learner, make in LEARNERS.items():
            if options.only not in learner:
                continue
            fitted = make(options.trees, options.depth).fit(rows, target)
            data = converted(learner, fitted, rows.shape[1])
            models = {"the library's": secateur.load(fitted), "ONNX": secateur.Model.parse(data)}
            for first, second in (("the library's", "ONNX"), ("ONNX", "the library's")):
                started = time.monotonic()
                found = secateur.verify(models[first], models[second], time_limit=options.limit, threads=1)
                seconds = time.monotonic() - started
                answer = {"identical": "proved", "different": "refuted", "undecided": "undecided"}[found.outcome]
                if found.different:
                    sure = confirmed(fitted, data, found.counterexample)
                    answer += ", confirmed" if sure else ", NOT CONFIRMED"
                elif found.undecided:
                    answer += " (time)" if found.reason == "the time limit was reached" else " (order of addition)"
                    above = found.proved_above
                    answer += ", nothing proved" if above is None else f", proved above {above:.2e}"
                lines.append(
                    f"| {name} | {learner} | {models[first].leaf_count} | {first} | {answer} | {found.band:.1e} "
                    f"| {found.nodes} | {seconds:.2f} |"
                )
                print(lines[-1], flush=True)
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-conversions.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
