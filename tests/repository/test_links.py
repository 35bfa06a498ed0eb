"""Links in the pages of the repository lead somewhere; those of the site are checked again by ``make docs``."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/[!n]*/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
MADE = re.compile(r"(?:playground|gallery/\w+)\.html")  # by docs/hooks/gallery.py, with the site


def anchors(page):
    """Return the names that a page's headings have on the web."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link or MADE.fullmatch(link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
