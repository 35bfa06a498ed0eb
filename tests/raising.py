"""What tests assert of errors, warnings and notes: their kind and fields, not their prose."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rankdev.errors import Note, RankdevError, RankdevWarning

Caught = pytest.ExceptionInfo[Any]


@contextmanager
def raises(kind: str, error: type[RankdevError] = RankdevError, /, **fields: Any) -> Iterator[Caught]:
    """Expect an error of this kind and class, with at least these fields."""
    with pytest.raises(error) as caught:
        yield caught
    _agree(caught.value, kind, fields)


@contextmanager
def warns(kind: str, /, **fields: Any) -> Iterator[None]:
    """Expect a warning of this kind with at least these fields, among others."""
    with pytest.warns(RankdevWarning) as caught:
        yield
    found = [entry.message for entry in caught if getattr(entry.message, "kind", None) == kind]
    assert found, f"no warning {kind!r}; got {[str(entry.message) for entry in caught]}"
    _agree(found[0], kind, fields)


def noted(remarks: Iterable[str], kind: str, /, **fields: Any) -> Note:
    """Return the first note of this kind among remarks; it has at least these fields."""
    found = [remark for remark in remarks if getattr(remark, "kind", None) == kind]
    assert found, f"no note {kind!r} among {list(remarks)}"
    assert isinstance(found[0], Note)
    _agree(found[0], kind, fields)
    return found[0]


def kinds(remarks: Iterable[str]) -> list[str]:
    """Return the kinds of notes."""
    return [remark.kind for remark in remarks if isinstance(remark, Note)]


def _agree(found: Any, kind: str, fields: dict[str, Any]) -> None:
    assert found.kind == kind, f"{found.kind!r} instead of {kind!r}: {found}"
    told = {name: found.fields.get(name) for name in fields}
    assert {name: tuple(one) if isinstance(one, list) else one for name, one in told.items()} == fields, str(found)
    assert str(found)
