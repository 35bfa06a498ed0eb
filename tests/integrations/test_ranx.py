"""ranx: ours come out and go in again as they were."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.integrations.ranx import to_ranx
from tests.raising import raises

pytestmark = pytest.mark.slow  # to compile it takes more than a minute


@pytest.fixture(scope="module", autouse=True)
def ranx():
    return pytest.importorskip("ranx")


def test_references_and_runs_go_out_and_come_back():
    references = rd.References.from_tiers({"q1": [["a", "b"], ["c"]], "q2": [["z"]]})
    run = rd.Run.from_scores({"q1": {"c": 2.0, "a": 1.0, "b": 1.0, "x": 1.0}, "q2": {"z": 0.5}})
    assert to_ranx(references).to_dict()["q1"] == {"a": 2, "b": 2, "c": 1}
    assert to_ranx(run, "mine").name == "mine"
    assert rd.Run.of(to_ranx(run)) == run
    back = rd.References.of(to_ranx(references))
    assert {query: back[query].tiers for query in back} == {query: references[query].tiers for query in references}


def test_scores_go_out_so_that_runs_can_be_fused(ranx):
    rng = np.random.default_rng(0)
    first, second = ({f"q{q}": {f"d{i}": rng.normal() for i in range(20)} for q in range(5)} for _ in range(2))
    ours = [to_ranx(rd.Run.from_scores(scores)) for scores in (first, second)]
    assert ours[0].to_dict() == first
    theirs = [ranx.Run(first), ranx.Run(second)]
    assert ranx.fuse(ours, method="sum").to_dict() == ranx.fuse(theirs, method="sum").to_dict()


@pytest.mark.parametrize("ties", ["ascending", "descending", "trec_eval"])
def test_the_order_of_equal_scores_is_kept(ties):
    """Also of those that are equal in single precision only."""
    scores = {"q": {"a": 3.0, "b": 1 + 1e-12, "c": 1.0, "d": 1.0, "e": 1 - 1e-12, "f": -2.0, "g": 1e300, "h": 2e300}}
    run = rd.Run.from_scores(scores, ties=ties)
    out = to_ranx(run)
    assert rd.Run.of(out) == run
    assert sorted(out.to_dict()["q"], key=out.to_dict()["q"].get, reverse=True) == run["q"]


def test_what_ranx_cannot_hold_is_refused():
    with raises("bad-value", rd.DataError, query="q", item="a", value=1.5):
        to_ranx(rd.References.from_grades({"q": {"a": 1.5}}))
    with raises("bad-value", rd.DataError, query="q", item="a", value=1e20):
        to_ranx(rd.References.from_grades({"q": {"a": 1e20}}))
    with raises("empty", rd.DataError, name="the run"):
        to_ranx(rd.Run.from_lists({"q": []}))
    with raises("not-a-type", rd.UsageError, value="dict"):
        to_ranx({"q": ["a"]})


NONRELEVANT = {"q1": {"a": 2, "b": 0, "c": -1}, "q2": {"a": 0}, "q3": {"a": -1}}


def test_what_was_judged_nonrelevant_goes_out_too():
    references = rd.References.from_grades(NONRELEVANT)
    assert to_ranx(references).to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {"a": 0}, "q3": {"a": 0}}
    listed = rd.References.from_lists({"q": ["a", "b"]}, nonrelevant={"q": ["c"]})
    assert to_ranx(listed).to_dict() == {"q": {"a": 2, "b": 1, "c": 0}}


def test_means_of_theirs_count_queries_without_a_relevant_item(ranx):
    """Without items judged nonrelevant, ranx left such queries out, and its means were higher than ours."""
    references = rd.References.from_grades(NONRELEVANT)
    run = rd.Run.from_lists({"q1": ["b", "a"], "q2": ["a"], "q3": ["a"]})
    ours = rd.evaluate(references, {"run": run}, ["AP", "nDCG@5", "Bpref"]).means[0]
    theirs = ranx.evaluate(to_ranx(references), to_ranx(run), ["map", "ndcg@5", "bpref"])
    assert list(theirs.values()) == pytest.approx(ours.tolist())


@pytest.mark.parametrize("name", ["run.trec", "run.parquet", "run.json"])
def test_its_files_are_runs(tmp_path, ranx, name):
    scores = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0}}
    ranx.Run(scores).save(str(tmp_path / name))
    assert rd.read_run(tmp_path / name) == rd.Run.from_scores(scores)
