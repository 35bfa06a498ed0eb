"""Rows, which every source of references and runs becomes first, and what those two share as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, Self, TypeVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints, Keys, largest
from rankdev._common.checks import is_list, is_number
from rankdev._common.lazy import pl
from rankdev._common.result import Tabular
from rankdev.data import ids, tables
from rankdev.data.ids import Ids, Words, is_integer
from rankdev.data.options import ReadOptions, warn_of
from rankdev.errors import DataError, Note, UsageError, errors_at

LONGEST_TIE = 10_000  # rows of a query that are kept past the depth because they are tied with the last within it
CLIMB = 20  # rows with a higher score than the one before: by chance that many in a row would be one in a million
FEW = 20  # rows that usually tell whether scores and ranks agree
Value = TypeVar("Value")
PLAIN_NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
What = Literal["score", "rank", "grade"]


class ByQuery(Tabular, Mapping[str, Value]):
    """Items of many queries kept as columns: query ``i`` owns the rows ``offsets[i]:offsets[i + 1]``."""

    queries: list[str]
    offsets: Ints
    notes: tuple[Note, ...]

    def with_warnings(self) -> Self:
        """Warn of what may be wrong with it.

        Returns
        -------
        Run or References
            Itself.

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.Run.from_lists({"q1": ["d1"]}).with_warnings()["q1"]
        ['d1']
        """
        warn_of(self.notes)
        return self

    @property
    def sizes(self) -> Ints:
        """Number of items of each query."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def codes(self) -> Ints:
        """Query index of each row."""
        return np.repeat(np.arange(len(self.queries)), self.sizes)

    @cached_property
    def places(self) -> dict[str, int]:
        """Index of each query."""
        return {name: place for place, name in enumerate(self.queries)}

    def place_of(self, query: str) -> int:
        """Return the index of a query; one that is named by a whole number is found by its text."""
        return self.places[str(query) if is_integer(query) else query]

    def rows(self, query: str) -> slice:
        """Return the rows of one query.

        Parameters
        ----------
        query : str
            Name of the query.

        Returns
        -------
        slice
            Its first row, and the one after its last.

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.Run.from_lists({"q1": ["d1"], "q2": ["d2", "d3"]}).rows("q2")
        slice(1, 3, None)
        """
        place = self.place_of(query)
        return slice(int(self.offsets[place]), int(self.offsets[place + 1]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)


def offsets_of(sizes: Ints) -> Ints:
    """Return where each of some consecutive parts begins, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.add.accumulate(sizes, out=offsets[1:])
    return offsets


def last_of_each(offsets: Ints, values: Ints) -> Ints:
    """Return the last value of each query's rows; 0 where there are none."""
    result = np.zeros(len(offsets) - 1, np.int64)
    filled = np.diff(offsets) > 0
    result[filled] = values[offsets[1:][filled] - 1]
    return result


@dataclass(eq=False)
class Rows:
    """Items of queries, with a score, a rank or a grade each.

    ``codes`` are the places of each row's query among ``queries``, where each is once. Rows are ``distinct`` where no
    item is known to have two of a query. Those that are ``listed`` have their order for a rank, so that an item may
    have several. ``rises`` tells whether lower scores have better ranks throughout; None where nothing shows that.
    Once arranged, ``repeats`` marks those whose item is further up; ``left_out`` counts those that do not count.
    ``origin`` is the row of each in the table or file that it is from, for errors.
    """

    queries: list[str]
    codes: Ints
    item: Ids
    value: Floats
    what: What = "score"
    distinct: bool = False
    listed: bool = False
    rises: bool | None = None
    repeats: Bools | None = None
    left_out: int = 0
    origin: Ints | None = None

    def numbered(self) -> Rows:
        """Return the rows of a table or file, whose errors name rows."""
        return replace(self, origin=np.arange(len(self.codes)))

    def take(self, rows: Ints) -> Rows:
        """Return some of the rows; a query may remain without any."""
        origin = None if self.origin is None else self.origin[rows]
        codes, item, value = self.codes[rows], ids.take(self.item, rows), self.value[rows]
        what, distinct, listed, rises, left_out = self.what, self.distinct, self.listed, self.rises, self.left_out
        return Rows(self.queries, codes, item, value, what, distinct, listed, rises, None, left_out, origin)

    def near(self, row: int) -> dict[str, Any]:
        """Name the query of a row, and where it is, in an error."""
        where = {} if self.origin is None else {"row": int(self.origin[row])}
        return {"query": self.queries[int(self.codes[row])], **where}

    def at(self, row: int) -> dict[str, Any]:
        """Name a row in an error."""
        return {**self.near(row), "item": self.item[int(row)]}


def plain_numbers(value: Mapping[Any, Any], what: What) -> Rows | None:
    """Return the rows of ``{query: {item: number}}`` where it is just that; None of what needs a closer look."""
    entries = list(value.values())
    if not set(map(type, entries)) <= {dict} or (what == "score" and not all(entries)):
        return None
    numbers = list(chain.from_iterable(map(dict.values, entries)))
    if not set(map(type, numbers)) <= PLAIN_NUMBERS:
        return None
    try:
        values = np.array(numbers, np.float64)
    except OverflowError:
        return None
    return _numbered(value, entries, values, what) if np.count_nonzero(np.isfinite(values)) == len(values) else None


def _numbered(value: Mapping[Any, Any], entries: list[Any], numbers: Floats, what: What) -> Rows:
    """Return the rows of checked entries, which are the values of ``value``, and of their numbers."""
    given = list(chain.from_iterable(entries))
    queries, items = named(value, value), named(value, given)
    codes = np.arange(len(entries)).repeat(list(map(len, entries)))
    return Rows(queries, codes, items, numbers, what, distinct=items == given)


def are_lists(entries: Iterable[Any]) -> bool:
    """Recognise plain lists of texts."""
    entries = list(entries)
    return set(map(type, entries)) <= {list} and set(map(type, chain.from_iterable(entries))) <= {str}


def of_numbers(value: Mapping[Any, Any], what: What, expected: str, words: Mapping[str, float] | None = None) -> Rows:
    """Return the rows of ``{query: {item: number}}``; ``words`` may stand for numbers."""
    if (rows := plain_numbers(value, what)) is not None:
        return rows
    value = {query: tables.check_mapping(entry, None, expected, query=query) for query, entry in value.items()}
    if what == "score":
        value = {query: entry for query, entry in value.items() if entry}
    entries = list(value.values())
    numbers = list(chain.from_iterable(entry.values() for entry in entries))
    if words:
        numbers = [words.get(number, number) if isinstance(number, str) else number for number in numbers]
    rows = _numbered(value, entries, np.zeros(len(numbers)), what)
    for row, number in enumerate(numbers):
        if not is_finite(number):
            fields = {"query": rows.queries[int(rows.codes[row])], "item": rows.item[row], "value": number}
            if what == "grade" and tables.is_word(number):
                raise DataError("word-for-grade", **fields)
            raise DataError("not-finite", name=what, **fields)
        rows.value[row] = float(number)
    return rows


def plain_series(query: Any, entry: Any) -> Any:
    """Return a Series of numbers of pandas as a dict; all else, such as a Series of items, as it is."""
    if not tables.is_series(entry):
        return entry
    kind, index = entry.dtype.kind, entry.index
    unnamed = index.dtype.kind in "iu" and index.name is None
    if unnamed if kind in "iu" else not unnamed and kind == "O" and all(map(is_finite, entry)):
        raise DataError("ids-or-scores", query=query)
    return tables.as_dict(entry, query=query) if kind in "iufb" else entry


def named(value: Mapping[Any, Iterable[Any]], names: Iterable[Any]) -> list[str]:
    """Return the names of queries, or of all their items, as ids; an error names the query."""
    try:
        found = ids.as_ids(names)
    except DataError:
        for query in value:
            with errors_at(query=query):
                ids.as_ids([query])
                ids.as_ids(value[query])
        raise
    if names is value and len(set(found)) < len(found):
        raise DataError("number-and-text", query=max(found, key=found.count))
    if names is value and 1 < len(found) <= len(tables.OURS) and {"query", "item"} <= {*map(tables.our_name, found)}:
        raise DataError("dict-of-columns", columns=found)
    return found


def is_finite(number: Any) -> bool:
    """Tell whether this is a finite number, or a text that Python reads as one."""
    try:
        plain = not isinstance(number, str | bytes) or (
            isinstance(number, str) and number.isascii() and "_" not in number
        )
        return plain and math.isfinite(float(number))
    except (TypeError, ValueError, OverflowError):
        return False


def check_lists(lists: Mapping[Any, Any]) -> None:
    """Refuse what has no order of its own in the place of a list."""
    for query, items in lists.items():
        if isinstance(items, Set) or not is_list(items) or hasattr(type(items), "columns"):
            raise DataError("wrong-form", query=query, expected="[best item, …]", value=items)
        first = items[0] if isinstance(items, list | tuple) and items else None
        if isinstance(first, list | tuple) and len(first) == 2 and is_number(first[1]):
            raise DataError("wrong-form", query=query, expected="{item: score}, as dict(pairs) makes it", value=first)


def of_lists(lists: Mapping[Any, Any]) -> Rows:
    """Return the rows of ``{query: [item, …]}``."""
    if not are_lists(lists.values()):
        check_lists(lists)
        lists = {query: items if isinstance(items, Sequence) else list(items) for query, items in lists.items()}
    sizes = np.fromiter(map(len, lists.values()), np.int64, len(lists))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(1.0, len(codes) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    queries, items = named(lists, lists), named(lists, chain.from_iterable(lists.values()))
    return Rows(queries, codes, items, rank, "rank", listed=True)


def of_frame(frame: pl.DataFrame, read: ReadOptions) -> Rows:
    """Return the rows of a run's table."""
    known = frame.columns
    frame = read.named(frame)
    others = [name for name in ("score", "rank", *tables.POSITIONS, "distance") if name in frame.columns]
    if "distance" in others and (others[0] == "distance" or ("score" not in others and read.chosen("distance"))):
        frame = frame.with_columns(score=-tables.number_column(frame, "distance", "a run"))  # the nearest is the best
    elif others and others[0] in tables.POSITIONS:  # which are ranks where nothing else orders a run
        frame = frame.rename({others[0]: "rank"})
    tables.check_one_system(frame)
    names = {*frame.columns}
    if not names & {"score", "rank"} and names & {"tiers", "grade", "items"}:
        raise DataError("looks-like-references")
    by_rank = read.order == "rank" or ("score" not in names and "rank" in names)
    what: What = "rank" if by_rank else "score"
    tables.check_columns(frame, ("query", "item", what), "a run", known)
    query, item = (tables.text_column(frame, name, "a run") for name in ("query", "item"))
    value = tables.number_column(frame, what, "a run").to_numpy()
    queries, codes = ids.numbered(query)
    ranked = not by_rank and "rank" in names
    rises = opposed(codes, read.keys(value), lambda count: _numbers(frame["rank"][:count])) if ranked else None
    return Rows(queries, codes, Words.of(item), value, what, rises=rises).numbered()


def climbs(rows: Rows) -> bool:
    """Tell whether scores rise from row to row nearly everywhere, as sorted distances do."""
    if len(rows.codes) <= CLIMB:
        return False
    same = rows.codes[1:] == rows.codes[:-1]
    steps = np.diff(rows.value)[same]
    return len(steps) >= CLIMB and bool((steps > 0).sum() >= 0.95 * len(steps))


def hidden(rows: Rows) -> str | None:
    """Return a name that holds characters which cannot be seen."""
    for names in (rows.queries, rows.item):
        if not ids.are_ascii(names) and any(map("".join(names).__contains__, tables.INVISIBLE)):
            return next(name for name in names if any(map(name.__contains__, tables.INVISIBLE)))
    return None


def _numbers(column: pl.Series) -> Floats | None:
    """Return a column as numbers; None where one is anything else."""
    numbers = None if column.dtype.is_nested() else column.cast(pl.Float64, strict=False)
    return None if numbers is None or numbers.null_count() else numbers.to_numpy()


def opposed(codes: Ints, keys: Keys, ranks_of: Callable[[int], Floats | None]) -> bool | None:
    """Tell whether lower scores have better ranks throughout; None where no two rows of a query differ.

    ``ranks_of`` returns the ranks of the first rows, about as many as asked for; None where one is no number.
    """
    rises = False
    for count in (min(FEW, len(codes)), len(codes)):  # few rows usually tell
        ranks = ranks_of(count)
        if ranks is None:
            return False
        rows = np.lexsort((ranks, codes[: len(ranks)]))
        same = codes[rows][1:] == codes[rows][:-1]
        upper, lower = keys[rows][:-1], keys[rows][1:]
        if (same & ((lower < upper) | (ranks[rows][1:] == ranks[rows][:-1]))).any():
            return False
        rises = bool((same & (lower > upper)).any())
    return rises or None


def counted_once(rows: Rows, counting: str | None) -> Rows:
    """Keep one row of each item, where it was chosen which: the first, last or best, or the mean of its grades."""
    if counting is None or rows.distinct:
        return rows
    again = ids.repeated(rows.codes, rows.item)
    if again is None:
        return replace(rows, distinct=True)
    if counting == "mean":
        if rows.what == "rank":
            raise UsageError("no-mean-of-ranks")
        kept = np.flatnonzero(~again)
        place = ids.Index(rows.codes[kept], ids.take(rows.item, kept)).places(rows.codes, rows.item)
        return replace(rows.take(kept), value=np.bincount(place, rows.value) / np.bincount(place), distinct=True)
    order = np.arange(len(again))
    if counting == "best":
        order = np.argsort(rows.value if rows.what == "rank" else -rows.value, kind="stable")
    elif counting == "last":
        order = order[::-1]
    again = ids.repeated(rows.codes[order], ids.take(rows.item, order))
    kept = np.sort(order if again is None else order[~again])
    return replace(rows.take(kept), distinct=True, left_out=rows.left_out + len(order) - len(kept))


def arranged(rows: Rows, read: ReadOptions) -> tuple[Rows, Ints, bool]:
    """Check the rows of a run, sort them by query and position, and keep the first positions of each query.

    Return also how many rows each query has, and whether any two of one query may be tied.
    """
    if read.collapse is not None:
        rows = replace(rows, item=ids.documents(rows.item, read.collapse), distinct=False)
    rows = rows if rows.distinct else counted_once(rows, read.counting)
    if rows.what == "rank" and read.ranks == "competition" and not rows.listed:  # ties are broken and counted
        rows = replace(rows, value=-rows.value, what="score")
    repeats = None if rows.distinct else ids.repeated(rows.codes, rows.item)
    if repeats is not None and not rows.listed:
        refuse_two_values(rows, repeats, "two-in-run")
    if rows.what == "rank" and not rows.listed:
        refuse_shared_rank(rows)
    by_rank = rows.what == "rank"
    keys: Keys = -rows.value if by_rank else read.keys(rows.value)
    order, tied = None, False
    if not rows.listed:
        order, keys, tied = _order(rows, keys, None if by_rank else read.rule.names_descend)
    sizes = np.bincount(rows.codes, minlength=len(rows.queries))
    if read.depth is not None and largest(sizes) > read.depth:
        kept, sizes = _cut(sizes, keys, read.depth, len(keys) if read.rule.open else LONGEST_TIE)
        order = kept if order is None else order[kept]
    if order is not None:
        rows = rows.take(order)
        repeats = None if repeats is None else ids.repeated(rows.codes, rows.item)
    return rows if repeats is None else replace(rows, repeats=repeats), sizes, tied


def _order(rows: Rows, keys: Keys, names_descend: bool | None) -> tuple[Ints | None, Keys, bool]:
    """Return the order of rows by query and position, None where they have it, the keys so, and whether any may tie."""
    codes, order, few = rows.codes, None, len(rows.codes) <= ids.FEW_ROWS
    if few or not ((codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (keys[1:] <= keys[:-1]))).all():
        order = ids.sorted_rows(codes, keys)
        codes, keys = codes[order], keys[order]
    tied = keys[1:] == keys[:-1]  # those of two queries as well
    any_tied = len(tied.nonzero()[0]) > 0
    if names_descend is None or not any_tied:
        return order, keys, any_tied
    tied &= codes[1:] == codes[:-1]
    again = np.append(False, tied)
    within = np.flatnonzero(again | np.append(tied, False))
    group = np.cumsum(~again[within])
    order = np.arange(len(codes)) if order is None else order
    order[within] = order[within][ids.sorted_within(group, ids.take(rows.item, order[within]), names_descend)]
    return order, keys, True


def _cut(sizes: Ints, keys: Keys, depth: int, longest: int) -> tuple[Ints, Ints]:
    """Find the first ``depth`` positions of each query, and what is tied with the last of them; and how many these are.

    Of a very long tie only the first are kept: they are enough to know that it decides.
    """
    begins = np.cumsum(sizes) - sizes
    kept = np.minimum(sizes, depth)
    longer = np.flatnonzero(sizes > depth)
    while len(longer):
        ends = begins[longer] + kept[longer]
        longer = longer[keys[ends] == keys[ends - 1]]
        kept[longer] += 1
        longer = longer[kept[longer] < np.minimum(sizes[longer], depth + longest)]
    return np.arange(kept.sum()) + np.repeat(begins - np.cumsum(kept) + kept, kept), kept


def refuse_two_values(rows: Rows, repeated: Bools, kind: str) -> None:
    """Refuse an item to which two rows of a query give different values."""
    seen: dict[tuple[int, str], float] = {}
    again = ids.listed(ids.take(rows.item, np.flatnonzero(repeated)))
    pairs = set(zip(rows.codes[repeated].tolist(), again, strict=True))
    for row, pair in enumerate(zip(rows.codes.tolist(), ids.listed(rows.item), strict=True)):
        if pair in pairs and seen.setdefault(pair, rows.value[row]) != rows.value[row]:
            raise DataError(kind, **rows.at(row), what=rows.what, a=seen[pair], b=rows.value[row])


def refuse_shared_rank(rows: Rows) -> None:
    """Refuse a rank that two items of a query have."""
    order = np.lexsort((rows.value, rows.codes))
    codes, ranks = rows.codes[order], rows.value[order]
    shared = np.flatnonzero((codes[1:] == codes[:-1]) & (ranks[1:] == ranks[:-1]))
    if len(shared):
        row = int(order[shared + 1].min())
        raise DataError("rank-twice", **rows.at(row), rank=rows.value[row])
