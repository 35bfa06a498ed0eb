"""Figures without global state: made, drawn on, and written whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankdev.errors import MissingExtraError, UsageError
from rankdev.formats.streams import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".pdf", ".svg")


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Make an empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a figure") from None
    return Figure(figsize=(width, height), layout=layout)


def check_figure_name(path: str | Path) -> None:
    """Refuse a name that does not say what kind of picture to write, before long work starts."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: a figure's name ends in {', '.join(ENDINGS)}")


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that its name asks for."""
    check_figure_name(path)
    kind = Path(path).suffix.lower()[1:]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150, metadata=None if kind == "png" else {_DATE[kind]: None})
    with writing(path) as stream:
        stream.write(buffer.getvalue())


_DATE = {"pdf": "CreationDate", "svg": "Date"}  # left out, so that the same figure is the same file
