"""One query's ordered reference list (ORL): which items are right, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from math import isfinite
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankdev._common.checks import is_list
from rankdev._common.tables import as_id
from rankdev.errors import DataError, shown

if TYPE_CHECKING:
    from typing import Self


class Reference(Mapping[str, int]):
    """A mapping item → rank; ranks are consecutive from 1 and equal ranks form a tier.

    It is empty only where nothing but ``nonrelevant`` items is known: every ranking scores 0 then.

    >>> reference = Reference.from_tiers([["d1", "d3"], ["d2"]])
    >>> dict(reference)
    {'d1': 1, 'd3': 1, 'd2': 2}
    """

    __slots__ = ("_grades", "_nonrelevant", "_ranks")

    def __init__(
        self, ranks: Mapping[Any, int], *, nonrelevant: Iterable[Any] | None = None, query: str | None = None
    ) -> None:
        where = "" if query is None else f"query {shown(query)}: "
        self._nonrelevant = None if nonrelevant is None else {as_id(item, where): 0.0 for item in nonrelevant}
        if not ranks and not self._nonrelevant:
            raise DataError(f"{where}a reference needs at least one item")
        checked = {as_id(item, where): _as_rank(rank, item, where) for item, rank in ranks.items()}
        for item in checked.keys() & (self._nonrelevant or {}):
            raise DataError(f"{where}item {shown(item)} has a rank and is nonrelevant too; keep one")
        if len(checked) < len(ranks):
            raise DataError(f"{where}an item is named twice, as a number and as text; keep one")
        self._ranks = dict(sorted(checked.items(), key=lambda pair: pair[1]))
        self._grades: dict[str, float] | None = None
        for expected, found in enumerate(sorted(set(self._ranks.values())), start=1):
            if found != expected:
                raise DataError(f"{where}rank {expected} is missing; ranks must be consecutive from 1")

    @classmethod
    def from_list(cls, items: Iterable[Any], *, query: str | None = None) -> Self:
        """Take a strict order, best item first."""
        return cls.from_tiers(([item] for item in items), query=query)

    @classmethod
    def from_tiers(cls, tiers: Iterable[Iterable[Any]], *, query: str | None = None) -> Self:
        """Take tiers of equally good items, best tier first."""
        where = "" if query is None else f"query {shown(query)}: "
        ranks: dict[str, int] = {}
        for rank, tier in enumerate(tiers, start=1):
            for name in tier:
                item = as_id(name, where)
                if item in ranks:
                    raise DataError(f"{where}item {shown(item)} has two ranks, {ranks[item]} and {rank}; keep one")
                ranks[item] = rank
        return cls(ranks, query=query)

    @classmethod
    def from_grades(cls, grades: Mapping[Any, float], *, query: str | None = None) -> Self:
        """Take relevance grades: each distinct positive grade is a tier, the highest first; the rest is nonrelevant."""
        where = "" if query is None else f"query {shown(query)}: "
        for item, grade in grades.items():
            if not isinstance(grade, Real) or not isfinite(grade):
                raise DataError(f"{where}item {shown(item)} has the grade {shown(grade)}; expected a finite number")
        known = {as_id(item, where): float(grade) for item, grade in grades.items()}
        if len(known) < len(grades):
            raise DataError(f"{where}an item is named twice, as a number and as text; keep one")
        positive = {item: grade for item, grade in known.items() if grade > 0}
        levels = sorted(set(positive.values()), reverse=True)
        rank = {grade: i for i, grade in enumerate(levels, start=1)}
        nonrelevant = {item: grade for item, grade in known.items() if grade <= 0}
        reference = cls({item: rank[grade] for item, grade in positive.items()}, nonrelevant=nonrelevant, query=query)
        reference._grades, reference._nonrelevant = positive, nonrelevant
        return reference

    @classmethod
    def from_ranks(cls, ranks: Mapping[Any, int], *, query: str | None = None) -> Self:
        """Take ranks, 1 the best."""
        return cls(ranks, query=query)

    @classmethod
    def of(cls, value: Any, *, query: str | None = None) -> Reference:
        """Take a reference, or a list of items or of tiers, best first.

        >>> Reference.of([["d1", "d3"], "d2"])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        if isinstance(value, Reference):
            return value
        where, family = ("", "Reference") if query is None else (f"query {shown(query)}: ", "References")
        if isinstance(value, Mapping):
            raise DataError(
                f"{where}{{item: number}} could mean grades or ranks; say which with {family}.from_grades or"
                f" {family}.from_ranks"
            )
        if isinstance(value, Set) or not is_list(value):
            raise DataError(f"{where}a reference is a list of items or tiers, best first; got {shown(value)}")
        tiers = [tier if isinstance(tier, list | tuple | Set) else [tier] for tier in value]
        for rank, tier in enumerate(tiers, start=1):
            if not tier:
                raise DataError(f"{where}tier {rank} is empty; every rank needs an item")
        return cls.from_tiers(tiers, query=query)

    @property
    def tiers(self) -> list[list[str]]:
        """Items by rank, best tier first."""
        tiers: list[list[str]] = [[] for _ in range(max(self._ranks.values(), default=0))]
        for item, rank in self._ranks.items():
            tiers[rank - 1].append(item)
        return tiers

    @property
    def grades(self) -> dict[str, float] | None:
        """Native grades, where the reference was made from grades."""
        return self._grades

    @property
    def nonrelevant(self) -> Mapping[str, float] | None:
        """Items that were judged and found nonrelevant, with their grades (0 or less); None where nobody said."""
        return None if self._nonrelevant is None else MappingProxyType(self._nonrelevant)

    def without_nonrelevant(self) -> Reference:
        """Forget which items are nonrelevant."""
        reference = Reference(self._ranks)
        reference._grades = self._grades
        return reference

    def __getitem__(self, item: str) -> int:
        return self._ranks[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __repr__(self) -> str:
        return f"Reference({self._ranks})"


def _as_rank(rank: Any, item: object, where: str) -> int:
    whole = isinstance(rank, Real) and not isinstance(rank, bool) and rank % 1 == 0
    if whole and rank >= 1:
        return int(rank)
    raise DataError(f"{where}item {shown(item)} has the rank {shown(rank)}; ranks are whole numbers from 1")
