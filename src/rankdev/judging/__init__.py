"""Collect pairwise judgments from an assessor or a program, with as few questions as the goal needs."""

from rankdev.judging._asking import BudgetSpentError, NoAnswerError
from rankdev.judging.chat import ChatJudge
from rankdev.judging.collect import collect
from rankdev.judging.model_check import check_model
from rankdev.judging.pool import pool
from rankdev.judging.result import Collected, JudgeError

__all__ = [
    "BudgetSpentError",
    "ChatJudge",
    "Collected",
    "JudgeError",
    "NoAnswerError",
    "check_model",
    "collect",
    "pool",
]
