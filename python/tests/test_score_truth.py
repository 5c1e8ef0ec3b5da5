"""Random pairs of trained models of every family, both claims, against the libraries themselves on every cell.

Columns hold 0, 1, 2 or 3, and every threshold that the libraries choose lies in between, so a grid of quarters (and a missing value)
reaches every cell. `make test` tries a share; `SECATEUR_TRUTH_PAIRS=500` tries as many as it says.
"""

from __future__ import annotations

import itertools
import os
import warnings

import catboost
import lightgbm
import numpy as np
import onnx
import onnxruntime
import xgboost
from onnx import TensorProto
from sklearn import ensemble, tree

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxmltools
    import skl2onnx
    from onnxmltools.convert.common import data_types as onnxml_types
    from skl2onnx.common import data_types as skl_types

PAIRS = int(os.environ.get("SECATEUR_TRUTH_PAIRS", "40"))
COLUMNS = 3
QUARTERS = np.arange(-0.5, 3.75, 0.25)


def table(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = random.integers(0, 4, size=(120, COLUMNS)).astype(np.float64)
    target = rows @ random.normal(size=COLUMNS) + np.abs(rows[:, 0] - 1.5) + 0.2 * random.normal(size=len(rows))
    return rows, target


CATBOOST = dict(thread_count=1, verbose=0, allow_writing_files=False)


class Converted:
    """A fitted model of another family as ONNX Runtime runs its conversion, which reads f32 or f64."""

    def __init__(self, fitted, double: bool):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(fitted, xgboost.XGBModel):
                types = [("X", onnxml_types.FloatTensorType([None, COLUMNS]))]
                model = onnxmltools.convert_xgboost(fitted, initial_types=types)
            elif isinstance(fitted, lightgbm.LGBMModel):
                types = [("X", onnxml_types.FloatTensorType([None, COLUMNS]))]
                options = dict(zipmap=False) if hasattr(fitted, "classes_") else {}
                model = onnxmltools.convert_lightgbm(fitted, initial_types=types, **options)
            else:
                tensor = skl_types.DoubleTensorType if double else skl_types.FloatTensorType
                options = {id(fitted): {"zipmap": False}} if hasattr(fitted, "classes_") else None
                model = skl2onnx.to_onnx(fitted, initial_types=[("X", tensor([None, COLUMNS]))], options=options)
        # skl2onnx calls the scores of the double form double, and onnxruntime, whose scores are float, refuses to load that.
        for output in model.graph.output:
            if output.type.tensor_type.elem_type == TensorProto.DOUBLE:
                output.type.tensor_type.elem_type = TensorProto.FLOAT
        data = model.SerializeToString()
        self.source = fitted
        self.read = secateur.Model.parse(data)
        self.session = session(data)
        self.kind = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}[
            model.graph.input[0].type.tensor_type.elem_type
        ]
        (self.node,) = [node for node in model.graph.node if node.op_type.startswith("TreeEnsemble")]
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
            for attribute in self.node.attribute:
                if attribute.name == "post_transform":
                    attribute.s = b"NONE"
            if all(output.name != self.node.output[1] for output in model.graph.output):
                scores = onnx.helper.make_tensor_value_info(self.node.output[1], TensorProto.FLOAT, [None, None])
                model.graph.output.append(scores)
            self.scorer = session(model.SerializeToString())

    def scores(self, rows: np.ndarray) -> np.ndarray:
        if not hasattr(self, "classes_"):
            return self.session.run(None, {"X": rows.astype(self.kind)})[0]
        found = self.scorer.run([self.node.output[1]], {"X": rows.astype(self.kind)})[0]
        return found[:, 1:] if len(self.read.intercepts) == 1 else found

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.session.run(None, {"X": rows.astype(self.kind)})[0].ravel()


def session(data: bytes) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])


def trained(family: str, kind: str, most: int, random: np.random.Generator, rows, target):
    """A model of fewer than `most` trees; the kind is the end of its class's name."""
    seed, trees, depth = int(random.integers(1 << 30)), int(random.integers(1, most)), int(random.integers(1, 4))
    if family == "xgboost":
        made = getattr(xgboost, f"XGB{kind}")(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=seed)
    elif family == "lightgbm":
        made = getattr(lightgbm, f"LGBM{kind}")(
            n_estimators=trees, max_depth=depth, min_child_samples=5, n_jobs=1, verbosity=-1, random_state=seed
        )
    elif family == "boosting":
        made = getattr(ensemble, f"GradientBoosting{kind}")(n_estimators=trees, max_depth=depth, random_state=seed)
    elif family == "histogram":
        made = getattr(ensemble, f"HistGradientBoosting{kind}")(
            max_iter=trees, max_depth=depth, min_samples_leaf=5, random_state=seed
        )
    elif family == "catboost":
        policy = str(random.choice(["SymmetricTree", "Depthwise"]))
        made = getattr(catboost, f"CatBoost{kind}")(
            iterations=trees, depth=depth, random_seed=seed, grow_policy=policy, **CATBOOST
        )
    elif family == "onnx":
        source = trained(str(random.choice(SOURCES)), kind, most, random, rows, target)
        return Converted(source, random.random() < 0.5)
    elif family == "forest":
        made = getattr(ensemble, f"RandomForest{kind}")(trees, max_depth=depth, random_state=seed, n_jobs=1)
    else:
        made = getattr(tree, f"DecisionTree{kind}")(max_depth=depth, random_state=seed)
    return made.fit(rows, target)


def regressor(family: str, random: np.random.Generator, rows, target):
    return trained(family, "Regressor", 9, random, rows, target)


def classifier(family: str, random: np.random.Generator, rows, target):
    classes = np.digitize(target, np.quantile(target, [0.5] if random.random() < 0.6 else [0.33, 0.66]))
    return trained(family, "Classifier", 7, random, rows, classes)


FAMILIES = ["xgboost", "lightgbm", "boosting", "histogram", "forest", "tree", "catboost", "onnx"]
# What there are converters to ONNX for; the one of HistGradientBoosting fails.
SOURCES = ["xgboost", "lightgbm", "boosting", "forest", "tree"]


def scores(model, rows: np.ndarray) -> np.ndarray:
    """What the library itself says before any link, for each row a number for each output."""
    if isinstance(model, Converted):
        found = model.scores(rows)
    elif isinstance(model, (catboost.CatBoostRegressor, catboost.CatBoostClassifier)):
        found = model.predict(rows, prediction_type="RawFormulaVal")
    elif isinstance(model, (xgboost.XGBRegressor, xgboost.XGBClassifier)):
        found = model.predict(rows, output_margin=True)
    elif isinstance(model, (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier)):
        found = model.predict(rows, raw_score=True)
    elif isinstance(model, (ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier)):
        found = model.decision_function(rows)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(rows)
    else:
        found = model.predict(rows)
    return np.asarray(found, dtype=np.float64).reshape(len(rows), -1)


def read(model):
    """What secateur is given."""
    return model.read if isinstance(model, Converted) else model


def shown_rounding(models, found: np.ndarray) -> float:
    """onnxruntime adds doubles up in double, which is what is claimed, and shows their sum as an f32."""
    double = any(isinstance(model, Converted) and model.kind is np.float64 for model in models)
    return 2.0**-24 * np.abs(found).max() if double else 0.0


def cells(*models) -> np.ndarray:
    values = list(QUARTERS)
    if all(secateur.load(read(model)).domain["missing"] for model in models):
        values.append(np.nan)
    return np.array(list(itertools.product(values, repeat=COLUMNS)))


def lead(model, found: np.ndarray) -> np.ndarray:
    """How far each row is from another decision, at least."""
    if found.shape[1] > 1:
        ordered = np.sort(found, axis=1)
        return ordered[:, -1] - ordered[:, -2]
    # ONNX decides at 0, or at 0.5 where no weight is negative.
    half = np.abs(found[:, 0] - 0.5) if isinstance(model, Converted) else np.inf
    return np.minimum(np.abs(found[:, 0]), half)


def pair_of(random: np.random.Generator, make, family: str):
    """A model of a family, and another of the same, or of any other, or a conversion and what it was made from."""
    rows, target = table(random)
    first = make(family, random, rows, target)
    if isinstance(first, Converted) and random.random() < 0.5:
        return first, first.source
    second = make(family if random.random() < 0.6 else str(random.choice(FAMILIES)), random, rows, target)
    return first, second


def test_both_claims_are_those_of_the_libraries() -> None:
    measured = within = refuted = same = different = 0
    families: dict[str, int] = {}
    for pair in range(PAIRS):
        random = np.random.default_rng(pair)
        make = regressor if pair % 2 else classifier
        family = FAMILIES[pair // 2 % len(FAMILIES)]
        first, second = pair_of(random, make, family)
        inputs = cells(first, second)
        ours, theirs = scores(first, inputs), scores(second, inputs)
        if ours.shape == theirs.shape:
            truth = np.abs(ours - theirs).max()
            slack = shown_rounding((first, second), ours) + shown_rounding((first, second), theirs)
            answer = secateur.verify(read(first), read(second), scores=True, certificate=True)
            assert answer.ended and answer.checked, pair
            # U is never below what an input shows, L is what the libraries say on its own input, and where the search ended nothing
            # but rounding lies between the two.
            assert truth <= answer.at_most + slack, (pair, truth, answer)
            shown = answer.input.reshape(1, -1)
            there = np.abs(scores(first, shown) - scores(second, shown)).max()
            assert answer.at_least <= there * (1 + 1e-12) + slack + 1e-300, (pair, there, answer)
            assert truth <= answer.at_least + 2.001 * answer.rounding + slack, (pair, truth, answer)
            # Four digits are enough for the search.
            open_digits = answer.at_most / 16_000 + answer.rounding / 1_000
            assert answer.at_most <= answer.at_least + 2 * answer.rounding + open_digits + 1e-15, (pair, answer)
            measured += 1
            families[family] = families.get(family, 0) + 1
            limit = answer.at_most * 1.01 + 1e-9
            assert secateur.verify(read(first), read(second), scores=True, within=limit).outcome == "within", pair
            within += 1
            if truth > 1e-4:
                below = secateur.verify(read(first), read(second), scores=True, within=truth * 0.9)
                assert below.outcome == "exceeds" and below.at_least > truth * 0.9, (pair, below)
                refuted += 1
        if make is classifier and list(first.classes_) == list(second.classes_):
            decided = secateur.verify(read(first), read(second))
            if decided.undecided:
                # Only the order in which onnxruntime adds may leave a question open.
                assert isinstance(second, Converted) and "order of addition" in decided.reason, (pair, decided)
            elif decided.different:
                example = decided.counterexample.reshape(1, -1)
                assert first.predict(example).ravel()[0] != second.predict(example).ravel()[0], (pair, decided)
                different += 1
            else:
                changed = first.predict(inputs).ravel() != second.predict(inputs).ravel()
                # The claim is silent where the first model's own lead is within its rounding.
                assert not (changed & (lead(first, ours) > decided.band * 2 + 1e-12)).any(), (pair, decided)
                same += 1
    print(f"{PAIRS} pairs: {measured} measured, {within} within, {refuted} refuted; {same} the same, {different} different; {families}")
    assert measured >= PAIRS * 0.6 and refuted >= PAIRS * 0.4 and different >= PAIRS * 0.1
    assert PAIRS < 2 * len(FAMILIES) or set(families) == set(FAMILIES)
