"""rankdev: evaluate rankings against ordered references.

The public names are loaded on first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "DataError": "rankdev.errors",
    "MeasureError": "rankdev.errors",
    "Preferences": "rankdev.preferences",
    "RankdevError": "rankdev.errors",
    "RankdevWarning": "rankdev.errors",
    "Reference": "rankdev.references.reference",
    "References": "rankdev.references.references",
    "Run": "rankdev.runs",
    "Scores": "rankdev.evaluation.scores",
    "UsageError": "rankdev.errors",
    "agreement": "rankdev.meta.agreement",
    "evaluate": "rankdev.evaluation.scoring",
    "evaluate_with_doubt": "rankdev.meta.judgment_uncertainty",
    "explain": "rankdev.evaluation.explain",
    "judge_agreement": "rankdev.preferences",
    "merge_rankings": "rankdev.preferences",
    "next_pairs": "rankdev.preferences",
    "parse": "rankdev.measures",
    "plan": "rankdev.meta.planning",
    "position_bias": "rankdev.preferences",
    "power": "rankdev.meta.power",
    "rdq": "rankdev.evaluation.explain",
    "read_preferences": "rankdev.formats.preferences",
    "read_references": "rankdev.formats",
    "read_run": "rankdev.formats",
    "read_scores": "rankdev.evaluation.score_files",
    "score": "rankdev.evaluation.explain",
    "sensitivity": "rankdev.meta.sensitivity",
    "significance": "rankdev.meta.significance",
    "simulate": "rankdev.studies.simulation",
    "stability": "rankdev.meta.stability",
    "strengths": "rankdev.preferences",
    "summarise": "rankdev.preferences",
    "tiers": "rankdev.preferences",
    "weights_from_clicks": "rankdev.learning.weights_from_clicks",
    "write_references": "rankdev.formats",
    "write_run": "rankdev.formats",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rankdev' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
