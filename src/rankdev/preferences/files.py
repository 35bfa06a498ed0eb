"""Judgments of pairs, read from files and databases, and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankdev._common.checks import check_kind
from rankdev.data.database import as_judgments, is_database, read_answers
from rankdev.data.formats import encode_table
from rankdev.data.sources import Source
from rankdev.data.tables import plain_name
from rankdev.data.trec import fields_of
from rankdev.data.write import PathLike, writing
from rankdev.errors import DataError, Note, UsageError
from rankdev.preferences import Preferences
from rankdev.preferences.outcomes import NAMES, SAYS, SIDES, WON_LOST

_TOLD = {name for names in (*NAMES.values(), *SIDES, *WON_LOST, SAYS) for name in names}


def read_preferences(
    path: PathLike,
    *,
    items: Mapping[Any, Iterable[Any]] | None = None,
    columns: Mapping[str, str | None] | None = None,
    values: str | Mapping[str, str | float] | None = None,
) -> Preferences:
    """Read pairwise judgments from CSV, TSV, JSON, JSONL or Parquet, or from lines of words.

    Files may be compressed with gzip or zstd. In a file that is not a table, four words per line are
    ``topic a b winner`` and three ``query preferred other``. The database that ``rankdev judge`` writes is read too,
    even while it is in use.

    Parameters
    ----------
    path : str or path
        Name of the file; ``-`` is standard input.
    items : dict of str to iterable of str, optional
        Items that may be compared, by query. Default: those that were.
    columns : dict of str to str, optional
        What the columns mean where that is not obvious; see :meth:`Preferences.from_table`.
    values : str or dict, optional
        What the outcomes mean where that is not obvious; see :meth:`Preferences.from_table`.

    Returns
    -------
    Preferences
        The judgments.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "judgments.csv"
    ...     _ = path.write_text("query,winner,loser\\nq1,d1,d2\\nq1,d1,d3\\n")
    ...     len(read_preferences(path))
    2
    """
    if is_database(path):
        if columns is not None or values is not None:
            raise UsageError("describes-itself", path=path)
        return _from_database(path, items)
    with Source(path) as source:
        if source.kind == "trec":
            source.kind = _kind_of_header(source.content)
        if source.kind == "json" and not source.content.lstrip().startswith(b"["):
            source.kind = "jsonl"  # records one after the other
        if source.kind == "trec":
            frame, values = _words(source), "items" if values is None else values
        else:
            frame = source.frame("query", "winner", "loser")
        return Preferences.from_table(frame, items=items, columns=columns, values=values)


def write_preferences(preferences: Preferences, path: PathLike) -> None:
    """Write judgments in the format of the extension: .csv, .tsv, .jsonl, .json, .parquet.

    Parameters
    ----------
    preferences : Preferences
        What to write.
    path : str or path
        Name of the file. One that ends in .gz or .zst is compressed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> preferences = Preferences.from_rows([("q1", "d1", "d2")])
    >>> with TemporaryDirectory() as folder:
    ...     write_preferences(preferences, f"{folder}/judgments.jsonl")
    ...     len(read_preferences(f"{folder}/judgments.jsonl"))
    1
    """
    check_kind("preferences", preferences, Preferences, "make them with Preferences.from_rows or read_preferences")
    content = encode_table(preferences.to_polars(), path)
    with writing(path) as stream:
        stream.write(content)


def _from_database(path: PathLike, items: Mapping[Any, Iterable[Any]] | None) -> Preferences:
    answers = read_answers(path)
    judged = as_judgments(answers)
    if judged.is_empty():
        raise DataError("no-judged-pairs", path=path)
    why = {
        "skipped-left-out": (pl.col("outcome") == "skip") & (pl.col("kind") == ""),
        "gold-left-out": pl.col("kind") == "gold",
    }
    counts = {kind: len(answers.filter(which)) for kind, which in why.items()}
    remarks = [Note(kind, count=count) for kind, count in counts.items() if count]
    found = Preferences.from_table(judged, items=items)
    return replace(found, remarks=(*found.remarks, *remarks))


def _kind_of_header(content: bytes) -> str:
    """Distinguish a table, by two names in its header that judgments have, from lines of words."""
    header = content.lstrip().partition(b"\n")[0].decode(errors="replace")
    for kind, mark in {"csv": ",", "tsv": "\t"}.items():
        if len(_TOLD.intersection(plain_name(name) for name in header.split(mark))) >= 2:
            return kind
    return "trec"


def _words(source: Source) -> pl.DataFrame:
    try:
        text = source.content.decode()
    except UnicodeDecodeError:
        raise DataError("not-utf8") from None
    rows = [(number, words) for number, line in enumerate(text.split("\n"), 1) if (words := fields_of(line))]
    for number, words in rows:
        if len(words) not in {3, 4} or len(words) != len(rows[0][1]):
            raise DataError("word-count", count=len(words), line=number)
    source.line_of = [number for number, _ in rows].__getitem__
    names = ["query", "winner", "loser"] if len(rows[0][1]) == 3 else ["query", "a", "b", "winner"]
    return pl.DataFrame([words for _, words in rows], schema=names, orient="row")
