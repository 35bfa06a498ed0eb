"""Pools: the first items of several runs, to be judged."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from rankdev._common.checks import check_whole
from rankdev.data.files import load_runs
from rankdev.data.formats import read_table
from rankdev.data.ids import as_id
from rankdev.data.options import Order, Ties
from rankdev.data.run import RunLike
from rankdev.data.tables import as_polars, is_table
from rankdev.data.text import Source
from rankdev.data.texts import read_texts
from rankdev.errors import DataError, UsageError, warn
from rankdev.judging.items import OPTIONAL


def pool(
    runs: Mapping[str, RunLike],
    *,
    depth: int = 10,
    texts: Any = None,
    order: Order | None = None,
    ties: Ties | None = None,
    **read: Any,
) -> pl.DataFrame:
    """Pool the top items of each query from several runs for judging.

    Parameters
    ----------
    runs : dict of str to Run, path, table or dict
        Each system's ranking, as :func:`rankdev.evaluate` takes it.
    depth : int, default 10
        How many items of each run are taken.
    texts : path, table or dict of str to str, optional
        What assessors see: a table with the column item and one or more of title, text, url, image, grade (with a
        column query, of that query's items only, and perhaps query_text); a collection with ids and texts, as a
        .tsv without a header; or ``{item: text}``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : {"trec_eval", "descending", "ascending", "given"}, optional
        How equal scores are ordered. Default: as in trec_eval 9; a Run keeps its own.
    **read : Any
        How runs are read, as in :func:`rankdev.evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    polars.DataFrame
        One row per item: query, item, and what ``texts`` has of it. Queries are in the order of the runs; items by
        their best position, then by name. ``rankdev judge`` opens it once it is written, and ``collect`` takes it.

    Examples
    --------
    >>> pool({"mine": {"q": ["d1", "d2", "d3"]}, "other": {"q": ["d4", "d1"]}}, depth=2).rows()
    [('q', 'd1'), ('q', 'd4'), ('q', 'd2')]
    """
    depth = check_whole("depth", depth, 1)
    best: dict[tuple[str, str], int] = {}
    for run in load_runs(runs, order=order, ties=ties, depth=depth, **read).values():
        for query in run:
            for place, item in enumerate(run[query][:depth]):
                best[query, item] = min(place, best.get((query, item), place))
    if not best:
        raise DataError("none-given", what="items to judge")
    queries = {query: number for number, query in enumerate(dict.fromkeys(query for query, _ in best))}
    chosen = sorted(best, key=lambda entry: (queries[entry[0]], best[entry], entry[1]))
    frame = pl.DataFrame(chosen, schema={"query": pl.String, "item": pl.String}, orient="row")
    return frame if texts is None else _with_texts(frame, *_texts(texts, set(frame["item"])))


def _texts(texts: Any, items: Collection[str]) -> tuple[str, pl.DataFrame]:
    """Return what the texts are called, and a row per item (or per query and item)."""
    return str(texts) if isinstance(texts, str | os.PathLike) else "texts", table_of_texts(texts, items)


class _Everything(frozenset[str]):
    def __contains__(self, _: object) -> bool:
        return True


def table_of_texts(texts: Any, items: Collection[str] = _Everything()) -> pl.DataFrame:
    """Return a row per item (or per query and item); of a collection, only those of ``items``."""
    if isinstance(texts, str | os.PathLike):
        return _read(texts, items)
    if isinstance(texts, Mapping):
        return _as_table({as_id(item): str(text) for item, text in texts.items()})
    if is_table(texts):
        return as_polars(texts)
    raise UsageError("bad-value", name="texts", value=texts, expected="a file, a table or {item: text}")


def _read(path: str | os.PathLike[str], items: Collection[str]) -> pl.DataFrame:
    """Read a table with what is shown of each item; or texts as collections have them."""
    with Source(path) as source:
        if source.kind not in ("trec", "json", "tsv"):
            frame = read_table(source, source.kind).frame
            if "item" in frame.columns:
                return frame
    return _as_table(read_texts(path, "item", items))


def _as_table(texts: Mapping[str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(texts.items()), schema={"item": pl.String, "text": pl.String}, orient="row")


def _with_texts(frame: pl.DataFrame, name: str, texts: pl.DataFrame) -> pl.DataFrame:
    columns = [column for column in OPTIONAL if column in texts.columns]
    if "item" not in texts.columns or not columns:
        raise DataError("no-texts", path=name, columns=OPTIONAL)
    keys = [key for key in ("query", "item") if key in texts.columns]
    texts = texts.select(*(pl.col(key).cast(pl.String) for key in keys), *columns)
    twice = texts.filter(texts.select(keys).is_duplicated())
    if len(twice):
        raise DataError("appears-twice", path=name, what="item", value=twice["item"][0])
    joined = frame.join(texts, on=keys, how="left", maintain_order="left")
    bare = joined.filter(pl.all_horizontal(pl.col(columns).is_null()))
    if len(bare) == len(frame):
        raise DataError("none-known", path=name, what="items of the runs")
    if len(bare):
        query, item = bare.select("query", "item").row(0)
        warn("lacks-texts", path=name, count=len(bare), items=len(frame), query=query, item=item)
    return joined
