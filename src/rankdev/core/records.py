"""Records of other tools: ratings, and questions with the contexts retrieved for them and those that were right.

Ratings are as Elasticsearch and Quepid have them, questions as ragas, LangChain and LlamaIndex do. Contexts are named
by their ids where there are ids, else by their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rankdev._common.lazy import pl
from rankdev._common.names import KNOWN_NAMES
from rankdev._common.reading import reading
from rankdev.errors import DataError, errors_at

QUESTIONS = (*KNOWN_NAMES["query"], "user_input", "question", "input")
RETRIEVED = (
    *("retrieved_context_ids", "retrieved_ids", "retrieved_contexts", "contexts", "retrieved_texts"),
    *("source_documents", "source_nodes"),
)
RIGHT = ("reference_context_ids", "expected_ids", "reference_contexts", "expected_texts", "ground_truth_contexts")
_IDS = ("id", "id_", "node_id", "chunk_id", "doc_id")
_TEXTS = ("page_content", "text", "content")


def plain(value: Any) -> Any:
    """Return what a client's response object holds (``body``, ``raw_response``); all else as it is."""
    if isinstance(value, Mapping | list | str) or value is None:
        return value
    for name in ("body", "raw_response"):
        held = getattr(value, name, None)
        if isinstance(held, Mapping | list):
            return held
    if type(value).__module__.partition(".")[0] == "ragas" and hasattr(value, "to_list"):  # an EvaluationDataset
        return value.to_list()
    return value


def question_of(record: Mapping[str, Any]) -> Any:
    """Return the query that a record names, by the column that was chosen or by a name that is known."""
    own = reading().columns.get("query")
    if own is not None and own in record:
        reading().met.add(own)
        return record[own] if isinstance(record[own], str | int) else None
    return next((record[name] for name in QUESTIONS if isinstance(record.get(name), str | int)), None)


def is_retrieved(value: Any) -> bool:
    """Tell whether a record holds what was retrieved for a question."""
    return isinstance(value, Mapping) and any(isinstance(value.get(name), list) for name in RETRIEVED)


def records_in(frame: pl.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """Return the rows of a table with lists of contexts, as ragas' ``to_pandas`` makes it; None of any other."""
    lists = any(name in frame.columns and frame[name].dtype in (pl.List, pl.Array) for name in names)
    return frame.to_dicts() if lists else None


def is_right(value: Any) -> bool:
    """Tell whether a record holds the contexts that are right for a question."""
    return isinstance(value, Mapping) and any(isinstance(value.get(name), list) for name in RIGHT)


def retrieved(record: Mapping[str, Any]) -> list[str]:
    """Return what was retrieved, in its order."""
    return _contexts(record, RETRIEVED)


def right(record: Mapping[str, Any]) -> list[str]:
    """Return the contexts that are right, each once; their order means nothing."""
    return list(dict.fromkeys(_contexts(record, RIGHT)))


def _contexts(record: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    found = next(record[name] for name in names if isinstance(record.get(name), list))
    return [_name(context) for context in found]


def _name(context: Any) -> str:
    """Name a context: a text, an id, a Document of LangChain or a node of LlamaIndex, as an object or a record."""
    if isinstance(context, str) and context.strip():
        return " ".join(context.split())
    if isinstance(context, int) and not isinstance(context, bool):
        return str(context)
    node = _field(context, "node")
    context = context if node is None else node
    own = reading().columns.get("item")
    if own is not None:
        value = context
        for name in own.split("."):
            value = _field(value, name)
        reading().met.update([own] if value is not None else [])
    else:
        value = next((held for name in (*_IDS, *_TEXTS) if (held := _field(context, name)) not in (None, "")), None)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return " ".join(str(value).split())
    raise DataError("not-a-context", name=own or "id", value=context)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


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
        return [row for place, record in enumerate(value) for row in right_rows(record, place)]
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
        raise DataError("wrong-form", role="relevant_docs", query=query, expected="[item, …]", value=items)
    return items


def right_rows(record: Any, row: int | None = None) -> list[dict[str, Any]]:
    """Return rows of the contexts that are right for a question, among records of which others have them."""
    if not is_right(record):
        raise DataError("no-contexts", row=row)
    query = question_of(record)
    if query is None:
        raise DataError("no-question", row=row, known=QUESTIONS)
    with errors_at(query=query):
        return [{"query": query, "item": item, "grade": 1} for item in right(record)]


def _pairs(ratings: Any, query: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(ratings, Mapping):
        raise DataError("wrong-form", role="ratings", query=query, expected="{item: rating}", value=ratings)
    return ratings.items()


def _rated_request(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    query = request.get("id")
    ratings = request["ratings"]
    for rated in ratings if isinstance(ratings, list) else [ratings]:
        if not isinstance(rated, Mapping) or not {"_id", "rating"} <= {*rated}:
            form = '[{"_id": …, "rating": …}, …]'
            raise DataError("wrong-form", role="ratings", query=query, expected=form, value=rated)
        yield {"query": query, "item": rated["_id"], "grade": rated["rating"]}
