"""The audit tool on claims about one model: it agrees with the proofs of `ask`, and finds wrong models and changed numbers."""

from __future__ import annotations

import pathlib
import random
import re

import numpy as np
import prunable
import pytest
from lightgbm import LGBMClassifier
from test_audit import Case, changes, number_before, same_function
from xgboost import XGBClassifier

import secateur
from secateur import audit
from secateur._audit import bits

# Each family with what its library is asked; every one of these certificates has to be judged.
FAMILIES = [
    "XGBClassifier",
    "XGBClassifier, three classes",
    "XGBClassifier, categories",
    "XGBClassifier, stopped early",
    "LGBMClassifier",
    "LGBMClassifier, three classes",
    "CatBoostClassifier",
    "CatBoostClassifier, three classes",
    "RandomForestClassifier",
    "AdaBoostClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
]


def saved(model, folder: pathlib.Path) -> str:
    folder.mkdir(exist_ok=True)
    return str(prunable.saved_and_loaded(model, folder)[1])


def proved(path: str, folder: pathlib.Path, name: str, ask) -> list[str]:
    """The model and the certificate, if the answer is proved; nothing if it is refuted."""
    certificate = folder / f"{name}.cert"
    answer = ask(secateur.ask(path, threads=1), str(certificate))
    assert answer.proved is not None, f"{name}: {answer}"
    return [path, str(certificate)] if answer.proved else []


QUESTIONS = {
    "range": lambda ask, file: ask.range(certificate=file),
    "moves": lambda ask, file: ask.moves(0, certificate=file),
    "two columns": lambda ask, file: ask.moves([1, 2], certificate=file),
    "keeps": lambda ask, file: ask.keeps(1, certificate=file),
    **{
        f"{direction} {column}": lambda ask, file, column=column, direction=direction: ask.monotone(
            column, direction, of=None, certificate=file
        )
        for column in range(3)
        for direction in ("up", "down")
    },
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_library_agrees_with_every_proof_about_its_model(name, tmp_path, capsys):
    path = saved(prunable.case(name).model, tmp_path / "model")
    judged = []
    for question, ask in QUESTIONS.items():
        if "three" in name or name == "RandomForestClassifier":
            if question.startswith(("up", "down")):
                _, column = question.split(" ")
                ask = lambda ask, file, own=question: ask.monotone(  # noqa: E731
                    int(own.split(" ")[1]), own.split(" ")[0], of=1, certificate=file
                )
        files = proved(path, tmp_path, question.replace(" ", "-"), ask)
        if not files:
            continue
        code = audit.main([*files, "--inputs", "200"])
        said, wrong = capsys.readouterr()
        assert code == 0 and "Everything agrees." in said, f"{question}: {said} {wrong}"
        assert number_before("of these inputs the claim", said) > 0
        judged.append(question)
    assert {"range", "moves", "two columns"} <= {*judged}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_rounding_of_the_page_is_that_of_the_checker_in_every_bit(name, tmp_path):
    """The rows of a range hold the bound of docs/spec/models.md, 6.5, which is written a second time here, from the page."""
    path = saved(prunable.case(name).model, tmp_path / "model")
    (tmp_path / "changed").mkdir()
    files = proved(path, tmp_path, "range", QUESTIONS["range"])
    said, code = audit.check_and_dump([pathlib.Path(file) for file in files], tmp_path / "dump")
    assert code == 0
    pair = audit.Pair(audit.load(pathlib.Path(path)), None, audit.claim_of(said))
    intercepts_vary = name == "CatBoostClassifier"
    for problem in map(audit.dump.read, sorted((tmp_path / "dump").glob("*.problem"))):
        found = audit.Found()
        (row,) = pair.claim.rows(pair, problem, found)
        row.may_ask_more = intercepts_vary
        pair.claim.rows = lambda *_, row=row: [row]
        audit.compare.same_rows(pair, problem, found)
        del pair.claim.rows
        assert not found.differences, found.differences
        assert all(bits.score_rounding(model, group) <= bits.rounding(model, group) for model in pair.models for group in range(model.groups))


def rising(**options) -> XGBClassifier:
    train, _, target = prunable.parts(2)
    return XGBClassifier(n_estimators=10, max_depth=2, random_state=0, n_jobs=1, monotone_constraints=(0, -1, -1, 0), **options).fit(
        train, target
    )


def never_second(**options) -> LGBMClassifier:
    """A model of three classes that never decides the second."""
    train, _, target = prunable.parts(3)
    rare = np.random.default_rng(0).random(len(target)) < 0.06
    return LGBMClassifier(n_estimators=2, num_leaves=2, min_child_samples=5, verbose=-1, n_jobs=1, **options).fit(
        train, np.where(rare, 1, np.where(target == 1, 2, target))
    )


def falling() -> XGBClassifier:
    """A model whose score never rises with its first column as an exact sum, and not tree by tree."""
    train, _, target = prunable.parts(2)
    return XGBClassifier(n_estimators=6, max_depth=2, random_state=0, n_jobs=1, learning_rate=0.8).fit(train, target)


class OneModel(Case):
    """A dump of a claim about one model with the model loaded, to be changed and judged again and again."""

    def __init__(self, model, folder: pathlib.Path, ask, other=None) -> None:
        path = saved(model, folder / "model")
        self.files = proved(path, folder, "own", ask)
        self.dump = folder / "dump"
        said, code = audit.check_and_dump([pathlib.Path(file) for file in self.files], self.dump)
        assert code == 0
        self.claim = audit.claim_of(said)
        self.pair = audit.Pair(audit.load(pathlib.Path(path)), None, self.claim)
        self.changed = folder / "changed"
        assert not self.judged(self.dump).differences

    def with_another(self, model, folder: pathlib.Path):
        """What the audit says if the library has another model than the checker was given."""
        pair = audit.Pair(audit.load(pathlib.Path(saved(model, folder))), None, self.claim)
        return audit.judge(pair, self.dump, inputs=100).differences


CASES = {
    "range": (rising, QUESTIONS["range"]),
    "class": (never_second, lambda ask, file: ask.decides(never=1, certificate=file)),
    "apart": (rising, lambda ask, file: ask.moves([0, 3], certificate=file)),
    "rises": (falling, lambda ask, file: ask.monotone(0, "down", certificate=file)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_number_of_a_problem_counts(name, tmp_path):
    model, ask = CASES[name]
    case = OneModel(model(), tmp_path, ask)
    problem = sorted(case.dump.glob("*.problem"))[-1]
    own = problem.read_text().split("\n")
    every = changes(own)
    chosen = random.Random(1).sample(every, min(120, len(every)))
    rows = [change for change in every if change[0] == "row"]
    missed = [(kind, lines) for kind, lines in [*chosen, *rows] if not case.caught(problem.name, lines)]
    for kind, lines in missed:
        new, old = next((new, old) for new, old in zip(lines, own) if new != old)
        if kind == "row":
            # A smaller bound asks for more than the claim needs.
            assert new.split(" ")[2:] == old.split(" ")[2:] and int(new.split(" ")[1]) < int(old.split(" ")[1]), (new, old)
        else:
            assert kind in ("split", "leaf") and same_function(problem, lines, tmp_path), (new, old)
    assert len([kind for kind, _ in missed if kind != "row"]) <= len(chosen) // 4
    assert len(rows) - len([kind for kind, _ in missed if kind == "row"]) >= len(rows) // 2


@pytest.mark.parametrize("name", CASES)
def test_another_model_a_missing_problem_and_an_excused_cell_are_caught(name, tmp_path):
    model, ask = CASES[name]
    own = model()
    case = OneModel(own, tmp_path, ask)
    if name == "class":
        other = never_second(learning_rate=0.2)
    elif name == "rises":
        train, _, target = prunable.parts(2)
        other = XGBClassifier(n_estimators=6, max_depth=2, random_state=0, n_jobs=1, learning_rate=0.7).fit(train, target)
    else:
        other = rising(learning_rate=0.31)
    assert case.with_another(other, tmp_path / "other")
    problem = sorted(case.dump.glob("*.problem"))[-1]
    lines = problem.read_text().split("\n")
    question = next(line for line in lines if line.startswith("# system"))
    asked_else = {"# system output 0 above": "# system output 0 below", "# system output 0 below": "# system output 0 above"}
    assert case.caught(problem.name, [asked_else.get(line, "# system class 0") if line == question else line for line in lines])
    if name == "rises":
        axes = next(line for line in lines if line.startswith("axes")).split(" ")
        assert case.caught(problem.name, [*(line for line in lines if line), "excused" + " 0" * (len(axes) - 1), ""])
        # A step between neighbours is left out: the last cell of the column's axis says what the one before it says.
        axis = next(line.split(" ")[2] for line in lines if re.fullmatch(r"# axis \d+ columns \d+ \d+", line))
        cells = [at for at, line in enumerate(lines) if line.startswith(f"# cell {axis} ")]
        lines[cells[-1]] = f"# cell {axis} {len(cells) - 1} input {lines[cells[0]].split(' input ')[1]}"
        assert case.caught(problem.name, lines)


def test_what_is_proved_tree_by_tree_is_seen_tree_by_tree(tmp_path, capsys):
    case = OneModel(rising(), tmp_path, lambda ask, file: ask.monotone(1, "down", certificate=file))
    assert case.claim.bits and not list(case.dump.glob("*.problem"))
    assert audit.main([*case.files, "--inputs", "200"]) == 0
    assert "in every bit that the library computes" in capsys.readouterr().out
    # The same model without constraints has a tree that rises somewhere.
    train, _, target = prunable.parts(2)
    free = XGBClassifier(n_estimators=10, max_depth=3, random_state=0, n_jobs=1).fit(1.0 - train, target)
    assert any(sentence.startswith("Tree ") for sentence in case.with_another(free, tmp_path / "other"))


def test_a_certificate_about_one_model_is_given_with_one_model(tmp_path, capsys):
    path = saved(rising(), tmp_path / "model")
    files = proved(path, tmp_path, "range", QUESTIONS["range"])
    assert audit.main([path, *files]) == 2
    assert "not judged: " in capsys.readouterr().err


def test_a_claim_about_the_inputs_near_a_row_is_not_taken_for_one_about_every_input(tmp_path, capsys):
    from sklearn.ensemble import GradientBoostingClassifier
    from skops.io import dump

    X = np.random.default_rng(0).integers(0, 20, (200, 3)).astype(float)
    fitted = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, X[:, 0] + X[:, 1] > 20)
    model, proof = tmp_path / "m.skops", tmp_path / "near.cert"
    dump(fitted, model)
    answer = secateur.ask(model).counterfactual(X[0], certificate=proof)
    # The claim has no domain, and so nothing else keeps the audit from it.
    assert answer.proved and answer.domain is None
    assert audit.main([str(model), str(proof)]) == 2
    assert "not judged: a claim about the inputs that are nearer" in capsys.readouterr().err
