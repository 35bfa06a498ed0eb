"""Loading on use: the public names of a package, and polars."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else that `rankdev --version` needs

__all__ = ["names_on_use", "pl"]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    import polars as pl
else:

    class _OnUse:
        """A library that is imported when something of it is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(import_module(self._name), attribute)

    pl = _OnUse("polars")  # for what also runs, or is named in a help text, without it


def names_on_use(
    package: str, names: Mapping[str, str], *own: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that loads names from modules on first use."""
    home = {name: module for module, listed in names.items() for name in listed.split()}
    public = [*own, *home]

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home[name]), name)
        setattr(import_module(package), name, found)  # so that it is looked up once
        return found

    return load, lambda: list(public), public
