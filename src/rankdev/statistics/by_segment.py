"""Tests of the queries of each segment, and whether differences depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankdev.errors import DataError, counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics.corrections import CORRECTIONS, benjamini_hochberg, holm
from rankdev.statistics.family_tests import Perform, corrected, result_of
from rankdev.statistics.pair_tests import Significance
from rankdev.statistics.paired import FEWEST, Drawing, Tested
from rankdev.statistics.panels import Family
from rankdev.statistics.segments import PAIRS, TELLING, interaction, named_segments, places

FEWEST_ROWS = {"t": 2, "bootstrap": FEWEST}  # queries of a segment that a test needs


def with_segments(
    whole: Significance,
    scores: Scores,
    families: Sequence[Family],
    segments: Any,
    perform: Perform,
    drawing: Drawing,
    made: Mapping[str, Any],
) -> Significance:
    """Add the tests of segments, corrected together, and the interaction."""
    located, notes = places(scores.queries, named_segments(segments))
    parts = {name: [one.only(np.isin(one.queries, queries)) for one in families] for name, queries in located.items()}
    for name, own in list(parts.items()):
        few = min(len(one.flipped.values) if len(one.values) else 0 for one in own)
        if few < FEWEST_ROWS.get(whole.test, 1 if whole.clusters is None else 2):
            what = "query" if whole.clusters is None else "cluster"
            notes.append(f"segment {name!r} is left out: {counted(few, what, 'is')} too few for the test")
            del parts[name]
    if not parts:
        raise DataError(f"segments: no segment can be tested; {'; '.join(notes)}")
    each = range(len(families))
    order = [(name, m) for m in each for name in parts]  # those of a measure are corrected together
    size = len(order) if whole.family == "all" else len(parts)
    groups = [[(m, parts[name][m]) for name, m in order[start : start + size]] for start in range(0, len(order), size)]
    over = size * families[0].pairs if CORRECTIONS[whole.correction].multiplies else 1

    def alone(one: Family, m: int, how: Drawing) -> Tested:
        return replace(perform(one, m, how), single=False)  # max-T over unequal segments is as wide as the smallest's

    found = corrected(groups, alone, whole.correction, replace(drawing, comparisons=over), whole.test == "betting")
    pairs = families[0].first, families[0].second
    results = {
        name: result_of(scores, own, pairs, [found[order.index((name, m))] for m in each], **made)
        for name, own in parts.items()
    }
    frame, more = _interaction(whole, families, located)
    return replace(whole, segments=results, interaction=frame, remarks=(*whole.remarks, *notes, *more))


def _interaction(
    whole: Significance, families: Sequence[Family], segments: Mapping[str, Any]
) -> tuple[pl.DataFrame | None, list[str]]:
    """Test whether differences depend on the segment, or note why that cannot be tested."""
    why = ""
    if len(segments) < 2:
        why = "there is one segment"
    elif whole.clusters or whole.replicates or whole.test == "betting":
        why = "the test takes queries one by one"
    elif sum(map(len, segments.values())) > len(np.unique(np.concatenate(list(segments.values())))):
        why = "segments share queries"
    elif families[0].pairs > PAIRS:
        why = f"the test is for up to {PAIRS} pairs; name a baseline"
    if why:
        return None, [f"whether differences depend on the segment is not tested: {why}"]
    found = [interaction(one, segments, whole.seed) for one in families]
    p = np.concatenate([part for _, part in found])
    used = np.concatenate([part for part, _ in found])
    adjust = {"holm": holm, "bh": benjamini_hochberg}.get(whole.correction, np.copy)
    adjusted = np.full(len(p), np.nan)
    size = len(p) if whole.family == "all" else families[0].pairs
    for start in range(0, len(p), size):
        known = start + np.flatnonzero(~np.isnan(p[start : start + size]))
        adjusted[known] = adjust(p[known])
    names = {name: whole.columns[name] for name in ("measure", "a", "b")}
    frame = pl.DataFrame({**names, "segments": used, "p": p, "p_adjusted": adjusted}).fill_nan(None)
    few = int((used < len(segments)).sum())
    rows = "" if len(p) == 1 else f" in {few} of {len(p)} rows"
    note = (
        f"segments in which fewer than {TELLING} queries have another difference than most have no part in the"
        f" interaction{rows}"
    )
    return frame, [note] if few else []
