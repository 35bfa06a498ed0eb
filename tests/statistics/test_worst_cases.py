"""Equal scores and missing queries are a problem where they could change the verdict, and only there."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation.health import Check, Limits
from rankdev.html_report._findings import compare
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.worst_cases import weighed
from tests.common.examples import examples

ITEMS = list("abcdef")
LISTS = {f"q{i}": ITEMS[:4] for i in range(20)}
USUAL = dict.fromkeys(("order", "ties", "margin", "segments", "progress", "clusters", "replicates"))
RNG = np.random.default_rng(1)
GOOD = dict.fromkeys(LISTS, ITEMS)
FAIR = {query: RNG.permutation(ITEMS).tolist() for query in LISTS}
POOR = {query: RNG.permutation([*"uvwxyz", "a"]).tolist() for query in LISTS}


def found(runs, measures=("RDQ@4",), **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        return compare(LISTS, runs, list(measures), **{**USUAL, "empty": "zero", "alpha": 0.05, "seed": 0, **given})


def level(runs, name="Tied scores", **given):
    made = found(runs, **given)
    check = next(check for check in made.checks[0] if check.name == name)
    assert (check.level == "problem") == (made.verdicts[0].level == "problem")
    return check.level, check.text


def tied(lists, queries=20, among=6):
    """Score the first items of some queries alike."""
    return {
        query: {item: 2.0 - max(0, n - among + 1 if q < queries else n) / 10 for n, item in enumerate(items)}
        for q, (query, items) in enumerate(lists.items())
    }


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ({"good": GOOD, "tied": tied(GOOD)}, True),  # any order of all it returns
        ({"good": GOOD, "tied": tied(GOOD, among=2)}, True),  # as good as good, or worse
        ({"good": GOOD, "tied": tied(POOR)}, False),  # worse than good in any order
        ({"good": GOOD, "fair": FAIR, "tied": tied(POOR)}, False),
        ({"one": FAIR, "tied": tied(FAIR, queries=1, among=2)}, False),  # no winner in any order
        ({"one": FAIR, "tied": tied(FAIR)}, True),  # no winner, and one in some order
        ({"one": FAIR, "other": FAIR, "tied": tied(GOOD)}, True),
    ],
)
def test_ties_are_a_problem_where_they_could_change_the_verdict(runs, problem):
    got, text = level(runs)
    assert got == ("problem" if problem else "caution")
    assert ("That can change the conclusion. Use ranks (--order rank)" in text) == problem
    assert ("No order changes the conclusion." in text) != problem


def test_averaged_ties_are_no_problem():
    runs = {"good": GOOD, "tied": tied(GOOD)}
    assert level(runs, ties="expected") == ("good", "Scores are means over all orders of tied items.")


def test_a_problem_is_a_sentence():
    assert (
        found({"good": GOOD, "tied": tied(GOOD)}).verdicts[0].sentence.startswith("No conclusion: tied scores affect")
    )


def test_a_verdict_that_holds_can_be_read_with_the_range_of_the_mean():
    runs = {"good": GOOD, "tied": tied(FAIR, queries=3, among=2)}
    known = rd.References.of(LISTS)
    first, second = (
        rd.evaluate(known, {"x": rd.Run.from_scores(runs["tied"], ties=rule)}, "RDQ@4").means.item()
        for rule in ("ascending", "descending")
    )
    _, text = level(runs)
    low, high = (float(word.rstrip(".")) for word in text.partition("mean is ")[2].split(" ")[0:3:2])
    assert low - 1e-4 <= min(first, second) < max(first, second) <= high + 1e-4
    assert text.startswith("Tied scores affect RDQ@4 on ")
    _, both = level({**runs, "more": tied(FAIR, queries=5, among=2)})
    assert "in 2 of 3 runs, on up to " in both
    assert "the mean of more, which moves most, is " in both


@pytest.mark.parametrize(("lost", "problem"), [(1, False), (2, True), (12, True)])
def test_missing_queries_are_a_problem_where_they_could_change_the_verdict(lost, problem):
    name = "Queries missing from runs"
    few = dict(list(GOOD.items())[lost:])
    close = {query: ["b", "a", "c", "d"] for query in LISTS}
    got, text = level({"few": few, "close": close}, name)  # few wins, or does not if it fails where it has no list
    assert got == ("problem" if problem else "caution")
    got, text = level({"good": GOOD, "few": dict(list(POOR.items())[lost:])}, name)
    far = lost < 12
    assert got == ("caution" if far else "problem")
    assert ("The conclusion would be the same whatever it scored there." in text) == (1 < lost < 12)


def test_a_single_system_has_a_problem_where_its_mean_could_be_another():
    assert level({"mine": tied(GOOD)})[0] == "problem"
    got, text = level({"mine": tied(GOOD, queries=1, among=2)})
    assert got == "caution"
    assert "conclusion" not in text
    assert level({"mine": dict(list(GOOD.items())[12:])}, "Queries missing from runs")[0] == "problem"


def test_measures_where_less_is_better():
    kind = MeasureInfo("cost", higher_is_better=False, range=(0.0, 1.0))
    values = np.stack([np.full((20, 1), 0.2), np.full((20, 1), 0.5)]) + RNG.uniform(0, 0.1, (2, 20, 1))
    scores = rd.Scores(("cheap", "dear"), tuple(LISTS), ("cost",), values, kinds=(kind,))
    for low, high, problem in ((0.0, 0.1, False), (0.0, 0.5, True), (0.5, 0.0, True), (0.9, 0.0, True)):
        limits = Limits(values[:, :, 0] - [[0.0], [low]], values[:, :, 0] + [[high], [0.0]], "it does")
        check = Check("x", "caution", "", "it does not", limits)
        ((got,),) = weighed(scores, [[check]], rd.significance(scores), rd.significance)
        assert (got.level, got.text) == (("problem", "it does") if problem else ("caution", "it does not"))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 4),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from(["RDQ@3", "nDCG(gains=inverse)@3"]),
)
@examples(16, deadline=None)
def test_another_order_never_changes_a_verdict_that_is_no_problem(seed, systems, skill, measure):
    rng = np.random.default_rng(seed)
    ideal = {item: -float(i) for i, item in enumerate(ITEMS)}
    runs = {
        f"s{s}": {q: {item: round(skill * s * ideal[item] + 2 * rng.normal()) for item in ITEMS} for q in LISTS}
        for s in range(systems)
    }
    verdict = found(runs, [measure]).verdicts[0]
    if verdict.level == "problem":
        return
    for _ in range(3):
        broken = {
            name: {
                query: sorted(scores, key=lambda item: (-scores[item], rng.random())) for query, scores in run.items()
            }
            for name, run in runs.items()
        }
        then = found(broken, [measure]).verdicts[0]
        assert then.level == verdict.level
        assert then.level == "open" or then.best == verdict.best


def test_clusters_and_runs_of_systems_are_allowed_for():
    runs = {"x-1": GOOD, "x-2": FAIR, "y-1": tied(POOR), "y-2": POOR}
    clusters = {query: int(query[1:]) // 2 for query in LISTS}
    assert level(runs, replicates={"x": ["x-1", "x-2"], "y": ["y-1", "y-2"]})[0] in ("caution", "problem")
    assert level({"good": GOOD, "tied": tied(POOR)}, clusters=clusters)[0] == "caution"
