"""Claims about judgments that are collected: what is stated when asking stops, and scores from such judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import rankdev as rd
from rankdev.judging.collect import Collected
from tests.calibration.estimates import covered
from tests.calibration.simulations import Finding

Truth = dict[str, dict[str, float]]
# how a judge answers: spread of the strengths (infinite: consistent), share of random answers, Davidson's rate of ties
JUDGES = {
    "consistent": (np.inf, 0.0, 0.0),
    "10% random": (np.inf, 0.1, 0.0),
    "Bradley–Terry, sd 3": (3.0, 0.0, 0.0),
    "Bradley–Terry, sd 1.5": (1.5, 0.0, 0.0),
    "sd 1.5, ties": (1.5, 0.0, 1.0),
}


def _truth(rng: np.random.Generator, queries: int, items: int, spread: float) -> Truth:
    strength = rng.normal(size=(queries, items)) * (spread if np.isfinite(spread) else 1.0)
    return {f"q{q}": {f"d{k:02d}": float(x) for k, x in enumerate(row)} for q, row in enumerate(strength)}


def _judge(rng: np.random.Generator, truth: Truth, kind: str) -> Callable[[str, str, str], str | None]:
    spread, lapses, ties = JUDGES[kind]

    def judge(query: str, a: str, b: str) -> str | None:
        d = truth[query][a] - truth[query][b]
        if rng.random() < lapses:
            return (a, b)[rng.integers(2)]
        if not np.isfinite(spread):
            return a if d > 0 else b
        weights = np.array([np.exp(d / 2), np.exp(-d / 2), ties])
        return (a, b, None)[rng.choice(3, p=weights / weights.sum())]

    return judge


def _collected(seed: int, kind: str, queries: int, items: int, **options: object) -> tuple[Truth, Collected]:
    rng = np.random.default_rng([seed, items, len(kind)])
    truth = _truth(rng, queries, items, JUDGES[kind][0])
    pool = {query: list(entries) for query, entries in truth.items()}
    return truth, rd.collect(_judge(rng, truth, kind), pool, seed=seed, **options)


def _wrong(truth: Truth, found: Collected) -> list[float]:
    """The share of pairs that is in the wrong order in each query."""
    shares = []
    for query, entries in truth.items():
        names = list(entries)
        order = [names[k] for k in np.argsort(-found.strengths[query], kind="stable")]
        pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
        shares.append(float(np.mean([entries[a] < entries[b] for a, b in pairs])))
    return shares


def stops(trials: int) -> Iterator[Finding]:
    """What `collect` estimates when it stops, for whatever reason, compared with the truth: four queries per trial.

    The fraction of pairs in the wrong order (20 items; 15 for sd 1.5), which may be less than stated: a consistent
    judge is taken for one who may err about neighbours.
    """
    for kind in JUDGES:
        items, error = (15, 0.15) if "1.5" in kind else (20, 0.05 if "%" in kind else 0.1)
        stated, truly, asked = [], [], 0
        for seed in range(trials):
            truth, found = _collected(seed, kind, 4, items, error=error)
            stated += found.errors.values()
            truly += _wrong(truth, found)
            asked += found.asked
        setting = f"{kind}, {items} items, error {error}, {asked / trials / 4:.0f} questions"
        off, said = float(np.mean(truly) - np.mean(stated)), f"stated {np.mean(stated):.3f}, true {np.mean(truly):.3f}"
        claim = "`collect`, fraction of wrong pairs: more true than stated"
        yield Finding(claim, f"{setting}; {said}", max(0.0, off), len(truly), 0.03, at_most=True)


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
    "stops": (stops, 250, 1),
    "perfect judge": (perfect, 1000, 2),
    "chosen pairs": (chosen_pairs, 1000, 2),
}
