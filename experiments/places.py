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
