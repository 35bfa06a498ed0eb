"""Ratings of other tools, and records of right contexts, as rows of query, item and grade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rankdev.core.rag import QUESTIONS, is_right, question_of, right
from rankdev.core.responses import plain
from rankdev.errors import DataError, shown


def grades_of(value: Any) -> list[dict[str, Any]] | None:
    """Return rows of query, item, grade where these are ratings; None where they are anything else.

    That is a request to Elasticsearch's ``_rank_eval``, what Quepid exports as JSON, a data set of LlamaIndex, or
    records of questions with the contexts that are right.
    """
    value = plain(value)
    if is_right(value):
        value = [value]
    if isinstance(value, list):
        if not any(map(is_right, value)):
            return None
        return [row for place, record in enumerate(value, 1) for row in right_rows(record, f"record {place}: ")]
    if not isinstance(value, Mapping):
        return None
    rows = None
    if _are_rated(value.get("requests")):
        rows = [row for request in value["requests"] for row in _rated_request(request)]
    elif _are_rated(value.get("queries")):
        rows = [row for entry in value["queries"] if entry["ratings"] for row in _rated_query(entry)]
    elif isinstance(value.get("relevant_docs"), Mapping) and isinstance(value.get("corpus"), Mapping):  # LlamaIndex
        relevant = value["relevant_docs"].items()
        rows = [
            {"query": query, "item": item, "grade": 1} for query, items in relevant for item in _listed(items, query)
        ]
    return rows


def _are_rated(entries: Any) -> bool:
    rated = isinstance(entries, list) and all(isinstance(entry, Mapping) and "ratings" in entry for entry in entries)
    return rated and bool(entries)


def _rated_query(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item, grade in _pairs(entry["ratings"], entry.get("query")):
        yield {"query": entry.get("query"), "item": item, "grade": grade}


def _listed(items: Any, query: Any) -> list[Any]:
    if not isinstance(items, list):
        raise DataError(f"query {shown(query)}: relevant_docs must be a list of ids; got {shown(items)}")
    return items


def right_rows(record: Any, where: str = "") -> list[dict[str, Any]]:
    """Return rows of the contexts that are right for a question, among records of which others have them."""
    if not is_right(record):
        raise DataError(f"{where}no contexts are known to be right here (reference_contexts); leave this record out")
    query = question_of(record)
    if query is None:
        raise DataError(f"{where}this record names no question; expected one of {', '.join(QUESTIONS)}")
    return [{"query": query, "item": item, "grade": 1} for item in right(record, f"query {shown(query)}: ")]


def _pairs(ratings: Any, query: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(ratings, Mapping):
        raise DataError(f"query {shown(query)}: ratings must be {{item: rating}}; got {shown(ratings)}")
    return ratings.items()


def _rated_request(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    query = request.get("id")
    if not isinstance(request["ratings"], list):
        raise DataError(f"request {shown(query)}: ratings must be a list of _id and rating")
    for rated in request["ratings"]:
        if not isinstance(rated, Mapping) or not {"_id", "rating"} <= {*rated}:
            raise DataError(f"request {shown(query)}: expected a rating with _id and rating; got {shown(rated)}")
        yield {"query": query, "item": rated["_id"], "grade": rated["rating"]}
