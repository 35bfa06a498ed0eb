"""The session and its server: no answer is lost, judges do not disturb each other, and nobody else gets in."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from urllib.parse import urlsplit

import polars as pl
import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.data.formats import ENDINGS
from rankdev.judging.session import LEAST, LOOKING
from tests.judging.serving import Client, serving, written
from tests.raising import noted, raises


def test_every_answer_is_kept_once(server):
    ann = Client(server)
    question = ann.next()
    status, reply = ann.answer(question, "second", "close", request="r1")
    assert (status, reply["saved"], reply["progress"]["mine"]) == (200, True, 1)
    assert ann.answer(question, "second", "close", request="r1")[1]["progress"]["mine"] == 1  # sent again
    assert ann.answer(question, "first", request="r1")[0] == 400  # something else under the same number
    row = server.session.store.answers().row(0, named=True)
    assert (row["outcome"], row["worker"], row["comment"]) == ("second", "ann", "close")


def asked_of(client, say):
    """What a judge is asked until nothing is left."""
    pairs = []
    while question := client.next():
        pairs.append((question["query"]["id"], *(side["item"] for side in question["sides"])))
        client.answer(question, say(*pairs[-1][1:]))
    return pairs


def test_a_lone_judge_is_asked_one_pair_in_eight_again_as_by_collect(tmp_path):
    with serving(tmp_path, [{"query": "q", "item": item} for item in "hcafbgde"], repeats=2) as server:
        pairs = asked_of(Client(server), lambda a, b: "first" if a < b else "second")
        found = rd.collect(lambda query, a, b: min(a, b), {"q": list("hcafbgde")})
        assert abs(len(pairs) - found.asked) <= 3
        unordered = [frozenset(pair[1:]) for pair in pairs]
        assert all(unordered[k] in unordered[:k] for k in range(7, len(pairs), 8))
        assert len(set(pairs)) == len(pairs)  # the second time with sides changed
        assert all(before != after for before, after in pairwise(unordered))


def test_where_several_judge_nobody_is_asked_a_pair_twice(tmp_path):
    with serving(tmp_path, [{"query": "q", "item": item} for item in "abcdef"], repeats=2) as server:
        clients = [Client(server, name) for name in ("ann", "bob")]
        for client in clients:
            client.answer(client.next(), "tie")
            client.answer(client.next(), "tie")
        for client in clients:
            asked_of(client, lambda a, b: "tie")
        given = server.session.store.answers()
        sides = pl.concat_str(pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"))
        assert given.select("query", "worker", sides).is_unique().all()


def test_cannot_say_is_no_judgment_and_goes_to_others(server, tmp_path):
    ann = Client(server)
    while question := ann.next():
        ann.answer(question, "skip")
    bob = Client(server, "bob")
    bob.answer(bob.next())
    read = rd.read_preferences(tmp_path / "judgments.sqlite")
    assert len(read) == 1
    noted(read.remarks, "skipped-left-out", count=9)


def test_undo_takes_back_one_answer_of_that_judge(server):
    ann, bob = Client(server), Client(server, "bob")
    first = ann.next()
    ann.answer(first, "first")
    bob.answer(bob.next(), "second")
    status, reply = ann.post("undo")
    assert (status, reply["undone"], reply["question"]) == (200, True, first)
    assert (reply["progress"]["mine"], reply["progress"]["all"], reply["progress"]["left"] > 0) == (0, 1, True)
    assert server.session.store.answers()["worker"].to_list() == ["bob"]
    assert ann.post("undo")[1]["undone"] is False


def test_judges_at_once_lose_nothing(tmp_path):
    rows = [{"query": f"q{q}", "item": f"d{k}"} for q in range(4) for k in range(8)]
    with serving(tmp_path, rows) as server:

        def judge(name):
            client, count = Client(server, name), 0
            while count < 25 and (question := client.next()):
                count += client.answer(question, "first")[1]["saved"]
            return count

        with ThreadPoolExecutor(4) as pool:
            counts = list(pool.map(judge, ["ann", "bob", "cy", "dee"]))
        answers = server.session.store.answers()
        assert answers["worker"].value_counts().height == 4
        assert sum(counts) == len(answers) == 100
        pairs = {(q, *sorted(pair)) for q, *pair in answers.select("query", "first", "second").rows()}
        assert len(pairs) == 100  # nobody was asked what another had answered


def test_answers_about_other_items_are_not_taken_back(tmp_path):
    with serving(tmp_path) as server:
        ann = Client(server)
        ann.answer(ann.next())
    with serving(tmp_path, [{"query": "q9", "item": f"d{k}"} for k in (1, 2, 9)]) as server:
        ann = Client(server)
        status, reply = ann.post("undo")
        assert (status, reply["undone"], reply["progress"]["mine"]) == (200, False, 0)
        assert len(server.session.store.answers()) == 1
        assert Client(server, "bob").next()["query"]["id"] == "q9"


@pytest.mark.parametrize("form", ENDINGS)
def test_every_format_is_exported_and_read_again(form, server, tmp_path):
    ann = Client(server)
    for outcome in ("first", "second", "tie", "skip", "first"):
        ann.answer(ann.next(), outcome)
    status, content = Client(server, token=server.tokens.owner).post("export", form=form)
    assert status == 200
    path = tmp_path / f"out{form}"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    columns = ["query", "winner", "loser", "tie", "first"]
    read = rd.read_preferences(path).to_polars().select(columns)
    assert read.equals(rd.read_preferences(tmp_path / "judgments.sqlite").to_polars().select(columns))


def test_the_database_is_not_written_over(server, tmp_path):
    ann = Client(server)
    ann.answer(ann.next())
    path = str(tmp_path / "judgments.sqlite")
    (tmp_path / "refs.jsonl").symlink_to(path)
    output = str(tmp_path / "refs.jsonl")
    result = CliRunner().invoke(cli, ["refs", "preferences", path, "--disconnected", "largest", "-o", output])
    assert isinstance(result.exception, rd.UsageError)
    with raises("describes-itself", rd.UsageError):
        rd.read_preferences(path, columns={"query": "query"})


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"Host": "evil.example"}, 403, "unknown-host"),
        ({"Origin": "http://evil.example"}, 403, "other-site"),
        ({"Origin": "null"}, 403, "other-site"),
        ({"Content-Type": "text/plain"}, 400, "bad-request"),
        ({"Authorization": ""}, 401, "bad-link"),
        ({"Authorization": "Bearer wrong"}, 401, "bad-link"),
        ({"Authorization": "Bearer ünknown"}, 401, "bad-link"),
        ({"Content-Length": "99999999"}, 400, "bad-request"),
    ],
)
def test_others_are_refused(headers, status, kind, server):
    client = Client(server)
    sent = {name: value.encode() if not value.isascii() else value for name, value in headers.items()}
    found, reply = client.post(
        "answer", headers=sent, request="r", query="q1", first="d1", second="d2", outcome="first"
    )
    assert (found, reply["kind"], bool(reply["error"])) == (status, kind, True)
    assert server.session.store.answers().is_empty()


def test_pages_run_no_script_but_their_own(server):
    client = Client(server)
    for path in ("/", "/judge.js", "/page.js", "/judge.css", "/page.css"):
        response, content = client.get(path)
        assert response.status == 200
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert server.tokens.judge.encode() not in content
    for path in ("/../store.py", "/judge.html", "/image/x/0", "/api/next"):
        assert Client(server).get(path)[0].status == 404


def test_images_come_with_the_question(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG picture")
    pictures = {"d1": "a.png", "d2": "https://p.example/x"}
    rows = [{"query": "q", "item": item, "image": image} for item, image in pictures.items()]
    with serving(tmp_path, rows) as server:
        client = Client(server)
        sides = {side["item"]: side for side in client.next()["sides"]}
        assert sides["d1"]["image"] == "data:image/png;base64,iVBORyBwaWN0dXJl"
        assert sides["d2"]["image"] == "https://p.example/x"
        (tmp_path / "a.png").unlink()
        client.answer(client.next())
        assert {side["item"]: side.get("image") for side in history(client)[0]["sides"]} == {**pictures, "d1": None}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("end", "status", "says"),
    [(signal.SIGINT, 0, "rankdev: 3 answers are in j.sqlite\n"), (signal.SIGKILL, -signal.SIGKILL, "")],
)
def test_the_command_keeps_what_it_called_saved(end, status, says, tmp_path):
    items = str(written(tmp_path / "items.jsonl"))
    command = [sys.executable, "-m", "rankdev", "judge", items, "--db", "j.sqlite", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    link = urlsplit(process.stdout.readline().split()[1])
    ann = Client(SimpleNamespace(server_address=(link.hostname, link.port)), token=link.fragment)
    assert link.hostname == "127.0.0.1"
    for _ in range(3):
        question = ann.next()
        time.sleep(1.1 * LEAST)  # a pair has to be seen
        assert ann.answer(question)[1]["saved"]
    process.send_signal(end)
    _, reply = process.communicate(timeout=60)
    assert (process.returncode, reply) == (status, says)
    assert len(rd.read_preferences(tmp_path / "j.sqlite")) == 3


def test_a_pair_that_was_just_shown_is_not_answered(tmp_path, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr("rankdev.judging.session.monotonic", lambda: now[0])
    with serving(tmp_path, least=0.3) as server:
        ann = Client(server)
        question = ann.next()
        status, reply = ann.answer(question)
        assert (status, reply["kind"]) == (425, "too-soon")
        assert server.session.store.answers().is_empty()
        now[0] += 0.31
        ann = Client(server)
        assert ann.answer(question, request="r")[0] == 200
        assert ann.answer(question, request="r")[1]["saved"]  # sent again: it was seen


def test_pages_of_one_judge_have_different_questions_and_a_closed_one_keeps_none(server):
    ann = Client(server)
    pairs = [ann.post("next", page=page)[1]["question"] for page in "abc"]
    assert len({frozenset(side["item"] for side in pair["sides"]) for pair in pairs}) == 3
    assert [ann.post("next", page=page)[1]["question"] for page in "abc"] == pairs
    assert ann.answer(pairs[0])[1]["saved"]
    status, reply = ann.answer(pairs[0])  # on another page that still shows it
    assert (status, reply["saved"], len(server.session.store.answers())) == (200, False, 1)
    for page in ("a", "b", "c", ""):
        assert ann.post("leave", page=page)[0] == 200
    bob, asked = Client(server, "bob"), 0
    while question := bob.next():
        bob.answer(question)
        asked += 1
    assert asked == 8
    assert ann.post("next", page=3)[0] == ann.post("next", page="x" * 41)[0] == 400


def test_names_that_look_around_reserve_nothing_for_good(server, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr("rankdev.judging.session.monotonic", lambda: now[0])
    for number in range(10):
        Client(server, f"visitor {number}").next()
    ann = Client(server)
    assert ann.next() is None  # nine pairs are on nine screens
    now[0] += LOOKING
    asked = 0
    while question := ann.next():
        ann.answer(question)
        asked += 1
    assert asked == 9
    assert server.session.answered() == {"ann": 9}
    assert Client(server, "visitor 1").next() is None  # what was on the screen was answered meanwhile


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
