"""Claims about judgments: borders are as sure as stated, scores by them, what a perfect judge is asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise

import numpy as np
import polars as pl

import rankdev as rd
from benchmarks.calibration.simulations import Finding
from rankdev.judging.collect import Collected
from rankdev.preferences import Preferences, position_bias, strengths, tiers, tiers_from_preferences


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


JUDGED = ((1, None), (3, None), (3, 5))  # how often each pair is judged, and by how many judges, if that is known
Case = tuple[object, dict[str, dict[str, list[str]]], np.ndarray]  # judgments, two systems, and their true scores


def uncertain_judgments(trials: int) -> Iterator[Finding]:
    """Scores of two systems, and their difference, against the true order, estimated from judgments of eight items.

    Ten queries; every pair is judged equally often, by unnamed judges or by five.
    """
    for times, judges in JUDGED:
        setting = f"{times} judgment{'s' * (times > 1)} of each pair{', five judges' if judges else ''}"
        cases = (_case([seed, times, judges or 0, 11], times, judges) for seed in range(trials))
        yield from _covered(cases, trials, setting, "RDQ@8", rule="strict")


def judgments_and_queries(trials: int) -> Iterator[Finding]:
    """The same for mean scores over all such queries (3,000 here), from judgments on ten of them."""
    truth = np.mean([_case([seed, 77], 1, None)[2] for seed in range(300)], axis=0)
    for times in (1, 3):
        setting = f"ten queries, {times} judgment{'s' * (times > 1)} of each pair"
        cases = ((*_case([seed, times, 0, 12], times, None)[:2], truth) for seed in range(trials))
        yield from _covered(cases, trials, setting, "RDQ@8", means=True, rule="strict")


def chosen_pairs(trials: int) -> Iterator[Finding]:
    """Scores of two systems, and their difference, against the true order: pairs that `collect` chose.

    Six queries of 12 items.
    """
    for kind, each in (("consistent", 16), ("Bradley–Terry, sd 1.5", 32)):
        setting = f"{kind}, {each} judgments a query chosen by `collect`"
        cases = (_chosen(seed, kind, each) for seed in range(trials))
        yield from _covered(cases, trials, setting, "RDQ@5", disconnected="largest")


def _covered(
    cases: Iterable[Case], trials: int, setting: str, measure: str, means: bool = False, **options: object
) -> Iterator[Finding]:
    """Report how often two systems' intervals hold the true score, and that of their difference the true one."""
    held, of = np.zeros(2), "" if means else "judgments_"
    for seed, (judged, runs, true) in enumerate(cases):
        with warnings.catch_warnings(action="ignore", category=rd.RankdevWarning):
            found = rd.evaluate_with_uncertainty(judged, runs, measure, seed=seed, **options)
        single, apart = found.to_polars(), found.differences().row(0, named=True)
        inside = (single[f"{of}low"].to_numpy() <= true) & (true <= single[f"{of}high"].to_numpy())
        held += inside.mean(), apart[f"{of}low"] <= true[0] - true[1] <= apart[f"{of}high"]
    names, goal = (("the mean score", "a difference of means"), 0.95) if means else (("the score", "a difference"), 0.9)
    for name, share in zip(names, held / trials, strict=True):
        yield Finding(f"`evaluate_with_uncertainty`, {name}", setting, share, trials, goal)


def _case(seed: list[int], times: int, judges: int | None) -> Case:
    """Draw judgments, two systems that see the strengths through noise, and their true scores."""
    rng = np.random.default_rng(seed)
    names, (a, b) = [f"d{i}" for i in range(8)], np.triu_indices(8, 1)
    rows: list[tuple[str, ...]] = []
    runs: dict[str, dict[str, list[str]]] = {"s": {}, "t": {}}
    orders: dict[str, list[str]] = {}
    for query in map(str, range(10)):
        strength = rng.normal(0, 1, 8)
        won = rng.binomial(times, 1 / (1 + np.exp(strength[b] - strength[a])))
        for i, j, wins in zip(a, b, won, strict=True):
            pairs = [(names[i], names[j])] * wins + [(names[j], names[i])] * (times - wins)
            rows += [(query, *pair, *([f"w{rng.integers(judges)}"] if judges else [])) for pair in pairs]
        shared = rng.normal(0, 0.5, 8)
        for name, skill in (("s", 0.7), ("t", 0.45)):
            seen = skill * strength + shared + np.sqrt(0.5) * rng.normal(0, 1, 8)
            runs[name][query] = [names[i] for i in np.argsort(-seen)]
        orders[query] = [names[i] for i in np.argsort(-strength)]
    return rows, runs, rd.evaluate(orders, runs, ["RDQ@8"]).means[:, 0]


Truth = dict[str, dict[str, float]]
# spread of the strengths of items; infinite: the judge is consistent
JUDGES = {"consistent": np.inf, "Bradley–Terry, sd 1.5": 1.5}


def _collected(seed: int, kind: str, queries: int, items: int, **options: object) -> tuple[Truth, Collected]:
    """Return the strengths of items, and what `collect` found of them by asking a judge."""
    rng, spread = np.random.default_rng([seed, items, len(kind)]), JUDGES[kind]
    strength = rng.normal(size=(queries, items)) * (spread if np.isfinite(spread) else 1.0)
    truth = {f"q{q}": {f"d{k:02d}": float(x) for k, x in enumerate(row)} for q, row in enumerate(strength)}

    def judge(query: str, a: str, b: str) -> str:
        apart = truth[query][a] - truth[query][b]
        return a if rng.random() < (apart > 0 if np.isinf(spread) else 1 / (1 + np.exp(-apart))) else b

    return truth, rd.collect(judge, {query: list(entries) for query, entries in truth.items()}, seed=seed, **options)


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


def _chosen(seed: int, kind: str, each: int) -> Case:
    """Rank items by their strengths with some noise, for two systems; score both by the true order."""
    truth, found = _collected(seed, kind, 6, 12, budget=6 * each)
    rng = np.random.default_rng([seed, each])
    runs = {
        name: {
            query: sorted(entries, key=lambda item, e=entries, s=noise: -(e[item] + rng.normal() * s))
            for query, entries in truth.items()
        }
        for name, noise in zip("ab", (0.8, 1.6), strict=True)
    }
    orders = {query: sorted(entries, key=entries.__getitem__, reverse=True) for query, entries in truth.items()}
    return found.preferences, runs, rd.evaluate(orders, runs, "RDQ@5").means[:, 0]


CLAIMS: dict[str, tuple[Callable[[int], Iterator[Finding]], int]] = {
    "tastes": (tastes, 1000, 20),
    "borders": (borders, 3000, 100),
    "crowds": (crowds, 1000, 4),
    "position bias": (position, 1000, 3),
    "uncertain judgments": (uncertain_judgments, 1000, 2),
    "judgments and queries": (judgments_and_queries, 1000, 2),
    "chosen pairs": (chosen_pairs, 1000, 2),
    "perfect judge": (perfect, 1000, 2),
}
