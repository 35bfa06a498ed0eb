"""The first positions of every list at once: which item, of which rank, and what it earns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rankdev.arrays import Bools, Floats, Ints
from rankdev.evaluation.explain import DISPLACED, MISSING, NOT_IN_REFERENCE, REPEATED, ROUNDING
from rankdev.evaluation.matching import Matcher
from rankdev.measures.match import Ideals
from rankdev.measures.rdq import RDQ
from rankdev.references.references import References
from rankdev.runs import Run

WHY = ("", NOT_IN_REFERENCE, DISPLACED, MISSING, REPEATED)


@dataclass(frozen=True, eq=False)
class Lists:
    """What :func:`rankdev.explain` says of every list, as arrays over [system, query, position].

    ``items`` index ``names``, -1 where nothing was returned; ``ranks`` are 0 for items outside the reference; ``why``
    indexes ``WHY``. ``ideal_ranks`` are those of [query, position].
    """

    measure: str
    names: pl.Series = field(repr=False)
    items: Ints = field(repr=False)
    ranks: Ints = field(repr=False)
    credit: Floats = field(repr=False)
    earned: Floats = field(repr=False)
    lost: Floats = field(repr=False)
    why: Ints = field(repr=False)
    ideal_ranks: Ints = field(repr=False)
    weights: Floats = field(repr=False)


def first_positions(references: References, runs: Mapping[str, Run], measure: RDQ, depth: int) -> Lists:
    """Take the first ``depth`` positions of each run apart, for all queries of the references."""
    shape = (len(runs), len(references), depth)
    sizes = references.sizes
    ideal = Ideals(references.offsets, references.ranks).ideal_ranks(depth)
    counted = np.minimum(sizes, measure.cutoff or sizes.max(initial=1))
    relative = measure.position_weights.relative(max(depth, int(counted.max(initial=1))))
    shares = relative[:depth] / np.cumsum(relative)[np.maximum(counted, 1) - 1][:, None]
    names = pl.concat([references.item_ids, *(run.item_ids for run in runs.values())]).unique(maintain_order=True)
    items, ranks = np.full(shape, -1), np.zeros(shape, np.int64)
    scored = np.zeros(shape, bool)
    for s, run in enumerate(runs.values()):
        items[s] = _returned(references, run, names, depth)
        ranks[s], scored[s] = _ranks(references, run, depth)
    credit = np.where(scored, measure.credit(ideal, ranks, np.maximum(sizes, 1)[:, None]), 0.0)
    could = np.where(np.arange(depth) < counted[:, None], shares, 0.0)
    earned = shares * credit
    lost = could - earned
    why = np.select(
        [np.abs(lost) <= ROUNDING, items < 0, ranks == 0, scored],
        [WHY.index(text) for text in ("", MISSING, NOT_IN_REFERENCE, DISPLACED)],
        WHY.index(REPEATED),
    )
    return Lists(
        str(measure), names, items, ranks, credit, earned, lost, why, ideal, measure.position_weights.first(depth)
    )


def _returned(references: References, run: Run, names: pl.Series, depth: int) -> Ints:
    """Which item is at [query, position]; -1 where none is."""
    table = np.full((len(references), depth), -1)
    rows = np.flatnonzero(run.positions < depth)
    query = _codes(run.queries, references.queries)[run.codes[rows]]
    rows, query = rows[query >= 0], query[query >= 0]
    table[query, run.positions[rows]] = _codes(run.item_ids.gather(rows), names)
    return table


def _ranks(references: References, run: Run, depth: int) -> tuple[Ints, Bools]:
    """Ranks at [query, position], 0 outside the reference, and whether they count: an item counts once."""
    ranks = np.zeros((len(references), depth), np.int64)
    if not run.queries.is_in(references.queries.implode()).any():
        return ranks, ranks > 0
    hits = Matcher.of(references).match(run, depth)[0].hits
    ranks[hits.query, hits.position] = references.ranks[hits.place]
    scored = ranks > 0
    if run.repeats is not None:
        for row in np.flatnonzero(run.repeats & (run.positions < depth)).tolist():
            query, item = run.queries[int(run.codes[row])], run.item_ids[row]
            if query in references:
                ranks[references.queries.index_of(query), run.positions[row]] = references[query].get(item, 0)
    return ranks, scored


def _codes(values: pl.Series, known: pl.Series) -> Ints:
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known))})
    joined = pl.DataFrame({"name": values}).join(lookup, on="name", how="left", maintain_order="left")
    codes: Ints = joined["code"].fill_null(-1).to_numpy()
    return codes
