"""One way to refuse a wrong argument: a line that names it, says what was expected and what was given."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Real

from rankdev.errors import UsageError, shown, suggestion


def check_number(name: str, value: float, low: float, high: float = math.inf) -> float:
    """Give a parameter as a float; refuse what is not strictly between ``low`` and ``high``."""
    if not (is_number(value) and low < value < high):
        expected = f"a number between {low:g} and {high:g}" if math.isfinite(high) else f"more than {low:g}"
        raise UsageError(f"{name} must be {expected}; got {shown(value)}")
    return float(value)


def check_whole(name: str, value: float, low: int) -> int:
    """Give a parameter as an int; refuse what is not a whole number of at least ``low``."""
    if not (is_number(value) and float(value).is_integer() and value >= low):
        raise UsageError(f"{name} must be a whole number of at least {low}; got {shown(value)}")
    return int(value)


def check_choice(name: str, value: str, known: Collection[str]) -> None:
    """Refuse a word that is not among the known ones, with a suggestion."""
    if not (isinstance(value, str) and value in known):
        hint = suggestion(str(value), known)
        raise UsageError(f"unknown {name} {shown(value)}{hint}; expected one of {', '.join(known)}")


def is_number(value: object) -> bool:
    """Tell numbers, NumPy's included, from other things; True and False are no numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)
