"""Arrow files of pandas, Polars and PyArrow, as the command reads them, and those that it writes, as they read them."""

import lightgbm
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pytest

import command

COLOURS = ["red", "green", "blue", "very dark violet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a column of categories, rows with every awkward number, and its answers to them as CSV."""
    place = tmp_path_factory.mktemp("arrow")
    random = np.random.default_rng(0)
    train = pd.DataFrame({"a": random.normal(size=400), "b": random.integers(0, 9, 400), "colour": random.choice(COLOURS, 400)})
    train["colour"] = pd.Categorical(train["colour"], COLOURS)
    target = (train["a"] + train["colour"].cat.codes > 1).astype(int)
    fitted = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=8, verbose=-1, n_jobs=1).fit(train, target)
    fitted.booster_.save_model(place / "model.txt")
    thresholds = fitted.booster_.trees_to_dataframe().query("split_feature == 'a'")["threshold"].astype(float).to_numpy()
    near = [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)]
    numbers = np.concatenate([*near, [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308]])
    frame = pd.DataFrame({"key": [f"row {at}" for at in range(len(numbers))], "a": numbers})
    frame["b"] = random.integers(-3, 12, len(numbers))
    frame["colour"] = pd.Categorical(random.choice([*COLOURS, None], len(numbers)), COLOURS)
    frame.to_csv(place / "rows.csv", index=False)
    expected = command.run("predict", "model.txt", "--data", "rows.csv", "--raw", "--id", "key", cwd=place)
    # The library itself says the same of the same frame.
    shown = [float(line.rpartition(",")[2]) for line in expected.splitlines()[1:]]
    np.testing.assert_array_equal(shown, fitted.predict(frame[["a", "b", "colour"]], raw_score=True))
    return place, frame, expected


def with_deltas(frame: pd.DataFrame, path) -> None:
    """A stream whose batches bring the categories bit by bit."""
    text = frame["colour"].astype(object).where(frame["colour"].notna(), None)
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    table, writer = pyarrow.Table.from_pandas(frame.drop(columns="colour"), preserve_index=False), None
    seen: list[str] = []
    for start in range(0, len(frame), 7):
        part = text.iloc[start : start + 7]
        seen += [value for value in dict.fromkeys(part) if value is not None and value not in seen]
        codes = [None if value is None else seen.index(value) for value in part]
        colour = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, pyarrow.int32()), pyarrow.array(seen, pyarrow.string()))
        batch = table.slice(start, 7).append_column("colour", colour)
        writer = writer or pyarrow.ipc.new_stream(path, batch.schema, options=options)
        writer.write_table(batch)
    writer.close()


def as_text(frame: pd.DataFrame) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(frame.astype({"colour": object}), preserve_index=True)


def in_parts(frame: pd.DataFrame, path, **options) -> None:
    with pyarrow.ipc.new_file(path, as_text(frame).schema, options=pyarrow.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(as_text(frame), max_chunksize=5)


WRITERS = {
    "pandas": lambda frame, path: frame.to_feather(path),
    "pandas, zstd": lambda frame, path: frame.to_feather(path, compression="zstd"),
    "pandas, plain": lambda frame, path: frame.to_feather(path, compression="uncompressed"),
    "polars": lambda frame, path: polars.from_pandas(frame).write_ipc(path),
    "polars, lz4": lambda frame, path: polars.from_pandas(frame).write_ipc(path, compression="lz4"),
    "polars, zstd": lambda frame, path: polars.from_pandas(frame).write_ipc(path, compression="zstd"),
    "polars, stream": lambda frame, path: polars.from_pandas(frame).write_ipc_stream(path),
    "polars, old": lambda frame, path: polars.from_pandas(frame).write_ipc(path, compat_level=polars.CompatLevel.oldest()),
    "pyarrow, parts": in_parts,
    "pyarrow, parts, lz4": lambda frame, path: in_parts(frame, path, compression="lz4"),
    "pyarrow, deltas": with_deltas,
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_every_writer_are_read(folder, name):
    place, frame, expected = folder
    WRITERS[name](frame, place / "rows.arrow")
    words = ["predict", "model.txt", "--data", "rows.arrow", "--raw", "--id", "key"]
    assert command.run(*words, cwd=place) == expected


@pytest.mark.parametrize("words", [[], ["--raw"], ["--proba"]], ids=["class", "raw", "proba"])
def test_predictions_are_read_by_others(folder, words):
    place, _, _ = folder
    csv = command.run("predict", "model.txt", "--data", "rows.csv", *words, "--id", "key", cwd=place)
    command.run("predict", "model.txt", "--data", "rows.csv", *words, "--id", "key", "-o", "out.arrow", cwd=place)
    (place / "out.csv").write_text(csv)
    expected = pd.read_csv(place / "out.csv")
    for frame in (
        pd.read_feather(place / "out.arrow"),
        polars.read_ipc(place / "out.arrow").to_pandas(),
        pyarrow.ipc.open_file(place / "out.arrow").read_all().to_pandas(),
    ):
        assert list(frame.columns) == list(expected.columns)
        for column in expected.columns[1:]:
            np.testing.assert_array_equal(frame[column].to_numpy(), expected[column].to_numpy())
        assert list(frame["key"]) == list(expected["key"])
