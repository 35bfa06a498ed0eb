"""What is wrong with the data of a comparison is found, and what is right is not called wrong."""

import warnings

import numpy as np
import pytest

import rankdev as rd
from rankdev.evaluation.coverage import health, problems
from tests.raising import noted

LISTS = {f"q{i}": ["a", "b", "c", "d"] for i in range(20)}
RUN = {query: ["a", "c", "b", "x"] for query in LISTS}


def checked(references=LISTS, runs=None, measures=("RDQ@4", "P@4")):
    """Check, and hold what is called a problem to the one list of problems."""
    known = rd.References.of(references)
    loaded = {name: rd.Run.of(run) for name, run in (runs or {"mine": RUN}).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        scores = rd.evaluate(known, loaded, list(measures))
    found = health(known, loaded, scores, [rd.parse(text) for text in measures])
    for of_measure in found:
        assert bool(problems(scores)) == any(check.level == "problem" for check in of_measure)
    return [{check.name: check for check in of_measure} for of_measure in found]


@pytest.mark.parametrize(("missing", "level"), [(0, "good"), (1, "caution"), (10, "caution"), (11, "problem")])
def test_queries_that_runs_lack(missing, level):
    few = {query: RUN[query] for query in list(LISTS)[missing:]}
    check = checked(runs={"whole": RUN, "few": few})[0]["Queries missing from runs"]
    assert (check.level, check.value) == (level, f"{missing} of 20" if missing else "none")


@pytest.mark.parametrize("tied", [0, 3, 20])
def test_ties_are_counted_for_each_measure(tied):
    scores = {
        query: {item: 1.0 if i < tied else 1.0 / (n + 1) for n, item in enumerate(items)}
        for i, (query, items) in enumerate(LISTS.items())
    }
    by_rank, by_set = checked(runs={"whole": RUN, "mine": scores})
    assert by_rank["Tied scores"].level == ("caution" if tied else "good")
    assert by_rank["Tied scores"].value == (f"{tied} of 20" if tied else "none")
    assert by_set["Tied scores"].level == "good"  # the four items are relevant, in any order


@pytest.mark.parametrize(("unjudged", "level"), [(0, "good"), (1, "good"), (20, "caution")])
def test_unjudged_items(unjudged, level):
    grades = {
        query: {**dict.fromkeys("abc", 1), **({} if i < unjudged else {"x": 0}), "y": 0}
        for i, query in enumerate(LISTS)
    }
    check = checked(rd.References.from_grades(grades))[0]["Unjudged items"]
    assert (check.level, check.value) == (level, f"{unjudged / 80:.1%}" if unjudged else "none")
    assert checked()[0]["Unjudged items"].level == "unknown"


def test_hardly_anything_was_judged():
    grades = rd.References.from_grades({query: {"a": 1, "y": 0} for query in LISTS})
    run = {query: ["a", *(f"x{i}" for i in range(19))] for query in LISTS}
    assert checked(grades, {"run": run}, ["RDQ@20"])[0]["Unjudged items"].level == "problem"
    deep = {query: [*"ay", "u", *(f"x{i}" for i in range(200))] for query in LISTS}
    judged = rd.References.from_grades({query: {"a": 1, **dict.fromkeys(deep[query][1:15], 0)} for query in LISTS})
    assert checked(judged, {"run": deep}, ["AP@1000"])[0]["Unjudged items"].value == "25.0%"  # of the top 20
    assert checked(grades, {"run": run}, ["RDQ@5"])[0]["Unjudged items"].level == "caution"


@pytest.mark.parametrize(
    ("written", "how"),
    [
        (lambda item: f"{item}.0", "'.0' at the end"),
        (lambda item: f"00{item}", "zeros at the beginning"),
        (lambda item: f"kb:{item}", "what stands before the last '/', ':' or '#'"),
        (lambda item: f"x{item}", ""),
    ],
)
def test_ids_that_match_nothing_are_shown_from_both_sides(written, how):
    references = {f"q{i}": [str(66248 + n) for n in range(4)] for i in range(5)}
    runs = {"good": references, "strange": {q: [written(item) for item in items] for q, items in references.items()}}
    check = checked(references, runs)[0]["Runs without a relevant item"]
    assert (check.level, check.value) == ("problem", "1 of 2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        scores = rd.evaluate(references, runs, "RDQ@4")
    noted(problems(scores), "no-relevant-item", run_id=written("66248"), reference_id="66248", how=how)
    assert rd.significance(scores).conclusion.startswith("No decision: strange returns no relevant item")


def test_two_queries_may_well_have_no_relevant_item():
    few = dict(list(LISTS.items())[:2])
    assert checked(few, {"mine": {query: ["u"] for query in few}})[0]["Runs without a relevant item"].level == "caution"


def test_repeated_items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        twice = rd.Run.of({query: ["a", "a", "b"] for query in LISTS})
    check = checked(runs={"twice": twice})[0]["Repeated items"]
    assert (check.level, check.value) == ("caution", "20")


def test_order_counts_where_the_measure_looks_at_it():
    flat = rd.References.from_tiers({query: [items] for query, items in LISTS.items()})
    ranked, unordered = checked(flat)
    assert (ranked["Ties in the references"].level, ranked["Ties in the references"].value) == (
        "caution",
        "100% of pairs",
    )
    assert unordered["Ties in the references"].level == "good"
    some = rd.References.from_tiers(
        {q: [items] if i < 10 else [[x] for x in items] for i, (q, items) in enumerate(LISTS.items())}
    )
    tied = checked(some)[0]["Ties in the references"]
    assert (tied.level, tied.value) == ("caution", "50% of pairs")
    graded = rd.References.from_grades({query: dict.fromkeys(items, 1) for query, items in LISTS.items()})
    assert checked(graded)[0]["Grades of the references"].level == "good"  # a set is a set


STRICT, ONE, TWO = [["a"], ["b"], ["c"], ["d"]], [["a", "b", "c", "d"]], [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize(
    ("tiers", "measure", "share", "one"),
    [
        ([ONE, ONE, STRICT], "RDQ@5", 2 / 3, 2),
        ([TWO, TWO], "Compat@5", 3 / 6, 0),
        ([STRICT, STRICT, STRICT, ONE], "RDQ@5", None, None),
        ([ONE], "P@5", None, None),
        ([ONE], "nDCG(gains=binary)@5", None, None),
        ([[["a"]]], "RDQ@5", None, None),
    ],
)
def test_little_order_is_noted_where_a_measure_needs_order(tiers, measure, share, one):
    references = rd.References.from_tiers({f"q{i}": tier for i, tier in enumerate(tiers)})
    remarks = rd.evaluate(references, {"s": {"q0": ["a"]}}, measure).remarks
    found = [note for note in remarks if note.kind == "little-order"]
    assert len(found) == (share is not None)
    for note in found:
        assert (note.fields["share"], note.fields["one"]) == (pytest.approx(share), one)


def test_of_scores_without_runs_a_system_of_zeros_is_a_problem():
    """A file of scores does not know its runs: what did not match there must not become a verdict here."""
    values = np.random.default_rng(0).random((2, 12, 1))
    values[1] = 0.0
    scores = rd.Scores(("old", "new"), tuple(map(str, range(12))), ("nDCG@5",), values)
    found = rd.significance(scores)
    assert [note.kind for note in found.problems] == ["zero-everywhere"]
    assert rd.gate(scores, baseline="new", candidate="old", margin=0.1).verdict == "refused"
    assert not rd.significance(scores.select(queries=slice(0, 9))).problems
