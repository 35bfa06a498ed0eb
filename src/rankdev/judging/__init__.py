"""Ask a judge, a person or a program, as few questions as the goal needs."""

from rankdev.judging.collect import collect
from rankdev.judging.result import Collected, JudgeError

__all__ = ["Collected", "JudgeError", "collect"]
