"""Significance: test pairs of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from rankdev._common.checks import FINEST, check_choice, check_number, check_seed, check_whole
from rankdev.errors import UsageError, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics._assumptions import remarks_on
from rankdev.statistics._conclusion import conclusion
from rankdev.statistics.contrasts import Family, families_of, on_clusters, wanted_pairs
from rankdev.statistics.corrections import CORRECTIONS
from rankdev.statistics.paired import TESTS, Drawing, Tested
from rankdev.statistics.panels import as_scores, carried, is_several
from rankdev.statistics.replicates import over_runs, replicated
from rankdev.statistics.significance._families import corrected, result_of, with_segments
from rankdev.statistics.significance.result import Significance

FAMILIES = ("measure", "all")


def significance(
    scores: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str = "holm",
    family: Literal["measure", "all"] = "measure",
    permutations: int | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    segments: Mapping[str, Any] | None = None,
) -> Significance:
    """Test every pair of systems, or every system against each baseline, two-sided.

    Uncorrected intervals are the test's own; corrected ones are simultaneous for all pairs. They contain 0 if and only
    if the adjusted p-value is above ``alpha``, with one exception: if 40% or more of a pair's differences are equal,
    most often 0, the interval also allows for unseen differences within the measure's range. It may then contain 0
    although p, which tests whether the differences are symmetric, is small; a note reports it.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems; a table has the columns system, query, measure, value.
    measures : sequence of str, optional
        Measures to compare by. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs.
    test : {"randomization", "t"}, optional
        Paired test. Default: randomization, which enumerates all sign flips if at most 20 differences are nonzero,
        and draws ``permutations`` of them otherwise. With ``replicates``: t.
    correction : {"holm", "bh", "none"}
        Correction for multiple comparisons.
    family : {"measure", "all"}
        Adjust p-values over the pairs of each measure, or over all measures too.
    permutations : int, optional
        Sign flips. Default: 100,000, or as many as the correction needs to reject anything.
    alpha : float, default 0.05
        Level of the tests; intervals have confidence 1 − alpha.
    seed : int, default 0
        Seed of the flips.
    clusters : dict of str to str, optional
        The cluster of each query, such as its user, session or topic: queries of a cluster are not independent and
        are flipped together. For the randomization test.
    replicates : dict of str to list of str, optional
        Systems with several runs, such as training with several seeds: the names of their runs among the scores. Runs
        that are not named are systems with one run. The test then allows for their variance.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: test each segment too, corrected over pairs and
        segments.

    Returns
    -------
    Significance
        Difference, interval, effect size and p-values of each pair and measure.

    Examples
    --------
    >>> import polars as pl
    >>> import rankdev as rd
    >>> table = pl.DataFrame({"system": ["a"] * 4 + ["b"] * 4, "query": list("1234") * 2, "measure": "P@1",
    ...                       "value": [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]})
    >>> rd.significance(table).to_polars().select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.75, 3, 1, 0, 0.25)
    """
    usual = ("randomization" if replicates is None else "t") if test is None else test
    _check_design(usual, clusters, replicates)
    for what, word, known in (
        ("test", usual, TESTS),
        ("correction", correction, CORRECTIONS),
        ("family", family, FAMILIES),
    ):
        check_choice(what, word, known)
    if is_several(scores):
        raise UsageError(
            "these are the scores of several collections; give them to meta_analysis(…), or join their queries with"
            " Scores.pooled(…)"
        )
    single = scores = as_scores(scores, measures)
    runs = None if replicates is None else replicated(scores, replicates)
    if runs is not None:
        scores = runs.averaged
    first, second = wanted_pairs(scores, baselines)
    families = families_of(scores, first, second, clusters)
    numbered = list(enumerate(families))
    groups = [numbered] if family == "all" else [[one] for one in numbered]
    drawing = Drawing(
        None if permutations is None else check_whole("permutations", permutations, 1),
        check_number("alpha", alpha, FINEST, 1),
        check_seed(seed),
        len(first) * len(groups[0]) if correction != "none" else 1,
    )

    def perform(one: Family, m: int, how: Drawing) -> Tested:
        if runs is None:
            return TESTS[usual](one, how)
        return over_runs(one, single.values[:, one.queries, m].T, list(runs.members.values()))

    found = corrected(groups, perform, correction, drawing)
    for remark in dict.fromkeys(text for one in found for text in one.warned):
        warn(remark)
    made: dict[str, Any] = {
        **{"test": usual, "correction": correction, "family": family},
        **{"alpha": drawing.alpha, "seed": drawing.seed},
        "clusters": None if clusters is None else len(families[0].flipped.values),
        "replicates": None if runs is None else runs.counts,
    }
    whole = result_of(scores, families, (first, second), found, **made)
    notes: list[str] = []
    if clusters is None and runs is None:  # those notes are about queries taken one by one
        by_measure = correction != "none" and family == "measure"
        notes += remarks_on(
            *(scores, families, whole.columns, drawing.alpha), by_measure=by_measure, permutations=whole.permutations
        )
    notes += [*on_clusters(families), *(() if runs is None else runs.remarks), *carried(single)]
    whole = replace(
        whole,
        remarks=(*whole.remarks, *notes),
        conclusion=conclusion(scores, families, whole.columns, drawing.alpha, baselines is not None),
    )
    if segments is None:
        return whole
    return with_segments(whole, scores, families, segments, perform, drawing, made)


def _check_design(test: str, clusters: Any, replicates: Any) -> None:
    """Refuse tests that take queries one by one where clusters or runs are given."""
    if clusters is not None and replicates is not None:
        raise UsageError("clusters and replicates cannot be combined; give one of them")
    for what, given, only in (("clusters", clusters, "randomization"), ("replicates", replicates, "t")):
        if given is not None and test != only:
            raise UsageError(f"test={test!r} cannot be combined with {what}; leave it out")
