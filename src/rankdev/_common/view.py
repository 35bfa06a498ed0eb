"""How results look, declared as plain data: ``display`` lays their tables out and draws their figures.

Texts have {fields}: attributes of the result, columns of the first row of a table, and ``level``, such as 95%. With a
noun a field is counted: {queries:query} is "3 queries". What comes out empty is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Form: TypeAlias = Literal[
    "",
    "interval",
    "counts",
    "ranks",
    "percent",
    "count",
    "p",
    "signed",
    "verdict",
    "yes",
    "difference",
    "slashes",
    "prose",
]
Text: TypeAlias = str | tuple[str, ...]  # several are joined to one sentence by semicolons


@dataclass(frozen=True)
class Col:
    """A column of a table: one of the frame's, or several written as one in some ``form``.

    It is left out, with its line of ``help``, where the frame does not have it or has nothing in it. The label of one
    ``of_system`` is the system's name, which may be shortened.
    """

    source: str | tuple[str, ...]
    label: str = ""
    form: Form = ""
    help: str = ""
    of_system: bool = False


@dataclass(frozen=True)
class Tab:
    """A table: some columns of what the method ``frame`` returns, or all; or one for each value of the column ``by``.

    ``display`` knows how columns of many results look: "low" is the interval from low to high. ``sort`` puts the
    highest first. ``best`` marks the highest numbers.
    """

    title: str = ""
    columns: Sequence[Col | str] = ()
    frame: str = "to_polars"
    by: str = ""
    sort: str = ""
    digits: int = 4
    best: Sequence[str] = ()


@dataclass(frozen=True)
class Dot:
    """Dots at ``value`` with lines from ``low`` to ``high``, and what their axis says."""

    value: str
    label: str
    low: str = "low"
    high: str = "high"


@dataclass(frozen=True)
class Dots:
    """A figure with a line for each row, named by some columns, and a dot with its interval in each panel.

    ``facets``: a column of panels for each measure, best first; else of one measure, the first unless named.
    A ``group`` has its own colour and marker.
    """

    names: Sequence[str]
    panels: Sequence[Dot]
    title: str = "{conclusion}"
    frame: str = "to_polars"
    facets: bool = True
    sort: str = ""
    group: str = ""
    zero: bool = False


@dataclass(frozen=True)
class Curves:
    """A figure with a curve of ``y`` over ``x`` for each value of ``by``, and a band where ``low`` and ``high`` are.

    Curves are to reach a ``goal``. Dots show ``again``, another estimate of y. ``pool`` is how many queries there are
    to draw from: above half of them everything is grey.
    """

    x: str
    y: str
    label: str
    by: str = "measure"
    frame: str = "to_polars"
    along: str = "{unit} n"
    title: str = "{conclusion}"
    goal: float | None = None
    again: str = ""
    pool: str = ""
    line: str = ""
    top: float | None = 1.0


@dataclass(frozen=True)
class Heat:
    """A figure with a grid of numbers: a row of panels for each of the ``values``, and a panel for each data set."""

    down: str
    across: str
    values: Mapping[str, str]
    title: str


@dataclass(frozen=True)
class View:
    """How a result looks; ``command`` is the one that prints it, ``more`` names further tables of its JSON."""

    tables: Sequence[Tab] = (Tab(),)
    command: str = ""
    opening: Sequence[str] = ()
    closing: Sequence[Text] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    brief: bool = False
    figure: Dots | Curves | Heat | None = None
