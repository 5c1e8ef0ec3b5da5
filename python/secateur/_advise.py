"""`advise`: what packing, pruning and smaller claims would give for a model, measured."""

from __future__ import annotations

import html as _html
import json
import os
import time
import warnings
from typing import Any, Callable

from secateur import _options
from secateur._errors import OptionError
from secateur._model import Subject, recognise
from secateur._packed import PackedModel
from secateur._secateur import Advice as _Advice
from secateur._secateur import Model, Packed
from secateur._secateur import advise as _advise

# How long the library's own prediction of one row is measured, and how often at most.
_SECONDS = 0.3
_CALLS = 30


class Advice:
    """What packing and pruning would give for a model: `print` shows it, `to_dict` has the keys of `secateur advise --json`."""

    def __init__(self, advice: _Advice, library: dict[str, float] | None) -> None:
        self._facts = json.loads(advice.json())
        self.library = library
        """The seconds that `predict` takes for one row of `X`: "own" with the model itself, "packed" with the packed model. `None` where
        there is no object that predicts, or no row."""
        words = None
        if library is not None:
            own, packed = library["own"], library["packed"]
            words = (
                f"predict of one row from Python: {own * 1e6:,.0f} µs with the model's own library, {packed * 1e6:,.1f} µs packed "
                "(on this machine, as busy as it is now)"
            )
        self._words = advice.words(words)

    @property
    def door(self) -> str:
        """The command that helps most: "pack", "prune", "prune_less" (with one of the smaller claims) or "neither"."""
        return self._facts["advice"]

    @property
    def pack(self) -> dict[str, Any] | None:
        """The packed model's "bytes" and the seconds for one row alone ("row_seconds") and among many ("batch_row_seconds"); `None` where the
        model cannot be packed."""
        return self._facts["pack"]

    @property
    def trials(self) -> list[dict[str, Any]]:
        """The trials of `prune`: what each requires ("way", "option"), and the "trees" that are left."""
        return self._facts["trials"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `secateur advise --json` prints it, and "library"."""
        return json.loads(json.dumps(self._facts | {"library": self.library}))

    def __repr__(self) -> str:
        return f"<Advice: {self.door}>"

    def __str__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return f"<pre>{_html.escape(self._words)}</pre>"


def advise(model: Any, X: Any = None, *, time_limit: float | str = 10.0) -> Advice:
    """What helps this model, measured: packing it, pruning it, or pruning it with a smaller claim, each with the call to copy.

    `model` is whatever `prune` and `pack` take. `X` may hold rows of its inputs: then a domain that they suggest is tried, and
    `predict` of one row is measured with the model's own library and packed. Pruning is tried in short trials, which share `time_limit`: a longer
    run of `prune` may find less. Whether a smaller claim suffices is for you to say.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, [0, 1, 7]].round()       # columns with few values: here trees can go
    >>> fitted = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> advice = secateur.advise(fitted, X)
    >>> advice.door
    'prune'
    >>> print(advice)                     # doctest: +ELLIPSIS
      model ...
      pack ...
    """
    limit = _options.time_limit(time_limit)
    if limit is None:
        raise OptionError("advise needs a time_limit")
    subject = recognise(model)
    advice = _advise(subject.model, subject.rows(X), time_limit=limit, path=subject.path)
    return Advice(advice, _library(model, subject, X, advice.packed))


def offers(model: Any, X: Any = None, *, time_limit: float | str = 10.0) -> list[dict[str, Any]]:
    """The trials of `advise` that leave fewer trees because they ask for a smaller claim, and packing, as a list.

    Each entry has the "option" to give to `prune` (or `pack(model)`), the "trees" that are left with it as far as a
    short trial went, the "bytes" of the packed file, and the score of a "band". `time_limit` is for all trials together.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, y)
    >>> [offer["option"] for offer in secateur.offers(forest, X)][-1]
    'pack(model)'
    """
    if _options.time_limit(time_limit) is None:
        raise OptionError("offers needs a time_limit")
    facts = advise(model, X, time_limit=time_limit).to_dict()
    smaller = [
        {key: trial[key] for key in ("option", "way", "trees", "band")} | {"bytes": None}
        for trial in facts["trials"]
        if trial["way"] in ("no_missing", "like_the_rows", "band") and (trial["trees"] or facts["trees"]) < facts["trees"]
    ]
    if facts["pack"] is not None:
        packed = {"option": "pack(model)", "way": "pack", "trees": facts["trees"], "band": None}
        smaller.append(packed | {"bytes": facts["pack"]["bytes"]})
    return smaller


def _library(model: Any, subject: Subject, X: Any, packed: bytes | None) -> dict[str, float] | None:
    """What one row costs with the object's own `predict` and packed, where both take the first row of `X`."""
    if isinstance(model, (str, os.PathLike, Model, PackedModel)) or subject.before is not None or X is None or packed is None:
        return None
    try:
        row = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"own": _least(model.predict, row), "packed": _least(PackedModel(Packed.parse(packed)).predict, row)}
    except Exception:
        # A booster takes other tables, and not every table has a first row: then there is nothing to tell.
        return None


def _least(predict: Callable[[Any], Any], row: Any) -> float:
    """The least time of several calls."""
    started = time.perf_counter()
    times: list[float] = []
    while len(times) < 2 or len(times) < _CALLS and time.perf_counter() - started < _SECONDS:
        before = time.perf_counter()
        predict(row)
        times.append(time.perf_counter() - before)
    return max(min(times), 1e-9)
