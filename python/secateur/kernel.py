"""A second proof kernel, written from the specification alone (`docs/spec/kernel.md` and `docs/spec/dump.md`).

    python -m secateur.kernel DIR          or          python kernel.py DIR

reads what `secateur-check --dump DIR` wrote and checks every proof in it. It needs nothing but Python, shares no
code with the kernel of the checker, and says one line for each proof. Exit codes: 0 all proved, 1 one is refused,
2 one cannot be read, 3 one needs more than this kernel gives; of several, the first of this order, 0 last.

*Correct* means: where `check` returns, no cell of the problem's grid satisfies every row, except cells that the
problem excuses and cells that reach the same leaves as an excused one. Where `check_bounds` returns, every statement
of `bounds.proof` holds, given what its terms and intervals claim. All numbers are whole and exact.

How cells are counted: a piece cuts each axis that it looks at into runs. For each run it keeps one whole number,
whose bit i says that joint leaf i holds the run. A joint leaf is a product of sets of cells, so it meets a box exactly
if it meets the box's range on every axis; the joint leaves that meet a box are the bits that are left when the
numbers of the axes are combined with `&`. Cells themselves are never listed, so axes may be long.
"""

from __future__ import annotations

import pathlib
import re
import sys
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import product
from math import prod
from operator import add, eq, ge, itemgetter, mul
from typing import NamedTuple

# Section 8: where this kernel gives up.
JOINT_LEAVES = 1 << 20
MASK_BITS = 1 << 33
CELLS = 1 << 24
JOIN_SUMS = 1 << 20
JOIN_PAIRS = 1 << 12
JOIN_AXES = 64
JOIN_LEAVES = 1 << 10
MEET_SUMS = 1 << 23


class Unreadable(Exception):
    """A file is no dump: its line (from 1, or 0 for the whole file), and what is wrong there."""

    def __init__(self, line: int, words: str):
        super().__init__(f"line {line}: {words}" if line else words)
        self.line = line


class Refused(Exception):
    """A step of a proof does not hold."""


class Incomplete(Exception):
    """A step needs more than this kernel gives. It says nothing about the proof."""


def unreadable_if(wrong: bool, line: int, words: str) -> None:
    if wrong:
        raise Unreadable(line, words)


def refuse_if(wrong: bool, words: str) -> None:
    if wrong:
        raise Refused(words)


def limit(count: int, most: int, what: str) -> None:
    if count > most:
        raise Incomplete(f"there are more than {most} {what}")


# ---------------------------------------------------------------------------------------------- problems and proofs


class Split(NamedTuple):
    """The cells of `axis` that are in the set go to `yes`. The set is the list of its ranges' ends: a cell is in it
    if an odd number of ends is at most the cell."""

    axis: int
    yes: int
    no: int
    ends: list[int]

    def holds(self, cell: int) -> bool:
        return bisect_right(self.ends, cell) % 2 == 1


class Problem(NamedTuple):
    """A leaf is what it adds to each sum that it names; a row is its bound, and the factor of each sum it names."""

    axes: list[int]
    trees: list[list[Split | dict[int, int]]]
    rows: list[tuple[int, dict[int, int]]]
    excused: set[tuple[int, ...]]


class Proof(NamedTuple):
    """The steps are the lines after the stacks, lenses included: a word, and what follows it."""

    stacks: list[list[int]]
    steps: list[tuple]


def grammar(rules: str) -> dict[str, tuple[list[str], str]]:
    """For each first word of a line (and for the end of the file) the first words of lines that may stand before it,
    and its form: N stands for a number of at least 0, Z for any number. A number has one spelling only."""
    found = {}
    for rule in rules.strip().split("\n"):
        forms, before = rule.split(" <- ")
        for form in forms.strip().split(" | "):
            pattern = form.replace("N", "(0|[1-9][0-9]*)").replace("Z", "(0|-?[1-9][0-9]*)")
            found[re.split("[ (]", form)[0]] = before.split(), pattern
    return found


PROBLEM = grammar("""
    secateur problem 1 <- start
    axes( N)* <- secateur
    sums N <- axes
    tree <- sums split leaf
    split N N N( N-N)* | leaf( N:Z)* <- tree split leaf
    row Z( N:Z)* <- sums split leaf row
    excused( N)* | EOF <- sums split leaf row excused
""")
PROOF = grammar("""
    secateur proof 1 <- start
    stack( N)* <- secateur stack
    lens( Z)* | close N | narrow N N N N | split N N (low|high) <- secateur stack lens close narrow split cells join meet
    cells | join N( N)* | meet( N)* | end <- secateur stack lens close narrow split cells join meet
    EOF <- end
""")
BOUNDS = grammar("""
    secateur bounds 1 <- start
    family N N N (counted|free) <- secateur crossing
    cut | cover Z( Z)* <- family cut term cover branch dual crossing
    term Z( Z)* ;( Z)* ;( Z)* <- cut term
    branch N | dual Z( N:Z)* <- cover branch dual
    crossing N Z Z | end <- secateur family cut term cover branch dual crossing
    EOF <- end
""")


def read_lines(text: str, rules: dict[str, tuple[list[str], str]]):
    """The number, the words and the numbers of each line, in a file that is well formed as far as `rules` say."""
    before, line = "start", 0
    for line, whole in enumerate(text.removesuffix("\n").split("\n"), 1):
        words = whole.split(" ")
        unreadable_if(not whole.isascii(), line, "it is not ASCII")
        if whole.startswith("#"):
            continue
        if before not in rules.get(words[0], ([], ""))[0]:
            raise Unreadable(line, f"there is no such line, or not here: `{whole[:60]}`")
        if not re.fullmatch(rules[words[0]][1], whole):
            raise Unreadable(line, f"it has not the form of such a line: `{whole[:60]}`")
        unreadable_if(any(len(word) > 4000 for word in words), line, "a number is too long")
        before = words[0]
        # The dash of a range is no sign: it follows a digit.
        yield line, words, [int(number) for number in re.findall("(?<=[ :])-?[0-9]+|(?<=-)[0-9]+", whole)]
    unreadable_if(before not in rules["EOF"][0], line, "the file ends too early")


def named(line: int, words: list[str], names: int) -> dict[int, int]:
    """Words `NAME:NUMBER`. A name that comes twice could be read in two ways, so it is refused."""
    found = {int(name): int(number) for name, number in (word.split(":") for word in words)}
    wrong = len(found) < len(words) or any(name >= names for name in found)
    unreadable_if(wrong, line, "a sum is named twice, or there is none of this number")
    return found


def parse_problem(text: str) -> Problem:
    """Reads a problem, and checks that it is one (section 1). Splits stand before the nodes that they lead to, and
    every node but the root has exactly one split above it: so what is between two `tree` lines is a tree."""
    problem = Problem([], [], [], set())
    sums, above, lines = 0, {}, read_lines(text, PROBLEM)
    for line, (word, *words), values in [*lines, (text.count("\n"), ["EOF"], [])]:
        tree = problem.trees[-1] if problem.trees else []
        if word in ("split", "leaf"):
            unreadable_if(tree and len(tree) not in above, line, "the node has no split above it")
        elif above and max(above) >= len(tree):
            raise Unreadable(above[max(above)], f"the tree has no node {max(above)}")
        if word == "axes":
            problem.axes.extend(values)
            unreadable_if(0 in values, line, "an axis has no cells")
        elif word == "sums":
            sums = values[0]
        elif word == "tree":
            problem.trees.append([])
            above = {}
        elif word == "leaf":
            tree.append(named(line, words, sums))
        elif word == "split":
            axis, yes, no, *ends = values
            wrong = min(yes, no) <= len(tree) or yes == no or yes in above or no in above
            unreadable_if(wrong, line, "a node stands before the split, or has another one above it")
            above[yes] = above[no] = line
            unreadable_if(axis >= len(problem.axes), line, f"there is no axis {axis}")
            wrong = ends != sorted(ends) or any(map(eq, ends[::2], ends[1::2])) or max(ends, default=0) > problem.axes[axis]
            unreadable_if(wrong, line, "the ranges do not ascend, one is empty, or they leave the axis")
            # Ranges that touch are one range: no run ends where no split tells cells apart.
            touching = {a for a, b in zip(ends, ends[1:]) if a == b}
            tree.append(Split(axis, yes, no, [end for end in ends if end not in touching]))
        elif word == "row":
            problem.rows.append((values[0], named(line, words[1:], sums)))
        elif word == "excused":
            wrong = len(values) != len(problem.axes) or any(map(ge, values, problem.axes))
            unreadable_if(wrong, line, "this is no cell of the grid")
            problem.excused.add(tuple(values))
    return problem


def parse_proof(text: str) -> Proof:
    proof = Proof([], [])
    for _, (word, *rest), values in read_lines(text, PROOF):
        if word == "stack":
            proof.stacks.append(values)
        elif word not in ("secateur", "end"):
            proof.steps.append((word, *values, *(rest[-1:] if word == "split" else [])))
    return proof


# ----------------------------------------------------------------------------------------------------------- pieces


class Piece:
    """The joint leaves of a list of trees (section 2): what each adds to every row, and which runs it holds.

    `starts[axis]` are the first cells of the runs of each axis that the piece looks at; bit i of `held[axis][run]`
    says that joint leaf i holds the run. Within a run no split tells two cells apart, so one cell speaks for all.
    """

    def __init__(self, problem: Problem, trees: list[list[Split | dict[int, int]]]):
        edges: dict[int, set[int]] = {}
        for node in (node for tree in trees for node in tree if isinstance(node, Split)):
            for end in node.ends:
                if 0 < end < problem.axes[node.axis]:
                    edges.setdefault(node.axis, set()).add(end)
        self.starts = {axis: [0, *sorted(edges[axis])] for axis in sorted(edges)}
        self.table = len(self.starts) <= 1
        joint = self._intersect(problem, trees)
        if self.table:
            # Each run is a joint leaf of its own: the set of its bit.
            runs = range(len(next(iter(self.starts.values()), [0])))
            held = [next(total for sets, total in joint if all(s >> run & 1 for s in sets.values())) for run in runs]
            joint = [(dict.fromkeys(self.starts, 1 << run), held[run]) for run in runs]
        self.leaves = [total for _, total in joint]
        self.everything = (1 << len(joint)) - 1
        limit(len(joint) * sum(map(len, self.starts.values())), MASK_BITS, "runs of joint leaves")
        self.held: dict[int, list[int]] = {}
        for axis, starts in self.starts.items():
            bits = [bytearray(len(joint) // 8 + 1) for _ in starts]
            for leaf, (sets, _) in enumerate(joint):
                runs = sets.get(axis, -1)
                for run, row in enumerate(bits):
                    row[leaf >> 3] |= (runs >> run & 1) << (leaf & 7)
            self.held[axis] = [int.from_bytes(row, "little") for row in bits]
        self.meeting = lru_cache(1 << 14)(self._meeting)

    def _intersect(self, problem: Problem, trees) -> list[tuple[dict[int, int], tuple[int, ...]]]:
        """Walks each set of cells so far down the next tree and keeps what is not empty: for each joint leaf its runs
        as bits, on the axes where these are not all, and what it adds to each row."""
        full = {axis: (1 << len(starts)) - 1 for axis, starts in self.starts.items()}
        joint: list[tuple[dict[int, int], tuple[int, ...]]] = [({}, (0,) * len(problem.rows))]
        for tree in trees:
            # For a split its runs as bits, for a leaf what it adds to each row.
            says = [
                sum(1 << run for run, cell in enumerate(self.starts.get(node.axis, [0])) if node.holds(cell))
                if isinstance(node, Split)
                else tuple(sum(n * factors.get(s, 0) for s, n in node.items()) for _, factors in problem.rows)
                for node in tree
            ]
            finer = []
            for start, total in joint:
                waiting = [(0, start)]
                while waiting:
                    number, sets = waiting.pop()
                    node = tree[number]
                    if not isinstance(node, Split):
                        finer.append((sets, tuple(map(add, total, says[number]))))
                        continue
                    now = sets.get(node.axis, full.get(node.axis, 1))
                    for child, part in ((node.no, now & ~says[number]), (node.yes, now & says[number])):
                        if part:
                            waiting.append((child, sets if part == now else {**sets, node.axis: part}))
                # A finer division never has fewer joint leaves, so it is too many already.
                limit(len(trees) > 1 and not self.table and len(finer), JOINT_LEAVES, "joint leaves of a stack")
            joint = finer
        return joint

    def _meeting(self, axis: int, low: int, high: int) -> int:
        """The joint leaves that hold one of the cells `low..high` of an axis that the piece looks at."""
        found = 0
        for run in range(bisect_right(self.starts[axis], low) - 1, bisect_left(self.starts[axis], high)):
            found |= self.held[axis][run]
        return found

    def boundaries(self, box, alive: int, axis: int) -> list[int]:
        """Cells of the box's range that differ from the cell before: another one of `alive` holds them there."""
        starts, held = self.starts[axis], self.held[axis]
        inner = range(bisect_right(starts, box[axis][0]), bisect_left(starts, box[axis][1]))
        return [starts[run] for run in inner if (held[run - 1] ^ held[run]) & alive]


class Region(NamedTuple):
    """A box, and for each piece the joint leaves that meet it."""

    box: list[tuple[int, int]]
    alive: list[int]


def single(mask: int) -> bool:
    return mask & (mask - 1) == 0


def rounded_up(number: int, shift: int) -> int:
    return -(-number >> shift)


class Lens:
    """A combination of the rows, rounded up (section 3), or exact: `values[piece][joint leaf]` and its `bound`.

    Soundness: a box with a solution is not closed. For every piece adds the value of a joint
    leaf that meets the box, at most the largest of them; the multipliers are at least 0, so the combination of the
    rows reaches the combination of the bounds; and `sum of x_i >= y` gives `sum of ceil(x_i / 2^s) >= ceil(y / 2^s)`.
    """

    def __init__(self, kernel: Kernel, multipliers: list[int], exact: bool = False):
        bound = sum(map(mul, multipliers, (bound for bound, _ in kernel.problem.rows)))
        used = [row for row, multiplier in enumerate(multipliers) if multiplier]
        values = [[sum([multipliers[k] * leaf[k] for k in used]) for leaf in piece.leaves] for piece in kernel.pieces]
        bits = max(sum(max(map(abs, these)) for these in values).bit_length(), bound.bit_length())
        shift = 0 if exact else max(0, bits - 120)
        self.bound = rounded_up(bound, shift)
        self.values = [[rounded_up(value, shift) for value in these] for these in values]
        self.constant = [len(set(these)) == 1 for these in self.values]
        # How many bits more a `join` leaves out (section 5).
        self.coarser = max(0, bits - shift - 60)
        self._largest_first = [sorted(range(len(v)), key=v.__getitem__, reverse=True) for v in self.values]
        self._best = lru_cache(1 << 16)(self._find_best)

    def _find_best(self, piece: int, mask: int) -> int:
        values = self.values[piece]
        return next(values[leaf] for leaf in self._largest_first[piece] if mask >> leaf & 1)

    def closes(self, region: Region) -> bool:
        return sum(map(self._best, range(len(region.alive)), region.alive)) < self.bound


# ------------------------------------------------------------------------------------------------------------ steps


def check(problem: Problem, proof: Proof) -> int:
    """The number of steps of a proof that holds. Raises `Refused` or `Incomplete` otherwise."""
    kernel = Kernel(problem, proof.stacks)
    for number, (word, *rest) in enumerate(proof.steps):
        try:
            refuse_if(kernel.region is None, "it comes after the end of the proof")
            refuse_if(word == "meet" and len(proof.steps) > 1, "it is not the only step")
            refuse_if(word == "lens" and number > 0 and proof.steps[number - 1][0] != word, "it comes after another step")
            getattr(kernel, word)(*rest)
        except (Refused, Incomplete) as error:
            raise type(error)(f"at step {number}: {word}: {error}") from None
    refuse_if(kernel.region is not None, f"at step {len(proof.steps)}: the proof ends before every box is done")
    return len(proof.steps)


class Kernel:
    """The state of section 4: `region` holds the current box, None when nothing is left, and `open` the open sides.

    Invariant: every solution that is not excused is in the current box or in an open side. At first the box is the
    whole grid. A step takes cells away only where it has shown that they are no solutions, or excused.
    """

    def __init__(self, problem: Problem, stacks: list[list[int]]):
        self.problem = problem
        used: set[int] = set()
        for number, stack in enumerate(stacks):
            strange = not stack or min(stack) < 0 or max(stack) >= len(problem.trees)
            refuse_if(strange, f"at stack {number}: it has no trees, or one that does not exist")
            # Twice would count the tree twice, and the sums would not be those of the trees.
            twice = len(set(stack)) < len(stack) or not used.isdisjoint(stack)
            refuse_if(twice, f"at stack {number}: a tree is in a stack already")
            used.update(stack)
        alone = [[tree] for tree in range(len(problem.trees)) if tree not in used]
        self.pieces = [Piece(problem, [problem.trees[tree] for tree in stack]) for stack in stacks + alone]
        # The pieces that look at each axis.
        self.looking = [[n for n, p in enumerate(self.pieces) if axis in p.starts] for axis in range(len(problem.axes))]
        self.region: Region | None = Region([(0, n) for n in problem.axes], [piece.everything for piece in self.pieces])
        self.open: list[Region] = []
        self.multipliers: list[list[int]] = []
        self.given = lru_cache(None)(lambda lens: Lens(self, self.multipliers[lens]))
        unit = [[int(k == row) for k in range(len(problem.rows))] for row in range(len(problem.rows))]
        self.row = lru_cache(None)(lambda row, exact: Lens(self, unit[row], exact))

    def part(self, region: Region, axis: int, low: int, high: int) -> Region:
        """The part of a region with the cells `low..high` of an axis, inside its range and not empty."""
        box, alive = region.box.copy(), region.alive.copy()
        box[axis] = low, high
        for piece in self.looking[axis]:
            alive[piece] &= self.pieces[piece].meeting(axis, low, high)
        return Region(box, alive)

    def exist(self, name: str, among: list, *numbers: int) -> None:
        for number in numbers:
            refuse_if(not 0 <= number < len(among), f"there is no {name} {number}")

    def done(self) -> None:
        self.region = self.open.pop() if self.open else None

    def solutions(self, region: Region) -> bool:
        """Whether the exact rows leave room for a solution. Exactly right where every piece has one joint leaf."""
        return not any(self.row(row, True).closes(region) for row in range(len(self.problem.rows)))

    def lens(self, *multipliers: int) -> None:
        refuse_if(len(multipliers) != len(self.problem.rows), "it has not one multiplier for each row")
        refuse_if(any(multiplier < 0 for multiplier in multipliers), "a multiplier is negative")
        self.multipliers.append(list(multipliers))

    def close(self, lens: int) -> None:
        """Sound by what `Lens` shows: a solution in the box would make `upper` reach the bound."""
        self.exist("lens", self.multipliers, lens)
        refuse_if(not self.given(lens).closes(self.region), "the bound is not met")
        self.done()

    def narrow(self, lens: int, axis: int, low: int, high: int) -> None:
        """The parts below and above are closed, so a solution of the box is in the part that is kept."""
        self.exist("lens", self.multipliers, lens)
        self.exist("axis", self.problem.axes, axis)
        first, end = self.region.box[axis]
        strange = not first <= low < high <= end or (low, high) == (first, end)
        refuse_if(strange, "the range is empty, no part of the box, or all of it")
        for side, start, stop in (("below", first, low), ("above", high, end)):
            closed = start == stop or self.given(lens).closes(self.part(self.region, axis, start, stop))
            refuse_if(not closed, f"the bound is not met {side} the range")
        self.region = self.part(self.region, axis, low, high)

    def split(self, axis: int, cell: int, side: str) -> None:
        """A cell of the box is in one of the sides; one becomes the box, the other waits on the list."""
        self.exist("axis", self.problem.axes, axis)
        first, end = self.region.box[axis]
        refuse_if(not first <= cell < end - 1, "the cell does not divide the box")
        sides = self.part(self.region, axis, first, cell + 1), self.part(self.region, axis, cell + 1, end)
        self.region, other = sides if side == "low" else sides[::-1]
        self.open.append(other)

    def cells(self) -> None:
        """All cells of the box, in boxes: the exact largest value of a row is below its bound, or every piece has one
        joint leaf, so that all cells of the box are solutions and each must be excused, or the box is divided."""
        limit(prod(end - low for low, end in self.region.box), CELLS, "cells in the box")
        waiting = [self.region]
        while waiting:
            region = waiting.pop()
            if not self.solutions(region):
                continue
            unsure = next((piece for piece, mask in enumerate(region.alive) if not single(mask)), None)
            if unsure is None:
                cells = product(*(range(*ends) for ends in region.box))
                refuse_if(not self.problem.excused.issuperset(cells), "a cell satisfies every row")
                continue
            # Two joint leaves that meet the box have no cell in common, so they differ on an axis inside of it.
            piece, mask = self.pieces[unsure], region.alive[unsure]
            axis, where = next((a, b) for a in piece.starts if (b := piece.boundaries(region.box, mask, a)))
            (low, end), middle = region.box[axis], where[len(where) // 2]
            waiting += [self.part(region, axis, low, middle), self.part(region, axis, middle, end)]
        self.done()

    def join(self, row: int, *axes: int) -> None:
        """Section 5. A solution of the box is, on every open axis, in one class. Its settled pieces add the constants
        that are counted here, and any other piece adds the number of the one joint leaf that holds these classes. So
        the sums of its two halves are in the lists, and reach both bounds: it is in a pair. All cells of a pair reach
        the same leaves, so its first cell speaks for all of them."""
        self.exist("row", self.problem.rows, row)
        refuse_if(row == len(self.problem.rows) - 1, "the last row is joined with itself")
        self.exist("axis", self.problem.axes, *axes)
        box, alive = self.region
        lenses = [self.row(row, False), self.row(len(self.problem.rows) - 1, False)]
        need = [rounded_up(lens.bound, lens.coarser) for lens in lenses]
        moving = []
        for n, (piece, mask) in enumerate(zip(self.pieces, alive)):
            if single(mask) or all(lens.constant[n] for lens in lenses):
                need = [have - more for have, more in zip(need, self.rounded(lenses, n, mask))]
            else:
                limit(0 if piece.table else len(piece.leaves), JOIN_LEAVES, "joint leaves of a piece")
                moving.append(n)

        # The axes along which each piece changes, and the first cells of the classes of each open axis.
        changes: dict[int, list[int]] = {n: [] for n in moving}
        classes: dict[int, set[int]] = {}
        for n in moving:
            for axis in self.pieces[n].starts:
                if where := self.pieces[n].boundaries(box, alive[n], axis):
                    changes[n].append(axis)
                    classes.setdefault(axis, {box[axis][0]}).update(where)
        limit(len(classes), JOIN_AXES, "open axes")
        cells = {axis: sorted(classes[axis]) for axis in sorted(classes)}
        fixed = [axis for axis in cells if axis in axes]
        halves = share({axis: len(cells[axis]) for axis in cells if axis not in fixed}, changes.values())
        choices = [prod(len(cells[axis]) for axis in group) for group in (fixed, *halves)]
        limit(choices[0] * (choices[1] + choices[2]), JOIN_SUMS, "sums")

        tables = []
        for n, along in changes.items():
            table = {}
            for choice in product(*(range(len(cells[axis])) for axis in along)):
                mask = alive[n]
                for axis, number in zip(along, choice):
                    mask &= self.pieces[n].meeting(axis, cells[axis][number], cells[axis][number] + 1)
                table[choice if len(along) > 1 else choice[0]] = self.rounded(lenses, n, mask)
            tables.append((along, table))
        found = 0
        for f, g, chosen in sums(cells, [], fixed, tables, (-need[0], -need[1], ())):
            first, second = (sums(cells, fixed, half, tables, (0, 0, chosen)) for half in halves)
            paired = with_partner(first, second, -f, -g), with_partner(second, first, -f, -g)
            limit(max(map(len, paired)), JOIN_PAIRS, "pairs")
            for (f1, g1, c1), (f2, g2, c2) in product(*paired):
                if f + f1 + f2 >= 0 and g + g1 + g2 >= 0:
                    found += 1
                    limit(found, JOIN_PAIRS, "pairs")
                    self.check_pair(zip([*fixed, *halves[0], *halves[1]], c1 + c2[len(fixed) :]), cells)
        self.done()

    def rounded(self, lenses: list[Lens], piece: int, mask: int) -> tuple[int, ...]:
        """What one of the joint leaves of a mask adds, rounded once more. (There is one only, or all add the same.)"""
        return tuple(rounded_up(lens.values[piece][mask.bit_length() - 1], lens.coarser) for lens in lenses)

    def check_pair(self, choice, cells: dict[int, list[int]]) -> None:
        region = self.region
        for axis, number in choice:
            ends = [*cells[axis], region.box[axis][1]]
            region = self.part(region, axis, ends[number], ends[number + 1])
        refuse_if(not all(map(single, region.alive)), "a pair does not decide every piece")
        first = tuple(low for low, _ in region.box)
        refuse_if(self.solutions(region) and first not in self.problem.excused, "a pair satisfies every row")

    def meet(self, *axes: int) -> None:
        """Section 6. All pieces are tables, so a cell's numbers are a constant and one summand for each axis. A
        solution reaches both bounds. Replacing the choices of some axes of one half by others that are no worse in
        both rows keeps it so; hence it is enough to look at the best sums of each half."""
        refuse_if(len(self.problem.rows) != 2, "there are not two rows")
        self.exist("axis", self.problem.axes, *axes)
        refuse_if(not all(piece.table for piece in self.pieces), "a piece looks at several axes")
        constant = [piece.leaves[0] for piece in self.pieces if not piece.starts]
        need = [bound - sum(leaf[k] for leaf in constant) for k, (bound, _) in enumerate(self.problem.rows)]
        adds: dict[int, list[list[int]]] = {}
        for axis, looking in enumerate(self.looking):
            tables = [self.pieces[n] for n in looking]
            for cell in sorted({cell for piece in tables for cell in piece.starts[axis]}):
                leaves = [piece.leaves[bisect_right(piece.starts[axis], cell) - 1] for piece in tables]
                adds.setdefault(axis, []).append([sum(leaf[k] for leaf in leaves) for k in (0, 1)])
        most = {axis: [max(these[k] for these in all_of) for k in (0, 1)] for axis, all_of in adds.items()}
        lists = []
        for half in ([axis for axis in adds if axis in axes], [axis for axis in adds if axis not in axes]):
            # The best that all axes outside of the list so far can add, those of the other half included.
            rest = [sum(these[k] for these in most.values()) for k in (0, 1)]
            best = [(0, 0)]
            for axis in half:
                rest = [rest[k] - most[axis][k] for k in (0, 1)]
                limit(len(best) * len(adds[axis]), MEET_SUMS, "sums")
                wider, best = sorted(((f + x, g + y) for f, g in best for x, y in adds[axis]), reverse=True), []
                for f, g in wider:
                    if f + rest[0] >= need[0] and g + rest[1] >= need[1] and (not best or g > best[-1][1]):
                        best.append((f, g))
            lists.append(best)
        refuse_if(with_partner(*lists, *need), "a choice of cells reaches both bounds")
        self.done()


def share(counts: dict[int, int], changes) -> list[list[int]]:
    """The axes of each half (section 5), part by part; `counts` are the classes of the open axes that are not fixed.
    The part for pieces that change along fixed axes only has one choice, so it changes neither half."""
    part_of = {axis: [axis] for axis in counts}
    for along in changes:
        own = [axis for axis in along if axis in counts]
        merged = sorted({member for axis in own for member in part_of[axis]})
        part_of.update((member, merged) for member in merged)
    parts = [(prod(map(counts.get, part)), part) for axis, part in sorted(part_of.items()) if axis == part[0]]
    halves, sizes = [[], []], [1, 1]
    for count, part in sorted(parts, key=lambda entry: -entry[0]):
        half = int(sizes[1] < sizes[0])
        halves[half] += part
        sizes[half] *= count
    return halves


def sums(cells: dict[int, list[int]], before: list[int], half: list[int], tables, start: tuple) -> list[tuple]:
    """All sums (f, g) of the pieces whose last axis is one of the half, with the classes that make them. The classes
    of the axes `before` are chosen in `start` already. A piece is added as soon as its last axis is chosen."""
    found, order = [start], list(before)
    for axis in half:
        order.append(axis)
        # No piece changes along axes of both halves: they are of different parts.
        known = [(along, table) for along, table in tables if axis in along and set(along) <= set(order)]
        due = [(itemgetter(*map(order.index, along)), table) for along, table in known]
        wider = []
        for f, g, chosen in found:
            for classes in [(*chosen, number) for number in range(len(cells[axis]))]:
                adds = [table[pick(classes)] for pick, table in due]
                wider.append((f + sum([x for x, _ in adds]), g + sum([y for _, y in adds]), classes))
        found = wider
    return found


def with_partner(these: list[tuple], others: list[tuple], need_f: int, need_g: int) -> list[tuple]:
    """Those sums that reach both numbers together with one of the others: the greater f, the more partners it has."""
    partners = sorted(((other[0], other[1]) for other in others))
    highest, found = None, []
    for entry in sorted(these, key=itemgetter(0)):
        while partners and entry[0] + partners[-1][0] >= need_f:
            partner = partners.pop()[1]
            highest = partner if highest is None else max(highest, partner)
        if highest is not None and entry[1] + highest >= need_g:
            found.append(entry)
    return found


# ----------------------------------------------------------------------------------------------------- lower bounds


class Bounds(NamedTuple):
    """The family is its numbers of columns and of the two kinds of constants, and whether constants count. The
    statements are `cut` with its terms, `cover` with bound, costs and cases, and `crossing` with column and ends."""

    family: tuple
    statements: list[tuple]


def parse_bounds(text: str) -> Bounds:
    family, statements = (), []
    for line, (word, *rest), values in read_lines(text, BOUNDS):
        wrong = word in ("family", "cut", "cover") and bool(family) == (word == "family")
        unreadable_if(wrong, line, "the family comes twice, or is missing before this line")
        if word == "family":
            family = (*values, rest[-1] == "counted")
        elif word == "cut":
            statements.append((word, []))
        elif word == "term":
            counts = [len(part.split()) for part in " ".join(rest[1:]).split(";")]
            unreadable_if(counts != [*family[:3]], line, "the numbers are not as many as the family has")
            statements[-1][1].append(values)
        elif word == "cover":
            items = family[0] + family[3]
            unreadable_if(len(values) not in (1, 1 + items), line, "the costs are not as many as the items")
            statements.append((word, values[0], values[1:] or [1] * items, []))
        elif word in ("branch", "dual"):
            statements[-1][3].append((word, *values))
        elif word == "crossing":
            statements.append((word, *values))
    return Bounds(family, statements)


def check_bounds(bounds: Bounds) -> int:
    """The number of statements, if all hold (section 7). Raises `Refused` otherwise."""
    judge = Statements(bounds.family)
    for number, (word, *rest) in enumerate(bounds.statements):
        try:
            getattr(judge, word)(*rest)
        except Refused as error:
            raise Refused(f"at step {number}: {word}: {error}") from None
    return len(bounds.statements)


class Statements:
    """What the statements so far have shown: of each of `cuts`, every model of the family has an item."""

    def __init__(self, family: tuple):
        self.family = family
        self.cuts: list[set[int]] = []
        self.crossings: set[tuple[int, int, int]] = set()

    def cut(self, terms: list[list[int]]) -> None:
        """The combination of the terms, with multipliers of at least 1, is positive. With no item of the cut there,
        every summand is at most 0: weights that are not 0 have numbers of at most 0, and so have the constants of the
        first kind; those of the second are all 0, or have the number 0."""
        columns, at_most, _, counted = self.family
        strange = not terms or any(multiplier < 1 for multiplier, *_ in terms)
        refuse_if(strange, "it has no terms, or a multiplier is not positive")
        total = [sum(term[0] * term[k] for term in terms) for k in range(1, len(terms[0]))]
        positive = any(number > 0 for number in total[columns : columns + at_most])
        refuse_if(positive, "a constant of the kind at_most has a positive number")
        free = any(total[columns + at_most :])
        refuse_if(free and not counted, "a balanced constant is not balanced")
        items = {item for item, number in enumerate(total[:columns]) if number > 0}
        self.cuts.append(items | {columns} if free else items)

    def cover(self, bound: int, costs: list[int], cases: list[tuple]) -> None:
        waiting: list[dict[int, bool]] = [{}]  # what is decided: kept, or not there
        for number, (word, *rest) in enumerate(cases):
            refuse_if(not waiting, f"case {number} comes after the end")
            decided = waiting.pop()
            if word == "branch":
                (item,) = rest
                strange = item >= len(costs) or item in decided
                refuse_if(strange, f"case {number}: item {item} does not exist, or is decided already")
                waiting += [{**decided, item: False}, {**decided, item: True}]
            else:
                kept = sum(costs[item] for item, there in decided.items() if there)
                least = kept + self.dual(number, decided, costs, *rest)
                refuse_if(least < bound, f"case {number}: the bound is not met")
        refuse_if(bool(waiting), "a case is missing")

    def dual(self, case: int, decided: dict[int, bool], costs: list[int], scale: int, *weights: int) -> int:
        """What the items cost at least that are there and not kept. Of each cut without a kept item an undecided item
        is there. With every weight u at least 0, the costs of these items are at least the sum of the u of the cuts
        that hold them, and that counts every such cut once or more. Costs are whole, so the sum is rounded up."""
        strange = scale < 1 or any(numerator < 0 for numerator in weights[1::2])
        refuse_if(strange, f"case {case}: the denominator is not positive, or a numerator is negative")
        loads, total = [0] * len(costs), 0
        for name, numerator in zip(weights[::2], weights[1::2]):
            refuse_if(name >= len(self.cuts), f"case {case}: there is no cut {name}")
            if not any(decided.get(item) for item in self.cuts[name]):
                total += numerator
                for item in self.cuts[name]:
                    loads[item] += numerator
        heavy = any(loads[item] > scale * cost for item, cost in enumerate(costs) if item not in decided)
        refuse_if(heavy, f"case {case}: an item's cuts weigh more than its cost")
        return -(-total // scale)

    def crossing(self, column: int, low: int, high: int) -> None:
        """Splits that separate intervals without a common position differ: a threshold lies in one of them at most."""
        strange = low >= high or any(c == column and low < b and a < high for c, a, b in self.crossings)
        refuse_if(strange, "the interval is empty or overlaps another one")
        self.crossings.add((column, low, high))


# ------------------------------------------------------------------------------------------------------------ dumps


def read(path: pathlib.Path, parse):
    try:
        # Bytes beyond ASCII become letters that are none, and the reader says in which line.
        return parse(path.read_bytes().decode("latin-1"))
    except (OSError, Unreadable) as error:
        raise Unreadable(0, f"{path}: {error}") from None


def check_named(directory: pathlib.Path, name: str) -> int:
    """Checks `bounds.proof`, or a problem with its proof."""
    if name == "bounds":
        return check_bounds(read(directory / "bounds.proof", parse_bounds))
    return check(read(directory / f"{name}.problem", parse_problem), read(directory / f"{name}.proof", parse_proof))


def main(arguments: list[str]) -> int:
    directory = pathlib.Path(*arguments[:1])
    names = sorted({path.stem for path in directory.glob("*") if path.suffix in (".problem", ".proof")})
    if len(arguments) != 1 or not names:
        print("usage: kernel DIR, where DIR holds a dump", file=sys.stderr)
        return 2
    # In the order of the exit codes.
    verdicts = {None: "proved", Refused: "refused", Unreadable: "not readable", Incomplete: "incomplete"}
    count = dict.fromkeys(verdicts, 0)
    for name in names:
        try:
            kind, words = None, f", {check_named(directory, name)} steps"
        except (Refused, Unreadable, Incomplete) as error:
            kind, words = type(error), f" {error}"
        except MemoryError:
            kind, words = Incomplete, " for want of memory"
        count[kind] += 1
        print(f"{name} {verdicts[kind]}{words}", flush=True)
    print(", ".join(f"{count[kind]} {word}" for kind, word in verdicts.items()))
    return next((code for code, kind in enumerate(verdicts) if kind and count[kind]), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
