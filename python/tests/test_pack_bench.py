"""`bench/pack` and `bench/embedded`: trees as YDF gets them decide as the library's do, a compiler is ended at its limit, and goals and bytes are computed right."""

from __future__ import annotations

import pathlib
import sys
import time

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import RandomForestClassifier

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "pack"), str(BENCH / "embedded")]
import compiling  # noqa: E402
import lossless  # noqa: E402
import summary  # noqa: E402
import ydf_model  # noqa: E402


def walked(node, row) -> list[float]:
    """The leaf that YDF's test `x >= t` finds for a row of float32."""
    while isinstance(node, ydf_model.Node):
        value = row[node.feature]
        upper = node.missing if np.isnan(value) else value >= node.threshold
        node = node.upper if upper else node.lower
    return node.values


def hostile(trees, rows) -> np.ndarray:
    """Rows with values at thresholds and the float32 beside them."""
    thresholds: dict[int, list[np.float32]] = {}

    def visit(node) -> None:
        if isinstance(node, ydf_model.Node):
            # scikit-learn has infinite ones where only missing values are told from others.
            if np.abs(node.threshold) < np.finfo(np.float32).max:
                thresholds.setdefault(node.feature, []).append(node.threshold)
            visit(node.lower)
            visit(node.upper)

    for root in trees.roots:
        visit(root)
    rng = np.random.default_rng(3)
    rows = rows.copy()
    for at, row in enumerate(rows):
        for feature in rng.choice(sorted(thresholds), 2):
            near = rng.choice(thresholds[feature])
            row[feature] = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))][at % 3]
    return rows


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "forest"])
def test_trees_in_terms_of_ydf_decide_as_the_library(kind, missing, classes):
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(600, 5)).astype(np.float32)
    # Few values of its own in one column, so that rows lie between thresholds and not only beside them.
    rows[:, 1] = np.round(rows[:, 1])
    target = (rows[:, 0] * rows[:, 1] + rows[:, 2] > 0).astype(int) + (rows[:, 3] > 1 if classes == 3 else 0)
    if missing:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    learners = {
        "xgboost": xgboost.XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=6, num_leaves=9, n_jobs=1, verbose=-1),
        "forest": RandomForestClassifier(6, max_depth=5, random_state=0),
    }
    fitted = learners[kind].fit(rows, target)
    trees = ydf_model.trees_of(kind, fitted)
    asked = np.vstack([rows, hostile(trees, rows)])
    if kind == "lightgbm":
        # What it takes for zero, and YDF does not.
        asked[np.abs(asked) <= np.float32(1e-35)] = 0
    leaves = np.array([[walked(root, row) for root in trees.roots] for row in asked], dtype=np.float64)
    if kind == "forest":
        scores, truth = leaves.mean(axis=1), fitted.predict_proba(asked)
    else:
        outputs = 1 if classes == 2 else classes
        scores = leaves[:, :, 0].reshape(len(asked), -1, outputs).sum(axis=1) + trees.start
        truth = fitted.predict(asked, **{"output_margin" if kind == "xgboost" else "raw_score": True}).reshape(len(asked), -1)
    assert np.abs(scores - truth).max() < 1e-5


def test_a_compiler_is_ended_at_its_limit_with_all_that_it_started(tmp_path):
    assert compiling.limited([sys.executable, "-c", "sum(range(3_000_000))"], 60) < 60
    with pytest.raises(RuntimeError, match="no such thing"):
        compiling.limited([sys.executable, "-c", "raise SystemExit('no such thing')"], 60)
    # The work is done by a child, which has to go too; if it stays it ends by itself.
    told = tmp_path / "child"
    child = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid()))\nwhile time.process_time() < 20: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(compiling.NotCompiled, match="within 1 s"):
        compiling.limited([sys.executable, "-c", parent], 1)
    deadline = time.monotonic() + 10
    while alive(int(told.read_text())):
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.05)


def alive(process: int) -> bool:
    """Whether a process is there and is not one that is dead and not yet collected."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def result(title: str, kind: str, ours: list[float], second: list[float], **others: list[float | None]) -> dict:
    times = {"the library": [1000.0, 900.0, None], "packed, AVX-512": ours, "packed, AVX2": second, **others}
    sizes = {"the library": (1200, 0), "packed, AVX-512": (100, 0), "packed, AVX2": (100, 0), "YDF standalone": (260, 170)}
    bits = {name: ("100.0%", "100.00%") for name in times} | {"ONNX Runtime": ("-", "98.50%")}
    return {
        "title": title, "kind": kind, "times": times, "sizes": sizes, "bits": bits, "extras": {"load": 4.2, "threads": 1.95, "grown": 0},
    }


def test_goals_are_computed_from_the_models():
    first = result("a, 1000 trees", "xgboost", [50.0, 100.0, 10.0], [100.0, 300.0, None], peer=[500.0, None, 25.0])
    second = result("b", "lightgbm", [100.0, 450.0, 10.0], [2000.0, 450.0, None], peer=[None, None, 35.0])
    text = "\n".join(summary.against_goals([first, second]))
    assert "| batch | 8 and 5 | 10.0 (10.0 to 10.0; 2): met | 2.8 (0.5 to 5.0; 2): **missed**, **1 slower** |" in text
    assert "| one row from Python | 8 | 5.5 (2.0 to 9.0; 2): **missed** | 2.5 (2.0 to 3.0; 2): **missed** |" in text
    assert "| one row from C | 3 | 3.0 (2.5 to 3.5; 2): met | - |" in text
    assert "Below the goal of 3, one row from C, AVX-512: a, 1000 trees 2.5 (peer)." in text
    assert "| than XGBoost's UBJ | 10 | 12.0 (12.0 to 12.0; 1): met |" in text
    assert "| than the tables of YDF's standalone code, XGBoost | 1.8 | 1.7 (1.7 to 1.7; 1): **missed** |" in text
    assert "Bits: the library's on all rows, with all 4 paths and models." in text
    assert "ONNX Runtime on up to 1.50 % of them (2 of the models)" in text
    assert "4.2 ms (a, 1000 trees)" in text and "1.95 (1.95 to 1.95; 2)" in text
    first["bits"]["packed, AVX2"] = ("99.9%", "100.00%")
    assert "**not the library's** with a, 1000 trees, packed, AVX2" in "\n".join(summary.against_goals([first, second]))


def test_bytes_without_loss():
    # Five shapes have four leaves; eight values of equal frequency need three bits each.
    assert lossless.log2_shapes(3) == pytest.approx(np.log2(5))
    assert lossless.entropy(np.arange(64) % 8) == pytest.approx(64 * 3 / 8)
    # One sign and exponent, and three digits that differ, of which one is the last.
    numbers = np.array([1.0, 1.5, 1.25, np.nextafter(1.0, 2.0)])
    assert lossless.fixed(numbers) == 1 + 3
    assert lossless.fixed(np.array([1.0, -1.5], np.float32)) == 1 + 1
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    fitted = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbose=-1).fit(rows, rows[:, 0] > 0)
    parts = lossless.Parts("lightgbm", fitted)
    dump = fitted.booster_.trees_to_dataframe()
    assert len(parts.leaves) == dump.threshold.isna().sum() and len(parts.nodes) == dump.threshold.notna().sum()
    assert len(parts.thresholds) == len(dump[dump.threshold.notna()].groupby(["split_feature", "threshold"]))
    text = lossless.page("lightgbm", fitted, {"one": 300, "another": 1_000_000}, 100, 3)
    assert "3 times less than the 300 bytes of one are 100" in text and "out of reach without loss.\n" in text
    assert text.endswith("It can be reached without loss.\n")
    fitted = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(rows, rows[:, 0] > 0)
    parts = lossless.Parts("xgboost", fitted)
    dump = fitted.get_booster().trees_to_dataframe()
    inner = dump[dump.Feature != "Leaf"]
    assert parts.leaves.dtype == np.float32 and len(parts.leaves) == len(dump) - len(inner) and len(parts.nodes) == len(inner)
    assert len(parts.thresholds) == len(inner.groupby(["Feature", "Split"]))
