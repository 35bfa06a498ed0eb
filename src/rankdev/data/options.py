"""How input is read: one frozen value, made once per call, and passed on by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankdev._common.checks import check_choice, check_flag, check_whole, is_number
from rankdev.errors import DataError, Note, UsageError, warn

if TYPE_CHECKING:
    import polars as pl

    from rankdev._common.arrays import Floats, Keys

Order = Literal["score", "rank"]
Ties = Literal["trec_eval", "descending", "ascending", "given", "expected"]
Duplicates = Literal["first", "last", "best", "mean"]
Ranks = Literal["consecutive", "competition"]


@dataclass(frozen=True)
class TieRule:
    """How ties are broken: scores compared in ``single`` precision or not, then by item id, or not at all.

    Where the rule is ``open`` ties are not broken: measures return their mean over all orders, and ids only order what
    is shown.
    """

    summary: str
    single: bool
    names_descend: bool | None
    open: bool = False


TIE_RULES: dict[Ties, TieRule] = {
    "trec_eval": TieRule("as pytrec_eval: single precision, higher id first", single=True, names_descend=True),
    "descending": TieRule("as trec_eval 10: double precision, higher id first", single=False, names_descend=True),
    "ascending": TieRule("double precision, lower id first", single=False, names_descend=False),
    "given": TieRule("double precision, in the order of the source", single=False, names_descend=None),
    "expected": TieRule("double precision, the mean over all orders", single=False, names_descend=True, open=True),
}


@dataclass(frozen=True)
class Dialect:
    """What lines may hold besides their columns: comments, which begin with #, and columns after those of a run."""

    comments: bool = False
    further_columns: bool = False

    def uncommented(self, text: bytes) -> bytes:
        """Blank out comments; lines keep their numbers."""
        return _COMMENT.sub(b"", text) if self.comments and b"#" in text else text

    def cut(self, text: bytes) -> bytes:
        """Cut off the further columns of a run."""
        return _FURTHER.sub(rb"\1", text) if self.further_columns else text


PLAIN = Dialect()
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)
_FURTHER = re.compile(rb"^([ \t]*(?:[^ \t\r\n]+[ \t]+){5}[^ \t\r\n]+)[ \t][^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class ReadOptions:
    """How references and runs are read; what is None was not chosen, and a Run keeps its own.

    ``duplicates`` is which row of an item counts where a query has several: the first or the last of the source, the
    one with the highest score (the lowest rank), or the mean of the grades of references. ``columns`` are names of the
    source's columns by ours. ``ranks`` are consecutive, or skip as many as are tied: 1, 1, 1, 4. ``collapse`` is what
    separates the id of a document from the number of its chunk: the place of a document is that of its best chunk.
    ``depth`` is how many positions of a file are kept, and what is tied with them. ``grades`` are what words mean that
    stand for grades. What may make a number wrong is noted in ``notes``, or refused by ``strict`` calls.
    """

    order: Order | None = None
    ties: Ties | None = None
    duplicates: Duplicates | None = None
    columns: Mapping[str, str] | None = None
    ranks: Ranks | None = None
    collapse: str | None = None
    strict: bool = False
    depth: int | None = None
    dialect: Dialect = PLAIN
    grades: Mapping[str, float] | None = None
    notes: list[Note] = field(default_factory=list, compare=False, repr=False)
    met: set[str] = field(default_factory=set, compare=False, repr=False)  # chosen columns that some input has

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), known)
        if self.collapse is not None and (not isinstance(self.collapse, str) or not self.collapse):
            raise UsageError("not-a-separator", value=self.collapse)
        check_flag("strict", self.strict)
        if self.depth is not None:
            check_whole("depth", self.depth, 1)
        if self.grades is not None:
            check_words(self.grades)
        if self.columns is not None:
            from rankdev.data.tables import check_named  # these load libraries, and --help needs only names

            check_named(self.columns)

    @property
    def rule(self) -> TieRule:
        """How ties are broken."""
        return TIE_RULES[self.ties or "trec_eval"]

    @property
    def counting(self) -> Duplicates | None:
        """Which row of an item of a run counts; None where two values of an item are refused."""
        return (None if self.duplicates == "mean" else self.duplicates) or ("best" if self.collapse else None)

    def keys(self, values: Floats) -> Keys:
        """Return sort keys of scores, the highest first."""
        if not self.rule.single:
            return values
        import numpy as np  # the command line names rules before it has anything to order

        if 0 < len(values) <= FEW and max(values[values.argmax()], -values[values.argmin()]) <= SINGLE:
            return values.astype(np.float32)
        with np.errstate(over="ignore"):
            return values.astype(np.float32)

    def note(self, kind: str, /, **fields: Any) -> None:
        """Note something in the input that could make a number wrong; strict calls refuse it."""
        if self.strict:
            raise DataError(kind, **fields)
        self.notes.append(Note(kind, **fields))

    def but(self, **changes: Any) -> ReadOptions:
        """Return the same options with some changed to values that were checked before."""
        made = object.__new__(ReadOptions)
        object.__setattr__(made, "__dict__", vars(self) | changes)
        return made

    def named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rename the columns of a table to rankdev's names."""
        from rankdev.data.tables import known_names

        if self.columns:
            self.met.update(name for name in self.columns.values() if name in frame.columns)
        return known_names(frame, self.columns or {})

    def of_queries(self, value: Any) -> Any:
        """Name the columns of a table about queries, such as their weights; a dict or a Series is left as it is."""
        from rankdev.data.tables import as_dict, as_polars

        return value if isinstance(as_dict(value), Mapping) else self.named(as_polars(value))

    def chosen(self, name: str) -> str | None:
        """Return what the source calls a column or field, where that was chosen."""
        return (self.columns or {}).get(name)

    def check_met(self) -> None:
        """Note chosen columns that no input had; others than references and runs are read elsewhere."""
        columns = self.columns or {}
        if unmet := [columns[name] for name in columns if name not in OF_QUERIES and columns[name] not in self.met]:
            self.note("unmet-columns", names=unmet)


def check_words(grades: object) -> None:
    """Check that words have numbers as their grades."""
    if not isinstance(grades, Mapping) or not all(isinstance(word, str) and is_number(grades[word]) for word in grades):
        raise UsageError("not-words", value=grades)


_CHOICES: dict[str, tuple[str, ...]] = {
    "order": get_args(Order),
    "ties": tuple(TIE_RULES),
    "duplicates": get_args(Duplicates),
    "ranks": get_args(Ranks),
}
OF_QUERIES = ("weight", "segment", "cluster")
DEFAULT = ReadOptions()
SINGLE = 3.4e38  # the highest number in single precision is just above
FEW = 1000  # scores that are looked at sooner than one can prepare for higher ones


def warn_of(notes: Iterable[Note]) -> None:
    """Warn of what was noted, at the line of the caller."""
    for note in notes:
        warn(note)


def check_one_order(ties: str | None, what: str) -> None:
    """Refuse a rule that does not break ties, for what needs a single order."""
    if isinstance(ties, str) and ties in TIE_RULES and TIE_RULES[ties].open:
        raise UsageError("needs-order", what=what, ties=ties)
