"""Rules as tests: each assertion holds, fails with the rows that refute it, and fails where it is open."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import secateur
from secateur import testing


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (200, 3)).astype(float)
    y = (X[:, 0] + 2 * X[:, 1] > 8).astype(int)
    return GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def other(model):
    X = np.random.default_rng(1).integers(0, 6, (200, 3)).astype(float)
    return GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=1).fit(X, model.predict(X))


HELD = [
    lambda model: testing.assert_range(model, at_least=-9, at_most=9),
    lambda model: testing.assert_moves(model, 0, at_most=20),
    lambda model: testing.assert_keeps(model, 2),
    lambda model: testing.assert_monotone(model, 1),
    lambda model: testing.assert_decides(model, 1, when={"0": {"min": 5}, "1": {"min": 5}}),
    lambda model: testing.assert_identical(model, model),
    lambda model: testing.assert_scores_within(model, model, 0.0),
]

# Of each, what refutes it, and a part of its message.
REFUTED = [
    (lambda model, other: testing.assert_range(model, at_most=0), ["not every raw score is at most 0", "row  ", "class 1"]),
    (lambda model, other: testing.assert_moves(model, 1, at_most=0.01), ["more than 0.01", "before", "after"]),
    (lambda model, other: testing.assert_keeps(model, 1), ["changes the decision", "before", "after"]),
    (lambda model, other: testing.assert_monotone(model, 1, "down"), ["rises when", "before", "after"]),
    (lambda model, other: testing.assert_decides(model, never=1), ["does not always decide 0", "row  "]),
    (lambda model, other: testing.assert_identical(model, other), ["different", "first says", "second says"]),
    (lambda model, other: testing.assert_scores_within(model, other, 1e-3), ["exceeds 0.001", "first says"]),
    (
        lambda model, other: testing.assert_rules(model, [{"kind": "range", "at_most": 9}, {"kind": "keeps", "column": 1}]),
        ["1 of 2 rules are not proved", "keeps: refuted", "before"],
    ),
]

OPEN = [
    lambda model, other: testing.assert_range(model, at_most=0, time_limit=0.0),
    lambda model, other: testing.assert_keeps(model, 2, time_limit=0.0),
    lambda model, other: testing.assert_identical(model, other, time_limit=0.0),
    lambda model, other: testing.assert_scores_within(model, other, 9.0, time_limit=0.0),
    lambda model, other: testing.assert_rules(model, [{"kind": "keeps", "column": 2}], time_limit=0.0),
]


@pytest.mark.parametrize("holds", HELD)
def test_what_is_proved_is_returned(model, holds):
    answer = holds(model)
    assert getattr(answer, "proved", None) is True or answer.outcome in ("identical", "within")


@pytest.mark.parametrize("refuted, parts", REFUTED)
def test_what_is_refuted_fails_with_its_rows(model, other, refuted, parts):
    with pytest.raises(AssertionError) as error:
        refuted(model, other)
    for part in parts:
        assert part in str(error.value) or part in " ".join(str(error.value).split())
    assert "This is open" not in str(error.value)


@pytest.mark.parametrize("undecided", OPEN)
def test_what_is_open_fails_and_says_so(model, other, undecided):
    with pytest.raises(AssertionError, match="This is open, and so the test fails"):
        undecided(model, other)


def test_the_options_are_those_of_ask(model):
    domain = secateur.Domain(columns={"1": {"max": 1}})
    assert testing.assert_decides(model, 0, domain=domain).domain is not None
    with pytest.raises(AssertionError):
        testing.assert_decides(model, 0)
    with pytest.raises(secateur.OptionError, match="nothing to assert"):
        testing.assert_range(model)
    with pytest.raises(TypeError, match="colour"):
        testing.assert_keeps(model, 2, colour="red")
    assert [answer.proved for answer in testing.assert_rules(model, [{"kind": "keeps", "column": 2}])] == [True]


def test_pytest_shows_the_rows_and_the_line_of_the_test(tmp_path):
    (tmp_path / "test_rules.py").write_text(
        "from sklearn.ensemble import GradientBoostingClassifier\n"
        "from secateur.testing import assert_keeps, assert_range\n"
        "X = [[0, 0], [1, 0], [0, 1], [1, 1]] * 5\n"
        "model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, [row[0] for row in X])\n"
        "def test_that_holds():\n    assert_range(model, at_most=100)\n"
        "def test_that_fails():\n    assert_keeps(model, 0)\n"
    )
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "keeps: refuted" in ran.stdout and "before" in ran.stdout
    # The helpers themselves are not in the traceback.
    assert "test_rules.py:8: AssertionError" in ran.stdout and "raise AssertionError" not in ran.stdout
