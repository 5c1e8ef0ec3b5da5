"""What `Domain.from_pipeline` says of a pipeline's steps, judged by the live steps on hostile rows of every dtype."""

import pathlib
import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from xgboost import XGBClassifier

import secateur
from secateur import _preprocessing, _sklearn
from secateur._boosting import SUPPORTED

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "soak"))
from pipelines import outside, pipelines, replaced  # noqa: E402

CODES = np.arange(900.0).reshape(-1, 1) % 300
UNKNOWN = {"handle_unknown": "use_encoded_value"}
SCALE = np.linspace(-2, 2, 900).reshape(-1, 1)
CASES = {
    "codes in int8": (OrdinalEncoder(dtype=np.int8), CODES),
    "codes in uint8": (OrdinalEncoder(dtype=np.uint8), CODES),
    "codes in float16": (OrdinalEncoder(dtype=np.float16), np.arange(3000.0).reshape(-1, 1)),
    "unknown in int8": (OrdinalEncoder(dtype=np.int8, unknown_value=-1, **UNKNOWN), CODES % 100),
    "unknown in float16": (OrdinalEncoder(dtype=np.float16, unknown_value=70001, **UNKNOWN), CODES),
    "few codes": (OrdinalEncoder(max_categories=4, unknown_value=-1, **UNKNOWN), CODES),
    "one-hot": (OneHotEncoder(dtype=np.int8, handle_unknown="ignore"), CODES % 7),
    "infrequent": (OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", drop="first"), CODES % 7),
    "bins": (KBinsDiscretizer(200, encode="ordinal", strategy="uniform").set_params(dtype=np.float32), SCALE),
    "one-hot bins": (KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"), SCALE),
    "clipped": (MinMaxScaler(feature_range=(0.1, 0.9), clip=True), SCALE),
    "clipped beyond float16": (MinMaxScaler(feature_range=(-1e5, 1e6), clip=True), SCALE),
    "weighted": (ColumnTransformer([("a", MinMaxScaler(clip=True), [0])], transformer_weights={"a": 3.0}), SCALE),
    "union": (FeatureUnion([("a", MinMaxScaler(clip=True)), ("b", "passthrough")], transformer_weights={"a": -1}), SCALE),
}


def fitted(step, X, model=None):
    y = (np.arange(len(X)) // 7) % 2
    return Pipeline([("step", step), ("model", model or RandomForestClassifier(5, max_depth=4, random_state=0))]).fit(X, y)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:Found unknown categories", "ignore:invalid value")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16, np.int64, object])
def test_what_a_step_gives_is_in_its_domain(name, dtype):
    pipeline = fitted(*CASES[name])
    X = CASES[name][1]
    domain = secateur.Domain.from_pipeline(pipeline)
    names = secateur.load(pipeline).feature_names
    pruned = secateur.prune(pipeline, domain=domain).model
    given = 0
    for rows in (X, np.vstack([X, [[-9999.0]], [[9999.0]], [[0.5]]])):
        rows = rows.astype(dtype)
        try:
            seen = pipeline[:-1].transform(rows)
            classes = pipeline.predict(rows)
        except ValueError:  # an unknown category, or a number beyond float32
            continue
        seen = seen.toarray() if sparse.issparse(seen) else seen
        assert outside(domain, names, np.asarray(seen, dtype=np.float64)) == []
        assert (pruned.predict(rows) == classes).all()
        given += 1
    assert given or name in ("clipped beyond float16", "codes in float16")


def test_claims_speak_of_the_names_that_the_steps_give(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(18, 80, 300), "colour": random.choice(["red", "green", "blue"], 300)})
    y = (X["age"] > 40) ^ (X["colour"] == "red")
    encode = ColumnTransformer([("is", OneHotEncoder(), ["colour"]), ("has", "passthrough", ["age"])])
    pipeline, other = (Pipeline([("encode", encode), ("trees", AdaBoostClassifier(n_estimators=n))]).fit(X, y) for n in (30, 2))
    result = secateur.prune(pipeline, certificate=tmp_path / "proof.cert")
    words = "exactly one of is__colour_blue, is__colour_green, is__colour_red is 1, the others 0"
    assert str(secateur.Domain.from_pipeline(pipeline)) == words
    assert words in " ".join(str(result).split())
    # The names are for people: the certificate is about the same model as without them, and both names are known in domains.
    assert secateur.load(pipeline[-1]).digest == secateur.load(pipeline).digest
    assert secateur.check(pipeline[-1], result.model[-1], tmp_path / "proof.cert")
    for name in ("has__age", "f3", "3"):
        told = secateur.verify(pipeline, other, domain=secateur.Domain(columns={name: {"min": 30, "max": 50}}))
        assert told.different and 30 <= told.counterexample[3] <= 50 and "has__age" in str(told)
    # A step that gives no names changes nothing.
    plain = Pipeline([("own", FunctionTransformer()), ("trees", AdaBoostClassifier(n_estimators=3))]).fit(X[["age"]].to_numpy(), y)
    assert secateur.load(plain).feature_names == ["f0"]


def test_settings_count_as_they_are_now():
    pipeline = fitted(OrdinalEncoder(), CODES)
    pipeline[0].set_params(dtype=np.int8)
    assert secateur.Domain.from_pipeline(pipeline).to_dict()["columns"]["f0"]["values"][0] == -128
    pipeline = fitted(MinMaxScaler(clip=True), SCALE)
    pipeline[0].set_params(feature_range=(2, 3))
    assert secateur.Domain.from_pipeline(pipeline).to_dict()["columns"]["f0"]["max"] == 3
    pipeline = fitted(OrdinalEncoder(), CODES)
    pipeline[0].categories_[0] = pipeline[0].categories_[0][::-1].copy()
    assert str(secateur.Domain.from_pipeline(pipeline)) == "every input"


def test_an_imputer_leaves_what_is_not_nan():
    X = SCALE.astype(object)
    model = HistGradientBoostingClassifier(max_iter=3)
    pipeline = fitted(SimpleImputer(strategy="most_frequent"), X, model)
    assert pipeline[:-1].transform(np.array([[None]], dtype=object))[0, 0] is None
    assert str(secateur.Domain.from_pipeline(pipeline)) == "every input"
    domain = secateur.Domain.from_pipeline(fitted(SimpleImputer(), SCALE, model)).to_dict()
    assert domain["columns"] == {"f0": {"missing": False}}


def test_sparse_rows_that_an_imputer_passes_on_guarantee_nothing_to_xgboost():
    steps = Pipeline([("codes", OneHotEncoder()), ("fill", SimpleImputer())])
    pipeline = fitted(steps, CODES % 7, XGBClassifier(n_estimators=3, n_jobs=1))
    assert str(secateur.Domain.from_pipeline(pipeline)) == "every input"


class Own(OrdinalEncoder):
    def transform(self, X):
        return super().transform(X) - 5


PLACES = {
    "step": lambda p: p[0],
    "step/columns": lambda p: p[0][0],
    "step/columns/codes": lambda p: p[0][0].named_transformers_["codes"],
    "step/columns/bins": lambda p: p[0][0].named_transformers_["bins"],
    "step/columns/bins/_encoder": lambda p: p[0][0].named_transformers_["bins"]._encoder,
    "step/columns/fill/indicator_": lambda p: p[0][0].named_transformers_["fill"].indicator_,
    "step/columns/union": lambda p: p[0][0].named_transformers_["union"],
    "step/columns/union/scale": lambda p: p[0][0].named_transformers_["union"].transformer_list[0][1],
    "step/columns/rest": lambda p: p[0][0].named_transformers_["rest"],
}


def nested():
    parts = [
        ("codes", OrdinalEncoder(), [0]),
        ("bins", KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), [0]),
        ("fill", SimpleImputer(add_indicator=True), [1]),
        ("union", FeatureUnion([("scale", MinMaxScaler(clip=True))]), [0]),
        ("rest", FunctionTransformer(), [0]),
    ]
    X = np.column_stack([CODES % 9, SCALE])
    X[3, 1] = np.nan
    return fitted(Pipeline([("columns", ColumnTransformer(parts))]), X)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", ["transform", "get_params"])
def test_a_replaced_method_is_refused_wherever_it_is(place, method):
    pipeline = nested()
    assert secateur.Domain.from_pipeline(pipeline).to_dict()["groups"]
    setattr(PLACES[place](pipeline), method, lambda X: X)
    with pytest.raises(secateur.ModelError, match=rf"'{place}'.* {method} .*domain=False"):
        secateur.Domain.from_pipeline(pipeline)
    with pytest.raises(secateur.ModelError, match=method):
        secateur.prune(pipeline)


def shifted(X):
    """A frame with an index of its own, which pandas puts beside others with missing values between them."""
    return pd.DataFrame(np.asarray(X)).reset_index(drop=True)


def test_a_union_that_pandas_joins_by_index_may_have_missing_values():
    frame = pd.DataFrame({"a": CODES[:, 0] % 9})
    own = FunctionTransformer(shifted)
    for part in (own, Pipeline([("first", "passthrough"), ("second", own)]), FeatureUnion([("inner", own)])):
        union = FeatureUnion([("codes", OrdinalEncoder()), ("hot", OneHotEncoder(sparse_output=False)), ("own", part)])
        pipeline = fitted(union.set_output(transform="pandas"), frame, HistGradientBoostingClassifier(max_iter=3))
        seen = pipeline[:-1].transform(frame.iloc[5:25])
        assert seen.isna().any().all(), "the test tests nothing"
        names = secateur.load(pipeline).feature_names
        assert outside(secateur.Domain.from_pipeline(pipeline), names, seen.to_numpy(dtype=np.float64)) == []
    plain = FeatureUnion([("codes", OrdinalEncoder()), ("scale", StandardScaler())])
    domain = secateur.Domain.from_pipeline(fitted(plain, frame, HistGradientBoostingClassifier(max_iter=3))).to_dict()
    assert list(domain["columns"].values()) == [{"values": list(range(9)), "missing": False}]


def test_without_a_domain_the_steps_do_not_count():
    pipeline = fitted(OrdinalEncoder(), CODES)
    pipeline[0].transform = lambda X: np.asarray(X) - 7
    assert secateur.load(pipeline).tree_count == 5
    assert secateur.prune(pipeline, domain=False).scope == "all"


def test_subclasses_and_replaced_classes_are_refused(monkeypatch):
    with pytest.raises(secateur.ModelError, match="'step'.*Own, a subclass of OrdinalEncoder"):
        secateur.Domain.from_pipeline(fitted(Own(), CODES))
    pipeline = fitted(OrdinalEncoder(), CODES)
    for other in (lambda self, X: X, StandardScaler.transform):
        with monkeypatch.context() as patched:
            patched.setattr(OrdinalEncoder, "transform", other)
            with pytest.raises(secateur.ModelError, match="'step'.*transform was replaced on the class"):
                secateur.Domain.from_pipeline(pipeline)
    assert secateur.Domain.from_pipeline(pipeline).to_dict()["columns"]


@pytest.mark.parametrize("seed", range(12))
def test_a_share_of_the_soak(seed):
    for family in (pipelines, replaced):
        assert family(seed).wrong == []


def test_the_guide_names_every_class_and_no_other():
    text = (ROOT / "docs" / "guide" / "live-objects.md").read_text()
    steps = text.partition("## The steps of a pipeline")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", steps, re.MULTILINE)) == {name for _, name in _preprocessing.RULES}
    classes = text.partition("## Classes")[2].partition("\n## ")[0]
    known = {*SUPPORTED, *(name for _, name in _sklearn.SUPPORTED), *_sklearn._HOLDERS}
    assert set(re.findall(r"`(\w+)`", classes)) == known
