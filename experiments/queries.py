"""Queries about the places of a city, of a dozen kinds."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass

import numpy as np

from experiments.places import Places, plain

# how often each kind is asked; kinds that a city has nothing for (no cuisines, no second names) are left out
KINDS = {
    "name": 0.04,
    "misspelt": 0.03,
    "partial": 0.04,
    "translated": 0.02,
    "name and category": 0.02,
    "chain": 0.03,
    "category": 0.17,
    "category near a place": 0.08,
    "category and street": 0.13,
    "category and postcode": 0.09,
    "cuisine": 0.11,
    "cuisine and street": 0.05,
    "group": 0.12,
    "group and street": 0.07,
}
NAMED = ("name", "misspelt", "partial", "translated", "name and category", "chain")
OTHER_WORDS = {  # what people also call it
    "restaurant": "place to eat",
    "cafe": "coffee",
    "fast_food": "snack",
    "pub": "beer",
    "bar": "drinks",
    "hairdresser": "haircut",
    "hotel": "rooms",
    "clothes": "fashion store",
    "tram_stop": "tram",
    "artwork": "sculpture",
    "jewelry": "rings",
    "bank": "cash",
    "memorial": "statue",
    "optician": "glasses",
    "beauty": "cosmetic treatment",
    "shoes": "footwear",
    "furniture": "sofas",
    "food": "something to eat",
    "sights": "things to see",
    "burger": "hamburger",
}


@dataclass(frozen=True)
class Query:
    """A query: its words, where it is asked, and what is meant, which only the references know.

    ``words`` are matched with records; ``near`` is the place that a query names for its position. ``street`` and
    ``postcode`` are part of the text. ``understood`` states whether a searcher knows which label the words ask for.
    """

    kind: str
    words: str
    x: float
    y: float
    _: KW_ONLY
    label: str = ""
    target: int = -1
    street: str = ""
    postcode: str = ""
    near: str = ""
    understood: bool = False


class Asking:
    """Draws queries; the same text from the same place is asked once."""

    def __init__(self, places: Places, rng: np.random.Generator) -> None:
        self.places, self.rng = places, rng
        count = Counter(names[0] for names in places.names)
        self.chain = np.array([count[names[0]] for names in places.names], float)
        everyone = range(len(places))
        self.translated = [i for i in everyone if len(places.names[i]) > 1]
        self.chains = [i for i in everyone if self.chain[i] > 1]
        self.cuisines = [label for labels in places.cuisines for label in labels]
        self.streets = [street for street in places.streets if street]
        self.postcodes = [postcode for postcode in places.postcodes if postcode]
        material = {
            "translated": self.translated,
            "chain": self.chains,
            "cuisine": self.cuisines,
            "street": self.streets,
            "postcode": self.postcodes,
        }
        self.missing = [kind for kind in KINDS if any(not have and part in kind for part, have in material.items())]
        self.kinds = [kind for kind in KINDS if kind not in self.missing]
        weights = np.array([KINDS[kind] for kind in self.kinds])
        self.weights = weights / weights.sum()
        self._seen: set[tuple[str, int, int]] = set()

    def ask(self, count: int) -> list[Query]:
        """Draw some more queries."""
        found: list[Query] = []
        while len(found) < count:
            query = self._one()
            key = (f"{query.words} {query.street} {query.postcode}", round(query.x / 50), round(query.y / 50))
            if query.words and key not in self._seen:
                self._seen.add(key)
                found.append(query)
        return found

    def _one(self) -> Query:
        rng, places = self.rng, self.places
        kind = str(rng.choice(self.kinds, p=self.weights))
        near = int(rng.integers(len(places)))
        at = (float(places.x[near] + rng.normal(0, 120)), float(places.y[near] + rng.normal(0, 120)))
        if kind in NAMED:
            return self._named(kind, at)
        about = int(rng.integers(len(places)))
        if kind.startswith("cuisine"):
            label = str(rng.choice(self.cuisines))
        else:
            label = places.groups[about] if kind.startswith("group") else places.labels[about][0]
        words, understood = self._words(label)
        street = str(rng.choice(self.streets)) if kind.endswith("street") else ""
        postcode = str(rng.choice(self.postcodes)) if kind.endswith("postcode") else ""
        if kind.endswith("near a place"):
            at = (float(places.x[near]), float(places.y[near]))
        beside = places.names[near][0] if kind.endswith("near a place") else ""
        return Query(
            kind, words, *at, label=label, street=street, postcode=postcode, near=beside, understood=understood
        )

    def _words(self, label: str) -> tuple[str, bool]:
        """Write a label, now and then in other words, which are understood less often."""
        other = label in OTHER_WORDS and self.rng.random() < 0.35
        words = OTHER_WORDS[label] if other else label
        return plain(words.replace("_", " ")), bool(self.rng.random() < (0.9 if other else 0.98))

    def _named(self, kind: str, at: tuple[float, float]) -> Query:
        rng, places = self.rng, self.places
        target = int(rng.integers(len(places)))
        if kind == "translated":
            target = int(rng.choice(self.translated))
        elif kind == "chain":
            target = int(rng.choice(self.chains))
        words, label, understood = places.names[target][0], "", False
        if kind == "misspelt":
            words = misspelt(words, rng)
        elif kind == "partial":
            parts = words.split()
            words = parts[0] if len(parts) > 1 else words[: max(4, len(words) * 2 // 3)]
        elif kind == "translated":
            words = str(rng.choice(places.names[target][1:]))
        elif kind == "name and category":
            label = places.labels[target][0]
            more, understood = self._words(label)
            words = f"{words} {more}"
        return Query(kind, words, *at, label=label, target=target, understood=understood)


def misspelt(word: str, rng: np.random.Generator) -> str:
    """Leave out, swap or add a letter, twice in long words."""
    letters = list(word)
    for _ in range(1 + (len(letters) > 9)):
        at = int(rng.integers(1, max(2, len(letters) - 1)))
        way = int(rng.integers(3))
        if way == 0 and len(letters) > 4:
            del letters[min(at, len(letters) - 1)]
        elif way == 1 and at + 1 < len(letters):
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        else:
            letters.insert(at, chr(97 + int(rng.integers(26))))
    return "".join(letters)
