"""Every registered measure: golden values, and the laws of the definitions page on random input."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.measures import REGISTRY
from rankdev.measures.graded import gain_map
from rankdev.measures.rdq import PRESETS
from tests.common import draws
from tests.common.claims import EVERY, claiming
from tests.common.one_ranking import rdq
from tests.common.plain import TWINS

GOLDEN = [
    pytest.param(case, text, value, id=f"{path.stem}-{i}-{text}")
    for path in sorted((Path(__file__).parents[1] / "golden").glob("*.json"))
    for i, case in enumerate(json.loads(path.read_text(encoding="utf-8"))["cases"])
    for text, value in case["scores"].items()
]
ARITHMETIC = {"exp": math.exp, "log2": math.log2, "sqrt": math.sqrt}


def reference_of(case):
    return rd.Reference.from_grades(case["grades"]) if "grades" in case else rd.Reference(case["ranks"])


@pytest.mark.parametrize(("case", "text", "value"), GOLDEN)
def test_golden(case, text, value):
    """A value is hand arithmetic in writing, a published number with its decimals, or null: not available."""
    got = rd.score(reference_of(case), case["run"], text)
    if value is None:
        assert math.isnan(got), case["why"]
    elif "decimals" in case:
        assert round(got, case["decimals"]) == pytest.approx(float(value), abs=1e-9), case["why"]
    else:
        assert got == pytest.approx(eval(value, ARITHMETIC), abs=1e-12), case["why"]


@pytest.mark.parametrize("name", REGISTRY)
def test_no_measure_is_missed(name):
    golden = {rd.parse(text).name for _, text, _ in (entry.values for entry in GOLDEN)}
    assert name in golden, f"{name} needs golden values in tests/golden"
    assert name in {rd.parse(text).name for text in EVERY}, f"{name} needs its laws in tests/common/claims.py"
    assert name in TWINS, f"{name} needs a plain twin in tests/common/plain.py"


def scores(reference, run, texts):
    return {text: rd.score(reference, run, text) for text in texts}


def never_worse(reference, run, changed, texts):
    before, after = (scores(reference, items, texts) for items in (run, changed))
    assert not {text: (before[text], after[text]) for text in texts if after[text] < before[text] - 1e-12}


@draws.quick
@given(draws.queries())
def test_range(query):
    got = scores(rd.Reference.from_grades(query.grades), query.run, EVERY)
    assert not {text: got[text] for text in claiming("unit") if not 0 <= got[text] <= 1}
    assert not {text: got[text] for text in claiming("count") if got[text] < 0 or got[text] % 1}
    assert not {text: got[text] for text in claiming("correlation") if got[text] < -1 or got[text] > 1}
    declared = {text: rd.parse(text).range for text in EVERY}
    assert not {
        text: got[text]
        for text, (low, high) in declared.items()
        if not np.isnan(got[text]) and not low <= got[text] <= high
    }


def shuffled_ideal(data, reference):
    """All reference items, best first, each tier in any order, then strangers."""
    run = [item for tier in reference.tiers for item in data.draw(st.permutations(tier))]
    return run + draws.STRANGERS[: data.draw(st.integers(0, 3))]


@draws.quick
@given(st.data())
def test_an_ideal_ranking_scores_one(data):
    reference = data.draw(draws.references())
    got = scores(reference, shuffled_ideal(data, reference), claiming("ideal"))
    assert not {text: value for text, value in got.items() if value != 1}


@draws.quick
@given(st.data())
def test_only_an_ideal_ranking_scores_one(data):
    reference = data.draw(draws.references())
    run = data.draw(st.one_of(draws.rankings(list(reference)), st.just(shuffled_ideal(data, reference))))
    for text, value in scores(reference, run, claiming("only-ideal")).items():
        filled = min(len(reference), rd.parse(text).cutoff or len(reference))
        best, first = sorted(reference.values())[:filled], run[:filled]
        is_ideal = len(set(first)) == filled and [reference.get(item) for item in first] == best
        assert (value > 1 - 1e-9) == is_ideal, text


@draws.quick
@given(st.data())
def test_an_unretrieved_reference_item_in_place_of_a_stranger_never_hurts(data):
    reference = data.draw(draws.references())
    run = data.draw(draws.rankings(list(reference)))
    unretrieved = [item for item in reference if item not in run]
    swaps = [(i, item) for i, old in enumerate(run) if old not in reference for item in unretrieved]
    assume(swaps)
    at, item = data.draw(st.sampled_from(swaps))
    never_worse(reference, run, [*run[:at], item, *run[at + 1 :]], claiming("stranger"))


@draws.quick
@given(st.data())
def test_a_better_item_in_place_of_a_reference_item_never_hurts(data):
    reference = data.draw(draws.references())
    run = data.draw(st.lists(st.sampled_from([*reference, *draws.STRANGERS]), unique=True, min_size=1))
    unretrieved = [item for item in reference if item not in run]
    swaps = [(i, item) for i, old in enumerate(run) for item in unretrieved if reference[item] <= reference.get(old, 0)]
    assume(swaps)
    at, item = data.draw(st.sampled_from(swaps))
    never_worse(reference, run, [*run[:at], item, *run[at + 1 :]], claiming("better"))


@draws.quick
@given(st.data())
def test_items_below_the_reach_do_not_matter(data):
    reference = data.draw(draws.references())
    run = data.draw(draws.rankings(list(reference)))
    below = data.draw(draws.rankings(list(reference)))
    for text in EVERY:
        reach = rd.parse(text).reach
        if reach is not None and reach <= len(run):
            got, expected = (rd.score(reference, items, text) for items in (run[:reach] + below, run[:reach]))
            assert got == pytest.approx(expected, abs=1e-12, nan_ok=True), text


VALUES = {
    "penalty": st.sampled_from(["m1", "m2"]),
    "gains": st.sampled_from(["native", "binary", "inverse", "linear"])
    | st.dictionaries(st.floats(0.1, 9), st.floats(0, 1e300), max_size=3).map(gain_map),
    "dcg": st.sampled_from(["log2", "exp-log2"]),
    "weights": st.sampled_from(sorted(PRESETS))
    | st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4).map(lambda values: tuple(sorted(values, reverse=True))),
    "depth": st.none() | st.integers(1, 10**6),
    "p": st.sampled_from([0.8, 0.95]) | st.floats(0.001, 0.999),
    "rel": st.none() | st.floats(0.1, 1e20),
    "tail": st.none() | st.floats(1e-4, 1e-3),
    "alpha": st.sampled_from([1.0, 4.0]) | st.floats(1e-3, 1e300),
    "lam": st.sampled_from([0.0, 0.2]) | st.floats(0, 1e100),
    "max_grade": st.floats(1, 30),
    "beta": st.sampled_from([1.0]) | st.floats(0, 1e300),
    "recall": st.floats(0, 1),
    "judged_only": st.booleans(),
    "relative": st.booleans(),
}
TIES = {"RBO": ["w", "a", "b"], "TauAP": ["none", "b"]}
KINDS = st.sampled_from(sorted(REGISTRY))


@st.composite
def measures(draw, name):
    """A measure with any parameters."""
    kind = REGISTRY[name]
    values = {"ties": draw(st.sampled_from(TIES.get(name, ["none"])))}
    if name == "RBP":
        graded = draw(st.booleans())
        values |= {"gains": "graded", "max_grade": draw(VALUES["max_grade"])} if graded else {"max_grade": None}
        values.setdefault("gains", "binary")
    entries = [*kind.parameters(), *([kind.at] if kind.at not in (None, "cutoff") else [])]
    names = [entry if isinstance(entry, str) else entry.name for entry in entries]
    values = {entry: values[entry] if entry in values else draw(VALUES[entry]) for entry in names}
    if isinstance(values.get("weights"), str):
        values["tail"] = None
    if kind.at == "cutoff":
        values["cutoff"] = draw(st.integers(1, len(values.get("weights") or "abc")))
    return kind(**values)


@draws.quick
@given(KINDS.flatmap(measures))
def test_text_to_measure_to_text_is_stable(measure):
    assert rd.parse(str(measure)) == measure
    assert str(rd.parse(str(measure))) == str(measure)


EXTREMES = [5e-324, 1e-300, 1e-17, 0.5, 1.0, 3.0, 1023.5, 1e16, 1e300, 1.7e308]


@st.composite
def extreme_references(draw):
    """Grades at the ends of what a float can hold."""
    grades = draw(st.dictionaries(st.sampled_from([f"d{i}" for i in range(6)]), st.sampled_from(EXTREMES), min_size=1))
    return rd.Reference.from_grades({**grades, "x0": 0})


@draws.quick
@given(extreme_references(), st.data())
def test_extreme_grades_are_scored_rightly_or_refused(reference, data):
    """A score is in its range, not available, or refused with a line; an ideal list is ideal whatever its grades."""
    run = data.draw(draws.rankings(list(reference)))
    ideal = shuffled_ideal(data, reference)
    with np.errstate(all="raise", under="ignore"):
        for text in EVERY:
            try:
                got, best = (rd.score(reference, items, text) for items in (run, ideal))
            except rd.MeasureError as error:
                assert error.kind == "high-grade"  # noqa: PT017 what else is refused would be a surprise
                continue
            if text in claiming("unit"):
                assert 0 <= got <= 1, text
            if text in claiming("ideal"):
                assert best == 1, text


@draws.quick
@given(st.data())
def test_the_scale_of_grades_and_weights_does_not_matter(data):
    """Not even at the ends of what a float can hold; a power of two scales exactly."""
    reference = data.draw(draws.references())
    run = data.draw(draws.rankings(list(reference)))
    power = data.draw(st.integers(-1060, 1000))
    scaled = rd.Reference.from_grades({item: math.ldexp(grade, power) for item, grade in reference.grades.items()})
    assert rd.score(scaled, run, "nDCG@5") == rd.score(reference, run, "nDCG@5")
    weights = [math.ldexp(weight, power) for weight in (3, 2, 2, 1)]
    assert rdq(reference, run, k=4, weights=weights) == rdq(reference, run, k=4, weights=[3, 2, 2, 1])
