"""Claims about clusters of queries beyond tests: gates, effect sizes, meta-analyses, plans, power, agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from rankdev.statistics.equivalence import interval

import rankdev as rd
from rankdev.statistics._effect_sizes import effect_limits, fraction_won
from rankdev.statistics.contrasts import Family
from rankdev.statistics.power.student import queries_for
from rankdev.statistics.rank_correlation import tau_b
from tests.calibration.designs import clustered
from tests.calibration.simulations import ALPHA, Finding

DESIGNS = [
    (kind, count, sizes) for kind in ("normal", "skewed", "discrete") for count, sizes in ((15, "1–20"), (40, "5"))
]


@patch("rankdev.statistics.equivalence.USUAL", 4000)  # flips; to save time
@patch("rankdev.statistics.side_by_side.USUAL", 4000)
def elsewhere(trials: int) -> Iterator[Finding]:
    """Clusters whose queries share 30% of their variance.

    Gates at the margin, effect sizes, meta-analyses of five collections, plans from pilots of 20 clusters, power at 20
    clusters, agreement between measures and with people.
    """
    for simulate in (_gates, _effects, _collections, _plans, _powers, _agreements, _people):
        yield from simulate(trials)


def _finding(claim: str, setting: str, held: float, trials: int, goal: float, at_most: bool = False) -> Finding:
    return Finding(f"{claim} with `clusters`", setting, held / trials, trials, goal, at_most)


def _pair(values: np.ndarray, members: np.ndarray) -> Family:
    return Family(values[:, :2], np.arange(len(values)), np.array([0]), np.array([1]), clusters=members)


def _gates(trials: int) -> Iterator[Finding]:
    for kind, count, sizes in DESIGNS:
        rng = np.random.default_rng([count, len(kind), 61])
        wrong = sum(interval(_pair(*clustered(rng, kind, count, sizes)), 2 * ALPHA)[0][0] > 0 for _ in range(trials))
        yield _finding("`gate`, wrong pass", f"{kind}, {count} clusters of {sizes}", wrong, trials, 0.07, at_most=True)


def _effects(trials: int) -> Iterator[Finding]:
    for kind, count, sizes in DESIGNS:
        rng = np.random.default_rng([count, len(kind), 62])
        many = clustered(rng, kind, 50_000, sizes)[0]
        for effect in (0.0, 0.5):
            apart = many[:, 0] - many[:, 1]
            shift = effect * apart.std()
            won = ((apart + shift) > 0).sum() / ((apart + shift) != 0).sum()
            held = share = 0
            for _ in range(trials):
                values, members = clustered(rng, kind, count, sizes)
                values[:, 0] += shift
                low, high = effect_limits(_pair(values, members), ALPHA)
                held += not low[0] > effect and not high[0] < effect
                low, high = fraction_won(_pair(values, members), ALPHA)
                share += low[0] <= won <= high[0]
            setting = f"{kind}, {count} clusters of {sizes}, effect {effect:g}"
            yield _finding("`effect_sizes`, interval of d_z", setting, held, trials, 0.9)
            yield _finding("`effect_sizes`, interval of won", setting, share, trials, 0.9)


def _scores(
    values: np.ndarray, members: np.ndarray, measures: tuple[str, ...] = ("m",)
) -> tuple[rd.Scores, Mapping[str, int]]:
    queries = tuple(map(str, range(len(members))))
    names = tuple(map(str, range(values.shape[1])))
    table = values.reshape(len(members), len(names), -1).transpose(1, 0, 2)
    return rd.Scores(names, queries, measures, table), dict(zip(queries, members.tolist(), strict=True))


def _collections(trials: int) -> Iterator[Finding]:
    trials //= 2
    for kind, count, sizes in DESIGNS:
        rng = np.random.default_rng([count, len(kind), 63])
        wrong = apart = 0
        for _ in range(trials):
            parts, clusters = {}, {}
            for part in range(5):
                values, members = clustered(rng, kind, count, sizes)
                scores, own = _scores(values[:, :2], members)
                parts[str(part)] = replace(scores, queries=tuple(f"{part}-{query}" for query in scores.queries))
                clusters |= {f"{part}-{query}": name for query, name in own.items()}
            found = rd.meta_analysis(parts, clusters=clusters).columns
            wrong += found["p"][0] <= ALPHA
            apart += found["q_p"][0] <= ALPHA
        setting = f"{kind}, five collections of {count} clusters of {sizes}"
        yield _finding("`meta_analysis`, false rejection", setting, wrong, trials, 0.07, at_most=True)
        yield _finding("`meta_analysis`, collections falsely differ", setting, apart, trials, 0.1, at_most=True)


def _plans(trials: int) -> Iterator[Finding]:
    trials //= 2
    for kind in ("normal", "discrete"):
        for sizes in ("5", "1–20"):
            rng = np.random.default_rng([len(kind), len(sizes), 64])
            spread = float(_pair(*clustered(rng, kind, 50_000, sizes)).flipped.statistics["deviation"][0])
            needed = queries_for(0.4, 0.8, ALPHA)
            held = 0
            for _ in range(trials):
                scores, clusters = _scores(*clustered(rng, kind, 20, sizes))
                found = rd.plan(scores, "0", "1", "m", difference=0.4 * spread, clusters=clusters)
                held += found.low <= needed <= found.high
            yield _finding("`plan`, interval", f"{kind}, pilot of 20 clusters of {sizes}", held, trials, 0.9)


def _powers(trials: int) -> Iterator[Finding]:
    for kind in ("normal", "discrete"):
        rng = np.random.default_rng([len(kind), 65])
        spread = _pair(*clustered(rng, kind, 20_000, "5")).flipped.statistics["deviation"][0]
        shift = 0.45 * float(spread)
        truth = 0
        for seed in range(2 * trials):
            values, members = clustered(rng, kind, 20, "5")
            scores, clusters = _scores(values[:, :2] + [shift, 0], members)
            truth += rd.significance(scores, clusters=clusters, permutations=499, seed=seed).columns["p"][0] <= ALPHA
        held, many = 0, -(-trials // 4)
        for seed in range(many):
            values, members = clustered(rng, kind, 40, "5")
            scores, clusters = _scores(values[:, :2] + [shift, 0], members)
            options = {"subsamples": 50, "permutations": 199, "resamples": 100, "seed": seed}
            low, high = rd.power(scores, sizes=[20], clusters=clusters, **options).intervals.power[:, 0, 0, 0]
            held += low <= truth / (2 * trials) <= high
        yield _finding("`power`, interval at 20 clusters", f"{kind}, 40 clusters of 5", held, many, 0.9)


def _agreements(trials: int) -> Iterator[Finding]:
    trials //= 2
    for count, sizes in ((15, "1–20"), (40, "5")):
        rng = np.random.default_rng([count, 66])
        held = 0
        for seed in range(trials):
            members = clustered(rng, "normal", count, sizes)[1]
            true = rng.normal(0, 0.4, (2, 10)) + rng.normal(0, 0.4, 10)
            values = (
                true.T[None] + rng.normal(0, 0.55, (count, 10, 2))[members] + rng.normal(0, 0.84, (len(members), 10, 2))
            )
            scores, clusters = _scores(values, members, ("x", "y"))
            found = rd.agreement(scores, resamples=400, clusters=clusters, seed=seed).summary().row(0, named=True)
            held += found["low"] <= tau_b(true[0], true[1]) <= found["high"]
        yield _finding("`agreement`, interval of τ", f"10 systems, {count} clusters of {sizes}", held, trials, 0.9)


def _people(trials: int) -> Iterator[Finding]:
    trials //= 2
    for count, sizes in ((15, "1–20"), (40, "5")):
        rng = np.random.default_rng([count, 67])
        held = equal = 0
        for seed in range(trials):
            members = clustered(rng, "normal", count, sizes)[1]
            # each cluster's people agree with a measure in its own share of preferences, .7 on average
            share = rng.beta(3.5, 1.5, (count, 4))[members]
            agrees = rng.random(share.shape) < share
            scores, clusters = _scores(
                np.stack([np.where(agrees, 1.0, 0.0), np.where(agrees, 0.0, 1.0)], axis=1), members, tuple("abcd")
            )
            said = [{"query": query, "a": "0", "b": "1", "winner": "0"} for query in scores.queries]
            found = rd.agreement_with_people(scores, said, clusters=clusters, seed=seed)
            row = found.to_polars().row(0, named=True)
            held += row["low"] <= 0.7 <= row["high"]
            equal += any(found.significant)
        setting = f"four measures, {count} clusters of {sizes}"
        yield _finding("`agreement_with_people`, interval", setting, held, trials, 0.9)
        yield _finding("`agreement_with_people`, any false difference", setting, equal, trials, 0.07, at_most=True)


CLAIMS = {"clusters elsewhere": (elsewhere, 300, 8)}
