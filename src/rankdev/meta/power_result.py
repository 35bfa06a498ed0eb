"""What the power simulation found, and the summaries the paper draws from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats
from rankdev.errors import UsageError
from rankdev.meta.common_queries import pairs_of
from rankdev.meta.power_intervals import ENDS, Intervals
from rankdev.meta.sizes import usual
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl


Pool = Literal["same", "new"]
POOLS = ("same", "new")


@dataclass(frozen=True, eq=False)
class Bucket:
    """Power within the queries of one range of reference sizes: ``power[measure, pair, size]``.

    ``queries`` counts those of each measure, which may lack a value for some.
    """

    label: str
    queries: tuple[int, ...]
    sizes: tuple[int, ...]
    power: Floats = field(repr=False)
    doubt: Intervals | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Power(Result):
    """Power of every measure, pair of systems and number of queries.

    ``power[measure, pair, size]`` is NaN where a measure has fewer queries than the size; ``rejected[measure,
    pair]`` tells which pairs are told apart on all queries; ``queries`` counts those per measure. ``doubt`` holds
    what the choice of queries leaves open, where ``intervals`` were asked for.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    power: Floats = field(repr=False)
    rejected: npt.NDArray[np.bool_] = field(repr=False)
    queries: tuple[int, ...]
    buckets: tuple[Bucket, ...]
    subsamples: int
    permutations: int
    alpha: float
    p_value: Literal["plus-one", "paper"]
    seed: int
    complete: bool
    remarks: tuple[str, ...] = ()
    data: str = field(default="", repr=False)  # tells the scores apart, for going on after an interruption

    pool: Pool = "same"
    intervals: int = 0
    doubt: Intervals | None = field(default=None, repr=False)

    made_with = (
        *("sizes", "subsamples", "permutations", "alpha", "p_value", "pool", "intervals", "seed", "complete", "data"),
    )

    @property
    def error(self) -> Floats:
        """Monte-Carlo standard error of each power: ``[measure, pair, size]``."""
        return np.sqrt(self.power * (1 - self.power) / self.subsamples)

    @property
    def largest_error(self) -> float:
        """The largest standard error that any power can have with so many subsamples."""
        return float(0.5 / np.sqrt(self.subsamples))

    def to_polars(self, errors: bool = False) -> pl.DataFrame:
        """One row per measure, pair and size: measure, a, b, n, power; with intervals low, high; maybe error."""
        import polars as pl

        pairs = pairs_of(self.systems)
        axes = np.indices(self.power.shape).reshape(3, -1)
        names = {"measure": list(self.measures), "a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
        columns = {
            name: pl.Series(labels, dtype=pl.String).gather(axes[0 if name == "measure" else 1])
            for name, labels in names.items()
        }
        frame = pl.DataFrame({**columns, "n": np.array(self.sizes, np.int64)[axes[2]], "power": self.power.ravel()})
        if self.doubt is not None:
            ends = zip(("low", "high"), self.doubt.power, strict=True)
            frame = frame.with_columns(pl.Series(name, values.ravel()) for name, values in ends)
        if errors:
            frame = frame.with_columns(pl.Series("error", self.error.ravel()))
        return frame.fill_nan(None)

    def summary(self, n: int | None = None) -> pl.DataFrame:
        """Sum up over pairs: measure, the percentiles p10, p50, p90 of power at n, and the median N80.

        N80 is the first size with a power of at least .8, infinite where no size reaches it. Without ``n``
        the percentiles are those at 100 queries, or at the largest size below. With intervals also the ends of
        those of p50, n80, p10 and p90.
        """
        import polars as pl

        size = self._size(n)
        levels = np.quantile(self.power[:, :, size], [0.1, 0.5, 0.9], axis=1)
        columns = {"p10": levels[0], "p50": levels[1], "p90": levels[2], "n80": self.n80()}
        if self.doubt is not None:
            parts = {"p50": self.doubt.levels[:, 1, :, size], "n80": self._n80_ends()}
            parts |= {"p10": self.doubt.levels[:, 0, :, size], "p90": self.doubt.levels[:, 2, :, size]}
            columns |= {
                f"{name}_{end}": x for name, both in parts.items() for end, x in zip(("low", "high"), both, strict=True)
            }
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def _n80_ends(self) -> Floats:
        """Give the ends of the median N80; they hold the estimate, which knows only the sizes simulated."""
        assert self.doubt is not None
        low, high = self.doubt.n80
        return np.stack([np.minimum(low, self.n80()), np.maximum(high, self.n80())])

    def differences(self, n: int | None = None) -> pl.DataFrame:
        """Compare the measures' median power at n: a, b, the difference a − b, low, high, and whether it is clear.

        The interval comes from resampling the queries, the same ones for both measures.
        """
        import polars as pl

        if self.doubt is None:
            raise UsageError("differences between measures need intervals; say power(..., intervals=200)")
        size = self._size(n)
        a, b = np.triu_indices(len(self.measures), 1)
        median = np.median(self.power[:, :, size], axis=1)
        drawn = self.doubt.medians[:, a, size] - self.doubt.medians[:, b, size]
        apart = median[a] - median[b]
        low, high = np.quantile(drawn, ENDS, axis=0) if len(a) else (apart, apart)
        low, high = np.minimum(low, apart), np.maximum(high, apart)
        names = {"a": [self.measures[i] for i in a], "b": [self.measures[i] for i in b]}
        columns = {"difference": apart, "low": low, "high": high, "clear": (low > 0) | (high < 0)}
        texts = dict.fromkeys(names, pl.String)  # also where there is one measure, and no pair
        return pl.DataFrame({**names, **columns}, schema_overrides=texts).fill_nan(None)

    def clearly_best(self, n: int | None = None) -> str | None:
        """Name the measure whose median power at n is clearly above that of every other; none where none is."""
        table = self.differences(n)
        for measure in self.measures:
            above = table.filter(
                ((table["a"] == measure) & (table["low"] > 0)) | ((table["b"] == measure) & (table["high"] < 0))
            )
            if above.height == len(self.measures) - 1 > 0:
                return measure
        return None

    def n80(self) -> Floats:
        """Median over pairs of the first size with a power of at least .8, per measure."""
        reached = self.power >= 0.8
        first = np.where(reached.any(axis=2), np.array(self.sizes)[reached.argmax(axis=2)], np.inf)
        ranked, pairs = np.sort(first, axis=1), first.shape[1]
        middle: Floats = (ranked[:, (pairs - 1) // 2] + ranked[:, pairs // 2]) / 2
        return middle

    def bucket_summary(self, n: int | None = None) -> pl.DataFrame:
        """Median power within each range of reference sizes: measure, bucket, queries, n, p50, maybe its ends."""
        import polars as pl

        rows = []
        for bucket in self.buckets:
            for size in bucket.sizes if n is None else [n]:
                known = size in bucket.sizes
                for m, measure in enumerate(self.measures):
                    column = bucket.power[m, :, bucket.sizes.index(size)] if known else np.array([np.nan])
                    row = (measure, bucket.label, bucket.queries[m], size, float(np.median(column)))
                    ends = np.full(2, np.nan)
                    if known and bucket.doubt is not None:
                        ends = bucket.doubt.levels[:, 1, m, bucket.sizes.index(size)]
                    rows.append((*row, *map(float, ends)))
        schema = {
            "measure": pl.String,
            "bucket": pl.String,
            "queries": pl.Int64,
            "n": pl.Int64,
            "p50": pl.Float64,
            "p50_low": pl.Float64,
            "p50_high": pl.Float64,
        }
        frame = pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
        return frame if self.intervals else frame.drop("p50_low", "p50_high")

    def verdicts(self) -> dict[str, int]:
        """Count the pairs told apart on all queries by all, most (over half), any or none of the measures."""
        votes = self.rejected.sum(axis=0)
        measures = len(self.measures)
        return {
            "pairs": len(votes),
            "all": int((votes == measures).sum()),
            "most": int((votes > measures / 2).sum()),
            "any": int((votes > 0).sum()),
            "none": int((votes == 0).sum()),
        }

    def _size(self, n: int | None) -> int:
        if n is None:
            return self.sizes.index(usual(self.sizes))
        if n not in self.sizes:
            known = ", ".join(map(str, self.sizes))
            raise UsageError(f"power was not simulated at {n} queries; the sizes are {known}")
        return self.sizes.index(n)
