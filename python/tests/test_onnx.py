"""ONNX models against onnxruntime, the judge.

Sessions run with one thread inside operators and one between them: with more, onnxruntime adds partial sums
of trees in an order that depends on threads and batch, and its own bits change from run to run.

Raw scores are compared with the scores that onnxruntime gives for a copy of the model whose
`post_transform` is NONE: column 1 where there is one sum, all columns otherwise. In the double form
onnxruntime adds up and decides in f64 but shows the scores rounded to f32, so there our f64 scores are
rounded for the comparison.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from harness import (
    assert_same_bits,
    assert_same_classes,
    classes,
    half_of_the_trees,
    hostile_rows,
    reweighted_trees,
)
from onnx import TensorProto, helper
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxmltools
    import skl2onnx
    from lightgbm import LGBMClassifier
    from onnxmltools.convert.common import data_types as onnxml_types
    from skl2onnx.common import data_types as skl_types
    from xgboost import XGBClassifier

ROWS = 10_000
LABELS = np.array(["ant", "bee", "cat", "dog"])


@functools.cache
def data(class_count: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        600, 6, n_informative=5, n_redundant=0, n_classes=class_count, random_state=class_count
    )
    return X.astype(np.float32), y


def with_holes(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[::5, 1] = np.nan
    X[::7, 3] = np.nan
    return X


def with_zeros(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[::3, 2] = 0.0
    X[::4, 0] = 0.0
    return X


def with_categories(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = X.copy()
    random = np.random.default_rng(1)
    X[:, 0] = random.integers(0, 14, len(X))
    X[:, 4] = random.integers(0, 70, len(X))
    return X, y ^ (X[:, 0] % 3 == 0) ^ (X[:, 4] % 5 == 0)


def quietly(convert):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return convert()


def sklearn_model(estimator, X, y, *, zipmap=False, double=False, opset=None) -> onnx.ModelProto:
    tensor = skl_types.DoubleTensorType if double else skl_types.FloatTensorType

    def convert():
        estimator.fit(X, y)
        return skl2onnx.to_onnx(
            estimator,
            initial_types=[("X", tensor([None, X.shape[1]]))],
            options={id(getattr(estimator, "steps", [("", estimator)])[-1][1]): {"zipmap": zipmap}},
            target_opset=opset,
        )

    model = quietly(convert)
    # skl2onnx calls these scores double, and onnxruntime, whose scores are float, refuses to load that.
    for output in model.graph.output:
        if output.type.tensor_type.elem_type == TensorProto.DOUBLE:
            output.type.tensor_type.elem_type = TensorProto.FLOAT
    return model


def xgboost_model(X, y, **options) -> onnx.ModelProto:
    def convert():
        estimator = XGBClassifier(max_depth=4, n_jobs=1, **options).fit(X, y)
        types = [("X", onnxml_types.FloatTensorType([None, X.shape[1]]))]
        return onnxmltools.convert_xgboost(estimator, initial_types=types)

    return quietly(convert)


def lightgbm_model(X, y, *, zipmap=False, fit=None, **options) -> onnx.ModelProto:
    def convert():
        estimator = LGBMClassifier(verbose=-1, n_jobs=1, **options).fit(X, y, **(fit or {}))
        types = [("X", onnxml_types.FloatTensorType([None, X.shape[1]]))]
        return onnxmltools.convert_lightgbm(estimator, initial_types=types, zipmap=zipmap)

    return quietly(convert)


X2, Y2 = data(2)
X3, Y3 = data(3)
CATEGORICAL = {"fit": {"categorical_feature": [0, 4]}, "min_data_per_group": 5, "cat_smooth": 1.0}
OPSET_3 = {"": 18, "ai.onnx.ml": 3}

CONVERTED = {
    "tree": lambda: sklearn_model(DecisionTreeClassifier(max_depth=6, random_state=0), X2, Y2),
    "tree of three classes, double": lambda: sklearn_model(
        DecisionTreeClassifier(max_depth=6, random_state=0), X3, Y3, double=True
    ),
    "forest": lambda: sklearn_model(
        RandomForestClassifier(30, max_depth=6, random_state=0), X2, Y2 * 10 + 5, zipmap=True
    ),
    "forest, labels as text": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), X2, LABELS[Y2], zipmap=True
    ),
    "forest, a column for each class": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), X2, Y2, zipmap="columns"
    ),
    "forest of three classes": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), X3, LABELS[Y3]
    ),
    "forest, double": lambda: sklearn_model(
        RandomForestClassifier(30, max_depth=6, random_state=0), X2, Y2, double=True
    ),
    "forest of three classes, double": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), X3, Y3, double=True
    ),
    "forest, operator set 3": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), X2, Y2, opset=OPSET_3
    ),
    "forest, trained with missing values": lambda: sklearn_model(
        RandomForestClassifier(20, max_depth=5, random_state=0), with_holes(X2), Y2
    ),
    "extra trees": lambda: sklearn_model(ExtraTreesClassifier(20, max_depth=6, random_state=0), X2, Y2),
    "extra trees of three classes": lambda: sklearn_model(
        ExtraTreesClassifier(20, max_depth=6, random_state=0), X3, Y3, zipmap=True
    ),
    "gradient boosting": lambda: sklearn_model(
        GradientBoostingClassifier(n_estimators=30, random_state=0), X2, LABELS[Y2]
    ),
    "gradient boosting of three classes": lambda: sklearn_model(
        GradientBoostingClassifier(n_estimators=10, random_state=0), X3, Y3, zipmap=True
    ),
    "gradient boosting, double": lambda: sklearn_model(
        GradientBoostingClassifier(n_estimators=20, random_state=0), X2, Y2, double=True, opset=OPSET_3
    ),
    "gradient boosting of three classes, double": lambda: sklearn_model(
        GradientBoostingClassifier(n_estimators=10, random_state=0), X3, LABELS[Y3], double=True
    ),
    "gradient boosting from zero": lambda: sklearn_model(
        GradientBoostingClassifier(n_estimators=10, init="zero", random_state=0), X2, Y2
    ),
    "scaled forest": lambda: sklearn_model(
        make_pipeline(StandardScaler(), RandomForestClassifier(20, max_depth=5, random_state=0)), 1e3 * X2 + 50, Y2
    ),
    "scaled forest, double": lambda: sklearn_model(
        make_pipeline(StandardScaler(), RandomForestClassifier(20, max_depth=5, random_state=0)), X2, Y2, double=True
    ),
    "robust scaler, three classes": lambda: sklearn_model(
        make_pipeline(RobustScaler(), GradientBoostingClassifier(n_estimators=10, random_state=0)), X3, LABELS[Y3]
    ),
    "scaled to a range, missing values": lambda: sklearn_model(
        make_pipeline(MinMaxScaler(), RandomForestClassifier(20, max_depth=5, random_state=0)), with_holes(X2), Y2
    ),
    "scaled to a range, double": lambda: sklearn_model(
        make_pipeline(MinMaxScaler((-3, 7)), ExtraTreesClassifier(20, max_depth=5, random_state=0)), X2, Y2, double=True
    ),
    "xgboost": lambda: xgboost_model(X2, Y2, n_estimators=40),
    "xgboost, missing values": lambda: xgboost_model(with_holes(X2), Y2, n_estimators=20),
    "xgboost of three classes": lambda: xgboost_model(X3, Y3, n_estimators=10),
    "xgboost, parallel trees": lambda: xgboost_model(
        X3, Y3, n_estimators=4, num_parallel_tree=3, subsample=0.5
    ),
    "lightgbm": lambda: lightgbm_model(X2, Y2, n_estimators=40),
    "lightgbm, missing values": lambda: lightgbm_model(with_holes(X2), Y2, n_estimators=20, zipmap=True),
    "lightgbm, zeros are missing": lambda: lightgbm_model(
        with_zeros(with_holes(X2)), Y2, n_estimators=20, zero_as_missing=True
    ),
    "lightgbm of three classes": lambda: lightgbm_model(X3, LABELS[Y3], n_estimators=10),
    "lightgbm, one against all": lambda: lightgbm_model(X3, Y3, n_estimators=10, objective="multiclassova"),
    "lightgbm, categories": lambda: lightgbm_model(*with_categories(X2, Y2), n_estimators=20, **CATEGORICAL),
    "lightgbm of three classes, categories": lambda: lightgbm_model(
        with_categories(X3, Y3)[0], Y3, n_estimators=10, **CATEGORICAL
    ),
}


@functools.cache
def converted(name: str) -> onnx.ModelProto:
    return CONVERTED[name]()


def session(model: onnx.ModelProto | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def ensemble_node(model: onnx.ModelProto) -> onnx.NodeProto:
    (node,) = [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]
    return node


def theirs(data: bytes, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels of a model, and its scores before any transform."""
    model = onnx.load_from_string(data)
    numpy_type = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
    port = model.graph.input[0]
    with np.errstate(over="ignore", under="ignore"):
        feed = {port.name: rows.astype(numpy_type[port.type.tensor_type.elem_type])}
    (label,) = [
        output.name
        for output in model.graph.output
        if output.type.tensor_type.elem_type in (TensorProto.INT64, TensorProto.STRING)
    ]
    labels = session(data).run([label], feed)[0]
    node = ensemble_node(model)
    for attribute in node.attribute:
        if attribute.name == "post_transform":
            attribute.s = b"NONE"
    if all(output.name != node.output[1] for output in model.graph.output):
        scores = helper.make_tensor_value_info(node.output[1], TensorProto.FLOAT, [None, None])
        model.graph.output.append(scores)
    return labels, session(model).run([node.output[1]], feed)[0]


def assert_as_onnxruntime(model: secateur.Model, rows: np.ndarray) -> None:
    labels, scores = theirs(model.to_bytes(), rows)
    ours = model.raw_scores(rows)
    assert_same_bits(ours, scores[:, 1:] if ours.shape[1] == 1 else scores, rows)
    assert_same_classes(classes(model, rows), labels, rows)


@pytest.mark.parametrize("name", CONVERTED)
def test_converted_models_predict_every_bit(name):
    data = converted(name).SerializeToString()
    model = secateur.Model.parse(data)
    assert model.to_bytes() == data
    assert_as_onnxruntime(model, hostile_rows(model, X2, ROWS))


@pytest.mark.parametrize("name", CONVERTED)
def test_edited_models_predict_every_bit_of_what_onnxruntime_reads(name):
    original = secateur.Model.parse(converted(name).SerializeToString())
    groups = len(original.intercepts)
    rows = hostile_rows(original, X2, 2_000)
    intercepts = [0.1 * (group + 1) for group in range(groups)]
    edits = {
        "half": (half_of_the_trees(original), None),
        "weights": (reweighted_trees(original), None),
        "intercepts": (half_of_the_trees(original), intercepts),
        "nothing": ([], None),
        "only intercepts": ([], [-value for value in intercepts]),
    }
    for trees, new in edits.values():
        edited = original.edit(trees, new)
        assert_as_onnxruntime(edited, rows)
        assert secateur.Model.parse(edited.to_bytes()).to_bytes() == edited.to_bytes()
        if new is not None:
            assert edited.intercepts == np.float32(new).tolist()


def in_front(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto:
    """The model behind a random chain of operators that work on every column by itself."""
    model = onnx.load_from_string(model.SerializeToString())
    graph, port = model.graph, model.graph.input[0]
    node = ensemble_node(model)
    double = port.type.tensor_type.elem_type == TensorProto.DOUBLE
    kind, name, nodes = port.type.tensor_type.elem_type, port.name, []

    def constants(positive: bool) -> np.ndarray:
        values = random.normal(size=random.choice([1, 6])) * 10.0 ** random.integers(-3, 4)
        values = np.abs(values) + 1e-3 if positive else values
        return values.astype(np.float64 if kind == TensorProto.DOUBLE else np.float32)

    for position in range(random.integers(1, 4)):
        operator = random.choice(["Sub", "Add", "Mul", "Div", "Scaler", "Identity"])
        inputs, options = [name], {}
        name = f"scaled_{position}"
        if operator == "Scaler":
            offset, scale = constants(False), constants(True)
            count = max(len(offset), len(scale))
            options = {"offset": np.resize(offset, count).tolist(), "scale": np.resize(scale, count).tolist(), "domain": "ai.onnx.ml"}
            kind = TensorProto.FLOAT
        elif operator != "Identity":
            values = constants(operator in ("Mul", "Div"))
            shape = [[len(values)], [1, len(values)]][random.integers(0, 2)]
            graph.initializer.append(helper.make_tensor(f"constant_{position}", kind, shape, values))
            inputs.append(f"constant_{position}")
            if operator in ("Add", "Mul") and random.random() < 0.5:
                inputs.reverse()
        nodes.append(helper.make_node(operator, inputs, [name], **options))
    if double and kind == TensorProto.FLOAT:
        nodes.append(helper.make_node("Cast", [name], ["cast_back"], to=TensorProto.DOUBLE))
        name = "cast_back"
    at = list(graph.node).index(node)
    node.input[0] = name
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend(rest[:at] + nodes + rest[at:])
    return model


@pytest.mark.parametrize("seed", range(40))
def test_scalers_in_front_are_part_of_the_thresholds(seed):
    random = np.random.default_rng(seed)
    name = random.choice(["forest", "forest, double", "tree", "gradient boosting, double", "xgboost, missing values"])
    model = secateur.Model.parse(in_front(converted(name), random).SerializeToString())
    rows = hostile_rows(model, X2, 3_000, seed=seed)
    assert_as_onnxruntime(model, rows)
    pruned = secateur.prune(model, effort="fast", time_limit=20)
    assert pruned.checked
    labels, _ = theirs(model.to_bytes(), rows)
    new, _ = theirs(pruned.model.to_bytes(), rows)
    lead = np.abs(model.raw_scores(rows)[:, 0] - (0.5 if "forest" in name or name == "tree" else 0.0))
    assert (labels == new)[lead > 1e-4].all()
    assert_as_onnxruntime(pruned.model, rows)


@pytest.mark.parametrize("what", ["turned", "flat", "infinite", "from a constant", "missing column"])
def test_scalers_that_turn_columns_around_are_refused(what):
    model = onnx.load_from_string(converted("forest").SerializeToString())
    values = np.ones(5 if what == "missing column" else 6, np.float32)
    values[0] = {"turned": -1, "flat": 0, "infinite": np.inf}.get(what, 1)
    name = model.graph.input[0].name
    model.graph.initializer.append(helper.make_tensor("constant", TensorProto.FLOAT, [len(values)], values))
    inputs = ["constant", name] if what == "from a constant" else [name, "constant"]
    operator = "Sub" if what == "from a constant" else "Mul"
    scaler = helper.make_node(operator, inputs, ["scaled"])
    model.graph.node.insert(0, scaler)
    ensemble_node(model).input[0] = "scaled"
    with pytest.raises(secateur.ModelError, match="turns a column|changes its input|one number for each column"):
        secateur.Model.parse(model.SerializeToString())


def test_scalers_that_a_caller_may_change_are_refused():
    model = in_front(converted("forest"), np.random.default_rng(0))
    constants = [tensor for tensor in model.graph.initializer if tensor.name.startswith("constant_")]
    assert constants, "another seed is needed"
    secateur.Model.parse(model.SerializeToString())
    for tensor in constants:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    with pytest.raises(secateur.ModelError, match="are an input of the graph"):
        secateur.Model.parse(model.SerializeToString())


def test_the_last_of_several_operator_sets_counts():
    """Converters of pipelines write one for each of their parts."""
    data = converted("forest").SerializeToString()
    rows = hostile_rows(secateur.Model.parse(data), X2, 100)
    for versions in ([1, 3], [3, 1], [5, 1]):
        model = onnx.load_from_string(data)
        others = [entry for entry in model.opset_import if entry.domain != "ai.onnx.ml"]
        del model.opset_import[:]
        model.opset_import.extend([helper.make_opsetid("ai.onnx.ml", version) for version in versions] + others)
        assert_as_onnxruntime(secateur.Model.parse(model.SerializeToString()), rows)
        model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 5))
        with pytest.raises(secateur.ModelError, match="operator set 5"):
            secateur.Model.parse(model.SerializeToString())
        with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph):
            session(model)


@pytest.mark.parametrize("name", ["forest", "xgboost", "gradient boosting, double"])
def test_an_edit_that_keeps_everything_writes_the_same_bytes(name):
    original = secateur.Model.parse(converted(name).SerializeToString())
    assert original.edit([(tree, None) for tree in range(original.tree_count)]).to_bytes() == original.to_bytes()


def table(model: onnx.ModelProto) -> dict:
    return {a.name: helper.get_attribute_value(a) for a in ensemble_node(model).attribute}


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Generated:
    """A random ensemble of every mode, with shuffled nodes, odd ids and chains of categories."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        pick = self.random.choice
        self.double = bool(pick([False, True]))
        self.tensors = bool(pick([False, True]))
        self.labels = int(pick([2, 2, 3, 4]))
        self.text = bool(pick([False, True]))
        self.form = pick(["zero", "one", "both"]) if self.labels == 2 else pick(["all", "each"])
        self.negative = bool(pick([False, True]))
        self.modes = list(pick(MODES, self.random.integers(1, 6)))
        self.tracks = bool(pick([False, True]))
        self.nodes, self.weights = [], []
        ids = self.random.permutation(30)
        for position in range(self.random.integers(1, 9)):
            self.tree(int(ids[position]), position)
        if self.form == "each" and len({w[2] for w in self.weights}) < self.labels:
            for extra in range(self.labels):
                self.tree(100 + extra, extra)

    def number(self) -> float:
        """Few enough that inputs hit them, and sums round."""
        value = self.random.choice([0.1, 0.3, 1 / 3, 0.7, 1.1, 2.0, 1e-3, 5.0])
        sign = self.random.choice([-1.0, 1.0]) if self.negative else 1.0
        return float(value * sign)

    def tree(self, tree_id: int, position: int) -> None:
        nodes, weights, count = [], [], 0

        def new_id():
            nonlocal count
            count += 1
            return count - 1

        def leaf(node):
            classes = {
                "zero": [0],
                "one": [1],
                "both": [0, 1],
                "all": range(self.labels),
                "each": [position % self.labels],
            }[self.form]
            for c in classes:
                weights.append((tree_id, node, c, self.number()))
            nodes.append((tree_id, node, "LEAF", int(self.random.integers(0, 9)), 0.0, 0, 0, 0))

        def grow(node, depth):
            if depth == 0 or self.random.random() < 0.15:
                return leaf(node)
            mode = self.random.choice(self.modes)
            track = int(self.tracks and self.random.random() < 0.5)
            # Column 0 holds categories, column 1 is tested for equality and compared.
            feature = int(self.random.integers(0, 4))
            if mode in ("BRANCH_EQ", "BRANCH_NEQ"):
                feature = min(feature, 1)
                value = float(self.random.integers(0, 40))
            else:
                feature = max(feature, 1)
                value = float(self.random.choice([-1.5, 0.0, -0.0, 0.1, 2.0, 3.0, 1e30, np.inf, -np.inf]))
            yes, no = new_id(), new_id()
            chain = int(self.random.integers(1, 6)) if (mode, feature) == ("BRANCH_EQ", 0) else 1
            here = node
            for link in range(chain):
                after = no if link + 1 == chain else new_id()
                nodes.append((tree_id, here, mode, feature, value, yes, after, track))
                here, value = after, float(self.random.integers(0, 40))
            grow(yes, depth - 1)
            grow(no, depth - 1)

        grow(new_id(), int(self.random.integers(0, 4)))
        root, rest = nodes[0], nodes[1:]
        self.random.shuffle(rest)
        self.nodes += [root, *(tuple(int(v) if i in (0, 1, 3, 5, 6, 7) else v for i, v in enumerate(n)) for n in rest)]
        self.weights += weights

    def model(self) -> onnx.ModelProto:
        columns = list(zip(*((*n[:2], str(n[2]), n[3], float(n[4]), *n[5:]) for n in self.nodes), strict=True))
        weights = list(zip(*self.weights, strict=True))
        attributes = {
            "nodes_treeids": columns[0],
            "nodes_nodeids": columns[1],
            "nodes_modes": columns[2],
            "nodes_featureids": columns[3],
            "nodes_truenodeids": columns[5],
            "nodes_falsenodeids": columns[6],
            "class_treeids": weights[0],
            "class_nodeids": weights[1],
            "class_ids": weights[2],
            "post_transform": "NONE",
        }
        element = TensorProto.DOUBLE if self.double else TensorProto.FLOAT
        floats = {"nodes_values": columns[4], "class_weights": weights[3]}
        if self.form in ("zero", "all", "each") and self.random.random() < 0.5:
            size = 1 if self.form == "zero" else self.labels
            floats["base_values"] = [self.number() for _ in range(size)]
        for name, values in floats.items():
            if self.tensors:
                attributes[f"{name}_as_tensor"] = helper.make_tensor(name, element, [len(values)], values)
            else:
                attributes[name] = [float(np.float32(v)) for v in values]
        if self.tracks:
            attributes["nodes_missing_value_tracks_true"] = columns[7]
        if self.text:
            attributes["classlabels_strings"] = LABELS[: self.labels].tolist()
        else:
            attributes["classlabels_int64s"] = list(range(7, 7 + self.labels))
        node = helper.make_node("TreeEnsembleClassifier", ["X"], ["L", "S"], domain="ai.onnx.ml", **attributes)
        label = TensorProto.STRING if self.text else TensorProto.INT64
        graph = helper.make_graph(
            [node],
            "generated",
            [helper.make_tensor_value_info("X", element, [None, 4])],
            [
                helper.make_tensor_value_info("L", label, [None]),
                helper.make_tensor_value_info("S", TensorProto.FLOAT, [None, None]),
            ],
        )
        sets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)]
        return helper.make_model(graph, opset_imports=sets, ir_version=9)


def test_generated_ensembles_of_every_mode_and_form_predict_every_bit():
    base = np.random.default_rng(0).integers(0, 40, (200, 4)).astype(np.float64)
    edited = 0
    for seed in range(300):
        model = secateur.Model.parse(Generated(seed).model().SerializeToString())
        rows = hostile_rows(model, base, 300, seed)
        assert_as_onnxruntime(model, rows)
        half = model.edit(half_of_the_trees(model))
        assert_as_onnxruntime(half, rows)
        assert_as_onnxruntime(model.edit(reweighted_trees(model)), rows)
        edited += half.tree_count < model.tree_count
    assert edited > 100


def generated(**changes) -> onnx.ModelProto:
    """One stump on column 0 with weights for class id 0, or what `changes` make of it."""
    attributes = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0, 0],
        "class_nodeids": [1, 2],
        "class_ids": [0, 0],
        "class_weights": [0.25, 0.75],
        "classlabels_int64s": [10, 20],
        "post_transform": "LOGISTIC",
    } | changes
    node = helper.make_node("TreeEnsembleClassifier", ["X"], ["L", "S"], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "generated",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 1])],
        [
            helper.make_tensor_value_info("L", TensorProto.INT64, [None]),
            helper.make_tensor_value_info("S", TensorProto.FLOAT, [None, None]),
        ],
    )
    sets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9)


STUMP_ROWS = np.array([[0.0], [0.5], [1.0], [np.nan], [np.inf], [-np.inf]])


def parse(model: onnx.ModelProto) -> secateur.Model:
    return secateur.Model.parse(model.SerializeToString())


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0.25, 0.75], [10, 20]),
        ([0.25, 0.5], [10, 10]),
        ([-0.25, 0.5], [10, 20]),
        ([-0.0, 0.5], [10, 10]),
        ([-1e-45, 0.25], [10, 20]),
    ],
)
def test_one_negative_weight_moves_the_threshold_from_a_half_to_zero(weights, expected):
    model = parse(generated(class_weights=weights))
    assert classes(model, np.array([[0.0], [1.0]])).tolist() == expected
    assert_as_onnxruntime(model, STUMP_ROWS)


def test_weights_of_class_one_alone_and_of_both_classes_have_rules_of_their_own():
    one = parse(generated(class_ids=[1, 1]))
    assert_as_onnxruntime(one, STUMP_ROWS)
    both = {"class_treeids": [0] * 4, "class_nodeids": [1, 1, 2, 2], "class_ids": [0, 1, 0, 1]}
    both = parse(generated(**both, class_weights=[0.6, 0.4, 0.9, -0.1]))
    assert classes(both, STUMP_ROWS[:3]).tolist() == [1, 1, 0]
    assert_as_onnxruntime(both, STUMP_ROWS)
    for model in (one, both):
        moved = model.edit([(0, None)], [0.3] * len(model.intercepts))
        assert_as_onnxruntime(moved, STUMP_ROWS)
        assert moved.raw_scores(STUMP_ROWS).tolist() != model.raw_scores(STUMP_ROWS).tolist()


def test_an_edit_keeps_the_weight_sign_switch():
    two_trees = {
        "nodes_treeids": [0, 0, 0, 1],
        "nodes_nodeids": [0, 1, 2, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        "nodes_featureids": [0] * 4,
        "nodes_values": [0.5, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0, 0],
        "nodes_falsenodeids": [2, 0, 0, 0],
        "class_treeids": [0, 0, 1],
        "class_nodeids": [1, 2, 0],
        "class_ids": [0, 0, 0],
    }
    boosted = parse(generated(**two_trees, class_weights=[0.25, 0.75, -0.5]))
    kept = boosted.edit([(0, None)])
    assert classes(kept, STUMP_ROWS[:3]).tolist() == [20, 20, 20]
    assert_as_onnxruntime(kept, STUMP_ROWS)
    assert_as_onnxruntime(boosted.edit([(0, None)], [-0.5]), STUMP_ROWS)
    forest = parse(generated(**two_trees, class_weights=[0.25, 0.75, 0.5]))
    moved = forest.edit([(0, None)], [-0.2])
    assert classes(moved, STUMP_ROWS[:3]).tolist() == [10, 10, 20]
    assert_as_onnxruntime(moved, STUMP_ROWS)
    with pytest.raises(secateur.EditingError, match="tree 0: .* a negative weight"):
        forest.edit([(0, -1.0)])


def test_inputs_may_be_cast_between_float_types():
    for chain in ([TensorProto.FLOAT], [TensorProto.FLOAT, TensorProto.DOUBLE]):
        model = generated()
        del model.graph.node[0].input[:]
        name = "X"
        nodes = []
        for step, target in enumerate(chain):
            nodes.append(helper.make_node("Cast", [name], [f"cast{step}"], to=target))
            name = f"cast{step}"
        model.graph.node[0].input.append(name)
        nodes.append(model.graph.node[0])
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
        ours = parse(model)
        assert ours.domain["number"] == "f32"
        assert_as_onnxruntime(ours, np.vstack([STUMP_ROWS, [[0.5 + 1e-12], [0.5 + 1e-7], [1e300]]]))


def refused(model: onnx.ModelProto, words: str) -> None:
    with pytest.raises(secateur.ModelError, match=words):
        parse(model)


def test_graphs_whose_class_is_not_the_label_of_one_ensemble_are_refused_by_node():
    ada = sklearn_model(AdaBoostClassifier(n_estimators=3), X2, Y2)
    refused(ada, r"graph.node\[\d+\] \(Reshape\): a graph that combines 3 ensembles \(AdaBoost")
    forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    refused(lightgbm_model(X2, Y2, n_estimators=3, **forest), r"\(Reshape\): a class output that this node")
    scaled = generated()
    scaled.graph.node[0].input[0] = "scaled"
    scaled.graph.node.insert(
        0, helper.make_node("Normalizer", ["X"], ["scaled"], domain="ai.onnx.ml", norm="MAX")
    )
    refused(scaled, r"graph.node\[0\] \(Normalizer\): a graph that changes its input")
    regressor = generated()
    regressor.graph.node[0].op_type = "TreeEnsembleRegressor"
    refused(regressor, r"graph.output \"L\": an output of type int64 that holds type float")
    newer = generated()
    newer.graph.node[0].op_type = "TreeEnsemble"
    refused(newer, "TreeEnsemble in operator set 1 of ai.onnx.ml")
    integers = generated()
    integers.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    refused(integers, "element type 7 is not a tensor of floats")
    for opset in (5, 6):
        later = generated()
        later.opset_import[0].version = opset
        refused(later, f"operator set {opset} of ai.onnx.ml")


def test_what_onnxruntime_reads_in_a_way_of_its_own_is_refused():
    refused(generated(base_values=[0.1, 0.2]), "base_values: a list of 2 base values")
    refused(generated(class_ids=[1, 1], base_values=[0.1]), "base_values: a list of 1 base values")
    refused(generated(class_treeids=[0], class_nodeids=[1], class_ids=[0], class_weights=[0.5]), "no tree has a weight")
    leaf_first = {"nodes_nodeids": [1, 0, 2], "nodes_modes": ["LEAF", "BRANCH_LEQ", "LEAF"]}
    leaf_first |= {"nodes_truenodeids": [0, 1, 0], "nodes_falsenodeids": [0, 2, 0]}
    refused(generated(**leaf_first), "tree 0, node 1: no path from the root reaches it")
    refused(generated(nodes_treeids=[-1, -1, -1], class_treeids=[-1, -1]), r"treeids\[0\]: -1")
