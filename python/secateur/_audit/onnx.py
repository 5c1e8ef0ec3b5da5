"""A model as onnxruntime executes it: the attributes through the package `onnx`, leaves and labels through sessions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .live import Live, Node, NotJudged, Test, Tree

MODES = {"BRANCH_LEQ": "<=", "BRANCH_LT": "<", "BRANCH_GTE": ">=", "BRANCH_GT": ">", "BRANCH_EQ": "==", "BRANCH_NEQ": "!="}


class Onnx(Live):
    """onnxruntime does not say which leaf a row reaches. So it is asked with a second graph of the same trees, in which
    each leaf adds its own number to an output of its tree."""

    library = "onnxruntime"
    free_order = True
    intercept_last = True

    def __init__(self, path: str) -> None:
        import onnx
        import onnxruntime

        self._onnx: Any = onnx
        self._runtime: Any = onnxruntime
        model = onnx.load(path)
        found = [node for node in model.graph.node if node.op_type.startswith("TreeEnsemble")]
        if len(found) != 1 or found[0].op_type != "TreeEnsembleClassifier":
            kinds = ", ".join(node.op_type for node in found) or "no ensemble"
            raise NotJudged(f"an ONNX graph with {kinds}; the audit reads one TreeEnsembleClassifier")
        node = found[0]
        inputs = [value for value in model.graph.input if value.name == node.input[0]]
        if len(inputs) != 1 or len(model.graph.input) != 1:
            raise NotJudged("an ONNX graph whose ensemble does not read the graph's only input")
        kind = inputs[0].type.tensor_type.elem_type
        if kind != onnx.TensorProto.FLOAT:
            raise NotJudged("an ONNX graph whose input is not of f32 numbers")
        self.number = self.reads = "f32"
        own = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        if any(name.endswith("_as_tensor") for name in own):
            raise NotJudged("an ONNX ensemble of f64 numbers")
        columns = inputs[0].type.tensor_type.shape.dim
        width = columns[1].dim_value if len(columns) == 2 else 0
        self.width = width or 1 + max(own["nodes_featureids"])
        texts = own.get("classlabels_strings") or []
        self.labels = [text.decode() for text in texts] if texts else list(own["classlabels_int64s"])
        self.classes = len(self.labels)
        # A dozen lines of onnxruntime: with weights for one class id of two, label 1 is decided above 0.5, or above 0 where
        # some weight is negative.
        ids = sorted(set(own["class_ids"]))
        weights = [float(np.float32(weight)) for weight in own["class_weights"]]
        if self.classes == 2 and len(ids) == 1:
            place = {ids[0]: 0}
            groups = 1
            self.threshold = 0, Fraction(0) if any(weight < 0.0 for weight in weights) else Fraction(1, 2), True
        elif self.classes == 2:
            place = {0: 0, 1: 1}
            groups = 2
            self.threshold = 1, Fraction(0), True
        else:
            place = {at: at for at in range(self.classes)}
            groups = self.classes
        bases = [float(np.float32(value)) for value in own.get("base_values") or []]
        if bases and len(bases) != groups:
            raise NotJudged(f"an ONNX ensemble with {len(bases)} base values for {groups} sums")
        self.intercepts = [Fraction(value) for value in bases] or [Fraction(0)] * groups
        self._read_trees(own, place, weights, groups)
        self._session = self._run(model)
        self._input = inputs[0].name
        self._label = model.graph.output[0].name
        self._probe = self._run(self._numbered(own, model))

    def _read_trees(self, own: dict, place: dict[int, int], weights: list[float], groups: int) -> None:
        rows: dict[int, list[int]] = {}
        for row, tree in enumerate(own["nodes_treeids"]):
            rows.setdefault(tree, []).append(row)
        amounts: dict[tuple[int, int], dict[int, float]] = {}
        listed = zip(own["class_treeids"], own["class_nodeids"], own["class_ids"], weights)
        for tree, node, group, weight in listed:
            leaf = amounts.setdefault((tree, node), {})
            if place[group] in leaf:
                raise NotJudged("an ONNX leaf with two weights for one class")
            leaf[place[group]] = weight
        tracks = own.get("nodes_missing_value_tracks_true") or [0] * len(own["nodes_treeids"])
        self.trees = []
        self._ids = list(rows)
        for tree, own_rows in rows.items():
            at = {own["nodes_nodeids"][row]: index for index, row in enumerate(own_rows)}
            sums = sorted({group for node in at for group in amounts.get((tree, node), {})})
            nodes = []
            stored: dict[int, list[float]] = {group: [] for group in sums}
            for row in own_rows:
                name = own["nodes_nodeids"][row]
                mode = own["nodes_modes"][row].decode()
                if mode == "LEAF":
                    values = {group: amounts.get((tree, name), {}).get(group, 0.0) for group in sums}
                    for group, value in values.items():
                        stored[group].append(value)
                    nodes.append(Node(added={group: Fraction(value) for group, value in values.items()}, name=name))
                    continue
                if mode not in MODES:
                    raise NotJudged(f"an ONNX node with the mode {mode}")
                # A comparison with a missing value is false, but for one with !=.
                missing = bool(tracks[row]) or mode == "BRANCH_NEQ"
                test = Test(MODES[mode], float(np.float32(own["nodes_values"][row])), missing=missing)
                yes, no = at[own["nodes_truenodeids"][row]], at[own["nodes_falsenodeids"][row]]
                nodes.append(Node(own["nodes_featureids"][row], test, yes, no))
            _join_chains(nodes)
            self.trees.append(Tree(nodes, tuple(sums), Fraction(1), stored))

    def _numbered(self, own: dict, model: Any) -> Any:
        helper = self._onnx.helper
        kept = {name: value for name, value in own.items() if name.startswith("nodes_")}
        listed = [
            (tree, node, place)
            for place, tree in enumerate(self._ids)
            for own_tree, node, mode in zip(own["nodes_treeids"], own["nodes_nodeids"], own["nodes_modes"])
            if own_tree == tree and mode == b"LEAF"
        ]
        node = helper.make_node(
            "TreeEnsembleRegressor",
            ["rows"],
            ["leaves"],
            domain="ai.onnx.ml",
            n_targets=len(self._ids),
            target_treeids=[tree for tree, _, _ in listed],
            target_nodeids=[node for _, node, _ in listed],
            target_ids=[place for _, _, place in listed],
            target_weights=[float(node) for _, node, _ in listed],
            **kept,
        )
        types = self._onnx.TensorProto
        graph = helper.make_graph(
            [node],
            "leaves",
            [helper.make_tensor_value_info("rows", types.FLOAT, [None, self.width])],
            [helper.make_tensor_value_info("leaves", types.FLOAT, [None, len(self._ids)])],
        )
        return helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)

    def _run(self, model: Any) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return self._runtime.InferenceSession(
            model.SerializeToString(), sess_options=options, providers=["CPUExecutionProvider"]
        )

    @staticmethod
    def _f32(rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return rows.astype(np.float32)

    def leaves(self, rows: np.ndarray) -> list[list[Any]]:
        (names,) = self._probe.run(["leaves"], {"rows": self._f32(rows)})
        return [names[:, tree].astype(np.int64).tolist() for tree in range(len(self.trees))]

    def leaf(self, tree: int, name: Any) -> dict[int, Fraction]:
        if not hasattr(self, "_by_name"):
            self._by_name = [
                {node.name: node.added for node in own.nodes if node.column < 0} for own in self.trees
            ]
        return self._by_name[tree][name]

    def decides(self, rows: np.ndarray) -> np.ndarray:
        (answers,) = self._session.run([self._label], {self._input: self._f32(rows)})
        place = {label: at for at, label in enumerate(self.labels or [])}
        return np.array([place[answer] for answer in np.ravel(answers).tolist()])


def _join_chains(nodes: list[Node]) -> None:
    """Converters write a set of categories as a chain of `==` on one column whose first children are one node. Which number of the
    set a value is makes no difference then, so a chain becomes one test."""
    for node in nodes:
        if node.column < 0 or node.test.compare != "==":
            continue
        members = {node.test.threshold}
        while True:
            after = nodes[node.no]
            alike = after.column == node.column and after.test.missing == node.test.missing and after.yes == node.yes
            if not alike or after.test.compare not in ("==", "in"):
                break
            members |= {after.test.threshold} if after.test.compare == "==" else after.test.members
            node.no = after.no
        if len(members) > 1:
            node.test = Test("in", members=frozenset(members), missing=node.test.missing)
