"""rankdev study map: which measure tells systems apart, by what they differ in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import seed_option, shares_of, whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.cli.progress_bars import working_progress
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.results import Result


@click.command("map", epilog="Example: rankdev study map --quick")
@click.option("-n", "n", type=click.IntRange(min=2), help="Queries of a comparison. Default: 100, or 25 for runs.")
@click.option("--ties", metavar="X,X,...", help="Shares of neighbours in a reference that share a rank; a map each.")
@click.option("--reference-size", metavar="N,N,...", help="Items in every reference; a map each.")
@click.option("--references", metavar="FILE", help="Put the pairs of your runs on the map: their references.")
@click.option("--runs", metavar="DIR", help="The runs, one file per system.")
@click.option("-k", "--cutoff", type=click.IntRange(min=1), default=5, show_default=True, help="Depth of measures.")
@click.option("--quick", is_flag=True, help="A coarser plane, fewer seeds: seconds instead of a minute.")
@seed_option
@figure_option
@output_options
def command(
    n: int | None,
    ties: str | None,
    reference_size: str | None,
    references: str | None,
    runs: str | None,
    cutoff: int,
    quick: bool,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Which measure tells systems apart, by what they differ in.

    Simulated pairs of systems, one of which finds reference items better (retrieval), orders them better (order), or
    both: the power of the paper's configurations at every point of that plane. With --references and --runs, where your
    own pairs of systems lie, and whether that says which measure has more power for them.
    """
    from rankdev.formats.names import runs_in
    from rankdev.reporting.door import report_of
    from rankdev.studies.map import power_map, power_maps
    from rankdev.studies.real_pairs import place_runs

    shares, sizes = shares_of(ties or "", "--ties"), whole_numbers(reference_size, "--reference-size") or []
    if (references is None) != (runs is None):
        raise UsageError("--references and --runs belong together; give both, or neither for the simulated map")
    if runs is not None and (shares or sizes):
        raise UsageError("--ties and --reference-size are for the simulated map; references of your own have theirs")
    options: dict[str, Any] = {"n": n or (100 if runs is None else 25), "quick": quick, "seed": seed}
    measures = f"paper@{cutoff}"
    with working_progress("the map") as progress:
        if runs is not None:
            found: Result = place_runs(references, runs_in(runs), measures, progress=progress, **options)
        elif shares or sizes:
            found = power_maps(measures, ties=shares, reference_sizes=sizes, progress=progress, **options)
        else:
            found = power_map(measures, progress=progress, **options)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)
