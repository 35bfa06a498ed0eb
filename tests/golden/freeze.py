"""The frozen numbers: one small function for each public one; ``python -m tests.golden.freeze NAME`` thaws some.

Values of measures must stay as they are to the last bit, statistics to 1e-12. A commit that changes a number on purpose
names the function here, and its file changes with it.
"""

import hashlib
import json
import math
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rankdev as rd
from rankdev.studies.controlled import run_controlled
from rankdev.studies.poi import Protocol, run_poi
from rankdev.studies.simulation import simulate
from rankdev.studies.track import run_track
from tests.common.claims import FROZEN
from tests.golden import inputs
from tests.golden.inputs import demo, demo_references, demo_runs, demo_scores, groups, random_scores

FOLDER = Path(__file__).parent / "frozen"
CLOSE = 1e-12


@dataclass(frozen=True)
class Entry:
    """How the numbers of one function are computed, as pairs of a case and what it gives."""

    cases: object
    exact: bool
    needs: Path | None

    @property
    def missing(self):
        return None if self.needs is None or self.needs.exists() else f"{self.needs} is not there"

    def computed(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {str(case): plain(found) for case, found in self.cases()}


ENTRIES = {}


def frozen(*, exact=False, needs=None):
    def register(cases):
        ENTRIES[cases.__name__] = Entry(cases, exact, needs)
        return cases

    return register


def plain(value):
    """What JSON holds: floats keep every digit."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def columns(result, names):
    """Some columns of a result."""
    frame = result.to_polars() if hasattr(result, "to_polars") else result
    return {name: frame[name].to_list() for name in names.split()}


def values(scores):
    """The mean of each measure and system, to be read, and a digest of every value to the last bit."""
    found = {}
    for m, measure in enumerate(scores.measures):
        digest = hashlib.sha256((scores.values[:, :, m] + 0.0).astype("<f8").tobytes()).hexdigest()[:12]
        found[str(measure)] = [*scores.means[:, m].tolist(), digest]
    return {"queries": len(scores.queries), **found}


def measures_for(references, ties, rng, n=8):
    """Some measures of all that these references allow."""
    has = {"grades": references.grades is not None, "judged": references.grades is not None}
    has["judged"] = has["judged"] or references.nonrelevant is not None
    allowed = [text for text, laws in FROZEN.items() if all(has[law] for law in has if law in laws.split())]
    if ties == "expected":
        allowed = [text for text in allowed if text.partition("@")[0] in ("P", "R", "RDQ", "nDCG", "RDQ(penalty=m1)")]
    return [str(text) for text in rng.permutation(allowed)[:n]]


@frozen(exact=True)
def evaluate():
    yield "demo", values(demo_scores())
    yield from _evaluated("lists", "ranks", "tiers")


@frozen(exact=True)
def evaluate_judged():
    yield from _evaluated("grades", "judged")


def _evaluated(*kinds):
    for seed, kind, references, runs, options in inputs.random_evaluations(200, kinds):
        wanted = measures_for(references, options.get("ties"), np.random.default_rng([36, seed]))
        try:
            found = values(rd.evaluate(references, runs, wanted, **options))
        except rd.RankdevError as error:
            found = type(error).__name__
        yield " ".join([str(seed), kind, *options.values()]), found


@frozen(exact=True)
def evaluate_ranks():
    """Ranks that are consecutive, or skip as many as are tied."""
    rows = [("q", item, rank) for item, rank in zip("abcdef", (1, 1, 3, 4, 4, 6), strict=True)]
    table = inputs.pl.DataFrame(rows, schema=["query", "item", "rank"], orient="row")
    for ranks in ("consecutive", "competition"):
        try:
            found = values(rd.evaluate(table, {"one": {"q": list("badcfe")}}, ["RDQ@5", "RDQ"], ranks=ranks))
        except rd.RankdevError as error:
            found = type(error).__name__
        yield ranks, found


@frozen(exact=True)
def evaluate_files():
    """The same numbers by way of files: TREC and CSV."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(40):
            rng = np.random.default_rng([37, seed])
            names = [name for name in inputs.ITEMS if " " not in name]
            queries = ["q1", "q2", "q3"]
            qrels, run, table = (Path(folder) / f"{seed}.{end}" for end in ("qrels", "run", "csv"))
            judged = [(q, d, rng.integers(0, 4)) for q in queries for d in inputs.some(rng, names)]
            qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in judged) or "q1 0 d1 1\n", encoding="utf-8")
            rows = [(q, d, rng.choice(inputs.SCORES)) for q in queries for d in inputs.some(rng, names)]
            rows = rows or [("q1", "d1", 1.0)]
            run.write_text("".join(f"{q} Q0 {d} 1 {s!s} tag\n" for q, d, s in rows), encoding="utf-8")
            table.write_text("query,item,score\n" + "".join(f"{q},{d},{s!s}\n" for q, d, s in rows), encoding="utf-8")
            texts = ["RDQ@5", "nDCG@5", "AP", "Bpref", "RBO(p=0.9)"]
            ties = str(rng.choice(["trec_eval", "descending", "ascending", "given"]))
            yield f"{seed} {ties}", values(rd.evaluate(qrels, {"trec": run, "csv": table}, texts, ties=ties))


@frozen(exact=True)
def score():
    for seed, kind, references, runs, options in inputs.random_evaluations(60):
        if options.keys() <= {"empty"} and isinstance(runs["one"], dict):
            wanted = measures_for(references, None, np.random.default_rng([38, seed]), 5)
            for query in references:
                ranking = list(runs["one"].get(query, []))
                if len(references[query]):
                    yield (
                        f"{seed} {kind} {query}",
                        {text: rd.score(references[query], ranking, text) for text in wanted},
                    )


@frozen()
def explain():
    names = "position item rank ideal_rank weight credit gained lost"
    for query, reference in demo_references().items():
        for system, run in demo_runs().items():
            yield f"{query} {system}", columns(rd.explain(reference, list(run[query]), k=5), names)
    for measure in ("RDQ(penalty=m1)@4", "RDQ(alpha=4,weights=carousel)@5"):
        ranking = ["x", "b", "a", "c", "y"]
        yield measure, columns(rd.explain([["a", "b"], ["c"]], ranking, measure=measure), names)


@frozen()
def losses():
    names = "system score lost_by_retrieval lost_by_cutoff lost_by_order"
    yield "demo", columns(rd.losses(demo_references(), demo_runs(), "RDQ@5"), names)
    for seed, kind, references, runs, options in inputs.random_evaluations(60):
        if options.keys() <= {"empty"} and isinstance(runs["one"], dict):
            measure = ("RDQ@5", "RDQ(penalty=m1)@3")[seed % 2]
            yield f"{seed} {kind}", columns(rd.losses(references, runs, measure, **options), names)


@frozen()
def bounds():
    for seed, kind, references, runs, options in inputs.random_evaluations(60, ("grades", "judged")):
        if not options and isinstance(runs["one"], dict):
            found = rd.bounds(references, runs, ["RDQ@5", "nDCG(gains=binary)@5", "P@3"])
            yield f"{seed} {kind}", columns(found, "system measure score low high")


PAIRS = "measure a b difference low high effect wins ties losses p p_adjusted verdict"


@frozen()
def significance():
    asked = {
        "t holm": {"test": "t"},
        "t bh": {"test": "t", "correction": "bh"},
        "t none": {"test": "t", "correction": "none"},
        "t all": {"test": "t", "family": "all"},
        "t baseline": {"test": "t", "baselines": "b"},
        "randomization holm": {"test": "randomization", "permutations": 2000},
        "randomization bh": {"test": "randomization", "correction": "bh", "permutations": 2000, "seed": 1},
        "randomization none": {"test": "randomization", "correction": "none", "permutations": 2000},
        "randomization all": {"test": "randomization", "family": "all", "permutations": 2000},
        "randomization baseline": {"test": "randomization", "baselines": "a", "permutations": 2000},
    }
    yield "demo t", columns(rd.significance(demo_scores(), test="t"), PAIRS)
    yield "demo randomization", columns(rd.significance(demo_scores(), test="randomization"), PAIRS)
    for seed in range(6):
        scores = random_scores(seed, 2 + seed % 3, 8 + 9 * seed, decimals=1 + seed % 2, gaps=0.1 * (seed == 5))
        for case, options in asked.items():
            yield f"{seed} {case}", columns(rd.significance(scores, **options), PAIRS)


@frozen()
def significance_designs():
    for margin in (0.02, 0.1, 0.3):
        yield f"margin {margin}", columns(rd.significance(random_scores(8, 3, 80), margin=margin), PAIRS)
    scores = random_scores(7, 4, 60)
    clusters = groups(scores, 4)
    runs = {"first": ["a", "b", "c"]}
    for test in ("t", "randomization"):
        options = {"clusters": clusters, "permutations": 2000, "test": test}
        yield f"clusters {test}", columns(rd.significance(scores, **options), PAIRS)
    yield "replicates", columns(rd.significance(scores, replicates=runs), PAIRS)
    segments = groups(scores, 30)
    yield "segments t", columns(rd.significance(scores, segments=segments, test="t"), f"segment {PAIRS}")
    options = {"segments": segments, "test": "randomization", "permutations": 2000}
    yield "segments randomization", columns(rd.significance(scores, **options), f"segment {PAIRS}")


@frozen()
def gate():
    names = "measure difference low high wins ties losses verdict"
    for margin in (0.001, 0.01, 0.1):
        found = rd.gate(demo_scores(), baseline="nearest", candidate="blended", margin=margin)
        yield f"demo {margin}", {**columns(found, names), "all": found.verdict}
        for seed in range(4):
            scores = random_scores(seed, 2, 20 + 30 * seed)
            found = rd.gate(scores, baseline="b", candidate="a", margin=margin)
            yield f"{seed} {margin}", {**columns(found, names), "all": found.verdict}
    found = rd.gate(scores, baseline="a", candidate="b", clusters=groups(scores, 3), margin=0.01)
    yield "clusters", {**columns(found, names), "all": found.verdict}


@frozen()
def leaderboard():
    names = "measure rank system mean low high rank_low rank_high may_be_best"
    yield "demo", columns(rd.leaderboard(demo_scores()), names)
    for seed in range(4):
        scores = random_scores(seed, 5, 15 + 10 * seed)
        yield f"{seed}", columns(rd.leaderboard(scores), names)
    yield "clusters", columns(rd.leaderboard(scores, clusters=groups(scores, 3)), names)
    runs = {"second": ["c", "d", "e"]}
    yield "replicates", columns(rd.leaderboard(scores, replicates=runs), names)
    several = {f"c{i}": random_scores(i, 4, 12 + 10 * i) for i in range(3)}
    yield "collections", columns(rd.leaderboard(several), f"{names} borda")


@frozen()
def table():
    names = "system measure value best marks"
    for case, scores in {"demo": demo_scores(), "random": random_scores(1, 4, 50)}.items():
        for test in ("t", "randomization"):
            yield f"{case} {test}", columns(rd.table(scores, test=test), names)
            baseline = scores.systems[0]
            yield f"{case} {test} baseline", columns(rd.table(scores, test=test, baselines=[baseline]), names)


@frozen()
def meta_analysis():
    names = "measure a b difference low high new_low new_high tau i2 q q_p p p_adjusted"
    collections = {f"c{i}": random_scores(i, 3, 12 + 10 * i) for i in range(5)}
    yield "random", columns(rd.meta_analysis(collections), names)
    yield "baseline", columns(rd.meta_analysis(collections, baselines="a", correction="bh"), names)


@frozen()
def power():
    drawing = {"subsamples": 60, "permutations": 200}
    yield "demo", columns(rd.power(demo_scores(), sizes=[6, 8], **drawing), "measure a b n power")
    found = rd.power(random_scores(2, 4, 80), sizes=[10, 25, 50], **drawing, seed=4)
    yield "random", columns(found, "measure a b n power")
    yield "random summary", columns(found.summary(n=25), "measure p10 p50 p90 n80")
    found = rd.power(random_scores(2, 3, 60), sizes=[10], replacement=True, **drawing)
    yield "replacement", columns(found, "measure a b n power")


@frozen()
def stability():
    yield "demo", columns(rd.stability(demo_scores(), sizes=[4, 8], subsamples=100), "measure n tau")
    found = rd.stability(random_scores(3, 6, 80), sizes=[10, 25, 50], subsamples=100, seed=2)
    yield "random", columns(found, "measure n tau")
    yield "random summary", columns(found.summary(), " ".join(found.summary().columns))


@frozen()
def sensitivity():
    made = simulate(60, seed=1)
    options = {"n": 25, "subsamples": 20, "permutations": 100, "grid": {"alpha": [1, 4], "lam": [0, 0.2]}}
    runs = dict(list(made.runs.items())[:4])
    yield "simulated", columns(rd.sensitivity(made.references, runs, **options), "alpha lam n power")


@frozen()
def agreement():
    yield "demo", columns(rd.agreement(demo_scores()), "dataset a b tau r")
    scores = random_scores(4, 7, 30, ("RDQ@5", "AP@5", "P@5"))
    found = rd.agreement(scores, resamples=100)
    yield "random", columns(found, "dataset a b tau r tau_low tau_high")


@frozen()
def agreement_with_people():
    names = "measure agreement low high verdicts"
    said = inputs.pl.read_csv(demo("verdicts.csv"))
    yield "demo", columns(rd.agreement_with_people(demo_scores(), said), names)
    scores, rng = random_scores(5, 2, 40), np.random.default_rng(39)
    said = [{"query": q, "a": "a", "b": "b", "winner": str(rng.choice(["a", "b", "tie"]))} for q in scores.queries]
    yield "random", columns(rd.agreement_with_people(scores, said), names)


@frozen()
def plan():
    for seed in range(3):
        found = rd.plan(random_scores(seed, 2, 40), "a", "b", "RDQ@5", difference=0.03)
        limits = {"low": found.low, "high": found.high, "assured": found.assured}
        yield f"{seed}", {**columns(found, "n analytic"), **limits}


@frozen()
def prediction_powered():
    people, told = random_scores(6, 3, 30), random_scores(6, 3, 30).values
    rng = np.random.default_rng(40)
    more = np.concatenate([told + rng.normal(0, 0.05, told.shape), rng.random((3, 200, 2))], axis=1).clip(0, 1)
    model = rd.Scores(people.systems, tuple(f"q{i}" for i in range(230)), people.measures, more)
    found = rd.prediction_powered(people, model)
    yield "random", columns(found, " ".join(found.to_polars().columns))


@frozen()
def evaluate_with_uncertainty():
    bakeries = {"one": {"bakeries": ["kiosk", "oven"]}, "two": {"bakeries": ["oven", "petrol", "corner"]}}
    random = {"one": {"q0": ["d3", "d1", "d0"], "q1": ["d2"]}, "two": {"q0": ["d1"], "q2": ["d5", "d4"]}}
    for case, runs in {"demo": bakeries, 0: random}.items():
        found = rd.evaluate_with_uncertainty(_preferences(case), runs, ["RDQ@5", "AP@5"], resamples=20)
        yield case, columns(found, " ".join(found.to_polars().columns))


METHODS = ("bradley-terry", "rank-centrality", "crowd-bt")


@frozen()
def strengths():
    for case in ("demo", 1, 2, 3):
        preferences = _preferences(case)
        for method in METHODS:
            found = rd.strengths(preferences, method)
            yield f"{case} {method}", columns(found, "query item strength low high rank")


def _preferences(case):
    return rd.read_preferences(demo("judgments.csv")) if case == "demo" else inputs.random_preferences(case)


@frozen()
def tiers():
    for case in ("demo", 1):
        for method in METHODS:
            fit = rd.strengths(_preferences(case), method)
            for rule in ("probability", "strict"):
                found = rd.tiers(fit, rule=rule)
                yield f"{case} {method} {rule}", [found.tiers, found.separated, found.coin_flips]


@frozen()
def references():
    for seed, kind, made, _, _ in inputs.random_evaluations(25):
        yield f"{seed} {kind}", columns(made.canonical(), " ".join(made.canonical().columns))
    made = rd.References.from_preferences(rd.read_preferences(demo("judgments.csv")))
    yield "preferences", columns(made, "query item rank")


@frozen()
def collect():
    for seed in range(2):
        rng = np.random.default_rng([41, seed])
        strength = {f"d{i}": float(x) for i, x in enumerate(rng.normal(0, 1.5, 7))}

        def judge(query, a, b, rng=rng, strength=strength):
            return a if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else b

        items = {"q1": list(strength), "q2": list(strength)[:4]}
        found = rd.collect(judge, items, budget=30, seed=seed)
        asked = columns(found, "query first second winner")
        yield f"order {seed}", {"asked": asked, "references": columns(found.references, "query item rank")}


@frozen()
def pool():
    yield "demo", columns(rd.pool(demo_runs(), depth=3), "query item")
    for seed, _, _, runs, options in inputs.random_evaluations(30):
        if options.keys() <= {"empty"} and isinstance(runs["one"], dict):
            yield f"{seed}", columns(rd.pool(runs, depth=4), "query item")


@frozen()
def weights_from_clicks():
    for method in ("harvesting", "em", "rates"):
        found = rd.weights_from_clicks(inputs.pl.read_csv(demo("clicks.csv")), method, resamples=20)
        yield method, columns(found, "position weight low high")


@frozen()
def study_controlled():
    yield "Table 1", columns(run_controlled(), "experiment measure value published")


@frozen()
def study_poi():
    made = simulate(120, seed=3)
    runs = dict(list(made.runs.items())[:4])
    found = run_poi(made.references, runs, protocol=Protocol(120, (25, 100), 10, 60), seed=3)
    yield "power", columns(found.power, "measure a b n power")
    yield "stability", columns(found.stability, "measure n tau")
    yield "sensitivity", columns(found.sensitivity, "alpha lam n power")


@frozen()
def study_track():
    made = simulate(60, seed=4)
    runs = dict(list(made.runs.items())[:3])
    found = run_track({"all": (made.references, runs)}, cutoff=5, quick=True, seed=1)
    (part,) = found.parts
    yield "scores", values(part.scores)
    yield "power", columns(part.power.summary(25), "measure p10 p50 p90 n80")
    yield "stability", columns(part.stability, "measure n tau")
    yield "agreement", columns(found.agreement, "a b tau r")
    yield "buckets", {f"{one.kind} {one.label}": columns(one.power, "measure a b power") for one in part.buckets}


@frozen(exact=True, needs=inputs.DL19)
def dl19_values():
    for system, run in inputs.dl19_runs().items():
        yield system, values(rd.evaluate(inputs.dl19_references(), {system: run}, list(FROZEN)))


@frozen(needs=inputs.DL19)
def dl19_statistics():
    runs = inputs.dl19_runs()
    scores = rd.evaluate(inputs.dl19_references(), runs, ["RDQ@10", "nDCG@10"])
    yield "t", columns(rd.significance(scores, test="t"), PAIRS)
    yield "randomization", columns(rd.significance(scores, test="randomization", permutations=2000), PAIRS)
    yield "leaderboard", columns(rd.leaderboard(scores), "measure rank system mean low high rank_low rank_high")
    yield "power", columns(rd.power(scores, sizes=[25], subsamples=40, permutations=200), "measure a b n power")
    yield "stability", columns(rd.stability(scores, sizes=[10, 25], subsamples=100), "measure n tau")
    yield "agreement", columns(rd.agreement(scores), "a b tau r")
    yield "losses", columns(rd.losses(inputs.dl19_references(), runs, "RDQ@10"), "system score lost_by_order")


def path_of(name):
    return FOLDER / f"{name}.json"


def differences(name):
    """What differs from the file: the place, the frozen number, and today's."""
    entry, path = ENTRIES[name], path_of(name)
    if not path.exists():
        return [f"{path.name} is not there"]
    known = json.loads(path.read_text(encoding="utf-8"))
    return list(_differing(known, entry.computed(), entry.exact, name))


def _differing(known, now, exact, place):
    if isinstance(known, dict) and isinstance(now, dict):
        for key in {**known, **now}:
            if key in known and key in now:
                yield from _differing(known[key], now[key], exact, f"{place} / {key}")
            else:
                yield f"{place} / {key}: {'new' if key in now else 'gone'}"
    elif isinstance(known, list) and isinstance(now, list) and len(known) == len(now):
        for i, parts in enumerate(zip(known, now, strict=True)):
            yield from _differing(*parts, exact, f"{place} [{i}]")
    elif known != now and (exact or not _close(known, now)):
        yield f"{place}: frozen {known!r}, now {now!r}"


def _close(known, now):
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (known, now))
    return numbers and math.isclose(known, now, rel_tol=CLOSE, abs_tol=CLOSE)


def write(name):
    """Write one case a line, so that a difference can be read."""
    lines = [
        f"{json.dumps(case, ensure_ascii=False)}:{_compact(found)}" for case, found in ENTRIES[name].computed().items()
    ]
    path_of(name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def main(names):
    unknown = [name for name in names if name not in ENTRIES]
    if unknown:
        sys.exit(f"no such function: {', '.join(unknown)}; there are {', '.join(ENTRIES)}")
    for name in names:
        if ENTRIES[name].missing:
            sys.exit(f"{name}: {ENTRIES[name].missing}")
        write(name)
    if not names:
        found = {name: differences(name) for name, entry in ENTRIES.items() if not entry.missing}
        changed = {name: lines for name, lines in found.items() if lines}
        for lines in changed.values():
            print(*lines[:10], sep="\n")
        sys.exit(f"these differ, name those to thaw: {' '.join(changed)}" if changed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
