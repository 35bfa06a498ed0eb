"""Records of retrieved items: responses of search engines, answers of RAG pipelines, and what is right for a question.

A response has its hits in the order in which the engine returned them: what a user saw, whatever it was sorted by. All
other records are ordered by their score, rank or distance where they have one, else as they are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from rankdev._common.checks import is_number
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.options import ReadOptions
from rankdev.data.rows import Rows, are_lists, check_lists, is_finite, of_frame, of_lists
from rankdev.data.tables import (
    DEEPEST,
    KNOWN_NAMES,
    NONE,
    POSITIONS,
    QUERIES,
    USERS,
    mixed_series,
    our_name,
    plain_name,
    renumbered,
)
from rankdev.errors import DataError, errors_at

_QUESTIONS = (*QUERIES, *USERS, "input")
_PART = "(?:(?:chunk|context|doc|document|passage|text|node|item|product)s?(?:ids?)?|ids?)"  # of plain names
RETRIEVED = re.compile(f"retrieved{_PART}?|contexts|source(?:documents|nodes)")
RIGHT = re.compile(f"gold{_PART}?|(?:relevant|reference|expected|groundtruth){_PART}")
_UNORDERED = ("referencecontextids", "expectedids", "referencecontexts", "expectedtexts", "groundtruthcontexts")
_TEXTS = ("pagecontent", "text", "content")
_NAMES_OF_HIT = ("id", *KNOWN_NAMES["item"], "nodeid", *_TEXTS)
_ATTRIBUTES = ("id", "doc_id", "chunk_id", "node_id", "id_", "page_content", "text", "content")
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


def records_in(frame: pl.DataFrame, kind: re.Pattern[str], read: ReadOptions) -> list[dict[str, Any]] | None:
    """Return the rows of a table with lists of one kind, or of what was chosen as retrieved; None of any other."""
    lists = [name for name in frame.columns if frame[name].dtype in (pl.List, pl.Array)]
    named, own = [name for name in lists if kind.fullmatch(plain_name(name))], read.chosen("retrieved")
    if kind is RETRIEVED and own in lists:
        read.met.add(own)
        return frame.drop(name for name in named if name != own).rename({own: "retrieved"}).to_dicts()
    return frame.to_dicts() if named else None


def question_of(record: Any, read: ReadOptions) -> Any:
    """Return the query that a record names, by the column that was chosen or by a name that is known."""
    known = record if isinstance(record, Mapping) else {}
    named = {name: known[name] for name in known if isinstance(known[name], str | int)}
    own = read.chosen("query")
    if own is not None and own in known:
        read.met.add(own)
        return named.get(own)
    found = {plain_name(str(name)): value for name, value in named.items()}
    return next((found[name] for name in _QUESTIONS if name in found), None)


def _lists(record: Any, kind: re.Pattern[str]) -> list[str]:
    """Return the names of the lists of one kind that a record has: of ids, or else of texts."""
    known = record if isinstance(record, Mapping) else {}
    names = [name for name in known if isinstance(known[name], list) and kind.fullmatch(plain_name(str(name)))]
    return [name for name in names if plain_name(name).endswith(("id", "ids"))] or names


def _list_of(record: Mapping[str, Any], kind: re.Pattern[str], read: ReadOptions) -> str:
    """Return the name of the only list of one kind, or of that which was chosen; refuse two that differ."""
    names, ours = _lists(record, kind), "retrieved" if kind is RETRIEVED else "items"
    own = read.chosen(ours)
    if own is not None and isinstance(record.get(own), list):
        read.met.add(own)
        return own
    if any(record[name] != record[names[0]] for name in names):
        raise DataError("two-columns", name=ours, names=names)
    return names[0]


def _with_numbers(record: Mapping[str, Any], name: str) -> list[Any]:
    """Return what a record lists, with the numbers that its other lists have for each, such as scores."""
    hits, named = record[name], {*_lists(record, RETRIEVED), *_lists(record, RIGHT)}
    beside = {
        str(other): values
        for other, values in record.items()
        if isinstance(values, list) and len(values) == len(hits) and other not in named and all(map(is_number, values))
    }
    if not beside or not all(isinstance(hit, str) or ids.is_integer(hit) for hit in hits):
        return hits
    of_each = (dict(zip(beside, values, strict=True)) for values in zip(*beside.values(), strict=True))
    return [{"text" if isinstance(hit, str) else "id": hit} | values for hit, values in zip(hits, of_each, strict=True)]


def is_response(value: Any) -> bool:
    """Tell whether this is the answer to one query, of any engine, errors included."""
    value = plain(value)
    if not isinstance(value, Mapping):
        return False
    hits, found, error = value.get("hits"), value.get("response"), value.get("error")
    return (
        (isinstance(hits, Mapping) and isinstance(hits.get("hits"), list))
        or (isinstance(found, Mapping) and isinstance(found.get("docs"), list))
        or bool(_lists(value, RETRIEVED))
        or isinstance(error, Mapping)
        or (isinstance(error, str) and isinstance(value.get("status"), int))
    )


def _is_named(value: Any) -> bool:
    """Tell whether this is a response and perhaps the query that it answers."""
    value = plain(value)
    return isinstance(value, Mapping) and (is_response(value) or is_response(value.get("response")))


def answers_in(value: Any) -> list[tuple[Any, Any]] | None:
    """Return queries and responses, the query None where the response names it; None of what holds no responses.

    This is ``{query: response}``, responses that name their queries, or a multi-search answer, perhaps with queries.
    """
    value = plain(value)
    if isinstance(value, list) and len(value) == 1 and not _is_named(value[0]):  # the only line of a file
        value = plain(value[0])
    several = value.get("responses") if isinstance(value, Mapping) else value
    if isinstance(several, list):
        queries = value.get("queries") if isinstance(value, Mapping) else None
        if not several or not all(map(_is_named, several)):
            return None
        if queries is not None and not (isinstance(queries, list) and len(queries) == len(several)):
            raise DataError("queries-of-responses", count=len(several))
        return list(zip(queries or repeat(None), several, strict=False))
    if _is_named(value):
        return [(None, value)]
    by_query = isinstance(value, Mapping) and any(map(is_response, value.values()))
    return list(value.items()) if by_query else None


def lists_of(answers: Iterable[tuple[Any, Any]], read: ReadOptions) -> dict[str, list[Any]]:
    """Return what was found for each query: ids in the order of an engine, or records; note incomplete answers."""
    found: dict[str, list[Any]] = {}
    partial: dict[str, str] = {}
    in_order: dict[str, list[Any]] = {}
    for row, (name, answer) in enumerate(answers):
        with errors_at(row=row if name is None else None):
            query, response = _named(plain(answer), read) if name is None else (name, plain(answer))
        query = ids.as_id(query)
        if query in found:
            raise DataError("query-twice", query=query)
        with errors_at(query=query):
            hits, of_engine, reason = _hits(response, read)
        found[query] = hits
        if of_engine or not any(isinstance(hit, Mapping) for hit in hits):
            in_order[query] = hits
        if reason:
            partial[query] = reason
    if partial:
        query, reason = next(iter(partial.items()))
        read.note("partial-answers", count=len(partial), answers=len(found), query=query, why=reason)
    return found | _named_hits(in_order, read, flat=True)


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


def _hits(response: Any, read: ReadOptions) -> tuple[list[Any], bool, str]:
    """Return the hits of one response, whether they are an engine's, and why they are incomplete, if they are.

    Refuse an error and a later page.
    """
    if not is_response(response):
        raise DataError("not-a-response", value=response)
    if _lists(response, RETRIEVED):
        return _with_numbers(response, _list_of(response, RETRIEVED, read)), False, ""
    header = response.get("responseHeader") if isinstance(response.get("responseHeader"), Mapping) else {}
    if "error" in response or header.get("status"):
        error = response.get("error") or f"status {header.get('status')}"
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
                ids_of = {name: id_ for name, id_ in _names_of(hit) if plain_name(name) not in _TEXTS}
                if isinstance(hit, Mapping) and len(set(map(str, ids_of.values()))) > 1:
                    raise DataError("two-columns", name="item", names=list(ids_of))
            found[query] = [_name(hit, place, own) for place, hit in enumerate(hits, 1)]
    return found


@lru_cache(1000)
def _naming(names: tuple[Any, ...]) -> list[Any]:
    """Return the names of the fields that could name a hit, ids before texts."""
    places = {
        name: _NAMES_OF_HIT.index(plain_name(str(name))) for name in names if plain_name(str(name)) in _NAMES_OF_HIT
    }
    return sorted(places, key=places.__getitem__)


def _names_of(hit: Any) -> Iterator[tuple[str, Any]]:
    """Yield what could name a hit, ids before texts."""
    by_name = isinstance(hit, Mapping)
    for name in _naming(tuple(hit)) if by_name else _ATTRIBUTES:
        value = hit[name] if by_name else getattr(hit, name, None)
        if _is_given(value):
            yield str(name), value


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value)


def _name(hit: Any, place: int, own: str | None) -> str:
    name, value = _TEXTS[0], hit
    if not (isinstance(hit, str) or ids.is_integer(hit)):
        held = chain([hit], (_field(hit, part) for part in ("_source", "fields", "node")))
        found = map(_names_of, held) if own is None else [[(own, _field(hit, own)), (own, _field(hit, f"node.{own}"))]]
        name, value = next((field for fields in found for field in fields if _is_given(field[1])), ("", None))
    if isinstance(value, list) and len(value) == 1:  # a field of Solr that could have several values
        value = value[0]
    if not (isinstance(value, str) or ids.is_integer(value)) or not str(value).strip():
        raise DataError("no-id-of-hit", place=place, name=own or "id", value=hit)
    return " ".join(str(value).split()) if plain_name(name) in _TEXTS else str(value)


def of_listed(lists: Mapping[Any, Any], read: ReadOptions) -> Rows:
    """Return the rows of ``{query: [item, …]}``, where an item may be a record with an id and what orders it."""
    if are_lists(lists.values()) or not holds_records(lists):
        return of_lists(lists)
    found = of_records(lists, read, ("score", "rank", "distance", *POSITIONS))
    if isinstance(found, dict):
        return of_lists(found)
    with renumbered(()):
        return replace(of_frame(found, read), origin=None)


def holds_records(lists: Mapping[Any, Any]) -> bool:
    """Tell whether some of ``{query: [item, …]}`` are records."""
    return any(
        isinstance(entry, list | tuple) and any(isinstance(hit, Mapping) for hit in entry) for entry in lists.values()
    )


def of_records(
    lists: Mapping[Any, Any], read: ReadOptions, wanted: Collection[str]
) -> dict[Any, list[str]] | pl.DataFrame:
    """Return ``{query: [record, …]}`` as a table of their items and columns, or as lists where none is ``wanted``.

    Then a number of each record is refused that could order them in another way than they are listed.
    """
    check_lists(lists)
    found, chosen = _named_hits(lists, read), read.columns or NONE
    hits = [_with_nested(hit) if isinstance(hit, Mapping) else {} for entry in lists.values() for hit in entry]
    every = {str(name): our_name(str(name), chosen) for hit in hits for name in hit}
    # hits of an engine have a _score, whatever sorts them, and other numbers, such as a _version
    own = {name for name in every if name[:1] == "_" and (every[name] not in wanted or name == "_score")}
    names = {name: ours for name, ours in every.items() if name not in own or name in chosen.values()}
    columns: dict[str, pl.Series] = {}
    for name, ours in names.items():
        if ours in columns:
            raise DataError("two-columns", name=ours, names=[other for other in names if names[other] == ours])
        if ours in wanted:
            columns[ours] = mixed_series(ours, [hit.get(name) for hit in hits])
            read.met.update({name} & {*chosen.values()})
    if columns:
        queries = ids.as_ids(query for query, items in found.items() for _ in items)
        items = ids.as_ids(item for items in found.values() for item in items)
        return pl.DataFrame({"query": ids.series(queries), "item": ids.series(items), **columns})
    sizes = [len(entry) for entry in lists.values()]
    for name in names if read.order != "rank" else ():
        inside = our_name(name.rpartition(".")[2])
        meaning = inside if inside in wanted else None
        if names[name] != "item" and plain_name(name) not in _NAMES_OF_HIT and (meaning or "." not in name):
            _note_order(name, [hit.get(name) for hit in hits], sizes, meaning, "grade" in wanted, read)
    return found


def _with_nested(hit: Mapping[Any, Any], levels: int = DEEPEST) -> Mapping[Any, Any]:
    """Return the fields of a record, also of records in it, such as ``metadata.score``."""
    nested = [outer for outer, value in hit.items() if isinstance(value, Mapping)] if levels else []
    if not nested:
        return hit
    inside = ((outer, _with_nested(hit[outer], levels - 1)) for outer in nested)
    return {**hit, **{f"{outer}.{name}": value for outer, inner in inside for name, value in inner.items()}}


def _note_order(
    name: str, values: list[Any], sizes: list[int], meaning: str | None, graded: bool, read: ReadOptions
) -> None:
    """Note numbers, of lists of these sizes, that could order them in another way than they are listed.

    Scores that never rise agree with a list; equal grades would make a tier of what it has in order. Numbers of a run
    that are whole may be pages or years; others, what could be grades, what counts the items of each list in another
    order, and metadata whose ``meaning`` is known by their name are refused.
    """
    known = [place for place, value in enumerate(values) if value is not None]
    if not all(is_finite(values[place]) and not isinstance(values[place], bool) for place in known):
        return
    inside, numbers = np.repeat(np.arange(len(sizes)), sizes)[known], np.array([float(values[at]) for at in known])
    if meaning in ("rank", "distance", *POSITIONS):  # of which the lowest is the best
        numbers = -numbers
    steps = np.diff(numbers)[np.diff(inside) == 0]
    begin = numbers[np.lexsort((numbers, inside))] - np.concatenate([*map(np.arange, np.bincount(inside)), np.zeros(0)])
    counts = max(sizes) > 2 and (steps < 0).any() and begin[0] in (0, 1) and (begin == begin[0]).all()
    if counts or (steps > 0).any() or (graded and (steps == 0).any() and (steps != 0).any()):
        if graded or counts or meaning or (numbers % 1).any():
            raise DataError("unknown-order", name=name)
        read.note("unknown-order", name=name)


def gold_of(value: Any, read: ReadOptions) -> dict[Any, Any] | pl.DataFrame | None:
    """Return ``{query: {item: grade}}``, ``{query: [best item or tier, …]}`` or a table of ratings; None of all else.

    Ratings are a request to Elasticsearch's ``_rank_eval``, what Quepid exports as JSON, or records of questions with
    the contexts that are right.
    """
    value = plain(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):  # which may have a query called gold
        for part, of_query in (("requests", "id"), ("queries", "query")):
            if _are_records(value.get(part), "ratings"):
                return _rated(value[part], of_query, read)
        value = [value] if question_of(value, read) is not None else []
    is_right = isinstance(value, list) and any(_lists(record, RIGHT) for record in value)
    return _right_of(value, read) if is_right else None


def _right_of(records: list[Any], read: ReadOptions) -> dict[Any, Any] | pl.DataFrame:
    right: dict[Any, Any] = {}
    one_tier: dict[Any, str] = {}
    for row, record in enumerate(records):
        with errors_at(row=row):
            query = question_of(record, read)
            if not _lists(record, RIGHT):
                raise DataError("no-contexts")
            name = _list_of(record, RIGHT, read)
            if query is None:
                raise DataError("no-question", known=_QUESTIONS)
            if query in right:
                raise DataError("query-twice", query=query)
            right[query] = record[name] if _lists(record, RETRIEVED) else _with_numbers(record, name)
            if plain_name(name) in _UNORDERED and name != read.chosen("items"):
                one_tier[query] = name
    if any(isinstance(hit, list) for hits in right.values() for hit in hits):
        return right
    found = of_records(right, read, ("grade", "rank"))
    if not isinstance(found, dict):
        return found
    found = {query: [*dict.fromkeys(items)] for query, items in found.items()}
    doubtful = [one_tier[query] for query, items in found.items() if query in one_tier and len(items) > 1]
    if doubtful:
        read.note("unordered-gold", name=doubtful[0])
    if len(one_tier) == len(found):
        return {query: dict.fromkeys(items, 1) for query, items in found.items()}
    return {query: [items] if query in one_tier else items for query, items in found.items()}


def _are_records(value: Any, *names: str) -> bool:
    """Recognise a list of records, each with these fields."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) and {*names} <= {*one} for one in value)
    )


def _rated(entries: list[Any], of_query: str, read: ReadOptions) -> dict[Any, Any] | pl.DataFrame:
    """Return the ratings of queries that have any: ``{item: rating}`` of Quepid, records of Elasticsearch."""
    found: dict[str, Any] = {}
    for entry in filter(itemgetter("ratings"), entries):
        query, rated = ids.as_id(entry.get(of_query)), entry["ratings"]
        if query in found:
            raise DataError("query-twice", query=query)
        if isinstance(rated, Mapping):
            rated = [{"_id": item, "rating": rating} for item, rating in rated.items()]
        if not _are_records(rated, "_id", "rating"):
            form = '{item: rating} or [{"_id": …, "rating": …}, …]'
            raise DataError("wrong-form", role="ratings", query=query, expected=form, value=rated)
        found[query] = [{"id": one["_id"], "grade": one["rating"]} for one in rated]
    return of_records(found, read, ("grade",))


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
