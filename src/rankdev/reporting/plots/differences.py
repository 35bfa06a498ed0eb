"""Query by query: where one system beats another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.errors import counted
from rankdev.evaluation.scores import Scores
from rankdev.meta.common_queries import as_scores, panels
from rankdev.meta.query_differences import QueryDifferences
from rankdev.meta.significance import significance
from rankdev.reporting.door import draws
from rankdev.reporting.plots.style import COLOURS, COLUMN, figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 40  # queries up to which each bar carries its query's name


@draws(QueryDifferences)
def plot_query_differences(found: QueryDifferences, measure: str | None = None) -> Figure:
    """Draw the differences under one measure, the first unless named."""
    scores = Scores((found.a, found.b), found.queries, found.measures, found.values)
    return plot_differences(scores, found.a, found.b, measure or found.measures[0])


@styled
def plot_differences(scores: Any, a: str, b: str, measure: str) -> Figure:
    """Draw a bar per query: the score of ``a`` less that of ``b``, largest first, with the mean as a line."""
    chosen = as_scores(scores, [measure]).select(systems=[a, b])
    panel = panels(chosen)[0]
    apart = panel.values[:, 0, 0] - panel.values[:, 1, 0]
    order = np.argsort(-apart, kind="stable")
    apart, mean = apart[order], apart.mean()
    drawn, axes = figure(COLUMN, 2.1)
    axis: Any = axes[0, 0]
    axis.bar(
        range(len(apart)),
        apart,
        width=1.0 if len(apart) > 60 else 0.8,
        color=np.where(apart >= 0, COLOURS[0], COLOURS[1]),
    )
    axis.axhline(0, color="black", linewidth=0.6)
    axis.axhline(mean, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)))
    tested = significance(chosen, test="t", correction="none").to_polars()  # what is only rounding is a tie there
    wins, ties, losses = (int(tested[name][0]) for name in ("wins", "ties", "losses"))
    won = f"{counted(wins, 'win')}, {counted(ties, 'tie')}, {counted(losses, 'loss')}"
    title = f"mean {mean:+.3f} (dashed); {won}".replace("-", "−")
    axis.set_title(f"{a} − {b}\n{title}", loc="left", fontsize=7)
    axis.set(ylabel=f"difference in {measure}", xlim=(-0.6, len(apart) - 0.4))
    if len(apart) <= NAMED:
        axis.set_xticks(range(len(apart)), [chosen.queries[panel.queries[i]] for i in order], rotation=90, fontsize=5)
    else:
        axis.set_xlabel(f"{len(apart)} queries, by difference")
    axis.grid(visible=False, axis="x")
    return drawn
