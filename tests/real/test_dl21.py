"""TREC Deep Learning 2021: 63 official runs against values that others computed.

The data are looked for in ../shared/data, or where RANKDEV_DATA says; they are never part of this repository.
"""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import rankdev as rd

DATA = Path(os.environ.get("RANKDEV_DATA", Path(__file__).parents[2].parent / "shared/data"))
DL21 = DATA / "trec-dl/passage/dl21"
TREC_EVAL = {"nDCG@10": "ndcg_cut_10", "AP": "map", "P@10": "P_10", "R@100": "recall_100", "RR": "recip_rank"}

pytestmark = pytest.mark.skipif(not DL21.exists(), reason=f"{DL21} is not there")


def read_expected(name):
    """Values by (run, topic); the files repeat their header and average over a pseudo-topic."""
    with gzip.open(DL21 / "expected" / name, "rt", encoding="utf-8") as lines:
        rows = [row for row in csv.reader(lines) if row[0] != "runid" and row[1].isdigit()]
    return {(run, topic): float(value) for run, topic, value in rows}


@pytest.fixture(scope="module")
def paths():
    return {path.name.removeprefix("input.").removesuffix(".gz"): path for path in sorted(DL21.glob("runs/input.*.gz"))}


@pytest.fixture(scope="module")
def references():
    return rd.read_references(DL21 / "qrels.dl21-passage.txt")


def largest_difference(scores, expected):
    got = {
        (system, query): scores.values[s, q, 0]
        for s, system in enumerate(scores.systems)
        for q, query in enumerate(scores.queries)
    }
    return max(abs(got[cell] - value) for cell, value in expected.items())


def test_ndcg_of_trec_eval(paths, references):
    expected = read_expected("dl21.ndcg_cut10.csv.gz")
    assert len(paths) == 63
    assert len(expected) == 63 * 53
    assert largest_difference(rd.evaluate(references, paths, "nDCG@10"), expected) <= 5.1e-5  # they print 4 decimals


def test_compatibility_of_its_authors(paths, references):
    expected = read_expected("dl21.original.compatibility_p0.90.csv.gz")
    assert len(expected) == 63 * 53
    scores = rd.evaluate(references, paths, "Compat(p=0.9,depth=1000)", ties="ascending")
    assert largest_difference(scores, expected) <= 1e-12


def test_compatibility_with_a_preference_order(paths):
    expected = read_expected("dl21.preferences.compatibility_p0.90.csv.gz")
    assert len(expected) == 63 * 53
    grades = {}
    for line in (DATA / "preferences/dl21-llm/prefs.dl21").read_text(encoding="utf-8").splitlines():
        topic, _, item, value = line.split()  # larger is better
        grades.setdefault(topic, {})[item] = float(value)
    scores = rd.evaluate(rd.References.from_grades(grades), paths, "Compat(p=0.9,depth=1000)", ties="ascending")
    assert largest_difference(scores, expected) <= 1e-12


def test_real_runs_equal_pytrec_eval(paths):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with (DL21 / "qrels.dl21-passage.txt").open(encoding="utf-8") as lines:
        qrels = pytrec_eval.parse_qrel(lines)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL.values()))
    some = dict(list(paths.items())[::8])
    scores = rd.evaluate(rd.References.from_grades(qrels), some, list(TREC_EVAL))
    for s, path in enumerate(some.values()):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
        expected = [[theirs[query][name] for name in TREC_EVAL.values()] for query in scores.queries]
        np.testing.assert_allclose(scores.values[s], expected, rtol=0, atol=1e-12)
