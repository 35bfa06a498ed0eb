"""Scores as a report: means by system, and each query's values where asked for."""

from __future__ import annotations

from rankdev.evaluation.scores import Scores
from rankdev.reporting.door import reports
from rankdev.reporting.tables import Report, best_cells


@reports(Scores)
def scores_report(scores: Scores, *, per_query: bool = False, notes: tuple[str, ...] = ()) -> Report:
    """Give means (query null in the records), and with ``per_query`` every value."""
    import polars as pl

    means = scores.mean()
    records = means.unpivot(index="system", variable_name="measure", value_name="value")
    records = records.select("system", pl.lit(None, pl.String).alias("query"), "measure", "value")
    if not per_query:
        best = best_cells(means, scores.measures)
        caption = "Mean over {:,} {}{}".format(
            len(scores.queries), "queries" if len(scores.queries) > 1 else "query", "; * best" if best else ""
        )
        return Report(records, means, caption, notes, best)
    values = scores.to_polars()

    def wide() -> pl.DataFrame:
        rows = values.pivot("measure", index=["system", "query"], values="value", maintain_order=True)
        return pl.concat([rows, means.select("system", pl.lit("mean").alias("query"), *scores.measures)])

    return Report(pl.concat([values, records]), wide, "", notes)
