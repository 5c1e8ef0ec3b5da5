"""Compares the problems of a dump with two models as their own libraries have them.

Three things are compared, and each difference is told:

1. *Trees, as a whole*: for every split of the libraries' trees, the cells that it sends to its first child follow from the
   inputs that the dump gives for its cells. Both trees are then followed at once through all cells: wherever they can
   be, they must add the same exact amounts.
2. *Rows*: each bound and factor, computed anew from the claim and the libraries' numbers.
3. *Inputs*: for random ones and ones at the edges of every leaf, the libraries themselves say which leaves are reached. The
   amounts there must be those that the problem adds in the cell of the input, the rows must hold exactly where the definition
   of the claim says so, and the libraries must decide as claimed.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any, Callable, ClassVar, Iterable

import numpy as np

from . import dump as dumps
from .dump import Masks, Problem
from .live import Live, NotJudged, Test, Tree, steps_by_input, too_small

MOST_TOLD = 5
"""How many differences of one kind are told."""


@dataclasses.dataclass
class Claim(abc.ABC):
    """What the checker says that a certificate claims."""

    missing: bool
    """Are inputs with missing values in its scope?"""
    moved: tuple[str, ...] = ()
    """The columns in which the two inputs of a claim about moved columns differ."""

    rises: ClassVar[bool] = False
    """Is the claim about what happens when the moved column rises?"""
    says: ClassVar[str] = "what is decided"

    @abc.abstractmethod
    def words(self) -> str:
        """What is claimed, in a sentence."""

    @abc.abstractmethod
    def questions(self, pair: "Pair") -> list[tuple[str | int, ...]]:
        """The problems that the claim needs, in their order."""

    @abc.abstractmethod
    def rows(self, pair: "Pair", problem: Problem, found: "Found") -> list["Row"]:
        """The rows of one of them, from the definition of the claim and the libraries' numbers."""

    @abc.abstractmethod
    def hold(self, pair: "Pair", problem: Problem, inputs: "Inputs") -> list[np.ndarray]:
        """For each row the inputs on which it holds, by what the libraries say of them."""

    @abc.abstractmethod
    def kept(self, pair: "Pair", inputs: "Inputs", found: "Found") -> None:
        """Tells on which inputs the libraries do not do what is claimed."""

    @abc.abstractmethod
    def excused(self, pair: "Pair", problem: Problem, rows: np.ndarray, found: "Found") -> None:
        """Tells which cells were excused, of which these are inputs, although the libraries do not do there what is claimed."""


@dataclasses.dataclass
class Decisions(Claim):
    """Wherever the first model leads by more than the band, both decide its winner."""

    band: Fraction | None = None
    """None for a claim about exact sums."""

    def words(self) -> str:
        band = "about exact sums" if self.band is None else f"with the band {float(self.band)!r}"
        if self.moved:
            return f"changing {', '.join(self.moved)} alone changes no decision ({band})"
        return f"the pruned model decides as the original ({band})"

    def questions(self, pair: "Pair") -> list[tuple[str | int, ...]]:
        classes = range(pair.models[0].classes)
        return [("classes", winner, other) for winner in classes for other in classes if winner != other]

    def rows(self, pair: "Pair", problem: Problem, found: "Found") -> list["Row"]:
        return decision_rows(pair, problem, found)

    def hold(self, pair: "Pair", problem: Problem, inputs: "Inputs") -> list[np.ndarray]:
        winner, _ = classes_of(problem)
        return [*(inputs.leads_over(winner, other) for other in inputs.others(winner)), inputs.pruned_fails(problem)]

    def kept(self, pair: "Pair", inputs: "Inputs", found: "Found") -> None:
        decided_as_claimed(pair, inputs, found)

    def excused(self, pair: "Pair", problem: Problem, rows: np.ndarray, found: "Found") -> None:
        decided_alike(pair, problem, rows, found)


@dataclasses.dataclass
class Row:
    """A combination of sums is at least a number, or above it."""

    terms: dict[int, int]
    bound: Fraction
    strict: bool
    factor: int = 1
    """The row counts in a unit that is smaller by this factor."""
    fine: dict[int, int] = dataclasses.field(default_factory=dict)
    """Terms in the smaller unit."""
    may_ask_more: bool = False
    """May the dump have a smaller bound? Then its problem has more solutions than the claim needs."""


@dataclasses.dataclass
class Found:
    """What was compared, and what differs."""

    problems: int = 0
    trees: int = 0
    splits: int = 0
    leaves: int = 0
    leaves_reached: int = 0
    columns: int = 0
    classes_of_values: int = 0
    inputs: int = 0
    at_missing: int = 0
    rows: int = 0
    rows_at_inputs: int = 0
    rows_held: int = 0
    in_claim: int = 0
    excused: int = 0
    differences: list[str] = dataclasses.field(default_factory=list)
    hidden: int = 0
    _told: dict[str, int] = dataclasses.field(default_factory=dict)

    def differs(self, kind: str, sentence: str) -> None:
        self._told[kind] = self._told.get(kind, 0) + 1
        if self._told[kind] <= MOST_TOLD:
            self.differences.append(sentence)
        else:
            self.hidden += 1


class Pair:
    """Two models over the same columns, the second with its columns and classes as the first counts them. Where a claim is about one
    model there is no second one; or, if columns move, the second is the same model, which reads copies of these columns."""

    def __init__(self, original: Live, pruned: Live | None, claim: Claim) -> None:
        self.claim: Any = claim
        listed = original.listed_names or original.names or [f"f{at}" for at in range(original.width)]
        self.moved = numbers_of(claim.moved, listed, "columns")
        self.one_model = pruned is None
        if pruned is None:
            pruned = original
        self.models = [original, pruned] if self.moved or not self.one_model else [original]
        self.names = ["the model", "its twin"] if self.one_model else ["the original", "the pruned model"]
        if original.width != pruned.width:
            widths = sorted([original.width, pruned.width])
            # LightGBM, XGBoost and ONNX files state their number of columns; others may have fewer than they were trained with.
            raise NotJudged(f"models of {widths[0]} and {widths[1]} columns")
        self.width = original.width + len(self.moved)
        self.columns = list(range(original.width))
        """For each column of the pruned model that of the original; for the twin, that of the copies that come after the others."""
        for at, column in enumerate(self.moved):
            self.columns[column] = original.width + at
        if original.names and pruned.names and original.names != pruned.names:
            if sorted(original.names) == sorted(pruned.names):
                place = {name: at for at, name in enumerate(original.names)}
                self.columns = [place[name] for name in pruned.names]
        self.classes = self._classes(pruned)
        lists = [model.category_lists for model in self.models]
        if lists[0] != lists[-1] and any(lists):
            raise NotJudged("models with different lists of category labels")
        sets = [_has_sets(model) for model in self.models]
        if any(sets) and original.library != pruned.library:
            raise NotJudged("columns of categories in models of two libraries")
        self.mixed = original.reads != pruned.reads
        self.missing = claim.missing and all(model.accepts(math.nan) for model in self.models)
        self.infinities = all(model.accepts(math.inf) for model in self.models)
        self.tests = self._tests()

    @functools.cached_property
    def steps_by_input(self) -> list[int]:
        return steps_by_input(self.models[1])

    def _classes(self, pruned: Live) -> list[int]:
        """The pruned model's class for each class of the original."""
        original = self.models[0]
        if original.classes != pruned.classes:
            raise NotJudged(f"models of {original.classes} and {pruned.classes} classes")
        if original.labels is None or pruned.labels is None:
            return list(range(original.classes))
        own = [_label(label) for label in pruned.labels]
        try:
            matched = [own.index(_label(label)) for label in original.labels]
        except ValueError:
            raise NotJudged("models whose class labels are not the same") from None
        return matched

    def _tests(self) -> list[list[tuple[int, Test]]]:
        """For each column the different tests of both models."""
        found: list[dict[tuple[int, Test], None]] = [{} for _ in range(self.width)]
        for which, model in enumerate(self.models):
            for tree in model.trees:
                for node in tree.reachable():
                    if node.column >= 0:
                        found[self.column(which, node.column)][which, node.test] = None
        return [list(own) for own in found]

    def column(self, which: int, column: int) -> int:
        return self.columns[column] if which == 1 else column

    def rows_of(self, which: int, rows: np.ndarray) -> np.ndarray:
        """Inputs as one of the models is given them."""
        return rows[:, self.columns if which == 1 else slice(self.models[0].width)]

    def signatures(self, column: int, values: np.ndarray) -> list[bytes]:
        """Which way each value goes at every test of the column, in both models."""
        read = [model.read(values) for model in self.models]
        ways = [test.holds(read[which]) for which, test in self.tests[column]]
        if not ways:
            return [b""] * len(values)
        packed = np.packbits(np.array(ways, dtype=bool), axis=0)
        return [packed[:, at].tobytes() for at in range(len(values))]

    @functools.cached_property
    def candidates(self) -> list[np.ndarray]:
        """For each column values of every class that the tests tell apart: numbers next to each threshold, zeros, the ends, missing."""
        return [self._candidates(column) for column in range(self.width)]

    @functools.cached_property
    def steps(self) -> "Steps | None":
        """Of a claim about what happens when one column rises, the pairs of its values."""
        if not self.claim.rises or not self.tests[self.moved[0]]:
            return None
        (column,) = self.moved
        values = self.candidates[column]
        signatures = self.signatures(column, values)
        return Steps([column, self.width - 1], values, np.cumsum([0, *(a != b for a, b in zip(signatures, signatures[1:]))]))

    def _candidates(self, column: int) -> np.ndarray:
        edges = {0.0, 1.0, -1.0}
        for which, test in self.tests[column]:
            edges.update(test.edges())
            window = self.models[which].zero_window
            edges.update([window, -window] if window else [])
        values: set[float] = set()
        single = self.mixed or self.models[0].reads == "f32"
        for edge in edges:
            if single:
                with np.errstate(over="ignore"):
                    middle = np.float32(edge)
                    own = [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]
                values.update(float(value) for value in own)
            else:
                values.update([math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf)])
        largest = float(np.finfo(np.float32).max) if single else float(np.finfo(np.float64).max)
        values.update([-largest, largest, -math.inf, math.inf])
        kept = sorted(value for value in values if self.infinities or math.isfinite(value))
        rises = self.claim.rises and column in (self.moved[0], self.width - 1)
        return np.array(kept + ([math.nan] if self.missing and not rises else []))


class Steps:
    """The values of the one column that rises. Neighbours that go the same way at every test are a run; the value in the first input
    is of one run, that in the second of the next. (What holds from each run to the next holds for all ascending pairs.)"""

    def __init__(self, columns: list[int], values: np.ndarray, runs: np.ndarray) -> None:
        self.columns = columns
        self._values, self._runs = values, runs
        first = [float(values[runs == run][0]) for run in range(runs[-1] + 1)]
        self.neighbours = np.array(list(zip(first, first[1:])) or [(first[0], first[0])])

    def move_next_to_each_other(self, rows: np.ndarray, rng: np.random.Generator) -> None:
        """Changes one of both values of each input (where need be, both), so that it is in the run next to the other."""
        last = self._runs[-1]
        found = self._runs[np.searchsorted(self._values, rows[:, self.columns], side="right") - 1]
        second = rng.random(len(rows)) < 0.5
        for row, runs, keep_second in zip(rows, found, second):
            low = min(max(runs[1] - 1, 0) if keep_second else runs[0], max(last - 1, 0))
            for at, run in enumerate([low, min(low + 1, last)]):
                if runs[at] != run:
                    row[self.columns[at]] = rng.choice(self._values[self._runs == run])


def numbers_of(names: Iterable[str], listed: list[str], what: str) -> list[int]:
    """The places of names in a list that has each once."""
    if any(listed.count(name) != 1 for name in names):
        raise NotJudged(f"the certificate names the {what} {', '.join(names)}; the library has {', '.join(listed[:20])}")
    return [listed.index(name) for name in names]


def classes_of(problem: Problem) -> tuple[int, int]:
    """The classes of a problem about decisions."""
    _, winner, other = problem.question
    return int(winner), int(other)


def _label(label: Any) -> Any:
    """Texts equal texts; numbers and flags equal numbers of the same value."""
    if isinstance(label, str):
        return "text", str(label)
    return "number", float(label)


def _has_sets(model: Live) -> bool:
    return any(node.test.compare.startswith("categories") for tree in model.trees for node in tree.nodes)


class Grid:
    """The cells of a dump, found for any input by the ways that it goes at the libraries' splits."""

    def __init__(self, pair: Pair, problem: Problem, found: Found) -> None:
        self.pair = pair
        self.axis_of: dict[int, int] = {}
        self.cell_of: list[dict[bytes, int]] = []
        self.left_out: list[str] = []
        self.columns = problem.columns
        for axis, columns in enumerate(problem.columns):
            alone = len(columns) == 1 and not (pair.steps and columns[0] in pair.steps.columns)
            known = any(column in self.axis_of or not 0 <= column < pair.width for column in columns)
            if known or not (alone or pair.steps and columns == pair.steps.columns):
                raise NotJudged(f"an axis of the columns {columns}: inputs that a domain leaves out")
            self.axis_of |= {column: axis for column in columns}
            values = np.array(problem.witnesses[axis])
            cells: dict[bytes, int] = {}
            for cell, signature in enumerate(self.signatures(axis, values)):
                # Two cells that no split tells apart are one to the libraries; either may stand for both, and the trees
                # have to treat them alike, which `same_trees` sees.
                cells.setdefault(signature, cell)
            self.cell_of.append(cells)
        for column in range(pair.width):
            if pair.tests[column] and column not in self.axis_of:
                found.differs("axis", f"Some split looks at column {column}, and no axis of the dump is about it.")
                raise Differs
        for axis, columns in enumerate(problem.columns):
            steps = pair.steps if len(columns) > 1 else None
            values = pair.candidates[columns[0]][:, None] if steps is None else steps.neighbours
            if not any(pair.tests[column] for column in columns):
                continue
            signatures = self.signatures(axis, values)
            found.columns += len(columns)
            found.classes_of_values += len(set(signatures))
            for value, signature in zip(values.tolist(), signatures):
                if signature not in self.cell_of[axis]:
                    found.differs(
                        "cell", f"No cell of axis {axis} holds the value {_words(value)} of column {_words(columns)}: every cell "
                        "goes another way at some split."
                    )
        if any(kind == "cell" for kind in found._told):
            raise Differs

    def signatures(self, axis: int, values: np.ndarray) -> list[bytes]:
        """Which way values go at every test of the axis's columns: a row each, with a number for each of these columns."""
        columns = self.columns[axis]
        ways = [self.pair.signatures(column, values[:, at]) for at, column in enumerate(columns)]
        return [b"".join(own) for own in zip(*ways)]

    def cells(self, rows: np.ndarray) -> np.ndarray:
        cells = np.zeros((len(rows), len(self.cell_of)), dtype=np.int64)
        for axis, columns in enumerate(self.columns):
            # Many rows share a value; each is looked up once.
            values, back = np.unique(rows[:, columns], axis=0, return_inverse=True)
            own = [self.cell_of[axis][signature] for signature in self.signatures(axis, values)]
            cells[:, axis] = np.array(own)[back.ravel()]
        return cells


class Differs(Exception):
    """So much differs that nothing more can be compared. What differs has been told."""


def same_trees(pair: Pair, problem: Problem, grid: Grid, found: Found) -> None:
    """Every tree of the dump adds what the library's tree adds, in every cell."""
    counts = [len(model.trees) for model in pair.models]
    if list(problem.trees_of) != [*counts, 0][:2] or len(problem.trees) != sum(counts):
        found.differs(
            "count",
            f"{problem.name}: the libraries have {counts} trees, the dump has {len(problem.trees)} and "
            f"says {problem.trees_of[0]} and {problem.trees_of[1]}.",
        )
        raise Differs
    groups = [model.groups for model in pair.models]
    if problem.sums != groups[0] + 2 * sum(groups[1:]):
        found.differs("sums", f"{problem.name}: the dump has {problem.sums} sums; models of {groups} sums have others.")
        raise Differs
    by_input = steps_of(pair, problem)
    masks = Masks(problem)
    sent: dict[tuple[int, int, Test], np.ndarray] = {}
    for index, tree in enumerate(problem.trees):
        which, place = (0, index) if index < counts[0] else (1, index - counts[0])
        amounts = Amounts(pair, problem, which, place, by_input)
        live = pair.models[which].trees[place]
        found.trees += 1
        nodes = live.reachable()
        found.splits += sum(node.column >= 0 for node in nodes)
        found.leaves += sum(node.column < 0 for node in nodes)

        def first_child(axis: int, column: int, test: Test) -> np.ndarray:
            key = axis, which, test
            if key not in sent:
                place = problem.columns[axis].index(column)
                values = np.array([cell[place] for cell in problem.witnesses[axis]])
                sent[key] = test.holds(pair.models[which].read(values))
            return sent[key]

        where = _where_different(pair, which, live, tree, grid, masks, amounts, first_child, problem.axes)
        if where is not None:
            found.differs("tree", f"{problem.name}: tree {place} of {pair.names[which]} is not the library's: {where}.")


def _where_different(
    pair: Pair,
    which: int,
    live: Tree,
    tree: list[dumps.Node],
    grid: Grid,
    masks: Masks,
    amounts: "Amounts",
    first_child: Callable[[int, int, Test], np.ndarray],
    sizes: list[int],
) -> str | None:
    """Follows both trees at once through all cells; none if they add the same everywhere."""
    # Node of the library's tree, node of the dump's, and the cells of the axes that a split above has narrowed.
    open_pairs: list[tuple[int, int, dict[int, np.ndarray]]] = [(0, 0, {})]
    while open_pairs:
        own, other, box = open_pairs.pop()
        theirs = tree[other]
        mine = live.nodes[own]
        if mine.column >= 0:
            column = pair.column(which, mine.column)
            axis = grid.axis_of[column]
            yes = first_child(axis, column, mine.test)
            now = box.get(axis, np.ones(sizes[axis], dtype=bool))
            for cells, child in [(now & yes, mine.yes), (now & ~yes, mine.no)]:
                if not cells.any():
                    continue
                below, place = {**box, axis: cells}, other
                # The dump's tree goes along where all these cells go one way.
                while tree[place].axis >= 0:
                    next_split = tree[place]
                    here = below.get(next_split.axis, np.ones(sizes[next_split.axis], dtype=bool))
                    ways = masks.of(next_split)[here]
                    if ways.all():
                        place = next_split.yes
                    elif not ways.any():
                        place = next_split.no
                    else:
                        break
                open_pairs.append((child, place, below))
        elif theirs.axis >= 0:
            now = box.get(theirs.axis, np.ones(sizes[theirs.axis], dtype=bool))
            yes = masks.of(theirs)
            for cells, child in [(now & yes, theirs.yes), (now & ~yes, theirs.no)]:
                if cells.any():
                    open_pairs.append((own, child, {**box, theirs.axis: cells}))
        elif (wrong := amounts.wrong(mine.added, theirs.added)) is not None:
            axes = ", ".join(f"{int(np.flatnonzero(cells)[0])} of axis {axis}" for axis, cells in sorted(box.items()))
            return f"in cell {axes or 'any'} {wrong}"
    return None


class Amounts:
    """What the dump has to add at a leaf, given what the library's leaf adds."""

    def __init__(self, pair: Pair, problem: Problem, which: int, place: int, by_input: list[int] | None) -> None:
        groups = pair.models[0].groups
        self.first = groups * which
        self.unit = Fraction(2) ** (problem.unit + problem.rounding.factor_bits)
        self.rounding_first = groups + pair.models[-1].groups
        # A unit roundoff and a little more, as whole numbers: 257 for each addition.
        self.steps = 257 * by_input[place] if which == 1 and by_input else 0

    def expected(self, added: dict[int, Fraction]) -> dict[int, Fraction]:
        amounts = {self.first + group: value / self.unit for group, value in added.items()}
        if self.steps:
            amounts |= {self.rounding_first + group: abs(value) / self.unit * self.steps for group, value in added.items()}
        return {name: value for name, value in amounts.items() if value}

    def wrong(self, library: dict[int, Fraction], dumped: dict[int, int]) -> str | None:
        expected = self.expected(library)
        other = {name: value for name, value in dumped.items() if value}
        if expected == other:
            return None
        name = next(name for name in sorted({*expected, *other}) if expected.get(name, 0) != other.get(name, 0))
        return f"it adds {other.get(name, 0)} to sum {name}, and the library's leaf {expected.get(name, Fraction(0))}"


def steps_of(pair: Pair, problem: Problem) -> list[int] | None:
    """Where the claim announces rounding by input, the steps of each of the pruned model's trees."""
    first = sum(model.groups for model in pair.models)
    announced = any(name >= first for tree in problem.trees for node in tree for name in node.added)
    return pair.steps_by_input if announced else None


def decision_rows(pair: Pair, problem: Problem, found: Found) -> list[Row]:
    """The rows of a problem about decisions."""
    original, pruned = pair.models
    claim = pair.claim
    winner, other = classes_of(problem)
    factor = 2**problem.rounding.factor_bits
    if claim.band is not None:
        why = too_small(pruned, problem.rounding)
        if why is not None:
            found.differs("rounding", f"{problem.name}: {why}.")
            if problem.rounding.over_all is None and len(problem.rounding.fixed) != pruned.groups:
                raise Differs
        smallest = original.margin
        if claim.band < smallest:
            found.differs(
                "band",
                f"The claim's band is {float(claim.band)!r}, and the original's own rounding can be {float(smallest)!r}.",
            )
    rows = []
    for other_class in range(original.classes):
        if other_class == winner:
            continue
        terms, constant, wins_ties = original.lead(winner, other_class)
        if claim.band is None:
            needed, strict = Fraction(0), not wins_ties
        else:
            needed, strict = claim.band * original.divisor, True
        rows.append(Row(terms, needed - constant, strict, factor))
    terms, constant, wins_ties = pruned.lead(pair.classes[winner], pair.classes[other])
    negative = {original.groups + group: -sign for group, sign in terms.items()}
    said, fine = problem.rounding, {}
    if claim.band is None:
        needed, strict = Fraction(0), wins_ties
    elif said.over_all is not None:
        needed, strict = said.over_all, False
    else:
        needed, strict = said.gap + sum((said.fixed[group] for group in terms), Fraction(0)), False
        fine = {original.groups + pruned.groups + group: 1 for group in terms}
    # The lead is within the rounding: its negative is at least the negative of the rounding.
    rows.append(Row(negative, constant - needed * pruned.divisor, strict, factor, fine))
    return rows


def same_rows(pair: Pair, problem: Problem, found: Found) -> None:
    """The rows of the dump are those of the definition, number by number."""
    expected = pair.claim.rows(pair, problem, found)
    if len(expected) != len(problem.rows):
        found.differs("rows", f"{problem.name}: the claim needs {len(expected)} rows, the dump has {len(problem.rows)}.")
        return
    intercepts = [value for model in pair.models for value in model.intercepts]
    for at, (row, (bound, dumped)) in enumerate(zip(expected, problem.rows)):
        found.rows += 1
        constants = sum((sign * intercepts[name] for name, sign in row.terms.items()), Fraction(0))
        least = (row.bound - constants) / Fraction(2) ** problem.unit
        whole = math.floor(least) + 1 if row.strict else math.ceil(least)
        if bound > whole or bound < whole and not row.may_ask_more:
            found.differs("row", f"{problem.name}: row {at} has the bound {bound}; by the definition it is {whole}.")
        terms = {name: sign * row.factor for name, sign in row.terms.items()} | row.fine
        if terms != {name: factor for name, factor in dumped.items() if factor}:
            found.differs("row", f"{problem.name}: row {at} adds up {dumped}; by the definition {terms}.")


class Inputs:
    """Inputs, and what the libraries say of each of them."""

    def __init__(self, pair: Pair, rows: np.ndarray, found: Found) -> None:
        self.pair, self.rows = pair, rows
        found.inputs = len(rows)
        found.at_missing = int(np.isnan(rows).any(axis=1).sum())
        self.leaves = [model.leaves(pair.rows_of(which, rows)) for which, model in enumerate(pair.models)]
        self.decided = [model.decides(pair.rows_of(which, rows)) for which, model in enumerate(pair.models)]
        # Whole numbers of the unit of both models, exactly.
        self.exponent = min(model.exponent for model in pair.models)
        unit = Fraction(2) ** self.exponent
        self.sums: list[list[Any]] = []
        self.steps_sums: list[Any] = []
        for which, model in enumerate(pair.models):
            sums = [np.full(len(rows), int(value / unit), dtype=object) for value in model.intercepts]
            fine = [np.zeros(len(rows), dtype=object) for _ in model.intercepts]
            for index, names in enumerate(self.leaves[which]):
                found.leaves_reached += len(set(names))
                for group in model.trees[index].sums:
                    amount = {name: int(model.leaf(index, name).get(group, Fraction(0)) / unit) for name in set(names)}
                    values = np.array([amount[name] for name in names], dtype=object)
                    sums[group] = sums[group] + values
                    if which == 1:
                        fine[group] = fine[group] + abs(values) * (257 * pair.steps_by_input[index])
            self.sums.append(sums)
            self.steps_sums.append(fine)

    def lead(self, which: int, winner: int, other: int) -> Any:
        """The exact lead on each input, times the divisor, in the unit."""
        terms, constant, _ = self.pair.models[which].lead(winner, other)
        total = sum(sign * self.sums[which][group] for group, sign in terms.items())
        return total + constant / Fraction(2) ** self.exponent

    def leads_over(self, winner: int, other: int) -> np.ndarray:
        """Where the original's lead over a class exceeds the band; for exact sums, where it wins against the class."""
        original, band = self.pair.models[0], self.pair.claim.band
        lead = self.lead(0, winner, other)
        if band is None:
            ties = original.lead(winner, other)[2]
            return np.array((lead >= 0) if ties else (lead > 0), dtype=bool)
        return np.array(lead > band * original.divisor / Fraction(2) ** self.exponent, dtype=bool)

    def leads_by(self, winner: int) -> np.ndarray:
        """Where this is so for every other class."""
        holds = np.ones(len(self.rows), dtype=bool)
        for other in self.others(winner):
            holds &= self.leads_over(winner, other)
        return holds

    def others(self, winner: int) -> list[int]:
        return [other for other in range(self.pair.models[0].classes) if other != winner]

    def pruned_fails(self, problem: Problem) -> np.ndarray:
        """Where the pruned model's lead of the winner over the other class is within its rounding."""
        pair, pruned = self.pair, self.pair.models[1]
        winner, other = (pair.classes[own] for own in classes_of(problem))
        lead = self.lead(1, winner, other)
        terms, _, ties = pruned.lead(winner, other)
        unit, said = Fraction(2) ** self.exponent, problem.rounding
        if pair.claim.band is None:
            return np.array((lead < 0) if ties else (lead <= 0), dtype=bool)
        if said.over_all is not None:
            return np.array(lead <= said.over_all * pruned.divisor / unit, dtype=bool)
        fixed = (said.gap + sum((said.fixed[group] for group in terms), Fraction(0))) * pruned.divisor / unit
        finer = Fraction(1, 2**said.factor_bits)
        return np.array(lead <= fixed + finer * sum(self.steps_sums[1][group] for group in terms), dtype=bool)


def at_inputs(pair: Pair, problem: Problem, grid: Grid, inputs: Inputs, found: Found) -> None:
    """On each input: the leaves, the rows, and what the libraries decide."""
    cells = grid.cells(inputs.rows)
    masks = Masks(problem)
    by_input = steps_of(pair, problem)
    sums: list[Any] = [np.zeros(len(cells), dtype=object) for _ in range(problem.sums)]
    first = problem.trees_of[0]
    for index, tree in enumerate(problem.trees):
        which, place = (0, index) if index < first else (1, index - first)
        reached = dumps.leaves_at(tree, cells, masks)
        model = pair.models[which]
        amounts = Amounts(pair, problem, which, place, by_input)
        names = inputs.leaves[which][place]
        known: dict[tuple[Any, int], int] = {}
        for at, pair_of in enumerate(zip(names, reached.tolist())):
            known.setdefault(pair_of, at)
        for pair_of, place_of in known.items():
            wrong = amounts.wrong(model.leaf(place, pair_of[0]), tree[pair_of[1]].added)
            if wrong is not None:
                found.differs(
                    "leaf",
                    f"{problem.name}: on the input {_words(inputs.rows[place_of])} tree {place} of "
                    f"{pair.names[which]} reaches leaf {pair_of[0]} in {model.library}, and in the dump "
                    f"{wrong}.",
                )
        for name in {name for node in tree for name in node.added}:
            values = {at: tree[at].added.get(name, 0) for at in set(reached.tolist())}
            sums[name] = sums[name] + np.array([values[at] for at in reached.tolist()], dtype=object)
    defined = pair.claim.hold(pair, problem, inputs)
    for at, (bound, terms) in enumerate(problem.rows[: len(defined)]):
        total = sum((factor * sums[name] for name, factor in terms.items()), np.zeros(len(cells), dtype=object))
        holds = np.array(total >= bound, dtype=bool)
        found.rows_at_inputs += len(cells)
        found.rows_held += int(defined[at].sum())
        for row in np.flatnonzero(holds != defined[at]):
            found.differs(
                "held",
                f"{problem.name}: on the input {_words(inputs.rows[row])} row {at} {'holds' if holds[row] else 'does not hold'}, "
                f"and by the definition it {'does' if defined[at][row] else 'does not'}.",
            )


def decided_as_claimed(pair: Pair, inputs: Inputs, found: Found) -> None:
    """Wherever the original leads by more than the band, both libraries decide its winner."""
    for winner in range(pair.models[0].classes):
        leads = inputs.leads_by(winner)
        found.in_claim += int(leads.sum())
        if pair.claim.band is None:
            # A claim about exact sums: B's exact winner is the same, whatever its library makes of the last bits.
            pruned = pair.models[1]
            agrees = leads.copy()
            for other in range(pruned.classes):
                if other != winner:
                    own = pair.classes[winner], pair.classes[other]
                    lead = inputs.lead(1, *own)
                    agrees &= np.array((lead >= 0) if pruned.lead(*own)[2] else (lead > 0), dtype=bool)
            for row in np.flatnonzero(leads & ~agrees):
                found.differs(
                    "decision",
                    f"On the input {_words(inputs.rows[row])} the exact sums of the original give class {winner}, and those of the "
                    "pruned model do not.",
                )
            continue
        for which, name in enumerate(pair.names):
            expected = pair.classes[winner] if which else winner
            for row in np.flatnonzero(leads & (inputs.decided[which] != expected)):
                found.differs(
                    "decision",
                    f"On the input {_words(inputs.rows[row])} the original leads with class {winner} by more than the band, and "
                    f"{pair.models[which].library} with {name} decides class {int(inputs.decided[which][row])}.",
                )


def excused(pair: Pair, problem: Problem, found: Found) -> None:
    """In every cell that the checker excused, the libraries do what is claimed."""
    if not problem.excused:
        return
    rows = np.zeros((len(problem.excused), pair.width))
    for axis, columns in enumerate(problem.columns):
        rows[:, columns] = np.array(problem.witnesses[axis])[[cell[axis] for cell in problem.excused]]
    found.excused += len(rows)
    pair.claim.excused(pair, problem, rows, found)


def decided_alike(pair: Pair, problem: Problem, rows: np.ndarray, found: Found) -> None:
    """Both libraries decide the winner of the problem."""
    winner, _ = classes_of(problem)
    for which, model in enumerate(pair.models):
        expected = pair.classes[winner] if which else winner
        for row in np.flatnonzero(model.decides(pair.rows_of(which, rows)) != expected):
            found.differs(
                "excused",
                f"{problem.name}: cell {problem.excused[row]} was excused, and {model.library} does not decide class {winner} "
                f"on its input {_words(rows[row])}.",
            )
    if pair.claim.band is None:
        found.differs("excused", f"{problem.name}: a claim about exact sums excuses no cell, and the dump has excused ones.")


def make_inputs(pair: Pair, count: int, seed: int) -> np.ndarray:
    """Random inputs, and two for every leaf: one at the lower edges of its box and one at the upper ones."""
    rng = np.random.default_rng(seed)
    candidates = [own if len(own) else np.zeros(1) for own in pair.candidates]
    used = [column for column in range(pair.width) if pair.tests[column]]

    def random_rows(number: int) -> np.ndarray:
        rows = np.zeros((number, pair.width))
        for column in range(pair.width):
            if pair.tests[column] or rng.random() < 0.5:
                rows[:, column] = rng.choice(candidates[column], number)
        if used and number:
            # Half of the rows between the edges: values of every size.
            half = number // 2
            for column in used:
                finite = candidates[column][np.isfinite(candidates[column])]
                middle = rng.choice(finite, half) * rng.random(half)
                ordinary = np.abs(middle) < 1e30
                single = np.where(ordinary, middle, 0.0).astype(np.float32).astype(np.float64)
                rows[:half, column] = np.where(ordinary, single, rows[:half, column])
        return rows

    guided = []
    for which, model in enumerate(pair.models):
        read = [model.read(own) for own in candidates]
        ways: dict[tuple[int, Test], np.ndarray] = {}
        for tree in model.trees:
            open_nodes: list[tuple[int, dict[int, np.ndarray]]] = [(0, {})]
            while open_nodes:
                at, box = open_nodes.pop()
                node = tree.nodes[at]
                if node.column < 0:
                    if all(own.any() for own in box.values()):
                        guided.append(box)
                    continue
                column = pair.column(which, node.column)
                key = column, node.test
                if key not in ways:
                    ways[key] = node.test.holds(read[column])
                now = box.get(column, np.ones(len(candidates[column]), dtype=bool))
                for values, child in [(now & ways[key], node.yes), (now & ~ways[key], node.no)]:
                    if values.any():
                        open_nodes.append((child, {**box, column: values}))
    edges = random_rows(2 * len(guided))
    for at, box in enumerate(guided):
        for column, values in box.items():
            own = np.flatnonzero(values)
            edges[2 * at, column] = candidates[column][own[0]]
            edges[2 * at + 1, column] = candidates[column][own[-1]]
    rows = np.concatenate([random_rows(count), edges])
    if pair.steps:
        pair.steps.move_next_to_each_other(rows, rng)
    return rows


def _words(row: Iterable[float]) -> str:
    row = list(row)
    shown = ", ".join(repr(float(value)) for value in row[:12])
    return f"({shown}{', ...' if len(row) > 12 else ''})"


def same_models(original: Live, pruned: Live, found: Found) -> None:
    """Where a certificate has no problems since both models are one: they have to be one to their libraries as well."""
    alike = (
        original.library == pruned.library
        and original.trees == pruned.trees
        and original.intercepts == pruned.intercepts
        and original.threshold == pruned.threshold
        and original.divisor == pruned.divisor
        and original.classes == pruned.classes
        and original.labels == pruned.labels
        and original.names == pruned.names
    )
    if not alike:
        found.differs("one", "The certificate says that both models are the same, and their libraries have different ones.")
