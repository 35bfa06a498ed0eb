"""The table of tiny cases in docs/preferences.md is what the rule makes of them."""

from itertools import combinations
from pathlib import Path

from rankdev.preferences import tiers_from_preferences

PAGE = Path(__file__).parents[2] / "docs/preferences.md"


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
    "the same 6 items by 3 judges who agree": [
        (pair, judge) for pair in everyone("abcdef") for judge in ("x", "y", "z")
    ],
}


def rows_of(judgments):
    said = [one if isinstance(one, tuple) else (one,) for one in judgments]
    return [("q", *pair, *judge) for pair, *judge in said]


def test_the_table_of_tiny_cases_is_what_comes_out():
    lines = []
    for case, judgments in CASES.items():
        made = tiers_from_preferences(rows_of(judgments))
        tiers = " > ".join(" = ".join(tier) for tier in made.tiers["q"])
        flips = f"{made.coin_flips['q']:.2f}"[1:]
        borders = ", ".join(f"{min(border, 0.99):.2f}"[1:] for border in made.separated["q"])
        lines.append(f"| {case} | {tiers} | {borders} | {flips} |")
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8"), "\n".join(lines)
