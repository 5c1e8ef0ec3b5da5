"""The second proof kernel against brute force: on small problems every cell can be asked.

`Asked` below decides each step of the specification by asking every cell of the grid, without boxes of leaves, halves
or sums. `SECATEUR_KERNEL_PROBLEMS` says how many problems are tried; each is tried with hundreds of changed proofs.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pathlib
import random
import subprocess
import sys

import pytest

FILE = pathlib.Path(__file__).parents[1] / "secateur" / "kernel.py"
# By its path, so that what is tested is the file alone, without the package.
spec = importlib.util.spec_from_file_location("kernel_alone", FILE)
kernel = importlib.util.module_from_spec(spec)
sys.modules["kernel_alone"] = kernel
spec.loader.exec_module(kernel)

PROBLEMS = int(os.environ.get("SECATEUR_KERNEL_PROBLEMS", "50"))


def up(number, shift):
    """Rounded up after a division by a power of two, said in another way than the kernel says it."""
    quotient, rest = divmod(number, 2**shift)
    return quotient + (rest > 0)


class Asked:
    """A problem, with every cell asked for the leaves that it reaches. A tree is a list of nodes; a split is
    (axis, set of cells, yes, no), a leaf a dictionary of sums."""

    def __init__(self, axes, sums, trees, rows, excused=()):
        self.axes, self.sums, self.trees, self.rows, self.excused = axes, sums, trees, rows, set(excused)
        self.cells = list(itertools.product(*map(range, axes)))
        self.reached = {cell: tuple(self.walk(tree, cell) for tree in trees) for cell in self.cells}

    def walk(self, tree, cell):
        number = 0
        while isinstance(tree[number], tuple):
            axis, inside, yes, no = tree[number]
            number = yes if cell[axis] in inside else no
        return number

    def adds(self, tree, leaf, row):
        return sum(self.rows[row][1].get(s, 0) * n for s, n in self.trees[tree][leaf].items())

    def is_solution(self, cell):
        leaves = list(enumerate(self.reached[cell]))
        return all(sum(self.adds(t, n, k) for t, n in leaves) >= row[0] for k, row in enumerate(self.rows))

    def solutions(self):
        """All solutions that neither are excused nor reach the same leaves as an excused cell."""
        alike = {self.reached[cell] for cell in self.excused}
        return [cell for cell in self.cells if self.is_solution(cell) and self.reached[cell] not in alike]

    def text(self):
        lines = ["secateur problem 1", " ".join(map(str, ["axes", *self.axes])), f"sums {self.sums}"]
        for tree in self.trees:
            lines.append("tree")
            for node in tree:
                if isinstance(node, tuple):
                    axis, inside, yes, no = node
                    lines.append(" ".join(["split", f"{axis} {yes} {no}", *ranges(inside)]))
                else:
                    lines.append(" ".join(["leaf", *(f"{s}:{n}" for s, n in node.items())]))
        lines += [" ".join([f"row {bound}", *(f"{s}:{n}" for s, n in terms.items())]) for bound, terms in self.rows]
        lines += [" ".join(map(str, ["excused", *cell])) for cell in sorted(self.excused)]
        return "\n".join(lines) + "\n"


def ranges(inside):
    cells = sorted(inside)
    starts = [cell for cell in cells if cell - 1 not in inside]
    ends = [cell + 1 for cell in cells if cell + 1 not in inside]
    return [f"{start}-{end}" for start, end in zip(starts, ends)]


class Rules:
    """The rules of the specification, one cell at a time."""

    def __init__(self, asked: Asked, stacks):
        self.asked = asked
        used = [tree for stack in stacks for tree in stack]
        self.valid = all(stacks) and len(set(used)) == len(used) and all(t < len(asked.trees) for t in used)
        if not self.valid:
            return
        self.pieces = [tuple(stack) for stack in stacks]
        self.pieces += [(tree,) for tree in range(len(asked.trees)) if tree not in used]
        self.table, self.joint = [], []
        for piece in self.pieces:
            splits = [node for tree in piece for node in asked.trees[tree] if isinstance(node, tuple)]
            looks = {axis for axis, inside, _, _ in splits if 0 < len(inside) < asked.axes[axis]}
            self.table.append(len(looks) <= 1)
            # The joint leaf of each cell; a table has one for each run.
            run = [0]
            for axis in looks if len(looks) == 1 else ():
                for cell in range(1, asked.axes[axis]):
                    apart = any(s[0] == axis and (cell in s[1]) != (cell - 1 in s[1]) for s in splits)
                    run.append(run[-1] + apart)
            only = next(iter(looks)) if len(looks) == 1 else None
            self.joint.append(
                {
                    cell: (*(asked.reached[cell][t] for t in piece), -1 if only is None else run[cell[only]])
                    for cell in asked.cells
                }
            )
        self.holds = []
        for joint in self.joint:
            held = {}
            for cell, leaf in joint.items():
                for axis, place in enumerate(cell):
                    held.setdefault(leaf, [set() for _ in cell])[axis].add(place)
            self.holds.append(held)
        self.lenses = {}

    def lens(self, multipliers):
        """The bound and the rounded value of each joint leaf of each piece, and B and s."""
        multipliers = tuple(multipliers)
        if multipliers not in self.lenses:
            asked = self.asked
            bound = sum(m * row[0] for m, row in zip(multipliers, asked.rows))
            exact = []
            for piece, held in zip(self.pieces, self.holds):
                exact.append(
                    {
                        leaf: sum(
                            m * asked.adds(tree, node, row)
                            for row, m in enumerate(multipliers)
                            for tree, node in zip(piece, leaf)
                        )
                        for leaf in held
                    }
                )
            width = sum(max(abs(value) for value in values.values()) for values in exact)
            digits = max(len(f"{abs(n):b}") if n else 0 for n in (width, bound))
            shift = max(0, digits - 120)
            values = [{leaf: up(value, shift) for leaf, value in of.items()} for of in exact]
            self.lenses[multipliers] = up(bound, shift), values, digits, shift
        return self.lenses[multipliers]

    def inside(self, box):
        return list(itertools.product(*(range(low, high) for low, high in box)))

    def closes(self, multipliers, box):
        bound, values, _, _ = self.lens(multipliers)
        cells = self.inside(box)
        return sum(max(of[joint[cell]] for cell in cells) for of, joint in zip(values, self.joint)) < bound

    def cells(self, box):
        return all(cell in self.asked.excused or not self.asked.is_solution(cell) for cell in self.inside(box))

    def join(self, box, row, fixed):
        asked, last = self.asked, len(self.asked.rows) - 1
        if row >= last or any(axis >= len(asked.axes) for axis in fixed):
            return False
        cells = self.inside(box)
        lenses = []
        for k in (row, last):
            bound, values, digits, shift = self.lens(int(j == k) for j in range(last + 1))
            lenses.append((bound, values, max(0, digits - shift - 60)))
        moving = []
        for n, joint in enumerate(self.joint):
            same = all(len(set(values[n].values())) == 1 for _, values, _ in lenses)
            if len({joint[cell] for cell in cells}) > 1 and not same:
                moving.append(n)
        classes = []
        for axis, (low, high) in enumerate(box):
            of = [[low]]
            for cell in range(low + 1, high):
                alike = all(
                    (cell in held[axis]) == (cell - 1 in held[axis])
                    for n in moving
                    for held in (self.holds[n][leaf] for leaf in {self.joint[n][c] for c in cells})
                )
                of[-1].append(cell) if alike else of.append([cell])
            classes.append(of)
        for choice in itertools.product(*classes):
            here = list(itertools.product(*choice))
            if all(
                sum(up(values[n][joint[here[0]]], t) for n, joint in enumerate(self.joint)) >= up(bound, t)
                for bound, values, t in lenses
            ):
                if any(len({joint[cell] for cell in here}) > 1 for joint in self.joint):
                    return False
                if asked.is_solution(here[0]) and here[0] not in asked.excused:
                    return False
        return True

    def proves(self, steps):
        if not self.valid:
            return False
        asked = self.asked
        if steps and steps[0][0] == "meet":
            fits = len(steps) == 1 and len(asked.rows) == 2 and all(a < len(asked.axes) for a in steps[0][1:])
            return fits and all(self.table) and not any(map(asked.is_solution, asked.cells))
        box, waiting, lenses, others = [(0, n) for n in asked.axes], [], [], False
        for word, *rest in steps:
            others |= word != "lens"
            if box is None or word == "meet":
                return False
            if word == "lens":
                if others or len(rest) != len(asked.rows) or min(rest, default=0) < 0:
                    return False
                lenses.append(rest)
                continue
            if word in ("close", "narrow") and rest[0] >= len(lenses):
                return False
            if word in ("narrow", "split"):
                axis, first, *_ = rest[1:] if word == "narrow" else rest
                if axis >= len(asked.axes):
                    return False
                low, high = box[axis]

                def part(start, end):
                    return [*box[:axis], (start, end), *box[axis + 1 :]]

            if word == "narrow":
                end = rest[3]
                if not (low <= first < end <= high and end - first < high - low):
                    return False
                for outside in ((low, first), (end, high)):
                    if outside[0] < outside[1] and not self.closes(lenses[rest[0]], part(*outside)):
                        return False
                box = part(first, end)
            elif word == "split":
                if not (low <= first and first + 1 < high):
                    return False
                sides = [part(low, first + 1), part(first + 1, high)]
                chosen = 0 if rest[2] == "low" else 1
                box = sides[chosen]
                waiting.append(sides[1 - chosen])
            else:
                if word == "close" and not self.closes(lenses[rest[0]], box):
                    return False
                if word == "cells" and not self.cells(box):
                    return False
                if word == "join" and not self.join(box, rest[0], rest[1:]):
                    return False
                box = waiting.pop() if waiting else None
        return box is None


# ------------------------------------------------------------------------------------------- problems and proofs


def draw_tree(rng, axes, sums, scale, depth=3):
    nodes = []

    def grow(left):
        place = len(nodes)
        nodes.append(None)
        if left == 0 or rng.random() < 0.15:
            number = rng.randint(-5, 5) * scale + (rng.randint(-3, 3) if scale > 1 else 0)
            nodes[place] = {s: number if rng.random() < 0.5 else rng.randint(-4, 4) * scale for s in range(sums)}
            if rng.random() < 0.2:
                nodes[place].popitem()
            return place
        axis = rng.randrange(len(axes))
        cut = rng.randint(0, axes[axis])
        inside = set(range(cut)) if rng.random() < 0.7 else {c for c in range(axes[axis]) if rng.random() < 0.5}
        yes = grow(left - 1)
        no = grow(left - 1)
        nodes[place] = (axis, frozenset(inside), yes, no)
        return place

    grow(rng.randint(0, depth))
    return nodes


def draw_problem(rng):
    axes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    sums = rng.randint(1, 3)
    # Beyond 120 bits the numbers of a lens are rounded, beyond 60 those of a join.
    scale = rng.choice([1, 1, 1, 2**58, 2**70, 2**118, 2**130])
    depth = rng.choice([1, 2, 3])
    trees = [draw_tree(rng, axes, sums, scale, depth) for _ in range(rng.randint(1, 5))]
    if depth == 1 and rng.random() < 0.5:
        axes_of = [[n[0] for n in tree if isinstance(n, tuple)] for tree in trees]
        assert all(len(of) <= 1 for of in axes_of)
    rows = []
    for _ in range(rng.choice([1, 2, 2, 2, 3])):
        terms = {s: rng.choice([-1, 1, 1, 2]) for s in range(sums) if rng.random() < 0.8}
        rows.append((0, terms))
    asked = Asked(axes, sums, trees, rows)
    # Bounds near what cells reach make problems that are neither trivial nor hopeless.
    for k, (_, terms) in enumerate(rows):
        reached = sorted(sum(asked.adds(t, n, k) for t, n in enumerate(leaves)) for leaves in asked.reached.values())
        rows[k] = rng.choice(reached[len(reached) // 2 :]) + rng.choice([0, 0, 1, scale]), terms
    solutions = [cell for cell in asked.cells if asked.is_solution(cell)]
    if solutions and rng.random() < 0.8:
        kept = solutions if rng.random() < 0.8 else rng.sample(solutions, rng.randint(0, len(solutions)))
        asked.excused = set(kept)
    return asked


def draw_proof(rng, asked):
    """Stacks and steps: what holds where something does, and otherwise a step that must be refused."""
    order = rng.sample(range(len(asked.trees)), len(asked.trees))
    stacks = []
    while order and rng.random() < 0.5:
        stacks.append([order.pop() for _ in range(min(len(order), rng.randint(1, 3)))])
    rules = Rules(asked, stacks)
    rows = len(asked.rows)
    if all(rules.table) and rows == 2 and rng.random() < 0.6:
        return stacks, [("meet", *rng.sample(range(len(asked.axes)), rng.randint(0, len(asked.axes))))]
    lenses = [[int(k == row) for k in range(rows)] for row in range(rows)]
    lenses += [[rng.randint(0, 3) for _ in range(rows)] for _ in range(2)]
    steps = [("lens", *lens) for lens in lenses]

    def prove(box):
        closing = [n for n, lens in enumerate(lenses) if rules.closes(lens, box)]
        if closing:
            steps.append(("close", rng.choice(closing)))
            return
        cells = rules.inside(box)
        for _ in range(3):
            lens, axis = rng.randrange(len(lenses)), rng.randrange(len(box))
            low, high = box[axis]
            if high - low > 1:
                first = rng.randrange(low, high)
                end = rng.randint(first + 1, high)
                sides = [s for s in ((low, first), (end, high)) if s[0] < s[1]]
                if sides and all(rules.closes(lenses[lens], [*box[:axis], s, *box[axis + 1 :]]) for s in sides):
                    steps.append(("narrow", lens, axis, first, end))
                    prove([*box[:axis], (first, end), *box[axis + 1 :]])
                    return
        if rows > 1 and rng.random() < 0.5:
            row, fixed = rng.randrange(rows - 1), rng.sample(range(len(box)), rng.randint(0, len(box)))
            if rules.join(box, row, fixed):
                steps.append(("join", row, *fixed))
                return
        wide = [axis for axis, (low, high) in enumerate(box) if high - low > 1]
        if not wide or len(cells) < 9 and rng.random() < 0.3 and rules.cells(box):
            steps.append(("cells",))
            return
        axis = rng.choice(wide)
        low, high = box[axis]
        cut, side = rng.randrange(low, high - 1), rng.choice(["low", "high"])
        steps.append(("split", axis, cut, side))
        sides = [(low, cut + 1), (cut + 1, high)]
        for end in sides if side == "low" else sides[::-1]:
            prove([*box[:axis], end, *box[axis + 1 :]])

    prove([(0, n) for n in asked.axes])
    return stacks, steps


def verdict(asked_text, proof_text):
    try:
        kernel.check(kernel.parse_problem(asked_text), kernel.parse_proof(proof_text))
        return "proved"
    except kernel.Unreadable:
        return "unreadable"
    except kernel.Refused:
        return "refused"


def proof_text(lines, stacks=()):
    lines = [" ".join(map(str, line)) for line in lines]
    return "\n".join(
        ["secateur proof 1", *(" ".join(map(str, ["stack", *s])) for s in stacks), *lines, "end"]
    ) + "\n"


def changed_proofs(rng, stacks, steps, most):
    """Every number of every step by one more and one less, and steps that are missing, swapped, repeated."""
    found = []
    for place, step in enumerate(steps):
        for word, part in enumerate(step):
            if isinstance(part, int):
                for other in (part - 1, part + 1):
                    found.append((stacks, [*steps[:place], (*step[:word], other, *step[word + 1 :]), *steps[place + 1 :]]))
            elif part in ("low", "high"):
                other = "low" if part == "high" else "high"
                found.append((stacks, [*steps[:place], (*step[:-1], other), *steps[place + 1 :]]))
        found.append((stacks, steps[:place] + steps[place + 1 :]))
        found.append((stacks, steps[: place + 1] + steps[place:]))
        found.append((stacks, [*steps[:place], *steps[place : place + 2][::-1], *steps[place + 2 :]]))
        if step[0] == "join":
            found.append((stacks, [*steps[:place], step[:2], *steps[place + 1 :]]))
    for place, stack in enumerate(stacks):
        found.append((stacks[:place] + stacks[place + 1 :], steps))
        found.append(([*stacks, stack], steps))
        for word in range(len(stack)):
            found.append(([*stacks[:place], [*stack[:word], stack[word] + 1, *stack[word + 1 :]], *stacks[place + 1 :]], steps))
    rng.shuffle(found)
    return found[:most]


def changed_problems(rng, asked, most):
    """Other bounds, leaf values, sets of splits and excuses."""
    found = []
    for k, (bound, terms) in enumerate(asked.rows):
        for other in (bound - 1, bound + 1):
            found.append((asked.trees, [*asked.rows[:k], (other, terms), *asked.rows[k + 1 :]], asked.excused))
    for t, tree in enumerate(asked.trees):
        for n, node in enumerate(tree):
            others = []
            if isinstance(node, dict):
                others = [{**node, s: value + step} for s, value in node.items() for step in (-1, 1)]
            else:
                axis, inside, yes, no = node
                others = [(axis, inside ^ {cell}, yes, no) for cell in range(asked.axes[axis])]
                others.append((axis, inside, no, yes))
            for other in others:
                trees = [*asked.trees[:t], [*tree[:n], other, *tree[n + 1 :]], *asked.trees[t + 1 :]]
                found.append((trees, asked.rows, asked.excused))
    for cell in sorted(asked.excused):
        found.append((asked.trees, asked.rows, asked.excused - {cell}))
    rng.shuffle(found)
    return [Asked(asked.axes, asked.sums, *parts) for parts in found[:most]]


def test_no_wrong_proof_is_accepted_and_no_right_one_refused():
    seen = {"proved": 0, "refused": 0, "unreadable": 0}
    words, rounded = set(), 0
    for seed in range(PROBLEMS):
        rng = random.Random(seed)
        asked = draw_problem(rng)
        stacks, steps = draw_proof(rng, asked)
        cases = [(asked, stacks, steps)]
        cases += [(asked, *case) for case in changed_proofs(rng, stacks, steps, 150)]
        cases += [(other, stacks, steps) for other in changed_problems(rng, asked, 40)]
        for problem, some, proof in cases:
            found = verdict(problem.text(), proof_text(proof, some))
            seen[found] += 1
            why = f"seed {seed}\n{problem.text()}{proof_text(proof, some)}"
            if found == "unreadable":
                # Only a number below 0 where none can be.
                assert any(isinstance(part, int) and part < 0 for line in (*proof, *some) for part in line), why
                continue
            rules = Rules(problem, some)
            assert (found == "proved") == rules.proves(proof), why
            if found == "proved":
                assert not problem.solutions(), why
                words.update(step[0] for step in proof)
                rounded += any(abs(bound) > 2**121 for bound, _ in problem.rows)
    # Nothing would be shown if proofs were of one kind, or all of them refused.
    if PROBLEMS >= 50:
        assert words == {"lens", "close", "narrow", "split", "cells", "join", "meet"}
        assert min(seen["proved"], seen["refused"]) > 20 * PROBLEMS and rounded > 5 * PROBLEMS, (seen, rounded)
