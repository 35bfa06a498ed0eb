"""A gate as a pytest test: the fixture ``rankdev_gate`` fails a test whose candidate is worse.

pytest loads this module in every project that has rankdev installed, so it imports nothing that computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import rankdev as rd
from rankdev._common.checks import check_choice
from rankdev.errors import DataError, UsageError, warn

if TYPE_CHECKING:
    from rankdev.data.references import ReferencesLike
    from rankdev.data.run import RunLike
    from rankdev.results import Gate


@pytest.fixture
def rankdev_gate() -> Callable[..., Gate]:
    """Return a function that fails the test where a candidate is worse than the system in use.

    Returns
    -------
    callable
        ``rankdev_gate(references, candidate, measures, baseline=run)`` or ``…, against="baseline.parquet")``, a file
        that ``rankdev gate REFERENCES RUN --save baseline.parquet`` wrote. It takes what :func:`rankdev.gate`
        takes: ``margin``, ``required``, ``segments``, ``alpha``. Where it cannot tell, it warns, or fails with
        ``undecided="fail"``; it fails where the data have a problem. It returns the :class:`rankdev.results.Gate`.

    Examples
    --------
    >>> def test_search_is_no_worse(rankdev_gate):
    ...     rankdev_gate("qrels.txt", "candidate.run", "nDCG@10", against="baseline.parquet", margin=0.01)
    """
    return _check_gate


def _check_gate(
    references: ReferencesLike,
    candidate: RunLike,
    measures: Any,
    *,
    baseline: RunLike | None = None,
    against: Any = None,
    undecided: str = "pass",
    **options: Any,
) -> Gate:
    """Fail the test where the candidate is worse; return the decision."""
    from rankdev.evaluation.files import with_digest
    from rankdev.statistics.inputs import as_scores

    __tracebackhide__ = True
    check_choice("undecided", undecided, ("pass", "fail"))
    if (baseline is None) == (against is None):
        raise UsageError("one-of-two", name="baseline", other="against")
    runs = {"candidate": candidate, **({} if baseline is None else {"baseline": baseline})}
    saved = None if against is None else as_scores(against)
    if saved is not None and saved.digest is None:
        raise DataError("bad-saved-scores", error=DataError("no-digest", role="against"))
    scores = rd.evaluate(references, runs, measures)
    if saved is not None:
        scores = with_digest(scores, references)
    found = rd.gate(scores, baseline="baseline" if saved is None else saved, candidate="candidate", **options)
    if found.verdict in ("fail", "refused") or (found.verdict == "undecided" and undecided == "fail"):
        pytest.fail(str(found), pytrace=False)
    if found.verdict == "undecided":
        warn("undecided", text=" ".join(found.reasons))
    return found
