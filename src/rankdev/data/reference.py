"""The ordered reference list (ORL) of one query: its relevant items and their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from math import isfinite
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankdev._common.checks import is_list
from rankdev._common.ids import as_id
from rankdev.errors import DataError, errors_at

if TYPE_CHECKING:
    from typing import Self

LISTED = 50  # items that repr lists; more are counted


class Reference(Mapping[str, int]):
    """The reference of one query: a mapping item → rank.

    Ranks are consecutive from 1, and items of equal rank form a tier. A reference is empty only where nothing but
    ``nonrelevant`` items is known: every ranking scores 0 then.

    Parameters
    ----------
    ranks : dict of str to int
        Rank of each relevant item, 1 the best.
    nonrelevant : iterable of str, optional
        Items judged nonrelevant. Default: unknown.
    query : str, optional
        Name of the query, for messages.

    Examples
    --------
    >>> reference = Reference.from_tiers([["d1", "d3"], ["d2"]])
    >>> dict(reference)
    {'d1': 1, 'd3': 1, 'd2': 2}
    """

    __slots__ = ("_grades", "_nonrelevant", "_ranks")

    def __init__(
        self, ranks: Mapping[Any, int], *, nonrelevant: Iterable[Any] | None = None, query: str | None = None
    ) -> None:
        self._grades: dict[str, float] | None = None
        with errors_at(query=query):
            _check_mapping(ranks, "{item: rank}")
            self._nonrelevant = None if nonrelevant is None else {as_id(item): 0.0 for item in nonrelevant}
            if not ranks and not self._nonrelevant:
                raise DataError("no-items")
            checked = {as_id(item): _as_rank(rank, item) for item, rank in ranks.items()}
            for item in checked.keys() & (self._nonrelevant or {}):
                raise DataError("ranked-and-nonrelevant", item=item)
            if len(checked) < len(ranks):
                raise DataError("number-and-text")
            self._ranks = dict(sorted(checked.items(), key=lambda pair: pair[1]))
            for expected, found in enumerate(sorted(set(self._ranks.values())), start=1):
                if found != expected:
                    raise DataError("rank-missing", rank=expected)

    @classmethod
    def from_list(cls, items: Iterable[Any], *, query: str | None = None) -> Self:
        """Make a reference from a strict order.

        Parameters
        ----------
        items : iterable of str
            The relevant items, best first.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Each item has a rank of its own.

        Examples
        --------
        >>> Reference.from_list(["d1", "d2"])
        Reference({'d1': 1, 'd2': 2})
        """
        with errors_at(query=query):
            _check_ordered(items, "[best item, …]")
        return cls.from_tiers(([item] for item in items), query=query)

    @classmethod
    def from_tiers(cls, tiers: Iterable[Iterable[Any]], *, query: str | None = None) -> Self:
        """Make a reference from tiers of equally relevant items.

        Parameters
        ----------
        tiers : iterable of iterables of str
            The items of each tier, best tier first.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            The items of a tier share a rank.

        Examples
        --------
        >>> Reference.from_tiers([["d1", "d3"], ["d2"]])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        ranks: dict[str, int] = {}
        with errors_at(query=query):
            _check_ordered(tiers, "[best tier, …]")
            for rank, tier in enumerate(tiers, start=1):
                if not is_list(tier):
                    raise DataError("not-a-tier", tier=rank, value=tier)
                for item in map(as_id, tier):
                    if item in ranks:
                        raise DataError("two-values", item=item, what="rank", a=ranks[item], b=rank)
                    ranks[item] = rank
        return cls(ranks, query=query)

    @classmethod
    def from_grades(cls, grades: Mapping[Any, float], *, query: str | None = None) -> Self:
        """Make a reference from relevance grades.

        Parameters
        ----------
        grades : dict of str to float
            Grade of each judged item. Items of grade 0 or less are nonrelevant.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Each distinct positive grade is a tier, the highest first.

        Examples
        --------
        >>> Reference.from_grades({"d1": 3, "d2": 1, "d3": 1, "d4": 0})
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        with errors_at(query=query):
            _check_mapping(grades, "{item: grade}")
            for item, grade in grades.items():
                if not isinstance(grade, Real) or not _is_finite(grade):
                    raise DataError("not-finite", name="grade", item=item, value=grade)
            known = {as_id(item): float(grade) for item, grade in grades.items()}
            if len(known) < len(grades):
                raise DataError("number-and-text")
        positive = {item: grade for item, grade in known.items() if grade > 0}
        levels = sorted(set(positive.values()), reverse=True)
        rank = {grade: i for i, grade in enumerate(levels, start=1)}
        nonrelevant = {item: grade for item, grade in known.items() if grade <= 0}
        reference = cls({item: rank[grade] for item, grade in positive.items()}, nonrelevant=nonrelevant, query=query)
        reference._grades, reference._nonrelevant = positive, nonrelevant
        return reference

    @classmethod
    def from_ranks(cls, ranks: Mapping[Any, int], *, query: str | None = None) -> Self:
        """Make a reference from ranks.

        Parameters
        ----------
        ranks : dict of str to int
            Rank of each relevant item, 1 the best; consecutive.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Items of equal rank form a tier.

        Examples
        --------
        >>> Reference.from_ranks({"d1": 1, "d2": 2, "d3": 1}).tiers
        [['d1', 'd3'], ['d2']]
        """
        return cls(ranks, query=query)

    @classmethod
    def of(cls, value: Any, *, query: str | None = None) -> Reference:
        """Make a reference from whatever the functions of rankdev accept as one.

        Parameters
        ----------
        value : Reference, list of str, list of lists of str or set of str
            A reference, or items or tiers, best first; a set is one tier. A dict is refused: it could mean grades or
            ranks.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            The value itself where it is a Reference.

        Examples
        --------
        >>> Reference.of([["d1", "d3"], "d2"])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        if isinstance(value, Reference):
            return value
        if isinstance(value, Mapping):
            raise DataError("grades-or-ranks", query=query, family="Reference" if query is None else "References")
        if isinstance(value, Set):
            return cls.from_tiers([sorted(value, key=str)], query=query)
        if not is_list(value):
            raise DataError("wrong-form", query=query, expected="[best item or tier, …]", value=value)
        tiers = [tier if isinstance(tier, list | tuple | Set) else [tier] for tier in value]
        for rank, tier in enumerate(tiers, start=1):
            if not tier:
                raise DataError("empty-tier", query=query, tier=rank)
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
        """Items judged nonrelevant, with their grades (0 or less); None where it is not known which they are."""
        return None if self._nonrelevant is None else MappingProxyType(self._nonrelevant)

    def without_nonrelevant(self) -> Reference:
        """Return the reference without its nonrelevant items.

        Returns
        -------
        Reference
            The same ranks and grades; ``nonrelevant`` is None.

        Examples
        --------
        >>> Reference.from_grades({"d1": 1, "d2": 0}).without_nonrelevant().nonrelevant is None
        True
        """
        reference = Reference(self._ranks)
        reference._grades = self._grades
        return reference

    def __getitem__(self, item: str) -> int:
        whole = isinstance(item, Integral) and not isinstance(item, bool)
        return self._ranks[str(int(item)) if whole else item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __repr__(self) -> str:
        if len(self._ranks) <= LISTED:
            return f"Reference({self._ranks})"
        return f"Reference({len(self._ranks):,} items on {len(set(self._ranks.values())):,} ranks)"


def _check_ordered(value: object, expected: str) -> None:
    """Refuse what is not in an order, and a text: its letters are no items."""
    if not is_list(value) or isinstance(value, Set):
        raise DataError("wrong-form", expected=expected, value=value)


def _check_mapping(value: object, expected: str) -> None:
    if not isinstance(value, Mapping):
        raise DataError("wrong-form", expected=expected, value=value)


def _is_finite(grade: Real) -> bool:
    try:
        return isfinite(grade)
    except OverflowError:  # a whole number past all floats
        return False


def _as_rank(rank: Any, item: object) -> int:
    whole = isinstance(rank, Real) and not isinstance(rank, bool) and rank % 1 == 0
    if whole and rank >= 1:
        return int(rank)
    raise DataError("not-a-rank", item=item, rank=rank)
