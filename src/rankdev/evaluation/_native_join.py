"""TREC runs and simple tables joined with the references while they are read, by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from threading import Lock

import numpy as np
import polars as pl

from rankdev._common.work import Progress
from rankdev.core.columns import Items, Nonrelevant, packed_names
from rankdev.core.ordering import TREC_EVAL, Ordering
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.hits import Hits, MatchedRuns, with_ties
from rankdev.evaluation.matching import Matcher
from rankdev.io.native_input import read_whole_queries
from rankdev.io.streams import PathLike
from rankdev.measures.ties import MixedTies
from rankdev.native.library import Columns, Joiner, UnsupportedInputError, check_gathered, library


def joins(ordering: Ordering) -> bool:
    """Tell whether there is a compiled reader, and whether it knows this order."""
    return ordering == TREC_EVAL and library() is not None


class FileMatcher:
    """Joins TREC files with the references of a matcher, without making a Run of them.

    What comes out is what :meth:`Matcher.match` gives for the same file. Any other file is left to it, and so is
    every message: errors and warnings are those of the run that is read again.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._lock = Lock()

    @cached_property
    def _made(self) -> Joiner | None:
        return _joiner(self._matcher)

    @property
    def _joiner(self) -> Joiner | None:
        """The references as the library takes them, made when the first file is matched."""
        with self._lock:
            return self._made

    def match(
        self,
        path: PathLike,
        ordering: Ordering,
        depth: int | None,
        measures: Sequence[object] = (),
        progress: Progress | None = None,
    ) -> tuple[MatchedRuns, Coverage] | None:
        """Match a file's run; None where it has to be read otherwise."""
        joiner = self._joiner if joins(ordering) else None
        if joiner is None:
            return None
        join = partial(joiner.join, depth=depth)
        try:
            joined = read_whole_queries(joiner.library, path, join, progress)
            return self._matched(joiner, joined, ordering, depth, measures)
        except UnsupportedInputError:
            return None

    def _matched(
        self, joiner: Joiner, joined: Columns, ordering: Ordering, depth: int | None, measures: Sequence[object]
    ) -> tuple[MatchedRuns, Coverage]:
        check_gathered(joined.take("group_hash"))
        if len(np.unique(joined.take("tag"))) > 1:
            raise UnsupportedInputError("several tags")
        if joined.take("opposes").any() and not joined.take("agrees").any():
            raise UnsupportedInputError("scores that rise with the ranks")
        hits = Hits(joined.take("hit_query"), joined.take("hit_position"), joined.take("hit_place"))
        if not len(hits.query):
            raise UnsupportedInputError("nothing in common, which takes words")
        if (hits.query[1:] < hits.query[:-1]).any():
            hits = hits.take(np.argsort(hits.query, kind="stable"))
        ideals, query = self._matcher.ideals, joined.take("group_query")
        queries, items = len(ideals.sizes), len(ideals.ranks)
        good, poor = (hits.take(np.flatnonzero(part)) for part in (hits.place < items, hits.place >= items))
        known = (query >= 0) & (query < queries)
        loose = joined.take("group_loose_hash")[query < 0]
        if len(loose) and np.isin(np.delete(joiner.loose_hashes(), query[query >= 0]), loose).any():
            raise UnsupportedInputError("a query that looks like one of the references")
        lengths = np.zeros(queries, np.int64)
        lengths[query[known]] = joined.take("group_length")[known]
        nonrelevant = Hits(poor.query, poor.position, poor.place - items)
        matched = MatchedRuns.of(ideals, good, nonrelevant, lengths, depth)
        coverage = self._matcher.coverage(
            ordering.ties, missing=queries - int(known.sum()), unreferenced=int((query < 0).sum())
        )
        ties = MixedTies(*(joined.take(f"tie_{name}") for name in ("query", "begin", "end", "best", "worst")))
        return matched, with_ties(coverage, ties, matched, measures)


def _joiner(matcher: Matcher) -> Joiner | None:
    compiled = library()
    if compiled is None:
        return None
    references, nonrelevant = matcher.references, matcher.references.nonrelevant or _none(len(matcher.references))
    joiner = Joiner(
        compiled,
        packed_names(pl.concat([references.queries, matcher.skipped])),
        references.item_names.packed(references.offsets),
        nonrelevant.item_names.packed(nonrelevant.offsets),
        references.offsets,
        nonrelevant.offsets,
        references.ranks,
    )
    return joiner if joiner.usable else None


def _none(queries: int) -> Nonrelevant:
    """Nothing that is known to be nonrelevant."""
    return Nonrelevant(np.zeros(queries + 1, np.int64), Items(pl.Series(dtype=pl.String)), np.zeros(0))
