"""What other evaluation programs do differently, in one table: ``like="trec_eval-10"`` does as they do.

docs/coming-from.md shows the table, and tests/conformance compares what comes out with the programs themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev._common.checks import check_choice
from rankdev.data.options import PLAIN, Dialect, Order, Ties
from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.measures.base import REGISTRY
from rankdev.measures.graded import ERR, NDCG, RBP
from rankdev.measures.incomplete import Judged
from rankdev.measures.precision import RR, InterpolatedPrecision
from rankdev.measures.syntax import each_text, parse

if TYPE_CHECKING:
    from rankdev.data.references import References
    from rankdev.evaluation.evaluate import Empty
    from rankdev.measures.base import Measure, MeasureLike


@dataclass(frozen=True, kw_only=True)
class Convention:
    """What one program does where programs differ.

    ``names`` are its names of measures, where they are not understood anyway, and ``parameters`` what it takes for
    those that a text leaves out. The texts about queries, grades and decimals are for readers: missing queries always
    count, and values are never rounded.
    """

    program: str
    ties: Ties
    ties_of: Mapping[type[Measure], Ties] = field(default_factory=dict)
    about_ties: str = ""
    empty: Empty = "zero"
    queries: str
    parameters: Mapping[type[Any], Mapping[str, Any]] = field(default_factory=dict)
    grades: str = "whole"
    names: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = PLAIN
    decimals: str

    def measures(self, texts: MeasureLike | Iterable[MeasureLike]) -> list[Measure]:
        """Parse measures as the program means them; their labels state what was computed."""
        found = dict.fromkeys(self._measure(text) for text in each_text(texts))
        if not found:
            raise MeasureError("no-measure")
        return list(found)

    def _measure(self, text: Any) -> Measure:
        if not isinstance(text, str):
            return parse(text)
        name = re.match(r"\s*([\w-]+)", text)
        known = self.names.get(name[1]) if name else None
        fits = known and ("@" not in text or REGISTRY[known].at)  # ranx's f1 is another measure than its f1@10
        measure = parse(f"{known}{text[name.end() :]}" if fits and name else text)
        for kind, usual in self.parameters.items():
            if isinstance(measure, kind):
                measure = replace(measure, **{name: value for name, value in usual.items() if f"{name}=" not in text})
        return measure

    def ties_for(self, measure: Measure) -> Ties:
        """Return how equal scores are ordered for a measure."""
        own = [rule for kind, rule in self.ties_of.items() if type(measure) is kind and _applies(measure)]
        return own[0] if own else self.ties


def _applies(measure: Measure) -> bool:
    """Tell whether ir_measures leaves a measure to another program than pytrec_eval."""
    if isinstance(measure, RR):
        return measure.cutoff is not None
    return not isinstance(measure, NDCG) or measure.dcg == "exp-log2"


_AS_TREC_EVAL = "all of the qrels, as with -c"
CONVENTIONS: dict[str, Convention] = {
    "trec_eval-10": Convention(
        program="trec_eval 10.0",
        ties="descending",
        queries=f"{_AS_TREC_EVAL}; without -c, a missing query ends the program with an error",
        parameters={InterpolatedPrecision: {"rounding": "nearest"}},
        grades="whole; 1.7 is read as 1",
        dialect=Dialect(comments=True, further_columns=True),
        decimals="4",
    ),
    "trec_eval-9": Convention(
        program="trec_eval 9.0.8",
        ties="descending",
        about_ties="up to 9.0.7 as pytrec_eval",
        queries=f"{_AS_TREC_EVAL}; without -c, those that are in both files",
        grades="whole; 1.7 is read as 1",
        dialect=Dialect(further_columns=True),
        decimals="4",
    ),
    "pytrec_eval": Convention(
        program="pytrec_eval-terrier 0.5.11",
        ties="trec_eval",
        queries="those that are in both; here all of the qrels",
        decimals="all",
    ),
    "ir_measures": Convention(
        program="ir_measures 0.4.3",
        ties="trec_eval",
        ties_of={RR: "ascending", Judged: "ascending", RBP: "given", ERR: "descending", NDCG: "descending"},
        about_ties="RR@k and Judged 'ascending', ERR and nDCG(dcg=exp-log2) 'descending', RBP 'given'",
        queries="all of the qrels",
        decimals="all; 5 of ERR and nDCG(dcg=exp-log2)",
    ),
    "gdeval": Convention(
        program="gdeval 1.2a",
        ties="descending",
        empty="skip",
        queries="those with a relevant item that are in both; here all with a relevant item",
        grades="whole, up to 4; topics are numbers",
        names={"err": "ERR"},
        parameters={NDCG: {"dcg": "exp-log2"}},
        dialect=Dialect(further_columns=True),
        decimals="5",
    ),
    "ranx": Convention(
        program="ranx 0.3.21",
        ties="given",
        about_ties="its sort need not be stable",
        queries="all of the qrels, as with make_comparable=True; otherwise a missing query is refused",
        names={"r-precision": "Rprec", "f1": "SetF"},
        decimals="all",
    ),
}


def follow(
    like: str,
    measures: MeasureLike | Iterable[MeasureLike],
    order: Order | None,
    ties: Ties | None,
    empty: Empty | None,
) -> tuple[dict[Measure, Ties], Order, Empty, Dialect]:
    """Return measures, each with its order of equal scores, and options as a program has them.

    Options that contradict it are refused.
    """
    check_choice("like", like, tuple(CONVENTIONS))
    convention = CONVENTIONS[like]
    rules = {measure: convention.ties_for(measure) for measure in convention.measures(measures)}
    own = [("order", order, "score"), ("empty", empty, convention.empty), *(("ties", ties, r) for r in rules.values())]
    for name, value, means in own:
        if value not in (None, means):
            raise UsageError("contradicts-like", like=like, name=name, means=means, value=value)
    return rules, "score", convention.empty, convention.dialect


def check_grades(like: str, references: References) -> None:
    """Refuse grades that the program would read as others."""
    grades = np.zeros(0) if references.grades is None else references.grades
    for grade in grades[grades % 1 != 0]:
        raise DataError("fractional-grade", grade=grade, program=CONVENTIONS[like].program)
