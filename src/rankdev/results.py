"""Every class of results, for type annotations and ``isinstance``; functions return them."""

from typing import Any

from rankdev._common.lazy import names_on_use

_load, _names = names_on_use(
    __name__,
    {
        "rankdev.evaluation.bounds": "Bounds",
        "rankdev.evaluation.coverage": "Coverage",
        "rankdev.evaluation.explain": "Explanation",
        "rankdev.evaluation.losses": "Losses",
        "rankdev.evaluation.differences": "QueryDifferences",
        "rankdev.evaluation.scores": "Scores",
        "rankdev.html_report.page": "ReportPage",
        "rankdev.judging.result": "Collected",
        "rankdev.learning.interleaving": "ClickVerdicts",
        "rankdev.learning.position_weights": "ClickWeights",
        "rankdev.preferences.active_selection": "NextPairs",
        "rankdev.preferences.annotators": "JudgeAgreement",
        "rankdev.preferences.diagnostics": "Diagnostics",
        "rankdev.preferences.position_bias": "PositionBias",
        "rankdev.preferences.rank_aggregation": "MergedRankings",
        "rankdev.preferences.strengths": "Strengths",
        "rankdev.preferences.tiers": "Tiers",
        "rankdev.preferences.undecided": "Undecided",
        "rankdev.preferences.workers": "WorkerQuality",
        "rankdev.statistics.agreement": "Agreement",
        "rankdev.statistics.equivalence": "Equivalence",
        "rankdev.statistics.judgment_uncertainty": "UncertainScores",
        "rankdev.statistics.meta_analysis": "MetaAnalysis",
        "rankdev.statistics.sensitivity": "Sensitivity",
        "rankdev.statistics.tuning": "Tuning",
        "rankdev.statistics.planning": "Plan",
        "rankdev.statistics.power.result": "Power",
        "rankdev.statistics.prediction_powered": "PredictionPowered",
        "rankdev.statistics.side_by_side": "AgreementWithPeople",
        "rankdev.statistics.significance": "DiscriminativePower Significance",
        "rankdev.statistics.stability": "Stability",
        "rankdev.statistics.topic_set_size": "TopicSetSize",
        "rankdev.statistics.variance": "Variance",
        "rankdev.studies.missing_judgments": "LeaveOut",
        "rankdev.studies.maps": "PowerMap PowerMaps",
        "rankdev.studies.real_pairs": "RealPairs",
    },
)  # type checkers read the same names in results.pyi

__all__ = [*_names]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    return _load(name)


def __dir__() -> list[str]:
    return list(__all__)
