"""rankdev: evaluate rankings against ordered references.

Public names are loaded on first use, so that importing the package costs next to nothing. Classes of results are in
:mod:`rankdev.results`, the paper's experiments in :mod:`rankdev.studies`.
"""

from rankdev._common.lazy import names_on_use

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = names_on_use(
    __name__,
    {
        "rankdev._common.result": "Result",
        "rankdev.data.references": "Reference References",
        "rankdev.data.run": "Run",
        "rankdev.errors": "DataError MeasureError RankdevError RankdevWarning UsageError",
        "rankdev.evaluation.bounds": "bounds",
        "rankdev.evaluation.evaluate": "evaluate score",
        "rankdev.evaluation.explain": "explain",
        "rankdev.evaluation.losses": "losses",
        "rankdev.evaluation.files": "read_scores",
        "rankdev.evaluation.scores": "Scores",
        "rankdev.html_report.page": "report",
        "rankdev.preferences.files": "read_preferences write_preferences",
        "rankdev.data.files": "read_references read_run write_references write_run",
        "rankdev.judging.collect": "collect",
        "rankdev.judging.items": "pool",
        "rankdev.learning.position_weights": "weights_from_clicks",
        "rankdev.measures.syntax": "parse",
        "rankdev.preferences.judgments": "Preferences",
        "rankdev.preferences.strengths": "strengths",
        "rankdev.preferences.tiers": "tiers",
        "rankdev.statistics.agreement": "agreement",
        "rankdev.statistics.gate": "gate",
        "rankdev.statistics.judgment_uncertainty": "evaluate_with_uncertainty",
        "rankdev.statistics.leaderboard": "leaderboard",
        "rankdev.statistics.meta_analysis": "meta_analysis",
        "rankdev.statistics.sensitivity": "sensitivity",
        "rankdev.statistics.paper_table": "table",
        "rankdev.statistics.planning": "plan",
        "rankdev.statistics.power": "power",
        "rankdev.statistics.prediction_powered": "prediction_powered",
        "rankdev.statistics.agreement_with_people": "agreement_with_people",
        "rankdev.statistics.significance": "significance",
        "rankdev.statistics.stability": "stability",
    },
    "__version__",
)  # type checkers read the same names in __init__.pyi
