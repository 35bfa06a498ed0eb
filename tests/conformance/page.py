"""Tables of pages: the conventions of programs, the names of measures, and what was compared.

Each stands between ``<!-- conformance: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rankdev.data.options import TIE_RULES
from rankdev.evaluation.conventions import CONVENTIONS, Convention
from rankdev.measures.precision import InterpolatedPrecision
from rankdev.measures.syntax import ALIASES, CUT, SETS
from tests.conformance.comparisons import Row


def filled(text: str, **tables: str) -> str:
    """Return a page with these tables in their places."""
    for name, table in tables.items():
        place = re.compile(rf"(?<=<!-- conformance: {name} -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)
        text = place.sub(lambda _, table=table: table, text)
    return text


def conventions() -> str:
    """One column a program."""
    titles = [f"`{like}`" for like in CONVENTIONS]
    facts = {
        "program": lambda one: one.program,
        "equal scores": _ties,
        "recall level of IPrec": _rounding,
        "queries that count": lambda one: one.queries,
        "queries without a relevant item": lambda one: "score 0" if one.empty == "zero" else "left out",
        "grades": lambda one: one.grades,
        "nDCG's gain, unless written": lambda one: "2^g − 1" if "exp-log2" in str(one.parameters) else "g",
        "printed decimals": lambda one: one.decimals,
    }
    lines = [["", *titles], *([fact, *map(tell, CONVENTIONS.values())] for fact, tell in facts.items())]
    return _table(lines)


def _ties(one: Convention) -> str:
    rule = TIE_RULES[one.ties]
    precision = "single" if rule.single else "double"
    order = {True: "higher id first", False: "lower id first", None: "order of the file"}[rule.names_descend]
    return f"`{one.ties}`: {precision} precision, {order}{f'; {one.about_ties}' if one.about_ties else ''}"


def _rounding(one: Convention) -> str:
    if one.names:  # programs with names of their own have no IPrec
        return "it has none"
    nearest = one.parameters.get(InterpolatedPrecision, {}).get("rounding") == "nearest"
    return "nearest whole number" if nearest else "⌊r · R + 0.9⌋"


def names() -> str:
    """What other programs' names are here, and which are not computed."""
    others: dict[str, list[str]] = {}
    for name, text in ALIASES.items():
        others.setdefault(text, []).append(f"`{name}`")
    for name, text in CUT.items():
        others.setdefault(f"{text}@k", []).append(f"`{name}_k`")
    for like, one in CONVENTIONS.items():
        for name, text in one.names.items():
            if ALIASES.get(name) != text:
                others.setdefault(text, []).append(f"`{name}` (`{like}`)")
    sets = [[f"`{name}`", f"{len(members)} measures"] for name, members in SETS.items()]
    lines = [["name", "measure"], *([", ".join(names), f"`{text}`"] for text, names in others.items()), *sets]
    return _table(lines)


def results(rows: Iterable[Row]) -> str:
    """One row a program; reasons by number below."""
    reasons: dict[str, int] = {}
    programs: dict[str, list[Row]] = {}
    for row in rows:
        programs.setdefault(row.program, []).append(row)
    lines = [["compared with", "values", "differ", "who is right"]]
    for program, own in programs.items():
        why = Counter[str]()
        for row in own:
            why.update(row.why)
        right = [f"{count:,} see {reasons.setdefault(reason, len(reasons) + 1)}" for reason, count in why.items()]
        right += [f"**{len(row.unexplained)} not explained**" for row in own if row.unexplained]
        counts = (sum(row.values for row in own), sum(row.differ for row in own))
        lines.append([program, *(f"{count:,}" for count in counts), ", ".join(right)])
    listed = "".join(f"{number}. {reason}.\n" for reason, number in reasons.items())
    return _table(lines) + (f"\n{listed}" if listed else "")


def _table(lines: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(line)} |\n" for line in lines]
    return "".join([rows[0], "|---" * len(lines[0]) + "|\n", *rows[1:]])
