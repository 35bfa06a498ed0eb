"""Pairwise judgments → strengths → tiers; which pair to ask next; who judges well."""

from rankdev.references.preferences.preferences import Preferences
from rankdev.references.preferences.strengths import Strengths, strengths

__all__ = ["Preferences", "Strengths", "strengths"]
