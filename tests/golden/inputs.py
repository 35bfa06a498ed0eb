"""What the frozen numbers are computed from: the demo, random inputs by seed, and TREC DL 2019 where it is."""

import os
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

import rankdev as rd

DEMO = files("rankdev").joinpath("data/demo")
DATA = Path(os.environ.get("RANKDEV_DATA", Path(__file__).parents[2].parent / "shared/data"))
DL19 = DATA / "trec-dl/passage"
ITEMS = [*(f"d{i}" for i in range(1, 13)), "é", "Z", "a b", "007"]
SCORES = [3.0, 2.5, 2.5 + 1e-9, 1.0, 1.0, 0.1, 1e-7, 0.0, -1.0, -2.5]  # single precision has fewer of them
KINDS = ("grades", "lists", "ranks", "tiers", "judged")
LIKE = ("trec_eval-10", "trec_eval-9", "pytrec_eval", "ir_measures", "gdeval", "ranx")


def demo(name):
    return str(DEMO / name)


@cache
def demo_references():
    return rd.read_references(demo("places.jsonl"))


@cache
def demo_runs():
    return {name: rd.read_run(demo(f"{name}.run")) for name in ("nearest", "popular", "blended")}


@cache
def demo_scores():
    return rd.evaluate(demo_references(), demo_runs(), ["RDQ@5", "RDQ(penalty=m1)@5", "nDCG(gains=binary)@5"])


@cache
def dl19_references():
    return rd.read_references(DL19 / "qrels.dl19-passage.txt")


@cache
def dl19_runs():
    return {path.name.partition(".")[0]: rd.read_run(path) for path in sorted((DL19 / "dl19").glob("*.run.gz"))}


def some(rng, items, least=0):
    """A few of the items, in random order."""
    return list(rng.permutation(items)[: rng.integers(least, len(items) + 1)])


def split(rng, items):
    """The items in tiers of one to three."""
    edges = np.cumsum(rng.integers(1, 4, len(items)))
    return [list(tier) for tier in np.split(np.array(items, dtype=object), edges) if len(tier)]


def random_references(rng, kind):
    """Four queries: one kind of reference, the last query often without anything relevant."""
    queries = ["q1", "q2", "10", "ü"]
    chosen = {query: [str(item) for item in some(rng, ITEMS[:10], 1)] for query in queries}
    last = rng.random() < 0.3
    if kind == "grades":
        grades = {q: {d: int(rng.integers(-1, 4)) for d in items} for q, items in chosen.items()}
        if last:
            grades["ü"] = dict.fromkeys(chosen["ü"], 0)
        return rd.References.from_grades(grades)
    tiers = {query: split(rng, items) for query, items in chosen.items()}
    poor = {q: [d for d in ITEMS[10:] if rng.random() < 0.5] for q in queries}
    if last and kind == "judged":
        tiers["ü"], poor["ü"] = [], ["Z"]
    elif last:
        del tiers["ü"]
    if kind == "lists":
        return rd.References.from_lists({q: [d for tier in found for d in tier] for q, found in tiers.items()})
    if kind == "ranks":
        ranks = {q: {d: r for r, tier in enumerate(found, 1) for d in tier} for q, found in tiers.items()}
        return rd.References.from_ranks(ranks)
    return rd.References.from_tiers(tiers, nonrelevant=poor if kind == "judged" else None)


def random_run(rng, kind):
    """A run of most queries and one that no reference has: lists, scores with ties, or a table with repeats."""
    queries = [q for q in ("q1", "q2", "10", "ü", "more") if rng.random() < 0.85] or ["q1"]
    lists = {query: [str(item) for item in some(rng, ITEMS)] for query in queries}
    if kind == "lists":
        return lists
    if kind == "scores":
        return {q: {d: float(rng.choice(SCORES)) for d in items} for q, items in lists.items()}
    rows = [
        (query, f"{item}#{part}" if kind == "chunks" else item, float(rng.choice(SCORES)), place)
        for query, items in lists.items()
        for place, item in enumerate(items, 1)
        for part in range(rng.integers(1, 3) if kind in ("chunks", "repeats") else 1)
    ]
    columns = {"query": pl.String, "item": pl.String, "score": pl.Float64, "rank": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def random_evaluations(n, kinds=KINDS):
    """Of n draws those with these references: references, three runs, and options; every option has its turn."""
    for seed in range(n):
        rng, kind = np.random.default_rng([33, seed]), KINDS[seed % len(KINDS)]
        if kind not in kinds:
            continue
        runs = ("lists", "scores", "table", "repeats", "chunks")[seed // 5 % 5]
        options = {}
        if runs == "repeats":
            options["duplicates"] = str(rng.choice(["first", "last", "best"]))
        if runs == "chunks":
            options["collapse"] = "#"
        if runs == "table" and rng.random() < 0.5:
            options["order"] = "rank"
        if kind == "grades" and runs == "scores" and rng.random() < 0.6:
            options["like"] = str(rng.choice(LIKE))
        elif runs in ("scores", "table", "repeats") and "order" not in options and rng.random() < 0.7:
            options["ties"] = str(rng.choice(["trec_eval", "descending", "ascending", "given", "expected"]))
        if "like" not in options and rng.random() < 0.4:
            options["empty"] = "skip"
        references = random_references(rng, kind)
        yield seed, kind, references, {name: random_run(rng, runs) for name in ("one", "two", "three")}, options


def random_scores(seed, systems=3, queries=20, measures=("RDQ@5", "AP@5"), decimals=2, gaps=0.0):
    """Scores of systems that differ a little; rounded, so that some are equal; some not available."""
    rng = np.random.default_rng([34, seed])
    shape = (systems, queries, len(measures))
    values = 0.4 + rng.normal(0, 0.15, shape) + rng.normal(0, 0.15, (1, queries, len(measures)))
    values += 0.05 * np.arange(systems)[:, None, None]
    values = values.clip(0, 1).round(decimals)
    values[rng.random(shape) < gaps] = np.nan
    return rd.Scores(tuple("abcdefgh"[:systems]), tuple(f"q{i}" for i in range(queries)), tuple(measures), values)


def groups(scores, size=2, names="mnopqrstuvwxyz"):
    """Queries in groups of this size: clusters or segments."""
    return {query: names[i // size % len(names)] for i, query in enumerate(scores.queries)}


def random_preferences(seed, queries=3, items=6, answers=40):
    """Answers of three workers, of whom one guesses; ties and repeats."""
    rng = np.random.default_rng([35, seed])
    rows = []
    for query in range(queries):
        strength = rng.normal(0, 1.2, items)
        for _ in range(answers):
            a, b = rng.choice(items, 2, replace=False)
            worker = str(rng.choice(["ana", "ben", "eva"]))
            chance = 0.5 if worker == "eva" else 1 / (1 + np.exp(strength[b] - strength[a]))
            better, worse = (a, b) if rng.random() < chance else (b, a)
            tie = bool(rng.random() < 0.1)
            rows.append((f"q{query}", f"d{better}", f"d{worse}", worker, tie))
    names = ["query", "winner", "loser", "worker", "tie"]
    return rd.Preferences.from_table(pl.DataFrame(rows, schema=names, orient="row"))
