"""Files of references, runs and preferences: TREC, JSONL, JSON, CSV, TSV, Parquet; also compressed."""

from rankdev.io.references import read_grades, read_lists, read_references, write_references
from rankdev.io.runs import read_run, write_run

__all__ = [
    "read_grades",
    "read_lists",
    "read_references",
    "read_run",
    "write_references",
    "write_run",
]
