"""`Model.predict` takes rows as people have them, and says what is wrong with those that it cannot take."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer

import secateur


class Stream:
    """What hands out Arrow data and has nothing else, as results of DuckDB."""

    def __init__(self, frame: polars.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(schema)


@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y)


def test_tables_of_every_kind(fitted):
    X, library = fitted
    model, expected = secateur.load(library), library.predict(X)
    narrow = X.to_numpy(dtype=np.float32)
    whole = X.round().astype(int)
    for rows, classes in [
        (X, expected),
        (X[X.columns[::-1]], expected),
        (polars.from_pandas(X), expected),
        (polars.from_pandas(X).lazy(), expected),
        (polars.from_pandas(X[X.columns[::-1]]).lazy(), expected),
        (Stream(polars.from_pandas(X[X.columns[::-1]])), expected),
        ({name: X[name].tolist() for name in X.columns[::-1]}, expected),
        (X.assign(other="word").to_dict("records"), expected),
        (X.to_numpy(), expected),
        (np.asfortranarray(X), expected),
        (X.to_numpy().tolist(), expected),
        (scipy.sparse.csr_matrix(X), expected),
        (narrow, library.predict(pd.DataFrame(narrow, columns=X.columns))),
        (whole, library.predict(whole)),
        (whole.to_numpy(), library.predict(whole)),
    ]:
        assert (model.predict(rows) == classes).all(), type(rows)
    assert model.raw_scores(X).shape == (len(X), 1)


def test_one_row_of_every_kind(fitted):
    X, library = fitted
    for at in (0, 20):
        row = X.iloc[at]
        for model in (secateur.load(library), secateur.pack(library)):
            for given in (row, row[::-1], row.to_dict(), [row.to_dict()], row.to_numpy(), row.tolist(), row.to_numpy(np.float64), X.iloc[[at]]):
                assert model.predict(given).tolist() == library.predict(X.iloc[[at]]).tolist()
    # The search takes such rows too.
    assert secateur.prune(library, X.iloc[0].to_dict(), time_limit=0.2).trees_before == 5


def test_a_lazy_frame_computes_the_columns_of_the_model_alone(fitted):
    X, library = fitted

    def fail(values):
        raise AssertionError("this column is not needed")

    lazy = polars.from_pandas(X).lazy().with_columns(other=polars.col("mean radius").map_batches(fail, return_dtype=polars.Float64))
    booster = secateur.pack(library)
    names = {name: name.replace(" ", "_") for name in X.columns}
    assert (booster.predict(lazy.rename(names)) == library.predict(X)).all()


def test_a_frame_of_plain_numbers_is_read_as_the_long_way_reads_it(fitted):
    """Single rows of frames take a short way, and every type of column that it takes gives what the library reads."""
    X, library = fitted
    packed = secateur.pack(library)
    hurt = X.copy()
    hurt.iloc[0, 0], hurt.iloc[1, 1], hurt.iloc[2, 2], hurt.iloc[3, 3] = np.nan, np.inf, -0.0, 2.0**53
    mixed = hurt.round().fillna(0).replace(np.inf, 1e6).astype({name: kind for name, kind in zip(X.columns, ["int64", "uint8", "int32", "uint64", "float32"])})
    mixed["extra"] = 1
    for frame in (hurt, hurt.astype(np.float32), mixed, mixed[mixed.columns[::-1]]):
        for rows in (frame, frame.iloc[[3]], frame.iloc[:0]):
            expected = library.predict(rows[X.columns], raw_score=True) if len(rows) else np.empty(0)
            assert packed.raw_scores(rows)[:, 0].tolist() == expected.tolist()
    records = mixed.to_dict("records")
    records[5] = {**records[5], "mean radius": None, "mean texture": 2**53 + 1, "mean area": True, "worst area": np.float32(0.1)}
    rows = pd.DataFrame(records)[X.columns].astype(float)
    for given in (records, records[5], records[6], {name: rows[name].tolist() for name in rows}):
        expected = library.predict(rows.loc[[records.index(given)]] if given in records else rows, raw_score=True)
        assert packed.raw_scores(given)[:, 0].tolist() == expected.tolist()
    # The order of the last frame is remembered, and another frame has its own.
    for columns in (X.columns, X.columns[::-1], X.columns[::-1], X.columns):
        assert packed.predict(X[columns]).tolist() == library.predict(X).tolist()
    with pytest.raises(secateur.InputError, match="two columns of one name"):
        packed.predict(X.set_axis(["mean radius"] * 30, axis=1))

@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda X: X.assign(**{"mean radius": "wide"}), "'mean radius' holds a value that is neither a number"),
        (lambda X: X.drop(columns="mean radius"), "columns, the model has 30"),
        (lambda X: X.to_numpy()[0, :4], r"4 columns, the model has 30"),
        (lambda X: X.to_numpy()[None], "two dimensions"),
        (lambda X: X.iloc[0].drop("mean radius"), "no column 'mean_radius'"),
        (lambda X: {**X.iloc[0], "mean radius": "wide"}, "neither a number"),
        (lambda X: [X.iloc[0].to_dict(), X.iloc[1].drop("mean area").to_dict()], "record 1 of X has no 'mean area'.*None"),
        (lambda X: Stream(polars.from_pandas(X).drop("mean area")), "no column 'mean_area'"),
        (lambda X: [["wide"] * 30], "cannot be read as numbers"),
        (lambda X: None, "two dimensions"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(fitted, spoil, words):
    X, library = fitted
    with pytest.raises(secateur.InputError, match=words):
        secateur.load(library).predict(spoil(X))


def test_a_file_that_is_not_there_is_named():
    for call in (secateur.load, secateur.prune, secateur.inspect, secateur.pack):
        with pytest.raises(FileNotFoundError, match="nowhere.json"):
            call("nowhere.json")
