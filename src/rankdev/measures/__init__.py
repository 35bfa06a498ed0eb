"""Measures, one file per family. A new file with a :class:`Measure` in it is all that a new measure takes."""

from importlib import import_module
from pkgutil import iter_modules

from rankdev._common.arrays import Floats
from rankdev.measures.base import REGISTRY, Measure, load_file, load_installed, parameter
from rankdev.measures.match import Match
from rankdev.measures.rdq import RDQ
from rankdev.measures.syntax import PAPER, parse, parse_all

__all__ = [
    "PAPER",
    "RDQ",
    "REGISTRY",
    "Floats",
    "Match",
    "Measure",
    "load_file",
    "load_installed",
    "parameter",
    "parse",
    "parse_all",
]

for _name in ("precision", "graded", *(module.name for module in iter_modules(__path__))):  # the everyday ones first
    import_module(f"{__name__}.{_name}")
