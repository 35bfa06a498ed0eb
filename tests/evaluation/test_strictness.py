"""Evaluation notes where references have little order."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.evaluation.health import _tied
from tests.raising import noted

ITEMS = [f"d{k}" for k in range(6)]


def references(*tiers):
    return rd.References.from_tiers({f"q{k}": tier for k, tier in enumerate(tiers)})


def notes(known, *measures):
    runs = {"mine": {query: list(known[query]) for query in known}}
    return [note for note in rd.evaluate(known, runs, list(measures)).remarks if note.kind == "little-order"]


STRICT, ONE, TWO = [[item] for item in ITEMS], [ITEMS], [ITEMS[:5], ITEMS[5:]]


def test_one_tier_is_noted_with_what_its_reverse_scores():
    found = noted(notes(references(ONE, ONE, STRICT), "RDQ@5"), "little-order", measure="RDQ@5", one=2, several=3)
    assert found.fields["reversed_score"] == pytest.approx(reversed_score(ONE, ONE, STRICT))


def reversed_score(*tiers):
    known = references(*tiers)
    wrong = {query: list(known[query])[::-1] for query in known}
    return rd.evaluate(known, {"wrong": wrong}, "RDQ@5").means[0, 0]


@pytest.mark.parametrize(
    "known",
    [
        references(STRICT, STRICT),
        references([ITEMS[:2], *([i] for i in ITEMS[2:])]),
        references(STRICT, STRICT, STRICT, STRICT, ONE),
        references([["d1"]], [["d2"]]),
    ],
)
def test_references_with_order_are_not_noted(known):
    assert notes(known, "RDQ@5") == []


def test_the_share_of_tied_pairs_by_hand():
    assert np.allclose(_tied(references(ONE, STRICT, TWO, [["x"]])), [1, 0, 10 / 15, 0])
