"""Verification of models against their ONNX conversions, both ways.

Converted models round: leaves and thresholds to single precision, sums in an order of their own. Whether that changes
a decision is what verify must find out. A difference is confirmed by running both libraries on the row; where a pair
is called identical, 20,000 hostile rows must agree, as far as they are outside the band.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import onnxruntime
import pytest
from harness import hostile_rows
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import secateur

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxmltools
    import skl2onnx
    from lightgbm import LGBMClassifier
    from onnxmltools.convert.common import data_types as onnxml_types
    from skl2onnx.common import data_types as skl_types
    from xgboost import XGBClassifier

ROWS = 20_000
SECONDS = 4.0
# What an undecided verification may say.
REASONS = {
    "the time limit was reached",
    "the last bits of the second model's scores or probabilities vary (order of addition, processor), and for some inputs "
    "they may decide",
}
DATA = {
    "iris": load_iris(return_X_y=True),
    "wine": tuple(load_wine(return_X_y=True)),
    "cancer": (load_breast_cancer().data[:, :8], load_breast_cancer().target),
}
LEARNERS = {
    "xgboost": lambda: XGBClassifier(n_estimators=25, max_depth=4, n_jobs=1, random_state=0),
    "lightgbm": lambda: LGBMClassifier(n_estimators=25, num_leaves=12, n_jobs=1, verbose=-1, random_state=0),
    "forest": lambda: RandomForestClassifier(25, max_depth=4, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0),
}


class Pair:
    """A fitted classifier and its conversion."""

    def __init__(self, learner: str, data: str):
        self.rows, target = DATA[data]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.fitted = LEARNERS[learner]().fit(self.rows, target)
            width = self.rows.shape[1]
            if learner == "xgboost":
                types = [("X", onnxml_types.FloatTensorType([None, width]))]
                converted = onnxmltools.convert_xgboost(self.fitted, initial_types=types)
            elif learner == "lightgbm":
                types = [("X", onnxml_types.FloatTensorType([None, width]))]
                converted = onnxmltools.convert_lightgbm(self.fitted, initial_types=types, zipmap=False)
            else:
                types = [("X", skl_types.FloatTensorType([None, width]))]
                options = {id(self.fitted): {"zipmap": False}}
                converted = skl2onnx.to_onnx(self.fitted, initial_types=types, options=options)
        data = converted.SerializeToString()
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
        self.models = [secateur.load(self.fitted), secateur.Model.parse(data)]

    def predict(self, side: int, rows: np.ndarray) -> np.ndarray:
        """The classes of one of the two libraries. Both get the same single-precision numbers."""
        rows = rows.astype(np.float32)
        if side == 1:
            return self.session.run(["label" if "label" in self.outputs() else "output_label"], {"X": rows})[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's wrapper of LightGBM misses column names
            return self.fitted.predict(rows.astype(np.float64))

    def outputs(self) -> list[str]:
        return [output.name for output in self.session.get_outputs()]


@functools.cache
def pair(learner: str, data: str) -> Pair:
    return Pair(learner, data)


def certain(model: secateur.Model, rows: np.ndarray, band: float) -> np.ndarray:
    """Rows whose winner leads by more than twice the band: by more than the band in exact arithmetic."""
    scores = model.raw_scores(rows).reshape(len(rows), -1)
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0]) > 2.0 * band + 1e-6
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 2.0 * band


def check_agreement(both: Pair, first: secateur.Model, band: float) -> None:
    """The libraries decide alike on all of many hostile rows where the first model leads by more than the band."""
    rows = hostile_rows(both.models[1], both.rows, ROWS)
    domains = [model.domain for model in both.models]
    if not all(domain["infinities"] for domain in domains):
        rows = rows[np.isfinite(rows).all(axis=1) | np.isnan(rows).any(axis=1)]
        rows = rows[~np.isinf(rows).any(axis=1)]
    if not all(domain["missing"] for domain in domains):
        rows = rows[~np.isnan(rows).any(axis=1)]
    rows = rows[certain(first, rows, band)]
    assert len(rows) > ROWS / 4
    wrong = np.flatnonzero(both.predict(0, rows) != both.predict(1, rows))
    assert wrong.size == 0, f"proved alike above {band}, but not at {rows[wrong[0]]!r}"


@pytest.mark.parametrize("reverse", [False, True], ids=["converted", "converted first"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_conversion_is_proved_or_refuted_as_the_libraries_decide(learner, data, reverse):
    both = pair(learner, data)
    sides = (1, 0) if reverse else (0, 1)
    first, second = (both.models[side] for side in sides)
    found = secateur.verify(first, second, time_limit=SECONDS)
    if found.different:
        row = found.counterexample[np.newaxis, :]
        assert np.array_equal(row, row.astype(np.float32), equal_nan=True)
        theirs = tuple(both.predict(side, row)[0] for side in sides)
        assert theirs == found.classes
        assert theirs[0] != theirs[1]
        # The digits that a person reads are the very input, as each of the libraries reads them.
        printed = dict(line.split(maxsplit=1) for line in str(found).splitlines() if len(line.split()) == 2)
        shown = [at for at, name in enumerate(first.feature_names) if printed.get(name, "x")[0] in "-0123456789"]
        assert shown
        digits = np.array([float(printed[first.feature_names[at]]) for at in shown])
        for model in both.models:
            number = np.float32 if model.domain["number"] == "f32" else np.float64
            assert (digits.astype(number) == row[0, shown].astype(number)).all()
    elif found.identical:
        assert found.proved_above is None
        check_agreement(both, first, found.band)
    else:
        assert found.reason in REASONS
        assert found.proved_above > found.band
        check_agreement(both, first, found.proved_above)


@pytest.mark.parametrize("data", DATA)
def test_a_conversion_without_time_is_proved_above_a_lead(data):
    both = pair("boosting", data)
    found = secateur.verify(*both.models, time_limit=0.0)
    assert found.undecided
    # The rounding of a hundred additions in single precision, and no more.
    assert found.band < found.proved_above < 1e-3
    check_agreement(both, both.models[0], found.proved_above)


@pytest.mark.parametrize("learner", ["xgboost", "forest", "boosting"])
def test_the_recipe_for_scores_suggests_its_own_limit(learner):
    """`verify --scores` says how far rounding can move scores, and this limit is proved; one below it is not searched for."""
    models = pair(learner, "cancer").models
    measured = secateur.verify(*models, scores=True, time_limit=60, threads=1)
    suggested = 1.001 * measured.at_most
    asked = secateur.verify(*models, scores=True, within=suggested, time_limit=60, threads=1)
    assert asked.outcome == "within" and asked.at_most <= suggested
    assert asked.at_least <= asked.at_most
    # Too few boxes for a search of every cell.
    below = secateur.verify(*models, scores=True, within=measured.rounding / 4, time_limit=60, threads=1)
    assert below.outcome in ("undecided", "exceeds"), below
    if below.outcome == "undecided":
        assert "below the proved bound" in below.reason and below.nodes < 50_000
        assert below.at_most >= measured.at_least and below.at_least is not None
        assert "is proved" in str(below) and "shown" in str(below)
