"""rankdev plan: how many queries do I need?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from rankdev.cli.outputs import deliver
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import judge_segments
from rankdev.errors import UsageError


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
def command(
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
    from rankdev.meta.planning import plan

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
