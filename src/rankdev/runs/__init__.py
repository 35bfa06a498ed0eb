"""What a system returned: a run, and how one is put together from rows."""

from rankdev.runs.builder import LONGEST_TIE, RunBuilder
from rankdev.runs.run import Run, RunLike

__all__ = ["LONGEST_TIE", "Run", "RunBuilder", "RunLike"]
