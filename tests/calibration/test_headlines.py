"""What the documentation says about coverage is what the worst row of calibration says."""

import re

import pytest

from tests.calibration.claims import CLAIMS
from tests.calibration.headlines import MARK, ROOT, headline, pages, rows, updated
from tests.calibration.pages import FRONT, TOPICS, findings, found, front, section

TABLE = """
| claim | setting | held | goal | of trials | ± |
|---|---|---|---|---|---|
| an interval | normal, n = 10 | 0.957 | ≥ 0.95 | 1,000 | 0.007 |
| an interval | exponential, n = 10 | **0.801** | ≥ 0.9 | 1,000 | 0.013 |
| an interval, wider | normal, n = 10 | 1.000 | – | 1,000 | 0.007 |
| an error | tied, n = 10 | 0.060 | ≤ 0.05 | 1,000 | 0.008 |
"""


def test_numbers_follow_from_the_worst_row():
    found = findings(TABLE)
    assert headline(found, "worst", "an interval", None) == ".80"
    assert headline(found, "worst", "an interval", "normal") == ".95"
    assert headline(found, "most", "an interval", "not exponential") == ".96"
    assert headline(found, "worst", "an interval, w*", None) == "1.00"
    with pytest.raises(LookupError, match="no row of 'another'"):
        headline(found, "worst", "another", None)
    assert updated("in .99<!-- worst: an interval --> or more", found) == "in .80<!-- worst: an interval --> or more"


def test_a_page_of_a_topic_is_read_as_it_was_written():
    assert findings(section("gates", findings(TABLE))) == findings(TABLE)
    assert section("gates", findings(TABLE)).endswith(TABLE.partition("---|\n")[2])


def test_the_front_page_has_the_worst_row_of_every_claim():
    made = front({"gates": findings(TABLE)})
    link = "[Gates](calibration/equivalence.md#gates)"
    worst = f"| an interval | ≥ 0.95 | **0.801** | exponential, n = 10 | {link} |\n| an error | ≤ 0.05 | 0.060 |"
    short, _, rest = made.partition("## The worst row of every claim")
    assert f"| an interval | ≥ 0.95 | **0.801** | exponential, n = 10 | 1 of 2 | {link} |" in short
    assert "Of 3 rows with a claim, 1 " in short
    assert "an error" not in short
    assert worst in rest
    assert (
        f"| an interval, wider | 1.000 | 1.000 | 1 | normal, n = 10 | {link} |" in rest.partition("## Not claimed")[2]
    )


def test_the_front_page_is_made_from_the_pages_of_topics():
    assert FRONT.read_text(encoding="utf-8") == front(found()), "run python -m tests.calibration SECTION"


def test_every_section_has_one_page_and_is_there():
    names = [name for _, *names in TOPICS.values() for name in names]
    assert sorted(names) == sorted(CLAIMS)
    assert list(found()) == names


@pytest.mark.parametrize("page", [page for page in pages() if MARK.search(page.read_text(encoding="utf-8"))])
def test_every_marked_number_is_that_of_calibration(page):
    text = page.read_text(encoding="utf-8")
    assert updated(text, rows()) == text, "run python -m tests.calibration, or correct the sentence"


def test_the_overview_of_methods_is_marked_throughout():
    """Each line of "Which method?" ends with numbers that are marked, or with none."""
    text = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    lines = text.partition("## Which method?")[2].partition("\n## ")[0].splitlines()
    cells = [line.strip("|").split("|")[-1] for line in lines if line.startswith("| ")][1:]
    assert len(cells) > 12
    for cell in cells:
        assert not re.search(r"(?<!\d)\.\d\d", MARK.sub("", cell)), cell


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_sentences_that_refer_to_calibration_are_marked(page):
    for sentence in re.split(r"(?<=[.;:])\s+(?=[A-Z*`])", MARK.sub("", page.read_text(encoding="utf-8"))):
        if "(calibration" in sentence and "|" not in sentence:
            assert not re.search(r"(?<![\d\w])\.\d\d", sentence), sentence


def test_docstrings_state_no_coverage_of_their_own():
    """A docstring that tells how often something held refers to the page, whose numbers are tested."""
    for source in (ROOT / "src").rglob("*.py"):
        for sentence in re.findall(r'"""(.*?)"""', source.read_text(encoding="utf-8"), re.DOTALL):
            assert not re.search(r"(?:held|holds|covers?|coverage)\b[^.]{0,40} \.\d\d", sentence), (source, sentence)
