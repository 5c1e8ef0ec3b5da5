"""Damaged model files: what the library does not load is not read either, with a message that names the place.

Each fixture is changed in one place in ways that a C string, a type or a list could trip over. The library is asked in
a process of its own, because some of these files crash it. What is read although the library does not load it must be
listed in `HARMLESS` with the reason.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import skops.io
import xgboost
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import secateur
from loading import Loader

MODELS = Path(__file__).resolve().parents[2] / "testdata" / "models"
# Fields that say nothing of the trees, their order, weights, classes or inputs, and are kept as they are: a file in which one
# of them is damaged is refused by its library, so nothing false can be decided with it.
HARMLESS = {
    # Lists that are empty where a tree has no categorical split; where it has one they are needed, and missed.
    ("categories",),
    ("categories_nodes",),
    ("categories_segments",),
    ("categories_sizes",),
    ("cats",),
    ("cats", "enc"),
    ("cats", "feature_segments"),
    ("cats", "sorted_idx"),
    ("tree_param", "num_feature"),
    ("learner_model_param", "num_class"),
    ("gbtree_model_param", "num_parallel_tree"),
}


def ours(data: bytes) -> str | None:
    """The message, or `None` where the file is read."""
    try:
        secateur.Model.parse(data)
    except secateur.SecateurError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> Iterator[Callable[[str, bytes], bool]]:
    """Whether a library of this name loads these bytes."""
    loaders: dict[str, Loader] = {}

    def loads(name: str, data: bytes) -> bool:
        if name not in loaders:
            loaders[name] = Loader(name, tmp_path_factory.mktemp("loading"))
        return loaders[name].loads(data)

    yield loads
    for loader in loaders.values():
        loader.close()


def places(node, at=()) -> Iterator[tuple]:
    """The path of each value that is no number of a long list; of lists of objects the first."""
    items = node.items() if isinstance(node, dict) else enumerate(node[:1]) if isinstance(node, list) else ()
    for key, value in items:
        if isinstance(key, str) or isinstance(value, dict):
            yield (*at, key)
        yield from places(value, (*at, key))


def xgboost_mutants(data: bytes) -> Iterator[tuple[tuple, str, bytes]]:
    document = json.loads(data)
    for path in places(document):
        for name in ("deleted", "null", "text", "emptied"):
            changed = copy.deepcopy(document)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            if name == "deleted":
                del parent[path[-1]]
            else:
                parent[path[-1]] = {"null": None, "text": "x", "emptied": type(parent[path[-1]])()}[name]
            yield path, name, json.dumps(changed).encode()


@pytest.mark.parametrize("name", ["3.2.0-dart.json", "3.2.0-categorical.json"])
def test_we_refuse_what_xgboost_does_not_load(name, libraries):
    data = (MODELS / "xgboost" / name).read_bytes()
    assert ours(data) is None and libraries("xgboost", data)
    wrong, refused = [], 0
    for path, change, mutant in xgboost_mutants(data):
        message = ours(mutant)
        refused += message is not None
        if message is None and tuple(path[-2:]) not in HARMLESS and path[-1:] not in HARMLESS:
            if not libraries("xgboost", mutant):
                wrong.append(("/".join(map(str, path)), change))
    assert not wrong and refused > 50, (wrong, refused)


def test_xgboost_named_cases(libraries):
    dart = json.loads((MODELS / "xgboost" / "3.2.0-dart.json").read_bytes())
    del dart["learner"]["gradient_booster"]["weight_drop"]
    plain = (MODELS / "xgboost" / "3.2.0-logistic.json").read_bytes()
    for data, words in [
        (json.dumps(dart).encode(), "learner.gradient_booster.weight_drop"),
        (b" " + plain, "white space before its first brace"),
        (b"\n" + plain, "white space before its first brace"),
    ]:
        assert not libraries("xgboost", data) and words in ours(data)


def test_lightgbm_text_ends_at_no_nul_byte(libraries):
    text = (MODELS / "lightgbm" / "multiclass.txt").read_text()
    assert ours(text.encode()) is None and libraries("lightgbm", text.encode())
    tree = text.replace("Tree=1\n", "Tree=1\0\n")
    size = re.search(r"(?m)^tree_sizes=\S+ (\d+)", text)
    tree = tree.replace(size[0], size[0][: size.start(1) - size.start(0)] + str(int(size[1]) + 1), 1)
    assert not libraries("lightgbm", tree.encode())
    for place in ("Tree=1", "feature_names=", "leaf_value=", "end of trees", "version=v4"):
        message = ours(text.replace(place, place + "\0", 1).encode())
        assert message is not None and "NUL" in message, place


def test_onnx_output_types():
    import onnx
    import onnxruntime

    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    disagreements = []
    for name in ("forest.onnx", "forest_double.onnx", "every_mode_double.onnx", "lightgbm_three.onnx"):
        model = onnx.load(MODELS / "onnx" / name)
        for output in range(len(model.graph.output)):
            for element in (1, 6, 7, 8, 11):
                changed = copy.deepcopy(model)
                kind = changed.graph.output[output].type
                if not kind.HasField("tensor_type"):
                    continue
                kind.tensor_type.elem_type = element
                data = changed.SerializeToString()
                try:
                    onnxruntime.InferenceSession(data, quiet, providers=["CPUExecutionProvider"])
                    loaded = True
                except Exception:  # onnxruntime's own exceptions have no common base
                    loaded = False
                if loaded != (ours(data) is None):
                    disagreements.append((name, output, element, loaded))
    assert not disagreements


def test_infinities_in_categorical_columns_are_refused_as_by_scikit_learn():
    random = np.random.default_rng(0)
    X = np.c_[random.integers(0, 5, 300), random.normal(size=300)].astype(float)
    fitted = HistGradientBoostingClassifier(categorical_features=[0], max_iter=5).fit(X, X[:, 0] % 2 + X[:, 1] > 0.7)
    model = secateur.load(fitted)
    for column in (0, 1):
        for value in (np.inf, -np.inf, np.nan, 7.0, 2.5, -1.0, 1e300):
            row = X[:1].copy()
            row[0, column] = value
            try:
                expected = fitted.decision_function(row)
            except ValueError:
                with pytest.raises(secateur.SecateurError, match="does not accept"):
                    model.raw_scores(row)
            else:
                assert model.raw_scores(row)[0, 0] == expected[0]
    # Such rows do not count as data.
    assert secateur.prune(fitted, np.vstack([X, [np.inf, 0.0]]), effort="fast").data["rows"] == len(X)


def test_every_error_names_its_file(tmp_path):
    """A script that goes over many files must be able to tell which one it was."""
    names = ["bad.json", "bad.txt", "bad.onnx", "bad.ubj", "bad.spk", "bad.skops", "bad.cbm", "none.json"]
    contents = [b'{"learner": 3}', b"tree\nversion=v4\n", b"\x08\x07garbage", b"", b"SECATEURPACK1\0", b"PK\x03\x04", b"CBM1aaaa"]
    for name, content in zip(names, contents, strict=False):
        (tmp_path / name).write_bytes(content)
    good = AdaBoostClassifier(n_estimators=3, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    calls = {
        "load": secateur.load,
        "prune": secateur.prune,
        "pack": secateur.pack,
        "inspect": secateur.inspect,
        "verify, second": lambda path: secateur.verify(good, path),
        "verify, first": lambda path: secateur.verify(path, good),
        "check, certificate": lambda path: secateur.check(good, good, path),
        "check, model": lambda path: secateur.check(path, good, b""),
    }
    for name, (call, function) in itertools.product([*names, "folder"], calls.items()):
        (tmp_path / "folder").mkdir(exist_ok=True)
        path = tmp_path / name
        with pytest.raises((secateur.SecateurError, OSError)) as caught:
            function(path)
        assert str(path) in str(caught.value), (call, name, caught.value)


def test_a_skops_file_of_something_else_says_how_to_save_it(tmp_path):
    X, y = np.arange(60.0).reshape(-1, 2), np.arange(30) % 2
    for model, words in (
        (xgboost.XGBClassifier(n_estimators=2), "model.save_model"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "supported are scikit-learn's DecisionTree"),
        (LogisticRegression(), "supported are scikit-learn's DecisionTree"),
    ):
        path = tmp_path / "model.skops"
        skops.io.dump(model.fit(X, y), path)
        with pytest.raises(secateur.ModelError, match=words):
            secateur.load(path)
