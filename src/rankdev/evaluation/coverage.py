"""How runs and references met: what is missing on either side, and where ties decide."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


NAMED = 5  # systems that a remark names; more are counted


@dataclass(frozen=True)
class Coverage:
    """How one system's run and the references met.

    ``missing`` reference queries are not in the run (they score 0), ``unreferenced`` queries of the run have
    no reference (they are skipped), ``empty`` queries of the references have no reference item (all that was judged
    there is worthless), and in ``tied`` queries equal scores decide between items of different
    rank, so that another rule than the run's ``ties`` could give another number (or, with ``ties="expected"``, their
    values are means over all orders).
    """

    system: str
    queries: int
    missing: int = 0
    unreferenced: int = 0
    tied: int = 0
    ties: str = "trec_eval"
    empty: int = 0

    @property
    def decided(self) -> int:
        """Queries that the rule for ties decides."""
        return self.tied - self.averaged

    @property
    def averaged(self) -> int:
        """Queries whose values are means over all orders of ties."""
        return self.tied if self.ties == "expected" else 0


def coverage_remarks(coverage: Sequence[Coverage]) -> Iterator[str]:
    """Say what the runs lack, what they have too much, and where ties decide; one line for all systems."""
    for kind, one, many in (
        ("missing", "are not in the run; they score 0", "runs lack queries, which score 0"),
        (
            "unreferenced",
            "have no reference; they are skipped",
            "runs hold queries without a reference, which are skipped",
        ),
        ("decided", "are decided by equal scores", "runs have queries that equal scores decide"),
        (
            "averaged",
            "have tied items; their values are means over all orders",
            "runs have queries with tied items, whose values are means over all orders",
        ),
    ):
        concerned = [entry for entry in coverage if getattr(entry, kind)]
        rules = ", ".join(sorted({repr(entry.ties) for entry in concerned}))
        rule = f"; ties are broken by {rules}" if kind == "decided" else ""
        if len(concerned) == 1:
            entry = concerned[0]
            whole = "queries of the run" if kind == "unreferenced" else f"of {entry.queries} queries"
            yield f"{entry.system}: {getattr(entry, kind)} {whole} {one}{rule}"
        elif concerned:
            counts = named_counts({entry.system: getattr(entry, kind) for entry in concerned})
            yield f"{len(concerned)} of {len(coverage)} {many}{rule}: {counts}"


def named_counts(counts: Mapping[str, int]) -> str:
    """Name a few systems with their counts, and say how many more there are."""
    named = ", ".join(f"{name} {count}" for name, count in islice(counts.items(), NAMED))
    return named + (f" and {len(counts) - NAMED} more" if len(counts) > NAMED else "")
