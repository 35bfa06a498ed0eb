"""The commands of ``refs``: references from grades, lists, rankings and judgments, and how far assessors agree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

import rankdev as rd
from rankdev.cli import Group, OptionGroup, argument, command, option, refuse_unused
from rankdev.cli.from_function import OWN, json_or_text, named_values, options_of
from rankdev.cli.inputs import GRADES, READING, chosen, import_option, measure_option, named
from rankdev.cli.outputs import OUTPUT, REFERENCES, TABLE, Output, file_option, write_files
from rankdev.cli.terminal import for_command, write_notes, write_summary
from rankdev.errors import UsageError, counted

refs_command = Group(
    "refs",
    help="Build references; the extension of the output file determines the format.",
    epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl",
)
WRITTEN = file_option("-o", "--output", default="-", check=REFERENCES, help="Default: JSONL on standard output.")
COLUMNS, RANKS = (next(one for one in READING if one.name == name) for name in ("columns", "ranks"))
TABLES = OptionGroup("read", [COLUMNS, RANKS], chosen)


def write(references: rd.References, output: str) -> None:
    """Write references, and note how many there are."""
    from rankdev.data.files import encode_references

    write_files({output: encode_references(references, output)})
    tiers = counted(int(references.tier_counts.sum()), "tier")
    empty = references.empty
    note = f"; {counted(empty, 'query', 'has')} no reference item" if empty else ""
    items = f"{counted(len(references), 'query')}, {counted(len(references.ranks), 'item')} in {tiers}"
    write_summary(f"{items}{note}.", output)


@command(
    "grades",
    argument("file", metavar="INPUT"),
    WRITTEN,
    OptionGroup("read", [COLUMNS, *GRADES], chosen),
    group=refs_command,
    example="rankdev refs grades qrels.txt -o refs.jsonl",
)
def grades_command(file: str, output: str, read: dict[str, Any]) -> None:
    """Make one tier per distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, JSON {query: {item: grade}}, or the database of
    rankdev judge --grades.
    """
    from rankdev.data.files import read_grades

    write(read_grades(file, **read), output)


@command(
    "lists",
    argument("file", metavar="INPUT"),
    WRITTEN,
    TABLES,
    group=refs_command,
    example="rankdev refs lists blended.run -o refs.jsonl",
)
def lists_command(file: str, output: str, read: dict[str, Any]) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run.
    """
    from rankdev.data.files import read_lists

    write(read_lists(file, **read), output)


@command(
    "merge",
    argument("files", metavar="RANKINGS...", nargs=-1, required=True),
    WRITTEN,
    TABLES,
    group=refs_command,
    example="rankdev refs merge nearest.run blended.run -o refs.jsonl",
)
def merge_command(files: tuple[str, ...], output: str, read: dict[str, Any]) -> None:
    """Merge several rankings by the fraction of items that each item beats (Borda).

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.data.files import read_lists
    from rankdev.preferences import merge_rankings

    write(merge_rankings([read_lists(file, **read) for file in files]).references, output)


def _values(ctx: click.Context, param: click.Parameter, text: str | None) -> str | dict[str, Any] | None:
    return text if text is None or "=" not in text else _MEANINGS(ctx, param, text)


_MEANINGS = named_values(json_or_text, "OUTCOME=MEANING, and more with commas", commas=True)
# what the columns of a file of judgments mean
JUDGMENTS = OptionGroup(
    "described",
    [
        option(
            "--columns",
            callback=named_values(lambda name: name or None, "PART=NAME, and more with commas", commas=True),
            multiple=True,
            metavar="PART=NAME",
            help="Column names: query=topic,item_a=x,item_b=y,...",
        ),
        option("--values", callback=_values, metavar="READING", help="Outcomes: position, graded, 0=first,1=tie,..."),
    ],
    dict,
)


def read_judgments(file: str, described: dict[str, Any], items: Any = None) -> rd.Preferences:
    """Read judgments, and note how they were read."""
    judged = rd.read_preferences(file, **described, items=items)
    write_notes(judged.remarks)
    return judged


@command(
    "preferences",
    argument("file", metavar="PREFS"),
    JUDGMENTS,
    option("--items", metavar="POOL", help="Items to be judged; lists those without judgments."),
    WRITTEN,
    *options_of("rankdev.preferences.strengths:strengths", "method", "disconnected"),
    *options_of("rankdev.preferences.tiers:tiers", "rule", "probability"),
    OptionGroup(
        "also",
        [
            file_option("--strengths", check=TABLE, help="Also write strengths and intervals here."),
            file_option("--workers", check=TABLE, help="Also write each worker's quality here (crowd-bt)."),
        ],
        SimpleNamespace,
    ),
    group=refs_command,
    example="rankdev refs preferences judgments.csv -o refs.jsonl",
)
def preferences_command(
    file: str, described: dict[str, Any], items: str | None, output: str, also: SimpleNamespace, **options: Any
) -> None:
    """Turn pairwise judgments into references.

    Neighbours in the order of strengths share a rank unless one is better with a probability of at least --probability.
    If judgments are more likely coin flips than an order, all items of their query are tied.

    PREFS: a table with query, winner, loser, or query, two items and an outcome, and optionally worker and tie; or
    lines 'topic a b winner'.
    """
    from rankdev.data.files import encode_references
    from rankdev.judging.items import read_items
    from rankdev.preferences import tiers_from_preferences

    if also.workers is not None and options["method"] != "crowd-bt":
        raise UsageError("not-needed", name="workers", use="method='crowd-bt'")
    pool = None if items is None else read_items(items).pool.items
    found = tiers_from_preferences(read_judgments(file, described, pool), **options)
    made = encode_references(rd.References.from_tiers(found.tiers), output)
    workers = found.strengths.workers
    write_files({output: made, also.strengths: found.to_polars(), also.workers: workers and workers.to_polars()})
    called = click.get_current_context().command
    notes = [note for note in found.remarks if also.strengths is not None or getattr(note, "kind", "") != "few-workers"]
    write_summary(found.conclusion, output)
    for note in notes:
        write_summary(for_command(note, called), "-")


@command(
    "agreement",
    argument("file", metavar="PREFS"),
    JUDGMENTS,
    file_option("--workers", check=TABLE, help="Also write a row per worker here."),
    option("--model", metavar="NAME", help="Compare people with this worker, a model."),
    OptionGroup(
        "check",
        [
            option("--leave-out", metavar="NAME", multiple=True, help="With --model: exclude this worker too; repeat."),
            option("--run", "runs", metavar="FILE", multiple=True, help="With --model: a run to score; repeat."),
            measure_option("With --run: such as RDQ@5; repeat."),
        ],
        dict,
    ),
    import_option,
    OWN["seed"],
    OUTPUT,
    group=refs_command,
    example="rankdev refs agreement judgments.csv",
)
def agreement_command(
    file: str, described: dict[str, Any], model: str | None, check: dict[str, Any], output: Output, **given: Any
) -> None:
    """Measure how far assessors agree.

    That is with each other and with themselves; how far they fit one order, and prefer the first item. PREFS: as for
    'refs preferences'. With --model, how far a model can be trusted: its agreement with people on the pairs that both
    judged; with --run, scores by people's judgments, estimated from both.
    """
    from rankdev.data.database import is_database
    from rankdev.judging.check import check_model
    from rankdev.preferences import judge_agreement

    if model is not None:
        refuse_unused("workers", "seed", beside="model")
        whole = is_database(file) and not chosen(**described)  # it knows skipped pairs too
        known: Any = file if whole else read_judgments(file, described)
        output.show(check_model(known, model, **chosen(**check | {"runs": named(check["runs"]) or None})))
        return
    refuse_unused(*check, needs="model")
    judged = read_judgments(file, described)
    if given["workers"] is not None and judged.worker is None:
        raise UsageError("not-needed", name="workers", use="judgments with a worker column")
    found = judge_agreement(judged, seed=given["seed"])
    write_files({given["workers"]: found.workers})
    output.show(found)
