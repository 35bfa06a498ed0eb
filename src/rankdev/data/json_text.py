"""JSON, read strictly: no name twice in an object, and only text that is text."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rankdev._common.tables import first_line
from rankdev.errors import DataError

if TYPE_CHECKING:
    from rankdev.data.text import Source

Found = TypeVar("Found")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_WHITE_SPACE = re.compile(r"[ \t\n\r]*")
# a text, which may be cut short, or white space outside of texts
_BLANKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[ \t\n\r]{2,}', re.DOTALL)
LONG = 1 << 20  # characters of an entry, mostly white space, from which on this is left out


def loads(content: bytes) -> Any:
    """Read JSON in which no name of an object appears twice and every text is text."""
    value = json.loads(content.decode(), object_pairs_hook=unrepeated)
    if _SURROGATE.search(content):
        json.dumps(value, ensure_ascii=False).encode()  # fails where half a pair stands alone, which is not text
    return value


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that appears twice in an object, where JSON would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DataError("name-twice", name=name)
    return value


def loads_line(content: bytes, line: int) -> Any:
    """Read the JSON of a line; an error names it."""
    try:
        return loads(content)
    except DataError as error:
        raise error.at(line=line) from None
    except (ValueError, RecursionError) as error:
        raise not_json(error).at(line=line) from None


def not_json(error: Exception) -> DataError:
    """Return the error about a text that is not JSON."""
    if isinstance(error, UnicodeDecodeError):
        return DataError("not-utf8")
    return DataError("not-json", why=getattr(error, "msg", None) or first_line(error))


def read_json(source: Source) -> dict[str, Any]:
    """Read one JSON object."""
    return dict(json_entries(source))


def json_entries(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield the members of one JSON object without ever holding the whole document."""
    document = _Document(source)
    names: set[str] = set()
    try:
        if document.mark() != "{" or document.look() == "}":
            raise DataError("not-by-query")
        while not names or document.mark() == ",":
            name, value = document.complete(document.member)
            if name in names:
                raise DataError("name-twice", name=name)
            names.add(name)
            yield name, value
        if document.mark():
            raise ValueError("there is more after its end")
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise document.wrong(error) from None


class _Document:
    """A JSON text of which only a window is in memory."""

    def __init__(self, source: Source) -> None:
        self._pieces = source.pieces()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parse = json.JSONDecoder(object_pairs_hook=unrepeated).raw_decode
        self._window, self._at = "", 0
        self._lines = 0  # before the window

    def complete(self, read: Callable[[], Found]) -> Found:
        """Read something, with a larger window where it continues past this one."""
        while True:
            begin = self._at
            try:
                return read()
            except json.JSONDecodeError as error:
                cut_short = error.pos > len(self._window) - 16 or error.msg.startswith("Unterminated")
                self._at = begin
                if not cut_short or not self._enlarge():
                    raise

    def member(self) -> tuple[str, Any]:
        """Read a name and its value, up to the mark behind it."""
        name, self._at = self._parse(self._window, self._skip())
        if not isinstance(name, str):
            raise ValueError("a name is not text")
        if self._window[self._skip() : self._at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", self._window, self._at)
        self._at += 1
        value, self._at = self._parse(self._window, self._skip())
        if self._window[self._skip() : self._at + 1] not in (",", "}"):  # a number might continue
            raise json.JSONDecodeError("Expecting ',' delimiter", self._window, self._at)
        return name, value

    def look(self) -> str:
        """Return the next character that is not white space; an empty text at the end."""
        while self._skip() == len(self._window) and self._enlarge():
            pass
        return self._window[self._at : self._at + 1]

    def mark(self) -> str:
        """Consume the next character that is not white space; an empty text at the end."""
        found = self.look()
        self._at += len(found)
        return found

    def wrong(self, error: ValueError | RecursionError) -> DataError:
        """Return the error, with the line where that is known."""
        return not_json(error).at(line=self._lines + error.lineno if isinstance(error, json.JSONDecodeError) else None)

    def _skip(self) -> int:
        space = _WHITE_SPACE.match(self._window, self._at)
        self._at = space.end() if space else self._at
        return self._at

    def _enlarge(self) -> bool:
        """Drop what is read and at least double what is left; False at the end of the document."""
        left = len(self._window) - self._at
        texts: list[str] = []
        while sum(map(len, texts)) <= left and (piece := next(self._pieces, None)) is not None:
            texts.append(self._decoder.decode(piece))
        if not texts:
            self._decoder.decode(b"", final=True)  # fails where the last character is cut short
            return False
        self._lines += self._window.count("\n", 0, self._at)
        self._window, self._at = "".join([self._window[self._at :], *texts]), 0
        if left > LONG and 2 * sum(map(self._window.count, " \t\n\r")) > len(self._window):
            shorter = _BLANKS.sub(_shortened, self._window)
            self._lines += self._window.count("\n") - shorter.count("\n")  # all of them are before what is read next
            self._window = shorter
        return True


def _shortened(found: re.Match[str]) -> str:
    """Keep texts, and one character of white space."""
    part = found[0]
    return part if part[0] == '"' else "\n" if "\n" in part else " "
