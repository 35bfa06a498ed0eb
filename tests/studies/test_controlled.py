import polars as pl
import pytest

from rankdev.studies.controlled import agree, controlled_report, run_controlled


def test_every_cell_of_table_1_agrees_to_four_decimals():
    cells = run_controlled()
    assert (len(cells), cells["experiment"].n_unique()) == (143, 13)
    assert cells["agrees"].all()
    wrong = cells.with_columns(agrees=pl.int_range(143) > 0, published=pl.lit(0.5))
    assert controlled_report(wrong).closing == ("142 of 143 cells agree", "Exp1 AP@5: 1.0 ≠ 0.5")


@pytest.mark.parametrize(("value", "published", "same"), [(None, None, True), (None, 0.0, False), (0.0, None, False)])
def test_not_available_agrees_only_with_not_available(value, published, same):
    assert agree(value, published) == same
