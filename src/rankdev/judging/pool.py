"""What is to be judged: the items of each query, and what grades already say about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankdev.errors import DataError, UsageError, shown
from rankdev.preferences import Preferences
from rankdev.tabular import as_id

Pair = tuple[str, str, str]  # query and two of its items


def sorted_pair(pair: Pair) -> Pair:
    """Give a pair under the one name that it has whichever item comes first."""
    query, a, b = pair
    return query, min(a, b), max(a, b)


@dataclass(frozen=True, eq=False)
class Pool:
    """The items of every query by their names; ``given`` are the objects that the user calls them by."""

    items: dict[str, list[str]]
    grades: dict[str, dict[str, float]] | None = None
    given: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, value: Any) -> Pool:
        """Take ``{query: [item, …]}``, or grades ``{query: {item: grade}}`` (or references made of grades)."""
        if not isinstance(value, Mapping) or not value:
            raise UsageError(f"items must be {{query: [item, …]}} or {{query: {{item: grade}}}}; got {shown(value)}")
        items: dict[str, list[str]] = {}
        grades: dict[str, dict[str, float]] = {}
        given: dict[tuple[str, ...], Any] = {}
        for query, listing in value.items():
            entries = getattr(listing, "grades", None) or listing
            if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
                raise UsageError(f"query {shown(query)}: expected a list of items; got {shown(entries)}")
            name, listed = as_id(query), list(entries)
            items[name] = [as_id(item) for item in listed]
            given[name,] = query
            given |= {(name, as_id(item)): item for item in listed}
            if len(set(items[name])) < len(listed):
                twice = next(item for item in items[name] if items[name].count(item) > 1)
                raise DataError(f"query {name!r}: item {twice!r} appears twice; list it once")
            if isinstance(entries, Mapping):
                grades[name] = {as_id(item): grade for item, grade in entries.items()}
        if grades and len(grades) < len(items):
            bare = next(query for query in items if query not in grades)
            raise DataError(f"query {bare!r} has no grades, but others have; give grades for all queries or for none")
        if all(len(listed) < 2 for listed in items.values()):
            raise DataError("no pairs to ask: no query has two items")
        return cls(items, grades or None, given)

    def start(self) -> Preferences:
        """Give the judgments that there are before the first question: none, or what grades say."""
        nothing = Preferences.from_rows(items=self.items)
        return nothing if self.grades is None else nothing.with_grades(self.grades)

    def check(self, query: str, *items: str) -> None:
        """Refuse a pair that is not of the pool."""
        for item in items:
            if item not in self.items.get(query, ()):
                raise DataError(f"query {query!r}: item {item!r} is not among the items to be judged")
