"""`python -m bench conversions-scores`, second part: how far scores can be apart after a conversion to ONNX.

For each dataset, learner and size a classifier and a regressor of depth 6, converted with single and, where the converter can, with double
precision: the greatest distance of raw scores, at most so far (proved) and at least so far (shown by an input), over every double and over inputs
that an f32 can hold.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")  # of converters and wrappers; nothing here depends on them

import numpy as np
import onnxmltools
import onnxruntime
import skl2onnx
from onnx import TensorProto
from onnxmltools.convert.common import data_types as onnxml_types
from skl2onnx.common import data_types as skl_types
from tables import CHECKOUT, LEARNERS, fitted, training_rows

import secateur

DATASETS = ["Pima-Diabetes", "Breast-Cancer-Wisconsin", "FICO", "COMPAS-ProPublica", "Seeds"]
HEADING = "## Scores: how far apart they can be"
# Questions that took fewer seconds than this are asked in the other direction too.
BACK = 2.0
# From this share of the bound on, what the libraries round is what the bound is about.
MOSTLY_ROUNDING = 0.01


def converted(learner: str, model, width: int, double: bool) -> bytes | None:
    """The conversion; `None` where the converter has no such form."""
    if learner in ("XGBoost", "LightGBM"):
        # Their converters write single precision only.
        if double:
            return None
        types = [("X", onnxml_types.FloatTensorType([None, width]))]
        if learner == "XGBoost":
            result = onnxmltools.convert_xgboost(model, initial_types=types)
        else:
            options = dict(zipmap=False) if hasattr(model, "classes_") else {}
            result = onnxmltools.convert_lightgbm(model, initial_types=types, **options)
    else:
        tensor = skl_types.DoubleTensorType if double else skl_types.FloatTensorType
        options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
        result = skl2onnx.to_onnx(model, initial_types=[("X", tensor([None, width]))], options=options)
        # skl2onnx calls these scores double, and onnxruntime, whose scores are float, refuses to load that.
        for output in result.graph.output:
            if output.type.tensor_type.elem_type == TensorProto.DOUBLE:
                output.type.tensor_type.elem_type = TensorProto.FLOAT
    return result.SerializeToString()


def opened(data: bytes, threads: int) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])


def orders(name: str, datasets: Path, trees: int, depth: int) -> str:
    """How far onnxruntime's scores of the same file and rows are apart when it has more threads, which then add in another order."""
    rows, target = training_rows(name, datasets, "regressor")
    model = fitted("XGBoost", "regressor", trees, depth, rows, target)
    data = converted("XGBoost", model, rows.shape[1], False)
    rng = np.random.default_rng(0)
    mixed = np.column_stack([column[rng.integers(len(rows), size=3000)] for column in rows.T]).astype(np.float32)
    one, two, four = (opened(data, threads).run(None, {"X": mixed})[0].ravel().astype(np.float64) for threads in (1, 2, 4))
    apart = np.abs(np.asarray(model.predict(mixed), dtype=np.float64) - one)
    cells = [f"{(other != one).mean():.0%}, up to {np.abs(other - one).max():.2g}" for other in (two, four)]
    return f"| {name} | {trees} | {cells[0]} | {cells[1]} | {(apart > 0).mean():.0%}, up to {apart.max():.2g} |"


def confirmed(model, data: bytes, found) -> str:
    """What the two libraries themselves say on the input, where both show the score that is compared."""
    if not hasattr(model, "predict") or hasattr(model, "classes_"):
        return "-"
    session = opened(data, 1)
    kind = np.float64 if "double" in session.get_inputs()[0].type else np.float32
    row = found.input.reshape(1, -1)
    ours = float(np.asarray(model.predict(row)).ravel()[0])
    theirs = float(session.run(None, {"X": row.astype(kind)})[0].ravel()[0])
    # onnxruntime shows an f32 of a sum of doubles.
    slack = 2.0**-23 * max(abs(ours), abs(theirs)) if kind is np.float64 else found.at_least * 1e-9
    return "yes" if abs(ours - theirs) >= found.at_least - slack else "NO"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each question")
    parser.add_argument("--only", default="", help="learners whose name holds this text")
    parser.add_argument("--tables", nargs="+", default=DATASETS, metavar="NAME", help="datasets, by their folders")
    parser.add_argument("--save", action="store_true", help="write the section into bench/results/DATE-conversions.md")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    lines = [
        HEADING,
        "",
        f"`python -m bench conversions-scores`: secateur {secateur.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, one used; "
        f"load {os.getloadavg()[0]:.1f}. Depth {options.depth}. U is proved, L is shown by an input on which the libraries' own arithmetic was done ("
        "confirmed: for regressors, whose score the library returns, by running both). Seconds are processor time of one question.",
        "",
        "| dataset | learner | kind | trees | leaves | ONNX | inputs | U | L | rounding in U | U/L | digits | confirmed | boxes | seconds |",
        "|---|---|---|---:|---:|---|---|---:|---:|---:|---:|---|---|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    seconds, trees_differ, rounding_only, unended, unequal, asked_back = [], 0, 0, 0, 0, 0
    met = {False: 0, True: 0}
    for trees in options.trees:
        for name in options.tables:
            for learner in LEARNERS:
                if options.only not in learner:
                    continue
                for kind in ("classifier", "regressor"):
                    rows, target = training_rows(name, options.datasets, kind)
                    model = fitted(learner, kind, trees, options.depth, rows, target)
                    first = secateur.load(model)
                    for double in (False, True):
                        data = converted(learner, model, rows.shape[1], double)
                        if data is None:
                            continue
                        second = secateur.Model.parse(data)
                        for inputs, doubles in (("every double", True), ("f32 values", False)):
                            asked = dict(scores=True, time_limit=options.limit, threads=1, doubles=doubles)
                            started = time.process_time()
                            found = secateur.verify(first, second, rows, **asked)
                            spent = time.process_time() - started
                            seconds.append(spent)
                            if found.ended and spent < BACK:
                                back = secateur.verify(second, first, rows, **asked)
                                unequal += abs(back.at_most - found.at_most) > 1e-3 * found.at_most
                                asked_back += 1
                            unended += not found.ended
                            ratio = found.at_most / found.at_least if found.at_least else float("inf")
                            only = found.rounding > MOSTLY_ROUNDING * found.at_most
                            equal = f"{found.at_most:.2e}" == f"{found.at_least:.2e}" or ratio < 1.001
                            met[only] += equal
                            rounding_only += only
                            trees_differ += not only
                            digits = "three" if equal else "rounding" if only else "MISSED"
                            lines.append(
                                f"| {name} | {learner} | {kind} | {trees} | {first.leaf_count} | {'double' if double else 'float'} | {inputs} "
                                f"| {found.at_most:.4g} | {found.at_least:.4g} | {found.rounding:.2g} | {ratio:.4g} | {digits} "
                                f"| {confirmed(model, data, found)} | {found.nodes} | {spent:.2f} |"
                            )
                            print(lines[-1], flush=True)
    lines += [
        "",
        f"- {len(seconds)} questions, {unended} ran into the limit of {options.limit:g} s. Median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s. "
        f"{asked_back} were asked in the other direction too (ONNX first): the bound was another one in {unequal}.",
        f"- The trees differ (rounding is at most a hundredth of U): {trees_differ} questions, U = L to three digits in {met[False]}.",
        f"- Only rounding differs: {rounding_only} questions, U = L to three digits in {met[True]}. U holds whatever the order of addition is, which "
        "onnxruntime does not fix, and is a sum of the worst roundings of all additions; L is what one order does on one input. The exact scores are known: "
        "their greatest distance is U without the rounding.",
    ]
    if options.only in "XGBoost":
        lines += [
            "",
            "What onnxruntime itself does: the same file of an XGBoost regressor, the same 3,000 rows in one call. How many scores have other bits with more threads than with one, and how far "
            "apart they are; beside that the distance to XGBoost's. So the bits of these scores are nothing that a file fixes, and no one distance is the greatest.",
            "",
            "| dataset | trees | 2 threads | 4 threads | XGBoost |",
            "|---|---:|---|---|---|",
        ]
        lines += [orders(name, options.datasets, trees, options.depth) for trees in options.trees for name in options.tables]
    print("\n".join(lines[-4 - len(options.trees) * len(options.tables) - 5 :]), flush=True)
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-conversions.md"
        before = path.read_text().split(HEADING)[0].rstrip() + "\n\n" if path.exists() else ""
        path.write_text(before + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
