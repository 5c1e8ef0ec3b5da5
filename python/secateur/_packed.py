"""Packed models: the library's own bits, much faster, in a fraction of the bytes."""

from __future__ import annotations

import json
import os
import types
from typing import Any, Callable, overload

import numpy as np

from secateur import _domain, _files, _options, _progress, _rows
from secateur._model import holder, recognise
from secateur._secateur import InputError, Model, ModelError, Packed, SecateurError
from secateur._secateur import beside_source as _beside_source
from secateur._secateur import quantised_source as _quantised_source
from secateur._secateur import source as _source

MAGIC = b"SPK"


@overload
def pack(
    model: str | os.PathLike[str] | Model | PackedModel,
    leaves: str = ...,
    *,
    contributions: bool = ...,
    time_limit: float | str | None = ...,
    progress: bool | Callable[[dict[str, Any]], None] | None = ...,
) -> PackedModel: ...


@overload
def pack(
    model: Any,
    leaves: str = ...,
    *,
    contributions: bool = ...,
    time_limit: float | str | None = ...,
    progress: bool | Callable[[dict[str, Any]], None] | None = ...,
) -> Any: ...


def pack(
    model: Any,
    leaves: str = "exact",
    *,
    contributions: bool = False,
    time_limit: float | str | None = None,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
) -> Any:
    """Packs a model: the same raw scores in every bit, from a file of a fraction of the size, many times as fast.

    `model` is whatever `secateur.load` reads, and the result is a `PackedModel`. A pipeline gives a copy of it whose last step is packed;
    a `FixedThresholdClassifier` or `TunedThresholdClassifierCV` gives a copy that compares the packed model's probabilities with its
    threshold; a `GridSearchCV` and its like give the model that they found, packed. Before anything is returned, the independent checker has compared the packed
    model with the original node by node, and every instruction set of this machine has predicted rows that reach every leaf
    and threshold with the bits of the exact predictor. Its leaves are exact: `PackedModel.save("model.c", leaves=16)` writes source with smaller ones.

    `contributions=True` keeps in the file how much of the training data reached each node (four bytes a node), so that the saved file, too, gives
    `contributions`; for XGBoost and LightGBM.

    Large forests take seconds to be tested. After `time_limit` (seconds, or "10s", "2m", ...; none unless given) a `SecateurError` says that the
    test was not done. `progress=True` shows a bar (tqdm where it is installed, else lines on stderr); a function is called with a
    dictionary whose "share" is what is done, from 0 to 1. Ctrl-C raises `KeyboardInterrupt`.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> packed = secateur.pack(forest)
    >>> bool((packed.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    if leaves != "exact":
        raise InputError(f'a packed model has exact leaves, not {leaves!r}: for smaller ones write source, pack(model).save("model.c", leaves=16)')
    wanted = _options.flag("contributions", contributions)
    if isinstance(model, PackedModel):
        return model
    held = holder(model)
    if held is not None:
        inner, put = held
        return put(pack(inner, contributions=contributions, time_limit=time_limit, progress=progress))
    subject = recognise(model)
    limit = _options.time_limit(time_limit)
    with _progress.sharing(progress, "packing") as news:
        packed = Packed.pack(subject.model, contributions=wanted, time_limit=limit, progress=news)
        return PackedModel(packed, subject.model)


def read(data: bytes) -> PackedModel:
    """A packed model from the bytes of its file."""
    return PackedModel(Packed.parse(data))


class _Method:
    """A method of some models: for the others `refusal` says why not, and `hasattr` says no. scikit-learn's `available_if` does the same,
    but need not be installed."""

    def __init__(self, refusal: Callable[[PackedModel], str | None], function: Callable[..., np.ndarray]) -> None:
        self.refusal = refusal
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, model: PackedModel | None, kind: type) -> Any:
        if model is None:
            return self.function
        reason = self.refusal(model)
        if reason is not None:
            raise AttributeError(f"{model._packed.source}: {reason}")
        return types.MethodType(self.function, model)


def _where(refusal: Callable[[PackedModel], str | None]) -> Callable[[Callable[..., np.ndarray]], Any]:
    """Makes a `_Method` of what is defined below it."""
    return lambda function: _Method(refusal, function)


def _no_probabilities(model: PackedModel) -> str | None:
    if not (model._packed.is_classifier or model._packed.gives_several_labels):
        return "a regressor or ranker has no probabilities"
    return None if model._packed.has_probabilities else "how its scores become probabilities is not known here"


def _no_decision_function(model: PackedModel) -> str | None:
    has_one = model._packed.framework == "lightgbm" or model._packed.framework == "scikit-learn" and "Boost" in model._packed.source
    return None if has_one and model._packed.is_classifier else "its library has no decision_function; raw_scores(X) gives the scores"


class PackedModel:
    """A packed model. `pack` makes one of a model, `load` reads one from a `.spk` file.

    It is a fitted estimator for scikit-learn, with `predict_proba` and `decision_function` where the library's own estimator has them, so that
    pipelines, calibration and inspection take it. `fit` refuses: for what fits its estimators wrap it as `FrozenEstimator(packed)`. Rows are a NumPy array of float32 or float64 in
    either order (without a copy), anything that NumPy makes an array of, a pandas or polars frame (columns are matched by
    name where the model has names), or a SciPy matrix. Missing values are NaN. CatBoost's categories are the texts and
    whole numbers that it was trained with; in an array of floats, their positions in the model's list.
    """

    def __init__(self, packed: Packed, original: Model | None = None) -> None:
        self._packed = packed
        # What was packed, where it was packed here: source is made of it, so that its certificate is about it.
        self._original = original
        self._with_covers: Packed | None = None
        self._reader = _rows.Reader.of_packed(packed)

    def raw_scores(self, X: Any, *, threads: int = 1, path: str | None = None) -> np.ndarray:
        """The library's raw scores, a column for each output, in the type of the library's sums, with its very bits.

        `threads` share the rows; the bits do not depend on their number. `path` forces an instruction set: `avx512`,
        `avx2`, `sse42`, `neon`, `portable` or `scalar`.
        """
        scores = self._packed.raw_scores(self._rows(X), _options.count("threads", threads, 0), path)
        return scores.astype(np.float32) if self._packed.narrow_scores else scores

    @_where(_no_decision_function)
    def decision_function(self, X: Any, *, threads: int = 1) -> np.ndarray:
        """The raw scores, of one output as a vector, for LightGBM's and scikit-learn's boosted classifiers, which have this method. For every model
        `raw_scores` gives them."""
        scores = self.raw_scores(X, threads=threads)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any, *, threads: int = 1) -> np.ndarray:
        """The class label of each row, by the library's own rule; of a regressor or ranker what its own `predict` gives, a
        column for each output where there are several. Where a row may get several labels, a column for each: 1 where the row gets it, else 0.

        A regressor's values have the library's bits unless they end in an exponential function (Poisson, gamma, ...), whose last
        bits depend on the machine, in the library as here."""
        if not self._packed.is_classifier:
            values = self._packed.values(self._rows(X), _options.count("threads", threads, 0), None)
            if self._packed.gives_several_labels:
                return values.astype(np.int64)
            values = values.astype(np.float32) if self._packed.narrow_values else values
            return values[:, 0] if values.shape[1] == 1 else values
        return self.classes_.take(self._packed.class_indices(self._rows(X), _options.count("threads", threads, 0), None))

    @_where(_no_probabilities)
    def predict_proba(self, X: Any, *, threads: int = 1) -> np.ndarray:
        """The probability of each class of a classifier; of each label, where a row may get several. Averages (forests) have the library's bits; where an exponential function makes
        the probabilities, they are the library's up to the last bits, which depend on the machine."""
        found = self._packed.probabilities(self._rows(X), _options.count("threads", threads, 0), None)
        return found.astype(np.float32) if self._packed.narrow_probabilities else found

    def contributions(self, X: Any) -> np.ndarray:
        """What each column contributes to each row's raw score: the SHAP values of path-dependent TreeSHAP, as the library's own `pred_contribs`
        (XGBoost) and `pred_contrib` (LightGBM) give them, up to rounding. A column for each feature and, last, the expected score; with several outputs an array of
        rows, outputs and columns.

        A row's contributions, the last one included, add up to its raw score within `contributions_error`. The model says how much of the training data reached each node:
        XGBoost's and LightGBM's files do. A saved file has that only where it was packed with `contributions=True`.

        >>> from lightgbm import LGBMClassifier
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> packed = secateur.pack(LGBMClassifier(n_estimators=10, verbose=-1).fit(X, y))
        >>> found = packed.contributions(X)
        >>> found.shape
        (569, 31)
        >>> bool((abs(found.sum(axis=1) - packed.raw_scores(X)[:, 0]) <= packed.contributions_error).all())
        True
        """
        found = self._covered().contributions(self._rows(X))
        return found[:, 0] if found.shape[1] == 1 else found

    @property
    def contributions_error(self) -> float:
        """A bound on the distance of a row's raw score from the sum of its contributions, for every row: computed from the model's leaves, with the rounding of both
        sums."""
        return max(self._covered().contributions_error)

    def _covered(self) -> Packed:
        """The packed model with covers."""
        if self._packed.has_covers or self._original is None:
            return self._packed
        if self._with_covers is None:
            self._with_covers = self._packed.covered(self._original)
        return self._with_covers

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are predicted as `y` says (in all labels, where there may be several); of a regressor the coefficient of determination."""
        if self._packed.gives_several_labels:
            return float(np.average((self.predict(X) == np.asarray(y)).all(axis=1), weights=sample_weight))
        if not self._packed.is_classifier:
            from sklearn.metrics import r2_score

            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def fit(self, X: Any, y: Any = None, **parameters: Any) -> PackedModel:
        """Refuses, since the model is fitted. For what fits its estimators before it uses them, wrap it as `FrozenEstimator(packed)`."""
        raise ModelError(
            "a packed model is fitted already and cannot be trained again. For cross_val_score, CalibratedClassifierCV, VotingClassifier "
            "and others that call fit, give sklearn.frozen.FrozenEstimator(packed); to train on new rows, fit the original and pack it again"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, of which there are none: everything was chosen before the model was packed."""
        return {}

    def set_params(self, **parameters: Any) -> PackedModel:
        """Takes no parameters, as `get_params` has none."""
        if parameters:
            raise ModelError(f"a packed model has no parameters, so {next(iter(parameters))!r} cannot be set; fit the original and pack it again")
        return self

    def self_test(self) -> dict[str, bool]:
        """For each instruction set of this machine: does it give the scores that are in the file, on rows that reach every
        leaf and threshold?"""
        return dict(self._packed.self_test())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        test: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        keys: bool = False,
        layout: str = "compact",
        probabilities: bool = False,
        leaves: int | str | None = None,
        same_decisions: bool = False,
        missing: bool = True,
        domain: Any = None,
        time_limit: float | str | None = 60.0,
        threads: int | None = None,
    ) -> dict[str, Any] | None:
        """Writes the model, each file whole or not at all. The ending of `path` says what: `.spk` the packed file; `.c` C99 source, and
        its declarations in the `.h` beside it; `.h` one header that has everything; `.rs` a Rust module that needs `core` alone; `.wasm` a WebAssembly module, with a JavaScript
        wrapper in the `.js` and a page that predicts in the `.html` beside it.

        Source is for machines without any library: `NAME_raw(row, scores)` gives the raw scores with the library's own bits, `NAME_class(row)`
        the position of the class in `classes_`; in Rust `raw(&row)` and `class(&row)`, in JavaScript `(await load()).raw(row)` and `.predict(row)`. `name` is what the names in C start with (that of the file unless given), `test` the
        path of a program that tests the source on the machine that it runs on. `certificate` is where the certificate goes, for `secateur-check` and
        `secateur.check`: of source, that it is the model that was given to `pack`; of a model that was loaded from a file, that file.

        `keys=True` makes C and Rust compare values with thresholds as whole numbers, which is faster where floats are computed in software; the bits are the same.

        `layout="small"` makes C and Rust lay trees out in as few bits as their numbers need: fewer bytes, and more instructions, than the standard `"compact"`.
        `layout="fast"` lays them out for speed: on a microcontroller XGBoost's models take 0.6 to 0.65 of the instructions for 7 to 17 % more bytes. It compares values as `keys` does.
        `probabilities=True` adds `NAME_probabilities(row, probabilities)`, in Rust `probabilities(&row, exp)`, with the library's own expression; the last bits are
        those of the target's exponential function. The wrapper of WebAssembly has `probabilities(row)` in any case.

        `leaves=16` or `leaves=8` makes the leaves of source whole numbers of so many bits: `NAME_raw(row, sums)` gives sums of 32 bits, and a score is its sum
        times `NAME_UNIT`. Scores then are near to the library's, and how near is proved: the returned dict, as `secateur pack --json` prints it, has the bound
        as `within`, and in `leaves` an input that shows how far apart scores are at least (`at_least`, `input`). The search makes the bound smaller for at most `time_limit`
        (`None` for no limit), for inputs of the `domain`, by `threads` (all cores unless given). `same_decisions=True` asks for a proof that no decision changes; where
        an input shows that one does, or the time is too short, a `SecateurError` says so and nothing is written. Without `leaves` the bits are the library's, and
        `None` is returned.
        """
        path = os.fspath(path)
        stem, ending = os.path.splitext(path)
        ending = ending[1:].lower()
        if name is not None and ending in ("rs", "wasm"):
            raise InputError("name is for C: in Rust and WebAssembly the functions are raw and class of a module, which has the file's name")
        keys = _options.flag("keys", keys)
        if keys and ending == "wasm":
            raise InputError("keys is for C and Rust on machines that compute floats in software; every WebAssembly engine compares floats")
        layout = _options.choice("layout", layout, ("compact", "small", "fast"))
        if layout != "compact" and ending == "wasm":
            raise InputError("layout is for C and Rust: a WebAssembly module has one layout")
        probabilities = _options.flag("probabilities", probabilities)
        bits = None if leaves in (None, "exact") else _leaf_bits(leaves)
        if bits is None and (same_decisions or domain is not None or not missing):
            raise InputError("same_decisions, missing and domain go with leaves=16 or leaves=8: without these the bits are the library's")
        if ending not in ("c", "h", "rs", "wasm"):
            if bits is not None:
                raise InputError("leaves is for source: give a path that ends with .c, .h, .rs or .wasm")
            if keys or layout != "compact" or probabilities:
                raise InputError("keys, layout and probabilities are for source: give a path that ends with .c, .h or .rs")
            if name is not None or test is not None:
                raise InputError("name and test are for source: give a path that ends with .c, .h, .rs or .wasm")
            if certificate is not None and self.certificate is None:
                raise InputError("a model that was loaded from a file has no certificate of its packing")
            _files.write(path, self.to_bytes())
            if certificate is not None:
                _files.write(os.fspath(certificate), self.certificate or b"")
            return None
        file = os.path.basename(path)
        for other, what, start in _beside_source(file):
            _own(f"{stem}.{other}", what, start)
        model = self._model() if self._original is None else self._original
        facts: dict[str, Any] | None = None
        if bits is None:
            source, beside, proof, program = _source(model, file, name, keys, layout, probabilities, test is not None)
        else:
            made, printed, words = _quantised_source(
                model,
                file,
                name,
                keys,
                layout,
                probabilities,
                test is not None,
                bits,
                _options.flag("same_decisions", same_decisions),
                _options.time_limit(time_limit),
                _options.flag("missing", missing),
                _domain.as_given(domain, missing),
                _options.threads(threads),
            )
            source, beside, proof, program = made
            facts = json.loads(printed)
            if same_decisions and facts["outcome"] != "same_decisions":
                raise SecateurError(f"nothing was written, since decisions are not proved to be the same\n{words}")
            facts["certificate"] = None if certificate is None else os.fspath(certificate)
        _files.write(path, source)
        for other, text in beside:
            _files.write(f"{stem}.{other}", text.encode())
        if test is not None and program is not None:
            _files.write(os.fspath(test), program.encode())
        if certificate is not None:
            _files.write(os.fspath(certificate), proof)
        return facts

    def to_bytes(self) -> bytes:
        """The bytes of the `.spk` file."""
        return self._packed.to_bytes()

    @property
    def certificate(self) -> bytes | None:
        """The certificate that the packed model is the original, for `secateur.check` and `secateur-check`; `None` for a
        model that was loaded from a file."""
        return self._packed.certificate

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return len(self._packed.to_bytes())

    @property
    def classes_(self) -> np.ndarray:
        """The class labels. A regressor or ranker has none. Where a row may get several labels, the position of each."""
        if self._packed.gives_several_labels:
            return np.arange(self._packed.outputs)
        if not self._packed.is_classifier:
            raise AttributeError("a regressor or ranker has no classes")
        return np.asarray(self._packed.classes)

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return self._packed.feature_count

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns, where the model has names."""
        names = self._packed.feature_names
        if names is None:
            raise AttributeError("this model has no feature names")
        return np.asarray(names, dtype=object)

    @property
    def tree_count(self) -> int:
        """The number of trees."""
        return self._packed.tree_count

    def _rows(self, X: Any) -> Any:
        return _rows.to_pack(X, self._reader)

    def _model(self) -> Model:
        return Model.parse(self.to_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.to_bytes(), self.certificate)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> PackedModel:
        # A clone is an estimator that is not fitted, and there is no such packed model.
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        several = self._packed.gives_several_labels
        classifier = self._packed.is_classifier or several
        return Tags(
            estimator_type="classifier" if classifier else "regressor",
            target_tags=TargetTags(required=True, multi_output=several),
            classifier_tags=ClassifierTags(multi_label=several) if classifier else None,
            regressor_tags=None if classifier else RegressorTags(),
            input_tags=InputTags(allow_nan=True, sparse=True),
        )

    def __repr__(self) -> str:
        return f"<secateur.PackedModel of {self._packed.source}: {self.tree_count} trees, {self.nbytes} bytes>"


def _own(path: str, what: str, start: str) -> None:
    """Refuses to replace a file that is not one of ours: nobody named it."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            if not file.read().startswith(start.encode()):
                raise InputError(
                    f"{path}: {what} of the packed model would go there, and this file is something else; give the model "
                    "another name, or remove it"
                )


def _unpickled(data: bytes, certificate: bytes | None) -> PackedModel:
    return PackedModel(Packed.parse(data, certificate))


def _leaf_bits(leaves: Any) -> int:
    if isinstance(leaves, bool) or leaves not in (8, 16):
        raise InputError(f"leaves must be 16 or 8, or 'exact', not {leaves!r}")
    return int(leaves)
