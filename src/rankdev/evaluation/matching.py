"""Join runs with references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Bools, Ints
from rankdev._common.reading import caution
from rankdev.core.batches import LONGEST_TIE
from rankdev.core.columns import folded
from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import DataError
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.hits import Hits, MatchedRuns, with_ties
from rankdev.measures.match import Ideals
from rankdev.measures.ties import JUDGED, UNJUDGED, MixedTies, TieGroups

LOOKED_AT = 100  # positions in which items that look like others are searched for
STRANGERS = 1000  # ids of a run that are compared with those of the references
TOP = 20  # positions at most in which unjudged items are counted: few collections were judged further down
SHALLOW = 5  # positions: in fewer, a run may well return no relevant item


ALIKE: dict[str, Callable[[pl.Series], pl.Series]] = {  # what ids may differ by, and what makes them the same
    "'.0' at the end": lambda ids: ids.str.strip_suffix(".0"),
    "case or blanks": folded,
    "zeros at the beginning": lambda ids: ids.str.strip_chars_start("0"),
    "what stands before the last '/', ':' or '#'": lambda ids: ids.str.replace(r"^.*[/:#]", ""),
    "what stands after the last '.'": lambda ids: ids.str.replace(r"\.\w+$", ""),
}

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Matcher:
    """Joins runs with one set of references; ``skipped`` queries are left out on purpose.

    Where the references are a part of more, ``highest_grade`` is that of all: a measure may depend on it.
    """

    references: References
    skipped: pl.Series = field(default_factory=lambda: pl.Series("query", [], pl.String))
    highest_grade: float = 0.0

    @classmethod
    def of(cls, references: References, *, skip_empty: bool = False) -> Matcher:
        """Prepare references; ``skip_empty`` leaves out the queries without any reference item."""
        if not skip_empty or not references.empty:
            return cls(references)
        if references.empty == len(references):
            raise DataError("all-empty")
        return cls(references.without_empty(), references.queries.gather(np.flatnonzero(references.sizes == 0)))

    @cached_property
    def ideals(self) -> Ideals:
        """Ranks and grades of the references, without names."""
        known, nonrelevant = self.references, self.references.nonrelevant
        return Ideals(
            known.offsets,
            known.ranks,
            known.grades,
            None if nonrelevant is None else nonrelevant.offsets,
            None if nonrelevant is None else nonrelevant.grades,
            0.0 if known.grades is None else float(known.grades.max(initial=self.highest_grade)),
        )

    def match(self, run: Run, depth: int | None, measures: Sequence[object] = ()) -> tuple[MatchedRuns, Coverage]:
        """Join on (query, item): first occurrences in the first ``depth`` positions, and what is tied with them.

        The coverage counts the queries in which ties can change one of the measures.
        """
        known = self._known_queries(run)
        top = run.top(depth)
        lengths = np.zeros(len(self.references), np.int64)
        lengths[known[known >= 0]] = top.lengths[known >= 0]
        query = known[top.query]
        mine = query >= 0
        rows, query, position, tie = (column[mine] for column in (top.rows, query, top.position, top.tie))
        items = run.item_ids if len(rows) == len(run.item_ids) else run.item_ids.gather(rows)
        place = self._join(query, items)
        answered = np.zeros(len(lengths), bool)
        answered[query[place >= 0]] = True
        if 2 * answered.sum() < (lengths > 0).sum():
            strange = np.flatnonzero(~answered[query] & top.within[mine] & (position < LOOKED_AT))
            if not self._warn_of_lookalikes(query[strange], items.gather(strange)) and not answered.any():
                self._warn_of_disjoint_items(run)
        ties = _ties(run, position, tie) if run.ordering.leaves_ties_open else None
        found = np.flatnonzero((place >= 0) & (top.within[mine] | (ties is not None)))
        found = found[np.argsort(query[found], kind="stable")]
        relevant_items = len(self.references.ranks)

        def hits(rows: Ints, first: int) -> Hits:
            tied = None if ties is None else TieGroups(query[rows], *(column[rows] for column in ties))
            return Hits(query[rows], position[rows], place[rows] - first, tied)

        relevant = place[found] < relevant_items
        good, poor = hits(found[relevant], 0), hits(found[~relevant], relevant_items)
        matched = MatchedRuns.of(self.ideals, good, poor, lengths, depth)
        coverage = Coverage(
            "",  # the name comes later
            len(self.references),
            missing=len(self.references) - int((known >= 0).sum()),
            unreferenced=self._unreferenced(run, known),
            ties=run.ordering.ties,
            empty=len(self.skipped) or self.references.empty,
            left_out=run.left_out,
            ids=None if relevant.any() else self._strangers(run, depth),
            **self._judged(place, position, top.within[mine], min(TOP, depth or TOP)),
        )
        return matched, with_ties(coverage, self._mixed_ties(query, position, place, tie), matched, measures)

    def _strangers(self, run: Run, depth: int | None) -> tuple[str, str, str] | None:
        """Return an id of each side and how they differ, where a run returns no relevant item.

        It does so in as many positions as should have one.
        """
        known = self.references.item_ids
        if not len(known) or not len(run.item_ids):
            return None
        if depth is not None and depth < SHALLOW and run.item_ids.is_in(known.implode()).any():
            return None
        own = run.item_ids.head(STRANGERS)
        for how, like in ALIKE.items():
            mine, theirs = (
                pl.DataFrame({name: ids, "like": like(ids)}).unique("like", keep="first", maintain_order=True)
                for name, ids in (("own", own), ("known", known))
            )
            pairs = mine.join(theirs, on="like", maintain_order="left")
            pairs = pairs.filter((pl.col("own") != pl.col("known")) & (pl.col("like") != ""))
            if len(pairs):
                return str(pairs["own"][0]), str(pairs["known"][0]), how
        return str(own[0]), str(known[0]), ""

    def _judged(self, place: Ints, position: Ints, within: Bools, depth: int) -> dict[str, Any]:
        """Count the items that measures look at, and those of them that were not judged."""
        nonrelevant = self.references.nonrelevant
        if nonrelevant is None or not len(nonrelevant.item_ids):
            return {}
        seen = within & (position < depth)
        return {"looked_at": int(seen.sum()), "unjudged": int((seen & (place < 0)).sum()), "depth": depth}

    def _unreferenced(self, run: Run, known: Ints) -> int:
        """Count the run's queries without a reference; those that were skipped on purpose have one."""
        unknown = np.flatnonzero(known < 0)
        if not len(unknown) or not len(self.skipped):
            return len(unknown)
        return len(unknown) - int(run.queries.gather(unknown).is_in(self.skipped.implode()).sum())

    def _warn_of_lookalikes(self, query: Ints, items: pl.Series) -> bool:
        """Warn of items that are not in the references of their query and look like one that is."""
        codes, known = self._columns
        own = pl.DataFrame({"query": query, "name": folded(items), "item": items})
        other = pl.DataFrame({"query": codes, "name": folded(known), "known": known})
        pairs = own.join(other, on=["query", "name"], maintain_order="left")
        if not len(pairs):
            return False
        code, _, one, like = pairs.row(0)
        count, query = len(pairs.unique(["query", "item"])), self.references.queries[code]
        caution("items-differ", count=count, by=_difference(one, like), one=one, other=like, query=query)
        return True

    def _warn_of_disjoint_items(self, run: Run) -> None:
        """Warn where a run and the references have no item in common: one of them may have ids of another kind."""
        items = self._columns[1]
        if not run.item_ids.is_in(items.implode()).any():
            caution("no-shared-item", one=run.item_ids[0], other=items[0])

    def _known_queries(self, run: Run) -> Ints:
        """Return the index of each of the run's queries among the references; -1 where there is none."""
        places = map(self.references.places.get, run.queries.to_list(), repeat(-1))
        known = np.fromiter(places, np.int64, len(run))
        if not len(run):
            raise DataError("no-rows", what="run")
        if not (known >= 0).any():
            raise DataError("no-shared-query", one=run.queries[0], other=self.references.queries[0])
        self._warn_of_similar_queries(run, known)
        return known

    def _warn_of_similar_queries(self, run: Run, known: Ints) -> None:
        """Warn of queries without a reference that look like one that is not in the run."""
        missing = np.setdiff1d(np.arange(len(self.references)), known)
        if not len(missing) or not (known < 0).any():
            return
        unknown, lost = run.queries.filter(pl.Series(known < 0)), self.references.queries.gather(missing)
        own = pl.DataFrame({"name": folded(unknown), "own": unknown})
        pairs = own.join(pl.DataFrame({"name": folded(lost), "lost": lost}), on="name", maintain_order="left")
        if len(pairs):
            _, one, other = pairs.row(0)
            count = pairs["own"].n_unique()
            caution("queries-differ", count=count, by=_difference(one, other), one=one, other=other)

    @cached_property
    def _columns(self) -> tuple[Ints, pl.Series]:
        """Query and id of every item that was judged, the nonrelevant ones last."""
        known, nonrelevant = self.references, self.references.nonrelevant
        if nonrelevant is None:
            return known.codes, known.item_ids
        return np.concatenate([known.codes, nonrelevant.codes]), pl.concat([known.item_ids, nonrelevant.item_ids])

    @cached_property
    def _sorted_keys(self) -> tuple[Keys, Ints]:
        """Keys of the reference items in order, and the place of each."""
        keys = _hash_keys(*self._columns)
        order = np.argsort(keys, kind="stable")  # which is fast on keys that are in order query by query
        return keys[order], order

    @cached_property
    def _sieve(self) -> Bools:
        """Mark the low bits of the keys of all reference items: most items of a run are excluded by them."""
        keys, _ = self._sorted_keys
        sieve = np.zeros(1 << (8 * len(keys)).bit_length(), bool)
        sieve[keys & np.uint64(len(sieve) - 1)] = True
        return sieve

    @cached_property
    def _keys_differ(self) -> bool:
        keys, _ = self._sorted_keys
        return bool((keys[1:] != keys[:-1]).all())

    def _join(self, query: Ints, item: pl.Series) -> Ints:
        """Return the index of each (query, item) among the references' columns; -1 where there is none.

        By hashes, prepared once for all runs: whole evaluations of four runs of 500,000 rows took .55 to .66 s so, and
        1.3 to 1.5 s with a polars join for each run, which is faster alone and with short ids only.
        """
        known, places = self._sorted_keys
        keys = _hash_keys(query, item)
        place = np.full(len(keys), -1)
        found = np.arange(len(keys))
        if len(keys) > len(known):  # else the sieve would cost more than it saves
            found = np.flatnonzero(self._sieve[keys & np.uint64(len(self._sieve) - 1)])
        at = np.minimum(np.searchsorted(known, keys[found]), len(known) - 1)
        same = known[at] == keys[found]
        found = found[same]
        place[found] = places[at[same]]
        codes, items = self._columns
        same_item = item[found].equals(items[place[found]])  # far cheaper than gather where runs are small
        same_query = (query[found] == codes[place[found]]).all()
        return place if same_item and same_query and self._keys_differ else self._join_on_names(query, item)

    def _join_on_names(self, query: Ints, item: pl.Series) -> Ints:
        """Do the same without hashes, for the case that two of them collide."""
        codes, items = self._columns
        columns = {"query": codes, "item": items, "place": np.arange(len(items))}
        rows = pl.DataFrame({"query": query, "item": item})
        joined = rows.join(pl.DataFrame(columns), on=["query", "item"], how="left", maintain_order="left")
        return joined["place"].fill_null(-1).to_numpy()

    def _mixed_ties(self, query: Ints, position: Ints, place: Ints, tie: Ints) -> MixedTies:
        """Find the ties of items of different rank, or of too many items to keep them all."""
        shared = np.zeros(len(tie) + 1, bool)
        shared[1:-1] = tie[1:] == tie[:-1]
        tied = np.flatnonzero(shared[1:] | shared[:-1])
        query, position, place, tie = (column[tied] for column in (query, position, place, tie))
        ranks = np.append(self.references.ranks, [JUDGED, UNJUDGED])  # the last are for items without a rank
        rank = ranks[np.where(place < 0, -1, np.minimum(place, len(ranks) - 2))]
        return MixedTies.among(query, position, rank, tie, LONGEST_TIE)


def _difference(one: str, other: str) -> str:
    """Name by what a name of a run differs from one in the references, which may be an accident."""
    if normalize("NFC", one) == normalize("NFC", other):
        return "Unicode form"
    if one.lower() == other.lower():
        return "case"
    return "blanks" if "".join(one.split()) == "".join(other.split()) else "case, blanks or Unicode form"


def _ties(run: Run, position: Ints, tie: Ints) -> tuple[Ints, Ints]:
    """Return the first position and the size of each row's tie."""
    if run.repeats is not None and run.scores is not None:
        row = int(np.argmax(run.repeats))
        raise DataError("tied-repeat", query=run.queries[int(run.codes[row])], item=run.item_ids[row])
    begins = np.flatnonzero(np.diff(tie, prepend=-1))
    sizes = np.diff(np.append(begins, len(tie)))
    return np.repeat(position[begins], sizes), np.repeat(sizes, sizes)


def _hash_keys(query: Ints, item: pl.Series) -> Keys:
    """Number each (query, item), the query first, so that the keys of one query lie together."""
    return (query.astype(np.uint64) << np.uint64(40)) ^ (item.hash().to_numpy() >> np.uint64(24))
