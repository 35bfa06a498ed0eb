"""Tables by segment, systems in the order asked for, differences query by query, two runs side by side."""

import json

import pytest

import rankdev as rd

SEGMENTS = "query,segment\nmuseums,leisure\nsauna,leisure\nbookshops,shops\nmuseums,shops\nnowhere,lost\n"


@pytest.fixture
def segments(folder):
    (folder / "segments.csv").write_text(SEGMENTS)
    return "segments.csv"


def test_eval_by_segment_gives_the_means_of_each(rankdev, segments):
    done = rankdev("eval", "places.jsonl", "nearest.run", "-m", "RDQ@5", "--segments", segments, "--format", "json")
    found = {row["segment"]: row["value"] for row in json.loads(done.out)}
    scores = rd.evaluate("places.jsonl", {"nearest": "nearest.run"}, "RDQ@5")
    values = dict(zip(scores.queries, scores.of("RDQ@5")[0].tolist(), strict=True))
    assert found["leisure"] == pytest.approx((values["museums"] + values["sauna"]) / 2)
    assert found["shops"] == pytest.approx((values["museums"] + values["bookshops"]) / 2)  # a query may be in both
    assert found["all"] == pytest.approx(scores.means[0, 0])
    assert "rankdev: note: segment 'lost': " in done.err


def test_what_is_said_and_shown_of_a_segment_names_it(rankdev, segments):
    runs = ("places.jsonl", "nearest.run", "blended.run", "popular.run", "-m", "RDQ@5")
    out = rankdev("power", *runs, "--sizes", "2", "--subsamples", "5", "--segments", segments).out
    assert "all: Power at 2 queries" in out
    assert "\nleisure: Power at 2 queries" in out
    found = json.loads(rankdev("compare", *runs, "--margin", "0.1", "--segments", segments, "--format", "json").out)
    assert [row["segment"] for row in found["rows"]] == ["all"] * 3 + ["leisure"] * 3 + ["shops"] * 3


@pytest.mark.parametrize(
    "content", ["query,part\nq,x\n", "query,segment\nq,all\n", "museums leisure\n"], ids=["column", "all", "table"]
)
def test_segments_that_cannot_be_read_are_refused(rankdev, folder, content):
    (folder / "wrong.csv" if "," in content else folder / "wrong").write_text(content)
    name = "wrong.csv" if "," in content else "wrong"
    done = rankdev("eval", "places.jsonl", "nearest.run", "--segments", name)
    assert (done.status, done.err.startswith(f"rankdev: {name}: ")) == (1, True)


def test_agreement_with_people_from_files(rankdev, folder):
    (folder / "said.csv").write_text("query,a,b,winner\nmuseums,nearest,blended,blended\nsauna,nearest,blended,tie\n")
    call = ("agreement", "places.jsonl", "nearest.run", "blended.run", "-m", "RDQ@5", "--people", "said.csv")
    found = json.loads(rankdev(*call, "--format", "json").out)
    assert [(row["measure"], row["agreement"]) for row in found["rows"]] == [("RDQ@5", 1.0)]
    (folder / "said.csv").write_text("query,a,b,winner\nmuseums,nearest,blended,neither of them\n")
    done = rankdev(*call)
    assert (done.status, done.err.startswith("rankdev: said.csv:2: ")) == (1, True)
