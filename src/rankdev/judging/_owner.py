"""What only the owner may ask of the server: results, exports, and links of judges."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankdev.errors import UsageError
from rankdev.io.preferences import as_judgments, encode_preferences
from rankdev.io.tables import ENDINGS
from rankdev.preferences import Preferences

if TYPE_CHECKING:
    from rankdev.judging.server import JudgeServer

EXPORTS = (*ENDINGS, ".txt")
Reply = tuple[bytes, str]


def overview(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Return the results so far."""
    return _json(server.session.overview(asked.get("query")))


def export(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Return the judgments as a file."""
    form = asked.get("form")
    if form not in EXPORTS:
        raise UsageError(f"the formats are {', '.join(EXPORTS)}")
    judged = as_judgments(server.session.store.answers())
    if judged.is_empty():
        raise UsageError("there are no judgments yet")
    return encode_preferences(Preferences.from_table(judged), f"judgments{form}"), "application/octet-stream"


def links(server: JudgeServer, asked: dict[str, Any]) -> Reply:
    """Make or revoke the link of a judge, switch the common one on or off, and list all."""
    make, revoke, common = (asked.get(name) for name in ("make", "revoke", "common"))
    if isinstance(make, str):
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
