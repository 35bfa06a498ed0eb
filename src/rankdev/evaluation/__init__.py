"""Match runs with references once, score every measure on the match."""

from importlib import import_module
from typing import Any

_HOME = {"Coverage": "scores", "Scores": "scores", "evaluate": "scoring"}


def __getattr__(name: str) -> Any:  # on use, so that scores can be judged where polars is not installed
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"rankdev.evaluation.{_HOME[name]}"), name)
