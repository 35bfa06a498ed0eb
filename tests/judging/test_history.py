"""Earlier answers: one's own, changed without losing what they were; databases of before can still be used."""

import sqlite3

import pytest

import rankdev as rd
from tests.judging.serving import Client, serving


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


def outcomes(server):
    return server.session.store.answers().select("worker", "outcome", "comment").rows()


def history(client):
    return client.post("history")[1]["history"]


def changed(client, entry, outcome="second", comment="", request="c1"):
    return client.post("change", request=request, answer=entry["answer"], outcome=outcome, comment=comment)


def test_an_answer_is_changed_and_what_it_was_is_kept(server, tmp_path):
    ann = Client(server)
    for _ in range(2):
        ann.answer(ann.next(), "first", "a")
    old = history(ann)[1]
    assert (old["outcome"], old["comment"], len(old["sides"])) == ("first", "a", 2)
    status, reply = changed(ann, old, "second", "b")
    assert (status, reply["saved"], reply["progress"]["mine"]) == (200, True, 2)
    assert [(e["outcome"], e["comment"]) for e in reply["history"]] == [("second", "b"), ("first", "a")]
    assert outcomes(server) == [("ann", "first", "a"), ("ann", "second", "b")]
    assert changed(ann, old, "second", "b")[0] == 200  # sent again
    assert len(outcomes(server)) == 2
    everything = server.session.store.answers(ended=True)
    assert everything["undone"].to_list() == [1, 0, 0]
    assert everything["ended"].to_list()[0] == everything["at"].to_list()[2]
    assert everything["outcome"].to_list() == ["first", "first", "second"]
    kept = sqlite3.connect(tmp_path / "judgments.sqlite").execute("SELECT id, replaced_by FROM answers").fetchall()
    assert kept == [(1, 3), (2, None), (3, None)]
    assert len(rd.read_preferences(tmp_path / "judgments.sqlite")) == 2


def test_undo_of_a_change_brings_back_the_answer(server):
    ann = Client(server)
    ann.answer(ann.next(), "first")
    ann.answer(ann.next(), "tie")
    changed(ann, history(ann)[1], "second")
    status, reply = ann.post("undo")
    assert (status, reply["undone"], reply["progress"]["mine"]) == (200, True, 2)
    assert [row[1] for row in outcomes(server)] == ["first", "tie"]
    assert ann.post("undo")[1]["progress"]["mine"] == 1
    assert [row[1] for row in outcomes(server)] == ["first"]


def test_history_is_ones_own(server):
    ann, bob = Client(server), Client(server, "bob")
    ann.answer(ann.next())
    mine = history(ann)
    assert history(bob) == []
    status, reply = changed(bob, mine[0])
    assert (status, reply["kind"]) == (400, "answer-gone")
    assert outcomes(server) == [("ann", "first", "")]


def test_a_change_is_made_once(server):
    ann = Client(server)
    ann.answer(ann.next())
    old = history(ann)[0]
    assert changed(ann, old, request="c1")[0] == 200
    assert changed(ann, old, request="c2")[0] == 400  # on another page, which shows what it was
    assert changed(ann, old, "tie", request="c1")[0] == 400  # the same request, another answer
    assert [row[1] for row in outcomes(server)] == ["second"]
