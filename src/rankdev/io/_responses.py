"""Files of search engines: ``{query: response}``, a record on each line, answers to several queries, ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from rankdev.core.records import RIGHT, grades_of, right_rows
from rankdev.core.responses import gathered, is_answer, is_response, lists_of, named_record
from rankdev.errors import DataError, FileFormatError
from rankdev.io.formats.jsonl import loads, unrepeated
from rankdev.io.streams import Source

# how a response begins: names that only documents of search engines have first, with an object or a list behind
_FIRST = (
    *("hits", "response", "responseHeader", "responses", "queries", "details", "rank_eval"),
    *("_shards", "requests", "error"),
)
_RATED = re.compile(rb'"(?:ratings|%b)"' % b"|".join(name.encode() for name in RIGHT))
_LONG_LINE = re.compile(rb'"(?:hits|docs|responses)"\s*:\s*\[\s*\{|"hits"\s*:\s*\{')


def lists_in_entries(source: Source, entries: Iterator[tuple[str, Any]]) -> Any:
    """Return the lists of a JSON document of responses, or its members where it is anything else."""
    first = next(entries)
    entries = chain([first], entries)
    try:
        if is_response(first[1]):
            return gathered(entries)
        if isinstance(first[1], dict | list) and first[0] not in _FIRST:
            return entries
        document = dict(entries)
        return lists_of(document) if is_answer(document) else iter(document.items())
    except FileFormatError:
        raise
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


def lists_in_array(source: Source) -> dict[str, list[Any]]:
    """Return the lists of a JSON array of records, each a response and its query."""
    try:
        records = json.loads(source.read(), object_pairs_hook=unrepeated)
        if not is_answer(records):
            raise DataError(
                "expected a JSON object that maps each query to its items, or a list of responses of a search engine"
            )
        return lists_of(records)
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(source.name, f"this is not JSON ({error})") from None


def ratings_in_array(source: Source) -> list[dict[str, Any]]:
    """Return rows of ratings of a JSON array of records."""
    try:
        rated = grades_of(json.loads(source.read(), object_pairs_hook=unrepeated))
        if rated is None:
            raise DataError(
                "expected a JSON object that maps each query to its items, or a list of records with reference_contexts"
            )
        return rated
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(source.name, f"this is not JSON ({error})") from None


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
    try:
        second = next(lines, None)
        if second is None:
            return lists_of(first) if is_answer(first) else gathered(_named(source.name, [(at, first)]))
        return gathered(_named(source.name, chain([(at, first), second], lines)))
    except FileFormatError:
        raise
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


def _named(name: str, lines: Iterable[tuple[int, Any]]) -> Iterator[tuple[Any, Any]]:
    for at, record in lines:
        try:
            yield named_record(record)
        except DataError as error:
            raise FileFormatError(name, str(error), at) from None


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    at = 0
    for batch in source.batches():
        for line in batch.split(b"\n")[: None if not batch.endswith(b"\n") else -1]:
            at += 1
            if not line.strip():
                continue
            try:
                yield at, loads(line)
            except UnicodeDecodeError:
                raise FileFormatError(source.name, "this line is not UTF-8; save the file as UTF-8", at) from None
            except DataError as error:
                raise FileFormatError(source.name, str(error), at) from None
            except (ValueError, RecursionError) as error:
                raise FileFormatError(source.name, f"this line is not JSON ({error})", at) from None


def ratings_in(source: Source) -> list[dict[str, Any]] | None:
    """Return rows of ratings where a line holds them, or each line for one query; None where it is anything else."""
    line = source.first_line()
    try:
        first = grades_of(loads(line)) if _RATED.search(line) else None
        return first if first is None or b'"ratings"' in line else list(_right_in_lines(source))
    except FileFormatError:
        raise
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    except (ValueError, RecursionError):
        return None


def _right_in_lines(source: Source) -> Iterator[dict[str, Any]]:
    for at, record in _lines(source):
        try:
            yield from right_rows(record)
        except DataError as error:
            raise FileFormatError(source.name, str(error), at) from None
