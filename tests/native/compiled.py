"""The compiled reader for tests: built afresh where there is a compiler, with traps for what C leaves undefined."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest

import rankdev as rd
from rankdev.evaluation._native_join import FileMatcher
from rankdev.io import native_input as whole_queries
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


def outcome(references: rd.References, path: Path, native: bool, piece: int, **options: Any) -> tuple[Any, ...]:
    """All that a user can see of an evaluation, and whether the compiled reader read the file."""
    used: list[bool] = []
    match = FileMatcher.match

    def spied(self: FileMatcher, *arguments: Any) -> Any:
        found = match(self, *arguments)
        used.append(found is not None)
        return found

    with (
        reading(native, piece),
        mock.patch.object(FileMatcher, "match", spied),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            scores = rd.evaluate(references, {"run": path}, **options)
            result: Any = (scores.values.tobytes(), scores.coverage)
        except rd.RankdevError as error:
            result = (type(error), str(error))
    return (result, sorted(str(entry.message) for entry in caught)), used == [True]


def check(references: rd.References, path: Path, piece: int, **options: Any) -> bool:
    """Compare the two; tell whether the compiled reader read the file."""
    found, used = outcome(references, path, True, piece, **options)
    expected, never = outcome(references, path, False, piece, **options)
    assert found == expected, path.read_bytes()
    assert not never
    return used
