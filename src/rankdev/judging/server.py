"""The HTTP server of a session: requests must come from its own page, and be JSON with the token in a header."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socketserver import TCPServer
from threading import Lock
from typing import Any

from rankdev.errors import RankdevError, UsageError
from rankdev.judging.links import Addresses, Caller, Tokens, folded
from rankdev.judging.page import PARTS, POLICY, export, guidelines_html, html, overview, part, preferred
from rankdev.judging.session import Session
from rankdev.judging.store import StoreError
from rankdev.judging.strategies import GradeStrategy

LARGEST = 1 << 20
LONGEST_PAGE = 40
STATUS = {  # of errors by kind
    "bad-link": HTTPStatus.UNAUTHORIZED,
    "internal-error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "not-found": HTTPStatus.NOT_FOUND,
    "too-soon": HTTPStatus.TOO_EARLY,
    **dict.fromkeys(("other-site", "other-browser", "own-link", "owner-only", "unknown-host"), HTTPStatus.FORBIDDEN),
}


class JudgeServer(ThreadingHTTPServer):
    """Serves a session about pairs, and perhaps one in which items are graded."""

    daemon_threads = True
    request_queue_size = 128  # a whole class may open the link at once

    def __init__(
        self,
        session: Session,
        addresses: Addresses,
        port: int,
        *,
        tokens: Tokens,
        guidelines: str | None = None,
        grading: Session | None = None,
        warn: Callable[[str], object] = print,
    ) -> None:
        self.session, self.tokens, self._warn, self._warned = session, tokens, warn, ""
        self.guidelines, self.grading = None if guidelines is None else guidelines_html(guidelines), grading
        self._changing = Lock()
        self.addresses = addresses
        super().__init__((addresses.host, port), Handler)

    def server_bind(self) -> None:
        """Bind to the address, without a search for its name, which may take seconds."""
        TCPServer.server_bind(self)

    @property
    def readable(self) -> bool:
        """Whether others on the network can read what is sent, tokens included."""
        return not self.addresses.encrypted and not ip_address(str(self.server_address[0])).is_loopback

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnected; its answers are kept."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def service_actions(self) -> None:
        """Check several times a second that the database is still there, even while nobody answers."""
        try:
            self.session.store.check()
        except StoreError as error:
            self.warn(str(error))
        else:
            self._warned = ""

    def warn(self, message: str) -> None:
        """Show the owner, on the terminal, the message that judges see on the page; each only once."""
        if message != self._warned:
            self._warned = message
            self._warn(message)

    def change(self, changed: Callable[[Tokens], Tokens]) -> None:
        """Change the links, for later starts too; the questions of judges who lost theirs go to others."""
        with self._changing:
            before, self.tokens = self.tokens, changed(self.tokens)
            self.tokens.keep(self.session.store)
        for name, secret in before.personal.items():
            if secret and not self.tokens.personal.get(name):
                for session in self.sessions.values():
                    session.leave(name)

    @property
    def sessions(self) -> dict[str, Session]:
        """What judges can be asked, by the mode of the page."""
        return {"pairs": self.session} | ({} if self.grading is None else {"grades": self.grading})

    def has_answered(self, name: str) -> bool:
        """Return whether there are answers or grades under a name, or one that looks like it."""
        return any(folded(name) in map(folded, session.answered()) for session in self.sessions.values())

    def link(self, token: str) -> str:
        """Return the address of the page for those who have a token."""
        host, port = self.server_address[:2]
        return self.addresses.link(token, str(host), int(port), owner=token == self.tokens.owner)


class Handler(BaseHTTPRequestHandler):
    """Handles one connection."""

    server: JudgeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60
    server_version, sys_version = "rankdev", ""

    def do_GET(self) -> None:
        """Send the page, or a part of it."""
        self._answer(self._get)

    do_HEAD = do_GET  # noqa: N815 (as http.server calls it)

    def do_POST(self) -> None:
        """Handle a request."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a log of links would hold tokens."""

    def _answer(self, work: Any) -> None:
        try:
            self._check_caller()
            status, (content, kind) = HTTPStatus.OK, work()
        except Exception as error:
            known = error
            if not isinstance(known, RankdevError):
                known = RankdevError("internal-error", why=f"{type(error).__name__}: {error}")
            elif isinstance(known, StoreError):
                self.server.warn(str(known))
            usual = HTTPStatus.SERVICE_UNAVAILABLE if isinstance(known, StoreError) else HTTPStatus.BAD_REQUEST
            status = STATUS.get(known.kind, usual)
            content, kind = _json({"error": str(known), "kind": known.kind}), "application/json"
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        if status >= HTTPStatus.BAD_REQUEST:
            self.send_header("Connection", "close")  # the rest of a refused request is not read
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _check_caller(self) -> None:
        self.server.addresses.check(self.headers.get("Host", "").lower(), self.headers.get("Origin"))
        if "Transfer-Encoding" in self.headers or len(self.headers.get_all("Content-Length", ())) > 1:
            raise UsageError("bad-request", expected="one length")

    def _get(self) -> tuple[bytes, str]:
        if self.headers.get("Content-Length", "0") != "0":
            raise UsageError("bad-request", expected="no body")
        path = self.path.partition("?")[0]
        if path == "/":
            return html(preferred(self.headers.get("Accept-Language", ""))), "text/html"
        if path in PARTS:
            return part(path)
        raise UsageError("not-found")

    def _post(self) -> tuple[bytes, str]:
        if self.headers.get_content_type() != "application/json":
            raise UsageError("bad-request", expected="JSON")
        caller = self.server.tokens.caller(self.headers.get("Authorization", "").removeprefix("Bearer "))
        if caller is None:
            raise UsageError("bad-link")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > LARGEST:
            raise UsageError("bad-request", expected=f"a length of at most {LARGEST:,} bytes")
        try:
            asked = json.loads(self.rfile.read(int(length)))
            json.dumps(asked, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except (TimeoutError, ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise UsageError("bad-request", expected="a JSON object")
        reply = self._reply(caller, asked)
        if isinstance(reply, bytes):
            return reply, "application/octet-stream"
        return _json({**reply, "owner": caller.owner}), "application/json"

    def _reply(self, caller: Caller, asked: dict[str, Any]) -> dict[str, Any] | bytes:
        server = self.server
        if self.path in OWNER:
            if not caller.owner:
                raise UsageError("owner-only")
            return OWNER[self.path](server, asked)
        if self.path == "/api/hello":
            return {"judge": caller.judge}
        if self.path == "/api/page":
            strategy = server.grading and server.grading.strategy
            scale = strategy.scale.shown() if isinstance(strategy, GradeStrategy) else None
            return {"guidelines": server.guidelines, "scale": scale}
        judge, page = self._name(caller, asked), asked.get("page", "")
        if not isinstance(page, str) or len(page) > LONGEST_PAGE:
            raise UsageError("bad-request", expected=f"page, a text of at most {LONGEST_PAGE} characters")
        if self.path == "/api/leave":
            for each in server.sessions.values():  # the page may have shown a question of each
                each.leave(judge, page)
            return {}
        session = server.sessions.get(str(asked.get("mode", "pairs")))
        if session is None or self.path not in JUDGES:
            raise UsageError("not-found")
        return JUDGES[self.path](session, judge, page, asked)

    def _name(self, caller: Caller, asked: dict[str, Any]) -> str:
        """Return the name under which answers are kept: that of the link, or else one that is nobody else's."""
        if caller.judge is not None:
            return caller.judge
        name, tokens = _text(asked, "judge"), self.server.tokens
        self.server.session.check_person(name)
        tokens.check_free(name)
        if not caller.owner:
            browser = _text(asked, "browser")
            mine = tokens.owns(name, browser)
            if mine is False or (mine is None and self.server.has_answered(name)):
                raise UsageError("other-browser", name=name)
            if mine is None and self.path == "/api/answer":
                self.server.change(lambda tokens: tokens.claimed(name, browser))
        return name


def _links(server: JudgeServer, asked: dict[str, Any]) -> dict[str, Any]:
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
    return {"personal": personal, "link": server.link(tokens.judge), "common": tokens.common}


OWNER: dict[str, Callable[[JudgeServer, dict[str, Any]], dict[str, Any] | bytes]] = {
    "/api/overview": lambda server, asked: overview(server.session, asked.get("query")),
    "/api/export": lambda server, asked: export(
        server.session, _text(asked, "form"), str(asked.get("what", "judgments")), safe=bool(asked.get("safe"))
    ),
    "/api/links": _links,
}
JUDGES: dict[str, Callable[[Session, str, str, dict[str, Any]], dict[str, Any]]] = {
    "/api/next": lambda session, judge, page, asked: session.question(judge, page),
    "/api/answer": lambda session, judge, page, asked: session.answer(judge, _text(asked, "request"), asked, page),
    "/api/undo": lambda session, judge, page, asked: session.undo(judge, page),
    "/api/history": lambda session, judge, page, asked: session.history(judge),
    "/api/change": lambda session, judge, page, asked: session.change(
        judge, _text(asked, "request"), asked.get("answer"), asked.get("outcome"), asked.get("comment")
    ),
}


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError("bad-request", expected=f"{name}, a text")
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
