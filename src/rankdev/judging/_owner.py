"""What only the owner may ask of the server: results, how reliable judges are, exports, and links."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankdev._common.checks import check_choice
from rankdev.data.database import as_judgments, read_given_grades
from rankdev.data.formats import ENDINGS, encode_table, spreadsheet_safe
from rankdev.errors import DataError, UsageError
from rankdev.judging.items import sorted_pair
from rankdev.judging.quality import Quality, judge_quality, told
from rankdev.preferences import Preferences, tiers_from_preferences
from rankdev.preferences.files import encode_preferences

if TYPE_CHECKING:
    from rankdev.judging.server import JudgeServer
    from rankdev.judging.sessions import Session

EXPORTS = (*ENDINGS, ".txt")
SPREADSHEETS = (".csv", ".tsv")
COMMENTS = 50  # the last ones are shown; all are exported
Reply = tuple[bytes, str]


def overview(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Return the results so far, and how reliable judges are."""
    session, version = server.session, server.session.store.version
    if server.noticed is None or server.noticed[0] != version:  # it takes a moment, and judges would have to wait
        server.noticed = version, _noticed(session)
    return _json({**results(session, asked.get("query")), **server.noticed[1]})


def results(session: Session, query: object) -> dict[str, Any]:
    """Return what the owner sees: the number of judgments of each judge, and the tiers of one query."""
    answers, left_out = session.known_answers()
    judgments = as_judgments(answers)
    counts = Counter(judgments["query"].to_list())
    pool = session.items.pool.items
    queries = [
        {**session.items.query(name), "items": len(items), "judgments": counts[name]} for name, items in pool.items()
    ]
    chosen = query if isinstance(query, str) and query in pool else max(pool, key=lambda name: counts[name])
    return {
        "judges": session.questions.answered(),
        "queries": queries,
        "query": chosen,
        "tiers": _tiers(session, judgments, chosen),
        "left_out": left_out,
        **session.questions.state,
    }


def _tiers(session: Session, judged: pl.DataFrame, query: str) -> list[list[dict[str, Any]]]:
    mine = judged.filter(judged["query"] == query)
    if mine.is_empty():
        return []
    found = tiers_from_preferences(Preferences.from_table(mine), disconnected="largest")
    known = session.items.content
    return [
        [{"item": item, "title": known.get((query, item), {}).get("title", "")} for item in tier]
        for tier in found.tiers[query]
    ]


def _noticed(session: Session) -> dict[str, Any]:
    found = quality_of(session)
    judges = [{**row, "told": told(row)} for row in found.judges.iter_rows(named=True)]
    quality = {**found.summary, "judges": judges, "queries": found.queries.to_dicts(), "remarks": found.remarks}
    return {"quality": quality, "models": _checked(session), "comments": _comments(session)}


def _comments(session: Session) -> list[dict[str, str]]:
    """Return the last comments on pairs, the newest first."""
    answers, _ = session.known_answers()
    said = answers.filter(pl.col("comment") != "").select("query", "first", "second", "worker", "comment")
    return said.tail(COMMENTS).reverse().to_dicts()


def quality_of(session: Session) -> Quality:
    """Compute how reliable people are, from their answers about known items."""
    answers, _ = session.known_answers()
    return judge_quality(answers, session.questions.gold, _models(session, answers))


def _models(session: Session, answers: pl.DataFrame) -> list[str]:
    """List the judges that are programs."""
    names = set(answers.filter(pl.col("program") == 1)["worker"])
    return sorted(names if session.checked is None else names | {session.checked})


def _checked(session: Session) -> dict[str, list[str]]:
    """Report how far each model agrees with people, or why that is not known."""
    from rankdev.judging.model_check import check_model, model_check_report

    answers, _ = session.known_answers()
    judged, found = as_judgments(answers), {}
    models, there = _models(session, answers), set(judged["worker"])
    for model in models:
        try:
            if model not in there or there <= {*models}:
                raise DataError("no-shared-pair", model=model)
            others = [name for name in models if name != model and name in there]
            found[model] = list(model_check_report(check_model(judged, model, leave_out=others)).opening)
        except DataError as error:
            found[model] = [str(error)]
    return found


def export(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Return judgments, all answers, or the table of judges, as a file."""
    form, what = asked.get("form"), asked.get("what", "judgments")
    check_choice("format", str(form), EXPORTS)
    check_choice("export", what, TABLES)
    if asked.get("safe") and form not in SPREADSHEETS:
        raise UsageError("not-needed", name="safe", use=" and ".join(SPREADSHEETS))
    if form == ".txt" and what != "judgments":
        raise UsageError("not-needed", name=".txt", use="judgments")
    table = TABLES[what](server.session)
    if table.is_empty():
        raise UsageError("none-given", what="grades" if what == "grades" else "judgments")
    if what == "judgments":
        judged = Preferences.from_table(table)
        table = judged.to_polars()
        if not asked.get("safe"):
            return encode_preferences(judged, f"judgments{form}"), "application/octet-stream"
    return encode_table(
        spreadsheet_safe(table) if asked.get("safe") else table, f"it{form}"
    ), "application/octet-stream"


def _answers(session: Session) -> pl.DataFrame:
    """Return every answer that was ever given, with all that is known about it."""
    table, gold = session.store.everything(), session.questions.gold
    pairs = table.select("query", "first", "second").rows()
    better = [gold.get(sorted_pair(pair), "") for pair in pairs]
    sides = [
        {first: "first", second: "second", None: "tie"}.get(one)
        for (_, first, second), one in zip(pairs, better, strict=True)
    ]
    here = [session.items.pool.knows(*pair) for pair in pairs]
    return table.select(
        *("query", "first", "second", "outcome", "worker", "comment", "at", "seconds", "kind"),
        pl.col("program").cast(pl.Boolean),
        pl.col("undone").cast(pl.Boolean),
        "ended",
        gold=pl.when(pl.col("kind") == "gold").then(pl.Series(sides, dtype=pl.String)),
        in_items=pl.Series(here, dtype=pl.Boolean),
    )


def _judges(session: Session) -> pl.DataFrame:
    """Return one row per person, with what was noticed as text."""
    found = quality_of(session).judges
    texts = [told(row) for row in found.iter_rows(named=True)]
    return found.drop("enough", "notes").with_columns(notes=pl.Series(texts, dtype=pl.String))


TABLES: dict[str, Callable[[Session], pl.DataFrame]] = {
    "judgments": lambda session: as_judgments(session.store.answers()),
    "answers": _answers,
    "judges": _judges,
    "grades": lambda session: read_given_grades(session.store.path),
}


def links(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Make or revoke the link of a judge, switch the common one on or off, and list all."""
    make, revoke, common = (asked.get(name) for name in ("make", "revoke", "common"))
    if isinstance(make, str):
        server.session.check_person(make.strip())
        server.change(lambda tokens: tokens.with_links([make.strip()]))
    if isinstance(revoke, str):
        server.change(lambda tokens: tokens.revoked(revoke))
    if isinstance(common, bool):
        server.change(lambda tokens: replace(tokens, common=common))
    tokens = server.tokens
    personal = [{"name": name, "link": server.link(mine) if mine else None} for name, mine in tokens.personal.items()]
    return _json({"personal": personal, "link": server.link(tokens.judge), "common": tokens.common})


CALLS = {"/api/overview": overview, "/api/export": export, "/api/links": links}


def _json(value: Any) -> Reply:
    return json.dumps(value, ensure_ascii=False).encode(), "application/json"
