"""How runs and references match: what is missing on either side, and where ties decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rankdev.errors import DataError, Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankdev._common.arrays import Bools, Ints


@dataclass(frozen=True)
class Coverage:
    """How one system's run and the references match.

    Attributes
    ----------
    system : str
        Name of the system.
    queries : int
        Number of queries of the references.
    missing : int
        Queries of the references that are not in the run; they score 0.
    unreferenced : int
        Queries of the run that have no reference; they are skipped.
    tied : int
        Queries that tied scores affect: another rule than the run's ``ties`` could change the value of one of the
        measures (or, with ``ties="expected"``, values are means over all orders).
    ties : str
        The run's rule for ties.
    empty : int
        Queries of the references without a relevant item: all that was judged there is nonrelevant.
    tied_by : dict of str to int
        The same as ``tied`` for each measure alone.
    left_out : int
        Rows of the run that do not count because another of the same item does, with ``duplicates``.
    ids : tuple of str, optional
        An id of the run, one of the references and how they differ ("" where that is not known), where the run returns
        no relevant item for any query.
    looked_at, unjudged : int
        Items that measures look at in the first 20 positions, and those of them that were not judged; 0 where the
        references state no nonrelevant items, so that this is not known.
    depth : int
        Positions that were looked at for these.

    See Also
    --------
    rankdev.evaluate : Its Scores have the coverage of each system.
    """

    system: str
    queries: int
    missing: int = 0
    unreferenced: int = 0
    tied: int = 0
    ties: str = "trec_eval"
    empty: int = 0
    tied_by: Mapping[str, int] = field(default_factory=dict, repr=False, hash=False)
    left_out: int = 0
    ids: tuple[str, str, str] | None = field(default=None, repr=False)
    looked_at: int = field(default=0, repr=False)
    unjudged: int = field(default=0, repr=False)
    depth: int = field(default=0, repr=False)

    @property
    def decided(self) -> int:
        """Number of queries that the rule for ties decides."""
        return self.tied - self.averaged

    @property
    def averaged(self) -> int:
        """Number of queries whose values are means over all orders of ties."""
        return self.tied if self.ties == "expected" else 0


def for_measures(coverage: Coverage, measures: Sequence[str]) -> Coverage:
    """Count the ties that decide some of the measures; of several, those of the one with most queries."""
    kept = {name: count for name, count in coverage.tied_by.items() if name in measures}
    if len(kept) == len(coverage.tied_by):
        return coverage
    return replace(coverage, tied=max(kept.values(), default=0), tied_by=kept)


def check_coverage(coverage: Sequence[Coverage]) -> None:
    """Refuse runs that lack queries of the references, or have more."""
    for note in coverage_remarks([replace(entry, tied=0, left_out=0) for entry in coverage]):
        raise DataError(note.kind, **note.fields)


def coverage_remarks(coverage: Sequence[Coverage]) -> Iterator[Note]:
    """Yield notes on what the runs lack, what they have in excess, and where ties decide; one for all systems."""
    for kind, counted in (
        ("left-out", "left_out"),
        ("missing", "missing"),
        ("unreferenced", "unreferenced"),
        ("tied", "decided"),
        ("tied-means", "averaged"),
    ):
        concerned = [entry for entry in coverage if getattr(entry, counted)]
        rules = sorted({entry.ties for entry in concerned})
        counts = {entry.system: getattr(entry, counted) for entry in concerned}
        yield from _of_runs(kind, counts, coverage[0].queries if coverage else 0, rules=rules)


def gap_remarks(systems: Sequence[str], available: Mapping[str, Bools]) -> Iterator[Note]:
    """Name the measures that are not available for every query; ``available[measure]`` is by system and query."""
    for measure, known in available.items():
        lacking = zip(systems, (~known).sum(axis=1).tolist(), strict=True)
        yield from _of_runs("unavailable", {name: n for name, n in lacking if n}, known.shape[1], measure=measure)


def _of_runs(kind: str, counts: Mapping[str, int], queries: int, **fields: Any) -> Iterator[Note]:
    """Yield a note on the runs that it concerns, if any; it states the highest of their counts."""
    if counts:
        yield Note(kind, runs=list(counts.items()), count=max(counts.values()), queries=queries, **fields)


def empty_remarks(coverage: Sequence[Coverage], empty: str | None, sizes: Ints | None) -> Iterator[Note]:
    """Count the queries without any reference item; ``sizes`` counts those of each query."""
    if empty == "skip" and (left := max((entry.empty for entry in coverage), default=0)):
        yield Note("empty-skipped", count=left, queries=coverage[0].queries + left)
    elif sizes is not None and (kept := int((sizes == 0).sum())):
        yield Note("empty-zero", count=kept, queries=len(sizes))
