"""Short runs of the simulations: enough to notice a claim that is far off; shorter ones in `make test-rest`."""

import pytest

from tests.calibration.claims import CLAIMS
from tests.common.examples import scaled

SHORT = {
    "leaderboards": 3,
    "tasks": 2,
    "clusters": 8,
    "sparse clusters": 30,
    "repeated runs": 20,
    "clusters elsewhere": 8,
    "single tests": 30,
    "families": 20,
    "many measures": 40,
    "plans": 150,
    "power": 4,
    "stability": 25,
    "equivalence": 400,
    "ties": 30,
    "tastes": 20,
    "one tier": 24,
    "crowds": 4,
    "more judgments": 24,
    "position bias": 3,
    "collections": 500,
    "unequal collections": 300,
    "humans and a model": 300,
    "pools": 5,
    "agreement": 8,
    "uncertain judgments": 2,
    "decisions": 2,
    "stops": 1,
    "conclusions": 2,
    "unlike systems": 3,
    "chosen pairs": 2,
    "topic set sizes": 25,
    "power of topic set sizes": 400,
    "holm": 4,
    "effect sizes": 200,
    "sparse differences": 100,
    "variants of one system": 15,
    "sparse equivalence": 100,
    "sparse plans": 15,
    "few judgments": 8,
    "many comparisons with people": 5,
    "skew and single queries": 8,
    "dependent queries": 10,
    "means": 100,
    "gates": 20,
    "position weights": 5,
}


# few trials of these find little that the tests of each method do not, and take longer than all of those
FAST = {
    "single tests",
    "families",
    "equivalence",
    "sparse differences",
    "clusters",
    "effect sizes",
}


@pytest.mark.parametrize(
    "claim", [pytest.param(claim, marks=() if claim in FAST else pytest.mark.slow) for claim in CLAIMS]
)
def test_a_claim_holds_about_as_often_as_it_says(claim):
    simulate, _ = CLAIMS[claim]
    short = [finding for finding in simulate(scaled(SHORT[claim], 2)) if not finding.fine]
    assert not short, short
