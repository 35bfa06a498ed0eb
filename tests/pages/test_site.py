"""The site, built from docs/ and opened from its folder: nothing overflows, links lead somewhere, all can read it."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.pages.conftest import serious

ROOT = Path(__file__).parents[2]
FEW = ("index", "files", "measures", "api/evaluation", "commands/everyday", "notebooks/recommendation")
OWN_TESTS = ("playground.html", "gallery/")  # pages of one file, which have tests of their own
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (box) => box && box !== document.body &&
    (["auto", "scroll", "hidden"].includes(getComputedStyle(box).overflowX) || scrolls(box.parentElement));
  const wide = [...document.querySelectorAll("article *")].filter((element) =>
    element.getBoundingClientRect().right > width + 1 && !scrolls(element));
  return [document.documentElement.scrollWidth > width, ...wide.map((element) => element.outerHTML.slice(0, 80))];
}"""
SCROLLING = """[...document.querySelectorAll("article pre > code, article .md-typeset__scrollwrap")].filter((box) =>
  box.checkVisibility() && box.scrollWidth > box.clientWidth)"""
REACHABLE = f"() => {SCROLLING}.every((box) => box.tabIndex === 0)"  # a moment after a page changes its width
LINKS = "() => [...document.links].map((link) => link.href)"
IDS = "() => [...document.querySelectorAll('[id]')].map((element) => element.id)"
SLOW_RULES = ("color-contrast", "link-in-text-block")  # they depend on the style sheet, not on the page
THEIRS = ("empty-table-header", "landmark-unique")  # what Markdown and the theme make of every page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site; built once, whichever process needs it first."""
    pytest.importorskip("material", reason="the site is made with Material for MkDocs")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            build(folder.with_suffix(".new")).rename(folder)
    return folder


def build(folder):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # not one warning
    return folder


def walk(site, page, paths):
    """Open pages as on a desk and on a phone, and return all that is wrong."""
    wrong, links, ids = [], {}, {}
    for path in paths:
        name = path.relative_to(site).as_posix()
        page.set_viewport_size({"width": 1280, "height": 844})
        page.goto(path.as_uri())
        links[name], ids[path.as_uri()] = page.evaluate(LINKS), page.evaluate(IDS)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            wrong += [(name, width, wide) for wide in [page.evaluate(TOO_WIDE)] if wide != [False]]
        if not name.startswith(OWN_TESTS):
            page.wait_for_function(REACHABLE)
            wrong += [(name, *finding) for finding in serious(page, (*SLOW_RULES, *THEIRS))]
    wrong += [(name, href) for name, hrefs in links.items() for href in hrefs if not leads_somewhere(href, ids)]
    return wrong + page.troubles + [request for request in page.requests if not request.startswith(("file:", "data:"))]


def leads_somewhere(href, ids):
    if not href.startswith("file:"):
        return href.startswith(("https://", "mailto:", "javascript:"))
    target, anchor = urldefrag(href)
    if not Path(unquote(target.removeprefix("file://"))).is_file():
        return False
    known = ids.get(target)  # None: a page that is not opened here
    return not anchor or known is None or unquote(anchor) in known or "=" in anchor


def test_few_pages(site, page):
    assert walk(site, page, [site / f"{name}.html" for name in FEW]) == []


@pytest.mark.slow
def test_every_page(site, page):
    every = sorted(path for path in site.rglob("*.html") if path.name != "404.html")  # its links start at the server
    assert walk(site, page, every) == []


def test_colours_have_contrast(site, seen):
    page, found = seen
    page.goto((site / "measures.html").as_uri())
    assert found(*THEIRS) == []


def test_search_works_from_a_folder(site, page):
    page.goto((site / "api/data.html").as_uri())
    page.locator(".md-search__input").press_sequentially("carousel")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    first.click()
    page.wait_for_url(lambda url: "api/data.html" not in url)
    assert "carousel" in page.locator("article").inner_text()
    assert page.troubles == []


def test_copies_leave_out_prompts_and_output(site, browser):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto((site / "five-minutes.html").as_uri())
    block = page.locator(".highlight", has_text="$ grep ferry blended").first
    block.hover()
    block.locator("button").first.click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.includes('grep'))")
    assert page.evaluate("navigator.clipboard.readText()").strip() == "grep ferry blended.run"
    context.close()
