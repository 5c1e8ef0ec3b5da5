"""Every library, container and type of number: a table becomes what the library makes of it, or is refused (docs/guide/tables.md)."""

from __future__ import annotations

import warnings

import catboost
import dask.dataframe
import lightgbm
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import scipy.sparse
import xgboost
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

import secateur

pytestmark = pytest.mark.filterwarnings("ignore")
TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g"]
TYPES += [">i2", ">i4", ">i8", ">u8", ">f2", ">f4", ">f8"]


def hostile(dtype: str) -> np.ndarray:
    """Values of this type that a way of rounding changes."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True, True])
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            values = np.array([0.0, 0.1, 1 / 3, 2.0**24 + 1, 1731900000.123, 1.0009765625, 1e-7, 65504.0]).astype(kind)
        return values[np.isfinite(values)]
    info = np.iinfo(kind)
    values = [0, 1, 2, 127, 1731900000123456789, 1731900000123456, 1731900000, info.max, info.min]
    for power in (15, 24, 25, 31, 53, 54, 62, 63):
        values += [2**power + near for near in (-3, -1, 0, 1, 3)]
    for power in (54, 60, 62):
        # Halfway between two float32 numbers, and next to it: rounding by way of float64 goes the other way.
        half = 2**power + 2 ** (power - 24)
        values += [half - 1, half, half + 1, half + 2 ** (power - 23) - 1]
    return np.array(sorted({value for value in values if info.min <= value <= info.max}), dtype=kind)


def with_gaps(rows: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(rows, 2, 0), 2, 1)[::2, ::2]


def nullable(rows: np.ndarray, missing: bool = False) -> pd.DataFrame:
    kind, size = rows.dtype.kind, 8 * rows.dtype.itemsize
    names = {"b": "boolean", "i": f"Int{size}", "u": f"UInt{size}", "f": f"Float{size}"}
    frame = pd.DataFrame(rows, columns=["a", "b"]).astype(names[kind])
    if missing:
        frame.loc[0, "a"] = pd.NA
    return frame


CONTAINERS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "gaps": with_gaps,
    "list": lambda rows: rows.tolist(),
    "objects": lambda rows: rows.astype(object),
    "pandas": lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
    "pandas, objects": lambda rows: pd.DataFrame(rows.astype(object), columns=["a", "b"]),
    "pandas, beside float32": lambda rows: pd.DataFrame({"a": rows[:, 0], "b": np.zeros(len(rows), "f4")}),
    "pandas, beside int64": lambda rows: pd.DataFrame({"a": rows[:, 0], "b": np.zeros(len(rows), "i8")}),
    "pandas, nullable": nullable,
    "pandas, missing": lambda rows: nullable(rows, True),
    "polars": lambda rows: polars.DataFrame({"a": rows[:, 0], "b": rows[:, 1]}),
    "pyarrow": lambda rows: pyarrow.table({"a": rows[:, 0], "b": rows[:, 1]}),
    "pyarrow, batch": lambda rows: pyarrow.RecordBatch.from_pydict({"a": pyarrow.array(rows[:, 0]), "b": pyarrow.array(rows[:, 1])}),
    "dict": lambda rows: {"a": rows[:, 0], "b": rows[:, 1]},
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_matrix,
}


def points() -> np.ndarray:
    """Where models split: at every way of rounding the hostile values, and next to it."""
    values = [hostile(dtype) for dtype in TYPES]
    with np.errstate(over="ignore"):
        ways = [way for one in values for way in (one.astype(float), one.astype("f4").astype(float))]
    found = np.concatenate([*ways, *(way.astype("f4").astype(float) for way in ways)])
    return np.unique(np.concatenate([found, np.nextafter(found, np.inf)]))


def fit(library: str):
    values = points()
    X = pd.DataFrame({"a": values, "b": np.zeros(len(values))})
    y = np.random.default_rng(0).permutation(len(values)).astype(float)
    if library == "lightgbm":
        options = {"num_leaves": 1000, "min_child_samples": 1, "min_child_weight": 0, "max_bin": 4000, "min_data_in_bin": 1}
        model = lightgbm.LGBMRegressor(n_estimators=1, learning_rate=1.0, verbose=-1, **options).fit(X, y)
        return model, [model.predict, model.booster_.predict]
    if library == "xgboost":
        options = {"max_depth": 0, "max_leaves": 1000, "grow_policy": "lossguide", "max_bin": 4000, "min_child_weight": 0}
        model = xgboost.XGBRegressor(n_estimators=1, learning_rate=1.0, reg_lambda=0, **options).fit(X.to_numpy(), y)
        booster = model.get_booster()
        return model, [
            model.predict,
            lambda rows: booster.predict(xgboost.DMatrix(rows), validate_features=False),
            lambda rows: booster.inplace_predict(rows, validate_features=False),
        ]
    if library == "catboost":
        options = {"depth": 8, "border_count": 4000, "verbose": 0, "allow_writing_files": False}
        model = catboost.CatBoostRegressor(iterations=60, learning_rate=0.5, **options).fit(X.astype("f4"), y)
    elif library == "forest":
        model = RandomForestRegressor(3, random_state=0).fit(X, y)
    elif library == "boosting":
        model = GradientBoostingRegressor(n_estimators=3, max_depth=12).fit(X, y)
    else:
        options = {"max_leaf_nodes": None, "min_samples_leaf": 1, "early_stopping": False}
        model = HistGradientBoostingRegressor(max_iter=5, learning_rate=1.0, **options).fit(X, y)
    return model, [model.predict]


LIBRARIES = ["lightgbm", "xgboost", "catboost", "forest", "boosting", "hist"]


@pytest.fixture(scope="module", params=LIBRARIES)
def fitted(request, fitted_once):
    _, predict, ours = fitted_once(request.param)
    return request.param, predict, ours


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_cell(fitted, dtype, container):
    """Where we answer, every interface of the library that answers gives the same numbers."""
    library, interfaces, ours = fitted
    values = hostile(dtype)
    try:
        table = CONTAINERS[container](np.column_stack([values, np.zeros_like(values)]))
    except Exception:  # noqa: BLE001
        # There is no such table.
        return
    expected = []
    for predict in interfaces:
        try:
            expected.append(np.asarray(predict(table)))
        except Exception:  # noqa: BLE001
            # The library refuses it.
            continue
    for model in ours:
        try:
            found = model.predict(table)
        except secateur.InputError:
            # Plain numbers of the usual types are never refused.
            usual = dtype in ("?", "i1", "i2", "i4", "u1", "u2", "u4", "f2", "f4", "f8")
            assert not (usual and container in ("C order", "Fortran order", "gaps", "pandas", "pandas, nullable")), library
            continue
        for answer in expected:
            assert np.array_equal(found, answer), (type(model).__name__, np.flatnonzero(found != answer))


def test_unix_times_as_the_library_reads_them():
    """LightGBM's Python package rounds arrays of whole numbers to float32, and frames it does not."""
    random = np.random.default_rng(0)
    times = 1731900000 + random.integers(0, 100_000, (2000, 2))
    y = (times[:, 0] % 977 > 488).astype(int)
    library = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=200, min_child_samples=1, verbose=-1).fit(times.astype(float), y)
    for dtype in ("i4", "i8", "u4", "u8"):
        rows = times.astype(dtype)
        for model in (secateur.load(library), secateur.pack(library)):
            assert (model.predict(rows) == library.predict(rows)).all()
            assert (model.predict(pd.DataFrame(rows)) == library.predict(pd.DataFrame(rows))).all()
    assert (library.predict(times) != library.predict(pd.DataFrame(times))).any(), "the test tests nothing"


KINDS = {
    "pandas": lambda frame: frame,
    "polars": polars.from_pandas,
    "lazy": lambda frame: polars.from_pandas(frame).lazy(),
    "pyarrow": pyarrow.Table.from_pandas,
    "dict": lambda frame: {name: frame[name].to_numpy() for name in frame},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "forest", "hist"])
def test_names_decide(kind, library):
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.normal(size=(200, 3)), columns=["one", "two", "three"])
    y = X["one"] + 2 * X["two"] > 0
    classes = {
        "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
        "xgboost": lambda: xgboost.XGBClassifier(n_estimators=5),
        "forest": lambda: __import__("sklearn.ensemble", fromlist=["x"]).RandomForestClassifier(5, random_state=0),
        "hist": lambda: __import__("sklearn.ensemble", fromlist=["x"]).HistGradientBoostingClassifier(max_iter=5),
    }
    fitted = classes[library]().fit(X, y.astype(int))
    expected = fitted.predict(X)
    give = KINDS[kind]
    reversed_ = X[X.columns[::-1]]
    for model in (secateur.load(fitted), secateur.pack(fitted)):
        assert (model.predict(give(reversed_)) == expected).all()
        assert (model.predict(give(reversed_.assign(other=1.0))) == expected).all()
        for spoiled in (reversed_.rename(columns={"two": "zwei"}), X.rename(columns={"two": "zwei"})):
            with pytest.raises(secateur.InputError, match="no column 'two'.*does not know 'zwei'.*to_numpy"):
                model.predict(give(spoiled))
        with pytest.raises(secateur.InputError, match="no column 'one', 'two', 'three'"):
            model.predict(give(X.rename(columns=lambda name: name + "!")))
        assert (model.predict(X.rename(columns={"two": "zwei"}).to_numpy()) == expected).all()
    with pytest.raises(secateur.InputError, match="no column 'two'.*does not know 'zwei'"):
        secateur.prune(fitted, give(X.rename(columns={"two": "zwei"})), time_limit=1)


def test_names_that_are_not_unique():
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(100, 2)), columns=["a b", "c"])
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, X["c"])
    for model in (secateur.load(fitted), secateur.pack(fitted)):
        assert (model.predict(X) == fitted.predict(X)).all()
        with pytest.raises(secateur.InputError, match="two columns of one name: 'c'"):
            model.predict(X.set_axis(["c", "c"], axis=1))
        with pytest.raises(secateur.InputError, match="more than one column that LightGBM would write as 'a_b'"):
            model.predict(X.assign(a_b=1.0))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_without_names_reads_by_position(library):
    """Also where a frame's names are those that the file of such a model is given, in another order."""
    X = np.random.default_rng(1).normal(size=(100, 2))
    classes = {
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=5, verbose=-1),
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=5),
        "catboost": lambda: catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False),
        "forest": lambda: RandomForestRegressor(5, random_state=0),
        "boosting": lambda: GradientBoostingRegressor(n_estimators=5),
        "hist": lambda: HistGradientBoostingRegressor(max_iter=5),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = classes[library]().fit(X, X[:, 1])
    for model in (secateur.load(fitted), secateur.pack(fitted)):
        made_up = secateur.load(fitted).feature_names[::-1]
        for names in (["x", "y"], made_up, ["f1", "f0"], ["1", "0"], ["Column_1", "Column_0"]):
            frame = pd.DataFrame(X, columns=names)
            for give in KINDS.values():
                assert (model.predict(give(frame)) == fitted.predict(X)).all(), names
        with pytest.raises(secateur.InputError, match="the model has 2 columns"):
            model.predict(pd.DataFrame(np.c_[X, X]))


def test_arrays_of_another_width_are_refused():
    """Also arrays of float64, whose rows would otherwise be cut anew at the model's width."""
    X = np.random.default_rng(1).normal(size=(100, 2))
    fitted = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    for model in (secateur.load(fitted), secateur.pack(fitted)):
        for dtype in ("f4", "f8", "i8"):
            for width in (0, 1, 3, 4):
                rows = np.zeros((8, width), dtype)
                for call in (model.predict, model.raw_scores):
                    with pytest.raises(secateur.InputError, match="the model has 2 columns"):
                        call(rows)
    for use in (secateur.prune, lambda model, rows: secateur.verify(model, model, rows)):
        with pytest.raises(secateur.InputError, match="the model has 2 columns"):
            use(fitted, np.zeros((8, 4)))


def coloured(categories: list) -> pd.DataFrame:
    random = np.random.default_rng(2)
    codes = random.integers(0, len(categories), 300)
    values = pd.Categorical.from_codes(codes, categories)
    return pd.DataFrame({"colour": values, "size": random.normal(size=300)})


@pytest.mark.parametrize("library", LIBRARIES)
def test_categories_for_a_model_of_numbers(library):
    """XGBoost reads their positions, scikit-learn their values, and the others refuse them."""
    frames = [coloured([10, 20, 30]), coloured([2, 0, 1]), coloured(["0", "1", "2"]), coloured([2**60 + 2**36 + 1, 1, 2])]
    plain = pd.DataFrame({"colour": np.arange(300) % 41, "size": frames[0]["size"]}).astype(float)
    y = np.sin(plain["colour"]) + plain["size"]
    classes = {
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=20, verbose=-1),
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=20),
        "catboost": lambda: catboost.CatBoostRegressor(iterations=20, verbose=0, allow_writing_files=False),
        "forest": lambda: RandomForestRegressor(5, random_state=0),
        "boosting": lambda: GradientBoostingRegressor(n_estimators=20),
        "hist": lambda: HistGradientBoostingRegressor(max_iter=20),
    }
    fitted = classes[library]().fit(plain, y)
    answered = 0
    for frame in frames:
        try:
            expected = fitted.predict(frame)
        except Exception:  # noqa: BLE001
            expected = None
        for model in (secateur.load(fitted), secateur.pack(fitted)):
            try:
                found = model.predict(frame)
            except secateur.InputError:
                continue
            answered += 1
            assert expected is not None and np.array_equal(found, expected)
    assert answered >= (0 if library in ("lightgbm", "catboost") else 4), answered


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "hist"])
def test_categories_of_another_type_are_none_of_the_models(library):
    """1 and "1" are not the same category, and numbers beside LightGBM's categories are codes."""
    classes = {
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=20, verbose=-1),
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=20, enable_categorical=True),
        "hist": lambda: HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype"),
    }
    frame = coloured([3, 1, 0, 2])
    fitted = classes[library]().fit(frame, np.sin(5.0 * frame["colour"].cat.codes) + frame["size"])
    others = [
        frame.assign(colour=frame["colour"].astype(str)),
        frame.assign(colour=frame["colour"].astype(str).astype("category")),
        frame.assign(colour=pd.Categorical(frame["colour"].astype(str).map("colour {}".format))),
        polars.from_pandas(frame),
        polars.from_pandas(frame.assign(colour=frame["colour"].astype(float))),
        frame.assign(colour=frame["colour"].astype(float)),
    ]
    for model in (secateur.load(fitted), secateur.pack(fitted)):
        assert np.array_equal(model.predict(frame), fitted.predict(frame))
        for other in others:
            try:
                found = model.predict(other)
            except secateur.InputError:
                continue
            try:
                expected = fitted.predict(other)
            except Exception:  # noqa: BLE001
                # XGBoost takes categories of pandas alone; here they are found by their labels.
                expected = fitted.predict(frame)
            assert np.array_equal(found, expected), library


@pytest.mark.parametrize("library", LIBRARIES)
def test_odd_containers_are_what_the_library_makes_of_them_or_refused(fitted_once, library):
    fitted, interfaces, ours = fitted_once(library)
    makers = [
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]).astype(pd.SparseDtype(rows.dtype, 0)),
        lambda rows: polars.DataFrame({"a": polars.Series([None, *rows[1:, 0].tolist()]), "b": rows[:, 1]}),
        scipy.sparse.coo_matrix,
        scipy.sparse.bsr_matrix,
        memoryview,
        lambda rows: np.ma.masked_array(rows, mask=np.eye(*rows.shape, dtype=bool)),
        lambda rows: np.broadcast_to(rows[:1], (5, 2)),
        lambda rows: rows[::-1, ::-1],
    ]
    for dtype in ("i8", "u8", "f2", "f8", "g"):
        values = hostile(dtype)
        for at, make in enumerate(makers):
            try:
                table = make(np.column_stack([values, np.zeros_like(values)]))
                expected = [np.asarray(predict(table)) for predict in interfaces[:1]]
            except Exception:  # noqa: BLE001
                continue
            for model in ours:
                try:
                    found = model.predict(table)
                except secateur.InputError:
                    continue
                assert np.array_equal(found, expected[0]), (at, dtype, type(model).__name__)


@pytest.fixture(scope="module")
def fitted_once():
    known = {}

    def get(library):
        if library not in known:
            model, predict = fit(library)
            known[library] = model, predict, [secateur.load(model), secateur.pack(model)]
        return known[library]

    return get


def test_onnx_models_read_what_their_runtime_takes():
    """onnxruntime takes arrays of the model's own type alone; where it answers, the numbers are the same."""
    import onnxruntime
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    X = np.random.default_rng(1).normal(size=(200, 2)) * 1000
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    answered = 0
    for kind in (FloatTensorType, DoubleTensorType):
        try:
            data = skl2onnx.to_onnx(forest, initial_types=[("X", kind([None, 2]))], options={"zipmap": False}).SerializeToString()
            session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
            ours = [secateur.Model.parse(data)]
        except secateur.ModelError:
            continue
        ours.append(secateur.pack(ours[0]))
        for dtype in TYPES:
            with np.errstate(over="ignore", invalid="ignore"):
                rows = X.astype(dtype)
            try:
                expected = session.run(None, {"X": rows})[0]
            except Exception:  # noqa: BLE001
                continue
            answered += 1
            for model in ours:
                if not rows.dtype.isnative:
                    # Whose bytes onnxruntime takes as they are.
                    with pytest.raises(secateur.InputError, match="onnxruntime misreads"):
                        model.predict(rows)
                    continue
                assert np.array_equal(model.predict(rows), expected), dtype
    assert answered > 0


def small(library: str):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(300, 3)), columns=["a", "b", "c"])
    classes = {
        "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=10, verbose=-1),
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=10),
        "catboost": lambda: catboost.CatBoostRegressor(iterations=10, verbose=0, allow_writing_files=False),
        "forest": lambda: RandomForestRegressor(5, random_state=0),
        "boosting": lambda: GradientBoostingRegressor(n_estimators=10),
        "hist": lambda: HistGradientBoostingRegressor(max_iter=10),
    }
    fitted = classes[library]().fit(X, 10 * X["a"] + X["b"])
    return X, fitted, [secateur.load(fitted), secateur.pack(fitted)]


def test_frames_in_several_orders_at_the_same_time(monkeypatch):
    """While one thread reads a frame, another one reads a frame with another order."""
    X, fitted, (_, packed) = small("lightgbm")
    expected = fitted.predict(X)
    plain, between = pd.DataFrame.to_numpy, []

    def interrupted(frame, *arguments, **options):
        if not between:
            between.append(True)
            assert np.array_equal(packed.predict(X[["c", "b", "a"]]), expected)
        return plain(frame, *arguments, **options)

    packed.predict(X)
    monkeypatch.setattr(pd.DataFrame, "to_numpy", interrupted)
    assert np.array_equal(packed.predict(X), expected)
    assert between


@pytest.mark.parametrize("library", LIBRARIES)
def test_two_entries_of_a_sparse_matrix_in_one_place_are_refused(library):
    """The libraries read the first, the last or the sum of them."""
    X, fitted, ours = small(library)
    data, at = np.array([1.0, -2.0, 0.5]), np.array([0, 0, 1])
    tables = [
        scipy.sparse.csr_matrix((data, at, [0, 3]), shape=(1, 3)),
        scipy.sparse.csc_matrix((data, np.zeros(3, int), [0, 2, 3, 3]), shape=(1, 3)),
    ]
    # In any order, and with zeros that are written down, it is a table like others.
    plain = scipy.sparse.csr_matrix((np.array([0.5, 0.0, -1.0]), np.array([2, 1, 0]), [0, 3]), shape=(1, 3))
    for model in ours:
        for table in tables:
            with pytest.raises(secateur.InputError, match="two entries in one place"):
                model.predict(table)
        if library not in ("hist",):
            assert np.array_equal(model.predict(plain), fitted.predict(plain))
        with pytest.raises(secateur.InputError, match="two dimensions"):
            model.predict(scipy.sparse.coo_array(np.ones(3)))
        # A mapping too, whose keys are places.
        rounded = X.round()
        assert np.array_equal(model.predict(scipy.sparse.dok_matrix(rounded)), model.predict(scipy.sparse.csr_matrix(rounded)))


DICTS = {
    "masked": ({"a": np.ma.masked_array([1.0, 2.0], [True, False]), "b": [1, 2], "c": [1, 2]}, "column 'a' of X is a masked array"),
    "indexes": ({"a": pd.Series([1.0, 2.0], [1, 0]), "b": pd.Series([1.0, 2.0]), "c": [1, 2]}, "different indexes"),
    "lengths": ({"a": pd.Series([1.0]), "b": polars.Series([1.0, 2.0]), "c": [1, 2]}, "different lengths"),
    "categories": ({"a": pd.Series([10, 20], dtype="category"), "b": [1, 2], "c": [1, 2]}, "column 'a' of X holds categories"),
    "beside missing": ({"a": polars.Series([2**60 + 2**36 + 1, None]), "b": [1, 2], "c": [1, 2]}, "from 2\\^53 beside missing"),
    "masked rows": ([np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False])] * 2, "row of X is a masked array"),
    "intervals": (pd.DataFrame({"a": [pd.Interval(0, 1)], "b": [1], "c": [1]}), "column 'a' holds a value that is neither"),
    "structures": (polars.DataFrame({"a": [{"x": 1.0}], "b": [1], "c": [1]}), "column 'a' of X holds Struct.* no numbers"),
    "128 bits": (polars.DataFrame({"a": [1], "b": [1], "c": [1]}, schema_overrides={"a": polars.Int128}), "column 'a' of X holds Int128"),
    "dates": (np.array([[np.timedelta64(5, "s"), 1.0, 2.0]], dtype=object), "holds dates"),
    "a frame of Dask": (dask.dataframe.from_pandas(pd.DataFrame(np.zeros((2, 3)), columns=["a", "b", "c"]), npartitions=1), "not computed yet"),
    "beyond float64": ([{"a": 10**400, "b": 2, "c": 3}], "cannot be read as numbers"),
    "an index": (pd.Index(["x", "y", "z"]), "cannot be read as numbers"),
}


@pytest.mark.parametrize("name", DICTS)
@pytest.mark.parametrize("library", ["xgboost", "forest"])
def test_what_cannot_be_read_in_one_way_is_refused(library, name):
    table, words = DICTS[name]
    for model in small(library)[2]:
        with pytest.raises(secateur.InputError, match=words):
            model.predict(table)


def test_a_dict_of_series_is_read_as_its_values():
    X, fitted, ours = small("forest")
    nullable = X.round().astype("Int64")
    expected = fitted.predict(X.round())
    for model in ours:
        for give in (
            {name: nullable[name] for name in nullable},
            {name: polars.from_pandas(nullable)[name] for name in nullable},
            {name: pyarrow.array(nullable[name]) for name in nullable},
            {name: pyarrow.chunked_array([nullable[name].astype(int)]) for name in nullable},
        ):
            assert np.array_equal(model.predict(give), expected)
        records = X.round().astype(object).assign(a=pd.NA).to_dict("records")
        assert np.array_equal(model.predict(records), fitted.predict(X.round().assign(a=np.nan)))
        missing = {**{name: nullable[name] for name in nullable}, "a": pd.Series([None] * len(X), dtype="Int64")}
        assert np.array_equal(model.predict(missing), fitted.predict(X.round().assign(a=np.nan)))


def test_a_domain_from_data_reads_tables_by_the_same_rule():
    rows = np.arange(12.0).reshape(4, 3)
    assert secateur.Domain.from_data(scipy.sparse.csr_matrix(rows)) == secateur.Domain.from_data(rows)
    spoiled = [np.ma.masked_array(rows, rows > 5), rows.astype(complex), rows.astype("datetime64[s]"), "text", [["one"]], memoryview(rows)]
    for table in spoiled:
        with pytest.raises(secateur.InputError):
            secateur.Domain.from_data(table)


TEXTS = {
    "pandas, categories": lambda: pd.Series(pd.Categorical(["x", "y", None, "x"])),
    "pandas, categories that are numbers": lambda: pd.Series(pd.Categorical([10, 20, 10, None])),
    "pandas, text": lambda: pd.Series(["x", "y", None, "x"], dtype=object),
    "pandas, strings": lambda: pd.Series(["x", "y", None, "x"], dtype="string"),
    "pandas, beside numbers": lambda: pd.Series([1, "y", None, 2.5], dtype=object),
    "polars, text": lambda: polars.Series(["x", "y", None, "x"]),
    "polars, categories": lambda: polars.Series(["x", "y", None, "x"], dtype=polars.Categorical),
    "pyarrow, dictionary": lambda: pyarrow.array(["x", "y", None, "x"]).dictionary_encode(),
    "numpy": lambda: np.array(["x", "y", "z", "x"]),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_domain_from_data_leaves_texts_out(kind):
    numbers = {"a": np.array([1.0, 2.0, 2.0, 5.0]), "b": np.array([0, 1, 1, 0])}
    table = {"a": numbers["a"], "colour": TEXTS[kind](), "b": numbers["b"]}
    library = kind.partition(",")[0]
    frames = {"pandas": pd.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}
    for given in [table, frames[library](table)] if library in frames else [table]:
        domain = secateur.Domain.from_data(given)
        assert domain == secateur.Domain.from_data(numbers)
        assert "colour holds text or categories and is left out" in domain.support[-1]
        with pytest.raises(secateur.OptionError, match="every column of X holds text or categories"):
            secateur.Domain.from_data({"colour": table["colour"]})


def test_threads_are_a_count():
    X, fitted, (_, packed) = small("lightgbm")
    assert np.array_equal(packed.predict(X, threads=3), fitted.predict(X))
    for threads in (-1, 2.5, "two", None):
        with pytest.raises(secateur.OptionError, match="threads"):
            packed.predict(X, threads=threads)
