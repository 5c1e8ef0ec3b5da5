"""The ladder of models that limits are measured on: default random forests and trees as deep as chains.

Each builder writes its files into a folder and returns their paths. Files that are there already are kept, so
that a second run is quick; everything is made from fixed seeds.
"""

from __future__ import annotations

from pathlib import Path

# Rows of the tables that forests are trained on: about 24, 57, 186 and 277 thousand leaves.
FORESTS = (2_000, 5_000, 20_000, 30_000)
LEVELS = (3_000, 10_000)


def table(rows: int):
    """A table of 20 columns with two classes; a tenth of the labels is noise, so that trees grow deep."""
    from sklearn.datasets import make_classification

    return make_classification(
        n_samples=rows, n_features=20, n_informative=10, flip_y=0.1, random_state=0
    )


def _fitted(x, y):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=0, n_jobs=2).fit(x, y)


def _dump(model, path: Path) -> Path:
    import skops.io

    skops.io.dump(model, path)
    return path


def forest(folder: Path, name: str, x, y) -> tuple[Path, Path]:
    """A default random forest as scikit-learn holds it, and its conversion to ONNX (single precision)."""
    own, converted = folder / f"{name}.skops", folder / f"{name}.onnx"
    if not own.exists() or not converted.exists():
        from skl2onnx import to_onnx

        model = _fitted(x, y)
        onnx = to_onnx(model, x[:1].astype("float32"), options={id(model): {"zipmap": False}})
        converted.write_bytes(onnx.SerializeToString())
        _dump(model, own)
    return own, converted


def ladder(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Forests of growing size, each with its conversion."""
    folder.mkdir(parents=True, exist_ok=True)
    return {f"forest{rows}": forest(folder, f"forest{rows}", *table(rows)) for rows in FORESTS}


def everyday(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Default forests on tables that everybody has."""
    from sklearn.datasets import load_breast_cancer, load_digits

    folder.mkdir(parents=True, exist_ok=True)
    return {
        "cancer": forest(folder, "cancer", *load_breast_cancer(return_X_y=True)),
        "digits": forest(folder, "digits", *load_digits(return_X_y=True)),
    }


def chain(path: Path, levels: int, last: float = 1.0, features: int = 3) -> Path:
    """A LightGBM model of one tree that is a chain: each split has a leaf on its right and the next split on
    its left. `last` is the value of the deepest leaf, so that two chains can differ in one number."""
    splits = levels
    features_of = [level % features for level in range(splits)]
    thresholds = [float(splits - level) for level in range(splits)]
    left = [level + 1 if level + 1 < splits else -(splits + 1) for level in range(splits)]
    right = [-(level + 1) for level in range(splits)]
    values = [(-1.0) ** level * (1 + level % 7) / 8 for level in range(splits)] + [last]
    tree = [
        "Tree=0",
        f"num_leaves={splits + 1}",
        "num_cat=0",
        "split_feature=" + " ".join(map(str, features_of)),
        "split_gain=" + " ".join(["1"] * splits),
        "threshold=" + " ".join(map(repr, thresholds)),
        "decision_type=" + " ".join(["2"] * splits),
        "left_child=" + " ".join(map(str, left)),
        "right_child=" + " ".join(map(str, right)),
        "leaf_value=" + " ".join(map(repr, values)),
        "leaf_weight=" + " ".join(["1"] * (splits + 1)),
        "leaf_count=" + " ".join(["1"] * (splits + 1)),
        "internal_value=" + " ".join(["0"] * splits),
        "internal_weight=" + " ".join(["1"] * splits),
        "internal_count=" + " ".join(["1"] * splits),
        "is_linear=0",
        "shrinkage=1",
        "",
        "",
        "",
    ]
    block = "\n".join(tree)
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={features - 1}",
        "objective=binary sigmoid:1",
        "feature_names=" + " ".join(f"f{index}" for index in range(features)),
        "feature_infos=" + " ".join(["[-1e9:1e9]"] * features),
        f"tree_sizes={len(block)}",
        "",
        "",
    ]
    foot = ["end of trees", "", "parameters:", "end of parameters", "", "pandas_categorical:null", ""]
    path.write_text("\n".join(head) + block + "\n".join(foot))
    return path


def chains(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Chains of growing depth, each with a copy whose deepest leaf has another value."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        f"chain{levels}": (
            chain(folder / f"chain{levels}.txt", levels),
            chain(folder / f"chain{levels}-changed.txt", levels, last=1.5),
        )
        for levels in LEVELS
    }


if __name__ == "__main__":
    import sys

    target = Path(sys.argv[1])
    for group in (everyday, ladder, chains):
        for name, paths in group(target).items():
            print(name, *paths)
