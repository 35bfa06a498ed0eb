"""TREC runs joined with the references while they are read, by compiled code, where they are plain."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import polars as pl

from rankdev.errors import RankdevError
from rankdev.evaluation.matching import Hits, MatchedRun, Matcher, row_widths
from rankdev.formats.opening import size_of
from rankdev.formats.streams import PathLike, Source
from rankdev.native.joining import Joined, Joiner, OddError, PackedNames, Piece
from rankdev.native.library import library
from rankdev.ordering import TREC_EVAL, Ordering
from rankdev.progress import Progress

PIECE_BYTES = 1 << 20  # joined at once: small enough for the processor's cache
MOST_BYTES = 16 << 20  # of one query
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class FileMatcher:
    """Joins TREC files with the references of a matcher, without making a Run of them.

    What comes out is what :meth:`Matcher.match` gives for the same file. Whatever is not plain is left to it, and so is
    every message: errors and warnings are those of the run that is read again.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._joiner = _joiner(matcher)

    def match(
        self, path: PathLike, ordering: Ordering, depth: int | None, progress: Progress | None = None
    ) -> MatchedRun | None:
        """Match a file's run; None where it has to be read otherwise."""
        readable_again = os.path.isfile(path) and str(path) != "-"
        if self._joiner is None or ordering != TREC_EVAL or not readable_again:
            return None
        try:
            with Source(path, progress) as source:
                if source.kind != "trec":
                    return None
                join = _join_at_once if size_of(path) <= PIECE_BYTES else _join
                joined = Joined.together(join(self._joiner, source, depth))
            joined.check_gathered()
            return self._matched(joined, depth)
        except (OddError, RankdevError):
            return None

    def _matched(self, joined: Joined, depth: int | None) -> MatchedRun:
        if not len(joined.hit_query):
            raise OddError("nothing in common, which takes words")
        references, query = self._matcher.references, joined.group_query
        known = (query >= 0) & (query < len(references))
        lengths = np.zeros(len(references), np.int64)
        lengths[query[known]] = joined.group_length[known]
        hits = Hits(joined.hit_query, joined.hit_position, joined.hit_place)
        if (np.diff(hits.query) < 0).any():
            hits = hits.take(np.argsort(hits.query, kind="stable"))
        good, items = hits.place < len(references.ranks), len(references.ranks)
        poor = hits.take(~good)
        return MatchedRun(
            references,
            hits.take(good),
            Hits(poor.query, poor.position, poor.place - items),
            lengths,
            row_widths(references, lengths, depth),
            missing=len(references) - int(known.sum()),
            unreferenced=int((query < 0).sum()),
            tied=int(joined.group_tied.sum()),
        )


def _joiner(matcher: Matcher) -> Joiner | None:
    compiled = library()
    if compiled is None:
        return None
    references, worthless = matcher.references, matcher.references.worthless
    items = references.item_ids if worthless is None else pl.concat([references.item_ids, worthless.item_ids])
    joiner = Joiner(
        compiled,
        _packed(pl.concat([references.queries, matcher.skipped])),
        _packed(items),
        references.offsets,
        np.zeros(len(references) + 1, np.int64) if worthless is None else worthless.offsets,
        references.ranks,
    )
    return joiner if joiner.usable else None


def _packed(names: pl.Series) -> PackedNames:
    ends = names.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
    return PackedNames(str(names.str.join("").item()).encode(), np.ascontiguousarray(ends))


def _join(joiner: Joiner, source: Source, depth: int | None) -> list[Joined]:
    """Join a file piece by piece, on all cores."""
    joined: list[Joined] = []
    pieces = [Piece(PIECE_BYTES) for _ in range(CORES + 2)]  # one is filled and one waits while others are joined
    with ThreadPoolExecutor(CORES) as pool:
        waiting: deque[tuple[Piece, Future[Joined]]] = deque()
        for piece, size in _whole_queries(joiner, source, pieces):
            waiting.append((piece, pool.submit(joiner.join, piece, size, depth)))
            if len(waiting) > CORES:
                done, task = waiting.popleft()
                joined.append(task.result())
                pieces.append(done)
        joined += [task.result() for _, task in waiting]
    return joined


def _join_at_once(joiner: Joiner, source: Source, depth: int | None) -> list[Joined]:
    """Join a small file, for which threads would cost more than they save."""
    joined, pieces = [], [Piece(PIECE_BYTES)]
    for piece, size in _whole_queries(joiner, source, pieces):
        joined.append(joiner.join(piece, size, depth))
        pieces.append(piece)
    return joined


def _whole_queries(joiner: Joiner, source: Source, pieces: list[Piece]) -> Iterator[tuple[Piece, int]]:
    """Fill pieces with all lines of some queries; the last ones, which may go on, come again in the next piece."""
    rest = b""
    while True:
        piece = pieces.pop()
        if 2 * len(rest) > len(piece.text):
            piece = Piece(4 * len(rest))
        piece.text[: len(rest)] = rest
        read = source.read_into(piece.text[len(rest) :])
        if not read:
            break
        size = len(rest) + read
        whole = joiner.last_query(piece, size)
        rest = bytes(piece.text[whole:size])
        if len(rest) > MOST_BYTES:
            raise OddError("a query is too long")
        if whole:
            yield piece, whole
        else:
            pieces.append(piece)
    if rest:
        piece.text[len(rest)] = ord("\n")  # an empty line where the last one has its end
        yield piece, len(rest) + 1
