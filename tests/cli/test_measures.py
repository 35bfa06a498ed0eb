"""rankdev measures, measures from a file, and advice for some systems."""

import json

import pytest
from tests.measures.test_plugins import FOUND

import rankdev as rd
from rankdev.measures import REGISTRY


@pytest.fixture(autouse=True)
def same_registry():
    yield
    REGISTRY.pop("Found", None)


def test_every_measure_is_listed_within_80_columns(rankdev, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = rankdev("measures")
    assert done.status == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert set(REGISTRY) <= set(done.out.split())


def test_a_file_with_a_measure(rankdev, folder):
    (folder / "found.py").write_text(FOUND, encoding="utf-8")
    (folder / "q.qrels").write_text("q 0 d1 1\nq 0 d2 1\n", encoding="utf-8")
    (folder / "a.run").write_text("q Q0 d1 1 2 t\nq Q0 d2 2 1 t\n", encoding="utf-8")
    done = rankdev("eval", "q.qrels", "a.run", "--import", "found.py", "-m", "Found@2,P@1", "--format", "csv")
    assert (done.status, done.out.split()) == (0, ["system,query,measure,value", "a,,Found@2,2.0", "a,,P@1,1.0"])
    listed = rankdev("measures", "--import", "found.py", "--format", "csv")
    assert ",Number of reference items in the first k." in listed.out


def test_a_file_that_is_wrong_gets_a_line(rankdev, folder):
    (folder / "found.py").write_text(FOUND.replace('    name = "Found"\n', ""), encoding="utf-8")
    done = rankdev("measures", "--import", "found.py")
    assert done.status == 2
    assert "found.py:6: the measure Found needs a name, such as name = 'Found'" in done.err
    assert "Traceback" not in done.err


CALL = ("--advise", "places.jsonl", "nearest.run", "popular.run", "blended.run")


def test_advice_names_a_measure_and_says_what_the_systems_differ_in(rankdev, folder):
    done = rankdev("measures", *CALL, "--format", "json")
    said = json.loads(done.out)
    assert done.status == 0
    assert len(said["rows"]) == 15
    text = rankdev("measures", *CALL).out
    assert "N80" in text
    assert "may be best: no other measure has significantly more power and larger effects" in text
    assert "the systems' differences in RDQ@10: retrieval" in text


@pytest.mark.parametrize(
    ("measures", "split"),
    [
        ("AP@5,RDQ(alpha=4)@5,RDQ@3", "RDQ(alpha=4)@5"),
        ("AP@5,RDQ(judged_only=True)@5", "RDQ@10"),
        ("AP@5,P@5", "RDQ@10"),
    ],
)
def test_losses_are_those_of_the_first_rdq_that_can_be_split(rankdev, folder, measures, split):
    ideal = rd.read_references("places.jsonl")
    rows = [f"{query} 0 {item} {9 - rank}\n" for query in ideal for item, rank in ideal[query].items()]
    (folder / "places.qrels").write_text("".join([*rows, *(f"{query} 0 none 0\n" for query in ideal)]))
    done = rankdev("measures", "--advise", "places.qrels", *CALL[2:], "-m", measures)
    assert f"the systems' differences in {split}: retrieval" in done.out, done.err


def test_scores_and_one_pass_inputs_do_without_losses(rankdev, folder):
    rankdev("eval", *CALL[1:], "-m", "RDQ@5,AP@5", "--format", "csv", "-q", "-o", "scores.csv")
    done = rankdev("measures", "--advise", "--scores", "scores.csv")
    assert done.status == 0
    assert "retrieval" not in done.out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["places.jsonl"], "add --advise, or leave them out"),
        (["-m", "RDQ@5"], "--measure is for --advise"),
        (["--advise"], "give REFERENCES and at least one RUN"),
        ([*CALL, "-m", "RDQ@5"], "at least two measures; got RDQ@5"),
        ([*CALL, "--alpha", "0"], "alpha"),
        ([*CALL[:3]], "at least 2 systems"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(rankdev, folder, call, message):
    done = rankdev("measures", *call)
    assert done.status in (1, 2)
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
