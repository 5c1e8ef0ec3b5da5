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
        meeting = [self.holds[n][leaf] for n in moving for leaf in {self.joint[n][cell] for cell in cells}]
        classes = []
        for axis, (low, high) in enumerate(box):
            of = [[low]]
            for cell in range(low + 1, high):
                alike = all((cell in held[axis]) == (cell - 1 in held[axis]) for held in meeting)
                of[-1].append(cell) if alike else of.append([cell])
            classes.append(of)
        coarse = [(up(b, t), [{leaf: up(v, t) for leaf, v in of.items()} for of in values]) for b, values, t in lenses]
        for choice in itertools.product(*classes):
            first = tuple(cells_of[0] for cells_of in choice)
            if all(sum(of[joint[first]] for of, joint in zip(values, self.joint)) >= bound for bound, values in coarse):
                here = list(itertools.product(*choice))
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
        cases += [(asked, *case) for case in changed_proofs(rng, stacks, steps, 90)]
        cases += [(other, stacks, steps) for other in changed_problems(rng, asked, 25)]
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
        assert min(seen["proved"], seen["refused"]) > 10 * PROBLEMS and rounded > 2 * PROBLEMS, (seen, rounded)


def compare(counts, seed, asked, stacks, steps):
    """One proof by both: the kernel, and every cell asked."""
    found = verdict(asked.text(), proof_text(steps, stacks))
    assert (found == "proved") == Rules(asked, stacks).proves(steps), f"seed {seed}: {found}\n{asked.text()}{steps}"
    assert found != "proved" or not asked.solutions()
    counts[found] += 1


def near(rng, number, digits):
    """A number that rounding to a bit more or less tells apart from another."""
    return number + rng.choice([-1, 1]) * rng.randint(0, 2 ** max(1, digits + rng.randint(-2, 3)))


def test_a_lens_is_rounded_as_the_page_says():
    """Bounds beside the largest sum, by about what the rounding of all pieces adds: one bit more or less shows."""
    counts = {"proved": 0, "refused": 0}
    for seed in range(20 * PROBLEMS):
        rng = random.Random(seed)
        digits = rng.randint(112, 140)
        trees = []
        for _ in range(rng.randint(1, 9)):
            values = [rng.choice([-1, 1]) * rng.getrandbits(rng.randint(digits - 12, digits)) for _ in range(2)]
            # Numbers just above a multiple of a power of two gain most when they are rounded up.
            values = [(v >> rng.choice([0, 8, 16]) << 16) + rng.choice([0, 1, 1, 7]) for v in values]
            trees.append([(0, frozenset({0}), 1, 2), {0: values[0]}, {0: values[1]}])
        low = rng.random() < 0.5
        best = sum(tree[1][0] if low else max(tree[1][0], tree[2][0]) for tree in trees)
        width = sum(max(abs(tree[1][0]), abs(tree[2][0])) for tree in trees)
        bound = near(rng, best, width.bit_length() - 120)
        if rng.random() < 0.3:
            # The bound alone has the most digits.
            values = [abs(tree[1][0]) for tree in trees]
            digits = sum(values).bit_length()
            bound = 2**digits
            values[0] += bound - 1 - sum(values) - rng.randint(0, len(trees) << max(0, digits - 120))
            trees = [[{0: value}] for value in values]
        asked = Asked([3], 1, trees, [(bound, {0: 1})])
        steps = [("lens", 1), ("split", 0, 0, "low"), ("close", 0), ("cells",)] if low else [("lens", 1), ("close", 0)]
        compare(counts, seed, asked, [], steps)
    assert min(counts.values()) > PROBLEMS, counts


def test_a_join_is_rounded_as_the_page_says():
    """With a tree that never decides what it adds to a third row, a join holds exactly if no sum reaches both bounds."""
    counts = {"proved": 0, "refused": 0}
    for seed in range(8 * PROBLEMS):
        rng = random.Random(seed)
        digits = rng.choice([rng.randint(54, 72), rng.randint(54, 72), rng.randint(112, 135)])
        axes = [rng.randint(2, 3) for _ in range(4)]
        trees = []
        for axis in range(3):
            for _ in range(rng.randint(1, 3)):
                values = [{s: rng.choice([-1, 1]) * rng.getrandbits(digits) for s in (0, 1)} for _ in range(2)]
                trees.append([(axis, frozenset(range(rng.randint(1, axes[axis] - 1))), 1, 2), *values])
        # Of many digits, what it adds to the first row is rounded to the same.
        same = int(digits > 115)
        trees.append([(3, frozenset({0}), 1, 2), {2: 1, 0: same}, {2: 2, 0: 2 * same}])
        asked = Asked(axes, 3, trees, [(0, {0: 1}), (0, {2: 1}), (0, {1: 1})])
        sums = [[sum(asked.adds(t, n, k) for t, n in enumerate(leaves)) for k in (0, 2)] for leaves in asked.reached.values()]
        best = rng.choice(sums)
        width = sum(max(abs(leaf[0]) for leaf in tree[1:]) for tree in trees[:-1])
        least = [near(rng, n, width.bit_length() - 60) for n in best]
        if rng.random() < 0.7:
            # One of the bounds decides alone.
            least[rng.randrange(2)] = -(2**digits)
            kept = next(k for k in (0, 1) if least[k] != -(2**digits))
            least[kept] = near(rng, max(pair[kept] for pair in sums), width.bit_length() - 60)
        asked.rows = [(least[0], {0: 1}), (3, {2: 1}), (least[1], {1: 1})]
        compare(counts, seed, asked, [], [("join", 0, *rng.sample(range(4), rng.randint(0, 2)))])
    assert min(counts.values()) > PROBLEMS, counts


def test_joins_and_meets_of_many_axes():
    """Chains of trees that each change along two axes, and tables with many axes in one half."""
    counts = {"proved": 0, "refused": 0}
    for seed in range(6 * PROBLEMS):
        rng = random.Random(seed)
        tables = seed % 2 == 0
        axes = [rng.randint(2, 3) for _ in range(rng.randint(3, 5))]
        trees = []
        for _ in range(rng.randint(3, 7)):
            pair = rng.sample(range(len(axes)), 1 if tables else 2)
            cuts = [frozenset(range(rng.randint(1, axes[axis] - 1))) for axis in pair]
            # Some add to one sum only, so that they are settled in one of the rows.
            named = rng.choice([(0, 1), (0, 1), (0,), (1,)])
            leaves = [{s: rng.randint(-6, 6) for s in named} for _ in range(4)]
            nodes = [(pair[0], cuts[0], 1, 2), *leaves[:2]]
            if not tables:
                nodes = [(pair[0], cuts[0], 1, 4), (pair[1], cuts[1], 2, 3), *leaves[:2], (pair[1], cuts[1], 5, 6), *leaves[2:]]
            trees.append(nodes)
        asked = Asked(axes, 2, trees, [(0, {0: 1}), (0, {1: 1})])
        sums = [[sum(asked.adds(t, n, k) for t, n in enumerate(leaves)) for k in (0, 1)] for leaves in asked.reached.values()]
        # Beyond some sum that is best in its kind: no cell reaches both, though many reach either.
        f, g = rng.choice([p for p in sums if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in sums)])
        asked.rows = [(f + rng.choice([0, 1]), {0: 1}), (g + rng.choice([0, 1]), {1: 1})]
        chosen = rng.sample(range(len(axes)), rng.randint(0, len(axes)))
        compare(counts, seed, asked, [], [("meet", *chosen) if tables else ("join", 0, *chosen[:2])])
        stacks = [rng.sample(range(len(trees)), 2)]
        compare(counts, seed, asked, stacks, [("join", 0, *chosen[:2])])
    assert min(counts.values()) > 2 * PROBLEMS, counts


# ----------------------------------------------------------------------------------------------- refusals by name

# Two trees on two axes, alike in one cell in four; sum 0 is at most 4, in cell (3, 2) only.
GRID = """\
secateur problem 1
axes 4 3
sums 2
tree
split 0 1 2 0-2
leaf 0:1
leaf 0:2 1:1
tree
split 1 1 2 0-2
leaf 0:1 1:-1
leaf 0:2
row 5 0:1
row 1 1:1
"""
# Both rows can be reached, on the right.
OPEN = GRID.replace("row 5 0:1", "row 4 0:1")
TWO_AXES = OPEN.replace("tree\nsplit 1 1 2 0-2\n", "tree\nsplit 0 1 4 2-4\nsplit 1 2 3 0-2\nleaf\n")
THIN = OPEN.replace("row 4 0:1\n", "")


@pytest.mark.parametrize(
    ("problem", "steps", "words"),
    [
        (GRID, "lens 1 0|close 0", None),
        (GRID, "meet 0", None),
        (GRID, "cells", None),
        (GRID, "join 0", None),
        (OPEN, "lens 1 0|narrow 0 0 2 4|narrow 0 1 2 3|cells", "step 3: cells: a cell satisfies every row"),
        (OPEN + "excused 2 2\nexcused 3 2\n", "lens 1 0|narrow 0 0 2 4|narrow 0 1 2 3|cells", None),
        (OPEN + "excused 2 2\n", "lens 1 0|narrow 0 0 2 4|narrow 0 1 2 3|cells", "a cell satisfies every row"),
        (OPEN + "excused 2 2\n", "join 0", None),
        (OPEN + "excused 3 2\n", "join 0", "step 0: join: a pair satisfies every row"),
        (OPEN, "lens 1 0|close 0", "step 1: close: the bound is not met"),
        (OPEN, "lens 1 0|narrow 0 0 3 4", "step 1: narrow: the bound is not met below the range"),
        (OPEN, "lens 1 0|narrow 0 0 0 3", "step 1: narrow: the bound is not met above the range"),
        (OPEN, "lens 1 0|narrow 0 0 2 2", "step 1: narrow: the range is empty, no part of the box, or all of it"),
        (OPEN, "lens 1 0|narrow 0 0 2 5", "step 1: narrow: the range is empty, no part of the box, or all of it"),
        (OPEN, "lens 1 0|narrow 0 0 0 4", "step 1: narrow: the range is empty, no part of the box, or all of it"),
        (OPEN, "lens 1 0|narrow 0 2 0 1", "step 1: narrow: there is no axis 2"),
        (OPEN, "narrow 0 0 2 4", "step 0: narrow: there is no lens 0"),
        (GRID, "lens 1 0|close 1", "step 1: close: there is no lens 1"),
        (GRID, "lens 1|close 0", "step 0: lens: it has not one multiplier for each row"),
        (GRID, "lens 1 -1|close 0", "step 0: lens: a multiplier is negative"),
        (GRID, "split 0 0 low|lens 1 0|close 0|close 0", "step 1: lens: it comes after another step"),
        (GRID, "split 0 3 low", "step 0: split: the cell does not divide the box"),
        (GRID, "split 2 0 low", "step 0: split: there is no axis 2"),
        (GRID, "split 0 1 high|split 0 0 low", "step 1: split: the cell does not divide the box"),
        (GRID, "lens 1 0|split 0 1 low|close 0", "step 3: the proof ends before every box is done"),
        (GRID, "", "step 0: the proof ends before every box is done"),
        (GRID, "lens 1 0|close 0|close 0", "step 2: close: it comes after the end of the proof"),
        (GRID, "lens 1 0|meet 0", "step 1: meet: it is not the only step"),
        (GRID, "meet 0|cells", "step 1: cells: it comes after the end of the proof"),
        (GRID, "meet 2", "step 0: meet: there is no axis 2"),
        (OPEN, "meet 0", "step 0: meet: a choice of cells reaches both bounds"),
        (OPEN + "excused 2 2\nexcused 3 2\n", "meet 0", "step 0: meet: a choice of cells reaches both bounds"),
        (THIN, "meet 0", "step 0: meet: there are not two rows"),
        (TWO_AXES, "meet 0", "step 0: meet: a piece looks at several axes"),
        (GRID, "stack 0 1|meet 0", "step 0: meet: a piece looks at several axes"),
        (GRID, "join 1", "step 0: join: the last row is joined with itself"),
        (GRID, "join 2", "step 0: join: there is no row 2"),
        (GRID, "join 0 2", "step 0: join: there is no axis 2"),
        # The second tree adds nothing in any leaf, so it is settled, but several of its leaves hold the pair.
        (TWO_AXES.replace("row 4", "row 2").replace("leaf 0:1 1:-1\n", "leaf\n").replace("leaf 0:2\n", "leaf\n"),
         "join 0", "step 0: join: a pair does not decide every piece"),
        (GRID, "stack|cells", "stack 0: it has no trees, or one that does not exist"),
        (GRID, "stack 2|cells", "stack 0: it has no trees, or one that does not exist"),
        (GRID, "stack 0|stack 1 0|cells", "stack 1: a tree is in a stack already"),
        (GRID, "stack 0 0|cells", "stack 0: a tree is in a stack already"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_words(problem, steps, words):
    problem, proof = kernel.parse_problem(problem), kernel.parse_proof(proof_text(line.split(" ") for line in steps.split("|") if line))
    if words is None:
        assert kernel.check(problem, proof) == len(proof.steps)
    else:
        with pytest.raises(kernel.Refused) as refused:
            kernel.check(problem, proof)
        assert str(refused.value) == f"at {words}" or str(refused.value).endswith(f": {words}")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("secateur problem 1", "secateur problem 2", 1),
        ("secateur problem 1", "secateur proof 1", 1),
        ("axes 4 3", "axes 4 0", 2),
        ("axes 4 3", "axes 4  3", 2),
        ("axes 4 3", "axes 4 +3", 2),
        ("axes 4 3", "axes 4 03", 2),
        ("axes 4 3", "axes 4 3\r", 2),
        ("axes 4 3", "axes 4 \u0663", 2),
        ("axes 4 3\n", "", 2),
        ("axes 4 3\n", "\naxes 4 3\n", 2),
        ("axes 4 3", "axes 4 3 " + "9" * 4001, 2),
        ("sums 2\n", "", 3),
        ("sums 2", "sums -2", 3),
        ("sums 2", "sums 2\nsums 2", 4),
        ("sums 2\ntree\n", "sums 2\n", 4),
        ("split 0 1 2 0-2", "split 2 1 2 0-2", 5),
        ("split 0 1 2 0-2", "split 0 1 1 0-2", 5),
        ("split 0 1 2 0-2", "split 0 0 1 0-2", 5),
        ("split 0 1 2 0-2", "split 0 1 3 0-2", 7),
        ("split 1 1 2 0-2", "split 1 1 9 0-2", 11),
        ("split 0 1 2 0-2", "split 0 1 2 0-5", 5),
        ("split 0 1 2 0-2", "split 0 1 2 2-2", 5),
        ("split 0 1 2 0-2", "split 0 1 2 2-1", 5),
        ("split 0 1 2 0-2", "split 0 1 2 2-3 0-1", 5),
        ("split 0 1 2 0-2", "split 0 1 2 0-2 1-3", 5),
        ("split 0 1 2 0-2", "split 0 1 2 0-1 1-2", 5),
        ("split 0 1 2 0-2", "split 0 1 2 0", 5),
        ("split 0 1 2 0-2", "split 0 1", 5),
        ("leaf 0:2 1:1\n", "leaf 0:2 1:1\nleaf\n", 8),
        ("leaf 0:2 1:1\n", "leaf 0:2 1:1\ntree\n", 9),
        ("leaf 0:2 1:1", "leaf 0:2 2:1", 7),
        ("leaf 0:2 1:1", "leaf 0:2 0:1", 7),
        ("leaf 0:2 1:1", "leaf 0:2 1", 7),
        ("leaf 0:2 1:1", "leaf 0:2 1:--1", 7),
        ("row 5 0:1", "row", 12),
        ("row 5 0:1", "row 5 0:1 0:1", 12),
        ("row 5 0:1", "row 5 2:1", 12),
        ("row 5 0:1", "rows 5 0:1", 12),
        ("row 5 0:1\n", "row 5 0:1\ntree\nleaf\n", 13),
        ("row 1 1:1\n", "row 1 1:1\nexcused 1\n", 14),
        ("row 1 1:1\n", "row 1 1:1\nexcused 1 3\n", 14),
        ("row 1 1:1\n", "excused 1 2\nrow 1 1:1\n", 14),
        ("row 1 1:1\n", "row 1 1:1\nend\n", 14),
    ],
)
def test_malformed_problems_are_refused_with_their_line(old, new, line):
    assert old in GRID
    with pytest.raises(kernel.Unreadable) as unreadable:
        kernel.parse_problem(GRID.replace(old, new, 1))
    # The second tree's splits come later than the first's where one node is too many.
    assert unreadable.value.line == line or (old, new) == ("split 0 1 2 0-2", "split 0 1 3 0-2")
    # What is said there does no harm otherwise.
    commented = GRID.replace(old, "# a remark\n" + old, 1)
    if not old.startswith("secateur"):
        assert kernel.parse_problem(commented) == kernel.parse_problem(GRID)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("secateur proof 1\n", 1),
        ("secateur proof 1\ncells\n", 2),
        ("secateur proof 1\ncells\nend\ncells\n", 4),
        ("secateur proof 1\ncells\nend\nend\n", 4),
        ("secateur proof 1\ncells 1\nend\n", 2),
        ("secateur proof 1\nclose\nend\n", 2),
        ("secateur proof 1\nclose -1\nend\n", 2),
        ("secateur proof 1\nclose one\nend\n", 2),
        ("secateur proof 1\nnarrow 0 0 1\nend\n", 2),
        ("secateur proof 1\nnarrow 0 0 1 2 3\nend\n", 2),
        ("secateur proof 1\nsplit 0 0\nend\n", 2),
        ("secateur proof 1\nsplit 0 0 left\nend\n", 2),
        ("secateur proof 1\njoin\nend\n", 2),
        ("secateur proof 1\ncells\nstack 0\nend\n", 3),
        ("secateur proof 1\nhope\nend\n", 2),
    ],
)
def test_malformed_proofs_are_refused_with_their_line(text, line):
    with pytest.raises(kernel.Unreadable) as unreadable:
        kernel.parse_proof(text)
    assert unreadable.value.line == line


def test_a_meet_keeps_every_sum_that_is_best_in_its_way():
    """Only (3, 3) and (3, 3) reach both bounds together; (5, 0) is greater in the first row and does not."""
    trees = [[(0, {0}, 1, 2), {0: 5, 1: 0}, {0: 3, 1: 3}], [(1, {0}, 1, 2), {0: 3, 1: 3}, {0: 0, 1: 6}]]
    for bounds, found in (((6, 6), "refused"), ((7, 6), "proved"), ((6, 7), "proved")):
        asked = Asked([2, 2], 2, trees, [(bounds[0], {0: 1}), (bounds[1], {1: 1})])
        for axes in ((), (0,), (1,), (0, 1)):
            assert verdict(asked.text(), proof_text([("meet", *axes)])) == found


@pytest.mark.parametrize(
    ("limit", "value", "steps", "words"),
    [
        ("JOINT_LEAVES", 3, "stack 0 1|cells", "there are more than 3 joint leaves of a stack"),
        ("JOINT_LEAVES", 3, "cells", None),
        ("MASK_BITS", 3, "cells", "there are more than 3 runs of joint leaves"),
        ("CELLS", 11, "cells", "there are more than 11 cells in the box"),
        ("CELLS", 12, "cells", None),
        ("JOIN_SUMS", 3, "join 0", "there are more than 3 sums"),
        ("JOIN_SUMS", 4, "join 0", None),
        ("JOIN_SUMS", 5, "join 0 0", "there are more than 5 sums"),
        ("JOIN_PAIRS", 0, "join 0", "there are more than 0 pairs"),
        ("JOIN_AXES", 1, "join 0", "there are more than 1 open axes"),
        ("JOIN_LEAVES", 3, "stack 0 1|join 0", "there are more than 3 joint leaves of a piece"),
        ("JOIN_LEAVES", 1, "join 0", None),
        ("MEET_SUMS", 1, "meet 0", "there are more than 1 sums"),
    ],
)
def test_what_is_too_much_is_neither_proved_nor_refused(monkeypatch, limit, value, steps, words):
    problem = kernel.parse_problem(OPEN + "excused 2 2\nexcused 3 2\n")
    proof = kernel.parse_proof(proof_text(line.split(" ") for line in steps.split("|")))
    monkeypatch.setattr(kernel, limit, value)
    if words is None:
        kernel.check(problem, proof)
    else:
        with pytest.raises(kernel.Incomplete, match=words):
            kernel.check(problem, proof)


# ----------------------------------------------------------------------------------------------------- lower bounds


def bounds_text(lines):
    return "\n".join(["secateur bounds 1", *lines, "end"]) + "\n"


def bounds_verdict(lines):
    try:
        kernel.check_bounds(kernel.parse_bounds(bounds_text(lines)))
        return "proved"
    except kernel.Unreadable:
        return "unreadable"
    except kernel.Refused:
        return "refused"


def changed_lines(lines):
    """Every number by one more and one less; lines missing, repeated, swapped."""
    for place, line in enumerate(lines):
        yield lines[:place] + lines[place + 1 :]
        yield lines[: place + 1] + lines[place:]
        yield [*lines[:place], *lines[place : place + 2][::-1], *lines[place + 2 :]]
        words = line.split(" ")
        for word, text in enumerate(words):
            key, colon, number = text.partition(":")
            for other in (
                [f"{key}{colon}{int(number) + step}" for step in (-1, 1)] + [f"{int(key) + s}:{number}" for s in (-1, 1)]
                if colon
                else [str(int(text) + step) for step in (-1, 1)]
                if text.lstrip("-").isdigit()
                else []
            ):
                yield [*lines[:place], " ".join([*words[:word], other, *words[word + 1 :]]), *lines[place + 1 :]]


def test_a_cut_has_an_item_of_every_model():
    """Families of a few models, given one by one: where each term is positive in every model, each has an item."""
    accepted = refused = 0
    for seed in range(30 * PROBLEMS):
        rng = random.Random(seed)
        columns, at_most, balanced, counted = (rng.randint(1, 4), rng.randint(0, 2), rng.randint(0, 2), rng.random() < 0.5)
        models = [
            (
                [rng.choice([0, 0, 1, 2, 5]) for _ in range(columns)],
                [rng.choice([0, 1, 3]) for _ in range(at_most)],
                [rng.randint(-2, 2) for _ in range(balanced)],
            )
            for _ in range(rng.randint(1, 5))
        ]
        terms = []
        for _ in range(20):
            numbers = [[rng.randint(-3, 4) for _ in part] for part in models[0]]
            if all(sum(w * n for part in zip(model, numbers) for w, n in zip(*part)) > 0 for model in models):
                terms.append(numbers)
        for some in range(1, 1 + min(3, len(terms))):
            chosen = rng.sample(terms, some)
            if rng.random() < 0.7 and balanced:
                # A second term that cancels what the first says of the balanced constants.
                chosen = [*chosen, [*chosen[0][:2], [-n for n in chosen[0][2]]]]
                numbers = chosen[-1]
                if not all(sum(w * n for part in zip(m, numbers) for w, n in zip(*part)) > 0 for m in models):
                    continue
            lines = [f"family {columns} {at_most} {balanced} {'counted' if counted else 'free'}", "cut"]
            multipliers = [rng.choice([1, 1, 2, 3, 2**90]) for _ in chosen]
            for multiplier, numbers in zip(multipliers, chosen):
                lines.append(" ".join(["term", *" ; ".join(" ".join(map(str, p)) for p in ([multiplier, *numbers[0]], *numbers[1:])).split()]))
            family, steps = kernel.parse_bounds(bounds_text(lines))
            try:
                judge = kernel.Statements(family)
                judge.cut(steps[0][1])
                items = judge.cuts[0]
            except kernel.Refused:
                refused += 1
                continue
            accepted += 1
            for weights, first, second in models:
                there = {column for column, weight in enumerate(weights) if weight > 0}
                if counted and any([*first, *second]):
                    there.add(columns)
                assert items & there, f"seed {seed}: {lines}"
    assert min(accepted, refused) > 5 * PROBLEMS, (accepted, refused)


def least_cost(items, costs, cuts):
    kept = [set(some) for n in range(items + 1) for some in itertools.combinations(range(items), n)]
    return min((sum(costs[i] for i in some) for some in kept if all(some & cut for cut in cuts)), default=None)


def cuts_of(lines):
    """The cuts of a text whose only terms have one number each and the multiplier 1."""
    return [{i for i, n in enumerate(line.split(" ")[2:-2]) if int(n) > 0} for line in lines if line.startswith("term")]


def test_a_cover_costs_what_it_says():
    """No set of items that meets every cut is cheaper than an accepted bound, whatever number is changed."""
    accepted = refused = exact = 0
    for seed in range(2 * PROBLEMS):
        rng = random.Random(seed)
        items = rng.randint(1, 5)
        cuts = [{i for i in range(items) if rng.random() < 0.5} or {0} for _ in range(rng.randint(1, 5))]
        costs = [rng.randint(1, 4) for _ in range(items)] if rng.random() < 0.5 else [1] * items
        lines = [f"family {items} 0 0 free"]
        for cut in cuts:
            lines += ["cut", " ".join(["term 1", *("1" if i in cut else "-1" for i in range(items)), "; ;"])]
        cases, worst = [], []

        def prove(decided, depth):
            free = [item for item in range(items) if item not in decided]
            if free and rng.random() < 0.5 and depth < 3:
                item = rng.choice(free)
                cases.append(f"branch {item}")
                prove({**decided, item: True}, depth + 1)
                prove({**decided, item: False}, depth + 1)
                return
            scale = rng.choice([1, 1, 2, 6])
            left, weights = {item: scale * costs[item] for item in free}, []
            for n, cut in sorted(enumerate(cuts), key=lambda _: rng.random()):
                if any(decided.get(item) for item in cut):
                    # It counts for nothing, whatever its weight.
                    weights += [(n, rng.randint(0, 9))] * rng.choice([0, 1])
                else:
                    most = min([left[item] for item in cut if item in left], default=20 * scale)
                    weight = rng.choice([most, most, most // 2])
                    weights.append((n, weight))
                    left.update((item, left[item] - weight) for item in cut if item in left)
            total = sum(u for n, u in weights if not any(decided.get(item) for item in cuts[n]))
            cases.append(" ".join([f"dual {scale}", *(f"{n}:{u}" for n, u in weights if u or rng.random() < 0.1)]))
            worst.append(sum(costs[i] for i, kept in decided.items() if kept) + up_to(total, scale))

        prove({}, 0)
        bound = min(worst)
        first = " ".join(["cover", str(bound), *(map(str, costs) if costs != [1] * items else ())])
        proof = [*lines, first, *cases]
        assert bounds_verdict(proof) == "proved", proof
        exact += bound == least_cost(items, costs, cuts)
        for changed in itertools.chain([proof], changed_lines(proof)):
            if bounds_verdict(changed) != "proved":
                refused += 1
                continue
            accepted += 1
            of, number = [], 0
            for line in changed:
                words = line.split(" ")
                if words[0] == "cut":
                    of.append([0] * items)
                if words[0] == "term":
                    values = [int(word) for word in words[1:-2]]
                    items = len(values) - 1
                    of[-1] = [a + values[0] * b for a, b in zip(of[-1] or [0] * items, values[1:])]
                if words[0] == "cover":
                    now = [int(word) for word in words[1:]]
                    least = least_cost(items, now[1:] or [1] * items, [{i for i, n in enumerate(c) if n > 0} for c in of])
                    assert least is None or now[0] <= least, f"seed {seed}: {changed}"
                    number += 1
    assert accepted > 10 * PROBLEMS and refused > 10 * PROBLEMS and exact > PROBLEMS // 4, (accepted, refused, exact)


def up_to(numerator, denominator):
    quotient, rest = divmod(numerator, denominator)
    return quotient + (rest > 0)


def test_crossings_need_a_split_each():
    """A threshold after position p separates low..high if both sides have a position of it."""
    accepted = refused = 0
    for seed in range(20 * PROBLEMS):
        rng = random.Random(seed)
        intervals = [(rng.randint(0, 1), a, a + rng.randint(0, 4)) for a in (rng.randint(0, 12) for _ in range(rng.randint(1, 4)))]
        disjoint = all(
            not set(range(a, b)) & set(range(c, d)) or column != other
            for (column, a, b), (other, c, d) in itertools.combinations(intervals, 2)
        ) and all(a < b for _, a, b in intervals)
        found = bounds_verdict([f"crossing {column} {a} {b}" for column, a, b in intervals])
        assert found == ("proved" if disjoint else "refused"), intervals
        accepted, refused = accepted + disjoint, refused + (not disjoint)
        if disjoint:
            for column, threshold in itertools.product((0, 1), range(-2, 18)):
                assert sum(other == column and a <= threshold < b - 1 for other, a, b in intervals) <= 1
    assert min(accepted, refused) > PROBLEMS


COVER = [
    "family 2 1 1 counted", "cut", "term 1 3 -1 ; -1 ; 0", "cut", "term 2 -1 2 ; -1 ; 3", "term 3 0 1 ; 0 ; -2",
    "cover 2 1 1 1", "branch 0", "dual 1 1:1", "dual 1 0:9", "crossing 0 0 5", "crossing 0 5 6", "crossing 1 4 6",
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", None),
        ("term 1 3 -1 ; -1 ; 0", "# no term", "step 0: cut: it has no terms, or a multiplier is not positive"),
        ("term 1 3 -1 ; -1 ; 0", "term 0 3 -1 ; -1 ; 0", "step 0: cut: it has no terms, or a multiplier is not positive"),
        ("term 1 3 -1 ; -1 ; 0", "term 1 3 -1 ; 1 ; 0", "step 0: cut: a constant of the kind at_most has a positive number"),
        ("cover 2 1 1 1", "cover 3 1 1 1", "step 4: dual: the bound is not met"),
        ("cover 2 1 1 1", "cover 2", None),
        ("cover 2 1 1 1", "cover 2 1 0 1", "step 4: dual: an item's cuts weigh more than its cost"),
        ("dual 1 1:1", "dual 1 1:2", "step 4: dual: an item's cuts weigh more than its cost"),
        ("dual 1 1:1", "dual 0 1:1", "step 4: dual: the denominator is 0"),
        ("dual 1 1:1", "dual 9 1:1", None),
        ("dual 1 1:1", "dual 1 2:1", "step 4: dual: it names a cut that has not been there"),
        ("branch 0", "branch 3", "step 3: branch: item 3 does not exist, or is decided already"),
        ("branch 0", "branch 0\nbranch 0", "step 4: branch: item 0 does not exist, or is decided already"),
        ("dual 1 0:9", "# none", "step 5: crossing: a case is missing"),
        ("dual 1 0:9", "dual 1 0:9\ndual 1", "step 6: dual: the cover is done already"),
        ("crossing 0 5 6", "crossing 0 4 6", "step 7: crossing: the interval is empty or overlaps another one"),
        ("crossing 0 5 6", "crossing 0 6 6", "step 7: crossing: the interval is empty or overlaps another one"),
        ("counted", "free", None),
    ],
)
def test_each_refusal_of_bounds_has_its_words(old, new, words):
    text = bounds_text(COVER).replace(old, new, 1)
    if old == "counted":
        # The balanced constants of the second cut cancel; one that does not is refused where they do not count.
        text = text.replace("cover 2 1 1 1", "cover 2 1 1")
        kernel.check_bounds(kernel.parse_bounds(text))
        text, words = text.replace("; -2", "; -1"), "step 1: cut: a balanced constant is not balanced"
    if words is None:
        assert kernel.check_bounds(kernel.parse_bounds(text)) == 9
    else:
        with pytest.raises(kernel.Refused) as refused:
            kernel.check_bounds(kernel.parse_bounds(text))
        assert str(refused.value) == f"at {words}"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("secateur bounds 1", "secateur bounds 2", 1),
        ("family 2 1 1 counted", "family 2 1 1", 2),
        ("family 2 1 1 counted\n", "", 2),
        ("family 2 1 1 counted\n", "family 2 1 1 counted\nfamily 2 1 1 counted\n", 3),
        ("term 1 3 -1 ; -1 ; 0", "term 1 3 -1 ; -1 0", 4),
        ("term 1 3 -1 ; -1 ; 0", "term 1 3 -1 0 ; -1 ; 0", 4),
        ("term 1 3 -1 ; -1 ; 0", "term 1 3 -1 ; -1 ;", 4),
        ("cut\n", "", 3),
        ("cover 2 1 1 1", "cover", 8),
        ("cover 2 1 1 1", "cover 2 1 1", 8),
        ("cover 2 1 1 1\n", "", 8),
        ("cover 2 1 1 1", "cover 2 1 1 -1", 8),
        ("cover 2 1 1 1", "cover -2 1 1 1", 8),
        ("dual 1 1:1", "dual -1 1:1", 10),
        ("dual 1 1:1", "dual 1 1:-1", 10),
        ("crossing 0 0 5", "crossing 0 -1 5", 12),
        ("dual 1 1:1", "dual 1 1", 10),
        ("dual 1 1:1", "dual", 10),
        ("crossing 0 0 5", "crossing 0 0", 12),
        ("end\n", "", 14),
        ("end\n", "end\n\n", 16),
    ],
)
def test_malformed_bounds_are_refused_with_their_line(old, new, line):
    with pytest.raises(kernel.Unreadable) as unreadable:
        kernel.parse_bounds(bounds_text(COVER).replace(old, new, 1))
    assert unreadable.value.line == line


# ------------------------------------------------------------------------------------------------------------ dumps


def run(directory):
    done = subprocess.run([sys.executable, "-I", str(FILE), str(directory)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_a_dump_is_checked_as_a_whole(tmp_path):
    (tmp_path / "000000.problem").write_text(GRID)
    (tmp_path / "000000.proof").write_text("secateur proof 1\nlens 1 0\nclose 0\nend\n")
    (tmp_path / "bounds.proof").write_text(bounds_text(COVER))
    (tmp_path / "README").write_text("what else is there is not read")
    lines = ["000000 proved, 2 steps", "bounds proved, 9 steps"]
    assert run(tmp_path) == (0, [*lines, "2 proved, 0 refused, 0 not readable, 0 incomplete"], "")
    # From the worst on: one that is refused decides, then one that cannot be read, then one that is too much.
    wide = GRID.replace("axes 4 3", "axes 4 30000000")
    (tmp_path / "000003.problem").write_text(wide)
    (tmp_path / "000003.proof").write_text("secateur proof 1\ncells\nend\n")
    code, found, _ = run(tmp_path)
    assert code == 3 and found[1] == "000003 incomplete at step 0: cells: there are more than 16777216 cells in the box"
    (tmp_path / "000002.problem").write_text(GRID)
    code, found, _ = run(tmp_path)
    assert code == 2 and found[1].startswith("000002 not readable") and "000002.proof" in found[1]
    (tmp_path / "000002.proof").write_bytes(b"secateur proof 1\nlens 1 \xff\nend\n")
    code, found, _ = run(tmp_path)
    assert code == 2 and found[1] == f"000002 not readable {tmp_path}/000002.proof: line 2: it is not ASCII"
    (tmp_path / "000001.problem").write_text(OPEN)
    (tmp_path / "000001.proof").write_text("secateur proof 1\nlens 1 0\nclose 0\nend\n")
    code, found, _ = run(tmp_path)
    assert code == 1 and found[1] == "000001 refused at step 1: close: the bound is not met"
    assert found[-1] == "2 proved, 1 refused, 1 not readable, 1 incomplete"


def test_nothing_is_no_dump(tmp_path):
    assert run(tmp_path)[0] == run(tmp_path / "missing")[0] == 2
    (tmp_path / "bounds.problem").write_text(GRID)
    assert run(tmp_path)[0] == 2
