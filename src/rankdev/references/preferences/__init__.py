"""Pairwise judgments → strengths → tiers; which pair to ask next; who judges well."""

from rankdev.references.preferences.build import (
    references_from_preferences,
    resample_references,
    tiers_from_preferences,
)
from rankdev.references.preferences.crowd import WorkerQuality
from rankdev.references.preferences.diagnostics import Diagnostics
from rankdev.references.preferences.preferences import Preferences
from rankdev.references.preferences.selection import NextPairs, next_pairs
from rankdev.references.preferences.strengths import Strengths, strengths
from rankdev.references.preferences.summary import Summary, summarise
from rankdev.references.preferences.tiers import Tiers, tiers

__all__ = [
    "Diagnostics",
    "NextPairs",
    "Preferences",
    "Strengths",
    "Summary",
    "Tiers",
    "WorkerQuality",
    "next_pairs",
    "references_from_preferences",
    "resample_references",
    "strengths",
    "summarise",
    "tiers",
    "tiers_from_preferences",
]
