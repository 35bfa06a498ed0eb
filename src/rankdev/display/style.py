"""One style for all figures: a column's width, readable type, a colour-blind-safe palette."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from rankdev.data.write import writing
from rankdev.display.layout import apart
from rankdev.errors import MissingExtraError, UsageError, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


P = ParamSpec("P")
NOTEBOOK = 110  # pixels an inch has in a notebook; drawn twice as fine, for screens that are
COLUMN, PAGE = 3.35, 7.0  # inches: one column, and both, of a two-column paper
FORMATS = (".png", ".svg", ".pdf")
TITLE_LINE = 9 * 1.2 / 72  # inches
GREY = "#777777"
# Okabe and Ito's colours without yellow, with a darker vermillion: the first two are A and B in pages, as text too
COLOURS = ("#0072B2", "#B84A00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Fourteen families, then configurations that are seen together: no two of either set are closer than 9 in CIEDE2000
# to people with protanopia, deuteranopia or tritanopia (tests/display/test_colours.py); others take their
# family's. The order gives similar colours of the two sets different markers
MEASURES = {
    "RDQ": "#0072B2",
    "nDCG": "#009E73",
    "AP": "#000000",
    "RBP": "#D55E00",
    "Compat": "#CC79A7",
    "P": "#56B4E9",
    "R": "#E69F00",
    "RR": "#C00D01",
    "Success": "#7F7AFF",
    "ERR": "#6E2C28",
    "RBO": "#974E6D",
    "Tau": "#4622AA",
    "Bpref": "#7A654C",
    "Judged": "#A8BE83",
    "RDQ(penalty=m1)": "#5EAAD7",
    "RBP(p=0.5)": "#816B46",
    "Compat(p=0.9)": "#8D1F3E",
    "RBP(p=0.9)": "#CAA430",
    "nDCG(gains=linear,dcg=exp-log2)": "#4ED383",
    "nDCG(dcg=exp-log2)": "#0A5E54",
    "Compat(p=0.8)": "#FFA0B9",
    "RDQ(alpha=4)": "#8474FF",
    "Rho": "#3E3A5F",
    "nDCG(gains=binary)": "#194808",
}
FAMILIES = tuple(MEASURES)[:14]
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")  # distinguish areas in grayscale
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
VARIANTS = [(MARKERS[i % 10], DASHES[(i + i // 10) % 4]) for i in range(40)]  # every marker with every dash
# fonts with characters that matplotlib's own lacks, where installed (not bitmaps, such as Noto Color Emoji)
FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR", "Source Han Sans"),
    *("Hiragino Sans", "Yu Gothic", "Meiryo", "PingFang SC", "Microsoft YaHei", "Malgun Gothic", "Apple SD Gothic Neo"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "IPAexGothic", "Droid Sans Fallback", "Arial Unicode MS"),
    *("Noto Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Symbola", "Noto Sans Devanagari", "Noto Sans Thai"),
)
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
    "text.parse_math": False,  # a name with two dollars is a name, and no formula
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw with this style, and leave matplotlib's settings as they were."""

    @wraps(draw)
    def drawing(*args: P.args, **options: P.kwargs) -> Figure:
        try:
            import matplotlib as mpl
        except ImportError:
            raise MissingExtraError("matplotlib", "plot", "a figure") from None
        with mpl.rc_context(SETTINGS | {"font.family": _fonts()}):
            return draw(*args, **options)

    return drawing


@cache
def _fonts() -> list[str]:
    """Return the names of fonts to draw with; a later one draws the characters that the earlier ones lack."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]


def figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of some inches and its grid of axes."""
    drawn = _notebook_figure()(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(rows, columns, squeeze=False, **options)


@cache
def _notebook_figure() -> type[Figure]:
    """Return a class of figures that notebooks display; defined on use, because matplotlib is optional."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure without a window manager that displays itself in a notebook."""

        def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
            content = io.BytesIO()
            self.savefig(content, format="png", dpi=2 * NOTEBOOK)
            return content.getvalue(), {"width": round(NOTEBOOK * self.get_figwidth()), "alt": alt_text(self)}

    return NotebookFigure


def titled(drawn: Figure, text: str) -> Figure:
    """Put a title on top of a figure, in as many lines as it takes, which do not take space of what is drawn."""
    written = printable(text)
    title = drawn.suptitle("", x=0.01, ha="left", fontsize=9, fontweight="bold", fontfamily=_fonts())
    letters = int(14 * drawn.get_figwidth())
    while letters > 10 and (not title.get_text() or title.get_window_extent().x1 > 0.99 * drawn.bbox.width):
        title.set_text("\n".join(textwrap.wrap(written, letters)))
        letters -= 2
    drawn.set_figheight(drawn.get_figheight() + TITLE_LINE * title.get_text().count("\n"))
    return drawn


def alt_text(figure: Figure) -> str:
    """Return the titles and labels of a figure, as its alternative text."""
    texts = [figure.get_suptitle()]
    for axes in figure.axes:
        texts += [axes.get_title(loc="left") or axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
    return "; ".join(dict.fromkeys(text.replace("\n", " ") for text in texts if text))


def over_queries(axis: Any, sizes: Sequence[int]) -> None:
    """Scale an axis logarithmically over numbers of queries, with ticks at the usual ones."""
    axis.set_xscale("log")
    ticks = [size for size in (5, 10, 25, 50, 100, 200, 500, 1000, 2000, 5000) if sizes[0] <= size <= sizes[-1]]
    if ticks and sizes[-1] > 1.5 * ticks[-1]:
        ticks.append(sizes[-1])
    if len(ticks) > 6:
        ticks = ticks[::-2][::-1]  # every other, up to the last
    axis.set_xticks(ticks or list(sizes), [str(size) for size in ticks or sizes])
    axis.minorticks_off()


def labels(names: Iterable[object], longest: int = 40) -> list[str]:
    """Write names so that they leave space for what they name, as far as they stay different."""
    texts = [printable(str(name)) for name in names]
    cut = apart(texts, longest)
    return [cut[text] for text in texts]


def looks(measures: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the style of each measure: its colour, and a marker and a dash that distinguish it without colour.

    Those of :data:`MEASURES` look the same in every figure, at any cutoff; others have the colour of their family, or
    one that is left.

    >>> looks(["RDQ@5"])["RDQ@5"] == looks(["AP@10", "RDQ@10"])["RDQ@10"]
    True
    """
    known = list(MEASURES)
    names = {measure: measure.rpartition("@")[0] or measure for measure in measures}
    found: dict[str, dict[str, Any]] = {}
    colours: set[str] = set()
    variants: set[int] = set()
    for measure in sorted(measures, key=lambda text: names[text] not in known):
        wanted = (names[measure], re.split(r"[(@]", measure)[0], *FAMILIES)
        possible = [MEASURES[name] for name in wanted if name in MEASURES]
        colour = next((one for one in possible if one not in colours), possible[0])
        own = [known.index(names[measure])] if names[measure] in known else []
        variant = next((i for i in (*own, *reversed(range(len(VARIANTS)))) if i not in variants), 0)
        colours.add(colour)
        variants.add(variant)
        marker, dash = VARIANTS[variant]
        found[measure] = {"color": colour, "linestyle": dash, "marker": marker}
    return {measure: found[measure] for measure in measures}


def check_name(path: str | Path) -> None:
    """Refuse a file name without the extension of a figure format."""
    if Path(path).suffix.lower() not in FORMATS:
        raise UsageError("bad-ending", path=path, endings=FORMATS)


def save(figure: Figure, path: str | Path, dpi: int = 300) -> Path:
    """Write a figure as PNG, SVG or PDF, by the name's extension; the same figure gives the same bytes."""
    import matplotlib as mpl

    check_name(path)
    kind = Path(path).suffix.lower()[1:]
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    content = io.BytesIO()
    with mpl.rc_context(SETTINGS | {"svg.hashsalt": "rankdev"}):
        figure.savefig(content, format=kind, dpi=dpi, metadata=metadata)
    with writing(path) as stream:
        stream.write(content.getvalue())
    return Path(path)
