"""A verdict is green only where tests, intervals and data allow it."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.errors import DataError
from rankdev.evaluation.health import Check
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.groups import places
from rankdev.statistics.verdict import name_some, queries_check, verdicts
from tests.common.examples import examples

FINE, BAD = Check("x", "good", "", ""), Check("y", "problem", "1", "y is broken.")


@st.composite
def scores_of(draw):
    systems, n, measures = draw(st.integers(1, 5)), draw(st.integers(1, 30)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    base = rng.uniform(0, 1, (1, n, measures))
    shift = rng.choice([-0.3, -0.1, 0.0, 0.1, 0.3], (systems, 1, measures))
    values = base + shift + rng.normal(0, draw(st.sampled_from([0.0, 0.05, 0.3])), (systems, n, measures))
    if draw(st.booleans()):
        values = np.rint(3 * values) / 3
    if draw(st.booleans()):  # sparse: mostly equal
        values = np.where(rng.random((1, n, 1)) < 0.7, base, values)
    kinds = tuple(MeasureInfo(f"m{m}", higher_is_better=draw(st.booleans()), range=(0.0, 1.0)) for m in range(measures))
    names = tuple(f"s{s}" for s in range(systems))
    return rd.Scores(names, tuple(map(str, range(n))), tuple(k.label for k in kinds), values.clip(0, 1), kinds=kinds)


@given(scores_of(), st.booleans())
@examples(400, deadline=None)
def test_green_only_where_every_test_and_interval_and_the_data_allow_it(scores, broken):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = rd.significance(scores, permutations=999) if len(scores.systems) > 1 else None
        except DataError:
            return
    checks = [[FINE, *([BAD] if broken and m == 0 else [])] for m in range(len(scores.measures))]
    for m, verdict in enumerate(verdicts(scores, found, checks)):
        assert (verdict.level == "problem") == (broken and m == 0)
        if found is None:
            assert verdict.level in ("single", "problem")
            assert queries_check(verdict, None, 10, "query").level == (
                "good" if verdict.level == "single" else "unknown"
            )
            continue
        sign = -1 if verdict.measure in scores.lower_is_better else 1
        means = sign * scores.means[:, m]
        assert means[scores.systems.index(verdict.best)] == means.max()
        rows = [
            row for row in found.to_polars().filter(measure=verdict.measure).to_dicts() if verdict.best in row.values()
        ]
        assert len(rows) == len(scores.systems) - 1
        clear = all(
            row["p_adjusted"] is not None
            and row["p_adjusted"] <= found.alpha
            and not row["low"] <= 0 <= row["high"]
            and sign * row["difference"] * (1 if row["a"] == verdict.best else -1) > 0
            for row in rows
        )
        place = places(scores, found, verdict.measure)
        first = place.high[scores.systems.index(verdict.best)] == 1
        if verdict.level == "winner":
            assert clear
            assert first  # the leaderboard agrees
            assert "wins" in verdict.sentence or verdict.sentence.startswith("Ship ")
        elif verdict.level == "open":
            assert not (clear and first) or "collapsed" in verdict.sentence
            assert "wins" not in verdict.sentence
            assert not verdict.sentence.startswith("Ship ")
        assert queries_check(verdict, None, 10, "query").level == ("good" if verdict.level == "winner" else "unknown")


def test_a_problem_is_the_sentence():
    scores = rd.Scores(("a", "b"), tuple(map(str, range(20))), ("P@5",), np.array([[[1.0]] * 20, [[0.5]] * 20]))
    found = rd.significance(scores)
    (spoilt,) = verdicts(scores, found, [[BAD, FINE, BAD]])
    assert spoilt.sentence == "No conclusion: y is broken (and 1 other problem)."
    assert "Ship" not in spoilt.by


def test_systems_that_score_the_same_are_called_so():
    values = np.tile(np.linspace(0, 1, 12)[None, :, None], (3, 1, 1))
    scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(12))), ("P@5",), values)
    (verdict,) = verdicts(scores, rd.significance(scores), [[FINE]])
    assert verdict.sentence == "No clear winner. All 3 systems score the same on P@5, on each of 12 queries."


def test_the_next_best_is_one_that_scores_otherwise():
    values = np.tile(np.linspace(0.3, 1, 12)[None, :, None], (4, 1, 1))
    values[3] -= np.linspace(0.1, 0.2, 12)[:, None]
    scores = rd.Scores(("a", "b", "c", "d"), tuple(map(str, range(12))), ("P@5",), values)
    (of_four,) = verdicts(scores, rd.significance(scores), [[FINE]])
    start = "a, b and c score the same on every query, and are ahead of d, the next best, by 0.1500 P@5 (95% interval "
    assert of_four.by.startswith(start)
    of_two = scores.select(systems=["a", "d"])
    (verdict,) = verdicts(of_two, rd.significance(of_two), [[FINE]])
    assert verdict.by.startswith("a is ahead of d by 0.1500 P@5 (95% interval ")


def test_names_are_counted_where_there_are_many():
    assert name_some(["a"]) == "a"
    assert name_some(list("abcde")) == "a, b, c, d and e"
    assert name_some(list("abcdef")) == "a, b, c, d and 2 others"
