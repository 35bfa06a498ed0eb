"""Long names on a page are shortened where they agree, never to the same text; tables are saved with names in full."""

import csv
import io
import random
import re

import pytest

import rankdev as rd
from rankdev.errors import printable
from rankdev.html_report._views import short_names
from tests.pages.test_report import DEMO, HOSTILE, LAY_OUT, MEASURES, cells, demo, html, inputs, show  # noqa: F401

TABLES = ["board", "scores", "matrix", "pair", "losses", "segments", "rows", "agreement"]
LONG = "bm25-rm3-then-monot5-reranked-by-duot5-with-a-very-long-description-of-every-setting-of-the-run"


def families(rng):
    """Draw names that share beginnings and ends, of any script and length."""
    alphabet = rng.choice(["ab", "ab-_./", "añ漢字🙂", "a\u202e\u200bb\\u", "xyz 0123"])
    word = lambda most: "".join(rng.choices(alphabet, k=rng.randint(0, most)))  # noqa: E731
    start, end = word(rng.choice([0, 5, 200])), word(rng.choice([0, 5, 200]))
    names = [start + word(rng.choice([1, 3, 60])) + end for _ in range(rng.randint(1, 70))]
    return list(dict.fromkeys(name for name in names if name)) or ["a"]


def test_short_names_differ():
    rng = random.Random(0)
    for names in (families(rng) for _ in range(400)):
        short = short_names(names)
        assert len({short.get(name, name) for name in names}) == len(names)
        assert all(text == printable(name) or "…" in text for name, text in short.items())
    long = [f"bm25-rm3-then-{name}-with-all-that-is-known" for name in ("monot5-k-100", "monot5-k-1000")]
    assert ["-k-100-" in one for one in short_names(long).values()] == [True, False]


@pytest.mark.parametrize(("width", "media"), [(390, "screen"), (1100, "screen"), (680, "print")])
def test_no_two_systems_have_the_same_text(show, page, width, media):  # noqa: F811
    page.set_viewport_size({"width": width, "height": 800})
    references = {f"q{i}": list("abcd") for i in range(8)}
    names = [f"{LONG}-{i}-of-the-same-team-in-the-same-year" for i in range(3)] + HOSTILE[:4]
    runs = {name: {query: list("abcd")[i % 4 :] for query in references} for i, name in enumerate(names)}
    show(rd.report(references, runs, ["RDQ@4", "AP@4"]).html, "#query=q1")
    page.emulate_media(media=media)
    full = page.locator("#making").text_content()
    assert all(name in full for name in names[:3])
    for table in ("board", "scores", "matrix", "losses"):
        shown = page.eval_on_selector_all(f"#{table} tbody th bdi", "all => all.map(one => one.innerText)")
        assert len(shown) == len(set(shown)) == len(names)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(page.inner_text("#conclusion")) < 500


def saved(page, button):
    """Click, and return the name and content of the file; a browser allows a page few downloads in a row."""
    page.evaluate("() => { save = (name, content) => { window.kept = [name, content] } }")
    button.click()
    return page.evaluate("async () => [kept[0], await kept[1].text()]")


def test_every_table_is_saved_as_csv_and_latex(show, inputs):  # noqa: F811
    references, runs = inputs
    names = {name: f"{LONG}-{name}" for name in DEMO} | {"nearest": '=1+1 "quoted", 50% & {_$'}
    made = rd.report(references, {names[name]: run for name, run in runs.items()}, MEASURES, segments={"museums": "x"})
    page = show(made.html, f"#search=-&a={names['blended']}&b={names['popular']}")
    buttons = page.locator("main button.tool:visible:has-text('CSV')")
    tables = page.locator("main table:visible")
    found = [saved(page, buttons.nth(i)) for i in range(buttons.count())]
    names_of = tables.evaluate_all("all => all.map(one => `${one.id}.csv`)")
    assert [name for name, _ in found] == names_of
    assert {*names_of} == {f"{one}.csv" for one in TABLES}
    for _, text in found:
        rows = list(csv.reader(io.StringIO(text)))
        assert len({len(row) for row in rows}) == 1
        assert len(rows) > 1
    scores = rd.evaluate(references, runs, MEASURES).sorted_by("RDQ@5")
    _, text = saved(page, page.get_by_label("Save the table scores as CSV"))
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["System", *MEASURES]
    assert [row[0] for row in rows[1:]] == ["'" * (s == "nearest") + names[s] for s in scores.systems]
    assert [row[1].split()[0] for row in rows[1:]] == [f"{value:.4f}" for value in scores.means[:, 0]]
    _, latex = saved(page, page.get_by_label("Save the table scores as LaTeX"))
    assert latex.count("\\\\\n") == 4
    assert '=1+1 "quoted", 50\\% \\& \\{\\_\\$' in latex
    assert "\\textbf{" in latex
    assert re.search(r"\\begin\{tabular\}\{lrrr\}", latex)
