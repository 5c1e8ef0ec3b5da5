"""The audit tool: it agrees with true dumps of every library, and finds every single change that changes a problem."""

from __future__ import annotations

import pathlib
import random
import re
import shutil

import numpy as np
import prunable
import pytest

import secateur
from secateur import audit
from secateur._audit import dump as dumps

MODELS = pathlib.Path(__file__).parents[2] / "testdata" / "models"

JUDGED = [
    "XGBClassifier",
    "XGBClassifier, three classes",
    "XGBClassifier, categories",
    "XGBClassifier, stopped early",
    "XGBClassifier, forest",
    "LGBMClassifier",
    "LGBMClassifier, three classes",
    "LGBMClassifier, categories",
    "CatBoostClassifier",
    "CatBoostClassifier, three classes",
    "CatBoostClassifier, asymmetric",
    "RandomForestClassifier",
    "AdaBoostClassifier",
    "AdaBoostClassifier, three classes",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
]

REFUSED = {
    "CatBoostClassifier, categories": "columns of categories of CatBoost",
    "HistGradientBoostingClassifier, categories": "columns of categories of HistGradientBoostingClassifier",
    "Pipeline": "a pipeline of scikit-learn",
}


def files(name: str, folder: pathlib.Path, **options) -> list[str]:
    """A model, what pruning made of it, and the certificate."""
    case = prunable.case(name)
    certificate = folder / "proof.cert"
    result = secateur.prune(
        case.model, case.to_library(case.train), threads=1, certificate=str(certificate), **options
    )
    paths = []
    for place, model in [("original", case.model), ("pruned", result.model)]:
        (folder / place).mkdir()
        paths.append(str(prunable.saved_and_loaded(model, folder / place)[1]))
    return [*paths, str(certificate)]


def number_before(words: str, said: str) -> int:
    return int(re.search(rf"(\d+) {words}", said).group(1))


@pytest.mark.parametrize("name", JUDGED)
def test_the_libraries_agree_with_the_problems_of_a_certificate(name, tmp_path, capsys):
    code = audit.main([*files(name, tmp_path), "--inputs", "300"])
    said = capsys.readouterr().out
    assert code == 0 and "Everything agrees." in said, said
    assert number_before("with missing values", said) > 0 or "Missing values are not in the claim" in said
    assert number_before("of these inputs the claim", said) > 0


def test_a_model_that_stays_as_it_is_has_no_problems(tmp_path, capsys):
    paths = files("DecisionTreeClassifier", tmp_path)
    assert audit.main(paths) == 0
    assert "both models are the same" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_judged_is_said(name, tmp_path, capsys):
    assert audit.main(files(name, tmp_path)) == 2
    assert f"not judged: {REFUSED[name]}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["XGBClassifier", "LGBMClassifier, three classes", "AdaBoostClassifier"])
def test_claims_about_exact_sums_and_without_missing_values(name, tmp_path, capsys):
    paths = files(name, tmp_path, band=0, missing=False)
    assert audit.main([*paths, "--inputs", "300"]) == 0
    said = capsys.readouterr().out
    assert "about exact sums" in said and "Missing values are not in the claim" in said
    assert number_before("with missing values", said) == 0


@pytest.mark.parametrize(
    "pattern, least",
    [
        # Every kind of split that onnxruntime has, deleted nodes, infinite thresholds, classes without a row in training.
        ("onnx/*.onnx", 8),
        ("xgboost/*-deleted.*", 4),
        ("lightgbm/thresholds.txt", 1),
        ("lightgbm/dead_zone*.txt", 2),
        ("catboost/multiclass_*.cbm", 3),
        ("sklearn/*.skops", 3),
    ],
)
def test_the_models_of_the_tests_are_read_as_their_libraries_read_them(pattern, least, tmp_path, capsys):
    paths = [str(path) for path in sorted(MODELS.glob(pattern))]
    judged, refused = 0, []
    for at, path in enumerate(paths):
        certificate = str(tmp_path / f"{at}.cert")
        try:
            result = secateur.verify(path, path, certificate=certificate)
        except secateur.SecateurError:
            continue
        if result.certificate is None:
            continue
        code = audit.main([path, path, certificate, "--inputs", "100"])
        captured = capsys.readouterr()
        if code == 2:
            refused.append(captured.err)
        else:
            assert code == 0, f"{path}: {captured.out}"
            judged += 1
    assert judged >= least
    assert all("not judged: " in sentence for sentence in refused), refused


def test_an_invalid_certificate_is_not_judged_further(tmp_path, capsys):
    original, pruned, certificate = files("XGBClassifier", tmp_path)
    assert audit.main([pruned, original, certificate]) == 1
    assert "secateur-check does not accept the certificate (invalid)" in capsys.readouterr().out


def test_files_that_are_missing_or_no_models(tmp_path, capsys):
    original, pruned, certificate = files("XGBClassifier", tmp_path)
    assert audit.main([original, str(tmp_path / "nothing.json"), certificate]) == 2
    assert capsys.readouterr().err


class Case:
    """A dump with both models loaded, to be changed and judged again and again."""

    def __init__(self, name: str, folder: pathlib.Path, **options) -> None:
        paths = [pathlib.Path(path) for path in files(name, folder, **options)]
        self.dump = folder / "dump"
        said, code = audit.check_and_dump(paths, self.dump)
        assert code == 0
        self.pair = audit.Pair(audit.load(paths[0]), audit.load(paths[1]), audit.claim_of(said))
        self.changed = folder / "changed"
        assert not self.judged(self.dump).differences

    def judged(self, folder: pathlib.Path):
        return audit.judge(self.pair, folder, inputs=100)

    def caught(self, name: str, lines: list[str]) -> bool:
        """Does the audit see that this file of the dump was changed?"""
        shutil.rmtree(self.changed, ignore_errors=True)
        shutil.copytree(self.dump, self.changed)
        (self.changed / name).write_text("\n".join(lines))
        try:
            return bool(self.judged(self.changed).differences)
        except (dumps.Unreadable, audit.NotJudged):
            return True


def changes(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Every number of a problem's lines that count, changed by one either way, with what kind of line it is in."""
    found = []
    for at, line in enumerate(lines):
        kind = line.split(" ")[0]
        if kind not in ("axes", "sums", "split", "leaf", "row"):
            continue
        for match in re.finditer(r"(?<![\d])-?\d+", line) if kind != "split" else re.finditer(r"\d+", line):
            for change in (-1, 1):
                value = int(match.group()) + change
                changed = line[: match.start()] + str(value) + line[match.end() :]
                found.append((kind, [*lines[:at], changed, *lines[at + 1 :]]))
    return found


@pytest.mark.parametrize(
    "name, options",
    [
        ("XGBClassifier", {}),
        ("XGBClassifier", {"band": 0}),
        ("LGBMClassifier, three classes", {}),
        ("HistGradientBoostingClassifier", {}),
        ("CatBoostClassifier", {}),
    ],
)
def test_every_number_of_a_problem_counts(name, options, tmp_path):
    case = Case(name, tmp_path, **options)
    problem = sorted(case.dump.glob("*.problem"))[-1]
    every = changes(problem.read_text().split("\n"))
    chosen = random.Random(1).sample(every, min(120, len(every)))
    missed = [(kind, lines) for kind, lines in chosen if not case.caught(problem.name, lines)]
    own = problem.read_text().split("\n")
    for kind, lines in missed:
        # What is left changes nothing: a split below another one of the same axis may say anything of cells that
        # do not come to it, and a leaf may add zero to another sum. No row, axis or sum is in this list.
        assert kind in ("split", "leaf"), next((new, old) for new, old in zip(lines, own) if new != old)
        assert same_function(problem, lines, tmp_path), next((new, old) for new, old in zip(lines, own) if new != old)
    print(f"{name} {options}: {len(chosen) - len(missed)} of {len(chosen)} changes caught, {len(missed)} change nothing")
    assert len(missed) <= len(chosen) // 4


def same_function(problem: pathlib.Path, lines: list[str], folder: pathlib.Path) -> bool:
    """Do both problems add the same in every cell? By brute force over the axes of each tree."""
    other = folder / "other.problem"
    other.write_text("\n".join(lines))
    first, second = dumps.read(problem), dumps.read(other)
    for tree, changed in zip(first.trees, second.trees):
        if tree == changed:
            continue
        axes = sorted({node.axis for node in [*tree, *changed] if node.axis >= 0})
        grids = np.meshgrid(*[np.arange(first.axes[axis]) for axis in axes], indexing="ij")
        # A tree without splits has one leaf.
        cells = np.zeros((grids[0].size if grids else 1, len(first.axes)), dtype=np.int64)
        for axis, grid in zip(axes, grids):
            cells[:, axis] = grid.ravel()
        own = dumps.leaves_at(tree, cells, dumps.Masks(first))
        new = dumps.leaves_at(changed, cells, dumps.Masks(second))
        for a, b in set(zip(own.tolist(), new.tolist())):
            names = {*tree[a].added, *changed[b].added}
            if any(tree[a].added.get(name, 0) != changed[b].added.get(name, 0) for name in names):
                return False
    return True


def misread(lines: list[str], how: str) -> list[str]:
    """What the dump of a reader would look like that has read something wrongly."""
    changed = []
    sizes = next(list(map(int, line.split(" ")[1:])) for line in lines if line.startswith("axes"))
    for line in lines:
        words = line.split(" ")
        if words[0] == "split" and how in ("missing", "equal"):
            size = sizes[int(words[1])]
            cells = {cell for pair in words[4:] for cell in range(*map(int, pair.split("-")))}
            if how == "missing":
                # Missing values, the last cell, go the other way.
                cells ^= {size - 1}
            else:
                # A value at the threshold goes the other way: the sets end one cell later.
                cells |= {cell + 1 for cell in cells if cell + 1 < size - 1}
            if cells:
                words[4:] = [f"{cell}-{cell + 1}" for cell in sorted(cells)]
        if words[0] == "leaf" and how == "last bits":
            words[1:] = [f"{name}:{int(value) // 4 * 4}" for name, value in (word.split(":") for word in words[1:])]
        if words[0] == "leaf" and how == "sign":
            words[1:] = [f"{name}:{-int(value)}" for name, value in (word.split(":") for word in words[1:])]
        changed.append(" ".join(words))
    return changed


@pytest.mark.parametrize("name", ["XGBClassifier", "LGBMClassifier", "RandomForestClassifier"])
def test_a_reader_that_misreads_a_file_is_caught(name, tmp_path):
    case = Case(name, tmp_path)
    for how in ("missing", "equal", "last bits", "sign"):
        for problem in sorted(case.dump.glob("*.problem")):
            lines = problem.read_text().split("\n")
            changed = misread(lines, how)
            if changed == lines:
                # The leaves have no such bits.
                assert how == "last bits"
                continue
            assert case.caught(problem.name, changed), how


def test_a_problem_that_is_left_out_or_says_another_rounding_is_caught(tmp_path):
    case = Case("XGBClassifier, three classes", tmp_path)
    problems = sorted(case.dump.glob("*.problem"))
    shutil.copytree(case.dump, case.changed)
    (case.changed / problems[2].name).unlink()
    (case.changed / problems[2].with_suffix(".proof").name).unlink()
    assert any("The claim needs the 6 problems" in sentence for sentence in case.judged(case.changed).differences)
    lines = problems[0].read_text().split("\n")
    smaller = [re.sub(r"^# rounding .*", "# rounding 1e-12", line) for line in lines]
    assert case.caught(problems[0].name, smaller)
    excused = next(line for line in lines if line.startswith("axes")).split(" ")
    body = [line for line in lines if line not in ("", "end")]
    wrong = [*body, "excused" + " 0" * (len(excused) - 1), ""]
    swapped = [line.replace("# system classes 0 1", "# system classes 1 0") for line in wrong]
    assert case.caught(problems[0].name, swapped)
