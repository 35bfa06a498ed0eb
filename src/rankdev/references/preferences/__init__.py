"""Pairwise judgments → strengths → tiers; which pair to ask next; who judges well."""

from rankdev.references.preferences.preferences import Preferences
from rankdev.references.preferences.strengths import Strengths, strengths
from rankdev.references.preferences.tiers import Tiers, tiers

__all__ = ["Preferences", "Strengths", "Tiers", "strengths", "tiers"]
