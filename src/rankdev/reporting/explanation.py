"""An explanation as a picture in text: a bar for each position, filled as far as credit was earned."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rankdev.evaluation.explain import Explanation, Position

BAR = 24


def print_explanation(explanation: Explanation, console: Console, title: str = "") -> None:
    """Print position by position; bars are as long as the position's weight and full where credit was earned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    lost = 1 - explanation.score
    console.print(
        Text.assemble(
            (f"{title}  " if title else "", "bold"),
            (f"{explanation.measure} = {explanation.score:.4f}", "bold"),
            f"   lost {lost:.4f}: {explanation.retrieval_loss:.4f} by what was returned,"
            f" {explanation.ordering_loss:.4f} by its order",
        )
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("pos", "item", "rank", "ideal", "earned ▇ of weight ░", "credit", "lost", "why"):
        table.add_column(name, justify="right" if name in ("pos", "rank", "ideal", "credit", "lost") else "left")
    top = max(entry.weight for entry in explanation.positions)
    for entry in explanation.positions:
        table.add_row(
            str(entry.position),
            Text(entry.item if entry.item is not None else "(empty)", style="" if entry.rank else "dim"),
            "–" if entry.rank is None else str(entry.rank),
            str(entry.ideal_rank),
            _bar(entry, top),
            f"{entry.credit:.2f}",
            f"{entry.lost:+.4f}" if entry.lost < 0 else f"{entry.lost:.4f}",
            Text(entry.why, style="" if entry.why == "displaced" else "red"),
        )
    console.print(table)
    if explanation.not_returned:
        shown = ", ".join(f"{item} (rank {rank})" for item, rank in explanation.not_returned[:8])
        more = len(explanation.not_returned) - 8
        console.print(Text(f"not returned: {shown}{f' and {more} more' if more > 0 else ''}"))
    if explanation.ordering_loss > 5e-5:
        console.print(
            Text(f"best order of these items ({explanation.best_score:.4f}): {' '.join(explanation.best_order)}")
        )


def _bar(entry: Position, top: float) -> Text:
    from rich.text import Text

    length = max(1, round(BAR * entry.weight / top))
    full = round(length * entry.credit)
    return Text.assemble(("▇" * full, "green"), ("░" * (length - full), "red"))
