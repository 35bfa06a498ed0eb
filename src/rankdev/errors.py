"""Errors and warnings. Each message states where, what was expected and what to do."""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from reprlib import Repr
from unicodedata import category

_PACKAGE = str(Path(__file__).parent) + os.sep


class RankdevError(Exception):
    """Base class of all errors that rankdev raises on purpose.

    ``exit_status`` is what the command line returns for it.

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
    faults: tuple[str, ...] = ()  # of several inputs, one line each


class DataError(RankdevError, ValueError):
    """The data are wrong: a query, an item or a row that cannot be used.

    Parameters
    ----------
    message : str
        Where the data are wrong, what was expected and what to do.
    row : int, optional
        Row of the table, from 0, where the error is about one.

    Examples
    --------
    >>> import rankdev as rd
    >>> rd.Reference.from_ranks({"d1": 2})
    Traceback (most recent call last):
    rankdev.errors.DataError: rank 1 is missing; ranks must be consecutive from 1
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class FileFormatError(DataError):
    """A file that cannot be read as what it should be.

    Parameters
    ----------
    path : object
        Name of the file.
    message : str
        What is wrong.
    line : int, optional
        Line of the file, from 1, where the error is about one.
    """

    def __init__(self, path: object, message: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {message}")


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
    rankdev.errors.MeasureError: unknown measure 'RPB'; did you mean RBP?
    """


class MissingExtraError(RankdevError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that is missing.
    extra : str
        The extra of rankdev that installs it.
    purpose : str
        What needs it.
    """

    exit_status = 2

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}; install it with: pip install 'rankdev[{extra}]'")


class RankdevWarning(UserWarning):
    """Something was repaired, skipped or is ambiguous; the result is valid, with this caveat.

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


def warn(message: str) -> None:
    """Warn of something that the user's own line, not one of rankdev, has to do with."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RankdevWarning, stacklevel=level)


def several(errors: Sequence[RankdevError]) -> RankdevError:
    """Make one error of what is wrong with several inputs."""
    if len(errors) == 1:
        return errors[0]
    kind = DataError if any(isinstance(error, DataError) for error in errors) else UsageError
    lines = (f"{len(errors)} inputs are wrong:", *map(str, errors))
    found: RankdevError = kind("\n".join(map(printable, lines)))
    found.faults = lines
    return found


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean X?`` for the known word nearest to ``word``, or an empty text where none is near.

    >>> suggestion("RPB", ["RBP", "RDQ"]), suggestion("BPM", ["RBP", "RDQ"]), suggestion("Prec", ["P", "Precision"])
    ('; did you mean RBP?', '', '; did you mean Precision?')
    >>> suggestion("set", ["Settings", "SET"])
    '; did you mean SET?'
    """
    word = str(word)
    names: dict[str, str] = {}
    for name in islice(known, 1000):
        names.setdefault(name.lower(), name)
    begun = word.lower() if len(word) > 2 else " "
    slips = {name: _slips(word.lower()[:100], name[:100]) for name in names}
    slips |= {name: min(slips[name], 1) for name in names if name.startswith(begun)}
    nearest = min(slips, key=slips.__getitem__, default="")
    allowed = min(1 + len(word) // 4, len(word) - 1) if word else -1
    return f"; did you mean {names[nearest]}?" if nearest and slips[nearest] <= allowed else ""


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
    try:
        return printable(_BRIEF.repr(value))
    except ValueError:  # a number of thousands of digits, which Python does not write
        return "a very large number"


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
