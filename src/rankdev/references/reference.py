"""One query's ordered reference list (ORL): which items are right, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from rankdev.errors import DataError

if TYPE_CHECKING:
    from typing import Self


class Reference(Mapping[str, int]):
    """A non-empty mapping item → rank; ranks are consecutive from 1 and equal ranks form a tier.

    >>> reference = Reference.from_tiers([["d1", "d3"], ["d2"]])
    >>> dict(reference)
    {'d1': 1, 'd3': 1, 'd2': 2}
    """

    __slots__ = ("_grades", "_ranks")

    def __init__(self, ranks: Mapping[Any, int], *, query: str | None = None) -> None:
        where = "" if query is None else f"query {query!r}: "
        if not ranks:
            raise DataError(f"{where}a reference needs at least one item")
        checked = {as_id(item, where): _as_rank(rank, item, where) for item, rank in ranks.items()}
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
        ranks: dict[Any, int] = {}
        for rank, tier in enumerate(tiers, start=1):
            for item in tier:
                if item in ranks:
                    where = "" if query is None else f"query {query!r}: "
                    raise DataError(f"{where}item {item!r} has two ranks, {ranks[item]} and {rank}; keep one")
                ranks[item] = rank
        return cls(ranks, query=query)

    @classmethod
    def from_grades(cls, grades: Mapping[Any, float], *, query: str | None = None) -> Self:
        """Take relevance grades: each distinct positive grade is a tier, the highest first."""
        where = "" if query is None else f"query {query!r}: "
        for item, grade in grades.items():
            if not isinstance(grade, Real) or not isfinite(grade):
                raise DataError(f"{where}item {item!r} has the grade {grade!r}; expected a finite number")
        positive = {item: float(grade) for item, grade in grades.items() if grade > 0}
        if not positive:
            raise DataError(f"{where}no grade is positive, so there is no reference item")
        levels = sorted(set(positive.values()), reverse=True)
        reference = cls({item: levels.index(grade) + 1 for item, grade in positive.items()}, query=query)
        reference._grades = {as_id(item, where): grade for item, grade in positive.items()}
        return reference

    @classmethod
    def of(cls, value: Any) -> Reference:
        """Take a reference, a list of items (best first) or a mapping item → rank."""
        if isinstance(value, Reference):
            return value
        if isinstance(value, Mapping):
            return cls(value)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise DataError(f"a reference is a list of items or a mapping item → rank; got {value!r}")
        return cls.from_list(value)

    @property
    def tiers(self) -> list[list[str]]:
        """Items by rank, best tier first."""
        tiers: list[list[str]] = [[] for _ in range(max(self._ranks.values()))]
        for item, rank in self._ranks.items():
            tiers[rank - 1].append(item)
        return tiers

    @property
    def grades(self) -> dict[str, float] | None:
        """Native grades, where the reference was made from grades."""
        return self._grades

    def __getitem__(self, item: str) -> int:
        return self._ranks[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __repr__(self) -> str:
        return f"Reference({self._ranks})"


def as_id(value: object, where: str = "") -> str:
    """Give an identifier as text; whole numbers are welcome, other types are not."""
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{where}an item or query is named by text or a whole number; got {value!r}")


def _as_rank(rank: object, item: object, where: str) -> int:
    if isinstance(rank, Real) and not isinstance(rank, bool):
        number = float(rank)
        if number >= 1 and number.is_integer():
            return int(number)
    raise DataError(f"{where}item {item!r} has the rank {rank!r}; ranks are whole numbers from 1")
