"""Places of a city: from exports of OpenStreetMap or Overture, or from a built-in city."""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, FileFormatError, UsageError, shown
from rankdev.io.streams import PathLike, Source
from rankdev.io.table_formats import TABLE_FORMATS
from rankdev.io.tables import parse_table

FEWEST, MOST = 200, 4000  # below, references repeat each other; above, the places nearest to the centre
TAGS = (
    *("amenity", "shop", "tourism", "leisure", "office", "railway", "public_transport"),
    *("historic", "craft", "healthcare"),
)
COLUMNS = {
    "name": ("name", "names.primary", "title"),
    "category": ("category", "categories.primary", "basic_category", *TAGS),
    "cuisine": ("cuisine", "categories.alternate"),
    "street": ("street", "addr:street", "addr_street", "addresses.freeform", "address"),
    "postcode": ("postcode", "addr:postcode", "addr_postcode", "addresses.postcode", "postal_code", "zip"),
    "lat": ("lat", "@lat", "latitude", "y"),
    "lon": ("lon", "@lon", "longitude", "lng", "x"),
}
OTHER_NAMES = re.compile(r"(name[:_]\w{2,3}|alt_name|official_name|short_name|names\.common\..+)$")
GROUPS = {
    "food": "restaurant cafe fast_food ice_cream food_court bakery deli confectionery pastry coffee tea bistro"
    " diner pizza",
    "nightlife": "pub bar nightclub biergarten casino gambling club lounge",
    "fashion": "clothes clothing shoe shoes jewelry bag boutique tailor leather fabric watches",
    "beauty care": "hairdresser hair beauty massage cosmetics optician perfumery tattoo chemist salon spa",
    "home and design": "furniture interior_decoration art antiques bed gift houseware kitchen florist carpet lamps",
    "sights": "artwork museum gallery theatre cinema library memorial attraction arts_centre monument viewpoint"
    " place_of_worship church landmark castle information",
    "lodging": "hotel hostel guest_house apartment motel",
    "transport": "tram_stop subway_entrance stop_position platform station bicycle_rental parking stop taxi"
    " parking_entrance bus_station level_crossing ferry_terminal",
    "money": "bank atm bureau_de_change credit_union",
    "health": "pharmacy dentist doctors doctor clinic hospital physiotherapist",
    "groceries": "kiosk convenience supermarket alcohol greengrocer butcher seafood variety_store grocery",
    "leisure": "park sports_centre fitness_centre gym playground garden dance sports outdoor bicycle toys books music"
    " video_games games",
}
_GROUP_OF = {word: group for group, words in GROUPS.items() for word in words.split()}


def plain(text: object) -> str:
    """Return a text in small letters, without accents and punctuation.

    >>> plain("Café  Ekberg, 1852")
    'cafe ekberg 1852'
    """
    parts = unicodedata.normalize("NFKD", str(text).casefold())
    return " ".join(re.findall(r"[^\W_]+", "".join(part for part in parts if not unicodedata.combining(part))))


@dataclass(frozen=True, eq=False)
class Places:
    """Places of a city; texts are :func:`plain`, ``x`` and ``y`` in metres, labels joined by ``_``.

    ``names`` of a place are the one that it is known by, then those in other languages. ``labels`` are its category,
    further categories or cuisines, its group and the kind of its category; ``cuisines`` are the second of these alone.
    """

    source: str
    names: Sequence[Sequence[str]] = field(repr=False)
    labels: Sequence[Sequence[str]] = field(repr=False)
    cuisines: Sequence[Sequence[str]] = field(repr=False)
    groups: Sequence[str] = field(repr=False)
    streets: Sequence[str] = field(repr=False)
    postcodes: Sequence[str] = field(repr=False)
    filled: Sequence[int] = field(repr=False)  # fields that have a value: known places have more
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.names)

    @property
    def scale(self) -> float:
        """Metres that count as one step of distance: 5/6 of the median distance between two places."""
        apart = np.hypot(self.x[:, None] - self.x[None], self.y[:, None] - self.y[None])
        return float(np.median(apart[np.triu_indices(len(self), 1)]) * 5 / 6)


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
        if plain(_first(record, "name")) and _first(record, "category") and None not in at:
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
    value = _first(record, part)
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


def _first(record: Mapping[str, Any], what: str) -> str:
    """Return the first of the columns for something that has a value."""
    return next((str(record[name]).strip() for name in COLUMNS[what] if record.get(name) not in (None, "")), "")


def places_of(
    source: str, records: Sequence[Mapping[str, Any]], x: Floats, y: Floats, notes: Sequence[str] = ()
) -> Places:
    """Make places of records whose columns are known."""
    names, tops, cuisines, kinds = [], [], [], []
    for record in records:
        others = [str(value) for key, value in record.items() if value and OTHER_NAMES.match(key)]
        names.append(list(dict.fromkeys(filter(None, map(plain, [_first(record, "name"), *others]))))[:3])
        kind = next((tag for tag in TAGS if record.get(tag)), str(record.get("category_key") or ""))
        top = _label(_first(record, "category").split(";")[0])
        kinds.append(_label(kind) or top)
        tops.append(kinds[-1] if top == "yes" else top)
        cuisines.append(list(dict.fromkeys(filter(None, map(_label, re.split("[;,]", _first(record, "cuisine")))))))
    groups = [_group(top, kind) for top, kind in zip(tops, kinds, strict=True)]
    counts = {group: groups.count(group) for group in groups}
    groups = [group if counts[group] >= 9 else "other" for group in groups]
    labels = [
        list(dict.fromkeys([top, *more, group, kind]))
        for top, more, group, kind in zip(tops, cuisines, groups, kinds, strict=True)
    ]
    return Places(
        source,
        names,
        labels,
        cuisines,
        groups,
        [_street(_first(record, "street")) for record in records],
        [plain(_first(record, "postcode")) for record in records],
        [sum(value not in (None, "") for value in record.values()) for record in records],
        x,
        y,
        tuple(notes),
    )


def _label(text: str) -> str:
    return plain(text).replace(" ", "_")


def _group(top: str, kind: str) -> str:
    """Return the group of a category: its own, that of one of its words (the last first), or by its kind."""
    words = [top, *reversed(top.split("_"))]
    found = next((_GROUP_OF[word] for word in words if word in _GROUP_OF), None)
    if found is None:
        shop = kind == "shop" or {"shop", "store"} & set(words)
        found = "offices" if kind == "office" else "shopping" if shop else "other" if kind == top else kind
    return found


def _street(address: str) -> str:
    """Return the street of an address, without house numbers.

    >>> _street("Kaivokatu 1 A"), _street("12b Main St, Tacoma"), _street("5th Avenue")
    ('kaivokatu', 'main st', '5th avenue')
    """
    first = re.sub(r"^\d+[a-zA-Z]?\s+", "", address.partition(",")[0].strip())
    return plain(re.sub(r"\s+\d.*$", "", first))


_SYLLABLES = tuple(re.findall(r"\w+", "ka lo mi ra ne tu sa vel or in ha po ki lan ter bo du fi ga sol ma ri ve no"))
_COUNTS = {
    "amenity": "restaurant 14 cafe 6 fast_food 4 pub 4 bar 3 bank 2 atm 1 parking 1 theatre 1 nightclub 1 library 1"
    " place_of_worship 1 pharmacy 1 dentist 1 bicycle_rental 1",
    "shop": "clothes 7 hairdresser 4 jewelry 2 beauty 2 optician 2 shoes 1 furniture 1 kiosk 1 convenience 1 art 1"
    " books 1 gift 1 sports 1 alcohol 1 supermarket 1 bakery 1 florist 1 mobile_phone 1 toys 1",
    "office": "company 8 ngo 2 government 1 lawyer 1 estate_agent 1",
    "tourism": "artwork 4 hotel 3 museum 1 gallery 1 hostel 1",
    "railway": "tram_stop 4 subway_entrance 2 station 1",
    "historic": "memorial 2",
    "leisure": "park 2 fitness_centre 1",
}
_CUISINES = ("pizza", "sushi", "burger", "italian", "chinese", "indian", "thai", "mexican", "kebab", "vegan")


def built_in_city(count: int = 1500) -> Places:
    """Make a city of the shape of central Helsinki: streets, chains, names in two languages, incomplete records."""
    rng = np.random.default_rng(2026)
    kinds = [
        (tag, name, int(times))
        for tag, listed in _COUNTS.items()
        for name, times in zip(listed.split()[::2], listed.split()[1::2], strict=True)
    ]
    weights = np.array([times for *_, times in kinds], float)

    def word() -> str:
        return "".join(rng.choice(_SYLLABLES, rng.integers(2, 4)))

    streets = [f"{word()} street" for _ in range(48)]
    angle, offset = rng.choice([0.0, np.pi / 2], 48), rng.normal(0, 320, 48)
    chains = [(word(), int(i)) for i in rng.choice(len(kinds), 40, p=weights / weights.sum())]
    records, places = [], []
    for _ in range(count):
        tag, category, _ = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
        name = word() if rng.random() < 0.5 else f"{word()} {word()}"
        if rng.random() < 0.3:
            name = f"{category.replace('_', ' ')} {name}"
        if rng.random() < 0.12:
            name, chosen = chains[int(rng.integers(len(chains)))]
            tag, category, _ = kinds[chosen]
        street = int(rng.integers(48))
        along = rng.normal(0, 380)
        turned = np.array([along, offset[street]]) if angle[street] == 0 else np.array([offset[street], along])
        places.append(turned + rng.normal(0, 12, 2))
        zone = 100 + 10 * int(np.clip((places[-1][0] + 800) // 400, 0, 3)) + int(places[-1][1] > 0)
        record: dict[str, Any] = {"name": name, tag: category}
        optional = {
            "addr:street": (0.7, streets[street]),
            "addr:postcode": (0.6, f"{zone:05d}"),
            "name:en": (0.15, f"{word()} {category.replace('_', ' ')}"),
            "opening_hours": (0.35, "Mo-Su"),
            "cuisine": (0.6 * (category in ("restaurant", "cafe", "fast_food")), str(rng.choice(_CUISINES))),
        }
        record |= {key: value for key, (share, value) in optional.items() if rng.random() < share}
        records.append(record)
    x, y = np.array(places).T
    return places_of("built-in city", records, x, y)


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
