"""The same rows in every form that has columns; a small run, grades and references in every format."""

import gzip
import io
import json
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

from rankdev import References, read_references

Values = dict[str, dict[str, float]]

RUN: Values = {"q1": {"d1": 0.9, "d2": 0.5, "d3": 0.25}, "q2": {"d9": 3.0, "d1": -1.0}, "007": {"été": 1e-3}}
GRADES: Values = {"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}, "q2": {"d9": 2}}
TIERS = {"q1": [["d1"], ["d2", "d3"]], "q2": [["d9"]]}
RANKS: Values = {"q1": {"d1": 1, "d2": 2, "d3": 2}, "q2": {"d9": 1}}


def table(values: Values, name: str) -> pl.DataFrame:
    rows = [(query, item, value) for query, items in values.items() for item, value in items.items()]
    return pl.DataFrame(rows, schema=["query", "item", name], orient="row")


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _tables(frame: pl.DataFrame) -> dict[str, bytes]:
    return {
        "csv": frame.write_csv().encode(),
        "tsv": frame.write_csv(separator="\t").encode(),
        "jsonl": frame.write_ndjson().encode(),
        "parquet": parquet(frame),
    }


def _lines(pattern: str, values: Values, name: str) -> bytes:
    return "".join(pattern.format(*row) + "\n" for row in table(values, name).rows()).encode()


RUN_FILES = {
    "run": _lines("{0} Q0 {1} 1 {2} tag", RUN, "score"),
    "json": json.dumps(RUN).encode(),
    **_tables(table(RUN, "score")),
}
GRADE_FILES = {"qrels": _lines("{0} 0 {1} {2}", GRADES, "grade"), **_tables(table(GRADES, "grade"))}
GRADE_JSON = {"json": json.dumps(GRADES).encode()}  # read_grades only: elsewhere the numbers could be ranks
REFERENCE_FILES = {
    "json": json.dumps(TIERS).encode(),
    **_tables(table(RANKS, "rank")),
    "jsonl": "".join(json.dumps({"query": q, "tiers": tiers}) + "\n" for q, tiers in TIERS.items()).encode(),
}


def doors(folder: Path, rows: list[tuple], *names: str) -> dict:
    """The same rows in every form that has columns."""
    records = [dict(zip(names, row, strict=True)) for row in rows]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    found = {"records": records, "polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}
    found["dictionary"] = frame.select(pl.all().cast(pl.String).cast(pl.Categorical)).to_arrow()
    contents = _tables(frame) | {"json": json.dumps(records, indent=1).encode()}
    if find_spec("fastexcel"):
        contents["xlsx"] = workbook([names, *rows])
    for name, content in contents.items():
        found[name] = folder / f"a.{name}"
        found[name].write_bytes(content)
    return found


def all_doors(folder: Path, rows: list[tuple], *names: str, line: str) -> dict:
    """The same rows in every form that has columns and in lines, each file packed too."""
    found = doors(folder, rows, *names)
    found["lazy"] = found["polars"].lazy()
    if line:
        found["lines"] = folder / "a.txt"
        found["lines"].write_text("".join(line.format(*row) for row in rows))
    for form, door in list(found.items()):
        for ending, pack in ((".gz", gzip.compress), (".zst", zstandard.compress)):
            if isinstance(door, Path):
                found[form + ending] = door.with_name(door.name + ending)
                found[form + ending].write_bytes(pack(door.read_bytes()))
    return found


def references_of(door: Any) -> References:
    return read_references(door) if isinstance(door, Path) else References.of(door)


def by_query(rows: list[tuple]) -> dict:
    found: dict = {}
    for query, item, value in rows:
        found.setdefault(query, {})[item] = value
    return found


def workbook(rows, sheets=1):
    """Write the least that is a workbook: texts and numbers, on the first sheet; others show the same."""

    def cell(value):
        text = f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return text if isinstance(value, str) else f"<c><v>{value}</v></c>" if value is not None else "<c/>"

    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    main, office = (
        "http://schemas.openxmlformats.org/" + end for end in ("spreadsheetml/2006/main", "officeDocument/2006")
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml"'
        f' ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml"'
        f' ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
        f' Type="{office}/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}/relationships"><sheets>'
        + "".join(f'<sheet name="{"ab"[i]}" sheetId="{i + 1}" r:id="r1"/>' for i in range(sheets))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
        f' Type="{office}/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return content.getvalue()
