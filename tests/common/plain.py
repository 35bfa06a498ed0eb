"""Every measure once more, for one query, in loops over lists: slow, plain, written from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from rankdev.measures.precision import IPrec

VERTICAL = [1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2]
STEPPED = [1, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
PRESETS = {"vertical": (VERTICAL, 0.1), "stepped": (STEPPED, 0.1), "carousel": ([1, 1, 1], 0.1), "uniform": ([1], 1)}


@dataclass
class Query:
    """Ranks of the reference items, their grades where they have any, what was returned, and what is nonrelevant."""

    ranks: dict[str, int]
    run: list[str]
    grades: dict[str, float] | None = None
    nonrelevant: dict[str, float] = field(default_factory=dict)


def score(measure: Any, query: Query) -> float:
    if getattr(measure, "judged_only", False):
        judged = {*query.ranks, *(item for item, grade in query.nonrelevant.items() if grade >= 0)}
        query = replace(query, run=[item for item in dict.fromkeys(query.run) if item in judged])
    return TWINS[measure.name](measure, query)


def over(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def returned(query: Query, cutoff: int | None) -> list[str | None]:
    """Give the items down to the cutoff; None where an item stood above already."""
    run = query.run[:cutoff]
    return [None if item in run[:i] else item for i, item in enumerate(run)]


def relevant(query: Query, rel: float | None) -> set[str]:
    return {item for item in query.ranks if rel is None or query.grades[item] >= rel}


def rdq(measure: Any, query: Query) -> float:
    ranks = query.ranks
    m, tiers = len(ranks), max(ranks.values(), default=0)
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
    return over(earned, sum(weight(i) for i in range(1, filled + 1)))


def dcg(measure: Any, query: Query) -> float:
    return ndcg(measure, query, normalised=False)


def ndcg(measure: Any, query: Query, *, normalised: bool = True) -> float:
    tiers = max(query.ranks.values(), default=0)
    grade = {
        "native": lambda item: query.grades[item],
        "binary": lambda item: 1,
        "inverse": lambda item: 1 / query.ranks[item],
        "linear": lambda item: tiers - query.ranks[item] + 1,
    }.get(measure.gains, lambda item: dict(measure.gains).get(query.grades[item], query.grades[item]))

    def gain(item: str | None) -> float:
        if item not in query.ranks:
            return 0
        return 2 ** grade(item) - 1 if measure.dcg == "exp-log2" else grade(item)

    def discounted(gains: list[float]) -> float:
        return sum(value / math.log2(i + 1) for i, value in enumerate(gains, 1))

    best = sorted((gain(item) for item in query.ranks), reverse=True)[: measure.cutoff]
    found = discounted([gain(item) for item in returned(query, measure.cutoff)])
    return over(found, discounted(best)) if normalised else found


def hits(measure: Any, query: Query) -> list[int]:
    """Positions, from 1, at which a relevant item stands."""
    good = relevant(query, measure.rel)
    return [i for i, item in enumerate(returned(query, measure.cutoff), 1) if item in good]


def precision(measure: Any, query: Query) -> float:
    return len(hits(measure, query)) / measure.cutoff


def recall(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return over(len(hits(measure, query)), len(good))


def capped_recall(measure: Any, query: Query) -> float:
    return over(len(hits(measure, query)), min(measure.cutoff, len(relevant(query, measure.rel))))


def f1(measure: Any, query: Query) -> float:
    p, r = precision(measure, query), recall(measure, query)
    return over(2 * p * r, p + r)


def wanted_gains(measure: Any, query: Query) -> list[float]:
    """A thousand gains from 0 to 1, none past the end of the list."""
    least, most = measure.min_rel, measure.max_rel
    grades = [query.grades.get(item, 0) for item in returned(query, None)][:1000]
    gains = [(min(max(grade, least), most) - least) / (most - least) for grade in grades]
    return gains + [0.0] * (1000 - len(gains))


def bejeweled(measure: Any, query: Query) -> float:
    found, gains = 0.0, wanted_gains(measure, query)
    for i in range(1, measure.cutoff + 1):
        found += gains[i - 1]
        if found >= measure.T:
            return found / i
    return found / measure.cutoff


def inst(measure: Any, query: Query) -> float:
    reached, examined, value, wanted = 1.0, 0.0, 0.0, 2 * measure.T
    for i, gain in enumerate(wanted_gains(measure, query), 1):
        examined, value, wanted = examined + reached, value + reached * gain, wanted - gain
        reached *= ((i + wanted - 1) / (i + wanted)) ** 2
    return value / examined


def reciprocal_rank(measure: Any, query: Query) -> float:
    found = hits(measure, query)
    return 1 / found[0] if found else 0.0


def average_precision(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return sum(n / i for n, i in enumerate(hits(measure, query), 1)) / len(good) if good else 0.0


def precision_at_relevant(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return over(sum(i <= len(good) for i in hits(measure, query)), len(good))


def interpolated_precision(measure: Any, query: Query) -> float:
    needed = measure.recall * len(relevant(query, measure.rel))
    needed = math.floor(needed + 0.9) if measure.rounding == "up" else int(Decimal(needed).to_integral(ROUND_HALF_UP))
    found = [sum(j <= i for j in hits(measure, query)) for i in range(1, len(query.run) + 1)]
    return max((n / i for i, n in enumerate(found, 1) if n >= needed), default=0.0)


def eleven_points(measure: Any, query: Query) -> float:
    points = [IPrec(rel=measure.rel, rounding=measure.rounding, recall=i / 10) for i in range(11)]
    return sum(interpolated_precision(point, query) for point in points) / 11


def unjudged_share(measure: Any, query: Query) -> float:
    judged = {*query.ranks, *(item for item, grade in query.nonrelevant.items() if grade >= 0)}
    return sum(item not in judged for item in returned(query, measure.cutoff)) / measure.cutoff


def success(measure: Any, query: Query) -> float:
    return float(bool(hits(measure, query)))


def set_precision(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    return over(len(hits(measure, query)), min(len(query.run), len(good)) if measure.relative else len(query.run))


def set_f(measure: Any, query: Query) -> float:
    p, r = over(len(hits(measure, query)), len(query.run)), recall(measure, query)
    return over((measure.beta + 1) * p * r, r + measure.beta * p)


def set_average_precision(measure: Any, query: Query) -> float:
    return over(len(hits(measure, query)), len(query.run)) * recall(measure, query)


def number_returned(measure: Any, query: Query) -> float:
    return len(query.run) if measure.rel is None else len(hits(measure, query))


def number_relevant(measure: Any, query: Query) -> float:
    return len(relevant(query, measure.rel))


def judged_share(measure: Any, query: Query) -> float:
    items = returned(query, measure.cutoff)
    return over(sum(item in query.ranks or item in query.nonrelevant for item in items), len(items))


def rejected(query: Query, rel: float | None) -> set[str]:
    """Items that were judged and are not relevant; a grade below 0 is no judgment."""
    below = {item for item in query.ranks if item not in relevant(query, rel)}
    return below | {item for item, grade in query.nonrelevant.items() if grade >= 0}


def binary_preference(measure: Any, query: Query) -> float:
    good, poor = relevant(query, measure.rel), rejected(query, measure.rel)
    result, above = 0.0, 0
    for item in returned(query, None):
        above += item in poor
        if item in good:
            result += 1 - (min(above, len(good)) / min(len(good), len(poor)) if above else 0)
    return over(result, len(good))


def inferred_average_precision(measure: Any, query: Query) -> float:
    good, poor = relevant(query, measure.rel), rejected(query, measure.rel)
    pool = {item for item, grade in query.nonrelevant.items() if grade < 0}
    result, above, tiny = 0.0, [], 1e-5
    for i, item in enumerate(returned(query, None), 1):
        if item in good:
            nice, nasty, unknown = (sum(other in kind for other in above) for kind in (good, poor, pool))
            pooled = nice + nasty + unknown
            share = (nice + tiny) / (nice + nasty + 2 * tiny)
            result += 1 if i == 1 else 1 / i + (i - 1) / i * (pooled / (i - 1)) * share
        above.append(item)
    return over(result, len(good))


def rank_biased_precision(measure: Any, query: Query) -> float:
    good = relevant(query, measure.rel)
    # without max_grade the highest grade of all references decides; tests that ask for that give it
    highest = max(query.grades.values(), default=1) if measure.gains == "relative" else measure.max_grade
    gain = {item: 1 if measure.gains == "binary" else query.grades[item] / highest for item in good}
    items = enumerate(returned(query, measure.cutoff))
    return (1 - measure.p) * sum(measure.p**i * gain[item] for i, item in items if item in good)


def expected_reciprocal_rank(measure: Any, query: Query) -> float:
    return stopping([query.grades.get(item, 0) for item in returned(query, measure.cutoff)], measure.max_grade)


def normalised_err(measure: Any, query: Query) -> float:
    best = sorted(query.grades.values(), reverse=True)[: measure.cutoff]
    return over(expected_reciprocal_rank(measure, query), stopping(best, measure.max_grade))


def stopping(grades: list[float], highest: float) -> float:
    result, still_looking = 0.0, 1.0
    for i, grade in enumerate(grades, 1):
        satisfied = (2 ** max(grade, 0) - 1) / 2**highest
        result += still_looking * satisfied / i
        still_looking *= 1 - satisfied
    return result


def places(query: Query, item: str) -> tuple[int, int]:
    """First and last position, from 1, that belong to the tier of a reference item."""
    better = sum(rank < query.ranks[item] for rank in query.ranks.values())
    return better + 1, better + list(query.ranks.values()).count(query.ranks[item])


def overlap(measure: Any, query: Query) -> float:
    """RBO by the contribution of each item to each list at each depth."""
    run = returned(query, measure.cutoff)
    if not run or not query.ranks:
        return 0.0

    def in_run(item: str, depth: int) -> float:
        return float(item in run[:depth])

    def in_reference(item: str, depth: int) -> float:
        if item not in query.ranks:
            return 0.0
        begin, end = places(query, item)
        if depth < begin:
            return 0.0
        return 1.0 if measure.ties == "w" else min(1.0, (depth - begin + 1) / (end - begin + 1))

    def norm(depth: int) -> float:
        parts = [in_reference(item, depth) for item in query.ranks] if depth <= len(query.ranks) else [1.0] * depth
        if measure.ties == "w":
            return (depth + sum(parts)) / 2
        return depth if measure.ties == "a" else math.sqrt(depth * sum(part**2 for part in parts))

    def common(depth: int) -> float:
        return sum(in_run(item, depth) * in_reference(item, depth) for item in query.ranks)

    shorter, longer = sorted((len(run), len(query.ranks)))
    seen = common(shorter) / norm(shorter)

    def agreement(depth: int) -> float:
        if depth <= shorter:
            return common(depth) / norm(depth)
        missing = [in_reference(item, depth) for item in query.ranks if item not in run]
        there = [part for part in missing if part] if depth <= len(query.ranks) else [1.0]
        return (common(depth) + (depth - shorter) * seen * sum(there) / len(there)) / norm(depth)

    p = measure.p
    head = (1 - p) * sum(p ** (depth - 1) * agreement(depth) for depth in range(1, longer + 1))
    return head + p**longer * (common(longer) + (longer - shorter) * seen) / longer


def alignment(measure: Any, query: Query) -> float:
    def weight(position: int) -> float:
        return (1 - measure.p) * measure.p ** (position - 1)

    result = 0.0
    for i, item in enumerate(returned(query, measure.cutoff), 1):
        if item in query.ranks:
            begin, end = places(query, item)
            shared = sum(weight(j) for j in range(begin, end + 1)) / (end - begin + 1)
            result += math.sqrt(weight(i) * shared)
    return result


def compatibility(measure: Any, query: Query) -> float:
    run = query.run[: measure.cutoff]
    ideal = sorted(query.ranks, key=lambda item: (query.ranks[item], run.index(item) if item in run else len(run)))
    depth = measure.depth or measure.cutoff

    def rbo(a: list[str], b: list[str]) -> float:
        return sum(measure.p ** (d - 1) * len(set(a[:d]) & set(b[:d])) / d for d in range(1, depth + 1))

    return over(rbo(run, ideal), rbo(ideal, ideal))


def correlated(measure: Any, query: Query) -> list[int] | None:
    """Ranks in the order of the run; None where it does not hold just the reference items, or they are all tied."""
    run = query.run[: measure.cutoff]
    if sorted(run) != sorted(query.ranks) or len(set(query.ranks.values())) < 2:
        return None
    return [query.ranks[item] for item in run]


def kendall(measure: Any, query: Query) -> float:
    ranks = correlated(measure, query)
    if ranks is None:
        return math.nan
    pairs = [(ranks[i], ranks[j]) for i in range(len(ranks)) for j in range(i + 1, len(ranks))]
    agree, disagree = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    return (agree - disagree) / math.sqrt(len(pairs) * (agree + disagree))


def ap_correlation(measure: Any, query: Query) -> float:
    ranks = correlated(measure, query)
    tied = len(set(query.ranks.values())) < len(query.ranks)
    if ranks is None or (tied and measure.ties == "none"):
        return math.nan

    def above(order: list[int], truth: list[int]) -> float:
        """Mean share, over the items not at the top of an order, of those above it that belong above it."""
        shares = []
        for mine, own in zip(order, truth, strict=True):
            higher = [other for place, other in zip(order, truth, strict=True) if place < mine]
            if higher:
                shares.append(sum(other < own for other in higher) / len(higher))
        return 2 * sum(shares) / len(shares) - 1

    positions = list(range(len(ranks)))
    by_run = above(positions, ranks)
    return by_run if measure.ties == "none" else (by_run + above(ranks, positions)) / 2


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
    "DCG": dcg,
    "BPM": bejeweled,
    "INST": inst,
    "R": recall,
    "R_cap": capped_recall,
    "F1": f1,
    "Rprec": precision_at_relevant,
    "IPrec": interpolated_precision,
    "IPrec11": eleven_points,
    "Success": success,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "GMAP": average_precision,
    "SetP": set_precision,
    "SetR": recall,
    "SetF": set_f,
    "SetAP": set_average_precision,
    "NumRet": number_returned,
    "NumRel": number_relevant,
    "NumQ": lambda measure, query: 1.0,
    "Judged": judged_share,
    "Unjudged": unjudged_share,
    "Bpref": binary_preference,
    "infAP": inferred_average_precision,
    "RBP": rank_biased_precision,
    "ERR": expected_reciprocal_rank,
    "nERR": normalised_err,
    "RBO": overlap,
    "RBA": alignment,
    "Compat": compatibility,
    "Tau": kendall,
    "TauAP": ap_correlation,
    "Rho": spearman,
}
