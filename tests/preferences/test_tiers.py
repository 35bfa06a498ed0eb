"""Tiers: one rule that its users can predict, from a query's own judgments alone."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import rankdev as rd
from rankdev.preferences import Preferences, order, strengths, tiers, tiers_from_preferences
from rankdev.preferences.order import SPREADS, QueryOrder, joined, orders
from rankdev.preferences.strengths import METHODS
from rankdev.preferences.tiers import RULES
from tests.common.examples import examples
from tests.raising import kinds, noted

from .simulate import crowd, every_pair, random_pairs

seeds = st.integers(0, 2**31)


def cut(rows, **options):
    return tiers_from_preferences(rows, **options).tiers["q"]


def test_one_answer_is_a_tie_and_unanimous_ones_are_an_order_more_and_more_surely():
    assert cut([("q", "x", "y")]) == [["x", "y"]]
    found = [tiers_from_preferences([("q", "x", "y")] * times) for times in range(2, 11)]
    assert all(each.tiers["q"] == [["x"], ["y"]] for each in found)
    sure = [each.separated["q"][0] for each in found]
    assert sure == sorted(sure)
    assert sure[0] == pytest.approx(0.831, abs=1e-3)


def test_two_items_against_integrals_over_their_difference():
    """The probability of coin flips and of x being better, by numerical integration instead of Laplace's method."""
    wins, losses = 5, 1
    made = tiers_from_preferences([("q", "x", "y")] * wins + [("q", "y", "x")] * losses)

    def mass(spread, low):
        def density(d):
            return norm.pdf(d, scale=spread * np.sqrt(2)) * expit(d) ** wins * expit(-d) ** losses

        return quad(density, low, 40)[0]

    whole, above = (np.mean([mass(spread, low) for spread in SPREADS]) for low in (-40, 0))
    assert made.coin_flips["q"] == pytest.approx(0.5**6 / (0.5**6 + whole), abs=0.01)
    assert made.separated["q"][0] == pytest.approx(above / whole, abs=0.03)


def test_half_the_judgments_decide_nothing_and_ties_are_half_wins():
    assert cut([("q", "x", "y"), ("q", "y", "x")] * 30) == [["x", "y"]]
    rows = [{"query": "q", "winner": "x", "loser": "y", "tie": k < 4} for k in range(12)]
    made = tiers_from_preferences(rows)
    same = tiers_from_preferences([("q", "x", "y")] * 10 + [("q", "y", "x")] * 2)
    assert made.separated == same.separated
    assert made.coin_flips == pytest.approx(same.coin_flips)


def random_file(seed):
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 9))
    winner, loser, _ = random_pairs(items, int(rng.integers(items, 6 * items)), rng, rng.choice([0.5, 2.0, 4.0]))
    chain = rng.permutation(items)
    pairs = zip([*winner, *chain[:-1]], [*loser, *chain[1:]], strict=True)
    return [("q", f"d{a}", f"d{b}") for a, b in pairs]


@given(seed=seeds, data=st.data())
@examples(40)
def test_one_more_agreeing_judgment_never_joins(seed, data):
    rows = random_file(seed)
    before = cut(rows)
    if len(before) > 1:
        border = data.draw(st.integers(1, len(before) - 1))
        upper, lower = before[border - 1][0], before[border][-1]
        after = {item: place for place, tier in enumerate(cut([*rows, ("q", upper, lower)])) for item in tier}
        assert after[upper] < after[lower]


def test_a_query_is_cut_by_its_own_judgments_alone():
    alone = [("q", "x", "y")] * 8
    others = [(f"r{k}", *pair) for k in range(29) for pair in ("xy", "yx") * 3]
    first, second = tiers_from_preferences(alone), tiers_from_preferences([*alone, *others])
    assert second.tiers["q"] == first.tiers["q"] == [["x"], ["y"]]
    assert second.separated["q"] == first.separated["q"]
    noted(second.remarks, "no-order", count=29)


def test_the_least_surely_separated_neighbours_are_joined_first_by_hand():
    better = np.array([[0.5, 0.7, 0.9, 0.9], [0.3, 0.5, 0.75, 0.95], [0.1, 0.25, 0.5, 0.6], [0.1, 0.05, 0.4, 0.5]])
    # 2, 3 at .6, then 0, 1 at .7; their border is the mean of .9, .9, .75 and .95
    assert joined(better, np.arange(4), 0.8) == ([0, 2], [0.875])
    assert joined(better, np.arange(4), 0.88) == ([0], [])
    assert joined(better, np.arange(4), 0.0) == ([0, 1, 2, 3], [0.7, 0.75, 0.6])
    assert joined(better, np.array([0, 3]), 0.0)[0] == [0, 3]  # equal strengths stay together


def test_a_single_worker_s_repeats_count_and_one_of_several_counts_once():
    alone = [("q", "x", "y", "ann")] * 3
    assert cut(alone) == [["x"], ["y"]]
    noted(tiers_from_preferences(alone).remarks, "one-worker", worker="ann")
    # one worker says it 30 times: without workers that is certain, with them it is one opinion against three
    rows = [("q", "x", "y", "loud")] * 30 + [("q", "y", "x", f"w{k}") for k in range(3)]
    assert cut([row[:3] for row in rows]) == [["x"], ["y"]]
    assert cut(rows)[0] != ["x"]


def test_large_queries_are_computed_alike(monkeypatch):
    rows = [(*row, f"w{k % 3}") for k, row in enumerate(every_pair(np.linspace(1, -1, 8), 2, np.random.default_rng(2)))]
    (whole,) = orders(strengths(Preferences.from_rows(rows)))
    better, flips = whole.better, whole.coin_flips
    assert any(model.information is not None for model in whole._models[5:])  # tastes count
    monkeypatch.setattr(order, "DIRECT_UP_TO", 1)
    (parts,) = orders(strengths(Preferences.from_rows(rows)))
    assert parts.better == pytest.approx(better, abs=1e-8)
    assert parts.coin_flips == pytest.approx(flips, abs=1e-8)
    assert better + better.T == pytest.approx(np.ones((8, 8)))


def test_no_judgment_leaves_it_open_whether_there_is_an_order():
    nothing = np.zeros(0, np.int64)
    found = QueryOrder(2, nothing, nothing, nothing, np.zeros(0), np.zeros(0))
    assert found.coin_flips == pytest.approx(0.5)
    assert found.better == pytest.approx(np.full((2, 2), 0.5))


@pytest.mark.parametrize("method", ["rank-centrality", "crowd-bt"])
def test_other_methods_order_and_bradley_terry_separates(method):
    rows = [
        (*row, f"w{k % 12:02d}") for k, row in enumerate(every_pair([2.5, 2.5, 0, 0], 24, np.random.default_rng(2)))
    ]
    made = tiers_from_preferences(rows, method, probability=0.99)
    assert [sorted(tier) for tier in made.tiers["q"]] == [["d000", "d001"], ["d002", "d003"]]
    simple = tiers_from_preferences(rows, probability=0.99)
    assert made.coin_flips == pytest.approx(simple.coin_flips)
    assert made.separated["q"] == pytest.approx(simple.separated["q"])


def test_tables_and_references_say_the_same():
    rows = every_pair([3.0, 0.0, 0.0], 12, np.random.default_rng(5))
    made = tiers_from_preferences(rows)
    table = made.to_polars()
    assert table.columns == ["query", "item", "strength", "low", "high", "rank", "separated"]
    assert table["separated"].to_list() == [None, *made.separated["q"] * 2]
    references = rd.References.from_preferences(rows)
    assert references.to_polars().sort("query", "item").rows() == sorted(table.select("query", "item", "rank").rows())
    assert made.summary().row(0) == ("q", 3, 36, 2, made.separated["q"][0], made.coin_flips["q"])
    assert made.conclusion.startswith("1 query, 3 items, 2 tiers; neighbouring tiers are separated with probability")


def test_a_cycle_and_an_item_alone_have_no_border():
    cycle = tiers_from_preferences([("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")] * 10)
    assert cycle.conclusion == "1 query, 3 items, 1 tier."
    assert kinds(cycle.remarks) == ["no-order"]
    assert kinds(tiers(cycle.strengths, rule="strict").remarks) == []
    judged = Preferences.from_rows([("q", "x", "y")] * 3, items={"q": ["x", "y", "z"]})
    split = tiers(strengths(judged, disconnected="split"))
    assert split.tiers == {"q#1": [["x"], ["y"]], "q#2": [["z"]]}
    assert kinds(split.remarks) == []


def test_bad_workers_and_repeated_rows_are_named():
    judged, _ = crowd(np.r_[np.full(10, 0.97), 0.5, 0.02], 24, 80, np.random.default_rng(1))
    rows = judged.to_polars().select("query", "winner", "loser", "worker").rows()
    remarks = tiers_from_preferences([*rows, rows[0]], "crowd-bt").remarks
    noted(remarks, "inverted-workers", names=("w11",))
    assert "repeated-judgments" in kinds(remarks)


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


def everyone(items, upset=""):
    """Every pair once in alphabetical order, but one the other way round."""
    return ["".join(pair) if "".join(pair) != upset else upset[::-1] for pair in combinations(items, 2)]


CASES = {
    **{f"a > b {times}" + (" times" if times > 1 else " time"): ["ab"] * times for times in (1, 2, 3, 5, 8)},
    "a > b 4 times, b > a once": ["ab"] * 4 + ["ba"],
    "a > b 60 times, b > a 40 times": ["ab"] * 60 + ["ba"] * 40,
    "a > b 70 times, b > a 30 times": ["ab"] * 70 + ["ba"] * 30,
    "a cycle: a > b, b > c, c > a": ["ab", "bc", "ca"],
    "the same cycle 10 times": ["ab", "bc", "ca"] * 10,
    "a chain: a > b, b > c, c > d": ["ab", "bc", "cd"],
    "the same chain 3 times": ["ab", "bc", "cd"] * 3,
    "6 items, every pair once, no contradiction": everyone("abcdef"),
    "the same, but d > c: neighbours": everyone("abcdef", "cd"),
    "the same, but f > a: the last beats the first": everyone("abcdef", "af"),
    "the same 6 items by 3 judges who agree": [(*pair, judge) for pair in everyone("abcdef") for judge in "xyz"],
}


def test_the_table_of_tiny_cases_in_the_documentation_is_what_comes_out():
    lines, page = [], Path(__file__).parents[2] / "docs/preferences.md"
    for case, judgments in CASES.items():
        made = tiers_from_preferences([("q", *pair) for pair in judgments])
        found = " > ".join(" = ".join(tier) for tier in made.tiers["q"])
        flips = f"{made.coin_flips['q']:.2f}"[1:]
        borders = ", ".join(f"{min(border, 0.99):.2f}"[1:] for border in made.separated["q"])
        lines.append(f"| {case} | {found} | {borders} | {flips} |")
    assert "\n".join(lines) in page.read_text(encoding="utf-8"), "\n".join(lines)
