"""Options as users write them, checked, as the extension takes them."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

from secateur._errors import OptionError
from secateur._secateur import EFFORTS as EFFORTS, MOVES as MOVES, OBJECTIVES as OBJECTIVES, UNITS as UNITS

KEPT = ("decisions", "scores")
METHODS = ("ic", "imd", "drep", "rows", "boxes")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(word) for word in allowed[:-1])
        raise OptionError(f"{name} must be {listed} or {allowed[-1]!r}, not {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be True or False, not {value!r}")
    return value


def band(value: Any) -> float | None:
    """`None` for "auto", else a score."""
    if isinstance(value, str) and value == "auto":
        return None
    if not _is_number(value) or not 0 <= value < math.inf:
        raise OptionError(f"band must be 'auto', 0 or a positive number, not {value!r}")
    return float(value)


def threshold(value: Any) -> float | None:
    """A probability between 0 and 1; `None` for the library's own rule."""
    if value is None:
        return None
    if not _is_number(value) or not 0 < value < 1:
        raise OptionError(f"threshold must be a probability between 0 and 1, not {value!r}")
    return float(value)


def time_limit(value: Any) -> float | None:
    """Seconds; "500ms", "30s", "5m30s" and "2h" are read as on the command line."""
    if value is None:
        return None
    if isinstance(value, str):
        # Units in this order, each once at most: "5m30s".
        number = r"(?:(\d+(?:\.\d+)?){})?"
        found = re.fullmatch("".join(number.format(unit) for unit in ("h", "m", "s", "ms")), value)
        if found and any(found.groups()):
            return sum(float(count) * _UNITS[unit] for count, unit in zip(found.groups(), ("h", "m", "s", "ms")) if count)
    elif _is_number(value) and 0 <= value < math.inf:
        return float(value)
    raise OptionError(f"time_limit must be seconds, '500ms', '30s', '10m' or '2h', not {value!r}")


def count(name: str, value: Any, smallest: int) -> int:
    """A whole number."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not smallest <= int(value) < 2**63:
        raise OptionError(f"{name} must be a whole number from {smallest} on, not {value!r}")
    return int(value)


def threads(value: Any) -> int | None:
    """`None` for all cores."""
    return None if value is None else count("threads", value, 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
