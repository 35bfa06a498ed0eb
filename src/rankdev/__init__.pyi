"""The public names, as type checkers read them; a test holds them to __init__.py."""

from rankdev._common.result import Result as Result
from rankdev.data.files import read_references as read_references
from rankdev.data.files import read_run as read_run
from rankdev.data.files import write_references as write_references
from rankdev.data.files import write_run as write_run
from rankdev.data.references import Reference as Reference
from rankdev.data.references import References as References
from rankdev.data.run import Run as Run
from rankdev.errors import DataError as DataError
from rankdev.errors import MeasureError as MeasureError
from rankdev.errors import RankdevError as RankdevError
from rankdev.errors import RankdevWarning as RankdevWarning
from rankdev.errors import UsageError as UsageError
from rankdev.evaluation.bounds import bounds as bounds
from rankdev.evaluation.evaluate import evaluate as evaluate
from rankdev.evaluation.evaluate import score as score
from rankdev.evaluation.explain import explain as explain
from rankdev.evaluation.files import read_scores as read_scores
from rankdev.evaluation.losses import losses as losses
from rankdev.evaluation.scores import Scores as Scores
from rankdev.html_report.page import report as report
from rankdev.judging.collect import collect as collect
from rankdev.judging.items import pool as pool
from rankdev.learning.position_weights import weights_from_clicks as weights_from_clicks
from rankdev.measures.syntax import parse as parse
from rankdev.preferences.files import read_preferences as read_preferences
from rankdev.preferences.files import write_preferences as write_preferences
from rankdev.preferences.judgments import Preferences as Preferences
from rankdev.preferences.strengths import strengths as strengths
from rankdev.preferences.tiers import tiers as tiers
from rankdev.statistics.agreement import agreement as agreement
from rankdev.statistics.agreement_with_people import agreement_with_people as agreement_with_people
from rankdev.statistics.gate import gate as gate
from rankdev.statistics.judgment_uncertainty import evaluate_with_uncertainty as evaluate_with_uncertainty
from rankdev.statistics.leaderboard import leaderboard as leaderboard
from rankdev.statistics.meta_analysis import meta_analysis as meta_analysis
from rankdev.statistics.paper_table import table as table
from rankdev.statistics.planning import plan as plan
from rankdev.statistics.power import power as power
from rankdev.statistics.prediction_powered import prediction_powered as prediction_powered
from rankdev.statistics.sensitivity import sensitivity as sensitivity
from rankdev.statistics.significance import significance as significance
from rankdev.statistics.stability import stability as stability

__version__: str
