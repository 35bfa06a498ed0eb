"""How runs and references match: what is missing on either side, and where ties decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from rankdev._common.reading import is_strict
from rankdev.errors import DataError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankdev._common.arrays import Bools, Ints


NAMED = 5  # systems that a note names; more are counted


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
    """Refuse, in strict calls, runs that lack queries of the references, or have more."""
    if is_strict():
        for remark in coverage_remarks([replace(entry, tied=0, left_out=0) for entry in coverage]):
            raise DataError(remark)


def coverage_remarks(coverage: Sequence[Coverage]) -> Iterator[str]:
    """Yield notes on what the runs lack, what they have in excess, and where ties decide; one line for all systems."""
    repeating = {entry.system: entry.left_out for entry in coverage if entry.left_out}
    if len(repeating) == 1:
        system, count = next(iter(repeating.items()))
        rows = counted(count, "row", "is")
        yield f"{system}: {rows} left out, because another row of the same query and item counts"
    elif repeating:
        runs, counts = counted(len(repeating), "run", of=len(coverage)), named_counts(repeating)
        yield f"{runs} have rows that are left out, because other rows of the same query and item count: {counts}"
    for kind, verb, one, several, many in (
        (
            "missing",
            "is",
            "not in the run; it scores 0",
            "not in the run; they score 0",
            "are missing queries, which score 0",
        ),
        (
            "unreferenced",
            "has",
            "no reference; it is skipped",
            "no reference; they are skipped",
            "hold queries without a reference, which are skipped",
        ),
        (
            "decided",
            "is",
            "affected by tied scores",
            "affected by tied scores",
            "have queries affected by tied scores",
        ),
        (
            "averaged",
            "has",
            "tied items; its value is the mean over all orders",
            "tied items; their values are means over all orders",
            "have queries with tied items, whose values are means over all orders",
        ),
    ):
        concerned = [entry for entry in coverage if getattr(entry, kind)]
        rules = ", ".join(sorted({repr(entry.ties) for entry in concerned}))
        rule = f"; ties are broken by {rules}" if kind == "decided" else ""
        if len(concerned) == 1:
            entry, count = concerned[0], getattr(concerned[0], kind)
            if kind == "unreferenced":
                queries = f"{counted(count, 'query')} of the run {verb if count == 1 else 'have'}"
            else:
                queries = counted(count, "query", verb, of=entry.queries)
            yield f"{entry.system}: {queries} {one if count == 1 else several}{rule}"
        elif concerned:
            counts = named_counts({entry.system: getattr(entry, kind) for entry in concerned})
            yield f"{counted(len(concerned), 'run', of=len(coverage))} {many}{rule}: {counts}"


def gap_remarks(systems: Sequence[str], available: Mapping[str, Bools]) -> Iterator[str]:
    """Name the measures that are not available for every query; ``available[measure]`` is by system and query."""
    for measure, known in available.items():
        queries = known.shape[1]
        counts = {name: n for name, n in zip(systems, known.sum(axis=1).tolist(), strict=True) if n < queries}
        if counts:
            yield f"{measure} is available for some of {counted(queries, 'query')} only: {named_counts(counts)}"


def empty_remarks(coverage: Sequence[Coverage], empty: str | None, sizes: Ints | None) -> Iterator[str]:
    """Count the queries without any reference item; ``sizes`` counts those of each query."""
    if empty == "skip" and (left := max((entry.empty for entry in coverage), default=0)):
        without = counted(left, "query", "has", of=coverage[0].queries + left)
        yield f"{without} no reference item; {'it is' if left == 1 else 'they are'} left out"
    elif sizes is not None and (kept := int((sizes == 0).sum())):
        yield f"{counted(kept, 'query', 'has', of=len(sizes))} no reference item; every system scores 0 there"


def named_counts(counts: Mapping[str, int]) -> str:
    """Name a few systems with their counts, and count the rest."""
    named = ", ".join(f"{name} {count}" for name, count in islice(counts.items(), NAMED))
    return named + (f" and {len(counts) - NAMED} more" if len(counts) > NAMED else "")
