"""docs/conformance.md: the table of conventions, the names of measures, and what was compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rankdev.core.ordering import TIE_RULES
from rankdev.evaluation.conventions import CONVENTIONS, Convention
from rankdev.measures.precision import InterpolatedPrecision
from rankdev.measures.syntax import ABSENT, ALIASES, CUT, SETS
from tests.conformance.comparisons import Row

HEAD = """# Conformance

Evaluation programs differ in details: how tied scores are ordered, how a recall level is rounded, which queries count.
`like` follows the conventions of another program. This page lists them, and compares values with each program.

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

On the command line, write `rankdev eval qrels.txt bm25.run --like trec_eval-10 -m official`; `compare`, `power` and the
other commands that score runs take `--like` too. The label of a measure states what was computed. An option that
contradicts `like` is refused, and so are fractional grades, which these programs refuse or read as other numbers.

## What differs

"""
QUERIES = """
A query that is missing from a run always scores 0 here and is reported, as with `trec_eval -c`, so that systems are
compared on the same queries. `trec_eval -M 100` is a cutoff: write `AP@100`, or truncate the run.

Where a program is wrong, rankdev does not follow it:

- **trec_eval sorts gains as integers.** With `-m ndcg.1=0.5,2=0.9` it finds the ideal order by differences truncated to
  integers. Gains less than 1 apart then count as equal, and nDCG is wrong, often 0.
- **trec_eval 10 accepts comments in qrels**, but refuses two in a row and crashes if the last line is one.
- **trec_eval 10 without `-c`** stops with an error at the first query that is missing from the run.
- **trec_eval 10's `rbp`** reads two uninitialised variables; its values were right in all files below.
- **trec_eval's `num_rel`**, summed with `-c`, ignores `-l`.
- **trec_eval's `bpref`** does not terminate if all grades of a query are below 0; the random files have no such query.
- **ranx** leaves the order of equal scores to its sort, multiplies RBP by the grade and divides by 0 in `bpref`.

trec_eval 9.0.8 compares scores in double precision. Earlier versions and pytrec_eval use single precision, and so do
the published values of TREC Deep Learning 2021 below.

## Names

The names of trec_eval and ir_measures work with or without `like`:

"""
RESULTS = """
## What was compared

`make conformance` builds trec_eval 9 and 10 from the source archives in `--trec-eval DIR` (which are not part of this
repository), replays NIST's test files, public leaderboards and {files} random qrels and runs, and rewrites this
page. The random files contain ties, scores that are equal only in single precision, negative grades, unjudged items,
missing queries, lists of up to 2,500 items and ids of up to 300 characters. Two values count as different if they are
further apart than the other program's rounding: half of its last printed digit, or 10⁻¹¹ if it prints all digits.

"""
COMMAND = """
The authors' code for RBO was not available, so the published algorithms were transcribed as simple loops. gdeval
is the copy in ir_measures. A short version of these comparisons is part of `make test-rest`.

## Compare your own program

```
python -m tests.conformance --command './my_eval {qrels} {run}' --like trec_eval-10
```

This runs a command on the random files and compares its output with rankdev. The output has lines of three columns:
`measure query value`, as trec_eval prints them, or `query measure value`; the query `all` is the mean. A value may be
off by half of its last digit. Names are those of trec_eval, ir_measures or rankdev; other lines are ignored.
`--files N` and `--seed N` choose the files, which stay in `build/conformance/files`. The exit status is 1 if a value
differs or the command fails.
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
        "comment lines (`#`)": lambda one: "skipped" if one.dialect.comments else "refused",
        "columns after the tag": lambda one: "ignored" if one.dialect.further_columns else "refused",
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
    aliases = [[f"`{name}`", f"`{text}`"] for name, text in ALIASES.items()]
    cut = [[f"`{name}_k`, `{name}.k`", f"`{text}@k`"] for name, text in CUT.items()]
    sets = [[f"`{name}`", f"{len(members)} measures: {', '.join(members)}"] for name, members in SETS.items()]
    own = [
        [f'`{name}` (`like="{like}"`)', f"`{text}`"]
        for like, one in CONVENTIONS.items()
        for name, text in one.names.items()
    ]
    absent = [[f"`{name}`", f"not computed here; {instead}"] for name, instead in ABSENT.items()]
    return _table([["name", "measure"], *aliases, *cut, *sets, *own, *absent])


def results(rows: Iterable[Row]) -> str:
    """One row a comparison; reasons by number below."""
    reasons: dict[str, int] = {}
    lines = [["what", "compared with", "values", "differ", "who is right"]]
    values = differ = 0
    for row in rows:
        right = [f"{count:,} see {reasons.setdefault(reason, len(reasons) + 1)}" for reason, count in row.why.items()]
        right += [f"**{len(row.unexplained)} not explained**"] if row.unexplained else []
        lines.append([row.what, row.program, f"{row.values:,}", f"{row.differ:,}", ", ".join(right)])
        values, differ = values + row.values, differ + row.differ
    lines.append(["**together**", "", f"{values:,}", f"{differ:,}", ""])
    listed = "".join(f"{number}. {reason}.\n" for reason, number in reasons.items())
    return _table(lines) + (f"\n{listed}" if listed else "")


def _table(lines: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(line)} |\n" for line in lines]
    return "".join([rows[0], "|---" * len(lines[0]) + "|\n", *rows[1:]])
