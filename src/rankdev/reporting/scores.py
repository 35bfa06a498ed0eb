"""Scores as a report: means by system, and each query's values where asked for."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankdev.errors import counted
from rankdev.evaluation.losses import Losses
from rankdev.evaluation.scores import Scores
from rankdev.reporting.cells import count
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table, best_cells


@reports(Scores)
def scores_report(scores: Scores, *, per_query: bool = False) -> Report:
    """Give means (query null in the rows), and with ``per_query`` every value."""
    means = scores.mean()
    rows = means.unpivot(index="system", variable_name="measure", value_name="value")
    rows = rows.select("system", pl.lit(None, pl.String).alias("query"), "measure", "value")
    if not per_query:
        best = best_cells(means, [measure for measure in scores.measures if measure not in scores.sums])
        over = f"{_over(scores).capitalize()} over {counted(len(scores.queries), 'query')}"
        title = f"{over}{'; * best' if best else ''}"
        table = Table(means, title, best=best, **_look(scores))
        return Report(rows, [table], remarks=scores.remarks)
    values = scores.to_polars()

    def wide() -> pl.DataFrame:
        table = values.pivot("measure", index=["system", "query"], values="value", maintain_order=True)
        return pl.concat([table, means.select("system", pl.lit(_over(scores)).alias("query"), *scores.measures)])

    table = Table(wide, **_look(scores))
    return Report(pl.concat([values, rows]), [table], remarks=scores.remarks)


def _over(scores: Scores) -> str:
    return "sum" if scores.sums == scores.measures else "mean"


def _look(scores: Scores) -> dict[str, Any]:
    """Name the counts among measures that are averaged, and write them without decimals."""
    notes = [f"{', '.join(scores.sums)}: sum over the queries"] if scores.sums and _over(scores) == "mean" else []
    return {"notes": notes, "formats": dict.fromkeys(scores.sums, count), "bars": scores.measures}


@reports(Losses)
def losses_report(found: Losses) -> Report:
    """Give each system's mean score and what it lost to what."""
    table = found.to_polars()
    title = f"{found.measure}, mean over {counted(len(found.scores.queries), 'query')}, and what was lost"
    return Report(table, [Table(table, title, bars=table.columns[1:])], remarks=found.remarks)
