"""Pairwise judgments → strengths → tiers; which pair to ask next; who judges well."""

from rankdev.references.preferences.preferences import Preferences

__all__ = ["Preferences"]
