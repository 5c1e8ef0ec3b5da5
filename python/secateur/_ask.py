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
class Case:
    """What is known of one row that `robust`, `explain` or `counterfactual` was asked about.

    `row` is its position among the rows given, from 0 on; `proved` is as in `Answer`, and `label` the class that the library
    decides on the row. `rows` are the row itself and, where one was found, the nearest row of another class.
    `at_least` and `at_most` are the bounds of the radius, in units: below the first the class is proved to stay, and the
    second row has changed by the other one (`exact`: they are one number, rounded down and up). `columns` are those that a reason keeps, each with the
    least and the greatest number that it may hold (None: there is no limit; a column that keeps its value has none of the two),
    and `fewest` says how many columns every reason has at least. `minimal` says that none of them can be left out.
    `distance` is how far the second of the rows is, for `counterfactual`, with None where no input is decided otherwise.
    `certificate` is the proof of this row, or where it was written.
    """

    row: int
    proved: bool | None
    label: Any
    rows: tuple[np.ndarray, ...]
    at_least: float | None
    at_most: float | None
    exact: bool | None
    columns: dict[str, tuple[float | None, float | None] | None] | None
    minimal: bool | None
    fewest: int | None
    distance: float | None
    reason: str | None
    certificate: bytes | str | None = field(default=None, repr=False)


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
    `columns` are those that the question is about, and for `idle` those that never change a decision.
    `cases` say what is known of each row that `robust`, `explain` or `counterfactual` was asked about.
    `bits` says of `monotone` that the library's own numbers are meant and not the exact sums.
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
    cases: tuple[Case, ...] = ()
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

    def robust(
        self,
        X: Any,
        within: Mapping[str | int, float] | None = None,
        *,
        units: Mapping[str | int, float] | None = None,
        share: float | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """Does each row keep its class where these columns change by at most so much and all else stays? `share` of the
        rows have to (all, unless given).

        With `units` instead of `within`: how many of its units may each of these columns change by, all at once?
        Missing values stay missing. A category changes to any other one from 1 on; columns that the domain ties together
        change as one. The rows may not be those of `secateur.ask`, and `certificate` is a file for one row; for several, the
        file of row 17 (counted from 1) has `-17` before its ending.
        """
        rule = {"kind": "robust", "within": within, "units": units, "share": share}
        return self._ask(rule, certificate, decides=True, rows=self._table(X))

    def explain(
        self,
        row: Any,
        *,
        smallest: bool = False,
        widen: bool = True,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """Which columns of this row are enough for its class, whatever the others hold? None of them can be left out;
        with `smallest`, a reason with the fewest columns is looked for.

        `widen` says how far the numbers of these columns may change; without it they stay as they are.
        """
        rule = {"kind": "explain", "smallest": _options.flag("smallest", smallest), "widen": _options.flag("widen", widen)}
        return self._ask(rule, certificate, decides=True, rows=self._row(row))

    def counterfactual(
        self,
        row: Any,
        *,
        to: Any = None,
        frozen: str | int | Sequence[str | int] = (),
        only_up: str | int | Sequence[str | int] = (),
        only_down: str | int | Sequence[str | int] = (),
        weights: Mapping[str | int, float] | None = None,
        count: bool = False,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Answer:
        """Which input nearest to this row is decided otherwise (as `to`)? Proved: none is nearer, or none exists.

        Columns that are `frozen` stay, those in `only_up` do not fall, those in `only_down` do not rise, and missing values
        stay missing. The distance adds up how far each column changes, times its weight: one over the range of its values
        in the rows given to `secateur.ask`, 1 without such rows and for a category. With `count`, the weights of the columns
        that change are added up, 1 each. Columns that the domain ties together change as one.
        """
        own = self._row(row)
        rows = own if self._rows is None else np.vstack([own, self._rows])
        rule = {
            "kind": "counterfactual",
            "row": 1,
            "to": to,
            "frozen": _names(frozen),
            "only_up": _names(only_up),
            "only_down": _names(only_down),
            "weights": weights,
            "count": _options.flag("count", count),
        }
        return self._ask(rule, certificate, decides=True, rows=rows)

    def _table(self, X: Any) -> np.ndarray:
        rows = self._subject.rows(X)
        if rows is None or len(rows) == 0:
            raise OptionError("the question is about rows, and none are given")
        return rows

    def _row(self, row: Any) -> np.ndarray:
        """One row, as a table of one row, a list of values, or a row of a data frame."""
        if hasattr(row, "to_frame"):
            row = row.to_frame().T.infer_objects()
        elif not hasattr(row, "columns") and not isinstance(row, Mapping) and np.ndim(row) == 1:
            row = np.asarray(row).reshape(1, -1)
        rows = self._table(row)
        if len(rows) != 1:
            raise OptionError(f"the question is about one row, and {len(rows)} are given")
        return rows

    def check(self, rules: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> list[Answer]:
        """The answers to the questions of a file of rules (TOML), or of a list of such rules. A file that names a domain
        is about that one. Rules about rows are about those of `secateur.ask`.
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
        kinds = ("keeps", "idle", "decides", "robust", "explain", "counterfactual")
        return [self._ask(dict(rule), None, given=given, decides=rule.get("kind") in kinds) for rule in rules]

    def _ask(
        self, rule: dict[str, Any], certificate: Any, given: Any = None, decides: bool = False, rows: Any = None
    ) -> Answer:
        subject = self._subject
        place = None if certificate is None else os.fsdecode(certificate)
        given = self._given if given is None else given
        said = {key: _plain(value) for key, value in rule.items() if value is not None and not _is_empty(value)}
        options = dict(self._options)
        threshold = options.pop("threshold")
        answer = _run(
            subject.model,
            json.dumps(said),
            self._rows if rows is None else rows,
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
        cases = tuple(
            _case(own, proof, arrays, place) for own, proof, arrays in zip(facts["cases"], answer["proofs"], answer["case_rows"])
        )
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
            cases=cases,
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


def _case(facts: dict[str, Any], proof: bytes | None, rows: list[np.ndarray], place: str | None) -> Case:
    radius, because = facts["radius"], facts["because"]
    written = facts["certificate"] if place is not None else None
    if written is not None and proof is not None and written != place:
        _files.write(written, proof)
    return Case(
        row=facts["row"],
        proved={"proved": True, "refuted": False, "open": None}[facts["outcome"]],
        label=facts["class"],
        rows=tuple(rows),
        at_least=None if radius is None else float(radius["at_least"]),
        at_most=None if radius is None or radius["at_most"] is None else float(radius["at_most"]),
        exact=None if radius is None else radius["exact"],
        columns=None if because is None else {name: _limits(own) for own in because["kept"] for name in own["columns"]},
        minimal=None if because is None else because["minimal"],
        fewest=None if because is None else because["at_least"],
        distance=None if facts["nearest"] is None else facts["nearest"]["distance"],
        reason=facts["reason"],
        certificate=proof if place is None else written,
    )


def _limits(kept: dict[str, Any]) -> tuple[float | None, float | None] | None:
    between = kept["between"]
    return None if between is None else (between[0], between[1])


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
