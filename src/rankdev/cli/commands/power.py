"""Power, plan, stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.inputs import collection_option, judge_source, judging_options, load_scores, simulation_options
from rankdev.cli.options import judge_segments, refuse_unused, whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option, working_progress
from rankdev.errors import UsageError
from rankdev.statistics.power.result import POOLS

if TYPE_CHECKING:
    from rankdev.statistics.topic_set_size import Design


@click.command(
    "power",
    short_help="Say how often n queries tell systems apart.",
    epilog="Example: rankdev power places.jsonl popular.run blended.run -m paper@5 --sizes 5,10 --subsamples 50",
)
@judging_options
@figure_option
@simulation_options
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: the paper's grid, 25 to 2000.")
@click.option("--at", type=int, help="Sum up at this size. Default: 100, or the largest below.")
@click.option("--buckets", metavar="N,N,...", help="Also by reference size; upper edges, the paper's are 3,10,20.")
@click.option(
    "--intervals",
    default=0,
    show_default=True,
    help="How often to resample the queries, for 95% intervals: 200, say.",
)
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    default="same",
    show_default=True,
    help="Draw from these queries, or as if new (with replacement).",
)
@click.option("--resume", metavar="FILE", help="Continue from the .json or .parquet file of an interrupted call.")
def power_command(
    sizes: str | None,
    at: int | None,
    buckets: str | None,
    intervals: int,
    pool: Any,
    resume: str | None,
    seed: int,
    subsamples: int,
    permutations: int,
    alpha: float,
    engine: str,
    threads: int | None,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Simulate the randomization test on subsamples of n queries, for every pair of systems and measure.

    Give REFERENCES and RUNs, or --scores. Interrupting it (Ctrl-C) writes the sizes that are finished.
    """
    from rankdev.display.power import plot_power
    from rankdev.statistics.power import power
    from rankdev.statistics.power.student import PAPER_SIZES

    scores = load_scores(**source)
    with working_progress() as progress:
        options: dict[str, Any] = {
            "sizes": whole_numbers(sizes, "--sizes") or PAPER_SIZES,
            "subsamples": subsamples,
            "permutations": permutations,
            "alpha": alpha,
            "buckets": whole_numbers(buckets, "--buckets"),
            "bucket_sizes": None if at is None else [at],
            "pool": pool,
            "intervals": intervals,
            "seed": seed,
            "engine": engine,
            "threads": threads,
            "progress": progress,
        }
        found, report = judge_segments(
            scores, by, lambda part: power(part, resume=resume if part is scores else None, **options), n=at
        )
    deliver(report, form, output)
    draw(figure, plot_power, found)
    if not found.complete:
        done = f"finished at {', '.join(map(str, found.sizes))} queries"
        raise KeyboardInterrupt(f"{done}; to continue: --resume {output}" if output else done)


@click.command(
    "plan",
    short_help="Say how many queries a comparison needs.",
    epilog="Example: rankdev plan places.jsonl popular.run blended.run -m RDQ@5 --difference 0.1",
)
@judging_options
@click.option("-a", "first", help="One system. Default: the first of two runs.")
@click.option("-b", "second", help="The other. Default: the second.")
@click.option("--difference", type=float, help="The smallest difference that matters. Default: the pilot's own.")
@click.option("--power", default=0.8, show_default=True, help="How often it should be detected.")
@click.option("--alpha", default=0.05, show_default=True, help="Level at which the test rejects.")
def plan_command(
    first: str | None,
    second: str | None,
    difference: float | None,
    power: float,
    alpha: float,
    seed: int,
    form: str | None,
    output: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Plan a comparison from a pilot: the queries needed to detect a difference that matters.

    Give REFERENCES and RUNs, or --scores, of the pilot.
    """
    from rankdev.statistics.planning import plan

    scores = load_scores(**source)
    if len(scores.measures) != 1:
        raise UsageError(f"plan takes one measure; name it with -m, one of {', '.join(scores.measures)}")
    if len(scores.systems) < 2 or (len(scores.systems) > 2 and not (first and second)):
        raise UsageError(
            f"plan compares two systems; give two runs, or say which with -a and -b: {', '.join(scores.systems)}"
        )
    pair = _pair(scores.systems, first, second)
    options: dict[str, Any] = {"difference": difference, "power": power, "alpha": alpha, "seed": seed}
    report = judge_segments(scores, by, lambda part: plan(part, *pair, scores.measures[0], **options))[1]
    deliver(report, form, output)


def _pair(systems: Sequence[str], first: str | None, second: str | None) -> tuple[str, str]:
    """Take the systems that were named; beside one of two, the other."""
    a = first or next(name for name in systems if name != second)
    return a, second or next(name for name in systems if name != a)


@click.command(
    "design",
    short_help="Say how many queries a new collection needs.",
    epilog="Example: rankdev design --variance 0.05 --difference 0.1 --systems 2 --systems 10",
)
@judging_options
@figure_option
@collection_option
@click.option("--variance", type=float, help="Variance of a system's scores over queries, instead of scores.")
@click.option("--difference", type=float, multiple=True, help="A difference to detect; repeat for more.")
@click.option("--width", type=float, multiple=True, help="Or how wide the interval of a difference may be.")
@click.option("--systems", type=int, multiple=True, help="How many systems are compared; repeat for more. Default: 2.")
@click.option("--correlation", type=float, help="Of two systems' scores. Default: the scores' own; for --variance, 0.")
@click.option("--power", default=0.8, show_default=True, help="How often a difference should be detected.")
@click.option("--alpha", default=0.05, show_default=True, help="Level at which the test rejects.")
def design_command(
    collections: tuple[str, ...],
    variance: float | None,
    systems: tuple[int, ...],
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    references: str | None,
    table: str | None,
    difference: tuple[float, ...],
    width: tuple[float, ...],
    correlation: float | None,
    power: float,
    alpha: float,
    **source: Any,
) -> None:
    """Say how many queries a new collection needs, from the variance of scores alone.

    Give --variance; or scores to estimate it from: REFERENCES and RUNs, --scores, or a --collection for each.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.statistics.topic_set_size import design

    def judge(pilot: Any) -> Design:
        asked: Any = {"difference": difference, "width": width, "systems": systems or 2, "correlation": correlation}
        return design(pilot, **asked, power=power, alpha=alpha)

    source |= {"references": references, "table": table}
    if variance is not None:
        if references is not None or table is not None or collections or by is not None:
            raise UsageError("give either --variance or scores to estimate it from, not both")
        unused = ("measures", "names", "order", "ties", "empty")
        refuse_unused(*unused, why="is for scores, and there are none with --variance")
        found = judge(variance)
        report = report_of(found)
    elif references is None and table is None and not collections:
        raise UsageError(
            "give --variance, or scores to estimate it from: REFERENCES and RUNs, --scores or --collection"
        )
    else:
        found, report = judge_source(judge, collections, by, **source)
    deliver(report, form, output)
    draw(figure, found.plot)


@click.command(
    "stability",
    short_help="Say how well n queries give the order of systems.",
    epilog="Example: rankdev stability places.jsonl nearest.run popular.run blended.run -m RDQ@5 --sizes 5,8",
)
@judging_options
@figure_option
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: the paper's grid, 25 to 2000.")
@click.option("--subsamples", default=300, show_default=True, help="Subsamples per size.")
@click.option("--intervals", default=0, show_default=True, help="How often to resample the pool, for intervals of tau.")
def stability_command(
    sizes: str | None,
    subsamples: int,
    intervals: int,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Compare the order of systems on n queries with their order on all, measure by measure.

    Give REFERENCES and RUNs, or --scores.
    """
    from rankdev.display.power import plot_stability
    from rankdev.statistics.power.student import PAPER_SIZES
    from rankdev.statistics.stability import stability

    scores = load_scores(**source)
    options: dict[str, Any] = {"subsamples": subsamples, "intervals": intervals, "seed": seed}
    chosen = whole_numbers(sizes, "--sizes") or PAPER_SIZES
    found, report = judge_segments(scores, by, lambda part: stability(part, sizes=chosen, **options))
    deliver(report, form, output)
    draw(figure, plot_stability, found)
