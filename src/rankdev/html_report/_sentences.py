"""A comparison in sentences: what was compared, who is best, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankdev.display.cells import number
from rankdev.display.power import plan_in_words
from rankdev.display.significance import one_pair
from rankdev.errors import counted
from rankdev.html_report.comparison import REFERENCE_ITEMS, Comparison
from rankdev.statistics.panels import carried
from rankdev.statistics.planning import Plan

NAMED = 4  # systems that a sentence names; more are counted


def title(found: Comparison) -> str:
    """Name the comparison."""
    return f"{_systems(found)} on {_queries(found)}"


def verdict(found: Comparison) -> str:
    """Say who is best, as far as the queries tell, in the first measure."""
    scores, measure = found.scores, found.headline
    if found.significance is None:
        mean = number(float(scores.averages[0, 0]))
        return f"{scores.systems[0]} scores {mean} in {measure}; a comparison needs a second system."
    if len(scores.systems) == 2:
        return one_pair(found.significance, found.significance.to_polars().row(0, named=True))
    best, count = found.best, len(scores.systems)
    if len(found.groups[0][0]) == count:
        queries = counted(len(scores.queries), "query", "does")
        return f"{queries} not tell the {count} systems apart in {measure}; {best} has the highest mean."
    if not found.rivals:
        return f"{best} is the best of {count} systems in {measure}: it is told apart from every other."
    rivals = named(found.rivals)
    return f"{best} has the highest mean of {count} systems in {measure}, but is not told apart from {rivals}."


def next_steps(found: Comparison) -> list[str]:
    """Say what would tell more."""
    steps = []
    if isinstance(found.plan, Plan):
        steps.append(plan_in_words(found.plan))
    elif isinstance(found.plan, str):
        steps.append(f"It cannot be said how many queries would tell the best systems apart: {found.plan}.")
    elif found.significance is not None and not found.rivals:
        steps.append(
            f"{found.best} is told apart from every other in {found.headline}: no more queries are needed for that."
        )
    worst = found.losses.to_polars().filter(system=found.best).row(0, named=True)
    retrieval, order = worst["lost_by_retrieval"], worst["lost_by_order"]
    cause = "items that it does not return" if retrieval > order else "the order of the items that it returns"
    if retrieval + order > 0:
        share = max(retrieval, order) / (retrieval + order)
        steps.append(f"{found.best} loses most by {cause}: {share:.0%} of what it lacks in {found.losses.measure}.")
    return steps


def facts(found: Comparison) -> list[tuple[str, str]]:
    """Say what was compared."""
    references = found.all_references
    ranks = int(references.tier_counts.sum())
    return [
        ("Systems", f"{len(found.scores.systems):,}"),
        ("Queries", f"{len(found.scores.queries):,}"),
        ("Measures", ", ".join(found.scores.measures)),
        (
            "Reference items",
            f"{len(references.ranks):,}" + (f" on {ranks:,} ranks" if ranks < len(references.ranks) else ""),
        ),
    ]


def remarks(found: Comparison) -> Iterator[str]:
    """Say what a reader should know before believing it."""
    said = [result.remarks for result in (found.significance or found.scores, found.equivalence) if result is not None]
    yield from dict.fromkeys(remark for lines in said for remark in lines)
    if isinstance(found.plan, Plan):
        pair = found.scores.select(systems=[found.plan.a, found.plan.b], measures=[found.headline])
        yield from (remark for remark in found.plan.remarks if remark not in carried(pair))
    if found.same_as_best:
        yield f"{found.best} scores as {named(found.same_as_best)} on every query in {found.headline}."
    queries, shown = len(found.scores.queries), len(found.shown)
    if shown < queries:
        yield (
            f"The queries below are {shown:,} of {queries:,}, drawn with seed {found.seed}:"
            " a page with all would be too large. Everything else counts every query."
        )
    if int(found.references.sizes.max(initial=0)) > REFERENCE_ITEMS:
        yield f"Of longer references the first {REFERENCE_ITEMS} items are shown."


def named(systems: Sequence[str]) -> str:
    """Name a few systems, and count the others.

    >>> named(["a", "b", "c"]), named(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 others')
    """
    if len(systems) > NAMED + 1:
        return f"{', '.join(systems[:NAMED])} and {counted(len(systems) - NAMED, 'other')}"
    return " and ".join([", ".join(systems[:-1]), systems[-1]]) if len(systems) > 1 else systems[0]


def _systems(found: Comparison) -> str:
    return counted(len(found.scores.systems), "system")


def _queries(found: Comparison) -> str:
    return counted(len(found.scores.queries), "query")
