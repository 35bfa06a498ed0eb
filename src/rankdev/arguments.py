"""One way to refuse a wrong argument: a line that names it, says what was expected and what was given."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from numbers import Real

from rankdev.errors import UsageError, shown, suggestion


def check_number(name: str, value: float, low: float, high: float = math.inf, *, ends: bool = False) -> float:
    """Give a parameter as a float; refuse what is not between ``low`` and ``high``, or one of these ``ends``."""
    if not (is_number(value) and (low < value < high or (ends and value in (low, high) and math.isfinite(value)))):
        if math.isfinite(high):
            expected = f"from {low:g} to {high:g}" if ends else f"between {low:g} and {high:g}"
        else:
            expected = f"of at least {low:g}" if ends else f"above {low:g}"
        raise UsageError(f"{name} must be a number {expected}; got {shown(value)}")
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
        lead = f"{hint} Expected" if hint else "; expected"
        raise UsageError(f"unknown {name} {shown(value)}{lead} one of {', '.join(known)}")


def check_names(name: str, value: Iterable[str]) -> list[str]:
    """Give a parameter as a list of names; refuse a single text, which would be read letter by letter."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"{name} must be a list of names; got {shown(value)}")
    return list(value)


def is_number(value: object) -> bool:
    """Tell numbers, NumPy's included, from other things; True and False are no numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)
