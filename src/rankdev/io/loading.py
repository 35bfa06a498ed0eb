"""Load references and runs from whatever a user passes; the only such place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

from rankdev._common.checks import check_choice
from rankdev._common.columns import by_system
from rankdev._common.reading import caution, held_cautions
from rankdev._common.tables import as_frame, is_table, tabled
from rankdev._common.work import Progress, Together
from rankdev.core.ordering import TREC_EVAL, Order, Ordering, Ties
from rankdev.core.references import References, ReferencesLike
from rankdev.core.runs import Run, RunLike, RunsLike
from rankdev.errors import DataError, MeasureError, RankdevError, UsageError, several
from rankdev.io.references import references_from_path
from rankdev.io.runs import read_systems, run_from_path
from rankdev.io.streams import size_of
from rankdev.io.trec import PLAIN, Dialect


def load_references(
    references: ReferencesLike, *, progress: Progress | None = None, dialect: Dialect = PLAIN
) -> References:
    """Return references: a path is read, all else is taken by :meth:`References.of`."""
    if isinstance(references, str | Path):
        with error_context(path=str(references)):
            return references_from_path(references, progress, dialect)
    return References.of(references)


def load_inputs(
    references: ReferencesLike, runs: RunsLike, order: Order | None = None, ties: Ties | None = None
) -> tuple[References, dict[str, Run]]:
    """Return references and named runs in memory, whatever :func:`evaluate` takes for them."""
    faults = Faults()
    with faults.noted():
        known = load_references(references)
    with faults.noted():
        loaded = load_runs(named_systems(runs, order), order, ties)
    faults.check()
    return known, loaded


def load_runs(
    systems: Mapping[str, RunLike],
    order: Order | None = None,
    ties: Ties | None = None,
    depth: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Run]:
    """Return the run of each system; an error names what is wrong with each of them."""
    _ordering(order, ties)
    together = None if progress is None else Together(progress, {name: size_of(run) for name, run in systems.items()})
    loaded, faults = {}, Faults()
    for name, source in systems.items():
        watch = None if together is None else partial(_tell, together, name)
        with faults.noted():
            loaded[name] = load_run(name, source, order, ties, depth, watch)
    faults.check()
    return loaded


def _tell(together: Together, name: str, done: float, total: float, note: str) -> None:
    together.tell(name, done)


class Faults:
    """What is wrong with each of several inputs, so that a user learns it all at once."""

    def __init__(self) -> None:
        self._found: list[tuple[int, RankdevError]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @contextmanager
    def noted(self, place: int = 0) -> Iterator[None]:
        """Note what is wrong with an input, and continue; ``place`` orders inputs that are read at the same time."""
        try:
            yield
        except MeasureError:
            raise
        except (DataError, UsageError) as error:
            each = error.fields["errors"] if error.kind == "several" else [error]
            self._found += [(place, one) for one in each if str(one) not in {str(known) for _, known in self._found}]

    def check(self) -> None:
        """Raise what was noted."""
        if self._found:
            raise several([error for _, error in sorted(self._found, key=lambda entry: entry[0])]) from None


def load_run(
    system: str,
    run: RunLike,
    order: Order | None = None,
    ties: Ties | None = None,
    depth: int | None = None,
    progress: Progress | None = None,
    dialect: Dialect = PLAIN,
) -> Run:
    """Return the run of a system: a path is read, to ``depth`` where one is given; all else is taken by :meth:`Run.of`.

    Without ``order`` and ``ties`` a Run keeps its own; all else is ordered by score, ties as pytrec_eval does.
    """
    if isinstance(run, str | Path):
        return run_from_path(run, _ordering(order, ties), depth, progress, dialect)
    with error_context(**where(system, run)):
        return Run.of(run, order=order, ties=ties)


def _ordering(order: Order | None, ties: Ties | None) -> Ordering:
    return Ordering(TREC_EVAL.order if order is None else order, TREC_EVAL.ties if ties is None else ties)


def where(system: str, run: RunLike) -> dict[str, str]:
    """Name a run in an error: by its file, or by its system."""
    return {"path": str(run)} if isinstance(run, str | Path) else {"system": system}


@contextmanager
def error_context(**where: str) -> Iterator[None]:
    """Add to errors and cautions the run that they are about."""
    try:
        with held_cautions() as cautions:
            yield
    except MeasureError:
        raise
    except (DataError, UsageError) as error:
        raise error.at(**where) from None
    for kind, fields in cautions:
        caution(kind, **where | fields)


def named_systems(runs: RunsLike, order: Order | None = None) -> Mapping[str, RunLike]:
    """Return runs by the name of their system; a file or table of several is split by what names them there."""
    if order is not None:
        check_choice("order", order, get_args(Order))
    if isinstance(runs, str | Path):
        return read_systems(runs, order or TREC_EVAL.order)
    if isinstance(runs, Run):
        raise UsageError("nameless-runs", value="Run")
    if not isinstance(runs, Mapping):
        runs = tabled(runs)
        if is_table(runs):
            return by_system(as_frame(runs))
        raise UsageError("nameless-runs", value=type(runs).__name__)
    if not runs:
        raise UsageError("no-runs")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise UsageError("not-a-system", value=name)
    return runs
