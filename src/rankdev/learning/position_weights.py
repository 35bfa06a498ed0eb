"""Position weights from clicks: estimates with intervals, and checks of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Curves, Tab, View
from rankdev.errors import DataError, Note, UsageError
from rankdev.learning._examination import (
    check_connected,
    examination_by_em,
    matched_clicks,
    model_fits,
    never_increasing,
    relative_weights,
    trust_in_the_top,
)
from rankdev.learning._log import ClickLog
from rankdev.measures.rdq import PRESETS, PositionWeights
from rankdev.preferences.pairs import sums

METHODS = ("harvesting", "em", "rates")
SMALLEST = 1e-4  # RDQ's weights are positive


@dataclass(frozen=True, eq=False, kw_only=True)
class ClickWeights(Result):
    """How much each position is examined, relative to the first, with intervals from resampled sessions.

    Attributes
    ----------
    positions : tuple of int
        Positions of the log.
    weight, low, high : array of float
        Examination relative to the first position, non-increasing, and its confidence interval.
    raw : array of float
        Estimate before it was made non-increasing.
    fit : float or None
        p-value of the position-based model: small where click rates do not factor into a position's and an item's.
    method : str
        How the weights were estimated.
    resamples : int
        Bootstrap samples.
    alpha : float
        Level of the intervals. Their confidence is 1 − alpha.
    seed : int
        Seed of the bootstrap.
    remarks : tuple of str
        Notes to read before using the weights.

    See Also
    --------
    weights_from_clicks : Estimate them.
    """

    made_with: ClassVar = ("method", "resamples", "alpha", "seed")
    view: ClassVar = View(
        [Tab("How much each position is examined (method: {method})", digits=3)],
        closing=["{use}", "fit of the position-based model: p = {fit:.3f} (small: a poor fit)"],
        figure=Curves("position", "weight", "weight", "weights", "_curves", "position", title="{examined}", top=None),
    )

    positions: tuple[int, ...]
    weight: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    raw: Floats = field(repr=False)
    fit: float | None
    method: str
    resamples: int
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the weights.

        Returns
        -------
        polars.DataFrame
            One row per position: position, weight, low, high.

        Examples
        --------
        >>> log = {"item": list("xyyx") * 50, "position": [1, 2, 1, 2] * 50, "clicked": ([1, 0, 1, 1] + [1] * 4) * 25}
        >>> weights_from_clicks(pl.DataFrame(log), resamples=20).to_polars().select("position", "weight").rows()[0]
        (1, 1.0)
        """
        columns = {"weight": self.weight, "low": self.low, "high": self.high}
        return pl.DataFrame({"position": list(self.positions), **columns})

    @property
    def examined(self) -> str:
        """How often the last position is examined, beside the first."""
        return (
            f"Position {len(self.positions)} is examined {self.weight[-1] / self.weight[0]:.0%} as often as the first"
        )

    @property
    def use(self) -> str:
        """How to use the weights."""
        return f"use as: {self.measure()}"

    def _curves(self) -> pl.DataFrame:
        """Return the weights, before they were made non-increasing too, and RDQ's own."""
        at = list(range(1, len(self.positions) + 1))
        curves = {f"from clicks ({self.method})": self.weight, "before they were made non-increasing": self.raw}
        curves["RDQ's default (vertical)"] = PRESETS["vertical"].first(len(at))
        parts = [pl.DataFrame({"weights": name, "position": at, "weight": values}) for name, values in curves.items()]
        limits = pl.DataFrame({"low": self.low, "high": self.high})
        return pl.concat([parts[0].hstack(limits), *parts[1:]], how="diagonal")

    def measure(self, k: int | None = None, digits: int = 4) -> str:
        """Write RDQ with these weights as measure text.

        Parameters
        ----------
        k : int, optional
            Cutoff. Default: none.
        digits : int, default 4
            Digits of the weights.

        Returns
        -------
        str
            Measure text, ready for ``evaluate``.

        Examples
        --------
        >>> log = {"item": list("xyyx") * 50, "position": [1, 2, 1, 2] * 50, "clicked": ([1, 0, 1, 1] + [1] * 4) * 25}
        >>> weights_from_clicks(pl.DataFrame(log), resamples=20).measure(5)
        'RDQ(weights=[1,0.7525],tail=0.7525)@5'
        """
        if self.positions != tuple(range(1, len(self.positions) + 1)):
            raise UsageError("skipped-positions", positions=self.positions)
        head = np.maximum(never_increasing(self.weight, np.ones(len(self.weight))), SMALLEST).round(digits)
        weights = PositionWeights(tuple(head.tolist()), float(head[-1]))
        text = ",".join(f"{value:g}" for value in weights.head)
        return f"RDQ(weights=[{text}],tail={weights.tail:g})" + ("" if k is None else f"@{k}")


def weights_from_clicks(
    log: Any,
    method: str = "harvesting",
    *,
    columns: Mapping[str, str] | None = None,
    resamples: int = 200,
    alpha: float = 0.05,
    seed: int = 0,
) -> ClickWeights:
    """Estimate how much each position is examined from a log of impressions and clicks.

    Click rates alone confound examined positions with attractive items. ``harvesting`` and ``em`` separate the two by
    items that were shown at several positions, and reject a log in which positions are not connected by such items.
    Intervals resample sessions, or impressions if there are no sessions.

    Parameters
    ----------
    log : table or records
        One row per impression, with the columns item, position and clicked (0 or 1), and optionally query, session
        and propensity. With a column shown, a row holds counts:
        impressions, and how many of them were clicked (or viewed, for ``rates``, which then needs no item).
    method : {"harvesting", "em", "rates"}
        How weights are estimated. With ``harvesting``, positions are compared by items shown at several of them. With
        ``em``, a position-based model is fitted by EM. With ``rates``, click or view rates are taken as they are, for
        randomised positions or eye-tracking.
    columns : dict of str to str, optional
        Names of columns in the log, such as ``{"clicked": "was_clicked"}``.
    resamples : int, default 200
        Bootstrap samples.
    alpha : float, default 0.05
        Level of the intervals. Their confidence is 1 − alpha.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    ClickWeights
        Weight of each position, relative to the first.

    Examples
    --------
    >>> log = {"item": list("xyyx") * 50, "position": [1, 2, 1, 2] * 50, "clicked": ([1, 0, 1, 1] + [1] * 4) * 25}
    >>> weights_from_clicks(pl.DataFrame(log), resamples=20).weight.round(2).tolist()
    [1.0, 0.75]
    """
    check_choice("method", method, METHODS)
    resamples, seed = check_whole("resamples", resamples, 1), check_seed(seed)
    alpha = check_number("alpha", alpha, 0, 1)
    counted = ClickLog.from_table(log, columns=columns, rates=method == "rates", seed=seed)
    if not counted.clicks:
        raise DataError("no-clicks")
    if len(counted.positions) < 2:
        raise DataError("one-position", position=counted.positions[0])
    estimate = _estimator(counted, method)
    raw = estimate(None)
    weight = never_increasing(raw, counted.totals()[0])
    weight = weight / weight[0]
    drawn = counted.resamples(resamples, seed)
    usable = drawn @ sums(counted.bag, counted.clicked, counted.bags) > 0  # a resample without clicks has no weights
    low, high = _interval([estimate(again) for again in drawn[usable]] or [raw], weight, alpha)
    checked = method != "rates"
    fit = model_fits(counted, raw, seed) if checked else None
    trust = trust_in_the_top(counted, raw, seed) if checked else 1.0
    return ClickWeights(
        positions=counted.positions,
        weight=weight,
        low=low,
        high=high,
        raw=_relative(raw),
        fit=fit,
        method=method,
        resamples=resamples,
        alpha=alpha,
        seed=seed,
        remarks=tuple(_remarks(counted, _relative(raw), low, high, fit, trust, method)),
    )


def _estimator(counted: ClickLog, method: str) -> Callable[[Floats | None], Floats]:
    """Return a function from weights of bags (None: all once) to the examination of each position."""
    if method == "rates":
        return counted.rates
    won = matched_clicks(counted)
    whole = won(None)
    check_connected(whole, counted.positions)
    if method == "em":
        fitted = examination_by_em(counted)
        return lambda again: fitted if again is None else examination_by_em(counted, again, fitted)
    connected = whole + whole.T > 0
    return lambda weights: relative_weights(won(weights), connected)


def _interval(draws: list[Floats], weight: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return percentiles of the resampled weights before they are made non-increasing.

    Pooling positions that are out of order would hide how different they can be. A weight is at most 1.
    """
    relative = np.stack([_relative(draw) for draw in draws])
    low, high = np.minimum(np.quantile(relative, [alpha / 2, 1 - alpha / 2], axis=0), 1.0)
    return np.minimum(low, weight), np.maximum(high, weight)


def _relative(weight: Floats) -> Floats:
    """Divide by the first; a position without clicks may have no weight."""
    least = np.maximum(weight, 1e-9)
    return least / least[0]


def _remarks(
    counted: ClickLog, raw: Floats, low: Floats, high: Floats, fit: float | None, trust: float, method: str
) -> Iterator[Note]:
    """Note what the weights cannot tell, and why."""
    if "query" not in counted.columns:
        yield Note("log-without-queries")
    if "session" not in counted.columns:
        yield Note("log-without-sessions")
    wide = np.flatnonzero(high - low > 0.5)
    if len(wide):
        at = wide[0]
        yield Note("few-clicks", clicks=counted.clicks, position=counted.positions[at], low=low[at], high=high[at])
    if raw.max() > 1.2:
        at = np.argmax(raw)
        yield Note("rising-attention", position=counted.positions[at], times=raw[at])
    if trust < 0.01:
        yield Note("trust-bias", p=trust)
    if fit is not None and fit < 0.01:
        yield Note("poor-fit", p=fit)
    if method == "rates" and "propensity" not in counted.columns:
        yield Note("rates-as-weights")
