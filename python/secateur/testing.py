"""Rules about models as tests: each function asks one question of `secateur.ask` or `secateur.verify`, returns the proved answer, and
raises an `AssertionError` otherwise.

The message is what the command prints: the rows that refute the rule, with the scores that the library computes for them. A question that
is open when the time ends fails, too: a rule that is not proved is no rule that holds. `options` are those of `secateur.ask`, such as
`domain`, `missing`, `threshold` and `X`; `time_limit` is 60 seconds unless given.

>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.ensemble import GradientBoostingClassifier
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
>>> from secateur.testing import assert_keeps, assert_range
>>> assert_range(model, at_least=-10, at_most=10).proved
True
>>> assert_keeps(model, 7)
Traceback (most recent call last):
    ...
AssertionError: keeps: refuted
...
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import secateur
from secateur._ask import Answer, Questions
from secateur._verify import ScoreVerification, Verification

__all__ = [
    "assert_decides",
    "assert_identical",
    "assert_keeps",
    "assert_monotone",
    "assert_moves",
    "assert_range",
    "assert_rules",
    "assert_scores_within",
]

TIME_LIMIT = 60.0
_OPEN = "\nThis is open, and so the test fails: nothing refutes it, and it is not proved. Give more time (time_limit) or a narrower domain."


def assert_range(model: Any, *, at_least: float | None = None, at_most: float | None = None, **options: Any) -> Answer:
    """Every raw score is within these limits."""
    __tracebackhide__ = True
    if at_least is None and at_most is None:
        raise secateur.OptionError("give at_least, at_most or both: without a limit there is nothing to assert")
    return _proved(_questions(model, options).range(at_least=at_least, at_most=at_most))


def assert_moves(model: Any, columns: str | int | Sequence[str | int], *, at_most: float, **options: Any) -> Answer:
    """Changing these columns alone moves no raw score by more than `at_most`."""
    __tracebackhide__ = True
    return _proved(_questions(model, options).moves(columns, at_most=at_most))


def assert_keeps(model: Any, columns: str | int | Sequence[str | int], **options: Any) -> Answer:
    """Changing these columns alone changes no decision."""
    __tracebackhide__ = True
    return _proved(_questions(model, options).keeps(columns))


def assert_monotone(
    model: Any, column: str | int, direction: str = "up", *, of: str | int | None = None, **options: Any
) -> Answer:
    """The raw score never falls (`"down"`: never rises) when this column rises and all else stays."""
    __tracebackhide__ = True
    return _proved(_questions(model, options).monotone(column, direction, of=of))


def assert_decides(
    model: Any,
    classes: Any = None,
    *,
    never: Any = None,
    when: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> Answer:
    """Only these classes are decided, or never those, on the inputs that `when` describes."""
    __tracebackhide__ = True
    return _proved(_questions(model, options).decides(classes, never=never, when=when))


def assert_rules(model: Any, rules: str | os.PathLike[str] | Sequence[Mapping[str, Any]], **options: Any) -> list[Answer]:
    """Every rule of a file (TOML) or of a list holds; the message has all those that do not."""
    __tracebackhide__ = True
    answers = _questions(model, options).check(rules)
    failed = [_told(answer) for answer in answers if answer.proved is not True]
    if failed:
        raise AssertionError(f"{len(failed)} of {len(answers)} rules are not proved\n" + "\n".join(failed))
    return answers


def assert_identical(a: Any, b: Any, X: Any = None, **options: Any) -> Verification:
    """Both models decide alike on every input, as `secateur.verify` says it; `options` are those of `secateur.verify`."""
    __tracebackhide__ = True
    answer = secateur.verify(a, b, X, **{"time_limit": TIME_LIMIT, **options})
    if not answer.identical:
        raise AssertionError(str(answer) + (_OPEN if answer.undecided else ""))
    return answer


def assert_scores_within(a: Any, b: Any, within: float, X: Any = None, **options: Any) -> ScoreVerification:
    """No raw scores of the two models are farther apart than `within` on any input; `options` are those of `secateur.verify`."""
    __tracebackhide__ = True
    answer = secateur.verify(a, b, X, scores=True, within=within, **{"time_limit": TIME_LIMIT, **options})
    if answer.outcome != "within":
        raise AssertionError(str(answer) + (_OPEN if answer.outcome == "undecided" else ""))
    return answer


def _questions(model: Any, options: dict[str, Any]) -> Questions:
    return secateur.ask(model, **{"time_limit": TIME_LIMIT, **options})


def _told(answer: Answer) -> str:
    return str(answer) + (_OPEN if answer.proved is None else "")


def _proved(answer: Answer) -> Answer:
    __tracebackhide__ = True
    if answer.proved is not True:
        raise AssertionError(_told(answer))
    return answer
