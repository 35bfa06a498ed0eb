"""The first positions of all lists, explained at once: what :func:`rankdev.explain` returns for one, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.data import ids
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.evaluation.explain import DISPLACED, MISSING, NONRELEVANT, NOT_IN_REFERENCE, REPEATED, UNJUDGED
from rankdev.evaluation.join import Known, MatchedRuns, join
from rankdev.evaluation.placings import ROUNDING
from rankdev.measures.match import Ideals
from rankdev.measures.rdq import RDQ

REFERENCE_ITEMS = 20  # of each query, whose positions are found
IN_PLACE = "in its place"
KINDS = (IN_PLACE, DISPLACED, NONRELEVANT, UNJUDGED, NOT_IN_REFERENCE, REPEATED, MISSING)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lists:
    """What :func:`rankdev.explain` returns for every list, as arrays over [system, query, position].

    ``items`` index ``names``, -1 where nothing was returned; ``ranks`` are 0 for items outside the reference; ``kinds``
    index ``KINDS``, what is to be said of a position, whether it loses anything or not. ``ideal_ranks`` are those of
    [query, position]. ``found_at`` has the position, from 1, at which each list returns each of the first items of the
    reference, [system, query, item]; 0 where it does not.
    """

    measure: str
    names: list[str] = field(repr=False)
    items: Ints = field(repr=False)
    ranks: Ints = field(repr=False)
    credit: Floats = field(repr=False)
    earned: Floats = field(repr=False)
    lost: Floats = field(repr=False)
    kinds: Ints = field(repr=False)
    ideal_ranks: Ints = field(repr=False)
    found_at: Ints = field(repr=False)
    weights: Floats = field(repr=False)


def first_positions(references: References, runs: Mapping[str, Run], measure: RDQ, depth: int) -> Lists:
    """Explain the first ``depth`` positions of each run, for all queries of the references."""
    shape = (len(runs), len(references), depth)
    sizes = references.sizes
    ideal = Ideals(references.offsets, references.ranks).ideal_ranks(depth)
    counted = np.minimum(sizes, measure.cutoff or sizes.max(initial=1))
    relative = measure.position_weights.relative(max(depth, int(counted.max(initial=1))))
    fractions = relative[:depth] / np.cumsum(relative)[np.maximum(counted, 1) - 1][:, None]
    first = [ids.listed(ids.take(run.item_ids, np.flatnonzero(run.positions < depth))) for run in runs.values()]
    places = {name: place for place, name in enumerate(dict.fromkeys(chain(ids.listed(references.item_ids), *first)))}
    items, ranks = np.full(shape, -1), np.zeros(shape, np.int64)
    scored, poor = np.zeros(shape, bool), np.zeros(shape, bool)
    found_at = np.zeros((*shape[:2], REFERENCE_ITEMS), np.int64)
    for s, run in enumerate(runs.values()):
        items[s] = _returned(references, run, places, depth)
        if not references.places.keys().isdisjoint(run.queries):
            matched = join(Known.of(references), run, ())[0]
            ranks[s], scored[s], poor[s] = _judgments(references, run, matched, depth)
            found_at[s] = _found_at(references, matched)
    outside = UNJUDGED if references.nonrelevant is not None else NOT_IN_REFERENCE
    credit = np.where(scored, measure.credit(ideal, ranks, np.maximum(sizes, 1)[:, None]), 0.0)
    attainable = np.where(np.arange(depth) < counted[:, None], fractions, 0.0)
    earned = fractions * credit
    lost = attainable - earned
    kinds = np.select(
        [items < 0, poor, ranks == 0, ~scored, np.abs(lost) <= ROUNDING],
        [KINDS.index(text) for text in (MISSING, NONRELEVANT, outside, REPEATED, IN_PLACE)],
        KINDS.index(DISPLACED),
    )
    return Lists(
        measure=str(measure),
        names=[*places],
        items=items,
        ranks=ranks,
        credit=credit,
        earned=earned,
        lost=lost,
        kinds=kinds,
        ideal_ranks=ideal,
        found_at=found_at,
        weights=measure.position_weights.first(depth),
    )


def _returned(references: References, run: Run, places: Mapping[str, int], depth: int) -> Ints:
    """Find the item at [query, position]; -1 where there is none."""
    table = np.full((len(references), depth), -1)
    rows = np.flatnonzero(run.positions < depth)
    query = np.array([references.places.get(name, -1) for name in run.queries], np.int64)[run.codes[rows]]
    rows, query = rows[query >= 0], query[query >= 0]
    table[query, run.positions[rows]] = [places[name] for name in ids.listed(ids.take(run.item_ids, rows))]
    return table


def _judgments(references: References, run: Run, matched: MatchedRuns, depth: int) -> tuple[Ints, Bools, Bools]:
    """Find ranks at [query, position], 0 outside the reference, whether they count, and what was judged nonrelevant.

    An item counts once.
    """
    shape = (len(references), depth)
    ranks, poor = np.zeros(shape, np.int64), np.zeros(shape, bool)
    hits, rejected = (part.take(part.position < depth) for part in (matched.hits, matched.nonrelevant))
    ranks[hits.query, hits.position] = references.ranks[hits.place]
    poor[rejected.query, rejected.position] = True
    scored = ranks > 0
    if run.repeats is not None:
        for row in np.flatnonzero(run.repeats & (run.positions < depth)).tolist():
            query, item = run.queries[int(run.codes[row])], run.item_ids[row]
            if query in references:
                at = references.places[query], run.positions[row]
                ranks[at] = references[query].get(item, 0)
                poor[at] = item in (references[query].nonrelevant or ())
    return ranks, scored, poor


def _found_at(references: References, matched: MatchedRuns) -> Ints:
    """Find where the first items of each reference are returned, [query, item], from 1; 0 where they are not."""
    found = np.zeros((len(references), REFERENCE_ITEMS), np.int64)
    nth = matched.hits.place - references.offsets[matched.hits.query]
    hits = matched.hits.take(nth < REFERENCE_ITEMS)
    found[hits.query, nth[nth < REFERENCE_ITEMS]] = hits.position + 1
    return found
