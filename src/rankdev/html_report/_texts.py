"""The names, numbers and sentences of a report's page, for its scripts to read."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from rankdev import __version__
from rankdev.data.references import References
from rankdev.display.cells import percent
from rankdev.errors import Note, counted, printable
from rankdev.evaluation.coverage import Check
from rankdev.evaluation.explain import KINDS
from rankdev.evaluation.losses import ROUNDING
from rankdev.html_report._arrays import REFERENCE_ITEMS, SHOWN, tested_segments
from rankdev.html_report._findings import MOST_POSITIONS, Comparison
from rankdev.html_report._views import short_names
from rankdev.statistics.decision import VERDICTS, detectable, refused
from rankdev.statistics.design import in_words
from rankdev.statistics.judgment_uncertainty import UncertainScores

TEXTS = 1_000_000  # characters of all texts of a page together, as long as each has its first ones:
SHORTEST, LONGEST = 400, 4000  # characters of a text that a page with many, and with few, holds
ONE_ORDER = "Scores are means over all orders of tied items; here they have the higher id first."
REMEDIES = {
    "retrieval": "Retrieving more of the relevant items would help most.",
    "cutoff": "Lifting relevant items above the cutoff would help most: rerank more of the list.",
    "order": "A better order above the cutoff would help most.",
}


def header_of(
    found: Comparison, uncertain: UncertainScores | None, title: str, under: Sequence[str], command: str
) -> dict[str, Any]:
    """Name what is compared and how it is grouped and ordered; write conclusions, checks, next steps and notes."""
    scores, tested = found.scores, found.significance
    queries = [scores.queries[i] for i in found.shown]
    what = f"{counted(len(scores.systems), 'system')} on {counted(len(scores.queries), 'query')}"
    lines = [*([what] if title.strip() else []), *under]
    return {
        "title": printable(title.strip() or what),
        "subtitle": " · ".join(printable(text.strip()) for text in lines if text.strip()),
        "systems": scores.systems,
        "measures": scores.measures,
        "lower": [name in scores.lower_is_better for name in scores.measures],
        "queries": queries,
        "short": short_names(scores.systems, queries, list(found.segments)),
        "pair": first_pair(found),
        "orders": [[scores.systems.index(name) for name in standing["system"]] for standing in found.standings],
        "segments": _segments(found),
        "tested_segments": tested_segments(found),
        "explained": str(found.explained),
        "cutoff": min(found.explained.cutoff or MOST_POSITIONS, found.lists.items.shape[2]),
        "kinds": KINDS,
        "grades": grades_in(found.references),
        "cards": [
            {"level": level(found, m), "sentence": conclusion(found, m), "by": by_how_much(found, m)}
            for m in range(len(scores.measures))
        ],
        "tests": tests(found),
        "checks": [
            [(one.name, one.level, one.value, one.text) for one in (*seen, _queries(found, m))]
            for m, seen in enumerate(found.checks)
        ],
        "beats": [
            [scores.systems.index(a), scores.systems.index(b), fraction]
            for _, a, b, fraction in (() if uncertain is None else uncertain.beats().rows())
        ],
        "next": next_steps(found),
        "facts": facts(found, command),
        "notes": [*(() if uncertain is None else uncertain.remarks), *notes(found)],
        "one_order": ONE_ORDER if found.averaged else "",
        "confidence": percent(1 - found.alpha),
        "correction": "" if tested is None else tested.correction.capitalize(),
        "margin": None if tested is None else tested.margin,
        "verdicts": VERDICTS,
    }


def first_pair(found: Comparison) -> tuple[int, int]:
    """Choose the systems that are compared first: of two the candidate with the baseline, else the best with the next.

    The next is the first whose mean differs: the same run may be submitted twice.
    """
    systems = found.scores.systems
    best, *others = map(systems.index, found.standings[0]["system"])
    if len(systems) == 2:
        return 1, 0
    apart = (s for s in others if abs(found.means[s, 0] - found.means[best, 0]) >= 0.5 * 10**-SHOWN)
    return best, next(apart, others[0] if others else best)


def grades_in(references: References) -> list[dict[int, float]] | None:
    """Return, for each query, the grade of each rank; None where there are only ranks."""
    if references.grades is None:
        return None
    parts = [references.rows(query) for query in references.queries]
    return [dict(zip(references.ranks[p].tolist(), references.grades[p].tolist(), strict=True)) for p in parts]


def beginnings(texts: Mapping[str, str], wanted: Iterable[str]) -> dict[str, str]:
    """Keep the beginning of each text that is on the page: more of it where there are few.

    >>> len(beginnings({"d1": "x" * 9000}, ["d1"])["d1"])
    4000
    """
    kept = {name: str(texts[name]) for name in wanted if name in texts}
    most = max(SHORTEST, min(LONGEST, TEXTS // max(1, len(kept))))
    return {name: text if len(text) <= most else text[: most - 1] + "…" for name, text in kept.items()}


def _segments(found: Comparison) -> list[dict[str, Any]]:
    """Return each segment's queries among those shown, and its number of queries."""
    place = {int(i): n for n, i in enumerate(found.shown)}
    return [
        {"name": name, "size": len(queries), "queries": [place[int(i)] for i in queries if int(i) in place]}
        for name, queries in found.segments.items()
    ]


def verdict(found: Comparison) -> str:
    """State the conclusion about all measures; a problem with the data once."""
    return "\n".join(dict.fromkeys(conclusion(found, m) for m in range(len(found.scores.measures))))


def level(found: Comparison, m: int) -> str:
    """Name the card of a measure: whether a system is better than all others, and the data allow that."""
    if found.problems:
        return "problem"
    if found.significance is None:
        return "single"
    alike = found.significance.not_told_from(found.scores.measures[m])
    return "open" if next(iter(alike.values())) else "winner"


def conclusion(found: Comparison, m: int) -> str:
    """State what is decided in a measure."""
    measure = found.scores.measures[m]
    if found.problems:
        return refused(found.problems)
    if found.significance is not None:
        return found.significance.concluded(measure)
    mean = float(found.means[0, m])
    value = "is not available" if math.isnan(mean) else f"scores {mean:.4f}"
    return f"{printable(found.scores.systems[0])} {value} in {measure}. A comparison needs a second system."


def by_how_much(found: Comparison, m: int) -> str:
    """Compare the first of several systems with the next whose scores differ; of two, state what queries lost."""
    tested = found.significance
    if found.problems:
        return "Scores and differences below take the data as they are."
    if tested is None:
        return ""
    if len(found.scores.systems) == 2:
        return "" if m else tested.losses
    leader, *others = found.standings[m]["system"]
    own = [one for one in tested.decisions if one.measure == found.scores.measures[m]]
    ahead = {one.b: one for each in own for one in (each, each.turned) if one.a == leader and not one.equal}
    return next((str(ahead[name]) for name in others if name in ahead), "")


def tests(found: Comparison) -> str:
    """State which tests were made, and what they allow for besides queries."""
    tested = found.significance
    if tested is None:
        return ""
    runs = f", with the variance between runs ({in_words(tested.replicates)})" if tested.replicates else ""
    return f"{tested.method}{runs}."


def _queries(found: Comparison, m: int) -> Check:
    """State the number of queries, and the smallest difference that the tests could find with so many."""
    tested = found.significance
    name, number = "Number of queries", len(found.scores.queries)
    if tested is not None and tested.clusters:
        name, number = "Number of clusters", tested.clusters
    if tested is None:
        return Check(name, "good", f"{number:,}", "The interval of the mean allows for their number.")
    if found.problems:
        return Check(name, "unknown", f"{number:,}", "What they can show is unknown until the data are mended.")
    rows = tested.frame[m * tested.pairs : (m + 1) * tested.pairs]
    sizes = detectable(*(rows[name].to_numpy() for name in ("low", "high", "level")))
    several = f" (the median of {tested.pairs:,} pairs; {sizes.min():.2g} to {sizes.max():.2g})"
    text = (
        f"With so many, these tests find a difference of {np.median(sizes):.2g} in {found.scores.measures[m]} with 80%"
        f" power{several if tested.pairs > 1 else ''}."
    )
    return Check(name, "good" if level(found, m) == "winner" else "caution", f"{number:,}", text)


def next_steps(found: Comparison) -> list[str]:
    """Recommend what to do next."""
    if found.problems:
        return ["Mend the data first, then compare: until then, more queries would not help."]
    best = found.standings[0]["system"][0]
    row = found.losses.to_polars().filter(system=best).row(0, named=True)
    lost = [row[f"lost_by_{cause}"] for cause in REMEDIES]
    if sum(lost) <= ROUNDING:
        return []
    retrieval, cutoff, order = (f"{part / sum(lost):.0%}" for part in lost)
    return [
        f"Of what {printable(best)} loses in {found.losses.measure}, {retrieval} comes from relevant items that it does"
        f" not return, {cutoff} from items that it returns below the cutoff, and {order} from the order above it."
        f" {list(REMEDIES.values())[lost.index(max(lost))]}"
    ]


def facts(found: Comparison, command: str) -> list[tuple[str, str]]:
    """State what was compared, besides systems and queries, and how the page was made."""
    references, tested = found.all_references, found.significance
    items, tiers = len(references.ranks), int(references.tier_counts.sum())
    in_tiers, per_query = f" in {counted(tiers, 'tier')}" if tiers < items else "", items / max(1, len(references))
    of = "clusters of queries" if found.clusters else "queries and runs" if found.replicates else "queries"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "polars", "scipy"))
    margin = "" if tested is None or tested.margin is None else f", margin {tested.margin}"
    return [
        *([("Runs", in_words(tested.replicates))] if tested is not None and tested.replicates else []),
        *([("Clusters", f"{tested.clusters:,}")] if tested is not None and tested.clusters else []),
        ("Measures", ", ".join(found.scores.measures)),
        ("References", f"{counted(items, 'relevant item')}{in_tiers} ({per_query:.1f} per query)"),
        *([("Command", printable(command))] if command else []),
        ("Versions", f"rankdev {__version__}, Python {platform.python_version()}, {libraries}"),
        ("Intervals of means", f"Student's t over {of}, {percent(1 - found.alpha)}"),
        ("Tests", f"{tests(found)} α = {found.alpha}{margin}".strip()),
        ("Seed", f"{found.seed}"),
        ("Lists explained by", str(found.explained)),
    ]


def notes(found: Comparison) -> Iterator[str]:
    """Report what limits the conclusions."""
    yield from (found.significance or found.scores).remarks
    if found.replicates is not None:
        yield Note("first-runs")
    if len(found.shown) < len(found.scores.queries):
        yield Note("sampled", count=len(found.shown), queries=len(found.scores.queries), seed=found.seed)
    if int(found.references.sizes.max(initial=0)) > REFERENCE_ITEMS:
        yield Note("first-items", items=REFERENCE_ITEMS)
