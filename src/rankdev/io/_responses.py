"""Files of search engines: ``{query: response}``, a record on each line, answers to several queries, ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from rankdev.core.records import RIGHT, grades_of, right_rows
from rankdev.core.responses import gathered, is_answer, is_response, lists_of, named_record
from rankdev.errors import DataError, errors_at
from rankdev.io.formats.jsonl import loads, loads_line, not_json, unrepeated
from rankdev.io.streams import Source

# how a response begins: names that only documents of search engines have first, with an object or a list behind
_FIRST = (
    *("hits", "response", "responseHeader", "responses", "queries", "details", "rank_eval"),
    *("_shards", "requests", "error"),
)
_RATED = re.compile(rb'"(?:ratings|%b)"' % b"|".join(name.encode() for name in RIGHT))
_LONG_LINE = re.compile(rb'"(?:hits|docs|responses)"\s*:\s*\[\s*\{|"hits"\s*:\s*\{')


def lists_in_entries(entries: Iterator[tuple[str, Any]]) -> Any:
    """Return the lists of a JSON document of responses, or its members where it is anything else."""
    first = next(entries)
    entries = chain([first], entries)
    if is_response(first[1]):
        return gathered(entries)
    if isinstance(first[1], dict | list) and first[0] not in _FIRST:
        return entries
    document = dict(entries)
    return lists_of(document) if is_answer(document) else iter(document.items())


def lists_in_array(source: Source) -> dict[str, list[Any]]:
    """Return the lists of a JSON array of records, each a response and its query."""
    records = _array(source)
    if not is_answer(records):
        raise DataError("not-by-query")
    return lists_of(records)


def ratings_in_array(source: Source) -> list[dict[str, Any]]:
    """Return rows of ratings of a JSON array of records."""
    rated = grades_of(_array(source))
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


def lists_in_lines(source: Source) -> dict[str, list[Any]]:
    """Return the lists of a file with a response on each line; a single line may hold several."""
    lines = _lines(source)
    at, first = next(lines)
    second = next(lines, None)
    if second is None:
        return lists_of(first) if is_answer(first) else gathered(_named([(at, first)]))
    return gathered(_named(chain([(at, first), second], lines)))


def _named(lines: Iterable[tuple[int, Any]]) -> Iterator[tuple[Any, Any]]:
    for at, record in lines:
        with errors_at(line=at):
            named = named_record(record)
        yield named


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    at = 0
    for batch in source.batches():
        for line in batch.split(b"\n")[: None if not batch.endswith(b"\n") else -1]:
            at += 1
            if not line.strip():
                continue
            yield at, loads_line(line, at)


def ratings_in(source: Source) -> list[dict[str, Any]] | None:
    """Return rows of ratings where a line holds them, or each line for one query; None where it is anything else."""
    line = source.first_line()
    try:
        first = grades_of(loads(line)) if _RATED.search(line) else None
        return first if first is None or b'"ratings"' in line else list(_right_in_lines(source))
    except DataError:
        raise
    except (ValueError, RecursionError):
        return None


def _right_in_lines(source: Source) -> Iterator[dict[str, Any]]:
    for at, record in _lines(source):
        with errors_at(line=at):
            rows = right_rows(record)
        yield from rows
