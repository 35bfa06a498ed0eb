"""Argument checks. Each error names the argument, what was expected and what was given."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import TypeVar

from rankdev.errors import UsageError, nearest

MOST = 10**8  # of anything that is drawn, asked or simulated: with more, a call would never end
FINEST = 1e-6  # level of a test: finer ones would take more draws than there is time for

Kind = TypeVar("Kind")


def check_number(name: str, value: float, low: float, high: float = math.inf, *, ends: bool = False) -> float:
    """Return a parameter as a float; refuse what is not between ``low`` and ``high``, which ``ends`` includes."""
    if not (is_number(value) and (low < value < high or (ends and value in (low, high) and math.isfinite(value)))):
        if math.isfinite(high):
            expected = f"from {low:g} to {high:g}" if ends else f"between {low:g} and {high:g}"
        else:
            expected = f"of at least {low:g}" if ends else f"above {low:g}"
        raise UsageError("not-a-number", name=name, expected=expected, value=value)
    return float(value)


def check_whole(name: str, value: float, low: int, high: int = MOST) -> int:
    """Return a parameter as an int; refuse what is not a whole number from ``low`` to ``high``."""
    whole = is_number(value) and (isinstance(value, Integral) or float(value).is_integer())
    if not whole or value < low:
        raise UsageError("not-whole", name=name, low=low, value=value)
    if value > high:
        raise UsageError("too-large", name=name, high=high, value=value)
    return int(value)


def check_seed(seed: int) -> int:
    """Return a seed as an int."""
    return check_whole("seed", seed, 0, 2**128 - 1)


def check_choice(name: str, value: str, known: Collection[str]) -> None:
    """Refuse a value that is not among the known ones, with a suggestion."""
    if not (isinstance(value, str) and value in known):
        raise UsageError("not-a-choice", name=name, value=value, near=nearest(value, known), known=list(known))


def check_flag(name: str, value: object) -> bool:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise UsageError("not-a-flag", name=name, value=value)
    return value


def check_kind(name: str, value: object, kind: type[Kind], remedy: str) -> Kind:
    """Refuse what is not an instance of a class; ``remedy`` explains how to get one."""
    if not isinstance(value, kind):
        raise bad_type(name, kind.__name__, value, remedy)
    return value


def bad_type(name: str, expected: str, value: object, remedy: str) -> UsageError:
    """Return the error about what is of another type than expected."""
    return UsageError("not-a-type", name=name, expected=expected, value=type(value).__name__, remedy=remedy)


def check_path(path: object) -> str:
    """Return the name of a file as text; refuse what cannot be one."""
    try:
        name = os.fspath(path)  # type: ignore[call-overload]
        if isinstance(name, str) and b"\0" not in os.fsencode(name):
            return name
    except (TypeError, UnicodeEncodeError):
        pass
    raise UsageError("not-a-path", value=path)


def check_names(name: str, value: Iterable[str]) -> list[str]:
    """Return a parameter as a list of names; refuse a single text, which would be read letter by letter."""
    if not is_list(value):
        raise UsageError("not-names", name=name, value=value)
    return list(value)


def is_list(value: object) -> bool:
    """Return whether a value is a collection of entries: not a text, a mapping, or an array without dimensions.

    >>> is_list(["a"]), is_list("a"), is_list({"a": 1})
    (True, False, False)
    """
    if type(value) in (list, tuple):
        return True
    plural = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return plural and getattr(value, "ndim", 1) != 0


def is_number(value: object) -> bool:
    """Return whether a value is a number, NumPy's included; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)
