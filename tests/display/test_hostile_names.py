"""Names from outside come out of every format as the text that they are."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest
from markdown_it import MarkdownIt

from rankdev.data.formats import spreadsheet_safe
from rankdev.display.encodings import FORMATS, fragment
from rankdev.display.report import Report, Table
from rankdev.errors import printable

HOSTILE = [
    *("[5pt]", "*", "[bold]x[/bold]", "*x*", "_x_", "`x`", "a|b", "a\\|b", "$x^2$", "$$x$$", "#1", "~x~", "a\\"),
    *("<script>alert(1)</script>", "&amp;", "![i](http://x)", "%c", "{x}", "\\input{x}", "a & b", "x~y", "\\\\[9pt]"),
    *("=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "a,b", 'a"b', "a\nb", "\x1b[31mx", "\u202eabc", "\u200b", "\x9b1m"),
]
REPORT = Report(
    pl.DataFrame({"system": HOSTILE, "value": [-1.5] * len(HOSTILE)}),
    [Table(pl.DataFrame({"system": HOSTILE, "value": [-1.5] * len(HOSTILE)}))],
)


def rendered(form: str) -> str:
    return FORMATS[form].encode(REPORT).decode()


def cells_of_page(page: str) -> list[str]:
    class Cells(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.cells: list[str] = []
            self.tags: set[str] = set()

        def handle_starttag(self, tag: str, attributes: object) -> None:
            self.tags.add(tag)
            if tag == "td":
                self.cells.append("")

        def handle_data(self, data: str) -> None:
            if self.cells:
                self.cells[-1] += data

    found = Cells()
    found.feed(page)
    assert not found.tags & {"script", "img", "a", "em", "strong", "code", "s"}
    return [cell.strip() for cell in found.cells[::2]]


SHOWN = [printable(name) for name in HOSTILE]


def test_html() -> None:
    assert cells_of_page(fragment(REPORT)) == SHOWN


def test_markdown() -> None:
    text = rendered("markdown")
    assert cells_of_page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)) == SHOWN
    assert not re.search(r"(?<!\\)\$", text)


def test_latex() -> None:
    back = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"}
    back |= {r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"'}
    lines = rendered("latex").splitlines()
    rows = lines[lines.index("\\midrule") + 1 : lines.index("\\bottomrule")]
    assert not any(row.startswith(("[", "*")) for row in rows)
    cells = [row.rsplit(" & ", 1)[0].removeprefix("{}") for row in rows]
    words = re.compile("|".join(map(re.escape, back)) + r"|\\([&%$#_{}])")
    assert [words.sub(lambda found: found[1] or back[found[0]], cell) for cell in cells] == SHOWN
    for cell in cells:
        assert not re.search(r"(?<!\\)[&%$#_]|[~^<>|]", words.sub("", cell))


@pytest.mark.parametrize(("form", "separator"), [("csv", ","), ("tsv", "\t")])
def test_separated(form: str, separator: str) -> None:
    rows = list(csv.reader(io.StringIO(rendered(form), newline=""), delimiter=separator))
    assert [row[0] for row in rows[1:]] == HOSTILE


def test_json() -> None:
    assert [row["system"] for row in json.loads(rendered("json"))] == HOSTILE
    assert [json.loads(line)["system"] for line in rendered("jsonl").split("\n")[:-1]] == HOSTILE


def test_text() -> None:
    text = rendered("table")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", text)
    assert all(name in text for name in SHOWN)


def test_what_a_spreadsheet_would_run_is_text() -> None:
    safe = spreadsheet_safe(REPORT.rows)
    assert safe["value"].to_list() == REPORT.rows["value"].to_list()
    for before, after in zip(HOSTILE, safe["system"], strict=True):
        assert after == ("'" + before if before[0] in "=+-@\t\r" else before)
