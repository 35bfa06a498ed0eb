"""Input for the compiled reader: pieces of files with all lines of some queries, and qrels."""

from __future__ import annotations

import ctypes
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import offsets_of
from rankdev._common.checks import check_path
from rankdev._common.names import ALIASES, is_beir
from rankdev._common.reading import reading
from rankdev._common.work import Progress, cores
from rankdev.core.columns import Items, Nonrelevant, column_of_lines
from rankdev.core.references import References
from rankdev.errors import RankdevError
from rankdev.io.formats import TABLE_FORMATS
from rankdev.io.formats.delimited import Delimited
from rankdev.io.streams import PathLike, Source
from rankdev.native.library import (
    PADDING,
    Columns,
    PackedNames,
    Piece,
    Table,
    UnsupportedInputError,
    check_gathered,
    library,
    read_graded,
)

_HEADER = re.compile(rb"([^\r\n]*)(\r?\n)")
_BLANK = rb"[ \t]*"
_KEY = _BLANK.join([rb"", rb'"([\w-]+)"', rb":", rb'"?'])
_VALUE = rb'(?:(?<=")[^"\\\x00-\x1f]+(?=")|(?<!")[-+.\w]+)'  # in quotes, or without
_RECORD = re.compile(
    rb"(%b\{%b)%b" % (_BLANK, _KEY, _VALUE)
    + rb'("?%b,%b)%b' % (_BLANK, _KEY, _VALUE) * 2
    + rb'("?%b\}[ \t\r]*\n)' % _BLANK
)


def line_format(source: Source) -> Table | None:
    """Infer from the first line how all lines are written, and skip a header; None where they are TREC's."""
    if source.kind == "trec":
        return None
    if reading().columns:
        raise UnsupportedInputError("columns that have other names")
    line = source.first_line()
    if source.kind == "jsonl":
        return _records(line)
    known = TABLE_FORMATS.get(source.kind)
    if isinstance(known, Delimited):
        source.skip(len(line))
        return _delimited(line, known.separator.encode())
    raise UnsupportedInputError("another kind of file")


def _delimited(header: bytes, separator: bytes) -> Table:
    found = _HEADER.fullmatch(header)
    if found is None or len(separator) > 1:
        raise UnsupportedInputError("no simple header")
    return _table(found[1].split(separator), [b"", separator, separator, found[2]], separator)


def _records(line: bytes) -> Table:
    found = _RECORD.fullmatch(line)
    if found is None:
        raise UnsupportedInputError("no flat record of three values")
    first, *keys_and_texts, last = found.groups()
    return _table(keys_and_texts[::2], [first, *keys_and_texts[1::2], last], b"\\", in_json=True)


def _table(columns: Sequence[bytes], around: list[bytes], separator: bytes, *, in_json: bool = False) -> Table:
    written = [column.decode(errors="replace") for column in columns]
    names = [ALIASES.get(name, name) for name in written]
    if sorted(names) != ["item", "query", "score"] or is_beir(written) or max(map(len, around)) > PADDING:
        raise UnsupportedInputError("other columns")
    query, item, score = (names.index(name) for name in ("query", "item", "score"))
    bare = [i for i in range(3) if in_json and not around[i].endswith(b'"')]
    if in_json and score not in bare:
        raise UnsupportedInputError("scores in quotes")
    whole = sum(1 << i for i in bare if i != score)
    return Table((*around,), (*map(len, around),), query, item, score, ord(separator), whole)


Part = dict[str, npt.NDArray[Any]]
Work = Callable[[Piece, int, Table | None], Part]

PIECE_BYTES = 1 << 20  # worked on at once: small enough for the processor's cache
MOST_BYTES = 16 << 20  # of one query
CORES = cores()


def read_whole_queries(library: ctypes.CDLL, path: PathLike, work: Work, progress: Progress | None) -> Columns:
    """Read a file piece by piece; ``work`` makes columns of a piece's first bytes: all lines of some queries.

    They are lines of TREC, or of a table, whose format is then passed too.

    Raises UnsupportedInputError for whatever the general reader has to look at, errors included: it reports them.
    """
    if str(path) == "-" or not os.path.isfile(check_path(path)):  # a pipe cannot be read again
        raise UnsupportedInputError("not a file that can be read again")
    columns = Columns()
    try:
        with Source(path, progress) as source:
            table = line_format(source)
            small = source.known_size is not None and source.known_size < PIECE_BYTES
            for part in (_at_once if small else _side_by_side)(library, source, work, table):
                columns.add(part)
    except RankdevError as error:
        raise UnsupportedInputError(str(error)) from None
    return columns


def _at_once(library: ctypes.CDLL, source: Source, work: Work, table: Table | None) -> Iterator[Part]:
    """Read a small file without threads, which would cost more than they save."""
    pieces = [Piece((source.known_size or 0) + 1)]
    for piece, size in _filled(library, source, table, pieces):
        yield work(piece, size, table)
        pieces.append(piece)  # it takes another where the file has grown


def _side_by_side(library: ctypes.CDLL, source: Source, work: Work, table: Table | None) -> Iterator[Part]:
    pieces = [Piece(PIECE_BYTES) for _ in range(CORES + 2)]  # one is filled and one waits while all cores work
    waiting: deque[tuple[Piece, Future[Part]]] = deque()
    with ThreadPoolExecutor(CORES) as pool:
        for piece, size in _filled(library, source, table, pieces):
            waiting.append((piece, pool.submit(work, piece, size, table)))
            if len(waiting) > CORES:
                done, task = waiting.popleft()
                yield task.result()
                pieces.append(done)
        for _, task in waiting:
            yield task.result()


def _filled(
    library: ctypes.CDLL, source: Source, table: Table | None, pieces: list[Piece]
) -> Iterator[tuple[Piece, int]]:
    """Fill pieces with all lines of some queries; the last lines, whose query may continue, go to the next piece."""
    rest = b""
    while True:
        piece = pieces.pop()
        if 2 * len(rest) > len(piece.text):
            piece = Piece(4 * len(rest))
        piece.text[: len(rest)] = rest
        size = len(rest) + source.read_into(piece.text[len(rest) :])
        if size < len(piece.text):  # the end
            piece.text[size] = ord("\n")  # an empty line where the last one has its end
            yield piece, size + 1
            return
        whole = library.rankdev_last_query(table, piece.address, size)
        rest = bytes(piece.text[whole:size])
        if len(rest) > MOST_BYTES:
            raise UnsupportedInputError("a query is too long")
        if whole:
            yield piece, whole
        else:
            pieces.append(piece)


def read_qrels_natively(path: PathLike, progress: Progress | None) -> References | None:
    """Read references from qrels by compiled code; None where the general reader has to do it."""
    compiled = library()
    if compiled is None:
        return None
    try:
        columns = read_whole_queries(compiled, path, partial(read_graded, compiled), progress)
        check_gathered(columns.take("group_hash"))
    except UnsupportedInputError:
        return None
    return References(
        column_of_lines("query", columns.take("queries")),
        offsets_of(columns.take("good_count")),
        Items(PackedNames(columns.take("good_items"), offsets_of(columns.take("good_bytes")))),
        columns.take("good_ranks").astype(np.int64),
        columns.take("good_grades"),
        Nonrelevant(
            offsets_of(columns.take("nonrelevant_count")),
            Items(PackedNames(columns.take("nonrelevant_items"), offsets_of(columns.take("nonrelevant_bytes")))),
            columns.take("nonrelevant_grades"),
        ),
    )
