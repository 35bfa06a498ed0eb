"""Files ↔ references and runs (preferences have their own module): TREC, JSONL, JSON, CSV, Parquet, plain or packed."""

from rankdev.formats.references import read_grades, read_lists, read_references, references_of, write_references
from rankdev.formats.runs import read_run, write_run

__all__ = [
    "read_grades",
    "read_lists",
    "read_references",
    "read_run",
    "references_of",
    "write_references",
    "write_run",
]
