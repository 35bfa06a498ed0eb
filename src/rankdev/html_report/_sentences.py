"""The sentences of a report: what was compared, which system is best, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from rankdev.display.planning import plan_in_detail, plan_in_short
from rankdev.display.significance import by_segment_in_short
from rankdev.errors import Note, counted
from rankdev.evaluation.first_positions import REFERENCE_ITEMS
from rankdev.evaluation.health import Check
from rankdev.evaluation.placings import ROUNDING
from rankdev.html_report._findings import Comparison
from rankdev.statistics.panels import carried
from rankdev.statistics.planning import Plan
from rankdev.statistics.replicates import in_words
from rankdev.statistics.verdict import name_some, queries_check

REMEDIES = {
    "retrieval": "Retrieving more of the relevant items would help most.",
    "cutoff": "Lifting relevant items above the cutoff would help most: rerank more of the list.",
    "order": "A better order above the cutoff would help most.",
}


def compared(found: Comparison) -> str:
    """State how much is compared."""
    return f"{counted(len(found.scores.systems), 'system')} on {counted(len(found.scores.queries), 'query')}"


def verdict(found: Comparison) -> str:
    """State the conclusion about the first measure; for two systems also that about all measures."""
    whole = overall(found)
    return f"{found.verdicts[0].sentence}{design(found)}{f' {whole}' if whole else ''}"


def overall(found: Comparison) -> str:
    """Conclude from all measures, where two systems have several and nothing is wrong with the data.

    What the conclusion about the first measure ends with too is left out.
    """
    tested = found.significance
    if tested is None or len(found.scores.measures) == 1 or found.has_problems or not tested.conclusion:
        return ""
    start, comma, rest = tested.conclusion.rpartition(", in ")
    known = comma and found.verdicts[0].sentence.endswith(f" in {rest}")
    return f"By all measures: {f'{start}.' if known else tested.conclusion}"


def design(found: Comparison) -> str:
    """State what the test allows for besides queries."""
    tested = found.significance
    if tested is None:
        return ""
    clusters = f" The test flips whole clusters of queries: {tested.clusters:,} of them." if tested.clusters else ""
    runs = f" The test allows for variance between runs: {in_words(tested.replicates)}." if tested.replicates else ""
    return f"{clusters}{runs}"


def checks(found: Comparison) -> Iterator[list[Check]]:
    """List what was checked, for each measure; how many queries are needed is known for the first."""
    tested = found.significance
    unit = "cluster" if tested is not None and tested.clusters else "query"
    number = (tested and tested.clusters) or len(found.scores.queries)
    for m, (seen, outcome) in enumerate(zip(found.checks, found.verdicts, strict=True)):
        yield [*seen, queries_check(outcome, None if m else found.plan, number, unit)]


def next_steps(found: Comparison) -> list[tuple[str, str]]:
    """Recommend what to do next: sentences, each with its details or an empty text."""
    steps = []
    if found.has_problems:
        steps.append(("Fix the data first, then compare: until then, more queries would not help.", ""))
    elif isinstance(found.plan, Plan):
        steps.append((plan_in_short(found.plan), plan_in_detail(found.plan)))
    elif isinstance(found.plan, str):
        steps.append((f"The number of queries needed to distinguish the best systems is unknown: {found.plan}.", ""))
    elif found.verdicts[0].level == "winner":
        steps.append((f"No more queries are needed to show that {found.best} is best on {found.headline}.", ""))
    row = found.losses.to_polars().filter(system=found.best).row(0, named=True)
    lost = {remedy: row[f"lost_by_{cause}"] for cause, remedy in REMEDIES.items()}
    if sum(lost.values()) > ROUNDING:
        retrieval, cutoff, order = (f"{part / sum(lost.values()):.0%}" for part in lost.values())
        steps.append(
            (
                f"Of what {found.best} loses in {found.losses.measure}, {retrieval} comes from relevant items that it"
                f" does not return, {cutoff} from items that it returns below the cutoff, and {order} from the order"
                f" above it. {max(lost, key=lost.__getitem__)}",
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
    ]


def one_order(found: Comparison) -> str:
    """State in which order losses and lists take tied items, where scores are means over all orders."""
    return (
        "Scores are means over all orders of tied items; here they have the higher id first." if found.averaged else ""
    )


def notes(found: Comparison) -> Iterator[str]:
    """Report what limits the conclusions."""
    results = [found.significance or found.scores, *([] if found.equivalence is None else [found.equivalence])]
    known = dict.fromkeys(note for result in results for note in result.remarks)
    yield from known
    if isinstance(found.plan, Plan):
        pair = found.scores.select(systems=[found.plan.a, found.plan.b], measures=[found.headline])
        yield from (note for note in found.plan.remarks if note not in carried(pair))
    if found.by_segment is not None:
        yield from by_segment_in_short(found.by_segment)
        yield from (note for note in found.by_segment.remarks if note not in known)
    if found.same_as_best:
        yield Note("same-scores", systems=name_some([found.best, *found.same_as_best]), measure=found.headline)
    if found.replicates is not None:
        yield Note("means-over-runs")
    if len(found.shown) < len(found.scores.queries):
        yield Note("sampled", count=len(found.shown), queries=len(found.scores.queries), seed=found.seed)
    if int(found.references.sizes.max(initial=0)) > REFERENCE_ITEMS:
        yield Note("first-items", items=REFERENCE_ITEMS)
