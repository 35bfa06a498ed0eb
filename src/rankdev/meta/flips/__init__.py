"""The engine room of randomization tests: random sign flips of many systems and measures at once.

A sign flip is linear in the scores, so one set of flipped column sums serves every pair of systems: the
flipped difference of a pair is the difference of its two columns. Scores are scaled to whole numbers first
(:mod:`.exact_sums`), which makes every sum exact, and the random bits come from a counter (:mod:`.random_bits`), so
that all engines, thread counts and devices give the same numbers.
"""

from rankdev.meta.flips.engines import ENGINES, Engine, count_extremes, open_engine, spread
from rankdev.meta.flips.pairs import Sampling, lag_order

__all__ = ["ENGINES", "Engine", "Sampling", "count_extremes", "lag_order", "open_engine", "spread"]
