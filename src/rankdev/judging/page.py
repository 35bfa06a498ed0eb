"""What the page shows: its template in a language, guidelines, and what only the owner sees."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markdown_it import MarkdownIt

from rankdev._common.checks import check_choice
from rankdev.data.database import as_judgments, read_given_grades
from rankdev.data.formats import ENDINGS, encode_table, spreadsheet_safe
from rankdev.data.sources import Source
from rankdev.errors import DataError, UsageError
from rankdev.judging.check import check_model
from rankdev.judging.quality import judge_quality, noticed
from rankdev.judging.store import sorted_pair
from rankdev.preferences import Preferences, tiers_from_preferences

if TYPE_CHECKING:
    from rankdev.judging.session import Session

DEFAULT = "en"
LONGEST_GUIDELINES = 100_000  # characters
MARK = re.compile(r"\{\{(\w+)\}\}")  # a text in the template
POLICY = (  # what the browser may load: the page's own parts, and images of items
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: http: https:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SPREADSHEETS = (".csv", ".tsv")
COMMENTS = 50  # the last ones are shown; all are exported
TYPES = {".js": "text/javascript", ".css": "text/css"}
OWN = ("texts.js", "guide.js", "keys.js", "judge.js", "history.js", "owner.js")
PARTS = {
    **{f"/{name}": ("rankdev.judging", name) for name in (*OWN, "judge.css")},
    **{f"/{name}": ("rankdev.html_report", name) for name in ("page.js", "page.css")},
}


@cache
def languages() -> tuple[str, ...]:
    """List the languages that there are texts in."""
    folder = files("rankdev.judging").joinpath("assets", "languages")
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir()))


@cache
def texts_of(language: str) -> dict[str, Any]:
    """Return all texts of the page by name; one that counts something has a form per grammatical number."""
    found = files("rankdev.judging").joinpath("assets", "languages", f"{language}.json")
    return dict(json.loads(found.read_text(encoding="utf-8")))


def read_guidelines(path: str) -> str:
    """Read a file of Markdown: what makes an item better, for people and for models."""
    with Source(path) as source:
        try:
            text = source.content.decode()
        except UnicodeDecodeError:
            raise DataError("not-utf8") from None
        if len(text) > LONGEST_GUIDELINES:
            raise DataError("too-long", what="guidelines", most=LONGEST_GUIDELINES)
    return text


def guidelines_html(text: str) -> str:
    """Return Markdown as HTML that loads nothing and runs nothing: HTML in it is text, and images are links."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))


@cache
def html(language: str) -> bytes:
    """Return the page in a language."""
    template = files("rankdev.judging").joinpath("assets", "judge.html").read_text(encoding="utf-8")
    texts = texts_of(language)
    places = {name: escape(text) for name, text in texts.items() if isinstance(text, str)}
    places["language"], places["texts"] = language, json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
    return MARK.sub(lambda mark: places[mark[1]], template).encode()


def preferred(accepted: str) -> str:
    """Choose a language for a browser by what it accepts, such as ``de-AT, de;q=0.9, en;q=0.8``."""
    wanted = re.findall(r"(?:^|,)\s*([a-z]+)", accepted.lower())  # browsers list the best first
    return next((name for name in wanted if name in languages()), DEFAULT)


def part(path: str) -> tuple[bytes, str]:
    """Return a file of :data:`PARTS`, and its type."""
    package, name = PARTS[path]
    return files(package).joinpath("assets", name).read_bytes(), TYPES[Path(name).suffix]


def known_answers(session: Session) -> tuple[pl.DataFrame, int]:
    """Return the answers about known items, and the number of others: the file of items may have changed."""
    answers = session.store.answers()
    here = pl.Series([session.items.pool.knows(*pair) for pair in answers.select("query", "first", "second").rows()])
    found = answers.filter(here.cast(pl.Boolean))
    return found, len(answers) - len(found)


def overview(session: Session, query: object) -> dict[str, Any]:
    """Return the results so far: counts, the tiers of one query, how reliable judges are, and their last comments."""
    answers, left_out = known_answers(session)
    judgments = as_judgments(answers)
    counts = Counter(judgments["query"].to_list())
    pool = session.items.pool.items
    queries = [
        {**session.items.query(name), "items": len(items), "judgments": counts[name]} for name, items in pool.items()
    ]
    chosen = query if isinstance(query, str) and query in pool else max(pool, key=lambda name: counts[name])
    said = answers.filter(pl.col("comment") != "").tail(COMMENTS).reverse()
    models = _models(session, answers)
    judges, remarks = judge_quality(answers, session.gold, models)
    return {
        "queries": queries,
        "query": chosen,
        "tiers": _tiers(session, judgments.filter(pl.col("query") == chosen), chosen),
        "left_out": left_out,
        **session.state(),
        "judges": [{**row, "noticed": noticed(row)} for row in judges.iter_rows(named=True)],
        "remarks": remarks,
        "models": {model: _checked(judgments, model, models) for model in models},
        "comments": said.select("query", "first", "second", "worker", "comment").to_dicts(),
    }


def _tiers(session: Session, judged: pl.DataFrame, query: str) -> list[list[dict[str, Any]]]:
    if judged.is_empty():
        return []
    found = tiers_from_preferences(Preferences.from_table(judged), disconnected="largest")

    def shown(item: str) -> dict[str, Any]:
        content = session.items.content.get((query, item), {})
        return {"item": item, "name": content.get("title") or content.get("text") or item}

    return [[shown(item) for item in tier] for tier in found.tiers[query]]


def _models(session: Session, answers: pl.DataFrame) -> list[str]:
    """List the judges that are programs."""
    names = set(answers.filter(pl.col("program") == 1)["worker"])
    return sorted(names if session.checked is None else names | {session.checked})


def _checked(judged: pl.DataFrame, model: str, models: list[str]) -> list[str]:
    """Report how far a model agrees with people, or why that is not known."""
    there = set(judged["worker"])
    try:
        if model not in there or there <= {*models}:
            raise DataError("no-shared-pair", model=model)
        others = [name for name in models if name != model and name in there]
        return check_model(judged, model, leave_out=others).conclusion.splitlines()
    except DataError as error:
        return [str(error)]


def export(session: Session, form: str, what: str, *, safe: bool) -> bytes:
    """Return judgments, all answers, or grades, as a file."""
    check_choice("format", form, ENDINGS)
    check_choice("export", what, TABLES)
    if safe and form not in SPREADSHEETS:
        raise UsageError("not-needed", name="safe", use=" and ".join(SPREADSHEETS))
    table = TABLES[what](session)
    if table.is_empty():
        raise UsageError("none-given", what="grades" if what == "grades" else "judgments")
    if what == "judgments":
        table = Preferences.from_table(table).to_polars()
    return encode_table(spreadsheet_safe(table) if safe else table, f"it{form}")


def _all_answers(session: Session) -> pl.DataFrame:
    """Return every answer that was ever given, with all that is known about it."""
    table = session.store.answers(ended=True)
    expected, here = [], []
    for query, first, second in table.select("query", "first", "second").rows():
        better = session.gold.get(sorted_pair((query, first, second)), "")
        expected.append({first: "first", second: "second", None: "tie"}.get(better))
        here.append(session.items.pool.knows(query, first, second))
    return table.select(
        *("query", "first", "second", "outcome", "worker", "comment", "at", "seconds", "kind"),
        pl.col("program").cast(pl.Boolean),
        pl.col("undone").cast(pl.Boolean),
        "ended",
        gold=pl.when(pl.col("kind") == "gold").then(pl.Series(expected, dtype=pl.String)),
        in_items=pl.Series(here, dtype=pl.Boolean),
    )


TABLES: dict[str, Callable[[Session], pl.DataFrame]] = {
    "judgments": lambda session: as_judgments(session.store.answers()),
    "answers": _all_answers,
    "grades": lambda session: read_given_grades(session.store.path),
}
