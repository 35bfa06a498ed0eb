"""Places of a city read from files: exports of OpenStreetMap or Overture, and other tables or GeoJSON."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankdev.errors import DataError, FileFormatError, UsageError, shown
from rankdev.io.formats import TABLE_FORMATS
from rankdev.io.streams import PathLike, Source
from rankdev.io.tables import parse_table
from rankdev.studies.city._places import COLUMNS, Places, built_in_city, first_of, places_of, plain

FEWEST, MOST = 200, 4000  # with fewer, references repeat each other; of more, those nearest to the centre are taken


def load_places(path: PathLike | None) -> Places:
    """Read a city, or make the built-in one where there is no file."""
    if path is None:
        return built_in_city()
    found = read_places(path)
    if len({label[0] for label in found.labels}) < 5:
        raise UsageError(f"{path}: fewer than 5 categories; queries ask for categories, so the study needs more")
    if found.scale < 1:
        raise UsageError(f"{path}: most places are less than a metre apart; the study needs places of a whole area")
    return found


def read_places(path: PathLike) -> Places:
    """Read places from a table (CSV, TSV, JSONL, Parquet) or GeoJSON, with the columns of OpenStreetMap or Overture."""
    with Source(path) as source:
        name, content, kind = source.name, source.read(), source.kind
    records = [_flat(record) for record in _records(name, content, kind)]
    columns = list(dict.fromkeys(column for record in records for column in record))
    _check_columns(name, columns)
    return _places(name, records)


def _records(name: str, content: bytes, kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file: features of GeoJSON, or rows."""
    if content.lstrip()[:1] in (b"{", b"["):
        yield from _json_records(name, content)
    elif kind in TABLE_FORMATS:
        yield from parse_table(name, content, kind).frame.iter_rows(named=True)
    else:
        raise FileFormatError(name, "expected places as CSV, TSV, JSONL, Parquet or GeoJSON; see docs/studies.md")


def _json_records(name: str, content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        whole = json.loads(content)
    except ValueError:
        lines = [(i, line) for i, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1) if line.strip()]
    else:
        lines = []
        listed = whole if isinstance(whole, list) else whole.get("features", whole.get("elements", [whole]))
        yield from (_feature(name, entry, None) for entry in listed)
    for i, line in lines:
        try:
            yield _feature(name, json.loads(line.lstrip("\x1e")), i)
        except ValueError:
            raise FileFormatError(name, "this line is not JSON", i) from None


def _feature(name: str, entry: Any, line: int | None) -> Mapping[str, Any]:
    """Return a record, or the properties of a GeoJSON feature or an Overpass element with its place."""
    if not isinstance(entry, dict):
        raise FileFormatError(name, f"expected an object with the fields of a place; got {shown(entry)}", line)
    inner = {**(entry.get("properties") or {}), **(entry.get("tags") or {}), **(entry.get("center") or {})}
    return {key: value for key, value in entry.items() if key not in ("properties", "tags", "center")} | inner


def _flat(record: Mapping[str, Any], begin: str = "") -> dict[str, Any]:
    """Return nested fields under names such as names.primary; of a list of objects, the first one's."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if key == "geometry":
            found |= _point(value)
            continue
        inner = _parsed(value)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            inner = inner[0]
        if isinstance(inner, dict):
            found |= _flat(inner, f"{begin}{key}.")
        else:
            found[f"{begin}{key}"] = ";".join(map(str, inner)) if isinstance(inner, list) else value
    return found


def _parsed(value: Any) -> Any:
    """Return what a text holds where it is JSON, as in tables made of nested exports."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _point(geometry: Any) -> dict[str, Any]:
    """Return the middle of a geometry: GeoJSON, WKT, or a WKB point."""
    geometry = _parsed(geometry)
    if isinstance(geometry, dict):
        numbers = _numbers(geometry.get("coordinates"))
    elif isinstance(geometry, bytes) and len(geometry) >= 21 and geometry[1 if geometry[0] else 4] == 1:
        numbers = [struct.unpack_from("<dd" if geometry[0] else ">dd", geometry, 5)]
    else:
        pairs = re.findall(r"(-?[\d.]+)\s+(-?[\d.]+)", geometry) if isinstance(geometry, str) else []
        numbers = [(float(lon), float(lat)) for lon, lat in pairs]
    if not numbers:
        return {}
    lon, lat = np.mean(numbers, axis=0).tolist()
    return {"lat": lat, "lon": lon}


def _numbers(coordinates: Any) -> list[tuple[float, float]]:
    if not isinstance(coordinates, list) or not coordinates:
        return []
    if isinstance(coordinates[0], list):
        return [pair for part in coordinates for pair in _numbers(part)]
    return [(float(coordinates[0]), float(coordinates[1]))]


def _check_columns(name: str, columns: Sequence[str]) -> None:
    for wanted in ("name", "category", "lat", "lon"):
        if not set(columns) & set(COLUMNS[wanted]):
            known = [*COLUMNS[wanted], *(["geometry"] if wanted in ("lat", "lon") else [])]
            got = ", ".join(columns[:20]) or "no columns"
            raise FileFormatError(name, f"no column for {wanted}: expected one of {', '.join(known)}; got {got}")


def _places(source: str, records: Sequence[Mapping[str, Any]]) -> Places:
    kept, where = [], []
    for row, record in enumerate(records):
        at = [_coordinate(source, row, record, part, limit) for part, limit in (("lat", 90), ("lon", 180))]
        if plain(first_of(record, "name")) and first_of(record, "category") and None not in at:
            kept.append(record)
            where.append(at)
    notes = [f"{len(records) - len(kept)} places without name, category or position left out"]
    if len(kept) < FEWEST:
        raise DataError(
            f"{source}: the study needs at least {FEWEST} places with name, category, lat and lon; got {len(kept)}"
        )
    lat, lon = np.array(where, float).T
    middle = np.median(lat), np.median(lon)
    x = (lon - middle[1]) * 111_320 * math.cos(math.radians(float(middle[0])))
    y = (lat - middle[0]) * 111_320
    near = np.sort(np.argsort(np.hypot(x, y), kind="stable")[:MOST])
    if len(near) < len(kept):
        notes.append(f"the {MOST:,} places nearest to the middle were taken of {len(kept):,}")
    if len(kept) == len(records):
        notes.pop(0)
    return places_of(source, [kept[i] for i in near], x[near], y[near], notes)


def _coordinate(source: str, row: int, record: Mapping[str, Any], part: str, limit: int) -> float | None:
    value = first_of(record, part)
    if value == "":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not abs(number) <= limit:
        raise DataError(
            f"{source}: {part} of place {row + 1} must be a number from -{limit} to {limit}; got {shown(value)}"
        )
    return number
