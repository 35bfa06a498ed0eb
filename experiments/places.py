"""Places of a city: a table with the columns of OpenStreetMap, or a built-in city."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]

TAGS = (
    *("amenity", "shop", "tourism", "leisure", "office", "railway", "public_transport"),
    *("historic", "craft", "healthcare"),
)
COLUMNS = {
    "name": ("name",),
    "category": ("category", *TAGS),
    "cuisine": ("cuisine",),
    "street": ("street", "addr:street"),
    "postcode": ("postcode", "addr:postcode"),
    "lat": ("lat", "@lat"),
    "lon": ("lon", "@lon"),
}
OTHER_NAMES = re.compile(r"(name[:_]\w{2,3}|alt_name|official_name|short_name)$")
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
FEWEST, MOST = 200, 4000  # with fewer, references repeat each other
_GROUP_OF = {word: group for group, words in GROUPS.items() for word in words.split()}


def plain(text: object) -> str:
    """Return a text in lower case, without accents and punctuation.

    >>> plain("Café  Ekberg, 1852")
    'cafe ekberg 1852'
    """
    parts = unicodedata.normalize("NFKD", str(text).casefold())
    return " ".join(re.findall(r"[^\W_]+", "".join(part for part in parts if not unicodedata.combining(part))))


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Places of a city; texts are :func:`plain`, ``x`` and ``y`` in metres, labels joined by ``_``.

    ``names`` of a place are the one that it is known by, then those in other languages. ``labels`` are its category,
    further categories or cuisines, its group and the kind of its category; ``cuisines`` are the second of these alone.
    """

    names: Sequence[Sequence[str]] = field(repr=False)
    labels: Sequence[Sequence[str]] = field(repr=False)
    cuisines: Sequence[Sequence[str]] = field(repr=False)
    groups: Sequence[str] = field(repr=False)
    streets: Sequence[str] = field(repr=False)
    postcodes: Sequence[str] = field(repr=False)
    filled: Sequence[int] = field(repr=False)  # fields that have a value: well-known places have more
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.names)

    @property
    def scale(self) -> float:
        """Metres that count as one step of distance: 5/6 of the median distance between two places."""
        apart = np.hypot(self.x[:, None] - self.x[None], self.y[:, None] - self.y[None])
        return float(np.median(apart[np.triu_indices(len(self), 1)]) * 5 / 6)


def first_of(record: Mapping[str, Any], what: str) -> str:
    """Return the first value in the columns for something; "" where all are empty."""
    return next((str(record[name]).strip() for name in COLUMNS[what] if record.get(name) not in (None, "")), "")


def read_places(path: Path) -> Places:
    """Read the places of a CSV file that have name, category and position; of many, those nearest to the centre."""
    records = pl.read_csv(path, infer_schema=False).to_dicts()
    wanted = ("name", "category", "lat", "lon")
    kept = [record for record in records if all(first_of(record, what) for what in wanted)]
    if len(kept) < FEWEST:
        raise SystemExit(f"{path}: {len(kept)} places with name, category, lat and lon; {FEWEST} are needed")
    lat, lon = (np.array([float(first_of(record, what)) for record in kept]) for what in ("lat", "lon"))
    middle = np.median(lat), np.median(lon)
    x = (lon - middle[1]) * 111_320 * math.cos(math.radians(float(middle[0])))
    y = (lat - middle[0]) * 111_320
    near = np.sort(np.argsort(np.hypot(x, y), kind="stable")[:MOST])
    return places_of([kept[i] for i in near], x[near], y[near])


def places_of(records: Sequence[Mapping[str, Any]], x: Floats, y: Floats) -> Places:
    """Make places from records with known columns."""
    names, tops, cuisines, kinds = [], [], [], []
    for record in records:
        others = [str(value) for key, value in record.items() if value and OTHER_NAMES.match(key)]
        names.append(list(dict.fromkeys(filter(None, map(plain, [first_of(record, "name"), *others]))))[:3])
        kind = next((tag for tag in TAGS if record.get(tag)), str(record.get("category_key") or ""))
        top = _label(first_of(record, "category").split(";")[0])
        kinds.append(_label(kind) or top)
        tops.append(kinds[-1] if top == "yes" else top)
        cuisines.append(list(dict.fromkeys(filter(None, map(_label, re.split("[;,]", first_of(record, "cuisine")))))))
    groups = [_group(top, kind) for top, kind in zip(tops, kinds, strict=True)]
    counts = {group: groups.count(group) for group in groups}
    groups = [group if counts[group] >= 9 else "other" for group in groups]
    labels = [
        list(dict.fromkeys([top, *more, group, kind]))
        for top, more, group, kind in zip(tops, cuisines, groups, kinds, strict=True)
    ]
    return Places(
        names=names,
        labels=labels,
        cuisines=cuisines,
        groups=groups,
        streets=[_street(first_of(record, "street")) for record in records],
        postcodes=[plain(first_of(record, "postcode")) for record in records],
        filled=[sum(value not in (None, "") for value in record.values()) for record in records],
        x=x,
        y=y,
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
    """Make a city that resembles central Helsinki: streets, chains, names in two languages, incomplete records."""
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
    return places_of(records, x, y)
