"""Tiers from strengths, and references from preferences in one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.checks import check_choice, check_kind, check_number
from rankdev._common.result import Result
from rankdev._common.view import Dot, Dots, Tab, View
from rankdev.data.references import References
from rankdev.data.tables import is_table
from rankdev.errors import Note, counted
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.order import joined, orders
from rankdev.preferences.strengths import Strengths, strengths

RULES = ("probability", "strict")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tiers(Result):
    """Tiers of every query, best first, and how surely they are separated.

    Attributes
    ----------
    strengths : Strengths
        Strengths in whose order the items are.
    tiers : dict of str to list of list of str
        Tiers of each query, best first.
    separated : dict of str to list of float
        For each two neighbouring tiers of a query, the probability that an item of the upper one is better than an item
        of the lower one, on average over their pairs.
    coin_flips : dict of str to float
        Probability that a query's judgments are coin flips.
    rule : str
        Rule that cut the order.
    probability : float
        Probability that the rule asks for at every border.
    remarks : tuple of str
        Notes.

    See Also
    --------
    tiers : Cut strengths into tiers.
    """

    view: ClassVar = View(
        [
            Tab(
                "Tiers: items of equal rank are tied",
                ("query", "item", "strength", "low", "rank", "separated"),
                digits=3,
            ),
            Tab("Queries: the least probability at a border, and that of coin flips", frame="summary", digits=3),
        ],
        opening=["{conclusion}"],
        figure=Dots(
            ["query", "item"],
            [Dot("strength", "strength and its interval; one colour and marker per tier")],
            group="rank",
            zero=True,
        ),
    )

    strengths: Strengths = field(repr=False)
    tiers: dict[str, list[list[str]]]
    separated: dict[str, list[float]] = field(repr=False)
    coin_flips: dict[str, float] = field(repr=False)
    rule: str = "probability"
    probability: float = 0.8
    remarks: tuple[str, ...] = ()

    made_with = ("rule", "probability")

    @property
    def conclusion(self) -> str:
        """How many tiers there are, and how surely they are separated: one sentence.

        Examples
        --------
        >>> print(tiers_from_preferences([("q", "x", "y")] * 6).conclusion)
        1 query, 2 items, 2 tiers; neighbouring tiers are separated with probability .95.
        """
        cuts, borders = self.tiers.values(), [border for query in self.separated.values() for border in query]
        items, number = sum(len(tier) for cut in cuts for tier in cut), sum(map(len, cuts))
        text = ", ".join([counted(len(cuts), "query"), counted(items, "item"), counted(number, "tier")])
        if not borders:
            return f"{text}."
        low, middle, high = (f"{min(x, 0.99):.2f}"[1:] for x in (min(borders), float(np.median(borders)), max(borders)))
        return f"{text}; neighbouring tiers are separated with probability " + (
            f"{low}." if low == high else f"{low}–{high} (median {middle})."
        )

    def summary(self) -> pl.DataFrame:
        """Tabulate what the judgments of each query show.

        Returns
        -------
        polars.DataFrame
            One row per query: query, items, comparisons, tiers, separated (the least probability at a border;
            null where there is none), coin_flips.

        Examples
        --------
        >>> tiers_from_preferences([("q", "x", "y")] * 6).summary().select("items", "comparisons", "tiers").rows()
        [(2, 6, 2)]
        """
        judged = self.strengths.preferences
        return pl.DataFrame(
            {
                "query": list(self.tiers),
                "items": [sum(map(len, cut)) for cut in self.tiers.values()],
                "comparisons": np.bincount(judged.item_query[judged.winner], minlength=len(self.tiers)),
                "tiers": [len(cut) for cut in self.tiers.values()],
                "separated": [min(borders, default=None) for borders in self.separated.values()],
                "coin_flips": list(self.coin_flips.values()),
            },
            schema_overrides={"query": pl.String, "separated": pl.Float64},
        )

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the tier of each item.

        Returns
        -------
        polars.DataFrame
            One row per item, best first: query, item, strength, low, high, rank (of its tier), separated (the
            probability at the border above its tier; null in the first).

        Examples
        --------
        >>> tiers_from_preferences([("q", "x", "y")] * 6).to_polars().select("item", "rank").rows()
        [('x', 1), ('y', 2)]
        """
        ranks = [
            (query, item, rank, border)
            for query, cut in self.tiers.items()
            for rank, (tier, border) in enumerate(zip(cut, [None, *self.separated[query]], strict=True), 1)
            for item in tier
        ]
        schema = {"query": pl.String, "item": pl.String, "rank": pl.Int64, "separated": pl.Float64}
        ranked = pl.DataFrame(ranks, schema=schema, orient="row")
        table = self.strengths.to_polars().drop("rank")
        return table.join(ranked, on=["query", "item"], how="left", maintain_order="left")


def tiers(strengths: Strengths, *, rule: str = "probability", probability: float = 0.8) -> Tiers:
    """Cut each query's order of strengths into tiers, from its own judgments alone.

    Neighbours share a tier unless an item of the upper tier is better than an item of the lower one with a probability
    of at least ``probability``, on average over their pairs. If a query's judgments are more likely coin flips than an
    order, all its items are tied.

    Parameters
    ----------
    strengths : Strengths
        Fitted strengths.
    rule : {"probability", "strict"}
        What separates tiers. ``probability`` is the rule above; ``strict`` keeps every difference, for those who trust
        each answer.
    probability : float, default 0.8
        Probability that separates two tiers.

    Returns
    -------
    Tiers
        Tiers of each query, best first, with the probability at every border.

    Examples
    --------
    >>> from rankdev.preferences import Preferences, strengths
    >>> rows = [("q", "x", "y")] * 12 + [("q", "x", "z")] * 12 + [("q", "y", "z"), ("q", "z", "y")] * 6
    >>> tiers(strengths(Preferences.from_rows(rows))).tiers
    {'q': [['x'], ['y', 'z']]}
    """
    check_kind("strengths", strengths, Strengths, "fit them with strengths(preferences)")
    check_choice("rule", rule, RULES)
    probability = check_number("probability", probability, 0.5, 1)
    cuts, separated, flips = {}, {}, {}
    each = np.split(strengths.values, strengths.pairs.starts[1:-1])
    for (query, items), values, order in zip(strengths.ordered_items().items(), each, orders(strengths), strict=True):
        places = np.argsort(-values, kind="stable")
        starts = np.flatnonzero(np.diff(-values[places], prepend=-np.inf) > 0)  # nothing orders equal strengths
        flips[query] = order.coin_flips
        needed = 0.0 if rule == "strict" else 1.0 if order.coin_flips >= 0.5 else probability
        first, separated[query] = joined(order.better[np.ix_(places, places)], starts, needed)
        cuts[query] = [items[start:stop] for start, stop in pairwise([*first, len(items)])]
    flat = [query for query, cut in cuts.items() if flips[query] >= 0.5 and len(cut[0]) > 1 and rule != "strict"]
    return Tiers(
        strengths=strengths,
        tiers=cuts,
        separated=separated,
        coin_flips=flips,
        rule=rule,
        probability=probability,
        remarks=tuple(_remarks(strengths, flat)),
    )


def _remarks(fit: Strengths, flat: list[str]) -> Iterator[str]:
    judged = fit.preferences
    if flat:
        yield Note("no-order", count=len(flat), names=flat)
    if len(judged.workers) == 1:
        yield Note("one-worker", worker=judged.workers[0])
    yield from fit.remarks
    if len(judged.workers) > 1:
        found = judged.diagnostics().table
        for kind, column in (("repeated-judgments", "duplicates"), ("contradictions", "contradictions")):
            if count := found[column].sum():
                yield Note(kind, count=count)
    suspects = {} if fit.workers is None else fit.workers.suspects()
    for kind, behaviour in (("random-workers", "spammer"), ("inverted-workers", "inverted")):
        if names := suspects.get(behaviour):
            yield Note(kind, count=len(names), names=names)
    if not fit.converged:
        yield Note("not-converged", steps=fit.iterations)


def tiers_from_preferences(
    preferences: Any,
    method: str = "bradley-terry",
    *,
    rule: str = "probability",
    probability: float = 0.8,
    **options: Any,
) -> Tiers:
    """Fit strengths and cut them into tiers: :func:`strengths`, then :func:`tiers`.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments, or what :meth:`Preferences.from_table` or :meth:`Preferences.from_rows` takes.
    method : {"bradley-terry", "crowd-bt", "rank-centrality"}
        Model of the strengths.
    rule : {"probability", "strict"}
        Rule that cuts the order; see :func:`tiers`.
    probability : float, default 0.8
        Probability that separates two tiers.
    **options : object
        Other options of :func:`strengths`: ridge, disconnected, alpha.

    Returns
    -------
    Tiers
        Tiers of each query, best first.

    Examples
    --------
    >>> tiers_from_preferences([("q", "x", "y")] * 6).tiers
    {'q': [['x'], ['y']]}
    """
    return tiers(strengths(as_preferences(preferences), method, **options), rule=rule, probability=probability)


def references_from_preferences(preferences: Any, method: str = "bradley-terry", **options: Any) -> References:
    """Build references whose ranks are the tiers of :func:`tiers_from_preferences`.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments, as :func:`tiers_from_preferences` takes them.
    method : {"bradley-terry", "crowd-bt", "rank-centrality"}
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
    return References.from_tiers(tiers_from_preferences(preferences, method, **options).tiers)


def as_preferences(value: Any) -> Preferences:
    """Take preferences as they are, or make them from a table, from tuples or from records."""
    if isinstance(value, Preferences):
        return value
    return Preferences.from_table(value) if is_table(value) else Preferences.from_rows(value)
