"""The stubs against the built module: every public name, every signature."""

from __future__ import annotations

import ast
import inspect
import pathlib
import subprocess
import sys

import secateur
from secateur import _secateur

STUB = pathlib.Path(secateur.__file__).with_name("_secateur.pyi")


def test_mypy_finds_the_stubs_and_the_module_to_agree():
    """All modules: names, kinds, parameters and defaults, against the objects at run time."""
    command = [sys.executable, "-m", "mypy.stubtest", "secateur", "--ignore-missing-stub",
               "--mypy-config-file", str(pathlib.Path(__file__).with_name("stubtest.ini"))]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_public_name_of_the_module_is_in_the_stub():
    tree = ast.parse(STUB.read_text())
    stubbed = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            stubbed[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            stubbed[node.target.id] = node
    built = {name for name in dir(_secateur) if not name.startswith("_")} | {"__version__"}
    assert set(stubbed) == built
    model = {node.name: node for node in stubbed["Model"].body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(secateur.Model) if not name.startswith("_")}
    assert set(model) == public
    functions = [(node, getattr(_secateur, name)) for name, node in stubbed.items() if isinstance(node, ast.FunctionDef)]
    functions += [(node, inspect.getattr_static(secateur.Model, name)) for name, node in model.items()]
    for node, built_function in functions:
        if isinstance(built_function, staticmethod):
            built_function = built_function.__func__
        if not callable(built_function):
            assert any(ast.unparse(d) == "property" for d in node.decorator_list), node.name
            continue
        parameters = inspect.signature(built_function).parameters
        positional = [argument.arg for argument in node.args.args]
        named = [argument.arg for argument in node.args.kwonlyargs]
        assert positional + named == list(parameters), node.name
        assert {name for name in named} == {
            name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
        }, node.name


def test_everything_public_has_annotations_and_a_docstring():
    for name in secateur.__all__:
        public = getattr(secateur, name)
        if name == "__version__":
            continue
        assert public.__doc__, name
        functions = [public] if inspect.isfunction(public) else []
        if inspect.isclass(public) and public.__module__ != "secateur":
            functions += [f for f in vars(public).values() if inspect.isfunction(f) and not f.__name__.startswith("_")]
        for function in functions:
            assert function.__doc__, f"{name}: {function.__name__}"
            for parameter in inspect.signature(function).parameters.values():
                assert parameter.name == "self" or parameter.annotation is not parameter.empty, f"{name}: {parameter}"
