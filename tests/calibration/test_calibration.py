"""Short runs of the simulations: enough to notice a claim that is far off; shorter ones in `make test-rest`."""

import pytest

from tests.calibration.simulations import Finding
from tests.calibration.table import CLAIMS, PAGE, page, read, table
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
    assert page(text, found) == text, "run python -m tests.calibration SECTION"


def test_the_table_has_the_worst_row():
    rows = [
        Finding("an interval", "normal", 0.957, 1000, 0.95),
        Finding("an interval", "skewed; so wide", 0.801, 1000, 0.9),
        Finding("an interval, wider", "normal", 0.1, 1000, 0.0),
        Finding("an error", "tied", 0.06, 1000, 0.05, at_most=True),
    ]
    fine = [Finding("another interval", "normal", 0.951, 1000, 0.95)]
    assert table({"gates": rows, "means": fine}).splitlines()[2:] == [
        "an interval | ≥ 0.95 | 0.801 | 1,000 | skewed | 1 of 2",
        "an error | ≤ 0.05 | 0.060 | 1,000 | tied | 1 of 1",
    ]
