"""The errors and warnings a user can meet. Each message says where, what was expected and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice


class RankdevError(Exception):
    """Anything rankdev refuses to do; ``exit_status`` is what the command line returns for it."""

    exit_status = 1


class DataError(RankdevError, ValueError):
    """The data are wrong: a query, an item or a row (from 0) that cannot be used."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class FileFormatError(DataError):
    """A file that cannot be read as what it should be; knows the file and the line (from 1)."""

    def __init__(self, path: object, message: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {message}")


class UsageError(RankdevError, ValueError):
    """The call is wrong: a parameter, a measure or a name that does not exist or cannot be."""

    exit_status = 2


class MeasureError(UsageError):
    """A measure text or parameter that means nothing."""


class MissingExtraError(RankdevError, ImportError):
    """An optional part is not installed."""

    exit_status = 2

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}; install it with: pip install 'rankdev[{extra}]'")


class RankdevWarning(UserWarning):
    """Something was repaired, skipped or is ambiguous; the result stands, with this remark."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Give ``; did you mean X?`` for the known word nearest to ``word``, or nothing.

    >>> suggestion("RPB", ["RBP", "RDQ"])
    '; did you mean RBP?'
    """
    names = {name.lower(): name for name in islice(known, 1000)}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]}?" if close else ""
