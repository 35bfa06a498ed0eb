"""Scores: values by system, query and measure, with what is known about how they were made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_kind, check_names, is_list, is_number
from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.data.ids import as_ids, by_id, numbered
from rankdev.data.tables import as_dict, as_frame, check_mapping, column, number_column, system_column, text_column
from rankdev.errors import DataError, Note, UsageError, counted, nearest, shown
from rankdev.evaluation.coverage import Coverage, coverage_remarks, empty_remarks, for_measures, gap_remarks, troubled
from rankdev.measures.base import MeasureInfo
from rankdev.measures.syntax import info_of, known_measure

if TYPE_CHECKING:
    from rankdev.data.tables import TableLike
    from rankdev.data.write import PathLike

NAMED = 8  # names that a message lists
LEAST = 1e-5  # what a query counts at least in a geometric mean, as in trec_eval
Names = tuple[str, ...]
ScoresLike: TypeAlias = "Scores | PathLike | TableLike"
"""Scores, a table with the columns system, query, measure, value, or the file of one."""

ROUNDED = 1e-4  # what the decimals of a file may be off


@dataclass(frozen=True, eq=False)
class Scores(Result):
    """Values of every measure for every system and query.

    Attributes
    ----------
    systems, queries : tuple of str
        Names of systems and queries.
    measures : tuple of str
        Labels of the measures. The constructor takes texts or Measure objects.
    values : array of float, systems × queries × measures
        NaN where a measure is not available.
    reference_sizes : array of int, optional
        Number of reference items of each query.
    coverage : tuple of Coverage
        How each run matched the references.
    order, ties, empty : str, optional
        Options of :func:`evaluate`; None if they were not set.
    notes : tuple of Note
        Further notes on how the scores were computed.
    kinds : tuple of MeasureInfo
        How each measure is aggregated over queries, whether higher is better, and its range. Taken from the measures;
        kept in pickles and score files, so that they are not needed there.
    collapse : str, optional
        What separated documents from chunks, as in :func:`evaluate`.
    digest : str, optional
        Digest of the references, where the scores are kept as a baseline.
    weights : array of float, optional
        Weight of each query, 1 on average, which means take into account; see :meth:`weighted`.

    See Also
    --------
    rankdev.evaluate, rankdev.read_scores, Scores.from_table

    Examples
    --------
    >>> Scores(["a", "b"], ["q1", "q2"], ["P@1"], [[[1.0], [0.0]], [[1.0], [1.0]]]).mean().rows()
    [('a', 0.5), ('b', 1.0)]
    """

    made_with: ClassVar = ("measures", "order", "ties", "empty")

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats = field(repr=False)
    reference_sizes: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    coverage: tuple[Coverage, ...] = field(default=(), repr=False)
    order: str | None = None
    ties: str | None = None
    empty: str | None = None
    notes: tuple[Note, ...] = field(default=(), repr=False)
    kinds: tuple[MeasureInfo, ...] = field(default=(), repr=False)
    collapse: str | None = field(default=None, repr=False)
    digest: str | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        systems, queries = counted(len(self.systems), "system"), counted(len(self.queries), "query")
        return f"Scores({systems}, {queries}, {', '.join(self.measures) or 'no measures'})"

    def __post_init__(self) -> None:
        kinds = self.kinds or tuple(info_of(measure) for measure in check_names("measures", self.measures))
        vars(self).update(
            systems=each_once("system", as_ids(check_names("systems", self.systems))),
            queries=each_once("query", as_ids(check_names("queries", self.queries))),
            measures=each_once("measure", [kind.label for kind in kinds]),
            values=_as_floats(self.values),
            kinds=kinds,
        )
        shape = (len(self.systems), len(self.queries), len(self.measures))
        if self.values.shape != shape:
            raise DataError(
                "bad-shape", names=("systems × queries × measures",), expected=shape, shapes=[self.values.shape]
            )

    @classmethod
    def of_checked(cls, **fields: Any) -> Scores:
        """Make scores of what was checked: names in tuples, and an array of their values."""
        made = object.__new__(cls)
        vars(made).update(fields)
        return made

    @classmethod
    def from_table(cls, table: TableLike) -> Scores:
        """Make scores from a table.

        PyTerrier's table by query, whose column for the system is ``name``, works too.

        Parameters
        ----------
        table : table
            With the columns system, query, measure, value. Combinations that are not in it are not available (NaN).
            Rows without a query are means and left out, and so are those called all or mean that hold the mean of the
            others, with a note. A column weight has the weight of each query. Values beyond the
            measure's range, such as percentages, are refused.

        Returns
        -------
        Scores
            Values by system, query and measure.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"system": ["a", "b"], "query": "q", "measure": "P@1", "value": [1.0, 0.0]})
        >>> Scores.from_table(table).means.tolist()
        [[1.0], [0.0]]
        """
        frame, notes = _without_means(as_frame(table))
        found = cls(*_values_of(frame), notes=notes)
        _check_ranges(found)
        if "weight" not in frame.columns:
            return found
        return found.weighted(frame.select("query", "weight").unique(maintain_order=True))

    @classmethod
    def pooled(cls, collections: Mapping[str, Scores]) -> Scores:
        """Join the queries of several collections; large collections then dominate.

        Parameters
        ----------
        collections : dict of str to Scores
            Scores of each collection, with the same systems and measures.

        Returns
        -------
        Scores
            All queries, named ``collection/query``.

        Examples
        --------
        >>> one, other = (Scores(("s",), ("q",), ("P@1",), np.full((1, 1, 1), value)) for value in (0.2, 0.4))
        >>> joined = Scores.pooled({"x": one, "y": other})
        >>> joined.queries, joined.of("P@1").tolist()
        (('x/q', 'y/q'), [[0.2, 0.4]])
        """
        parts = check_mapping(collections, "collections", "{name: scores}")
        if not parts:
            raise UsageError("none-given", what="collections")
        first = check_kind("scores", next(iter(parts.values())), cls, "make them with evaluate or from_table")
        for name, part in parts.items():
            check_kind(f"collection {shown(name)}", part, cls, "make it with evaluate or from_table")
            if set(part.systems) != set(first.systems) or set(part.kinds) != set(first.kinds):
                raise DataError("unlike-collection", collection=name)
            if part.weights is not None:
                raise UsageError("weights-unknown", collection=name)
        aligned = [part.select(systems=first.systems, measures=first.measures) for part in parts.values()]
        sizes = [(name, len(part.queries)) for name, part in parts.items()]
        return cls(
            first.systems,
            tuple(f"{name}/{query}" for name, part in parts.items() for query in part.queries),
            first.measures,
            np.concatenate([part.values for part in aligned], axis=1),
            notes=(
                Note("pooled", counts=sizes),
                *(note.at(collection=name) for name, part in parts.items() for note in part.remarks),
            ),
            kinds=first.kinds,
            coverage=troubled(aligned),
        )

    @cached_property
    def means(self) -> Floats:
        """Summary over queries, ``means[system, measure]``: averages, sums of counts, geometric means of GMAP."""
        known = np.isfinite(self.values)
        found = self.averages.copy()
        for m, kind in enumerate(self.kinds):
            values, available = self.values[:, :, m], known[:, :, m]
            if kind.aggregate == "sum":
                found[:, m] = values.sum(axis=1, where=available)
            elif kind.aggregate == "geometric":
                logs = np.log(np.maximum(np.where(available, values, 1.0), LEAST))
                found[:, m] = np.exp(self._averaged(logs[:, :, None], available[:, :, None])[:, 0])
        return np.where(known.any(axis=1), found, np.nan)

    @cached_property
    def averages(self) -> Floats:
        """Means over the queries where a measure is available, of counts too; what statistics are made of."""
        known = np.isfinite(self.values)
        return self._averaged(self.values if known.all() else np.where(known, self.values, 0.0), known)

    def _averaged(self, values: Floats, known: npt.NDArray[np.bool_]) -> Floats:
        """Average over the queries that are known, of which the others are 0."""
        if self.weights is None:
            counts, sums = known.sum(axis=1), values.sum(axis=1)
        else:
            counts, sums = (np.einsum("q,sqm->sm", self.weights, part) for part in (known, values))
        with np.errstate(invalid="ignore"):
            return np.where(counts > 0, sums / np.where(counts > 0, counts, 1), np.nan)

    @cached_property
    def sums(self) -> tuple[str, ...]:
        """The measures that are added up over the queries, as in trec_eval: counts, such as NumRet."""
        return tuple(kind.label for kind in self.kinds if kind.aggregate == "sum")

    @cached_property
    def geometric(self) -> tuple[str, ...]:
        """The measures whose values are summarized by their geometric mean: GMAP."""
        return tuple(kind.label for kind in self.kinds if kind.aggregate == "geometric")

    @cached_property
    def lower_is_better(self) -> tuple[str, ...]:
        """The measures for which lower is better."""
        return tuple(kind.label for kind in self.kinds if kind.higher_is_better is False)

    @cached_property
    def oriented(self) -> Scores:
        """The same scores, with the sign changed for measures where lower is better."""
        signs = np.array([-1.0 if label in self.lower_is_better else 1.0 for label in self.measures])
        return replace(self, values=self.values * signs) if self.lower_is_better else self

    def weighted(self, weights: WeightsLike) -> Scores:
        """Weight the queries, as by their traffic.

        Parameters
        ----------
        weights : dict of str to float, or table
            Weight of each query, more than 0, such as how often it is asked; a table has the columns query and weight.

        Returns
        -------
        Scores
            The same values, whose means count each query by its weight.

        Examples
        --------
        >>> scores = Scores(["a"], ["q1", "q2"], ["P@1"], [[[1.0], [0.0]]])
        >>> scores.weighted({"q1": 30, "q2": 10}).means.tolist()
        [[0.75]]
        """
        if self.sums:
            raise UsageError("weighted-sum", measure=self.sums[0])
        return replace(self, weights=weights_of(weights, self.queries))

    def mean(self) -> pl.DataFrame:
        """Tabulate the means (sums of counts).

        Returns
        -------
        polars.DataFrame
            One row per system, one column per measure; null where a measure is not available.
        """
        columns = {name: self.means[:, j] for j, name in enumerate(self.measures)}
        return pl.DataFrame({"system": list(self.systems), **columns}).fill_nan(None)

    def to_metrics(self) -> dict[str, float]:
        """Return the means as a flat dict, as ``mlflow.log_metrics`` and ``wandb.log`` take it.

        Characters that MLflow refuses in a name become ``_``, and paths lose what leads nowhere (``../``); means that
        are not available are left out.

        Returns
        -------
        dict of str to float
            Keys are ``system/measure``.

        Examples
        --------
        >>> Scores(("bm25",), ("q",), ("RDQ(alpha=4)@5", "AP@5"), np.array([[[0.5, 1.0]]])).to_metrics()
        {'bm25/RDQ_alpha_4_5': 0.5, 'bm25/AP_5': 1.0}
        """
        names = [f"{system}/{measure}" for system in self.systems for measure in self.measures]
        parts = [re.sub(r"[^\w./: -]+", "_", name).split("/") for name in names]
        plain = ["/".join(part for part in name if part not in ("", ".", "..")) for name in parts]
        if len(set(plain)) < len(plain):
            raise UsageError("same-metric", name=Counter(plain).most_common(1)[0][0])
        means = zip(plain, self.means.ravel().tolist(), strict=True)
        return {name: mean for name, mean in means if not np.isnan(mean)}

    def summary(self) -> pl.DataFrame:
        """Tabulate the means, as :meth:`mean` does.

        Returns
        -------
        polars.DataFrame
            One row per system, one column per measure.
        """
        return self.mean()

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What was missing on either side, and which queries ties affect: one line each, for all systems together."""
        gaps = gap_remarks(
            self.systems, dict(zip(self.measures, np.moveaxis(np.isfinite(self.values), 2, 0), strict=True))
        )
        empty = empty_remarks(self.coverage, self.empty, self.reference_sizes)
        weighted = []
        if self.weights is not None:  # how many queries of equal weight tell as much (Kish 1965)
            effective = float(self.weights.sum() ** 2 / (self.weights**2).sum())
            weighted = [Note("weighted", count=len(self.queries), effective=effective)]
        return (*self.notes, *weighted, *gaps, *empty, *coverage_remarks(self.coverage))

    def of(self, measure: str) -> Floats:
        """Return the values of one measure.

        Parameters
        ----------
        measure : str
            Its label, or another text of the same measure.

        Returns
        -------
        array of float, systems × queries
            NaN where the measure is not available.
        """
        return self.values[:, :, self._measure(measure)]

    def select(
        self, systems: Sequence[str] | None = None, measures: Sequence[str] | None = None, queries: Any = None
    ) -> Scores:
        """Keep some systems, measures and queries.

        Parameters
        ----------
        systems, measures : list of str, optional
            Names to keep, once each, in this order. Default: all.
        queries : list of str, array of int, mask or slice, optional
            Queries to keep, by name or by place. Default: all.

        Returns
        -------
        Scores
            The same scores of what was kept.
        """
        names = self.systems if systems is None else check_names("systems", systems)
        rows = list(dict.fromkeys(_place_of(name, self.systems, "system") for name in names))
        texts = self.measures if measures is None else check_names("measures", measures)
        columns = list(dict.fromkeys(self._measure(text) for text in texts))
        picked = np.arange(len(self.queries)) if queries is None else _places_of(self.queries, queries)
        chosen, kept = {self.systems[i] for i in rows}, tuple(self.measures[j] for j in columns)
        coverage = tuple(for_measures(entry, kept) for entry in self.coverage if entry.system in chosen)
        return replace(
            self,
            systems=tuple(self.systems[i] for i in rows),
            queries=tuple(self.queries[i] for i in picked),
            measures=kept,
            kinds=tuple(self.kinds[j] for j in columns),
            values=self.values[rows][:, picked][:, :, columns],
            reference_sizes=None if self.reference_sizes is None else self.reference_sizes[picked],
            weights=None if self.weights is None else self.weights[picked] / self.weights[picked].mean(),
            coverage=coverage if len(picked) == len(self.queries) else (),  # it counts all queries
        )

    def differences(
        self, a: str | None = None, b: str | None = None, *, measures: Sequence[str] | None = None
    ) -> QueryDifferences:
        """Compare two systems query by query.

        Parameters
        ----------
        a, b : str, optional
            Names of the systems; not needed where there are only two, of which the first is the baseline b.
        measures : list of str, optional
            Measures to compare. Default: all.

        Returns
        -------
        QueryDifferences
            Values of both systems and their difference a − b, where a did worst first.

        Examples
        --------
        >>> scores = Scores(("old", "new"), ("q1", "q2"), ("P@1",), np.array([[[0.0], [1.0]], [[1.0], [1.0]]]))
        >>> scores.differences().to_polars().rows()
        [('P@1', 'q2', 1.0, 1.0, 0.0), ('P@1', 'q1', 1.0, 0.0, 1.0)]
        """
        names = [name for name in (a, b) if name is not None] or list(reversed(self.systems))
        pair = self.select(systems=names, measures=measures)
        if len(pair.systems) != 2:
            raise UsageError("not-two-systems", count=len(pair.systems))
        return QueryDifferences(*pair.systems, pair)

    def sorted_by(self, measure: str) -> Scores:
        """Order the systems by a measure, best first.

        Parameters
        ----------
        measure : str
            Its mean (or sum) over queries decides; systems without one come last.

        Returns
        -------
        Scores
            The same scores in that order.
        """
        place = self._measure(measure)
        means = self.means[:, place]
        order = np.argsort(means if self.kinds[place].higher_is_better is False else -means, kind="stable")
        return self.select(systems=[self.systems[i] for i in order])

    def to_polars(self) -> pl.DataFrame:
        """Return the values as a table.

        Returns
        -------
        polars.DataFrame
            One row per value: system, query, measure, value; null where a measure is not available. With weights of
            queries also weight.
        """
        _, many, kinds = self.values.shape
        row = pl.int_range(self.values.size, dtype=pl.UInt32 if self.values.size < 2**32 else pl.UInt64, eager=True)
        names = [pl.Series(list(names), dtype=pl.String) for names in (self.systems, self.queries, self.measures)]
        frame = pl.DataFrame(
            {
                "system": names[0].gather(row // (many * kinds)),
                "query": names[1].gather(row % many),
                "measure": names[2].gather(row // many % kinds),
                "value": pl.Series(self.values.transpose(0, 2, 1).ravel()).fill_nan(None),
            }
        )
        return frame if self.weights is None else frame.with_columns(weight=pl.Series(self.weights).gather(row % many))

    def _measure(self, text: str) -> int:
        """Find a measure by its label, or by any text that means the same."""
        if not isinstance(text, str) or text not in self.measures:
            known = known_measure(text)
            text = text if known is None else str(known)
        return _place_of(text, self.measures, "measure")


def joined(parts: Sequence[Scores], ties: str) -> Scores:
    """Put the measures of several scores of the same runs side by side."""
    coverage = tuple(
        replace(
            entries[0],
            tied=max(entry.tied for entry in entries),
            tied_by={name: count for entry in entries for name, count in entry.tied_by.items()},
            ties=ties,
        )
        for entries in zip(*(part.coverage for part in parts), strict=True)
    )
    return replace(
        parts[0],
        measures=tuple(name for part in parts for name in part.measures),
        kinds=tuple(kind for part in parts for kind in part.kinds),
        values=np.concatenate([part.values for part in parts], axis=2),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        coverage=coverage,
        ties=ties,
    )


def _as_floats(values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("not-scores", value=values) from None


def each_once(what: str, names: Sequence[str]) -> Names:
    """Return names in a tuple; refuse one that appears twice."""
    if len(set(names)) < len(names):
        raise DataError("appears-twice", what=what, value=Counter(names).most_common(1)[0][0])
    return tuple(names)


def _place_of(name: str, known: Names, what: str) -> int:
    """Find a system or a measure by its name."""
    if not isinstance(name, str) or name not in known:
        some = known if len(known) <= NAMED else (*known[:NAMED], "…")
        raise UsageError("not-a-choice", name=what, value=name, near=nearest(name, known), known=some)
    return known.index(name)


def _places_of(known: Names, queries: Any) -> Ints:
    """Find queries by name, or as NumPy takes places."""
    named = list(queries) if is_list(queries) else []
    if any(isinstance(query, str) for query in named):
        place = {query: i for i, query in enumerate(known)}
        if unknown := [query for query in named if not isinstance(query, str) or query not in place]:
            _place_of(unknown[0], known, "query")
        return np.array([place[query] for query in named])
    try:
        return np.atleast_1d(np.arange(len(known))[queries])
    except IndexError:
        raise UsageError("not-queries", count=len(known), value=queries) from None


def _values_of(frame: pl.DataFrame) -> tuple[Names, Names, Names, Floats]:
    """Return systems, queries, measures, and ``values[system, query, measure]``."""
    axes = [text_column(frame, name, "scores") for name in ("system", "query", "measure")]
    given = column(frame, "value", "scores")
    if given.dtype == pl.String:  # CSV has nothing where a value is missing
        given = given.replace("", None)
    value = given.cast(pl.Float64, strict=False)
    wrong = value.is_infinite().fill_null(False) | (value.is_null() & given.is_not_null())
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError("not-finite", row=row, name="value", value=given[row])
    cells = pl.DataFrame(axes)
    if cells.is_duplicated().any():
        raise DataError("two-scores", **cells.filter(cells.is_duplicated()).row(0, named=True))
    names, codes = zip(*map(numbered, axes), strict=True)
    values = np.full([len(known) for known in names], np.nan)
    values[codes] = value.fill_null(np.nan).to_numpy()
    return tuple(names[0]), tuple(names[1]), tuple(names[2]), values


def _check_ranges(scores: Scores) -> None:
    """Refuse values that their measure cannot have, such as percentages."""
    for place, kind in enumerate(scores.kinds):
        low, high = kind.range
        values = scores.values[:, :, place]
        beyond = (values < low - ROUNDED) | (values > high + ROUNDED)
        if beyond.any():
            s, q = np.argwhere(beyond)[0]
            where = {"system": scores.systems[s], "query": scores.queries[q], "measure": kind.label}
            raise DataError("beyond-range", **where, value=float(values[s, q]), low=low, high=high)


def _without_means(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Leave out the rows of means: those without a query, and those called all or mean that hold the others'."""
    if frame.is_empty():
        raise DataError("no-rows", what="table of scores")
    if "system" not in frame.columns and (named := system_column(frame)) is not None:
        frame = frame.rename({named: "system"})
    if "query" not in frame.columns or frame["query"].dtype.is_nested():
        return frame, ()
    of_queries = frame.filter(pl.col("query").is_not_null() & (pl.col("query").cast(pl.String) != ""))
    if of_queries.is_empty():
        raise DataError("means-only")
    called = (
        pl.col("query").cast(pl.String).str.to_lowercase().is_in(["all", "mean", "amean", "average", "avg", "overall"])
    )
    if {"system", "measure", "value"} <= {*frame.columns} and of_queries.select(called.any()).item():
        number = pl.col("value").cast(pl.Float64, strict=False)
        others = number.filter(~called)  # none of what trec_eval has of all queries together only, such as gm_map
        apart = ((number - made.over("system", "measure")).abs() > 1e-4 for made in (others.mean(), others.sum()))
        queries = of_queries.filter(called & (pl.all_horizontal(*apart).fill_null(False) | called.all()))["query"]
        if len(queries):
            return of_queries, (Note("called-mean", name=queries[0]),)
        means = of_queries.filter(called)["query"]
        return of_queries.filter(~called), (Note("means-left-out", count=len(means), name=means[0]),)
    return of_queries, ()


@dataclass(frozen=True, eq=False)
class QueryDifferences(Result):
    """The scores of two systems for every query.

    Attributes
    ----------
    a, b : str
        Names of the systems.
    scores : Scores
        Those of a, then of b.

    See Also
    --------
    Scores.differences
    """

    made_with: ClassVar = ("a", "b")
    view: ClassVar = View(
        [Tab("{measure}, worst for a first: a is {a}, b is {b}", ("query", "a", "b", "difference"), by="measure")],
        "compare",
    )

    a: str
    b: str
    scores: Scores

    @property
    def remarks(self) -> tuple[Note, ...]:
        """Notes on the scores."""
        return self.scores.remarks

    def to_polars(self) -> pl.DataFrame:
        """Return the differences as a table.

        Returns
        -------
        polars.DataFrame
            One row per measure and query: measure, query, a, b, difference (a − b), where a did worst first.
            Queries for which a system has no value come last, without a difference.
        """
        tables = []
        for m, measure in enumerate(self.scores.measures):
            a, b = self.scores.values[:, :, m]
            order = np.argsort(b - a if measure in self.scores.lower_is_better else a - b, kind="stable")  # NaN last
            columns = {"query": self.scores.queries, "a": a, "b": b, "difference": a - b}
            tables.append(pl.DataFrame({"measure": measure, **columns})[order])
        return pl.concat(tables).fill_nan(None)


WeightsLike: TypeAlias = "Mapping[str, float] | TableLike"
"""``{query: weight}``, or a table with the columns query and weight."""


def weights_of(weights: Any, queries: Sequence[str]) -> Floats:
    """Return the weight of each query, 1 on average; those of other queries are left out.

    >>> weights_of({"a": 3, "b": 1, "c": 5}, ["a", "b"]).tolist()
    [1.5, 0.5]
    """
    if not isinstance(weights := as_dict(weights), Mapping):
        frame = as_frame(weights)
        names = text_column(frame, "query", "weights")
        if names.is_duplicated().any():
            raise DataError("appears-twice", role="weights", what="query", value=names.filter(names.is_duplicated())[0])
        weights = dict(zip(names, number_column(frame, "weight", "weights"), strict=True))
    known = by_id(weights)
    without = [query for query in queries if query not in known]
    if without:
        raise DataError("no-weight", count=len(without), queries=len(queries), example=without[0])
    for query in queries:
        if not (is_number(known[query]) and 0 < known[query] < np.inf):
            expected = "more than 0, and finite"
            raise DataError("not-a-number", query=query, name="weight", value=known[query], expected=expected)
    found = np.array([known[query] for query in queries], np.float64)
    return found / found.mean()
