"""rankdev power: would fewer queries have told?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.progress_bars import working_progress
from rankdev.cli.score_source import judging_options, load_scores, simulation_options
from rankdev.cli.segments import judge_segments
from rankdev.meta.power_result import POOLS


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
def command(
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
    from rankdev.meta.power import power
    from rankdev.meta.sizes import PAPER_SIZES
    from rankdev.reporting.plots import plot_power

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
