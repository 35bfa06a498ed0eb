"""From judgments to references in one call, and tiers drawn again from resampled judgments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankdev.preferences.preferences import Preferences
from rankdev.preferences.resampling import resampled_strengths
from rankdev.preferences.strengths import strengths
from rankdev.preferences.tiers import Tiers, tiers
from rankdev.tabular import is_table

if TYPE_CHECKING:
    from rankdev.references.references import References


def tiers_from_preferences(
    preferences: Any,
    method: str = "bradley-terry",
    *,
    ridge: float = 0.1,
    ties: str = "auto",
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
        ties=ties,
        position=position,
        disconnected=disconnected,
        worker_prior=worker_prior,
    )
    return tiers(fit, alpha=alpha, rule=rule, max_depth=max_depth, resamples=resamples, seed=seed)


def references_from_preferences(preferences: Any, method: str = "bradley-terry", **options: Any) -> References:
    """Build references whose ranks are the tiers of :func:`tiers_from_preferences`, with its options."""
    from rankdev.references.references import References

    return References.from_tiers(tiers_from_preferences(preferences, method, **options).tiers)


def resample_tiers(found: Tiers, resamples: int = 200, seed: int = 0) -> Iterator[dict[str, list[list[str]]]]:
    """Draw the judgments again and again (clustered by worker) and give the tiers of each draw, by query.

    For Crowd-BT and Rank Centrality each draw's order is cut where the tiers of the data are cut, since a
    bootstrap inside every draw would be out of proportion.
    """
    fit = found.strengths
    options: dict[str, Any] = {"alpha": found.alpha, "rule": found.rule, "max_depth": found.max_depth}
    sizes = None
    if fit.method != "bradley-terry":
        whole = tiers(fit, resamples=max(200, resamples), seed=seed, **options).tiers
        sizes = [[len(tier) for tier in cut] for cut in whole.values()]
    for again in resampled_strengths(fit, resamples, seed):
        yield tiers(again, **options).tiers if sizes is None else _cut(again.ordered_items(), sizes)


def as_preferences(value: Any) -> Preferences:
    """Take preferences as they are, or make them from a table, from tuples or from records."""
    if isinstance(value, Preferences):
        return value
    return Preferences.from_table(value) if is_table(value) else Preferences.from_rows(value)


def _cut(ordered: dict[str, list[str]], sizes: list[list[int]]) -> dict[str, list[list[str]]]:
    result = {}
    for (query, items), lengths in zip(ordered.items(), sizes, strict=True):
        rest = iter(items)
        result[query] = [[next(rest) for _ in range(length)] for length in lengths]
    return result
