"""The HTTP server of a session: requests must come from its own page, and be JSON with the token in a header."""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socketserver import TCPServer
from threading import Lock
from typing import Any

from rankdev.errors import RankdevError, UsageError
from rankdev.judging._owner import CALLS
from rankdev.judging.addresses import Addresses
from rankdev.judging.grading import Grading
from rankdev.judging.items import IMAGE_TYPES
from rankdev.judging.links import Caller, Tokens, same
from rankdev.judging.page import PARTS, guidelines_html, html, part, policy, preferred
from rankdev.judging.sessions import Session
from rankdev.judging.store import StoreError

LARGEST = 1 << 20
LONGEST_PAGE = 40
STATUS = {  # of errors by kind
    "bad-link": HTTPStatus.UNAUTHORIZED,
    "incomplete-request": HTTPStatus.REQUEST_TIMEOUT,
    "internal-error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "needs-length": HTTPStatus.LENGTH_REQUIRED,
    "not-found": HTTPStatus.NOT_FOUND,
    "not-json-request": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "too-soon": HTTPStatus.TOO_EARLY,
    **dict.fromkeys(("other-site", "own-link", "owner-only", "unknown-host"), HTTPStatus.FORBIDDEN),
}


class JudgeServer(ThreadingHTTPServer):
    """Serves one session."""

    daemon_threads = True
    request_queue_size = 128  # a whole class may open the link at once

    def __init__(
        self,
        session: Session,
        host: str,
        port: int,
        tokens: Tokens,
        *,
        public_url: str | None = None,
        guidelines: str | None = None,
        grading: Grading | None = None,
        warn: Callable[[str], object] = print,
    ) -> None:
        self.session, self.tokens, self._warn, self._warned = session, tokens, warn, ""
        self.guidelines, self.grading = None if guidelines is None else guidelines_html(guidelines), grading
        self._changing = Lock()
        self.noticed: tuple[int, dict[str, Any]] | None = None  # what the owner was shown for a version of the answers
        self.addresses = Addresses(host, public_url)
        self.images = list(session.items.images.values())
        self.policy = policy(session.items.remote())
        if self.addresses.version_6:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), Handler)

    def server_bind(self) -> None:
        """Bind to the address, without a search for its name, which may take seconds."""
        if self.addresses.version_6 and self.addresses.everywhere:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
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
                self.session.questions.leave(name)

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
        """Send the page, a part of it, or an image."""
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
            told = error
            if not isinstance(told, RankdevError):
                told = RankdevError("internal-error", why=f"{type(error).__name__}: {error}")
            elif isinstance(told, StoreError):
                self.server.warn(str(told))
            usual = HTTPStatus.SERVICE_UNAVAILABLE if isinstance(told, StoreError) else HTTPStatus.BAD_REQUEST
            status = STATUS.get(told.kind, usual)
            content, kind = _json({"error": str(told), "kind": told.kind}), "application/json"
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", self.server.policy)
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
            raise UsageError("needs-length")

    def _get(self) -> tuple[bytes, str]:
        if self.headers.get("Content-Length", "0") != "0":
            raise UsageError("bad-request", expected="no body")
        path = self.path.partition("?")[0]
        if path == "/":
            return html(preferred(self.headers.get("Accept-Language", ""))), "text/html"
        if path in PARTS:
            return part(path)
        asked = re.fullmatch(r"/image/([^/]+)/([0-9]{1,9})", path)
        images = self.server.images
        if asked and same(asked[1], self.server.tokens.images) and int(asked[2]) < len(images):
            image = images[int(asked[2])]
            with suppress(OSError):  # it was deleted
                return image.read_bytes(), IMAGE_TYPES[image.suffix.lower()]
        raise UsageError("not-found")

    def _post(self) -> tuple[bytes, str]:
        if self.headers.get_content_type() != "application/json":
            raise UsageError("not-json-request")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        caller = self.server.tokens.caller(token)
        if caller is None:
            raise UsageError("bad-link")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > LARGEST:
            raise UsageError("bad-request", expected=f"a length of at most {LARGEST:,} bytes")
        try:
            asked = json.loads(self.rfile.read(int(length)))
            json.dumps(asked, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except TimeoutError:
            raise UsageError("incomplete-request") from None
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise UsageError("bad-request", expected="a JSON object")
        if self.path in CALLS:
            if not caller.owner:
                raise UsageError("owner-only")
            return CALLS[self.path](self.server, asked)
        reply = self._reply(caller, asked)
        return _json({**reply, "owner": caller.owner, "images": self.server.tokens.images}), "application/json"

    def _reply(self, caller: Caller, asked: dict[str, Any]) -> dict[str, Any]:
        grading = self.server.grading
        if self.path == "/api/hello":
            return {"judge": caller.judge}
        if self.path == "/api/page":
            scale = None if grading is None else grading.scale.shown()
            return {"guidelines": self.server.guidelines, "scale": scale}
        judge, page = self._name(caller, asked), _page_of(asked)
        if self.path in PAST:
            return PAST[self.path](self.server.session, judge, asked)
        graded = None if grading is None else self._grade(grading, asked, judge, page)
        return self._call(asked, judge, page) if graded is None else graded

    def _grade(self, grading: Grading, asked: dict[str, Any], judge: str, page: str) -> dict[str, Any] | None:
        match self.path:
            case "/api/leave":
                grading.leave(judge, page)
            case "/api/next-grade":
                return grading.question(judge, page)
            case "/api/grade":
                return grading.grade(judge, _text(asked, "request"), asked, page)
            case "/api/undo-grade":
                return grading.undo(judge, page)
        return None

    def _name(self, caller: Caller, asked: dict[str, Any]) -> str:
        """Return the name under which answers are kept: that of the link, or else one that is nobody's."""
        if caller.judge is not None:
            return caller.judge
        name = _text(asked, "judge")
        self.server.session.check_person(name)
        if (known := self.server.tokens.taken(name)) is not None:
            raise UsageError("own-link", name=known)
        return name

    def _call(self, asked: dict[str, Any], judge: str, page: str) -> dict[str, Any]:
        session = self.server.session
        match self.path:
            case "/api/next":
                return session.question(judge, page)
            case "/api/answer":
                return session.answer(judge, _text(asked, "request"), asked, page)
            case "/api/undo":
                return session.undo(judge, page)
            case "/api/leave":
                return session.leave(judge, page)
        raise UsageError("not-found")


def _history(session: Session, judge: str, asked: dict[str, Any]) -> dict[str, Any]:
    return session.history(judge)


def _change(session: Session, judge: str, asked: dict[str, Any]) -> dict[str, Any]:
    number, outcome, comment = (asked.get(key) for key in ("answer", "outcome", "comment"))
    return session.change(judge, _text(asked, "request"), number, outcome, comment)


PAST = {"/api/history": _history, "/api/change": _change}


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError("bad-request", expected=f"{name}, a text")
    return value


def _page_of(asked: dict[str, Any]) -> str:
    page = asked.get("page", "")
    if not isinstance(page, str) or len(page) > LONGEST_PAGE:
        raise UsageError("bad-request", expected=f"page, a text of at most {LONGEST_PAGE} characters")
    return page


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
