"""What can one model do? Questions with proved answers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur import _domain, _files, _options
from secateur._errors import OptionError
from secateur._model import Subject, one_threshold, recognise
from secateur._secateur import ask as _run
from secateur._secateur import rules_from_toml


@dataclass(frozen=True)
class Answer:
    """The answer to a question about one model, on every input of `domain` (every input that the library accepts, where
    that is None).

    `proved` is True, False (refuted: `rows` show it) or None (open: `reason` says why). `at_least` and `at_most` are the
    proved bounds of a range, a number for a model with one score and a list for one with several; for `moves` `at_most` is how
    far a score can move, proved, and `at_least` how far it moves between the two `rows`. `rows` are input rows: the lowest
    and the highest score of each output, two rows that differ in the columns that were asked about, or the row of
    another class; `scores` are what the library computes for each of them, and `classes` what it decides.
    `keeps_above` is a distance of the score from the threshold above which changing the columns changes no decision.
    `columns` are those that the question is about, and for `idle` those that never change a decision. `bits` says of `monotone` that the library's own numbers are meant and not the exact sums.
    `certificate` is the proof, which the independent checker accepted (`checked`), or where it was written. `str`
    gives what `secateur ask` prints, and `sentence` the answer alone.
    """

    question: str
    proved: bool | None
    sentence: str
    at_least: float | list[float] | None
    at_most: float | list[float] | None
    rows: tuple[np.ndarray, ...]
    scores: tuple[tuple[float, ...], ...]
    classes: tuple[Any, ...]
    keeps_above: float | None
    columns: tuple[str, ...]
    bits: bool | None
    reason: str | None
    ended: bool
    scope: str
    nodes: int
    seconds: float
    domain: _domain.Domain | None = None
    checked: bool = False
    certificate: bytes | str | None = field(default=None, repr=False)
    _words: str = field(default="", repr=False)
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything as `secateur ask --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._words.rstrip("\n")

    def __bool__(self) -> bool:
        if self.proved is None:
            raise TypeError(f"the question is open, so that this is neither true nor false: {self.sentence}")
        return self.proved


class Questions:
    """Questions about one model; `secateur.ask` makes it. Columns and classes are given by name, or by number."""

    def __init__(self, subject: Subject, given: Any, missing: bool, options: dict[str, Any], rows: Any) -> None:
        self._subject = subject
        self._given = given
        self._missing = missing
        self._options = options
        self._rows = rows

    def range(
        self, *, at_least: float | None = None, at_most: float | None = None, certificate: str | os.PathLike[str] | None = None
    ) -> Answer:
        """Between which numbers are the raw scores? With limits: are all of them within these?"""
        return self._ask({"kind": "range", "at_least": at_least, "at_most": at_most}, certificate)

    def moves(
        self,
        columns: str | int | Sequence[str | int],
        *,
        at_most: float | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """How far can changing these columns alone move a raw score? With `at_most`: no farther than that?

        Both rows are in the domain. Columns that its domain ties together, such as one-hot encoded ones, are named together.
        """
        return self._ask({"kind": "moves", "columns": _names(columns), "at_most": at_most}, certificate)

    def keeps(
        self, columns: str | int | Sequence[str | int], *, certificate: str | os.PathLike[str] | None = None
    ) -> Answer:
        """Can changing these columns alone change the decision? Proved: it cannot."""
        return self._ask({"kind": "keeps", "columns": _names(columns)}, certificate, decides=True)

    def idle(self, *, certificate: str | os.PathLike[str] | None = None) -> Answer:
        """Which columns never change a decision? The answer's `columns` are those, and its proof says it of all of them together:
        whatever they hold, the decision stays. `to_dict()["idle"]` has the two rows by which each other column changes one.
        """
        return self._ask({"kind": "idle"}, certificate, decides=True)

    def monotone(
        self,
        column: str | int,
        direction: str = "up",
        *,
        of: str | int | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """Does the raw score never fall when this column rises and all else stays? With `"down"`: never rise?

        `of` is the class, or the number of the output, whose score is meant, where there are several. Missing values of
        the column have no place in the order and are left out.
        """
        direction = _options.choice("direction", direction, ("up", "down"))
        return self._ask({"kind": "monotone", "column": column, "direction": direction, "of": of}, certificate)

    def decides(
        self,
        classes: Any = None,
        *,
        never: Any = None,
        when: Mapping[str, Mapping[str, Any]] | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """Are only these classes decided, or never those? `when` narrows the inputs, as the columns of a domain do:
        `{"late": {"values": [0]}, "income": {"min": 40000}}`.
        """
        rule = {"kind": "decides", "classes": _names(classes), "never": _names(never), "when": when}
        return self._ask(rule, certificate, decides=True)

    def check(self, rules: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> list[Answer]:
        """The answers to the questions of a file of rules (TOML), or of a list of such rules. A file that names a domain
        is about that one.
        """
        if isinstance(rules, (str, os.PathLike)):
            path = os.fsdecode(rules)
            with open(path, encoding="utf-8") as file:
                tables, domain = rules_from_toml(file.read())
            given = self._given
            if domain is not None:
                given = _domain.as_given(os.path.join(os.path.dirname(path), domain), True)
            rules = [json.loads(table) for table in tables]
        else:
            given = self._given
        kinds = ("keeps", "idle", "decides")
        return [self._ask(dict(rule), None, given=given, decides=rule.get("kind") in kinds) for rule in rules]

    def _ask(self, rule: dict[str, Any], certificate: Any, given: Any = None, decides: bool = False) -> Answer:
        subject = self._subject
        place = None if certificate is None else os.fsdecode(certificate)
        given = self._given if given is None else given
        said = {key: _plain(value) for key, value in rule.items() if value is not None and not _is_empty(value)}
        options = dict(self._options)
        threshold = options.pop("threshold")
        answer = _run(
            subject.model,
            json.dumps(said),
            self._rows,
            missing=self._missing,
            domain=given,
            certificate=place,
            threshold=threshold if decides else None,
            **options,
        )
        proof = answer["certificate"]
        if place is not None and proof is not None:
            _files.write(place, proof)
        facts = json.loads(answer["json"])
        bounds, moved = facts["scores"], facts["moved"]
        least: Any = [own["at_least"] for own in bounds] or None
        most: Any = [own["at_most"] for own in bounds] or None
        if len(bounds) == 1:
            least, most = least[0], most[0]
        if moved is not None:
            least, most = moved["at_least"], moved["at_most"]
        rows = facts["rows"]
        return Answer(
            question=facts["question"],
            proved={"proved": True, "refuted": False, "open": None}[facts["outcome"]],
            sentence=facts["sentence"],
            at_least=least,
            at_most=most,
            rows=tuple(answer["rows"]),
            scores=tuple(tuple(float(score) for score in row["scores"]) for row in rows),
            classes=tuple(row["class"] for row in rows) if subject.model.is_classifier else (),
            keeps_above=None if moved is None else moved["keeps_above"],
            columns=tuple(facts["columns"]),
            bits=facts["bits"],
            reason=facts["reason"],
            ended=facts["ended"],
            scope=facts["scope"],
            nodes=facts["nodes"],
            seconds=facts["seconds"],
            domain=_domain.of_facts(facts["domain"], given),
            checked=facts["checked"],
            certificate=facts["certificate"] if place is not None else proof,
            _words=answer["words"],
            _facts=facts,
        )


def ask(
    model: Any,
    X: Any = None,
    *,
    domain: Any = None,
    missing: bool = True,
    threshold: float | None = None,
    time_limit: float | str | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Questions:
    """Questions about what one model can do, with proved answers: between which numbers its scores are, what changing a
    column does, whether a score ever falls when a column rises, which classes it decides.

    `model` is whatever `secateur.load` reads: a live object, a pipeline, a path. Answers are about every input that its library accepts;
    `domain`, a `secateur.Domain` or the path of its file, says which inputs can occur, and `missing=False` leaves
    missing values out. Of a pipeline the last step is asked, and rows and columns are those that it gets. `X` may hold rows to start the search from. `threshold` is the
    probability of the second class that decides, instead of the library's own rule. `time_limit` is for each question, in seconds, or "30s", "10m".

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
    >>> questions = secateur.ask(model)
    >>> answer = questions.range()
    >>> answer.proved, bool(answer.at_least < answer.at_most)
    (True, True)
    >>> moves = questions.moves(7)
    >>> bool(moves.at_most >= moves.at_least > 0)
    True
    """
    subject = recognise(model, thresholds=True)
    options = {
        "threshold": one_threshold(_options.threshold(threshold), subject),
        "time_limit": _options.time_limit(time_limit),
        "threads": _options.threads(threads),
        "seed": _options.count("seed", seed, 0),
    }
    missing = _options.flag("missing", missing)
    return Questions(subject, _domain.as_given(domain, missing), missing, options, subject.rows(X))


def _names(given: Any) -> list[Any]:
    """One name or number, or several."""
    if given is None:
        return []
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        return [given]
    return list(given)


def _is_empty(value: Any) -> bool:
    return isinstance(value, list) and not value


def _plain(value: Any) -> Any:
    """What JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    raise OptionError(f"{value!r} is no name, number or table of limits")
