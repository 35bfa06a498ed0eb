"""Grades of one item at a time: the scale, who is asked what, and nothing lost."""

import time
from contextlib import contextmanager

import pytest

import rankdev as rd
from rankdev.data.database import read_given_grades
from rankdev.data.files import read_grades
from rankdev.errors import DataError
from rankdev.judging.session import Session
from rankdev.judging.strategies import GradeStrategy, Scale
from tests.judging.serving import ROWS, Client, serving
from tests.raising import raises, warns

SCALE = Scale.parse("0-3")


@contextmanager
def grading(folder, rows=ROWS, *, scale=SCALE, repeats=1, least=0, **options):
    """A server that also asks for grades."""
    with serving(folder, rows, least=least, **options) as server:
        items, store = server.session.items, server.session.store
        server.grading = Session(items, store, GradeStrategy(items.pool, scale, repeats=repeats), least=least)
        yield server


def ask(client, **more):
    return client.post("next", mode="grades", **more)[1]["question"]


def grade(client, asked, value=1, request=None, **more):
    about = {"query": asked["query"]["id"], "first": asked["sides"][0]["item"], "second": "", "comment": ""}
    about["outcome"] = "skip" if value is None else str(value)
    request = request or f"{client.judge}{time.perf_counter_ns()}"
    return client.post("answer", mode="grades", **{"request": request, **about, **more})


def grades(server):
    return read_given_grades(server.session.store.path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0-3", [(0, "", "0"), (1, "", "1"), (2, "", "2"), (3, "", "3")]),
        ("-1-1", [(-1, "", "1"), (0, "", "2"), (1, "", "3")]),
        ("bad, fair,good", [(0, "bad", "0"), (1, "fair", "1"), (2, "good", "2")]),
        ("0=not relevant,2=relevant", [(0, "not relevant", "0"), (2, "relevant", "2")]),
        ("-2=junk,0=no,1=yes", [(-2, "junk", "1"), (0, "no", "2"), (1, "yes", "3")]),
    ],
)
def test_scales(text, shown):
    assert [tuple(entry.values()) for entry in Scale.parse(text).shown()] == shown


def test_every_item_is_asked_once_query_by_query(tmp_path):
    with grading(tmp_path) as server:
        ann, queries, seen = Client(server), [], set()
        while asked := ask(ann):
            assert asked == ask(ann)
            queries.append(asked["query"]["id"])
            seen.add((queries[-1], asked["sides"][0]["item"]))
            status, reply = grade(ann, asked, 2)
            assert (status, reply["saved"]) == (200, True)
            assert reply["progress"]["left"] == 7 - len(seen)
        assert len(seen) == 7
        assert queries == sorted(queries) or queries == sorted(queries, reverse=True)
        assert server.session.store.answers().is_empty()


def test_judges_share_the_items_and_repeats_ask_several(tmp_path):
    with grading(tmp_path, repeats=2) as server:
        clients = [Client(server, name) for name in ("ann", "bob", "cy")]
        working = list(clients)
        while working:
            for client in list(working):
                asked = ask(client)
                if asked is None:
                    working.remove(client)
                else:
                    grade(client, asked)
        given = grades(server)
        assert len(given) == 14
        assert given.group_by("query", "item").len()["len"].to_list() == [2] * 7
        assert given.select("query", "item", "worker").is_unique().all()


def test_a_closed_page_gives_back_what_it_showed_in_either_mode(tmp_path):
    with grading(tmp_path, quick=True) as server:
        ann, bob = Client(server), Client(server, "bob")
        assert ann.next() is not None
        assert ask(ann) is not None
        assert ann.post("leave", mode="owner")[0] == 200
        pairs = grades = 0
        while asked := bob.next():
            pairs += bob.answer(asked)[1]["saved"]
        with raises("no-given-grades", DataError):
            read_grades(tmp_path / "judgments.sqlite")
        while asked := ask(bob):
            grades += grade(bob, asked)[1]["saved"]
        assert (pairs, grades) == (9, 7)


def test_grades_resume_and_another_scale_is_refused(tmp_path):
    with grading(tmp_path) as server:
        ann = Client(server)
        for value in (0, 3, None):
            grade(ann, ask(ann), value)
    with grading(tmp_path) as server:
        progress = Client(server).post("next", mode="grades")[1]["progress"]
        assert (progress["mine"], progress["all"], progress["left"]) == (3, 3, 5)
        items, store = server.session.items, server.session.store
        with raises("other-scale", DataError, grade=3):
            Session(items, store, GradeStrategy(items.pool, Scale.parse("no,yes")))


def test_grades_become_references(tmp_path):
    with grading(tmp_path, repeats=2) as server:
        for name in ("ann", "bob"):
            client, value = Client(server, name), 0 if name == "ann" else 3
            while asked := ask(client):
                if asked["query"]["id"] == "q1":
                    grade(client, asked, value)
                else:
                    grade(client, asked, int(asked["sides"][0]["item"][1:]))
        owner = Client(server, "eve", server.tokens.owner)
        assert client.post("export", what="grades", form=".csv")[0] == 403
        assert owner.post("export", what="grades", form=".txt")[0] == 400
        status, content = owner.post("export", what="grades", form=".csv")
        assert (status, content.splitlines()[0]) == (200, b"query,item,grade,worker,comment,at")
    with raises("no-judged-pairs", DataError):
        rd.read_preferences(tmp_path / "judgments.sqlite")
    with warns("graded-often", count=7):
        found = read_grades(tmp_path / "judgments.sqlite")
    assert found["q1"].grades == {f"d{k}": 1.5 for k in range(1, 5)}
    assert (found["q2"].grades, set(found["q2"].nonrelevant)) == ({"e1": 1, "e2": 2}, {"e0"})
