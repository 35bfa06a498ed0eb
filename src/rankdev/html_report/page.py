"""One self-contained HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankdev._common.checks import FINEST, check_kind, check_number, check_seed
from rankdev._common.work import Progress
from rankdev.data.files import load_runs
from rankdev.data.formats import check_page_name
from rankdev.data.ids import by_id
from rankdev.data.options import Order, Ties, check_one_order
from rankdev.data.references import ReferencesLike
from rankdev.data.run import RunLike
from rankdev.data.tables import check_mapping
from rankdev.data.write import writing
from rankdev.errors import RankdevWarning, UsageError
from rankdev.evaluation.evaluate import Empty
from rankdev.evaluation.scores import WeightsLike
from rankdev.html_report._arrays import arrays_of, pools_of, positions
from rankdev.html_report._findings import Comparison, compare
from rankdev.html_report._html import Assets, packed, self_contained
from rankdev.html_report._texts import beginnings, header_of, verdict
from rankdev.html_report._views import others, views
from rankdev.html_report.playground import PLAYGROUND, playground, playground_settings
from rankdev.measures.base import MeasureLike
from rankdev.statistics.judgment_uncertainty import UncertainScores as Uncertain

PARTS = ("tables", "figures", "queries")
SCRIPTS = ("page.js", *(f"report_{part}.js" for part in PARTS), "report.js")
PAGE = Assets("report.html", ("page.css", "report.css"), SCRIPTS)


@dataclass(frozen=True)
class ReportPage:
    """A page that is one file and needs no network.

    Attributes
    ----------
    title : str
        The title given, or what is compared, such as "3 systems on 10 queries".
    verdict : str
        What is decided, a line for each measure, as :func:`rankdev.significance` concludes; or the problem with the
        data for which nothing is.
    html : str
        Content of the file.

    See Also
    --------
    rankdev.report : Returns a page.
    """

    title: str
    verdict: str
    html: str = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or Path
            File to write, whose name ends in .html; it is replaced as a whole.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> page = report({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, "RDQ@2")
        >>> with TemporaryDirectory() as folder:
        ...     page.save(f"{folder}/report.html")
        ...     (Path(folder) / "report.html").stat().st_size > 10_000
        True
        """
        check_page_name(path)
        with writing(path) as stream:
            stream.write(self.html.encode())


def report(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike] = ("RDQ@10",),
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    margin: float | None = None,
    judgments: Any = None,
    segments: Mapping[str, Any] | None = None,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    weights: WeightsLike | None = None,
    query_texts: Mapping[str, str] | None = None,
    item_texts: Mapping[str, str] | Callable[[set[str]], Mapping[str, str]] | None = None,
    title: str = "",
    author: str = "",
    date: str = "",
    alpha: float = 0.05,
    seed: int = 0,
    command: str = "",
    progress: Progress | None = None,
    **read: Any,
) -> ReportPage:
    """Compare systems on one HTML page: tests, losses, queries, lists, measures, and how it was made.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking. A query missing from a run scores 0.
    measures : str, Measure or list of them, default "RDQ@10"
        Such as ``"RDQ@5"``. The sentences of the page are about the first.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How equal scores are ordered; see docs/files.md#ties.
    empty : {"zero", "skip"}
        Score of queries without relevant items.
    margin : float, optional
        Largest difference that does not matter. See :func:`rankdev.significance`.
    judgments : Preferences, path, table or list of (query, winner, loser), optional
        Judgments behind the references: with them, a table has each score against their true order, and its interval.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: means of each, and notes on its tests.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`: tests and intervals are about whole clusters.
    replicates : dict of str to list of str, optional
        Systems with several runs, as in :func:`significance`: the page is about means over runs, and its lists are
        those of each system's first run. Not with ``judgments``.
    weights : dict of str to float, or table, optional
        Weight of each query, as in :func:`rankdev.evaluate`: means, losses and tests count each query by it. Not with
        ``judgments``.
    query_texts : dict of str to str, optional
        Text of each query.
    item_texts : dict of str to str or callable, optional
        Text of each item, or a function that returns the texts of a set of items: those on the page.
    title, author, date : str, optional
        What the page is called, who made it and when; without a title it is what is compared.
    alpha : float, default 0.05
        Level of the tests. Intervals have confidence 1 − alpha.
    seed : int, default 0
        Seed of the uncertainty of judgments, and of the sample of queries where a page cannot hold all.
    command : str, optional
        Command that made the page, shown under "How it was made".
    progress : callable, optional
        ``progress(done, total, system)`` after each system.
    **read : Any
        How runs are read, as in :func:`rankdev.evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    ReportPage
        One self-contained file; ``.save(path)`` writes it.

    Examples
    --------
    >>> page = report({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, "RDQ@2")
    >>> page.html.startswith("<!doctype html>"), page.title
    (True, '1 system on 1 query')
    """
    alpha, seed = check_number("alpha", alpha, FINEST, 1), check_seed(seed)
    if margin is not None:
        check_number("margin", margin, 0)  # of one system too, for which nothing is tested
    for name, text in (("title", title), ("author", author), ("date", date), ("command", command)):
        check_kind(name, text, str, "it is shown as it is")
    for name, given in (("replicates", replicates), ("weights", weights)):
        if given is not None and judgments is not None:
            raise UsageError("not-together", name="judgments", other=name)
    of_queries = _texts(query_texts, "query_texts")
    of_items = item_texts if callable(item_texts) else _texts(item_texts, "item_texts")
    read |= {"order": order, "ties": ties}
    found = compare(
        references,
        runs,
        measures,
        empty=empty,
        margin=margin,
        segments=segments,
        clusters=clusters,
        replicates=replicates,
        weights=weights,
        alpha=alpha,
        seed=seed,
        progress=progress,
        **read,
    )
    uncertain = None if judgments is None else _uncertain(judgments, runs, found, **read)
    pools, places = pools_of(found)
    everywhere, found_at = positions(found, pools)
    items = dict.fromkeys(item for pool in pools for item in pool)
    settings = playground_settings(found.explained)
    header: dict[str, Any] = {
        **header_of(found, uncertain, title, [author, date], command),
        "query_texts": beginnings(of_queries, (found.scores.queries[i] for i in found.shown)),
        "texts": beginnings(of_items(set(items)) if callable(of_items) else of_items, items),
        "pools": pools,
        "everywhere": everywhere,
        "playground": settings and {"page": playground(), "settings": settings},
    }
    header["views"] = views(found, header)
    data = packed(header, arrays_of(found, places, found_at))
    static = header["views"][0] | others(found, header, uncertain)
    html = self_contained(header["title"], PAGE, data, PLAYGROUND if settings else None, static)
    return ReportPage(header["title"], verdict(found), html)


def _uncertain(judgments: Any, runs: Mapping[str, RunLike], found: Comparison, **read: Any) -> Uncertain:
    """Score the systems by the first measure against the true order behind judgments."""
    from rankdev.preferences.files import read_preferences
    from rankdev.statistics.judgment_uncertainty import evaluate_with_uncertainty

    loaded = load_runs(runs, **read)
    for run in loaded.values():
        check_one_order(run.read.ties, "the uncertainty of judgments")
    judged = read_preferences(judgments) if isinstance(judgments, str | Path) else judgments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)  # they are notes below
        return evaluate_with_uncertainty(
            judged,
            loaded,
            found.scores.measures[0],
            alpha=found.alpha,
            clusters=found.clusters,
            seed=found.seed,
            disconnected="largest",
        )


def _texts(texts: Mapping[str, str] | None, what: str) -> Mapping[str, str]:
    return {} if texts is None else by_id(check_mapping(texts, what, "{id: text}"))
