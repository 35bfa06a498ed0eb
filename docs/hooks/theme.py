"""What the theme leaves out."""

from typing import Any


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let guides come before the tables of simulations in the search."""
    if page.file.src_uri.startswith("calibration/"):
        page.meta["search"] = {"boost": 0.2}
    return markdown


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
