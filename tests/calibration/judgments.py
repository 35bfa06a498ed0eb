"""Claims about judgments: coin flips are one tier, more judgments never join tiers, borders are as sure as stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import numpy as np
import polars as pl

from rankdev.preferences import Preferences, position_bias, strengths, tiers, tiers_from_preferences
from tests.calibration.simulations import Finding


def _judged(outcomes: list[tuple[str, str, str, str, str]], workers: bool) -> Preferences:
    table = pl.DataFrame(outcomes, schema=["query", "a", "b", "winner", "worker"], orient="row")
    return Preferences.from_table(table if workers else table.drop("worker"), values="position")


def _pairs(rng: np.random.Generator, items: int, number: int) -> list[tuple[int, int]]:
    first = rng.integers(items, size=number)
    return list(zip(first, (first + 1 + rng.integers(items - 1, size=number)) % items, strict=True))


def tastes(trials: int) -> Iterator[Finding]:
    """Eight items, equal on the whole, judged by workers with tastes of their own (sd 1)."""
    for workers in (3, 5, 10, 20):
        rng, rows = np.random.default_rng(18), []
        for query in range(trials):
            liking = rng.normal(size=(workers, 8))
            for number, (a, b) in enumerate(_pairs(rng, 8, 240)):
                who = liking[number % workers]
                said = "a" if rng.random() < 1 / (1 + np.exp(who[b] - who[a])) else "b"
                rows.append((f"q{query}", f"d{a}", f"d{b}", said, f"w{number % workers}"))
        one = np.mean([len(cut) == 1 for cut in tiers(strengths(_judged(rows, workers=True))).tiers.values()])
        yield Finding("tiers, equal items are one tier", f"{workers} workers with tastes", float(one), trials, 0.7)


Ask = Callable[[int, int], bool]


def _each_pair(times: int) -> Callable[[int, np.random.Generator, Ask], None]:
    def judge(items: int, rng: np.random.Generator, ask: Ask) -> None:
        for _ in range(times):
            for a, b in combinations(range(items), 2):
                ask(a, b)

    return judge


def _at_random(items: int, rng: np.random.Generator, ask: Ask) -> None:
    """A chain through all items, then random pairs, n log₂ n in all."""
    chain = rng.permutation(items)
    pairs = list(pairwise(chain))
    for a, b in pairs + _pairs(rng, items, int(items * np.log2(items)) - len(pairs)):
        ask(int(a), int(b))


def _merge_sort(items: int, rng: np.random.Generator, ask: Ask) -> None:
    def merged(some: list[int]) -> list[int]:
        if len(some) < 2:
            return some
        left, right, found = merged(some[: len(some) // 2]), merged(some[len(some) // 2 :]), []
        while left and right:
            found.append((left if ask(left[0], right[0]) else right).pop(0))
        return found + left + right

    merged(rng.permutation(items).tolist())


DESIGNS = {
    "each pair once": _each_pair(1),
    "each pair 3 times": _each_pair(3),
    "random pairs": _at_random,
    "a merge sort": _merge_sort,
}


def answers(design: str, truth: np.ndarray, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """The answers to a design's questions, by items of these strengths."""
    rows: list[tuple[str, str, str]] = []

    def ask(a: int, b: int) -> bool:
        won = bool(rng.random() < 1 / (1 + np.exp(truth[b] - truth[a])))
        rows.append(("q", f"d{a}", f"d{b}") if won else ("q", f"d{b}", f"d{a}"))
        return won

    DESIGNS[design](len(truth), rng, ask)
    return rows


def coin_flips(trials: int) -> Iterator[Finding]:
    """How often coin flips make one tier, in sixteen designs; the rule's price for finding orders in few judgments."""
    for items in (4, 6, 10, 20):
        for number, design in enumerate(DESIGNS):
            one = 0
            for seed in range(trials):
                rng = np.random.default_rng([19, items, number, seed])
                one += len(tiers_from_preferences(answers(design, np.zeros(items), rng)).tiers["q"]) == 1
            yield Finding("tiers, coin flips are one tier", f"{items} items, {design}", one / trials, trials, 0.6)


def _places(rows: list[tuple[str, str, str]]) -> dict[str, int]:
    return {item: k for k, tier in enumerate(tiers_from_preferences(rows).tiers["q"]) for item in tier}


def repeated(trials: int) -> Iterator[Finding]:
    """Every judgment twice, or one more in favour of an item of the next higher tier: how often that joins or turns."""
    joined = again = borders = 0
    for seed in range(trials):
        rng = np.random.default_rng([20, seed])
        truth = rng.normal(size=int(rng.integers(3, 13))) * rng.choice([0.0, 0.5, 1.0, 2.0, 4.0])
        rows = answers(str(rng.choice(list(DESIGNS))), truth, rng)
        before, twice = _places(rows), _places(rows * 2)
        above = [(x, y) for x in before for y in before if before[x] < before[y]]
        joined += any(twice[x] >= twice[y] for x, y in above)
        near = [(x, y) for x, y in above if before[y] == before[x] + 1]
        if near:
            x, y = near[rng.integers(len(near))]
            after = _places([*rows, ("q", x, y)])
            borders, again = borders + 1, again + (after[x] >= after[y])
    yield Finding("tiers joined or turned", "every judgment twice", joined / trials, trials, 0.02, at_most=True)
    yield Finding("tiers joined or turned", "one more agreeing judgment", again / borders, borders, 0.02, at_most=True)


STATED = ((0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 1.0))


def borders(trials: int) -> Iterator[Finding]:
    """The probability stated at a border beside the fraction of its pairs in the true order; 12 items, sd ½ to 4."""
    found = []
    for seed in range(trials):
        rng = np.random.default_rng([21, seed])
        truth = rng.normal(size=12) * rng.choice([0.5, 1.0, 2.0, 4.0])
        made = tiers_from_preferences(answers(str(rng.choice(list(DESIGNS))), truth, rng))
        cut = [[truth[int(item[1:])] for item in tier] for tier in made.tiers["q"]]
        for stated, upper, lower in zip(made.separated["q"], cut, cut[1:], strict=False):
            found.append((stated, np.mean(np.array(upper)[:, None] > np.array(lower))))
    stated, true = np.array(found).T
    for low, high in STATED:
        mine = (stated >= low) & (stated < high)
        setting = f"stated {stated[mine].mean():.3f}, true {true[mine].mean():.3f}"
        behind = max(0.0, float(stated[mine].mean() - true[mine].mean()))
        yield Finding("tiers, a border: stated less true", setting, behind, int(mine.sum()), 0.03, at_most=True)


CROWDS = {
    "8 good": [0.95] * 8,
    "8 good, 4 at random": [0.95] * 8 + [0.5] * 4,
    "8 good, 2 opposite": [0.95] * 8 + [0.05] * 2,
}


def crowds(trials: int) -> Iterator[Finding]:
    """Eight items in two groups, two units apart; 60 answers per worker, some random or inverted."""
    for setting, quality in CROWDS.items():
        called, good = np.zeros(2), np.array(quality) > 0.5
        for seed in range(trials):
            judged = _crowd(np.random.default_rng([seed, 1, len(quality)]), quality, -2.0 * (np.arange(8) % 2))
            verdicts = np.array(strengths(judged, "crowd-bt").workers.verdicts)
            called += [(verdicts[good] != "good").mean(), (verdicts[~good] == "good").mean() if (~good).any() else 0]
        for claim, share in zip(("a good worker not called good", "a bad worker called good"), called, strict=True):
            yield Finding(f"Crowd-BT, {claim}", setting, share / trials, trials, 0.1, at_most=True)


def _crowd(rng: np.random.Generator, quality: list[float], truth: np.ndarray) -> Preferences:
    rows = []
    for worker, eta in enumerate(quality):
        for a, b in _pairs(rng, len(truth), 60):
            better = rng.random() < 1 / (1 + np.exp(truth[b] - truth[a]))
            said = "a" if better == (rng.random() < eta) else "b"
            rows.append(("q", f"d{a}", f"d{b}", said, f"w{worker:02d}"))
    return _judged(rows, workers=True)


def position(trials: int) -> Iterator[Finding]:
    """The item shown first wins with probability .73 (or .5) if both are equal; 40 queries of four items.

    Every pair is asked in a random order, once or more often; strengths are normal. If items differ very much and a
    pair has one answer, a note warns that the interval is too narrow.
    """
    for truth, spread, answers in POSITIONS:
        effect, held = np.log(truth / (1 - truth)), 0
        for trial in range(trials):
            rng, rows = np.random.default_rng([73, trial]), []
            for query in range(40):
                liking = rng.normal(0, spread, 4)
                for a, b in [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] * answers:
                    first, second = (a, b) if rng.random() < 0.5 else (b, a)
                    won = rng.random() < 1 / (1 + np.exp(liking[second] - liking[first] - effect))
                    rows.append((f"q{query}", f"d{first}", f"d{second}", "a" if won else "b", "w"))
            found = position_bias(_judged(rows, workers=False))
            held += found.low <= truth <= found.high
        often = f"{answers} answer{'s' * (answers > 1)} to a pair"
        setting = f"bias {truth:.2f}, strengths vary by {spread}, {often}"
        goal = 0.8 if (spread, answers) == (5, 1) else 0.92
        yield Finding("interval of the position bias", setting, held / trials, trials, goal)


POSITIONS = (
    *((0.73, spread, answers) for spread in (0, 1, 2, 5) for answers in (1, 2)),
    *((0.73, spread, 4) for spread in (2, 5)),
    (0.5, 0, 1),
)


CLAIMS: dict[str, tuple[Callable[[int], Iterator[Finding]], int]] = {
    "tastes": (tastes, 1000, 20),
    "coin flips": (coin_flips, 1000, 10),
    "repeated judgments": (repeated, 2000, 40),
    "borders": (borders, 3000, 100),
    "crowds": (crowds, 1000, 4),
    "position bias": (position, 1000, 3),
}
