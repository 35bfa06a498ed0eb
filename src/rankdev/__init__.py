"""rankdev: evaluate rankings against ordered references.

Public names are loaded on first use, so that importing the package costs next to nothing.
"""

from typing import Any

from rankdev._common.lazy import names_on_use

__version__ = "0.1.0"

_NAMES = {  # type checkers read the same names in __init__.pyi
    "rankdev.errors": "DataError MeasureError RankdevError RankdevWarning UsageError",
    "rankdev.evaluation.bounds": "Bounds bounds",
    "rankdev.evaluation.coverage": "Coverage",
    "rankdev.evaluation.explain": "Explanation explain rdq score",
    "rankdev.evaluation.losses": "Losses losses",
    "rankdev.evaluation.score_files": "read_scores",
    "rankdev.evaluation.scores": "Scores",
    "rankdev.evaluation.evaluate": "evaluate",
    "rankdev.io": "read_references read_run write_references write_run",
    "rankdev.io.preferences": "read_preferences write_preferences",
    "rankdev.judging": "Collected JudgeError collect",
    "rankdev.learning.interleaving": "ClickVerdicts verdicts_from_clicks",
    "rankdev.learning.position_weights": "ClickWeights weights_from_clicks",
    "rankdev.measures": "parse",
    "rankdev.statistics.meta_analysis": "AcrossCollections",
    "rankdev.statistics.agreement": "Agreement agreement",
    "rankdev.statistics.side_by_side": "PeopleAgreement agreement_with_people",
    "rankdev.statistics.topic_set_size": "Design design",
    "rankdev.statistics.significance": "Discrimination discrimination Significance significance",
    "rankdev.statistics.equivalence": "Equivalence equivalence",
    "rankdev.statistics.judgment_uncertainty": "Doubt evaluate_with_doubt",
    "rankdev.studies.leave_out": "LeaveOut leave_out",
    "rankdev.statistics.planning": "Plan plan",
    "rankdev.statistics.power": "power",
    "rankdev.studies.power_map": "PowerMap PowerMaps power_map power_maps",
    "rankdev.statistics.power.result": "Power",
    "rankdev.statistics.paired": "QueryDifferences query_differences",
    "rankdev.studies.real_pairs": "RealPairs place_runs",
    "rankdev.statistics.prediction_powered": "Rectified rectify",
    "rankdev.statistics.parameters": "Sensitivity sensitivity Tuning tune",
    "rankdev.statistics.stability": "Stability stability",
    "rankdev.statistics.variance": "Variance variance",
    "rankdev.preferences": (
        "Diagnostics JudgeAgreement MergedRankings NextPairs PositionBias Preferences Strengths Summary "
        "Tiers WorkerQuality judge_agreement merge_rankings next_pairs position_bias strengths summarise tiers"
    ),
    "rankdev.core.single": "Reference",
    "rankdev.core.references": "References",
    "rankdev.html_report.page": "ReportPage report",
    "rankdev._common.result": "Result",
    "rankdev.core.runs": "Run",
    "rankdev.studies.simulation": "simulate",
}
_load, _listed = names_on_use(__name__, _NAMES)

__all__ = ["__version__", *_listed]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    globals()[name] = value = _load(name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
