"""Questions about the judge: gold pairs and repetitions are mixed in, look like others, and are no judgments."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.judging.items import Pool
from rankdev.judging.quality import APART, Probes, read_gold
from tests.judging.serving import Client, serving, written

ROWS = [{"query": f"q{q}", "item": f"d{k}"} for q in range(6) for k in range(7)]
GOLD = {(f"q{q}", "d0", f"d{k}"): "d0" for q in range(6) for k in (5, 6)}


@pytest.fixture
def random_draws(monkeypatch):
    """Questions that are the same at every run."""
    monkeypatch.setattr("rankdev.judging._questions.random.SystemRandom", lambda: random.Random(3))


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
    with serving(tmp_path, ROWS, team={"probes": Probes(GOLD)}) as server:
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
        assert any("about gold pairs" in remark for remark in judged.remarks)
        with server.session.questions._fitting:
            server.session.questions._learn()
        total = sum(state.count for state in server.session.questions.strategy._queries.values())
        assert total == found.count("")


def test_every_judge_answers_a_gold_pair_once(random_draws, tmp_path):
    few = {key: GOLD[key] for key in list(GOLD)[:2]}
    with serving(tmp_path, ROWS, quick=True, team={"probes": Probes(few)}) as server:
        for name in ("ann", "bob"):
            judge(server, name, 45)
        answers = server.session.store.answers()
        gold = answers.filter(answers["kind"] == "gold").select("worker", "query", "first", "second").rows()
        assert len(gold) == len({(worker, *sorted(pair)) for worker, *pair in gold}) == 4


def test_repetitions_come_later_the_other_way_round_and_count_once(random_draws, tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"probes": Probes(repeats=0.2)}) as server:
        judge(server, "ann", 70)
        answers = server.session.store.answers().select("query", "first", "second", "kind").rows()
    again = [k for k, row in enumerate(answers) if row[3] == "repeat"]
    assert 5 <= len(again) <= 25
    for k in again:
        query, first, second, _ = answers[k]
        before = answers.index((query, second, first, ""))
        assert len([row for row in answers[before + 1 : k] if row[3] == ""]) >= APART
    assert len({answers[k][:3] for k in again}) == len(again)  # each once
    judged = rd.read_preferences(tmp_path / "judgments.sqlite")
    assert len(judged) == 70 - len(again)
    assert any("answered these pairs before" in remark for remark in judged.remarks)


def test_a_restart_goes_on_and_keeps_what_was_asked_for(random_draws, tmp_path):
    team = {"probes": Probes(GOLD, 0.2)}
    with serving(tmp_path, ROWS, quick=True, team=team) as server:
        judge(server, "ann", 30)
        before = kinds(server)
    with serving(tmp_path, ROWS, quick=True, team=team) as server:
        judge(server, "ann", 30)
        assert kinds(server)[:30] == before
        assert Client(server).post("next")[1]["progress"]["mine"] == 60
        pairs = server.session.store.answers().select("query", "first", "second", "kind").rows()
        assert len({(q, *sorted((a, b)), kind) for q, a, b, kind in pairs}) == 60
    with serving(tmp_path, ROWS, quick=True) as server:  # without gold, answers to gold pairs are still none
        judge(server, "ann", 1)
        assert len(rd.read_preferences(tmp_path / "judgments.sqlite")) == kinds(server).count("")


def test_undo_of_a_probe_asks_it_again(random_draws, tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"probes": Probes(GOLD, 0.3)}) as server:
        ann, seen = Client(server), set()
        for _ in range(60):
            question = ann.next()
            ann.answer(question, said(question))
            kind = kinds(server)[-1]
            if kind and kind not in seen:
                seen.add(kind)
                reply = ann.post("undo")[1]
                assert reply["question"] == question
                ann.answer(question, "tie")
                assert kinds(server)[-1] == kind
        assert seen == {"gold", "repeat"}
        assert len(rd.read_preferences(tmp_path / "judgments.sqlite")) == kinds(server).count("")


def test_a_pair_that_was_just_answered_on_another_page_is_no_repetition(tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"probes": Probes(repeats=0.5)}) as server:
        ann = Client(server)
        question = ann.next()
        assert ann.answer(question)[1]["saved"]
        assert not ann.answer(question)[1]["saved"]
        assert kinds(server) == [""]


def test_four_judges_at_once_with_probes_lose_nothing(tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"probes": Probes(GOLD, 0.1)}) as server:
        with ThreadPoolExecutor(4) as pool:
            counts = list(pool.map(lambda name: len(judge(server, name, 15)), ("ann", "bob", "cy", "dee")))
        answers = server.session.store.answers().select("worker", "query", "first", "second", "kind").rows()
        assert len(answers) == sum(counts) == 60
        judged = [(q, *sorted((a, b))) for _, q, a, b, kind in answers if not kind]
        assert len(judged) == len(set(judged))


POOL = Pool.of({"q": ["a", "b", "c"]})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"query": "q", "first": "a", "second": "b"}], "there is no column outcome; expected a table"),
        ([{"query": "q", "first": "a", "second": "b", "outcome": "left"}], ":1: the outcome is 'left'"),
        ([{"query": "q", "first": "a", "second": "b", "outcome": None}], ":1: the outcome is ''"),
        ([{"query": "q", "first": "a", "second": "a", "outcome": "tie"}], ":1: both items are 'a'"),
        ([{"query": "q", "first": "a", "second": "z", "outcome": "tie"}], ":1: query 'q': item 'z' is not among"),
        ([{"query": "x", "first": "a", "second": "b", "outcome": "tie"}], ":1: query 'x': item 'a' is not among"),
        (
            [
                {"query": "q", "first": "a", "second": "b", "outcome": "tie"},
                {"query": "q", "first": "b", "second": "a", "outcome": "first"},
            ],
            ":2: query 'q': the pair 'b', 'a' appears twice",
        ),
    ],
)
def test_a_wrong_gold_file_is_named(rows, message, tmp_path):
    path = written(tmp_path / "gold.jsonl", rows)
    with pytest.raises(rd.DataError, match=message):
        read_gold(path, POOL)


def test_gold_is_read_from_csv(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("query,first,second,outcome\nq,b,a,first\nq,b,c,tie\nq,c,a,second\n")
    assert read_gold(path, POOL) == {("q", "a", "b"): "b", ("q", "b", "c"): None, ("q", "a", "c"): "a"}
    probes = Probes(read_gold(path, POOL))
    asked = [("q", "a", "b"), ("q", "b", "a"), ("q", "c", "b"), ("q", "a", "c")]
    assert [probes.expected(*pair) for pair in asked] == ["second", "first", "tie", "first"]
    assert probes.expected("q", "a", "z") is None


def test_a_limit_ends_a_judges_part(tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"limit": 3}) as server:
        ann = Client(server)
        judge(server, "ann", 2)
        late = ann.next()
        ann.answer(late, request="r3")
        reply = ann.post("next")[1]
        assert (reply["question"], reply["limit"]) == (None, 3)
        assert ann.answer(late, request="r3")[1]["saved"]  # sent again
        about = {"query": "q5", "first": "d1", "second": "d2", "outcome": "tie", "comment": ""}
        status, reply = ann.post("answer", request="r4", **about)
        assert (status, "Thank you" in reply["error"]) == (400, True)
        assert ann.post("undo")[1]["question"] is not None
        assert Client(server, "bob").next() is not None
        assert len(server.session.store.answers()) == 2


def test_each_judge_is_asked_about_a_share_of_the_queries(tmp_path):
    with serving(tmp_path, ROWS, quick=True, team={"share": 0.5}) as server:
        server.change(lambda tokens: tokens.with_links(["ann", "bob", "cy"]))
        session = server.session
        ann, bob, cy = (session.assigned(name) for name in ("ann", "bob", "cy"))
        assert len(ann) == len(bob) == 3
        assert ann | bob == set(session.items.pool.items)
        assert cy == ann
        assert session.assigned("eve") is None  # the owner, and those without a link
        client = Client(server, "ann", server.tokens.personal["ann"])
        asked = set()
        while question := client.next():
            asked.add(question["query"]["id"])
            client.answer(question, said(question))
        assert asked == ann
        other = min(bob)
        about = {"query": other, "first": "d1", "second": "d2", "outcome": "tie", "comment": ""}
        status, reply = client.post("answer", request="r", **about)
        assert (status, "not among those that you are asked about" in reply["error"]) == (400, True)
        server.change(lambda tokens: tokens.revoked("ann"))
        server.change(lambda tokens: tokens.with_links(["dee"]))  # takes the place that is free
        assert session.assigned("dee") == ann
        assert session.assigned("bob") == bob


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gold", "nowhere.csv"], "nowhere.csv"),
        (["--self-repeats", "0.6"], "self-repeats must be a number from 0 to 0.5"),
        (["--self-repeats", "-1"], "self-repeats must be a number from 0 to 0.5"),
        (["--limit", "0"], "limit must be a whole number of at least 1"),
        (["--share", "0"], "share must be a number between 0 and 1"),
        (["--share", "1.5"], "share must be a number between 0 and 1"),
        (["--share", "nan"], "share must be a number between 0 and 1"),
        (["--check", "small", "--gold", "gold.jsonl"], "--gold cannot be combined with --check"),
        (["--model", "http://127.0.0.1:1/v1", "x", "--gold", "gold.jsonl"], "--gold is for the page"),
        (
            ["--goal", "decide", "--run", "a.run", "--run", "b.run", "-m", "P@1", "--share", ".5"],
            "with --goal decide, which asks about all queries",
        ),
    ],
)
def test_wrong_options_are_named(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "items.jsonl", [{"query": "q", "item": item} for item in "abc"])
    written(tmp_path / "gold.jsonl", [{"query": "q", "first": "a", "second": "b", "outcome": "first"}])
    for name in "ab":
        (tmp_path / f"{name}.run").write_text("".join(f"q Q0 {item} 1 1 {name}\n" for item in "abc"))
    page = [] if "--model" in options else ["--no-browser"]
    result = CliRunner().invoke(cli, ["judge", "items.jsonl", "--db", "j.sqlite", *page, *options])
    assert isinstance(result.exception, rd.RankdevError)
    assert message in str(result.exception)
    assert not (tmp_path / "j.sqlite").exists() or "--check" in options


def test_the_command_takes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    monkeypatch.setattr(
        "rankdev.judging.server.JudgeServer.serve_forever", lambda self, **_: found.append(self.session)
    )
    written(tmp_path / "items.jsonl", [{"query": "q", "item": item} for item in "abc"])
    written(tmp_path / "gold.jsonl", [{"query": "q", "first": "a", "second": "b", "outcome": "first"}])
    options = ["--gold", "gold.jsonl", "--self-repeats", ".2", "--limit", "7", "--share", ".5", "--judges", "ann"]
    result = CliRunner().invoke(cli, ["judge", "items.jsonl", "--db", "j.sqlite", "--no-browser", *options])
    assert result.exit_code == 0, result.output
    (session,) = found
    assert session.questions.probes == Probes({("q", "a", "b"): "a"}, 0.2)
    assert (session.limit, session.assigned("ann")) == (7, {"q"})
    assert json.loads((tmp_path / "j.sqlite-judging").read_text())["places"] == {"ann": 0}
