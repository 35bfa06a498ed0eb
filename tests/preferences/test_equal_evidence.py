"""No order without evidence: what was judged alike shares a tier, whatever the order of rows and the names of items."""

import numpy as np
import pytest

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.strengths import METHODS
from rankdev.preferences.tiers import RULES

from .simulate import random_pairs


def judgments_of_twins(rng, workers):
    """Judgments of random items, and the twin of each item, which was judged exactly as the item was."""
    n = int(rng.integers(2, 8))
    twin, moved = np.arange(n), rng.permutation(n)[: 2 * int(rng.integers(0, n // 2 + 1))]
    twin[moved[::2]], twin[moved[1::2]] = moved[1::2], moved[::2]
    winner, loser, _ = random_pairs(n, int(rng.integers(1, 4 * n)), rng, rng.choice([0.0, 1.0, 3.0]))
    chain, ties, rows = rng.permutation(n), rng.choice([0.0, 0.4]), []
    for pair in zip([*chain[:-1], *winner], [*chain[1:], *loser], strict=True):
        said = {"query": "q", "tie": rng.random() < ties} | ({"worker": f"w{rng.integers(4)}"} if workers else {})
        rows += [{**said, "winner": f"d{a}", "loser": f"d{b}"} for a, b in (pair, twin[list(pair)])]
    return rows, {f"d{k}": f"d{t}" for k, t in enumerate(twin)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS)
def test_items_judged_alike_share_a_tier_under_any_names_in_any_order(method, seed):
    rng = np.random.default_rng(seed)
    rows, twins = judgments_of_twins(rng, workers=method == "crowd-bt" or rng.random() < 0.5)
    new = {item: f"n{k}" for item, k in zip(twins, rng.permutation(len(twins)), strict=True)}
    again = [{**row, "winner": new[row["winner"]], "loser": new[row["loser"]]} for row in rng.permutation(rows)]
    first, second = (strengths(Preferences.from_rows(part), method) for part in (rows, again))
    for rule in RULES:
        found, other = (tiers(fit, rule=rule).tiers["q"] for fit in (first, second))
        place = {item: k for k, tier in enumerate(found) for item in tier}
        assert all(place[item] == place[twin] for item, twin in twins.items()), (rule, found)
        assert [{new[item] for item in tier} for tier in found] == [set(tier) for tier in other], rule
