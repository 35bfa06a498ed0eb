"""Sign-flip p-values and intervals.

Flips are drawn not uniformly but tilted towards large sums, by exponential tilts of several strengths, and weighted
by how much likelier the tilt makes them. With the observed flip counted among them, as (b + 1)/(B + 1) counts it among
uniform ones, the p-value is valid for any tilt that does not depend on the observed signs (Harrison 2012,
Biometrika 99). A thousand such flips distinguish p = 1e-9 from 2e-9; it would take billions of uniform ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import check_choice
from rankdev.statistics.contrasts import Family
from rankdev.statistics.flips import Sampling, count_extremes, lag_order, open_engine, spread
from rankdev.statistics.flips.exact import all_flips, flip_balances, hashed, slack, stream_keys, subset_sums
from rankdev.statistics.panels import Indices

TILTS = np.array([2.5, 4.0, 5.5, 7.5])  # about the standard scores around which each quarter of the flips lies
DRAWS = 1200  # flips per pair; a multiple of the number of tilts
TILTED = 1 << 21  # differences, or random numbers, of tilted flips that are held at a time


def tilted_p(apart: Floats, tolerance: float, key: np.uint64, compiled: bool = True) -> Floats:
    """Return the two-sided p-value of each row of differences, in whole units; rows must not be all zero.

    >>> flat = np.ones((1, 40))  # 2 of the 2^40 flips are as extreme: 1.8e-12
    >>> bool(1e-12 < tilted_p(flat, 0.5, np.uint64(1))[0] < 3e-12)
    True
    """
    queries = apart.shape[1]
    size = np.abs(apart)
    observed = np.abs(apart.sum(axis=1))
    length = np.sqrt((size**2).sum(axis=1))
    chance = np.empty((len(apart), len(TILTS), queries), np.float32)
    scale = np.empty((len(apart), len(TILTS)))  # log of the mean of exp(tilt · sum)
    for i, row in enumerate(size):
        tilt = TILTS[:, None] * (row / length[i])
        chance[i] = 1 / (1 + np.exp(-2 * tilt))
        scale[i] = np.logaddexp(tilt, -tilt).sum(axis=1) - queries * np.log(2.0)
    sums, step = np.zeros((len(apart), DRAWS)), max(1, TILTED // DRAWS)
    for start in range(0, queries, step):
        part = slice(start, min(queries, start + step))
        words = hashed(np.asarray(key), np.arange(part.start * DRAWS, part.stop * DRAWS, dtype=np.uint64))
        uniform = ((words >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)).reshape(-1, DRAWS)
        here = (np.ascontiguousarray(size[:, part]), np.ascontiguousarray(chance[:, :, part]))
        sums += _kernel(compiled)(*here, uniform)
    pair, draw = np.nonzero(sums >= (observed - tolerance)[:, None])
    total = _weight(observed / length, scale) + np.bincount(
        pair, _weight(sums[pair, draw] / length[pair], scale[pair]), minlength=len(apart)
    )
    p: Floats = np.minimum(1.0, 2 * total / (DRAWS + 1))
    return p


def _weight(score: Floats, scale: Floats) -> Floats:
    """Return the importance weight of a flip with that standard score: its uniform over its tilted probability."""
    weight: Floats = len(TILTS) / np.exp(score[:, None] * TILTS - scale).sum(axis=1)
    return weight


def sums_numpy(size: Floats, chance: Any, uniform: Any) -> Floats:
    """Sum sizes with a plus where the uniform number is below the chance, and a minus elsewhere."""
    sums = np.empty((len(size), uniform.shape[1]))
    tilts = chance.shape[1]
    part = uniform.shape[1] // tilts
    for j in range(tilts):
        block = slice(j * part, (j + 1) * part)
        for pair in range(len(size)):
            plus = (uniform[:, block] < chance[pair, j][:, None]).astype(np.float64)
            sums[pair, block] = size[pair] @ (2 * plus - 1)
    return sums


def _kernel(compiled: bool) -> Callable[[Floats, Any, Any], Floats]:
    if not (compiled and find_spec("numba")):
        return sums_numpy
    from rankdev.statistics.flips.compiled import sums_compiled

    return sums_compiled


PValue = Literal["plus-one", "paper"]
ENUMERATED = 20  # non-zero differences up to which all sign flips are counted
USUAL = 100_000  # flips where nothing asks for more
COMPARED = 5e9  # flips × pairs up to which uniform flips take seconds
FIRST = 10_000  # uniform flips, after which small p-values are estimated with tilted ones
ENOUGH = 100  # extreme flips with which a p-value is accurate enough
AT_ONCE = 50_000  # flips × pairs of an interval that are processed together, in the processor's cache
INVERTED = (10**8, 2 * 10**7, 1999)  # flips × pairs and flips × systems of an interval, and the fewest flips


def most_extremes(permutations: int, alpha: float, p_value: PValue) -> int:
    """Return the largest count of extreme flips that still rejects at ``alpha``; −1 where none can.

    >>> most_extremes(1000, 0.05, "plus-one"), most_extremes(1000, 0.05, "paper")  # 50/1001 and 50/1000
    (49, 50)
    """
    check_choice("p_value", p_value, get_args(PValue))
    plus = 1 if p_value == "plus-one" else 0
    return int(np.floor(alpha * (permutations + plus) + 1e-9)) - plus


def flips_for(comparisons: int, alpha: float) -> int:
    """Return the number of flips with which a correction for this many comparisons can reject anything.

    >>> flips_for(66, 0.05), flips_for(8256, 0.05)  # 12 and 129 systems
    (100000, 330240)
    """
    return max(USUAL, int(np.ceil(2 * comparisons / alpha)))


@dataclass(frozen=True, eq=False)
class Flips:
    """Uniform flips of a family, drawn once for its p-values and its intervals, with as much of them as these need.

    A flip S has a sum Σ S x for each system, and a balance Σ S.
    """

    family: Family = field(repr=False)
    count: int
    seed: int

    @property
    def exact(self) -> bool:
        """Whether intervals use all flips, as they do where queries are few."""
        queries = len(self.family.values)
        return queries <= ENUMERATED and 2 ** (queries - 1) <= self._most

    @property
    def _most(self) -> int:
        """The largest number of flips of an interval: fewer where pairs are many."""
        products, held, fewest = INVERTED
        return max(fewest, min(products // self.family.pairs, held // self.family.values.shape[1]))

    @property
    def kept(self) -> int:
        """Number of flips of an interval."""
        return 2 ** (len(self.family.values) - 1) if self.exact else min(self.count, self._most)

    @property
    def counts(self) -> Floats:
        """Number of flips that are at least as extreme as what was observed, for each pair."""
        found, _ = self._drawn
        family, systems = self.family, self.family.values.shape[1]
        low, high = np.minimum(family.first, family.second), np.maximum(family.first, family.second)
        place = low * systems - low * (low + 1) // 2 + high - low - 1
        return found[lag_order(systems)[place]].astype(np.float64)

    @property
    def sums(self) -> Floats:
        """Flipped sums for an interval, in whole units: ``[system, flip]``."""
        return all_flips(self.family.units) if self.exact else self._drawn[1]

    @property
    def balances(self) -> Floats:
        """Flipped sums of sizes, for an interval: ``[flip]``."""
        if self.exact:
            return all_flips(self.sizes[:, None])[0]
        queries = len(self.family.values)
        return flip_balances(stream_keys(self.seed, queries, 1)[0, 1], queries, self.kept, self.family.sizes)

    @property
    def sizes(self) -> Floats:
        """How much each row counts: a query once, a cluster as often as it has queries."""
        sizes = self.family.sizes
        return np.ones(len(self.family.values)) if sizes is None else sizes.astype(np.float64)

    @cached_property
    def _drawn(self) -> tuple[npt.NDArray[np.int64], Floats]:
        queries, systems = self.family.values.shape
        work = float(systems) * (queries + systems) * self.count
        engine = open_engine(self.family.values[:, :, None], work)
        sums = np.empty((systems, 0 if self.exact else self.kept))
        keys = stream_keys(self.seed, queries, 1)
        counts = count_extremes(engine, Sampling(queries), keys, self.count, sums)
        return counts[0, :, 0], sums


def flip_p(flips: Flips, tilt: bool) -> Floats:
    """Return p of each pair: exact where few differences are not zero, else from flips drawn at random.

    With ``tilt`` the flips only settle the pairs with large p; the others get theirs from tilted flips, and are
    below what any settled pair can reach, which keeps every p-value valid.
    """
    family = flips.family
    p = np.full(family.pairs, np.nan)
    few = enumerable(family)
    for pairs, apart in family.differences(few):
        p[pairs] = [enumerated(row, slack(len(family.values))) for row in apart]
    if not few.all():
        p = np.where(few, p, (flips.counts + 1) / (flips.count + 1))
        if tilt:
            small = ~few & (flips.counts < ENOUGH)
            p[small] = _tilted(family, small, flips.seed)
    return p


def enumerable(family: Family) -> Bools:
    """Mark the pairs of which all flips are enumerated: few differences are not zero."""
    return np.asarray(family.statistics["moved"] <= ENUMERATED)


def _tilted(family: Family, wanted: Any, seed: int) -> Floats:
    queries = len(family.values)
    key = stream_keys(seed, queries, 2)[1, 1]  # the first key is for uniform flips
    parts = np.array_split(np.flatnonzero(wanted), 1 + int(wanted.sum()) * queries // TILTED)

    def work(part: Indices) -> Floats:
        apart = np.concatenate([rows for _, rows in family.differences(part)])
        return tilted_p(apart, slack(queries), key)

    _ = family.units  # computed once, before the threads need it
    return np.concatenate([p for _, p in spread(work, [part for part in parts if len(part)])] or [np.empty(0)])


def enumerated(apart: Floats, tolerance: float) -> float:
    """Return the fraction of all sign flips whose sum is at least as extreme as the observed one.

    The sums of the flipped part are sums of two halves, so sorting one half counts all 2^k of them in
    2^(k/2) steps.
    """
    moved = apart[apart != 0]
    whole = moved.sum()
    low, high = (whole - abs(whole) + tolerance) / 2, (whole + abs(whole) - tolerance) / 2
    if high <= low:
        return 1.0
    left, right = subset_sums(moved[::2]), np.sort(subset_sums(moved[1::2]))
    few = np.searchsorted(right, low - left, side="right").sum()
    many = len(right) * len(left) - np.searchsorted(right, high - left, side="left").sum()
    return float(few + many) / (len(left) * len(right))


def inverted(flips: Flips, level: float) -> tuple[Floats, Floats]:
    """Return the limits of the differences that the test would not reject at ``level``, for each pair.

    A flip S with Σ S d = A and Σ S = C is at least as extreme for the hypothesis δ where |A − δC| ≥ |T − δn|: between
    (T − A)/(n − C) and (T + A)/(n + C), around the mean T/n. As many such spans must contain δ as p needs. A cluster
    counts in C as much as its size.
    """
    family, sizes = flips.family, flips.sizes
    most = most_extremes(flips.kept, level, "paper" if flips.exact else "plus-one")
    if most < 0 or most >= flips.kept:
        return np.full(family.pairs, -np.inf), np.full(family.pairs, np.inf)
    sums, balance = flips.sums, flips.balances
    totals = family.units.sum(axis=0)

    def work(pairs: Indices) -> Floats:
        a, b = family.first[pairs], family.second[pairs]
        limits = _spans((totals[a] - totals[b])[:, None], sums[a] - sums[b], balance, sizes)
        low = np.partition(limits.min(axis=0), most, axis=1)[:, most]
        high = np.partition(limits.max(axis=0), -1 - most, axis=1)[:, -1 - most]
        return np.stack([low, high])

    parts = np.array_split(np.arange(family.pairs), 1 + family.pairs * flips.kept // AT_ONCE)
    limits = np.concatenate([limits for _, limits in spread(work, parts)], axis=1)
    low, high = limits * (family.unit * sizes.mean())
    return low, high


def _spans(total: Floats, flipped: Floats, balance: Floats, sizes: Floats) -> Floats:
    parts = np.stack([total - flipped, total + flipped])
    parts[np.abs(parts) <= slack(len(sizes))] = 0.0  # sums that are equal are equal
    whole = sizes.sum()
    widths = np.stack([whole - balance, whole + balance])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        limits: Floats = parts / widths
    # a flip of all or none is as extreme for every hypothesis
    limits[..., np.abs(balance) == whole] = np.reshape([-np.inf, np.inf], (2, 1, 1))
    return limits
