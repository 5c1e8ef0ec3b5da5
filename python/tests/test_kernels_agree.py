"""The two proof kernels, written apart from each other, say the same of the same problems and proofs.

What `secateur-check --dump` writes of every certificate of `testdata`, random problems, and changed copies of both are judged by
`secateur-check --kernel` and by `secateur.kernel`: with one outcome, refused at one step. `SECATEUR_KERNEL_PROBLEMS` says how many
are tried; `SECATEUR_CHECK_PROGRAM` may name a program that is built already.
"""

from __future__ import annotations

import csv
import functools
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
from collections import Counter

import command
import pytest
from test_kernel import COVER, bounds_text, draw_problem, draw_proof, kernel, proof_text

EFFORT = int(os.environ.get("SECATEUR_KERNEL_PROBLEMS", "50"))
CERTIFICATES = command.ROOT / "testdata" / "certificates"
# What the program reads although the page does not describe it: lines in other places, a sum that is named twice, excuses of no cell.
LENIENT = "not here|named twice|this is no cell"
# Files that one call of the program judges.
AT_ONCE = 2_000


@functools.cache
def program() -> str:
    return os.environ.get("SECATEUR_CHECK_PROGRAM") or str(command.binary("secateur-check"))


def theirs(folder: pathlib.Path) -> dict[str, tuple[str, int | None]]:
    """What the program says of each file in a folder. It stops at one that it cannot read, so that one is set aside."""
    found: dict[str, tuple[str, int | None]] = {}
    while True:
        ran = subprocess.run([program(), "--kernel", folder, "--json"], capture_output=True, text=True, check=False)
        if ran.returncode in (0, 1, 3):
            told = {entry["problem"]: (entry["outcome"], entry["step"]) for entry in json.loads(ran.stdout)["problems"]}
            outcomes = {outcome for outcome, _ in told.values()}
            assert ran.returncode == (1 if "refused" in outcomes else 3 if "incomplete" in outcomes else 0)
            return found | told
        assert ran.returncode == 2, ran.stderr
        name = re.search(r"([0-9]+|bounds)\.pro", ran.stdout + ran.stderr)[1]
        found[name] = "unreadable", None
        left = [path for path in folder.iterdir() if path.stem == name and not path.unlink() or path.stem != name]
        if all(path.stem == name for path in left):
            return found


def ours(check) -> tuple[str, int | None]:
    """What the kernel in Python says. A refusal at a stack, or at the end, is at no step."""
    try:
        check()
        return "proved", None
    except kernel.Unreadable as error:
        return ("lenient" if re.search(LENIENT, str(error)) else "unreadable"), None
    except (kernel.Refused, kernel.Incomplete) as error:
        step = re.match("at step ([0-9]+): (?!the proof ends|end)", str(error))
        outcome = "refused" if isinstance(error, kernel.Refused) else "incomplete"
        return outcome, int(step[1]) if step else None


def agree(one: tuple[str, int | None], other: tuple[str, int | None]) -> bool:
    outcomes = {one[0], other[0]}
    if "incomplete" in outcomes:
        # A limit says nothing about the proof, and the other kernel may not have it.
        return True
    if outcomes & {"unreadable", "lenient"}:
        return "proved" not in outcomes
    return one == other


def changed(lines: list[str]):
    """Every number by one more and one less, or another sign; lines missing, repeated, swapped; words missing."""
    for place, line in enumerate(lines):
        rest = lines[place + 1 :]
        yield lines[:place] + rest
        yield [*lines[: place + 1], line, *rest]
        yield [*lines[:place], *lines[place : place + 2][::-1], *lines[place + 2 :]]
        if " " in line:
            yield [*lines[:place], line.rpartition(" ")[0], *rest]
        for low, high in (("low", "high"), ("high", "low")):
            if line.endswith(f" {low}"):
                yield [*lines[:place], line.removesuffix(low) + high, *rest]
        for number in re.finditer("(?<=[ :])-?[0-9]+|(?<=-)[0-9]+", line):
            value = int(number[0])
            for other in {value - 1, value + 1, -value, 2 * value} - {value}:
                yield [*lines[:place], f"{line[: number.start()]}{other}{line[number.end() :]}", *rest]


def some_changed(rng: random.Random, text: str, most: int) -> list[str]:
    """Changed copies of a file; its first line, what it says to readers, and its `end` stay."""
    first, *lines = [line for line in text.splitlines() if not line.startswith("#")]
    end = [lines.pop()] if lines and lines[-1] == "end" else []
    # Of long files, lines in one neighbourhood only: a list of all changes would be long.
    start = rng.randrange(max(1, len(lines) - 60))
    cases = list(changed(lines[start : start + 60]))
    cases = [[*lines[:start], *case, *lines[start + 60 :]] for case in rng.sample(cases, min(most, len(cases)))]
    return ["\n".join([first, *case, *end]) + "\n" for case in cases]


@functools.lru_cache(64)
def parsed(text: str):
    return kernel.parse_problem(text)


def compare(folder: pathlib.Path, cases: list[tuple[str, str]]) -> Counter:
    """Each problem and proof by both. What the one in Python cannot read is judged alone, and only a few of these."""
    counts: Counter = Counter()
    judged = [(case, ours(lambda: kernel.check(parsed(case[0]), kernel.parse_proof(case[1])))) for case in cases]
    readable = [entry for entry in judged if entry[1][0] not in ("unreadable", "lenient")]
    alone = [[entry] for entry in judged if entry[1][0] == "unreadable"]
    together = [readable[at : at + AT_ONCE] for at in range(0, len(readable), AT_ONCE)]
    for number, batch in enumerate([*together, *alone[:: max(1, len(alone) // EFFORT)]]):
        here = folder / f"{number}"
        here.mkdir(parents=True)
        for name, ((problem, proof), _) in enumerate(batch):
            (here / f"{name:06}.problem").write_text(problem)
            (here / f"{name:06}.proof").write_text(proof)
        other = theirs(here)
        assert len(other) == len(batch)
        for name, ((problem, proof), found) in enumerate(batch):
            told = other[f"{name:06}"]
            assert agree(found, told), f"Python {found}, the program {told}\n{problem}{proof}"
            counts[found[0]] += 1
            counts["incomplete for one"] += (found[0] == "incomplete") != (told[0] == "incomplete")
            counts["both refused"] += found[0] == told[0] == "refused"
        for path in here.iterdir():
            path.unlink()
    return counts


def compare_bounds(folder: pathlib.Path, texts: list[str]) -> Counter:
    counts: Counter = Counter()
    for text in texts:
        folder.mkdir(exist_ok=True)
        (folder / "bounds.proof").write_text(text)
        found = ours(lambda: kernel.check_bounds(kernel.parse_bounds(text)))
        told = theirs(folder)["bounds"]
        assert agree(found, told), f"Python {found}, the program {told}\n{text}"
        counts[found[0]] += 1
        counts["both refused"] += found[0] == told[0] == "refused"
    return counts


@functools.cache
def dumps(folder: pathlib.Path) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """Of each certificate the problems with their proofs, and the bounds."""
    problems: dict[str, list[tuple[str, str]]] = {}
    bounds: dict[str, str] = {}
    with (CERTIFICATES / "expected.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        models = [CERTIFICATES / "models" / row[name] for name in ("original", "pruned")]
        words = [CERTIFICATES / row["file"], "--where", CERTIFICATES / "models" / "stumps.json"]
        words += ["--threshold", "0.6"] * ("threshold" in row["file"])
        into = folder / row["file"]
        dump = lambda models: subprocess.run([program(), *models, *words, "--dump", into], capture_output=True, text=True, check=False)
        ran = dump(models)
        if "is about one model; give MODEL CERTIFICATE" in ran.stderr:
            if models[0] != models[1]:
                continue
            ran = dump(models[:1])
        code = {"valid": 0, "invalid": 1, "malformed": 2, "incomplete": 3}[row["verdict"]]
        assert ran.returncode == code, (row, ran.stdout, ran.stderr)
        if not into.is_dir():
            continue
        paths = sorted(into.glob("*.problem"))
        problems[row["file"]] = [(path.read_text(), path.with_suffix(".proof").read_text()) for path in paths]
        if (into / "bounds.proof").exists():
            bounds[row["file"]] = (into / "bounds.proof").read_text()
    return problems, bounds


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    return dumps(tmp_path_factory.mktemp("dumps"))


def words_of(proof: str) -> set[str]:
    return {line.split(" ")[0] for line in proof.splitlines()}


def test_every_certificate(dumped, tmp_path):
    problems, bounds = dumped
    cases = [case for of in problems.values() for case in of]
    counts = compare(tmp_path / "problems", cases)
    counts += compare_bounds(tmp_path / "bounds", list(bounds.values()))
    # Costs that are not one for each item are no such line for the one, and refused by the other.
    assert counts["proved"] > 100 and counts["both refused"] > 20 and counts["unreadable"] == 2, counts
    accepted = [proof for name, of in problems.items() if name.startswith("accept/") for _, proof in of]
    steps = set().union(*map(words_of, accepted))
    assert steps >= {"lens", "close", "narrow", "split", "cells", "join", "meet", "stack"}
    # What the checker accepts, both prove.
    valid = [case for name, of in problems.items() if name.startswith("accept/") for case in of]
    assert compare(tmp_path / "valid", valid)["proved"] == len(valid)


def test_changed_certificates(dumped, tmp_path):
    rng = random.Random(1)
    cases: list[tuple[str, str]] = []
    for problem, proof in (case for of in dumped[0].values() for case in of):
        most = 1 + EFFORT // 50
        cases += [(problem, other) for other in some_changed(rng, proof, 2 * most)]
        cases += [(other, proof) for other in some_changed(rng, problem, most)]
    counts = compare(tmp_path / "problems", cases)
    assert counts["proved"] > 2 * EFFORT and counts["both refused"] > 4 * EFFORT, counts


def test_random_problems(tmp_path):
    cases, steps = [], set()
    for seed in range(EFFORT):
        rng = random.Random(seed)
        asked = draw_problem(rng)
        stacks, lines = draw_proof(rng, asked)
        problem, proof = asked.text(), proof_text(lines, stacks)
        steps |= words_of(proof)
        cases.append((problem, proof))
        cases += [(problem, other) for other in some_changed(rng, proof, 20)]
        cases += [(other, proof) for other in some_changed(rng, problem, 12)]
    counts = compare(tmp_path / "problems", cases)
    assert steps >= {"lens", "close", "narrow", "split", "cells", "join", "meet", "stack"}
    assert min(counts["proved"], counts["both refused"]) > 5 * EFFORT, counts


def draw_bounds(rng: random.Random) -> str:
    """Bounds whose lines fit together, and may hold or not."""
    columns, counted = rng.randint(1, 4), rng.random() < 0.5
    items = columns + counted
    lines = [f"family {columns} 1 1 {'counted' if counted else 'free'}"]
    cuts = rng.randint(0, 4)
    for _ in range(cuts):
        lines.append("cut")
        free = rng.randint(-1, 1) if counted else 0
        numbers = [rng.choice([-1, 0, 1, 1, 2**70]) for _ in range(columns)]
        for sign in (1, -1)[: rng.randint(1, 2)]:
            own = [rng.randint(-1, 1) if sign < 0 else number for number in numbers]
            lines.append(f"term {rng.choice([1, 2, 3])} {' '.join(map(str, own))} ; {rng.randint(-2, 0)} ; {free}")
    if cuts:
        costs = rng.choice(["", "".join(f" {rng.randint(0, 5)}" for _ in range(items))])
        lines.append(f"cover {rng.randint(0, 3)}{costs}")

        def prove(left: list[int]) -> None:
            if left and rng.random() < 0.5:
                lines.append(f"branch {left[0]}")
                prove(left[1:])
                prove(left[1:])
                return
            scale = rng.randint(1, 3)
            lines.append(" ".join([f"dual {scale}", *(f"{cut}:{rng.randint(0, scale)}" for cut in range(cuts) if rng.random() < 0.6)]))

        prove(rng.sample(range(items), items))
    at = 0
    for _ in range(rng.randint(0, 3)):
        end = at + rng.randint(1, 2)
        lines.append(f"crossing {rng.randrange(columns)} {at} {end}")
        at = end - (rng.random() < 0.2)
    return bounds_text(lines)


def test_changed_bounds(dumped, tmp_path):
    rng = random.Random(2)
    texts = [bounds_text(COVER), *dumped[1].values()]
    texts = list(itertools.chain(texts, *(some_changed(rng, text, 1 + EFFORT // 50) for text in texts)))
    texts += some_changed(rng, bounds_text(COVER), EFFORT)
    for _ in range(EFFORT):
        text = draw_bounds(rng)
        texts += [text, *some_changed(rng, text, 2)]
    counts = compare_bounds(tmp_path / "bounds", texts)
    assert min(counts["proved"], counts["both refused"]) > EFFORT // 3, counts
