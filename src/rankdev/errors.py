"""Errors, warnings and notes: each has a kind and fields; the sentences are in :mod:`rankdev.messages`."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from numbers import Real
from pathlib import Path
from reprlib import Repr
from typing import Any, Self
from unicodedata import category

_PACKAGE = str(Path(__file__).parent) + os.sep


class _Message:
    """What errors, warnings and notes share: a kind, fields, and the sentence that :mod:`rankdev.messages` has for it.

    A kind is part of the interface, its sentence is not. Fields are plain values: all of this can be pickled.
    """

    def __init__(self, kind: str, /, **fields: Any) -> None:
        self.kind = kind
        self.fields = {name: plain(value) for name, value in fields.items()}

    def sentence(self, options: Mapping[str, str] | None = None) -> str:
        """Return the sentence; with ``options``, parameters are written as the options of a command."""
        from rankdev.messages import sentence

        return sentence(self.kind, self.fields, options)

    def __str__(self) -> str:
        return self.sentence()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.kind, self.fields)


def _again(make: Callable[..., Any], kind: str, fields: Mapping[str, Any]) -> Any:
    """Make an error, a warning or a note again from what was pickled."""
    return make(kind, **fields)


class RankdevError(_Message, Exception):
    """Base class of all errors that rankdev raises on purpose.

    Parameters
    ----------
    kind : str
        What is wrong, in one or two words; programs may rely on it.
    **fields : Any
        What it is about. Of ``path``, ``line``, ``system``, ``query`` and the like, those that the sentence does not
        name stand before it.

    Attributes
    ----------
    kind : str
        What is wrong.
    fields : dict
        What it is about, as plain values.
    exit_status : int
        What the command line returns for it.

    Examples
    --------
    >>> import rankdev as rd
    >>> try:
    ...     rd.parse("RDQ(alpha=-1)@5")
    ... except rd.RankdevError as error:
    ...     print(error)
    RDQ: alpha is -1.0; expected a number above 0
    """

    exit_status = 1

    def at(self, **where: Any) -> Self:
        """Add where it happened, and return the error; what is known already stays."""
        self.fields = {name: plain(value) for name, value in where.items() if value is not None} | self.fields
        return self


class DataError(RankdevError, ValueError):
    """The data are wrong: a file, a query, an item or a row that cannot be used.

    Examples
    --------
    >>> import rankdev as rd
    >>> rd.Reference({"d1": 2})
    Traceback (most recent call last):
    rankdev.errors.DataError: rank 1 is missing; ranks must be consecutive from 1
    """


class UsageError(RankdevError, ValueError):
    """The call is wrong: a parameter, a measure or a name that does not exist or is impossible.

    Examples
    --------
    >>> import rankdev as rd
    >>> rd.evaluate({"q": ["d1"]}, {}, "AP")
    Traceback (most recent call last):
    rankdev.errors.UsageError: no run was given; give at least one
    """

    exit_status = 2


class MeasureError(UsageError):
    """A measure that cannot be parsed, or whose parameters are impossible.

    Examples
    --------
    >>> import rankdev as rd
    >>> rd.parse("RPB@10")
    Traceback (most recent call last):
    rankdev.errors.MeasureError: unknown measure 'RPB'; did you mean RBP@10? (see rankdev measures)
    """


class MissingExtraError(RankdevError, ImportError):
    """An optional dependency is not installed: ``package``, for a ``purpose``; the ``extra`` of rankdev installs it."""

    exit_status = 2

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__("missing-extra", package=package, extra=extra, purpose=purpose)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.fields.values())


class RankdevWarning(_Message, UserWarning):
    """Something was repaired, skipped or is ambiguous; the result is valid, with this caveat.

    It has a ``kind`` and ``fields``, as errors have.

    Examples
    --------
    >>> import warnings
    >>> import rankdev as rd
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", rd.RankdevWarning)
    ...     run = rd.Run.from_lists({"q": ["d1", "d1"]})
    >>> print(caught[0].message)
    1 item is returned twice for the same query, such as 'd1' for 'q'; only the first occurrence counts
    """


class Note(_Message, str):
    """A remark of a result: its sentence as text, with a ``kind`` and ``fields``.

    Examples
    --------
    >>> Note("missing", runs=[("bm25", 1)], count=1, queries=40)
    'bm25: 1 of 40 queries is not in the run; it scores 0'
    """

    def __new__(cls, kind: str, /, **fields: Any) -> Self:
        """Look up the sentence."""
        from rankdev.messages import sentence

        return super().__new__(cls, sentence(kind, {name: plain(value) for name, value in fields.items()}))

    __str__ = str.__str__

    def at(self, **where: Any) -> Self:
        """Return the note with where it belongs; what is known already stays."""
        return type(self)(self.kind, **where | self.fields)


def warn(kind: str, /, **fields: Any) -> None:
    """Warn of something that the user's own line, not one of rankdev, has to do with; or of a note."""
    if isinstance(kind, Note):
        fields, kind = kind.fields, kind.kind
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(RankdevWarning(kind, **fields), stacklevel=level)


@contextmanager
def errors_at(**where: Any) -> Iterator[None]:
    """Add where it happened to what is wrong with data inside."""
    try:
        yield
    except DataError as error:
        raise error.at(**where) from None


def several(errors: Sequence[RankdevError]) -> RankdevError:
    """Make one error of what is wrong with several inputs."""
    if len(errors) == 1:
        return errors[0]
    kind = DataError if any(isinstance(error, DataError) for error in errors) else UsageError
    return kind("several", errors=errors)


def plain(value: Any, depth: int = 3) -> Any:
    """Return a value that can be pickled and shown: what is no text, number, error or list of them becomes text."""
    if isinstance(value, Real) and hasattr(value, "item"):  # a number of NumPy
        return value.item()
    if value is None or isinstance(value, str | bytes | int | float | RankdevError):
        return value
    if isinstance(value, list | tuple) and depth:
        entries = [plain(entry, depth - 1) for entry in value]
        return entries if isinstance(value, list) else tuple(entries)
    if isinstance(value, Real | Path):
        return str(value)
    return Shown(shown(value))


class Shown(str):
    """A value as a message shows it."""


def nearest(word: object, known: Iterable[str]) -> str | None:
    """Return the known word nearest to ``word``, or None where none is near.

    >>> nearest("RPB", ["RBP", "RDQ"]), nearest("BPM", ["RBP", "RDQ"]), nearest("Prec", ["P", "Precision"])
    ('RBP', None, 'Precision')
    >>> nearest("set", ["Settings", "SET"]), nearest("evaluate", ["compare", "eval"])
    ('SET', 'eval')
    """
    word = str(word)
    names: dict[str, str] = {}
    for name in islice(known, 1000):
        names.setdefault(name.lower(), name)
    begun = word.lower() if len(word) > 2 else " "
    slips = {name: _slips(word.lower()[:100], name[:100]) for name in names}
    slips |= {
        name: min(slips[name], 1)
        for name in names
        if name.startswith(begun)
        or (len(name) > 3 and word.lower().startswith(name))
        or (len(word) > 3 and word.lower() in name)
    }
    found = min(slips, key=slips.__getitem__, default="")
    allowed = min(1 + len(word) // 4, len(word) - 1) if word else -1
    return names[found] if found and slips[found] <= allowed else None


def _slips(a: str, b: str) -> int:
    """Count the letters to insert, leave out, replace or swap with a neighbour to make one word of another."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (x != y)))
            if i and j and x == b[j - 1] and a[i - 1] == y:
                row[j + 1] = min(row[j + 1], before[j - 1] + 1)
        before = above
    return row[-1]


def shown(value: object) -> str:
    """Format a value for a message: on one line, and cut in the middle where it is long.

    >>> shown("d1"), len(shown("x" * 1000))
    ("'d1'", 60)
    """
    if isinstance(value, Shown):
        return value
    try:
        return printable(_BRIEF.repr(value))
    except ValueError:  # a number of thousands of digits, which Python does not write
        return "a very large number"


def some_of(names: Sequence[str], most: int = 8) -> str:
    """Name the first of some things, and count the others.

    >>> some_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number: int, noun: str, verb: str = "", *, of: int | None = None) -> str:
    """Return a count as text, with a verb where one follows; with ``of``, the noun agrees with the whole.

    >>> counted(1, "pair"), counted(1200, "query", "has"), counted(1, "query", "has", of=5)
    ('1 pair', '1,200 queries have', '1 of 5 queries has')
    """
    if (number if of is None else of) != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    if number != 1:
        verb = {"is": "are", "was": "were", "has": "have", "does": "do"}.get(verb, verb.removesuffix("s"))
    whole = "" if of is None else f" of {of:,}"
    return f"{number:,}{whole} {noun} {verb}".rstrip()


def decimals(*values: float, least: int = 3) -> int:
    """Return how many decimals tell values that are not 0 from it.

    >>> decimals(0.0003, 0.5), decimals(0.0, 0.5)
    (4, 3)
    """
    known = [value for value in values if 1e-9 < abs(value) < 1]
    return next((digits for digits in range(least, 9) if all(round(value, digits) for value in known)), 9)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def printable(text: str) -> str:
    r"""Escape whatever a terminal would not show as itself; every name from outside is shown through this function.

    That is control characters, line ends, marks of direction, characters without width, and bytes that are no text.

    >>> printable("d\x1b[31m1"), printable("a\u202eb\u200b"), printable("caf\udce9"), printable("naïve 東京")
    ('d\\x1b[31m1', 'a\\u202eb\\u200b', 'caf\\xe9', 'naïve 東京')
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or category(char) == "Zs" else _escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char) - 0xDC00 if 0xDC80 <= ord(char) <= 0xDCFF else ord(char)  # a byte of a file's name
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 60
