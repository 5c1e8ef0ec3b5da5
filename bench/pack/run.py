"""`python -m bench pack`: packed models beside the libraries and other predictors, on the same models and rows, in one run.

All on one thread and in processor time (the machine may be shared): the least of several rounds, in which the predictors take turns.
Every time is that of the predictor's public call on an array of NumPy; "100 rows" are batches of 100. "One row" is a call from Python, whose own cost is part of it; "from C" is a call of the predictor's own entry point in a loop in C. For YDF both times come from
its own benchmark, in C++ (batches of 1,000, wall time times the share of the processor). "YDF standalone" is the C++ that YDF writes: bytes are those that its object loads (g++ -Os),
times those of a loop in C over rows of floats (g++ -O3 -march=native), by the entry that does not look for missing values unless the model has seen some. YDF gets the trees of every model without categories through its tree API; it has floats where LightGBM has doubles. tl2cgen and lleaves
compile for minutes; where a limit of processor time ended that, the table says so. A predictor that is not installed or that fails is shown as such. "bits" is the share of rows with the very raw score of the model's own
library, "classes" that with the library's class; rows are data and, for as many again, data with values at a threshold or beside it.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import gc
import json
import os
import pathlib
import pickle
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

import secateur

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import ydf_model  # noqa: E402
from compiling import NotCompiled, limited  # noqa: E402
from summary import LIBRARY, against_goals, section  # noqa: E402
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
    categories: int = 0
    """The first so many columns are categories."""
    compile_limit: int = 120
    """Seconds of processor time that a compiler gets."""
    times: dict[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> Any:
        """The type of the rows that every predictor gets."""
        return np.float32 if self.kind in ("xgboost", "catboost") else np.float64

    @property
    def forest(self) -> bool:
        """Its scores are averages of shares."""
        return self.kind in ("forest", "extra trees")


def synthetic(count: int, columns: int, informative: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rows, target = make_classification(
        count, columns, n_informative=informative, n_redundant=0, n_classes=classes, n_clusters_per_class=3, flip_y=0.05, random_state=0
    )
    return rows.astype(np.float32).astype(np.float64), target


def mostly_zeros() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    rows = np.where(random.random((4000, 5000)) < 0.03, 4 * random.random((4000, 5000)), 0.0)
    sums = rows @ random.normal(size=5000)
    return rows.astype(np.float32).astype(np.float64), (sums > np.median(sums)).astype(int)


MADE: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "30 columns": lambda: synthetic(20_000, 30, 15),
    "30 columns, 10 classes": lambda: synthetic(20_000, 30, 15, 10),
    "1,000 columns": lambda: synthetic(4_000, 1_000, 50),
    "5,000 columns, 3 % filled": mostly_zeros,
}


def table(datasets: pathlib.Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in MADE:
        return MADE[name]()
    if name == "digits":
        rows, target = load_digits(return_X_y=True)
        return rows.astype(np.float32).astype(np.float64), target
    values = pd.read_csv(datasets / name / f"{name}.full.csv").to_numpy()
    # Values that an f32 holds, so that predictors of f32 get the same inputs.
    return values[:, :-1].astype(np.float32).astype(np.float64), np.unique(values[:, -1], return_inverse=True)[1]


def title_of(name: str, kind: str, size: int, trees: int, special: str) -> str:
    what = f"{kind} {'leaves' if kind in ('lightgbm', 'histgb') else 'depth'} {size}" if size else f"{kind}, deep"
    return f"{what}, {trees} trees, {name}{', ' + special if special else ''}"


def file_name(title: str) -> str:
    return title.replace(" ", "-").replace(",", "").replace("%", "percent")


def make(datasets: pathlib.Path, folder: pathlib.Path, name: str, kind: str, size: int, trees: int, special: str) -> Model:
    X, y = table(datasets, name)
    random = np.random.default_rng(0)
    if special == "missing values":
        X[random.random(X.shape) < 0.15] = np.nan
    categories = 4 if special == "categories" else 0
    for column in range(categories):
        # Twenty groups of equal size, numbered at random.
        edges = np.quantile(X[:, column], np.linspace(0, 1, 21)[1:-1])
        X[:, column] = random.permutation(20)[np.searchsorted(edges, X[:, column])]
    rows = X[random.integers(0, len(X), BATCH)]
    title = title_of(name, kind, size, trees, special)
    path = folder / file_name(title)
    if kind == "xgboost":
        kinds = ["c"] * categories + ["q"] * (X.shape[1] - categories) if categories else None
        fitted = xgboost.XGBClassifier(
            n_estimators=trees, max_depth=size, learning_rate=0.1, n_jobs=1, random_state=0, feature_types=kinds,
            enable_categorical=bool(categories), **({"tree_method": "approx", "max_bin": 1024} if special == "1,024 bins" else {}),
        ).fit(X, y)
        path = path.with_suffix(".ubj")
        fitted.save_model(path)
    elif kind == "lightgbm":
        fitted = lightgbm.LGBMClassifier(n_estimators=trees, num_leaves=size, learning_rate=0.1, n_jobs=1, verbose=-1, random_state=0)
        fitted = fitted.fit(X, y, categorical_feature=list(range(categories)) or "auto")
        path = path.with_suffix(".txt")
        fitted.booster_.save_model(path)
    elif kind == "catboost":
        fitted = catboost.CatBoostClassifier(
            iterations=trees, depth=size, learning_rate=0.1, thread_count=1, random_seed=0, verbose=0, allow_writing_files=False
        ).fit(X.astype(np.float32), y)
        path = path.with_suffix(".cbm")
        fitted.save_model(str(path))
    else:
        if kind == "histgb":
            fitted = HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=size, early_stopping=False, random_state=0)
        else:
            makes = ExtraTreesClassifier if kind == "extra trees" else RandomForestClassifier
            fitted = makes(trees, max_depth=size or None, n_jobs=1, random_state=0)
        fitted = fitted.fit(X, y)
        path = path.with_suffix(".pickle")
        path.write_bytes(pickle.dumps(fitted))
    return Model(title, fitted, path, kind, X, rows, int(y.max()) + 1, categories)


@dataclass
class Predictor:
    predict: Callable[[np.ndarray], np.ndarray]
    gives: str
    """"raw" scores, or a "probability" where it has nothing else."""
    size: int
    """Bytes; 0 where there is no file."""
    from_c: Callable[[np.ndarray], float] | None = None
    """Nanoseconds a row of these rows, one at a time, called from C."""
    own: tuple[float, float] | None = None
    """Its own benchmark: nanoseconds a row in a batch, and one at a time."""
    in_python: bool = True
    """A row can be asked for in Python."""
    tables: int = 0
    """Bytes of its tables alone, where they can be told from its code."""


def native() -> ctypes.CDLL:
    """The loops in C."""
    folder = ROOT / "target" / "pack-native"
    folder.mkdir(exist_ok=True)
    path = folder / "native.so"
    if not path.exists() or path.stat().st_mtime < (ROOT / "bench/pack/native.c").stat().st_mtime:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", ROOT / "bench/pack/native.c", "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    for name in ("time_packed_f64", "time_packed_f32", "time_tl2cgen", "time_lleaves", "time_standalone"):
        getattr(library, name).restype = ctypes.c_double
    return library


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def packed_from_c(data: bytes, outputs: int, number: Any) -> Callable[[np.ndarray], float]:
    runtime = ctypes.CDLL(str(ROOT / "target/release/libsecateur_c.so"))
    model = ctypes.c_void_p()
    if runtime.secateur_load(data, ctypes.c_size_t(len(data)), ctypes.byref(model), None, ctypes.c_size_t(0)) != 0:
        raise RuntimeError("the C library does not load the model")
    name = "f32" if number == np.float32 else "f64"
    entry, loop = getattr(runtime, f"secateur_raw_scores_{name}"), getattr(native(), f"time_packed_{name}")
    out = np.zeros(outputs)
    sizes = lambda rows: (ctypes.c_size_t(len(rows)), ctypes.c_size_t(rows.shape[1]))
    return lambda rows: loop(ctypes.cast(entry, ctypes.c_void_p), model, pointer(rows), *sizes(rows), pointer(out))


def library(model: Model) -> Predictor:
    size = model.path.stat().st_size
    if model.kind == "xgboost":
        booster = model.fitted.get_booster()
        booster.set_param({"nthread": 1})
        return Predictor(lambda rows: booster.inplace_predict(rows, predict_type="margin"), "raw", size)
    if model.kind == "lightgbm":
        booster = model.fitted.booster_
        return Predictor(lambda rows: booster.predict(rows, raw_score=True, num_threads=1), "raw", size)
    if model.kind == "catboost":
        predict = lambda rows: model.fitted.predict(rows, prediction_type="RawFormulaVal", thread_count=1)
        return Predictor(predict, "raw", size)
    if model.kind == "histgb":
        return Predictor(model.fitted.decision_function, "raw", size)
    return Predictor(model.fitted.predict_proba, "probability", size)


def packed(path: str | None) -> Callable[[Model], Predictor]:
    def build(model: Model) -> Predictor:
        found = model.times.setdefault("packed", secateur.pack(model.fitted))
        if path is not None and path not in found.self_test():
            raise RuntimeError("this processor does not have it")
        # The C interface takes the fastest path.
        best = path == next(iter(found.self_test()))
        from_c = packed_from_c(found.to_bytes(), found.raw_scores(model.rows[:1]).shape[1], model.number) if best else None
        if best and model.forest:
            return Predictor(found.predict_proba, "probability", found.nbytes, from_c)
        return Predictor(lambda rows: found.raw_scores(rows, path=path), "raw", found.nbytes, from_c)

    return build


def prepared_pool(model: Model) -> Predictor:
    """CatBoost with rows that it has put into its own table before: no time is counted for that."""
    if model.kind != "catboost":
        raise RuntimeError("for CatBoost only")
    pools: dict[tuple[int, int], catboost.Pool] = {}

    def predict(rows: np.ndarray) -> np.ndarray:
        # Rows live as long as the measurements.
        key = rows.ctypes.data, len(rows)
        pool = pools.get(key) or pools.setdefault(key, catboost.Pool(rows))
        return model.fitted.predict(pool, prediction_type="RawFormulaVal", thread_count=1)

    return Predictor(predict, "raw", 0)


def onnxruntime(model: Model) -> Predictor:
    import onnxruntime as runtime

    if model.kind == "catboost":
        raise RuntimeError("not set up for this model")
    if model.forest or model.kind == "histgb":
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
    predict = lambda rows: session.run([output], {name: rows.astype(np.float32, copy=False)})[0]
    return Predictor(predict, "probability", proto.ByteSize())


def onedal(model: Model) -> Predictor:
    import daal4py

    if model.kind == "xgboost":
        built = daal4py.mb.convert_model(model.fitted.get_booster())
    elif model.kind == "lightgbm":
        built = daal4py.mb.convert_model(model.fitted.booster_)
    elif model.kind == "catboost":
        built = daal4py.mb.convert_model(model.fitted)
    else:
        # Through treelite oneDAL takes a forest as a sum of trees, whose shares it rounds to floats.
        built = daal4py.mb.convert_model(treelite_model(model))
    daal4py.daalinit(1)
    predict = built.predict_proba if getattr(built, "n_classes_", 0) > 1 else built.predict
    return Predictor(predict, "probability", 0)


def gtil(model: Model) -> Predictor:
    import treelite

    found = treelite_model(model)
    raw = not model.forest
    predict = lambda rows: treelite.gtil.predict(found, rows, nthread=1, pred_margin=raw)
    return Predictor(predict, "raw" if raw else "probability", len(found.serialize_bytes()))


def treelite_model(model: Model) -> Any:
    import treelite

    if model.kind == "xgboost":
        return treelite.frontend.from_xgboost(model.fitted.get_booster())
    if model.kind == "lightgbm":
        return treelite.frontend.from_lightgbm(model.fitted.booster_)
    if model.kind == "catboost":
        raise RuntimeError("treelite does not read it")
    return treelite.sklearn.import_model(model.fitted)


def compiled(peer: str, model: Model, out: pathlib.Path) -> None:
    """Has a peer compile the model."""
    command = [sys.executable, str(ROOT / "bench/pack/compiling.py"), peer, model.kind, str(model.path), str(out)]
    model.times.setdefault("compiled", {})[peer] = limited(command, model.compile_limit)


def tl2cgen(model: Model) -> Predictor:
    import tl2cgen as compiler

    path = model.path.with_suffix(".so")
    compiled("tl2cgen", model, path)
    predictor = compiler.Predictor(path, nthread=1)
    kind = "float32" if model.kind == "xgboost" else "float64"
    entry = ctypes.CDLL(str(path)).predict
    outputs = 1 if model.classes == 2 and not model.forest else model.classes
    out = np.zeros(outputs, model.number)

    def from_c(rows: np.ndarray) -> float:
        rows = rows.copy()
        # Missing is a whole number of -1 at the start of an entry.
        whole = rows.view(np.int32).reshape(*rows.shape, -1)
        whole[np.isnan(rows), 0] = -1
        sizes = [ctypes.c_size_t(size) for size in (len(rows), rows.shape[1], rows.itemsize)]
        loop = native().time_tl2cgen
        return loop(ctypes.cast(entry, ctypes.c_void_p), pointer(rows), *sizes, pointer(out), ctypes.c_size_t(outputs))

    raw = not model.forest
    predict = lambda rows: predictor.predict(compiler.DMatrix(rows, dtype=kind), pred_margin=raw)
    return Predictor(predict, "raw" if raw else "probability", path.stat().st_size, from_c)


def lleaves(model: Model) -> Predictor:
    import lleaves as compiler

    if model.kind != "lightgbm":
        raise RuntimeError("for LightGBM only")
    cache = model.path.with_suffix(".lleaves")
    compiled("lleaves", model, cache)
    built = compiler.Model(model_file=model.path)
    built.compile(cache=cache, raw_score=True)
    out = np.zeros(model.classes)

    def from_c(rows: np.ndarray) -> float:
        sizes = (ctypes.c_size_t(len(rows)), ctypes.c_size_t(rows.shape[1]))
        return native().time_lleaves(ctypes.cast(built._c_entry_func, ctypes.c_void_p), pointer(rows), *sizes, pointer(out))

    return Predictor(lambda rows: built.predict(rows, n_jobs=1), "raw", cache.stat().st_size, from_c)


def ydf_trees(model: Model) -> tuple[ydf_model.Trees, Any]:
    """The model's trees in YDF, made once."""
    if model.categories:
        raise RuntimeError("set up for numeric features only")
    if "ydf" not in model.times:
        trees = ydf_model.trees_of("forest" if model.forest else model.kind, model.fitted)
        model.times["ydf"] = trees, ydf_model.ydf_model(trees, model.train)
    return model.times["ydf"]


def both_classes(model: Model, shares: np.ndarray) -> np.ndarray:
    """Forests have a share for each class, YDF only the second of two."""
    if model.forest and shares.ndim == 1:
        return np.column_stack([1 - shares, shares])
    return shares


def ydf(model: Model) -> Predictor:
    """The model's trees in YDF's own engines."""
    trees, built = ydf_trees(model)
    folder = model.path.with_suffix(".ydf")
    built.save(str(folder))
    times = [float("inf"), float("inf")]
    table = ydf_model.as_columns(trees, model.rows)
    for engine in built.list_compatible_engines()[:2]:
        built.force_engine(engine)
        for at, size in enumerate((1000, 1)):
            for _ in range(3):
                wall, processor = time.time(), time.process_time()
                told = str(built.benchmark(table, benchmark_duration=0.4, warmup_duration=0.1, batch_size=size, num_threads=1))
                share = min(1.0, (time.process_time() - processor) / (time.time() - wall))
                found = re.search(r"Single-thread inference time per example: ([\d.]+) us", told)
                times[at] = min(times[at], float(found.group(1)) * 1000 * share)
    built.force_engine(None)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    predict = lambda rows: both_classes(model, built.predict(ydf_model.as_columns(trees, rows), num_threads=1))
    return Predictor(predict, "probability", size, own=tuple(times))


def ydf_standalone(model: Model) -> Predictor:
    """The C++ that YDF writes: its bytes are those of an object made small, its times those of one made fast."""
    trees, built = ydf_trees(model)
    folder = model.path.with_suffix(".standalone")
    folder.mkdir()
    outputs = ydf_model.write_standalone(trees, built, folder, safe=bool(np.isnan(model.train).any()))
    size, tables = ydf_model.standalone_sizes(folder)
    entry = ctypes.cast(ctypes.CDLL(str(ydf_model.standalone_library(folder))).score, ctypes.c_void_p)
    if not trees.forest:
        model.times["other constants"] = ydf_model.other_constants(trees, folder)

    def run(rows: np.ndarray, loop: Callable) -> tuple[Any, np.ndarray]:
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        out = np.zeros((len(rows), outputs), np.float32)
        sizes = [ctypes.c_size_t(size) for size in (len(rows), rows.shape[1], outputs)]
        return loop(entry, pointer(rows), *sizes, pointer(out)), out

    loops = native()
    scores = lambda rows: run(rows, loops.run_standalone)[1]
    predict = lambda rows: both_classes(model, scores(rows)[:, 0] if outputs == 1 else scores(rows))
    from_c = lambda rows: run(rows, loops.time_standalone)[0]
    return Predictor(predict, "probability" if trees.forest else "raw", size, from_c, in_python=False, tables=tables)


PREDICTORS: dict[str, Callable[[Model], Predictor]] = {
    "the library": library,
    "CatBoost, its own Pool": prepared_pool,
    "packed, AVX-512": packed("avx512"),
    "packed, AVX2": packed("avx2"),
    "packed, SSE4.2": packed("sse42"),
    "packed, portable": packed("portable"),
    "packed, scalar": packed("scalar"),
    "ONNX Runtime": onnxruntime,
    "oneDAL (daal4py)": onedal,
    "treelite GTIL": gtil,
    "tl2cgen": tl2cgen,
    "lleaves": lleaves,
    "YDF": ydf,
    "YDF standalone": ydf_standalone,
}


def hostile(model: Model) -> np.ndarray:
    """Data with three values a row at a threshold, or beside it."""
    random = np.random.default_rng(1)
    splits = secateur.load(model.fitted).split_values()
    rows = model.rows[:2000].copy()
    kind = np.float64 if model.kind in ("lightgbm", "histgb") else np.float32
    for _ in range(3):
        for row, feature in enumerate(random.choice(list(splits), len(rows))):
            value = kind(random.choice(splits[feature][1]))
            rows[row, feature] = [value, np.nextafter(value, kind(-np.inf)), np.nextafter(value, kind(np.inf))][row % 3]
    return rows


def shares(model: Model, predict: Callable[[np.ndarray], np.ndarray], what: str, truth: Callable) -> tuple[str, str]:
    """The share of rows with the library's bits, and with its class."""
    rows = np.concatenate([model.rows[:2000], hostile(model)])
    theirs = np.asarray(truth(rows)).reshape(len(rows), -1)
    ours = np.asarray(predict(np.ascontiguousarray(rows.astype(model.number)))).reshape(len(rows), -1)
    if ours.shape[1] == 2 and theirs.shape[1] == 1:
        ours = ours[:, 1:]
    same = "-"
    if what == "raw" or model.forest:
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


def measure(model: Model, wanted: list[str]) -> dict[str, Any]:
    """What the predictors do with a model: lines of its table and the numbers behind them, as they are kept in a file."""
    built: dict[str, Predictor | str] = {}
    making: dict[str, float] = {}
    for name, build in PREDICTORS.items():
        if wanted and name not in wanted and name != LIBRARY:
            continue
        start = time.time()
        try:
            built[name] = build(model)
            # What fails shows here, and what is made at the first call is made.
            built[name].predict(np.ascontiguousarray(model.rows[:100].astype(model.number)))
        except NotCompiled as error:
            built[name] = str(error)
        except Exception as error:
            built[name] = f"{type(error).__name__}: {error}".splitlines()[0][:70]
        making[name] = time.time() - start
    truth = built[LIBRARY].predict
    rows = np.ascontiguousarray(model.rows.astype(model.number))
    times: dict[str, list[float]] = {}
    # Ten batches, since one is little for a clock.
    hundreds = [np.ascontiguousarray(rows[at : at + 100]) for at in range(0, 1000, 100)]
    gc.disable()
    for _ in range(3):
        for name, found in built.items():
            if isinstance(found, str):
                continue
            best = times.setdefault(name, [float("inf")] * 4)
            if found.own is None:
                best[0] = min(best[0], least(lambda: found.predict(rows)) / len(rows) * 1e9)
                best[3] = min(best[3], least(lambda: [found.predict(part) for part in hundreds], 0.1) / 1000 * 1e9)
                if found.in_python:
                    one = least(lambda: [found.predict(rows[i : i + 1]) for i in range(20)], 0.1) / 20
                    best[1] = min(best[1], one * 1e6)
            else:
                best[0], best[2] = found.own
            if found.from_c is not None:
                best[2] = min(best[2], *[found.from_c(rows[:2000]) for _ in range(5)])
    gc.enable()
    lines, bits = [], {}
    for name, found in built.items():
        if isinstance(found, str):
            lines.append([name, found, "", "", "", "", "", ""])
            continue
        try:
            same, classes = shares(model, found.predict, found.gives, truth)
        except Exception as error:
            same, classes = type(error).__name__, ""
        bits[name] = same, classes
        batch, one, from_c, hundred = times[name]
        told = lambda value, form: "-" if value == float("inf") else format(value, form)
        lines.append([name, f"{found.size:,}" if found.size else "-", told(batch, ",.0f"), told(hundred, ",.0f"), told(one, ",.1f"), told(from_c, ",.0f"), same, classes])
    # Numbers that a file can hold: there is no infinity in JSON.
    kept = {name: [None if value == float("inf") else value for value in found] for name, found in times.items()}
    sizes = {name: (found.size, found.tables) for name, found in built.items() if not isinstance(found, str)}
    notes = []
    if "compiled" in model.times:
        notes.append("Compiled in " + ", ".join(f"{seconds:.1f} s ({peer})" for peer, seconds in model.times["compiled"].items()) + " of processor time.")
    if "other constants" in model.times:
        notes.append(f"In YDF's standalone code {model.times['other constants']} are other numbers, as it has six digits of them.")
    return {"lines": lines, "times": kept, "sizes": sizes, "bits": bits, "notes": notes, "making": making}


def extras(model: Model) -> dict[str, float]:
    """Load time, memory and threads of the packed model."""
    found = model.times["packed"]
    data = found.to_bytes()
    # The layouts are made at the first call, so that one row of it counts as loading.
    row = np.ascontiguousarray(model.rows[:1])
    load = least(lambda: secateur.load(data).raw_scores(row), 0.2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = np.ascontiguousarray(np.tile(model.rows, (10, 1)).astype(model.number))

    def wall(threads: int) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            found.raw_scores(rows, threads=threads)
            best = min(best, time.perf_counter() - start)
        return best

    ratio = wall(1) / wall(2)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"load": load * 1e3, "threads": ratio, "grown": grown}


HOUSE, MISSING, CATEGORIES = "House-16H", "missing values", "categories"
FULL = [
    *[(HOUSE, "xgboost", 6, trees, "") for trees in (100, 300, 1000)],
    *[(HOUSE, "lightgbm", 63, trees, "") for trees in (100, 300, 1000)],
    *[(HOUSE, "xgboost", depth, 300, "") for depth in (3, 8)],
    *[(HOUSE, "lightgbm", leaves, 300, "") for leaves in (31, 255)],
    *[(name, "xgboost", 6, 300, "") for name in ("Spambase", "ELEC2", "FICO", "PoL")],
    *[(name, "lightgbm", 63, 300, "") for name in ("Spambase", "ELEC2")],
    *[(HOUSE, kind, size, 300, MISSING) for kind, size in (("xgboost", 6), ("lightgbm", 63))],
    *[(HOUSE, kind, size, 300, CATEGORIES) for kind, size in (("xgboost", 6), ("lightgbm", 63))],
    ("digits", "xgboost", 6, 100, ""),
    ("digits", "lightgbm", 31, 100, ""),
    (HOUSE, "forest", 0, 100, ""),
    ("digits", "forest", 0, 100, ""),
    *[("30 columns", "xgboost", depth, trees, "") for depth, trees in ((6, 5), (6, 2000), (10, 300))],
    ("30 columns", "xgboost", 6, 300, "1,024 bins"),
    ("30 columns, 10 classes", "xgboost", 6, 100, ""),
    ("30 columns", "histgb", 31, 500, ""),
    *[("30 columns", "catboost", depth, trees, "") for depth, trees in ((6, 1000), (10, 300))],
    ("30 columns, 10 classes", "catboost", 6, 300, ""),
    *[("30 columns", "forest", depth, 100, "") for depth in (0, 12)],
    ("30 columns, 10 classes", "forest", 0, 100, ""),
    ("30 columns", "extra trees", 0, 100, ""),
    ("1,000 columns", "xgboost", 6, 300, ""),
    ("5,000 columns, 3 % filled", "xgboost", 6, 100, ""),
]
QUICK = [case for case in FULL if case[:4] in ((HOUSE, "xgboost", 6, 100), (HOUSE, "lightgbm", 63, 100), ("Spambase", "xgboost", 6, 300))]
QUICK += [("digits", "xgboost", 6, 100, ""), (HOUSE, "forest", 0, 100, "")]


KEPT = ROOT / "target" / "pack-results"


def page(results: list[dict[str, Any]]) -> str:
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    out = [f"# Packed models beside other predictors, {datetime.date.today()}", "", __doc__.split("\n", 2)[2].strip(), ""]
    out += [f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, XGBoost {xgboost.__version__}, LightGBM {lightgbm.__version__}."]
    commits = ", ".join(dict.fromkeys(f"{result['commit']} ({result['date']})" for result in results))
    out += [f"Batches of {BATCH:,} rows. Commit: {commits}. {len(results)} models.", ""]
    out += against_goals(results)
    for result in results:
        out += section(result)
    return "\n".join(out)


def commit() -> str:
    told = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a few models instead of all")
    parser.add_argument("--only", action="append", default=[], help="a model: its place in the list, from 0, or a part of its title; may be given several times")
    parser.add_argument("--predictors", action="append", default=[], help="a predictor; may be given several times; what is found is not kept for --resume")
    parser.add_argument("--resume", action="store_true", help=f"models that an earlier run has left in {KEPT.relative_to(ROOT)} are not measured again")
    parser.add_argument("--compile-limit", type=int, default=Model.compile_limit, help="seconds of processor time for a compiler and a model")
    parser.add_argument("--save", type=pathlib.Path, help="write the page to this file, after each model")
    options = parser.parse_args()
    cases = QUICK if options.quick else FULL
    if options.only:
        cases = [case for at, case in enumerate(cases) if any(only == str(at) or (not only.isdigit() and only in title_of(*case)) for only in options.only)]
    KEPT.mkdir(parents=True, exist_ok=True)
    results = []
    for case in cases:
        kept = KEPT / (file_name(title_of(*case)) + ".json")
        if options.resume and kept.exists() and not options.predictors:
            results.append(json.loads(kept.read_text()))
            continue
        start, load = time.time(), os.getloadavg()[0]
        # A model's files go with it: a forest has many megabytes of them.
        with tempfile.TemporaryDirectory() as folder:
            model = make(options.datasets, pathlib.Path(folder), *case)
            model.compile_limit = options.compile_limit
            everywhere = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {max(everywhere)})
            result = measure(model, options.predictors)
            os.sched_setaffinity(0, everywhere)
            model.times.setdefault("packed", secateur.pack(model.fitted))
            result |= {"title": model.name, "kind": model.kind, "extras": extras(model), "commit": commit(), "date": str(datetime.date.today())}
        result |= {"seconds": time.time() - start, "loads": (load, os.getloadavg()[0])}
        if not options.predictors:
            # In one step, so that a run that is cut off leaves no half of a file.
            kept.with_suffix(".new").write_text(json.dumps(result, indent=1))
            kept.with_suffix(".new").replace(kept)
        results.append(result)
        print("\n".join(section(result)), flush=True)
        if options.save:
            options.save.write_text(page(results))
    print("\n".join(against_goals(results)))
    if options.save:
        options.save.write_text(page(results))


if __name__ == "__main__":
    main()
