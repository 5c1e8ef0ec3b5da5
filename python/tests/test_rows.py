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

@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda X: X.assign(**{"mean radius": "wide"}), "'mean radius' holds a value that is neither a number"),
        (lambda X: X.drop(columns="mean radius"), "columns, the model has 30"),
        (lambda X: X.to_numpy()[0], "two dimensions"),
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
