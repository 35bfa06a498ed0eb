"""Claims about sparse differences, skew and single queries that dominate; away from the null, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from rankdev.statistics.equivalence import interval

import rankdev as rd
from rankdev.statistics._effect_sizes import effect_limits
from rankdev.statistics._pilot import bounded_effect
from rankdev.statistics.bounded_values import fraction_limits, widened
from rankdev.statistics.contrasts import Family
from rankdev.statistics.corrections import holm
from rankdev.statistics.paired import TESTS, Drawing
from rankdev.statistics.prediction_powered import estimate
from tests.calibration.simulations import ALPHA, KINDS, Finding, family

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def losing(often: float, size: Draw) -> Draw:
    """Draw differences most of which are 0; so often one loses."""
    return lambda rng, shape: -np.where(rng.random(shape) < often, size(rng, shape), 0.0)


def everything(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


def something(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.random(shape)


def either(often: float) -> Draw:
    """Three wins of 1 to each loss."""
    return lambda rng, shape: np.where(rng.random(shape) < often, rng.choice([1.0, 1, 1, -1], shape), 0.0)


def dense(ties: float) -> Draw:
    return lambda rng, shape: np.where(rng.random(shape) < ties, 0.0, np.clip(rng.normal(0.1, 0.2, shape), -1, 1))


SPARSE: dict[str, tuple[Draw, float]] = {
    **{f"{often:.0%} lose 1": (losing(often, everything), -often) for often in (0.02, 0.05, 0.1, 0.2)},
    **{f"{often:.0%} lose up to 1": (losing(often, something), -often / 2) for often in (0.02, 0.05, 0.1, 0.2)},
    **{f"{often:.0%} win 3 : 1": (either(often), often / 2) for often in (0.02, 0.05, 0.1, 0.2)},
}
DENSE: dict[str, tuple[Draw, float]] = {
    "no ties": (dense(0), 0.1),
    "30% ties": (dense(0.3), 0.07),
    "50% ties": (dense(0.5), 0.05),
}
SIZES = (10, 25, 50, 100, 200)


def against_nothing(values: np.ndarray) -> Family:
    """Samples of differences, ``values[trial, query]``, each less a column of zeros; the measure's range is 1 wide."""
    trials, queries = values.shape
    columns = np.concatenate([np.zeros((queries, 1)), values.T], axis=1)
    return Family(columns, np.arange(queries), np.arange(1, trials + 1), np.zeros(trials, np.int64), 1.0)


def inside(limits: tuple[np.ndarray, np.ndarray], truth: float | np.ndarray) -> np.ndarray:
    return (limits[0] <= truth + 1e-9) & (limits[1] >= truth - 1e-9)


def sparse_intervals(trials: int) -> Iterator[Finding]:
    """The interval of one pair whose scores are equal on most queries, and its width as a multiple of Student's.

    The measure's range is 0 to 1; "lose up to 1" is uniform. Nothing is claimed for the last setting, because a rare
    loss that small noise hides cannot be detected.
    """
    drawing = Drawing(None, ALPHA, 0)
    for kind, (draw, truth) in {**SPARSE, **DENSE}.items():
        for n in SIZES:
            one = against_nothing(draw(np.random.default_rng([n, 30, len(kind)]), (trials, n)))
            low, high = TESTS["t"](one, drawing).interval(ALPHA)
            wider = widened(one, ALPHA, low, high)
            width = (wider[1] - wider[0]).mean() / (high - low).mean()
            held = float(inside(wider, truth).mean())
            setting = (
                f"{kind}, n = {n}; {width:.2f} × Student's width, which held {inside((low, high), truth).mean():.2f}"
            )
            yield Finding("interval of sparse differences", setting, held, trials, 0.92 if kind in SPARSE else 0.9)
    for n in SIZES:
        rng = np.random.default_rng([n, 31])
        hidden = rng.normal(0.02, 0.02, (trials, n)) - (rng.random((trials, n)) < 0.02)
        one = against_nothing(hidden)
        held = float(inside(widened(one, ALPHA, *TESTS["t"](one, drawing).interval(ALPHA)), 0.0).mean())
        yield Finding("interval of differences that hide a rare loss", f"2% lose 1, n = {n}", held, trials, 0.0)


def sparse_margins(trials: int) -> Iterator[Finding]:
    """How often two systems that differ by exactly the margin, on few queries, are called the same."""
    for kind, (draw, truth) in SPARSE.items():
        for n in SIZES:
            one = against_nothing(draw(np.random.default_rng([n, 33, len(kind)]), (trials, n)))
            low, high = interval(one, 2 * ALPHA)
            same = float(((low > -abs(truth)) & (high < abs(truth))).mean())
            yield Finding("false `same` at the margin, sparse", f"{kind}, n = {n}", same, trials, 0.05, True)


def sparse_plans(trials: int) -> Iterator[Finding]:
    """The queries needed for a stated difference of .05, from pilots whose systems differ on few queries."""
    kinds = {kind: SPARSE[kind][0] for kind in ("5% lose 1", "10% lose up to 1", "10% win 3 : 1", "20% win 3 : 1")}
    for kind, draw in {**kinds, "no ties": DENSE["no ties"][0]}.items():
        effect = 0.05 / float(draw(np.random.default_rng(0), (10**6,)).std())
        for n in (10, 25, 50, 100):
            rng = np.random.default_rng([n, 34, len(kind)])
            limits = np.array([bounded_effect(draw(rng, (n,)), 0.05, reach=1.0) for _ in range(trials)])
            held = float(((limits[:, 0] <= effect * 1.0001) & (limits[:, 1] >= effect * 0.9999)).mean())
            setting = f"{kind}, pilot of {n}; no upper limit in {(limits[:, 0] == 0).mean():.2f}"
            yield Finding("`plan`, sparse pilots", setting, held, trials, 0.92)


def few_judgments(trials: int) -> Iterator[Finding]:
    """P@1 from 10 to 60 queries judged by humans and 300 by a model; and how often measures predict preferences."""
    for often in (0.05, 0.15, 0.5, 0.9):
        for n in (10, 20, 60):
            for model in ("good", "uninformative"):
                rng = np.random.default_rng([n, 35, int(100 * often), len(model)])
                held = np.zeros(2)
                for _ in range(trials):
                    truth = (rng.random(n + 300) < often).astype(float)
                    noise = rng.random(truth.shape)
                    said = np.where(noise < 0.05, 1 - truth, truth) if model == "good" else noise
                    found = estimate(truth[:n], said[:n], said[n:], ALPHA, (0.0, 1.0))
                    held += [found[f"{who}low"] <= often <= found[f"{who}high"] for who in ("", "human_")]
                setting = f"mean {often:g}, {n} + 300 queries, {model} model"
                yield Finding("`prediction_powered`, P@1", setting, held[0] / trials, trials, 0.92)
                yield Finding("`prediction_powered`, P@1, humans alone", setting, held[1] / trials, trials, 0.92)
    for n in (5, 8, 10, 20, 56):
        for often in (0.6, 0.8, 0.95):
            for most in (1, 6):
                rng = np.random.default_rng([n, 36, int(100 * often), most])
                counts = rng.integers(1, most + 1, n)
                taste = rng.beta(5 * often, 5 * (1 - often), (n, trials)) if most > 1 else often
                hits = rng.binomial(np.broadcast_to(counts[:, None], (n, trials)), taste)
                low, high = fraction_limits(hits.astype(float), counts.astype(float), ALPHA)
                each = "one preference" if most == 1 else "1 to 6 preferences"
                yield Finding(
                    "`agreement_with_people`",
                    f"true agreement {often:g}, {n} queries, {each} of each",
                    float(inside((low, high), often).mean()),
                    trials,
                    0.92,
                )


def many_comparisons(trials: int) -> Iterator[Finding]:
    """Any false difference: 13 equally good measures against people, and the pairs of eight equal systems by PPI."""
    for n, often, shared in ((20, 0.6, 0.0), (56, 0.6, 0.0), (56, 0.6, 0.8), (56, 0.9, 0.8), (200, 0.6, 0.5)):
        rng = np.random.default_rng([n, 37, int(10 * shared), int(10 * often)])
        false = 0
        for seed in range(trials):
            right = np.where(rng.random((n, 13)) < shared, rng.random((n, 1)) < often, rng.random((n, 13)) < often)
            values = np.stack([np.where(right, 0.6, 0.4), np.full(right.shape, 0.5)])
            scores = rd.Scores(("x", "y"), tuple(map(str, range(n))), tuple(f"m{i}" for i in range(13)), values)
            people = [{"query": str(q), "a": "x", "b": "y", "winner": "x"} for q in range(n)]
            false += any(rd.agreement_with_people(scores, people, resamples=499, seed=seed).significant)
        setting = f"13 measures, agreement {often:g}, {n} queries, {shared:g} shared"
        yield Finding("any false difference in agreement with people", setting, false / trials, trials, 0.06, True)
    for n in (20, 60):
        rng, false = np.random.default_rng([n, 38]), 0
        for _ in range(trials):
            values = rng.random((8, n + 200, 1))
            queries = tuple(map(str, range(n + 200)))
            human = rd.Scores(tuple("abcdefgh"), queries[:n], ("P@5",), values[:, :n])
            model = rd.Scores(tuple("abcdefgh"), queries, ("P@5",), values + rng.normal(0, 0.3, values.shape))
            table = rd.prediction_powered(human, model).to_polars().drop_nulls("b")
            false += bool(((table["low"] > 0) | (table["high"] < 0)).any())
        yield Finding(
            "any false difference by `prediction_powered`",
            f"8 systems, {n} queries",
            false / trials,
            trials,
            0.07,
            True,
        )


def shapes(trials: int) -> Iterator[Finding]:
    """Tests of a true mean of 0 where differences are skewed or one query in fifty dominates, and the note about it.

    "2% lose .9": all others win a little. No test of the mean keeps its level there; the claim is that a significant
    result comes with a note (a remark).
    """
    kinds: dict[str, Draw] = {
        "2% lose .9": lambda rng, shape: rng.normal(0.018, 0.02, shape) - 0.9 * (rng.random(shape) < 0.02),
        "exponential": lambda rng, shape: 0.1 * (rng.exponential(1, shape) - 1),
        "one of fifty dominates": lambda rng, shape: (
            rng.normal(0, 0.02, shape) * np.where(rng.random(shape) < 0.02, 30, 1)
        ),
        "normal": lambda rng, shape: rng.normal(0, 0.1, shape),
    }
    for kind, draw in kinds.items():
        for n in (25, 50, 100):
            rng = np.random.default_rng([n, 39, len(kind)])
            wrong = silent = remarked = 0
            for seed in range(trials):
                values = np.stack([0.5 + draw(rng, (n,)), np.full(n, 0.5)])[:, :, None]
                scores = rd.Scores(("a", "b"), tuple(map(str, range(n))), ("P@5",), values)
                found = rd.significance(scores, permutations=999, seed=seed)
                wrong += found.significant[0]
                silent += found.significant[0] and not found.remarks
                remarked += bool(found.remarks)
            setting = f"{kind}, n = {n}"
            yield Finding("false rejection", setting, wrong / trials, trials, 1.0, True)
            yield Finding(
                "false rejection without a remark",
                f"{setting}; remarks in {remarked / trials:.2f}",
                silent / trials,
                trials,
                0.06,
                True,
            )


def _tied(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(rng.random(shape) < 0.7, 0.0, rng.normal(0, 1, shape))


def effects(trials: int) -> Iterator[Finding]:
    """The corrected effect size d_z, for true effects of 0, .2, .5 and 1."""
    for kind, draw in {**KINDS, "70% ties": _tied}.items():
        spread = float(draw(np.random.default_rng(0), (10**6,)).std())
        for effect in (0.0, 0.2, 0.5, 1.0):
            for n in (10, 25, 50):
                rng = np.random.default_rng([n, 40, len(kind), int(10 * effect)])
                one = against_nothing(draw(rng, (trials, n)) / spread + effect)
                low, high = effect_limits(one, ALPHA)
                held = float(inside((low, high), effect)[~np.isnan(low)].mean())
                yield Finding("`effect_sizes`, d_z", f"{kind}, effect {effect:g}, n = {n}", held, trials, 0.9)


def corrections(trials: int) -> Iterator[Finding]:
    """Any false rejection among six systems, by Holm: all equal, or one better than five equal ones.

    *power* is the fraction of the better system's five comparisons that are rejected.
    """
    kinds = {**KINDS, "90% ties": lambda rng, shape: np.where(rng.random(shape) < 0.9, 0.0, rng.normal(0, 1, shape))}
    for kind, draw in kinds.items():
        spread = float(draw(np.random.default_rng(0), (10**6,)).std())
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 41, len(kind)])
            false = better = power = 0.0
            for seed in range(trials):
                values = draw(rng, (n, 6)) / spread
                drawing = Drawing(1999, ALPHA, seed, 15)
                equal, one = (family(values + shift * (np.arange(6) == 5)) for shift in (0.0, 3 / np.sqrt(n)))
                none, some = (holm(TESTS["randomization"](each, drawing).p) <= ALPHA for each in (equal, one))
                false += none[equal.second != 5].any()
                better += some[one.second != 5].any()
                power += some[one.second == 5].mean()
            claim, setting = "any false rejection by `holm`", f"{kind}, n = {n}"
            yield Finding(claim, f"equal, {setting}", false / trials, trials, 0.06, True)
            setting = f"one better, {setting}; power {power / trials:.2f}"
            yield Finding(claim, setting, better / trials, trials, 0.06, True)


CLAIMS = {
    "holm": (corrections, 300, 4),
    "effect sizes": (effects, 2000, 200),
    "sparse differences": (sparse_intervals, 1000, 100),
    "sparse equivalence": (sparse_margins, 1000, 100),
    "sparse plans": (sparse_plans, 300, 15),
    "few judgments": (few_judgments, 300, 8),
    "many comparisons with people": (many_comparisons, 200, 5),
    "skew and single queries": (shapes, 300, 8),
}
