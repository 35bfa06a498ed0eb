"""Runs in CSV, TSV and JSONL that compiled code can read: query, item and score, written alike on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankdev.formats.streams import Source
from rankdev.formats.table_formats import TABLE_FORMATS
from rankdev.formats.table_formats.delimited import Delimited
from rankdev.native.library import Table
from rankdev.native.pieces import PADDING, OddError
from rankdev.tabular import ALIASES

_HEADER = re.compile(rb"([^\r\n]*)(\r?\n)")
_BLANK = rb"[ \t]*"
_KEY = _BLANK.join([rb"", rb'"([\w-]+)"', rb":", rb'"?'])
_VALUE = rb'(?:(?<=")[^"\\\x00-\x1f]+(?=")|(?<!")[-+.\w]+)'  # in quotes, or without
_RECORD = re.compile(
    rb"(%b\{%b)%b" % (_BLANK, _KEY, _VALUE)
    + rb'("?%b,%b)%b' % (_BLANK, _KEY, _VALUE) * 2
    + rb'("?%b\}[ \t\r]*\n)' % _BLANK
)


def plain_table(source: Source) -> Table | None:
    """Tell from the first line how all lines are written, leaving out a header; None where they are TREC's."""
    if source.kind == "trec":
        return None
    line = source.first_line()
    if source.kind == "jsonl":
        return _records(line)
    known = TABLE_FORMATS.get(source.kind)
    if isinstance(known, Delimited):
        source.skip(len(line))
        return _delimited(line, known.separator.encode())
    raise OddError("another kind of file")


def _delimited(header: bytes, separator: bytes) -> Table:
    found = _HEADER.fullmatch(header)
    if found is None or len(separator) > 1:
        raise OddError("no plain header")
    return _table(found[1].split(separator), [b"", separator, separator, found[2]], separator)


def _records(line: bytes) -> Table:
    found = _RECORD.fullmatch(line)
    if found is None:
        raise OddError("no flat record of three values")
    first, *keys_and_texts, last = found.groups()
    return _table(keys_and_texts[::2], [first, *keys_and_texts[1::2], last], b"\\", in_json=True)


def _table(columns: Sequence[bytes], around: list[bytes], separator: bytes, *, in_json: bool = False) -> Table:
    names = [ALIASES.get(name, name) for name in (column.decode(errors="replace") for column in columns)]
    if sorted(names) != ["item", "query", "score"] or max(map(len, around)) > PADDING:
        raise OddError("other columns")
    query, item, score = (names.index(name) for name in ("query", "item", "score"))
    bare = [i for i in range(3) if in_json and not around[i].endswith(b'"')]
    if in_json and score not in bare:
        raise OddError("scores in quotes")
    whole = sum(1 << i for i in bare if i != score)
    return Table((*around,), (*map(len, around),), query, item, score, ord(separator), whole)
