"""One collection: references from a utility that no system sees, candidates, and what rerankers see of them.

Every number is made by element-wise or sparse arithmetic, so that it does not depend on threads.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from experiments.places import Floats, Places
from experiments.queries import OTHER_WORDS, Asking, Query

BUCKETS = ((3, 100), (10, 762), (20, 2397), (10**9, 1741))  # largest reference size, the paper's number of queries
LONGEST = 50
POOL = 100  # best items of a query whose utility is kept
TIED = 0.0005  # utilities so close share a rank
TRAINING_POOL = 1.5  # queries to draw training queries from, for each one drawn
CHUNK = 400
Singles, Ints, Bools = npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Weights:
    """How much distance and hidden popularity count in the references."""

    distance: float
    popularity: float


@dataclass(frozen=True, eq=False)
class Part:
    """Queries with their references, candidates and features.

    ``best`` and ``utility`` are the items that could be in the reference, best first, −1 where there are fewer;
    the first ``sizes`` of them are the reference. ``seen`` has the features of every candidate that no setting hides;
    ``all_categories`` and ``top_category`` those of two settings; ``steps`` is the distance in units of the
    city's scale.
    """

    queries: Sequence[Query]
    sizes: Ints
    best: Ints
    utility: Floats
    candidates: Ints
    seen: Singles = field(repr=False)
    all_categories: Singles = field(repr=False)
    top_category: Singles = field(repr=False)
    steps: Singles = field(repr=False)

    def take(self, rows: Ints) -> Part:
        """Return some of the queries."""
        arrays = (getattr(self, name)[rows] for name in list(self.__dataclass_fields__)[1:])
        return Part([self.queries[i] for i in rows], *arrays)

    @property
    def ranks(self) -> Ints:
        """Rank of every candidate in its query's reference, from 1; 0 outside."""
        found = np.zeros(self.candidates.shape, np.int64)
        for i, size in enumerate(self.sizes):
            place = {item: rank for rank, item in enumerate(self.best[i, :size].tolist(), 1)}
            found[i] = [place.get(item, 0) for item in self.candidates[i].tolist()]
        return found


def joined(parts: Sequence[Part]) -> Part:
    """Put parts together."""
    names = list(Part.__dataclass_fields__)[1:]
    queries = [query for part in parts for query in part.queries]
    return Part(queries, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def collect(
    places: Places, weights: Weights, seed: int, queries: int, candidates: int, training: int
) -> tuple[Part, Part]:
    """Return queries to train on, and queries to test on in the paper's ranges of reference sizes."""
    rng = np.random.default_rng([seed, 25])
    search = _Search(places, weights, rng, candidates)
    pool = round(training * TRAINING_POOL)
    train = joined([search.more(min(CHUNK, pool - begin)) for begin in range(0, pool, CHUNK)])
    wanted = wanted_sizes(queries)
    tests: list[Part] = []
    for _ in range(1 + 4 * queries // CHUNK):
        part = search.more(CHUNK)
        kept = []
        for i, size in enumerate(part.sizes.tolist()):
            bucket = next(b for b, (most, _) in enumerate(BUCKETS) if size <= most)
            if wanted[bucket]:
                wanted[bucket] -= 1
                kept.append(i)
        tests.append(part.take(np.array(kept, np.int64)))
        if not any(wanted):
            break
    if any(wanted):
        print(f"queries that this city did not give, by reference size: {wanted}")
    return train, joined(tests)


def wanted_sizes(queries: int) -> list[int]:
    """Divide queries among the paper's ranges of reference sizes.

    >>> wanted_sizes(5000), wanted_sizes(100)
    ([100, 762, 2397, 1741], [2, 15, 48, 35])
    """
    exact = np.array([share for _, share in BUCKETS]) * queries / sum(share for _, share in BUCKETS)
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: queries - counts.sum()]] += 1
    return [int(count) for count in counts]


def pieces(texts: Sequence[str], sizes: Sequence[int] = (2, 3, 4)) -> sparse.csr_matrix:
    """Count the pieces of words, such as those of 2 to 4 letters, in hashed columns; 0 takes whole words."""
    columns, rows = [], []
    for row, text in enumerate(texts):
        for word in text.split():
            edged = f" {word} "
            parts = [edged[i : i + n] for n in sizes if n for i in range(max(1, len(edged) - n + 1))]
            parts += [edged] if 0 in sizes else []
            columns += [zlib.crc32(part.encode()) & 0x3FFFF for part in parts]
            rows += [row] * len(parts)
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_matrix((ones, (rows, columns)), (len(texts), 0x40000), dtype=np.float32)


class _Matching:
    """Cosine similarity of texts by weighted pieces."""

    def __init__(self, texts: Sequence[str], sizes: Sequence[int] = (2, 3, 4)) -> None:
        counts = pieces(texts, sizes)
        self.sizes = sizes
        found = np.bincount(counts.indices, minlength=counts.shape[1])
        self.rarity = (np.log((1 + len(texts)) / (1 + found)) + 1).astype(np.float32)

    def of(self, texts: Sequence[str]) -> sparse.csr_matrix:
        counts = pieces(texts, self.sizes)
        counts.data = (1 + np.log(counts.data)) * self.rarity[counts.indices]
        norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        scaled = sparse.diags(1 / np.maximum(norms, 1e-9)) @ counts
        return sparse.csr_matrix(scaled, dtype=np.float32)


def _dense(left: sparse.csr_matrix, right: sparse.csr_matrix) -> Singles:
    return np.asarray((left @ right.T).toarray(), np.float32)


class _Search:
    """The city as references and searchers see it."""

    def __init__(self, places: Places, weights: Weights, rng: np.random.Generator, candidates: int) -> None:
        self.places, self.weights, self.rng = places, weights, rng
        self.candidates = min(candidates, len(places))
        self.asking = Asking(places, rng)
        self.scale = places.scale
        self.popularity = self._popularity()
        self._read_labels()
        self._read_texts()

    def _popularity(self) -> Floats:
        filled = np.array(self.places.filled, float)
        known = (filled - filled.mean()) / max(filled.std(), 1e-9)
        value = self.rng.normal(0, 0.8, len(self.places)) + 0.5 * known + 0.3 * np.log(self.asking.chain)
        return np.asarray((value - value.mean()) / value.std())

    def _read_labels(self) -> None:
        """Note which labels places have, how well others match, and how alike a searcher takes labels to be."""
        places = self.places
        self.labels = sorted({label for labels in places.labels for label in labels})
        number = {label: i for i, label in enumerate(self.labels)}
        self.number = number
        group_of: dict[str, str] = {group: group for group in places.groups}
        for labels, group in zip(places.labels, places.groups, strict=True):
            for label in labels:
                group_of.setdefault(label, group)
        self.groups = sorted(set(places.groups))
        of_label: Ints = np.array([self.groups.index(group_of[label]) for label in self.labels])
        self.group_of = of_label
        has = np.zeros((len(places), len(self.labels)), bool)
        for i, labels in enumerate(places.labels):
            has[i, [number[label] for label in labels]] = True
        in_group = np.zeros((len(places), len(self.groups)), bool)
        for i, group_number in enumerate(of_label):
            in_group[:, group_number] |= has[:, i]
        match = np.where(has.T, 1.0, np.where(in_group.T[of_label], 0.45, 0.0)).astype(np.float32)
        whole = [" ".join(names) for names in places.names]
        for label, i in number.items():
            words = [word for word in (label.replace("_", " "), OTHER_WORDS.get(label, "")) if len(word) > 3]
            said = [any(word in name for word in words) for name in whole]
            match[i] = np.where(said, np.maximum(match[i], 0.9), match[i])
        self.match = match
        count = len(self.labels)
        noise = self.rng.normal(0, 0.12, (count, count))
        same = of_label[:, None] == of_label[None]
        alike = np.where(np.eye(count, dtype=bool), 1.0, np.where(same, 0.5 + noise, 0.1 + 0.5 * noise))
        self.alike_all = np.zeros((count, len(places)), np.float32)
        self.alike_mean, self.alike_top = self.alike_all.copy(), self.alike_all.copy()
        for i, labels in enumerate(places.labels):
            chosen = alike[:, [number[label] for label in labels]]
            self.alike_all[:, i], self.alike_mean[:, i] = chosen.max(axis=1), chosen.mean(axis=1)
            self.alike_top[:, i] = chosen[:, 0]
        self.label_counts = has.sum(axis=1).astype(np.float32)

    def _read_texts(self) -> None:
        places = self.places
        whole = [" ".join(names) for names in places.names]
        listed = [" ".join(labels).replace("_", " ") for labels in places.labels]
        self.letters = _Matching(whole)
        self.name_pieces = [
            self.letters.of([names[min(k, len(names) - 1)] for names in places.names]) for k in range(3)
        ]
        self.all_texts = self.letters.of(listed)
        self.top_texts = self.letters.of([labels[0].replace("_", " ") for labels in places.labels])
        full = [" ".join(parts) for parts in zip(whole, places.streets, places.postcodes, listed, strict=True)]
        self.words = _Matching(full, (0,))
        self.full_words = self.words.of(full)
        self.name_words = pieces(whole, (0,)).sign()
        streets = {street: i for i, street in enumerate(sorted(set(places.streets) - {""}))}
        self.street = np.array([streets.get(street, -1) for street in places.streets])
        self.streets = streets
        self.postcode = np.array([postcode or "-" for postcode in places.postcodes])
        signs = np.random.default_rng(7).choice([-1.0, 1.0], (0x40000, 12))
        sketch = np.asarray(self.name_pieces[0] @ signs)[:, :8]
        on_street = np.asarray(self.letters.of(list(places.streets)) @ signs)[:, 8:]
        lengths = [len(names[0]) for names in places.names]
        has_street = self.street >= 0
        self.own = np.column_stack([lengths, self.asking.chain, sketch, has_street, on_street]).astype(np.float32)
        self.hint = self._hints()

    def _hints(self) -> Singles:
        """Return how much a place's name is like those of each group's other places."""
        names, groups = self.name_pieces[0], np.array([self.groups.index(group) for group in self.places.groups])
        member = sparse.csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))))
        sums = sparse.csr_matrix(member @ names)
        alike = np.asarray((names @ sums.T).toarray())
        own = np.asarray(names.multiply(names).sum(axis=1)).ravel()
        alike[np.arange(len(groups)), groups] -= own
        counts = np.bincount(groups, minlength=len(self.groups)).astype(float)
        others = np.maximum(counts[None] - (groups[:, None] == np.arange(len(self.groups))[None]), 1)
        return np.asarray(alike / others, np.float32)

    def more(self, count: int) -> Part:
        """Ask some more queries, and answer them."""
        asked = self.asking.ask(count)
        places, rng = self.places, self.rng
        x, y = np.array([[query.x, query.y] for query in asked]).T
        away = np.hypot(x[:, None] - places.x[None], y[:, None] - places.y[None])
        away /= self.scale
        steps = np.minimum(away, 3)
        label = np.array([self.number.get(query.label, -1) for query in asked])
        matched = np.where((label >= 0)[:, None], self.match[label], 0)
        street = self._given([self.streets.get(query.street, -2) for query in asked], self.street)
        postcode = self._given([query.postcode for query in asked], self.postcode)
        sizes, best, utility = self._references(asked, matched, street, postcode, steps)
        words = self.letters.of([query.words for query in asked])
        named = np.maximum.reduce([_dense(words, names) for names in self.name_pieces])
        full = self.words.of([f"{query.words} {query.street} {query.postcode}" for query in asked])
        understood = np.array([query.understood for query in asked]) & (label >= 0)
        found = named + _dense(full, self.full_words) - 0.15 * steps + 0.3 * street + 0.3 * postcode
        found += np.where(understood[:, None], 0.8 * (matched > 0.8) + 0.3 * (matched > 0.4), 0)
        found += rng.normal(0, 0.06, found.shape)
        chosen = np.argsort(-found, axis=1, kind="stable")[:, : self.candidates]
        known = np.where(understood, label, -1)
        features = self._features(asked, chosen, known, named, words, street, postcode)
        return Part(
            asked, sizes, best, utility, chosen, *features, np.take_along_axis(away, chosen, 1).astype(np.float32)
        )

    def _given(self, asked: Sequence[Any], has: npt.NDArray[Any]) -> Bools:
        return np.asarray(np.array(asked)[:, None] == has[None])

    def _references(
        self, asked: Sequence[Query], matched: Floats, street: Bools, postcode: Bools, steps: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Order what answers a query by its hidden utility; a reference has what is near the best."""
        target = np.array([query.target for query in asked])
        meant = self.letters.of([self.places.names[t][0] if t >= 0 else "" for t in target])
        same = np.maximum.reduce([_dense(meant, names) for names in self.name_pieces])
        is_name = (target >= 0)[:, None]
        utility = np.where(is_name, 2.2 * same + 0.2 * matched, matched) + 0.5 * street + 0.4 * postcode
        utility += 0.6 * self.weights.popularity * self.popularity[None] - self.weights.distance * steps
        utility += self.rng.normal(0, 0.03, utility.shape)
        utility = np.where(np.where(is_name, same > 0.45, matched >= 0.4), utility, -np.inf)
        best = np.argsort(-utility, axis=1, kind="stable")[:, :POOL]
        ordered = np.take_along_axis(utility, best, 1)
        near = (ordered >= ordered[:, :1] - 0.9).sum(axis=1)
        wanted = np.maximum(1, np.exp(self.rng.normal(np.log(16), 0.5, len(asked)))).astype(np.int64)
        sizes = np.minimum(np.minimum(near, LONGEST), wanted)
        return sizes, np.where(np.isfinite(ordered), best, -1), ordered

    def _features(
        self,
        asked: Sequence[Query],
        chosen: Ints,
        known: Ints,
        named: Singles,
        words: sparse.csr_matrix,
        street: Bools,
        postcode: Bools,
    ) -> tuple[Singles, Singles, Singles]:
        """Return what a reranker sees: of every setting, of all categories, and of the first category alone."""

        def at(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.take_along_axis(values, chosen, 1)

        def if_known(values: Singles) -> npt.NDArray[Any]:
            return np.where(known[:, None] >= 0, values[known[:, None], chosen], np.nan)

        tokens = pieces([query.words for query in asked], (0,)).sign()
        counts = np.maximum(np.asarray(tokens.sum(axis=1)).ravel(), 1)
        overlap = _dense(tokens, self.name_words) / counts[:, None]
        group = np.where(known >= 0, self.group_of[known], -1)
        hint = np.where(group[:, None] >= 0, self.hint[chosen, group[:, None]], 0)
        near = np.array([query.kind.endswith("near a place") for query in asked])
        query = np.column_stack([counts, near, known >= 0, group])[:, None, :]
        shape = (*chosen.shape, query.shape[2])
        pair = np.stack([at(named), at(overlap), at(named) > 0.999, hint, at(street), at(postcode)], axis=2)
        seen = np.concatenate([pair, self.own[chosen], np.broadcast_to(query, shape)], axis=2)
        count = self.label_counts[chosen]
        every = [if_known(self.alike_all), if_known(self.alike_mean), count, at(_dense(words, self.all_texts))]
        top = [if_known(self.alike_top)] * 2 + [np.ones_like(count), at(_dense(words, self.top_texts))]
        return tuple(np.asarray(part, np.float32) for part in (seen, np.stack(every, 2), np.stack(top, 2)))  # type: ignore[return-value]
