"""The same small run, grades and references in every format that rankdev reads."""

import io
import json

import polars as pl

Values = dict[str, dict[str, float]]

RUN: Values = {"q1": {"d1": 0.9, "d2": 0.5, "d3": 0.25}, "q2": {"d9": 3.0, "d1": -1.0}, "007": {"été": 1e-3}}
GRADES: Values = {"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}, "q2": {"d9": 2}}
TIERS = {"q1": [["d1"], ["d2", "d3"]], "q2": [["d9"]]}
RANKS: Values = {"q1": {"d1": 1, "d2": 2, "d3": 2}, "q2": {"d9": 1}}


def table(values: Values, name: str) -> pl.DataFrame:
    rows = [(query, item, value) for query, items in values.items() for item, value in items.items()]
    return pl.DataFrame(rows, schema=["query", "item", name], orient="row")


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _tables(values: Values, name: str) -> dict[str, bytes]:
    frame = table(values, name)
    return {
        "csv": frame.write_csv().encode(),
        "tsv": frame.write_csv(separator="\t").encode(),
        "jsonl": frame.write_ndjson().encode(),
        "parquet": parquet(frame),
    }


def _lines(pattern: str, values: Values, name: str) -> bytes:
    return "".join(pattern.format(*row) + "\n" for row in table(values, name).rows()).encode()


RUN_FILES = {
    "run": _lines("{0} Q0 {1} 1 {2} tag", RUN, "score"),
    "json": json.dumps(RUN).encode(),
    **_tables(RUN, "score"),
}
GRADE_FILES = {"qrels": _lines("{0} 0 {1} {2}", GRADES, "grade"), **_tables(GRADES, "grade")}
GRADE_JSON = {"json": json.dumps(GRADES).encode()}  # read_grades only: elsewhere the numbers could be ranks
REFERENCE_FILES = {
    "json": json.dumps(TIERS).encode(),
    **_tables(RANKS, "rank"),
    "jsonl": "".join(json.dumps({"query": q, "tiers": tiers}) + "\n" for q, tiers in TIERS.items()).encode(),
}
