"""Texts of queries and items: from files, or from ir_datasets where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from typing import Any, TypeVar

from rankdev._common.lazy import pl
from rankdev.data.text import Source
from rankdev.data.write import PathLike
from rankdev.errors import DataError, UsageError

Found = TypeVar("Found")
LONGEST = 120  # characters of another library's message
KEYS = {
    "query": ("query", "qid", "query_id", "_id", "id"),
    "item": ("item", "docno", "doc_id", "docid", "pid", "_id", "id"),
}


def read_texts(path: PathLike, key: str, wanted: Collection[str] | None) -> dict[str, str]:
    """Read the texts of the ``wanted`` queries or items (``key``), or of all.

    A table (CSV, TSV, JSONL, Parquet) with a column for the id and one called text, after its title where
    there is one; or, as collections of this field often come, a .tsv of id and text without a header.
    """
    found: dict[str, str] = {}
    with Source(path) as source:
        pairs = _tabled(source, key) if source.kind not in ("tsv", "trec") else _lined(source, key)
        for name, text in pairs:
            if (wanted is None or name in wanted) and found.setdefault(name, text) != text:
                raise DataError("two-texts", key=key, name=name)
    return found


def _tabled(source: Source, key: str) -> Iterator[tuple[str, str]]:
    frame = source.frame(key, "text")
    name = next((name for name in KEYS[key] if name in frame.columns), None)
    if name is None or "text" not in frame.columns:
        raise DataError("no-column", name=key if name is None else "text", known=frame.columns)
    texts = frame["text"].cast(str)
    if "title" in frame.columns:
        parts = [column.cast(str).str.strip_chars().replace("", None) for column in (frame["title"], texts)]
        texts = frame.select(pl.concat_str(parts, separator=" – ", ignore_nulls=True)).to_series()
    yield from zip(frame[name].cast(str), texts.fill_null(""), strict=True)


def _lined(source: Source, key: str) -> Iterator[tuple[str, str]]:
    id_at, text_at = 0, None
    for line, content in enumerate(source.content.decode("utf-8", "replace").split("\n"), 1):
        fields = content.rstrip("\r").split("\t")
        if line == 1 and "text" in fields and set(fields) & set(KEYS[key]):
            id_at, text_at = next(fields.index(name) for name in KEYS[key] if name in fields), fields.index("text")
        elif len(fields) > max(id_at, text_at or 1):
            yield fields[id_at], " ".join(fields[1:]) if text_at is None else fields[text_at]
        elif content.strip():
            raise DataError("column-count", count=len(fields), expected=2, names=(key, "text"), line=line)


class DatasetTexts:
    """The texts of a data set by its name there, such as ``msmarco-passage-v2/trec-dl-2021/judged``."""

    def __init__(self, name: str) -> None:
        try:
            import ir_datasets
        except ImportError:
            raise UsageError("no-ir-datasets") from None
        self.name = name
        try:
            self._dataset: Any = ir_datasets.load(name)
        except KeyError:
            raise UsageError("unknown-dataset", name=name) from None

    def of_queries(self, wanted: Set[str]) -> dict[str, str]:
        """Return the text of each query."""
        if not self._dataset.has_queries():
            return {}
        return self._read(
            "query_texts",
            lambda: {
                row.query_id: row.default_text() for row in self._dataset.queries_iter() if row.query_id in wanted
            },
        )

    def of_items(self, wanted: Set[str]) -> dict[str, str]:
        """Return the text of each item."""
        if not self._dataset.has_docs():
            return {}
        return self._read(
            "item_texts",
            lambda: {item: doc.default_text() for item, doc in self._dataset.docs_store().get_many(wanted).items()},
        )

    def _read(self, instead: str, read: Callable[[], Found]) -> Found:
        try:
            return read()
        except Exception as error:  # whatever a download can raise
            why = " ".join(f"{type(error).__name__}: {error}".split())
            why = why if len(why) <= LONGEST else f"{why[:LONGEST]}…"
            raise DataError("unreadable-texts", name=self.name, why=why, instead=instead) from None
