"""Claims about single numbers of a leaderboard: risk against a baseline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from rankdev.statistics.risk import risk_to
from tests.calibration.simulations import ALPHA, KINDS, Finding
from tests.calibration.sparse import SPARSE, Draw, dense

GAINS: dict[str, Draw] = {
    **{kind: lambda rng, shape, draw=draw: 0.05 + 0.2 * draw(rng, shape) for kind, draw in KINDS.items()},
    **{kind: SPARSE[kind][0] for kind in ("5% lose 1", "10% lose up to 1", "5% win 3 : 1", "20% win 3 : 1")},
    "30% ties": dense(0.3),
    "80% ties": dense(0.8),
}


def risk(trials: int) -> Iterator[Finding]:
    """The interval of URisk, in which losses count two or six times; Student's, that of TRisk, is given beside.

    Gains of *normal*, *exponential*, *discrete* and *tied* are .05 on average, with a standard deviation of .2 or less.
    """
    for kind, draw in GAINS.items():
        for aversion in (1.0, 5.0):
            many = draw(np.random.default_rng(0), (2_000_000,))
            truth = float(np.where(many < 0, (1 + aversion) * many, many).mean())
            for n in (10, 25, 50, 200):
                gains = draw(np.random.default_rng([n, 60, len(kind)]), (n, trials))
                found = risk_to(0, np.column_stack([np.zeros(n), gains]), aversion, 1.0, ALPHA)
                low, high, urisk = (found[name][1:] for name in ("urisk_low", "urisk_high", "urisk"))
                weighted = np.where(gains < 0, (1 + aversion) * gains, gains)
                half = special.stdtrit(n - 1, 1 - ALPHA / 2) * weighted.std(axis=0, ddof=1) / np.sqrt(n)
                student = float((np.abs(urisk - truth) <= half + 1e-12).mean())
                held = float(((low <= truth) & (truth <= high)).mean())
                setting = f"{kind}, losses × {1 + aversion:g}, n = {n}; Student's held {student:.2f}"
                yield Finding("`risk`, URisk", setting, held, trials, 0.9)


CLAIMS = {"risk": (risk, 1000)}
