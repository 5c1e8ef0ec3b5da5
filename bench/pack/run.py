"""`make bench-pack`: packed models beside the libraries and other predictors, on the same models and rows, in one run.

All on one thread and in processor time (the machine may be shared): the least of several rounds, in which the predictors take turns.
A predictor that is not installed or that fails is shown as such. "bits" is the share of rows with the very raw score of the model's own
library, "classes" that with the library's class; rows are data and, for as many again, data with values at a threshold or beside it.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import os
import pathlib
import pickle
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import secateur

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 10_000


@dataclass
class Model:
    """A model with everything that the predictors need."""

    name: str
    fitted: Any
    path: pathlib.Path
    """Its file."""
    kind: str
    train: np.ndarray
    rows: np.ndarray
    classes: int = 2
    times: dict[str, Any] = field(default_factory=dict)


def table(datasets: pathlib.Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        rows, target = load_digits(return_X_y=True)
        return rows.astype(np.float32).astype(np.float64), target
    values = pd.read_csv(datasets / name / f"{name}.full.csv").to_numpy()
    # Values that an f32 holds, so that predictors of f32 get the same inputs.
    return values[:, :-1].astype(np.float32).astype(np.float64), np.unique(values[:, -1], return_inverse=True)[1]


def make(datasets: pathlib.Path, folder: pathlib.Path, name: str, kind: str, size: int, trees: int, missing: bool) -> Model:
    X, y = table(datasets, name)
    random = np.random.default_rng(0)
    if missing:
        X[random.random(X.shape) < 0.15] = np.nan
    rows = X[random.integers(0, len(X), BATCH)]
    what = f"{kind} {'depth' if kind == 'xgboost' else 'leaves'} {size}" if size else f"{kind}, deep"
    title = f"{what}, {trees} trees, {name}{', missing values' if missing else ''}"
    path = folder / title.replace(" ", "-").replace(",", "")
    if kind == "xgboost":
        fitted = xgboost.XGBClassifier(n_estimators=trees, max_depth=size, learning_rate=0.1, n_jobs=1, random_state=0).fit(X, y)
        path = path.with_suffix(".ubj")
        fitted.save_model(path)
    elif kind == "lightgbm":
        fitted = lightgbm.LGBMClassifier(n_estimators=trees, num_leaves=size, learning_rate=0.1, n_jobs=1, verbose=-1, random_state=0)
        fitted = fitted.fit(X, y)
        path = path.with_suffix(".txt")
        fitted.booster_.save_model(path)
    else:
        fitted = RandomForestClassifier(trees, n_jobs=1, random_state=0).fit(X, y)
        path = path.with_suffix(".pickle")
        path.write_bytes(pickle.dumps(fitted))
    return Model(title, fitted, path, kind, X, rows, int(y.max()) + 1)


# Each predictor: from a model to a function of rows that gives raw scores (or probabilities, where it has nothing else), what it gives, and bytes.
Predictor = tuple[Callable[[np.ndarray], np.ndarray], str, int]


def library(model: Model) -> Predictor:
    size = model.path.stat().st_size
    if model.kind == "xgboost":
        booster = model.fitted.get_booster()
        booster.set_param({"nthread": 1})
        return lambda rows: booster.inplace_predict(rows, predict_type="margin"), "raw", size
    if model.kind == "lightgbm":
        booster = model.fitted.booster_
        return lambda rows: booster.predict(rows, raw_score=True, num_threads=1), "raw", size
    return model.fitted.predict_proba, "probability", size


def packed(path: str | None) -> Callable[[Model], Predictor]:
    def build(model: Model) -> Predictor:
        found = model.times.setdefault("packed", secateur.pack(model.fitted))
        if path is not None and path not in found.self_test():
            raise RuntimeError("this processor does not have it")
        if model.kind == "forest":
            return lambda rows: found._packed.probabilities(rows, 1, path), "probability", found.nbytes
        return lambda rows: found._packed.raw_scores(rows, 1, path), "raw", found.nbytes

    return build


def onnxruntime(model: Model) -> Predictor:
    import onnxruntime as runtime

    if model.kind == "forest":
        from skl2onnx import to_onnx

        proto = to_onnx(model.fitted, model.train[:1].astype(np.float32), options={"zipmap": False})
    else:
        from onnxmltools import convert_lightgbm, convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        kinds = [("X", FloatTensorType([None, model.train.shape[1]]))]
        if model.kind == "xgboost":
            proto = convert_xgboost(model.fitted, initial_types=kinds)
        else:
            proto = convert_lightgbm(model.fitted, initial_types=kinds, zipmap=False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(proto.SerializeToString(), options)
    name, output = session.get_inputs()[0].name, session.get_outputs()[-1].name
    return lambda rows: session.run([output], {name: rows.astype(np.float32, copy=False)})[0], "probability", proto.ByteSize()


def onedal(model: Model) -> Predictor:
    import daal4py

    if model.kind == "xgboost":
        built = daal4py.mb.convert_model(model.fitted.get_booster())
    elif model.kind == "lightgbm":
        built = daal4py.mb.convert_model(model.fitted.booster_)
    else:
        raise RuntimeError("not for this model")
    daal4py.daalinit(1)
    return lambda rows: built.predict_proba(rows), "probability", 0


def gtil(model: Model) -> Predictor:
    import treelite

    found = treelite_model(model)
    return lambda rows: treelite.gtil.predict(found, rows, nthread=1, pred_margin=model.kind != "forest"), (
        "probability" if model.kind == "forest" else "raw"
    ), len(found.serialize_bytes())


def treelite_model(model: Model) -> Any:
    import treelite

    if model.kind == "xgboost":
        return treelite.frontend.from_xgboost(model.fitted.get_booster())
    if model.kind == "lightgbm":
        return treelite.frontend.from_lightgbm(model.fitted.booster_)
    return treelite.sklearn.import_model(model.fitted)


def tl2cgen(model: Model) -> Predictor:
    import tl2cgen as compiler

    if model.kind == "forest":
        raise RuntimeError("compiles for half an hour")
    path = model.path.with_suffix(".so")
    compiler.export_lib(treelite_model(model), toolchain="gcc", libpath=path, params={"parallel_comp": 4})
    predictor = compiler.Predictor(path, nthread=1)
    kind = "float32" if model.kind == "xgboost" else "float64"
    return lambda rows: predictor.predict(compiler.DMatrix(rows, dtype=kind), pred_margin=True), "raw", path.stat().st_size


def lleaves(model: Model) -> Predictor:
    import lleaves as compiler

    if model.kind != "lightgbm":
        raise RuntimeError("not for this model")
    built = compiler.Model(model_file=model.path)
    built.compile(raw_score=True)
    return lambda rows: built.predict(rows, n_jobs=1), "raw", 0


PREDICTORS: dict[str, Callable[[Model], Predictor]] = {
    "the library": library,
    "packed, AVX-512": packed("avx512"),
    "packed, AVX2": packed("avx2"),
    "packed, portable": packed("portable"),
    "packed, scalar": packed("scalar"),
    "ONNX Runtime": onnxruntime,
    "oneDAL (daal4py)": onedal,
    "treelite GTIL": gtil,
    "tl2cgen": tl2cgen,
    "lleaves": lleaves,
}


def hostile(model: Model) -> np.ndarray:
    """Data with three values a row at a threshold, or beside it."""
    random = np.random.default_rng(1)
    splits = secateur.load(model.fitted).split_values()
    rows = model.rows[:2000].copy()
    kind = np.float64 if model.kind == "lightgbm" else np.float32
    for _ in range(3):
        for row, feature in enumerate(random.choice(list(splits), len(rows))):
            value = kind(random.choice(splits[feature][1]))
            rows[row, feature] = [value, np.nextafter(value, kind(-np.inf)), np.nextafter(value, kind(np.inf))][row % 3]
    return rows


def shares(model: Model, predict: Callable[[np.ndarray], np.ndarray], what: str, truth: Callable) -> tuple[str, str]:
    """The share of rows with the library's bits, and with its class."""
    rows = np.concatenate([model.rows[:2000], hostile(model)])
    theirs = np.asarray(truth(rows)).reshape(len(rows), -1)
    kind = np.float32 if model.kind == "xgboost" else np.float64
    ours = np.asarray(predict(rows.astype(kind))).reshape(len(rows), -1)
    if ours.shape[1] == 2 and theirs.shape[1] == 1:
        ours = ours[:, 1:]
    same = "-"
    if what == "raw" or model.kind == "forest":
        same = f"{(ours.astype(theirs.dtype) == theirs).all(axis=1).mean():.1%}"
    if theirs.shape[1] == 1:
        limit = 0.0 if what == "raw" else 0.5
        classes = ((ours > limit) == (theirs > 0.0)).mean()
    else:
        classes = (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()
    return same, f"{classes:.2%}"


def least(work: Callable[[], Any], seconds: float = 0.3) -> float:
    """Processor time of one call: the least of some rounds."""
    best, spent = float("inf"), 0.0
    while spent < seconds:
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-4)
    return best


def measure(model: Model, only: list[str]) -> list[list[str]]:
    built: dict[str, Predictor | str] = {}
    for name, build in PREDICTORS.items():
        if only and name not in only:
            continue
        try:
            built[name] = build(model)
            # What fails shows here, and what is made at the first call is made.
            built[name][0](model.rows[:100].astype(np.float32 if model.kind == "xgboost" else np.float64))
        except Exception as error:
            built[name] = f"{type(error).__name__}: {error}".splitlines()[0][:60]
    truth = built["the library"][0]
    kind = np.float32 if model.kind == "xgboost" else np.float64
    rows = np.ascontiguousarray(model.rows.astype(kind))
    times: dict[str, list[float]] = {}
    gc.disable()
    for _ in range(3):
        for name, found in built.items():
            if not isinstance(found, str):
                predict = found[0]
                batch = least(lambda: predict(rows)) / len(rows)
                one = least(lambda: [predict(rows[i : i + 1]) for i in range(20)], 0.1) / 20
                best = times.setdefault(name, [float("inf")] * 2)
                times[name] = [min(best[0], batch), min(best[1], one)]
    gc.enable()
    lines = []
    for name, found in built.items():
        if isinstance(found, str):
            lines.append([name, found, "", "", "", ""])
            continue
        try:
            same, classes = shares(model, found[0], found[1], truth)
        except Exception as error:
            same, classes = type(error).__name__, ""
        batch, one = times[name]
        lines.append([name, f"{found[2]:,}" if found[2] else "-", f"{batch * 1e9:,.0f}", f"{one * 1e6:,.1f}", same, classes])
    return lines


def extras(model: Model) -> str:
    """Load time, memory and threads of the packed model."""
    found = model.times["packed"]
    data = found.to_bytes()
    load = least(lambda: secateur._packed.read(data), 0.2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = np.ascontiguousarray(np.tile(model.rows, (10, 1)).astype(np.float32))

    def wall(threads: int) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            found._packed.raw_scores(rows, threads, None)
            best = min(best, time.perf_counter() - start)
        return best

    ratio = wall(1) / wall(2)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"loads in {load * 1e3:.2f} ms; two threads are {ratio:.2f} times as fast as one (wall time); {grown} KB more memory while predicting 100,000 rows"


FULL = [
    *[("House-16H", "xgboost", 6, trees, False) for trees in (100, 300, 1000)],
    *[("House-16H", "lightgbm", 63, trees, False) for trees in (100, 300, 1000)],
    *[("House-16H", "xgboost", depth, 300, False) for depth in (3, 8)],
    *[("House-16H", "lightgbm", leaves, 300, False) for leaves in (31, 255)],
    *[(name, "xgboost", 6, 300, False) for name in ("Spambase", "ELEC2", "FICO", "PoL")],
    *[(name, "lightgbm", 63, 300, False) for name in ("Spambase", "ELEC2")],
    ("House-16H", "xgboost", 6, 300, True),
    ("House-16H", "lightgbm", 63, 300, True),
    ("digits", "xgboost", 6, 100, False),
    ("digits", "lightgbm", 31, 100, False),
    ("House-16H", "forest", 0, 100, False),
    ("digits", "forest", 0, 100, False),
]
QUICK = [FULL[0], FULL[1], FULL[3], FULL[4], FULL[10], FULL[18], FULL[20]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true", help="seven models instead of all")
    parser.add_argument("--only", action="append", default=[], help="a predictor; may be given several times")
    parser.add_argument("--save", type=pathlib.Path, help="write the page to this file")
    options = parser.parse_args()
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    out = [f"# Packed models beside other predictors, {datetime.date.today()}", "", __doc__.split("\n", 2)[2].strip(), ""]
    out += [f"{processor}, Python {platform.python_version()}, XGBoost {xgboost.__version__}, LightGBM {lightgbm.__version__}."]
    out += [f"Batches of {BATCH:,} rows; one row is a call from Python, whose own cost is part of it for everyone.", ""]
    with tempfile.TemporaryDirectory() as folder:
        for case in QUICK if options.quick else FULL:
            model = make(options.datasets, pathlib.Path(folder), *case)
            everywhere = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {max(everywhere)})
            lines = measure(model, options.only)
            os.sched_setaffinity(0, everywhere)
            out += [f"## {model.name}", "", "| predictor | bytes | batch, ns a row | one row, us | bits | classes |", "|---|---|---|---|---|---|"]
            out += ["| " + " | ".join(line) + " |" for line in lines]
            out += ["", "Packed: " + extras(model) + ".", ""]
            print("\n".join(out[-len(lines) - 6 :]), flush=True)
            if options.save:
                options.save.write_text("\n".join(out))


if __name__ == "__main__":
    main()
