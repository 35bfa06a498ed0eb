"""Ask a judge, a person or a program, as few questions as the goal needs."""

from rankdev.judging.collecting import Collected, JudgeError, collect

__all__ = ["Collected", "JudgeError", "collect"]
