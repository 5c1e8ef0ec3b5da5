"""Domains: what is claimed for the inputs that can occur, judged by the libraries on every one of them."""

from __future__ import annotations

import itertools
import os

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.optimize import linprog
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur

# `make test` looks at a share of them; SECATEUR_DOMAIN_MODELS=300 at all.
MODELS = int(os.environ.get("SECATEUR_DOMAIN_MODELS", "84"))
FAMILIES = ("xgboost", "lightgbm", "forest", "extra", "adaboost", "gradient", "hist")


class Case:
    """A random domain with all its inputs, and a table of rows from it."""

    def __init__(self, rng: np.random.Generator):
        self.names: list[str] = []
        self.arguments: dict = {"missing": False, "columns": {}, "groups": []}
        parts: list[list[tuple[float, ...]]] = []
        kinds = rng.permutation(["one-hot", "ordered", "table", "whole", "values", "range"])[: rng.integers(2, 5)]
        for number, kind in enumerate(kinds):
            width = int(rng.integers(2, 5)) if kind in ("one-hot", "ordered") else 2 if kind == "table" else 1
            names = [f"{kind}{number}_{at}" for at in range(width)]
            self.names += names
            eye = np.eye(width)
            if kind == "one-hot":
                none = bool(rng.integers(2))
                rows = [tuple(row) for row in eye] + [(0.0,) * width] * none
                self.arguments["groups"].append({"kind": kind, "columns": names, "none": none})
            elif kind == "ordered":
                rows = [tuple(float(at >= width - ones) for at in range(width)) for ones in range(width + 1)]
                self.arguments["groups"].append({"kind": kind, "columns": names})
            elif kind == "table":
                rows = sorted({tuple(float(v) for v in rng.integers(0, 4, 2) / 2) for _ in range(5)})
                self.arguments["groups"].append({"kind": kind, "columns": names, "rows": rows})
            elif kind == "whole":
                low, high = 0, int(rng.integers(2, 6))
                rows = [(float(value),) for value in range(low, high + 1)]
                self.arguments["columns"][names[0]] = {"min": low, "max": high, "whole": True}
            elif kind == "values":
                rows = [(float(value),) for value in sorted(set(rng.integers(-3, 4, 4) / 4))]
                self.arguments["columns"][names[0]] = {"values": [value for (value,) in rows]}
            else:
                # A range has more values than can be listed: brute force looks at a fine lattice of them.
                rows = [(float(value),) for value in np.linspace(0, 1, 17)]
                self.arguments["columns"][names[0]] = {"min": 0, "max": 1}
            parts.append(rows)
        self.all = np.array([sum(choice, ()) for choice in itertools.product(*parts)])
        self.domain = secateur.Domain(**self.arguments)
        self.train = self.all[rng.integers(0, len(self.all), 160)]

    def holds(self, row: np.ndarray) -> bool:
        """Is a row in the domain? From its definition."""
        values = dict(zip(self.names, row, strict=True))
        for name, limits in self.arguments["columns"].items():
            value = values[name]
            if "values" in limits and value not in limits["values"]:
                return False
            if "min" in limits and not limits["min"] <= value <= limits["max"]:
                return False
            if limits.get("whole") and value != int(value):
                return False
        for group in self.arguments["groups"]:
            own = tuple(values[name] for name in group["columns"])
            ones = sum(value == 1 for value in own)
            flags = set(own) <= {0.0, 1.0}
            fits = {
                "one-hot": flags and (ones == 1 or ones == 0 and group.get("none", False)),
                "ordered": flags and list(own) == sorted(own),
                "table": own in {tuple(row) for row in group.get("rows", [])},
            }
            if not fits[group["kind"]]:
                return False
        return not np.isnan(row).any()


def fitted(family: str, rng: np.random.Generator, case: Case, seed: int):
    frame = pd.DataFrame(case.train, columns=case.names)
    weights = rng.normal(size=case.train.shape[1])
    score = case.train @ weights + 0.7 * case.train[:, 0] * case.train[:, -1] + rng.normal(size=len(case.train)) / 3
    y = (score > np.median(score)).astype(int)
    if len(set(y)) < 2:
        y[0] = 1 - y[0]
    trees, depth = int(rng.integers(3, 15)), int(rng.integers(1, 4))
    make = {
        "xgboost": lambda: xgboost.XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1),
        "lightgbm": lambda: lightgbm.LGBMClassifier(
            n_estimators=trees, max_depth=depth, min_child_samples=3, random_state=seed, n_jobs=1, verbose=-1
        ),
        "forest": lambda: RandomForestClassifier(trees, max_depth=depth, random_state=seed),
        "extra": lambda: ExtraTreesClassifier(trees, max_depth=depth, random_state=seed),
        "adaboost": lambda: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=depth), n_estimators=trees, random_state=seed
        ),
        "gradient": lambda: GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=seed),
        "hist": lambda: HistGradientBoostingClassifier(max_iter=trees, max_depth=depth, random_state=seed),
    }
    return make[family]().fit(frame, y)


def leads(model, rows: np.ndarray) -> np.ndarray:
    """How far the winner is ahead, by the library's own scores."""
    scores = secateur.load(model).raw_scores(rows)
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def without_missing(domain: secateur.Domain) -> list[str]:
    """The words of a domain, but for missing values: where the library takes none, nothing is said of them."""
    return [line for line in str(domain).splitlines() if line != "no missing values"]


def test_every_input_of_a_domain_is_decided_as_before():
    smaller = narrower = different = identical = 0
    for seed in range(MODELS):
        rng = np.random.default_rng(seed)
        case, family = Case(rng), FAMILIES[seed % len(FAMILIES)]
        model = fitted(family, rng, case, seed)
        effort = ("fast", "thorough", "minimum")[seed % 3]
        rows = pd.DataFrame(case.all, columns=case.names)
        try:
            result = secateur.prune(model, domain=case.domain, effort=effort, certificate=True, time_limit=20)
        except secateur.ComparisonError as error:
            assert "margin" in str(error) or "certain" in str(error), error
            continue
        assert result.checked and result.scope == "domain"
        assert without_missing(result.domain) == without_missing(case.domain)
        changed = model.predict(rows) != result.model.predict(rows)
        assert (leads(model, case.all)[changed] <= result.band * 1.001).all(), f"seed {seed}, {family}"
        smaller += result.trees_after < result.trees_before
        whole = secateur.prune(model, effort=effort, time_limit=20)
        narrower += result.trees_after < whole.trees_after
        # The certificate covers its domain, and not every input.
        secateur.check(model, result.model, result.certificate, domain=case.domain)
        with pytest.raises(secateur.CertificateError, match="asked for"):
            secateur.check(model, result.model, result.certificate, domain=secateur.Domain())
        # Another model: alike on every input of the domain, or an input of the domain that shows it.
        other = fitted(family, np.random.default_rng(seed + 10_000), case, seed) if seed % 2 else result.model
        answer = secateur.verify(model, other, domain=case.domain, time_limit=20)
        if answer.different:
            row = answer.counterexample
            assert case.holds(row), f"seed {seed}: {row} cannot occur"
            frame = pd.DataFrame([row], columns=case.names)
            assert model.predict(frame)[0] != other.predict(frame)[0], f"seed {seed}, {family}"
            different += 1
        elif answer.identical:
            changed = model.predict(rows) != other.predict(rows)
            assert (leads(model, case.all)[changed] <= answer.band * 1.001).all(), f"seed {seed}, {family}"
            identical += 1
    print(f"{smaller} smaller, {narrower} than for every input; {different} different, {identical} identical")
    assert smaller > MODELS / 3 and narrower > MODELS / 8, "a weak test"
    assert different > MODELS / 8 and identical > MODELS / 3, "a weak test"


@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_size_is_that_of_brute_force(seed):
    """All subsets of the trees, each by a linear program over every input of the domain."""
    rng = np.random.default_rng(seed)
    colour, two = rng.integers(0, 5, 200), rng.integers(0, 3, (200, 2))
    names = [f"colour_{at}" for at in range(5)] + ["p", "q"]
    X = np.hstack([np.eye(5)[colour], two])
    y = (rng.normal(size=5)[colour] + two @ rng.normal(size=2) + rng.normal(size=200) / 2 > 0.5).astype(int)
    model = xgboost.XGBClassifier(n_estimators=9, max_depth=2, random_state=seed, n_jobs=1)
    model.fit(pd.DataFrame(X, columns=names), y)
    domain = secateur.Domain(
        missing=False,
        columns={"p": {"values": [0, 1, 2]}, "q": {"values": [0, 1, 2]}},
        groups=[{"kind": "one-hot", "columns": names[:5]}],
    )
    result = secateur.prune(model, domain=domain, effort="minimum", moves="weights", weight_per="tree")
    rows = np.array([[*colour, p, q] for colour in np.eye(5) for p in range(3) for q in range(3)])
    booster = model.get_booster()
    data = xgboost.DMatrix(rows, feature_names=names)
    base = booster.predict(data, output_margin=True, iteration_range=(0, 1))
    partial = [base] + [
        booster.predict(data, output_margin=True, iteration_range=(0, count)) for count in range(2, 10)
    ]
    start = secateur.load(model).intercepts[0]
    columns = np.diff(np.vstack([np.full(len(rows), start), *partial]), axis=0).T
    total = columns.sum(axis=1) + start
    counts = np.abs(total) > result.band
    sign = np.sign(total)[counts]
    system = sign[:, None] * np.hstack([columns, np.full((len(rows), 1), start)])[counts]

    def does(kept: tuple[int, ...]) -> bool:
        use = [*kept, 9]
        answer = linprog(np.zeros(len(use)), A_ub=-system[:, use], b_ub=-np.ones(len(system)), bounds=(0, 1e4))
        return answer.status == 0

    least = next(size for size in range(10) if any(map(does, itertools.combinations(range(9), size))))
    assert result.trees_after == least and result.minimal


def test_domains_are_written_read_and_refused(tmp_path):
    domain = secateur.Domain(
        missing=False,
        columns={"age": {"min": 18, "whole": True}, 3: {"values": np.array([1.0, 2.5])}},
        groups=[{"kind": "table", "columns": ["a", "b"], "rows": [[0, None], [1, float("nan")], [1, 2]]}],
    )
    domain.write(tmp_path / "inputs.toml")
    assert secateur.Domain.read(tmp_path / "inputs.toml") == domain
    assert str(domain).splitlines() == [
        "no missing values",
        "age: at least 18, whole",
        "3: one of 1, 2.5",
        "a, b together take one of 3 rows",
    ]
    assert repr(secateur.Domain()) == "<Domain: every input>"
    for arguments, message in [
        ({"missing": 1}, "missing must be True or False"),
        ({"columns": {"a": {"least": 1}}}, "domain: columns.a: unknown key"),
        ({"columns": {"a": {"min": 2, "max": 1}}}, "no value fits its limits"),
        ({"columns": {"a": {"min": float("-inf")}}}, "infinite numbers are no limits"),
        ({"groups": [{"kind": "one-hot", "columns": ["a"]}]}, "a group needs at least two"),
        ({"where": [{"model": "x", "at_least": 1}]}, "not supported by this version"),
    ]:
        with pytest.raises(secateur.OptionError, match=message):
            secateur.Domain(**arguments)
    model = DecisionTreeClassifier().fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match='the model has no column "age"'):
        secateur.prune(model, domain=domain)
    with pytest.raises(secateur.OptionError, match="must be a secateur.Domain"):
        secateur.prune(model, domain={"missing": False})
    with pytest.raises(secateur.OptionError, match="short form"):
        secateur.prune(model, domain=secateur.Domain(), missing=False)


def test_data_suggests_a_domain():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, 300)
    frame = pd.DataFrame(np.eye(3)[colour], columns=["c_red", "c_green", "c_blue"])
    frame["age"] = rng.integers(18, 90, 300)
    frame["income"] = rng.normal(size=300)
    frame.loc[3, "income"] = np.nan
    domain = secateur.Domain.from_data(frame)
    facts = domain.to_dict()
    assert facts["groups"] == [{"kind": "one-hot", "columns": ["c_red", "c_green", "c_blue"], "none": False}]
    assert facts["columns"]["age"]["whole"] and facts["columns"]["income"]["missing"]
    assert "c_red, c_green, c_blue: exactly one is 1 in 300 of 300 rows" in domain.support
    array = secateur.Domain.from_data(frame.to_numpy())
    assert array.to_dict()["groups"][0]["columns"] == ["0", "1", "2"]
    with pytest.raises(secateur.OptionError, match="at least one row"):
        secateur.Domain.from_data(np.zeros((0, 3)))


def table(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "grey"], rows),
            "size": rng.choice(["s", "m", "l"], rows),
            "age": rng.normal(40, 15, rows),
            "income": rng.normal(0, 3, rows),
        }
    )
    frame.loc[rng.integers(0, rows, rows // 8), "income"] = np.nan
    return frame


STEPS = {
    "colour": OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    "size": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "age": KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    "income": Pipeline([("fill", SimpleImputer(add_indicator=True)), ("scale", MinMaxScaler(clip=True))]),
}


@pytest.mark.parametrize("seed", range(6))
def test_every_input_of_a_pipeline_lands_in_its_domain(seed):
    rng = np.random.default_rng(seed)
    train = table(rng, 200)
    y = ((train["colour"] == "red") ^ (train["age"] > 45)).astype(int)
    parts = [(name, step, [name]) for name, step in STEPS.items()]
    if seed % 3 == 1:
        parts[0] = ("colour", OneHotEncoder(sparse_output=False, drop="first"), ["colour"])
        parts[2] = ("age", "passthrough", ["age"])
    if seed % 3 == 2:
        parts[2] = ("age", StandardScaler(), ["age"])
        parts[3] = ("income", "drop", ["income"])
    classifiers = [
        xgboost.XGBClassifier(n_estimators=12, max_depth=2, n_jobs=1),
        RandomForestClassifier(12, max_depth=3, random_state=0),
    ]
    pipeline = Pipeline([("columns", ColumnTransformer(parts)), ("model", classifiers[seed % 2])]).fit(train, y)
    domain = secateur.Domain.from_pipeline(pipeline)
    groups = domain.to_dict()["groups"]
    assert groups and all(group["kind"] == "one-hot" for group in groups)
    # Hostile rows: values that no row of the training has.
    hostile = table(np.random.default_rng(seed + 100), 400)
    hostile.loc[0, "age"], hostile.loc[1, "age"] = -1e6, 1e6
    hostile.loc[2, "income"], hostile.loc[3, "income"] = 1e9, -1e9
    if seed % 3 == 0:
        hostile.loc[4, "colour"] = "violet"
    hostile.loc[5, "size"] = "xxl"
    rows = np.asarray(pipeline[:-1].transform(hostile), dtype=np.float64)
    names = secateur.load(pipeline).feature_names
    facts = domain.to_dict()
    for group in groups:
        own = rows[:, [names.index(name) for name in group["columns"]]]
        ones = (own == 1).sum(axis=1)
        assert ((own == 0) | (own == 1)).all()
        assert ((ones == 1) | group["none"] & (ones == 0)).all(), group
    for name, limits in facts["columns"].items():
        own = rows[:, names.index(name)]
        assert limits.get("missing", True) or not np.isnan(own).any(), name
        assert "values" not in limits or set(own) <= set(limits["values"]), name
        assert "min" not in limits or (own >= limits["min"]).all() and (own <= limits["max"]).all(), name
    result = secateur.prune(pipeline, train)
    assert result.domain == domain and result.scope == "domain"
    assert (pipeline.predict(hostile) == result.model.predict(hostile)).all()
    everything = secateur.prune(pipeline, train, domain=False)
    assert everything.scope == "all" and result.trees_after <= everything.trees_after


def test_sparse_rows_guarantee_nothing_to_xgboost():
    rng = np.random.default_rng(0)
    train = table(rng, 200)
    y = (train["colour"] == "red").astype(int)
    steps = ColumnTransformer([("colour", OneHotEncoder(), ["colour", "size"])], sparse_threshold=1.0)
    for classifier, guaranteed in [
        (xgboost.XGBClassifier(n_estimators=4, n_jobs=1), False),
        (RandomForestClassifier(4, random_state=0), True),
    ]:
        pipeline = Pipeline([("columns", steps), ("model", classifier)]).fit(train, y)
        assert bool(secateur.Domain.from_pipeline(pipeline).to_dict()["groups"]) is guaranteed
