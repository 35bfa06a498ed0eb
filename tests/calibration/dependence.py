"""Claims about the note on queries that depend on each other."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from rankdev.statistics import _assumptions
from rankdev.statistics._assumptions import ALARM, groups_by_id, within
from tests.calibration.simulations import KINDS, Finding
from tests.calibration.sparse import Draw, losing

SHAPES: dict[str, Draw] = {
    **KINDS,
    "90% ties": lambda rng, shape: np.where(rng.random(shape) < 0.9, 0.0, rng.normal(0, 1, shape)),
    "98% ties": losing(0.02, lambda rng, shape: np.ones(shape)),
}


def dependent_queries(trials: int) -> Iterator[Finding]:
    """The note on queries whose ids begin alike: independent queries, and groups in which a fraction shares a value.

    The correlation within such groups is .4. Detecting it is not claimed: few groups provide little evidence.
    """
    for kind, draw in SHAPES.items():
        for groups, sizes in ((10, "2"), (30, "4"), (60, "1–6")):
            rng = np.random.default_rng([groups, 70, len(kind)])
            noted = np.zeros(2)
            for _ in range(trials):
                many = np.full(groups, int(sizes)) if len(sizes) == 1 else rng.integers(1, 7, groups)
                ids = [f"{topic}-{variant}" for topic, each in enumerate(many) for variant in range(each)]
                members = groups_by_id(ids)
                assert members is not None
                own, shared = draw(rng, (len(ids),)), draw(rng, (groups,))[members]
                for i, alike in enumerate((0.0, 0.4)):
                    apart = np.where(rng.random(len(ids)) < np.sqrt(alike), shared, own)
                    with patch.object(_assumptions, "PERMUTATIONS", (199, 199)):  # as valid, and quicker
                        correlation, p = within(np.stack([apart, np.zeros(len(ids))], axis=1), members)
                    noted[i] += p <= ALARM and correlation > 0
            setting = f"{kind}, {groups} groups of {sizes}"
            yield Finding("note on dependent queries, none are", setting, noted[0] / trials, trials, 0.05, True)
            yield Finding("note on dependent queries, correlation .4", setting, noted[1] / trials, trials, 0.0)


CLAIMS = {"dependent queries": (dependent_queries, 400)}
