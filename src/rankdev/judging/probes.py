"""Questions about the judge, mixed into the others: pairs whose answer is known, and pairs answered before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rankdev._common.checks import check_number
from rankdev.errors import FileFormatError, shown
from rankdev.io.streams import PathLike, Source
from rankdev.io.tables import read_table
from rankdev.judging.items import Pair, Pool, sorted_pair

GOLD_SHARE = 0.1  # of the questions, while a judge has not answered all gold pairs
APART = 10  # judgments between a question and its repetition: nobody should just remember the answer
COLUMNS = ("query", "first", "second", "outcome")
OUTCOMES = ("first", "second", "tie")
EXPECTED = "expected a table with the columns query, first, second and outcome (first, second or tie)"


@dataclass(frozen=True)
class Probes:
    """``gold`` has the better item of each pair whose answer is known, None where both are equally good.

    ``repeats`` is the fraction of questions that are asked again.
    """

    gold: Mapping[Pair, str | None] = field(default_factory=dict)
    repeats: float = 0.0

    def __post_init__(self) -> None:
        check_number("self-repeats", self.repeats, 0, 0.5, ends=True)

    def expected(self, query: str, first: str, second: str) -> str | None:
        """Return the known outcome of a pair in the order shown; None where it is not known."""
        pair = sorted_pair((query, first, second))
        if pair not in self.gold:
            return None
        better = self.gold[pair]
        return "tie" if better is None else "first" if better == first else "second"


def read_gold(path: PathLike, pool: Pool) -> dict[Pair, str | None]:
    """Read pairs whose answer is known: query, first, second, and outcome, which is first, second or tie."""
    with Source(path) as source:
        if source.kind in ("trec", "json"):
            raise FileFormatError(source.name, EXPECTED)
        table = read_table(source, source.kind)
    if missing := [name for name in COLUMNS if name not in table.frame.columns]:
        raise FileFormatError(table.name, f"there is no column {missing[0]}; {EXPECTED}")
    found: dict[Pair, str | None] = {}
    for number, row in enumerate(table.frame.select(COLUMNS).iter_rows()):
        query, first, second, outcome = ("" if value is None else str(value) for value in row)

        wrong = _wrong(pool, found, query, first, second, outcome)
        if wrong:
            raise FileFormatError(table.name, wrong, table.line_of(number))
        found[sorted_pair((query, first, second))] = {"first": first, "second": second, "tie": None}[outcome]
    return found


def _wrong(pool: Pool, found: Mapping[Pair, str | None], query: str, first: str, second: str, outcome: str) -> str:
    """Return what is wrong with a row, if anything is."""
    if outcome not in OUTCOMES:
        return f"the outcome is {shown(outcome)}; expected first, second or tie"
    if first == second:
        return f"both items are {shown(first)}; expected two"
    for item in (first, second):
        if not pool.knows(query, item):
            return f"query {shown(query)}: item {shown(item)} is not among the items to be judged"
    if sorted_pair((query, first, second)) in found:
        return f"query {shown(query)}: the pair {shown(first)}, {shown(second)} appears twice; keep one"
    return ""
