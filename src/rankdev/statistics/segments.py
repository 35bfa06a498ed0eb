"""Segments of queries, and whether a difference depends on them.

The interaction is tested by Welch's statistic Σ w (m − m̃)², w = n/s², which allows for segments of unequal sizes and
variances, in two ways: queries are permuted over segments, which is exact where segments do not matter at all (Janssen
1997; Pauly, Brunner and Konietschke 2015), and resampled within segments, which allows for skewed differences. The
larger p-value counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import is_list
from rankdev._common.ids import by_id
from rankdev.errors import UsageError, counted, shown
from rankdev.statistics.bounded_values import most_common
from rankdev.statistics.contrasts import Family

ALL = "all"  # the name of all queries
DRAWS = 9_999  # permutations, and resamples
TELLING = 5  # queries with another difference than most that a segment needs
PAIRS = 100  # pairs of which the interaction is tested: with more, so many draws reject nothing
AT_ONCE = 1 << 22  # weights held at a time


def named_segments(segments: Any) -> dict[str, frozenset[str]]:
    """Accept the segment of each query, ``{query: segment}``, or the queries of each, ``{segment: [query, …]}``.

    >>> named_segments({"q1": "head", "q2": "tail"}) == named_segments({"head": ["q1"], "tail": ["q2"]})
    True
    """
    if not isinstance(segments, Mapping) or not segments:
        raise UsageError(f"segments is {shown(segments)}; expected {{query: segment}} or {{segment: [query, …]}}")
    found: dict[str, frozenset[str]] = {}
    if all(isinstance(value, str | Integral) and not isinstance(value, bool) for value in segments.values()):
        known = {query: str(name) for query, name in by_id(segments).items()}
        for name in dict.fromkeys(known.values()):
            found[name] = frozenset(query for query, its in known.items() if its == name)
    else:
        for name, queries in by_id(segments).items():
            listed = is_list(queries) and all(isinstance(one, str | int) for one in queries)
            if not isinstance(name, str) or not listed:
                raise UsageError(
                    f"segments has {shown(queries)} for {shown(name)}; expected {{query: segment}} or"
                    " {segment: [query, …]}"
                )
            found[name] = frozenset(by_id(dict.fromkeys(queries)))
    if ALL in found:
        raise UsageError(f"a segment is called {ALL!r}, which denotes all queries; rename it")
    return found


def places(queries: Sequence[str], segments: Mapping[str, Collection[str]]) -> tuple[dict[str, Ints], list[str]]:
    """Locate the queries of each segment, and note segments without any and queries without one."""
    found = {name: np.array([i for i, query in enumerate(queries) if query in own]) for name, own in segments.items()}
    notes = [
        f"segment {name!r} has none of the queries that were scored" for name, own in found.items() if not len(own)
    ]
    outside = len(set(queries).difference(*segments.values()))
    if outside:
        notes.append(f"{counted(outside, 'query', 'has', of=len(queries))} no segment")
    return {name: own for name, own in found.items() if len(own)}, notes


def interaction(family: Family, segments: Mapping[str, Ints], seed: int) -> tuple[Ints, Floats]:
    """Test for each pair whether its difference is the same in all segments: how many could be tested, and p.

    Segments in which fewer than five queries have another difference than most are left out: they cannot tell. p is NaN
    where fewer than two are left.
    """
    labels = np.full(len(family.values), -1)
    for place, queries in enumerate(segments.values()):
        labels[np.isin(family.queries, queries)] = place
    apart = np.concatenate([rows for _, rows in family.differences()])
    usable = np.stack([_tells(apart[:, labels == place]) for place in range(len(segments))], axis=1)
    p = np.full(family.pairs, np.nan)
    for chosen in np.unique(usable, axis=0):
        pairs = np.flatnonzero((usable == chosen).all(axis=1))
        if chosen.sum() > 1:
            queries = np.flatnonzero(np.isin(labels, np.flatnonzero(chosen)))
            order = queries[np.argsort(labels[queries], kind="stable")]
            sizes = np.bincount(labels[queries], minlength=len(segments))[chosen]
            p[pairs] = _tested(apart[pairs][:, order], sizes, seed)
    return usable.sum(axis=1), p


def _tells(apart: Floats) -> Any:
    """Check whether enough queries have another difference than most."""
    if not apart.shape[1]:
        return np.zeros(len(apart), bool)
    return np.rint((1 - most_common(apart)[1]) * apart.shape[1]) >= TELLING


def _tested(apart: Floats, sizes: Ints, seed: int) -> Floats:
    """Return p of each row of differences, of which the first ``sizes[0]`` are of the first segment, and so on."""
    starts = np.cumsum(sizes) - sizes
    centred = apart - apart.mean(axis=1, keepdims=True)
    scale = centred.var(axis=1)
    residuals = centred - np.repeat(np.add.reduceat(centred, starts, axis=1) / sizes, sizes, axis=1)
    observed = _welch(
        np.add.reduceat(centred, starts, axis=1), np.add.reduceat(centred**2, starts, axis=1), sizes, scale
    )
    p = np.zeros(len(apart))
    for weights, values in ((_permuted, centred), (_resampled, residuals)):
        columns = np.concatenate([values, values**2]).T
        counts = np.zeros(len(apart))
        for block in weights(sizes, seed):
            sums, squares = np.split((block @ columns).reshape(-1, len(sizes), columns.shape[1]), 2, axis=2)
            drawn = _welch(sums.swapaxes(1, 2), squares.swapaxes(1, 2), sizes, scale)
            counts += (drawn >= observed * (1 - 1e-9)).sum(axis=0)  # equal up to rounding is as extreme
        p = np.maximum(p, (counts + 1) / (DRAWS + 1))
    return p


def _welch(sums: Floats, squares: Floats, sizes: Ints, scale: Floats) -> Floats:
    """Return Welch's statistic from the sums and squares of segments, ``[…, pair, segment]``."""
    variance = np.maximum((squares - sums**2 / sizes) / (sizes - 1), 1e-12 * scale[:, None])
    weights = sizes / variance
    means = sums / sizes
    middle = (weights * means).sum(axis=-1, keepdims=True) / weights.sum(axis=-1, keepdims=True)
    found: Floats = (weights * (means - middle) ** 2).sum(axis=-1)
    return found


def _permuted(sizes: Ints, seed: int) -> Iterator[Floats]:
    """Yield which queries permutations put into each segment: ``[draw × segment, query]``."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *sizes.tolist()])))
    for draws in _blocks(sizes):
        mixed = generator.permuted(np.broadcast_to(labels, (draws, len(labels))), axis=1)
        yield (mixed[:, None] == np.arange(len(sizes))[:, None]).reshape(-1, len(labels)).astype(np.float64)


def _resampled(sizes: Ints, seed: int) -> Iterator[Floats]:
    """Yield how often resamples within segments hold each query: ``[draw × segment, query]``."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 1, *sizes.tolist()])))
    for draws in _blocks(sizes):
        weights = np.zeros((draws, len(sizes), sizes.sum()))
        for place, (size, start) in enumerate(zip(sizes, np.cumsum(sizes) - sizes, strict=True)):
            picks = generator.integers(0, size, size=(draws, size)) + np.arange(draws)[:, None] * size
            counts = np.bincount(picks.ravel(), minlength=draws * size).reshape(draws, size)
            weights[:, place, start : start + size] = counts
        yield weights.reshape(-1, weights.shape[2])


def _blocks(sizes: Ints) -> Iterator[int]:
    step = max(1, AT_ONCE // int(len(sizes) * sizes.sum()))
    for start in range(0, DRAWS, step):
        yield min(step, DRAWS - start)
