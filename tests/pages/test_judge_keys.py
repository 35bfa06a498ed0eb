"""Keys can be listed and switched off, and what is new is announced."""

from tests.judging.serving import serving
from tests.judging.test_grading import grading
from tests.pages.test_judge import begin, press, said


def listed(page):
    page.wait_for_selector("#keys[open]")
    keys = [key.strip() for key in page.locator("#key-list dt").all_text_contents()]
    return dict(zip(keys, page.locator("#key-list dd").all_text_contents(), strict=True))


def test_a_question_mark_lists_the_keys_of_the_screen(page, tmp_path):
    with grading(tmp_path) as server:
        begin(page, server, server.tokens.judge)
        page.keyboard.press("?")
        assert [*listed(page)] == ["0", "1", "2", "3", "S", "U", "?"]
        page.keyboard.press("3")  # keys do not act on what is behind
        page.keyboard.press("Escape")
        page.wait_for_selector("#keys", state="hidden")
        page.click("[data-mode=pairs]")
        page.wait_for_selector("#second", state="visible")
        page.click("#help")
        keys = listed(page)
        assert keys["←"] == "Left is better"
        assert keys["U"] == "Undo"
        page.click("#keys button")
        assert server.grading.store.given(graded=True) == said(server) == []
        assert page.troubles == []


def test_single_keys_can_be_switched_off_for_good(page, tmp_path):
    with serving(tmp_path) as server:
        begin(page, server, server.tokens.judge)
        page.keyboard.press("?")
        listed(page)
        page.click("#shortcuts")
        page.click("#keys button")
        for _ in range(2):
            page.wait_for_function("() => wasSeen()")
            for key in ("e", "s", "u", "ArrowLeft", "ArrowRight", "?"):
                page.keyboard.press(key)
            assert not page.locator("#keys").is_visible()
            assert page.locator("[data-outcome=first] kbd").is_hidden()
            assert said(server) == []
            page.reload()
            begin(page, server, server.tokens.judge)
        page.wait_for_function("() => wasSeen()")
        page.focus("[data-outcome=first]")
        page.keyboard.press("Enter")  # buttons work by keys as ever
        page.wait_for_function("() => byId('saved').textContent === 'saved'")
        page.click("#help")
        page.click("#shortcuts")
        page.click("#keys button")
        press(page, "e")
        assert [row[3] for row in said(server)] == ["first", "tie"]


def test_new_questions_are_announced_and_focus_is_never_lost(page, tmp_path):
    with serving(tmp_path) as server:
        begin(page, server, server.tokens.judge)
        assert page.evaluate("document.activeElement.id") == "title"
        seen = set()
        for _ in range(9):
            first, second = (page.text_content(f"#{side} > :first-child") for side in ("first", "second"))
            query = page.text_content("#query strong")
            assert page.text_content("#live") == f"Query: {query}. Left: {first}. Right: {second}."
            seen.add(page.text_content("#live"))
            page.focus("[data-outcome=first]")
            press(page, "ArrowLeft")
        assert len(seen) == 9
        page.wait_for_selector("#done:not([hidden])")
        assert page.text_content("#live").startswith("No questions left")
        assert page.evaluate("document.activeElement.id") == "title"
