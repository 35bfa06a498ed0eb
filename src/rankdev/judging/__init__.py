"""Collect pairwise judgments from an assessor or a program, with as few questions as an order needs."""

from rankdev.judging.chat import ChatJudge
from rankdev.judging.check import check_model
from rankdev.judging.collect import Collected, JudgeError, NoAnswerError, collect
from rankdev.judging.items import pool

__all__ = ["ChatJudge", "Collected", "JudgeError", "NoAnswerError", "check_model", "collect", "pool"]
