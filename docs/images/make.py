"""Draw the README's picture: what `rankdev explain` prints on a terminal, as SVG without outside fonts."""

import io
from importlib.resources import files
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

import rankdev as rd
from rankdev.reporting.door import report_of
from rankdev.reporting.layout import coloured

demo = files("rankdev").joinpath("data/demo")
reference = rd.read_references(str(demo.joinpath("places.jsonl")))["museums"]
ranking = rd.read_run(str(demo.joinpath("nearest.run")))["museums"]

report = report_of(rd.explain(reference, ranking, k=5), query="museums")
console = Console(record=True, width=82, file=io.StringIO(), force_terminal=True, highlight=False)
console.print(Text.from_ansi(report.text(paint=coloured)))
head, rest = CONSOLE_SVG_FORMAT.split("@font-face", 1)
template = (head + rest[rest.index(".{unique_id}-matrix") :]).replace("Fira Code, monospace", "monospace")
svg = console.export_svg(title="rankdev explain", code_format=template, unique_id="explain")
Path(__file__).with_name("explain.svg").write_text(svg, encoding="utf-8")
