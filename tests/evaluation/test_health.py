"""What is wrong with the data of a comparison is found, and what is right is not called wrong."""

import warnings

import pytest

import rankdev as rd
from rankdev.evaluation.health import health

LISTS = {f"q{i}": ["a", "b", "c", "d"] for i in range(20)}
RUN = {query: ["a", "c", "b", "x"] for query in LISTS}


def checked(references=LISTS, runs=None, measures=("RDQ@4", "P@4"), **options):
    known = rd.References.of(references)
    loaded = {name: rd.Run.of(run) for name, run in (runs or {"mine": RUN}).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        scores = rd.evaluate(known, loaded, list(measures), **options)
    found = health(known, loaded, scores, [rd.parse(text) for text in measures], empty="zero", k=4)
    return [{check.name: check for check in of_measure} for of_measure in found]


@pytest.mark.parametrize(
    ("missing", "level"), [(0, "good"), (1, "caution"), (2, "caution"), (10, "caution"), (11, "problem")]
)
def test_queries_that_runs_lack(missing, level):
    few = {query: RUN[query] for query in list(LISTS)[missing:]}
    check = checked(runs={"whole": RUN, "few": few})[0]["Queries missing from runs"]
    assert check.level == level
    if missing:
        assert check.value == f"{missing} of 20"
        text = f"few answers only {20 - missing} of 20 queries; missing queries count as 0."
        same = " The conclusion would be the same whatever it scored there."
        assert check.text == text + (same if 2 <= missing <= 10 else "")
        assert (check.limits is not None) == (2 <= missing <= 10)  # it is a problem if it could change the verdict


@pytest.mark.parametrize(("tied", "level"), [(0, "good"), (3, "caution"), (20, "caution")])
def test_ties_are_counted_for_each_measure(tied, level):
    scores = {
        query: {item: 1.0 if i < tied else 1.0 / (n + 1) for n, item in enumerate(items)}
        for i, (query, items) in enumerate(LISTS.items())
    }
    by_rank, by_set = checked(runs={"whole": RUN, "mine": scores})
    assert by_rank["Tied scores"].level == level
    assert by_set["Tied scores"].level == "good"  # the four items are relevant, in any order
    if tied:
        assert f"{tied} of 20" in by_rank["Tied scores"].text
        assert "(--order rank)" in by_rank["Tied scores"].limits.text
    averaged = checked(runs={"mine": scores}, measures=["RDQ@4"], ties=None)[0]
    assert averaged["Tied scores"].level == level


@pytest.mark.parametrize(("unjudged", "level"), [(0, "good"), (1, "good"), (20, "caution")])
def test_unjudged_items(unjudged, level):
    grades = {
        query: {**dict.fromkeys("abc", 1), **({} if i < unjudged else {"x": 0}), "y": 0}
        for i, query in enumerate(LISTS)
    }
    check = checked(rd.References.from_grades(grades))[0]["Unjudged in the first 4"]
    assert check.level == level
    assert check.value == (f"{unjudged / 80:.1%}" if unjudged else "none")
    few = dict(list(RUN.items())[19:])  # what is not returned is not unjudged
    both = checked(rd.References.from_grades(grades), {"mine": RUN, "few": few})[0]["Unjudged in the first 4"]
    assert both.value == (f"{max(unjudged / 80, (unjudged == 20) / 4):.1%} at most" if unjudged else "none")
    assert checked()[0]["Unjudged in the first 4"].level == "unknown"


def test_repeated_items_and_ids_that_match_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        twice = rd.Run.of({query: ["a", "a", "b"] for query in LISTS})
        found = checked(runs={"twice": twice, "strange": {query: ["A1", "B2"] for query in LISTS}})[0]
    assert (found["Repeated items"].level, found["Repeated items"].value) == ("caution", "20")
    assert found["Runs without a relevant item"].level == "problem"
    assert found["Runs without a relevant item"].text.startswith("strange returns no relevant item for any query")


def test_order_counts_where_the_measure_looks_at_it():
    flat = rd.References.from_tiers({query: [items] for query, items in LISTS.items()})
    ranked, unordered = checked(flat)
    assert ranked["Order of the references"].level == "problem"
    assert unordered["Order of the references"].level == "good"
    some = rd.References.from_tiers(
        {q: [items] if i < 10 else [[x] for x in items] for i, (q, items) in enumerate(LISTS.items())}
    )
    assert checked(some)[0]["Order of the references"].level == "caution"
    graded = rd.References.from_grades({query: dict.fromkeys(items, 1) for query, items in LISTS.items()})
    assert checked(graded)[0]["Order of the references"].level == "good"  # a set is a set
