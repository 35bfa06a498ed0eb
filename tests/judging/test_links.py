"""Who gets in: a link per judge, which is revoked at once, by the names of the server, also behind a proxy."""

import json
import socket

import pytest
from click.testing import CliRunner

from rankdev.cli import cli
from rankdev.judging.store import Answer, Store
from tests.judging.serving import Client, serving, written


def linked(server, owner, name, judge=None):
    """A client with the link of a judge, who says to be another."""
    _, reply = owner.post("links", make=name)
    found = next(entry["link"] for entry in reply["personal"] if entry["name"] == name)
    return Client(server, judge or name, found.partition("#")[2])


def workers(server):
    return server.session.store.answers()["worker"].to_list()


@pytest.mark.parametrize("name", ["ann", "O'Brien, 王 <b>", "=cmd", "judges"])
def test_a_link_of_ones_own_is_a_name(name, server, owner):
    one = linked(server, owner, name, judge="bob")
    assert one.post("hello")[1]["judge"] == name
    one.answer(one.next())
    assert workers(server) == [name]
    assert Client(server).post("hello")[1]["judge"] is None


@pytest.mark.parametrize("name", ["ann", "Ann", "ANN", "ａｎｎ"])
def test_nobody_else_can_use_the_name(name, server, owner):
    ann = linked(server, owner, "ann")
    ann.answer(ann.next())
    for token in (server.tokens.judge, server.tokens.owner):
        for path in ("next", "answer", "undo", "leave"):
            status, reply = Client(server, name, token).post(path)
            assert (status, reply["kind"]) == (403, "own-link")
    assert workers(server) == ["ann"]
    assert Client(server, "anna").post("next")[0] == 200


PATHS = ("next", "answer", "undo", "leave", "history", "change")


def test_a_name_of_the_common_link_belongs_to_the_browser_that_answered_under_it(tmp_path):
    with serving(tmp_path) as server:
        ann = Client(server)
        looking = Client(server, browser="other")
        assert looking.post("next")[0] == 200  # nobody has answered yet
        ann.answer(ann.next())
    with serving(tmp_path) as server:  # for good
        for name in ("ann", "Ann"):
            stranger = Client(server, name, browser="other")
            for path in PATHS:
                status, reply = stranger.post(path, request="r")
                assert (status, reply["kind"]) == (403, "other-browser")
        ann = Client(server)
        assert len(ann.post("history")[1]["history"]) == 1
        assert ann.post("next", browser="")[0] == 400
        assert Client(server, token=server.tokens.owner, browser="other").post("next")[0] == 200
        mine = linked(server, Client(server, "eve", server.tokens.owner), "ann")  # for another browser
        assert len(mine.post("history")[1]["history"]) == 1
    (tmp_path / "judgments.sqlite-judging").unlink()  # new links: nobody knows whose names these were
    with serving(tmp_path) as server:
        assert Client(server).post("history")[1]["kind"] == "other-browser"
        assert Client(server, "bob").post("next")[0] == 200


def test_a_revoked_link_ends_at_once_and_answers_stay(server, owner):
    ann, bob = linked(server, owner, "ann"), Client(server, "bob")
    ann.answer(ann.next())
    held = ann.next()
    status, reply = owner.post("links", revoke="ann")
    assert (status, reply["personal"]) == (200, [{"name": "ann", "link": None}])
    for path in ("hello", "next", "undo"):
        status, reply = Client(server, "ann", ann.token).post(path)
        assert (status, reply["kind"]) == (401, "bad-link")
    assert Client(server, "ann", ann.token).answer(held)[0] == 401
    assert workers(server) == ["ann"]
    assert Client(server, "ann").post("next")[0] == 403  # the name stays taken
    pairs = set()
    while question := bob.next():
        pairs.add((question["query"]["id"], frozenset(side["item"] for side in question["sides"])))
        bob.answer(question)
    assert (held["query"]["id"], frozenset(side["item"] for side in held["sides"])) in pairs  # goes to others
    again = linked(server, owner, "ann")
    assert again.token != ann.token
    assert again.post("next")[1]["progress"]["mine"] == 1


def test_links_survive_a_restart(tmp_path):
    with serving(tmp_path) as server:
        owner = Client(server, "eve", server.tokens.owner)
        ann, bob = linked(server, owner, "ann"), linked(server, owner, "bob")
        owner.post("links", revoke="bob", common=False)
        before = server.tokens
        database = (tmp_path / "judgments.sqlite").read_bytes()
        assert not [secret for secret in before.personal.values() if secret and secret.encode() in database]
    with serving(tmp_path) as server:
        assert server.tokens == before
        assert Client(server, "ann", ann.token).post("next")[0] == 200
        assert Client(server, "bob", bob.token).post("next")[0] == Client(server).post("next")[0] == 401


def test_what_is_remembered_is_valid_at_any_time(tmp_path):
    store = Store(tmp_path / "j.sqlite")
    for size in (300, 3, 40):
        store.remember(x="y" * size)
        kept = (tmp_path / "j.sqlite-judging").read_text()
        assert json.loads(kept) == store.remembered() == {"x": "y" * size}
    store.close()


def started(tmp_path, monkeypatch, *options):
    """What the command prints before it serves."""
    monkeypatch.setattr("rankdev.judging.server.JudgeServer.serve_forever", lambda self, **_: None)
    items = written(tmp_path / "items.jsonl")
    command = ["judge", str(items), "--db", str(tmp_path / "j.sqlite"), "--no-browser", *options]
    return CliRunner().invoke(cli, command)


def test_the_command_makes_links(tmp_path, monkeypatch):
    first = started(tmp_path, monkeypatch, "--judges", "ann, Bob Ü").stdout.splitlines()
    assert [line.split(": ")[0] for line in first] == ["judge ann", "judge Bob Ü", "owner"]
    again = started(tmp_path, monkeypatch, "--judges", "cy").stdout.splitlines()
    assert [line.rpartition("#")[2] for line in again[:2]] == [line.rpartition("#")[2] for line in first[:2]]
    assert [line.split(": ")[0] for line in again] == ["judge ann", "judge Bob Ü", "judge cy", "owner"]
    assert started(tmp_path, monkeypatch).stdout.splitlines()[0].startswith("judge ann: ")


def test_nobody_answers_under_the_name_of_a_model(tmp_path, monkeypatch):
    with serving(tmp_path, database="j.sqlite") as server:
        server.session.store.add("m", Answer("q1", "d1", "d2", "first", "small-1", program=1))
    with serving(tmp_path, database="j.sqlite") as server:
        for name in ("small-1", "Small-1"):
            owner = Client(server, "eve", server.tokens.owner)
            for status, reply in (Client(server, name).post("next"), owner.post("links", make=name)):
                assert (status, reply["kind"]) == (400, "name-of-model")
        assert Client(server, "small").post("next")[0] == 200
    result = started(tmp_path, monkeypatch, "--judges", "ann,small-1")
    assert result.exception.kind == "name-of-model"


PUBLIC = "https://judge.example.org/team"


def sent(server, request):
    """Send bytes as they are; return the status of the reply."""
    with socket.create_connection(server.server_address[:2], timeout=10) as connection:
        connection.sendall(request)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /image/x/" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /image/\xff/0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
        (b"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    ],
)
def test_requests_of_no_browser_are_refused(request_, status, server):
    assert sent(server, request_) == status


def test_names_of_this_machine(server):
    assert Client(server).post("next", headers={"Host": f"{socket.gethostname().partition('.')[0]}.local:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "LOCALHOST.:80", "Origin": "http://localhost.:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "evil.local"})[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "judge.example.org", "Origin": "https://judge.example.org"}, 200),
        ({"Host": "127.0.0.1:8080", "Origin": "https://judge.example.org"}, 200),  # a proxy that sends its own
        ({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, 200),  # the owner, on this machine
        ({"Host": "judge.example.org", "Origin": "http://judge.example.org"}, 403),
        ({"Host": "judge.example.org", "Origin": "https://evil.example"}, 403),
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1", "Origin": "https://evil.example"}, 403),
    ],
)
def test_a_proxy_is_known_by_its_public_address(headers, status, tmp_path):
    with serving(tmp_path, public_url=PUBLIC) as server:
        assert server.link("t") == "https://judge.example.org/team/#t"
        assert Client(server).post("next", headers=headers)[0] == status


@pytest.mark.parametrize(
    ("host", "public", "readable"),
    [
        ("127.0.0.1", None, False),
        ("0.0.0.0", None, True),
        ("0.0.0.0", "https://judge.example.org", False),
        ("0.0.0.0", "http://judge.example.org", True),
    ],
)
def test_links_without_encryption_are_noticed(host, public, readable, tmp_path):
    with serving(tmp_path, host=host, public_url=public) as server:
        assert server.readable is readable
