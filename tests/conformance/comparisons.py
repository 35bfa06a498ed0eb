"""Each comparison yields rows: what was compared, how many values, how many differ, and why."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import rankdev as rd
from rankdev.data.files import load_references, load_runs
from rankdev.errors import MeasureError
from rankdev.evaluation.conventions import CONVENTIONS
from rankdev.measures import Measure
from rankdev.measures.graded import NDCG, RBP
from tests.common import plain
from tests.conformance import programs
from tests.conformance.cases import Case
from tests.conformance.programs import Values

EXACT = 1e-11
NAMES = ("official", "ndcg", "ndcg_cut", "map_cut", "recall", "success", "set", "infAP", "11pt_avg")
NEW = ("rbp", "unj")  # in trec_eval 10


@dataclass
class Row:
    """What was compared with which program; ``why`` counts the differences by their explanation."""

    what: str
    program: str
    values: int = 0
    why: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    @property
    def differ(self) -> int:
        """How many values differ."""
        return sum(self.why.values()) + len(self.unexplained)

    def add(
        self,
        ours: Mapping[tuple[str, str], float],
        theirs: Values,
        within: float | Callable[[str], float],
        where: str,
        explain: Callable[[str, str], str | None] = lambda query, name: None,
    ) -> None:
        """Compare the values of one case that both have."""
        for (query, name), value in theirs.items():
            got = ours.get((query, name))
            if got is None:
                continue
            self.values += 1
            allowed = within if isinstance(within, float) else within(name)
            if not abs(got - value) <= allowed:
                reason = explain(query, name)
                if reason is None:
                    self.unexplained.append(f"{where}: {name} of {query}: rankdev {got!r}, {self.program} {value!r}")
                else:
                    self.why[reason] += 1


def measure_of(like: str, name: str, level: int = 1) -> Measure | None:
    """Return what a name of the other program is here; None where it is not computed."""
    try:
        (measure,) = CONVENTIONS[like].measures([name])
    except (MeasureError, ValueError):
        return None
    levelled = level > 1 and hasattr(measure, "rel") and not isinstance(measure, NDCG | RBP) and name != "num_ret"
    return replace(measure, rel=float(level)) if levelled else measure


def values_of(like: str, names: Iterable[str], qrels: Any, run: Any, level: int = 1, *, whole: bool = True) -> Values:
    """Return our values of what the other program printed, by its names; ``all`` where the means are ``whole``."""
    known = {name: measure for name in names if (measure := measure_of(like, name, level)) is not None}
    found: Values = {}
    scores = rd.evaluate(qrels, {"run": run}, list(dict.fromkeys(known.values())), like=like)
    place = {label: m for m, label in enumerate(scores.measures)}
    for name, measure in known.items():
        column = scores.values[0, :, place[str(measure)]]
        if measure.aggregate != "geometric":  # trec_eval prints no values of queries
            found |= {(query, name): float(value) for query, value in zip(scores.queries, column, strict=True)}
        if whole:
            found["all", name] = float(scores.means[0, place[str(measure)]])
    return found


PRINTED = 0.5000001e-4  # half of the last digit
LEVEL = "rankdev: trec_eval's total of num_rel ignores -l if -c is set; its values by query do not"


def nist(home: Path, like: str) -> Iterator[Row]:
    """Replay the files with which NIST tests trec_eval."""
    program = CONVENTIONS[like].program
    test = home / "test"
    plans = [
        ("qrels.test", "results.test", "out.test.aq", 1, None, False),
        ("qrels.test", "results.trunc", "out.test.aqc", 1, None, True),
        ("qrels.test", "results.trunc", "out.test.aqcM", 1, 100, True),
        ("qrels.rel_level", "results.test", "out.test.aql", 2, None, False),
        ("qrels.test", "results.test", "out.test.meas_params", 1, None, False),
        ("qrels.comment.test", "results.comment.test", "out.comment.test", 1, None, False),
    ]
    row = Row("NIST's test files", program)
    absent: set[str] = set()
    for qrels, results, out, level, most, complete in plans:
        if not (test / out).exists():
            continue
        expected = programs.parse_lines((test / out).read_text(encoding="utf-8"))
        names = dict.fromkeys(name for _, name in expected)
        absent |= {name for name in names if measure_of(like, name) is None}
        dialect = CONVENTIONS[like].dialect
        judged = load_references(test / qrels, dialect=dialect)
        run = load_runs({"run": test / results}, ties=CONVENTIONS[like].ties, dialect=dialect)["run"]
        if not complete:  # trec_eval averages over what is in both files
            table = judged.to_polars(nonrelevant=True)
            judged = rd.References.from_table(table.filter(table["query"].is_in(list(run))).drop("rank"))
        cut = run if most is None else {query: items[:most] for query, items in run.items()}
        row.add(values_of(like, names, judged, cut, level), expected, PRINTED, out)
    row.what += f" ({len(absent)} of the names in them are not computed here)"
    yield row


def fuzz_trec_eval(home: Path, like: str, several: Sequence[Case], folder: Path) -> Iterator[Row]:
    """Compare random files with trec_eval, for all queries of the qrels."""
    asked = [word for name in (*NAMES, *(NEW if like == "trec_eval-10" else ())) for word in ("-m", name)]
    for what, options, level, most in (
        ("random files", (), 1, None),
        ("random files, relevant from grade 2 on (`-l 2`)", ("-l", "2"), 2, None),
        ("random files, lists cut at 10 (`-M 10`)", ("-M", "10"), 1, 10),
    ):
        row = Row(what, CONVENTIONS[like].program)
        for case in several[:: 3 if options else 1]:
            qrels, run = case.write(folder)
            theirs = programs.trec_eval(home / "trec_eval", ["-q", "-c", *options, *asked], qrels, run)
            names = dict.fromkeys(name for _, name in theirs)
            lists: Any = run
            if most is not None:
                lists = {query: items[:most] for query, items in rd.read_run(run, ties="descending").items()}
            ours = values_of(like, names, qrels, lists, level)
            row.add(
                ours, theirs, PRINTED, case.name, lambda query, name: LEVEL if (query, name) == ALL_RELEVANT else None
            )
        yield row


ALL_RELEVANT = ("all", "num_rel")
GAINS = (
    "rankdev: trec_eval sorts gains by their difference truncated to an integer, so gains less than 1 apart count as"
    " equal and its ideal order is wrong"
)


def gain_maps(home: Path, like: str, several: Sequence[Case], folder: Path) -> Iterator[Row]:
    """Compare nDCG with gains of one's own, whole ones apart and fractional ones."""
    for gains in ({1: 3.0, 2: 9.0, 4: 4.5}, {1: 0.5, 2: 0.9, 3: 1.2}):
        row = Row(f"nDCG with the gains {', '.join(f'{gain:g}' for gain in gains.values())}", CONVENTIONS[like].program)
        theirs_text = f"ndcg.{','.join(f'{grade}={gain}' for grade, gain in gains.items())}"
        ours_text = f"nDCG(gains={{{','.join(f'{grade}:{gain}' for grade, gain in gains.items())}}})"
        for case in several[::3]:
            qrels, run = case.write(folder)
            theirs = programs.trec_eval(home / "trec_eval", ["-q", "-c", "-m", theirs_text], qrels, run)
            ours = values_of(like, [ours_text], qrels, run)
            renamed = {(query, ours_text): value for (query, _), value in theirs.items()}
            row.add(ours, renamed, PRINTED, case.name, partial(_why_gains, case, ours))
        yield row


def _why_gains(case: Case, ours: Values, query: str, name: str) -> str | None:
    """Return the explanation if gains are less than 1 apart and ours is the value of the definition, in loops."""
    judged, run = rd.References.from_grades(case.qrels), rd.Run.from_scores(case.run, ties="descending")
    values = {
        each: plain.ndcg(rd.parse(name), plain.Query(dict(judged[each]), run.get(each, []), dict(judged[each].grades)))
        for each in judged
    }
    expected = sum(values.values()) / len(values) if query == "all" else values[query]
    return GAINS if "0.5" in name and abs(ours[query, name] - expected) < EXACT else None


def fuzz_pytrec_eval(several: Sequence[Case]) -> Iterator[Row]:
    """Compare random files with pytrec_eval, to the last digits."""
    names = ["ndcg", "map", "recip_rank", "Rprec", "bpref", "infAP", "11pt_avg", "num_ret", "num_rel", "num_rel_ret"]
    names += ["set_P", "set_recall", "set_F", "set_map", "set_relative_P"]
    names += [f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "P", "recall") for k in (1, 5, 10, 100)]
    names += [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)] + ["success_1", "success_5"]
    row = Row("random files", CONVENTIONS["pytrec_eval"].program)
    for case in several:
        theirs = programs.pytrec_eval(case, names)
        ours = values_of("pytrec_eval", names, rd.References.from_grades(case.qrels), case.run, whole=False)
        row.add(ours, theirs, EXACT, case.name)
    yield row


ROUNDED = {"ERR@10", "nDCG(dcg='exp-log2')@10"}  # by gdeval, to five decimals
OF_IR_MEASURES = (
    *("nDCG", "nDCG@5", "AP", "AP@5", "AP(rel=2)", "P@5", "P(rel=2)@10", "R@10", "RR", "RR@10"),
    *("Rprec", "Bpref", "infAP"),
    *("Success@1", "IPrec@0.1", "IPrec@0.5", "SetP", "SetR", "SetF", "SetAP", "NumRet", "NumRel", "Judged@10"),
    *("RBP(p=0.8,rel=1)", *sorted(ROUNDED)),
)


MISSING = "rankdev, like trec_eval -c: ir_measures counts no relevant items for queries that are missing from the run"


def fuzz_ir_measures(several: Sequence[Case]) -> Iterator[Row]:
    """Compare random files with ir_measures, each measure in the order of its provider."""
    row = Row("random files", CONVENTIONS["ir_measures"].program)
    for case in several:
        theirs = programs.ir_measures(case, OF_IR_MEASURES)
        texts = [text.replace("'", "") for text in OF_IR_MEASURES]
        ours = values_of("ir_measures", texts, rd.References.from_grades(case.qrels), case.run, whole=False)
        ours = {(query, name): ours[query, name.replace("'", "")] for query, name in theirs if query in case.qrels}

        def explain(query: str, name: str, case: Case = case) -> str | None:
            return MISSING if name == "NumRel" and query not in case.run else None

        row.add(ours, theirs, lambda name: 0.5000001e-5 if name in ROUNDED else EXACT, case.name, explain)
    yield row


def fuzz_gdeval(several: Sequence[Case], folder: Path) -> Iterator[Row]:
    """Compare random files with gdeval, which needs topics that are numbers and grades up to 4."""
    row = Row("random files", f"{CONVENTIONS['gdeval'].program}, the copy in ir_measures")
    for case in several:
        qrels, run = case.write(folder)
        for cutoff in (5, 20):
            theirs = programs.gdeval(qrels, run, cutoff)
            if not theirs:
                continue  # no query has a relevant item
            ours = values_of("gdeval", [f"ndcg@{cutoff}", f"err@{cutoff}"], qrels, run, whole=False)
            row.add(ours, theirs, 0.5000001e-5, case.name)
    yield row


OF_RANX = (
    *("ndcg", "ndcg@5", "ndcg_burges@5", "map", "map@5", "mrr", "mrr@5", "precision@5", "recall@5", "recall"),
    *("hit_rate@3", "r-precision", "bpref", "f1"),
)
BPREF = (
    "rankdev, like trec_eval: ranx divides by 0 if all judged items are relevant, or none is, and treats negative"
    " grades as nonrelevant"
)
OPEN = "neither: in ranx the order of equal scores depends on its sort"


def fuzz_ranx(several: Sequence[Case]) -> Iterator[Row]:
    """Compare random files with ranx."""
    row = Row("random files", CONVENTIONS["ranx"].program)
    for case, theirs in zip(several, programs.ranx(several, OF_RANX), strict=True):
        ours = values_of("ranx", OF_RANX, rd.References.from_grades(case.qrels), case.run, whole=False)
        row.add(ours, theirs, EXACT, case.name, partial(_why_ranx, case))
    yield row


def _why_ranx(case: Case, query: str, name: str) -> str | None:
    scores, grades = list(case.run.get(query, {}).values()), list(case.qrels[query].values())
    if name == "bpref" and (sum(grade > 0 for grade in grades) in (0, len(grades)) or min(grades) < 0):
        return BPREF
    return OPEN if len(set(scores)) < len(scores) else None


UNRETURNED = (
    "rankdev, like the authors' script: the copy in ir_measures gives items that were not returned a score of 0, above"
    " returned ones with negative scores, and leaves equal scores in the order of the qrels"
)


def fuzz_compatibility(several: Sequence[Case]) -> Iterator[Row]:
    """Compare Compat with ir_measures' copy, whose depth is that of the longer list, and with the published steps."""
    copy = Row("random files, Compat(p=0.9)", f"{CONVENTIONS['ir_measures'].program}, adapted from the authors' script")
    steps = Row("random files, Compat(p=0.9)", "our transcription of Clarke, Vtyurina and Smucker 2020")
    for case in several:
        if case.name.startswith("deep"):
            continue
        theirs = programs.compatibility(case, 0.9)
        references = rd.References.from_grades(case.qrels)
        ours, plainly = {}, {}
        for query, name in theirs:
            text = f"Compat(p=0.9,depth={max(len(case.run[query]), len(references[query]))})"
            run = rd.Run.from_scores({query: case.run[query]}, ties="ascending")[query]
            ours[query, name] = rd.score(references[query], run, text)
            plainly[query, name] = plain.compatibility(rd.parse(text), plain.Query(dict(references[query]), run))
        copy.add(ours, theirs, EXACT, case.name, partial(_why_compatibility, case))
        steps.add(ours, plainly, EXACT, case.name)
    yield copy
    yield steps


def _why_compatibility(case: Case, query: str, name: str) -> str | None:
    run = case.run[query]
    scores = [run[item] for item, grade in case.qrels[query].items() if grade > 0 and item in run]
    return UNRETURNED if min(scores, default=1.0) <= 0 or len(set(scores)) < len(scores) else None


def transcriptions(trials: int, seed: int = 0) -> Iterator[Row]:
    """Compare RBO with the published algorithms, written down again in plain loops."""
    rng = random.Random(seed)
    tied = Row("RBO of random lists, ties w, a and b", "our transcription of Corsi and Urbano 2024")
    strict = Row("RBO of random lists without ties", "our transcription of Webber, Moffat and Zobel 2010, equation 32")
    for i in range(trials):
        items = [f"d{j}" for j in range(rng.randint(1, 12))]
        tiers: list[list[str]] = [[]]
        for item in rng.sample(items, rng.randint(1, len(items))):
            if tiers[-1] and rng.random() < 0.5:
                tiers.append([])
            tiers[-1].append(item)
        run = rng.sample([*items, "x", "y", "z"], rng.randint(1, len(items) + 3))
        reference = rd.References.from_tiers({"q": tiers})["q"]
        for text in (f"RBO(p={p},ties={ties})" for p in (0.5, 0.95) for ties in "wab"):
            expected = plain.overlap(rd.parse(text), plain.Query(dict(reference), run))
            tied.add({("q", text): rd.score(reference, run, text)}, {("q", text): expected}, EXACT, f"list {i}")
        ideal = [item for tier in tiers for item in tier]
        got = rd.score(rd.References.from_lists({"q": ideal})["q"], run, "RBO(p=0.9)")
        strict.add({("q", "RBO"): got}, {("q", "RBO"): extrapolated(run, ideal, 0.9)}, EXACT, f"list {i}")
    yield tied
    yield strict


def extrapolated(one: list[str], other: list[str], p: float) -> float:
    """RBO_ext of Webber, Moffat and Zobel (2010), equation 32, of a shorter and a longer list."""
    s, longer = sorted((len(one), len(other)))
    common = [len(set(one[:d]) & set(other[:d])) for d in range(longer + 1)]
    seen = sum(common[d] / d * p**d for d in range(1, longer + 1))
    rest = sum(common[s] * (d - s) / (s * d) * p**d for d in range(s + 1, longer + 1))
    return (1 - p) / p * (seen + rest) + ((common[longer] - common[s]) / longer + common[s] / s) * p**longer


def leaderboards(data: Path) -> Iterator[Row]:
    """Compare with values by topic of the runs of TREC Deep Learning 2021 (passages), as others computed them."""
    home = data / "trec-dl/passage/dl21"
    runs = {path.name.removeprefix("input.").removesuffix(".gz"): path for path in sorted(home.glob("runs/input.*.gz"))}
    official, of_model = home / "qrels.dl21-passage.txt", home / "umbrela_gpt4o_dl21.qrels.txt"
    preferred = data / "preferences/dl21-llm/prefs.dl21"
    for name, judged, program in (
        ("ndcg_cut10", official, "nDCG@10 of TREC DL 2021 by trec_eval, single precision"),
        ("original.compatibility_p0.90", official, "Compat by its authors' script, TREC DL 2021"),
        ("umbrela_zeroshot.compatibility_p0.90", of_model, "the same, grades of a language model"),
        ("preferences.compatibility_p0.90", preferred, "the same, an order from preferences"),
    ):
        of_trec_eval = name.startswith("ndcg")
        text, ties = ("nDCG@10", "trec_eval") if of_trec_eval else ("Compat(p=0.9,depth=1000)", "ascending")
        with gzip.open(home / f"expected/dl21.{name}.csv.gz", "rt", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row[0] != "runid" and row[1].isdigit()]
        scores = rd.evaluate(judged, runs, text, ties=ties)
        place = {query: q for q, query in enumerate(scores.queries)}
        found = Row(f"TREC Deep Learning 2021, {len(runs)} runs by topic, {text.partition('(')[0]}", program)
        for s, system in enumerate(scores.systems):
            theirs = {(topic, text): float(value) for run, topic, value in rows if run == system}
            ours = {(topic, text): float(scores.values[s, place[topic], 0]) for topic, _ in theirs if topic in place}
            found.add(ours, theirs, PRINTED if of_trec_eval else EXACT, system)
        yield found
