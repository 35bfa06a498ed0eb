"""What a reference could be if everything had been judged: each way in which unjudged items could stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.references.reference import Reference

MOST = 3000  # completions of one query that are looked at
Place = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Completion:
    """A reference with some places more, which unjudged items may take in any way.

    ``ranks`` and ``grades`` are those of all its items, best first; ``rank_of[tier]`` is the rank that an old rank
    becomes; ``slots`` and ``slot_grades`` are those of the new places. Without grades, these are 1 each.
    """

    ranks: Ints
    grades: Floats
    rank_of: Ints
    slots: Ints
    slot_grades: Floats

    @property
    def size(self) -> int:
        """Number of items (m)."""
        return len(self.ranks)

    def ideal_ranks(self, position: Ints) -> Ints:
        """Ideal rank at positions, from 0; past the reference it goes on by one a position."""
        last = int(self.ranks[-1]) if self.size else 0
        inside = self.ranks[np.minimum(position, self.size - 1)] if self.size else position
        return np.asarray(np.where(position < self.size, inside, last + position + 1 - self.size))


def completions(reference: Reference, unjudged: int, levels: Sequence[float] | None) -> list[Completion] | None:
    """List the completions by so many items: the grades of the collection where there are ``levels``, else any place.

    None where there are more than can be looked at. A place is the rank of a tier, or one of its own between two
    tiers, above or below all; two unjudged items may share one. Any number of them may be worthless.
    """
    ways = _by_rank(reference, unjudged) if levels is None else _by_grade(reference, unjudged, levels)
    found = list(islice(ways, MOST + 1))
    return None if len(found) > MOST else found


def _by_grade(reference: Reference, unjudged: int, levels: Sequence[float]) -> Iterator[Completion]:
    known = np.array(sorted((reference.grades or {}).values(), reverse=True), float)
    old = np.unique(known)[::-1]
    for count in range(unjudged + 1):
        for slots in combinations_with_replacement(sorted(levels, reverse=True), count):
            grades = np.sort(np.concatenate([known, slots]))[::-1]
            tiers = np.unique(grades)[::-1]
            ranks, rank_of, new = (_rank_among(tiers, values) for values in (grades, old, np.array(slots, float)))
            yield Completion(ranks, grades, np.concatenate([[0], rank_of]), new, np.array(slots, float))


def _rank_among(tiers: Floats, grades: Floats) -> Ints:
    return np.asarray(np.searchsorted(-tiers, -grades) + 1, np.int64)


def _by_rank(reference: Reference, unjudged: int) -> Iterator[Completion]:
    sizes = [len(tier) for tier in reference.tiers]
    old = [(2 * tier + 1, 0) for tier in range(len(sizes))]  # gaps have even numbers
    for count in range(unjudged + 1):
        for slots in _placements(count, 2 * len(sizes) + 1, None):
            rank = {place: i + 1 for i, place in enumerate(sorted({*old, *slots}))}
            all_ranks = [rank[place] for place, size in zip(old, sizes, strict=True) for _ in range(size)]
            new = [rank[place] for place in slots]
            ranks = np.sort(np.array([*all_ranks, *new], np.int64))
            rank_of = np.array([0, *(rank[place] for place in old)], np.int64)
            yield Completion(ranks, np.ones(len(ranks)), rank_of, np.array(new, np.int64), np.ones(count))


def _placements(count: int, places: int, last: Place | None) -> Iterator[tuple[Place, ...]]:
    """Give every way to put alike items at tiers and into gaps, best place first; gaps hold new tiers."""
    if not count:
        yield ()
        return
    options: list[Place] = [] if last is None else [last]
    if last is not None and last[0] % 2 == 0:
        options.append((last[0], last[1] + 1))
    options += [(place, 0) for place in range(0 if last is None else last[0] + 1, places)]
    for option in options:
        for rest in _placements(count - 1, places, option):
            yield (option, *rest)
