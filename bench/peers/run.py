"""`python -m bench peers`: secateur beside the paper's method on HiGHS and beside fipepy, on the same model files.

One thread each, the same time limit (processor time), the same machine. Whatever a peer answers is applied to the model and
goes through `secateur verify` in exact arithmetic (band 0): `identical`, or refuted with an input. What a peer cannot do is shown
as what it is: licence, limit, failure.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "bench" / "oracle"))

import instances
from instances import Instance

instances.DATASETS |= {"House": "House-16H", "PoL": "PoL", "Spambase": "Spambase"}

CASES = [
    Instance("AdaBoost", 1, 50, "Breast"),
    Instance("AdaBoost", 1, 50, "COMPAS"),
    Instance("AdaBoost", 1, 50, "ELEC2"),
    Instance("AdaBoost", 1, 50, "FICO"),
    Instance("AdaBoost", 1, 50, "House"),
    Instance("AdaBoost", 1, 50, "HTRU2"),
    Instance("AdaBoost", 1, 50, "Pima"),
    Instance("AdaBoost", 1, 50, "Spambase"),
    Instance("AdaBoost", 1, 200, "COMPAS"),
    Instance("AdaBoost", 1, 200, "ELEC2"),
    Instance("AdaBoost", 1, 200, "FICO"),
    Instance("AdaBoost", 1, 200, "Pima"),
    Instance("AdaBoost", 2, 50, "COMPAS"),
    Instance("RandomForest", 2, 50, "COMPAS"),
    Instance("RandomForest", 3, 50, "Breast"),
]


def table(instance: Instance, datasets: Path) -> tuple[np.ndarray, np.ndarray]:
    """All rows and their classes. fipepy prunes only models of columns that are 0 and 1, or whole numbers from 0 to 10,000;
    so the models of everybody here are trained on columns of that form."""
    name = instances.DATASETS[instance.dataset]
    data = np.genfromtxt(datasets / name / f"{name}.full.csv", delimiter=",", skip_header=1)
    rows, classes = data[:, :-1], np.unique(data[:, -1], return_inverse=True)[1]
    low, high = rows.min(axis=0), rows.max(axis=0)
    rows = rows[:, high > low]
    share = (rows - rows.min(axis=0)) / (rows.max(axis=0) - rows.min(axis=0))
    binary = np.array([len(np.unique(column)) == 2 for column in rows.T])
    return np.where(binary, share, np.round(share * 10_000)), classes


def secateur(program: Path, model: Path, options: list[str], limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"pruned{model.suffix}"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [program, "prune", model, "-o", output, "--json", "--quiet", "--threads", "1", "--time-limit", f"{limit}s", *options],
            capture_output=True, text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode not in (0, 3):
            return {"outcome": "failed", "error": done.stderr.strip()[-200:], "seconds": seconds}
        answer = json.loads(done.stdout)
        check = verified(program, model, output, limit)
    return {
        "outcome": "proved" if answer["outcome"] != "budget_reached" else "limit",
        "trees": answer["trees"]["after"], "bound": answer["lower_bound"], "minimal": answer["minimal"],
        "calls": answer["oracle_calls"], "seconds": seconds, "check": check,
    }


def verified(program: Path, model: Path, other: Path, limit: float) -> str:
    done = subprocess.run(
        [program, "verify", model, other, "--band", "0", "--json", "--quiet", "--threads", "1", "--time-limit", f"{limit}s"],
        capture_output=True, text=True,
    )
    if done.returncode not in (0, 1, 3):
        return f"failed: {done.stderr.strip()[-120:]}"
    answer = json.loads(done.stdout)
    if answer["outcome"] == "different":
        sure = answer["counterexample"]["in_libraries"]
        return "WRONG, the library decides otherwise" if sure else "wrong in exact arithmetic only"
    return answer["outcome"]


def _reference(plain, rows, limit: float, connection) -> None:
    import reference

    answer = reference.prune(plain, rows, limit)
    connection.send((answer.outcome, answer.weights, answer.calls, answer.seconds))


def highs(plain, rows: np.ndarray, limit: float) -> dict[str, Any]:
    """In a process of its own: a solver that does not ask for the time is ended."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_reference, args=(plain, rows, limit, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(3 * limit + 30):
            return {"outcome": "limit", "seconds": limit}
        outcome, weights, calls, seconds = ours.recv()
    except EOFError:
        return {"outcome": "failed", "error": "the process ended"}
    finally:
        process.kill()
        process.join()
    return {"outcome": outcome, "weights": weights, "calls": calls, "seconds": seconds}


def fipe(python: Path | None, model: Path, rows: np.ndarray, everything: np.ndarray, limit: float) -> dict[str, Any]:
    if python is None:
        return {"outcome": "not installed"}
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "rows.npz", Path(folder) / "out.json"
        np.savez(data, all=everything, training=rows)
        command = [python, CHECKOUT / "bench" / "peers" / "fipe_case.py", model, data, "1", str(limit), out]

        def limited() -> None:
            # Processor time: other work on the machine must not count against it. Imports are not its fault.
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 15, int(limit) + 15))

        try:
            done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, timeout=20 * limit + 60)
        except subprocess.TimeoutExpired:
            return {"outcome": "limit", "seconds": limit}
        if not out.exists():
            if done.returncode < 0:
                return {"outcome": "limit", "seconds": limit}
            return {"outcome": "failed", "error": done.stderr.strip()[-200:]}
        answer = json.loads(out.read_text())
    if "weights" in answer:
        weights = np.array(answer["weights"])
        active = np.zeros(len(weights), dtype=bool)
        active[answer["active"]] = True
        answer["weights"] = np.where(active, weights, 0.0)
    return answer


def applied(model: Path, weights: np.ndarray, active: float) -> tuple[Any, int]:
    """The scikit-learn model with these weights; trees below `active` are gone."""
    import skops.io

    fitted = copy.deepcopy(skops.io.load(model, trusted=skops.io.get_untrusted_types(file=model)))
    kept = [index for index, weight in enumerate(weights) if weight > active]
    if not hasattr(fitted, "estimator_weights_"):
        return None, len(kept)
    fitted.estimators_ = [fitted.estimators_[index] for index in kept]
    fitted.estimator_weights_ = np.array([float(weights[index]) for index in kept])
    fitted.estimator_errors_ = np.array([fitted.estimator_errors_[index] for index in kept])
    return fitted, len(kept)


def judged(program: Path, model: Path, answer: dict[str, Any], limit: float) -> dict[str, Any]:
    """The peer's answer with its size and what our check says about it."""
    weights = answer.pop("weights", None)
    if weights is None or answer["outcome"] not in ("ended", "calls"):
        return answer
    import skops.io

    fitted, answer["trees"] = applied(model, weights, 1e-6)
    if fitted is None:
        answer["check"] = "not applied: the file has no weights"
        return answer
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peer.skops"
        skops.io.dump(fitted, path)
        answer["check"] = verified(program, model, path, limit)
    return answer


def shown(answer: dict[str, Any]) -> list[str]:
    words = answer["outcome"]
    if answer.get("error"):
        words += f" ({' '.join(answer['error'].split())[:90]})"
    seconds = answer.get("seconds")
    return [
        words, str(answer.get("trees", "–")), str(answer.get("calls", "–")),
        "–" if seconds is None else f"{seconds:.2f}", answer.get("check", "–"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=CHECKOUT.parent / "shared" / "datasets")
    parser.add_argument("--secateur", type=Path, default=CHECKOUT / "target" / "release" / "secateur")
    parser.add_argument("--fipe-python", type=Path, help="a Python with fipepy; without it that peer is left out")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of processor time for each")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "target" / "peers")
    parser.add_argument("--save", action="store_true", help="write bench/results/DATE-peers.md")
    options = parser.parse_args()
    if not options.datasets.is_dir():
        parser.error(f"no datasets in {options.datasets}; say where they are with --datasets (make: DATASETS=...)")
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [
        "# secateur beside the paper's method",
        "",
        f"Python {platform.python_version()}, {os.cpu_count()} cores, one thread each, {options.limit:g} s of processor time each; "
        f"load {os.getloadavg()[0]:.1f}. `l1` is the paper's pruner (weights on the model's own trees) with secateur's oracle, "
        "`default` what a user gets; HiGHS is the paper's loop on open software; fipepy is the authors' package with its solver's "
        "free licence (which allows 2000 rows, so it starts from 400 of the training rows). Columns are scaled as fipepy does. The check is `secateur verify --band 0` on the peer's weights, applied to the model.",
        "",
        "| model | who | outcome | trees | calls | s | exact check | s / default |",
        "|---|---|---|---:|---:|---:|---|---:|",
    ]
    print("\n".join(lines), flush=True)
    for instance in CASES:
        if options.only not in instance.name:
            continue
        model = instances.path_of(instance, options.work)
        everything, classes = table(instance, options.datasets)
        rows, _, classes, _ = train_test_split(everything, classes, test_size=0.2, random_state=0)
        if not model.exists():
            instances.train(instance, rows, classes, model)
        plain = instances.plain(instance, model)
        answers = {
            "secateur, default": secateur(options.secateur, model, [], options.limit),
            "secateur, l1": secateur(options.secateur, model, ["--effort", "fast", "--moves", "weights"], options.limit),
            "HiGHS": judged(options.secateur, model, highs(plain, rows, options.limit), options.limit),
            "fipepy": judged(options.secateur, model, fipe(options.fipe_python, model, rows, everything, options.limit), options.limit),
        }
        ours = answers["secateur, default"].get("seconds")
        for who, answer in answers.items():
            seconds = answer.get("seconds")
            more = ">" if answer["outcome"] == "limit" else ""
            ratio = f"{more}{seconds / ours:.1f}" if seconds and ours else "–"
            lines.append(f"| {instance.name} | {who} | {' | '.join(shown(answer))} | {ratio} |")
            print(lines[-1], flush=True)
    if options.save:
        path = CHECKOUT / "bench" / "results" / f"{datetime.date.today()}-peers.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
