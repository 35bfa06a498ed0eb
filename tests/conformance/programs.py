"""The other programs, each asked for its values of a case: (query, name) → value, ``all`` for the mean."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from tests.conformance.cases import Case

Values = dict[tuple[str, str], float]
RANX = """
import json, sys, ranx
names, cases = json.load(sys.stdin)
found = []
for qrels, run in cases:
    judged = ranx.Qrels(qrels)
    own = ranx.Run(run).make_comparable(judged)
    ranx.evaluate(judged, own, names)
    found.append({name: dict(values) for name, values in own.scores.items()})
json.dump(found, sys.stdout)
"""


def build_trec_eval(archive: Path, folder: Path) -> Path:
    """Unpack and compile trec_eval; return the folder with the program and its test files."""
    home = folder / archive.name.removesuffix(".tar.gz")
    if not (home / "trec_eval").exists():
        home.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            packed.extractall(home, filter="data")
        nested = [path for path in home.iterdir() if path.is_dir() and (path / "trec_eval.c").exists()]
        made_in = nested[0] if nested else home
        subprocess.run(["make", "-C", str(made_in), "trec_eval"], check=True, capture_output=True)
        for path in list(made_in.iterdir()) if nested else []:
            shutil.move(path, home)
    return home


def trec_eval(program: Path, arguments: Sequence[str], qrels: Path, run: Path) -> Values:
    """Ask trec_eval; what is no number (the run's name) is left out."""
    done = subprocess.run([program, *arguments, qrels, run], capture_output=True, check=True)
    return parse_lines(done.stdout.decode())


def parse_lines(text: str) -> Values:
    """Read trec_eval's lines: name, query, value."""
    found: Values = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3:
            try:
                found[fields[1], fields[0]] = float(fields[2])
            except ValueError:
                continue
    return found


def pytrec_eval(case: Case, names: Sequence[str]) -> Values:
    """Ask pytrec_eval, which has all digits."""
    import pytrec_eval as library

    found = library.RelevanceEvaluator(case.qrels, set(names)).evaluate(case.run)
    return {(query, name): value for query, values in found.items() for name, value in values.items()}


def ir_measures(case: Case, texts: Sequence[str]) -> Values:
    """Ask ir_measures, as it was published: without the measures that rankdev adds to it."""
    import ir_measures as library

    wanted = {library.parse_measure(text): text for text in texts}
    found = library.iter_calc(list(wanted), case.qrels, case.run)
    return {(metric.query_id, wanted[metric.measure]): metric.value for metric in found}


def gdeval(qrels: Path, run: Path, cutoff: int) -> Values:
    """Ask gdeval.pl, of which ir_measures has a copy."""
    with as_file(files("ir_measures") / "bin/gdeval.pl") as script:
        done = subprocess.run(["perl", script, qrels, run, str(cutoff)], capture_output=True, check=True, text=True)
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    return {
        (row[1], name): float(row[place])
        for row in rows
        for name, place in ((f"ndcg@{cutoff}", 2), (f"err@{cutoff}", 3))
    }


def ranx(several: Sequence[Case], names: Sequence[str]) -> list[Values]:
    """Ask ranx in a process of its own, where it runs as plain Python: compiling it takes minutes."""
    told = json.dumps([list(names), [[case.qrels, case.run] for case in several]])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", RANX]
    done = subprocess.run(command, input=told, env=environment, capture_output=True, check=True, text=True)
    return [
        {(query, name): value for name, values in found.items() for query, value in values.items()}
        for found in json.loads(done.stdout)
    ]


def compatibility(case: Case, p: float) -> Values:
    """Ask the function of the measure's authors, of which ir_measures has a copy."""
    from ir_measures.providers.compat_provider import compatibility as of_authors

    known = [query for query in case.qrels if query in case.run]
    return {(query, "Compat"): of_authors(case.qrels[query], case.run[query], p, True) for query in known}


def installed(name: str) -> bool:
    """Tell whether a library, and Perl for gdeval, is there."""
    if name == "gdeval":
        return find_spec("ir_measures") is not None and shutil.which("perl") is not None
    return find_spec(name) is not None
