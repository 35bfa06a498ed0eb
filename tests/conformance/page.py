"""docs/conformance.md: the table of conventions, the names of measures, and what was compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rankdev.data.options import TIE_RULES
from rankdev.evaluation.conventions import CONVENTIONS, Convention
from rankdev.measures.precision import InterpolatedPrecision
from rankdev.measures.syntax import ALIASES, CUT, SETS
from tests.conformance.comparisons import Row

HEAD = """# Conformance

Evaluation programs differ in details: how tied scores are ordered, how a recall level is rounded, which queries count.
`like` follows the conventions of another program.

```python
>>> import rankdev as rd
>>> refs = rd.References.from_grades({"q": {"d1": 1, "d2": 0}})
>>> runs = {"a": {"q": {"d1": 50.3912010, "d2": 50.3912001}}}
>>> programs = ("trec_eval-10", "pytrec_eval")
>>> [rd.evaluate(refs, runs, "RR", like=program).means.item() for program in programs]
[1.0, 0.5]
>>> rd.evaluate(refs, runs, "iprec_at_recall_0.10", like="trec_eval-10").measures
('IPrec(rounding=nearest)@0.1',)

```

On the command line: `rankdev eval qrels.txt bm25.run --like trec_eval-10 -m official`. An option that contradicts
`--like` is refused, and so are fractional grades.

## What differs

"""
QUERIES = """
A query that is missing from a run always scores 0 here and is reported, as with `trec_eval -c`. `trec_eval -M 100` is a
cutoff: write `AP@100`. Earlier versions of trec_eval than 9.0.8 compare scores in single precision.

Where a program is wrong, rankdev does not follow it: see the reasons below the last table. trec_eval 10 also crashes if
the last line of qrels is a comment, its `bpref` hangs if all grades of a query are below 0, and ranx multiplies RBP by
the grade.

## Names

The names of trec_eval and ir_measures work with or without `like`; k may follow a point, too (`ndcg_cut.10`):

"""
RESULTS = """
## What was compared

`make conformance` builds trec_eval from source archives (`--trec-eval DIR`), replays NIST's test files, public
leaderboards and {files} random qrels and runs, and rewrites this page. The random files contain ties, scores that are
equal only in single precision, negative grades, unjudged items, missing queries, long lists and long ids. Two values
differ if they are further apart than the other program's rounding.

"""
COMMAND = """
The authors' code for RBO was not available: we transcribed the published algorithms.

## Compare your own program

```
python -m tests.conformance --command './my_eval {qrels} {run}' --like trec_eval-10
```

This runs a command on the random files and compares what it prints, `measure query value` or `query measure value`,
with rankdev; the query `all` is the mean. `--files N` and `--seed N` choose the files, which stay in
`build/conformance/files`. The exit status is 1 if a value differs or the command fails.
"""


def written(rows: Sequence[Row], files: int) -> str:
    """Return the page."""
    return HEAD + conventions() + QUERIES + names() + RESULTS.format(files=files) + results(rows) + COMMAND


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
    return _table(lines) + "\nOther names of trec_eval are refused with a remedy.\n"


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
