"""Models as WebAssembly, run by Wasmtime, beside the live libraries: raw scores in every bit, and the class. Node and Chromium run them in `python/web`."""

from __future__ import annotations

import numpy as np
import pytest
import wasmtime
from command import ROOT
from harness import assert_same_bits, hostile_rows
from prunable import CASES, case

import secateur


class Running:
    """A module that runs."""

    def __init__(self, path):
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        module = wasmtime.Module.from_file(engine, str(path))
        assert not module.imports
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)

    def __getattr__(self, name):
        return lambda: self.exports[name](self.store)

    def predictions(self, rows):
        """Raw scores and classes of all rows."""
        memory, scores, classes = self.exports["memory"], [], []
        for row in np.ascontiguousarray(rows, dtype=np.float64):
            memory.write(self.store, row.tobytes(), self.row())
            self.raw()
            start = self.scores()
            scores.append(np.frombuffer(bytes(memory.read(self.store, start, start + 8 * self.outputs()))))
            classes.append(self.__getattr__("class")())
        return np.array(scores), np.array(classes)


def sections(module):
    """The sections of a module, each with its number, but for those that start with 0: these hold names alone."""
    found, at = [], 8
    while at < len(module):
        length, shift, start = 0, 0, at + 1
        while True:
            length |= (module[start] & 0x7F) << shift
            shift, start = shift + 7, start + 1
            if not module[start - 1] & 0x80:
                break
        found += [module[at : start + length]] if module[at] else []
        at = start + length
    return found


def test_the_template_is_its_text(tmp_path):
    source = ROOT / "crates" / "proof" / "source" / "src"
    made = bytes(wasmtime.wat2wasm((source / "template.wat").read_text()))
    stripped = tmp_path / "template.wasm"
    stripped.write_bytes(made[:8] + b"".join(sections(made)))
    assert stripped.read_bytes() == (source / "template.wasm").read_bytes(), f"template.wasm is not template.wat, which makes {stripped}"


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model_has_its_own_bits(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    packed.save(tmp_path / "model.wasm", test=tmp_path / "test.mjs", certificate=tmp_path / "model.cert")
    rows = hostile_rows(model, found.train, 400)
    scores, classes = Running(tmp_path / "model.wasm").predictions(rows)
    theirs = model.raw_scores(rows)
    assert_same_bits(scores.astype(theirs.dtype), theirs, rows)
    if packed._packed.is_classifier:
        assert (packed.classes_[classes] == packed.predict(rows)).all()
    else:
        assert (classes == -1).all()
    assert secateur.check(inner, tmp_path / "model.wasm", tmp_path / "model.cert")["outcome"] == "same_bits"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.cert", "model.html", "model.js", "model.wasm", "test.mjs"]


QUANTISED = ["XGBClassifier", "LGBMClassifier, three classes", "CatBoostClassifier", "RandomForestClassifier"]


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_leaves_are_within_the_bound(name, tmp_path):
    found = case(name)
    inner = found.inner(found.model)
    model = secateur.load(inner)
    packed = secateur.pack(inner)
    file, proof = tmp_path / "model.wasm", tmp_path / "model.cert"
    facts = packed.save(file, leaves=8, test=tmp_path / "test.mjs", certificate=proof, time_limit=0.2, threads=1)
    rows = hostile_rows(model, found.train, 400)
    scores, _ = Running(file).predictions(rows)
    theirs = np.asarray(model.raw_scores(rows), dtype=np.float64)
    packed.save(tmp_path / "exact.wasm")
    if b" average_class " in (tmp_path / "exact.wasm").read_bytes():
        # It decides on averages alone, and they are what quantised leaves are near to.
        theirs = theirs / len(inner.estimators_)
    assert (np.abs(scores - theirs) <= facts["within"] * (1 + 1e-12)).all()
    claim = secateur.check(inner, file, proof)
    assert (claim["kind"], claim["quantised"]["within"]) == ("quantised", facts["within"])


def test_regressors_have_scores_and_no_class(tmp_path):
    import catboost
    import lightgbm
    import xgboost
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * 2 + np.sin(X[:, 1])
    for model in [
        xgboost.XGBRegressor(n_estimators=10, max_depth=3),
        lightgbm.LGBMRegressor(n_estimators=10, num_leaves=7, verbose=-1),
        catboost.CatBoostRegressor(iterations=10, depth=3, verbose=False, allow_writing_files=False),
        RandomForestRegressor(10, max_depth=4, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ]:
        model.fit(X, y)
        loaded = secateur.load(model)
        secateur.pack(model).save(tmp_path / "model.wasm", certificate=tmp_path / "model.cert")
        rows = hostile_rows(loaded, X, 200)
        scores, classes = Running(tmp_path / "model.wasm").predictions(rows)
        theirs = loaded.raw_scores(rows)
        assert_same_bits(scores.astype(theirs.dtype), theirs, rows)
        assert (classes == -1).all()
        assert secateur.check(model, tmp_path / "model.wasm", tmp_path / "model.cert")["outcome"] == "same_bits"


def test_a_changed_byte_is_refused(tmp_path):
    found = case("XGBClassifier")
    packed = secateur.pack(found.model)
    packed.save(tmp_path / "model.wasm", certificate=tmp_path / "model.cert")
    data = bytearray((tmp_path / "model.wasm").read_bytes())
    data[-9] ^= 1
    (tmp_path / "model.wasm").write_bytes(data)
    with pytest.raises(secateur.CertificateError, match="another packed file"):
        secateur.check(found.model, tmp_path / "model.wasm", tmp_path / "model.cert")


def test_files_of_the_user_stay(tmp_path):
    packed = secateur.pack(case("XGBClassifier").model)
    for ending in ("js", "html"):
        mine = tmp_path / f"mine.{ending}"
        mine.write_text("mine\n")
        with pytest.raises(secateur.InputError, match="this file is something else"):
            packed.save(tmp_path / "mine.wasm")
        assert [path.name for path in tmp_path.iterdir()] == [mine.name] and mine.read_text() == "mine\n"
        mine.unlink()
    with pytest.raises(secateur.InputError, match="name is for C"):
        packed.save(tmp_path / "model.wasm", name="house")
    packed.save(tmp_path / "model.wasm")
    packed.save(tmp_path / "model.wasm")
