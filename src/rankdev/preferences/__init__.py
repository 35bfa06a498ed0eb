"""Pairwise judgments → strengths → tiers; which pair to ask next; who judges well."""

from rankdev.preferences.agreement import JudgeAgreement, judge_agreement
from rankdev.preferences.build import (
    references_from_preferences,
    tiers_from_preferences,
)
from rankdev.preferences.deciding import Decision, Verdict
from rankdev.preferences.diagnostics import Diagnostics
from rankdev.preferences.position import PositionBias, position_bias
from rankdev.preferences.preferences import Preferences
from rankdev.preferences.rankings import MergedRankings, merge_rankings
from rankdev.preferences.selection import NextPairs, next_pairs
from rankdev.preferences.strengths import Strengths, strengths
from rankdev.preferences.summary import Summary, summarise
from rankdev.preferences.tiers import Tiers, tiers
from rankdev.preferences.workers import WorkerQuality

__all__ = [
    "Decision",
    "Diagnostics",
    "JudgeAgreement",
    "MergedRankings",
    "NextPairs",
    "PositionBias",
    "Preferences",
    "Strengths",
    "Summary",
    "Tiers",
    "Verdict",
    "WorkerQuality",
    "judge_agreement",
    "merge_rankings",
    "next_pairs",
    "position_bias",
    "references_from_preferences",
    "strengths",
    "summarise",
    "tiers",
    "tiers_from_preferences",
]
