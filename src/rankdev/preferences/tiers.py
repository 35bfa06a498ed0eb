"""Tiers: items that the judgments do not separate share a rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from rankdev.arguments import check_choice, check_kind, check_number, check_seed, check_whole
from rankdev.preferences.models import MODELS
from rankdev.preferences.rules import DENSE_UP_TO, RULES, Question
from rankdev.preferences.separation import Close
from rankdev.preferences.strengths import Strengths
from rankdev.results import Result


@dataclass(frozen=True, eq=False)
class Tiers(Result):
    """The tiers of every query, best first, and what they were drawn from."""

    strengths: Strengths = field(repr=False)
    tiers: dict[str, list[list[str]]]
    alpha: float = 0.05
    rule: str = "auto"
    max_depth: int | None = None
    resamples: int = 200
    seed: int = 0
    refit: str = "auto"
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "rule", "max_depth", "resamples", "seed")

    @cached_property
    def close(self) -> tuple[Close, ...]:
        """For each query the p-values of the pairs that might not differ."""
        return _tests(self.strengths, self.alpha, self.rule, self.resamples, self.seed, self.refit)

    def to_polars(self) -> pl.DataFrame:
        """One row per item: query, item, strength, low, high, rank (of its tier); best first."""
        table = self.strengths.to_polars()
        ranks = [
            (query, item, rank)
            for query, tiers in self.tiers.items()
            for rank, tier in enumerate(tiers, 1)
            for item in tier
        ]
        ranked = pl.DataFrame(ranks, schema=["query", "item", "rank"], orient="row")
        joined = table.drop("rank").join(ranked, on=["query", "item"], how="left", maintain_order="left")
        return joined.select("query", "item", "strength", "low", "high", "rank")


def tiers(
    fit: Strengths,
    *,
    alpha: float = 0.05,
    rule: str = "auto",
    max_depth: int | None = None,
    resamples: int = 200,
    seed: int = 0,
    refit: str = "auto",
) -> Tiers:
    """Cut each query's order of strengths into tiers.

    ``rule="auto"`` weighs one tier, some tiers and a strict order by the evidence for each and takes the cut with
    the fewest pair relations expected to be wrong; it needs no level. ``strict`` keeps every difference, ``bic``
    joins neighbours as long as the Bayesian information criterion gains. ``partition`` and ``leader`` test pairs
    at level ``alpha``: the first takes the cut with the fewest errors (separated pairs inside a tier, pairs not
    separated across tiers), the second, the conservative one, opens a new tier where an item differs from the
    current tier's first, Holm-corrected over the query's pairs. Tests are clustered by worker where two or more
    judged a query, else by likelihood ratios; Rank Centrality is tested by ``resamples`` bootstrap samples.
    Tiers below ``max_depth`` are joined to the tier there. ``refit`` ("auto", "always", "never") says when a
    likelihood ratio is refitted; "auto" does where the answer could depend on it.

    >>> from rankdev.preferences import Preferences, strengths
    >>> rows = [("q", "x", "y")] * 12 + [("q", "x", "z")] * 12 + [("q", "y", "z"), ("q", "z", "y")] * 6
    >>> tiers(strengths(Preferences.from_rows(rows))).tiers
    {'q': [['x'], ['y', 'z']]}
    """
    check_kind("fit", fit, Strengths, "fit them with strengths(preferences)")
    check_choice("rule", rule, RULES)
    check_choice("refit", refit, ("auto", "always", "never"))
    alpha = check_number("alpha", alpha, 0, 1)
    max_depth = None if max_depth is None else check_whole("max_depth", max_depth, 1)
    resamples, seed = check_whole("resamples", resamples, 1), check_seed(seed)
    chosen = _rule(fit, rule)
    result = Tiers(fit, {}, alpha, chosen, max_depth, resamples, seed, refit)
    tests = result.close if RULES[chosen].tested else [None] * len(fit.preferences.queries)
    for number, (query, items) in enumerate(fit.ordered_items().items()):
        starts = RULES[chosen].cut(Question(fit, number, alpha, tests[number]))
        edges = [*starts[:max_depth].tolist(), len(items)]
        result.tiers[query] = [items[start:stop] for start, stop in pairwise(edges)]
    return result


def _rule(fit: Strengths, rule: str) -> str:
    if rule == "auto":
        rule = MODELS[fit.method].rule
    longest = int(np.diff(fit.pairs.starts).max(initial=0))
    return "partition" if rule in {"auto", "bic"} and longest > DENSE_UP_TO else rule


def _tests(fit: Strengths, alpha: float, rule: str, resamples: int, seed: int, refit: str) -> tuple[Close, ...]:
    if rule == "leader":
        # Holm compares p-values with as little as alpha / pairs, and needs them exact
        longest = int(np.diff(fit.pairs.starts).max(initial=0))
        alpha, refit = alpha / max(1, longest * (longest - 1) // 2), "always"
    return MODELS[fit.method].separation(fit, alpha, resamples, seed, refit)
