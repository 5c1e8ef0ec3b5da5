"""skops archives of pipelines and of LightGBM's models: the libraries judge what comes back."""

import functools
import io
import json
import re
import subprocess
import zipfile

import command
import lightgbm
import numpy as np
import pandas
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)


def dumped(model, path):
    skops.io.dump(model, path)
    return path


def loaded(path):
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


def hostile(X, count=3000, seed=0):
    """Rows far from, near and between those of the data."""
    rng = np.random.default_rng(seed)
    mixed = np.stack([rng.permuted(column) for column in np.tile(X, (count // len(X) + 1, 1)).T], axis=1)[:count]
    return np.concatenate([X, mixed, mixed * rng.uniform(-2, 3, mixed.shape)])


def steps(kind):
    return {
        "scaler": lambda: [StandardScaler()],
        "bins": lambda: [MinMaxScaler(), KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")],
        "columns": lambda: [
            ColumnTransformer([("first", StandardScaler(), [0, 1, 2]), ("rest", "passthrough", slice(3, 8))]),
            FunctionTransformer(np.abs),
        ],
    }[kind]()


LAST = {
    "forest": lambda: RandomForestClassifier(12, max_depth=3, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(n_estimators=25, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=4),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=12, num_leaves=4, verbose=-1),
}


@pytest.mark.parametrize("before", ["scaler", "bins", "columns"])
@pytest.mark.parametrize("last", LAST)
def test_a_pipeline_is_pruned_in_its_file_and_decides_the_same(before, last, tmp_path):
    X, y = WINE if last in ("forest", "histogram", "lightgbm") else CANCER
    labels = np.array([f"class {value}" for value in y])
    pipeline = make_pipeline(*steps(before), LAST[last]()).fit(X, labels)
    source = dumped(pipeline, tmp_path / "model.skops")
    result = secateur.prune(source, time_limit=20, certificate=tmp_path / "proof")
    assert result.checked
    result.model.save(tmp_path / "pruned.skops")
    pruned = loaded(tmp_path / "pruned.skops")
    rows = hostile(X)
    assert (pruned.predict(rows) == pipeline.predict(rows)).all()
    assert [name for name, _ in pruned.steps] == [name for name, _ in pipeline.steps]
    assert (np.asarray(pruned[:-1].transform(rows)) == np.asarray(pipeline[:-1].transform(rows))).all()
    if last in ("adaboost", "lightgbm"):
        assert result.trees_after < result.trees_before
    # The step alone gives the same model.
    alone = secateur.load(dumped(pipeline[-1], tmp_path / "alone.skops"))
    assert secateur.load(source).digest == alone.digest
    # Nothing is accepted of the same trees behind other steps.
    other = make_pipeline(StandardScaler(with_mean=False).fit(X[:, : X.shape[1]]), pruned[-1])
    other = dumped(other, tmp_path / "other.skops")
    ran = subprocess.run(
        [command.binary("secateur-check"), source, other, tmp_path / "proof"], capture_output=True, text=True
    )
    assert ran.returncode == 1 and "claim.steps" in ran.stdout + ran.stderr
    kept = subprocess.run(
        [command.binary("secateur-check"), source, tmp_path / "pruned.skops", tmp_path / "proof"], capture_output=True
    )
    assert kept.returncode == 0
    with pytest.raises(secateur.ComparisonError, match="steps"):
        secateur.verify(source, other)


def test_pipelines_are_compared_only_behind_equal_steps(tmp_path):
    X, y = CANCER
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), forest).fit(X, y)
    first = dumped(pipeline, tmp_path / "first.skops")
    again = dumped(loaded(first), tmp_path / "again.skops")
    assert secateur.verify(first, again).outcome == "identical"
    assert secateur.verify(first, again, scores=True).at_most < 1e-12
    near = loaded(first)
    near[0].mean_[3] = np.nextafter(near[0].mean_[3], np.inf)
    setting = loaded(first).set_params(standardscaler__with_std=False)
    for other in (near, setting, forest, Pipeline([("scaler", StandardScaler().fit(X)), ("forest", forest)])):
        path = dumped(other, tmp_path / "other.skops")
        for arguments in ({}, {"scores": True}):
            if isinstance(other, Pipeline) and other.steps[0][0] == "scaler":
                # Only what the steps are called differs.
                assert secateur.verify(first, path, **arguments).outcome in ("identical", "measured")
                continue
            with pytest.raises(secateur.ComparisonError, match="steps"):
                secateur.verify(first, path, **arguments)
    # A live pipeline is compared by its objects; the last step as it is.
    with pytest.raises(secateur.ComparisonError):
        secateur.verify(pipeline, first)
    step = dumped(make_pipeline(forest), tmp_path / "one_step.skops")
    assert secateur.verify(step, forest).outcome == "identical"
    assert (secateur.load(step).predict(X) == forest.predict(X)).all()


def test_a_table_of_a_pipelines_inputs_is_not_taken_for_its_last_steps(tmp_path):
    X, y = CANCER
    source = dumped(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, y), tmp_path / "model.skops")
    np.savetxt(tmp_path / "rows.csv", X[:50], delimiter=",")
    model = secateur.load(source)
    assert "standardscaler" in model.notes[0] and "last step of a pipeline" in model.dialect
    calls = [
        lambda: model.predict(X),
        lambda: model.raw_scores(X),
        lambda: secateur.prune(source, X),
        lambda: secateur.pack(source),
    ]
    for call in calls:
        with pytest.raises(secateur.SecateurError, match="pipeline"):
            call()
    for words in (
        ["predict", source, "--data", tmp_path / "rows.csv"],
        ["prune", source, "--data", tmp_path / "rows.csv", "-o", tmp_path / "out.skops"],
        ["pack", source, "-o", tmp_path / "out.spk"],
        ["pack", source, "-o", tmp_path / "out.c"],
    ):
        ran = subprocess.run([command.binary(), *words], capture_output=True, text=True)
        assert ran.returncode == 2 and "pipeline" in ran.stderr and "last step" in ran.stderr, ran.stderr
    assert not list(tmp_path.glob("out*"))
    shown = command.run("inspect", source, cwd=tmp_path)
    assert "standardscaler" in shown


def test_pipelines_that_cannot_be_read_say_why(tmp_path):
    X, y = CANCER
    nested = make_pipeline(StandardScaler(), make_pipeline(DecisionTreeClassifier(max_depth=2))).fit(X, y)
    with pytest.raises(secateur.SecateurError, match="pipeline inside a pipeline"):
        secateur.load(dumped(nested, tmp_path / "nested.skops"))
    with pytest.raises(secateur.SecateurError, match="does nothing"):
        secateur.load(dumped(Pipeline([("a", StandardScaler()), ("b", "passthrough")]).fit(X), tmp_path / "none.skops"))


def rewritten(path, change):
    """The archive with another schema."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                change(schema)
                data = json.dumps(schema).encode()
            new.writestr(name, data)
    return out.getvalue()


def test_steps_are_read_as_skops_reads_them(tmp_path):
    """A node whose id another, different one has is replaced by that one when skops loads it."""
    X, y = CANCER
    source = dumped(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, y), tmp_path / "model.skops")
    scaler = lambda schema: schema["content"]["content"]["steps"]["content"][0]["content"][1]["content"]["content"]

    def same_id(schema):
        fields = scaler(schema)
        fields["scale_"]["__id__"] = fields["mean_"]["__id__"]

    def refers(schema):
        scaler(schema)["scale_"] = {"__class__": "x", "__module__": "y", "__loader__": "CachedNode", "__id__": 1}

    def other_array(schema):
        fields = scaler(schema)
        fields["scale_"]["file"], fields["mean_"]["file"] = fields["mean_"]["file"], fields["scale_"]["file"]

    def new_ids(schema):
        fields = scaler(schema)
        fields["scale_"]["__id__"], fields["mean_"]["__id__"] = 3, 4

    for change in (same_id, refers):
        with pytest.raises(secateur.SecateurError, match="this object|CachedNode"):
            secateur.Model.parse(rewritten(source, change))
    (tmp_path / "other.skops").write_bytes(rewritten(source, other_array))
    with pytest.raises(secateur.ComparisonError, match="steps"):
        secateur.verify(source, tmp_path / "other.skops")
    (tmp_path / "ids.skops").write_bytes(rewritten(source, new_ids))
    assert secateur.verify(source, tmp_path / "ids.skops").outcome == "identical"


def test_steps_that_share_a_dtype_are_read(tmp_path):
    """skops saves the dtype that two imputers learned twice, under one number and in two members."""
    X, y = WINE
    numbers = ColumnTransformer([("mean", SimpleImputer(), [0, 1]), ("median", SimpleImputer(strategy="median"), [2, 3, 4])])
    fitted = make_pipeline(numbers, GradientBoostingClassifier(n_estimators=3, random_state=0)).fit(X, y)
    path = tmp_path / "imputed.skops"
    skops.io.dump(fitted, path)
    read = secateur.load(path)
    rows = fitted[:-1].transform(X)
    assert np.array_equal(secateur.load(fitted[-1]).raw_scores(rows), secateur.load(fitted).raw_scores(rows))
    assert secateur.verify(path, path).outcome == "identical" and read.tree_count == 9

    def dtypes(node, found):
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            if isinstance(value, dict) and value.get("__loader__") == "DTypeNode":
                found.append(value)
            dtypes(value, found)
        return found

    def other_bytes(schema):
        # The second one names an array that is no dtype, or another dtype.
        steps = schema["content"]["content"]["steps"]
        found = dtypes(steps, [])
        shared = [node for node in found if node["__id__"] == found[0]["__id__"]]
        assert len(shared) > 1
        arrays = json.dumps(steps["content"][1])
        shared[-1]["content"]["file"] = re.search(r'"file": "([^"]+)"', arrays)[1]

    with pytest.raises(secateur.SecateurError, match="this object is not equal") as refused:
        secateur.Model.parse(rewritten(path, other_bytes))
    assert "__id__" not in str(refused.value)


@functools.cache
def lightgbm_models():
    """One model of each kind, trained once for all tests."""
    X, y = WINE
    binary = np.where(y == 1, "one", "other")
    few = {"n_estimators": 6, "num_leaves": 4, "verbose": -1}
    stopped = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=5, verbose=-1).fit(X, binary)
    stopped.booster_.best_iteration = 13
    assert (stopped.predict_proba(X) == stopped.predict_proba(X, num_iteration=13)).all()
    assert not (stopped.predict_proba(X) == stopped.predict_proba(X, num_iteration=20)).all()
    return {
        "binary": lightgbm.LGBMClassifier(n_estimators=30, num_leaves=5, verbose=-1).fit(X, binary),
        "three": lightgbm.LGBMClassifier(n_estimators=10, num_leaves=4, verbose=-1).fit(X, y * 10),
        "ova": lightgbm.LGBMClassifier(objective="multiclassova", **few).fit(X, y),
        "regressor": lightgbm.LGBMRegressor(**few).fit(X, y),
        "ranker": lightgbm.LGBMRanker(**few).fit(X, y, group=[89, 89]),
        "booster": lightgbm.LGBMClassifier(**few).fit(X, binary).booster_,
        "stopped": stopped,
    }


@pytest.mark.parametrize("name", ["binary", "three", "ova", "regressor", "ranker", "booster", "stopped"])
def test_a_model_of_lightgbm_is_read_and_written_in_its_archive(name, tmp_path):
    model = lightgbm_models()[name]
    X, _ = WINE
    rows = hostile(X)
    rows[::7, 3] = np.nan
    source = dumped(model, tmp_path / "model.skops")
    read = secateur.load(source)
    assert "LightGBM" in read.dialect and "skops" in read.dialect
    raw = (model if name == "booster" else model.booster_).predict(rows, raw_score=True).reshape(len(rows), -1)
    assert (read.raw_scores(rows) == raw).all()
    if read.is_classifier and name != "booster":
        assert (read.predict(rows) == model.predict(rows)).all()
        assert list(read.classes) == list(model.classes_)
    assert secateur.verify(source, model).outcome == "identical" if read.is_classifier else True
    if name in ("regressor", "ranker"):
        result = secateur.prune(source, within=0.05, time_limit=20)
    else:
        result = secateur.prune(source, time_limit=20)
    assert result.checked
    result.model.save(tmp_path / "pruned.skops")
    pruned = loaded(tmp_path / "pruned.skops")
    assert type(pruned) is type(model)
    if name in ("regressor", "ranker"):
        assert np.abs(pruned.predict(rows) - model.predict(rows)).max() <= 0.05
    elif name == "booster":
        assert ((pruned.predict(rows) > 0.5) == (model.predict(rows) > 0.5)).all()
    else:
        assert (pruned.predict(rows) == model.predict(rows)).all()
        assert result.trees_after < result.trees_before
    # A file that nothing is taken from keeps its bytes.
    assert read.to_bytes() == source.read_bytes()


def test_categories_of_lightgbm_in_an_archive(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.normal(size=400), "kind": pandas.Categorical(rng.choice(list("abcd"), 400))})
    target = (frame["size"] > 0) ^ frame["kind"].isin(["a", "c"])
    model = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=4, min_child_samples=5, verbose=-1).fit(frame, target)
    source = dumped(model, tmp_path / "model.skops")
    read = secateur.load(source)
    assert (read.predict(frame) == model.predict(frame)).all()
    assert secateur.verify(source, model).outcome == "identical"
    result = secateur.prune(source, time_limit=20)
    result.model.save(tmp_path / "pruned.skops")
    assert (loaded(tmp_path / "pruned.skops").predict(frame) == model.predict(frame)).all()

    def renamed(schema):
        lists = schema["content"]["content"]["_Booster"]["content"]["content"]["pandas_categorical"]
        lists["content"][0]["content"][0]["content"] = '"z"'
        lists["__id__"], lists["content"][0]["__id__"], lists["content"][0]["content"][0]["__id__"] = 1, 2, 3

    with pytest.raises(secateur.SecateurError, match="categories that the booster's text lists"):
        secateur.Model.parse(rewritten(source, renamed))


def test_settings_of_lightgbm_that_change_its_predictions_are_refused(tmp_path):
    X, y = WINE
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)
    refused = [
        (lambda: model.set_params(pred_early_stop=True), "pred_early_stop"),
        (lambda: model.set_params(pred_early_stop=False, validate_features=True), "validate_features"),
    ]
    model.fit(X, y)
    for change, words in refused:
        change()
        with pytest.raises(secateur.SecateurError, match=words):
            secateur.load(dumped(model, tmp_path / "model.skops"))
    fitted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, pred_early_stop=False, n_jobs=2).fit(X, y)
    assert secateur.load(dumped(fitted, tmp_path / "model.skops")).predict(X).shape == y.shape
    with pytest.raises(secateur.SecateurError, match="not fitted"):
        secateur.load(dumped(lightgbm.LGBMRegressor(), tmp_path / "model.skops"))


def test_a_regressor_behind_steps_keeps_its_scores(tmp_path):
    X, y = CANCER
    pipeline = make_pipeline(StandardScaler(), ExtraTreesRegressor(6, max_depth=3, random_state=0)).fit(X, y)
    source = dumped(pipeline, tmp_path / "model.skops")
    result = secateur.prune(source, within=0.2, time_limit=10)
    assert result.checked
    result.model.save(tmp_path / "pruned.skops")
    rows = hostile(X)
    assert np.abs(loaded(tmp_path / "pruned.skops").predict(rows) - pipeline.predict(rows)).max() <= 0.2
