"""Judges what a certificate rests on by the libraries themselves, without our readers.

    python -m secateur.audit ORIGINAL PRUNED CERTIFICATE [--kernel] [--inputs N] [--seed N] [--dump DIR]
    python -m secateur.audit MODEL CERTIFICATE ...       if the certificate is about one model

`secateur-check --dump` writes the problems that it solved. This tool loads both models with their own libraries, takes trees
and exact leaf values from there, and compares: every tree as a whole, every row with the definition of the claim, and on
inputs what the libraries reach and decide. docs/guide/audit.md says what that establishes and what it does not.

Exit codes: 0 everything agrees; 1 something differs, or the certificate is invalid; 2 bad usage, files that cannot be read, or
something that this tool cannot judge; 3 the check of the certificate is incomplete.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
from fractions import Fraction
from typing import Any, Callable

from ._audit import compare, dump, one
from ._audit.compare import Claim, Decisions, Differs, Found, Grid, Inputs, Pair
from ._audit.live import Live, NotJudged

LIBRARIES = {"xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost", "sklearn": "ScikitLearn", "onnx": "Onnx"}

CHECK = "import sys; from secateur import _secateur; sys.exit(_secateur.run_secateur_check(['secateur-check', *sys.argv[1:]]))"


def library_of(path: pathlib.Path) -> str:
    """Which library a file is for. A wrong guess ends in an error of that library, never in a judgement."""
    with open(path, "rb") as file:
        first = file.read(4096)
    if first.startswith(b"CBM1"):
        return "catboost"
    if first.startswith(b"PK"):
        return "sklearn"
    if first.startswith(b"tree\n") or first.startswith(b"tree\r"):
        return "lightgbm"
    if path.suffix == ".onnx":
        return "onnx"
    if first.lstrip().startswith(b"{"):
        if b'"learner"' in first or path.suffix == ".ubj":
            return "xgboost"
        whole = json.loads(path.read_bytes())
        return "xgboost" if "learner" in whole else "catboost"
    raise NotJudged(f"{path}: a file of no library that this tool knows")


def load(path: pathlib.Path) -> Live:
    """The model, loaded by its own library."""
    library = library_of(path)
    module = importlib.import_module(f"secateur._audit.{library}")
    return getattr(module, LIBRARIES[library])(str(path))


def check_and_dump(files: list[pathlib.Path], folder: pathlib.Path) -> tuple[dict, int]:
    """What `secateur-check --dump --json` says, in a process of its own, and its exit code."""
    words = [str(file) for file in files]
    ran = subprocess.run(
        [sys.executable, "-c", CHECK, *words, "--dump", str(folder), "--json"], capture_output=True, text=True
    )
    if ran.returncode == 2:
        raise NotJudged(ran.stderr.strip() or ran.stdout.strip())
    if ran.returncode not in (0, 1, 3):
        raise NotJudged(f"secateur-check ended with {ran.returncode}: {ran.stderr.strip()}")
    return json.loads(ran.stdout), ran.returncode


def claim_of(said: dict) -> Claim:
    """The claim, if it is one that this tool judges."""
    claim = said["claim"]
    if claim["about"] == "scores":
        raise NotJudged("a claim about the scores of two models")
    if claim["cuts"] is not None:
        raise NotJudged("a claim about decisions at a threshold of its own")
    if claim["scope"] not in ("all", "f32", "no_missing", "f32_no_missing"):
        raise NotJudged("a claim about the inputs of a domain; the audit is about every input")
    labels = claim["labels"]
    if labels["by_code"] or labels["unplaced"]:
        raise NotJudged("a claim in which category labels are matched by code")
    missing = "no_missing" not in claim["scope"]
    if claim["about"] == "decisions":
        return Decisions(missing, band=_band(claim["band"]))
    about = claim["one_model"]
    match claim["about"]:
        case "range":
            limits = [
                (own["output"], side, Fraction(own[name]))
                for own in about["range"]
                for side, name in (("above", "at_most"), ("below", "at_least"))
                if own[name] is not None
            ]
            return one.Range(missing, limits=limits)
        case "class":
            if about.get("near") is not None:
                raise NotJudged("a claim about the inputs that are nearer to a row than another row is")
            return one.Classes(missing, allowed=tuple(about["classes"]))
    moved, effect = tuple(about["columns"]), about["effect"]
    if "decisions" in effect:
        return Decisions(missing, moved, band=_band(effect["decisions"]))
    if effect["scores"] == "apart":
        return one.Apart(missing, moved, within=Fraction(effect["within"]))
    return one.Rises(missing, moved, effect["output"], effect["scores"] == "never rise", effect["bits"])


def _band(said: dict) -> Fraction | None:
    return None if said["exact"] else Fraction(said["score"])


def judge(pair: Pair, folder: pathlib.Path, inputs: int = 2000, seed: int = 0) -> Found:
    """Compares every problem of a dump with both models."""
    found = Found()
    paths = sorted(folder.glob("*.problem"))
    expected = pair.claim.questions(pair)
    problems = [dump.read(path) for path in paths]
    asked = [problem.question for problem in problems]
    if asked != expected:
        found.differs("questions", f"The claim needs the {len(expected)} problems {expected}; the dump has {asked}.")
        return found
    known: tuple[Any, Grid] | None = None
    try:
        rows = Inputs(pair, compare.make_inputs(pair, inputs, seed), found)
        pair.claim.kept(pair, rows, found)
        if not problems:
            one.tree_by_tree(pair, found)
        for problem in problems:
            found.problems += 1
            # All problems of a dump have the same grid; where they do not, each is looked at anew.
            head = problem.columns, repr(problem.witnesses)
            if known is None or known[0] != head:
                known = head, Grid(pair, problem, found)
            _, grid = known
            compare.same_trees(pair, problem, grid, found)
            compare.same_rows(pair, problem, found)
            compare.at_inputs(pair, problem, grid, rows, found)
            compare.excused(pair, problem, found)
    except Differs:
        pass
    return found


def kernel_code(folder: pathlib.Path) -> int:
    """Checks the proofs with the kernel written in Python, which prints a line for each; its exit code."""
    try:
        kernel: Any = importlib.import_module("secateur.kernel")
    except ModuleNotFoundError:
        raise NotJudged("--kernel: this version of the package has no kernel written in Python") from None
    return kernel.main([str(folder)])


def words(pair: Pair, found: Found, bounds: bool) -> str:
    """What was compared, in sentences."""
    original = pair.models[0]
    loaded = f"The model was loaded with {original.library}: {len(original.trees)} trees"
    if not pair.one_model:
        pruned = pair.models[1]
        loaded = (
            f"The original was loaded with {original.library}, the pruned model with {pruned.library}: {len(original.trees)} and "
            f"{len(pruned.trees)} trees"
        )
    lines = [
        f"The certificate claims that {pair.claim.words()}. secateur-check accepts it.",
        f"{loaded}, {original.classes} classes, {original.width} columns.",
        f"Cells: in {found.columns} columns that some split looks at, each of {found.classes_of_values} classes of values has one.",
        f"Trees: {found.trees} trees of {found.problems} problems were followed through all cells, with {found.splits} splits and "
        f"{found.leaves} leaves.",
        f"Rows: {found.rows} rows were computed anew from the definition of the claim.",
        f"Inputs: on {found.inputs} inputs ({found.at_missing} with missing values) the libraries said which leaves are reached "
        f"({found.leaves_reached} different ones); each row was compared with the definition on each input, {found.rows_at_inputs} "
        f"times; {found.rows_held} times it held. On {found.in_claim} of these inputs the claim says {pair.claim.says}.",
        f"Excused: {found.excused} cells.",
    ]
    if bounds:
        lines.append("The certificate also has lower bounds on smaller models. They were NOT judged.")
    if not pair.missing:
        lines.append("Missing values are not in the claim, or one of the libraries refuses them: no input had any.")
    if found.differences:
        lines.append(f"{len(found.differences) + found.hidden} differences:")
        lines += [f"- {sentence}" for sentence in found.differences]
        if found.hidden:
            lines.append(f"- and {found.hidden} more.")
    else:
        lines.append("Everything agrees.")
    return "\n".join(lines) + "\n"


def run(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    given = [arguments.original, arguments.pruned, arguments.certificate]
    files = [pathlib.Path(path) for path in given if path is not None]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.dump or temporary)
        said, code = check_and_dump(files, folder)
        if code != 0:
            say(f"secateur-check does not accept the certificate ({said['verdict']}): {said['message']}\n")
            return code
        claim = claim_of(said)
        if said["claim"]["systems"] == 0 and len(files) == 3:
            found = Found()
            compare.same_models(load(files[0]), load(files[1]), found)
            say("The certificate has no problems, since it says that both models are the same.\n")
            say("".join(f"- {sentence}\n" for sentence in found.differences) or "Both libraries have the same trees. Everything agrees.\n")
            return 1 if found.differences else 0
        pair = Pair(load(files[0]), load(files[1]) if len(files) == 3 else None, claim)
        found = judge(pair, folder, arguments.inputs, arguments.seed)
        say(words(pair, found, (folder / "bounds.proof").exists()))
        code = 1 if found.differences else 0
        if arguments.kernel:
            say("The kernel written in Python says of the proofs:\n")
            # A difference says more than whatever the kernel says.
            own = kernel_code(folder)
            code = code or own
        return code


def main(words_given: list[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m secateur.audit",
        description="Compares the problems behind a certificate with two models as their own libraries have them.",
    )
    parser.add_argument("original", help="or the one model that the certificate is about")
    parser.add_argument("pruned", nargs="?")
    parser.add_argument("certificate")
    parser.add_argument("--kernel", action="store_true", help="also check the proofs with the kernel written in Python")
    parser.add_argument("--inputs", type=int, default=2000, metavar="N", help="random inputs, beside two for each leaf (2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    parser.add_argument("--dump", metavar="DIR", help="keep the problems and proofs in this new or empty folder")
    arguments = parser.parse_args(words_given)
    try:
        return run(arguments, lambda text: print(text, end=""))
    except NotJudged as refused:
        print(f"not judged: {refused}", file=sys.stderr)
    except dump.Unreadable as error:
        print(f"the dump cannot be read: {error}", file=sys.stderr)
    except OSError as error:
        print(f"cannot be read: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
