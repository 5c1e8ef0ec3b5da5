"""Exact, proved pruning of tree ensembles.

>>> import secateur
>>> model = secateur.load("model.json")    # XGBoost, LightGBM, scikit-learn (skops) or ONNX  # doctest: +SKIP
>>> model.raw_scores(rows)                 # the library's own bits  # doctest: +SKIP
"""

from secateur._model import load
from secateur._secateur import (
    EditingError,
    InputError,
    Model,
    ModelError,
    SecateurError,
    __version__,
)

__all__ = [
    "EditingError",
    "InputError",
    "Model",
    "ModelError",
    "SecateurError",
    "__version__",
    "load",
]
