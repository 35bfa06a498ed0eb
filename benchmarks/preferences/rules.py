"""The rule of tiers beside a strict order: python -m benchmarks.preferences.rules [TRIALS] [--borders] [--keep]

Truths are normal strengths, answers follow Bradley and Terry's model. Each row of the table has TRIALS trials: coin
flips (16 designs: 4, 6, 10 or 20 items), random files judged again, 12 items, and ten systems on 20 queries. With
--borders: what borders state beside what is true, for other strengths too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.calibration.judgments import DESIGNS, STATED, answers
from benchmarks.history import report
from scipy.stats import kendalltau

import rankdev as rd
from rankdev.preferences import strengths, tiers, tiers_from_preferences
from rankdev.preferences.tiers import as_preferences

QUERIES, ITEMS, SPREAD, MEASURE = 20, 12, 1.5, "RDQ@10"
RULES = ("probability", "strict")
Rows = list[tuple[str, str, str]]


def both(rows: Rows) -> dict[str, dict[str, list[list[str]]]]:
    """Cut the same judgments by each rule."""
    fit = strengths(as_preferences(rows))
    return {rule: tiers(fit, rule=rule).tiers for rule in RULES}


def places(tiers: list[list[str]]) -> np.ndarray:
    """Return the tier of each item, by number."""
    place = {int(item[1:]): k for k, tier in enumerate(tiers) for item in tier}
    return np.array([place[item] for item in sorted(place)])


def joined_or_turned(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Mark the two items of each pair that were apart, and are tied now or the other way round."""
    return np.asarray((before[:, None] < before) & (after[:, None] >= after))


def random_file(rng: np.random.Generator) -> Rows:
    """Judgments of 3 to 12 items by a random design, of any spread."""
    truth = rng.normal(size=int(rng.integers(3, 13))) * rng.choice([0.0, 0.5, 1.0, 2.0, 4.0])
    return answers(str(rng.choice(list(DESIGNS))), truth, rng)


def twice(rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Whether every judgment twice joins or turns any items that were apart."""
    rows = random_file(rng)
    before, after = both(rows), both(rows * 2)
    return {
        rule: (float(joined_or_turned(places(before[rule]["q"]), places(after[rule]["q"])).any()),) for rule in RULES
    }


def agreeing(rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Whether one more judgment for an item of a tier against one of the next joins the two; and whether others."""
    rows, found = random_file(rng), {}
    for rule, cut in both(rows).items():
        found[rule] = np.nan, np.nan  # one tier: there is no border
        if len(cut["q"]) > 1:
            border = rng.integers(len(cut["q"]) - 1)
            x, y = (str(rng.choice(tier)) for tier in cut["q"][border : border + 2])
            wrong = joined_or_turned(places(cut["q"]), places(both([*rows, ("q", x, y)])[rule]["q"]))
            found[rule] = float(wrong[int(x[1:]), int(y[1:])]), float(wrong.any())
    return found


def coin_flips(items: int, design: str) -> Callable[..., dict[str, float]]:
    """Whether coin flips become one tier."""

    def trial(rng: np.random.Generator) -> dict[str, float]:
        cut = both(answers(design, np.zeros(items), rng))
        return {rule: float(len(found["q"]) == 1) for rule, found in cut.items()}

    return trial


def relations(rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Fractions of the pairs of twelve items that are in the right order, and reversed."""
    truth = rng.normal(size=ITEMS) * rng.choice([0.5, 1.0, 2.0, 4.0])
    i, j = np.triu_indices(ITEMS, 1)
    found = {}
    for rule, cut in both(answers(str(rng.choice(list(DESIGNS))), truth, rng)).items():
        place = places(cut["q"])
        lead = np.sign(place[j] - place[i]) * np.sign(truth[i] - truth[j])
        found[rule] = float((lead > 0).mean()), float((lead < 0).mean())
    return found


def systems(design: str) -> Callable[..., dict[str, float]]:
    """Return τ between the order of ten systems by the references, and by the true order of the items."""

    def ranked(values: np.ndarray) -> dict[str, list[str]]:
        return {f"q{q}": [f"d{k}" for k in np.argsort(-row)] for q, row in enumerate(values)}

    def trial(rng: np.random.Generator) -> dict[str, float]:
        truth = rng.normal(size=(QUERIES, ITEMS)) * SPREAD
        noise = np.linspace(0.6, 2.4, 10)
        runs = {
            f"s{k}": rd.Run.from_lists(ranked(truth + s * rng.normal(size=truth.shape))) for k, s in enumerate(noise)
        }
        rows = [(f"q{q}", *pair) for q, row in enumerate(truth) for _, *pair in answers(design, row, rng)]
        true = rd.evaluate(ranked(truth), runs, MEASURE).means[:, 0]
        found = {}
        for rule, cut in both(rows).items():
            own = rd.evaluate(rd.References.from_tiers(cut), runs, MEASURE).means[:, 0]
            found[rule] = float(np.nan_to_num(kendalltau(own.round(12), true.round(12)).statistic))
        return found

    return trial


def measured(trial: Callable[..., Any], trials: int, *seed: int) -> dict[str, np.ndarray]:
    """Mean of the trials, by rule."""
    found = [trial(np.random.default_rng([77, *seed, number])) for number in range(trials)]
    return {rule: np.nanmean([one[rule] for one in found], axis=0) for rule in RULES}


def table(trials: int) -> Iterator[dict[str, Any]]:
    """Measure each row of the table."""

    def row(what: str, found: dict[str, Any]) -> dict[str, Any]:
        return {
            "measured": what,
            **{f"{'the rule' if rule == 'probability' else rule}": float(found[rule]) for rule in RULES},
        }

    designs = [(items, design) for items in (4, 6, 10, 20) for design in DESIGNS]
    flips = [measured(coin_flips(*one), trials, 1, number) for number, one in enumerate(designs)]
    yield row(
        "coin flips are one tier, mean of 16 designs", {rule: np.mean([one[rule] for one in flips]) for rule in RULES}
    )
    yield row(
        "coin flips are one tier, the worst design", {rule: np.min([one[rule] for one in flips]) for rule in RULES}
    )
    for rows, trial, number in (
        (("every judgment twice joins or turns items that were apart",), twice, 2),
        (
            (
                "one more agreeing judgment joins or turns its two items",
                "one more agreeing judgment joins or turns others",
            ),
            agreeing,
            3,
        ),
    ):
        shares = measured(trial, trials, number)
        for place, what in enumerate(rows):
            yield row(what, {rule: each[place] for rule, each in shares.items()})
    found = measured(relations, trials, 4)
    for what, place in (("in the right order", 0), ("reversed", 1)):
        yield row(f"pairs of 12 items {what}", {rule: each[place] for rule, each in found.items()})
    for number, design in enumerate(DESIGNS):
        yield row(f"τ of ten systems, {design}", measured(systems(design), trials, 5, number))


WORLDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n) * rng.choice([0.5, 1.0, 2.0, 4.0]),
    "skewed": lambda rng, n: rng.exponential(size=n) ** 1.5 * rng.choice([0.5, 1.0, 2.0]),
    "three groups of equal items": lambda rng, n: rng.integers(3, size=n) * rng.choice([0.75, 1.5, 3.0]),
}


def borders(trials: int) -> Iterator[dict[str, str]]:
    """What borders state, and the fraction of their pairs in the true order; equal items are half right."""
    for world, drawn in WORLDS.items():
        found = []
        for number in range(trials):
            rng = np.random.default_rng([77, 6, number])
            truth = drawn(rng, int(rng.integers(3, 13)))
            made = tiers_from_preferences(answers(str(rng.choice(list(DESIGNS))), truth, rng))
            cut = [truth[[int(item[1:]) for item in tier]] for tier in made.tiers["q"]]
            for stated, upper, lower in zip(made.separated["q"], cut, cut[1:], strict=False):
                lead = upper[:, None] - lower
                found.append((stated, ((lead > 0) + (lead == 0) / 2).mean()))
        stated, true = np.array(found).T
        inside = {f"{low:.2f} to {high:.2f}": (stated >= low) & (stated <= high) for low, high in STATED}
        shares = {name: f"{stated[mine].mean():.2f} → {true[mine].mean():.2f}" for name, mine in inside.items()}
        yield {"strengths": world, **shares}


def main() -> None:
    """Measure and report."""
    words, keep = [word for word in sys.argv[1:] if not word.startswith("--")], "--keep" in sys.argv
    trials = int(words[0]) if words else 1000
    if "--borders" in sys.argv:
        report("What borders state", list(borders(trials)), keep=keep)
    else:
        report("The rule and a strict order", list(table(trials)), keep=keep)


if __name__ == "__main__":
    main()
