"""Whether a click model fits a log: lack of fit, trust in the top, and what else to note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, Note
from rankdev.learning._examination import groups_of_positions
from rankdev.learning._log import ClickLog, sums

UNITS = 20_000  # at most so many items are used, a sample of more
DRAWS = 199


def model_fits(log: ClickLog, examination: Floats, seed: int) -> float:
    """Return the p-value of the position-based model.

    Logs are simulated from the fitted model and compared with this one by Pearson's statistic.
    """
    rng = np.random.default_rng([seed, 2])
    unit, place, _ = log.cells
    shown, clicked = log.counts()
    several = np.flatnonzero(np.bincount(unit, minlength=log.units) > 1)
    chosen = np.isin(unit, several if len(several) <= UNITS else rng.choice(several, UNITS, replace=False))
    unit, place = np.unique(unit[chosen], return_inverse=True)[1], place[chosen]
    clicked, trials = clicked[chosen], shown[chosen].astype(np.int64)
    exposure = sums(unit, trials * examination[place])

    def lack_of_fit(clicks: Floats) -> tuple[float, Floats]:
        rate = sums(unit, clicks) / exposure
        chance = np.clip(rate[unit] * examination[place], 1e-12, 1 - 1e-12)
        return float(
            (((clicks - trials * chance) ** 2) / (trials * chance * (1 - chance)))[rate[unit] > 0].sum()
        ), chance

    observed, chance = lack_of_fit(clicked)
    drawn = [lack_of_fit(rng.binomial(trials, chance).astype(np.float64))[0] for _ in range(DRAWS)]
    return (1 + sum(value >= observed for value in drawn)) / (DRAWS + 1)


def trust_in_the_top(log: ClickLog, examination: Floats, seed: int) -> float:
    """Return the p-value, one-sided, of trust bias: unattractive items lose more clicks further down than others.

    Users who trust the top click on whatever is there; then positions differ more for unattractive items than for
    attractive ones, and no single weight of a position is true. Each impression goes into one of two halves at random:
    items are ordered by their click rates in one half, and the clicks of each in the other half compared with those
    that the model expects, given how many it has.
    """
    rng = np.random.default_rng([seed, 3])
    unit, place, _ = log.cells
    shown, clicked = (np.rint(part).astype(np.int64) for part in log.counts())
    half = shown // 2 + (shown % 2 > rng.integers(0, 2, len(shown)))
    hits = rng.hypergeometric(clicked, shown - clicked, half)
    depth = np.log(np.maximum(examination, 1e-9))
    found = np.zeros(log.units)
    halves = ((half, hits), (shown - half, clicked - hits))
    for (n, c), (others, seen) in (halves, halves[::-1]):
        exposure = sums(unit, others * examination[place], log.units)
        rate = sums(unit, seen, log.units) / np.maximum(exposure, 1e-9)
        clicks = sums(unit, c, log.units)
        known = (exposure > 0) & (clicks > 0)
        rank = np.zeros(log.units)
        rank[known] = np.argsort(np.argsort(rate[known], kind="stable"), kind="stable")
        # centred by clicks, so that weights that are a little off do not count
        rank -= rank @ (clicks * known) / max(float((clicks * known).sum()), 1.0)
        expected = sums(unit, n * examination[place], log.units)
        apart = c - clicks[unit] * n * examination[place] / np.maximum(expected[unit], 1e-9)
        found += np.where(known, rank, 0.0) * sums(unit, apart * depth[place], log.units)
    size = float(np.sqrt((found**2).sum()))
    return 1.0 if size == 0 else float(special.ndtr(found.sum() / size))


def check_connected(won: Floats, positions: Sequence[int]) -> None:
    """Refuse a log whose positions fall into groups without an item that was clicked in both."""
    labels = groups_of_positions(won)
    if labels.max() == 0:
        return
    one, other = ([positions[i] for i in np.flatnonzero(labels == label).tolist()] for label in np.unique(labels)[:2])
    raise DataError("unlinked-positions", groups=len(np.unique(labels)), one=one, other=other)


def remarks_on_log(
    counted: ClickLog, raw: Floats, low: Floats, high: Floats, fit: float | None, trust: float, method: str
) -> Iterator[Note]:
    """Note what the weights cannot tell, and why."""
    if "query" not in counted.keys:
        yield Note("log-without-queries")
    if counted.sessions is None:
        yield Note("log-without-sessions")
    wide = np.flatnonzero(high - low > 0.5)
    if len(wide):
        at = wide[0]
        yield Note("few-clicks", clicks=counted.clicks, position=counted.positions[at], low=low[at], high=high[at])
    if counted.grid is None and raw.max() > 1.2:
        at = np.argmax(raw)
        yield Note("rising-attention", position=counted.positions[at], times=raw[at])
    if trust < 0.01:
        yield Note("trust-bias", p=trust)
    if fit is not None and fit < 0.01:
        yield Note("poor-fit", p=fit)
    if method == "rates" and not counted.weighted:
        yield Note("rates-as-weights")
