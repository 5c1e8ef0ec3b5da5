"""`inspect`: what a model is."""

from __future__ import annotations

import html as _html
import json
import os
from typing import Any, Mapping, Iterator

from secateur._model import recognise


class Inspection(Mapping[str, Any]):
    """What a model is: the keys of `secateur inspect --json`, and as text what `secateur inspect -v` prints."""

    def __init__(self, facts: dict[str, Any], text: str) -> None:
        self._facts = facts
        self._text = text

    def __getitem__(self, key: str) -> Any:
        return self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def to_dict(self) -> dict[str, Any]:
        """The facts as a dictionary of its own."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Inspection: {self['dialect']}, {self['trees']} trees, {self['leaves']} leaves>"

    def _repr_html_(self) -> str:
        return f"<pre>{_html.escape(self._text)}</pre>"


def inspect(model: Any) -> Inspection:
    """What a model is: trees, leaves, splits, features, classes, accepted inputs, decision rule, rounding band.

    `model` is whatever `secateur.load` reads.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> facts = secateur.inspect(tree)
    >>> facts["leaves"], facts["classes"]["count"], facts["input"]["number"]
    (3, 3, 'f32')
    >>> print(facts)                      # doctest: +ELLIPSIS
    a model in memory
      format ...
    """
    subject = recognise(model)
    size = None if subject.path is None else os.stat(subject.path).st_size
    facts, text = subject.model.describe(subject.path, size)
    return Inspection(json.loads(facts), text)
