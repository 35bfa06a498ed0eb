"""Files ↔ references, runs and preferences: TREC, JSONL, JSON, CSV and Parquet, plain or packed."""

from rankdev.formats.preferences import read_preferences
from rankdev.formats.references import read_grades, read_lists, read_references, write_references
from rankdev.formats.runs import read_run, write_run

__all__ = [
    "read_grades",
    "read_lists",
    "read_preferences",
    "read_references",
    "read_run",
    "write_references",
    "write_run",
]
