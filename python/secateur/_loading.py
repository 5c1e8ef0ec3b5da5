"""`load`: whatever a user has, ready to predict."""

from __future__ import annotations

import os
from typing import Any

from secateur import _packed
from secateur._model import recognise
from secateur._packed import PackedModel
from secateur._secateur import Model, ModelError


def load(model: Any) -> Model | PackedModel:
    """Reads a model: the path of a file, an XGBoost, LightGBM or CatBoost model, a scikit-learn classifier, or a
    scikit-learn pipeline that ends in one of them (its last step is read). A packed file (`.spk`) gives a `PackedModel`,
    everything else a `Model`.

    Libraries are never imported here: an object of theirs brings its own. `Model.predict` returns what the object's
    `predict` returns, with its labels. A setting of the object that would make it decide otherwise than by its trees is
    refused with a `ModelError` that names it.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model = secateur.load(forest)
    >>> model.tree_count
    10
    >>> bool((model.predict(X) == forest.predict(X)).all())
    True
    """
    if isinstance(model, PackedModel):
        return model
    if isinstance(model, (str, os.PathLike)) and os.path.isfile(model):
        with open(model, "rb") as file:
            if file.read(len(_packed.MAGIC)) == _packed.MAGIC:
                try:
                    return _packed.read(_packed.MAGIC + file.read())
                except ModelError as error:
                    raise ModelError(f"{os.fspath(model)}: {error}") from None
    return recognise(model).model
