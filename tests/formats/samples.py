"""The same small run, grades and references in every format that rankdev reads."""

import io
import json
from collections.abc import Callable

import polars as pl

from rankdev import Run

RUN = {"q1": {"d1": 0.9, "d2": 0.5, "d3": 0.25}, "q2": {"d9": 3.0, "d1": -1.0}, "007": {"été": 1e-3}}
GRADES = {"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}, "q2": {"d9": 2}}
TIERS = {"q1": [["d1"], ["d2", "d3"]], "q2": [["d9"]]}


def _rows(values: dict[str, dict[str, float]]) -> list[tuple[str, str, float]]:
    return [(query, item, value) for query, items in values.items() for item, value in items.items()]


RANKS = {query: {item: rank for rank, tier in enumerate(tiers, 1) for item in tier} for query, tiers in TIERS.items()}


def _table(values: dict[str, dict[str, float]], name: str) -> pl.DataFrame:
    return pl.DataFrame(_rows(values), schema=["query", "item", name], orient="row")


def _tables(values: dict[str, dict[str, float]], name: str) -> dict[str, bytes]:
    frame, parquet = _table(values, name), io.BytesIO()
    frame.write_parquet(parquet)
    return {
        "csv": frame.write_csv().encode(),
        "tsv": frame.write_csv(separator="\t").encode(),
        "jsonl": frame.write_ndjson().encode(),
        "parquet": parquet.getvalue(),
    }


def _lines(records: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _trec_run() -> bytes:
    return "".join(f"{q} Q0 {d} {i} {s} tag\n" for i, (q, d, s) in enumerate(_rows(RUN), 1)).encode()


def _qrels() -> bytes:
    return "".join(f"{q} 0 {d} {g}\n" for q, d, g in _rows(GRADES)).encode()


RUN_FILES = {"run": _trec_run(), "json": json.dumps(RUN).encode(), **_tables(RUN, "score")}
GRADE_FILES = {"qrels": _qrels(), **_tables(GRADES, "grade")}
GRADE_JSON = {"json": json.dumps(GRADES).encode()}  # read_grades only: elsewhere the numbers could be ranks
REFERENCE_FILES = {
    "json": json.dumps(TIERS).encode(),
    **_tables(RANKS, "rank"),
    "jsonl": _lines([{"query": query, "tiers": tiers} for query, tiers in TIERS.items()]),
}

EXPECTED_RUN: Callable[[], Run] = lambda: Run.from_scores(RUN)  # noqa: E731
