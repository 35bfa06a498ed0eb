"""Tiers from strengths, references from preferences in one call, and what is still undecided."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Ints
from rankdev._common.checks import check_choice, check_kind, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.tables import is_table
from rankdev.preferences._separation import Close
from rankdev.preferences._sparse import cut_few_too
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.models import MODELS
from rankdev.preferences.rules import DENSE_UP_TO, RULES, Question
from rankdev.preferences.strengths import Strengths, strengths

if TYPE_CHECKING:
    from rankdev.core.references import References
    from rankdev.preferences.undecided import Undecided


@dataclass(frozen=True, eq=False, kw_only=True)
class Tiers(Result):
    """Tiers of every query, best first.

    Attributes
    ----------
    strengths : Strengths
        Strengths that were cut into tiers.
    tiers : dict of str to list of list of str
        Tiers of each query, best first.
    alpha : float
        Level of the tests of pairs.
    rule : str
        Rule that cut the order; ``auto`` is replaced by the rule it chose.
    max_depth : int or None
        Largest number of tiers.
    resamples : int
        Bootstrap samples, for models without a likelihood.
    seed : int
        Seed of the bootstrap.
    refit : str
        When likelihood ratios are refitted.
    remarks : tuple of str
        Notes.

    See Also
    --------
    tiers : Cut strengths into tiers.
    """

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
        """Report what the tiers decide, what is undecided, and how many more judgments would decide it.

        Returns
        -------
        Undecided
            One row per query, and notes on the data.

        Examples
        --------
        >>> from rankdev.preferences import tiers_from_preferences
        >>> print(tiers_from_preferences([("q", "x", "y")] * 2 + [("q", "y", "x")]).undecided())
        1 query, 2 items, 3 comparisons, 1 tier.
        1 pair of neighbours could not be separated: tied.
        About 45 more judgments would separate 1 of them, each with a chance of 50%.
        """
        from rankdev.preferences.undecided import find_undecided  # which needs this class

        return find_undecided(self)

    def summary(self) -> pl.DataFrame:
        """Tabulate the tiers of each query and what is undecided; see :meth:`undecided`.

        Returns
        -------
        polars.DataFrame
            One row per query: query, items, comparisons, tiers, undecided, too_close, more, cyclic.

        Examples
        --------
        >>> from rankdev.preferences import tiers_from_preferences
        >>> tiers_from_preferences([("q", "x", "y")] * 6).summary().select("items", "tiers", "undecided").rows()
        [(2, 2, 0)]
        """
        return self.undecided().to_polars()

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the tier of each item.

        Returns
        -------
        polars.DataFrame
            One row per item: query, item, strength, low, high, rank (of its tier); best first.

        Examples
        --------
        >>> from rankdev.preferences import tiers_from_preferences
        >>> tiers_from_preferences([("q", "x", "y")] * 6).to_polars().select("item", "rank").rows()
        [('x', 1), ('y', 2)]
        """
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
    strengths: Strengths,
    *,
    alpha: float = 0.05,
    rule: str = "auto",
    max_depth: int | None = None,
    resamples: int = 200,
    seed: int = 0,
    refit: str = "auto",
) -> Tiers:
    """Cut each query's order of strengths into tiers.

    Tests of pairs are clustered by worker where two or more workers judged a query, and likelihood-ratio tests
    otherwise; Rank Centrality is tested by the bootstrap.

    Parameters
    ----------
    strengths : Strengths
        Fitted strengths.
    alpha : float, default 0.05
        Level of the tests of the rules ``partition`` and ``leader``; the other rules need none.
    rule : {"auto", "strict", "bic", "partition", "leader"}
        ``auto`` compares the evidence for one tier, some tiers and a strict order, and takes the cut with the fewest
        pair relations expected to be wrong. ``strict`` keeps every difference. ``bic`` joins neighbours as long as
        the Bayesian information criterion improves. ``partition`` takes the cut with the fewest errors (separated
        pairs within a tier, pairs not separated across tiers). ``leader``, the conservative one, starts a new tier
        where an item differs from the first of the current tier, Holm-corrected over the query's pairs.
    max_depth : int, optional
        Largest number of tiers: those below are joined to the last. Default: no limit.
    resamples : int, default 200
        Bootstrap samples, for models without a likelihood.
    seed : int, default 0
        Seed of the bootstrap.
    refit : {"auto", "always", "never"}
        When the model is refitted for a likelihood ratio. ``auto``: where the result could depend on it.

    Returns
    -------
    Tiers
        Tiers of each query, best first.

    Examples
    --------
    >>> from rankdev.preferences import Preferences, strengths
    >>> rows = [("q", "x", "y")] * 12 + [("q", "x", "z")] * 12 + [("q", "y", "z"), ("q", "z", "y")] * 6
    >>> tiers(strengths(Preferences.from_rows(rows))).tiers
    {'q': [['x'], ['y', 'z']]}
    """
    check_kind("strengths", strengths, Strengths, "fit them with strengths(preferences)")
    check_choice("rule", rule, RULES)
    check_choice("refit", refit, ("auto", "always", "never"))
    alpha = check_number("alpha", alpha, 0, 1)
    max_depth = None if max_depth is None else check_whole("max_depth", max_depth, 1)
    resamples, seed = check_whole("resamples", resamples, 1), check_seed(seed)
    chosen = _rule(strengths, rule)
    result = Tiers(
        strengths=strengths,
        tiers={},
        alpha=alpha,
        rule=chosen,
        max_depth=max_depth,
        resamples=resamples,
        seed=seed,
        refit=refit,
    )
    tests = result.close if RULES[chosen].tested else [None] * len(strengths.preferences.queries)

    def cut(number: int) -> Ints:
        return RULES[chosen].cut(Question(strengths, number, alpha, tests[number]))

    cuts = cut_few_too(strengths, cut) if chosen == "auto" else [cut(number) for number in range(len(tests))]
    for starts, (query, items) in zip(cuts, strengths.ordered_items().items(), strict=True):
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
    disconnected: str = "largest",
    worker_prior: tuple[float, float] = (2.0, 1.0),
    alpha: float = 0.05,
    rule: str = "auto",
    max_depth: int | None = None,
    resamples: int = 200,
    seed: int = 0,
) -> Tiers:
    """Fit strengths and cut them into tiers: :func:`strengths`, then :func:`tiers`.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments, or what :meth:`Preferences.from_table` or :meth:`Preferences.from_rows` takes.
    method : {"bradley-terry", "consistent", "crowd-bt", "rank-centrality"}
        Model of the strengths.
    ridge : float, default 0.1
        Regularisation.
    tie_model : {"auto", "half", "davidson"}
        How ties are modelled.
    position : {"ignore", "correct"}
        Whether the effect of the order of presentation is removed.
    disconnected : {"largest", "split", "error"}
        What to do with items that no chain of comparisons connects; see :func:`strengths`.
    worker_prior : tuple of float, default (2, 1)
        Beta prior of the workers' quality (Crowd-BT).
    alpha : float, default 0.05
        Level of the tests of pairs.
    rule : {"auto", "strict", "bic", "partition", "leader"}
        Rule that cuts the order.
    max_depth : int, optional
        Largest number of tiers. Default: no limit.
    resamples : int, default 200
        Bootstrap samples, for models without a likelihood.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    Tiers
        Tiers of each query, best first.

    Examples
    --------
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
    """Build references whose ranks are the tiers of :func:`tiers_from_preferences`.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments, as :func:`tiers_from_preferences` takes them.
    method : {"bradley-terry", "consistent", "crowd-bt", "rank-centrality"}
        Model of the strengths.
    **options : object
        Other options of :func:`tiers_from_preferences`.

    Returns
    -------
    References
        One rank per tier, ready for ``evaluate``.

    Examples
    --------
    >>> dict(references_from_preferences([("q", "x", "y")] * 6)["q"])
    {'x': 1, 'y': 2}
    """
    from rankdev.core.references import References

    return References.from_tiers(tiers_from_preferences(preferences, method, **options).tiers)


def as_preferences(value: Any) -> Preferences:
    """Take preferences as they are, or make them from a table, from tuples or from records."""
    if isinstance(value, Preferences):
        return value
    return Preferences.from_table(value) if is_table(value) else Preferences.from_rows(value)
