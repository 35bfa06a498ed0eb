"""Claims about judgments that are collected: what a perfect judge is asked, and scores from such judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import rankdev as rd
from rankdev.judging.collect import Collected
from tests.calibration.estimates import covered
from tests.calibration.simulations import Finding

Truth = dict[str, dict[str, float]]
# spread of the strengths of items; infinite: the judge is consistent
JUDGES = {"consistent": np.inf, "Bradley–Terry, sd 1.5": 1.5}


def _truth(rng: np.random.Generator, queries: int, items: int, spread: float) -> Truth:
    strength = rng.normal(size=(queries, items)) * (spread if np.isfinite(spread) else 1.0)
    return {f"q{q}": {f"d{k:02d}": float(x) for k, x in enumerate(row)} for q, row in enumerate(strength)}


def _judge(rng: np.random.Generator, truth: Truth, kind: str) -> Callable[[str, str, str], str]:
    def judge(query: str, a: str, b: str) -> str:
        apart = truth[query][a] - truth[query][b]
        if np.isinf(JUDGES[kind]):
            return a if apart > 0 else b
        return a if rng.random() < 1 / (1 + np.exp(-apart)) else b

    return judge


def _collected(seed: int, kind: str, queries: int, items: int, **options: object) -> tuple[Truth, Collected]:
    rng = np.random.default_rng([seed, items, len(kind)])
    truth = _truth(rng, queries, items, JUDGES[kind])
    pool = {query: list(entries) for query, entries in truth.items()}
    return truth, rd.collect(_judge(rng, truth, kind), pool, seed=seed, **options)


def perfect(trials: int) -> Iterator[Finding]:
    """A perfect judge of 20 items: what it is asked, and how many pairs a strict order of its answers has right."""
    for error in (0.05, 0.1):
        asked, right, tiers = [], [], []
        for seed in range(trials):
            truth, found = _collected(seed, "consistent", 1, 20, error=error)
            place, entries = rd.References.from_preferences(found.preferences, rule="strict")["q0"], truth["q0"]
            pairs = [(a, b) for a in entries for b in entries if entries[a] > entries[b]]
            right.append(np.mean([place[a] < place[b] for a, b in pairs]))
            asked.append(found.asked)
            tiers.append(len(found.references["q0"].tiers))
        setting = f"error {error}: {min(asked)} to {max(asked)} questions, {min(tiers)} to {max(tiers)} tiers"
        claim = "`collect`, a perfect judge of 20 items: "
        more, fewer = float(np.mean(np.array(asked) > 115)), float(np.mean(np.array(right) < 0.95))
        yield Finding(f"{claim}more than 115 questions", setting, more, trials, 0.005, at_most=True)
        setting = f"error {error}: {min(right):.3f} right at least, {np.mean(right):.4f} on average"
        yield Finding(f"{claim}fewer than .95 of the pairs right", setting, fewer, trials, 0.005, at_most=True)


def _rankings(rng, strengths, noises):
    """Rank items by their strengths with some noise, for two systems."""
    return {
        name: {
            query: sorted(entries, key=lambda item, e=entries, s=noise: -(e[item] + rng.normal() * s))
            for query, entries in strengths.items()
        }
        for name, noise in zip("ab", noises, strict=True)
    }


def _means(truth, runs):
    """Score both systems by the true order."""
    orders = {query: sorted(entries, key=entries.__getitem__, reverse=True) for query, entries in truth.items()}
    return rd.evaluate(orders, runs, "RDQ@5").means[:, 0]


def chosen_pairs(trials: int) -> Iterator[Finding]:
    """Scores of two systems, and their difference, against the true order: pairs that `collect` chose.

    Six queries of 12 items.
    """
    for kind, each in (("consistent", 16), ("Bradley–Terry, sd 1.5", 32)):
        held = np.zeros(2)
        for seed in range(trials):
            truth, found = _collected(seed, kind, 6, 12, budget=6 * each)
            runs = _rankings(np.random.default_rng([seed, each]), truth, (0.8, 1.6))
            held += covered(found.preferences, runs, _means(truth, runs), "RDQ@5", seed, disconnected="largest")
        setting = f"{kind}, {each} judgments a query chosen by `collect`"
        for what, share in zip(("the score", "a difference"), held / trials, strict=True):
            yield Finding(f"`evaluate_with_uncertainty`, {what}", setting, share, trials, 0.9)


CLAIMS = {
    "perfect judge": (perfect, 1000, 2),
    "chosen pairs": (chosen_pairs, 1000, 2),
}
