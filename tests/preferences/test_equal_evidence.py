"""No order without evidence: what was judged alike shares a tier, whatever the order of rows and the names of items."""

import numpy as np
import pytest

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.strengths import METHODS
from rankdev.preferences.tiers import RULES

QUERIES = 4  # random cases


def judgments_of_twins(rng, queries):
    """Judgments of random queries, and the twin of each item, which was judged exactly as the item was."""
    rows, twins = [], {}
    for query in range(queries):
        n = int(rng.integers(2, 8))
        twin = np.arange(n)
        moved = rng.permutation(n)[: 2 * int(rng.integers(0, n // 2 + 1))]
        twin[moved[::2]], twin[moved[1::2]] = moved[1::2], moved[::2]
        strength = rng.normal(size=n) * rng.choice([0.0, 1.0, 3.0])
        chain = rng.permutation(n)  # connects all
        a, b = chain[:-1], chain[1:]
        more = rng.integers(0, n, (2, int(rng.integers(0, 4 * n))))
        a, b = (np.concatenate([x, y[more[0] != more[1]]]) for x, y in ((a, more[0]), (b, more[1])))
        lost = rng.random(len(a)) > 1 / (1 + np.exp(strength[b] - strength[a]))
        a, b = np.where(lost, b, a), np.where(lost, a, b)
        tie, worker = rng.random(len(a)) < rng.choice([0.0, 0.4]), rng.integers(0, 4, len(a))
        for i, j, tied, who in zip(a.tolist(), b.tolist(), tie.tolist(), worker.tolist(), strict=True):
            for x, y in ((i, j), (int(twin[i]), int(twin[j]))):
                rows.append(
                    {"query": f"q{query}", "winner": f"d{x}", "loser": f"d{y}", "tie": tied, "worker": f"w{who}"}
                )
        twins[f"q{query}"] = {f"d{k}": f"d{t}" for k, t in enumerate(twin.tolist())}
    return rows, twins


def renamed(rows, rng):
    """The same judgments under other names, in another order; and the old name of each item."""
    names = {(row["query"], row[side]) for row in rows for side in ("winner", "loser")}
    labels = rng.permutation(len(names)).tolist()
    new = {key: f"n{label:05d}" for key, label in zip(sorted(names), labels, strict=True)}
    again = [
        {**row, "winner": new[row["query"], row["winner"]], "loser": new[row["query"], row["loser"]]}
        for row in (rows[k] for k in rng.permutation(len(rows)))
    ]
    return again, {label: item for (_, item), label in new.items()}


def check_a_file(seed, method):
    rng = np.random.default_rng(seed)
    rows, twins = judgments_of_twins(rng, QUERIES)
    if method != "crowd-bt" and rng.random() < 0.5:
        rows = [{name: value for name, value in row.items() if name != "worker"} for row in rows]
    again, old = renamed(rows, rng)
    first, second = (strengths(Preferences.from_rows(part), method) for part in (rows, again))
    strict = {query: len(cut) for query, cut in tiers(first, rule="strict").tiers.items()}
    for rule in RULES:
        found, other = (tiers(fit, rule=rule).tiers for fit in (first, second))
        for query, cut in found.items():
            place = {item: k for k, tier in enumerate(cut) for item in tier}
            assert all(place[item] == place[twin] for item, twin in twins[query].items()), (rule, query, cut)
            assert [{old[item] for item in tier} for tier in other[query]] == [set(tier) for tier in cut], (rule, query)
            assert len(cut) <= strict[query]


@pytest.mark.parametrize("method", METHODS)
def test_items_judged_alike_share_a_tier_under_any_names_in_any_order(method):
    check_a_file(1, method)
