"""How many pair relations each tier rule finds.

    python -m benchmarks.preferences.tiers [SEED] [DESIGNS] [QUERIES] [adaptive | fixed] [--keep]

Designs are drawn at random: 5 to 50 items; no difference, tiers of equal and of unequal sizes, strict orders of several
shapes, a few good items and one large tie; 1 to 10 judgments of each pair, n log₂ n random ones, or as many chosen one
after the other; 0 to 50% ties. A row for each, then means by kind of truth. Systems: τ between the order of ten systems
by the reference and by the truth, RDQ@10. `adaptive`: only questions chosen one after the other; `fixed`: only others.
With --keep the means are added to the history.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from benchmarks.history import Row, report

import rankdev as rd
from rankdev.statistics.rank_correlation import tau_b

RULES = ("auto", "strict", "bic", "partition")
FAMILIES = {
    "mixed": "a few good, one large tie",
    "null": "no difference",
    "strict": "strict order, normal",
    "tiers": "two to five equal tiers",
    "unequal tiers": "unequal tiers",
}
DESIGNS = {5: (2, 4, 10), 8: (1, 2, 4, 10), 12: (1, 2, 4, 10), 20: (1, 2, 4), 50: (1, 2)}  # judgments of each pair


class Design(NamedTuple):
    """What the truth is, and how it is judged."""

    kind: str
    about: tuple[float, ...]
    items: int
    judged: Any  # times each pair, "random" or "adaptive"
    tie_rate: float  # Davidson's: 0, 20% or 50% of the judgments of equal items

    @property
    def family(self) -> str:
        """Kind of truth, as the summary names it."""
        return FAMILIES.get(self.kind, "geometric, heavy-tailed, even")


def draw_design(rng: np.random.Generator) -> Design:
    items = int(rng.choice(list(DESIGNS), p=[0.2, 0.25, 0.25, 0.2, 0.1]))
    kind = str(
        rng.choice(["null", "tiers", "unequal tiers", "strict", "other", "mixed"], p=[0.1, 0.3, 0.12, 0.22, 0.12, 0.14])
    )
    about: tuple[float, ...] = ()
    if "tiers" in kind:
        most = 5 if kind == "tiers" else 4
        about = (float(rng.integers(2, min(most, int(items / 1.5)) + 1)), float(rng.choice([0.5, 1, 1.5, 2, 3])))
    elif kind == "strict":
        about = (float(rng.choice([0.5, 1, 2, 3])),)
    elif kind == "other":
        kind = str(rng.choice(["geometric", "heavy", "even"]))
        about = (float(rng.choice([3, 6] if kind == "even" else [0.5, 1])),)
    elif kind == "mixed":
        about = (float(rng.choice([0.1, 0.2, 0.35])), float(rng.choice([0.75, 1.5, 3])))
    ways: list[Any] = [*DESIGNS[items], *(["random"] if items > 5 else []), *(["adaptive"] if items < 50 else [])]
    return Design(kind, about, items, ways[rng.integers(len(ways))], float(rng.choice([0, 0, 0.5, 2])))


def draw_truth(design: Design, rng: np.random.Generator) -> np.ndarray:
    n, about = design.items, design.about
    if design.kind == "tiers":
        truth = -(np.arange(n) * int(about[0]) // n) * about[1]
    elif design.kind == "unequal tiers":
        cuts = np.sort(rng.choice(np.arange(1, n), int(about[0]) - 1, replace=False))
        truth = -np.searchsorted(cuts, np.arange(n), side="right") * about[1]
    elif design.kind == "strict":
        truth = rng.normal(0, about[0], n)
    elif design.kind == "geometric":
        truth = 4 * about[0] * 0.75 ** np.arange(n)
    elif design.kind == "heavy":
        truth = about[0] * rng.standard_t(2, n)
    elif design.kind == "even":
        truth = np.linspace(0, about[0], n)
    elif design.kind == "mixed":
        good = max(1, round(about[0] * n))
        truth = np.zeros(n)
        truth[:good] = about[1] * (1 + np.arange(good) / good) + 0.2 * rng.normal(size=good)
    else:
        truth = np.zeros(n)
    return rng.permutation(truth)


def judge(design: Design, truths: np.ndarray, rng: np.random.Generator) -> rd.Preferences:
    n, names = design.items, [f"d{k:02}" for k in range(design.items)]
    number = int(np.ceil(n * np.log2(n)))

    def answers(d: np.ndarray) -> np.ndarray:
        """Say 1, 0 or −1: the first wins, a tie, the second wins."""
        up, down = np.exp(d / 2), np.exp(-d / 2)
        u = rng.random(d.shape) * (up + down + design.tie_rate)
        return np.where(u < up, 1, np.where(u < up + down, -1, 0))

    if design.judged == "adaptive":
        at = {f"q{q:02}": dict(zip(names, truth.tolist(), strict=True)) for q, truth in enumerate(truths)}

        def ask(query: str, a: str, b: str) -> str | None:
            said = int(answers(np.array(at[query][a] - at[query][b])))
            return (None, a, b)[said]

        items = {query: list(own) for query, own in at.items()}
        found = rd.collect(ask, items, budget=number * len(truths), repeats=5, seed=int(rng.integers(2**31)))
        return found.preferences
    columns = []
    for q, truth in enumerate(truths):
        if design.judged == "random":
            chain = rng.permutation(n)  # connects all
            a = rng.integers(0, n, number - n + 1)
            b = (a + rng.integers(1, n, len(a))) % n
            a, b = np.append(chain[:-1], a), np.append(chain[1:], b)
        else:
            a, b = (np.repeat(side, design.judged) for side in np.triu_indices(n, 1))
        said = answers(truth[a] - truth[b])
        columns.append((np.full(len(a), q), np.where(said < 0, b, a), np.where(said < 0, a, b), said == 0))
    query, winner, loser, tie = (np.concatenate(part) for part in zip(*columns, strict=True))
    item = np.array(names)
    table = {"query": [f"q{q:02}" for q in query], "winner": item[winner], "loser": item[loser], "tie": tie}
    return rd.Preferences.from_table(pl.DataFrame(table))


def places(cuts: dict[str, list[list[str]]], items: int) -> np.ndarray:
    """Place of the tier of every item of every query."""
    result = np.zeros((len(cuts), items))
    for query, cut in cuts.items():
        for place, tier in enumerate(cut):
            result[int(query[1:]), [int(item[1:]) for item in tier]] = place
    return result


def relations_right(found: np.ndarray, truths: np.ndarray) -> float:
    i, j = np.triu_indices(truths.shape[1], 1)
    right = np.sign(found[:, j] - found[:, i]) == np.sign(np.round(truths[:, i] - truths[:, j], 9))
    return float(right.mean())


def system_orders(found: list[np.ndarray], truths: np.ndarray, rng: np.random.Generator) -> list[float]:
    """τ of ten systems' order by each of the found references and by the truth."""
    names = [f"d{k:02}" for k in range(truths.shape[1])]
    noise = np.geomspace(0.3, 3, 10) * max(float(truths.std(axis=1).mean()), 0.3)
    runs = {}
    for system, sd in enumerate(noise):
        ranked = np.argsort(-(truths + sd * rng.normal(size=truths.shape)), axis=1)
        runs[f"s{system}"] = {f"q{q:02}": [names[k] for k in row] for q, row in enumerate(ranked)}

    def means(place: np.ndarray) -> np.ndarray:
        ranks = {
            f"q{q:02}": dict(zip(names, (1 + row).astype(int).tolist(), strict=True)) for q, row in enumerate(place)
        }
        return np.asarray(rd.evaluate(rd.References.from_ranks(ranks), runs, "RDQ@10").means[:, 0])

    truth = means(np.array([np.unique(-row.round(9), return_inverse=True)[1] for row in truths]))
    return [float(tau_b(truth, means(place))) for place in found]


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--keep"]
    given = [int(word) for word in words[:3]]
    seed, number, queries = (*given, *(31, 120, 30)[len(given) :])
    wanted = words[3] if len(words) > 3 else ""
    rng = np.random.default_rng(seed)
    rows: list[tuple[Design, np.ndarray, np.ndarray, float]] = []
    while len(rows) < number:
        design = draw_design(rng)
        if wanted and (design.judged == "adaptive") != (wanted == "adaptive"):
            continue
        right, one, order = [], [], []
        for _ in range(1 if queries > 1 else 10):
            truths = np.stack(
                [draw_truth(design, rng) for _ in range(queries if design.items < 50 else -(-queries // 3))]
            )
            fit = rd.strengths(judge(design, truths, rng), disconnected="largest")
            cuts = [places(rd.tiers(fit, rule=rule).tiers, design.items) for rule in RULES]
            right.append([relations_right(found, truths) for found in cuts])
            one.append(float((cuts[0].max(axis=1) == 0).mean()))
            if queries > 1 and design.kind != "null":
                order.append(system_orders(cuts, truths, rng))
        rows.append(
            (
                design,
                np.mean(right, axis=0),
                np.mean(order, axis=0) if order else np.full(4, np.nan),
                float(np.mean(one)),
            )
        )
        print(
            *design,
            dict(zip(RULES, rows[-1][1].round(3).tolist(), strict=True)),
            "one tier",
            round(rows[-1][3], 2),
            flush=True,
        )
    summarise(rows, f"Tiers, {wanted or 'all'} designs", "--keep" in sys.argv)


def summarise(rows: list[tuple[Design, np.ndarray, np.ndarray, float]], title: str, keep: bool) -> None:
    families = [design.family for design, *_ in rows]
    right, order = (np.array([row[k] for row in rows]) for k in (1, 2))
    best = right[:, 1:].max(axis=1)
    behind = best - right[:, 0]
    chosen = {name: np.array(families) == name for name in dict.fromkeys(sorted(families))}
    table: list[Row] = [
        {
            **{"truth": name, "designs": int(mine.sum()), "best other rule": float(best[mine].mean())},
            **{f"`{rule}`": float(value) for rule, value in zip(RULES, right[mine].mean(axis=0), strict=True)},
            "`auto` behind": float(behind[mine].mean()),
            "within .12": float((behind[mine] <= 0.12).mean()),
        }
        for name, mine in {**chosen, "all of these": np.ones(len(rows), bool)}.items()
    ]
    report(title, table, keep=keep)
    print("τ of systems:", dict(zip(RULES, np.nanmean(order, axis=0).round(3).tolist(), strict=True)))
    equal = [one for design, *_, one in rows if design.kind == "null"]
    print(
        "equal items, one tier:",
        np.round(np.mean(equal), 3) if equal else "-",
        "fewest",
        np.min(equal) if equal else "-",
    )
    for k in np.argsort(behind)[::-1][:12]:
        print("furthest behind:", *rows[k][0], dict(zip(RULES, right[k].round(3).tolist(), strict=True)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
