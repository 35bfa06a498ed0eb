"""Pairwise judgments → strengths → tiers; and who judges well."""

from rankdev.preferences.bias import PositionBias, position_bias
from rankdev.preferences.crowd_bt import WorkerQuality
from rankdev.preferences.diagnostics import Diagnostics, JudgeAgreement, judge_agreement
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.rankings import MergedRankings, merge_rankings
from rankdev.preferences.strengths import Strengths, strengths
from rankdev.preferences.tiers import Tiers, references_from_preferences, tiers, tiers_from_preferences

__all__ = [
    "Diagnostics",
    "JudgeAgreement",
    "MergedRankings",
    "PositionBias",
    "Preferences",
    "Strengths",
    "Tiers",
    "WorkerQuality",
    "judge_agreement",
    "merge_rankings",
    "position_bias",
    "references_from_preferences",
    "strengths",
    "tiers",
    "tiers_from_preferences",
]
