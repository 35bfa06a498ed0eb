"""Repeated rows: the fast ways to find them beside a plain loop."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rankdev.core.row_checks import repeated_rows


@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=40),
    together=st.booleans(),
)
def test_rows_are_repeated_where_a_loop_has_seen_them(rows: list[tuple[int, int]], together: bool) -> None:
    """Queries that lie together are sorted one by one, others all at once; uneven ones are either."""
    if together:
        rows = sorted(rows, key=lambda row: row[0])
    seen: set[tuple[int, int]] = set()
    expected = [row in seen or bool(seen.add(row)) for row in rows]
    codes = np.array([code for code, _ in rows], np.int64)
    items = pl.Series([f"d{item}" for _, item in rows], dtype=pl.String)
    assert repeated_rows(codes, items).tolist() == expected
