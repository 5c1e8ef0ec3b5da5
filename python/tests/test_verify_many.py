"""`verify_many`: each pair has its result, whatever happens to the others, to a worker or to the run."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier

import secateur

MODELS = pathlib.Path(__file__).parents[2] / "testdata" / "models"
FILES = [
    MODELS / "xgboost" / "1.7.6-logistic.json",
    MODELS / "lightgbm" / "binary.txt",
    MODELS / "catboost" / "binary.cbm",
    MODELS / "sklearn" / "forest.skops",
    MODELS / "onnx" / "xgboost.onnx",
]


def fitted(trees: int, kind=AdaBoostClassifier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    return kind(n_estimators=trees, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def by_index(results) -> dict[int, secateur.PairResult]:
    found = {}
    for result in results:
        assert result.index not in found, "a pair was answered twice"
        found[result.index] = result
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.parent.name)
def test_every_format_travels_and_gets_the_answer_of_verify(file, pool):
    assert file.exists()
    expected = secateur.verify(file, file)
    [result] = secateur.verify_many([(file, file)], pool)
    assert (result.outcome, result.first, result.index) == (expected.outcome, str(file), 0)
    assert result.answer.band == expected.band
    assert result.facts["outcome"] == expected.outcome


def test_a_bad_file_does_not_stop_the_rest(pool, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    pairs = [(bad, FILES[0]), (FILES[0], FILES[0]), (fitted(3), fitted(5)), (FILES[0], tmp_path / "none"), (3, 4)]
    for executor in (None, pool, ThreadPoolExecutor(2)):
        found = by_index(secateur.verify_many(iter(pairs), executor))
        assert [found[index].outcome for index in range(5)] == ["failed", "identical", "different", "failed", "failed"]
        assert isinstance(found[0].error, secateur.ModelError) and "bad.json" in found[0].message
        assert isinstance(found[3].error, FileNotFoundError)
        assert isinstance(found[4].error, secateur.ModelError)
        assert found[2].answer.counterexample is not None and found[2].first == "AdaBoostClassifier"


class Deadly:
    """A model that ends the process that reads it, but not the one that made it."""

    def __init__(self, home: int) -> None:
        self.home = home

    def __reduce__(self):
        return _die, (self.home,)


def _die(home: int):
    if os.getpid() != home:
        os._exit(13)
    return None


def test_a_worker_that_dies_costs_its_own_pair_only():
    pairs = [(fitted(3), fitted(3)), (Deadly(os.getpid()), fitted(3)), *[(fitted(n), fitted(n)) for n in range(3, 9)]]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = by_index(secateur.verify_many(pairs, pool))
    assert found[1].outcome == "failed" and found[1].message
    assert [found[index].outcome for index in range(len(pairs)) if index != 1] == ["identical"] * 7


def test_a_run_goes_on_where_it_was_ended(tmp_path):
    file = tmp_path / "results.jsonl"
    asked: list[int] = []

    def pairs():
        for trees in (3, 4, 5, 6):
            asked.append(trees)
            yield fitted(trees), fitted(trees + (trees == 5))

    run = secateur.verify_many(pairs(), results=file)
    first, second = next(run), next(run)
    run.close()
    assert asked == [3, 4]
    # Its writer was ended in the middle of a line.
    with open(file, "a") as out:
        out.write('{"index": 2, "models": [')
    found = by_index(secateur.verify_many(pairs(), results=file))
    assert [found[index].kept for index in range(4)] == [True, True, False, False]
    assert [found[index].outcome for index in range(4)] == ["identical", "identical", "different", "identical"]
    assert found[0].facts == first.facts and found[1].facts == second.facts
    assert len(file.read_text().splitlines()) == 4
    found = by_index(secateur.verify_many(pairs(), results=file))
    assert all(found[index].kept for index in range(4))
    # Another question is another answer.
    found = by_index(secateur.verify_many(pairs(), results=file, band=0))
    assert not any(found[index].kept for index in range(4))


def test_what_failed_or_stayed_open_is_asked_again(tmp_path):
    open_, pair = tmp_path / "open.jsonl", (fitted(40, RandomForestClassifier), fitted(43, RandomForestClassifier))
    [result] = secateur.verify_many([pair], time_limit=0, results=open_)
    assert (result.outcome, result.kept) == ("undecided", False) and result.message
    [result] = secateur.verify_many([pair], results=open_)
    assert (result.outcome, result.kept) == ("different", False)
    [result] = secateur.verify_many([pair], time_limit=0, results=open_)
    assert (result.outcome, result.kept) == ("different", True)

    file, model = tmp_path / "results.jsonl", tmp_path / "model.json"
    pairs = [(model, model), (FILES[0], FILES[0])]
    found = by_index(secateur.verify_many(pairs, results=file))
    assert (found[0].outcome, found[1].outcome) == ("failed", "identical")
    model.write_bytes(FILES[0].read_bytes())
    found = by_index(secateur.verify_many(pairs, results=file))
    assert (found[0].outcome, found[0].kept) == ("identical", True), "its models and question are those of the other pair"
    model.write_bytes(FILES[4].read_bytes())
    found = by_index(secateur.verify_many(pairs, results=file))
    assert (found[0].outcome, found[0].kept) == ("identical", False), "another file is another model"


def test_labels_and_thresholds_of_objects_are_part_of_the_question(tmp_path):
    file = tmp_path / "results.jsonl"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    one = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    two = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    [result] = secateur.verify_many([(one, one)], results=file)
    [again] = secateur.verify_many([(one, one)], results=file)
    [other] = secateur.verify_many([(two, two)], results=file)
    assert (result.kept, again.kept, other.kept) == (False, True, False)


def test_a_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n")
    with pytest.raises(secateur.OptionError, match="line 1: this is not a result"):
        secateur.verify_many([], results=file)
    assert file.read_text() == "my notes\n"


def test_options_are_refused_before_the_first_pair():
    with pytest.raises(secateur.OptionError):
        secateur.verify_many([], time_limit="soon")
    with pytest.raises(secateur.OptionError):
        secateur.verify_many([], within=1.0)
    with pytest.raises(secateur.OptionError):
        secateur.verify_many([], scores=True, band=0)
    with pytest.raises(secateur.OptionError, match="pair 0 is not two models"):
        list(secateur.verify_many([3]))


def test_scores_and_domains_travel_too(pool):
    a, b = fitted(3), fitted(4)
    [measured] = secateur.verify_many([(a, b)], pool, scores=True)
    assert measured.outcome == "measured"
    assert measured.answer.at_most == secateur.verify(a, b, scores=True).at_most
    assert measured.to_dict()["answer"]["scores"]["at_most"] == measured.answer.at_most
    # A model in a domain travels with it.
    outlier = secateur.load(MODELS / "sklearn" / "isolation.skops")
    width = len(outlier.feature_names)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, width))
    wide = [AdaBoostClassifier(n_estimators=n, random_state=0).fit(X, X[:, 0] > 0) for n in (1, 2)]
    domain = secateur.Domain(columns={"0": {"min": -1, "max": 1}}, where=[{"model": outlier, "at_least": -0.6}])
    [inside] = secateur.verify_many([tuple(wide)], pool, domain=domain)
    expected = secateur.verify(*wide, domain=domain)
    assert inside.error is None and inside.outcome == expected.outcome
    assert str(inside.answer.domain) == str(expected.domain) != "every input"


def test_models_are_pickled_with_their_labels():
    for file in FILES:
        model = secateur.load(file)
        assert pickle.loads(pickle.dumps(model)).digest == model.digest
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    import lightgbm

    live = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    model = secateur.load(live)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.classes == model.classes == ["no", "yes"]
    with pytest.raises(TypeError, match="pickle the object"):
        pickle.dumps(secateur.load(fitted(3)))


def test_results_are_lines_of_json(tmp_path):
    file = tmp_path / "results.jsonl"
    [result] = secateur.verify_many([(FILES[0], FILES[0])], results=file)
    [line] = map(json.loads, file.read_text().splitlines())
    question = line.pop("question")
    assert line == json.loads(json.dumps(result.to_dict()))
    assert question["band"] == "auto" and question["domain"] is None
