"""What changed between two versions, judged by the library itself on every cell of small models."""

from __future__ import annotations

import copy
import json
import subprocess

import command
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from test_ask import cells, data

import secateur

SEEDS = range(2)


def xgb(X, y, seed, more):
    model = xgboost.XGBClassifier(n_estimators=5 + more, max_depth=2, random_state=seed, n_jobs=1).fit(X, y)
    return model, lambda rows: model.predict(rows, output_margin=True), True


def xgb_three(X, y, seed, more):
    y = y + (X[:, 2] > 3)
    model = xgboost.XGBClassifier(n_estimators=3 + more, max_depth=2, random_state=seed, n_jobs=1).fit(X, y)
    return model, lambda rows: model.predict(rows, output_margin=True), True


def lgb(X, y, seed, more):
    model = lightgbm.LGBMClassifier(n_estimators=5 + more, num_leaves=4, min_child_samples=5, random_state=seed, verbose=-1).fit(X, y)
    return model, lambda rows: model.predict(rows, raw_score=True), True


def hist(X, y, seed, more):
    model = HistGradientBoostingClassifier(max_iter=5 + more, max_leaf_nodes=4, random_state=seed).fit(X, y)
    return model, model.decision_function, True


def gradient(X, y, seed, more):
    model = GradientBoostingClassifier(n_estimators=5 + more, max_depth=2, random_state=seed).fit(X, np.array(["no", "yes"])[y])
    return model, model.decision_function, False


def forest(X, y, seed, more):
    model = RandomForestClassifier(n_estimators=5 + more, max_depth=2, random_state=seed).fit(X, y)
    return model, lambda rows: model.predict_proba(rows), True


def regressor(X, y, seed, more):
    model = GradientBoostingRegressor(n_estimators=5 + more, max_depth=2, random_state=seed).fit(X, X[:, 0] - X[:, 1] * y)
    return model, model.predict, False


FAMILIES = [xgb, xgb_three, lgb, hist, gradient, forest, regressor]


def versions(family, seed, change):
    X, y = data(seed)
    old = family(X, y, seed, 0)
    rows = slice(None, 150) if change == "other rows" else slice(None)
    new = family(X[rows], y[rows], seed, 1 if change == "one tree more" else 0)
    return old, new, X


def of(raw, rows):
    return np.asarray(raw(rows), dtype=float).reshape(len(rows), -1)


def leads(scores):
    """The distance from zero of a single score, else that of the first score to the second."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


@pytest.mark.parametrize("change", ["one tree more", "other rows"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_cell_keeps_to_the_bounds(family, seed, change):
    (old, before, missing), (new, after, _), X = versions(family, seed, change)
    rows = cells(missing)
    found = secateur.diff(old, new, X, time_limit=None, threads=1)
    assert found.proved is True, str(found)
    ours, theirs = of(before, rows), of(after, rows)
    moved = np.abs(ours - theirs).max()
    assert found.at_least <= moved * (1 + 1e-12) + 1e-12 and moved <= found.at_most
    # The cells have every row that the models can tell apart, so that the row shown is one of the farthest.
    assert found.at_most - found.at_least < 1e-3 * max(1.0, found.at_most)
    shown = found.input.reshape(1, -1)
    if family is not forest:
        assert np.abs(of(before, shown) - of(after, shown)).max() >= found.at_least
    # The table, by the library alone.
    assert found.rows == len(X) and found.largest_move == pytest.approx(np.abs(of(before, X) - of(after, X)).max())
    assert found.moved == pytest.approx((np.abs(of(before, X) - of(after, X)) > 0).any(axis=1).sum(), abs=2 if family is forest else 0)
    if family is regressor:
        assert found.changed is None and found.keeps_above is None
        assert list(found.changed_at) == sorted(found.changed_at, key=lambda at: (-abs(before(X[at : at + 1]) - after(X[at : at + 1]))[0], at))
        return
    flips = old.predict(X) != new.predict(X)
    assert found.changed == flips.sum()
    assert list(found.changed_at) == list(np.flatnonzero(flips)[:10])
    flips, lead = old.predict(rows) != new.predict(rows), leads(ours)
    assert not (flips & (lead > found.keeps_above)).any()
    if flips.any():
        # A smaller bound than a hundredth below it would be wrong.
        assert found.changes_at == pytest.approx(lead[flips].max(), rel=0.02, abs=1e-6)
        assert found.keeps_above <= found.changes_at * 1.02 + 1e-4
        row = found.changed_input.reshape(1, -1)
        assert old.predict(row)[0] != new.predict(row)[0]
    else:
        assert found.keeps_above < 1e-3


def test_a_change_of_one_leaf_is_found_in_its_tree():
    (old, before, _), _, X = versions(lgb, 0, "other rows")
    text = old.booster_.model_to_string()
    tree = text.index("Tree=3")
    at = text.index("leaf_value=", tree) + len("leaf_value=")
    values = text[at : text.index("\n", at)].split(" ")
    values[1] = repr(float(values[1]) + 0.25)
    changed = text[:at] + " ".join(values) + text[text.index("\n", at) :]
    changed = changed[changed.index("tree_sizes") :] and _without_sizes(changed)
    new = lightgbm.Booster(model_str=changed)
    found = secateur.diff(old.booster_, new, X)
    assert found.proved is True and found.trees_changed == (3,)
    assert found.at_most == pytest.approx(0.25) and found.keeps_above <= 0.2501
    apart = np.abs(new.predict(X, raw_score=True) - old.predict(X, raw_score=True))
    assert found.moved == (apart > 0).sum() > 0
    facts = found.to_dict()
    for row in facts["rows"]["first"]:
        (tree,) = row["trees"]
        assert tree["tree"] == 3 and tree["values"][1] - tree["values"][0] == pytest.approx(0.25)
        assert set(tree["columns"]) <= set(old.booster_.feature_name())


def _without_sizes(text):
    """LightGBM reads trees by these sizes where they are given."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("tree_sizes="))


def test_a_model_and_itself():
    (old, _, _), _, X = versions(xgb, 0, "other rows")
    found = secateur.diff(old, copy.deepcopy(old), X)
    assert (found.proved, found.at_most, found.keeps_above, found.changed, found.trees_changed) == (True, 0.0, 0.0, 0, ())
    with pytest.raises(TypeError, match="changed"):
        bool(found)


def test_the_command_says_the_same_and_the_checker_agrees(tmp_path):
    (old, _, _), (new, _, _), X = versions(xgb, 1, "one tree more")
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for model, path in zip((old, new), paths):
        model.save_model(path)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c", comments="")
    run = subprocess.run(
        [command.binary(), "diff", *paths, "--data", tmp_path / "t.csv", "--json", "-q", "--threads", "1"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    own = secateur.diff(*paths, X, threads=1, certificate=tmp_path / "d.cert")
    theirs, ours = json.loads(run.stdout), own.to_dict()
    for key in ("seconds", "certificates"):
        theirs.pop(key), ours.pop(key)
    assert theirs == ours
    for name, place in zip(("scores", "decisions"), own.certificates):
        assert place is None or place == str(tmp_path / f"d-{name}.cert")
    secateur.check(*paths, own.certificates[0])
    for place in filter(None, own.certificates):
        assert subprocess.run([command.binary("secateur-check"), *paths, place], capture_output=True).returncode == 0


def test_a_threshold_of_the_user(tmp_path):
    (old, _, _), (new, _, _), X = versions(xgb, 0, "other rows")
    found = secateur.diff(old, new, X, threshold=0.2)
    flips = (old.predict_proba(X)[:, 1] >= 0.2) != (new.predict_proba(X)[:, 1] >= 0.2)
    assert found.proved is True and found.changed == flips.sum()
    rows = cells(True)
    flips = (old.predict_proba(rows)[:, 1] >= 0.2) != (new.predict_proba(rows)[:, 1] >= 0.2)
    lead = np.abs(old.predict(rows, output_margin=True) - np.log(0.2 / 0.8))
    assert not (flips & (lead > found.keeps_above + 1e-5)).any() and flips.any()


def test_rows_that_a_library_refuses_and_rows_outside_of_the_domain_are_told_apart():
    (old, _, _), (new, _, _), X = versions(gradient, 0, "other rows")
    rows = np.vstack([X, [[np.nan, 1, 1]], [[np.inf, 1, 1]]])
    found = secateur.diff(old, new, rows, domain=secateur.Domain(columns={"0": {"max": 3}}))
    facts = found.to_dict()["rows"]
    assert (facts["count"], facts["refused"]) == (len(X), 2)
    assert facts["outside_domain"]["rows"] == (X[:, 0] > 3).sum()
    assert "on every input of the domain" in found.sentence


def test_a_search_without_time_says_so():
    (old, _, _), (new, _, _), X = versions(xgb, 0, "other rows")
    found = secateur.diff(old, new, X, time_limit=0.0)
    assert found.proved is None and found.changed is not None and "open" in str(found).splitlines()[0]


def test_models_that_cannot_be_compared_are_refused():
    (old, _, _), _, _ = versions(xgb, 0, "other rows")
    (three, _, _), _, _ = versions(xgb_three, 0, "other rows")
    with pytest.raises(secateur.ComparisonError):
        secateur.diff(old, three)
