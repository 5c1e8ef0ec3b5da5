"""Where one question can be asked in two ways, the answers are the same.

For every family: a model as an object and as its file; the package and the command line; what `prune` calls proved and what
`verify` says; what the search proves and what the checker accepts.
"""

from __future__ import annotations

import json
import pathlib
import subprocess

import numpy as np
import pytest
from command import binary
from prunable import CASES, COLORS, case, saved_and_loaded

import secateur

# A pipeline is an object alone: its file would be that of its last step.
FAMILIES = [name for name in CASES if name != "Pipeline"]


def command(*words: object, cwd: pathlib.Path) -> tuple[int, dict]:
    ran = subprocess.run([binary(), *map(str, words), "--json"], cwd=cwd, capture_output=True, text=True)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {"stderr": ran.stderr}


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    return request.param, case(request.param), saved_and_loaded(case(request.param).model, folder)[1], folder


def test_object_and_file_are_one_model(family):
    _, drawn, path, _ = family
    ours, theirs = secateur.load(drawn.model), secateur.load(path)
    rows = np.vstack([drawn.train, drawn.test]).astype(np.float64)
    assert np.array_equal(ours.raw_scores(rows), theirs.raw_scores(rows))
    assert np.array_equal(ours.class_indices(rows), theirs.class_indices(rows))
    assert secateur.verify(drawn.model, path, band=0, threads=1).outcome == "identical"
    assert secateur.verify(path, drawn.model, band=0, threads=1).outcome == "identical"


def test_package_and_command_line_prune_alike(family):
    _, _, path, folder = family
    for number, settings in enumerate([{}, {"effort": "fast", "band": 0.2}, {"moves": "weights", "objective": "leaves"}]):
        out = folder / f"pruned-{number}{path.suffix}"
        words = [word for key, value in settings.items() for word in (f"--{key}", value)]
        code, printed = command("prune", path, "-o", out, "--threads", 1, *words, cwd=folder)
        assert code == 0, printed
        result = secateur.prune(path, threads=1, **settings)
        told = result.to_dict()
        sizes = ("trees", "leaves", "lower_bound", "minimal", "irreducible")
        for key in ("outcome", "cut_short", "scope", "oracle_calls", "points", *sizes):
            assert printed[key] == told[key], key
        assert printed["band"]["score"] == told["band"]["score"]
        assert result.model.to_bytes() == out.read_bytes()


def test_what_is_pruned_is_verified_and_checked(family):
    _, drawn, path, folder = family
    out, proof = folder / f"verified{path.suffix}", folder / "verified.certificate"
    code, printed = command("prune", path, "-o", out, "--certificate", proof, "--threads", 1, cwd=folder)
    assert code == 0, printed
    band = printed["band"]["score"]
    # prune and verify, package and command line.
    assert secateur.verify(path, out, band=band, threads=1).outcome == "identical"
    code, verified = command("verify", path, out, "--band", band, "--threads", 1, cwd=folder)
    assert (code, verified["outcome"]) == (0, "identical")
    # search and checker, the same two ways; the package's certificate of the same files too.
    claim = secateur.check(path, out, proof)
    ran = subprocess.run([binary("secateur-check"), path, out, proof, "--json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["claim"] == claim
    assert claim["band"]["score"] == band
    again = folder / "again.certificate"
    code, verified = command("verify", path, out, "--band", band, "--certificate", again, "--threads", 1, cwd=folder)
    assert (code, verified["outcome"]) == (0, "identical")
    assert secateur.check(path, out, again)["pruned"] == claim["pruned"]


def test_a_changed_model_is_told_apart_in_every_way(family):
    _, drawn, path, folder = family
    model = secateur.load(path)
    try:
        changed = model.edit([(tree, 1.0 if tree else -3.0) for tree in range(model.tree_count)])
    except secateur.EditingError:
        # Votes have no negative weights.
        changed = model.edit([(tree, None) for tree in range(1, model.tree_count)])
    other = folder / f"changed{path.suffix}"
    other.write_bytes(changed.to_bytes())
    for first, second in ((path, other), (other, path)):
        answer = secateur.verify(first, second, threads=1)
        code, printed = command("verify", first, second, "--threads", 1, cwd=folder)
        assert printed["outcome"] == answer.outcome
        assert code == {"identical": 0, "different": 1, "undecided": 3}[answer.outcome]
        if answer.different:
            # The same input, and the two models do differ there.
            row = answer.counterexample.reshape(1, -1)
            values = [np.nan if value is None else float(value) for value in printed["counterexample"]["input"].values()]
            assert np.array_equal(row[0], np.array(values), equal_nan=True)
            classes = [secateur.load(file).class_indices(row)[0] for file in (first, second)]
            assert classes[0] != classes[1]


def test_predictions_of_command_and_package_are_the_same(family):
    _, drawn, path, folder = family
    model = secateur.load(path)
    table = folder / "rows.csv"
    names = model.feature_names
    rows = drawn.test.astype(np.float64)
    labels = model.category_labels()
    hashed = model.hashed_columns()
    words = {secateur.Model.category_hash(word): word for word in COLORS}
    cells = [
        [_cell(value, labels.get(column), words if column in hashed else None) for column, value in enumerate(row)]
        for row in rows
    ]
    table.write_text("\n".join(",".join(map(str, row)) for row in [names, *cells]) + "\n")
    ran = subprocess.run([binary(), "predict", path, "--data", table, "--raw"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    printed = np.array([[float(score) for score in line.split(",")] for line in ran.stdout.splitlines()[1:]])
    # Scores are printed as short as their own number type allows.
    number = np.float32 if json.loads(model.describe(None, None)[0])["scores"]["number"] == "f32" else np.float64
    scores = np.asarray(model.raw_scores(rows), dtype=np.float64).reshape(printed.shape)
    assert np.array_equal(printed.astype(number), scores.astype(number))
    assert np.array_equal(scores, scores.astype(number))


def _cell(value: float, labels: list[str] | None, words: dict[str, str] | None) -> str:
    if words is not None:
        return words[labels[int(value)]] if value < len(labels) else "unheard of"
    return repr(float(value)) if labels is None else labels[int(value)]


def test_sizes_name_the_trees_that_the_library_counts(tmp_path):
    """A round of a model of three classes is filled up with empty trees: the library counts them, sizes do not."""
    import lightgbm

    x, y = np.random.default_rng(3).normal(size=(300, 3)), np.arange(300) % 3
    x[:, 0] += y
    fitted = lightgbm.LGBMClassifier(n_estimators=12, num_leaves=4, verbose=-1).fit(x, y)
    path, out = tmp_path / "three.txt", tmp_path / "fewer.txt"
    fitted.booster_.save_model(path)
    code, printed = command("prune", path, "-o", out, "--threads", 1, "--band", 0.5, cwd=tmp_path)
    assert code == 0, printed
    sizes, counted = printed["trees"], lightgbm.Booster(model_file=out).num_trees()
    assert sizes["empty"] > 0 and sizes["after"] + sizes["empty"] == counted
    result = secateur.prune(path, threads=1, band=0.5)
    assert (result.trees_after, result.trees_empty) == (sizes["after"], sizes["empty"])
    assert f"{counted}, {sizes['empty']} of them empty" in str(result)
    code, inspected = command("inspect", out, cwd=tmp_path)
    assert (inspected["trees"], inspected["empty_trees"]) == (counted, sizes["empty"])
