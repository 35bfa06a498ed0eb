"""Claims about judgments: tests of pairs keep their level, equal items stay one tier, more judgments suffice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from rankdev.preferences import Preferences, position_bias, strengths, tiers
from rankdev.preferences.models import MODELS
from rankdev.preferences.undecided import _cycles, needed_at, open_places
from tests.calibration.simulations import ALPHA, Finding


def _judged(outcomes: list[tuple[str, str, str, str, str]], workers: bool) -> Preferences:
    table = pl.DataFrame(outcomes, schema=["query", "a", "b", "winner", "worker"], orient="row")
    return Preferences.from_table(table if workers else table.drop("worker"), values="position")


def _separated(judged: Preferences, method: str = "bradley-terry", groups: int = 1) -> float:
    """The fraction of pairs that tests separate; of several groups, of pairs from two groups, in their true order."""
    fit = strengths(judged, method)
    tests = MODELS[fit.method].separation(fit, ALPHA, 200, 0, "auto")
    found, pairs = 0, 0
    for close, items in zip(tests, fit.ordered_items().values(), strict=True):
        group = np.array([int(item[1:]) % groups for item in items])
        apart = group[:, None] < group if groups > 1 else np.triu(np.ones((close.size, close.size), bool), 1)
        same = np.zeros_like(apart)
        same[close.i, close.j] = close.p >= ALPHA
        found += (np.triu(apart, 1) & ~same).sum()
        pairs += apart.sum()
    return float(found / pairs)


def _pairs(rng: np.random.Generator, items: int, number: int) -> list[tuple[int, int]]:
    first = rng.integers(items, size=number)
    return list(zip(first, (first + 1 + rng.integers(items - 1, size=number)) % items, strict=True))


def ties(trials: int) -> Iterator[Finding]:
    """Six equal items, 225 judgments, some of them ties."""
    for share in (0.0, 0.25, 0.5):
        rng, rows = np.random.default_rng(7), []
        for query in range(trials):
            for a, b in _pairs(rng, 6, 225):
                said = "tie" if rng.random() < share else "ab"[rng.integers(2)]
                rows.append((f"q{query}", f"d{a}", f"d{b}", said, "w"))
        found = _separated(_judged(rows, workers=False))
        yield Finding("tests of pairs, equal items separated", f"{share:.0%} ties", found, trials, ALPHA, at_most=True)
        found = _separated(_judged(rows, workers=False), "rank-centrality")
        yield Finding("Rank Centrality, equal items separated", f"{share:.0%} ties", found, trials, ALPHA, at_most=True)


def tastes(trials: int) -> Iterator[Finding]:
    """Eight items, equal on the whole, judged by workers with tastes of their own (sd 1), in one file."""
    for workers in (3, 5, 10, 20):
        rng, rows = np.random.default_rng(18), []
        for query in range(trials):
            liking = rng.normal(size=(workers, 8))
            for number, (a, b) in enumerate(_pairs(rng, 8, 240)):
                who = liking[number % workers]
                said = "a" if rng.random() < 1 / (1 + np.exp(who[b] - who[a])) else "b"
                rows.append((f"q{query}", f"d{a}", f"d{b}", said, f"w{number % workers}"))
        judged = _judged(rows, workers=True)
        found = _separated(judged)
        setting = f"{workers} workers with tastes"
        yield Finding("tests by worker, equal items separated", setting, found, trials, ALPHA, at_most=True)
        found = _separated(judged, "rank-centrality")
        yield Finding("Rank Centrality by worker, equal items separated", setting, found, trials, ALPHA, at_most=True)
        one = np.mean([len(cut) == 1 for cut in tiers(strengths(judged)).tiers.values()])
        yield Finding("`rule=auto`, equal items are one tier", setting, float(one), trials, 0.9)


def one_tier(trials: int) -> Iterator[Finding]:
    """How often equal items form one tier, even with few data; the trials are the queries of one file."""
    for rule, goal in (("auto", 0.9), ("leader", 0.95)):
        for items, each in ((3, 6), (6, 4), (6, 10), (10, 4), (10, 10), (10, 30), (20, 10)):
            rng, rows = np.random.default_rng(19), []
            for query in range(trials):
                chain = list(zip(range(items - 1), range(1, items), strict=True))
                for a, b in chain + _pairs(rng, items, items * each // 2 - items + 1):
                    rows.append((f"q{query}", f"d{a}", f"d{b}", "ab"[rng.integers(2)], "w"))
            cuts = tiers(strengths(_judged(rows, workers=False)), rule=rule).tiers.values()
            setting = f"{items} items, {each} judgments of each"
            one = float(np.mean([len(cut) == 1 for cut in cuts]))
            yield Finding(f"`rule={rule}`, equal items are one tier", setting, one, trials, goal)


CROWDS = {
    "8 good": [0.95] * 8,
    "8 good, 4 at random": [0.95] * 8 + [0.5] * 4,
    "8 good, 2 opposite": [0.95] * 8 + [0.05] * 2,
}


def crowds(trials: int) -> Iterator[Finding]:
    """Eight items in two groups, two units apart or equal; 60 answers per worker, some random or inverted."""
    for setting, quality in CROWDS.items():
        shares = np.zeros((2, 2))  # equal, apart × Crowd-BT, Bradley–Terry
        called = np.zeros(2)
        for seed in range(trials):
            for row, gap in enumerate((0.0, 2.0)):
                judged = _crowd(np.random.default_rng([seed, row, len(quality)]), quality, -gap * (np.arange(8) % 2))
                for column, method in enumerate(("crowd-bt", "bradley-terry")):
                    shares[row, column] += _separated(judged, method, groups=1 + row) / trials
            verdicts = np.array(strengths(judged, "crowd-bt").workers.verdicts)
            good = np.array(quality) > 0.5
            called += [(verdicts[good] != "good").mean(), (verdicts[~good] == "good").mean() if (~good).any() else 0]
        yield Finding("Crowd-BT, equal items separated", setting, shares[0, 0], trials, ALPHA, at_most=True)
        than = f"{setting}; Bradley–Terry {shares[1, 1]:.2f}"
        yield Finding("Crowd-BT, items two units apart separated", than, shares[1, 0], trials, shares[1, 1] - 0.05)
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


def more_judgments(trials: int) -> Iterator[Finding]:
    """ "About N more judgments, each with a chance of 50%": N are added to an undecided pair, which is tested again."""
    for items, each, spread in ((2, 10, 1.0), (2, 30, 1.0), (4, 20, 1.0), (8, 20, 1.0), (8, 20, 0.5), (8, 20, 2.0)):
        held = []
        for seed in range(trials):
            rng = np.random.default_rng([seed, items, each])
            truth = spread * rng.normal(size=items)
            chain = list(zip(range(items - 1), range(1, items), strict=True))
            rows = []
            for a, b in chain + _pairs(rng, items, items * each // 2 - items + 1):
                won = rng.random() < 1 / (1 + np.exp(truth[b] - truth[a]))
                rows.append((f"d{a}", f"d{b}", 1.0) if won else (f"d{b}", f"d{a}", 1.0))
            result = tiers(strengths(_weighted(rows)))
            inside, close, cyclic = open_places(result, 0, [len(tier) for tier in result.tiers["q"]], _cycles(result))
            asked = np.flatnonzero(inside & ~close & ~cyclic)
            if not len(asked):
                continue
            at = int(rng.choice(asked))
            (more,) = needed_at(result, 0, np.arange(len(inside)) == at)
            a, b = result.strengths.ordered_items()["q"][at : at + 2]
            won = rng.binomial(more, 1 / (1 + np.exp(truth[int(b[1:])] - truth[int(a[1:])])))
            again = strengths(_weighted([*rows, (a, b, float(won)), (b, a, float(more - won))]))
            tested = MODELS[again.method].separation(again, ALPHA, 200, 0, "always")[0]
            i, j = sorted(again.ordered_items()["q"].index(item) for item in (a, b))
            p = tested.p[(tested.i == i) & (tested.j == j)]
            held.append(not (p >= ALPHA).any())
        setting = f"{items} items of spread {spread:g}, {each} judgments of each"
        share = float(np.mean(held))
        yield Finding("about N more judgments separate half of the pairs: at least", setting, share, len(held), 0.4)
        yield Finding(
            "about N more judgments separate half of the pairs: at most", setting, share, len(held), 0.6, True
        )


def _weighted(rows: list[tuple[str, str, float]]) -> Preferences:
    table = pl.DataFrame(rows, schema=["winner", "loser", "weight"], orient="row")
    return Preferences.from_table(table.with_columns(query=pl.lit("q")))


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
        yield Finding("interval of the position bias", setting, held / trials, trials, 0.92)


POSITIONS = (
    *((0.73, spread, answers) for spread in (0, 1, 2, 5) for answers in (1, 2)),
    *((0.73, spread, 4) for spread in (2, 5)),
    *((0.5, spread, 1) for spread in (0, 5)),
)


CLAIMS: dict[str, tuple[Callable[[int], Iterator[Finding]], int]] = {
    "ties": (ties, 600, 30),
    "tastes": (tastes, 400, 20),
    "one tier": (one_tier, 400, 24),
    "crowds": (crowds, 100, 4),
    "more judgments": (more_judgments, 400, 24),
    "position bias": (position, 200, 3),
}
