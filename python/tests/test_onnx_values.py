"""ONNX regressors of every kind against onnxruntime, in every bit: the operator `TreeEnsemble` of `ai.onnx.ml` 5, and the aggregates MIN and MAX of
both operators.

No converter writes these files, so they are made by hand: random trees with every mode, missing values that go to either side, several targets, roots
that are leaves, both number types.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from harness import assert_same_bits, hostile_rows, reweighted_trees
from onnx import TensorProto, helper

import secateur

COLUMNS = 4
MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
AGGREGATES = ["AVERAGE", "SUM", "MIN", "MAX"]
BASE = np.random.default_rng(0).integers(0, 40, (200, COLUMNS)).astype(np.float64)


class Leaf:
    def __init__(self, weights: list[tuple[int, float]]):
        self.weights = weights


class Split:
    def __init__(self, feature: int, mode: str, value: float, tracks: int, yes, no):
        self.feature, self.mode, self.value, self.tracks, self.yes, self.no = feature, mode, value, tracks, yes, no


class Trees:
    """Random trees, and what belongs to them. `newer`: as a `TreeEnsemble` can hold them."""

    def __init__(self, seed: int, newer: bool, aggregates: list[str] = AGGREGATES):
        self.random = np.random.default_rng(seed)
        pick = self.random.choice
        self.newer = newer
        self.number = int(pick([TensorProto.FLOAT, TensorProto.DOUBLE]))
        self.targets = int(pick([1, 1, 2, 3]))
        self.aggregate = str(pick(aggregates))
        self.modes = list(pick(MODES, self.random.integers(1, 7)))
        self.tracks = bool(pick([False, True]))
        # onnxruntime loads no TreeEnsemble of doubles that has some.
        self.hit_rates = bool(pick([False, True])) and not (newer and self.number == TensorProto.DOUBLE)
        few = self.aggregate in ("MIN", "MAX")
        self.trees = [self.tree(int(self.random.integers(0, 4))) for _ in range(self.random.integers(1, 5 if few else 9))]
        self.base = None
        if not newer and self.aggregate != "AVERAGE" and pick([False, True]):
            # Not -0.0, which has a test of its own.
            self.base = [self.weight() + 0.0 for _ in range(self.targets)]
            if self.targets > 1:
                # A target may lose its base value where no leaf has a weight for it; the reader refuses that.
                self.trees.append(Leaf([(target, self.weight()) for target in range(self.targets)]))

    def weight(self) -> float:
        """Few enough that ties happen, and sums round."""
        return float(np.float32(self.random.choice([0.1, -0.3, 1 / 3, 0.7, -1.1, 2.0, 1e-3, 5.0, 0.0, -0.0])))

    def tree(self, depth: int):
        if depth == 0 or self.random.random() < 0.15:
            if self.newer:
                return Leaf([(int(self.random.integers(self.targets)), self.weight())])
            chosen = self.random.permutation(self.targets)[: self.random.integers(1, self.targets + 1)]
            return Leaf([(int(target), self.weight()) for target in chosen])
        mode = str(self.random.choice(self.modes))
        # Column 0 holds categories, column 1 is tested for equality and compared.
        feature = int(self.random.integers(0, COLUMNS))
        if mode in ("EQ", "NEQ"):
            feature = min(feature, 1)
            value = float(self.random.integers(0, 40))
            if feature == 1 and self.random.random() < 0.3:
                value = float(self.random.choice([0.5, -0.0, np.inf, -3.25]))
        else:
            feature = max(feature, 1)
            value = float(self.random.choice([-1.5, 0.0, -0.0, 0.125, 2.0, 3.0, 20.0, 1e30, np.inf, -np.inf]))
        track = int(self.tracks and self.random.random() < 0.5)
        return Split(feature, mode, value, track, self.tree(depth - 1), self.tree(depth - 1))

    def floats(self, name: str, values: list[float]) -> onnx.TensorProto:
        return helper.make_tensor(name, self.number, [len(values)], values)

    def model(self) -> onnx.ModelProto:
        return newer_model(self) if self.newer else older_model(self)


def graph(node: onnx.NodeProto, number: int, output: int, targets: int, opset: int) -> onnx.ModelProto:
    made = helper.make_graph(
        [node],
        "made by hand",
        [helper.make_tensor_value_info("x", number, [None, COLUMNS])],
        [helper.make_tensor_value_info("y", output, [None, targets])],
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", opset)]
    return helper.make_model(made, opset_imports=sets, ir_version=9)


def newer_model(trees: Trees) -> onnx.ModelProto:
    nodes, leaves, roots = [], [], []

    def add(tree) -> tuple[int, int]:
        if isinstance(tree, Leaf):
            leaves.append(tree.weights[0])
            return len(leaves) - 1, 1
        index = len(nodes)
        nodes.append(None)
        nodes[index] = [tree.feature, MODES.index(tree.mode), tree.value, *add(tree.yes), *add(tree.no), tree.tracks]
        return index, 0

    for tree in trees.trees:
        roots.append(len(nodes))
        number, is_leaf = add(tree)
        if is_leaf:
            nodes.append([0, 0, 0.0, number, 1, number, 1, 0])
    columns = list(zip(*nodes, strict=True))
    attributes = {
        "n_targets": trees.targets,
        "aggregate_function": AGGREGATES.index(trees.aggregate),
        "tree_roots": roots,
        "nodes_featureids": columns[0],
        "nodes_modes": helper.make_tensor("modes", TensorProto.UINT8, [len(nodes)], columns[1]),
        "nodes_splits": trees.floats("splits", columns[2]),
        "nodes_truenodeids": columns[3],
        "nodes_trueleafs": columns[4],
        "nodes_falsenodeids": columns[5],
        "nodes_falseleafs": columns[6],
        "leaf_targetids": [target for target, _ in leaves],
        "leaf_weights": trees.floats("weights", [weight for _, weight in leaves]),
    }
    if trees.tracks:
        attributes["nodes_missing_value_tracks_true"] = columns[7]
    if trees.hit_rates:
        attributes["nodes_hitrates"] = trees.floats("rates", [1.0] * len(nodes))
    if trees.aggregate == "SUM" and trees.random.random() < 0.5:
        del attributes["aggregate_function"]
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return graph(node, trees.number, trees.number, trees.targets, 5)


def older_model(trees: Trees) -> onnx.ModelProto:
    nodes, weights = [], []

    def add(tree, number: int, ids) -> int:
        index = next(ids)
        if isinstance(tree, Leaf):
            nodes.append((number, index, 0, "LEAF", 0.0, 0, 0, 0))
            weights.extend((number, index, target, weight) for target, weight in tree.weights)
            return index
        place = len(nodes)
        nodes.append(None)
        yes, no = add(tree.yes, number, ids), add(tree.no, number, ids)
        mode = f"BRANCH_{tree.mode}"
        nodes[place] = (number, index, tree.feature, mode, tree.value, yes, no, tree.tracks)
        return index

    for number, tree in enumerate(trees.trees):
        add(tree, number, iter(range(10_000)))
    columns, targets = list(zip(*nodes, strict=True)), list(zip(*weights, strict=True))
    attributes = {
        "n_targets": trees.targets,
        "aggregate_function": trees.aggregate,
        "nodes_treeids": columns[0],
        "nodes_nodeids": columns[1],
        "nodes_featureids": columns[2],
        "nodes_modes": columns[3],
        "nodes_truenodeids": columns[5],
        "nodes_falsenodeids": columns[6],
        "target_treeids": targets[0],
        "target_nodeids": targets[1],
        "target_ids": targets[2],
    }
    floats = {"nodes_values": columns[4], "target_weights": targets[3]}
    if trees.base is not None:
        floats["base_values"] = trees.base
    if trees.hit_rates:
        floats["nodes_hitrates"] = [1.0] * len(nodes)
    for name, values in floats.items():
        if trees.number == TensorProto.DOUBLE:
            attributes[f"{name}_as_tensor"] = trees.floats(name, values)
        else:
            attributes[name] = values
    if trees.tracks:
        attributes["nodes_missing_value_tracks_true"] = columns[7]
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return graph(node, trees.number, TensorProto.FLOAT, trees.targets, 3)


def theirs(content: bytes, rows: np.ndarray) -> np.ndarray:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
    kind = np.float64 if "double" in session.get_inputs()[0].type else np.float32
    with np.errstate(over="ignore"):
        return session.run(None, {"x": rows.astype(kind)})[0]


def assert_as_onnxruntime(model: secateur.Model, rows: np.ndarray) -> None:
    expected = theirs(model.to_bytes(), rows)
    assert_same_bits(np.asarray(model.predict(rows)).astype(expected.dtype), expected, rows)


@pytest.mark.parametrize("newer", [True, False], ids=["TreeEnsemble", "TreeEnsembleRegressor"])
def test_generated_trees_predict_every_bit_and_are_written_back(newer):
    seen = {name: 0 for name in ("edited", "moved", "fewer", *AGGREGATES)}
    refused = 0
    for seed in range(250):
        trees = Trees(seed, newer)
        content = trees.model().SerializeToString()
        try:
            model = secateur.Model.parse(content)
        except secateur.ModelError as error:
            # Few weights and several targets: leaves that onnxruntime takes for the same.
            assert "one test of" in str(error)
            refused += 1
            continue

        def edited(*edit) -> secateur.Model | None:
            nonlocal refused
            try:
                return model.edit(*edit)
            except secateur.EditingError as error:
                # The same where trees were laid over each other, or a weight was rounded to that of another target.
                assert "one test of" in str(error)
                refused += 1
                return None

        rows = hostile_rows(model, BASE, 300, seed)
        assert_as_onnxruntime(model, rows)
        seen[trees.aggregate] += 1
        seen["fewer"] += model.tree_count < len(trees.trees)
        same = model.edit([(tree, None) for tree in range(model.tree_count)])
        assert same.to_bytes() == model.to_bytes()
        if (scaled := edited(reweighted_trees(model))) is not None:
            assert_as_onnxruntime(scaled, rows)
        if (half := edited([(tree, None) for tree in range(0, model.tree_count, 2)])) is not None:
            assert_as_onnxruntime(half, rows)
            seen["edited"] += half.tree_count < model.tree_count
        if trees.aggregate != "AVERAGE":
            moved = edited([(tree, None) for tree in range(model.tree_count)], [0.3] * trees.targets)
            if moved is not None:
                assert_as_onnxruntime(moved, rows)
                seen["moved"] += bool((moved.predict(rows) != model.predict(rows)).any())
    assert all(count > 20 for count in seen.values()) and refused < 25, (seen, refused)


def test_ten_thousand_hostile_rows_of_each_aggregate():
    for newer in (True, False):
        for position, aggregate in enumerate(AGGREGATES):
            trees = Trees(1000 + position, newer, [aggregate])
            model = secateur.Model.parse(trees.model().SerializeToString())
            assert_as_onnxruntime(model, hostile_rows(model, BASE, 10_000, position))


def test_the_two_operators_are_the_same_model(tmp_path):
    """What is in a `TreeEnsemble` and in a `TreeEnsembleRegressor` is compared, pruned and packed like any other model."""
    for seed in range(30):
        trees = Trees(2000 + seed, True, ["SUM", "MIN", "MAX"])
        newer = secateur.Model.parse(newer_model(trees).SerializeToString())
        older = secateur.Model.parse(older_model(trees).SerializeToString())
        found = secateur.verify(newer, older, scores=True, time_limit=20, threads=1)
        # Sums in whatever order: only rounding is between them.
        assert found.at_most <= found.rounding * 1.001
        packed = secateur.pack(newer)
        rows = hostile_rows(newer, BASE, 200, seed)
        assert_same_bits(np.asarray(packed.predict(rows)), np.asarray(newer.predict(rows)), rows)


def test_a_newer_ensemble_is_pruned_within_a_distance():
    trees = Trees(7, True, ["SUM"])
    twice = [*trees.trees, *trees.trees, Leaf([(0, 1e-3)])]
    trees.trees = twice
    content = newer_model(trees).SerializeToString()
    model = secateur.Model.parse(content)
    result = secateur.prune(model, BASE, within=0.01, time_limit=30, threads=1)
    assert result.checked and result.trees_after < result.trees_before
    smaller = result.model
    rows = hostile_rows(model, BASE, 2000, 1)
    assert_as_onnxruntime(smaller, rows)
    assert np.abs(theirs(content, rows) - theirs(smaller.to_bytes(), rows)).max() <= 0.01


def stump(number: int = TensorProto.FLOAT, opset: int = 5, output: int | None = None, **changes) -> onnx.ModelProto:
    """A `TreeEnsemble` of one stump on column 0, or what `changes` make of it; `None` leaves an attribute out."""
    attributes = {
        "n_targets": 1,
        "tree_roots": [0],
        "nodes_featureids": [0],
        "nodes_modes": bytes([0]),
        "nodes_splits": [0.5],
        "nodes_truenodeids": [0],
        "nodes_trueleafs": [1],
        "nodes_falsenodeids": [1],
        "nodes_falseleafs": [1],
        "leaf_targetids": [0, 0],
        "leaf_weights": [1.0, 2.0],
    } | changes
    for name in ("nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates"):
        if name in attributes:
            values = attributes[name]
            attributes[name] = helper.make_tensor(name, number, [len(values)], values)
    modes = attributes["nodes_modes"]
    attributes["nodes_modes"] = helper.make_tensor("modes", TensorProto.UINT8, [len(modes)], modes, raw=True)
    attributes = {name: value for name, value in attributes.items() if value is not None}
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return graph(node, number, output or number, changes.get("n_targets") or 1, opset)


TWO_NODES = {
    "nodes_featureids": [0, 1],
    "nodes_modes": bytes([0, 0]),
    "nodes_splits": [0.5, 0.5],
    "leaf_targetids": [0] * 4,
    "leaf_weights": [1.0, 2.0, 3.0, 4.0],
}
STUMP_ROWS = np.array([[0.0, 0, 0, 0], [0.5, 1, 0, 0], [1.0, 0, 0, 0], [1.0, 1, 0, 0], [np.nan, 0, 0, 0], [3.0, 1, 0, 0]])


def loads(model: onnx.ModelProto) -> bool:
    try:
        theirs(model.SerializeToString(), STUMP_ROWS)
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (stump(opset=4), "TreeEnsemble in operator set 4"),
        (stump(number=TensorProto.FLOAT16), "element type 10 is not a tensor of floats"),
        (stump(number=TensorProto.DOUBLE, output=TensorProto.FLOAT), "an output of type float that holds type double"),
        (stump(n_targets=None), "n_targets: 0"),
        (stump(leaf_targetids=[0, 1]), r"target_ids\[1\]: target 1 of 1"),
        (stump(aggregate_function=4), "aggregate_function: 4 is not"),
        (stump(post_transform=5), "post_transform: 5 is not"),
        (stump(nodes_modes=bytes([7])), r"nodes_modes\[0\]: 7 is not"),
        (stump(nodes_featureids=[0, 1]), "nodes_featureids"),
        (stump(tree_roots=[1]), r"tree_roots\[0\]: 1 is not"),
        (stump(nodes_truenodeids=[2]), r"nodes_truenodeids\[0\]: 2 is not"),
        (stump(opset=6), "TreeEnsemble in operator set 6"),
        (stump(number=TensorProto.DOUBLE, nodes_hitrates=[1.0]), "an ensemble of doubles with hit rates"),
        (stump(base_values=[1.0]), "the attribute \"base_values\" is not supported"),
    ],
)
def test_what_onnxruntime_does_not_run_is_refused(made, words):
    # It takes an unknown mode for that of a leaf.
    assert "nodes_modes" in words or not loads(made)
    with pytest.raises(secateur.ModelError, match=words):
        secateur.Model.parse(made.SerializeToString())


def test_branches_of_the_same_number():
    """A root whose branches have the same number is a leaf only where both are that leaf."""
    for leaf in (0, 1):
        constant = secateur.Model.parse(stump(nodes_truenodeids=[leaf], nodes_falsenodeids=[leaf]).SerializeToString())
        assert constant.leaf_count == 1
        assert_as_onnxruntime(constant, STUMP_ROWS)
    leaf_and_node = stump(
        **TWO_NODES, nodes_truenodeids=[1, 2], nodes_trueleafs=[1, 1], nodes_falsenodeids=[1, 3], nodes_falseleafs=[0, 1]
    )
    below = stump(
        **TWO_NODES, nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1], nodes_falsenodeids=[1, 1], nodes_falseleafs=[0, 1]
    )
    shared = stump(
        **TWO_NODES, tree_roots=[0, 0, 1], nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1], nodes_falsenodeids=[1, 2], nodes_falseleafs=[0, 1]
    )
    for made in (leaf_and_node, below, shared):
        model = secateur.Model.parse(made.SerializeToString())
        assert_as_onnxruntime(model, STUMP_ROWS)
        assert_as_onnxruntime(model.edit(reweighted_trees(model)), STUMP_ROWS)


def test_nodes_that_are_reached_twice_are_refused():
    circle = stump(
        **TWO_NODES, nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1], nodes_falsenodeids=[1, 0], nodes_falseleafs=[0, 0]
    )
    both = stump(
        **TWO_NODES, nodes_truenodeids=[1, 2], nodes_trueleafs=[0, 1], nodes_falsenodeids=[1, 3], nodes_falseleafs=[0, 1]
    )
    for made in (circle, both):
        assert not loads(made)
        with pytest.raises(secateur.ModelError, match="every node may have one parent"):
            secateur.Model.parse(made.SerializeToString())


def test_sets_of_numbers_are_refused():
    """Which numbers between whole ones onnxruntime takes for members depends on the set."""

    def members(values: list[float]) -> onnx.ModelProto:
        return stump(nodes_modes=bytes([6]), membership_values=[*values, np.nan])

    rows = np.array([[2.5, 0, 0, 0]])
    assert theirs(members([1, 2, 3]).SerializeToString(), rows) == 2.0
    assert theirs(members([1, 2, 33]).SerializeToString(), rows) == 1.0
    with pytest.raises(secateur.ModelError, match="BRANCH_MEMBER"):
        secateur.Model.parse(members([1, 2, 3]).SerializeToString())


def equality_chain(tracks: list[int], targets: list[int], weights: list[float], values: list[float]) -> onnx.ModelProto:
    """Column 0 equals the first value, else the second, else neither: a leaf for each."""
    return stump(
        n_targets=2,
        nodes_featureids=[0, 0],
        nodes_modes=bytes([4, 4]),
        nodes_splits=values,
        nodes_truenodeids=[0, 1],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 2],
        nodes_falseleafs=[0, 1],
        nodes_missing_value_tracks_true=tracks,
        leaf_targetids=targets,
        leaf_weights=weights,
    )


def test_tests_for_equality_that_onnxruntime_makes_one_of():
    """It compares the weights of two branches, not their targets, and not where missing values go."""
    rows = np.array([[value, 0, 0, 0] for value in (1.0, 2.0, 3.0, np.nan)])
    other_target = equality_chain([0, 0], [0, 1, 0], [5.0, 5.0, 7.0], [1, 2])
    assert theirs(other_target.SerializeToString(), rows)[1].tolist() == [5.0, 0.0]
    missing = equality_chain([0, 1], [0, 0, 0], [5.0, 5.0, 7.0], [1, 2])
    assert theirs(missing.SerializeToString(), rows)[3].tolist() == [7.0, 0.0]
    for made in (other_target, missing):
        with pytest.raises(secateur.ModelError, match="onnxruntime makes one test of"):
            secateur.Model.parse(made.SerializeToString())
    for made in (
        equality_chain([0, 0], [0, 1, 0], [5.0, 5.5, 7.0], [1, 2]),
        equality_chain([0, 0], [0, 1, 0], [5.0, 5.0, 7.0], [1, 33]),
        equality_chain([1, 0], [0, 1, 0], [5.0, 5.0, 7.0], [1, 2]),
        equality_chain([0, 0], [1, 1, 0], [5.0, 5.0, 7.0], [1, 2]),
    ):
        assert_as_onnxruntime(secateur.Model.parse(made.SerializeToString()), rows)


def test_transforms_are_ignored_or_refused_as_for_the_older_operator():
    for transform in (1, 2, 3):
        ignored = secateur.Model.parse(stump(post_transform=transform).SerializeToString())
        assert_as_onnxruntime(ignored, STUMP_ROWS)
        with pytest.raises(secateur.ModelError, match="transform"):
            secateur.Model.parse(stump(post_transform=transform, n_targets=2).SerializeToString())
    with pytest.raises(secateur.ModelError, match="PROBIT"):
        secateur.Model.parse(stump(post_transform=4).SerializeToString())


def test_values_that_the_graph_changes_are_refused():
    changed = stump()
    changed.graph.node.append(helper.make_node("Exp", ["y"], ["z"]))
    changed.graph.output[0].name = "z"
    with pytest.raises(secateur.ModelError, match="a graph that changes the values of a TreeEnsembleRegressor or TreeEnsemble"):
        secateur.Model.parse(changed.SerializeToString())


def test_a_smallest_value_of_too_many_trees_is_refused_with_the_reason():
    trees = Trees(0, True, ["MIN"])
    trees.tracks, trees.targets = False, 1
    trees.trees = [Split(1, "LEQ", float(at), 0, Leaf([(0, float(at))]), Leaf([(0, -float(at))])) for at in range(40)]
    # One column: every test but the next follows from those above, so forty trees are a short one.
    model = secateur.Model.parse(newer_model(trees).SerializeToString())
    assert model.tree_count == 1 and model.leaf_count == 41
    assert_as_onnxruntime(model, hostile_rows(model, BASE, 500))
    random = np.random.default_rng(0)
    trees.trees = [
        Split(int(random.integers(4)), "LEQ", float(random.normal()), 0, Leaf([(0, 1.0)]), Leaf([(0, 2.0)])) for _ in range(400)
    ]
    with pytest.raises(secateur.ModelError, match="the smallest of the values of 400 trees, which as one tree have more than"):
        secateur.Model.parse(newer_model(trees).SerializeToString())


def test_a_base_value_of_negative_zero_is_refused_for_a_smallest_value():
    """It would show as -0.0, which no sum gives."""
    trees = Trees(0, False, ["MIN"])
    trees.targets, trees.number, trees.base = 1, TensorProto.FLOAT, [-0.0]
    trees.trees = [Leaf([(0, -0.0)])]
    content = older_model(trees).SerializeToString()
    assert np.signbit(theirs(content, STUMP_ROWS)).all()
    with pytest.raises(secateur.ModelError, match="a base value of -0.0"):
        secateur.Model.parse(content)
