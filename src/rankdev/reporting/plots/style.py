"""One look for all pictures: a column's width, readable type, colours that colour-blind people can tell."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from rankdev.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
COLUMN, PAGE = 3.35, 7.0  # inches: one column, and both, of a two-column paper
FORMATS = (".png", ".svg", ".pdf")
# Okabe and Ito's colours without yellow, which is too light for lines on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
FAMILIES = {"RDQ": 0, "RBP": 1, "nDCG": 2, "Compat": 3, "P": 4, "R": 5, "AP": 6}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
SETTINGS: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw with this look, and leave matplotlib's settings as they were."""

    @wraps(draw)
    def drawing(*args: P.args, **options: P.kwargs) -> Figure:
        try:
            import matplotlib as mpl
        except ImportError:
            raise MissingExtraError("matplotlib", "plot", "a picture") from None
        with mpl.rc_context(SETTINGS):
            return draw(*args, **options)

    return drawing


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    """Give a figure of some inches and its grid of axes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(rows, columns, squeeze=False)


def looks(measures: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give each measure its look: colour by family, dash and marker by the whole name.

    A measure looks the same in every picture, unless two of one family and picture would look alike.

    >>> looks(["RDQ@5"])["RDQ@5"]["color"] == looks(["AP@5", "RDQ(alpha=4)@5"])["RDQ(alpha=4)@5"]["color"]
    True
    """
    found: dict[str, dict[str, Any]] = {}
    taken: dict[int, set[int]] = {}
    for measure in measures:
        family = re.split(r"[(@]", measure)[0]
        colour = FAMILIES.get(family, zlib.crc32(family.encode()) % len(COLOURS))
        variant = zlib.crc32(measure.encode()) % len(MARKERS)
        siblings = taken.setdefault(colour, set())
        while variant in siblings and len(siblings) < len(MARKERS):
            variant = (variant + 1) % len(MARKERS)
        siblings.add(variant)
        found[measure] = {
            "color": COLOURS[colour],
            "linestyle": DASHES[variant % len(DASHES)],
            "marker": MARKERS[variant],
        }
    return found


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the name's ending; the same figure gives the same bytes."""
    import matplotlib as mpl

    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise UsageError(f"{target}: a picture's name must end in {', '.join(FORMATS)}")
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix.lower())
    with mpl.rc_context(SETTINGS | {"svg.hashsalt": "rankdev"}):
        figure.savefig(target, dpi=300, metadata=metadata)
    return target
