"""Errors that are raised on this side of the extension module."""

from __future__ import annotations

from secateur._secateur import SecateurError


class OptionError(SecateurError, ValueError):
    """An option has a value that makes no sense."""


class CertificateError(SecateurError):
    """A certificate does not prove what it should.

    `verdict` is "invalid" (a step is wrong, or it speaks of other models), "incomplete" (nothing is wrong as far as is
    known, and the claim is not reached) or "malformed" (it is no certificate). `reason` is a short name that stays
    the same from version to version, `message` the same as a sentence with the numbers that decided, and `step` the
    number of the step, where there is one.
    """

    def __init__(self, text: str, *, verdict: str, reason: str, step: int | None, message: str) -> None:
        super().__init__(text)
        self.verdict = verdict
        self.reason = reason
        self.step = step
        self.message = message

    def __reduce__(self) -> tuple:
        return _certificate_error, (str(self), self.verdict, self.reason, self.step, self.message)


def _certificate_error(text: str, verdict: str, reason: str, step: int | None, message: str) -> CertificateError:
    return CertificateError(text, verdict=verdict, reason=reason, step=step, message=message)
