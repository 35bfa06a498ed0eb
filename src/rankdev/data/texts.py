"""Texts of queries and items."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rankdev._common.lazy import pl
from rankdev.data.sources import Source
from rankdev.data.tables import KNOWN_NAMES, plain_name
from rankdev.data.write import PathLike
from rankdev.errors import DataError

_QUESTIONS = ("querytext", "question", "query")


def read_texts(path: PathLike, key: str, wanted: Collection[str] | None) -> dict[str, str]:
    """Read the texts of the ``wanted`` queries or items (``key``), or of all.

    A table (CSV, TSV, JSONL, Parquet) with a column for the id and one called text, after its title where
    there is one; or, as collections of this field often come, a .tsv of id and text without a header. The text of a
    query may be called as it is in PyTerrier: qid and query.
    """
    found: dict[str, str] = {}
    with Source(path) as source:
        pairs = _of_table(source, key) if source.kind not in ("tsv", "trec") else _lined(source, key)
        for name, text in pairs:
            if (wanted is None or name in wanted) and found.setdefault(name, text) != text:
                raise DataError("two-texts", key=key, name=name)
    return found


def _columns(names: Sequence[str], key: str) -> tuple[str | None, str | None]:
    """Return the names of the columns that have ids and texts."""
    plain = {plain_name(name): name for name in names}
    first = ("qid", "queryid", *(() if "text" in plain else ("id",))) if key == "query" else ()
    known = (*first, *KNOWN_NAMES[key], "pid", "id")
    id_ = next((plain[name] for name in known if name in plain), None)
    texts = ("text", *(_QUESTIONS if key == "query" else ()))
    return id_, next((plain[name] for name in texts if name in plain and plain[name] != id_), None)


def _of_table(source: Source, key: str) -> Iterator[tuple[str, str]]:
    frame = source.frame(key, "text")
    name, text = _columns(frame.columns, key)
    if name is None or text is None:
        raise DataError("no-column", name=key if name is None else "text", known=frame.columns)
    texts = frame[text].cast(str)
    if "title" in frame.columns:
        parts = [column.cast(str).str.strip_chars().replace("", None) for column in (frame["title"], texts)]
        texts = frame.select(pl.concat_str(parts, separator=" – ", ignore_nulls=True)).to_series()
    yield from zip(frame[name].cast(str), texts.fill_null(""), strict=True)


def _lined(source: Source, key: str) -> Iterator[tuple[str, str]]:
    id_at, text_at = 0, None
    for line, content in enumerate(source.content.decode("utf-8", "replace").split("\n"), 1):
        fields = content.rstrip("\r").split("\t")
        names = _columns(fields, key) if line == 1 else (None, None)
        if names[0] is not None and names[1] is not None:
            id_at, text_at = (fields.index(str(name)) for name in names)
        elif len(fields) > max(id_at, text_at or 1):
            yield fields[id_at], " ".join(fields[1:]) if text_at is None else fields[text_at]
        elif content.strip():
            raise DataError("column-count", count=len(fields), expected=2, names=(key, "text"), line=line)
