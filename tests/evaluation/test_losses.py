"""losses and explain: retrieval, cutoff and order, against all placings of the returned items."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import draws, plain
from tests.common.examples import examples
from tests.common.plain import Query
from tests.raising import kinds, noted

RDQS = ["RDQ@1", "RDQ@3", "RDQ", "RDQ(penalty=m1)@3", "RDQ(alpha=4,lam=0)@2", "RDQ(weights=carousel)@4"]
OTHERS = [
    *("nDCG@3", "nDCG", "nDCG(gains=binary)@2", "nDCG(gains=inverse,dcg=exp-log2)@3", "nDCG(gains={4:0.5,1:9})@3"),
    *("AP@3", "AP", "AP(rel=2)@3", "RBP(p=0.8)@3", "RBP(p=0.5,gains=graded,max_grade=4)@2", "P@3", "P(rel=2)@2"),
    *("R@2", "R", "Rprec", "Success@2", "RR@3", "RR(rel=2)", "ERR@3", "nERR@3", "RBA(p=0.9)@3", "Compat(p=0.9)@3"),
    *("Compat(p=0.9,depth=4)", "SetR", "Judged@3"),
]


def placings(items, positions):
    """Yield all lists of so many positions in which each of the items is at most once; ``?`` items are not known."""
    if not positions:
        yield []
        return
    for rest in placings(items, positions - 1):
        yield [*rest, f"?{positions}"]
        yield from ([*rest, item] for item in items if item not in rest)


def best(measure, query, items):
    filled = len(query.run[: measure.reach])
    known = [item for item in dict.fromkeys(items) if item in query.ranks or item in query.nonrelevant]
    lists = placings(known, filled)
    return max(plain.score(measure, Query(query.ranks, run, query.grades, query.nonrelevant)) for run in lists)


def ideal(measure, query):
    everything = [*query.ranks, *query.nonrelevant]
    if isinstance(getattr(measure, "gains", None), tuple):
        gains = dict(measure.gains)
        everything.sort(key=lambda item: -gains.get(query.grades.get(item, 0), query.grades.get(item, 0)))
    return plain.score(measure, Query(query.ranks, everything, query.grades, query.nonrelevant))


@st.composite
def small_queries(draw):
    """A graded reference, or one without any relevant item, and a list of up to five items, some of them repeated."""
    grades = draw(st.lists(st.sampled_from([4, 2, 1, 1]), max_size=4))
    poor = draw(st.dictionaries(st.sampled_from(["n1", "n2"]), st.sampled_from([0, -1]), min_size=0 if grades else 1))
    reference = rd.Reference.from_grades({**{f"d{i}": grade for i, grade in enumerate(grades)}, **poor})
    pool = [*reference, "n1", "n2", "u1", "u2"]
    return draws.query(reference, draw(st.lists(st.sampled_from(pool), max_size=5)))


@examples(200)
@given(st.lists(small_queries(), min_size=1, max_size=2), st.sampled_from(RDQS) | st.sampled_from(OTHERS))
def test_against_all_placings(queries, text):
    measure = rd.parse(text)
    references = rd.References.from_grades(
        {f"q{i}": {**query.grades, **query.nonrelevant} for i, query in enumerate(queries)}
    )
    with draws.repeats_allowed():
        found = rd.losses(references, {"a": {f"q{i}": query.run for i, query in enumerate(queries)}}, text)
    expected = np.array(
        [
            (
                plain.score(measure, query),
                best(measure, query, query.run[: measure.reach]),
                best(measure, query, query.run),
                ideal(measure, query),
            )
            for query in queries
        ]
    )
    np.testing.assert_allclose(found.scores.values[0], expected, rtol=0, atol=1e-12)
    row = {name: value for name, value in found.to_polars().row(0, named=True).items() if name != "system"}
    score, first, returned, _ = expected.mean(axis=0)
    whole = np.where(expected[:, 3] > 0, expected[:, 3], 1.0).mean()  # a query without a relevant item is lost
    assert row["lost_by_retrieval"] == pytest.approx(whole - returned, abs=1e-12)
    assert row["lost_by_cutoff"] == pytest.approx(returned - first, abs=1e-12)
    assert row["lost_by_order"] == pytest.approx(first - score, abs=1e-12)
    assert ("ideal-below-one" in kinds(found.remarks)) == (whole < 1 - 1e-12)
    assert sum(row.values()) == pytest.approx(whole)
    assert min(row.values()) >= 0
    for i, query in enumerate(queries):
        if query.ranks:
            check_explained(references[f"q{i}"], query.run, text, expected[i])


def check_explained(reference, run, text, expected):
    found = rd.explain(reference, run, measure=text)
    values = (found.score, found.best_score, found.best_of_all, found.ideal_score)
    assert values == pytest.approx(tuple(expected), abs=1e-12)
    assert min(found.retrieval_loss, found.cutoff_loss, found.ordering_loss) >= 0
    cut = rd.parse(text).reach
    assert rd.score(reference, found.best_order, text) == pytest.approx(found.best_score, abs=1e-12)
    assert len(found.best_order) == len(run[:cut])
    if "(empty)" not in found.best_order:
        assert sorted(found.best_order) == sorted(run[:cut])
    assert sum(entry.gained for entry in found.positions) == pytest.approx(found.score, abs=1e-12)
    assert sum(entry.lost for entry in found.positions) == pytest.approx(found.ideal_score - found.score, abs=1e-12)
    assert set(found.not_returned) == {(item, rank) for item, rank in reference.items() if item not in run}
    deep = {(item, rank, run.index(item) + 1) for item, rank in reference.items() if item in run}
    assert set(found.below_cutoff) == {entry for entry in deep if cut is not None and entry[2] > cut}


def test_queries_that_are_missing_or_have_no_reference_item():
    references = rd.References.from_grades({"q1": {"d1": 1}, "q2": {"d1": 0}, "q3": {"d2": 1}})
    runs = {"a": {"q1": ["d1"], "q2": ["d1"]}, "b": {"q3": ["x", "d2"]}}
    found = rd.losses(references, runs, "RDQ@5")
    assert found.to_polars().rows()[0] == pytest.approx(("a", 1 / 3, 2 / 3, 0, 0))
    noted(found.remarks, "empty-zero", count=1, queries=3)
    skipped = rd.losses(references, runs, "RDQ@5", empty="skip").to_polars()
    assert skipped.rows()[0] == pytest.approx(("a", 0.5, 0.5, 0, 0))


LISTS = {f"q{i}": [f"d{(3 * i + j * j) % 23}" for j in range(12)] for i in range(6)}
RUN = {query: list(dict.fromkeys(items)) for query, items in LISTS.items()}


@pytest.mark.parametrize("text", ["RDQ@2", "AP@2"])
def test_every_form_of_a_run_is_read_below_the_cutoff(text, tmp_path):
    """Evaluation reads no deeper than the cutoff; losses need all of it."""
    references = {query: [f"d{i}" for i in range(2, 20, 3)] for query in RUN}
    rows = [(query, item, 20.0 - position) for query, items in RUN.items() for position, item in enumerate(items)]
    frame = pl.DataFrame(rows, schema=["query", "item", "score"], orient="row")
    trec = "".join(f"{query} Q0 {item} 1 {score} x\n" for query, item, score in rows)
    (tmp_path / "a.run").write_text(trec)
    runs = {"lists": RUN, "Run": rd.Run.from_lists(RUN), "table": frame, "file": tmp_path / "a.run"}
    found = rd.losses(references, runs, text).to_polars()
    assert found["lost_by_cutoff"][0] > 0.05
    assert found.drop("system").unique().height == 1
