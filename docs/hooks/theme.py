"""What the theme leaves out."""

from typing import Any


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
