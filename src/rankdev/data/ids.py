"""Ids are text, and whole numbers are taken by their text; and columns of ids.

A column is a list where it comes from Python or a small file, a polars column where from a table or more. This is the
only file that knows both; polars is imported when a column of it arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from numbers import Integral
from typing import Any, TypeAlias, TypeVar
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Ints, Keys
from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError

Value = TypeVar("Value")
Ids: TypeAlias = "list[str] | pl.Series"

FEW = 20_000  # ids that a dict finds faster
FEW_ROWS = 1_000  # that are sorted as fast as one sees that they need not be


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


def places_in(known: pl.Series, values: pl.Series) -> Ints:
    """Return where each value is in a column of different ones; -1 where it is not."""
    lookup = pl.DataFrame({"name": known, "place": pl.int_range(len(known), eager=True)})
    found = pl.DataFrame({"name": values}).join(lookup, on="name", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy()


def as_ids(values: Iterable[Any]) -> list[str]:
    """Return ids as text; whole numbers are accepted."""
    names = values if type(values) is list else list(values)
    if not set(map(type, names)) <= {str} or "" in names:
        names = [str(as_id(name)) for name in names]
    whole = "".join(names)
    if not whole.isascii():
        try:
            whole.encode()
        except UnicodeEncodeError:  # half a surrogate pair
            wrong = next(
                name for name in names if name.encode("utf-8", "replace") != name.encode("utf-8", "surrogatepass")
            )
            raise DataError("not-text", value=wrong) from None
    return names


def take(names: Ids, rows: Ints | slice) -> Ids:
    """Return the ids of some rows."""
    if isinstance(rows, slice):
        return names[rows]
    return list(map(names.__getitem__, rows.tolist())) if isinstance(names, list) else names.gather(rows)


def listed(names: Ids) -> list[str]:
    """Return ids as a list."""
    return names if isinstance(names, list) else names.to_list()


def series(names: Ids, name: str = "item") -> pl.Series:
    """Return ids as a polars column."""
    return text_series(name, names) if isinstance(names, list) else names.alias(name)


def joined(parts: Sequence[Ids]) -> Ids:
    """Return ids one after the other."""
    if all(isinstance(part, list) for part in parts):
        return [name for part in parts for name in part]
    return pl.concat([series(part) for part in parts], rechunk=True)


def numbered(names: Ids) -> tuple[list[str], Ints]:
    """Return different names in order of appearance, and the number of each row's name."""
    if isinstance(names, list):
        first = {name: code for code, name in enumerate(dict.fromkeys(names))}
        return list(first), np.fromiter(map(first.__getitem__, names), np.int64, len(names))
    if not len(names):
        return [], np.zeros(0, np.int64)
    blocks = names.rle().struct.unnest()
    if 4 * blocks.height < len(names):
        heads, codes = numbered(blocks["value"].to_list())
        return heads, codes.repeat(blocks["len"].to_numpy())
    known = names.unique(maintain_order=True)
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known))})
    places = pl.DataFrame({"name": names}).join(lookup, on="name", how="left", maintain_order="left")["code"]
    return known.to_list(), places.to_numpy()


def repeated(codes: Ints, names: Ids) -> Bools | None:
    """Mark rows whose (code, name) was in an earlier row; None where there is none."""
    if isinstance(names, list):
        if (codes[1:] >= codes[:-1]).all() and all(len(set(names[a:b])) == b - a for _, a, b in stretches(codes)):
            return None
        pairs = list(zip(codes.tolist(), names, strict=True))
        if len(set(pairs)) == len(pairs):
            return None
        first: dict[tuple[int, str], int] = {}
        return np.array([first.setdefault(pair, row) != row for row, pair in enumerate(pairs)])
    rows = _suspects(codes, names.hash().to_numpy())  # equal hashes are only a suspicion: compare the names themselves
    if not len(rows):
        return None
    marks = np.zeros(len(names), bool)
    pairs_of = pl.DataFrame({"code": codes[rows], "name": names.gather(rows)})
    marks[rows] = ~pairs_of.select(pl.struct("code", "name").is_first_distinct()).to_series().to_numpy()
    return marks if marks.any() else None


def _suspects(codes: Ints, keys: npt.NDArray[np.uint64]) -> Ints:
    """Find rows whose key a query has twice, among others; far faster where queries are adjacent and about as long."""
    sizes = np.bincount(codes)
    width = int(sizes.max(initial=0))
    if len(sizes) * width <= 2 * len(keys) and (codes[1:] >= codes[:-1]).all():
        column = np.arange(width)
        ordered = np.tile(~column.astype(np.uint64), (len(sizes), 1))  # all different, where a query is shorter
        ordered[column < sizes[:, None]] = keys
        ordered.sort(axis=1)
    else:
        keys = keys ^ (codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        ordered = np.sort(keys)
    return np.flatnonzero(np.isin(keys, ordered[..., 1:][ordered[..., 1:] == ordered[..., :-1]]))


def sorted_within(groups: Ints, names: Ids, descending: bool) -> Ints:
    """Order rows by group, then by name; equal names as they are."""
    if isinstance(names, list):
        rows = sorted(range(len(names)), key=names.__getitem__, reverse=descending)
        return np.array(sorted(rows, key=groups.tolist().__getitem__), np.int64)
    frame = pl.DataFrame({"group": groups, "name": names, "row": np.arange(len(names))})
    return frame.sort("group", "name", "row", descending=[False, descending, False])["row"].to_numpy()


def documents(names: Ids, separator: str) -> Ids:
    """Return the document of each chunk: what is before the last separator, or all of it where there is none."""
    if isinstance(names, list):
        return [name.rpartition(separator)[0] or name for name in names]
    parts = pl.col("item").str.split(separator)
    cut = parts.list.head(parts.list.len() - 1).list.join(separator)
    frame = pl.DataFrame({"item": names})
    return frame.select(pl.when(cut == "").then("item").otherwise(cut).alias("item"))["item"]


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
        if isinstance(names, list) or len(names) < FEW:
            return self._among(codes, listed(names))
        keys = _keys(codes, names)
        known, places = self._sorted
        found = np.arange(len(keys))
        if len(keys) > len(known):  # else the sieve would cost more than it saves
            found = np.flatnonzero(self._sieve[keys & np.uint64(len(self._sieve) - 1)])
        at = np.minimum(np.searchsorted(known, keys[found]), len(known) - 1)
        same = known[at] == keys[found]
        found = found[same]
        place = np.full(len(keys), -1)
        place[found] = places[at[same]]
        same_name = names.gather(found).equals(series(self._known).gather(place[found]))
        if same_name and (codes[found] == self._codes[place[found]]).all() and (known[1:] != known[:-1]).all():
            return place
        return self._among(codes, names.to_list())  # two keys are the same by chance

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
    def _sorted(self) -> tuple[npt.NDArray[np.uint64], Ints]:
        """Keys of the known ones in order, and the place of each."""
        keys = _keys(self._codes, series(self._known))
        order = np.argsort(keys, kind="stable")  # which is fast on keys that are in order code by code
        return keys[order], order

    @cached_property
    def _sieve(self) -> Bools:
        """Mark the low bits of all keys: most names are excluded by them."""
        keys, _ = self._sorted
        sieve = np.zeros(1 << (8 * len(keys)).bit_length(), bool)
        sieve[keys & np.uint64(len(sieve) - 1)] = True
        return sieve


def _keys(codes: Ints, names: pl.Series) -> npt.NDArray[np.uint64]:
    """Number each (code, name), the code first, so that the keys of one query lie together."""
    return (codes.astype(np.uint64) << np.uint64(40)) ^ (names.hash().to_numpy() >> np.uint64(24))


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
    table = np.full(inside.shape, np.inf)
    table[inside] = -keys
    begins = (np.cumsum(sizes) - sizes)[:, None]
    return np.asarray((np.argsort(table, axis=1, kind="stable") + begins)[inside])
