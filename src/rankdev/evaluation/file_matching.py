"""TREC runs joined with the references while they are read, by compiled code, where they are plain."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import polars as pl

from rankdev.errors import RankdevError
from rankdev.evaluation.matching import Hits, MatchedRun, Matcher, row_widths
from rankdev.formats.opening import size_of
from rankdev.formats.streams import PathLike, Source
from rankdev.native.joining import Joined, Joiner, OddError, PackedNames
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
                joined = Joined.together(_join(self._joiner, source, depth, alone=size_of(path) <= PIECE_BYTES))
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
        None if worthless is None else worthless.offsets,
        references.ranks,
    )
    return joiner if joiner.usable else None


def _packed(names: pl.Series) -> PackedNames:
    ends = names.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
    return PackedNames(str(names.str.join("").item()).encode(), np.ascontiguousarray(ends))


def _join(joiner: Joiner, source: Source, depth: int | None, *, alone: bool) -> list[Joined]:
    """Join a file piece by piece, on all cores unless one piece is all there is."""
    joined: list[Joined] = []
    waiting: deque[Future[Joined]] = deque()
    with nullcontext() if alone else ThreadPoolExecutor(CORES) as pool:
        for text, size in _whole_queries(joiner, source):
            if pool is None:
                joined.append(joiner.join(text, size, depth))
                continue
            waiting.append(pool.submit(joiner.join, text, size, depth))
            if len(waiting) > 2 * CORES:
                joined.append(waiting.popleft().result())
        joined += [task.result() for task in waiting]
    return joined


def _whole_queries(joiner: Joiner, source: Source) -> Iterator[tuple[bytes, int]]:
    """Give text and how many of its bytes are all lines of some queries; the others come again with the next piece."""
    rest = b""
    for piece in source.pieces(PIECE_BYTES):
        text = rest + piece
        size = joiner.last_query(text)
        if size:
            yield text, size
        rest = text[size:]
        if len(rest) > MOST_BYTES:
            raise OddError("a query is too long")
    if rest:
        text = rest if rest.endswith(b"\n") else rest + b"\n"
        yield text, len(text)
