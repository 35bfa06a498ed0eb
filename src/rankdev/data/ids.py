"""Ids are text, and whole numbers are taken by their text; and columns of ids.

A column is a list where it comes from Python or a small file, and words of eight bytes where from a table or more:
these are found, compared and sorted as numbers. This is the only file that knows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from numbers import Integral
from typing import Any, TypeAlias, TypeVar
from unicodedata import normalize

import numpy as np

from rankdev._common.arrays import Bools, Ints, Keys, Unsigned
from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError

Value = TypeVar("Value")
Ids: TypeAlias = "list[str] | Words"

FEW_ROWS = 1_000  # that are sorted as fast as one sees that they need not be
ROWS = 1 << 16  # names that become words at once: what that takes stays in the cache
WIDE = 32  # bytes that a name may take at least, and four times what it has on average: one may be far longer
LONG = 1 << 10  # bytes that a name may take at most: each word is a step in Python, and texts take one a name
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose multiples are spread evenly (Knuth 1998, 6.4)
FIRST = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # marks the first bytes of a word


class Words:
    """Names as rows of words of eight bytes: their UTF-8, which has no zero, padded with zeros."""

    def __init__(self, words: Unsigned) -> None:
        self.words = words

    @classmethod
    def within(cls, text: bytes, begin: Ints, end: Ints) -> Ids:
        """Return names that are parts of a text, which ends with eight bytes more."""
        size = end - begin
        count = -(-int(size.max(initial=1)) // 8)
        if _wasteful(count, len(size), int(size.sum())):
            return [text[a:b].decode() for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
        there = words_of(text)
        if count == 1:
            return cls((there[begin] & FIRST.take(size))[:, None])
        words = np.empty((len(size), count), np.uint64)
        for at in range(count):
            first = np.minimum(begin + 8 * at, len(there) - 1)
            words[:, at] = there[first] & FIRST.take(size - 8 * at, mode="clip")
        return cls(words)

    @classmethod
    def of(cls, names: list[str] | pl.Series) -> Ids:
        """Return the names of a list or of a polars column; as a list where one holds the end of a line, or a zero."""
        if len(names) > ROWS:
            return joined([cls.of(names[at : at + ROWS]) for at in range(0, len(names), ROWS)])
        if isinstance(names, list):
            whole = "".join(names)
            sizes = np.fromiter(map(len, names if whole.isascii() else map(str.encode, names)), np.int64, len(names))
        else:
            whole, sizes = names.str.join("").item(), names.str.len_bytes().to_numpy().astype(np.int64)
        if "\n" in whole or "\0" in whole:
            return listed(names)
        ends = sizes.cumsum()
        return cls.within(whole.encode() + bytes(8), ends - sizes, ends)

    def to_list(self) -> list[str]:
        """Return the names as texts."""
        lines = np.full((len(self.words), 8 * self.words.shape[1] + 1), ord("\n"), np.uint8)
        lines[:, :-1] = self.words.astype("<u8", copy=False).view(np.uint8)
        return lines[lines > 0].tobytes().decode().split("\n")[:-1]

    def hashed(self) -> Unsigned:
        """Return a number of each name; names of one word have different ones."""
        mixed = self.words[:, 0] * _GOLDEN
        for at, column in enumerate(self.words.T[1:], start=2):  # a further word of zeros changes nothing
            mixed += column * np.uint64(pow(int(_GOLDEN), at, 1 << 64))
        return (mixed ^ (mixed >> np.uint64(32))) * _GOLDEN

    def widened(self, count: int) -> Unsigned:
        """Return the words with zeros behind them, as many as names of ``count`` words have."""
        more = count - self.words.shape[1]
        return self.words if more <= 0 else np.pad(self.words, ((0, 0), (0, more)))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    def __getitem__(self, rows: Any) -> Any:
        return Words(self.words[rows, None]).to_list()[0] if is_integer(rows) else Words(self.words[rows])


def _wasteful(count: int, names: int, size: int) -> bool:
    """Tell whether so many words of each name would take far more room than the bytes that they have, or time."""
    return 8 * count > LONG or (8 * count > WIDE and 8 * count * names > 4 * size)


def words_of(text: bytes) -> Unsigned:
    """Return the word of eight bytes that begins at each byte of a text."""
    return np.ndarray(len(text) - 7, "<u8", text, strides=(1,))


def as_id(value: object) -> str:
    """Return an identifier as text; whole numbers are accepted, other types are not."""
    if isinstance(value, str) and value:
        return value
    if is_integer(value):
        return str(value)
    if hasattr(value, "as_py"):  # of an Arrow array
        return as_id(value.as_py())
    raise DataError("not-an-id", value=value)


def by_id(values: Mapping[Any, Value]) -> dict[str, Value]:
    """Return what is known by ids, whole numbers among them, by their text."""
    return {str(key) if is_integer(key) else key: values[key] for key in values}


def is_integer(value: object) -> bool:
    """Tell whether an id is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    """Make a column of text; refuse half a surrogate pair, which is not text."""
    refuse_lost_threads()
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError("not-text", value=error.object) from None


def as_ids(values: Iterable[Any]) -> list[str]:
    """Return ids as text; whole numbers are accepted."""
    names = values if type(values) is list else list(values)
    if not set(map(type, names)) <= {str} or "" in names:
        names = [str(as_id(name)) for name in names]
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        text_series("", names)  # refuses half a surrogate pair by name
    return names


def take(names: Ids, rows: Ints) -> Ids:
    """Return the ids of some rows."""
    return list(map(names.__getitem__, rows.tolist())) if isinstance(names, list) else names[rows]


def are_ascii(names: Ids) -> bool:
    """Tell whether all names are ASCII, and none of them holds anything that cannot be seen."""
    if isinstance(names, list):
        return "".join(names).isascii()
    return not (np.bitwise_or.reduce(names.words, axis=None) & np.uint64(0x8080808080808080))


def listed(names: Ids | pl.Series) -> list[str]:
    """Return ids as a list."""
    return names if isinstance(names, list) else names.to_list()


def series(names: Ids, name: str = "item") -> pl.Series:
    """Return ids as a polars column."""
    return text_series(name, listed(names))


def joined(parts: Sequence[Ids]) -> Ids:
    """Return ids one after the other."""
    words = [part for part in parts if isinstance(part, Words)]
    count = max((part.words.shape[1] for part in words), default=0)
    if len(words) < len(parts) or _wasteful(count, sum(map(len, words)), sum(part.words.nbytes for part in words)):
        return [name for part in parts for name in listed(part)]
    return Words(np.concatenate([part.widened(count) for part in words]))


def numbered(names: Ids | pl.Series) -> tuple[list[str], Ints]:
    """Return different names in order of appearance, and the number of each row's name."""
    if isinstance(names, list):
        first = {name: code for code, name in enumerate(dict.fromkeys(names))}
        return list(first), np.fromiter(map(first.__getitem__, names), np.int64, len(names))
    if isinstance(names, Words):
        new = np.logical_or.reduce([column[1:] != column[:-1] for column in names.words.T])
        heads = np.flatnonzero(np.append(True, new)[: len(names)])
        blocks, sizes = names[heads].to_list(), np.diff(heads, append=len(names))
    else:
        runs = names.rle().struct.unnest()
        blocks, sizes = runs["value"].to_list(), runs["len"].to_numpy()
    different, codes = numbered(blocks)
    return different, codes.repeat(sizes)


def repeated(codes: Ints, names: Ids) -> Bools | None:
    """Mark rows whose (code, name) was in an earlier row; None where there is none."""
    if isinstance(names, Words):
        rows = _suspects(codes, names.hashed())  # equal numbers are only a suspicion: compare the names themselves
    elif (codes[1:] >= codes[:-1]).all() and all(len(set(names[a:b])) == b - a for _, a, b in stretches(codes)):
        return None
    else:
        rows = np.arange(len(names))
    pairs = zip(codes[rows].tolist(), listed(take(names, rows)), strict=True)
    first: dict[tuple[int, str], int] = {}
    marks = np.zeros(len(names), bool)
    marks[rows] = [first.setdefault(pair, row) != row for row, pair in enumerate(pairs)]
    return marks if marks.any() else None


def _suspects(codes: Ints, keys: Unsigned) -> Ints:
    """Find rows whose key a query has twice, among others; far faster where queries are adjacent and about as long."""
    sizes = np.bincount(codes)
    width = int(sizes.max(initial=0))
    if len(sizes) * width <= 2 * len(keys) and (codes[1:] >= codes[:-1]).all():
        ordered, column = keys, np.arange(width)
        if len(sizes) * width > len(keys):
            ordered = np.tile(~column.astype(np.uint64), (len(sizes), 1))  # all different, where a query is shorter
            ordered[column < sizes[:, None]] = keys
        ordered = np.sort(ordered.reshape(-1, width), axis=1)
    else:
        keys = keys ^ (codes.astype(np.uint64) * _GOLDEN)
        ordered = np.sort(keys)
    return np.flatnonzero(np.isin(keys, ordered[..., 1:][ordered[..., 1:] == ordered[..., :-1]]))


def sorted_within(groups: Ints, names: Ids, descending: bool) -> Ints:
    """Order rows by group, then by name; equal names as they are."""
    if isinstance(names, list):
        rows = sorted(range(len(names)), key=names.__getitem__, reverse=descending)
        return np.array(sorted(rows, key=groups.tolist().__getitem__), np.int64)
    keys = names.words.byteswap().T[::-1]  # the first word counts most, and in it the first byte
    return np.lexsort((*(~keys if descending else keys), groups))


def documents(names: Ids, separator: str) -> Ids:
    """Return the document of each chunk: what is before the last separator, or all of it where there is none."""
    return [name.rpartition(separator)[0] or name for name in listed(names)]


def folded(name: str) -> str:
    """Return a name without what may differ by accident: case, blanks, Unicode form, and how a number is written."""
    same = name.lower() if name.isascii() else normalize("NFC", normalize("NFC", name).lower())
    return "".join(same.split()).lstrip("0").removesuffix(".0")


def stretches(codes: Ints) -> Iterator[tuple[int, int, int]]:
    """Return the code of each stretch of equal codes, and where it begins and ends."""
    last = (codes[1:] != codes[:-1]).nonzero()[0].tolist()
    begins = [0, *map((1).__add__, last)] if len(codes) else []
    return zip(map(codes.item, begins), begins, [*begins[1:], len(codes)], strict=False)


class Index:
    """Finds (code, name) among known ones, which are different."""

    def __init__(self, codes: Ints, known: Ids) -> None:
        self._codes, self._known = codes, known

    def places(self, codes: Ints, names: Ids) -> Ints:
        """Return where each (code, name) is; -1 where it is not."""
        if isinstance(names, list) or self._words is None:
            return self._among(codes, listed(names))
        keys = _keys(codes, names)
        known, places = self._sorted
        found = np.flatnonzero(self._sieve[keys & np.uint64(len(self._sieve) - 1)])
        at = np.minimum(np.searchsorted(known, keys[found]), len(known) - 1)
        same = known[at] == keys[found]
        found = found[same]
        place = np.full(len(keys), -1)
        place[found] = places[at[same]]
        count = max(names.words.shape[1], self._words.words.shape[1])
        same_name = (names[found].widened(count) == self._words[places[at[same]]].widened(count)).all()
        if same_name and (codes[found] == self._codes[place[found]]).all() and (known[1:] != known[:-1]).all():
            return place
        return self._among(codes, listed(names))  # two keys are the same by chance

    def _among(self, codes: Ints, names: list[str]) -> Ints:
        found: list[int] = []
        nothing: dict[str, int] = {}
        for code, a, b in stretches(codes):
            found += map(self._by_code.get(code, nothing).get, names[a:b], repeat(-1))
        return np.array(found, np.int64)

    @cached_property
    def _by_code(self) -> dict[int, dict[str, int]]:
        names = listed(self._known)
        found: dict[int, dict[str, int]] = {}
        for code, a, b in stretches(self._codes):
            found.setdefault(code, {}).update(zip(names[a:b], range(a, b), strict=True))
        return found

    @cached_property
    def _words(self) -> Words | None:
        """The known ones as words, if they can be that."""
        known = Words.of(self._known) if isinstance(self._known, list) else self._known
        return known if isinstance(known, Words) else None

    @cached_property
    def _sorted(self) -> tuple[Unsigned, Ints]:
        """Keys of the known ones in order, and the place of each."""
        assert self._words is not None
        keys = _keys(self._codes, self._words)
        order = np.argsort(keys, kind="stable")  # which is fast on keys that are in order code by code
        return keys[order], order

    @cached_property
    def _sieve(self) -> Bools:
        """Mark the low bits of all keys: most names are excluded by them."""
        keys, _ = self._sorted
        sieve = np.zeros(1 << (2 * len(keys)).bit_length(), bool)
        sieve[keys & np.uint64(len(sieve) - 1)] = True
        return sieve


def _keys(codes: Ints, names: Words) -> Unsigned:
    """Number each (code, name), the code first, so that the keys of one query lie together."""
    return (codes.astype(np.uint64) << np.uint64(40)) ^ (names.hashed() >> np.uint64(24))


def sorted_rows(codes: Ints, keys: Keys) -> Ints:
    """Order rows by code and falling key, equal ones as they are; many by a table where codes have about as many."""
    if len(codes) <= FEW_ROWS:
        falling = (-keys).argsort(kind="stable")
        return falling[codes[falling].argsort(kind="stable")]
    if np.abs(keys).max() < 2**15 and ((grades := keys.astype(np.int16)) == keys).all():  # which are sorted faster
        return np.lexsort((-grades, codes))
    sizes = np.bincount(codes)
    width = int(sizes.max(initial=0))
    if len(sizes) * width > 2 * len(codes) or (codes[1:] < codes[:-1]).any():
        return np.lexsort((-keys, codes))
    inside = np.arange(width) < sizes[:, None]
    if keys.dtype == np.float32:  # with its row, each is another whole number, and these are sorted far faster
        bits = (0 - keys).view(np.int32)
        numbers = np.full(inside.shape, 2**63 - 1)
        numbers[inside] = (bits ^ (bits >> 31 & 0x7FFFFFFF)).astype(np.int64) << 32 | np.arange(len(keys))
        numbers.sort(axis=1)
        return numbers[inside] & 0xFFFFFFFF
    table = np.full(inside.shape, np.inf)
    table[inside] = -keys
    begins = (np.cumsum(sizes) - sizes)[:, None]
    return np.asarray((np.argsort(table, axis=1, kind="stable") + begins)[inside])
