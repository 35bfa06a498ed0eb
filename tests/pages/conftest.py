"""Pages in a real browser: the system's Chromium, driven by Playwright; without it these tests are skipped."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="pages are tested with Playwright")
    if CHROMIUM is None:
        pytest.skip("pages are tested in Chromium, which is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


def serious(page, without=()):
    """List what axe-core finds wrong with a page, however slightly, without some of its rules."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core checks accessibility")
    options = {"preload": False, "rules": {rule: {"enabled": False} for rule in without}}
    rules = axe.Axe().run(page, options=options).response
    looked_at = {entry["id"] for entry in (*rules["passes"], *rules["violations"])}
    assert ("color-contrast" in looked_at) == ("color-contrast" not in without)
    return [(entry["id"], node["html"]) for entry in rules["violations"] for node in entry["nodes"]]


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.slow)])
def seen(request, browser):
    """A page in the light or the dark theme, and what is wrong with it: contrast is among it."""
    context = browser.new_context(color_scheme=request.param)
    made = context.new_page()
    yield made, lambda *without: serious(made, without)
    context.close()


@pytest.fixture
def page(browser):
    """A page that notes every request, and every error of a script or of the page's policy."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    made = context.new_page()
    made.troubles, made.requests = [], []
    made.on("pageerror", lambda error: made.troubles.append(str(error)))
    made.on("console", lambda message: made.troubles.append(message.text) if message.type == "error" else None)
    made.on("request", lambda request: made.requests.append(request.url))
    yield made
    context.close()
