"""`check`: does a certificate prove that two models decide alike?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from secateur import _domain, _labels, _options
from secateur._errors import CertificateError
from secateur._model import one_threshold, recognise, same_inputs
from secateur._secateur import check as _check
from secateur._secateur import check_source as _check_source


def check(
    original: Any,
    pruned: Any,
    certificate: bytes | str | os.PathLike[str],
    *,
    domain: Any = None,
    where: Iterable[Any] = (),
    threshold: float | None = None,
) -> dict[str, Any]:
    """Checks a certificate as `secateur-check` does: every step, in exact arithmetic, without the search.

    `original` and `pruned` are whatever `secateur.load` reads; `certificate` is a path, or the certificate itself.
    The path of source that `pack` wrote (`.c`, `.h`, `.rs`, `.wasm`) can stand for `pruned`: the source is read back and compared with the original.
    `domain`, a `secateur.Domain` or the path of its file, demands a proof that covers it: a claim about a smaller domain is
    refused, and so is one that cannot be compared. `where` has models whose scores the claim may ask for (`Domain(where=...)`): a certificate
    names them by their digests and is refused without them; those of `domain` are known. `threshold` demands
    a claim about decisions at that probability of the second class; without it, a certificate about a threshold is refused. Returns the claim that is proved. A certificate is about the models' files; live objects whose class labels say
    otherwise are refused with a `ComparisonError`, and an object beside a file without labels is logged. Raises `CertificateError` where it is not.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y == 1)
    >>> result = secateur.prune(fitted, X, certificate=True)
    >>> claim = secateur.check(fitted, result.model, result.certificate)
    >>> claim["band"]["score"] == result.band
    True
    >>> other = AdaBoostClassifier(n_estimators=9, random_state=0).fit(X, y == 1)
    >>> secateur.check(other, result.model, result.certificate)
    Traceback (most recent call last):
    ...
    secateur._errors.CertificateError: invalid: The certificate is about another original: ...
    """
    if isinstance(pruned, (str, os.PathLike)) and os.fsdecode(pruned).lower().endswith((".c", ".h", ".rs", ".wasm")):
        return _source(original, os.fsdecode(pruned), certificate)
    first, second = recognise(original, thresholds=True), recognise(pruned, thresholds=True)
    threshold = one_threshold(_options.threshold(threshold), first, second)
    same_inputs(first, second)
    _labels.certified_classes(first.model, second.model)
    content = certificate if isinstance(certificate, bytes) else None
    path = None if isinstance(certificate, bytes) else os.fsdecode(certificate)
    if path is not None:
        # Python's own error names the file.
        with open(path, "rb"):
            pass
    named = "" if path is None else f"{path}: "
    scorers = [(str(model) if isinstance(model, (str, os.PathLike)) else type(model).__name__, model) for model in where]
    answer = _check(
        first.model,
        second.model,
        path=path,
        content=content,
        domain=_domain.as_given(domain),
        scorers=[(name, recognise(model).model) for name, model in scorers],
        threshold=threshold,
    )
    if answer["verdict"] == "valid":
        return answer["claim"]
    if answer["verdict"] == "malformed":
        text = f"{named}{answer['message']} ({answer['reason']})"
        raise CertificateError(
            text, verdict="malformed", reason=answer["reason"], step=None, message=answer["message"]
        )
    step = answer["step"]
    if answer["reason"].startswith("digest.") and any("GradientBoostingClassifier" in side.model.dialect for side in (first, second)):
        answer["message"] += (
            " Of a GradientBoostingClassifier with three or more classes, the fitted object and its file are two models:"
            " the certificate is about the one that was given to prune."
        )
    place = "the claim" if step is None else f"step {step}"
    raise CertificateError(
        f"{named}{answer['verdict']}: {answer['message']} ({answer['reason']} at {place})",
        verdict=answer["verdict"],
        reason=answer["reason"],
        step=step,
        message=answer["message"],
    )


def _source(original: Any, path: str, certificate: bytes | str | os.PathLike[str]) -> dict[str, Any]:
    """The same of a model as source."""
    with open(path, "rb") as file:
        text = file.read()
    if not isinstance(certificate, bytes):
        with open(certificate, "rb") as file:
            certificate = file.read()
    answer = _check_source(recognise(original).model, text, certificate)
    if answer["verdict"] == "valid":
        return answer["claim"]
    raise CertificateError(
        f"{path}: {answer['verdict']}: {answer['message']} ({answer['reason']})",
        verdict=answer["verdict"],
        reason=answer["reason"],
        step=None,
        message=answer["message"],
    )
