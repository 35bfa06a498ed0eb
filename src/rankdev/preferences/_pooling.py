"""Probabilities of the hypotheses about each query's strengths, learnt from all queries of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences._shapes import KINDS, SPREADS, Observations, hypotheses, normal_posteriors, possible
from rankdev.preferences.expectation_propagation import Answers, estimated_tie_rate, tie_divisor

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths

LARGEST = 300  # items of one query; for longer lists expectation propagation takes too long
CELLS = 400_000  # items² × queries that are worked on at a time

ALIKE = 0.8  # a priori: all queries are of one kind and of one spread
BANDS = np.geomspace(0.25, 4.0, 7)  # spreads of a collection …
REACH = 1.75  # … within this factor


class Relations(NamedTuple):
    """Probabilities, for items i and j of a query, that they are equal and that i is better."""

    equal: Floats
    better: Floats


def learn_relations(fit: Strengths) -> dict[int, Relations]:
    """Learn from all queries how strengths are distributed, and what follows for the items of each query.

    Queries of one item, and of more than ``LARGEST``, are left out.
    """
    batches = list(_batches(fit))
    if not batches:
        return {}
    tie_rate = _tie_rate(fit, batches)
    seen = [Observations.of(batch.wins, tie_rate) for batch in batches]
    found = probabilities(
        np.concatenate([part.evidence() for part in seen]),
        np.concatenate([np.full(len(batch.queries), batch.wins.shape[1]) for batch in batches]),
        np.concatenate([part.reliability for part in seen]),
    )
    result: dict[int, Relations] = {}
    for batch, part in zip(batches, seen, strict=True):
        equal, better = part.relations(found[: len(batch.queries)])
        found = found[len(batch.queries) :]
        result.update(zip(batch.queries.tolist(), map(Relations, equal, better), strict=True))
    return result


@dataclass(frozen=True, eq=False)
class _Batch:
    """Queries of one size, and how often each item won against each other, a tie half a win."""

    queries: Ints
    wins: Floats


def _batches(fit: Strengths) -> Iterator[_Batch]:
    """Count independent judgments: fewer than there are where those of a worker are correlated."""
    pairs, sizes = fit.inference_fit.pairs, np.diff(fit.pairs.starts)
    query = np.searchsorted(pairs.starts, pairs.first, side="right") - 1
    i, j = pairs.first - pairs.starts[query], pairs.second - pairs.starts[query]
    weight = 1 / fit.inflation[query]
    for size in np.unique(sizes[(sizes > 1) & (sizes <= LARGEST)]).tolist():
        mine, most = np.flatnonzero(sizes == size), max(1, CELLS // size**2)
        for chosen in np.array_split(mine, -(-len(mine) // most)):
            row = np.full(len(sizes), -1)
            row[chosen] = np.arange(len(chosen))
            k = np.flatnonzero(row[query] >= 0)
            at, turned = (row[query[k]], i[k], j[k]), (row[query[k]], j[k], i[k])
            wins = np.zeros((len(chosen), size, size))
            wins[at], wins[turned] = weight[k] * pairs.score[k], weight[k] * (pairs.count[k] - pairs.score[k])
            yield _Batch(chosen, wins)


def _tie_rate(fit: Strengths, batches: list[_Batch]) -> float:
    """Estimate Davidson's ν given what is not known of the strengths: at their maximum it is too large.

    The expected number of ties is the observed one, under the posterior with the spread that is the most probable for
    all queries.
    """
    pairs = fit.inference_fit.pairs
    query = np.searchsorted(pairs.starts, pairs.first, side="right") - 1
    kept = np.isin(query, np.concatenate([batch.queries for batch in batches]))
    weight = kept / fit.inflation[query]
    ties, judgments = float(weight @ pairs.ties), float(weight @ pairs.count)
    if not ties:
        return 0.0
    share = min(ties / judgments, 0.999)
    rate, answers = 2 * share / (1 - share), [Answers.of_wins(batch.wins) for batch in batches]
    spreads = SPREADS[1::2]
    for _ in range(2):
        each = [
            normal_posteriors(given, batch.wins.shape[1], rate, spreads)
            for given, batch in zip(answers, batches, strict=True)
        ]
        totals = [(sum(float(part.evidence.sum()) for part in found), found) for found in zip(*each, strict=True)]
        best = int(np.argmax([total for total, _ in totals]))
        chosen, spreads = totals[best][1], spreads[[best]]
        for _ in range(50):
            divisor = sum(float(tie_divisor(*both, rate).sum()) for both in zip(answers, chosen, strict=True))
            before, rate = rate, estimated_tie_rate(ties, divisor)
            if abs(rate - before) < 1e-3 * rate:
                break
    return rate


def probabilities(evidence: Floats, sizes: Ints, reliability: Floats) -> Floats:
    """Compute the posterior probability of every hypothesis for every query.

    One query: by the prior. Several: queries are alike, of one kind and spread, which the collection shows; or of
    several kinds, and the collection shows how frequent each is. What is learnt from a query is not used for itself.
    """
    kind = np.array([KINDS.index(hypothesis.kind) for hypothesis in hypotheses()])
    of_kind = _prior_of_kinds(float(reliability.mean()), len(evidence))
    within = _prior_within_kinds(sizes, kind)
    if len(evidence) == 1:
        return _normalised(evidence + np.log(within * of_kind[kind] + 1e-300))
    spread = np.array([hypothesis.spread for hypothesis in hypotheses()])
    worlds, logs = [], []
    one, nothing = np.zeros_like(evidence), np.zeros(len(evidence))
    one[:, 0] = 1.0
    worlds.append(one)
    logs.append(np.log(ALIKE * of_kind[0]))
    for band in BANDS:
        near = (spread > band / REACH) & (spread < band * REACH)
        found = {0: (one, nothing)}
        for k in range(1, len(KINDS)):
            found[k] = _learnt(evidence, within, near & (kind == k), 2.0)
            worlds.append(found[k][0])
            logs.append(np.log(ALIKE * of_kind[k] / len(BANDS)) + found[k][1].sum())
        kinds = np.stack([each for _, each in found.values()], axis=1)
        shares, each = _learnt(kinds, np.broadcast_to(of_kind, kinds.shape), np.ones(len(KINDS), bool), 1.0)
        worlds.append(np.sum([shares[:, [k]] * found[k][0] for k in found], axis=0))
        logs.append(np.log((1 - ALIKE) / len(BANDS)) + each.sum())
    weight = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    return np.asarray(sum(w * world for w, world in zip(weight, worlds, strict=True) if w > 1e-6))


def _prior_of_kinds(reliability: float, queries: int) -> Floats:
    """Prior of each kind; all numbers were set by simulation.

    Nothing but equal items is less probable in a large collection, whose evidence shows it anyway: a prior that one
    query needs, so that equal items are one tier nine times in ten, would make one tier of weak orders there. Tiers are
    favoured where strengths are known well. Over several queries they show as tiers, but a mixture of tiers that is
    learnt from strict orders explains these nearly as well as a strict order does: there, tiers must show.
    """
    one = np.clip(1.1 / np.sqrt(queries), 0.2, 0.4)
    leaning = np.log(7 / 3) * np.clip((reliability - 0.7) / 0.2, 0.0, 1.0) - np.log(4) * (queries > 1)
    tiers = (0.9 - one) / (1 + np.exp(-leaning))
    return np.array([one, 0.9 - one - tiers, 0.1, tiers])


def _prior_within_kinds(sizes: Ints, kind: Ints) -> Floats:
    """Prior of each hypothesis among those of its kind, for every query: numbers of tiers K have 1/K."""
    tiers = np.array([hypothesis.tiers for hypothesis in hypotheses()])
    own = np.array([hypothesis.prior for hypothesis in hypotheses()])
    for k in set(zip(kind.tolist(), tiers.tolist(), strict=True)):
        mine = (kind == k[0]) & (tiers == k[1])
        own[mine] /= own[mine].sum() * max(k[1], 1)
    rows = {}
    for size in np.unique(sizes).tolist():
        row = np.where(possible(size), own, 0.0)
        rows[size] = row / np.maximum(np.bincount(kind, row), 1e-300)[kind]
    return np.stack([rows[size] for size in sizes.tolist()])


def _learnt(evidence: Floats, prior: Floats, chosen: Bools, pseudo: float) -> tuple[Floats, Floats]:
    """Learn how frequent the chosen hypotheses are; return probabilities, and the log evidence of each query.

    Expectation and maximisation, a query's own probabilities left out of the frequencies it is judged by; the prior
    counts as ``pseudo`` queries.
    """
    result = np.zeros_like(evidence)
    top = evidence[:, chosen].max(axis=1, initial=-1e9)[:, None]
    likelihood = np.exp(np.maximum(evidence[:, chosen] - top, -700.0))
    base = prior[:, chosen] / np.maximum(prior[:, chosen].sum(axis=1, keepdims=True), 1e-300)
    found = likelihood * base
    total = found.sum(axis=1, keepdims=True)
    found /= np.maximum(total, 1e-300)
    for _ in range(100):
        share = pseudo * base + found.sum(axis=0) - found
        new = likelihood * share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        total = new.sum(axis=1, keepdims=True)
        new /= np.maximum(total, 1e-300)
        change = np.abs(new - found).max(initial=0.0)
        found = 0.3 * found + 0.7 * new
        if change < 5e-3:
            break
    result[:, chosen] = found
    able = (base > 0).any(axis=1)
    return result, np.where(able, np.log(np.maximum(total, 1e-300))[:, 0] + top[:, 0], -np.inf)


def _normalised(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))
