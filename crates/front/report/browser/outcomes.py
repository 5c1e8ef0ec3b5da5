"""Pages of real runs, one for each kind of outcome, each with its JSON result beside it.

    python outcomes.py SECATEUR DIR

Trains small models on data that comes with scikit-learn: a big reduction, one that is already minimal,
one whose budget ends, two models that differ, two that do not, and a model of many classes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import skops.io
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from xgboost import XGBClassifier


def table(path: Path, rows: np.ndarray, names: list[str]) -> Path:
    lines = [",".join(names), *(",".join(map(repr, map(float, row))) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(program: Path, folder: Path, name: str, words: list[object], outcome: str) -> None:
    command = [program, *words, "--report", folder / f"{name}.html", "--json", "--quiet"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"{name}: exit code {done.returncode}: {done.stderr}")
    (folder / f"{name}.json").write_text(done.stdout)
    found = json.loads(done.stdout)["outcome"]
    print(f"{name}: {found}", flush=True)
    if found != outcome:
        raise SystemExit(f"{name} is meant to show the outcome {outcome}")


def main(program: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cancer = load_breast_cancer()
    names = [str(name).replace(" ", "_") for name in cancer.feature_names]
    data = table(folder / "cancer.csv", cancer.data, names)

    stumps = folder / "stumps.skops"
    skops.io.dump(AdaBoostClassifier(n_estimators=200, random_state=0).fit(cancer.data, cancer.target), stumps)
    prune = ["prune", stumps, "-o", folder / "stumps-pruned.skops", "--data", data]
    run(program, folder, "real-reduced", prune, "proved")

    boosted = folder / "boosted.json"
    XGBClassifier(n_estimators=12, max_depth=3, random_state=0).fit(cancer.data, cancer.target).save_model(boosted)
    prune = ["prune", boosted, "-o", folder / "boosted-pruned.json", "--data", data]
    run(program, folder, "real-minimal", prune, "already_minimal")

    larger = folder / "larger.json"
    XGBClassifier(n_estimators=150, max_depth=4, random_state=0).fit(cancer.data, cancer.target).save_model(larger)
    prune = ["prune", larger, "-o", folder / "larger-pruned.json", "--data", data, "--time-limit", "0.2s"]
    run(program, folder, "real-budget", prune, "budget_reached")

    run(program, folder, "real-counterexample", ["verify", boosted, larger, "--data", data], "different")
    run(program, folder, "real-identical", ["verify", boosted, boosted], "identical")

    digits = load_digits()
    forest = folder / "digits.skops"
    skops.io.dump(RandomForestClassifier(12, max_depth=3, random_state=0).fit(digits.data, digits.target), forest)
    prune = ["prune", forest, "-o", folder / "digits-pruned.skops", "--time-limit", "10s"]
    run(program, folder, "real-classes", prune, "already_minimal")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
