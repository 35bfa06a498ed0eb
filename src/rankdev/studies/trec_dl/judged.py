"""Judgments and queries of a year, through ir_datasets."""

from __future__ import annotations

from typing import Any

from rankdev.errors import DataError

DATASET = "msmarco-document-v2/trec-dl-{year}/judged"


class MissingStepError(DataError):
    """A step that could not be done here, and the file that would replace it."""

    def __init__(self, year: str, step: str, why: object, remedy: str) -> None:
        reason = " ".join(str(why).split()) or type(why).__name__
        super().__init__(f"{year}: no {step} ({reason[:200]}); {remedy} replaces this step")


def load_judgments(year: str, dataset: str = DATASET) -> bytes:
    """Give the judgments as TREC qrels."""
    try:
        rows = _dataset(year, dataset).qrels_iter()
        return "".join(f"{row.query_id} 0 {row.doc_id} {row.relevance}\n" for row in rows).encode()
    except Exception as error:  # whatever a download can raise
        raise MissingStepError(year, "judgments", error, f"--qrels {year}=FILE") from error


def load_queries(year: str, dataset: str = DATASET) -> dict[str, str]:
    """Give the text of each query."""
    try:
        return {row.query_id: row.default_text() for row in _dataset(year, dataset).queries_iter()}
    except Exception as error:
        raise MissingStepError(year, "queries", error, f"--queries {year}=FILE") from error


def _dataset(year: str, dataset: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise ImportError("ir_datasets is not installed: pip install 'rankdev[trec-dl]'") from None
    return ir_datasets.load(dataset.format(year=year))
