"""Category labels: what people send are labels, so two models are compared by label.

Every answer is judged by the live libraries on every combination of labels, unknown and missing ones included.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import secateur
import xgboost as xgb
from labelled import COLUMNS, Histogram, LightGbm, XgBoost, decisions, every_row
from secateur._secateur import Model
from secateur._secateur import check as raw_check
from secateur._secateur import verify as raw_verify

NUMBERS = [-0.5, 0.5]
POOL = ["ash", "beech", "cedar", "elm", "fir", "oak"]


def certify(first: Model, second: Model) -> bytes:
    """A certificate that two models decide alike."""
    certificate = raw_verify(first, second, certify=True)["certificate"]
    assert certificate is not None
    return certificate


def data(rng: np.random.Generator, lists: list[list], rows: int = 40) -> tuple[list[tuple], np.ndarray]:
    table = [
        tuple(labels[rng.integers(len(labels))] for labels in lists) + (float(rng.choice(NUMBERS)),)
        for _ in range(rows)
    ]
    # A function of the labels, so that models of the same labels are alike, and a little noise.
    taste = [{label: index % 2 == 1 for index, label in enumerate(sorted(labels))} for labels in lists]
    classes = np.array([taste[0][c] ^ (taste[1][d] and v > 0) for c, d, v in table], dtype=int)
    classes[rng.random(rows) < 0.1] ^= 1
    return table, classes


def train(library: Any, rng: np.random.Generator, lists: list[list], seed: int) -> Any:
    while True:
        table, classes = data(rng, lists)
        # Every label occurs, so that every column is categorical in the file.
        if all({row[i] for row in table} == set(labels) for i, labels in enumerate(lists)) and 0 < classes.sum() < 40:
            return library.train(table, lists, classes, seed)


def as_model(model: Any) -> Any:
    return model.data if isinstance(model, Histogram) else Model.parse(model.data)


def judge(first: Any, second: Any, where: str) -> str:
    """Verifies, and has the live libraries confirm the answer. The outcome."""
    rows = every_row([first, second], NUMBERS)
    ours, theirs = decisions(first, rows), decisions(second, rows)
    try:
        answer = secateur.verify(as_model(first), as_model(second))
    except secateur.ComparisonError as error:
        assert "label" in str(error), where
        return "refused"
    if answer.identical:
        wrong = [row for row, a, b in zip(rows, ours, theirs, strict=True) if a != b]
        assert not wrong, f"{where}: called identical, and on {wrong[0]} they differ"
        return "identical"
    assert answer.different, f"{where}: {answer.outcome}"
    row = []
    for index, name in enumerate(COLUMNS[:2]):
        label = answer.counterexample_labels.get(name)
        value = answer.counterexample[index]
        if label is None and not np.isnan(value):
            # A number for every label that neither model knows.
            label = "no such label" if isinstance(first.lists[index][0], str) else 98765.0
        row.append(label)
    row.append(float(answer.counterexample[2]))
    a, b = decisions(first, [tuple(row)])[0], decisions(second, [tuple(row)])[0]
    assert a != b, f"{where}: {row} is no counterexample"
    assert (a, b) == answer.classes, where
    return "different"


def changed(rng: np.random.Generator, model: Any) -> tuple[Any, str]:
    """A file with other lists of labels, and in half of the cases with the codes that belong to them."""
    lists = [list(labels) for labels in model.lists]
    codes: list[dict[int, int]] = [{}, {}]
    how = []
    for column in range(2):
        labels = lists[column]
        what = rng.choice(["order", "order", "order", "recode", "rename", "extend", "insert", "type", "drop"])
        text = isinstance(labels[0], str)
        if what in ("order", "recode"):
            order = rng.permutation(len(labels)).tolist()
            lists[column] = [labels[old] for old in order]
            if what == "recode":
                codes[column] = {old: new for new, old in enumerate(order)}
        elif what == "rename":
            labels[rng.integers(len(labels))] = "yew" if text else 77
        elif what == "extend":
            labels.append("yew" if text else 77)
        elif what == "insert":
            place = int(rng.integers(len(labels) + 1))
            codes[column] = {code: code + (code >= place) for code in range(len(labels))}
            labels.insert(place, "yew" if text else 77)
        elif what == "type" and isinstance(model, LightGbm):
            kinds = [str, float, int] if not text else [str]
            chosen = kinds[rng.integers(len(kinds))]
            lists[column] = [chosen(label) for label in labels]
        elif what == "drop" and len(labels) > 2 and isinstance(model, XgBoost):
            labels.pop()
        how.append(str(what))
    if max(map(len, lists)) > 31:
        raise AssertionError("a set of categories is one word here")
    return model.recoded(codes).with_lists(lists), " ".join(how)


@pytest.mark.parametrize("library", [LightGbm, XgBoost])
@pytest.mark.parametrize("numbers", [False, True], ids=["text", "numbers"])
def test_changed_lists(library: Any, numbers: bool) -> None:
    outcomes: dict[str, int] = {}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pool = [3, 1, 20, 0, 7] if numbers else POOL
        lists = [list(rng.permutation(pool)[: rng.integers(2, 5)]) for _ in range(2)]
        lists = [[int(label) if numbers else str(label) for label in labels] for labels in lists]
        first = train(library, rng, lists, seed)
        second, how = changed(rng, first)
        outcome = judge(first, second, f"seed {seed}, {how}")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes.get("identical", 0) >= 8, outcomes
    assert outcomes.get("different", 0) >= 8, outcomes
    assert outcomes.get("refused", 0) <= 6, outcomes


def test_trained_pairs_of_any_libraries() -> None:
    outcomes: dict[str, int] = {}
    libraries = [LightGbm, XgBoost, Histogram]
    for seed in range(27):
        rng = np.random.default_rng(1000 + seed)
        pairs = [libraries[seed % 3], libraries[seed // 3 % 3]]
        models = []
        for library in pairs:
            lists = [list(map(str, rng.permutation(POOL[:4])[: rng.integers(2, 5)])) for _ in range(2)]
            # The same tastes in both: decisions depend on labels, never on codes.
            models.append(train(library, np.random.default_rng(seed), lists, seed))
        outcome = judge(*models, f"seed {seed}, {[library.__name__ for library in pairs]}")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes.get("different", 0) >= 5, outcomes


def test_number_labels_across_libraries() -> None:
    outcomes: dict[str, int] = {}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pairs = [(LightGbm, Histogram), (Histogram, LightGbm), (LightGbm, XgBoost), (XgBoost, Histogram)][seed % 4]
        lists = [[10, 20, 5], [4, 2]]
        models = [train(library, np.random.default_rng(seed // 2), [list(rng.permutation(one)) for one in lists], seed) for library in pairs]
        outcome = judge(*models, f"seed {seed}")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes.get("refused", 0) == 0, outcomes


def test_histograms_whose_lists_differ() -> None:
    outcomes: dict[str, int] = {}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        lists = [POOL[1:4], POOL[2:4]]
        table, classes = data(rng, lists)
        first = Histogram.train(table, lists, classes, seed)
        # A label that the other does not know, without weight: every code moves, and the trees may stay.
        more = [*table, ("ash", "beech", 0.5), ("yew", "oak", -0.5)]
        weight = np.array([1.0] * len(table) + [0.0, 0.0])
        second = Histogram.train(more, lists, np.array([*classes, 0, 1]), seed, weight)
        outcome = judge(first, second, f"seed {seed}")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        # A polars table means the same. (LightGBM takes no polars categories, XGBoost needs pyarrow for them.)
        rows = [row for row in every_row([first, second], NUMBERS) if None not in row]
        text = [pl.Series(name, [row[i] for row in rows], dtype=pl.Categorical) for i, name in enumerate(COLUMNS[:2])]
        table = pl.DataFrame([*text, pl.Series("v", [row[2] for row in rows])])
        for model in (first, second):
            assert (model.fitted.predict(table).astype(bool) == decisions(model, rows)).all()
    assert outcomes.get("refused", 0) == 0 and len(outcomes) == 2, outcomes


def simple() -> LightGbm:
    """Oak and elm are told from ash and fir."""
    table = [(label, "x" if v < 0 else "y", v) for label in ["oak", "ash", "elm", "fir"] for v in NUMBERS for _ in range(9)]
    classes = np.array([label in ("oak", "elm") for label, _, _ in table], dtype=int)
    return LightGbm.train(table, [["oak", "ash", "elm", "fir"], ["x", "y"]], classes, 1)


def test_truth_values_are_no_numbers() -> None:
    table = [(bool(i % 2), "x" if i % 3 else "y", NUMBERS[i // 2 % 2]) for i in range(60)]
    classes = np.array([row[0] for row in table], dtype=int)
    first = LightGbm.train(table, [[False, True], ["x", "y"]], classes, 1)
    assert first.lists[0] == [False, True]
    # Whether a model that was made with numbers takes truth values depends on the table.
    other = first.with_lists([[0, 1], ["x", "y"]])
    text = pd.Categorical(["x", "x"])
    truth = pd.DataFrame({"c": pd.Categorical([True, False], categories=[False, True]), "d": text, "v": [0.5, 0.5]})
    turned = truth.assign(c=pd.Categorical([True, False], categories=[True, False]))
    assert ((other.booster.predict(truth) > 0.5) != (other.booster.predict(turned) > 0.5)).any()
    assert judge(first, other, "numbers") == "refused"
    assert judge(first, first.with_lists([[True, False], ["x", "y"]]), "turned") == "different"
    assert judge(first, first.with_lists([["False", "True"], ["x", "y"]]), "texts") == "different"
    assert judge(first, first, "itself") == "identical"


def test_a_counterexample_names_the_label() -> None:
    first = simple()
    second = first.with_lists([["ash", "oak", "elm", "fir"], ["x", "y"]])
    answer = secateur.verify(as_model(first), as_model(second))
    assert answer.different
    assert answer.counterexample_labels["c"] in ("oak", "ash")
    assert answer.counterexample_labels["c"] == first.lists[0][int(answer.counterexample[0])]
    assert answer.matched_by_label == ("c", "d") and answer.matched_by_code == ()


def test_labels_in_one_model_only_are_compared_by_code_and_loudly() -> None:
    first = simple()
    second = LightGbm(first.text.rsplit("pandas_categorical:", 1)[0] + "pandas_categorical:[]\n")
    with pytest.warns(UserWarning, match="only one of the models has category labels for c"):
        answer = secateur.verify(as_model(first), as_model(second))
    assert answer.identical and "c" in answer.matched_by_code
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert secateur.verify(as_model(second), as_model(second)).matched_by_code == ()


def test_lists_without_columns_must_be_the_same() -> None:
    # An ordered category is a number to LightGBM, so the file has a list more than it has categorical columns.
    rng = np.random.default_rng(0)
    size = pd.Categorical(rng.choice(["s", "m", "l"], 90), categories=["s", "m", "l"], ordered=True)
    kind = pd.Categorical(rng.choice(["p", "q", "r"], 90), categories=["p", "q", "r"])
    table = pd.DataFrame({"size": size, "kind": kind})
    classes = (size.codes > 0) ^ (kind == "q")
    settings = {"objective": "binary", "verbosity": -1, "min_data_in_leaf": 1, "min_data_per_group": 1, "num_threads": 1}
    text = lgb.train(settings, lgb.Dataset(table, classes.astype(int)), 3).model_to_string()
    first = LightGbm(text)
    assert first.lists == [["s", "m", "l"], ["p", "q", "r"]]
    other = first.with_lists([["l", "m", "s"], ["p", "q", "r"]])
    differ = [lgb.Booster(model_str=model.text).predict(table) > 0.5 for model in (first, other)]
    assert (differ[0] != differ[1]).any()
    assert secateur.verify(as_model(first), as_model(first)).identical
    with pytest.raises(secateur.ComparisonError, match="does not say which"):
        secateur.verify(as_model(first), as_model(other))


def patched(certificate: bytes, digests: list[bytes]) -> bytes:
    """The certificate with other digests."""
    head, packed = certificate.split(b"\n", 1)
    stream = zlib.decompress(packed)
    return head + b"\n" + zlib.compress(b"".join(digests) + stream[64:])


def digest(model: Model) -> bytes:
    claim = raw_check(model, model, content=certify(model, model))["claim"]
    return bytes.fromhex(claim["original"])


@pytest.mark.parametrize("library", [LightGbm, XgBoost])
def test_a_certificate_that_ignores_labels_is_refused(library: Any) -> None:
    rng = np.random.default_rng(5)
    first = train(library, rng, [POOL[:4], POOL[:2]], 5)
    lists = first.lists
    second = first.with_lists([[lists[0][1], lists[0][0], *lists[0][2:]], lists[1]])
    rows = every_row([first, second], NUMBERS)
    assert (decisions(first, rows) != decisions(second, rows)).any()
    models = [as_model(first), as_model(second)]
    # The proof for the same trees without labels is right, and it is not about these models.
    if library is LightGbm:
        plain = as_model(LightGbm(first.text.rsplit("pandas_categorical:", 1)[0] + "pandas_categorical:[]\n"))
    else:
        bare = XgBoost(first.document | {})
        del bare.model["cats"]
        plain = as_model(bare)
    certificate = certify(plain, plain)
    forged = patched(certificate, [digest(model) for model in models])
    answer = raw_check(*models, content=forged)
    assert answer["verdict"] == "invalid", answer
    assert not answer["reason"].startswith("digest"), answer
    # The same patch for a pair with the same labels is accepted, so it is the labels that are refused.
    same = patched(certificate, [digest(models[0])] * 2)
    assert raw_check(models[0], models[0], content=same)["verdict"] == "valid"


def test_certificates_of_matched_labels_are_accepted_and_say_so() -> None:
    accepted = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        library = [LightGbm, XgBoost][seed % 2]
        first = train(library, rng, [POOL[:3], POOL[3:5]], seed)
        order = rng.permutation(3).tolist()
        codes = [{old: new for new, old in enumerate(order)}, {}]
        lists = first.lists
        second = first.recoded(codes).with_lists([[lists[0][old] for old in order], lists[1]])
        models = [as_model(first), as_model(second)]
        answer = raw_check(*models, content=certify(*models))
        assert answer["verdict"] == "valid", (seed, answer)
        assert answer["claim"]["labels"] == {"by_label": ["c", "d"], "by_code": [], "unplaced": False}
        accepted += order != [0, 1, 2]
    assert accepted > 20


def test_live_objects_are_matched_by_label() -> None:
    rng = np.random.default_rng(3)
    labels = rng.choice(["oak", "ash", "elm"], 200)
    classes = (labels == "oak").astype(int)

    def table(order: list[str]) -> pd.DataFrame:
        return pd.DataFrame({"c": pd.Categorical(labels, categories=order), "v": np.zeros(200)})

    def lightgbm(order: list[str]) -> Any:
        fitted = lgb.LGBMClassifier(n_estimators=3, min_child_samples=1, min_data_per_group=1, verbosity=-1, n_jobs=1)
        return fitted.fit(table(order), classes)

    def xgboost(order: list[str]) -> Any:
        return xgb.XGBClassifier(n_estimators=3, enable_categorical=True, n_jobs=1).fit(table(order), classes)

    for make in (lightgbm, xgboost):
        first, second = make(["oak", "ash", "elm"]), make(["elm", "oak", "ash"])
        frame = table(["ash", "elm", "oak"])
        assert (first.predict(frame) == second.predict(frame)).all()
        answer = secateur.verify(first, second)
        assert answer.identical and answer.matched_by_label == ("c",), make
