"""Exact, proved pruning of tree ensembles.

>>> import secateur
>>> model = secateur.load("model.json")    # XGBoost, LightGBM, scikit-learn (skops) or ONNX  # doctest: +SKIP
>>> model.raw_scores(rows)                 # the library's own bits  # doctest: +SKIP
"""

from secateur._model import load
from secateur._secateur import (
    ComparisonError,
    EditingError,
    InputError,
    Model,
    ModelError,
    SecateurError,
    __version__,
)
from secateur._verify import Verification, verify

__all__ = [
    "ComparisonError",
    "EditingError",
    "InputError",
    "Model",
    "ModelError",
    "SecateurError",
    "Verification",
    "__version__",
    "load",
    "verify",
]
