"""What answers say about judges, against a plain computation; nothing is noted of careful judges, nor from little."""

import itertools
import json
import random
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

import rankdev as rd
from rankdev.data.database import COLUMNS
from rankdev.errors import DataError
from rankdev.judging.items import Pool
from rankdev.judging.quality import CHECKS, judge_quality, limits, noticed, read_gold
from rankdev.judging.store import Answer
from rankdev.messages import SENTENCES
from tests.common.examples import examples
from tests.judging.serving import Client, serving
from tests.raising import kinds, noted

SCORE = {"first": 1.0, "tie": 0.5, "second": 0.0}


def frame(answers):
    schema = {name: pl.Float64 if name == "seconds" else pl.String for name in COLUMNS} | {"program": pl.Int64}
    return pl.DataFrame([[getattr(a, name) for name in COLUMNS] for a in answers], schema=schema, orient="row")


def score(answer):
    """1 where the smaller of the two names is better."""
    value = SCORE[answer.outcome]
    return value if answer.first < answer.second else 1 - value


def plain(answers, gold):
    """The sums and numbers of cases of each judge, one answer after the other."""
    found = defaultdict(lambda: defaultdict(list))
    pairs = defaultdict(dict)
    for a in answers:
        key = (a.query, *sorted((a.first, a.second)))
        if a.seconds is not None:
            found[a.worker]["fast"].append(float(a.seconds < 1))
        if a.outcome in ("first", "second"):
            found[a.worker]["left"].append(float(a.outcome == "first"))
        if a.outcome == "skip":
            continue
        if a.kind == "gold" and key in gold:
            expected = 0.5 if gold[key] is None else float(gold[key] == key[1])
            found[a.worker]["gold"].append(1 - abs(score(a) - expected))
        if a.kind == "":
            pairs[key][a.worker] = score(a)
    for by in pairs.values():
        for worker, value in by.items():
            if len(by) > 1:
                alike = [1 - abs(value - other) for name, other in by.items() if name != worker]
                found[worker]["others"].append(np.mean(alike))
    return found


ANSWERS = st.builds(
    lambda query, items, outcome, worker, kind, seconds: Answer(query, *items, outcome, worker, "", "", seconds, kind),
    st.sampled_from("qr"),
    st.sampled_from(list(itertools.permutations("abc", 2))),
    st.sampled_from(["first", "second", "tie", "skip"]),
    st.sampled_from(["ann", "bob", "cy"]),
    st.sampled_from(["", "", "gold"]),
    st.sampled_from([None, 0.5, 3.0]),
)


@examples(40)
@given(st.lists(ANSWERS, max_size=40))
def test_it_is_what_a_plain_computation_gives(answers):
    gold = {("q", "a", "b"): "a", ("q", "b", "c"): None, ("r", "a", "c"): "c"}
    table = judge_quality(frame(answers), gold)[0]
    slow = plain(answers, gold)
    assert table["judge"].to_list() == sorted({a.worker for a in answers})
    for row in table.iter_rows(named=True):
        assert row["answers"] == len([a for a in answers if a.worker == row["judge"]])
        for check in CHECKS:
            values = slow[row["judge"]][check]
            assert row[f"{check}_n"] == len(values)
            assert row[check] == (pytest.approx(np.mean(values)) if values else None)


@pytest.mark.parametrize(("total", "n"), [(0, 1), (1, 1), (3, 5), (2.5, 7), (0, 40), (40, 40), (61, 100)])
def test_limits_are_where_the_mixture_exceeds_the_likelihood(total, n):
    low, high = (float(end[0]) for end in limits(np.array([total]), np.array([n]), 0.05))
    p = np.linspace(1e-6, 1 - 1e-6, 20001)
    mixture = betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5)
    inside = p[mixture - total * np.log(p) - (n - total) * np.log(1 - p) < np.log(20)]
    assert (low, high) == (pytest.approx(inside.min(), abs=1e-4), pytest.approx(inside.max(), abs=1e-4))
    assert limits(np.zeros(1), np.zeros(1), 0.05) == (np.zeros(1), np.ones(1))


def simulated(rng, name, answers, act):
    """Answers of one judge about items whose order is known; one in ten gold."""
    given = []
    for k in range(answers):
        a, b = sorted(rng.sample(range(12), 2))
        query, kind = f"q{rng.randrange(20)}", "gold" if k % 10 == 4 else ""
        first, second = (b, a) if rng.random() < 0.5 else (a, b)
        outcome, seconds = act(rng, first, second)
        given.append(Answer(query, f"d{first:02}", f"d{second:02}", outcome, name, "", f"{k}", seconds, kind))
    return given


def careful(rng, first, second):
    right = rng.random() < 0.93
    return ("first" if (first < second) == right else "second"), rng.lognormvariate(1.5, 0.5)


ACTS = {
    "left-judge": lambda rng, a, b: ("first", 3.0),
    "right-judge": lambda rng, a, b: ("second" if rng.random() < 0.9 else "tie", 3.0),
    "misses-gold": lambda rng, a, b: (rng.choice(["first", "second"]), 3.0),
    "fast-judge": lambda rng, a, b: (careful(rng, a, b)[0], 0.6),
}
GOLD = {(f"q{q}", f"d{a:02}", f"d{b:02}"): f"d{a:02}" for q in range(20) for a in range(12) for b in range(a + 1, 12)}


def test_careful_judges_are_left_in_peace_whenever_one_looks():
    rng, noted = random.Random(5), 0
    for _ in range(8):
        judges = [simulated(rng, name, 120, careful) for name in ("ann", "bob", "cy")]
        looks = [judge_quality(frame([a for mine in judges for a in mine[:n]]), GOLD) for n in (8, 20, 50, 120)]
        noted += any(row for look, _ in looks for row in look["notes"].to_list())
    assert noted <= 2


@pytest.mark.parametrize("what", ACTS)
def test_careless_judges_are_noticed(what):
    rng = random.Random(7)
    answers = [a for name in ("ann", "bob") for a in simulated(rng, name, 500, careful)]
    answers += simulated(rng, "cy", 900, ACTS[what])
    found, remarks = judge_quality(frame(answers), GOLD)
    rows = {row["judge"]: row for row in found.iter_rows(named=True)}
    assert SENTENCES[what] in rows["cy"]["notes"]
    assert noticed(rows["ann"]) == noticed(rows["bob"]) == "nothing noticed"
    assert kinds(remarks) == ["notes-of-judges"]


def test_little_evidence_accuses_nobody():
    rng = random.Random(1)
    found, remarks = judge_quality(frame(simulated(rng, "cy", 6, ACTS["left-judge"])), {})
    (row,) = found.iter_rows(named=True)
    assert noticed(row) == "too few answers to tell (6 answers)"
    assert kinds(remarks) == ["random-unseen"]
    assert judge_quality(frame([]), {})[1] == ()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Two judges, one pair skipped, an answer changed, one taken back, and a name that a spreadsheet would run."""
    monkeypatch.setattr("rankdev.judging.session.GOLD_SHARE", 0)
    gold = {("q1", "d1", "d2"): "d1"}
    with serving(tmp_path, repeats=2, gold=gold) as server:
        store = server.session.store
        store.add("g", Answer("q1", "d2", "d1", "second", "=cmd()", seconds=2.5, kind="gold"))
        for name in ("=cmd()", "bob"):
            client = Client(server, name)
            for outcome in ("first", "tie", "skip"):
                client.answer(client.next(), outcome, "=hello" if outcome == "tie" else "")
        (_, old, *_) = client.post("history")[1]["history"]
        client.post("change", request="c", answer=old["answer"], outcome="second", comment="")
        client.answer(client.next())
        client.post("undo")
        yield server


def owner(server):
    return Client(server, "eve", server.tokens.owner)


def exported(server, **asked):
    status, content = owner(server).post("export", **asked)
    assert status == 200, content
    return content


def test_all_answers_are_exported(served, tmp_path):
    rows = [json.loads(line) for line in exported(served, form=".jsonl", what="answers").decode().splitlines()]
    assert len(rows) == 9
    assert [row["outcome"] for row in rows].count("skip") == 2
    assert [(row["undone"], bool(row["ended"])) for row in rows].count((True, True)) == 2
    assert {row["comment"] for row in rows} == {"", "=hello"}
    gold = next(row for row in rows if row["kind"] == "gold")
    assert (gold["gold"], gold["outcome"], gold["seconds"]) == ("second", "second", 2.5)
    assert all(row["in_items"] and row["seconds"] is not None for row in rows)
    assert len([json.loads(line) for line in exported(served, form=".jsonl").decode().splitlines()]) == 4


@pytest.mark.parametrize(("what", "marked"), [("judgments", 2), ("answers", 6)])
def test_exports_for_spreadsheets_run_nothing(what, marked, served):
    for form, mark in ((".csv", ","), (".tsv", "\t")):
        plain_text, safe = (exported(served, form=form, what=what, safe=s).decode() for s in (False, True))
        assert "=cmd()" in plain_text
        assert "'=" not in plain_text
        cells = [cell.strip('"') for line in safe.splitlines() for cell in line.split(mark)]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
        assert len([cell for cell in cells if cell.startswith("'=")]) == marked


def test_the_owner_sees_what_answers_say(served):
    reply = owner(served).post("overview")[1]
    rows = {row["judge"]: row for row in reply["judges"]}
    assert (rows["=cmd()"]["answers"], rows["=cmd()"]["skips"], rows["=cmd()"]["gold"]) == (4, 1, 1.0)
    assert rows["bob"]["noticed"] == "too few answers to tell (3 answers)"
    assert rows["bob"]["gold"] is None
    assert reply["models"] == {}
    for path in ("overview", "export", "links"):
        assert Client(served, "bob").post(path, form=".csv", what="answers")[0] == 403


def test_results_leave_out_what_the_items_no_longer_have(tmp_path):
    with serving(tmp_path) as server:
        client = Client(server)
        for _ in range(9):
            client.answer(client.next())
    with serving(tmp_path, [{"query": "q1", "item": f"d{k}"} for k in (1, 2, 9)]) as server:
        reply = owner(server).post("overview", query="q1")[1]
        assert reply["left_out"] == 8
        assert {entry["item"] for tier in reply["tiers"] for entry in tier} <= {"d1", "d2"}
        assert [row["answers"] for row in reply["judges"]] == [1]
        rows = [json.loads(line) for line in exported(server, form=".jsonl", what="answers").decode().splitlines()]
        assert [row["in_items"] for row in rows].count(True) == 1
        assert len(rows) == 9


def test_a_model_is_checked_on_the_owners_page(tmp_path):
    rows = [{"query": f"q{k}", "item": item} for k in range(12) for item in "ab"]
    with serving(tmp_path, rows) as server:
        store = server.session.store
        for k in range(12):
            store.add(f"m{k}", Answer(f"q{k}", "a", "b", "first", "small", program=1))
        told = owner(server).post("overview")[1]["models"]["small"]
        assert told == [str(DataError("no-shared-pair", model="small"))]
        for k in range(12):
            store.add(f"p{k}", Answer(f"q{k}", "b", "a", "second", "ann"))
        reply = owner(server).post("overview")[1]
        assert reply["models"]["small"][0].startswith("small agrees with people on 100% of 12 answers about 12 queries")
        assert [row["judge"] for row in reply["judges"]] == ["ann"]


KNOWN = {(f"q{q}", "d0", f"d{k}"): "d0" for q in range(6) for k in (5, 6)}


def test_gold_pairs_are_mixed_in_and_are_no_judgments(tmp_path, monkeypatch):
    monkeypatch.setattr("rankdev.judging.session.random.SystemRandom", lambda: random.Random(3))
    rows = [{"query": f"q{q}", "item": f"d{k}"} for q in range(6) for k in range(7)]
    with serving(tmp_path, rows, gold=KNOWN) as server:
        ann, asked = Client(server), []
        for _ in range(60):
            asked.append(ann.next())
            first, second = (side["item"] for side in asked[-1]["sides"])
            assert ann.answer(asked[-1], "first" if first < second else "second")[1]["saved"]
        found = server.session.store.answers()["kind"].to_list()
        assert 2 <= found.count("gold") <= 12
        assert found.count("") == 60 - found.count("gold")
        pairs = [(q["query"]["id"], *sorted(side["item"] for side in q["sides"])) for q in asked]
        assert [pair in KNOWN for pair in pairs] == [kind == "gold" for kind in found]
        assert len(set(pairs)) == 60
        assert len({str(sorted(question)) + str([sorted(s) for s in question["sides"]]) for question in asked}) == 1
        judged = rd.read_preferences(tmp_path / "judgments.sqlite")
        assert len(judged) == found.count("")
        noted(judged.remarks, "gold-left-out", count=found.count("gold"))
        total = sum(state.count for state in server.session.strategy.queries.values())
        assert total == found.count("")


def test_gold_is_read_from_csv(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("query,first,second,outcome\nq,b,a,first\nq,b,c,tie\nq,c,a,second\n")
    pool = Pool.of({"q": ["a", "b", "c"]})
    assert read_gold(path, pool) == {("q", "a", "b"): "b", ("q", "b", "c"): None, ("q", "a", "c"): "a"}
