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
from functools import lru_cache, reduce
from itertools import accumulate, groupby, product
from math import prod
from operator import add, and_, ge, itemgetter, mul, or_
from typing import NamedTuple

# Section 8: where this kernel gives up.
JOINT_LEAVES, MASK_BITS, CELLS, MEET_SUMS = 1 << 20, 1 << 33, 1 << 24, 1 << 23
JOIN_SUMS, JOIN_PAIRS, JOIN_AXES, JOIN_LEAVES = 1 << 20, 1 << 12, 64, 1 << 10


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
    and its form: P stands for a number of at least 1, N for one of at least 0, Z for any. A number has one spelling
    only."""
    found = {}
    for rule in rules.strip().split("\n"):
        forms, before = rule.split(" <- ")
        for form in forms.strip().split(" | "):
            pattern = form.replace("N", "(0|P)").replace("Z", "(0|-?P)").replace("P", "([1-9][0-9]*)")
            found[re.split("[ (]", form)[0]] = before.split(), pattern
    return found


PROBLEM = grammar("""
    secateur problem 1 <- start
    axes( P)* <- secateur
    sums N <- axes
    tree <- sums split leaf
    split N N N( N-N)* | leaf( N:Z)* <- tree split leaf
    row Z( N:Z)* <- sums split leaf row
    excused( N)* | EOF <- sums split leaf row excused
""")
PROOF = grammar("""
    secateur proof 1 <- start
    stack( N)* <- secateur stack
    lens( Z)* | close N | narrow N N N N | cells <- secateur stack lens close narrow split cells join meet
    split N N (low|high) | join N( N)* | meet( N)* | end <- secateur stack lens close narrow split cells join meet
    EOF <- end
""")
BOUNDS = grammar("""
    secateur bounds 1 <- start
    family N N N (counted|free) <- secateur crossing
    cut | cover N( N)* <- family cut term cover branch dual crossing
    term Z( Z)* ;( Z)* ;( Z)* <- cut term
    branch N | dual N( N:N)* <- cover branch dual
    crossing N N N | end <- secateur family cut term cover branch dual crossing
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
        may_follow, form = rules.get(words[0], ([], ""))
        unreadable_if(before not in may_follow, line, f"there is no such line, or not here: `{whole[:60]}`")
        unreadable_if(not re.fullmatch(form, whole), line, f"it has not the form of such a line: `{whole[:60]}`")
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
            wrong = axis >= len(problem.axes) or ends != sorted(set(ends)) or max(ends, default=0) > problem.axes[axis]
            unreadable_if(wrong, line, "there is no such axis, or a range is empty, touches another or leaves it")
            tree.append(Split(axis, yes, no, ends))
        elif word == "row":
            problem.rows.append((values[0], named(line, words[1:], sums)))
        elif word == "excused":
            wrong = len(values) != len(problem.axes) or any(map(ge, values, problem.axes))
            unreadable_if(wrong, line, "this is no cell of the grid")
            problem.excused.add(tuple(values))
    unreadable_if(not problem.rows, 1, "the file has no rows")
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
        splits = [node for tree in trees for node in tree if isinstance(node, Split)]
        inner = sorted({(s.axis, end) for s in splits for end in s.ends if 0 < end < problem.axes[s.axis]})
        self.starts = {axis: [0, *(end for _, end in ends)] for axis, ends in groupby(inner, itemgetter(0))}
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
            runs_of = [sets.get(axis, -1) for sets, _ in reversed(joint)]
            digits = ["".join(["01"[runs >> run & 1] for runs in runs_of]) for run in range(len(starts))]
            self.held[axis] = [int(binary, 2) for binary in digits]
        self.meeting = lru_cache(1 << 14)(self._meeting)

    def _intersect(self, problem: Problem, trees) -> list[tuple[dict[int, int], tuple[int, ...]]]:
        """Walks each set of cells so far down the next tree and keeps what is not empty: for each joint leaf its runs
        as bits, on the axes where these are not all, and what it adds to each row."""
        full = {axis: (1 << len(starts)) - 1 for axis, starts in self.starts.items()}
        joint: list[tuple[dict[int, int], tuple[int, ...]]] = [({}, (0,) * len(problem.rows))]
        for tree in trees:
            # For a split its runs as bits, for a leaf what it adds to each row.
            says = [
                sum(bisect_right(node.ends, cell) % 2 << n for n, cell in enumerate(self.starts.get(node.axis, [0])))
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
        first, end = bisect_right(self.starts[axis], low) - 1, bisect_left(self.starts[axis], high)
        return reduce(or_, self.held[axis][first:end])

    def boundaries(self, box, alive: int, axis: int) -> list[int]:
        """Cells of the box's range that differ from the cell before: another one of `alive` holds them there."""
        starts, held = self.starts[axis], self.held[axis]
        inner = range(bisect_right(starts, box[axis][0]), bisect_left(starts, box[axis][1]))
        return [starts[run] for run in inner if (held[run - 1] ^ held[run]) & alive]


class Region(NamedTuple):
    """A box, and for each piece the joint leaves that meet it."""

    box: list[tuple[int, int]]
    alive: list[int]


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
        values = [[sum(map(mul, multipliers, leaf)) for leaf in piece.leaves] for piece in kernel.pieces]
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
            refuse_if(word == "meet" and number > 0, "it is not the only step")
            refuse_if(word == "lens" != proof.steps[max(number, 1) - 1][0], "it comes after another step")
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
        self.lenses: list[Lens] = []
        self.row = lru_cache(None)(lambda n, exact: Lens(self, [k == n for k, _ in enumerate(problem.rows)], exact))

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
        self.lenses.append(Lens(self, list(multipliers)))

    def close(self, lens: int) -> None:
        """Sound by what `Lens` shows: a solution in the box would make `upper` reach the bound."""
        self.exist("lens", self.lenses, lens)
        refuse_if(not self.lenses[lens].closes(self.region), "the bound is not met")
        self.done()

    def narrow(self, lens: int, axis: int, low: int, high: int) -> None:
        """The parts below and above are closed, so a solution of the box is in the part that is kept."""
        self.exist("lens", self.lenses, lens)
        self.exist("axis", self.problem.axes, axis)
        first, end = self.region.box[axis]
        strange = not first <= low < high <= end or (low, high) == (first, end)
        refuse_if(strange, "the range is empty, no part of the box, or all of it")
        for side, start, stop in (("below", first, low), ("above", high, end)):
            closed = start == stop or self.lenses[lens].closes(self.part(self.region, axis, start, stop))
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
            unsure = next((piece for piece, mask in enumerate(region.alive) if mask.bit_count() > 1), None)
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
        # The axes along which each piece that is not settled changes, and the first cells of the classes of each axis.
        changes: dict[int, list[int]] = {}
        classes: dict[int, set[int]] = {}
        for n, (piece, mask) in enumerate(zip(self.pieces, alive)):
            if mask.bit_count() == 1 or all(lens.constant[n] for lens in lenses):
                need = [have - more for have, more in zip(need, self.rounded(lenses, n, mask))]
                continue
            limit(0 if piece.table else len(piece.leaves), JOIN_LEAVES, "joint leaves of a piece")
            starts = {axis: first for axis in piece.starts if (first := piece.boundaries(box, mask, axis))}
            changes[n] = list(starts)
            for axis, first in starts.items():
                classes.setdefault(axis, {box[axis][0]}).update(first)
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
                chosen = ((axis, cells[axis][number]) for axis, number in zip(along, choice))
                mask = reduce(and_, (self.pieces[n].meeting(axis, cell, cell + 1) for axis, cell in chosen), alive[n])
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
        refuse_if(any(mask.bit_count() > 1 for mask in region.alive), "a pair does not decide every piece")
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
        merged = sorted({member for axis in along if axis in counts for member in part_of[axis]})
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
    partners = sorted((other[:2] for other in others), reverse=True)
    # How great the second number can be among the first one, two, three ... partners.
    highest = [*accumulate((g for _, g in partners), max)]
    counts = (bisect_right(partners, f - need_f, key=lambda partner: -partner[0]) for f, *_ in these)
    return [entry for entry, count in zip(these, counts) if count and entry[1] + highest[count - 1] >= need_g]


# ----------------------------------------------------------------------------------------------------- lower bounds


def parse_bounds(text: str) -> tuple[tuple, list[tuple]]:
    """The family: its numbers of columns and of the two kinds of constants, and whether constants count. And the
    steps: `cut` with all its terms, `cover` with bound and costs, the others as they stand."""
    family, steps = (), []
    for line, (word, *rest), values in read_lines(text, BOUNDS):
        wrong = word in ("family", "cut", "cover") and bool(family) == (word == "family")
        unreadable_if(wrong, line, "the family comes twice, or is missing before this line")
        if word == "family":
            family = (*values, rest[-1] == "counted")
        elif word == "cut":
            steps.append((word, []))
        elif word == "term":
            counts = [len(part.split()) for part in " ".join(rest[1:]).split(";")]
            unreadable_if(counts != [*family[:3]], line, "the numbers are not as many as the family has")
            steps[-1][1].append(values)
        elif word == "cover":
            items = family[0] + family[3]
            unreadable_if(len(values) not in (1, 1 + items), line, "the costs are not as many as the items")
            steps.append((word, values[0], values[1:] or [1] * items))
        elif word in ("branch", "dual", "crossing"):
            steps.append((word, *values))
    return family, steps


def check_bounds(bounds: tuple[tuple, list[tuple]]) -> int:
    """The number of steps, if all hold (section 7). Raises `Refused` otherwise."""
    family, steps = bounds
    judge = Statements(family)
    for number, (word, *rest) in enumerate([*steps, ("end",)]):
        try:
            inside = word in ("branch", "dual")
            refuse_if(bool(judge.cases) != inside, "the cover is done already" if inside else "a case is missing")
            getattr(judge, word)(*rest)
        except Refused as error:
            raise Refused(f"at step {number}: {word}: {error}") from None
    return len(steps)


class Statements:
    """What the steps so far have shown: of each of `cuts`, every model of the family has an item. `cases` are those
    of the cover that is under way that are not shown yet: what each has decided, an item kept or not there."""

    def __init__(self, family: tuple):
        self.family, self.crossings = family, set()
        self.cuts: list[set[int]] = []
        self.cases: list[dict[int, bool]] = []

    def cut(self, terms: list[list[int]]) -> None:
        """The combination of the terms, with multipliers of at least 1, is positive. With no item of the cut there,
        every summand is at most 0: weights that are not 0 have numbers of at most 0, and so have the constants of the
        first kind; those of the second are all 0, or have the number 0."""
        columns, others, _, counted = self.family
        refuse_if(min((term[0] for term in terms), default=0) < 1, "it has no terms, or a multiplier is not positive")
        total = [sum(term[0] * term[k] for term in terms) for k in range(1, len(terms[0]))]
        weights, at_most, balanced = total[:columns], total[columns : columns + others], total[columns + others :]
        refuse_if(max(at_most, default=0) > 0, "a constant of the kind at_most has a positive number")
        refuse_if(any(balanced) and not counted, "a balanced constant is not balanced")
        items = {item for item, number in enumerate(weights) if number > 0}
        self.cuts.append(items | {columns} if any(balanced) else items)

    def cover(self, bound: int, costs: list[int]) -> None:
        self.bound, self.costs, self.cases = bound, costs, [{}]

    def branch(self, item: int) -> None:
        decided = self.cases.pop()
        refuse_if(item >= len(self.costs) or item in decided, f"item {item} does not exist, or is decided already")
        self.cases += [{**decided, item: False}, {**decided, item: True}]

    def dual(self, scale: int, *weights: int) -> None:
        """What the items cost at least that are there in this case. Of each cut without a kept item an undecided item
        is there. With every weight u at least 0, the costs of these items are at least the sum of the u of the cuts
        that hold them, and that counts every such cut once or more. Costs are whole, so the sum is rounded up."""
        decided, cuts, numerators = self.cases.pop(), weights[::2], weights[1::2]
        refuse_if(scale < 1, "the denominator is 0")
        refuse_if(max(cuts, default=-1) >= len(self.cuts), "it names a cut that has not been there")
        used = [(self.cuts[name], u) for name, u in zip(cuts, numerators) if not any(map(decided.get, self.cuts[name]))]
        loads = [sum(u for items, u in used if item in items) for item in range(len(self.costs))]
        heavy = any(loads[item] > scale * cost for item, cost in enumerate(self.costs) if item not in decided)
        refuse_if(heavy, "an item's cuts weigh more than its cost")
        kept = sum(self.costs[item] for item, there in decided.items() if there)
        least = kept - (-sum(u for _, u in used) // scale)
        refuse_if(least < self.bound, "the bound is not met")

    def crossing(self, column: int, low: int, high: int) -> None:
        """Splits that separate intervals without a common position differ: a threshold lies in one of them at most."""
        strange = low >= high or any(c == column and low < b and a < high for c, a, b in self.crossings)
        refuse_if(strange, "the interval is empty or overlaps another one")
        self.crossings.add((column, low, high))

    def end(self) -> None:
        """Nothing is left to show."""


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
