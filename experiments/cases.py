"""Which models each table and figure of the paper needs, and how each is pruned."""

from __future__ import annotations

from dataclasses import dataclass

import data

SEEDS = 5

# How a model is pruned: options of `secateur prune`. `l1` and `l0` are the paper's two pruners (weights on the model's own
# trees); `default` is what a user gets who chooses nothing.
VARIANTS = {
    "l1": ["--effort", "fast", "--moves", "weights"],
    "l0": ["--effort", "minimum", "--moves", "weights"],
    "default": [],
}

BASELINES = ["ic", "imd", "drep"]


@dataclass(frozen=True, order=True)
class Training:
    """One model."""

    learner: str
    depth: int
    trees: int
    dataset: str
    seed: int
    paper: bool = False

    @property
    def key(self) -> str:
        tail = "-paper" if self.paper else ""
        return f"{self.learner}-d{self.depth}-m{self.trees}-{self.dataset}-s{self.seed}{tail}".lower()


@dataclass(frozen=True)
class Case:
    """One model, pruned in one way; with `baselines` also by the paper's baselines, to the same size."""

    training: Training
    variant: str
    baselines: bool = False

    @property
    def key(self) -> str:
        return f"{self.training.key}-{self.variant}{'-baselines' if self.baselines else ''}"


@dataclass(frozen=True)
class Scope:
    """What to run the tables on."""

    datasets: tuple[str, ...] = tuple(data.NAMES)
    seeds: int = SEEDS
    paper: bool = False
    # Every M is divided by this; for a quick look.
    shrink: int = 1


def _cases(scope: Scope, learners, depths, sizes, variants, baselines: bool = False) -> list[Case]:
    return [
        Case(Training(learner, depth, max(1, trees // scope.shrink), dataset, seed, scope.paper), variant, baselines)
        for learner in learners
        for depth in depths
        for trees in sizes
        for dataset in scope.datasets
        for seed in range(scope.seeds)
        for variant in variants
    ]


OTHERS = ["GradientBoosting", "RandomForest", "LightGBM", "XGBoost"]


def ada_l0_l1(scope: Scope) -> list[Case]:
    """The table "l0 vs l1": AdaBoost, M = 50."""
    return _cases(scope, ["AdaBoost"], [1], [50], ["l1", "l0", "default"])


def ada_l1(scope: Scope) -> list[Case]:
    """The table "l1": AdaBoost, M = 100, 200, 500, 1000."""
    return _cases(scope, ["AdaBoost"], [1], [100, 200, 500, 1000], ["l1", "default"])


def baselines(scope: Scope) -> list[Case]:
    """The table of baselines: IC, IMD and DREP at the size that l1 found."""
    return _cases(scope, ["AdaBoost"], [1], [50, 100, 200, 500, 1000], ["l1"], baselines=True)


def weights(scope: Scope) -> list[Case]:
    """The figure of weights: FICO, M = 200, one seed."""
    dataset = "FICO" if "FICO" in scope.datasets else scope.datasets[0]
    return [Case(Training("AdaBoost", 1, max(1, 200 // scope.shrink), dataset, 0, scope.paper), "l1")]


def appendix_50(scope: Scope) -> list[Case]:
    """The appendix's "l0 vs l1": four learners, depths 1 and 3, M = 50."""
    return _cases(scope, OTHERS, [1, 3], [50], ["l1", "l0", "default"])


def appendix_200(scope: Scope) -> list[Case]:
    """The appendix's "l1": four learners, depths 1 and 3, M = 100 and 200."""
    return _cases(scope, OTHERS, [1, 3], [100, 200], ["l1", "default"])


def appendix_l1(scope: Scope) -> list[Case]:
    """The same with the paper's pruner alone, which is what its table shows."""
    return _cases(scope, OTHERS, [1, 3], [100, 200], ["l1"])


TABLES = {
    "ada-l0-l1": ada_l0_l1,
    "ada-l1": ada_l1,
    "baselines": baselines,
    "weights": weights,
    "appendix-50": appendix_50,
    "appendix-200": appendix_200,
    "appendix-l1": appendix_l1,
}

# What `make experiments` runs; the rest is for a night.
MAIN = ["ada-l0-l1", "ada-l1", "baselines", "weights", "appendix-50"]
