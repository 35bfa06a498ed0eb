"""The commands about numbers of queries: ``power``, ``plan`` and ``stability``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command
from rankdev.cli.inputs import (
    analyse_segments,
    analyse_source,
    clusters_option,
    collection_option,
    load_scores,
    read_clusters,
    score_options,
    segments_option,
    simulation_options,
    source_options,
)
from rankdev.cli.options import refuse_unused, whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option, working_progress
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores


@click.command(
    "power",
    cls=Command,
    epilog="Example: rankdev power places.jsonl popular.run blended.run -m paper@5 --sizes 8,10 --subsamples 50",
)
@score_options
@figure_option
@simulation_options
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: 25 to 2000, or from 5.")
@click.option("-n", "n", type=int, help="Queries of the summary. Default: 100 or fewer.")
@click.option("--buckets", metavar="N,N,...", help="Also by reference size: limits such as 3,10,20.")
@click.option("--replacement", is_flag=True, help="Draw queries with replacement, as for new queries.")
@clusters_option
def power_command(
    sizes: str | None,
    n: int | None,
    buckets: str | None,
    replacement: bool,
    clusters: str | None,
    seed: int,
    subsamples: int,
    permutations: int,
    alpha: float,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    **source: Any,
) -> None:
    """Simulate the randomization test on subsamples of n queries, for all pairs.

    Give REFERENCES and RUNs, or --scores. Ctrl-C writes the sizes that are finished.
    """
    from rankdev.display.power import plot_power
    from rankdev.statistics.power import power

    scores = load_scores(**source)
    with working_progress() as progress:
        options: dict[str, Any] = {
            "sizes": whole_numbers(sizes, "--sizes") or None,
            "subsamples": subsamples,
            "permutations": permutations,
            "alpha": alpha,
            "buckets": whole_numbers(buckets, "--buckets"),
            "bucket_sizes": None if n is None else [n],
            "replacement": replacement,
            "clusters": read_clusters(clusters),
            "seed": seed,
            "progress": progress,
        }
        found, report = analyse_segments(scores, segments, lambda part: power(part, **options), n=n)
    deliver(report, form, output)
    draw(figure, plot_power, found)
    if not found.complete:
        raise KeyboardInterrupt(f"finished at {', '.join(map(str, found.sizes))} {found.unit}")


@click.command(
    "plan",
    cls=Command,
    epilog="Example: rankdev plan places.jsonl popular.run blended.run -m RDQ@5 --difference 0.1",
)
@source_options
@segments_option
@collection_option
@figure_option
@click.option("-a", "first", help="The candidate of the pilot. Default: the second of two.")
@click.option("-b", "second", help="The baseline. Default: the first.")
@click.option("--variance", type=float, help="Or the variance of a system's scores over queries.")
@click.option("--difference", type=float, multiple=True, help="A difference to detect; repeat.")
@click.option("--width", type=float, multiple=True, help="Or the width of a difference's interval; repeat.")
@click.option("--systems", type=int, multiple=True, help="Number of systems to compare; repeat.")
@click.option("--correlation", type=float, help="Between systems' scores. Default: estimated, or 0.")
@click.option("--power", default=0.8, show_default=True, help="Probability of detecting it.")
@click.option("--alpha", default=0.05, show_default=True, help="Level of the test.")
@clusters_option
def plan_command(
    collections: tuple[str, ...],
    first: str | None,
    second: str | None,
    variance: float | None,
    difference: tuple[float, ...],
    width: tuple[float, ...],
    systems: tuple[int, ...],
    correlation: float | None,
    power: float,
    alpha: float,
    clusters: str | None,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    references: str | None,
    table: str | None,
    **source: Any,
) -> None:
    """Plan a comparison of two systems from a pilot, or a new collection.

    The pilot is two runs, or -a and -b. With --width, --correlation, --variance or --collection the plan is for a
    collection, and so it is with --systems for several differences or numbers.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.statistics.planning import plan

    asked: dict[str, Any] = {"power": power, "alpha": alpha}
    needs: dict[str, Any] = {"difference": difference or None, "width": width or None, "systems": systems or 2}
    source |= {"references": references, "table": table}
    if variance is not None:
        refuse_unused("references", "table", "collections", "segments", "measures", beside="variance")
        runs = ("names", "order", "ties", "duplicates", "empty", "clusters", "first", "second")
        refuse_unused(*runs, beside="variance")
        found: Any = plan(variance=variance, **needs, correlation=correlation, **asked)
        report = report_of(found)
    elif collections or width or len(systems) > 1 or (systems and len(difference) > 1) or correlation is not None:
        refuse_unused("first", "second", "clusters", needs="plans of one pair")
        needs["correlation"] = correlation
        found, report = analyse_source(lambda pilot: plan(pilot, **needs, **asked), collections, segments, **source)
    else:
        scores = load_scores(**source)
        pair, measure = _pilot(scores, first, second)
        if len(difference) > 1:
            raise UsageError("one-difference")
        asked |= {
            "difference": difference[0] if difference else None,
            "systems": systems[0] if systems else 2,
            "clusters": read_clusters(clusters),
        }
        found, report = analyse_segments(scores, segments, lambda part: plan(part, *pair, measure, **asked))
    deliver(report, form, output)
    draw(figure, found.plot)


def _pilot(scores: Scores, first: str | None, second: str | None) -> tuple[tuple[str, str], str]:
    """Take the systems that were named; if only one of two was, also the other."""
    if len(scores.measures) != 1:
        raise UsageError("not-one-measure", measures=scores.measures)
    if len(scores.systems) < 2 or (len(scores.systems) > 2 and not (first and second)):
        raise UsageError("not-a-pair", count=len(scores.systems), systems=scores.systems[:8])
    b = second or next(name for name in scores.systems if name != first)
    return (first or next(name for name in scores.systems if name != b), b), scores.measures[0]


@click.command(
    "stability",
    cls=Command,
    epilog="Example: rankdev stability places.jsonl nearest.run popular.run blended.run -m RDQ@5 --sizes 5,8",
)
@score_options
@figure_option
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: 25 to 2000, or from 5.")
@click.option("--subsamples", default=300, show_default=True, help="Subsamples per size.")
@clusters_option
def stability_command(
    sizes: str | None,
    subsamples: int,
    clusters: str | None,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    **source: Any,
) -> None:
    """Compare the ranking of systems on n queries with that on all queries, for each measure.

    Give REFERENCES and RUNs, or --scores.
    """
    from rankdev.display.power import plot_stability
    from rankdev.statistics.stability import stability

    scores = load_scores(**source)
    options: dict[str, Any] = {"subsamples": subsamples, "seed": seed, "clusters": read_clusters(clusters)}
    chosen = whole_numbers(sizes, "--sizes") or None
    found, report = analyse_segments(scores, segments, lambda part: stability(part, sizes=chosen, **options))
    deliver(report, form, output)
    draw(figure, plot_stability, found)
