"""What other tools do with a pruned model: SHAP explains it, converters export it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from prunable import case
from test_prune import pruning

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxmltools
    import onnxruntime
    import shap
    import skl2onnx
    from onnxmltools.convert.common.data_types import FloatTensorType as ConverterTensor
    from skl2onnx.common.data_types import FloatTensorType

EXPLAINED = [
    "XGBClassifier",
    "LGBMClassifier",
    "DecisionTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
]
# skl2onnx 1.20 cannot convert a HistGradientBoostingClassifier of scikit-learn 1.9, pruned or not. Forests: see below.
EXPORTED = [
    "XGBClassifier",
    "LGBMClassifier",
    "DecisionTreeClassifier",
    "GradientBoostingClassifier",
    "AdaBoostClassifier",
]
# AdaBoost becomes a graph of many nodes, which is no single ensemble.
READABLE = [name for name in EXPORTED if name != "AdaBoostClassifier"]


@pytest.mark.parametrize("name", EXPLAINED)
def test_shap_explains_the_pruned_model(name):
    own, result = case(name), pruning(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap.TreeExplainer(result.model)
        values = np.asarray(explainer.shap_values(own.to_library(own.test), check_additivity=True))
    assert np.isfinite(values).all()
    assert own.test.shape[0] in values.shape and own.test.shape[1] in values.shape


@pytest.mark.parametrize("name", EXPORTED)
def test_the_pruned_model_is_exported_to_onnx(name):
    own, result = case(name), pruning(name)
    width = own.test.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name.startswith("XGB"):
            converted = onnxmltools.convert_xgboost(result.model, initial_types=[("X", ConverterTensor([None, width]))])
        elif name.startswith("LGBM"):
            converted = onnxmltools.convert_lightgbm(
                result.model, initial_types=[("X", ConverterTensor([None, width]))], zipmap=False
            )
        else:
            types = [("X", FloatTensorType([None, width]))]
            converted = skl2onnx.to_onnx(
                result.model, initial_types=types, options={id(result.model): {"zipmap": False}}
            )
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = own.test[own.certain(own.test, max(result.band, 1e-4))]
    given = session.get_inputs()[0]
    theirs = session.run(None, {given.name: rows.astype(np.float32)})[0]
    assert len(rows) > 50
    ours = own.classes(result.model, rows)
    # Converters write labels that are no text as whole numbers.
    kind = ours.dtype.type if ours.dtype.kind in "UO" else np.float64
    np.testing.assert_array_equal(theirs.astype(kind), ours.astype(kind))
    if name in READABLE:
        model = secateur.Model.parse(converted.SerializeToString())
        np.testing.assert_array_equal(model.predict(rows).astype(kind), ours.astype(kind))


def test_a_forest_is_converted_first_and_pruned_then(tmp_path):
    """skl2onnx gives every tree of a forest the same weight, so it cannot convert one whose trees differ in weight."""
    own, result = case("RandomForestClassifier"), pruning("RandomForestClassifier")
    width = own.test.shape[1]

    def convert(forest) -> bytes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            types = [("X", FloatTensorType([None, width]))]
            return skl2onnx.to_onnx(forest, initial_types=types, options={id(forest): {"zipmap": False}}).SerializeToString()

    assert len({round(weight, 6) for weight in result.weights if weight}) > 1
    wrong = secateur.verify(result.model, secateur.Model.parse(convert(result.model)), time_limit=20)
    assert wrong.different

    (tmp_path / "forest.onnx").write_bytes(convert(own.model))
    pruned = secateur.prune(tmp_path / "forest.onnx", own.train, time_limit=20)
    assert pruned.trees_after < pruned.trees_before
    session = onnxruntime.InferenceSession(pruned.model.to_bytes(), providers=["CPUExecutionProvider"])
    rows = own.test[own.certain(own.test, 1e-4)]
    theirs = session.run(None, {session.get_inputs()[0].name: rows.astype(np.float32)})[0]
    np.testing.assert_array_equal(theirs, own.classes(own.model, rows))
