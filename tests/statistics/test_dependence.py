"""Queries whose ids begin alike: which groups are seen, and when a note says that they depend on each other."""

from itertools import permutations

import numpy as np
import pytest

import rankdev as rd
from rankdev.statistics.assumptions import groups_by_id, within
from tests.raising import kinds, noted


def scores_of(apart, ids):
    values = np.stack([0.5 + np.asarray(apart), np.full(len(apart), 0.5)])[:, :, None]
    return rd.Scores(("a", "b"), tuple(ids), ("P@5",), values)


def variants(topics, each, separator="-"):
    return [f"{topic}{separator}{variant}" for topic in range(topics) for variant in range(each)]


@pytest.mark.parametrize("separator", ["-", "_", "/", ":", ".", "#", "|"])
def test_ids_that_differ_in_their_last_part_are_groups(separator):
    assert groups_by_id(variants(6, 3, separator)).tolist() == np.repeat(range(6), 3).tolist()


def test_only_the_last_part_varies():
    assert groups_by_id(["2021-1-a", "2021-1-b", "2021-2-a", "2021-2-b", *variants(6, 2)]).max() == 7


@pytest.mark.parametrize(
    "ids",
    [
        [str(i) for i in range(40)],
        [f"topic-{i}" for i in range(40)],  # one group of all
        ["coffee-near-the-station", "hotel-astoria", "museums", "new-museums", "old-town"],
        [*variants(4, 2), *(f"x{i}" for i in range(30))],  # few groups
        [f"{name}/{i}" for name in "abcdef" for i in range(3 if name > "a" else 40)],  # one large one
    ],
)
def test_ids_without_such_groups(ids):
    assert groups_by_id(ids) is None


def test_the_correlation_and_its_p_against_plain_arithmetic():
    """Three groups of two: all 720 orders, and the analysis of variance by hand."""
    rng = np.random.default_rng(0)
    values, groups = rng.random((6, 3)), np.array([0, 0, 1, 1, 2, 2])
    correlation, p = within(values, groups)
    apart = values - values.mean(axis=1, keepdims=True)

    def mean_squares(rows):
        middle = rows.mean(axis=0)
        parts = [rows[i : i + 2] for i in (0, 2, 4)]
        among = sum(2 * ((part.mean(axis=0) - middle) ** 2).sum() for part in parts) / 2
        inside = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts) / 3
        return among, inside

    among, inside = mean_squares(apart)
    assert correlation == pytest.approx((among - inside) / (among + inside))
    exact = np.mean([mean_squares(apart[list(order)])[0] >= among - 1e-12 for order in permutations(range(6))])
    assert p == pytest.approx(exact, abs=0.06)


def test_constant_differences_say_nothing():
    assert within(np.tile([0.2, 0.5], (12, 1)), np.repeat(range(6), 2)) == (0.0, 1.0)


def dependent(rng, topics=30, each=4):
    return np.repeat(rng.normal(0, 0.1, topics), each) + rng.normal(0, 0.1, topics * each)


def test_variants_that_depend_on_each_other_are_noted_with_what_to_do():
    apart, ids = dependent(np.random.default_rng(1)), variants(30, 4)
    note = noted(rd.significance(scores_of(apart, ids)).remarks, "dependent", one="0-0", other="0-1", groups=30)
    turned = noted(rd.significance(scores_of(apart[::-1], ids[::-1])).remarks, "dependent")
    assert turned.fields["alike"] == pytest.approx(note.fields["alike"])
    assert note.fields["times"] == pytest.approx(np.sqrt(1 + 3 * note.fields["alike"]))
    clusters = {query: query.split("-")[0] for query in ids}
    assert "dependent" not in kinds(rd.significance(scores_of(apart, ids), clusters=clusters).remarks)
    plain = [str(i) for i in range(120)]
    assert "dependent" not in kinds(rd.significance(scores_of(apart, plain)).remarks)


def test_independent_variants_are_not_noted():
    rng = np.random.default_rng(2)
    scores = [scores_of(rng.normal(0, 0.1, 120), variants(30, 4)) for _ in range(10)]
    notes = ["dependent" in kinds(rd.significance(one).remarks) for one in scores]
    assert sum(notes) <= 2
