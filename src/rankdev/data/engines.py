"""Search engines and other tools: their responses as lists, their ratings and records as grades.

A run has the hits in the order in which the engine returned them: what a user saw, however equal scores were ordered
and whatever the answer was sorted by. Ratings are as Elasticsearch and Quepid have them, questions as ragas, LangChain
and LlamaIndex do. Contexts are named by their ids where there are ids, else by their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from rankdev._common.lazy import pl
from rankdev._common.names import KNOWN_NAMES
from rankdev.data.json_text import loads, loads_line, not_json, unrepeated
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError, errors_at

if TYPE_CHECKING:
    from rankdev.data.text import Source

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


def question_of(record: Mapping[str, Any], read: ReadOptions) -> Any:
    """Return the query that a record names, by the column that was chosen or by a name that is known."""
    own = read.chosen("query")
    if own is not None and own in record:
        read.met.add(own)
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


def retrieved(record: Mapping[str, Any], read: ReadOptions) -> list[str]:
    """Return what was retrieved, in its order."""
    return _contexts(record, RETRIEVED, read)


def right(record: Mapping[str, Any], read: ReadOptions) -> list[str]:
    """Return the contexts that are right, each once; their order means nothing."""
    return list(dict.fromkeys(_contexts(record, RIGHT, read)))


def _contexts(record: Mapping[str, Any], names: tuple[str, ...], read: ReadOptions) -> list[str]:
    found = next(record[name] for name in names if isinstance(record.get(name), list))
    return [_name(context, read) for context in found]


def _name(context: Any, read: ReadOptions) -> str:
    """Name a context: a text, an id, a Document of LangChain or a node of LlamaIndex, as an object or a record."""
    if isinstance(context, str) and context.strip():
        return " ".join(context.split())
    if isinstance(context, int) and not isinstance(context, bool):
        return str(context)
    node = _field(context, "node")
    context = context if node is None else node
    own = read.chosen("item")
    if own is not None:
        value = context
        for name in own.split("."):
            value = _field(value, name)
        read.met.update([own] if value is not None else [])
    else:
        value = next((held for name in (*_IDS, *_TEXTS) if (held := _field(context, name)) not in (None, "")), None)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return " ".join(str(value).split())
    raise DataError("not-a-context", name=own or "id", value=context)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def grades_of(value: Any, read: ReadOptions) -> list[dict[str, Any]] | None:
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
        return [row for place, record in enumerate(value) for row in right_rows(record, read, place)]
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


def right_rows(record: Any, read: ReadOptions, row: int | None = None) -> list[dict[str, Any]]:
    """Return rows of the contexts that are right for a question, among records of which others have them."""
    if not is_right(record):
        raise DataError("no-contexts", row=row)
    query = question_of(record, read)
    if query is None:
        raise DataError("no-question", row=row, known=QUESTIONS)
    with errors_at(query=query):
        return [{"query": query, "item": item, "grade": 1} for item in right(record, read)]


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


def lists_of(answer: Any, read: ReadOptions) -> dict[str, list[Any]]:
    """Return the items of each query, in the order of the hits."""
    return gathered(named_responses(answer, read), read)


def gathered(pairs: Iterable[tuple[Any, Any]], read: ReadOptions) -> dict[str, list[Any]]:
    """Return the items of each query of (query, response); warn of answers that are not complete."""
    found: dict[Any, list[Any]] = {}
    partial: dict[Any, str] = {}
    field = ItemField(read)
    for query, response in pairs:
        if query in found:
            raise DataError("query-twice", query=query)
        with errors_at(query=query):
            answer = read_response(response, read, field)
        found[query] = answer.items
        if answer.partial:
            partial[query] = answer.partial
    if partial:
        query, reason = next(iter(partial.items()))
        read.note("partial-answers", count=len(partial), answers=len(found), query=query, why=reason)
    return found


def named_responses(answer: Any, read: ReadOptions) -> Iterator[tuple[Any, Any]]:
    """Yield (query, response) of whatever :func:`is_answer` accepts; refuse responses whose query is not known."""
    answer = plain(answer)
    if isinstance(answer, list):
        yield from (named_record(record, read) for record in answer)
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
            yield from (named_record(record, read) for record in several)
        elif not isinstance(queries, list) or len(queries) != len(several):
            raise DataError("queries-of-responses", count=len(several))
        else:
            yield from zip(queries, several, strict=True)
    elif is_record(answer):
        yield named_record(answer, read)
    else:
        yield from answer.items()


def named_record(record: Any, read: ReadOptions) -> tuple[Any, Any]:
    """Return the query that a record names, by its own column or as the engine repeats it, and the response."""
    record = plain(record)
    if not is_record(record):
        raise DataError("not-a-response", value=record)
    response = record["response"] if is_response(record.get("response")) else record
    query = question_of(record, read)
    header = response.get("responseHeader")  # Solr
    if query is None and isinstance(header, Mapping) and isinstance(header.get("params"), Mapping):
        query = header["params"].get("q")
    if query is None or query == "":
        raise DataError("nameless-response")
    return query, response


def read_response(response: Any, read: ReadOptions, field: ItemField) -> Answer:
    """Return the hits of one response; refuse an error, and a page that is not the first."""
    response = plain(response)
    if not is_response(response):
        raise DataError("not-a-response", value=response)
    if _is_error(response):
        raise DataError("engine-error", why=_reason(response["error"]))
    if is_retrieved(response):
        return Answer(retrieved(response, read))
    hits = response.get("hits")
    if isinstance(hits, Mapping):
        return _elastic(response, hits["hits"], field)
    if isinstance(hits, list):  # one request of _rank_eval
        return Answer(_ids([hit["hit"] for hit in hits], ("_id",), field))
    return _solr(response, response["response"], field)


def _elastic(response: Mapping[str, Any], hits: list[Any], field: ItemField) -> Answer:
    """Elasticsearch and OpenSearch: ``hits.hits[]._id``."""
    shards = response.get("_shards")
    failed = shards.get("failed") if isinstance(shards, Mapping) else 0
    partial = "timed_out" if response.get("timed_out") else "_shards.failed" if failed else ""
    return Answer(_ids(hits, ("_id",), field), partial)


def _solr(response: Mapping[str, Any], found: Mapping[str, Any], field: ItemField) -> Answer:
    """Solr: ``response.docs[].id``."""
    header = response.get("responseHeader")
    header = header if isinstance(header, Mapping) else {}
    if header.get("status"):
        raise DataError("engine-error", why=f"status {header['status']}")
    if found.get("start"):
        raise DataError("later-page", start=found["start"])
    return Answer(_ids(found["docs"], ("id",), field), "partialResults" if header.get("partialResults") else "")


def _ids(hits: list[Any], keys: tuple[str, ...], field: ItemField) -> list[Any]:
    own = field.of(hits)
    found = []
    for place, hit in enumerate(hits, 1):
        value = _at(hit, own) if own else next((hit[key] for key in keys if key in hit), None) if _is_hit(hit) else None
        if isinstance(value, list) and len(value) == 1:  # a field of Solr that could have several values
            value = value[0]
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise DataError("no-id-of-hit", place=place, name=own or keys[0])
        found.append(value)
    return found


class ItemField:
    """The field of hits that names their items, the same in all answers of one input.

    Where one was chosen and the first hits lack it, another input has it.
    """

    def __init__(self, read: ReadOptions) -> None:
        self._chosen, self._met, self._looked = read.chosen("item"), read.met, False

    def of(self, hits: list[Any]) -> str | None:
        """Return the field that was chosen, if any."""
        if self._chosen is not None and hits and not self._looked:
            self._looked = True
            if any(_at(hit, self._chosen) is not None for hit in hits):
                self._met.add(self._chosen)
            else:
                self._chosen = None
        return self._chosen


def _at(hit: Any, path: str) -> Any:
    """Return the field of a hit, also of its source, and of what is nested: ``metadata.sku``."""
    for inside in ("", "_source", "fields"):
        value = hit.get(inside) if inside and isinstance(hit, Mapping) else hit
        for name in [path] if isinstance(value, Mapping) and path in value else path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def items_of(listed: Any, query: Any, field: ItemField) -> Any:
    """Return the ids of a list of hits alone, such as ``response["hits"]["hits"]``; all else as it is."""
    if not isinstance(listed, list | tuple) or not any(map(_is_hit, listed)):
        return listed
    scores = [hit.get("score") for hit in listed if _is_hit(hit)]
    if any(isinstance(a, int | float) and isinstance(b, int | float) and a < b for a, b in pairwise(scores)):
        raise DataError("unsorted-hits", query=query)
    with errors_at(query=query):
        return _ids(list(listed), ("_id", "id", *KNOWN_NAMES["item"]), field)


def _is_hit(hit: Any) -> bool:
    return isinstance(hit, Mapping)


def _reason(error: Any) -> Any:
    if isinstance(error, Mapping):
        return next((error[name] for name in ("reason", "msg", "type") if error.get(name)), error)
    return error


# how a response begins: names that only documents of search engines have first, with an object or a list behind
_FIRST = (
    *("hits", "response", "responseHeader", "responses", "queries", "details", "rank_eval"),
    *("_shards", "requests", "error"),
)
_RATED = re.compile(rb'"(?:ratings|%b)"' % b"|".join(name.encode() for name in RIGHT))
_LONG_LINE = re.compile(rb'"(?:hits|docs|responses)"\s*:\s*\[\s*\{|"hits"\s*:\s*\{')


def lists_in_entries(entries: Iterator[tuple[str, Any]], read: ReadOptions) -> Any:
    """Return the lists of a JSON document of responses, or its members where it is anything else."""
    first = next(entries)
    entries = chain([first], entries)
    if is_response(first[1]):
        return gathered(entries, read)
    if isinstance(first[1], dict | list) and first[0] not in _FIRST:
        return entries
    document = dict(entries)
    return lists_of(document, read) if is_answer(document) else iter(document.items())


def lists_in_array(source: Source, read: ReadOptions) -> dict[str, list[Any]]:
    """Return the lists of a JSON array of records, each a response and its query."""
    records = _array(source)
    if not is_answer(records):
        raise DataError("not-by-query")
    return lists_of(records, read)


def ratings_in_array(source: Source, read: ReadOptions) -> list[dict[str, Any]]:
    """Return rows of ratings of a JSON array of records."""
    rated = grades_of(_array(source), read)
    if rated is None:
        raise DataError("not-by-query")
    return rated


def _array(source: Source) -> Any:
    try:
        return json.loads(source.read(), object_pairs_hook=unrepeated)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise not_json(error) from None


def holds_responses(source: Source) -> bool:
    """Tell by the first line whether the lines of a file are responses; it may be longer than what is known of it."""
    line = source.first_line()
    try:
        return is_answer(loads(line))
    except (ValueError, RecursionError):
        return not line.endswith(b"\n") and _LONG_LINE.search(line) is not None


def lists_in_lines(source: Source, read: ReadOptions) -> dict[str, list[Any]]:
    """Return the lists of a file with a response on each line; a single line may hold several."""
    lines = _lines(source)
    at, first = next(lines)
    second = next(lines, None)
    if second is None:
        return lists_of(first, read) if is_answer(first) else gathered(_named([(at, first)], read), read)
    return gathered(_named(chain([(at, first), second], lines), read), read)


def _named(lines: Iterable[tuple[int, Any]], read: ReadOptions) -> Iterator[tuple[Any, Any]]:
    for at, record in lines:
        with errors_at(line=at):
            named = named_record(record, read)
        yield named


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    at = 0
    for batch in source.batches():
        for line in batch.split(b"\n")[: None if not batch.endswith(b"\n") else -1]:
            at += 1
            if not line.strip():
                continue
            yield at, loads_line(line, at)


def ratings_in(source: Source, read: ReadOptions) -> list[dict[str, Any]] | None:
    """Return rows of ratings where a line holds them, or each line for one query; None where it is anything else."""
    line = source.first_line()
    try:
        first = grades_of(loads(line), read) if _RATED.search(line) else None
        return first if first is None or b'"ratings"' in line else list(_right_in_lines(source, read))
    except DataError:
        raise
    except (ValueError, RecursionError):
        return None


def _right_in_lines(source: Source, read: ReadOptions) -> Iterator[dict[str, Any]]:
    for at, record in _lines(source):
        with errors_at(line=at):
            rows = right_rows(record, read)
        yield from rows
