"""Time calls on data in memory, and starts of the command line: python -m benchmarks.scoring.calls [--keep].

CPU time, beside other libraries, in turn: the least of several rounds, so that a busy machine changes no ratio.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytrec_eval
from benchmarks.history import Row, report
from benchmarks.scoring.__main__ import medians
from benchmarks.scoring.data import generate
from ranx import Qrels, Run
from ranx import evaluate as ranx

import rankdev as rd

Calls = dict[str, Callable[[], object]]
PEERS = ("ir_measures", "pytrec_eval", "ranx", "torchmetrics")
MEASURE = "nDCG@10"


def data(queries: int, items: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Make grades 0 to 3 of half of the items that a run returns, and the run."""
    random = np.random.default_rng(0)
    names = [f"q{query}" for query in range(queries)]
    ids = [f"d{item}" for item in range(items)]
    grades = {q: dict(zip(ids, random.integers(0, 4, items // 2).tolist(), strict=False)) for q in names}
    return grades, {q: dict(zip(ids, random.random(items).tolist(), strict=True)) for q in names}


def calls(queries: int, items: int) -> Calls:
    """Return what each library calls for a dict of grades, prepared, and a dict of scores."""
    grades, run = data(queries, items)
    references = rd.References.from_grades(grades)
    prepared = ir_measures.evaluator([ir_measures.nDCG @ 10], grades)
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"})
    qrels = Qrels(grades)
    return {
        "rankdev": lambda: rd.evaluate(references, {"run": run}, MEASURE),
        "ir_measures": lambda: prepared.calc_aggregate(run),
        "pytrec_eval": lambda: evaluator.evaluate(run),
        "ranx": lambda: ranx(qrels, Run(run), "ndcg@10"),
    }


def loop(batches: int, queries: int, items: int) -> Calls:
    """Return the same for the batches of a training loop, each with references of its own."""
    parts = [data(queries, items) for _ in range(batches)]
    measure = [ir_measures.nDCG @ 10]

    def each(score: Callable[[dict[str, dict[str, int]], dict[str, dict[str, float]]], object]) -> Callable[[], object]:
        return lambda: [score(*part) for part in parts]

    return {
        **({"torchmetrics": of_tensors(parts)} if find_spec("torchmetrics") else {}),
        "rankdev": each(lambda grades, run: rd.evaluate(rd.References.from_grades(grades), {"run": run}, MEASURE)),
        "ir_measures": each(lambda grades, run: ir_measures.calc_aggregate(measure, grades, run)),
        "pytrec_eval": each(lambda grades, run: pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"}).evaluate(run)),
        "ranx": each(lambda grades, run: ranx(Qrels(grades), Run(run), "ndcg@10")),
    }


def of_tensors(parts: list[tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]]) -> Callable[[], object]:
    """Return the call of torchmetrics, which takes the tensors that a training loop has."""
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    torch.set_num_threads(1)
    batches = []
    for grades, run in parts:
        rows = [(q, score, grades[query].get(d, 0)) for q, query in enumerate(run) for d, score in run[query].items()]
        index, scores, labels = zip(*rows, strict=True)
        batches.append((torch.tensor(scores), torch.tensor(labels), torch.tensor(index)))
    measure = RetrievalNormalizedDCG(top_k=10)
    return lambda: [measure(scores, labels, indexes=index) for scores, labels, index in batches]


def track(runs: int, queries: int, folder: Path) -> Calls:
    """Return what each library calls for the files of a track, from lines to means; each reads with its own reader."""
    files = generate(folder, "track", runs, queries)
    qrels, paths = str(files.qrels), {path.stem: str(path) for path in files.runs}

    def by_pytrec_eval() -> object:
        with open(qrels, encoding="utf-8") as lines:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), {"ndcg_cut.10"})
        found = []
        for path in paths.values():
            with open(path, encoding="utf-8") as lines:
                found.append(evaluator.evaluate(pytrec_eval.parse_run(lines)))
        return found

    def by_ir_measures() -> object:
        evaluator = ir_measures.evaluator([ir_measures.nDCG @ 10], ir_measures.read_trec_qrels(qrels))
        return [evaluator.calc_aggregate(ir_measures.read_trec_run(path)) for path in paths.values()]

    def by_ranx() -> object:
        judged = Qrels.from_file(qrels, kind="trec")
        return [ranx(judged, Run.from_file(path, kind="trec"), "ndcg@10") for path in paths.values()]

    return {
        "rankdev": lambda: rd.evaluate(qrels, paths, MEASURE),
        "ir_measures": by_ir_measures,
        "pytrec_eval": by_pytrec_eval,
        "ranx": by_ranx,
    }


def from_tables(queries: int, items: int, folder: Path) -> dict[str, Calls]:
    """Return rankdev's calls for one run as a dict, a frame and a file."""
    grades, run = data(queries, items)
    references = rd.References.from_grades(grades)
    rows = [(query, item, score) for query, scores in run.items() for item, score in scores.items()]
    frame = pl.DataFrame(rows, schema=["query", "item", "score"], orient="row")
    path = folder / "large.run"
    path.write_text("".join(f"{q} Q0 {d} 0 {s!r} large\n" for q, d, s in rows), encoding="utf-8")
    size = f"{queries:,} × {items}"
    return {
        f"a polars frame, {size}": {"rankdev": lambda: rd.evaluate(references, {"run": frame}, MEASURE)},
        f"a TREC file, {size}": {"rankdev": lambda: rd.evaluate(references, {"run": path}, MEASURE)},
    }


def milliseconds(work: Calls) -> dict[str, float]:
    """Return the least CPU time of each call, in rounds that take about three seconds of it together."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for call in work.values():
        call()
    end = time.process_time() + 3
    while time.process_time() < end or len(times["rankdev"]) < 5:
        for name, call in work.items():
            begin = time.process_time()
            call()
            times[name].append((time.process_time() - begin) * 1e3)
    return {name: min(taken) for name, taken in times.items()}


def row(name: str, taken: dict[str, float]) -> Row:
    """Return a row of the table: milliseconds of each library, and how many times those of the fastest peer we take."""
    fastest = min((taken[peer] for peer in PEERS if peer in taken), default=None)
    times: dict[str, float | None] = {library: taken.get(library) for library in ("rankdev", *PEERS)}
    return {"work": name, **times, "rankdev ÷ the fastest": None if fastest is None else taken["rankdev"] / fastest}


def starts(folder: Path) -> list[Row]:
    """Time the commands from their start to their end, on two queries."""
    qrels, run = folder / "two.qrels", folder / "two.run"
    qrels.write_text("q1 0 a 1\nq1 0 b 2\nq2 0 c 1\n")
    run.write_text("q1 Q0 a 1 2.0 r\nq1 Q0 b 2 1.0 r\nq2 Q0 c 1 1.0 r\n")
    call = [sys.executable, "-c", "from rankdev.cli import main; main()"]
    peer = [sys.executable, "-m", "ir_measures", str(qrels), str(run), MEASURE]
    commands = {
        "`eval`, two queries": {"rankdev": [*call, "eval", str(qrels), str(run), "-m", MEASURE], "ir_measures": peer},
        "`--version`": {"rankdev": [*call, "--version"]},
        "`--help`": {"rankdev": [*call, "--help"]},
    }
    return [
        row(name, {library: cost.cpu * 1e3 for library, cost in medians(asked, 9).items()})
        for name, asked in commands.items()
    ]


def main() -> None:
    """Measure, print."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="rankdev-calls-") as name:
        folder = Path(name)
        work = {f"dicts, {q:,} × {n}": calls(q, n) for q, n in ((1, 10), (50, 50), (10_000, 100))}
        work |= {"dicts, 1 × 10, and their references": loop(1, 1, 10)}
        work |= {"training loop, 100 batches of 32 × 20": loop(100, 32, 20), **from_tables(10_000, 100, folder)}
        work["files of a track, 40 runs × 50 × 100"] = track(40, 50, folder)
        rows = [row(name, milliseconds(libraries)) for name, libraries in work.items()]
        report("Calls, milliseconds", rows + starts(folder), keep="--keep" in sys.argv[1:])


if __name__ == "__main__":
    main()
