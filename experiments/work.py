"""One model, from training to records: train, prune in each way asked for, check, measure.

Everything goes through files and the command line, as a user would do it. The pruned file is loaded by its own library,
which decides the test rows; the certificate goes through `secateur-check`. A run that fails or hits its limit is a
record like any other, with what is known.
"""

from __future__ import annotations

import csv
import json
import subprocess
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import data
import learners
from cases import BASELINES, VARIANTS, Case, Training

# Over its time limit a run may need this long to end by itself.
GRACE = 60.0
TARGET = "the class"


@dataclass(frozen=True)
class Setting:
    """Where things are, and how long a run may take."""

    secateur: Path
    checker: Path | None
    datasets: Path | None
    folder: Path
    limit: float
    check_limit: float = 300.0


def run(training: Training, cases: list[Case], setting: Setting) -> list[dict[str, Any]]:
    """A record for each case of one model."""
    records = []
    try:
        model, table, split, before, seconds = _trained(training, setting)
    except Exception:
        return [_record(case, setting, status="failed", error=traceback.format_exc(limit=1)) for case in cases]
    for case in cases:
        record = _record(case, setting, training_seconds=seconds, rows=split.rows, classes=split.classes)
        record["columns"] = split.columns
        try:
            record |= _pruned(case, setting, model, table, split, before)
        except Exception:
            record |= {"status": "failed", "error": traceback.format_exc(limit=1)}
        records.append(record)
    table.unlink(missing_ok=True)
    return records


def _record(case: Case, setting: Setting, **known: Any) -> dict[str, Any]:
    return {"key": case.key, **asdict(case.training), "variant": case.variant, "limit": setting.limit, **known}


def _trained(training: Training, setting: Setting):
    split = data.load(training.dataset, setting.datasets, training.seed)
    folder = setting.folder / "models"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{training.key}.{learners.EXTENSION.get(training.learner, 'skops')}"
    # Kept beside the model, for a run that is taken up again.
    taken = path.with_name(f"{path.name}.seconds")
    if not path.exists():
        started = time.process_time()
        fitted = learners.fit(
            training.learner, training.trees, training.depth, training.seed, training.paper, *split.training
        )
        partial = path.with_name(f"partial-{path.name}")
        learners.save(training.learner, fitted, partial)
        taken.write_text(str(time.process_time() - started))
        partial.rename(path)
    seconds = float(taken.read_text())
    before = learners.predict(training.learner, path, split.test[0])
    table = folder / f"{training.key}.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        # By order: learners name their columns in their own ways.
        writer.writerow([f"f{index}" for index in range(len(split.features))] + [TARGET])
        for row, label in zip(*split.training):
            writer.writerow([repr(float(value)) for value in row] + [int(label)])
    return path, table, split, before, seconds


def _command(program: Path, arguments: list[str], limit: float) -> tuple[int | None, dict[str, Any] | None, str]:
    """Exit code (`None`: it had to be ended), the JSON result, and what was said on stderr."""
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, None, "did not end by itself"
    try:
        result = json.loads(done.stdout)
    except ValueError:
        result = None
    return done.returncode, result, done.stderr.strip()[-500:]


def _pruned(case: Case, setting: Setting, model: Path, table: Path, split: data.Split, before: np.ndarray):
    output = model.with_name(f"{case.key}{model.suffix}")
    certificate = model.with_name(f"{case.key}.cert")
    arguments = ["prune", str(model), "-o", str(output), "--json", "--quiet", "--threads", "1"]
    arguments += ["--data", str(table), "--target", TARGET, "--time-limit", f"{setting.limit}s"]
    arguments += VARIANTS[case.variant]
    if setting.checker:
        arguments += ["--certificate", str(certificate)]
    try:
        code, result, words = _command(setting.secateur, arguments, setting.limit + GRACE)
        if result is None or code not in (0, 3):
            status = "killed" if code is None else "failed"
            return {"status": status, "error": words, "accuracy": _share(before, split.test[1])}
        after = learners.predict(case.training.learner, output, split.test[0])
        record = {
            # A case that hit its limit holds the best that was proved by then.
            "status": "limit" if result["outcome"] == "budget_reached" else "done",
            "outcome": result["outcome"],
            "trees_before": result["trees"]["before"],
            "trees_after": result["trees"]["after"],
            "leaves_before": result["leaves"]["before"],
            "leaves_after": result["leaves"]["after"],
            "bytes_before": result["bytes"]["before"],
            "bytes_after": result["bytes"]["after"],
            "lower_bound": result["lower_bound"],
            "minimal": result["minimal"],
            "irreducible": result.get("irreducible"),
            "oracle_calls": result["oracle_calls"],
            "points": result["points"],
            "seconds": result["seconds"]["total"],
            # The pruner's share (its programs) and the oracle's; what is left reads, folds, bounds, certifies and writes.
            "pruner_seconds": result["seconds"]["lp"],
            "oracle_seconds": result["seconds"]["oracle"],
            "band": result["band"]["score"],
            "fidelity": _share(before, after),
            "accuracy": _share(before, split.test[1]),
            "accuracy_after": _share(after, split.test[1]),
            "certificate": "not asked for",
        }
        if setting.checker:
            record |= _checked(setting, model, output, certificate, result)
        # The figure needs them for one model; for others of its kind they cost little.
        if case.training.learner == "AdaBoost" and case.training.seed == 0 and case.training.trees <= 200:
            record["weights"] = _weights(model, result)
        if case.baselines:
            record["baselines"] = _baselines(case, setting, model, table, split, before, result)
        return record
    finally:
        output.unlink(missing_ok=True)
        certificate.unlink(missing_ok=True)


def _checked(setting: Setting, model: Path, output: Path, certificate: Path, result: dict[str, Any]):
    if not certificate.exists():
        return {"certificate": "none"}
    started = time.monotonic()
    arguments = [str(model), str(output), str(certificate), "--json"]
    code, answer, words = _command(setting.checker, arguments, setting.check_limit)
    verdict = answer["verdict"] if answer else ("limit" if code is None else f"failed: {words}")
    return {
        "certificate": verdict,
        "certificate_bytes": certificate.stat().st_size,
        "check_seconds": time.monotonic() - started,
    }


def _weights(model: Path, result: dict[str, Any]) -> list[list[float]]:
    """The weight of each tree before and after."""
    fitted = learners.load_sklearn(model)
    alphas = fitted.estimator_weights_[: len(fitted.estimators_)]
    gone = ("merged", "constant", "dropped")
    return [
        [float(alpha), 0.0 if fate["fate"] in gone else float(alpha) * fate["weight"]]
        for alpha, fate in zip(alphas, result.get("fates", []))
    ]


def _baselines(case: Case, setting: Setting, model: Path, table: Path, split, before, result) -> dict[str, Any]:
    # A round of trees for each class counts as one.
    rounds = result["trees"]["before"] // case.training.trees if case.training.trees else 1
    size = max(1, result["trees"]["after"] // max(1, rounds))
    found: dict[str, Any] = {"size": size}
    for method in BASELINES:
        output = model.with_name(f"{case.key}-{method}{model.suffix}")
        arguments = ["prune", str(model), "-o", str(output), "--json", "--quiet", "--data", str(table), "--target", TARGET]
        arguments += ["--method", method, "--size", str(size), "--accept-unproved"]
        code, answer, words = _command(setting.secateur, arguments, setting.limit + GRACE)
        if code != 0 or answer is None:
            found[method] = {"error": words}
            continue
        after = learners.predict(case.training.learner, output, split.test[0])
        found[method] = {"fidelity": _share(before, after), "accuracy": _share(after, split.test[1])}
        output.unlink()
    return found


def _share(a: np.ndarray, b: np.ndarray) -> float:
    return float((a == b).mean())
