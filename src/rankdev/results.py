"""Every class of results, for type annotations and ``isinstance``; functions return them."""

from rankdev._common.lazy import names_on_use

__getattr__, __dir__, __all__ = names_on_use(
    __name__,
    {
        "rankdev.evaluation.bounds": "Bounds",
        "rankdev.evaluation.coverage": "Coverage",
        "rankdev.evaluation.explain": "Explanation",
        "rankdev.evaluation.losses": "Losses",
        "rankdev.evaluation.scores": "QueryDifferences Scores",
        "rankdev.html_report.page": "ReportPage",
        "rankdev.judging.check": "ModelCheck",
        "rankdev.judging.collect": "Collected",
        "rankdev.learning.position_weights": "ClickWeights",
        "rankdev.preferences.diagnostics": "Diagnostics JudgeAgreement",
        "rankdev.preferences.bias": "PositionBias",
        "rankdev.preferences.rankings": "MergedRankings",
        "rankdev.preferences.strengths": "Strengths",
        "rankdev.preferences.tiers": "Tiers",
        "rankdev.preferences.crowd_bt": "WorkerQuality",
        "rankdev.statistics.agreement": "Agreement",
        "rankdev.statistics.discriminative_power": "DiscriminativePower",
        "rankdev.statistics.gate": "Gate",
        "rankdev.statistics.judgment_uncertainty": "UncertainScores",
        "rankdev.statistics.leaderboard": "Leaderboard",
        "rankdev.statistics.meta_analysis": "MetaAnalysis",
        "rankdev.statistics.sensitivity": "Sensitivity",
        "rankdev.statistics.significance": "Significance",
        "rankdev.statistics.paper_table": "PaperTable",
        "rankdev.statistics.planning": "Plan",
        "rankdev.statistics.power": "Power",
        "rankdev.statistics.prediction_powered": "PredictionPowered",
        "rankdev.statistics.agreement_with_people": "AgreementWithPeople",
        "rankdev.statistics.stability": "Stability",
    },
)  # type checkers read the same names in results.pyi
