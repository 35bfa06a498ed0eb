"""Gold pairs are mixed in, look like others, and are no judgments."""

import random

import pytest

import rankdev as rd
from rankdev.judging.items import Pool
from rankdev.judging.quality import read_gold
from tests.judging.serving import Client, serving
from tests.raising import noted

ROWS = [{"query": f"q{q}", "item": f"d{k}"} for q in range(6) for k in range(7)]
GOLD = {(f"q{q}", "d0", f"d{k}"): "d0" for q in range(6) for k in (5, 6)}


@pytest.fixture
def random_draws(monkeypatch):
    """Questions that are the same at every run."""
    monkeypatch.setattr("rankdev.judging.session.random.SystemRandom", lambda: random.Random(3))


def said(question):
    """The items in their order, which is their number."""
    first, second = (side["item"] for side in question["sides"])
    return "first" if first < second else "second"


def judge(server, name, answers, outcome=said):
    client, asked = Client(server, name), []
    for _ in range(answers):
        question = client.next()
        if question is None:
            break
        asked.append(question)
        assert client.answer(question, outcome(question))[1]["saved"]
    return asked


def kinds(server):
    return server.session.store.answers()["kind"].to_list()


def test_gold_pairs_are_mixed_in_and_are_no_judgments(random_draws, tmp_path):
    with serving(tmp_path, ROWS, gold=GOLD) as server:
        asked = judge(server, "ann", 60)
        found = kinds(server)
        assert 2 <= found.count("gold") <= 12
        assert found.count("") == 60 - found.count("gold")
        pairs = [(q["query"]["id"], *sorted(side["item"] for side in q["sides"])) for q in asked]
        assert [pair in GOLD for pair in pairs] == [kind == "gold" for kind in found]
        assert len(set(pairs)) == 60
        assert len({str(sorted(question)) + str([sorted(s) for s in question["sides"]]) for question in asked}) == 1
        judged = rd.read_preferences(tmp_path / "judgments.sqlite")
        assert len(judged) == found.count("")
        noted(judged.remarks, "gold-left-out", count=found.count("gold"))
        total = sum(state.count for state in server.session.strategy.queries.values())
        assert total == found.count("")


def test_a_restart_goes_on_and_keeps_what_was_asked_for(random_draws, tmp_path):
    with serving(tmp_path, ROWS, quick=True, gold=GOLD) as server:
        judge(server, "ann", 30)
        before = kinds(server)
    with serving(tmp_path, ROWS, quick=True, gold=GOLD) as server:
        judge(server, "ann", 30)
        assert kinds(server)[:30] == before
        assert Client(server).post("next")[1]["progress"]["mine"] == 60
        pairs = server.session.store.answers().select("query", "first", "second", "kind").rows()
        assert len({(q, *sorted((a, b)), kind) for q, a, b, kind in pairs}) == 60
    with serving(tmp_path, ROWS, quick=True) as server:  # without gold, answers to gold pairs are still none
        judge(server, "ann", 1)
        assert len(rd.read_preferences(tmp_path / "judgments.sqlite")) == kinds(server).count("")


def test_undo_of_a_gold_pair_asks_it_again(random_draws, tmp_path):
    with serving(tmp_path, ROWS, quick=True, gold=GOLD) as server:
        ann = Client(server)
        while "gold" not in kinds(server):
            question = ann.next()
            ann.answer(question, said(question))
        assert ann.post("undo")[1]["question"] == question
        ann.answer(question, "tie")
        assert kinds(server)[-1] == "gold"
        assert len(rd.read_preferences(tmp_path / "judgments.sqlite")) == kinds(server).count("")


POOL = Pool.of({"q": ["a", "b", "c"]})


def test_gold_is_read_from_csv(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("query,first,second,outcome\nq,b,a,first\nq,b,c,tie\nq,c,a,second\n")
    assert read_gold(path, POOL) == {("q", "a", "b"): "b", ("q", "b", "c"): None, ("q", "a", "c"): "a"}
