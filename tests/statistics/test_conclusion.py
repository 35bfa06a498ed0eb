"""The sentence for someone who decides agrees with p, interval, gate and the queries themselves, in every case."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.display.dispatch import report_of
from rankdev.display.encodings import FORMATS
from rankdev.errors import DataError
from rankdev.measures.base import MeasureInfo
from tests.common.examples import examples

START = re.compile(r"^(Ship|Don't ship|Cannot tell)")


def made(old, new, lower=(), span=1.0, names=None):
    values = np.stack([np.atleast_2d(np.transpose(part)).T for part in (old, new)]).astype(float)
    measures = names or tuple(f"m{i}" for i in range(values.shape[2]))
    kinds = tuple(
        MeasureInfo(name, higher_is_better=i not in lower, range=(0.0, span)) for i, name in enumerate(measures)
    )
    return rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(values.shape[1])), measures, values, kinds=kinds)


def quiet(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **options)


@st.composite
def pairs(draw):
    n, measures = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    old = rng.uniform(0, 1, (n, measures))
    shift = np.array([draw(st.sampled_from([-0.2, -0.03, 0.0, 0.03, 0.2])) for _ in range(measures)])
    noise = draw(st.sampled_from([0.0, 0.05, 0.3]))
    new = old + shift + rng.normal(0, noise, old.shape) if noise else old + shift
    changed = rng.random((n, 1)) < draw(st.sampled_from([0.05, 0.4, 1.0]))
    new = np.where(changed, new, old)
    if draw(st.booleans()):
        old, new = np.rint(2 * old) / 2, np.rint(2 * new) / 2
    if draw(st.booleans()):  # some lose everything
        new[rng.random(n) < 0.1] = 0.0
    if draw(st.booleans()):
        new[rng.random(new.shape) < 0.2] = np.nan
    lower = {i for i in range(measures) if draw(st.booleans())}
    return made(old, new, lower, span=draw(st.sampled_from([1.0, np.inf])))


@given(pairs(), st.sampled_from([None, "old"]), st.sampled_from(["randomization", "t"]))
@examples(300, deadline=None)
def test_it_agrees_with_p_and_interval(scores, baseline, test):
    try:
        found = quiet(rd.significance, scores, baselines=baseline, test=test, permutations=999)
    except DataError:
        assert np.isnan(scores.values).any() or len(scores.queries) == 1
        return
    rows = found.to_polars().to_dicts()
    word = START.match(found.conclusion)[1]
    states = []
    for row in rows:
        clear = row["p_adjusted"] is not None and row["p_adjusted"] <= 0.05 and not row["low"] <= 0 <= row["high"]
        ahead = np.sign(row["difference"]) * (-1 if row["measure"] in scores.lower_is_better else 1)
        states.append(int(ahead) if clear else 0)
    candidate = re.match(r"(?:Ship|Don't ship|Cannot tell:) (\w+)", found.conclusion)[1]
    if candidate == rows[0]["b"] and word != "Cannot tell":
        states = [-state for state in states]
        assert baseline is None
    if word == "Ship":
        assert min(states) == 1
    elif word == "Cannot tell":
        assert 0 in states
        assert len(set(states)) == 1 or -1 not in {state * max(states, key=abs) for state in states}
    elif "collapsed" in found.conclusion:
        assert min(states) == 1
    else:
        assert -1 in states
    assert (" yet" in found.conclusion) == (word == "Don't ship" and 1 in states)
    if lost := re.search(r"no query lost (?:anything|more than (\S+))(?: in (m\d))?\.$", found.conclusion):
        signs = np.array([-1 if name in scores.lower_is_better else 1 for name in scores.measures])
        gains = (scores.values[1] - scores.values[0]) * signs * (1 if candidate == "new" else -1)
        told = gains[:, scores.measures.index(lost[2])] if lost[2] else gains
        assert np.nanmax(-told) <= float(lost[1] or 0) + 1e-6


@given(pairs(), st.sampled_from([0.0, 0.05]), st.sampled_from([None, 0.3]))
@examples(150, deadline=None)
def test_it_is_the_decision_of_a_gate(scores, margin, query_margin):
    try:
        found = quiet(rd.gate, scores, baseline="old", margin=margin, query_margin=query_margin)
    except DataError:
        assert np.isnan(scores.values).any()
        return
    word = {"pass": "Ship", "fail": "Don't ship", "undecided": "Cannot tell"}[found.verdict]
    assert found.conclusion.startswith(f"{word}: ")
    assert report_of(found).opening[0] == found.conclusion


EVEN = np.full(40, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "baseline", "text"),
    [
        (
            EVEN,
            EVEN + np.r_[np.full(28, 0.2), np.full(7, -0.2), np.zeros(5)],
            None,
            "Ship new: better than old in m0 on 28 of 40 queries, worse on 7; no query lost more than 0.2.",
        ),
        (
            EVEN,
            EVEN - np.r_[np.full(28, 0.2), np.full(7, -0.2), np.zeros(5)],
            None,
            "Ship old: better than new in m0 on 28 of 40 queries, worse on 7; no query lost more than 0.2.",
        ),
        (
            EVEN,
            EVEN - np.r_[np.full(28, 0.2), np.full(7, -0.2), np.zeros(5)],
            "old",
            "Don't ship new: worse than old in m0 on 28 of 40 queries, better on 7.",
        ),
        (
            EVEN + 0.1,
            EVEN + 0.1 + np.r_[np.full(36, 0.25), np.full(4, -0.55)],
            "old",
            "Don't ship new yet: better than old on average, but 4 of 40 queries collapsed (lost 0.5 or more).",
        ),
        (EVEN, EVEN, "old", "Cannot tell: new and old score the same in m0 on all 40 queries."),
        (
            EVEN,
            EVEN + np.r_[np.full(21, 0.1), np.full(19, -0.1)],
            "old",
            "Cannot tell: new is better than old in m0 on 21 of 40 queries, worse on 19;"
            " that can be chance (p = 0.88).",
        ),
        (
            np.stack([EVEN, EVEN]),
            np.stack([EVEN + 0.1, EVEN - 0.1]),
            "old",
            "Don't ship new yet: better than old in m0, but worse in m1.",
        ),
        (
            np.stack([EVEN, EVEN]),
            np.stack([EVEN + 0.1, EVEN]),
            None,
            "Cannot tell: new is better than old in m0, but m1 shows no clear difference (p = 1).",
        ),
    ],
)
def test_its_words(old, new, baseline, text):
    found = quiet(rd.significance, made(np.transpose(old), np.transpose(new)), baselines=baseline)
    assert found.conclusion == text
    assert report_of(found).opening[0] == text
    assert json.loads(FORMATS["json"].encode(report_of(found)))["conclusion"] == text


def test_queries_that_gain_as_much_as_others_lose_are_no_collapse():
    """Every change of a hit is a whole one; only more losses than gains as large speak against a better mean."""
    old, new = np.r_[np.zeros(30), np.ones(8), np.ones(62)], np.r_[np.ones(30), np.zeros(8), np.ones(62)]
    found = quiet(rd.significance, made(old, new), baselines="old")
    start = "Ship new: better than old in m0 on 30 of 100 queries, worse on 8; "
    assert found.conclusion == f"{start}8 of 100 queries collapsed (lost 0.5 or more)."


CALLS = ((rd.significance, {"baselines": "old"}), (rd.gate, {"baseline": "old", "margin": 0.05}))


def test_losses_under_measures_of_other_ranges_are_named():
    kinds = (MeasureInfo("m0", range=(0.0, 1.0)), MeasureInfo("m1", range=(0.0, 100.0)))
    gain = np.r_[np.full(36, 0.3), np.full(4, -0.1)]
    old = np.full((40, 2), [0.5, 60.0])

    def said(new):
        scores = replace(made(old, new), kinds=kinds)
        return [quiet(call, scores, **baseline).conclusion for call, baseline in CALLS]

    for text in said(old + gain[:, None] * [1, 100]):
        assert text.endswith(" on 36 of 40 queries, worse on 4; no query lost more than 0.1 in m0.")
    for text in said(old + np.abs(gain)[:, None] * [1, 0] + gain[:, None] * [0, 100]):
        assert text.endswith(" on 40 of 40 queries; no query lost anything in m0.")
    for text in said(old + np.c_[gain, np.r_[np.full(39, 30), -60]]):
        assert text.endswith("1 of 40 queries collapsed (lost 50 or more) in m1.")


def test_there_is_one_for_each_candidate_and_none_for_all_pairs(make_scores):
    values = np.random.default_rng(0).uniform(size=(8, 20))
    some = quiet(rd.significance, make_scores(values[:4]), baselines="s1")
    assert [re.search(r"s\d", line)[0] for line in some.conclusion.splitlines()] == ["s0", "s2", "s3"]
    assert quiet(rd.significance, make_scores(values[:4])).conclusion == ""
    assert quiet(rd.significance, make_scores(values), baselines="s1").conclusion == ""
    assert quiet(rd.significance, make_scores(values[:4]), baselines=["s1", "s2"]).conclusion == ""


def test_it_is_one_line_whatever_the_names():
    values = np.random.default_rng(0).uniform(size=(2, 20, 1))
    known = rd.Scores(("a\nb", "c\x1b[31m"), tuple(map(str, range(20))), ("AP",), values)
    for found in (quiet(rd.significance, known), quiet(rd.gate, known, baseline="a\nb", margin=0.9)):
        assert found.conclusion.isprintable()
