"""Measures that others wrote: in installed packages, or in a file."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from rankdev.errors import MeasureError, RankdevError, UsageError
from rankdev.measures.base import REGISTRY

GROUP = "rankdev.measures"


@cache
def load_installed() -> None:
    """Import what installed packages offer under the entry-point group ``rankdev.measures``, once."""
    from importlib.metadata import entry_points  # takes long to load, and most texts name measures that are known

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            raise MeasureError(f"the measures of {entry.value} cannot be loaded: {_said(error)}") from error


def load_file(path: str | Path) -> None:
    """Run a Python file that defines measures, so that texts can name them."""
    file = Path(path).absolute()
    if not file.is_file():
        raise UsageError(f"{path}: there is no such file to import measures from")
    name = f"rankdev_measures_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: expected a Python file, which ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module of a class there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MeasureError(f"{path}{_line(error, str(file))}: {_said(error)}") from error
    if not any(kind.__module__ == name for kind in REGISTRY.values()):
        raise MeasureError(f"{path}: defines no measure; derive a class from rankdev.measures.Measure")


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, RankdevError) else f"{type(error).__name__}: {error}"


def _line(error: Exception, file: str) -> str:
    """Give the last line of the file that the error went through, as ``:7``."""
    lines = [error.lineno] if isinstance(error, SyntaxError) else []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f":{lines[-1]}" if lines else ""
