"""ranx: ours come out and go in again as they were."""

import pytest

import rankdev as rd
from rankdev.integrations.ranx import to_ranx

pytest.importorskip("ranx")


def test_references_and_runs_go_out_and_come_back():
    references = rd.References.from_tiers({"q1": [["a", "b"], ["c"]], "q2": [["z"]]})
    run = rd.Run.from_scores({"q1": {"c": 2.0, "a": 1.0, "b": 1.0, "x": 1.0}, "q2": {"z": 0.5}})
    assert to_ranx(references).to_dict()["q1"] == {"a": 2, "b": 2, "c": 1}
    assert to_ranx(run, "mine").name == "mine"
    assert rd.Run.of(to_ranx(run)) == run
    back = rd.References.of(to_ranx(references))
    assert {query: back[query].tiers for query in back} == {query: references[query].tiers for query in references}


def test_what_ranx_cannot_hold_is_refused():
    with pytest.raises(rd.DataError, match=r"item 'a' has the grade 1\.5; ranx takes whole numbers only"):
        to_ranx(rd.References.from_grades({"q": {"a": 1.5}}))
    with pytest.raises(rd.UsageError, match="to_ranx takes References or a Run; got dict"):
        to_ranx({"q": ["a"]})
