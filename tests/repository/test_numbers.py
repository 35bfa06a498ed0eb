"""A number with a unit or with decimals in README or docs/ comes from a file that a script wrote, or has a reason."""

import re

import pytest
from benchmarks.history import MARKED, MEASURED, PAGES

from tests.calibration.headlines import MARK
from tests.calibration.pages import FRONT

UNIT = r"(?:s|sec|seconds?|ms|µs|minutes?|hours?|[kKMG]i?B|bytes?|times|×|%|-fold)"
NUMBER = re.compile(
    rf"(?<![\w.^/@=`])(?:(?:\d[\d,]*\.?\d*|\.\d+)(?:(?: to |–| and | or )[\d.,]*\d)?(?:\s|-)?{UNIT}|\.\d\d+)(?![\w^])"
)
NO_PROSE = re.compile(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
STUDY_TABLES = re.compile(
    r"<!-- table: .+? -->\n\n(?:\|.*\n)+"
)  # those of benchmarks/statements have tests of their own
# levels are chosen, not measured
LEVELS = re.compile(
    r"\b(?:80|90|95|99)%(?=[^|.]{0,40}\b(?:interval|certainty|limit|probability))|at 95%"
    r"|\(\.05\)|(?:below|probability|not) \.(?:05|95)\b"
)
WRITTEN = {FRONT.name, "conformance.md"}  # pages that a script writes as a whole

# what is exempt, by the reason; "A … B" is all from A to B. A phrase that its page does not have is an error
SETTING = "a definition, a threshold of the code, or a setting of an experiment"
LEGEND = "an example of how to read the numbers"
FORMULA = "follows from a formula"
PAPER = "published in the paper, or by others"
GOAL = "a goal, not a measurement"
EXEMPT: dict[str, dict[str, tuple[str, ...]]] = {
    "README.md": {"tests/repository/test_benchmarks.py compares it": ("why 0.5% differ",)},
    "answers.md": {
        SETTING: (
            "(and 2% of the others they",
            "With 2% of the judgments",
            "with 10% removed",
            "within .05 of their losses",
            "power ranges from .05 to 1",
            "fitted over p = .3, .5, .7, .8, .9, .95",
        ),
        FORMULA: (".693 is chance",),
        "the largest difference of two columns of the table below it": ("within .03 of the best measure",),
    },
    "benchmarks.md": {
        SETTING: (
            "| S | 12 × 5,000 × 100 … 1 × 1,000,000 × 100",
            "queries of more than 16 MB",
            "1 GB of heap",
            "more than 1.5 times its",
        ),
        GOAL: ("(goal 5 s)", "goal ≤ 1.3 times", "goal ≤ 2 times TREC", "(goal ≤ 0.2 s)"),
    },
    "designs.md": {
        SETTING: ("of differences is .15 to .3 of the range, and about four times if it is .05",),
        LEGEND: ('"In .93" means … .93 of trials',),
    },
    "gate.md": {
        SETTING: ("no worse by more than .01", "more than 2% below the baseline's", "a gate whose margin is 2%"),
        "tests/statistics/test_gate_simulation.py compares it": (
            "| candidate | queries | no change … Of candidates that are worse … which allows 5%.",
        ),
    },
    "integrations.md": {"tests/integrations/test_torch.py compares it": ("from below .5 to above .75",)},
    "judge.md": {SETTING: ("every 15 seconds or so", "a probability of at most 5%", "for .4 seconds")},
    "preferences.md": {
        SETTING: (
            "0 to 50% ties",
            "reach a probability of 95%",
            "A predicted chance of 50%",
            "*Within .12*",
            "beyond chance (p < .001)",
            "by Compatibility (p = .95",
        ),
        FORMULA: ("accurate to about 9%", "99 simulations can produce is .01"),  # 1 ÷ √(2 · 64)
    },
    "judgments-needed.md": {SETTING: ("stops once at most .05 of the pairs",)},
    "planning.md": {
        FORMULA: ("it is at most .029", "at a true power of .70 … is .16"),  # √(¼ ÷ 300); the noncentral t-distribution
        PAPER: ("27 to 61 for .25",),
    },
    "reliability.md": {
        SETTING: ("about 8 MB at a time", "at most 32 MB (gzip, zstd)", "may be 64 MB long", "over more than 8 MB"),
    },
    "report.md": {SETTING: ("more than 5% of the queries", "10% or more of a system's")},
    "score.md": {SETTING: (".15 z + .5",)},
    "statistics.md": {
        SETTING: (
            "a standard deviation of .15",
            "if 5% of queries lose",
            "If 40% or more of a pair's",
            "at 80%",
            "of which 2% to 20% differ",
            "| 60% or more |",
            "If 2% of queries lose .9",
            "A collection 140 times larger",
            "if 5% of queries differ by 1",
            "If 40% or more of the differences",
            "with a probability above .05",
            "at .025 over all measures",
            "A margin of .05",
        ),
        FORMULA: ("which is .0007 at p = .05", "misses all of them in .60 of cases", "which falls to .05"),
        LEGEND: ('"In .91" means: in .91',),
        "docs/calibration/one-pair.md names it in its rows": ("a note appears in at most .03",),
    },
    "studies.md": {
        SETTING: ("3% tied neighbours", "(95% over queries)", "neighbours closer than .0005", "counts .15 to .35"),
        PAPER: (
            "RDQ@5 .353 |",
            "| .353, .287 |",
            "RDQ@5 .904 / AP@5 .818 |",
            *("| .102 |", "| .108 |", "| .095 |", "| .067 |", "| .107 |"),
            "The text reports .082 … 300",
        ),
    },
}


def loose(text: str, exempt: tuple[str, ...] = ()) -> list[str]:
    """Return the numbers with a unit that nothing holds, each with what stands around it."""
    for held in (MARKED, STUDY_TABLES, MEASURED, MARK):
        text = held.sub("∎", text)
    text = " ".join(NO_PROSE.sub("∎", text).split())
    for phrase in exempt:
        ends = [re.escape(part) for part in phrase.split(" … ")]
        text, there = re.subn(ends[0] + "".join(f".*?{end}" for end in ends[1:]), "∎", text)
        assert there, f"{phrase!r} is not there any more: take it out of EXEMPT"
    text = LEVELS.sub("∎", text)
    return [text[max(0, at.start() - 40) : at.end() + 20] for at in NUMBER.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in WRITTEN], ids=lambda page: page.name)
def test_numbers_with_units_come_from_a_file(page):
    exempt = tuple(phrase for phrases in EXEMPT.get(page.name, {}).values() for phrase in phrases)
    found = loose(page.read_text(encoding="utf-8"), exempt)
    assert not found, "let a script keep them (benchmarks/history.py), take them out, or give a reason in EXEMPT"


def test_a_number_is_found_unless_it_is_held():
    table = "<!-- table: X -->\n\n| 3 s |\n\n<!-- end -->\n"
    assert (
        loose(f"0.5<!-- measured: T; R; C --> s, .9<!-- worst: an interval --> and\n{table}`5 s`, a 95% interval") == []
    )
    for text in (
        "It took 1.5 s.",
        "in 8 to 9 ms",
        "a page of 2.5 MB",
        ".3 GB",
        "5.2–5.7% of tests",
        "2.4 times as wide",
        "in .63 of cases",
    ):
        assert len(loose(f"before {text} after")) == 1, text
    assert loose("it took 3 s here", ("took 3 s",)) == []
    assert loose("from 3 s, 4 s to 5 s on", ("from 3 s … 5 s",)) == []
    with pytest.raises(AssertionError, match="not there any more"):
        loose("nothing", ("took 3 s",))
