"""Tiers, references in one call, what is undecided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_choice, check_kind, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.tables import is_table
from rankdev.errors import counted
from rankdev.preferences._pairs import Pairs, moments
from rankdev.preferences._separation import Close
from rankdev.preferences.diagnostics import clear_pairs, cyclic_groups, losers_of, majorities, shortest_cycle
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.models import MODELS
from rankdev.preferences.rules import DENSE_UP_TO, RULES, Question
from rankdev.preferences.strengths import Strengths, strengths

if TYPE_CHECKING:
    from rankdev.core.references import References


@dataclass(frozen=True, eq=False, kw_only=True)
class Tiers(Result):
    """The tiers of every query, best first, and what they were drawn from."""

    display: ClassVar = "rankdev.display.preferences"

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

    def undecided(self) -> Undecided:
        """Say what the tiers decide, what they leave undetermined, and how many judgments would settle it.

        >>> from rankdev.preferences import tiers_from_preferences
        >>> print(tiers_from_preferences([("q", "x", "y")] * 2 + [("q", "y", "x")]).undecided())
        1 query, 2 items, 3 comparisons, 1 tier.
        1 pair of neighbours could not be separated: tied.
        About 45 more judgments would separate 1 of them, each with a chance of 50%.
        """
        return _undecided(self)

    def summary(self) -> pl.DataFrame:
        """One row per query: its tiers and what is undecided; see :meth:`undecided`."""
        return self.undecided().to_polars()

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
    result = Tiers(
        strengths=fit,
        tiers={},
        alpha=alpha,
        rule=chosen,
        max_depth=max_depth,
        resamples=resamples,
        seed=seed,
        refit=refit,
    )
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


def tiers_from_preferences(
    preferences: Any,
    method: str = "bradley-terry",
    *,
    ridge: float = 0.1,
    tie_model: str = "auto",
    position: str = "ignore",
    disconnected: str = "error",
    worker_prior: tuple[float, float] = (2.0, 1.0),
    alpha: float = 0.05,
    rule: str = "auto",
    max_depth: int | None = None,
    resamples: int = 200,
    seed: int = 0,
) -> Tiers:
    """Fit strengths and cut them into tiers: :func:`strengths` and :func:`tiers` with their options.

    >>> tiers_from_preferences([("q", "x", "y")] * 6).tiers
    {'q': [['x'], ['y']]}
    """
    fit = strengths(
        as_preferences(preferences),
        method,
        ridge=ridge,
        tie_model=tie_model,
        position=position,
        disconnected=disconnected,
        worker_prior=worker_prior,
    )
    return tiers(fit, alpha=alpha, rule=rule, max_depth=max_depth, resamples=resamples, seed=seed)


def references_from_preferences(preferences: Any, method: str = "bradley-terry", **options: Any) -> References:
    """Build references whose ranks are the tiers of :func:`tiers_from_preferences`, with its options."""
    from rankdev.core.references import References

    return References.from_tiers(tiers_from_preferences(preferences, method, **options).tiers)


def as_preferences(value: Any) -> Preferences:
    """Take preferences as they are, or make them from a table, from tuples or from records."""
    if isinstance(value, Preferences):
        return value
    return Preferences.from_table(value) if is_table(value) else Preferences.from_rows(value)


TOO_CLOSE = 0.1  # in log-strength: the better of two wins 52.5% of the time
LIKELY = 0.5  # the probability with which ``more`` judgments of a pair separate it
MOST = 100_000  # judgments of one pair, beyond which nobody counts


@dataclass(frozen=True)
class QuerySummary:
    """One query: ``undecided`` neighbours share a tier; ``more`` judgments separate each with probability ``LIKELY``.

    ``too_close`` of the undecided are nearly equal, ``cyclic`` ones lie on a cycle of clear wins, where no order
    fits; both are left out of ``more``, which is None where the method has no likelihood to estimate it from.
    """

    query: str
    items: int
    comparisons: int
    tiers: int
    undecided: int
    too_close: int
    more: int | None
    cyclic: int = 0


@dataclass(frozen=True)
class Undecided(Result):
    """A row per query, and remarks on the data; ``str()`` gives the whole in plain words."""

    display: ClassVar = "rankdev.display.preferences"

    queries: tuple[QuerySummary, ...]
    remarks: tuple[str, ...] = field(default=())

    def to_polars(self) -> pl.DataFrame:
        """One row per query: query, items, comparisons, tiers, undecided, too_close, more, cyclic."""
        names = list(QuerySummary.__dataclass_fields__)
        return pl.DataFrame({name: [getattr(row, name) for row in self.queries] for name in names})


def _undecided(result: Tiers) -> Undecided:
    fit = result.strengths
    judged = np.bincount(fit.preferences.item_query[fit.preferences.winner], minlength=len(result.tiers))
    cycles = _cycles(result)
    rows = []
    for number, (query, tiers) in enumerate(result.tiers.items()):
        counts = _open_neighbours(result, number, [len(tier) for tier in tiers], cycles)
        items = sum(len(tier) for tier in tiers)
        rows.append(QuerySummary(query, items, int(judged[number]), len(tiers), *counts))
    return Undecided(tuple(rows), (*_cycle_remark(result, cycles), *_remarks(result)))


def _open_neighbours(result: Tiers, number: int, sizes: list[int], cycles: Ints) -> tuple[int, int, int | None, int]:
    """Neighbours in one tier; the nearly equal among them; comparisons until the others differ; those on cycles."""
    inside, close, cyclic = open_places(result, number, sizes, cycles)
    counts = int(inside.sum()), int(close.sum())
    if result.strengths.curvature is None:
        return *counts, None, int(cyclic.sum())
    return *counts, sum(needed_at(result, number, inside & ~cyclic & ~close)), int(cyclic.sum())


def open_places(result: Tiers, number: int, sizes: list[int], cycles: Ints) -> tuple[Bools, Bools, Bools]:
    """Tell of each item and the next whether they share a tier undecided, are nearly equal, are on a cycle."""
    fit = result.strengths
    start, stop = fit.pairs.starts[number], fit.pairs.starts[number + 1]
    order = np.argsort(-fit.values[start:stop], kind="stable")
    inside = np.ones(max(len(order) - 1, 0), bool)
    inside[np.cumsum(sizes[:-1], dtype=np.int64) - 1] = False
    pairs = result.close[number]
    unclear = pairs.i[(pairs.j == pairs.i + 1) & (pairs.p >= result.alpha)]
    inside &= np.isin(np.arange(len(inside)), unclear)
    values, on = fit.values[start:stop][order], cycles[start:stop][order]
    cyclic = inside & (on[:-1] == on[1:]) & (on[:-1] >= 0)
    return inside, inside & ~cyclic & (-np.diff(values) < TOO_CLOSE), cyclic


def needed_at(result: Tiers, number: int, places: Bools) -> list[int]:
    """Give for each of some places in the order how many answers separate its item from the next."""
    from scipy.special import stdtrit

    fit = result.strengths
    start, stop = fit.pairs.starts[number], fit.pairs.starts[number + 1]
    order = np.argsort(-fit.values[start:stop], kind="stable")
    values, (factor, freedom) = fit.values[start:stop][order], fit.clustered[number]
    variance = (np.diff(factor[order], axis=0) ** 2).sum(axis=1)
    spread = _spread(values, float((factor**2).sum()))
    critical = float(stdtrit(min(freedom, 1e9), 1 - result.alpha / 2))
    pairs = zip(-np.diff(values)[places], variance[places], strict=True)
    return [_needed(d, error, 2 * spread, critical, fit.tie_rate) for d, error in pairs]


def _spread(values: Floats, doubt: float) -> float:
    """Variance of the true strengths: what the fitted ones show beyond their doubt, with two items' worth of 1."""
    own = max(float(values.var(ddof=1)) - doubt / len(values), 0.0)
    return ((len(values) - 1) * own + 2) / (len(values) + 1)


def _needed(d: float, variance: float, prior: float, critical: float, tie_rate: float) -> int:
    """Find how many answers to a pair separate it with probability ``LIKELY``.

    The difference is estimated as ``d``; with normal strengths a priori it is N(m, s²). After n answers, of
    information h each, the estimate is N(v'(d/v + n h m), v'²((n h)² s² + n h)) with 1/v' = 1/v + n h, and the
    pair is separated where it lies ``critical`` times √v' from 0, on either side.
    """
    from scipy.special import ndtr

    _, h = moments(np.array([d]), tie_rate)
    n = np.unique(np.geomspace(1, MOST, 400).astype(np.int64))
    known = n * float(h[0])
    s2 = 1 / (1 / variance + 1 / prior)
    mean, after = d / variance + known * d * s2 / variance, 1 / variance + known
    spread, edge = np.sqrt(known**2 * s2 + known), critical * np.sqrt(after)
    enough = ndtr((mean - edge) / spread) + ndtr((-mean - edge) / spread) >= LIKELY
    return int(n[np.argmax(enough)]) if enough.any() else MOST


def _cycles(result: Tiers) -> Ints:
    """Number the items on cycles of clear wins, the same for those on a common one; −1 for the others."""
    pairs = result.strengths.pairs
    winner, loser = _clear_wins(pairs)
    label = cyclic_groups(winner, loser, pairs.items)
    return np.where(np.bincount(label)[label] > 1, label, -1)


def _clear_wins(pairs: Pairs) -> tuple[Ints, Ints]:
    kept = clear_pairs(pairs)
    return majorities(
        replace(
            pairs,
            first=pairs.first[kept],
            second=pairs.second[kept],
            count=pairs.count[kept],
            score=pairs.score[kept],
            ties=pairs.ties[kept],
        )
    )


def _cycle_remark(result: Tiers, cycles: Ints) -> list[str]:
    """Name the shortest cycle through the first item that is on one."""
    fit, items = result.strengths, int((cycles >= 0).sum())
    if not items:
        return []
    losers = losers_of(*_clear_wins(fit.pairs), fit.pairs.items)
    path = shortest_cycle(losers, int(np.argmax(cycles >= 0)))
    names = [fit.preferences.items[k] for k in [*path, path[0]]]
    shown = " > ".join(names if len(names) <= 8 else [*names[:6], "…", names[-1]])
    query = fit.preferences.queries[fit.preferences.item_query[path[0]]]
    return [f"{items:,} items are part of cycles, where no order fits the judgments; query {query}: {shown}."]


def _remarks(result: Tiers) -> list[str]:
    fit = result.strengths
    found = fit.preferences.diagnostics().values
    duplicates, contradictions, single = (
        int(found[name].sum()) for name in ("duplicates", "contradictions", "single_workers")
    )
    lines = []
    if duplicates:
        lines.append(f"{counted(duplicates, 'judgment', 'repeats')} one of the same worker; together they count once.")
    if contradictions:
        lines.append(
            f"On {counted(contradictions, 'pair')}, a worker gives different answers; together they count once."
        )
    if single:
        lines.append(f"{counted(single, 'worker')} judged only once: too little to tell their quality.")
    if fit.workers is not None:
        suspects = fit.workers.suspects()
        for kind, words in (("spammer", "to answer at random"), ("inverted", "to answer the opposite")):
            if suspects[kind]:
                named = ", ".join(suspects[kind][:10]) + (" …" if len(suspects[kind]) > 10 else "")
                lines.append(f"{counted(len(suspects[kind]), 'worker', 'seems')} {words}: {named}.")
    if not fit.converged:
        lines.append(f"The fit did not settle in {fit.iterations} steps; raise ridge.")
    return lines
