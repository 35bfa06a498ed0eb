"""Items of many queries, one after the other: a column, or the lines that compiled code made of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Ints
from rankdev.native.pieces import PackedNames

if TYPE_CHECKING:
    import polars as pl

BYTE_ORDER_MARK = "\ufeff".encode()


@dataclass(frozen=True, eq=False)
class Items:
    """Names of items, given as a column or packed; large files are often scored without a column of all their names."""

    given: pl.Series | PackedNames

    @cached_property
    def column(self) -> pl.Series:
        """The names, made of the lines when they are first looked at."""
        return column_of_lines("item", self.given.text) if isinstance(self.given, PackedNames) else self.given

    def packed(self, offsets: Ints) -> PackedNames:
        """Give the names as the compiled library takes them, those of query ``i`` from ``offsets[i]`` on."""
        return self.given if isinstance(self.given, PackedNames) else packed_names(self.given, offsets)


def packed_names(names: pl.Series, offsets: Ints | None = None) -> PackedNames:
    """Pack names, or lists of names that begin at ``offsets``."""
    import polars as pl

    bounds = (names.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_numpy()
    if offsets is not None:
        bounds = np.concatenate([[0], bounds])[offsets]
    text: bytes = names.str.join("\n").cast(pl.Binary).item()
    if text.count(b"\n") >= max(1, len(names)):  # no name in a TREC file has a newline: a blank is not found either
        return packed_names(names.str.replace_all("\n", " "), offsets)
    return PackedNames(np.frombuffer(text or b"\n", np.uint8), np.ascontiguousarray(bounds))


def column_of_lines(name: str, lines: npt.NDArray[np.uint8]) -> pl.Series:
    """Make a column of names that are lines, which polars reads fastest as a table."""
    import polars as pl

    if not len(lines):
        return pl.Series(name, [], pl.String)
    text = b"".join([BYTE_ORDER_MARK, lines.data])  # which polars drops, and does not guess at what follows
    table = pl.read_csv(text, has_header=False, separator=" ", quote_char=None, schema={name: pl.String})
    return table[name].rechunk()
