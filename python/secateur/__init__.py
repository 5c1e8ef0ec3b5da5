"""Fast, small, sure: make tree ensembles faster or smaller, and prove that they still decide the same.

Three doors, and a call that says which one helps your model:

>>> import secateur
>>> packed = secateur.pack(model)          # doctest: +SKIP
>>> smaller = secateur.prune(model).model  # doctest: +SKIP
>>> secateur.verify(model, other)          # doctest: +SKIP
>>> print(secateur.advise(model, X))       # doctest: +SKIP

`pack` makes any model small and fast without changing a bit of its scores. `prune` removes trees without changing a decision; it helps
stumps, shallow trees and columns of few values. `verify` proves that two models decide alike or finds an input on which they do not,
`verify_many` does so for many pairs, `diff` says what changed between two versions, `ask` what one model can do, `check` checks a certificate, `inspect` says what a model is,
`load` reads one, `Domain` says which inputs can occur. `PrunedClassifier` does fitting and pruning as
one scikit-learn estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur._advise import Advice, advise, offers
from secateur._ask import Answer, Case, Questions, ask
from secateur._check import check
from secateur._diff import Difference, diff
from secateur._domain import Domain
from secateur._errors import CertificateError, OptionError
from secateur._inspect import Inspection, inspect
from secateur._loading import load
from secateur._many import PairResult, verify_many
from secateur._packed import PackedModel, pack
from secateur._prune import Pruning, Unproved, prune
from secateur._ray import ray_executor
from secateur._secateur import (
    ComparisonError,
    EditingError,
    InputError,
    Model,
    ModelError,
    SecateurError,
    __version__,
)
from secateur._verify import ScoreVerification, Verification, verify

if TYPE_CHECKING:
    from secateur._estimator import PrunedClassifier

__all__ = [
    "Advice",
    "Answer",
    "Case",
    "CertificateError",
    "ComparisonError",
    "Difference",
    "Domain",
    "EditingError",
    "InputError",
    "Inspection",
    "Model",
    "ModelError",
    "OptionError",
    "PackedModel",
    "PairResult",
    "PrunedClassifier",
    "Pruning",
    "Questions",
    "ScoreVerification",
    "SecateurError",
    "Unproved",
    "Verification",
    "__version__",
    "advise",
    "ask",
    "check",
    "diff",
    "inspect",
    "load",
    "offers",
    "pack",
    "prune",
    "ray_executor",
    "verify",
    "verify_many",
]


def __getattr__(name: str) -> Any:
    # The estimator is scikit-learn's kind of object; who does not use it need not have scikit-learn.
    if name == "PrunedClassifier":
        from secateur._estimator import PrunedClassifier

        return PrunedClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
