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
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
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
        assert result.checked and result.scope.endswith("domain")
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


DOUBLES = ("lightgbm", "hist")
SCORERS = ("xgboost", "lightgbm", "gradient", "forest", "isolation")


def scorer_of(kind: str, rng: np.random.Generator, case: Case, seed: int):
    """A model that says which inputs are meant, and its library's own scores of all inputs."""
    frame, rows = pd.DataFrame(case.train, columns=case.names), pd.DataFrame(case.all, columns=case.names)
    target = case.train @ rng.normal(size=case.train.shape[1]) + rng.normal(size=len(case.train)) / 4
    make = {
        "xgboost": lambda: xgboost.XGBRegressor(n_estimators=4, max_depth=2, random_state=seed, n_jobs=1),
        "lightgbm": lambda: lightgbm.LGBMRegressor(
            n_estimators=4, max_depth=2, min_child_samples=3, random_state=seed, n_jobs=1, verbose=-1
        ),
        "gradient": lambda: GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=seed),
        "forest": lambda: RandomForestRegressor(4, max_depth=3, random_state=seed),
        "isolation": lambda: IsolationForest(
            n_estimators=6, max_samples=16, random_state=seed, max_features=float(rng.choice([0.6, 1.0]))
        ),
    }
    model = make[kind]().fit(frame) if kind == "isolation" else make[kind]().fit(frame, target)
    if kind == "isolation":
        return model, model.score_samples(rows)
    if kind == "xgboost":
        return model, model.predict(rows, output_margin=True).astype(np.float64)
    return model, model.predict(rows)


def test_every_input_on_which_another_model_scores_so_is_decided_as_before():
    """By the libraries on every input: those of the classifiers, and that of the model whose scores choose."""
    smaller = narrower = different = identical = 0
    for seed in range(MODELS // 2):
        rng = np.random.default_rng(50_000 + seed)
        case, family, kind = Case(rng), FAMILIES[seed % len(FAMILIES)], SCORERS[seed % len(SCORERS)]
        model = fitted(family, rng, case, seed)
        scorer, scores = scorer_of(kind, rng, case, seed)
        if (family in DOUBLES) != (kind in DOUBLES):
            # What one of them reads as float32 and the other as float64 has to be the same number.
            for limits in case.arguments["columns"].values():
                if "values" not in limits:
                    limits["f32"] = True
        distinct = np.unique(scores)
        at = int(rng.integers(len(distinct)))
        bound = float(distinct[at])
        if kind in ("forest", "isolation"):
            # The last bits of their scores are not fixed: the bound is well between two of them.
            if at == 0 or distinct[at] - distinct[at - 1] < 1e-9:
                continue
            bound = float(distinct[at - 1] / 2 + distinct[at] / 2)
        side = "at_least" if seed % 4 else "at_most"
        inside = scores >= bound if side == "at_least" else scores <= bound
        domain = secateur.Domain(**case.arguments, where=[{"model": scorer, side: bound}])
        rows = pd.DataFrame(case.all[inside], columns=case.names)
        if not len(rows):
            continue
        effort = ("fast", "thorough", "minimum")[seed % 3]
        try:
            result = secateur.prune(model, domain=domain, effort=effort, certificate=True, time_limit=20)
        except secateur.ComparisonError as error:
            assert "margin" in str(error) or "certain" in str(error), error
            continue
        place = f"seed {seed}, {family}, {kind}"
        assert result.checked and result.scope.endswith("domain"), place
        changed = model.predict(rows) != result.model.predict(rows)
        assert (leads(model, case.all[inside])[changed] <= result.band * 1.001).all(), place
        smaller += result.trees_after < result.trees_before
        product = secateur.Domain(**case.arguments)
        narrower += result.trees_after < secateur.prune(model, domain=product, effort=effort, time_limit=20).trees_after
        claim = secateur.check(model, result.model, result.certificate, domain=domain)
        assert claim["domain"]["where"][0]["digest"] == secateur.load(scorer).digest, place
        with pytest.raises(secateur.CertificateError, match="that model is not given"):
            secateur.check(model, result.model, result.certificate)
        other = fitted(family, np.random.default_rng(seed + 10_000), case, seed) if seed % 2 else result.model
        answer = secateur.verify(model, other, domain=domain, time_limit=20)
        if answer.different:
            row = answer.counterexample
            frame = pd.DataFrame([row], columns=case.names)
            assert case.holds(row), f"{place}: {row} cannot occur"
            own = {"isolation": "score_samples"}.get(kind, "predict")
            options = {"output_margin": True} if kind == "xgboost" else {}
            score = getattr(scorer, own)(frame, **options)[0]
            near = 1e-9 if kind in ("forest", "isolation") else 0.0
            assert score >= bound - near if side == "at_least" else score <= bound + near, f"{place}: {score} {bound}"
            assert model.predict(frame)[0] != other.predict(frame)[0], place
            different += 1
        elif answer.identical:
            changed = model.predict(rows) != other.predict(rows)
            assert (leads(model, case.all[inside])[changed] <= answer.band * 1.001).all(), place
            identical += 1
    print(f"{smaller} smaller, {narrower} than without the scores; {different} different, {identical} identical")
    assert smaller > MODELS / 6 and narrower > MODELS / 16, "a weak test"
    assert different > MODELS / 20 and identical > MODELS / 6, "a weak test"


def test_isolation_forests_choose_inputs(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    for forest in (
        IsolationForest(n_estimators=6, max_samples=16, random_state=0).fit(frame),
        IsolationForest(n_estimators=6, max_features=2, max_samples=24, random_state=1).fit(frame),
    ):
        read = secateur.load(forest)
        # The raw score is the sum of path lengths, which the library makes its scores of.
        hostile = X * rng.choice([1, 3, 1e30], X.shape)
        hostile[rng.random(X.shape) < 0.05] = np.nan
        hostile[:3] = [[np.inf, -np.inf, 0, 1], [np.nan] * 4, [-np.inf, 1, 1, 1]]
        lengths = read.raw_scores(hostile.astype(np.float64))[:, 0]
        rows = pd.DataFrame(hostile, columns=list("abcd"))
        n = forest._max_samples
        expected = len(forest.estimators_) * (2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n)
        assert np.allclose(-(2 ** -(lengths / expected)), forest.score_samples(rows), rtol=1e-13, atol=0)
        import skops.io as skops
        skops.dump(forest, tmp_path / "forest.skops")
        saved = secateur.load(tmp_path / "forest.skops")
        assert saved.digest == read.digest
        model = xgboost.XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1).fit(frame, y)
        bound = float(np.quantile(forest.score_samples(frame), 0.2))
        given = secateur.Domain(missing=False, where=[{"model": forest, "at_least": bound}])
        named = secateur.Domain(missing=False, where=[{"model": tmp_path / "forest.skops", "at_least": bound}])
        named.write(tmp_path / "inputs.toml")
        again = secateur.Domain.read(tmp_path / "inputs.toml")
        result = secateur.prune(model, frame, domain=given, certificate=True, effort="fast", time_limit=20)
        assert "path lengths" in result.claim or result.scope.endswith("domain")
        for domain in (given, named, again):
            secateur.check(model, result.model, result.certificate, domain=domain)
        with pytest.raises(secateur.OptionError, match="skops"):
            given.write(tmp_path / "other.toml")
        # A stricter bound is a smaller domain, and the claim covers that; a looser one it does not.
        inner = secateur.Domain(missing=False, where=[{"model": forest, "at_least": bound + 0.01}])
        outer = secateur.Domain(missing=False, where=[{"model": forest, "at_least": bound - 0.01}])
        secateur.check(model, result.model, result.certificate, domain=inner)
        with pytest.raises(secateur.CertificateError, match="only about inputs where"):
            secateur.check(model, result.model, result.certificate, domain=outer)
        with pytest.raises(ValueError, match="numbers below 0"):
            secateur.prune(model, domain=secateur.Domain(where=[{"model": forest, "at_least": 0.5}]))
    with pytest.raises(secateur.SecateurError):
        secateur.prune(forest, frame)


def leads_of_trees(family: str, model, rows: np.ndarray, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """What each tree adds to the lead of class 1, by the library, a column each; and what stays without trees."""
    frame = pd.DataFrame(rows, columns=names)
    if family == "xgboost":
        count = model.get_booster().num_boosted_rounds()
        start = secateur.load(model).intercepts[0]
        partial = [model.predict(frame, output_margin=True, iteration_range=(0, upto + 1)) for upto in range(count)]
        return np.diff(np.vstack([np.full(len(rows), start), *partial]), axis=0).T, np.full((len(rows), 1), start)
    values = rows.astype(np.float32)
    if family == "forest":
        leads = [np.diff(tree.predict_proba(values), axis=1)[:, 0] for tree in model.estimators_]
    else:
        votes = [2.0 * (tree.predict(values) == 1) - 1.0 for tree in model.estimators_]
        leads = [weight * vote for weight, vote in zip(model.estimator_weights_, votes)]
    return np.array(leads).T, np.zeros((len(rows), 0))


def smallest(system: np.ndarray, trees: int) -> int:
    """The fewest trees with weights that are not negative and keep every row positive; what stands behind the trees is free.

    All subsets are looked at, smallest first. A subset that cannot do gives multipliers of the rows that show it, and those rule
    out every subset without one of the columns that they count as positive: such subsets need no program of their own.
    """
    ruled_out: list[np.ndarray] = []

    def does(kept: tuple[int, ...]) -> bool:
        use = [*kept, *range(trees, system.shape[1])]
        inside = np.zeros(system.shape[1], dtype=bool)
        inside[use] = True
        if any(not (inside & cut).any() for cut in ruled_out):
            return False
        # As small an excess as can be, with which every row reaches 1.
        matrix = np.hstack([system[:, use], np.ones((len(system), 1))])
        goal = np.zeros(len(use) + 1)
        goal[-1] = 1.0
        # Scores are float32 numbers: weights without an end would make something of their last bits.
        answer = linprog(goal, A_ub=-matrix, b_ub=-np.ones(len(system)), bounds=(0, 1e4))
        assert answer.status == 0
        if answer.fun < 1e-7:
            return True
        multipliers = -answer.ineqlin.marginals
        cut = multipliers @ system > 1e-9
        if not (cut & inside).any():
            ruled_out.append(cut)
        return False

    return next(size for size in range(trees + 1) if any(map(does, itertools.combinations(range(trees), size))))


@pytest.mark.parametrize("family", ["forest", "adaboost", "xgboost"])
def test_the_smallest_size_is_that_of_brute_force(family):
    """One column of five categories, one-hot encoded, and two columns of three values: every subset of the trees, over every
    input of the domain."""
    gone = minimal = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        colour, two = rng.integers(0, 5, 300), rng.integers(0, 3, (300, 2))
        names = [f"colour_{at}" for at in range(5)] + ["p", "q"]
        frame = pd.DataFrame(np.hstack([np.eye(5)[colour], two]), columns=names)
        score = rng.normal(size=5)[colour] + two @ rng.normal(size=2) + rng.normal(size=300) / 2
        y = (score > np.median(score)).astype(int)
        make = {
            "forest": lambda: RandomForestClassifier(14, max_depth=2, random_state=seed),
            "adaboost": lambda: AdaBoostClassifier(
                DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=seed
            ),
            "xgboost": lambda: xgboost.XGBClassifier(n_estimators=14, max_depth=2, random_state=seed, n_jobs=1),
        }
        model = make[family]().fit(frame, y)
        domain = secateur.Domain(
            missing=False,
            columns={"p": {"values": [0, 1, 2]}, "q": {"values": [0, 1, 2]}},
            groups=[{"kind": "one-hot", "columns": names[:5]}],
        )
        result = secateur.prune(model, domain=domain, effort="minimum", moves="weights", weight_per="tree")
        rows = np.array([[*colour, p, q] for colour in np.eye(5) for p in range(3) for q in range(3)])
        columns, start = leads_of_trees(family, model, rows, names)
        total = columns.sum(axis=1) + start.sum(axis=1)
        counts = np.abs(total) > max(result.band * 20, 1e-9)
        system = np.sign(total)[counts, None] * np.hstack([columns, start])[counts]
        least = smallest(system / np.abs(system).max(), columns.shape[1])
        assert result.trees_after == least and result.lower_bound <= least, f"{family}, seed {seed}"
        minimal += result.minimal
        gone += result.trees_before - result.trees_after
    assert gone > 40 and minimal >= 6, "a weak test"


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
        ({"where": [{"model": "x"}]}, 'where.1.: "at_least" is needed'),
        ({"where": [{"at_least": 1}]}, 'where.1.: "model" is needed'),
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


def test_categories_of_a_table_are_codes_of_the_models_list():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], 300)),
            "age": rng.integers(18, 80, 300).astype(float),
        }
    )
    y = ((frame["colour"] == "red") ^ (frame["age"] > 45)).astype(int)
    columns = ColumnTransformer([("age", MinMaxScaler(clip=True), ["age"])], remainder="passthrough")
    columns.set_output(transform="pandas")
    model = lightgbm.LGBMClassifier(n_estimators=15, max_depth=3, min_child_samples=3, n_jobs=1, verbose=-1)
    pipeline = Pipeline([("columns", columns), ("model", model)]).fit(frame, y)
    facts = secateur.Domain.from_pipeline(pipeline).to_dict()
    assert facts["columns"]["remainder__colour"] == {"values": [0, 1, 2, 3]}
    assert facts["columns"]["age__age"]["max"] == 1.0
    result = secateur.prune(pipeline, frame)
    assert result.scope.endswith("domain") and result.checked
    # Labels that the model does not know, and none at all.
    hostile = frame.copy()
    hostile["colour"] = pd.Categorical(["red", "violet", None] * 100, categories=["grey", "red", "violet"])
    for rows in (frame, hostile):
        assert (pipeline.predict(rows) == result.model.predict(rows)).all()


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
    assert result.domain == domain and result.scope.endswith("domain")
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
