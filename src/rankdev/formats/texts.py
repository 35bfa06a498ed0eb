"""What ids stand for: the texts of queries or items, for people to read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rankdev.errors import FileFormatError
from rankdev.formats.streams import PathLike, Source
from rankdev.formats.tables import table_batches

KEYS = {
    "query": ("query", "qid", "query_id", "_id", "id"),
    "item": ("item", "docno", "doc_id", "docid", "pid", "_id", "id"),
}


def read_texts(path: PathLike, key: str, wanted: Collection[str]) -> dict[str, str]:
    """Read the texts of the ``wanted`` queries or items (``key``).

    A table (CSV, TSV, JSONL, Parquet) with a column for the id and one called text, before which a title is put where
    there is one; or, as collections are handed round in this field, a .tsv without a header, id and text.
    """
    found: dict[str, str] = {}
    with Source(path) as source:
        pairs = _tabled(source, key) if source.kind not in ("tsv", "json", "trec") else _lined(source, key)
        for name, text in pairs:
            if name in wanted and found.setdefault(name, text) != text:
                raise FileFormatError(source.name, f"{key} {name!r} has two texts; keep one")
    return found


def _tabled(source: Source, key: str) -> Iterator[tuple[str, str]]:
    for table in table_batches(source, source.kind, ("title", "text", "query", *KEYS["query"], *KEYS["item"])):
        name = next((name for name in KEYS[key] if name in table.frame.columns), None)
        if name is None or "text" not in table.frame.columns:
            raise FileFormatError(
                source.name, f"expected the columns {key} and text; got {', '.join(table.frame.columns)}"
            )
        texts = table.frame["text"].cast(str)
        if "title" in table.frame.columns:
            texts = (table.frame["title"].cast(str).fill_null("") + " " + texts.fill_null("")).str.strip_chars()
        yield from zip(table.frame[name].cast(str), texts.fill_null(""), strict=True)


def _lined(source: Source, key: str) -> Iterator[tuple[str, str]]:
    id_at, text_at, line = 0, None, 0
    for batch in source.batches():
        for content in batch.decode("utf-8", "replace").split("\n"):
            line += 1
            fields = content.rstrip("\r").split("\t")
            if line == 1 and "text" in fields and set(fields) & set(KEYS[key]):
                id_at, text_at = next(fields.index(name) for name in KEYS[key] if name in fields), fields.index("text")
            elif len(fields) > max(id_at, text_at or 1):
                yield fields[id_at], " ".join(fields[1:]) if text_at is None else fields[text_at]
            elif content.strip():
                raise FileFormatError(source.name, "expected an id, a tab and a text", line)
