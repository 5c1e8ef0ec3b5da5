"""Questions about one model, of every family, judged by the library itself on every cell of small models.

The cells are made from the thresholds that the file has, without secateur: one number from each interval between two of
them, each threshold with its neighbours, and a missing value where the library takes one.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess

import command
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier

import secateur

SEEDS = range(3)


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (200, 3)).astype(float)
    y = (X[:, 0] + 2 * X[:, 1] - X[:, 2] + rng.normal(0, 1, 200) > 6).astype(int)
    return X, y


def xgb(seed):
    X, y = data(seed)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=2, random_state=seed, n_jobs=1).fit(X, y)
    return model, lambda rows: model.predict(rows, output_margin=True), model.predict, True


def xgb_monotone(seed):
    X, y = data(seed)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=2, random_state=seed, n_jobs=1, monotone_constraints=(1, 1, -1)).fit(X, y)
    return model, lambda rows: model.predict(rows, output_margin=True), model.predict, True


def xgb_three(seed):
    X, y = data(seed)
    y = y + (X[:, 2] > 3)
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, random_state=seed, n_jobs=1).fit(X, y)
    return model, lambda rows: model.predict(rows, output_margin=True), model.predict, True


def lgb(seed):
    X, y = data(seed)
    model = lightgbm.LGBMClassifier(n_estimators=6, num_leaves=4, min_child_samples=5, random_state=seed, verbose=-1).fit(X, y)
    return model, lambda rows: model.predict(rows, raw_score=True), model.predict, True


def hist(seed):
    X, y = data(seed)
    model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=4, random_state=seed).fit(X, y)
    return model, model.decision_function, model.predict, True


def regressor(seed):
    X, y = data(seed)
    model = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=seed).fit(X, X[:, 0] - X[:, 1] * X[:, 2])
    return model, model.predict, None, False


def forest(seed):
    X, y = data(seed)
    model = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=seed).fit(X, y)
    return model, lambda rows: model.predict_proba(rows), model.predict, True


FAMILIES = [xgb, xgb_monotone, xgb_three, lgb, hist, regressor, forest]


def cells(missing: bool) -> np.ndarray:
    """A row of every cell: the data are whole numbers, so that thresholds are near the halves or at whole numbers."""
    values = sorted({value for whole in range(-1, 7) for value in (whole, whole + 0.25, whole + 0.5, whole + 0.75)})
    values = [float(value) for value in values][::2] + ([np.nan] if missing else [])
    return np.array(list(itertools.product(values, repeat=3)))


def case(family, seed):
    model, raw, predict, missing = family(seed)
    rows = cells(missing)
    scores = np.asarray(raw(rows), dtype=float).reshape(len(rows), -1)
    return model, raw, predict, rows, scores


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_range_is_that_of_every_cell(family, seed):
    model, raw, _, rows, scores = case(family, seed)
    answer = secateur.ask(model).range()
    assert answer.proved is True and answer.checked and bool(answer)
    least, most = np.atleast_1d(answer.at_least), np.atleast_1d(answer.at_most)
    assert (least <= scores.min(axis=0)).all() and (scores.max(axis=0) <= most).all()
    # What is shown is what the library computes.
    shown = np.asarray(raw(np.array(answer.rows)), dtype=float).reshape(len(answer.rows), -1)
    if family is not forest:
        assert (shown == np.array(answer.scores)).all()
        assert (shown[0::2].diagonal() <= scores.min(axis=0)).all() and (shown[1::2].diagonal() >= scores.max(axis=0)).all()
    limited = secateur.ask(model).range(at_most=float(scores.max()) - 1e-3)
    assert limited.proved is False and not limited
    assert np.asarray(raw(limited.rows[0].reshape(1, -1)), dtype=float).max() > scores.max() - 1e-3


def pairs(rows: np.ndarray, column: int) -> np.ndarray:
    """The positions of the rows by what they have elsewhere; the last axis goes through the column."""
    count = len(np.unique(np.nan_to_num(rows[:, column], nan=1e9)))
    others = [c for c in range(3) if c != column]
    order = np.lexsort((np.nan_to_num(rows[:, column], nan=1e9), *(np.nan_to_num(rows[:, c], nan=1e9) for c in others)))
    return order.reshape(-1, count)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_column_moves_the_score_as_far_as_in_any_two_cells(family, seed):
    model, raw, predict, rows, scores = case(family, seed)
    for column in range(3):
        groups = scores[pairs(rows, column)]
        truth = (groups.max(axis=1) - groups.min(axis=1)).max()
        answer = secateur.ask(model).moves(column)
        assert answer.proved is True and answer.checked
        assert truth <= answer.at_most + 1e-12 and answer.at_most <= truth + 1e-4
        before, after = answer.rows
        others = [other for other in range(3) if other != column]
        assert np.array_equal(before[others], after[others], equal_nan=True)
        told = np.asarray(raw(np.array([before, after])), dtype=float).reshape(2, -1)
        assert abs(told[1] - told[0]).max() >= answer.at_least - 1e-12 >= truth - 1e-4
        assert secateur.ask(model).moves(column, at_most=float(answer.at_most) + 0.01).proved is True
        if truth > 0.1:
            assert secateur.ask(model).moves(column, at_most=float(truth) / 2).proved is False
        if predict is not None:
            decided = predict(rows)[pairs(rows, column)]
            keeps = secateur.ask(model).keeps(column)
            if keeps.proved is True:
                assert (decided == decided[:, :1]).all()
            elif keeps.proved is False:
                first, second = predict(np.array(keeps.rows))
                assert first != second


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_monotone_is_what_every_cell_says(family, seed):
    model, raw, _, rows, scores = case(family, seed)
    outputs = scores.shape[1]
    for column, direction in itertools.product(range(3), ("up", "down")):
        of = None if outputs == 1 else 0
        answer = secateur.ask(model).monotone(column, direction, of=of)
        numbers = pairs(rows, column)
        if np.isnan(rows).any():
            numbers = numbers[:, :-1]
        steps = np.diff(scores[numbers][:, :, 0], axis=1)
        truth = (steps >= 0).all() if direction == "up" else (steps <= 0).all()
        if answer.proved is True:
            assert answer.checked and (truth if answer.bits else abs(steps).max() < 1e-6 or truth)
        elif answer.proved is False:
            low, high = np.asarray(raw(np.array(answer.rows)), dtype=float).reshape(2, -1)[:, 0]
            assert answer.rows[0][column] < answer.rows[1][column]
            assert (high < low) if direction == "up" else (high > low)
        if family is xgb_monotone and direction == ("down" if column == 2 else "up"):
            assert answer.proved is True and answer.bits is True


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [family for family in FAMILIES if family is not regressor])
def test_classes_are_those_of_every_cell(family, seed):
    model, _, predict, rows, _ = case(family, seed)
    for kind, when in [
        ("all", None),
        ("high", {"0": {"min": 4}, "1": {"min": 4}, "2": {"max": 1}}),
        ("low", {"0": {"max": 1}, "1": {"max": 1}}),
    ]:
        inside = np.ones(len(rows), bool)
        for column, limits in (when or {}).items():
            values = rows[:, int(column)]
            inside &= (values >= limits.get("min", -np.inf)) & (values <= limits.get("max", np.inf))
        decided = set(predict(rows[inside]))
        for never in model.classes_:
            answer = secateur.ask(model).decides(never=never, when=when)
            if answer.proved is True:
                assert never not in decided, kind
            elif answer.proved is False:
                assert predict(answer.rows[0].reshape(1, -1))[0] == never
                assert answer.classes[0] == str(never)
            else:
                assert family is forest


def number(name: str) -> int:
    """Which column a made-up name stands for."""
    return int(re.search(r"[0-9]+$", name).group())


CLASSIFIERS = [family for family in FAMILIES if family is not regressor]


def edges(single: bool) -> list[float]:
    """Every double next to a possible threshold: halves and whole numbers, and those a bit above. A library that rounds to
    f32 takes doubles for another number from halfway between two f32 on.
    """
    values = set()
    for half in range(-2, 15):
        place = half / 2
        near = np.float32(place)
        places = [place]
        if single:
            places += [(float(near) + float(np.nextafter(near, np.float32(side)))) / 2 for side in (-99, 99)]
        for own in places:
            for value in (own, np.nextafter(own, 99), np.nextafter(own, -99)):
                values.update([float(value), float(np.nextafter(value, 99))])
    return sorted(values)


def around(row: np.ndarray, columns: list[int], family) -> np.ndarray:
    """The row with any two of these columns changed to such numbers, and missing where it is."""
    found = [row.reshape(1, -1)]
    numbers = edges(family not in (lgb, hist))
    for chosen in itertools.combinations(columns, min(2, len(columns))):
        grid = np.array(list(itertools.product(*([row[c]] if np.isnan(row[c]) else numbers for c in chosen))))
        rows = np.repeat(row.reshape(1, -1), len(grid), axis=0)
        rows[:, list(chosen)] = grid
        found.append(rows)
    return np.vstack(found)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_a_row_is_robust_as_far_as_every_input_near_it(family, seed):
    model, _, predict, _, _ = case(family, seed)
    X = data(seed)[0][:6]
    if family is not forest:
        X[1, 2] = np.nan
    questions = secateur.ask(model)
    for row in X:
        label = predict(row.reshape(1, -1))[0]
        near = around(row, [0, 1], family)
        far = np.nan_to_num(abs(near - row)[:, :2] / [1.0, 0.5])
        decided = predict(near)
        answer = questions.robust(row.reshape(1, -1), units={"0": 1.0, "1": 0.5})
        (found,) = answer.cases
        if answer.proved is None:
            assert family is forest
            continue
        assert answer.checked and found.exact and str(found.label) == str(label)
        others = far[decided != label].max(axis=1)
        if np.isinf(found.at_least):
            assert len(others) == 0 and found.at_most is None
        else:
            # No input is nearer, and the row that is shown is as far as it is said to be.
            assert others.min() >= found.at_least > 0
            assert others.min() <= found.at_most
            before, after = found.rows
            assert np.array_equal(before, row, equal_nan=True) and predict(after.reshape(1, -1))[0] != label
            assert found.at_least <= np.nanmax(abs(after - row)[:2] / [1.0, 0.5]) <= found.at_most
            assert np.array_equal(after[2:], row[2:], equal_nan=True)
        for within in ({0: 1, 1: 1}, {1: 0.25}, {0: 0, 1: 2}):
            limits = np.array([within.get(0, 0), within.get(1, 0)])
            inside = (np.nan_to_num(abs(near - row)[:, :2]) <= limits).all(axis=1)
            holds = bool((decided[inside] == label).all())
            answer = questions.robust(row.reshape(1, -1), within)
            assert answer.proved is holds or family is forest and answer.proved is None, (row, within)
            if answer.proved is False:
                after = answer.rows[1]
                assert predict(after.reshape(1, -1))[0] != label
                assert (np.nan_to_num(abs(after - row)[:2]) <= limits).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_a_reason_is_enough_on_every_cell_and_none_of_it_can_be_left_out(family, seed):
    model, _, predict, rows, _ = case(family, seed)
    X = data(seed)[0][:5]
    if family is not forest:
        X[1, 2] = np.nan
    decided = predict(rows)
    questions = secateur.ask(model)
    for row in X:
        label = predict(row.reshape(1, -1))[0]

        def enough(columns, row=row, label=label):
            free = np.repeat(row.reshape(1, -1), len(rows), axis=0)
            others = [c for c in range(3) if c not in columns]
            free[:, others] = rows[:, others]
            return (predict(free) == label).all()

        answer = questions.explain(row, widen=False)
        if answer.proved is None:
            assert family is forest
            continue
        (found,) = answer.cases
        kept = {number(name) for name in found.columns}
        assert answer.checked and enough(kept)
        if found.minimal:
            assert not any(enough(kept - {column}) for column in kept)
        smallest = questions.explain(row, smallest=True, widen=False).cases[0]
        least = min(len(columns) for size in range(4) for columns in itertools.combinations(range(3), size) if enough(columns))
        assert smallest.fewest <= least <= len(smallest.columns) <= len(kept)
        if family is not forest:
            assert found.minimal and smallest.fewest == least == len(smallest.columns)
        wide = questions.explain(row).cases[0]
        inside = np.ones(len(rows), bool)
        for name, limits in wide.columns.items():
            values = rows[:, number(name)]
            if limits is None:
                same = values == row[number(name)]
                inside &= same | np.isnan(values) & np.isnan(row[number(name)])
            else:
                low, high = (-np.inf if limits[0] is None else limits[0]), (np.inf if limits[1] is None else limits[1])
                inside &= (values >= low) & (values <= high)
                assert low <= row[number(name)] <= high
        assert (decided[inside] == label).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_no_input_of_another_class_is_nearer(family, seed):
    model, _, predict, _, _ = case(family, seed)
    X = data(seed)[0][:5]
    if family is not forest:
        X[1, 2] = np.nan
    questions = secateur.ask(model)
    weights = {"0": 1.0, "1": 0.25, "2": 3.0}
    weigh = np.array([1.0, 0.25, 3.0])
    for row in X:
        label = predict(row.reshape(1, -1))[0]
        for frozen, up, count in ([2], [], False), ([0], [1], False), ([1], [], True), ([0, 1], [], False):
            free = [c for c in range(3) if c not in frozen]
            near = around(row, free, family)
            near = near[[all(not other[c] < row[c] for c in up) for other in near]]
            differs = near != row
            differs &= ~(np.isnan(near) & np.isnan(row))
            far = np.where(differs, weigh if count else weigh * np.nan_to_num(abs(near - row)), 0).sum(axis=1)
            others = far[predict(near) != label]
            answer = questions.counterfactual(row, frozen=frozen, only_up=up, weights=weights, count=count)
            if answer.proved is None:
                assert family is forest
                continue
            (found,) = answer.cases
            assert answer.checked, answer.reason
            if found.distance is None:
                assert len(others) == 0 and len(found.rows) == 1
                continue
            assert abs(others.min() - found.distance) < 1e-12 * (1 + found.distance), (row, frozen, up, count)
            after = found.rows[1]
            assert predict(after.reshape(1, -1))[0] != label
            assert all(after[c] == row[c] or np.isnan(row[c]) for c in frozen) and all(after[c] >= row[c] for c in up)
            assert (np.isnan(after) == np.isnan(row)).all()


def test_rows_with_groups_and_categories(tmp_path):
    """One-hot columns change as one, and a category to any other that the domain has."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, 300)
    X = np.column_stack([rng.integers(0, 5, 300), *(colour == c for c in range(3))]).astype(float)
    y = ((X[:, 0] > 2) ^ (colour == 1)).astype(int)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, random_state=0, n_jobs=1).fit(X, y)
    group = {"kind": "one-hot", "columns": ["1", "2", "3"]}
    domain = secateur.Domain(missing=False, columns={"0": {"min": 0, "max": 4, "whole": True}}, groups=[group])
    every = np.array([[n, *(c == d for d in range(3))] for n in range(5) for c in range(3)], dtype=float)
    decided = model.predict(every)
    for row in every:
        label = model.predict(row.reshape(1, -1))[0]
        questions = secateur.ask(model, domain=domain)
        steps, group_differs = abs(every[:, 0] - row[0]), (every[:, 1:] != row[1:]).any(axis=1)
        far = steps * 0.5 + group_differs * 1.0
        found = questions.counterfactual(row, weights={"0": 0.5}).cases[0]
        assert found.distance == far[decided != label].min()
        assert (every == found.rows[1]).all(axis=1).any()
        found = questions.robust(row.reshape(1, -1), units={"0": 1, "1": 2, "2": 2, "3": 2}).cases[0]
        radius = np.maximum(steps, group_differs / 2)[decided != label].min()
        assert found.at_least == found.at_most == radius
        with pytest.raises(ValueError, match="same unit"):
            questions.robust(row.reshape(1, -1), units={"1": 1})
        for within, near in [
            ({"0": 2}, (steps <= 2) & ~group_differs),
            ({"1": 1, "2": 1, "3": 1}, steps == 0),
            ({"1": 1, "2": 1}, (steps == 0) & (every[:, 3] == row[3])),
            ({"1": 1}, (steps == 0) & ~group_differs),
        ]:
            answer = questions.robust(row.reshape(1, -1), within)
            assert answer.proved is bool((decided[near] == label).all()), (row, within)
        answer = questions.explain(row, widen=False)
        kept = {number(name) for name in answer.cases[0].columns}
        same = (every[:, sorted(kept)] == row[sorted(kept)]).all(axis=1)
        assert answer.proved and (decided[same] == label).all()
        assert kept & {1, 2, 3} in (set(), {1, 2, 3})


def test_rows_of_a_table_have_a_certificate_each(tmp_path):
    model, _, predict, _, _ = case(xgb, 0)
    path = tmp_path / "model.json"
    model.save_model(path)
    X = data(0)[0][:20]
    proof = tmp_path / "rows.cert"
    answer = secateur.ask(path).robust(X, {0: 1}, share=0.5, certificate=proof)
    assert answer.proved is True and answer.checked and len(answer.cases) == 20
    proved = [case for case in answer.cases if case.proved]
    assert 10 <= len(proved) < 20 and not proof.exists()
    for own in proved:
        assert own.certificate == str(tmp_path / f"rows-{own.row + 1}.cert")
        run = subprocess.run([command.binary("secateur-check"), str(path), own.certificate], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout
    assert secateur.ask(path).robust(X, {0: 1}, share=0.99).proved is False
    # The same in a rule, about the rows that come with the questions.
    (rule,) = secateur.ask(path, X).check([{"kind": "robust", "within": {"0": 1}, "share": 0.5}])
    assert rule.proved is True
    near = tmp_path / "near.cert"
    answer = secateur.ask(path).counterfactual(X[0], certificate=near)
    assert answer.proved is True and answer.certificate == str(near)
    run = subprocess.run([command.binary("secateur-check"), str(path), str(near)], capture_output=True, text=True)
    assert run.returncode == 0 and "nearer" in run.stdout, run.stdout
    run = subprocess.run([command.binary("secateur-check"), str(path), str(near), "--every-input"], capture_output=True, text=True)
    assert run.returncode == 1, run.stdout


def test_a_threshold_of_ones_own_is_what_rows_are_judged_by():
    model, raw, _, rows, scores = case(lgb, 0)
    probability = model.predict_proba(rows)[:, 1]
    row = rows[np.argsort(abs(probability - 0.6))[len(rows) // 3]]
    high = model.predict_proba(row.reshape(1, -1))[0, 1] >= 0.8
    answer = secateur.ask(model, threshold=0.8).explain(row, widen=False)
    kept = {number(name) for name in answer.cases[0].columns}
    free = np.repeat(row.reshape(1, -1), len(rows), axis=0)
    others = [c for c in range(3) if c not in kept]
    free[:, others] = rows[:, others]
    assert answer.proved is True and ((model.predict_proba(free)[:, 1] >= 0.8) == high).all()
    found = secateur.ask(model, threshold=0.8).counterfactual(row)
    if found.cases[0].distance is not None:
        assert (model.predict_proba(found.rows[1].reshape(1, -1))[0, 1] >= 0.8) != high


def test_rows_of_no_class_are_refused():
    model, *_ = case(regressor, 0)
    questions = secateur.ask(model)
    for ask in (lambda: questions.robust(np.zeros((1, 3)), {0: 1}), lambda: questions.explain(np.zeros(3)), lambda: questions.counterfactual(np.zeros(3))):
        with pytest.raises(ValueError, match="ask instead"):
            ask()
    model, *_ = case(xgb, 0)
    questions = secateur.ask(model)
    for given, match in [
        ({}, "one of them"),
        ({"within": {0: 1}, "units": {0: 1}}, "one of them"),
        ({"within": {0: -1}}, "no change"),
        ({"within": {9: 1}}, "no column"),
        ({"units": {0: 0}}, "no change"),
        ({"within": {0: 1}, "share": 2}, "no share"),
    ]:
        with pytest.raises(ValueError, match=match):
            questions.robust(np.zeros((1, 3)), **given)
    with pytest.raises(ValueError, match="infinite"):
        questions.robust(np.array([[0.0, np.inf, 0.0]]), {0: 1})
    with pytest.raises(ValueError, match="no weight"):
        questions.counterfactual(np.zeros(3), weights={0: -1})
    with pytest.raises(ValueError, match="already"):
        questions.counterfactual(np.zeros(3), to=int(model.predict(np.zeros((1, 3)))[0]))
    with pytest.raises(secateur.OptionError):
        questions.explain(np.zeros((2, 3)))
    answer = secateur.ask(model, time_limit=0.0).counterfactual(np.zeros(3))
    assert answer.proved is None and answer.reason is not None


def test_rules_and_the_checker(tmp_path):
    model, raw, _, rows, _ = case(xgb_monotone, 0)
    path = tmp_path / "model.json"
    model.save_model(path)
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nkind = "monotone"\ncolumn = 0\ndirection = "up"\n\n[[rule]]\nkind = "range"\n\n'
        '[[rule]]\nkind = "decides"\nnever = 1\nwhen = { 0 = { max = 0 }, 1 = { max = 0 }, 2 = { min = 5 } }\n'
    )
    answers = secateur.ask(path).check(rules)
    assert [answer.question for answer in answers] == ["monotone", "range", "decides"]
    assert answers[0].proved is True
    proof = tmp_path / "range.cert"
    answer = secateur.ask(path).range(certificate=proof)
    assert answer.certificate == str(proof) and proof.exists()
    run = subprocess.run([command.binary("secateur-check"), str(path), str(proof)], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.startswith("valid: raw score 0"), run.stderr
    other, *_ = case(xgb, 1)
    other.save_model(tmp_path / "other.json")
    run = subprocess.run([command.binary("secateur-check"), str(tmp_path / "other.json"), str(proof)], capture_output=True, text=True)
    assert run.returncode == 1 and "digest" in run.stdout
    assert json.loads(json.dumps(answer.to_dict()))["outcome"] == "proved"
    assert str(answer).startswith("range: proved\n")


def test_domains_are_those_of_both_rows():
    """A one-hot group moves as one, and both rows are in the domain."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, 300)
    X = np.column_stack([rng.integers(0, 5, 300), *(colour == c for c in range(3))]).astype(float)
    y = ((X[:, 0] > 2) ^ (colour == 1)).astype(int)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, random_state=0, n_jobs=1).fit(X, y)
    group = {"kind": "one-hot", "columns": ["1", "2", "3"]}
    domain = secateur.Domain(missing=False, columns={"0": {"min": 0, "max": 4, "whole": True}}, groups=[group])
    questions = secateur.ask(model, domain=domain)
    with pytest.raises(ValueError, match="go together"):
        questions.moves(1)
    answer = questions.moves([1, 2, 3])
    every = np.array([[n, *(c == d for d in range(3))] for n in range(5) for c in range(3)], dtype=float)
    scores = model.predict(every, output_margin=True).reshape(5, 3)
    truth = (scores.max(axis=1) - scores.min(axis=1)).max()
    assert answer.proved is True and truth <= answer.at_most <= truth + 1e-4
    for row in answer.rows:
        assert row[1:].sum() == 1 and set(row[1:]) == {0.0, 1.0} and 0 <= row[0] <= 4
    assert questions.keeps([1, 2, 3]).proved is False
    assert questions.decides(never=0, when={"0": {"values": [4]}, "2": {"values": [0]}}).proved in (True, False)


def test_what_cannot_be_asked_says_why():
    model, *_ = case(xgb, 0)
    questions = secateur.ask(model)
    with pytest.raises(ValueError, match="no column"):
        questions.moves("nothing")
    with pytest.raises(ValueError, match="no class"):
        questions.decides("maybe")
    with pytest.raises(secateur.OptionError):
        questions.monotone(0, "sideways")
    with pytest.raises(ValueError, match="no kind"):
        questions.check([{"kind": "stable"}])
    answer = secateur.ask(model, time_limit=0.0).range(at_most=0.0)
    assert answer.proved is None and answer.reason is not None
    with pytest.raises(TypeError, match="open"):
        bool(answer)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [family for family in FAMILIES if family is not regressor])
def test_the_idle_columns_are_those_that_change_no_decision_in_any_cell(family, seed):
    model, _, predict, rows, _ = case(family, seed)
    for domain, kept in [(None, rows), (secateur.Domain(missing=False, columns={"0": {"min": 4}}), rows[(rows[:, 0] >= 4) & ~np.isnan(rows).any(axis=1)])]:
        answer = secateur.ask(model, domain=domain).idle()
        assert answer.proved is True
        facts = answer.to_dict()["idle"]
        decided = predict(kept)
        for column in range(3):
            groups = decided[pairs(kept, column)]
            changes = (groups != groups[:, :1]).any()
            own = [unit for unit in facts if unit["columns"] == [f"f{column}"] or unit["columns"] == [f"Column_{column}"]]
            name = own[0]["columns"][0] if own else None
            assert (own[0]["outcome"] == "refuted" if own else False) == changes, (column, facts)
            assert (name in answer.columns) == (bool(own) and not changes)
        assert answer.checked == bool(answer.columns)
        for unit in (unit for unit in facts if unit["outcome"] == "refuted"):
            before, after = (np.array([[np.nan if value is None else float(value) for value in row["input"].values()]]) for row in unit["rows"])
            assert predict(before)[0] != predict(after)[0]
            column = [f"f{at}" for at in range(3)].index(unit["columns"][0]) if unit["columns"][0][0] == "f" else int(unit["columns"][0][-1])
            same = [at for at in range(3) if at != column]
            assert np.array_equal(before[:, same], after[:, same], equal_nan=True)
