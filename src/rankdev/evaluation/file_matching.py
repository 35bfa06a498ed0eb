"""TREC runs joined with the references while they are read, by compiled code, where they are plain."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from rankdev.arrays import Ints
from rankdev.evaluation.matching import Hits, MatchedRun, Matcher, row_widths
from rankdev.formats.streams import PathLike
from rankdev.formats.whole_queries import read_whole_queries
from rankdev.native.joining import Joiner
from rankdev.native.library import library
from rankdev.native.pieces import Columns, OddError, PackedNames, check_gathered
from rankdev.ordering import TREC_EVAL, Ordering
from rankdev.progress import Progress
from rankdev.references.columns import Worthless


def joins(ordering: Ordering) -> bool:
    """Tell whether there is a compiled reader, and whether it knows this order."""
    return ordering == TREC_EVAL and library() is not None


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
        if self._joiner is None or not joins(ordering):
            return None
        join = partial(self._joiner.join, depth=depth)
        try:
            return self._matched(read_whole_queries(self._joiner.library, path, join, progress), depth)
        except OddError:
            return None

    def _matched(self, joined: Columns, depth: int | None) -> MatchedRun:
        check_gathered(joined.take("group_hash"))
        hits = Hits(joined.take("hit_query"), joined.take("hit_position"), joined.take("hit_place"))
        if not len(hits.query):
            raise OddError("nothing in common, which takes words")
        if (np.diff(hits.query) < 0).any():
            hits = hits.take(np.argsort(hits.query, kind="stable"))
        references, query = self._matcher.references, joined.take("group_query")
        good, items = hits.place < len(references.ranks), len(references.ranks)
        poor = hits.take(~good)
        known = (query >= 0) & (query < len(references))
        lengths = np.zeros(len(references), np.int64)
        lengths[query[known]] = joined.take("group_length")[known]
        return MatchedRun(
            references,
            hits.take(good),
            Hits(poor.query, poor.position, poor.place - items),
            lengths,
            row_widths(references, lengths, depth),
            missing=len(references) - int(known.sum()),
            unreferenced=int((query < 0).sum()),
            tied=int(joined.take("group_tied").sum()),
        )


def _joiner(matcher: Matcher) -> Joiner | None:
    compiled = library()
    if compiled is None:
        return None
    references, worthless = matcher.references, matcher.references.worthless or _none(len(matcher.references))
    joiner = Joiner(
        compiled,
        _packed(pl.concat([references.queries, matcher.skipped])),
        _packed(references.item_ids, references.offsets),
        _packed(worthless.item_ids, worthless.offsets),
        references.offsets,
        worthless.offsets,
        references.ranks,
    )
    return joiner if joiner.usable else None


def _none(queries: int) -> Worthless:
    """Nothing that is known to be worthless."""
    return Worthless(np.zeros(queries + 1, np.int64), pl.Series(dtype=pl.String), np.zeros(0))


def _packed(names: pl.Series, offsets: Ints | None = None) -> PackedNames:
    """Give the library names, or lists of names that begin at ``offsets``."""
    bounds = (names.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_numpy()
    if offsets is not None:
        bounds = np.concatenate([[0], bounds])[offsets]
    text: bytes = names.str.join("\n").cast(pl.Binary).item()
    if text.count(b"\n") >= max(
        1, len(names)
    ):  # no name in a TREC file holds a newline: a blank will not be found either
        return _packed(names.str.replace_all("\n", " "), offsets)
    return PackedNames(text, np.ascontiguousarray(bounds))
