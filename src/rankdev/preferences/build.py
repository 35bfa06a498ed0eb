"""From judgments to references in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankdev.preferences.preferences import Preferences
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


def as_preferences(value: Any) -> Preferences:
    """Take preferences as they are, or make them from a table, from tuples or from records."""
    if isinstance(value, Preferences):
        return value
    return Preferences.from_table(value) if is_table(value) else Preferences.from_rows(value)
