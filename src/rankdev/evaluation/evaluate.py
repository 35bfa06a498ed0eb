"""Evaluation of runs: each is read, joined with the references and scored, one after the other; or one ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, is_list
from rankdev._common.work import Progress
from rankdev.data.files import Faults, load_references, load_runs, named_systems, references_of, run_of, watched
from rankdev.data.ids import as_ids
from rankdev.data.options import Duplicates, Order, Ranks, ReadOptions, Ties, warn_of
from rankdev.data.references import Reference, References, ReferencesLike
from rankdev.data.run import Run, RunsLike
from rankdev.errors import DataError, Note
from rankdev.evaluation.coverage import Coverage, coverage_remarks, order_notes
from rankdev.evaluation.join import Known, Scorer, check_averages, deepest, join, score_match
from rankdev.evaluation.scores import Scores, WeightsLike, each_once, joined
from rankdev.measures import Match, Measure, parse, parse_all
from rankdev.measures.base import MeasureLike
from rankdev.measures.syntax import info_of

Empty = Literal["zero", "skip"]


def evaluate(
    references: ReferencesLike,
    runs: RunsLike,
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty | None = None,
    like: str | None = None,
    duplicates: Duplicates | None = None,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    collapse: str | None = None,
    grades: Mapping[str, float] | None = None,
    strict: bool = False,
    weights: WeightsLike | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Score systems against references.

    A query missing from a run scores 0; queries without a reference are skipped. Both are counted in ``coverage``, and
    noted. If references that were not made from grades have little order, a note states what a reversed ranking would
    score.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking. As a dict, ``{query: [item, …]}`` or ``{query: {item: score}}``. Or one file or table
        with the rankings of several systems, which its tags name, or a column: system, tag, run_id, run or name.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``; see ``rankdev measures``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : {"trec_eval", "descending", "ascending", "given", "expected"}, optional
        How equal scores are ordered. Default: as in pytrec_eval; a Run keeps its own. With "expected", values are means
        over all orders of equal scores, for the measures that have them in closed form.
    empty : {"zero", "skip"}, optional
        Queries without any relevant item score 0, or are left out. Default: zero, or as ``like`` does.
    like : {"trec_eval-10", "trec_eval-9", "pytrec_eval", "ir_measures", "gdeval", "ranx"}, optional
        Follow another program: its order of equal scores, its rounding of IPrec, what it reads, and its names of
        measures. An option that contradicts it is refused. See docs/coming-from.md.
    duplicates : {"first", "last", "best", "mean"}, optional
        Which row of an item counts where a run has several for a query: the first or the last, or that with the highest
        score (the lowest rank). The others are left out, and counted in ``coverage``. Of references: also the mean of
        their grades. Default: two values of an item are refused.
    columns : dict of str to str, optional
        Names of the columns of tables, or of the fields of responses, by ours: ``{"item": "sku"}``.
    ranks : {"consecutive", "competition"}, optional
        Whether ranks in tables are consecutive, or skip as many as are tied: 1, 1, 1, 4. Default: consecutive.
    collapse : str, optional
        What separates a document from its chunk, as in ``d7#3``: each document has the position of its best chunk.
    grades : dict of str to float, optional
        The grades that words in the references stand for: ``{"Exact": 3, "Substitute": 2, "Irrelevant": 0}``.
    strict : bool, default False
        Refuse what is otherwise a warning or a note and could make a number wrong: queries that only one side has,
        ids that differ by case, blanks, zeros or Unicode form only, scores that rise with the ranks, repeated items.
    weights : dict of str to float, or table, optional
        Weight of each query, such as how often it is asked, as ``{query: weight}`` or a table with the columns query
        and weight: means are weighted, and so are the tests and gates that are made from the scores.
    progress : callable, optional
        Called as ``progress(done, total, system)`` after each system.

    Returns
    -------
    Scores
        One value per system, query and measure.

    Examples
    --------
    >>> scores = evaluate({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, ["RDQ@5", "AP@5"])
    >>> scores.means.round(4).tolist()
    [[0.5255, 1.0]]
    """
    read = ReadOptions(order, ties, duplicates, columns, ranks, collapse, strict, grades=grades)
    if like is None:
        scores = evaluate_all(references, runs, parse_all(measures), read, empty=empty, progress=progress)
    else:
        from rankdev.evaluation.conventions import follow  # few calls need it

        rules, order, empty, dialect = follow(like, measures, order, ties, empty)
        read = read.but(order=order, dialect=dialect)
        if len({*rules.values()}) > 1:
            references, runs = _held(references, runs, read)
            read = read.but(columns=None, notes=[])
        parts = [
            evaluate_all(
                references,
                runs,
                [measure for measure in rules if rules[measure] == rule],
                read.but(ties=rule),
                empty=empty,
                like=like,
                progress=progress,
            )
            for rule in dict.fromkeys(rules.values())
        ]
        scores = parts[0] if len(parts) == 1 else joined(parts, like).select(measures=list(map(str, rules)))
    return scores if weights is None else scores.weighted(read.of_queries(weights))


def _held(references: ReferencesLike, runs: RunsLike, read: ReadOptions) -> tuple[References, dict[str, Run]]:
    """Read what is to be ordered several times, once, in the order of the source."""
    names = ("order", "duplicates", "columns", "ranks", "collapse", "strict", "dialect", "grades")
    options = {name: getattr(read, name) for name in names}
    systems = named_systems(runs, read)
    held = {name: run for name, run in systems.items() if isinstance(run, Run)}
    others = {name: run for name, run in systems.items() if name not in held}
    held |= load_runs(others, ties="given", **options) if others else {}
    return load_references(references, **options), {name: held[name] for name in systems}


def evaluate_all(
    references: ReferencesLike,
    runs: RunsLike,
    wanted: Sequence[Scorer],
    read: ReadOptions,
    *,
    empty: Empty | None = None,
    like: str | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Score systems as :func:`evaluate` does, by measures that are parsed."""
    empty = "zero" if empty is None else empty
    check_choice("empty", empty, ("zero", "skip"))
    if read.rule.open:
        check_averages(wanted)
    systems, depth = named_systems(runs, read), deepest(wanted)
    faults, known = Faults(), None
    notes: list[Note] = []
    coverage: list[Coverage] = []
    values: list[Floats] = []
    with faults.at():
        found = references_of(references, read)
        notes += found.notes if read.strict or found is not references else ()
        if like is not None:
            from rankdev.evaluation.conventions import check_grades

            check_grades(like, found)
        known = Known.of(found, skip_empty=empty == "skip")
    for system, source in watched(systems, progress):
        where = {"path": str(source)} if isinstance(source, str | Path) else {"system": system}
        with faults.at(**where):
            run = run_of(system, source, read.but(notes=[], depth=depth))
            if known is None:
                continue
            match, met, noticed = join(known, run, wanted, system)
            own = run.notes if read.strict or run is not source else ()
            notes += [note.at(**where) for note in (*own, *noticed)]
            coverage.append(met)
            if not faults:
                values.append(score_match(match, wanted))
            del run, match
    faults.check()
    assert known is not None
    read.check_met()
    notes += read.notes
    if read.strict:
        for note in [*notes, *coverage_remarks([replace(entry, tied=0, left_out=0) for entry in coverage])]:
            raise DataError(note.kind, **note.fields)
    warn_of(notes)
    kinds = tuple(map(info_of, wanted))
    return Scores.of_checked(
        systems=tuple(as_ids(systems)),
        queries=known.queries,
        measures=each_once("measure", [kind.label for kind in kinds]),
        values=np.array(values),
        reference_sizes=known.ideals.sizes,
        coverage=tuple(coverage),
        order=read.order,
        ties=read.ties,
        empty=empty,
        collapse=read.collapse,
        notes=order_notes(known.references, wanted),
        kinds=kinds,
    )


def score(reference: Any, ranking: Iterable[Any], measure: str | Measure = "RDQ@10") -> float:
    """Score one ranking.

    Parameters
    ----------
    reference : Reference, list of str or list of lists of str
        Relevant items or tiers, best first.
    ranking : iterable of str, or dict of str to float
        Items, best first, or the score of each item.
    measure : str or Measure, default "RDQ@10"
        Such as ``"nDCG(gains=binary)@5"``.

    Returns
    -------
    float
        NaN where the measure is not available.

    Examples
    --------
    >>> score(["d1", "d2"], ["d2", "d1"], "AP@5"), round(score(["d1", "d2"], ["d2", "d1"]), 4)
    (1.0, 0.5255)
    """
    return float(parse(measure).score(matched(Reference.of(reference), ranked(ranking)))[0])


ONE = "ranking"  # the name of a query that has none


def matched(reference: Reference, run: Run) -> Match:
    """Match one ranking with its reference."""
    return join(Known.of(References.of({ONE: reference})), run, ())[0]


def ranked(ranking: Iterable[Any]) -> Run:
    """Return one ranking as a run."""
    if isinstance(ranking, Mapping):  # item → score, as in a run
        run = Run.from_scores({ONE: ranking})
        return run if ONE in run else Run.of_lists({ONE: []}, ReadOptions())
    if isinstance(ranking, Set) or not is_list(ranking):
        raise DataError("not-a-ranking", value=ranking)
    return Run.of_lists({ONE: list(ranking)}, ReadOptions())
