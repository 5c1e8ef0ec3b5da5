"""`Domain`: which inputs can occur."""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from secateur import _preprocessing, _rows
from secateur._errors import OptionError
from secateur._secateur import (
    Model,
    SecateurError,
    domain_from_toml,
    domain_to_toml,
    domain_words,
    propose_domain,
)


class Domain:
    """Which inputs can occur: a set of rows that its user vouches for. Claims are then about these inputs and no others.

    - `missing`: False says that no column is ever missing; a column can say otherwise.
    - `columns`: limits by the name of a column (or its number): "min", "max", "whole" (whole numbers only), "f32" (values
      that a float32 can hold), "values" (a list), "missing".
    - `groups`: columns that go together. `{"kind": "one-hot", "columns": [...]}`: exactly one of them is 1, the others 0
      (with `"none": True` they may all be 0); `{"kind": "ordered", "columns": [...]}`: 0/1 columns, each implies the
      next; `{"kind": "table", "columns": [...], "rows": [...]}`: these rows and no others, `None` for a missing value.
    - `where`: inputs on which another model's raw score is at least (or at most) so much: `{"model": model, "at_least": 0.5}`,
      `"at_most"`, and `"output"` where it has several scores. `model` is whatever `secateur.load` reads.

    What contradicts itself is refused here, and what does not fit a model where it is used, each with its place.

    >>> colours = ["colour_red", "colour_green", "colour_blue"]
    >>> domain = secateur.Domain(
    ...     columns={"age": {"min": 18, "max": 120, "whole": True}},
    ...     groups=[{"kind": "one-hot", "columns": colours}],
    ... )
    >>> print(domain)
    age: from 18 to 120, whole
    exactly one of colour_red, colour_green, colour_blue is 1, the others 0
    """

    support: tuple[str, ...] = ()
    """What was seen in the data, for a domain `from_data`."""

    def __init__(
        self,
        *,
        missing: bool = True,
        columns: Mapping[Any, Mapping[str, Any]] | None = None,
        groups: Iterable[Mapping[str, Any]] = (),
        where: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        if not isinstance(missing, bool):
            raise OptionError(f"missing must be True or False, not {missing!r}")
        facts: dict[str, Any] = {} if missing else {"missing": False}
        facts["columns"] = {str(name): dict(limits) for name, limits in (columns or {}).items()}
        facts["groups"] = [dict(group) for group in groups]
        models: list[Model] = []
        facts["where"] = [_where(row, models) for row in where]
        self._models = tuple(models)
        self._text = json.dumps(_plain(facts), allow_nan=False)
        self._checked()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Domain:
        """The domain of a TOML file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            facts = json.loads(domain_from_toml(text))
            for row in facts["where"]:
                if "given" not in row:
                    row["model"] = os.path.join(os.path.dirname(os.fsdecode(path)), row["model"])
            return cls._of(json.dumps(facts))
        except ValueError as error:
            raise OptionError(f"{os.fsdecode(path)}: {error}") from None

    @classmethod
    def from_data(cls, X: Any) -> Domain:
        """A domain that rows suggest: ranges, whole numbers, few values, one-hot and ordered groups, missing values.

        Data only suggests: rows that come tomorrow may lie outside. Read it (`print`), mend it, and use it if you vouch for
        it; nothing applies it by itself. `domain.support` has a sentence for each part, with how many rows support it.
        `X` is a table: an array, or a DataFrame whose names are used. Columns of text or categories are left out, as only a
        model knows their values: all of these stay possible.
        """
        names, rows, texts = _rows.named(X)
        if texts and not names:
            raise OptionError("every column of X holds text or categories, of which a domain says nothing")
        rows = np.ascontiguousarray(rows)
        if rows.ndim != 2 or rows.shape[0] == 0:
            raise OptionError("X must be a table with at least one row")
        listed = names if names is not None else [str(at) for at in range(rows.shape[1])]
        text, support = propose_domain(listed, names is not None, rows)
        domain = cls._of(text)
        domain.support = (*support, *(f"{name} holds text or categories and is left out: all of its values stay possible" for name in texts))
        return domain

    @classmethod
    def from_pipeline(cls, pipeline: Any) -> Domain:
        """What the steps of a fitted scikit-learn pipeline guarantee of the rows that its last step gets.

        Every input of the pipeline lands there, so `prune` uses it for pipelines unless told otherwise. OneHotEncoder,
        OrdinalEncoder, KBinsDiscretizer, SimpleImputer, MissingIndicator, MinMaxScaler with `clip`, ColumnTransformer,
        FeatureUnion and Pipeline are known, each in its own dtype; any other step guarantees nothing, and a subclass of
        these or a step with a replaced method is a `ModelError`. Sparse rows guarantee nothing to XGBoost, which reads what
        they do not hold as missing.
        """
        from secateur._model import recognise

        subject = recognise(pipeline)
        return of_steps(subject) or cls()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a TOML file that `read` and the command line read back. Models of `where` that were no files are written
        beside it."""
        facts = json.loads(self._text)
        place = os.path.abspath(os.fsdecode(path))
        for number, row in enumerate(facts.get("where", []), 1):
            if "given" not in row:
                row["model"] = os.path.relpath(row["model"], os.path.dirname(place))
                continue
            model = self._models[row.pop("given")]
            try:
                content = bytes(model.to_bytes())
            except SecateurError as error:
                raise OptionError(f"where[{number}]: {error}, and give its path") from None
            beside = f"{os.path.splitext(place)[0]}-where{number}.{model.extension}"
            with open(beside, "wb") as file:
                file.write(content)
            row["model"] = os.path.basename(beside)
        with open(path, "w", encoding="utf-8") as file:
            file.write(domain_to_toml(json.dumps(facts)))

    def to_dict(self) -> dict[str, Any]:
        """The arguments that make this domain."""
        return json.loads(self._text)

    def __str__(self) -> str:
        return "\n".join(domain_words(self._text)) or "every input"

    def __repr__(self) -> str:
        return f"<Domain: {'; '.join(domain_words(self._text)) or 'every input'}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        same = domain_to_toml(self._text) == domain_to_toml(other._text)
        return same and [model.digest for model in self._models] == [model.digest for model in other._models]

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _of(cls, text: str, models: Iterable[Model] = ()) -> Domain:
        facts = json.loads(text)
        # What says nothing is left out, as in a domain that is made from its arguments.
        if facts.get("missing") is True:
            del facts["missing"]
        domain = cls.__new__(cls)
        domain._text = json.dumps(facts)
        domain._models = tuple(models)
        domain._checked()
        return domain

    def _checked(self) -> None:
        try:
            domain_words(self._text)
        except ValueError as error:
            raise OptionError(f"domain: {error}") from None


Given = tuple[str, list[Model]]
"""A domain as the extension takes it: its text, and the models that a `where` names by position."""


def as_given(domain: Any, missing: bool = True) -> Given | None:
    """A domain as the extension takes it; a path is read."""
    if domain is None:
        return None
    if isinstance(domain, (str, os.PathLike)):
        domain = Domain.read(domain)
    if not isinstance(domain, Domain):
        raise OptionError(f"domain must be a secateur.Domain or the path of a domain file, not {domain!r}")
    if not missing:
        raise OptionError("missing=False is the short form of a domain: give Domain(missing=False, ...) alone")
    return domain._text, list(domain._models)


def of_steps(subject: Any) -> Domain | None:
    """What the steps before a pipeline's classifier guarantee; `None` for nothing."""
    if subject.before is None:
        return None
    # Without a width nothing is known of the inputs, and the steps are refused all the same where they must be.
    known = _preprocessing.guarantee(subject.before, int(getattr(subject.before, "n_features_in_", 0)))
    names = list(subject.model.feature_names)
    if len(set(names)) < len(names) or len(known.columns) != len(names):
        return None
    if subject.model.dialect.lower().startswith("xgboost") and known.sparse:
        return None
    # A frame's categories become codes of the model's own list, whatever label comes; one that is not in it is missing.
    # Of an array the boosting libraries take any number for a code, scikit-learn looks it up as a label.
    coded = _preprocessing.gives_frames(subject.before) or subject.model.dialect.lower().startswith("scikit-learn")
    hashed = set(subject.model.hashed_columns())
    for at, labels in subject.model.category_labels().items():
        column = known.columns[at]
        column.missing = True
        if coded and at not in hashed and column.group is None and not column.limits:
            column.limits["values"] = list(range(len(labels)))
    domain = Domain(**_preprocessing.arguments(known, names))
    return None if str(domain) == "every input" else domain


def of_facts(facts: dict[str, Any] | None, given: Given | None) -> Domain | None:
    """The domain that a result tells of, where this one was given: results do not hold the models of `where`."""
    if facts is None:
        return None
    told = {key: facts[key] for key in ("missing", "columns", "groups", "where")}
    if told["where"] and given is not None:
        told["where"] = json.loads(given[0])["where"]
        return Domain._of(json.dumps(told), given[1])
    return Domain._of(json.dumps(told))


def _where(row: Mapping[str, Any], models: list[Model]) -> dict[str, Any]:
    """One `where`; a model that is no path joins those that are given."""
    row = dict(row)
    model = row.get("model")
    if isinstance(model, os.PathLike):
        row["model"] = os.fspath(model)
    elif model is not None and not isinstance(model, str):
        from secateur._model import recognise

        row["model"], row["given"] = type(model).__name__, len(models)
        models.append(recognise(model).model)
    return row


def _plain(value: Any) -> Any:
    """Numbers, lists and dictionaries as JSON has them; a missing value is None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            raise OptionError("domain: infinite numbers are no limits; leave min or max out")
        return number
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    raise OptionError(f"domain: {value!r} is neither a number nor a text")
