"""Measures, one file per family. A new file with a :class:`Measure` in it is all that a new measure takes."""

from importlib import import_module
from pkgutil import iter_modules

from rankdev.measures.base import REGISTRY, Measure
from rankdev.measures.plugins import load_file, load_installed
from rankdev.measures.syntax import PAPER, parse, parse_all

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["PAPER", "REGISTRY", "Measure", "load_file", "load_installed", "parse", "parse_all"]
