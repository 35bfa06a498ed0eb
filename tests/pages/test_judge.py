"""The judging page in a real browser: by keys and by pointer, as judge and as owner."""

import json

import pytest

import rankdev as rd
from tests.judging.serving import ROWS, serving


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def opened(page, server):
    yield begin(page, server, server.tokens.judge, "ann")
    assert page.troubles == []
    origin = server.link("").partition("#")[0]
    assert all(url.startswith((origin, "data:,")) for url in page.requests)


def begin(page, server, token, name):
    page.goto(server.link(token))
    page.fill("#name", name)
    page.press("#name", "Enter")
    page.wait_for_selector("#pairs:not([hidden])")
    return page


def shown(page):
    return tuple(page.text_content(f"#{side} h2") for side in ("first", "second"))


def said(server):
    return server.session.store.answers().select("query", "first", "second", "outcome", "worker", "comment").rows()


def press(page, key):
    before = page.text_content("#progress")
    page.keyboard.press(key)
    page.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)


def test_keys_answer_and_the_page_says_saved(opened, server):
    for count, (key, outcome) in enumerate(
        [("ArrowLeft", "first"), ("ArrowRight", "second"), ("ArrowDown", "tie"), ("s", "skip")], 1
    ):
        before = shown(opened)
        press(opened, key)
        assert opened.text_content("#saved") == "saved"
        query, first, second, kept, worker, _ = said(server)[-1]
        titles = {(row["query"], row["item"]): row.get("title", row["item"]) for row in ROWS}
        assert (titles[query, first], titles[query, second]) == before
        assert (kept, worker, len(said(server))) == (outcome, "ann", count)
        assert opened.text_content("#progress").startswith(f"{count} by you, {count} in total; ")


def test_undo_asks_again(opened, server):
    before = shown(opened)
    press(opened, "ArrowLeft")
    press(opened, "u")
    assert opened.text_content("#saved") == "undone"
    assert shown(opened) == before
    assert said(server) == []
    press(opened, "ArrowRight")
    assert [row[3] for row in said(server)] == ["second"]


def test_a_pointer_answers_and_a_comment_is_kept(opened, server):
    opened.fill("#comment", "hard to tell")
    opened.press("#comment", "ArrowLeft")  # moves in the text, and answers nothing
    assert said(server) == []
    opened.click("text=Equally good")
    opened.wait_for_function("() => document.getElementById('saved').textContent === 'saved'")
    assert said(server)[0][3::2] == ("tie", "hard to tell")
    before = opened.text_content("#progress")
    opened.click("#second h2")
    opened.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)
    assert said(server)[1][3] == "second"


def test_text_is_text(opened, server):
    for _ in range(8):
        if "<script>document.title='owned'</script>" in shown(opened):
            break
        press(opened, "ArrowLeft")
    assert "<script>document.title='owned'</script>" in shown(opened)
    assert opened.locator(".side script, .side b, .side img").count() == 0
    assert opened.title() == "Which is better?"


def test_words_of_the_query_are_marked(opened):
    for _ in range(8):
        if "A Roman bridge in Mérida" in shown(opened):
            break
        press(opened, "ArrowLeft")
    marks = opened.locator("article", has_text="Guadiana").locator("mark").all_text_contents()
    assert marks == ["Roman", "bridge", "bridge", "Roman"]


def test_the_end_is_shown(opened, server):
    for _ in range(9):
        press(opened, "ArrowLeft")
    opened.wait_for_selector("#done:not([hidden])")
    assert len(said(server)) == 9


def test_a_list_is_put_in_order_by_keys_and_pointer(opened, server):
    opened.click("text=List")
    opened.wait_for_selector("#tiers .card")
    names = opened.locator("#tiers .card").count()
    opened.locator("#tiers .card").nth(0).press("ArrowDown")  # now tied with the second
    assert opened.locator("#tiers li[data-tier='0'] .card").count() == 2
    third = opened.locator("#tiers .card").nth(2)
    item = third.get_attribute("data-item")
    third.drag_to(opened.locator("#tiers li[data-between='0']"))
    assert opened.locator("#tiers li[data-tier='0'] .card").get_attribute("data-item") == item
    opened.click("#save")
    opened.wait_for_function("() => document.getElementById('saved').textContent === 'saved'")
    rows = said(server)
    assert len(rows) == names * (names - 1) // 2
    assert [row[3] for row in rows].count("tie") == 1
    assert all(row[3] == ("first" if row[1] == item else "second") for row in rows if item in row[1:3])


def test_the_owner_sees_tiers_and_exports(page, server, tmp_path):
    begin(page, server, server.tokens.owner, "eve")
    for _ in range(6):
        press(page, "ArrowLeft")
    page.click("text=Results")
    page.wait_for_selector("#found .card")
    assert page.text_content("#judges tbody") == "eve6"
    with page.expect_download() as download:
        page.click("#exports >> text=.jsonl")
    path = tmp_path / "out.jsonl"
    download.value.save_as(path)
    assert len(rd.read_preferences(path)) == 6
    assert json.loads(path.read_text().splitlines()[0])["worker"] == "eve"
    assert page.troubles == []


def test_nothing_serious_stands_between_a_person_and_the_page(seen, server):
    page, found = seen
    page.goto(server.link(server.tokens.owner))
    assert found() == []
    page.fill("#name", "eve")
    page.press("#name", "Enter")
    page.wait_for_selector("#pairs:not([hidden])")
    assert found() == []
    press(page, "ArrowLeft")
    page.click("text=List")
    page.wait_for_selector("#tiers .card")
    assert found() == []
    page.click("text=Results")
    page.wait_for_selector("#found .card")
    assert found() == []


def test_judges_do_not_see_results(opened):
    assert opened.locator("text=Results").is_hidden()


def test_a_wrong_link_is_reported(page, server):
    page.goto(server.link("wrong"))
    page.fill("#name", "ann")
    page.press("#name", "Enter")
    page.wait_for_function("() => document.getElementById('problem').textContent.includes('link')")


def test_nothing_is_called_saved_when_the_server_is_gone(page, server):
    begin(page, server, server.tokens.judge, "ann")
    page.route("**/api/answer", lambda route: route.abort())
    before = shown(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.getElementById('problem').textContent.includes('not saved')")
    assert page.text_content("#saved") == ""
    page.unroute("**/api/answer")
    assert shown(page) == before
    press(page, "ArrowLeft")
    assert len(said(server)) == 1


def test_a_finger_scrolls_a_list_and_drags_by_the_grip(browser, server):
    context = browser.new_context(viewport={"width": 390, "height": 1400}, has_touch=True, is_mobile=True)
    phone = begin(context.new_page(), server, server.tokens.judge, "ann")
    phone.tap("[data-mode=list]")
    phone.wait_for_selector("#tiers .card")

    def orders():
        return [card.get_attribute("aria-label") for card in phone.locator("#tiers .card").all()]

    def moved(start, to):
        boxes = [phone.locator(place).bounding_box() for place in (start, to)]
        (x, y), (_, end) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
        fingers = context.new_cdp_session(phone)
        for kind, at in (("touchStart", y), ("touchMove", (y + end) / 2), ("touchMove", end), ("touchEnd", None)):
            points = [] if at is None else [{"x": x, "y": at}]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    before = orders()
    moved("#tiers li[data-tier='1'] .card", "#tiers li[data-between='0']")
    assert orders() == before
    moved("#tiers li[data-tier='1'] .grip", "#tiers li[data-between='0']")
    phone.wait_for_function("first => document.querySelector('#tiers .card').ariaLabel === first", arg=before[1])
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
