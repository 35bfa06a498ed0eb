"""Values by system, query and measure: found by name, from a table and back, and summarized over queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import is_list
from rankdev._common.columns import column, text_column
from rankdev._common.ids import places_in
from rankdev._common.lazy import pl
from rankdev.errors import DataError, UsageError, nearest
from rankdev.measures.base import MeasureInfo

NAMED = 8  # names that a message lists
LEAST = 1e-5  # what a query counts at least in a geometric mean, as in trec_eval
Names = tuple[str, ...]


def place_of(name: str, known: Names, what: str) -> int:
    """Find a system or a measure by its name."""
    if not isinstance(name, str) or name not in known:
        some = known if len(known) <= NAMED else (*known[:NAMED], "…")
        raise UsageError("not-a-choice", name=what, value=name, near=nearest(name, known), known=some)
    return known.index(name)


def places_of(known: Names, queries: Any) -> Ints:
    """Find queries by name, or as NumPy takes places."""
    named = list(queries) if is_list(queries) else []
    if any(isinstance(query, str) for query in named):
        place = {query: i for i, query in enumerate(known)}
        if unknown := [query for query in named if not isinstance(query, str) or query not in place]:
            place_of(unknown[0], known, "query")
        return np.array([place[query] for query in named])
    try:
        return np.atleast_1d(np.arange(len(known))[queries])
    except IndexError:
        raise UsageError("not-queries", count=len(known), value=queries) from None


def values_of(frame: pl.DataFrame) -> tuple[Names, Names, Names, Floats]:
    """Return systems, queries, measures, and ``values[system, query, measure]``."""
    if frame.is_empty():
        raise DataError("no-rows", what="table of scores")
    if "system" not in frame.columns and "name" in frame.columns:
        frame = frame.rename({"name": "system"})
    frame = _without_means(frame)
    axes = [text_column(frame, name, "scores") for name in ("system", "query", "measure")]
    given = column(frame, "value", "scores")
    if given.dtype == pl.String:  # CSV has nothing where a value is missing
        given = given.replace("", None)
    value = given.cast(pl.Float64, strict=False)
    wrong = value.is_infinite().fill_null(False) | (value.is_null() & given.is_not_null())
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError("not-finite", row=row, name="value", value=given[row])
    names = [axis.unique(maintain_order=True) for axis in axes]
    codes = [places_in(known, axis) for axis, known in zip(axes, names, strict=True)]
    shape = tuple(len(known) for known in names)
    cells = np.ravel_multi_index(codes, shape)
    if len(np.unique(cells)) < len(cells):
        order = np.sort(cells)
        places = np.unravel_index(order[1:][order[1:] == order[:-1]][0], shape)
        system, query, measure = (known[int(place)] for known, place in zip(names, places, strict=True))
        raise DataError("two-scores", system=system, query=query, measure=measure)
    values = np.full(shape, np.nan)
    values.ravel()[cells] = value.fill_null(np.nan).to_numpy()
    systems, queries, measures = (tuple(known.to_list()) for known in names)
    return systems, queries, measures, values


def _without_means(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the rows without a query, which are means."""
    if "query" not in frame.columns:
        return frame
    of_queries = frame.filter(pl.col("query").is_not_null() & (pl.col("query").cast(pl.String) != ""))
    if of_queries.is_empty():
        raise DataError("means-only")
    return of_queries


def table_of(systems: Names, queries: Names, measures: Names, values: Floats) -> pl.DataFrame:
    """Return one row per value."""
    _, many, kinds = values.shape
    row = pl.int_range(values.size, dtype=pl.UInt32 if values.size < 2**32 else pl.UInt64, eager=True)
    names = [pl.Series(list(names), dtype=pl.String) for names in (systems, queries, measures)]
    return pl.DataFrame(
        {
            "system": names[0].gather(row // (many * kinds)),
            "query": names[1].gather(row % many),
            "measure": names[2].gather(row // many % kinds),
            "value": pl.Series(values.transpose(0, 2, 1).ravel()).fill_nan(None),
        }
    )


def metric_names(systems: Sequence[str], measures: Sequence[str]) -> list[str]:
    """Return ``system/measure`` for each mean, as MLflow allows it; no two may be the same."""
    names = [f"{system}/{measure}" for system in systems for measure in measures]
    parts = [re.sub(r"[^\w./: -]+", "_", name).split("/") for name in names]
    plain = ["/".join(part for part in name if part not in ("", ".", "..")) for name in parts]
    if len(set(plain)) < len(plain):
        twice = next(name for i, name in enumerate(plain) if name in plain[:i])
        raise UsageError("same-metric", name=twice)
    return plain


def aggregate(kind: MeasureInfo, values: Floats) -> Floats:
    """Summarize ``values[system, query]`` of a measure that is not averaged over the queries where it is available."""
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    if kind.aggregate == "sum":
        found = values.sum(axis=1, where=known)
    else:
        found = np.exp(np.log(np.maximum(values, LEAST)).sum(axis=1, where=known) / np.maximum(counts, 1))
    return np.where(counts > 0, found, np.nan)
