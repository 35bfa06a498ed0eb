"""Ask a judge, a person or a program, as few questions as the goal needs."""

from rankdev.judging.collected import Collected, JudgeError
from rankdev.judging.collecting import collect

__all__ = ["Collected", "JudgeError", "collect"]
