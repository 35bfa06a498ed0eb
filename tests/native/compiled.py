"""The compiled reader for tests: built afresh where there is a compiler, with traps for what C leaves undefined."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest

from rankdev.formats import whole_queries
from rankdev.native import library
from rankdev.native.build import build

UNDEFINED = "-fsanitize=undefined -fsanitize-undefined-trap-on-error"
_FOLDER = TemporaryDirectory(prefix="rankdev-native-")


@cache
def built() -> Path:
    """Compile the source as it is now, whatever was installed; skip where there is no compiler."""
    file = Path(_FOLDER.name) / "reader.so"
    for flags in (os.environ.get("CFLAGS", UNDEFINED), ""):
        with mock.patch.dict("os.environ", CFLAGS=flags):
            if build(file) is None:
                return file
    pytest.skip("there is no C compiler")


@contextmanager
def reading(native: bool, piece: int = whole_queries.PIECE_BYTES) -> Iterator[None]:
    """Read with the compiled reader, ``piece`` bytes at a time, or without it."""
    with (
        mock.patch.object(library, "FILE", built()),
        mock.patch.dict("os.environ", {library.SWITCH: str(int(native))}),
        mock.patch.object(whole_queries, "PIECE_BYTES", piece),
    ):
        assert (library.library() is not None) == native
        yield
