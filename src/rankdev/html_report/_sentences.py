"""The sentences of a report: what was compared, which system is best, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rankdev.display.cells import number
from rankdev.display.power import plan_in_detail, plan_in_short
from rankdev.display.significance import by_segment_in_short
from rankdev.errors import counted
from rankdev.evaluation.placings import ROUNDING
from rankdev.html_report.comparison import REFERENCE_ITEMS, Comparison
from rankdev.statistics.panels import carried
from rankdev.statistics.planning import Plan
from rankdev.statistics.replicates import in_words

REMEDIES = {
    "retrieval": "The retriever has most to gain.",
    "cutoff": "Most is to be gained by handing more items to a reranker.",
    "order": "The reranker has most to gain.",
}
NAMED = 4  # systems that a sentence names; more are counted


def title(found: Comparison) -> str:
    """Name the comparison."""
    return f"{counted(len(found.scores.systems), 'system')} on {counted(len(found.scores.queries), 'query')}"


def conclusion(found: Comparison) -> str:
    """State whether one of two systems may replace the other, or which of several is best in the first measure."""
    tested = found.significance
    if tested is None:
        return _best(found)
    clusters = f" The test flips whole clusters of queries: {tested.clusters:,} of them." if tested.clusters else ""
    runs = f" The test allows for how far runs vary: {in_words(tested.replicates)}." if tested.replicates else ""
    return f"{_best(found)}{clusters}{runs}"


def _best(found: Comparison) -> str:
    scores, measure, best = found.scores, found.headline, found.best
    if found.significance is None:
        mean = number(float(scores.averages[0, 0]))
        return f"{scores.systems[0]} scores {mean} on {measure}. A comparison needs a second system."
    queries, systems = counted(len(scores.queries), "query"), len(scores.systems)
    p = max(found.p_values_of_best.values())
    if systems == 2:
        return found.significance.conclusion
    if len(found.groups[0][0]) == systems:
        return (
            f"No clear winner. With {queries}, no two of the {systems} systems differ significantly on {measure};"
            f" {best} has the highest mean."
        )
    if found.ties_for_best:
        return (
            f"{best} has the highest mean {measure} of {systems} systems,"
            f" but does not differ significantly from {listed(found.ties_for_best)}."
        )
    beaten, all_of = ("both other systems", "both") if systems == 3 else (f"all {systems - 1} other systems", "all")
    return (
        f"{best} wins. It beats {beaten} on {measure}, and {all_of} differences are statistically significant"
        f" ({_p('≤', p)})."
    )


def _p(sign: str, p: float) -> str:
    """Write a p-value with two significant digits, or an upper bound of several with one."""
    if math.isnan(p):
        return "p is undefined"
    return "p < 0.0001" if p < 0.0001 else f"p {sign} {_rounded_up(p) if sign == '≤' else f'{p:.2g}'}"


def _rounded_up(p: float) -> str:
    """Write an upper bound of a p-value with one significant digit: rounded to nearest it may be no bound."""
    unit = 10.0 ** math.floor(math.log10(p))
    return f"{math.ceil(p / unit - 1e-9) * unit:.1g}"


def next_steps(found: Comparison) -> list[tuple[str, str]]:
    """Recommend what to do next: sentences, each with its details or an empty text."""
    steps = []
    if isinstance(found.plan, Plan):
        steps.append((plan_in_short(found.plan), plan_in_detail(found.plan)))
    elif isinstance(found.plan, str):
        steps.append((f"The number of queries needed to separate the best systems is undetermined: {found.plan}.", ""))
    elif found.significance is not None and not found.ties_for_best:
        steps.append((f"No more queries are needed to show that {found.best} is best on {found.headline}.", ""))
    row = found.losses.to_polars().filter(system=found.best).row(0, named=True)
    lost = {remedy: row[f"lost_by_{cause}"] for cause, remedy in REMEDIES.items()}
    if sum(lost.values()) > ROUNDING:
        retrieval, cutoff, order = (f"{part / sum(lost.values()):.0%}" for part in lost.values())
        steps.append(
            (
                f"Of the {found.losses.measure} that {found.best} loses, {retrieval} comes from relevant items that it"
                f" does not return, {cutoff} from those that it returns below the cutoff, and {order} from the order of"
                f" the items above it. {max(lost, key=lost.__getitem__)}",
                "",
            )
        )
    return steps


def facts(found: Comparison) -> list[tuple[str, str]]:
    """State what was compared."""
    references = found.all_references
    items, tiers = len(references.ranks), int(references.tier_counts.sum())
    in_tiers = f" in {counted(tiers, 'tier')}" if tiers < items else ""
    tested = found.significance
    clusters = [("Clusters", f"{tested.clusters:,}")] if tested is not None and tested.clusters else []
    runs = [] if tested is None or not tested.replicates else [("Runs", in_words(tested.replicates))]
    return [
        ("Systems", f"{len(found.scores.systems):,}"),
        *runs,
        ("Queries", f"{len(found.scores.queries):,}"),
        *clusters,
        ("Measures", ", ".join(found.scores.measures)),
        (
            "References",
            f"{counted(items, 'relevant item')}{in_tiers} ({items / max(1, len(references)):.1f} per query)",
        ),
        *([("Difference", _difference(found))] if len(found.scores.systems) == 2 else []),
    ]


def _difference(found: Comparison) -> str:
    """State how far two systems are apart in the first measure."""
    (other, p), *_ = found.p_values_of_best.items()
    by = number(abs(float(found.scores.averages[0, 0] - found.scores.averages[1, 0])))
    return f"{found.best} is ahead of {other} on {found.headline} by {by} ({_p('=', p)})"


def notes(found: Comparison) -> Iterator[str]:
    """Report what limits the conclusions."""
    results = [found.significance or found.scores, *([] if found.equivalence is None else [found.equivalence])]
    yield from dict.fromkeys(note for result in results for note in result.remarks)
    if isinstance(found.plan, Plan):
        pair = found.scores.select(systems=[found.plan.a, found.plan.b], measures=[found.headline])
        yield from (note for note in found.plan.remarks if note not in carried(pair))
    if found.by_segment is not None:
        yield from by_segment_in_short(found.by_segment)
    if found.same_as_best:
        yield f"{found.best} and {listed(found.same_as_best)} have the same {found.headline} on every query."
    if found.replicates is not None:
        yield "Scores and losses are means over runs; lists are those of each system's first run."
    queries, shown = len(found.scores.queries), len(found.shown)
    if shown < queries:
        yield (
            f"The page lists {shown:,} of {queries:,} queries, sampled with seed {found.seed}, to limit its size."
            " Everything else is computed on all queries."
        )
    if int(found.references.sizes.max(initial=0)) > REFERENCE_ITEMS:
        yield f"Of longer references, the first {REFERENCE_ITEMS} items are shown."


def listed(systems: Sequence[str]) -> str:
    """Name a few systems, and count the others.

    >>> listed(["a", "b", "c"]), listed(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 others')
    """
    if len(systems) > NAMED + 1:
        return f"{', '.join(systems[:NAMED])} and {counted(len(systems) - NAMED, 'other')}"
    return " and ".join([", ".join(systems[:-1]), systems[-1]]) if len(systems) > 1 else systems[0]
