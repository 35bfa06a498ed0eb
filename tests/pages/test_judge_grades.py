"""Grading in a real browser: by keys and by pointer, beside pairs."""

import pytest

from rankdev.data.database import read_given_grades
from rankdev.judging.strategies import Scale
from tests.judging.serving import ROWS
from tests.judging.test_grading import grading
from tests.pages.test_judge import begin, changed, press

LABELS = Scale.parse("0=not relevant,1=partly,3=fully")


def given(server):
    return read_given_grades(server.session.store.path).select("query", "item", "grade", "comment").rows()


@pytest.fixture
def server(tmp_path):
    with grading(tmp_path, scale=LABELS) as made:
        yield made


def test_keys_and_buttons_grade_and_the_end_is_shown(page, server):
    begin(page, server, server.tokens.judge)
    assert page.locator("#answers button").all_text_contents() == ["0 not relevant", "1 partly", "3 fully"]
    titles = {(row["query"], row["item"]): row.get("title", row["item"]) for row in ROWS}
    for number, key in enumerate(["3", "0", "s", "1"]):
        shown = page.text_content("#first > :first-child")
        press(page, key)
        assert page.text_content("#saved") == "saved"
        query, item, grade, _ = given(server)[number]
        assert (titles[query, item], grade) == (shown, {"3": 3, "0": 0, "s": None, "1": 1}[key])
    page.keyboard.press("2")  # no grade of this scale
    shown = page.text_content("#first > :first-child")
    press(page, "0")
    press(page, "u")
    assert page.text_content("#first > :first-child") == shown
    assert len(given(server)) == 4
    page.fill("#comment", "3 of 4")
    changed(page, lambda: page.click("[data-outcome='1']"))
    assert given(server)[4][2:] == (1, "3 of 4")
    assert page.text_content("#progress") == "5 of 8 done"  # the skipped item is left for others
    press(page, "3")
    press(page, "3")
    page.wait_for_selector("#done:not([hidden])")
    assert len(given(server)) == 7
    assert page.troubles == []


def test_pairs_and_grades_are_beside_each_other(seen, server):
    page, found = seen
    begin(page, server, server.tokens.owner)
    assert found() == []
    press(page, "3")
    page.click("[data-mode=pairs]")
    page.wait_for_selector("#second", state="visible")
    assert page.locator("[data-outcome='3']").count() == 0
    page.click("[data-mode=grades]")
    page.wait_for_selector("#second", state="hidden")
    assert page.locator("[data-outcome=first]").count() == 0
    page.click("#history summary")
    page.wait_for_selector("#past select")
    page.select_option("#past select", "1")
    page.click("#past button")
    page.wait_for_function("() => document.getElementById('saved').textContent === 'changed'")
    assert [grade for _, _, grade, _ in given(server)] == [1]


LONG = [{"query": "q", "item": f"d{k}", "title": f"Title {k}", "text": "A line.\n" * 80} for k in range(8)]
WORDS = "useless,not relevant,marginally relevant,fairly relevant,relevant,highly relevant,perfectly relevant,ideal"


@pytest.mark.parametrize("scale", ["0-9", WORDS])
def test_a_phone_grades_by_tapping_and_hides_nothing_of_an_item(scale, browser, tmp_path):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    with grading(tmp_path, LONG, scale=Scale.parse(scale)) as server:
        phone = begin(context.new_page(), server, server.tokens.judge)
        phone.wait_for_function("() => wasSeen()")
        phone.tap("#first h2")
        assert given(server) == []
        phone.evaluate("scrollTo(0, 1e6)")
        phone.wait_for_function(
            "() => byId('history').getBoundingClientRect().bottom <= byId('answer-bar').getBoundingClientRect().top"
        )
        changed(phone, lambda: phone.tap("[data-outcome='3']"))
        assert len(given(server)) == 1
        assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
