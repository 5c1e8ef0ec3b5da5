"""Models as WebAssembly in Node and Chromium: the emitted test, the wrapper and the page. `python3 tests/run.py wasm` runs this; it needs both programs."""

from __future__ import annotations

import html
import json
import re
import subprocess

import numpy as np
import pytest
from harness import assert_same_bits, hostile_rows
from prunable import CASES, case

import secateur

WRAPPED = """
import { readFileSync } from "node:fs";
import { accepts, classes, columns, load } from "./model.js";
const model = await load();
const rows = JSON.parse(readFileSync("rows.json", "utf8")).map((row) => row.map((value) => (typeof value === "string" ? Number(value) : value)));
const refused = [[], [...columns, 1].map(() => 0), columns.map(() => "0")].map((row) => {
  try {
    model.raw(row);
    return false;
  } catch {
    return true;
  }
});
const probable = (row) => {
  try {
    return Array.from(model.probabilities(row));
  } catch (error) {
    return error.message;
  }
};
const bits = (scores) => Array.from(new BigUint64Array(scores.buffer), String);
const predicted = classes === null ? null : rows.map((row) => model.class(row));
console.log(JSON.stringify({ accepts, refused, columns: columns.length, scores: rows.map((row) => bits(model.raw(row))), predicted, probabilities: rows.map(probable) }));
"""


def as_json(rows):
    def value(number):
        return None if np.isnan(number) else str(number).replace("inf", "Infinity") if np.isinf(number) else float(number)

    return json.dumps([[value(number) for number in row] for row in rows])


def saved(name, folder, **options):
    found = case(name)
    inner = found.inner(found.model)
    packed = secateur.pack(inner)
    packed.save(folder / "model.wasm", test=folder / "test.mjs", **options)
    (folder / "package.json").write_text('{"type": "module"}\n')
    model = secateur.load(inner)
    return packed, model, hostile_rows(model, found.train, 300)


@pytest.mark.parametrize("name", CASES)
def test_node(name, tmp_path):
    packed, model, rows = saved(name, tmp_path)
    run = subprocess.run(["node", "test.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout.startswith("0 of "), run.stdout + run.stderr
    (tmp_path / "rows.json").write_text(as_json(rows))
    (tmp_path / "wrapped.js").write_text(WRAPPED)
    run = subprocess.run(["node", "wrapped.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["columns"] == rows.shape[1] and all(told["refused"])
    scores = np.array([[int(bits) for bits in row] for row in told["scores"]], dtype=np.uint64).view(np.float64)
    theirs = model.raw_scores(rows)
    assert_same_bits(scores.astype(theirs.dtype), theirs, rows)
    if packed._packed.is_classifier:
        assert (packed.classes_[np.array(told["predicted"])] == packed.predict(rows)).all()
    if packed._packed.has_probabilities:
        # JSON has no name for what is no number.
        np.testing.assert_allclose(np.array(told["probabilities"], dtype=float), packed.predict_proba(rows), rtol=1e-6, atol=1e-37)
    else:
        assert set(told["probabilities"]) == {"this model has no probabilities"}


def test_a_changed_table_is_found_by_the_test(tmp_path):
    saved("XGBClassifier", tmp_path)
    data = bytearray((tmp_path / "model.wasm").read_bytes())
    # The last table has the intercept, behind the leaves: each score has another bit.
    data[-8] ^= 1
    (tmp_path / "model.wasm").write_bytes(data)
    run = subprocess.run(["node", "test.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and not run.stdout.startswith("0 of "), run.stdout


@pytest.mark.parametrize(("name", "leaves"), [*((name, None) for name in CASES), ("XGBClassifier", 8), ("RandomForestClassifier", 16)])
def test_chromium(name, leaves, tmp_path):
    options = {} if leaves is None else {"leaves": leaves, "time_limit": 0.2, "threads": 1}
    packed, model, rows = saved(name, tmp_path, **options)
    row = next(row for row in rows if np.isfinite(row).all() and (np.abs(row) < 1e6).all())
    address = f"file://{tmp_path}/model.html#" + ",".join(repr(float(value)) for value in row)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom", address]
    page = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    shown = html.unescape(re.search(r'<output id="prediction">(.*?)</output>', page)[1])
    table = re.search(r'<table id="scores">(.*?)</table>', page, re.DOTALL)[1]
    scores = np.array([float(cell) for cell in re.findall(r"<td>[^<]*</td><td>([^<]*)</td>", table)])
    if leaves is None:
        theirs = model.raw_scores(row[None])[0]
        assert (scores.astype(theirs.dtype) == theirs).all(), (scores, theirs)
        if packed._packed.is_classifier:
            label = packed.predict(row[None])[0]
            as_text = str(label).lower() if isinstance(label, (bool, np.bool_)) else str(label)
            assert shown in (as_text, str(float(label)).removesuffix(".0") if not isinstance(label, str) else as_text), (shown, label)
    else:
        assert len(scores) == packed._packed.outputs
