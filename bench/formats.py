"""Reading and prediction against the libraries themselves: `python -m bench formats`.

Every measurement runs in a fresh process with one thread; ours and the library's take turns, and medians are shown.
CPU time is what counts, since the machine may be busy; wall time stands beside it. Goals: reading and validating a
model of about 100 MB is not slower than the library's own loading, and prediction has at least half of its throughput.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "bench"
RESULTS = ROOT / "bench" / "results"

FILE_BYTES = 100_000_000
ROWS, COLUMNS = 100_000, 20
TREES = 500

READING = {
    "XGBoost JSON": ("xgboost", "big.json"),
    "XGBoost UBJSON": ("xgboost", "big.ubj"),
    "LightGBM text": ("lightgbm", "big.txt"),
}
# The last number is how many trees a row goes through.
PREDICTION = {
    "XGBoost, depth 6": ("xgboost", "boosted.ubj", TREES),
    "XGBoost, 5 classes": ("xgboost", "classes.ubj", TREES),
    "LightGBM, 63 leaves": ("lightgbm", "boosted.txt", TREES),
    "RandomForest, depth 6": ("sklearn", "forest.skops", TREES),
    "RandomForest, depth 12": ("sklearn", "deep.skops", 200),
    "HistGradientBoosting, 31 leaves": ("sklearn", "hist.skops", TREES),
    "onnxruntime, XGBoost depth 6": ("onnxruntime", "boosted.onnx", TREES),
    "onnxruntime, RandomForest depth 6": ("onnxruntime", "forest.onnx", TREES),
}


def data(rows: int, seed: int):
    import numpy

    rng = numpy.random.default_rng(seed)
    table = rng.normal(size=(rows, COLUMNS)).astype(numpy.float32)
    score = table[:, 0] * table[:, 1] + numpy.sin(3 * table[:, 2]) + table[:, 3] - 0.5 * table[:, 4] ** 2
    score += rng.normal(scale=0.5, size=rows)
    return table, (score > -0.5).astype(int), numpy.digitize(score, [-2, -1, 0, 1])


# ---- Files: made once, kept in target/bench ----


def make_files() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    makers = {
        make_xgboost: ["big.json", "big.ubj", "boosted.ubj", "classes.ubj", "boosted.onnx"],
        make_lightgbm: ["big.txt", "boosted.txt"],
        make_sklearn: ["forest.skops", "deep.skops", "hist.skops", "forest.onnx"],
    }
    for maker, names in makers.items():
        if not all((FOLDER / name).exists() for name in names):
            print(f"making {', '.join(names)}", file=sys.stderr)
            maker()


def make_xgboost() -> None:
    import numpy
    import xgboost
    from onnxmltools import convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    table, two, five = data(20_000, 0)
    ordinary = xgboost.XGBClassifier(n_estimators=TREES, max_depth=6, learning_rate=0.1).fit(table, two)
    ordinary.save_model(FOLDER / "boosted.ubj")
    onnx = convert_xgboost(ordinary, initial_types=[("rows", FloatTensorType([None, COLUMNS]))])
    (FOLDER / "boosted.onnx").write_bytes(onnx.SerializeToString())
    classes = xgboost.XGBClassifier(n_estimators=TREES // 5, max_depth=6, learning_rate=0.1).fit(table, five)
    classes.save_model(FOLDER / "classes.ubj")

    # Deep trees, as often as it takes to fill the file.
    noise = numpy.random.default_rng(1).integers(0, 2, len(table))
    deep = xgboost.XGBClassifier(n_estimators=20, max_depth=14, min_child_weight=0, learning_rate=0.1)
    deep.fit(table, noise)
    small = json.loads(deep.get_booster().save_raw("json"))
    trees = small["learner"]["gradient_booster"]["model"]["trees"]
    for tree in trees:
        tree["id"] = -1
    texts = [json_text(tree) for tree in trees]
    size = sum(map(len, texts))
    repeat_xgboost(small, texts, FILE_BYTES // size + 1, FOLDER / "big.json")
    booster = xgboost.Booster(model_file=FOLDER / "big.json")
    booster.save_model(FOLDER / "trial.ubj")
    factor = FILE_BYTES / (FOLDER / "trial.ubj").stat().st_size
    repeat_xgboost(small, texts, round((FILE_BYTES // size + 1) * factor), FOLDER / "trial.json")
    booster = xgboost.Booster(model_file=FOLDER / "trial.json")
    booster.save_model(FOLDER / "big.ubj")
    (FOLDER / "trial.json").unlink()
    (FOLDER / "trial.ubj").unlink()


def json_text(value) -> str:
    """JSON as XGBoost writes it: no blanks, floats with an exponent."""
    import numpy

    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        text = numpy.format_float_scientific(numpy.float32(value), unique=True, trim="-", exp_digits=1)
        return text.replace("e+", "E").replace("e", "E")
    return json.dumps(value)


def repeat_xgboost(document: dict, texts: list[str], times: int, path: Path) -> None:
    model = document["learner"]["gradient_booster"]["model"]
    count = len(texts) * times
    model["gbtree_model_param"]["num_trees"] = str(count)
    model["iteration_indptr"] = list(range(count + 1))
    model["tree_info"] = [0] * count
    model["trees"] = []
    before, after = json_text(document).split('"trees":[]')
    with path.open("w") as out:
        out.write(before + '"trees":[')
        for number in range(count):
            text = texts[number % len(texts)].replace('"id":-1', f'"id":{number}')
            out.write(("," if number else "") + text)
        out.write("]" + after)


def make_lightgbm() -> None:
    import lightgbm
    import numpy

    table, two, _ = data(20_000, 0)
    options = {"objective": "binary", "verbosity": -1, "seed": 0}
    ordinary = lightgbm.train(options | {"num_leaves": 63}, lightgbm.Dataset(table, two), TREES)
    ordinary.save_model(FOLDER / "boosted.txt")
    noise = numpy.random.default_rng(1).integers(0, 2, len(table))
    deep = options | {"num_leaves": 4000, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    text = lightgbm.train(deep, lightgbm.Dataset(table, noise), 20).model_to_string()
    start, end = text.index("Tree=0\n"), text.index("end of trees")
    blocks = [block.partition("\n")[2] for block in text[start:end].split("Tree=")[1:]]
    times = FILE_BYTES // (end - start) + 1
    trees = [f"Tree={number}\n{blocks[number % len(blocks)]}" for number in range(len(blocks) * times)]
    head = [
        "tree_sizes=" + " ".join(str(len(tree)) for tree in trees) if line.startswith("tree_sizes=") else line
        for line in text[:start].split("\n")
    ]
    (FOLDER / "big.txt").write_text("\n".join(head) + "".join(trees) + text[end:])


def make_sklearn() -> None:
    import skops.io
    from skl2onnx import to_onnx
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    table, two, _ = data(20_000, 0)
    forest = RandomForestClassifier(TREES, max_depth=6, random_state=0).fit(table, two)
    deep = RandomForestClassifier(200, max_depth=12, random_state=0).fit(table, two)
    hist = HistGradientBoostingClassifier(max_iter=TREES, early_stopping=False).fit(table, two)
    for name, model in {"forest": forest, "deep": deep, "hist": hist}.items():
        skops.io.dump(model, FOLDER / f"{name}.skops")
    onnx = to_onnx(forest, table[:1], options={"zipmap": False})
    (FOLDER / "forest.onnx").write_bytes(onnx.SerializeToString())


# ---- One measurement, in a process of its own ----


def memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def loader(engine: str):
    """A function from a path to a loaded model; the library is imported beforehand."""
    if engine == "secateur":
        import secateur

        return secateur.Model.read
    if engine == "xgboost":
        import xgboost

        return lambda path: xgboost.Booster({"nthread": 1}, model_file=path)
    if engine == "lightgbm":
        import lightgbm

        return lambda path: lightgbm.Booster(model_file=path)
    if engine == "sklearn":
        import skops.io

        return lambda path: skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return lambda path: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def predictor(engine: str, model):
    """A function from a table to raw scores (for onnxruntime: to classes, which it always computes too)."""
    if engine == "secateur":
        return model.raw_scores
    if engine == "xgboost":
        return lambda table: model.inplace_predict(table, predict_type="margin")
    if engine == "lightgbm":
        return lambda table: model.predict(table, raw_score=True, num_threads=1)
    if engine == "sklearn":
        return model.decision_function if hasattr(model, "decision_function") else model.predict_proba
    name = model.get_inputs()[0].name
    return lambda table: model.run(None, {name: table})[0]


def timed(work) -> tuple[dict, object]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}, result


def measure(kind: str, library: str, engine: str, path: str) -> dict:
    import numpy

    load = loader(engine)
    if kind == "read":
        with open(path, "rb") as file:
            while file.read(1 << 20):  # into the page cache
                pass
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the imports
        held = memory("VmRSS")
        figures, _model = timed(lambda: load(path))
        figures["peak"] = memory("VmHWM") - held
        return figures
    table, _, _ = data(ROWS, 7)
    # Each gets the type it takes without a conversion of its own.
    table = table.astype(numpy.float32 if engine in ("xgboost", "onnxruntime") else numpy.float64)
    predict = predictor(engine, load(path))
    predict(table[:1000])
    figures, scores = timed(lambda: predict(table))
    if engine == "secateur" and library == "onnxruntime":
        model = loader(engine)(path)
        scores = numpy.asarray(model.classes)[model.class_indices(table)]
    scores = numpy.asarray(scores).reshape(len(table), -1)
    dtype = numpy.int64 if library == "onnxruntime" else numpy.float64
    figures["digest"] = hashlib.sha256(numpy.ascontiguousarray(scores, dtype).tobytes()).hexdigest()
    return figures


def fresh(kind: str, library: str, engine: str, name: str) -> dict:
    command = [sys.executable, __file__, "measure", kind, library, engine, str(FOLDER / name)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# ---- The table ----


def compare(kind: str, library: str, name: str, runs: int) -> dict[str, dict]:
    """Medians of both, measured in turns."""
    found: dict[str, list[dict]] = {"secateur": [], library: []}
    for _ in range(runs):
        for engine, figures in found.items():
            figures.append(fresh(kind, library, engine, name))
    medians = {}
    for engine, figures in found.items():
        medians[engine] = {key: statistics.median(f[key] for f in figures) for key in ("cpu", "wall")}
        for key in {"peak", "digest"} & set(figures[0]):
            medians[engine][key] = figures[0][key]
    return medians


def report(runs: int) -> tuple[str, bool]:
    lines = [f"# Reading and prediction, {datetime.date.today()}", ""]
    lines.append(f"{processor()}, one thread, medians of {runs} runs in turns; {versions()}.")
    lines += ["", "## Reading and validating a file of about 100 MB", ""]
    lines.append("| file | MB | secateur CPU s (wall) | library CPU s (wall) | secateur / library (goal: 1 or less) | peak memory / file: secateur, library |")
    lines.append("|---|---|---|---|---|---|")
    good = True
    for title, (library, name) in READING.items():
        medians = compare("read", library, name, runs)
        ours, theirs = medians["secateur"], medians[library]
        size = (FOLDER / name).stat().st_size
        ratio = ours["cpu"] / theirs["cpu"]
        good &= ratio <= 1
        lines.append(
            f"| {title} | {size / 1e6:.0f} | {ours['cpu']:.2f} ({ours['wall']:.2f}) | "
            f"{theirs['cpu']:.2f} ({theirs['wall']:.2f}) | **{ratio:.2f}** | "
            f"{ours['peak'] / size:.1f}, {theirs['peak'] / size:.1f} |"
        )
        print(lines[-1], file=sys.stderr)
    lines += ["", f"## Prediction of {ROWS} rows of {COLUMNS} columns", ""]
    lines.append("| model | trees | secateur, million rows x trees / CPU s | library | secateur / library (goal: 0.5 or more) | same bits |")
    lines.append("|---|---|---|---|---|---|")
    for title, (library, name, trees) in PREDICTION.items():
        medians = compare("predict", library, name, runs)
        speeds = {engine: ROWS * trees / figures["cpu"] / 1e6 for engine, figures in medians.items()}
        ratio = speeds["secateur"] / speeds[library]
        same = medians["secateur"]["digest"] == medians[library]["digest"]
        good &= ratio >= 0.5 and same
        what = "classes" if library == "onnxruntime" else "scores"
        lines.append(
            f"| {title} | {trees} | {speeds['secateur']:.1f} | {speeds[library]:.1f} | **{ratio:.2f}** | "
            f"{what if same else 'NO'} |"
        )
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines) + "\n", good


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for package in ("xgboost", "xgboost-cpu", "lightgbm", "scikit-learn", "onnxruntime"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write the table to bench/results")
    options = parser.parse_args()
    # For the children too. Training with more threads than free cores is slower than with one.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    make_files()
    text, good = report(options.runs)
    print(text)
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{datetime.date.today()}-formats.md"
        path.write_text(text)
        print(f"written to {path.relative_to(ROOT)}", file=sys.stderr)
    if not good:
        sys.exit("a goal is missed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        json.dump(measure(*sys.argv[2:]), sys.stdout)
    else:
        main()
