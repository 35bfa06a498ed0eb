"""Values as the text of a table's cells: one way to write a number, a count, a p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rankdev._common.view import Form
from rankdev.errors import decimals, printable

NOT_AVAILABLE = "–"


@dataclass(frozen=True)
class Cell:
    """The text of a cell, safe to show, and a ``style``: best, bad, or bar for ▇▇░░.

    The text ends in what is ``raised``, for formats without superscripts.
    """

    text: str
    style: str = ""
    raised: str = ""

    @property
    def level(self) -> str:
        """The text without what is raised."""
        return self.text.rstrip().removesuffix(self.raised).rstrip()

    @property
    def bare(self) -> str:
        """The same without the star of the best, for formats that set it in bold."""
        return self.level.removesuffix("*") if self.style == "best" else self.level


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with its decimals; never −0.

    >>> number(0.5, 2), number(-0.00001), number(float("inf")), number(None)
    ('0.50', '0.0000', '∞', '–')
    """
    if value is None or math.isnan(value):
        return NOT_AVAILABLE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:z.{digits}f}"


def count(value: float | None) -> str:
    """Write a number of things: without decimals where it is whole, ∞ where it was not reached.

    >>> count(1500.0), count(87.5), count(float("inf")), count(None)
    ('1,500', '87.5', '∞', '–')
    """
    if value is None or math.isinf(value) or not float(value).is_integer():
        return number(value, 1)
    return f"{int(value):,}"


def p_value(value: float | None) -> str:
    """Write a p-value.

    >>> p_value(0.03), p_value(0.00001)
    ('0.0300', '<0.0001')
    """
    return "<0.0001" if value is not None and value < 0.0001 else number(value)


def percent(level: float) -> str:
    """Write a level, such as that of an interval, as it was given.

    >>> percent(0.95), percent(0.995), percent(1 - 2 * 0.005)
    ('95%', '99.5%', '99%')
    """
    return f"{100 * level:g}%"


def signed(value: float) -> str:
    """Write a difference with its sign.

    >>> signed(0.0301), signed(-0.5), signed(0.0)
    ('+0.0301', '-0.5000', '0.0000')
    """
    return f"{value:+.4f}" if round(value, 4) else "0.0000"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Write an interval, with more decimals where a limit would seem to be 0 that is not.

    >>> interval(-0.1, 0.25), interval(0.0003, 0.25)
    ('[-0.100, 0.250]', '[0.0003, 0.2500]')
    """
    digits = decimals(*(limit for limit in (low, high) if limit is not None), least=digits)
    return f"[{number(low, digits)}, {number(high, digits)}]"


def counts(low: float | None, high: float | None) -> str:
    """Write an interval of numbers of things.

    >>> counts(40.0, float("inf"))
    '[40, ∞]'
    """
    return f"[{count(low)}, {count(high)}]"


def ranks(low: int, high: int) -> str:
    """Write a range of ranks.

    >>> ranks(1, 4), ranks(2, 2)
    ('1–4', '2')
    """
    return f"{low}" if low == high else f"{low}–{high}"


LOOKS = {"better": "best", "worse": "bad", "pass": "best", "fail": "bad"}
FORMS: Mapping[Form, Callable[..., str | Cell]] = {
    "interval": interval,
    "counts": counts,
    "ranks": ranks,
    "percent": lambda fraction: f"{fraction:.0%}",
    "count": count,
    "p": p_value,
    "signed": signed,
    "verdict": lambda word: Cell(word, LOOKS.get(word, "")),
    "yes": lambda is_so: "yes" if is_so else "",
    "difference": lambda a, b: a if b is None else f"{a} − {b}",
    "slashes": lambda *numbers: "/".join(map(str, numbers)),
}


def as_cell(value: Any, digits: int) -> Cell:
    """Write any value of a frame."""
    if isinstance(value, Cell):
        return Cell(printable(value.text), value.style)
    if value is None or isinstance(value, float):
        return Cell(number(value, digits))
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(count(value))
    return Cell(printable(str(value)))
