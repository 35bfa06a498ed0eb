"""No script of a page is left out of what `make check` checks."""

from tests.pages.scripts import PAGES, SHARED, WEB


def test_every_script_belongs_to_a_page():
    assert {path for scripts in PAGES.values() for path in scripts} == {*SHARED.glob("*.js"), *WEB.glob("*.js")}
    assert all(
        path.read_text(encoding="utf-8").startswith("// @ts-check\n")
        for path in (*SHARED.glob("*.js"), *WEB.glob("*.js"))
    )
