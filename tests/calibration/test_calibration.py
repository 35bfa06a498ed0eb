"""Short runs of the simulations: enough to notice a claim that is far off; shorter ones in `make test-rest`."""

import pytest
from benchmarks.calibration.__main__ import CLAIMS, PAGE, page, read

from tests.common.examples import scaled

# few trials of the others find little that the tests of each method do not, and take longer than all of those
FAST = {"few differ", "means", "replicates", "families"}


@pytest.mark.parametrize(
    "claim", [pytest.param(claim, marks=() if claim in FAST else pytest.mark.slow) for claim in CLAIMS]
)
def test_a_claim_holds_about_as_often_as_it_says(claim):
    simulate, _, trials = CLAIMS[claim]
    short = [finding for finding in simulate(scaled(trials, 2)) if not finding.fine]
    assert not short, short


def test_the_page_agrees_with_the_rows():
    found = read()
    assert sorted(found) == sorted(CLAIMS)
    assert min(row.trials for rows in found.values() for row in rows) >= 1000
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, found) == text, "run python -m benchmarks.calibration SECTION"
