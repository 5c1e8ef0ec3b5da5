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
    import shap
    import skl2onnx
    from onnxmltools.convert.common.data_types import FloatTensorType as ConverterTensor
    from skl2onnx.common.data_types import DoubleTensorType

EXPLAINED = [
    "XGBClassifier",
    "LGBMClassifier",
    "DecisionTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
]
EXPORTED = [*EXPLAINED, "AdaBoostClassifier"]
# Only these have a converter that is exact enough to be proved: scikit-learn's in double precision.
DOUBLE = ["RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier", "GradientBoostingClassifier"]


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
            types = [("X", DoubleTensorType([None, width]))]
            converted = skl2onnx.to_onnx(
                result.model, initial_types=types, options={id(result.model): {"zipmap": False}}
            )
    import onnxruntime

    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = own.test[own.certain(own.test, max(result.band, 1e-4))]
    given = session.get_inputs()[0]
    number = np.float64 if "double" in given.type else np.float32
    theirs = session.run(None, {given.name: rows.astype(number)})[0]
    assert len(rows) > 50
    np.testing.assert_array_equal(theirs.astype(str), own.classes(result.model, rows).astype(str))
    if name in DOUBLE and name != "DecisionTreeClassifier":
        model = secateur.Model.parse(converted.SerializeToString())
        assert not secateur.verify(result.model, model, time_limit=10).different
