"""The judging page in other languages: every text comes from one file."""

import json

import pytest

from rankdev.judging import page as module
from rankdev.judging.page import texts_of
from tests.judging.serving import ROWS, serving
from tests.judging.test_grading import grading
from tests.pages.test_judge import begin, press

SEEN = """() => {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const parent = walk.currentNode.parentElement;
        if (!parent.closest("#owner, script, noscript, kbd, time")) found.push(walk.currentNode.textContent.trim());
    }
    for (const part of document.body.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
        if (!part.closest("#owner"))
            for (const name of ["aria-label", "title", "placeholder", "alt"]) found.push(part.getAttribute(name) ?? "");
    return [document.title, ...found];
}"""


@pytest.fixture
def wrapped(monkeypatch):
    """English, every text in brackets."""

    def bracketed(language):
        return json.loads(
            json.dumps(texts_of(language)), object_pairs_hook=lambda pairs: {k: mark(v) for k, v in pairs}
        )

    def mark(text):
        return f"⟦{text}⟧" if isinstance(text, str) else text

    module.html.cache_clear()
    monkeypatch.setattr(module, "texts_of", bracketed)
    yield
    module.html.cache_clear()


def outside(page):
    """Texts of the page that are neither from the file nor from the items."""
    content = {str(value) for row in ROWS for value in row.values()} | {"ann", "0", "1", "2", "3"}
    bare = []
    for text in page.evaluate(SEEN):
        rest = "".join(part.rpartition("⟧")[2] for part in text.split("⟦")) if "⟦" in text else text
        bare += [text] if rest.strip() and not any(rest.strip() in known for known in content) else []
    return bare


def test_no_text_is_outside_the_file(page, tmp_path, wrapped):
    with grading(tmp_path) as server:
        page.goto(server.link(server.tokens.judge))
        assert outside(page) == []
        page.fill("#name", "ann")
        page.press("#name", "Enter")
        page.wait_for_selector("#question:not([hidden])")
        page.keyboard.press("?")
        page.wait_for_selector("#keys[open]")
        assert outside(page) == []
        page.keyboard.press("Escape")
        page.click("[data-mode=pairs]")
        page.wait_for_selector("#second", state="visible")
        assert outside(page) == []
        press(page, "ArrowLeft")
        page.click("#history summary")
        page.wait_for_selector("#past select")
        assert outside(page) == []
        page.click("#history summary")
        page.focus("#title")  # a key in the history answers nothing
        press(page, "u")
        assert outside(page) == []
        for _ in range(9):
            press(page, "ArrowLeft")
        page.wait_for_selector("#done:not([hidden])")
        assert outside(page) == []
        assert page.troubles == []


def test_a_german_browser_is_shown_german(browser, tmp_path):
    context = browser.new_context(locale="de-DE")
    with serving(tmp_path) as server:
        page = begin(context.new_page(), server, server.tokens.judge)
        assert page.text_content("#title") == "Was ist besser?"
        press(page, "ArrowLeft")
        assert page.text_content("#saved") == "gespeichert"
        page.goto("about:blank")
        page.goto(server.link("wrong"))
        page.wait_for_function("() => document.getElementById('problem').textContent.includes('unvollständig')")
    context.close()
