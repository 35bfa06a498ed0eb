"""HTTP server and tokens.

A page of another site can neither read nor write here: the host must be this machine by its address or its own name
(so that no outside name can be bound to it), the origin must be this server, and requests must be JSON with the token
in a header.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from ipaddress import ip_address
from typing import Any

from rankdev.errors import RankdevError
from rankdev.io.preferences import as_judgments, encode_preferences
from rankdev.io.tables import ENDINGS
from rankdev.judging.items import IMAGE_TYPES
from rankdev.judging.sessions import Session
from rankdev.judging.store import StoreError
from rankdev.preferences import Preferences

LARGEST = 1 << 20
STATIC = {
    "/": ("rankdev.judging", "judge.html", "text/html"),
    "/judge.js": ("rankdev.judging", "judge.js", "text/javascript"),
    "/judge.css": ("rankdev.judging", "judge.css", "text/css"),
    "/page.js": ("rankdev.html_report", "page.js", "text/javascript"),
    "/drag.js": ("rankdev.html_report", "drag.js", "text/javascript"),
    "/page.css": ("rankdev.html_report", "page.css", "text/css"),
}
EXPORTS = (*ENDINGS, ".txt")


@dataclass(frozen=True)
class Tokens:
    """Secrets in the links: one for judges, one for the owner, who may do all that judges may."""

    judge: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    owner: str = field(default_factory=lambda: secrets.token_urlsafe(16))


class RefusedError(Exception):
    """A request that is refused, and why."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class JudgeServer(ThreadingHTTPServer):
    """Serves one session; knows the host names it may be called by."""

    daemon_threads = True

    def __init__(
        self, session: Session, host: str, port: int, tokens: Tokens, *, warn: Callable[[str], object] = print
    ) -> None:
        self.session, self.tokens, self._warn, self._warned = session, tokens, warn, ""
        self.names = {"localhost", host.lower(), socket.gethostname().lower()}
        remote = " ".join(session.items.remote())
        self.policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
            f" img-src 'self' data: {remote}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        super().__init__((host, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnected; its answers are kept."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def service_actions(self) -> None:
        """Look several times a second whether the database is still there, also while nobody answers."""
        try:
            self.session.store.check()
        except StoreError as error:
            self.warn(str(error))
        else:
            self._warned = ""

    def warn(self, message: str) -> None:
        """Tell the owner, on the terminal, what judges see on the page; the same only once."""
        if message != self._warned:
            self._warned = message
            self._warn(message)

    def link(self, token: str) -> str:
        """Return the address of the page; what follows # is never sent over a network.

        If the whole network is served, judges use the name of this machine, and the owner, who is on it, its address.
        """
        host, port = self.server_address[:2]
        if host == "0.0.0.0":
            host = "127.0.0.1" if token == self.tokens.owner else socket.gethostname()
        return f"http://{host!s}:{port}/#{token}"


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

    def do_POST(self) -> None:
        """Handle a request."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a log of links would hold tokens."""

    def _answer(self, work: Any) -> None:
        try:
            self._check_caller()
            status, (content, kind) = HTTPStatus.OK, work()
        except RefusedError as error:
            status, content, kind = error.status, _json({"error": str(error)}), "application/json"
        except StoreError as error:
            self.server.warn(str(error))
            status, kind = HTTPStatus.SERVICE_UNAVAILABLE, "application/json"
            content = _json({"error": f"Your answer was not saved. {error}"})
        except RankdevError as error:
            status, content, kind = HTTPStatus.BAD_REQUEST, _json({"error": str(error)}), "application/json"
        except Exception as error:
            message = f"internal error ({type(error).__name__}: {error})"
            status, content, kind = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": message}), "application/json"
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
        self.wfile.write(content)

    def _check_caller(self) -> None:
        host = self.headers.get("Host", "")
        name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
        if name.lower() not in self.server.names and not _is_number(name.strip("[]")):
            raise RefusedError(HTTPStatus.FORBIDDEN, f"unknown host {name!r}")
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(HTTPStatus.FORBIDDEN, f"requests from {origin!r} are refused")

    def _get(self) -> tuple[bytes, str]:
        path = self.path.partition("?")[0]
        if path in STATIC:
            package, name, kind = STATIC[path]
            return files(package).joinpath("assets", name).read_bytes(), kind
        _, start, token, *number = [*path.split("/", 3), ""][:4]
        if start == "picture" and self._knows(token) and number[0].isascii() and number[0].isdigit():
            images = list(self.server.session.items.images.values())
            if int(number[0]) < len(images):
                image = images[int(number[0])]
                return image.read_bytes(), IMAGE_TYPES[image.suffix.lower()]
        raise RefusedError(HTTPStatus.NOT_FOUND, "not found")

    def _knows(self, token: str, *, owner: bool = False) -> bool:
        tokens = self.server.tokens
        known = (tokens.owner,) if owner else (tokens.owner, tokens.judge)
        return any(secrets.compare_digest(token.encode(), each.encode()) for each in known)

    def _post(self) -> tuple[bytes, str]:
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "requests must be JSON")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self._knows(token):
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "the link is incomplete: open it exactly as printed")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > LARGEST:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"a request may have at most {LARGEST:,} bytes")
        try:
            asked = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is not valid JSON") from None
        if not isinstance(asked, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "a request must be a JSON object")
        if self.path in ("/api/overview", "/api/export"):
            if not self._knows(token, owner=True):
                raise RefusedError(HTTPStatus.FORBIDDEN, "this needs the owner's link")
            return self._owner(asked)
        return _json(self._call(asked) | {"owner": self._knows(token, owner=True)}), "application/json"

    def _owner(self, asked: dict[str, Any]) -> tuple[bytes, str]:
        session = self.server.session
        if self.path == "/api/overview":
            return _json(session.overview(asked.get("query"))), "application/json"
        form = asked.get("form")
        if form not in EXPORTS:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"the formats are {', '.join(EXPORTS)}")
        judged = as_judgments(session.store.answers())
        if judged.is_empty():
            raise RefusedError(HTTPStatus.BAD_REQUEST, "there are no judgments yet")
        return encode_preferences(Preferences.from_table(judged), f"judgments{form}"), "application/octet-stream"

    def _call(self, asked: dict[str, Any]) -> dict[str, Any]:
        session, judge = self.server.session, _text(asked, "judge")
        match self.path:
            case "/api/next":
                return session.question(judge)
            case "/api/answer":
                return {**session.answer(judge, _text(asked, "request"), asked), "saved": True}
            case "/api/undo":
                return session.undo(judge)
            case "/api/list":
                return session.next_list(judge)
            case "/api/ranking":
                tiers = asked.get("tiers")
                shown, tiers = _items(asked.get("shown")), [_items(t) for t in tiers] if isinstance(tiers, list) else []
                reply = session.ranking(judge, _text(asked, "request"), _text(asked, "query"), shown, tiers)
                return {**reply, "saved": True}
        raise RefusedError(HTTPStatus.NOT_FOUND, "unknown request")


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"a request needs {name}, a text")
    return value


def _items(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "shown must be a list of items, and tiers lists of items")
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
