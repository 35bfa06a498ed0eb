"""ranx: our references, runs and tests as its Qrels, Run and Report, and the content of a Report as tables.

Its Qrels and Run are accepted wherever rankdev takes references and runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankdev._common.checks import bad_type, check_kind
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.significance import Significance

LARGEST = 2**53  # whole numbers up to here are exact


def to_ranx(value: References | Run, name: str | None = None) -> Any:
    """Convert references to ``ranx.Qrels`` or a run to ``ranx.Run``.

    Grades must be whole numbers there; references without grades get one for each tier, the best tier the highest, and
    items that are known to be nonrelevant get 0.
    A run keeps its scores, so that it can be fused. Where they are equal, ranx would order items in its own way: the
    later one gets the next lower number, in the single precision by which trec_eval compares.

    Parameters
    ----------
    value : References or Run
        What to convert.
    name : str, optional
        Name of the run.

    Returns
    -------
    ranx.Qrels or ranx.Run
        The same in ranx.

    Examples
    --------
    >>> dict(to_ranx(References.from_lists({"q": ["d1", "d2"]})).to_dict())  # doctest: +SKIP
    {'q': {'d1': 2, 'd2': 1}}
    """
    ranx = _library("to_ranx")
    if isinstance(value, References):
        return ranx.Qrels(_grades(value))
    if not isinstance(value, Run):
        raise bad_type("value", "References or a Run", value, "such as Run.of(…)")
    scores = {query: _falling(value, query) for query in value}
    if not any(scores.values()):
        raise DataError("empty", name="the run", expected="at least one item")
    return ranx.Run({query: items for query, items in scores.items() if items}, name=name)


def _falling(run: Run, query: str) -> dict[str, float]:
    """Score the items of a query so that each scores less than the one above it."""
    items = run[query]
    scores = -np.arange(len(items)) if run.scores is None else run.scores[run.rows(query)]
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    found: dict[str, float] = {}
    above = np.float32(np.inf)
    for item, score, key in zip(items, scores.tolist(), keys, strict=True):
        if item not in found:
            lower = key < above
            above = key if lower else np.nextafter(above, np.float32(-np.inf))
            found[item] = float(score if lower else above)
    return found


def _grades(references: References) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, reference in references.items():
        tiers = max(reference.values(), default=0)
        given = reference.grades or {item: tiers + 1 - rank for item, rank in reference.items()}
        for item, grade in given.items():
            if grade != int(grade) or grade > LARGEST:
                expected = "a whole number; ranx takes no others"
                raise DataError("bad-value", query=query, item=item, name="the grade", value=grade, expected=expected)
        # grades below 0 mark unjudged items; a query without any other is kept all the same
        nonrelevant = {item: 0 for item, grade in (reference.nonrelevant or {}).items() if grade == 0 or not given}
        grades[query] = {item: int(grade) for item, grade in given.items()} | nonrelevant
    return grades


class ReportTables(NamedTuple):
    """Content of a Report.

    Attributes
    ----------
    means : polars.DataFrame
        Columns system, measure, mean.
    pairs : polars.DataFrame
        Columns measure, a, b, wins, ties, losses, p.

    See Also
    --------
    read_report : Returns the tables.
    """

    means: pl.DataFrame
    pairs: pl.DataFrame


def read_report(report: Any) -> ReportTables:
    """Read a ``ranx.Report``, or the dictionary of its file, into tables; measures keep their names in ranx.

    A Report holds no values by query, so it cannot be tested again: compare its Qrels and Runs for that.

    Parameters
    ----------
    report : ranx.Report or dict
        Report of ``ranx.compare``.

    Returns
    -------
    ReportTables
        Means, and pairs of systems.

    Examples
    --------
    >>> content = {
    ...     "model_names": ["x", "y"],
    ...     "metrics": ["map"],
    ...     "x": {
    ...         "scores": {"map": 0.5},
    ...         "comparisons": {"y": {"map": 0.04}},
    ...         "win_tie_loss": {"y": {"map": {"W": 3, "T": 1, "L": 0}}},
    ...     },
    ...     "y": {"scores": {"map": 0.25}},
    ... }
    >>> read_report(content).pairs.rows()
    [('map', 'x', 'y', 3, 1, 0, 0.04)]
    """
    content = report.to_dict() if hasattr(report, "to_dict") else report
    if not isinstance(content, dict) or not {"model_names", "metrics"} <= content.keys():
        raise bad_type("report", "a Report of ranx", report, "or give the dictionary of its file")
    try:
        return _tables(content)
    except KeyError as error:
        raise DataError("not-a-report", key=error.args[0]) from None


def _tables(content: dict[str, Any]) -> ReportTables:
    systems, measures = content["model_names"], content["metrics"]
    means = [(system, measure, content[system]["scores"][measure]) for system in systems for measure in measures]
    pairs = [
        (
            measure,
            a,
            b,
            *(content[a]["win_tie_loss"][b][measure][key] for key in "WTL"),
            content[a]["comparisons"][b][measure],
        )
        for measure in measures
        for i, a in enumerate(systems)
        for b in systems[i + 1 :]
    ]
    columns: dict[str, Any] = dict.fromkeys(("measure", "a", "b"), pl.String)
    columns |= {**dict.fromkeys(("wins", "ties", "losses"), pl.Int64), "p": pl.Float64}
    return ReportTables(
        pl.DataFrame(means, {"system": pl.String, "measure": pl.String, "mean": pl.Float64}, orient="row"),
        pl.DataFrame(pairs, columns, orient="row"),
    )


def to_report(scores: Scores, verdicts: Significance) -> Any:
    """Convert means and corrected p-values to a ``ranx.Report``, which prints as a table and in LaTeX.

    Parameters
    ----------
    scores : Scores
        Scores of at most 26 systems.
    verdicts : Significance
        Result of :func:`rankdev.significance` on all pairs of the same scores.

    Returns
    -------
    ranx.Report
        The report.

    Examples
    --------
    >>> import rankdev as rd
    >>> queries = [f"q{i}" for i in range(6)]
    >>> runs = {"x": dict.fromkeys(queries, ["a", "b"]), "y": dict.fromkeys(queries, ["b", "a"])}
    >>> scores = rd.evaluate(dict.fromkeys(queries, ["a", "b"]), runs, "RDQ@2")
    >>> report = to_report(scores, rd.significance(scores))
    >>> report.model_names
    ['x', 'y']
    """
    check_kind("scores", scores, Scores, "make them with rankdev.evaluate")
    check_kind("verdicts", verdicts, Significance, "make them with rankdev.significance")
    ranx = _library("to_report")
    if len(scores.systems) > 26:
        raise UsageError("many-systems", systems=len(scores.systems), place="a Report of ranx", most=26)
    means = scores.means.tolist()
    results = {
        name: dict(zip(scores.measures, row, strict=True)) for name, row in zip(scores.systems, means, strict=True)
    }
    comparisons = ranx.data_structures.report.FrozensetDict()
    wins: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    for row in verdicts.to_polars().iter_rows(named=True):
        a, b, measure, p = row["a"], row["b"], row["measure"], row["p_adjusted"]
        if not _is_of(scores, row):
            raise UsageError("other-scores", a=a, b=b, measure=measure)
        comparisons.setdefault({a, b}, {})[measure] = {
            "p_value": p,
            "significant": p is not None and p <= verdicts.alpha,
        }
        won, tied, lost = row["wins"], row["ties"], row["losses"]
        wins.setdefault((a, b), {})[measure] = {"W": won, "T": tied, "L": lost}
        wins.setdefault((b, a), {})[measure] = {"W": lost, "T": tied, "L": won}
    pairs = [{a, b} for i, a in enumerate(scores.systems) for b in scores.systems[i + 1 :]]
    if any(pair not in comparisons or len(comparisons[pair]) < len(scores.measures) for pair in pairs):
        raise UsageError("missing-tests")
    test = f"the {verdicts.test} test, corrected by {verdicts.correction},"
    names = list(scores.systems), results, comparisons, list(scores.measures)
    return _report_class(ranx)(*names, verdicts.alpha, wins, stat_test=test)


def _is_of(scores: Scores, row: dict[str, Any]) -> bool:
    """Test whether a row has the mean difference of these scores."""
    if not {row["a"], row["b"]} <= {*scores.systems} or row["measure"] not in scores.measures:
        return True  # of systems that the report leaves out
    a, b = (scores.of(row["measure"])[scores.systems.index(row[name])] for name in ("a", "b"))
    both = (a - b)[np.isfinite(a - b)]
    return not len(both) or abs(float(both.mean()) - row["difference"]) < 1e-9


def _report_class(ranx: Any) -> Any:
    """Return their Report, with names for our measures and tests."""

    class Report(ranx.data_structures.Report):  # type: ignore[misc]
        def get_metric_label(self, m: str) -> str:
            return m

        def get_stat_test_label(self, stat_test: str) -> str:
            return stat_test

    return Report


def _library(purpose: str) -> Any:
    try:
        import ranx
    except ImportError:
        raise MissingExtraError("ranx", "ranx", purpose) from None
    return ranx
