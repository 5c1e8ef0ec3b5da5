"""The manual's worked example: its commands are run, and the numbers of its tables are recomputed from the files."""

import doctest
import re
import shutil
import subprocess
import xml.etree.ElementTree

import command
import pytest

MANUAL = command.ROOT / "docs" / "manual"
PAGE = (MANUAL / "worked-example.md").read_text()
#: One value of each cell, axis by axis.
WITNESSES = [(20.0, 45.0, 80.0), (1.0, 4.0, 8.0)]
#: Trees of the original and of the pruned model in each piece, and in each column.
PIECES = [((0, 2), (0,)), ((1, 4), ()), ((3,), (1,))]
COLUMNS = {"P": (0, 2), "T1": (1,), "T3": (3,), "T4": (4,)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example after its commands, which are compared on the way."""
    place = tmp_path_factory.mktemp("manual")
    for name in ("original.txt", "cells.csv"):
        shutil.copy(command.ROOT / "testdata" / "manual" / name, place)
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        line, _, shown = block.partition("\n")
        program, *words = line.removeprefix("$ ").split()
        ran = subprocess.run([command.binary(program), *words], cwd=place, capture_output=True, text=True)
        same = doctest.OutputChecker().check_output(shown, ran.stdout, doctest.ELLIPSIS)
        assert same, f"{line}\n--- on the page:\n{shown}\n--- printed:\n{ran.stdout}{ran.stderr}"
        assert ran.returncode == (1 if shown.startswith("invalid") else 0)
    return place


def table(name: str) -> list[list[str]]:
    """The rows of the table behind `<!-- test: NAME -->`, without its head."""
    found = re.search(rf"<!-- test: {name} -->\n((?:\|.*\n)+)", PAGE)
    assert found, f"no table {name}"
    lines = found.group(1).splitlines()[2:]
    return [[field.strip() for field in line.strip("|").split("|")] for line in lines]


def numbers(fields) -> list[float]:
    return [float(field) for field in fields]


def near(found, told) -> bool:
    """Equal but for what keeps clear of LightGBM's dead zone."""
    return found == pytest.approx(told, rel=0, abs=1e-14)


def trees(path) -> list:
    """What each tree of a LightGBM file adds at (income, debt)."""

    def tree(block: str):
        field = {key: value.split() for key, _, value in (line.partition("=") for line in block.splitlines())}
        feature, left, right = ([int(x) for x in field[key]] for key in ("split_feature", "left_child", "right_child"))
        threshold, leaves = ([float(x) for x in field[key]] for key in ("threshold", "leaf_value"))

        def value(row) -> float:
            node = 0
            while node >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            return leaves[~node]

        return value

    return [tree(block) for block in re.findall(r"Tree=\d+\n(.*?)\n\n", path.read_text(), re.DOTALL)]


@pytest.fixture(scope="module")
def models(folder):
    return trees(folder / "original.txt"), trees(folder / "pruned.txt")


def cells(incomes=range(3), debts=range(3)) -> list[tuple[float, float]]:
    return [(WITNESSES[0][income], WITNESSES[1][debt]) for income in incomes for debt in debts]


def total(model, row, which=None) -> float:
    return sum(tree(row) for index, tree in enumerate(model) if which is None or index in which)


@pytest.mark.parametrize("name", ["original", "pruned"])
def test_the_scores_are_those_of_the_files(folder, models, name):
    told = numbers(field for row in table(f"scores {name}") for field in row[1:])
    printed = command.run("predict", f"{name}.txt", "--data", "cells.csv", "--raw", cwd=folder).splitlines()
    assert printed[0] == "score_0"
    assert near(numbers(printed[1:]), told)
    assert near([total(models[name == "pruned"], row) for row in cells()], told)


def test_the_leaves_of_the_pruned_model_are_those_of_its_file(folder):
    blocks = re.findall(r"leaf_value=(.*)", (folder / "pruned.txt").read_text())
    told = [re.findall(r"-?\d+(?:\.\d+)?", row[2]) for row in table("leaves pruned")]
    assert len(blocks) == len(told)
    for block, leaves in zip(blocks, told, strict=True):
        assert near(numbers(block.split()), numbers(leaves))


def test_the_rows_of_the_program_are_those_of_the_columns(models):
    original, _ = models
    rows = table("rows")
    assert len(rows) == 9
    weights = {"P": 2 / 3, "T1": 0, "T3": 6, "T4": 0}
    for (place, decided, *values), row in zip(rows, cells(), strict=True):
        told = numbers(values)
        sign = 1 if total(original, row) > 0 else -1
        assert decided == ("1" if sign > 0 else "0"), place
        columns = [sign * total(original, row, which) for which in COLUMNS.values()]
        assert told == [*columns, sign, sign * total(original, row)], place
        found = sum(weight * value for weight, value in zip(weights.values(), told[:4], strict=True))
        assert found - told[4] > 0, f"{place}: the weights of the page do not decide alike"


def test_the_weights_are_those_that_were_found(folder):
    import json

    found = json.loads(command.run("prune", "original.txt", "-o", "again.txt", "--json", cwd=folder))
    assert [fate["fate"] for fate in found["fates"]] == ["merged", "dropped", "rewritten", "scaled", "dropped"]
    assert found["fates"][2]["weight"] == pytest.approx(2 / 3)
    assert found["fates"][3]["weight"] == pytest.approx(6)
    assert found["points"] == 9 and found["minimal"] and found["lower_bound"] == 2


def inside(text: str, row) -> bool:
    """Does the row satisfy conditions such as `2 < debt <= 5`?"""
    names = {"income": row[0], "debt": row[1]}
    return all(eval(condition, {}, names) for condition in text.split(","))


def test_the_pieces_add_what_the_page_says(models):
    seen = set()
    for piece, leaf, told_f, told_g in table("pieces"):
        which = PIECES[int(piece)]
        rows = [row for row in cells() if inside(leaf, row)]
        assert rows
        for row in rows:
            seen.add((piece, row))
            added = [total(model, row, own) for model, own in zip(models, which, strict=True)]
            assert near(added, numbers((told_f, told_g))), leaf
    assert len(seen) == 27, "the joint leaves of each piece make up all cells"


def test_the_sums_of_the_proof_are_recomputed(models):
    rows = table("bounds")
    assert len(rows) == 8
    for step, side, incomes, debts, *told in rows:
        part = cells(*(range(*map(int, text.split(".."))) for text in (incomes, debts)))
        sign, model = (-1 if side.startswith("-") else 1), "FG".index(side[-1])
        largest = [max(sign * total(models[model], row, which[model]) for row in part) for which in PIECES]
        assert near([*largest, sum(largest)], numbers(told)), step
        assert sum(largest) < 0, f"step {step} closes nothing"


def test_the_cuts_are_recomputed(models):
    original, _ = models
    for cut, *told in table("cuts"):
        low, high = [((0, 0), (40, 0)), ((40, 6), (61, 6))][int(cut)]
        assert total(original, low) < 0 < total(original, high)
        order = ("T1", "P", "T3", "T4")
        found = [total(original, high, COLUMNS[name]) - total(original, low, COLUMNS[name]) for name in order]
        assert found == numbers(told)


def test_the_manual_links_to_what_is_there():
    pages = sorted(MANUAL.glob("*.md"))
    assert len(pages) == 10
    for page in [*pages, command.ROOT / "docs" / "guide" / "glossary.md"]:
        text = page.read_text()
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
        for file in re.findall(r"`((?:crates|docs|testdata|python)/[\w./-]+\.\w+)`", text):
            assert (command.ROOT / file).exists(), f"{page.name}: {file}"
    for picture in (MANUAL / "pictures").glob("*.svg"):
        xml.etree.ElementTree.parse(picture)
        assert any(picture.name in page.read_text() for page in pages), f"{picture.name} is on no page"
