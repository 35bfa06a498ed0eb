"""Items to be judged: pooled from runs, read from a file, and what assessors are shown of them."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from rankdev._common.checks import check_whole
from rankdev.data.files import load_runs
from rankdev.data.ids import as_id
from rankdev.data.options import Order, Ties
from rankdev.data.run import RunLike
from rankdev.data.sources import Source
from rankdev.data.tables import as_frame, check_columns, is_table
from rankdev.data.texts import read_texts
from rankdev.data.write import PathLike
from rankdev.errors import DataError, UsageError, errors_at, warn
from rankdev.preferences import Preferences

SHOWN = ("title", "text", "url")
ABOUT = ("text", "description", "narrative")  # of a query: in a table of items, after query_
OPTIONAL = (*SHOWN, "image", "grade", *(f"query_{name}" for name in ABOUT))
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


@dataclass(frozen=True, eq=False)
class Pool:
    """Items of every query by name."""

    items: dict[str, list[str]]
    grades: dict[str, dict[str, float]] | None = None

    @classmethod
    def of(cls, value: Any) -> Pool:
        """Read ``{query: [item, …]}``, grades ``{query: {item: grade}}`` (or references made of them), or a table."""
        if is_table(value):
            value = _listed(as_frame(value))
        if not isinstance(value, Mapping) or not value:
            expected = "{query: [item, …]} or {query: {item: grade}}"
            raise UsageError("bad-value", name="items", value=value, expected=expected)
        items: dict[str, list[str]] = {}
        grades: dict[str, dict[str, float]] = {}
        for query, listing in value.items():
            entries = getattr(listing, "grades", None) or listing
            if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
                raise UsageError("bad-value", query=query, name="items", value=entries, expected="a list")
            name = as_id(query)
            items[name] = [as_id(item) for item in entries]
            if len(set(items[name])) < len(items[name]):
                twice = next(item for item in items[name] if items[name].count(item) > 1)
                raise DataError("appears-twice", query=name, what="item", value=twice)
            if isinstance(entries, Mapping):
                grades[name] = {as_id(item): grade for item, grade in entries.items()}
        if grades and len(grades) < len(items):
            bare = next(query for query in items if query not in grades)
            raise DataError("ungraded-query", query=bare)
        if all(len(listed) < 2 for listed in items.values()):
            raise DataError("no-pairs")
        return cls(items, grades or None)

    def start(self) -> Preferences:
        """Return the judgments before the first question: none, or those that grades imply."""
        nothing = Preferences.from_rows(items=self.items)
        return nothing if self.grades is None else nothing.with_grades(self.grades)

    def knows(self, query: str, *items: str) -> bool:
        """Return whether items are in the pool."""
        return self._known.get(query, frozenset()).issuperset(items)

    @cached_property
    def _known(self) -> dict[str, frozenset[str]]:
        return {query: frozenset(items) for query, items in self.items.items()}

    def check(self, query: str, *items: str) -> None:
        """Reject items that are not in the pool."""
        for item in items:
            if not self.knows(query, item):
                raise DataError("unknown-item", query=query, item=item)


def _listed(frame: pl.DataFrame) -> dict[Any, Any]:
    """Return the items of each query of a table, with grades where it has them."""
    check_columns(frame, ("query", "item"), "items", frame.columns)
    found: dict[Any, Any] = {}
    for query, part in frame.group_by("query", maintain_order=True):
        items = part["item"].to_list()
        graded = "grade" in frame.columns and len(set(items)) == len(items)
        found[query[0]] = dict(zip(items, part["grade"].to_list(), strict=True)) if graded else items
    return found


def read_table_with(names: Collection[str], path: PathLike) -> tuple[pl.DataFrame, Source]:
    """Read a table that has these columns; its source knows the line of a row."""
    with Source(path) as source:
        frame = source.named(*names)
        check_columns(frame, names, "a table", frame.columns)
        return frame, source


@dataclass(frozen=True, eq=False)
class Items:
    """Items as assessors see them; ``images`` are files by query and item; URLs of images are in ``content``."""

    pool: Pool
    content: Mapping[tuple[str, str], dict[str, str]]
    images: Mapping[tuple[str, str], Path]
    about: Mapping[str, Mapping[str, str]]  # text, description and narrative of queries

    def query(self, query: str) -> dict[str, str]:
        """Return what the page shows of a query."""
        return {"id": query, "text": query, **self.about.get(query, {})}

    @property
    def query_text(self) -> dict[str, str]:
        """Texts of queries that have one."""
        return {query: entry["text"] for query, entry in self.about.items() if "text" in entry}

    def shown(self, query: str, item: str) -> dict[str, str]:
        """Return what the page shows of an item; an image file as its content, so that it needs no address."""
        entry = {"item": item, **self.content[query, item]}
        path = self.images.get((query, item))
        if path is not None:
            with suppress(OSError):  # it was deleted
                content = b64encode(path.read_bytes()).decode()
                entry["image"] = f"data:{IMAGE_TYPES[path.suffix.lower()]};base64,{content}"
        return entry

    def texts(self) -> pl.DataFrame | None:
        """Return what is shown as text, one row per query and item; None where there are only ids."""
        rows = [(*key, *(entry.get(name) for name in SHOWN)) for key, entry in self.content.items()]
        if not any(any(row[2:]) for row in rows):
            return None
        return pl.DataFrame(rows, schema=dict.fromkeys(("query", "item", *SHOWN), pl.String), orient="row")


def read_items(path: PathLike, query_texts: PathLike | None = None) -> Items:
    """Read JSONL, CSV, TSV or Parquet with the columns query and item, and optional ones to show.

    ``query_texts`` is a table of queries, whose texts replace those of the items' table.
    """
    frame, source = read_table_with(("query", "item"), path)
    frame = frame.select(name for name in ("query", "item", *OPTIONAL) if name in frame.columns)
    content: dict[tuple[str, str], dict[str, str]] = {}
    images: dict[tuple[str, str], Path] = {}
    grades: dict[str, dict[str, float]] = {}
    about: dict[str, dict[str, str]] = {}
    for row, values in enumerate(frame.iter_rows(named=True)):
        with source.located(), errors_at(row=row):
            said = _said(values)
            query, item = _needed(said, "query"), _needed(said, "item")
            if (query, item) in content:
                raise DataError("appears-twice", query=query, what="item", value=item)
            content[query, item], image = _shown(said, Path(str(path)).absolute().parent)
            if image is not None:
                images[query, item] = image
            grades.setdefault(query, {})[item] = _grade(values.get("grade", 0))
            for name in ABOUT:
                text = said.get(f"query_{name}")
                if text and about.setdefault(query, {}).setdefault(name, text) != text:
                    raise DataError("two-texts", key="query", name=query)
    graded = "grade" in frame.columns
    items: dict[str, Any] = {query: entries if graded else list(entries) for query, entries in grades.items()}
    if query_texts is not None:
        about |= {query: about.get(query, {}) | texts for query, texts in read_queries(query_texts, items).items()}
    return Items(Pool.of(items), content, images, about)


def read_queries(path: PathLike, wanted: Collection[str]) -> dict[str, dict[str, str]]:
    """Read what queries are about: a table with query and some of :data:`ABOUT`, or a .tsv of ids and texts."""
    with Source(path) as source:
        frame = pl.DataFrame() if source.kind in ("trec", "tsv") else source.named("query", *ABOUT)
    columns = [name for name in ABOUT if name in frame.columns]
    if not columns or "query" not in frame.columns:
        found = {query: {"text": text} for query, text in read_texts(path, "query", wanted).items() if text}
    else:
        found = {}
        for row, values in enumerate(frame.select("query", *columns).iter_rows(named=True)):
            with source.located(), errors_at(row=row):
                said = _said(values)
                query = _needed(said, "query")
                if query in found:
                    raise DataError("appears-twice", what="query", value=query)
                found[query] = {name: said[name] for name in columns if name in said}
    mine = {query: texts for query, texts in found.items() if query in wanted}
    if not mine:
        raise DataError("none-known", path=path, what="queries of the items")
    return mine


def _said(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what a row says as text, without what is empty."""
    return {name: str(value) for name, value in values.items() if value is not None and str(value)}


def _needed(said: Mapping[str, str], name: str) -> str:
    if name not in said:
        raise DataError("no-value", name=name)
    return said[name]


def _shown(said: Mapping[str, str], folder: Path) -> tuple[dict[str, str], Path | None]:
    """Return what is shown of an item, and the file of its image."""
    entry, image = {name: said[name] for name in SHOWN if name in said}, said.get("image", "")
    if "url" in entry and not _on_the_web(entry["url"]):
        raise DataError("not-an-address", name="url", value=entry["url"], example="https://example.org/a")
    if not image or _on_the_web(image):
        return entry | ({"image": image} if image else {}), None
    path = folder / image
    if path.suffix.lower() not in IMAGE_TYPES or not path.is_file():
        expected = f"an address, or a file in the same folder ({', '.join(IMAGE_TYPES)})"
        raise DataError("bad-value", name="image", value=image, expected=expected)
    return entry, path


def _grade(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        expected = "a number for every item, or no such column"
        raise DataError("bad-value", name="grade", value=value, expected=expected) from None


def _on_the_web(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


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
    if texts is None:
        return frame
    return _with_texts(frame, *texts_by_item(texts, OPTIONAL, set(frame["item"])))


def texts_by_item(
    texts: Any, shown: Collection[str], items: Collection[str] | None = None
) -> tuple[str, list[str], pl.DataFrame]:
    """Return what texts are called in errors, the columns that name an item, and a table of these and what is shown.

    Of a collection there are only those of ``items``, where they are given.
    """
    name = "texts"
    if isinstance(texts, str | os.PathLike):
        name, table = str(texts), _read(texts, items)
    elif isinstance(texts, Mapping):
        table = _as_table({as_id(item): str(text) for item, text in texts.items()})
    elif is_table(texts):
        table = as_frame(texts)
    else:
        raise UsageError("bad-value", name="texts", value=texts, expected="a file, a table or {item: text}")
    columns = [column for column in shown if column in table.columns]
    if "item" not in table.columns or not columns:
        raise DataError("no-texts", path=name, columns=shown)
    keys: list[str] = [key for key in ("query", "item") if key in table.columns]
    return name, keys, table.select(*(pl.col(key).cast(pl.String) for key in keys), *columns)


def _read(path: str | os.PathLike[str], items: Collection[str] | None) -> pl.DataFrame:
    """Read a table with what is shown of each item; or texts as collections have them."""
    with Source(path) as source:
        if source.kind not in ("trec", "tsv"):
            frame = source.named("item", "text")
            if "item" in frame.columns:
                return frame
    return _as_table(read_texts(path, "item", items))


def _as_table(texts: Mapping[str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(texts.items()), schema={"item": pl.String, "text": pl.String}, orient="row")


def _with_texts(frame: pl.DataFrame, name: str, keys: list[str], texts: pl.DataFrame) -> pl.DataFrame:
    twice = texts.filter(texts.select(keys).is_duplicated())
    if len(twice):
        raise DataError("appears-twice", path=name, what="item", value=twice["item"][0])
    joined = frame.join(texts, on=keys, how="left", maintain_order="left")
    bare = joined.filter(pl.all_horizontal(pl.exclude("query", "item").is_null()))
    if len(bare) == len(frame):
        raise DataError("none-known", path=name, what="items of the runs")
    if len(bare):
        query, item = bare.select("query", "item").row(0)
        warn("lacks-texts", path=name, count=len(bare), items=len(frame), query=query, item=item)
    return joined
