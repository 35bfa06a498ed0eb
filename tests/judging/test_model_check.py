"""People check a model: they are asked what it was asked, and agreement, verdicts and scores follow."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

import rankdev as rd
from rankdev.judging import check_model
from rankdev.judging.check import scored
from rankdev.judging.items import read_items
from rankdev.judging.page import overview
from rankdev.judging.session import Session
from rankdev.judging.store import Answer, Store
from rankdev.judging.strategies import CheckStrategy
from tests.judging.serving import written
from tests.raising import noted, raises

ITEMS = list("abcde")


def rows(queries=15, error=0.0, people=("ann",), by_people=12, seed=0):
    """Answers of a model to all pairs of all queries, and of people in the first queries; the alphabet is right."""
    rng = np.random.default_rng(seed)
    for k in range(queries):
        for a, b in combinations(ITEMS, 2):
            for worker in ("small", *(people if k < by_people else ())):
                wrong = rng.random() < (error if worker == "small" else 0.05)
                yield f"q{k}", *((b, a) if wrong else (a, b)), worker


RUNS = {
    "good": {f"q{k}": ITEMS for k in range(15)},
    "poor": {f"q{k}": list("bdaec") if k % 3 else list("abced") for k in range(15)},
}


def test_agreement_is_that_of_the_answers_to_the_same_pairs():
    judged = [
        ("q1", "a", "b", "small"),
        ("q1", "a", "b", "ann"),  # agrees
        ("q1", "b", "a", "bob"),  # does not
        ("q1", "a", "c", "ann"),  # was not asked
        ("q2", "c", "d", "small"),
    ]
    tied = [
        {"query": "q2", "winner": "c", "loser": "d", "tie": True, "worker": "ann"},  # half
        {"query": "q3", "winner": "c", "loser": "d", "tie": True, "worker": "small"},
        {"query": "q3", "winner": "d", "loser": "c", "tie": True, "worker": "bob"},  # agrees
    ]
    names = ("query", "winner", "loser", "worker")
    records = [dict(zip(names, row, strict=True), tie=False) for row in judged] + tied
    found = check_model(pl.DataFrame(records), "small")
    assert (found.answers, found.queries, found.agreement) == (4, 3, 2.5 / 4)
    assert found.judges.select("judge", "answers", "agreement").rows() == [("ann", 2, 0.75), ("bob", 2, 0.5)]
    assert found.between_people == 0.0
    assert found.low <= found.agreement <= found.high
    assert found.verdict == "undecided"
    alone = check_model(pl.DataFrame(records), "small", leave_out=["bob"])
    assert (alone.answers, alone.agreement, alone.between_people) == (2, 0.75, None)


def test_scores_are_those_of_people_estimated_from_both():
    judged = list(rows(error=0.1))
    found = check_model(judged, "small", runs=RUNS, measures="RDQ@5")
    table = pl.DataFrame(judged, schema=["query", "winner", "loser", "worker"], orient="row")
    parts = (table.filter(pl.col("worker") == worker).drop("worker") for worker in ("ann", "small"))
    expected = rd.prediction_powered(*(scored(part, RUNS, "RDQ@5") for part in parts))
    assert found.scores.to_polars().equals(expected.to_polars())
    assert (found.scores.both, found.scores.model_only) == (12, 3)
    turned = replace(found, scores=replace(found.scores, lower_is_better=("RDQ@5",)))
    for one, verdict in ((found, "worse"), (turned, "better")):
        assert one._estimates().filter(a="poor", b="good")["verdict"].to_list() == [verdict]


def test_a_query_that_people_have_not_finished_is_left_out():
    judged = [row for row in rows() if row[:3] != ("q0", "a", "b") or row[3] == "small"]
    found = check_model(judged, "small", runs=RUNS, measures=["RDQ@5"])
    assert found.scores.both == 11
    noted(found.remarks, "unfinished-queries", count=1)
    with raises("few-finished", rd.DataError, count=9):
        check_model(list(rows(by_people=9)), "small", runs=RUNS, measures="RDQ@5")


def test_people_are_asked_what_the_model_answered_query_by_query(tmp_path):
    path = written(tmp_path / "items.jsonl", [{"query": f"q{k}", "item": item} for k in range(4) for item in "abcd"])
    items, store = read_items(path), Store(tmp_path / "judged.sqlite")
    for k in range(4):
        for a, b in combinations("abc", 2):
            outcome = "skip" if (k, a, b) == (1, "a", "b") else "first"
            store.add(f"{k} {a} {b}", Answer(f"q{k}", a, b, outcome, "small"))
    before = store.given()
    session = Session(items, store, CheckStrategy(items.pool, "small", before, repeats=1), checked="small", least=0)
    seen = []
    while question := session.question("ann")["question"]:
        pair = [side["item"] for side in question["sides"]]
        query = question["query"]["id"]
        seen.append((query, *sorted(pair)))
        outcome = "skip" if len(seen) == 2 else "first" if pair == sorted(pair) else "second"
        reply = {"query": query, "first": pair[0], "second": pair[1], "outcome": outcome, "comment": ""}
        session.answer("ann", f"r{len(seen)}", reply)
    error = overview(session, None)["error"]
    store.close()
    assert sorted(seen) == sorted((a.query, a.first, a.second) for a in before if a.outcome != "skip")
    order = [query for k, (query, *_) in enumerate(seen) if k == 0 or seen[k - 1][0] != query]
    assert len(order) == 4
    assert order != sorted(order)  # a random order of the queries
    assert error is None
    found = check_model(tmp_path / "judged.sqlite", "small")
    assert (found.answers, found.agreement) == (10, 1.0)
