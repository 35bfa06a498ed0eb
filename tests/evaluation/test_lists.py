"""All lists at once say what explain says of each."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation.explain import IN_PLACE, KINDS, first_positions
from rankdev.measures import parse
from tests.common.examples import examples

ITEMS = [f"d{i}" for i in range(7)]


@st.composite
def cases(draw):
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    tiers = {}
    for query in queries:
        items = draw(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=6, unique=True))
        levels = [[items[0]]]
        for item in items[1:]:
            if draw(st.booleans()):
                levels.append([item])
            else:
                levels[-1].append(item)
        tiers[query] = levels
    names = draw(st.lists(st.sampled_from([*queries, "other"]), min_size=1, unique=True))
    lists = {name: draw(st.lists(st.sampled_from([*ITEMS, "x", "y"]), min_size=1, max_size=9)) for name in names}
    lists.setdefault(queries[0], ["x"])
    text = draw(st.sampled_from(["RDQ@3", "RDQ@6", "RDQ(penalty=m1)@5", "RDQ(alpha=3,weights=carousel)@4", "RDQ"]))
    return tiers, lists, text


@examples(60)
@given(cases())
def test_every_list_is_explained(case):
    tiers, lists, text = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lists repeat items on purpose
        run = rd.Run.from_lists(lists)
    measure = parse(text)
    depth = measure.cutoff or 9
    found = first_positions(rd.References.from_tiers(tiers), {"mine": run}, measure, depth)
    for q, query in enumerate(tiers):
        told = rd.explain(rd.References.from_tiers(tiers)[query], lists.get(query, []), measure=text)
        assert found.earned[0, q].sum() == pytest.approx(min(1.0, told.score), abs=1e-12) or measure.cutoff is None
        for i, entry in enumerate(told.positions[:depth]):
            item = found.items[0, q, i]
            assert (None if item < 0 else found.names[int(item)]) == entry.item
            assert (found.ranks[0, q, i] or None) == entry.rank
            assert found.ideal_ranks[q, i] == entry.ideal_rank
            kind = KINDS[found.kinds[0, q, i]]
            if entry.why:
                assert kind == entry.why
            else:  # nothing is lost, by what belongs there or by a position that does not count
                assert kind == IN_PLACE if entry.credit else kind != IN_PLACE
            numbers = [part[0, q, i] for part in (found.credit, found.earned, found.lost)]
            assert numbers == pytest.approx([entry.credit, entry.earned, entry.lost], abs=1e-12)
            assert found.weights[i] == entry.weight
