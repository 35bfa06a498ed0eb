"""References and runs, read once for work that scores them more than once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rankdev.evaluation.scoring import named_systems
from rankdev.formats import read_run, references_of
from rankdev.ordering import Order, Ties
from rankdev.references.references import References, ReferencesLike
from rankdev.runs import Run, RunLike


def load_inputs(
    references: ReferencesLike, runs: Mapping[str, RunLike], order: Order | None = None, ties: Ties | None = None
) -> tuple[References, dict[str, Run]]:
    """Give references and named runs in memory, whatever :func:`evaluate` takes for them."""
    known = references_of(references)
    return known, {name: _loaded(run, order, ties) for name, run in named_systems(runs).items()}


def _loaded(run: RunLike, order: Order | None, ties: Ties | None) -> Run:
    if isinstance(run, str | Path):
        return read_run(run, order=order or "score", ties=ties or "trec_eval")
    return Run.of(run, order=order, ties=ties)
