"""``rankdev judge --model``: a language model answers into the database, next to people."""

import json
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import polars as pl
import pytest
from tests.judging.chat_server import Chat, chatting
from tests.judging.serving import Client
from tests.judging.test_model_check import RUNS, rows

import rankdev as rd
from rankdev.data.database import read_answers
from rankdev.judging.session import LEAST

ROWS = [
    {"query": query, "item": item, "title": f"{item}!", "query_text": f"what is {query}"}
    for query in ("q1", "q2", "q3")
    for item in "dbca"
]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("RANKDEV_API_KEY", raising=False)


@pytest.fixture
def items(folder):
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder / "items.jsonl"


def asked(chat, *options):
    return ["judge", "items.jsonl", "--db", "judged.db", "--model", chat.url, "small", *options]


def test_a_model_answers_into_the_database_and_resumes(rankdev, items, folder):
    (folder / "said.txt").write_text("Prefer early letters.")
    with chatting(Chat(busy=0.2)) as chat:
        done = rankdev(*asked(chat, "--budget", "7", "--guidelines", "said.txt"))
        assert done.status == 0, done.err
        assert "7 answers of small in judged.db; budget spent; " in done.err
        assert chat.requests[0]["messages"][0]["content"].startswith("Prefer early letters. What")
        assert "what is q" in chat.requests[0]["messages"][1]["content"]
        before = [tuple(row) for row in read_answers("judged.db").select("query", "first", "second").rows()]
        chat.asked.clear()
        assert rankdev(*asked(chat)).status == 0
    again = [(f"q{query[-1]}", a[0], b[0]) for query, a, b in chat.asked]
    assert again
    assert not set(before) & set(again)
    judged = rd.read_preferences("judged.db").to_polars()
    assert judged["worker"].unique().to_list() == ["small"]
    assert (judged["winner"] < judged["loser"]).all()
    assert rankdev("refs", "preferences", "judged.db", "-o", "refs.jsonl").status == 0


def test_fields_of_the_requests_are_options(rankdev, items):
    more = [
        word for field in ("temperature=0", "max_tokens=9", "top_p=0.5", "stop=\\n") for word in ("--option", field)
    ]
    with chatting() as chat:
        assert rankdev(*asked(chat, "--budget", "2", *more)).status == 0
    fields = {name: value for name, value in chat.requests[0].items() if name not in ("model", "messages")}
    assert fields == {"temperature": 0, "max_tokens": 9, "top_p": 0.5, "stop": "\\n"}


@pytest.mark.parametrize(
    ("script", "said"), [([401] * 2, "RANKDEV_API_KEY"), ([404] * 2, "404 Not Found"), ([b"<html>"] * 2, "'<html>'")]
)
def test_failures_are_one_line(rankdev, items, script, said):
    with chatting(script=script) as chat:
        done = rankdev(*asked(chat, "--parallel", "1"))
    assert done.status == 1
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
def test_an_interruption_keeps_everything(items, folder):
    def better(query, a, b):
        if len(chat.asked) == 5:
            process.send_signal(signal.SIGINT)
        return float(a < b)

    with chatting(Chat(better)) as chat:
        command = [sys.executable, "-m", "rankdev", *asked(chat, "--parallel", "3")]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        _, said = process.communicate(timeout=60)
    kept = read_answers(folder / "judged.db")
    assert process.returncode == 130
    assert f"{kept.height} answers of small in judged.db; interrupted" in said
    assert kept.height == len(chat.asked)
    assert isinstance(kept, pl.DataFrame)


def test_a_model_that_was_not_asked_cannot_be_checked(rankdev, folder):
    (folder / "items.jsonl").write_text("".join(json.dumps({"query": "q", "item": item}) + "\n" for item in "ab"))
    done = rankdev("judge", "items.jsonl", "--db", "judged.sqlite", "--check", "small")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "'small'" in done.err


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
def test_people_check_the_model_on_the_page(rankdev, items, folder):
    with chatting() as chat:
        assert rankdev(*asked(chat, "--budget", "7")).status == 0
    command = [sys.executable, "-m", "rankdev", "judge", "items.jsonl", "--db", "judged.db", "--check", "small"]
    process = subprocess.Popen(
        [*command, "--no-browser"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    link = urlsplit(process.stdout.readline().split()[1])
    ann = Client(SimpleNamespace(server_address=(link.hostname, link.port)), token=link.fragment)
    seen = []
    while question := ann.next():
        seen.append((question["query"]["id"], *sorted(side["item"] for side in question["sides"])))
        time.sleep(1.1 * LEAST)  # a pair has to be seen
        assert ann.answer(question, "tie")[1]["saved"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    answers = read_answers("judged.db")
    mine = answers.filter(pl.col("worker") == "small").select("query", "first", "second").rows()
    assert sorted(seen) == sorted((query, *sorted(pair)) for query, *pair in mine)
    done = rankdev("refs", "agreement", "judged.db", "--model", "small")
    assert "small agrees with people on 50% of 7 answers" in done.out


def test_the_command_line_reports_how_far_to_trust_it(rankdev, folder):
    table = pl.DataFrame(list(rows(error=0.1)), schema=["query", "winner", "loser", "worker"], orient="row")
    table.write_csv("judged.csv")
    for name, run in RUNS.items():
        (folder / f"{name}.json").write_text(json.dumps(run))
    scored = ["--run", "good.json", "--run", "poor.json", "-m", "RDQ@5"]
    done = rankdev("refs", "agreement", "judged.csv", "--model", "small", *scored)
    assert done.status == 0, done.err
    assert "worse" in done.out  # poor, than good
    assert rankdev("refs", "agreement", "judged.csv", "--model", "small", "--format", "json").status == 0
    for call, said in (
        (["--model", "large"], "'large'"),
        (["--model", "small", "--run", "good.json"], "--run"),
        (["--model", "small", "--seed", "9"], "--seed"),
        (scored, "--run"),
    ):
        done = rankdev("refs", "agreement", "judged.csv", *call)
        assert done.status in (1, 2)
        assert said in done.err
        assert len(done.err.splitlines()) == 1
