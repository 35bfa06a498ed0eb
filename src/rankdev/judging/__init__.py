"""Collect pairwise judgments from an assessor or a program, with as few questions as the goal needs."""

from rankdev.judging.collect import collect
from rankdev.judging.pool import pool
from rankdev.judging.result import Collected, JudgeError

__all__ = ["Collected", "JudgeError", "collect", "pool"]
