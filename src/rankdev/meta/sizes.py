"""Numbers of queries to simulate: the paper's grid, and what fits into a pool."""

from __future__ import annotations

from collections.abc import Sequence

from rankdev.arguments import check_whole, is_list
from rankdev.errors import DataError, UsageError, counted, shown
from rankdev.meta.common_queries import Panel

PAPER_SIZES = (25, 50, 75, *range(100, 501, 50), 750, 1000, 1500, 2000)


def usual(sizes: Sequence[int]) -> int:
    """Give the size to sum up at: the paper's 100, or the largest below; the smallest where all are larger.

    >>> usual((25, 50, 150)), usual((200, 500))
    (50, 200)
    """
    return max((size for size in sizes if size <= 100), default=min(sizes))


def fitting(
    sizes: Sequence[int], groups: list[Panel], remarks: list[str], label: str = "", replaced: bool = False
) -> tuple[int, ...]:
    """Keep the sizes that fit into the largest pool, and add remarks on what this does; all, where queries repeat."""
    if not is_list(sizes):
        raise UsageError(f"sizes must be whole numbers, such as [25, 50, 100]; got {shown(sizes)}")
    sizes = [check_whole("sizes", size, 2) for size in sizes]
    if replaced and groups:
        return tuple(sorted(set(sizes)))
    where = f"bucket {label}" if label else "the pool"
    pool = max((len(panel.queries) for panel in groups), default=0)
    kept = tuple(sorted({size for size in sizes if size <= pool}))
    if not kept and not label:
        raise DataError(
            f"{where} has {counted(pool, 'query')}, fewer than the smallest size {min(sizes, default=0)};"
            " give smaller sizes, such as sizes=[5, 10]"
        )
    if len(kept) < len(set(sizes)):
        dropped = ", ".join(str(size) for size in sorted(set(sizes) - set(kept)))
        remarks.append(f"{where} has {counted(pool, 'query')}; larger sizes are left out: {dropped}")
    for size in sorted({len(panel.queries) for panel in groups} & set(kept)):
        remarks.append(
            f"{where} has exactly {size} queries: every subsample of {size} is all of them,"
            " and only the random flips of a test vary"
        )
    return kept
