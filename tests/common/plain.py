"""Every measure once more, for one query, in loops over lists: slow, plain, written from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

VERTICAL = [1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2]
STEPPED = [1, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
PRESETS = {"vertical": (VERTICAL, 0.1), "stepped": (STEPPED, 0.1), "carousel": ([1, 1, 1], 0.1), "uniform": ([1], 1)}


@dataclass
class Query:
    """Ranks of the reference items, their grades where they have any, and what a system returned."""

    ranks: dict[str, int]
    run: list[str]
    grades: dict[str, float] | None = None


def score(measure: Any, query: Query) -> float:
    if not query.ranks:  # nothing that was judged is any good
        return math.nan if measure.name in ("Tau", "Rho") else 0.0
    return TWINS[measure.name](measure, query)


def returned(query: Query, cutoff: int | None) -> list[str | None]:
    """Give the items down to the cutoff; None where an item stood above already."""
    run = query.run[:cutoff]
    return [None if item in run[:i] else item for i, item in enumerate(run)]


def relevant(query: Query, rel: float | None) -> set[str]:
    return {item for item in query.ranks if rel is None or query.grades[item] >= rel}


def rdq(measure: Any, query: Query) -> float:
    ranks = query.ranks
    m, tiers = len(ranks), max(ranks.values())
    in_order = sorted(ranks.values())
    head, tail = PRESETS[measure.weights] if isinstance(measure.weights, str) else (measure.weights, measure.tail)

    def weight(i: int) -> float:
        return head[i - 1] if i <= len(head) else tail

    def credit(i: int, item: str) -> float:
        ideal = in_order[i - 1] if i <= m else tiers + (i - m)
        if measure.penalty == "m1":
            return min(1, ideal / ranks[item])
        tolerance = math.sqrt(m) * measure.alpha * (1 + measure.lam * (ranks[item] - 1))
        return math.exp(-abs(ideal - ranks[item]) / tolerance)

    earned = sum(
        weight(i) * credit(i, item) for i, item in enumerate(returned(query, measure.cutoff), 1) if item in ranks
    )
    filled = m if measure.cutoff is None else min(measure.cutoff, m)
    return earned / sum(weight(i) for i in range(1, filled + 1))


def ndcg(measure: Any, query: Query) -> float:
    tiers = max(query.ranks.values())
    grade = {
        "native": lambda item: query.grades[item],
        "binary": lambda item: 1,
        "inverse": lambda item: 1 / query.ranks[item],
        "linear": lambda item: tiers - query.ranks[item] + 1,
    }[measure.gains]

    def gain(item: str | None) -> float:
        if item not in query.ranks:
            return 0
        return 2 ** grade(item) - 1 if measure.dcg == "exp-log2" else grade(item)

    def dcg(gains: list[float]) -> float:
        return sum(value / math.log2(i + 1) for i, value in enumerate(gains, 1))

    best = sorted((gain(item) for item in query.ranks), reverse=True)[: measure.cutoff]
    return dcg([gain(item) for item in returned(query, measure.cutoff)]) / dcg(best)


def hits(measure: Any, query: Query) -> list[int]:
    """Positions, from 1, at which a relevant item stands."""
    good = relevant(query, measure.rel)
    return [i for i, item in enumerate(returned(query, measure.cutoff), 1) if item in good]


def precision(measure: Any, query: Query) -> float:
    return len(hits(measure, query)) / measure.cutoff


def recall(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return len(hits(measure, query)) / len(good) if good else 0.0


def reciprocal_rank(measure: Any, query: Query) -> float:
    found = hits(measure, query)
    return 1 / found[0] if found else 0.0


def average_precision(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return sum(n / i for n, i in enumerate(hits(measure, query), 1)) / len(good) if good else 0.0


def rank_biased_precision(measure: Any, query: Query) -> float:
    return (1 - measure.p) * sum(measure.p ** (i - 1) for i in hits(measure, query))


def expected_reciprocal_rank(measure: Any, query: Query) -> float:
    result, still_looking = 0.0, 1.0
    for i, item in enumerate(returned(query, measure.cutoff), 1):
        satisfied = (2 ** query.grades[item] - 1) / 2**measure.max_grade if item in query.ranks else 0
        result += still_looking * satisfied / i
        still_looking *= 1 - satisfied
    return result


def compatibility(measure: Any, query: Query) -> float:
    run = query.run[: measure.cutoff]
    ideal = sorted(query.ranks, key=lambda item: (query.ranks[item], run.index(item) if item in run else len(run)))
    depth = measure.depth or measure.cutoff

    def rbo(a: list[str], b: list[str]) -> float:
        return sum(measure.p ** (d - 1) * len(set(a[:d]) & set(b[:d])) / d for d in range(1, depth + 1))

    return rbo(run, ideal) / rbo(ideal, ideal)


def correlated(measure: Any, query: Query) -> list[int] | None:
    """Ranks in the order of the run; None where it does not hold just the reference items, or they are all tied."""
    run = query.run[: measure.cutoff]
    if sorted(run) != sorted(query.ranks) or len(set(query.ranks.values())) == 1:
        return None
    return [query.ranks[item] for item in run]


def kendall(measure: Any, query: Query) -> float:
    ranks = correlated(measure, query)
    if ranks is None:
        return math.nan
    pairs = [(ranks[i], ranks[j]) for i in range(len(ranks)) for j in range(i + 1, len(ranks))]
    agree, disagree = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    return (agree - disagree) / math.sqrt(len(pairs) * (agree + disagree))


def spearman(measure: Any, query: Query) -> float:
    ranks = correlated(measure, query)
    if ranks is None:
        return math.nan
    shared = [sum(other < rank for other in ranks) + (ranks.count(rank) + 1) / 2 for rank in ranks]
    middle = (len(ranks) + 1) / 2
    x = [i - middle for i in range(1, len(ranks) + 1)]
    y = [rank - middle for rank in shared]
    together = sum(a * b for a, b in zip(x, y, strict=True))
    return together / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))


TWINS = {
    "RDQ": rdq,
    "nDCG": ndcg,
    "P": precision,
    "R": recall,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "RBP": rank_biased_precision,
    "ERR": expected_reciprocal_rank,
    "Compat": compatibility,
    "Tau": kendall,
    "Rho": spearman,
}
