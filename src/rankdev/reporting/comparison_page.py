"""The report: one HTML file that shows a comparison, for a browser and nothing else."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev import __version__
from rankdev.arguments import check_flag, check_kind, check_seed
from rankdev.arrays import Ints
from rankdev.errors import RankdevWarning, printable
from rankdev.evaluation.lists import WHY, Lists
from rankdev.evaluation.scoring import Empty
from rankdev.formats.writing import writing
from rankdev.measures.base import MeasureLike
from rankdev.measures.match import Ideals
from rankdev.meta.equivalence import VERDICTS
from rankdev.meta.power import power as simulate_power
from rankdev.meta.power_map import PowerMap
from rankdev.meta.power_result import Power
from rankdev.ordering import Order, Ties
from rankdev.progress import Progress
from rankdev.references.references import ReferencesLike
from rankdev.reporting.cells import percent
from rankdev.reporting.comparison import REFERENCE_ITEMS, Comparison, compare
from rankdev.reporting.comparison_words import facts, next_steps, remarks, title, verdict
from rankdev.reporting.packing import packed
from rankdev.reporting.pages import self_contained
from rankdev.runs import RunLike
from rankdev.tabular import check_mapping

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)  # of the queries, at which power is simulated
SCRIPTS = ("page.js", "unpacking.js", "report_pictures.js", "report_queries.js", "report.js")
Arrays = dict[str, tuple[npt.ArrayLike, int]]
SHOWN = 4  # decimals that a page shows
SCORES = 8  # decimals of single scores, so that they and their differences are rounded only once, where they are shown
TEXT = 300  # characters of a text that a page holds


@dataclass(frozen=True)
class ReportPage:
    """A page that is one file and needs no network; ``html`` is its content, ``verdict`` its first sentence."""

    title: str
    verdict: str
    html: str = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the page."""
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
    power: Power | bool | None = None,
    power_map: PowerMap | None = None,
    segments: Mapping[str, Iterable[str]] | None = None,
    queries: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | Callable[[set[str]], Mapping[str, str]] | None = None,
    public: bool = False,
    seed: int = 0,
    command: str = "",
    progress: Progress | None = None,
) -> ReportPage:
    """Compare systems on one page: verdicts, pairs, losses, queries, lists, measures, and how it was made.

    The first arguments are those of :func:`rankdev.evaluate`; verdicts in words are about the first measure.
    With a ``margin``, pairs are also judged by :func:`rankdev.equivalence`. ``segments`` are named sets of queries.
    ``queries`` and ``texts`` say what the ids of queries and items stand for; ``texts`` may be a function that is asked
    for the items on the page; ``public`` leaves the texts of items out. ``power`` and ``power_map``, where they were
    computed, are shown; with ``power=True`` power is simulated for the page.

    >>> page = report({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, "RDQ@2")
    >>> page.html.startswith("<!doctype html>")
    True
    """
    seed = check_seed(seed)
    check_flag("public", public)
    check_kind("command", command, str, "it is the call that made the page")
    queries = _texts(queries, "queries")
    texts = texts if callable(texts) else _texts(texts, "texts")
    if power is not None and not isinstance(power, bool):
        check_kind("power", power, Power, "it is what rankdev.power gives, or True")
    if power_map is not None:
        check_kind("power_map", power_map, PowerMap, "it is what rankdev.power_map gives")
    found = compare(
        references,
        runs,
        measures,
        order=order,
        ties=ties,
        empty=empty,
        margin=margin,
        segments=segments,
        seed=seed,
        progress=progress,
    )
    curves = _simulated(found) if power is True else power or None
    pools, local = _pools(found)
    known = {} if public else texts({item for pool in pools for item in pool}) if callable(texts) else texts
    header = {
        **_words(found),
        "systems": found.scores.systems,
        "measures": found.scores.measures,
        "queries": [found.scores.queries[i] for i in found.shown],
        "query_texts": _cut(queries, (found.scores.queries[i] for i in found.shown)),
        "texts": _cut(known, dict.fromkeys(item for pool in pools for item in pool)),
        "pools": pools,
        "orders": [[found.scores.systems.index(name) for name in order] for order in found.orders],
        "groups": _groups(found),
        "segments": _segments(found),
        "explained": found.lists.measure,
        "why": WHY,
        "power": curves and {"measures": curves.measures, "sizes": curves.sizes, "level": curves.alpha},
        "map": None if power_map is None else _map_header(power_map),
        "made": _made(found, command),
    }
    arrays = _score_arrays(found) | _pair_arrays(found) | _reference_arrays(found) | _list_arrays(found.lists, local)
    if curves is not None:
        medians = [curves.summary(size)["p50"].to_numpy() for size in curves.sizes]
        arrays["power"] = (np.stack(medians, axis=1), 3)
    if power_map is not None:
        arrays["map"], arrays["map_best"] = (power_map.power.mean(axis=0), SCORES), (power_map.best, 0)
    return ReportPage(
        header["title"],
        header["verdict"],
        self_contained(
            header["title"],
            "report.html",
            styles=["page.css", "report.css"],
            scripts=SCRIPTS,
            data=packed(header, arrays),
        ),
    )


def _words(found: Comparison) -> dict[str, Any]:
    return {
        "title": title(found),
        "verdict": verdict(found),
        "next": next_steps(found),
        "facts": facts(found),
        "remarks": list(remarks(found)),
        "confidence": found.confidence,
        "correction": "" if found.significance is None else found.significance.correction,
        "margin": 0.0 if found.equivalence is None else found.equivalence.margin,
        "verdicts": VERDICTS,
        "level": 0.0 if found.significance is None else found.significance.level,
    }


def _made(found: Comparison, command: str) -> list[tuple[str, str]]:
    parameters = {} if found.significance is None else found.significance.parameters
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "polars", "scipy"))
    return [
        *([("Command", printable(command))] if command else []),
        ("Versions", f"rankdev {__version__}, Python {platform.python_version()}, {libraries}"),
        ("Intervals of means", f"Student's t over queries, {percent(found.confidence)}"),
        *((f"Pairs: {name.replace('_', ' ')}", f"{value}") for name, value in parameters.items()),
        ("Seed", f"{found.seed}"),
        ("Lists explained by", found.lists.measure),
    ]


def _simulated(found: Comparison) -> Power | None:
    """Simulate power at shares of the queries that there are; two of them, and two systems, are the least."""
    count = len(found.scores.queries)
    sizes = sorted({round(count * share) for share in SHARES} - {0, 1})
    if found.significance is None or not sizes:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)  # what it warns of, the verdicts have said
        return simulate_power(found.scores, sizes=sizes, subsamples=100, seed=found.seed)


def _map_header(found: PowerMap) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ("retrieval", "order", "measures", "n")}


def _texts(texts: Mapping[str, str] | None, what: str) -> Mapping[str, str]:
    return {} if texts is None else check_mapping(texts, what, "{id: text}")


def _cut(texts: Mapping[str, str], wanted: Iterable[str]) -> dict[str, str]:
    """Keep the beginnings of the texts that are wanted."""
    kept = {name: str(texts[name]) for name in wanted if name in texts}
    return {name: text if len(text) <= TEXT else text[: TEXT - 1] + "…" for name, text in kept.items()}


def _groups(found: Comparison) -> list[list[list[int]]]:
    place = {name: i for i, name in enumerate(found.scores.systems)}
    return [[[place[name] for name in members] for members in groups] for groups in found.groups]


def _segments(found: Comparison) -> list[dict[str, Any]]:
    """Each segment's queries among those shown, and how many it has of all."""
    place = {int(i): n for n, i in enumerate(found.shown)}
    return [
        {
            "name": name,
            "size": len(queries),
            "queries": [place[int(i)] for i in queries if int(i) in place],
        }
        for name, queries in found.segments.items()
    ]


def _score_arrays(found: Comparison) -> Arrays:
    lost = found.losses.to_polars()
    low, high = found.mean_intervals
    arrays: Arrays = {
        "scores": (found.scores.values[:, found.shown].transpose(2, 0, 1), SCORES),
        "means": (found.scores.averages, SHOWN),
        "lows": (low, SHOWN),
        "highs": (high, SHOWN),
        "losses": (lost.select("score", "lost_by_retrieval", "lost_by_order").to_numpy(), SHOWN),
    }
    if found.segments:
        parts = [found.scores.select(queries=queries).averages for queries in found.segments.values()]
        arrays["segment_means"] = (np.stack(parts), SHOWN)
    if found.agreement is not None:
        arrays["tau"] = (found.agreement.tau[0], 3)
        arrays["r"] = (found.agreement.r[0], 3)
    return arrays


def _pair_arrays(found: Comparison) -> Arrays:
    """Verdicts of [measure, pair], pairs in the order (0, 1), (0, 2) …; rounding does not decide who is told apart."""
    if found.significance is None:
        return {}
    columns = found.significance.columns
    shape = (len(found.scores.measures), -1)
    digits = {"difference": SHOWN, "low": SHOWN, "high": SHOWN, "wins": 0, "ties": 0, "losses": 0}
    arrays: Arrays = {f"pair_{name}": (np.reshape(columns[name], shape), kept) for name, kept in digits.items()}
    p = np.reshape(columns["p_adjusted"], shape)
    arrays["pair_p"] = (np.where(p < 10**-SHOWN, 0.0, p), SHOWN)  # 0 stands for less than can be shown
    arrays["pair_told"] = ((p <= found.significance.level).astype(np.int64), 0)
    if found.equivalence is not None:
        verdicts = [VERDICTS.index(word) for word in found.equivalence.columns["verdict"]]
        arrays["pair_verdict"] = (np.reshape(verdicts, shape), 0)
    return arrays


def _pools(found: Comparison) -> tuple[list[list[str]], Ints]:
    """Ids of each query's items, those of the reference first, and the lists as places among them."""
    lists, references = found.lists, found.references
    local = np.full(lists.items.shape, -1)
    pools = []
    for q, query in enumerate(references.queries):
        rows = references.rows(query)
        first = references.item_ids[rows][:REFERENCE_ITEMS].to_list()
        codes, inverse = np.unique(lists.items[:, q], return_inverse=True)
        names = [lists.names[int(code)] if code >= 0 else None for code in codes]
        place = {item: i for i, item in enumerate(first)}
        places = [-1 if item is None else place.setdefault(item, len(place)) for item in names]
        local[:, q] = np.array(places)[inverse.reshape(lists.items[:, q].shape)]
        pools.append(list(place))
    return pools, local


def _reference_arrays(found: Comparison) -> Arrays:
    """How many items of each reference are shown and how many there are, and the ranks of the first."""
    references = found.references
    sizes = references.sizes
    ranks = Ideals(references.offsets, references.ranks).spread(references.ranks, REFERENCE_ITEMS)
    return {
        "reference_sizes": (np.stack([np.minimum(sizes, REFERENCE_ITEMS), sizes], axis=1), 0),
        "reference_ranks": (np.where(np.arange(REFERENCE_ITEMS) < sizes[:, None], ranks, 0), 0),
    }


def _list_arrays(lists: Lists, local: Ints) -> Arrays:
    """What is at each position, and the few things that can be said about a position, each once."""
    ideal = np.broadcast_to(lists.ideal_ranks, lists.items.shape)
    columns = [
        lists.ranks,
        ideal,
        lists.why,
        *(np.rint(part * 10**SHOWN) for part in (lists.credit, lists.earned, lists.lost)),
    ]
    code = np.zeros(lists.items.size, np.int64)
    for part in columns:  # much faster than whole columns at once
        values, place = np.unique(part, return_inverse=True)
        code = np.unique(code * len(values) + place.ravel(), return_inverse=True)[1]
    _, first = np.unique(code, return_index=True)
    outcomes = np.stack([part.ravel()[first] for part in columns])
    return {
        "items": (local, 0),
        "outcome": (code.reshape(lists.items.shape), 0),
        "outcomes": (outcomes, 0),
        "weights": (lists.weights, SCORES),
    }
