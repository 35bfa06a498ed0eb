"""Records of retrieved items: responses of search engines, answers of RAG pipelines, and what is right for a question.

A response has its hits in the order in which the engine returned them: what a user saw, whatever it was sorted by. All
other records are ordered by their score, rank or distance where they have one, else as they are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from rankdev._common.checks import is_number
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.options import ReadOptions
from rankdev.data.rows import Rows, are_lists, check_lists, of_frame, of_lists
from rankdev.data.tables import KNOWN_NAMES, NONE, POSITIONS, mixed_series, our_name, renumbered
from rankdev.errors import DataError, errors_at

QUESTIONS = (*KNOWN_NAMES["query"], "input")
RETRIEVED = (
    *("retrieved_context_ids", "retrieved_ids", "retrieved_chunk_ids", "retrieved", "retrieved_contexts", "contexts"),
    *("retrieved_texts", "retrieved_chunks", "retrieved_documents", "source_documents", "source_nodes"),
)
UNORDERED = ("reference_context_ids", "expected_ids", "reference_contexts", "expected_texts", "ground_truth_contexts")
RIGHT = (
    "gold",
    "gold_chunk_ids",
    "gold_chunks",
    "gold_ids",
    "gold_doc_ids",
    "gold_passage_ids",
    "relevant_ids",
    *UNORDERED,
)
_IDS = ("_id", "id", *KNOWN_NAMES["item"], "chunk_id", "node_id", "id_")
_ORDERS = re.compile(  # names of what could order items
    "score|rank|relevan|simil|cosine|dist|prob|logit|confidence|certainty|likelihood|affinity|closeness|bm25|tf.?idf"
)
_TEXTS = ("page_content", "text", "content")
_FORMS = {
    **{"tiers": "[[item, …], …]", "items": "[item, …]", "grades": "[number, …]"},
    **{"nonrelevant": "[item, …]", "nonrelevant_grades": "[number, …]"},
}


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


def records_in(frame: pl.DataFrame, names: Iterable[str]) -> list[dict[str, Any]] | None:
    """Return the rows of a table with lists of contexts, as ragas' ``to_pandas`` makes it; None of any other."""
    lists = any(name in frame.columns and frame[name].dtype in (pl.List, pl.Array) for name in names)
    return frame.to_dicts() if lists else None


def question_of(record: Mapping[str, Any], read: ReadOptions) -> Any:
    """Return the query that a record names, by the column that was chosen or by a name that is known."""
    known = record if isinstance(record, Mapping) else {}
    own = read.chosen("query")
    names = QUESTIONS if own is None or own not in known else (own,)
    read.met.update({own} & {*known} if own else ())
    return next((known[name] for name in names if isinstance(known.get(name), str | int)), None)


def _list_named(record: Any, names: Iterable[str]) -> str | None:
    known = record if isinstance(record, Mapping) else {}
    return next((name for name in names if isinstance(known.get(name), list)), None)


def is_response(value: Any) -> bool:
    """Tell whether this is the answer to one query, of any engine, errors included."""
    value = plain(value)
    if not isinstance(value, Mapping):
        return False
    hits, found, error = value.get("hits"), value.get("response"), value.get("error")
    return (
        (isinstance(hits, Mapping) and isinstance(hits.get("hits"), list))
        or (isinstance(found, Mapping) and isinstance(found.get("docs"), list))
        or _list_named(value, RETRIEVED) is not None
        or isinstance(error, Mapping)
        or (isinstance(error, str) and isinstance(value.get("status"), int))
    )


def _is_named(value: Any) -> bool:
    """Tell whether this is a response and perhaps the query that it answers."""
    value = plain(value)
    return isinstance(value, Mapping) and (is_response(value) or is_response(value.get("response")))


def is_answer(value: Any) -> bool:
    """Tell whether this is ``{query: response}``, a list of responses with their queries, or a multi-search answer."""
    value = plain(value)
    if isinstance(value, list):
        return bool(value) and (all(map(_is_named, value)) or (len(value) == 1 and is_answer(value[0])))
    if not isinstance(value, Mapping) or not value:
        return False
    several = value.get("responses")
    together = isinstance(several, list) and bool(several) and all(map(is_response, several))
    return together or _is_named(value) or any(map(is_response, value.values()))


def lists_of(answer: Any, read: ReadOptions) -> dict[str, list[Any]]:
    """Return what was found for each query: ids in the order of an engine, or records; note incomplete answers."""
    found: dict[str, list[Any]] = {}
    partial: dict[str, str] = {}
    in_order: dict[str, list[Any]] = {}
    for name, response in _named_responses(answer, read):
        query = ids.as_id(name)
        if query in found:
            raise DataError("query-twice", query=query)
        with errors_at(query=query):
            hits, of_engine, reason = _hits(plain(response))
        found[query] = hits
        if of_engine or not any(isinstance(hit, Mapping) for hit in hits):
            in_order[query] = hits
        if reason:
            partial[query] = reason
    if partial:
        query, reason = next(iter(partial.items()))
        read.note("partial-answers", count=len(partial), answers=len(found), query=query, why=reason)
    return found | _named_hits(in_order, read, flat=True)


def _named_responses(answer: Any, read: ReadOptions) -> Iterator[tuple[Any, Any]]:
    answer = plain(answer)
    if isinstance(answer, list) and answer and not _is_named(answer[0]):  # the only line of a file
        answer = answer[0]
    queries, several = (
        (answer.get("queries"), answer.get("responses")) if isinstance(answer, Mapping) else (None, answer)
    )
    if not isinstance(several, list):
        yield from [_named(answer, read)] if _is_named(answer) else answer.items()
    elif queries is None:
        for row, record in enumerate(several):
            with errors_at(row=row):
                named = _named(plain(record), read)
            yield named
    elif not isinstance(queries, list) or len(queries) != len(several):
        raise DataError("queries-of-responses", count=len(several))
    else:
        yield from zip(queries, several, strict=True)


def _named(record: Any, read: ReadOptions) -> tuple[Any, Any]:
    """Return the query that a record names, by its own column or as the engine repeats it, and the response."""
    if not _is_named(record):
        raise DataError("not-a-response", value=record)
    response = record["response"] if is_response(record.get("response")) else record
    query = question_of(record, read)
    header = response.get("responseHeader")  # Solr
    if query is None and isinstance(header, Mapping) and isinstance(header.get("params"), Mapping):
        query = header["params"].get("q")
    if query is None or query == "":
        raise DataError("nameless-response")
    return query, response


def _hits(response: Any) -> tuple[list[Any], bool, str]:
    """Return the hits of one response, whether they are an engine's, and why they are incomplete, if they are.

    Refuse an error and a later page.
    """
    if not is_response(response):
        raise DataError("not-a-response", value=response)
    name = _list_named(response, RETRIEVED)
    if name is not None:
        return response[name], False, ""
    header = response.get("responseHeader") if isinstance(response.get("responseHeader"), Mapping) else {}
    if "error" in response or header.get("status"):
        error = response.get("error") or f"status {header['status']}"
        reasons = (error.get(name) for name in ("reason", "msg", "type")) if isinstance(error, Mapping) else ()
        raise DataError("engine-error", why=next(filter(None, reasons), error))
    if isinstance(response.get("hits"), Mapping):  # Elasticsearch and OpenSearch
        shards = response.get("_shards")
        failed = "_shards.failed" if isinstance(shards, Mapping) and shards.get("failed") else ""
        return response["hits"]["hits"], True, "timed_out" if response.get("timed_out") else failed
    found = response["response"]  # Solr
    if found.get("start"):
        raise DataError("later-page", start=found["start"])
    return found["docs"], True, "partialResults" if header.get("partialResults") else ""


def _field(hit: Any, path: str) -> Any:
    """Return the field of a hit, also of its source, and of what is nested: ``metadata.sku``."""
    for inside in ("", "_source", "fields"):
        value = hit.get(inside) if inside and isinstance(hit, Mapping) else hit
        for name in [path] if isinstance(value, Mapping) and path in value else path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if value is not None:
            return value
    return None


def _named_hits(lists: Mapping[Any, Any], read: ReadOptions, *, flat: bool = False) -> dict[Any, list[str]]:
    """Name what was retrieved by the field that was chosen, where any of it has that, or by its own id or text.

    A text or an id names itself. Others, objects or records, are hits of an engine, Documents of LangChain or nodes of
    LlamaIndex. Two ids that differ are refused, but not in the documents of an engine, whose fields may be ``flat``.
    """
    own = read.chosen("item")
    if own is None or not any(_field(hit, own) is not None for hits in lists.values() for hit in hits):
        own = None  # another input has it
    else:
        read.met.add(own)
    found: dict[Any, list[str]] = {}
    for query, hits in lists.items():
        with errors_at(query=query):
            for hit in hits if own is None and not flat else ():
                ids_of = {name: hit[name] for name in _IDS if hit.get(name)} if isinstance(hit, Mapping) else {}
                if len({str(value) for value in ids_of.values()}) > 1:
                    raise DataError("two-columns", name="item", names=list(ids_of))
            found[query] = [_name(hit, place, own) for place, hit in enumerate(hits, 1)]
    return found


def _name(hit: Any, place: int, own: str | None) -> str:
    name, value = _TEXTS[0], hit
    if not (isinstance(hit, str) or ids.is_integer(hit)):
        names = (*_IDS, *_TEXTS) if own is None else (own,)
        fields = ((name, _field(held, name)) for held in (hit, _field(hit, "node")) for name in names)
        name, value = next(((name, field) for name, field in fields if field not in (None, "")), ("", None))
    if isinstance(value, list) and len(value) == 1:  # a field of Solr that could have several values
        value = value[0]
    if not (isinstance(value, str) or ids.is_integer(value)) or not str(value).strip():
        raise DataError("no-id-of-hit", place=place, name=own or "id", value=hit)
    return " ".join(str(value).split()) if name in _TEXTS else str(value)


def of_listed(lists: Mapping[Any, Any], read: ReadOptions) -> Rows:
    """Return the rows of ``{query: [item, …]}``, where an item may be a record with an id and what orders it."""
    if are_lists(lists.values()) or not holds_records(lists):
        return of_lists(lists)
    found, orders, names = items_of_lists(lists, read, ("score", "rank", "distance", *POSITIONS))
    if orders:
        with renumbered(()):
            return replace(of_frame(frame_of_lists(found, orders), read), origin=None)
    doubtful = [name for name in names if _ORDERS.search(name.lower())]
    unknown = next((name for name in doubtful if name[0] != "_"), None)  # hits have a _score, whatever sorts them
    if unknown is not None:
        raise DataError("unknown-order", name=unknown)
    return of_lists(found)


def holds_records(lists: Mapping[Any, Any]) -> bool:
    """Tell whether some of ``{query: [item, …]}`` are records."""
    return any(
        isinstance(entry, list | tuple) and any(isinstance(hit, Mapping) for hit in entry) for entry in lists.values()
    )


def items_of_lists(
    lists: Mapping[Any, Any], read: ReadOptions, wanted: Collection[str]
) -> tuple[dict[Any, list[str]], dict[str, pl.Series], list[str]]:
    """Return the items of ``{query: [record, …]}``, the columns with our names that are wanted, and all names."""
    check_lists(lists)
    found = _named_hits(lists, read)
    hits = [hit if isinstance(hit, Mapping) else {} for entry in lists.values() for hit in entry]
    names = list(dict.fromkeys(str(name) for hit in hits for name in hit))
    columns: dict[str, pl.Series] = {}
    for name in names:
        ours = our_name(name, read.columns or NONE)
        if ours in wanted:
            if ours in columns:
                raise DataError("two-columns", name=ours, names=[name for name in names if our_name(name) == ours])
            columns[ours] = mixed_series(ours, [hit.get(name) for hit in hits])
            read.met.update({name} & {*(read.columns or NONE).values()})
    return found, columns, names


def frame_of_lists(lists: Mapping[Any, list[str]], columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Make a table of the items of queries and of columns of them."""
    queries = ids.as_ids(query for query, items in lists.items() for _ in items)
    items = ids.as_ids(item for items in lists.values() for item in items)
    return pl.DataFrame({"query": ids.series(queries), "item": ids.series(items), **columns})


def gold_of(value: Any, read: ReadOptions) -> dict[Any, Any] | None:
    """Return ``{query: {item: grade}}`` or ``{query: [best item, …]}`` of ratings; None of anything else.

    Ratings are a request to Elasticsearch's ``_rank_eval``, what Quepid exports as JSON, or records of questions with
    the contexts that are right.
    """
    value = plain(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        for part, of_query in (("requests", "id"), ("queries", "query")):
            if (rated := _rated(value.get(part), of_query)) is not None:
                return rated
    if isinstance(value, Mapping):  # which may have a query called gold
        value = [value] if question_of(value, read) is not None else []
    records = value
    if not isinstance(records, list) or not any(_list_named(record, RIGHT) for record in records):
        return None
    right: dict[Any, Any] = {}
    one_tier: dict[Any, str] = {}
    for row, record in enumerate(records):
        with errors_at(row=row):
            name, query = _list_named(record, RIGHT), question_of(record, read)
            if name is None:
                raise DataError("no-contexts")
            if query is None:
                raise DataError("no-question", known=QUESTIONS)
            if query in right:
                raise DataError("query-twice", query=query)
            right[query] = record[name]
            if name in UNORDERED and name != read.chosen("items"):
                one_tier[query] = name
    read.met.update({read.chosen("items") or ""})
    found = {query: [*dict.fromkeys(items)] for query, items in _named_hits(right, read).items()}
    doubtful = [one_tier[query] for query, items in found.items() if query in one_tier and len(items) > 1]
    if doubtful:
        read.note("unordered-gold", name=doubtful[0])
    return {query: dict.fromkeys(items, 1) if query in one_tier else items for query, items in found.items()}


def _rated(entries: Any, of_query: str) -> dict[str, Any] | None:
    """Return the ratings of queries, each of which has some, or none yet; None of anything else."""
    rated = isinstance(entries, list) and all(isinstance(entry, Mapping) and "ratings" in entry for entry in entries)
    if not rated or not entries:
        return None
    found: dict[str, Any] = {}
    for entry in filter(itemgetter("ratings"), entries):
        query = ids.as_id(entry.get(of_query))
        if query in found:
            raise DataError("query-twice", query=query)
        found[query] = _ratings(entry["ratings"], query)
    return found


def _ratings(ratings: Any, query: str) -> dict[Any, Any]:
    """Return the ratings of a query: ``{item: rating}`` of Quepid, records of Elasticsearch."""
    if isinstance(ratings, Mapping) and ratings:
        return dict(ratings)
    found: dict[str, Any] = {}
    for rated in ratings if isinstance(ratings, list) else [ratings]:
        if not isinstance(rated, Mapping) or not {"_id", "rating"} <= {*rated}:
            form = '{item: rating} or [{"_id": …, "rating": …}, …]'
            raise DataError("wrong-form", role="ratings", query=query, expected=form, value=rated)
        item, rating = ids.as_id(rated["_id"]), rated["rating"]
        if found.setdefault(item, rating) != rating:
            raise DataError("two-values", query=query, item=item, what="grade", a=found[item], b=rating)
    return found


def names_tiers(names: Iterable[str], read: ReadOptions) -> bool:
    """Tell whether a record or a table with these names has the tiers of a query, or items, each a tier."""
    ours = {our_name(str(name), read.columns or NONE) for name in names}
    return "tiers" in ours or ("items" in ours and "item" not in ours)


def tier_rows(record: Mapping[str, Any], graded: bool) -> Iterator[tuple[str, float, bool]]:
    """Yield the items of a record, with rank or grade, and whether they are nonrelevant."""
    if record.get("tiers") is not None and record.get("items") is not None:
        raise DataError("two-columns", name="tiers", names=["tiers", "items"])
    lists = {name: _listed(record, name) for name in _FORMS}
    tiers, poor = lists["tiers"] or [[item] for item in lists["items"]], lists["nonrelevant"]
    if not tiers and not poor:
        raise DataError("empty-tier", tier=1)
    grades = lists["grades"] if graded else list(range(1, len(tiers) + 1))
    if graded and (len(grades) != len(tiers) or [*grades, 0.0] != sorted({*grades, 0.0}, reverse=True)):
        raise DataError("tier-grades")
    for rank, (tier, value) in enumerate(zip(tiers, grades, strict=True), 1):
        if not any(item is not None for item in tier or ()):
            raise DataError("empty-tier", tier=rank)
        yield from ((ids.as_id(item), value, False) for item in tier)
    below = lists["nonrelevant_grades"] or [0.0] * len(poor)
    if graded and (len(below) != len(poor) or any(grade > 0 for grade in below)):
        raise DataError("nonrelevant-grades")
    yield from ((ids.as_id(item), grade if graded else 0.0, True) for item, grade in zip(poor, below, strict=False))


def _listed(record: Mapping[str, Any], name: str) -> list[Any]:
    value = [] if record.get(name) is None else record[name]
    if "grades" in name:
        fits: Callable[[Any], bool] = is_number
    else:
        nested = name == "tiers"
        fits = lambda entry: entry is None or isinstance(entry, list) == nested  # noqa: E731
    if not isinstance(value, list) or not all(map(fits, value)):
        raise DataError("wrong-form", role=name, expected=_FORMS[name], value=value)
    return value
