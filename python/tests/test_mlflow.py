"""The page about MLflow and model cards runs: with a stand-in for `mlflow.pyfunc` in `make test`, and with MLflow itself where this file is
started as a program (`python3 tests/run.py mlflow`)."""

from __future__ import annotations

import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import types

import secateur

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "mlflow.md"


def run_page() -> None:
    """Runs every block of the page, in the current folder."""
    names: dict = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)


def stand_in() -> types.ModuleType:
    """What the page uses of `mlflow.pyfunc`: artifacts are copied to the folder, the object is kept, and loading gives both to it."""
    module, kept = types.ModuleType("mlflow.pyfunc"), {}

    class PythonModel:
        pass

    class Loaded:
        def __init__(self, path: str) -> None:
            self._model, artifacts = kept[path]
            self._context = types.SimpleNamespace(artifacts=artifacts)
            self._model.load_context(self._context)

        def predict(self, rows):
            return self._model.predict(self._context, rows)

    def save_model(path, *, python_model, artifacts, pip_requirements):
        assert isinstance(python_model, PythonModel) and pip_requirements
        # MLflow pickles the object: it must not hold what cannot be.
        pickle.dumps(vars(python_model))
        folder = pathlib.Path(path)
        folder.mkdir()
        copies = {name: folder / pathlib.Path(file).name for name, file in artifacts.items()}
        for name, copy in copies.items():
            copy.write_bytes(pathlib.Path(artifacts[name]).read_bytes())
        kept[path] = python_model, {name: str(copy) for name, copy in copies.items()}

    module.PythonModel, module.save_model, module.load_model = PythonModel, save_model, Loaded
    return module


def test_the_page_runs_and_its_card_is_about_the_files_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = types.ModuleType("mlflow")
    package.pyfunc = stand_in()
    monkeypatch.setitem(sys.modules, "mlflow", package)
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", package.pyfunc)
    run_page()
    card = (tmp_path / "CARD.md").read_text()
    for name in ("trained.json", "smaller.json"):
        assert secateur.load(name).digest in card
    command = re.search(r"`secateur-check (.*?)`", card)[1].split()
    ran = subprocess.run([pathlib.Path(sys.executable).with_name("secateur-check"), *command], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.startswith("valid"), ran


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_page()
    print("the page runs with MLflow itself")
