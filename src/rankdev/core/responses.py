"""Answers of search engines as runs.

A run has the hits in the order in which the engine returned them: what a user saw, however equal scores were ordered
and whatever the answer was sorted by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, NamedTuple

from rankdev._common.names import KNOWN_NAMES
from rankdev._common.reading import caution, reading
from rankdev.core.records import is_retrieved, plain, question_of, retrieved
from rankdev.errors import DataError, errors_at


class Answer(NamedTuple):
    """The hits of one response, and the field that says that they are incomplete, where one does."""

    items: list[Any]
    partial: str = ""


def is_response(value: Any) -> bool:
    """Tell whether this is the answer to one query, of any engine, errors included."""
    value = plain(value)
    if not isinstance(value, Mapping):
        return False
    hits = value.get("hits")
    return (
        (isinstance(hits, Mapping) and isinstance(hits.get("hits"), list))
        or (isinstance(hits, list) and all(_is_hit(hit) and _is_hit(hit.get("hit")) for hit in hits))
        or (isinstance(value.get("response"), Mapping) and isinstance(value["response"].get("docs"), list))
        or is_retrieved(value)
        or _is_error(value)
    )


def _is_error(value: Mapping[Any, Any]) -> bool:
    error = value.get("error")
    return isinstance(error, Mapping) or (isinstance(error, str) and isinstance(value.get("status"), int))


def is_record(value: Any) -> bool:
    """Tell whether this is a response and perhaps the query that it answers."""
    value = plain(value)
    return isinstance(value, Mapping) and (is_response(value) or is_response(value.get("response")))


def is_answer(value: Any) -> bool:
    """Tell whether this comes from a search engine: ``{query: response}``, a list of records, a multi-search answer."""
    value = plain(value)
    if isinstance(value, list):
        return bool(value) and all(map(is_record, value))
    if not isinstance(value, Mapping) or not value:
        return False
    return is_record(value) or _several(value) is not None or any(map(is_response, value.values()))


def _several(value: Mapping[Any, Any]) -> Any:
    """Return the answers to several queries, in a list, or by query as Elasticsearch's _rank_eval has them."""
    found = value.get("responses")
    if isinstance(found, list) and found and all(map(is_response, found)):
        return found
    value = value["rank_eval"] if isinstance(value.get("rank_eval"), Mapping) else value
    details = value.get("details")
    return details if isinstance(details, Mapping) and "metric_score" in value else None


def lists_of(answer: Any) -> dict[str, list[Any]]:
    """Return the items of each query, in the order of the hits."""
    return gathered(named_responses(answer))


def gathered(pairs: Iterable[tuple[Any, Any]]) -> dict[str, list[Any]]:
    """Return the items of each query of (query, response); warn of answers that are not complete."""
    found: dict[Any, list[Any]] = {}
    partial: dict[Any, str] = {}
    with of_one_input():
        for query, response in pairs:
            if query in found:
                raise DataError("query-twice", query=query)
            with errors_at(query=query):
                read = read_response(response)
            found[query] = read.items
            if read.partial:
                partial[query] = read.partial
    if partial:
        query, reason = next(iter(partial.items()))
        caution("partial-answers", count=len(partial), answers=len(found), query=query, why=reason)
    return found


def named_responses(answer: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (query, response) of whatever :func:`is_answer` accepts; refuse responses whose query is not known."""
    answer = plain(answer)
    if isinstance(answer, list):
        yield from map(named_record, answer)
        return
    several = _several(answer)
    if isinstance(several, Mapping):
        failed = (answer.get("rank_eval") or answer).get("failures")
        if isinstance(failed, Mapping) and failed:
            query, reason = next(iter(failed.items()))
            raise DataError("engine-error", query=query, why=reason)
        yield from several.items()
    elif several is not None:
        queries = answer.get("queries")
        if queries is None:
            yield from map(named_record, several)
        elif not isinstance(queries, list) or len(queries) != len(several):
            raise DataError("queries-of-responses", count=len(several))
        else:
            yield from zip(queries, several, strict=True)
    elif is_record(answer):
        yield named_record(answer)
    else:
        yield from answer.items()


def named_record(record: Any) -> tuple[Any, Any]:
    """Return the query that a record names, by its own column or as the engine repeats it, and the response."""
    record = plain(record)
    if not is_record(record):
        raise DataError("not-a-response", value=record)
    response = record["response"] if is_response(record.get("response")) else record
    query = question_of(record)
    header = response.get("responseHeader")  # Solr
    if query is None and isinstance(header, Mapping) and isinstance(header.get("params"), Mapping):
        query = header["params"].get("q")
    if query is None or query == "":
        raise DataError("nameless-response")
    return query, response


def read_response(response: Any) -> Answer:
    """Return the hits of one response; refuse an error, and a page that is not the first."""
    response = plain(response)
    if not is_response(response):
        raise DataError("not-a-response", value=response)
    if _is_error(response):
        raise DataError("engine-error", why=_reason(response["error"]))
    if is_retrieved(response):
        return Answer(retrieved(response))
    hits = response.get("hits")
    if isinstance(hits, Mapping):
        return _elastic(response, hits["hits"])
    if isinstance(hits, list):  # one request of _rank_eval
        return Answer(_ids([hit["hit"] for hit in hits], ("_id",)))
    return _solr(response, response["response"])


def _elastic(response: Mapping[str, Any], hits: list[Any]) -> Answer:
    """Elasticsearch and OpenSearch: ``hits.hits[]._id``."""
    shards = response.get("_shards")
    failed = shards.get("failed") if isinstance(shards, Mapping) else 0
    partial = "timed_out" if response.get("timed_out") else "_shards.failed" if failed else ""
    return Answer(_ids(hits, ("_id",)), partial)


def _solr(response: Mapping[str, Any], found: Mapping[str, Any]) -> Answer:
    """Solr: ``response.docs[].id``."""
    header = response.get("responseHeader")
    header = header if isinstance(header, Mapping) else {}
    if header.get("status"):
        raise DataError("engine-error", why=f"status {header['status']}")
    if found.get("start"):
        raise DataError("later-page", start=found["start"])
    return Answer(_ids(found["docs"], ("id",)), "partialResults" if header.get("partialResults") else "")


def _ids(hits: list[Any], keys: tuple[str, ...]) -> list[Any]:
    own = _chosen_field(hits)
    found = []
    for place, hit in enumerate(hits, 1):
        value = _at(hit, own) if own else next((hit[key] for key in keys if key in hit), None) if _is_hit(hit) else None
        if isinstance(value, list) and len(value) == 1:  # a field of Solr that could have several values
            value = value[0]
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise DataError("no-id-of-hit", place=place, name=own or keys[0])
        found.append(value)
    return found


_decided: ContextVar[dict[str, str | None] | None] = ContextVar("decided", default=None)


@contextmanager
def of_one_input() -> Iterator[None]:
    """Take the items of all answers from the same field."""
    token = _decided.set({})
    try:
        yield
    finally:
        _decided.reset(token)


def _chosen_field(hits: list[Any]) -> str | None:
    """Return the field that was chosen for items; None where the first hits lack it, as another input has it."""
    own, decided = reading().columns.get("item"), _decided.get()
    if own is None or not hits:
        return own
    if decided is not None and "item" in decided:
        return decided["item"]
    field = own if any(_at(hit, own) is not None for hit in hits) else None
    reading().met.update([own] if field else [])
    if decided is not None:
        decided["item"] = field
    return field


def _at(hit: Any, path: str) -> Any:
    """Return the field of a hit, also of its source, and of what is nested: ``metadata.sku``."""
    for inside in ("", "_source", "fields"):
        value = hit.get(inside) if inside and isinstance(hit, Mapping) else hit
        for name in [path] if isinstance(value, Mapping) and path in value else path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def items_of(listed: Any, query: Any) -> Any:
    """Return the ids of a list of hits alone, such as ``response["hits"]["hits"]``; all else as it is."""
    if not isinstance(listed, list | tuple) or not any(map(_is_hit, listed)):
        return listed
    scores = [hit.get("score") for hit in listed if _is_hit(hit)]
    if any(isinstance(a, int | float) and isinstance(b, int | float) and a < b for a, b in pairwise(scores)):
        raise DataError("unsorted-hits", query=query)
    with errors_at(query=query):
        return _ids(list(listed), ("_id", "id", *KNOWN_NAMES["item"]))


def _is_hit(hit: Any) -> bool:
    return isinstance(hit, Mapping)


def _reason(error: Any) -> Any:
    if isinstance(error, Mapping):
        return next((error[name] for name in ("reason", "msg", "type") if error.get(name)), error)
    return error
