"""Models as C and Rust, compiled here, beside the live libraries: raw scores in every bit, and the class."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess

import numpy as np
import pytest
from harness import assert_same_bits, hostile_rows
from prunable import CASES, case

import secateur

CC = os.environ.get("CC", "cc")


def compiled(folder, name="model", level="-O2"):
    """The functions of a model that was saved as C."""
    library = folder / f"lib{name}.so"
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    command = [CC, *strict, level, "-shared", "-fPIC", f"{name}.c", "-lm", "-o", str(library)]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(library))


def predictions(library, packed, rows, name="model"):
    """Raw scores and classes of all rows, one call each."""
    text = "float" if "f32_input" in packed[1] else "double"
    row_type = np.float32 if text == "float" else np.float64
    score_type = np.float32 if "f32_sums" in packed[1] else np.float64
    rows = np.ascontiguousarray(rows, dtype=row_type)
    scores = np.empty((len(rows), packed[0]._packed.outputs), dtype=score_type)
    raw = getattr(library, f"{name}_raw")
    for row, out in zip(rows, scores, strict=True):
        raw(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
    if not packed[0]._packed.is_classifier:
        return scores, None
    decide = getattr(library, f"{name}_class")
    return scores, np.array([decide(row.ctypes.data_as(ctypes.c_void_p)) for row in rows])


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model_compiles_to_its_own_bits(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    packed.save(tmp_path / "model.c", test=tmp_path / "test.c", certificate=tmp_path / "model.cert")
    parts = (tmp_path / "model.c").read_text().splitlines()[2].split()
    rows = hostile_rows(model, found.train, 400)
    scores, classes = predictions(compiled(tmp_path), (packed, parts), rows)
    # The library itself is the judge of `raw_scores`, in the tests of each library; here of the same rows.
    assert_same_bits(scores, model.raw_scores(rows), rows)
    if classes is not None:
        assert (packed.classes_[classes] == packed.predict(rows)).all()
    assert secateur.check(inner, tmp_path / "model.c", tmp_path / "model.cert")["outcome"] == "same_bits"
    subprocess.run([CC, "-std=c99", "model.c", "test.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "test"], check=False).returncode == 0


@pytest.mark.parametrize("name", ["XGBClassifier, three classes", "LGBMClassifier, categories", "CatBoostClassifier", "RandomForestClassifier"])
def test_thresholds_as_whole_numbers_have_the_same_bits(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    packed.save(tmp_path / "keyed.c", name="keyed", keys=True, certificate=tmp_path / "keyed.cert")
    text = (tmp_path / "keyed.c").read_text()
    parts = text.splitlines()[2].split()
    assert "keys" in parts and re.search(r"static const uint(32|64)_t keyed_threshold\[", text)
    rows = hostile_rows(model, found.train, 400)
    scores, _ = predictions(compiled(tmp_path, "keyed"), (packed, parts), rows, "keyed")
    assert_same_bits(scores, model.raw_scores(rows), rows)
    assert secateur.check(inner, tmp_path / "keyed.c", tmp_path / "keyed.cert")["outcome"] == "same_bits"
    for path in ("model.wasm", "model.spk"):
        with pytest.raises(secateur.InputError, match="keys(, layout and probabilities are| is) for"):
            packed.save(tmp_path / path, keys=True)


@pytest.mark.parametrize("name", CASES)
def test_the_small_layout_has_the_same_bits_in_fewer_bytes_and_probabilities_are_the_librarys(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    probable = packed._packed.has_probabilities
    packed.save(tmp_path / "compact.c", name="compact")
    packed.save(tmp_path / "small.c", name="small", layout="small", probabilities=probable, certificate=tmp_path / "small.cert")
    compact, text = ((tmp_path / f"{kind}.c").read_text() for kind in ("compact", "small"))
    parts = text.splitlines()[2].split()
    assert "tests" in compact.splitlines()[2].split() and "small" in parts
    rows = hostile_rows(model, found.train, 400)
    library = compiled(tmp_path, "small")
    scores, _ = predictions(library, (packed, parts), rows, "small")
    assert_same_bits(scores, model.raw_scores(rows), rows)
    assert secateur.check(inner, tmp_path / "small.c", tmp_path / "small.cert")["outcome"] == "same_bits"
    if not probable:
        with pytest.raises(secateur.SecateurError, match="no probabilities"):
            packed.save(tmp_path / "none.c", probabilities=True)
        assert not (tmp_path / "none.c").exists()
        return
    expected = packed.predict_proba(rows)
    given = np.ascontiguousarray(rows, dtype=np.float32 if "f32_input" in parts else np.float64)
    own = re.search(r"small_probabilities\(const \w+ \*row, (\w+) \*", text)[1]
    found = np.empty(expected.shape, dtype=np.float32 if own == "float" else np.float64)
    for row, out in zip(given, found, strict=True):
        library.small_probabilities(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
    np.testing.assert_allclose(found, expected, rtol=1e-6 if own == "float" else 1e-13, atol=1e-37 if own == "float" else 1e-300)


@pytest.mark.parametrize("name", CASES)
def test_the_fast_layout_has_the_same_bits(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    packed.save(tmp_path / "fast.c", name="fast", layout="fast", certificate=tmp_path / "fast.cert")
    parts = (tmp_path / "fast.c").read_text().splitlines()[2].split()
    # Keys come with it, wherever there are numbers to compare.
    assert ("keys" in parts) == ("numbers" in parts)
    assert {"full", "words", "tests"} & set(parts)
    rows = hostile_rows(model, found.train, 400)
    scores, _ = predictions(compiled(tmp_path, "fast"), (packed, parts), rows, "fast")
    assert_same_bits(scores, model.raw_scores(rows), rows)
    assert secateur.check(inner, tmp_path / "fast.c", tmp_path / "fast.cert")["outcome"] == "same_bits"


def test_layout_and_probabilities_are_for_source(tmp_path):
    found = case("XGBClassifier")
    packed = secateur.pack(found.inner(found.model), leaves="exact")
    with pytest.raises(secateur.InputError, match="exact leaves"):
        secateur.pack(found.inner(found.model), leaves=16)
    with pytest.raises(secateur.OptionError, match="layout"):
        packed.save(tmp_path / "model.c", layout="tiny")
    with pytest.raises(secateur.InputError, match="one layout"):
        packed.save(tmp_path / "model.wasm", layout="small")
    for options in ({"layout": "small"}, {"layout": "fast"}, {"probabilities": True}):
        with pytest.raises(secateur.InputError, match="are for source"):
            packed.save(tmp_path / "model.spk", **options)
    assert not list(tmp_path.iterdir())


def decided_scores(model, rows, folder):
    """The library's raw scores, divided where it decides on averages alone."""
    scores = np.asarray(model.raw_scores(rows), dtype=np.float64)
    text = (folder / "exact.h").read_text()
    if "average_class" not in text.splitlines()[2].split():
        return scores
    return scores / float.fromhex(re.search(r"/ (0x[0-9a-f.p+-]+)\)", text)[1])


@pytest.mark.parametrize("name", CASES)
def test_quantised_leaves_are_within_the_bound_and_decide_alike_beyond_it(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    packed.save(tmp_path / "exact.h")
    for bits in (8, 16):
        # A name for each: a library of the same path is not loaded twice.
        file, proof = tmp_path / f"m{bits}.c", tmp_path / f"m{bits}.cert"
        facts = packed.save(file, name=f"m{bits}", leaves=bits, certificate=proof, time_limit=0.2, threads=1)
        leaves = facts["leaves"]
        rows = hostile_rows(model, found.train, 400)
        given = np.ascontiguousarray(rows, dtype=np.float32 if "f32_input" in file.read_text() else np.float64)
        library = compiled(tmp_path, f"m{bits}")
        raw, decide = getattr(library, f"m{bits}_raw"), getattr(library, f"m{bits}_class", None)
        sums = np.empty((len(rows), packed._packed.outputs), dtype=np.int32)
        for row, out in zip(given, sums, strict=True):
            raw(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        theirs = decided_scores(model, rows, tmp_path)
        assert (np.abs(sums * leaves["unit"] - theirs) <= facts["within"] * (1 + 1e-12)).all()
        assert leaves["at_least"] is None or leaves["at_least"] <= facts["within"] <= leaves["by_trees"]
        claim = secateur.check(inner, file, proof)
        assert (claim["kind"], claim["quantised"]["within"]) == ("quantised", facts["within"])
        if not packed._packed.is_classifier:
            continue
        classes = np.array([decide(row.ctypes.data_as(ctypes.c_void_p)) for row in given])
        ordered = np.sort(theirs, axis=1)
        if theirs.shape[1] > 1 and leaves["certain_beyond"] is not None:
            certain = ordered[:, -1] - ordered[:, -2] > leaves["certain_beyond"]
        else:
            # Every threshold of these models' rules is zero or next to it, or one half.
            near = np.minimum(np.abs(theirs[:, 0]), np.abs(theirs[:, 0] - 0.5))
            certain = near > facts["within"] * (1 + 1e-9) + 1e-6
        assert (packed.classes_[classes] == packed.predict(rows))[certain].all()


def test_same_decisions_are_proved_or_nothing_is_written(tmp_path):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    easy = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5, random_state=0).fit(X, y)
    facts = secateur.pack(easy).save(tmp_path / "easy.c", leaves=16, same_decisions=True, certificate=tmp_path / "easy.cert")
    assert facts["outcome"] == "same_decisions" and facts["decisions"]["outcome"] == "identical"
    claim = secateur.check(easy, tmp_path / "easy.c", tmp_path / "easy.cert")
    assert claim["outcome"] == "same_decisions" and claim["quantised"]["decisions"]["about"] == "decisions"
    # Many deep trees: some input is nearer to the threshold than bytes can tell.
    from xgboost import XGBClassifier

    hard = XGBClassifier(n_estimators=60, max_depth=4, random_state=0).fit(X, rng.integers(2, size=300))
    with pytest.raises(secateur.SecateurError, match="not proved to be the same"):
        secateur.pack(hard).save(tmp_path / "hard.c", leaves=8, same_decisions=True, time_limit=20)
    assert not (tmp_path / "hard.c").exists()


def test_a_bound_that_is_not_proved_is_refused(tmp_path):
    model = case("XGBClassifier").model
    packed = secateur.pack(model)
    head = len(b"secateur packing 1\n") + 1 + 32 + 32
    for limit, reason in [(0.0, "the leaves of each tree show"), (20.0, "should be about scores")]:
        facts = packed.save(tmp_path / "model.c", leaves=8, certificate=tmp_path / "model.cert", time_limit=limit, threads=1)
        assert (facts["within"] == facts["leaves"]["by_trees"]) == (limit == 0.0)
        proof = (tmp_path / "model.cert").read_bytes()
        assert struct.unpack("<d", proof[head : head + 8])[0] == facts["within"]
        lower = struct.pack("<d", facts["within"] * (1 - 1e-9))
        (tmp_path / "forged.cert").write_bytes(proof[:head] + lower + proof[head + 8 :])
        with pytest.raises(secateur.CertificateError, match=reason):
            secateur.check(model, tmp_path / "model.c", tmp_path / "forged.cert")
        # Without its proof, the search's bound is none.
        (tmp_path / "forged.cert").write_bytes(proof[: head + 8] + bytes(16))
        if limit > 0.0:
            with pytest.raises(secateur.CertificateError, match="the leaves of each tree show"):
                secateur.check(model, tmp_path / "model.c", tmp_path / "forged.cert")


def test_leaves_go_with_source(tmp_path):
    packed = secateur.pack(case("XGBClassifier").model)
    for options, message in [
        ({"path": "m.spk", "leaves": 8}, "leaves is for source"),
        ({"path": "m.c", "leaves": 12}, "16 or 8"),
        ({"path": "m.c", "leaves": True}, "16 or 8"),
        ({"path": "m.c", "same_decisions": True}, "go with leaves"),
        ({"path": "m.c", "missing": False}, "go with leaves"),
    ]:
        path = tmp_path / options.pop("path")
        with pytest.raises(secateur.SecateurError, match=message):
            packed.save(path, **options)
        assert not path.exists()


def test_a_changed_table_is_found_by_the_test_and_by_the_checker(tmp_path):
    found = case("XGBClassifier")
    packed = secateur.pack(found.model)
    packed.save(tmp_path / "model.c", test=tmp_path / "test.c", certificate=tmp_path / "model.cert")
    lines = (tmp_path / "model.c").read_text().split("\n")
    at = next(index for index, line in enumerate(lines) if line.startswith("static const float model_leaf[")) + 1
    lines[at] = lines[at].replace("0x1.", "0x1.f", 1)
    (tmp_path / "model.c").write_text("\n".join(lines))
    subprocess.run([CC, "-std=c99", "model.c", "test.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    run = subprocess.run([tmp_path / "test"], check=False, capture_output=True, text=True)
    assert run.returncode == 1 and not run.stdout.startswith("0 of"), run.stdout
    with pytest.raises(secateur.CertificateError, match="another packed file"):
        secateur.check(found.model, tmp_path / "model.c", tmp_path / "model.cert")


def test_a_packed_file_becomes_source_that_is_certified_against_it(tmp_path):
    secateur.pack(case("XGBClassifier").model).save(tmp_path / "model.spk")
    loaded = secateur.load(tmp_path / "model.spk")
    loaded.save(tmp_path / "all.h", name="house", certificate=tmp_path / "all.cert")
    assert "house_raw" in (tmp_path / "all.h").read_text()
    assert secateur.check(tmp_path / "model.spk", tmp_path / "all.h", tmp_path / "all.cert")["kind"] == "packed"


def test_a_model_becomes_a_rust_module(tmp_path):
    found = case("XGBClassifier")
    packed = secateur.pack(found.model)
    packed.save(tmp_path / "house.rs", test=tmp_path / "main.rs", certificate=tmp_path / "house.cert")
    subprocess.run(["rustc", "--edition", "2021", "-D", "warnings", "main.rs", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0
    assert secateur.check(found.model, tmp_path / "house.rs", tmp_path / "house.cert")["outcome"] == "same_bits"
    with pytest.raises(secateur.InputError, match="name is for C"):
        packed.save(tmp_path / "other.rs", name="other")


def test_what_cannot_be_saved_is_refused_and_files_stay(tmp_path):
    packed = secateur.pack(case("XGBClassifier").model)
    (tmp_path / "mine.h").write_text("int mine;\n")
    with pytest.raises(secateur.InputError, match="this file is something else"):
        packed.save(tmp_path / "mine.c")
    assert (tmp_path / "mine.h").read_text() == "int mine;\n"
    with pytest.raises(secateur.InputError, match="are for source"):
        packed.save(tmp_path / "model.spk", name="house")
    with pytest.raises(secateur.SecateurError, match="cannot be the start of functions' names"):
        packed.save(tmp_path / "model.c", name="while")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.h"]
