"""The judging page in a real browser: by keys and by pointer, as judge and as owner."""

import base64
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from importlib.resources import files

import pytest

import rankdev as rd
from rankdev.data.database import read_answers
from tests.judging.serving import ROWS, serving, written
from tests.judging.test_grading import grading


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def opened(page, server):
    yield begin(page, server, server.tokens.judge)
    assert page.troubles == []
    origin = server.link("").partition("#")[0]
    assert all(url.startswith((origin, "data:,")) for url in page.requests)


def begin(page, server, token, name="ann"):
    page.goto(server.link(token))
    page.fill("#name", name)
    page.press("#name", "Enter")
    page.wait_for_selector("#question:not([hidden])")
    return page


def changed(page, act):
    """Do something that brings the next question."""
    page.wait_for_function("() => wasSeen()")
    page.evaluate("window.before = state.question")
    act()
    page.wait_for_function("() => state.question !== window.before && !state.busy")


def shown(page):
    return tuple(page.text_content(f"#{side} > :first-child") for side in ("first", "second"))


def said(server):
    return server.session.store.answers().select("query", "first", "second", "outcome", "worker", "comment").rows()


def press(page, key):
    changed(page, lambda: page.keyboard.press(key))


def test_keys_answer_and_the_page_says_saved(opened, server):
    for count, (key, outcome) in enumerate(
        [("ArrowLeft", "first"), ("ArrowRight", "second"), ("ArrowDown", "tie"), ("s", "skip"), ("e", "tie")], 1
    ):
        before = shown(opened)
        press(opened, key)
        assert opened.text_content("#saved") == "saved"
        query, first, second, kept, worker, _ = said(server)[-1]
        titles = {(row["query"], row["item"]): row.get("title", row["item"]) for row in ROWS}
        assert (titles[query, first], titles[query, second]) == before
        assert (kept, worker, len(said(server))) == (outcome, "ann", count)
        assert re.fullmatch(rf"{count} of (about )?\d+ done", opened.text_content("#progress"))


def test_a_pointer_answers_and_a_comment_is_kept(opened, server):
    opened.fill("#comment", "hard to tell")
    opened.press("#comment", "ArrowLeft")  # moves in the text, and answers nothing
    assert said(server) == []
    opened.wait_for_function("() => wasSeen()")
    opened.click("text=Equally good")
    opened.wait_for_function("() => document.getElementById('saved').textContent === 'saved'")
    assert said(server)[0][3::2] == ("tie", "hard to tell")


LONG = [{"query": "q", "item": f"d{k}", "title": f"Title {k}", "text": "A line.\n" * (80 + k)} for k in range(8)]
LINES = [1 + 3 * (k % 6) for k in range(30)]  # none fills the screen, so that heights differ
MANY = [{"query": "q", "item": f"d{k:02}", "text": "A line.\n" * count} for k, count in enumerate(LINES)]


def test_a_double_click_is_one_answer(page, tmp_path):
    with serving(tmp_path, MANY, least=0.4) as server:
        begin(page, server, server.tokens.judge)
        # the second click comes 50 ms after the next pair is shown, if the machine is as fast as that
        page.evaluate("""() => {
            window.slips = window.tried = 0;
            const fresh = showQuestion;
            showQuestion = (reply) => {
                fresh(reply);
                setTimeout(() => {
                    window.tried += 1;
                    if (performance.now() - state.since > LEAST - 100) return;
                    window.slips += 1;
                    document.querySelector("[data-outcome=first]").click();
                    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
                }, 50);
            };
        }""")
        for count in range(1, 7):
            changed(page, lambda: page.click("[data-outcome=first]"))
            page.wait_for_function("count => window.tried === count && !state.busy", arg=count)
            assert len(said(server)) == count
        assert page.evaluate("window.slips") > 0
        page.evaluate("byId('undo').click()")
        page.wait_for_function("() => document.getElementById('saved').textContent === 'undone' && !state.busy")
        page.evaluate("() => { if (performance.now() - state.undone < LEAST - 100) byId('undo').click() }")
        page.wait_for_function("() => !state.busy")
        assert len(said(server)) == 5
        assert page.troubles == []


def test_two_tabs_of_one_judge_show_different_pairs(browser, server):
    context = browser.new_context()
    tabs = [begin(context.new_page(), server, server.tokens.judge) for _ in range(3)]
    for _ in range(2):
        assert len({frozenset(shown(tab)) for tab in tabs}) == 3
        for tab in tabs:
            tab.bring_to_front()
            press(tab, "ArrowLeft")
    assert len({(row[0], frozenset(row[1:3])) for row in said(server)}) == len(said(server)) == 6
    context.close()


def test_reading_is_not_answering(page, tmp_path):
    with serving(tmp_path, LONG) as server:
        begin(page, server, server.tokens.judge)
        page.wait_for_function("() => wasSeen()")
        page.click("#first .text")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "PageDown", "Shift+ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        page.wait_for_function("() => scrollY > 0")
        page.dblclick("#second .text", position={"x": 20, "y": 200})  # selects a word
        assert page.evaluate("String(getSelection())").strip()
        page.click("#second h2")
        page.keyboard.press("ArrowDown")
        page.wait_for_function("() => !state.busy")
        assert said(server) == []
        press(page, "e")
        assert said(server)[0][3] == "tie"


@contextmanager
def commanded(folder):
    """The command itself, in a process of its own; its links."""
    command = [sys.executable, "-c", "from rankdev.cli import main; main()", "judge", "items.jsonl", "--db", "j.sqlite"]
    process = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=folder)
    yield [process.stdout.readline().split()[1] for _ in range(2)]
    process.kill()
    process.communicate()


def test_an_open_tab_goes_on_after_a_restart(page, tmp_path):
    written(tmp_path / "items.jsonl")
    with commanded(tmp_path) as links:
        page.goto(links[0])
        page.fill("#name", "ann")
        page.press("#name", "Enter")
        page.wait_for_selector("#question:not([hidden])")
        press(page, "ArrowLeft")
        before = shown(page)
    page.wait_for_function("() => wasSeen()")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.getElementById('problem').textContent.includes('not saved')")
    with commanded(tmp_path) as again:
        assert again == links
        assert shown(page) == before
        press(page, "ArrowRight")
        assert page.text_content("#problem") == ""
    titles = {(row["query"], row["item"]): row.get("title", row["item"]) for row in ROWS}
    query, *items, outcome = read_answers(tmp_path / "j.sqlite").select("query", "first", "second", "outcome").row(-1)
    assert (tuple(titles[query, item] for item in items), outcome) == (before, "second")


def test_images_are_shown_before_a_pair_can_be_answered(page, tmp_path):
    data = b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    (tmp_path / "a.png").write_bytes(base64.b64decode(data))
    held = []
    page.route("https://p.example/*", lambda route: held.append(route))  # noqa: PLW0108 (it is marked by Playwright)
    images = ("a.png", "https://p.example/x.png")
    with serving(tmp_path, [{"query": "q", "item": image, "image": image} for image in images]) as server:
        begin(page, server, server.tokens.owner, "eve")
        for _ in range(500):
            if len(held) < 1:
                page.wait_for_timeout(20)  # in which Playwright calls the route
        page.wait_for_timeout(600)  # longer than a pair without images has to be seen
        page.keyboard.press("ArrowLeft")
        assert not page.evaluate("wasSeen()")
        assert len(held) == 1
        held[0].fulfill(body=base64.b64decode(data), content_type="image/png")
        widths = "() => [...document.querySelectorAll('.side img')].map((image) => image.naturalWidth).join()"
        page.wait_for_function(f"() => ({widths})() === '1,1'")
        press(page, "ArrowLeft")
        page.wait_for_selector("#done:not([hidden]), #question:not([hidden])")
        assert len(said(server)) == 1
        assert not [url for url in page.requests if server.tokens.owner in url.partition("#")[0]]
    assert page.troubles == []


def test_text_is_text(opened, server):
    for _ in range(8):
        if "<script>document.title='owned'</script>" in shown(opened):
            break
        press(opened, "ArrowLeft")
    assert "<script>document.title='owned'</script>" in shown(opened)
    assert opened.locator(".side script, .side b, .side img").count() == 0
    assert opened.title() == "Which is better?"


def test_the_owner_needs_no_name_to_see_results(page, server):
    page.goto(server.link(server.tokens.owner))
    page.click("text=Results")
    page.wait_for_selector("#found li >> text=no judgments yet")
    page.click("[data-mode=pairs]")
    page.goto("about:blank")
    page.goto(server.link(server.tokens.judge))
    page.wait_for_selector("#who:not([hidden])")
    assert page.locator("[data-mode=owner]").is_hidden()
    assert page.troubles == []


def test_a_name_of_somebody_else_is_refused(browser, page, server):
    begin(page, server, server.tokens.judge)
    press(page, "ArrowLeft")
    context = browser.new_context()
    other = context.new_page()
    other.goto(server.link(server.tokens.judge))
    other.fill("#name", "Ann")
    other.press("#name", "Enter")
    other.wait_for_function("() => document.getElementById('problem').textContent.includes('another browser')")
    assert other.locator("#who").is_visible()
    assert other.locator("#history").is_hidden()
    context.close()


def test_the_owner_sees_tiers_and_exports(page, server, tmp_path):
    begin(page, server, server.tokens.owner, "eve")
    for _ in range(6):
        press(page, "ArrowLeft")
    page.click("text=Results")
    page.wait_for_selector("#found .card")
    assert page.locator("#judges tbody tr > *").all_text_contents()[::2][:2] == ["eve", "6"]
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
    page.wait_for_selector("#question:not([hidden])")
    assert found() == []
    press(page, "ArrowLeft")
    page.click("text=Results")
    page.wait_for_selector("#found .card")
    assert found() == []


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


def test_no_text_of_the_template_is_outside_the_file():
    template = files("rankdev.judging").joinpath("assets/judge.html").read_text(encoding="utf-8")
    of_judges = re.sub(r'<section id="owner".*?</section>|<kbd>.*?</kbd>|<script.*?</script>', "", template, flags=re.S)
    attributes = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', of_judges)
    assert {re.sub(r"{{\w+}}", "", text).strip() for text in [*attributes, *re.split(r"<[^>]*>", of_judges)]} == {""}


def test_guidelines_are_beside_the_pair_until_they_are_folded(page, tmp_path):
    with serving(tmp_path, guidelines="# What counts\n\n[a page](https://example.org/a) <b>bold</b>") as server:
        begin(page, server, server.tokens.judge)
        box, pair = page.locator("#guide").bounding_box(), page.locator("#second").bounding_box()
        assert box["x"] >= pair["x"] + pair["width"]
        assert page.locator("#guidelines h1").text_content() == "What counts"
        assert page.locator("#guidelines b").count() == 0
        assert page.get_attribute("#guidelines a", "rel") == "noopener noreferrer"
        page.click("#guide summary")
        page.wait_for_function("() => localStorage.getItem('guide') === 'folded'")
        page.reload()
        begin(page, server, server.tokens.judge)
        assert not page.locator("#guidelines").is_visible()
        assert page.troubles == []
