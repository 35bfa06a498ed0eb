"""The judging page of a team, in a real browser: links, earlier answers, and what the owner sees of judges."""

import pytest

from rankdev.judging.store import Answer
from tests.judging.serving import serving
from tests.pages.test_judge import begin, press, said


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


def test_the_owner_makes_a_link_and_revokes_it(browser, seen, server):
    page, found = seen
    begin(page, server, server.tokens.owner, "eve")
    page.click("text=Results")
    page.click("text=Links of judges")
    page.wait_for_function(
        "link => document.getElementById('common-link').textContent === link", arg=server.link(server.tokens.judge)
    )
    page.fill("#new-judge", "<b>ann</b>")
    page.press("#new-judge", "Enter")
    page.wait_for_selector("#links tbody code")
    assert page.text_content("#links tbody th") == "<b>ann</b>"
    assert found() == []
    context = browser.new_context()
    ann = context.new_page()
    ann.goto(page.text_content("#links tbody code"))
    ann.wait_for_selector("#question:not([hidden])")
    assert ann.locator("#who").is_hidden()
    press(ann, "ArrowLeft")
    page.uncheck("#common")
    page.wait_for_function("() => document.getElementById('common-link').textContent === ''")
    page.click("#links button")
    page.wait_for_selector("#links td >> text=revoked")
    ann.wait_for_function("() => wasSeen()")
    ann.keyboard.press("ArrowLeft")
    ann.wait_for_function("() => document.getElementById('problem').textContent.includes('no longer valid')")
    assert ann.text_content("#saved") == ""
    assert [row[4] for row in said(server)] == ["<b>ann</b>"]
    ann.reload()
    ann.wait_for_function("() => document.getElementById('problem').textContent.includes('no longer valid')")
    context.close()


def test_an_earlier_answer_is_changed(seen, server):
    page, found = seen
    begin(page, server, server.tokens.judge)
    for _ in range(2):
        press(page, "ArrowLeft")
    page.click("#history summary")
    page.wait_for_function("() => document.querySelectorAll('#past select').length === 2")
    assert found() == []
    older = page.locator("#past li").nth(1)
    assert older.locator("button").is_disabled()  # until there is something to change
    older.locator("select").press("ArrowRight")  # the key belongs to the list, not to the pair above
    older.locator("select").select_option("tie")
    older.locator("input").fill("on second thoughts")
    older.locator("button").click()
    page.wait_for_function("() => document.getElementById('saved').textContent === 'changed'")
    assert [row[3:] for row in said(server)] == [("first", "ann", ""), ("tie", "ann", "on second thoughts")]
    page.wait_for_function("() => document.querySelector('#past select').value === 'tie'")
    page.focus("[data-outcome=skip]")
    page.keyboard.press("u")
    page.wait_for_function("() => document.getElementById('saved').textContent === 'undone'")
    assert [row[3:] for row in said(server)] == [("first", "ann", "")] * 2  # what it was before it was changed


MANY = [{"query": f"q{q}", "item": f"d{k}"} for q in range(4) for k in range(8)]


def test_the_owner_sees_what_answers_say_about_judges(browser, seen, tmp_path):
    owner, found = seen
    names = ["ann", "=cy()"]
    with serving(tmp_path, MANY, repeats=2) as server:
        server.change(lambda tokens: tokens.with_links(names))
        for k in range(30):
            about = (f"q{k % 4}", f"d{k % 7}", "d7")
            server.session.store.add(f"s{k}", Answer(*about, "first", "always left", seconds=0.6))
        tabs = []
        for name in names:
            tab = browser.new_context().new_page()
            tab.goto(server.link(server.tokens.personal[name]))
            tab.wait_for_selector("#question:not([hidden])")
            tabs.append(tab)
        for key in ("ArrowLeft", "ArrowRight", "s"):
            for tab in tabs:
                press(tab, key)
        begin(owner, server, server.tokens.owner, "eve")
        owner.click("text=Results")
        owner.wait_for_function("() => document.querySelectorAll('#judges tbody tr').length === 3")
        rows = [row.locator("> *").all_text_contents() for row in owner.locator("#judges tbody tr").all()]
        assert sorted(row[0] for row in rows) == sorted([*names, "always left"])
        noticed = {row[0]: row[1] for row in rows}
        assert "prefers the left" in noticed["always left"]
        assert "took less than 1 second" in noticed["always left"]
        assert noticed["ann"] == "too few answers to tell (3 answers)"
        assert [row[2:4] for row in rows if row[0] == "ann"] == [["3", "1"]]
        assert found() == []
        for tab in tabs:
            tab.context.close()
