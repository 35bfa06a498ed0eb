"""Files of pairwise judgments → preferences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rankdev.errors import DataError, FileFormatError
from rankdev.formats.streams import PathLike, Source
from rankdev.formats.tables import Table, read_table
from rankdev.preferences import Preferences

SHAPES = "'topic a b winner' or 'query preferred other'"


def read_preferences(path: PathLike, *, items: Mapping[str, Iterable[str]] | None = None) -> Preferences:
    """Read judgments from CSV, TSV, JSONL or Parquet, or from lines ``topic a b winner``; plain, gzip or zstd.

    In a file that is no table four words a line are ``topic a b winner`` and three are ``query preferred other``.
    ``-`` is standard input. ``items`` lists what may be compared, by query.
    """
    with Source(path) as source:
        kind = "jsonl" if source.kind == "json" else source.kind
        table = _word_lines(source) if kind == "trec" else read_table(source, kind)
    try:
        return Preferences.from_table(table.frame, items=items)
    except DataError as error:
        table.fail(error)


def _word_lines(source: Source) -> Table:
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        text = source.read().decode()
    except UnicodeDecodeError:
        raise FileFormatError(source.name, "the file is not UTF-8; save it as UTF-8") from None
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        if len(words) not in {3, 4} or (rows and len(words) != len(rows[0])):
            expected = f"{len(rows[0])} words like the lines before" if rows else SHAPES
            raise FileFormatError(source.name, f"expected {expected}; found {len(words)} words", number)
        rows.append(words)
        lines.append(number)
    names = ["query", "winner", "loser"] if len(rows[0]) == 3 else ["query", "a", "b", "winner"]
    columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    return Table(source.name, pl.DataFrame(columns), lambda row: lines[row])
