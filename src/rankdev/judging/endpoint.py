"""Calls of a JSON API over HTTP: retried where that can help, and never with a key in a message."""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from rankdev.errors import DataError, Note, UsageError, printable, warn

KEY = "RANKDEV_API_KEY"
LARGEST = 4_000_000  # bytes of a reply
WAIT = 1.0  # seconds before the first retry; doubled each time
LONGEST_WAIT = 60.0
LONGEST_PAUSE = 600.0  # seconds that a server may ask for
AGAIN = {408, 409, 425, 429}  # and all from 500
REFUSED = {401, 403}
LASTING = {402, 404}  # no credit, no such address or model
LOCAL = ("localhost", "127.0.0.1", "::1")
SPENT = ("insufficient_quota", "billing_hard_limit_reached")  # a 429 that no retry helps against


class RejectedError(DataError):
    """The server rejects this one request; others may be accepted."""


class _FailedError(Exception):
    """A failure that may pass; where the address is wrong it does not, unless the server is ``busy``."""

    def __init__(self, why: Note, pause: float = 0.0, *, busy: bool = False) -> None:
        super().__init__(why)
        self.why, self.pause, self.busy = why, pause, busy


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would take the key to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Endpoint:
    """An address to which JSON is posted, and its key, given or in the environment; for any number of threads."""

    def __init__(self, url: object, path: str, key: str | None, *, timeout: float, retries: int) -> None:
        given = os.environ.get(KEY, "") if key is None else key
        if not isinstance(given, str) or not given.isascii() or not given.isprintable() or " " in given:
            raise UsageError("bad-key", name=KEY if key is None else "key")
        try:
            parts = urlsplit(url) if isinstance(url, str) and url.isascii() and url.isprintable() else None
            valid = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            parts, valid = None, False
        if parts is None or not valid or " " in str(url):
            raise UsageError("not-an-address", name="url", value=url, example="https://api.example.com/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError("url-with-more", name="url")
        if given and parts.scheme == "http" and parts.hostname not in LOCAL:
            warn("key-unencrypted", host=parts.hostname)
        self.url, self.key = str(url).rstrip("/").removesuffix(path) + path, given
        self.timeout, self.retries, self.retried = timeout, retries, 0
        self.worked = False  # once it has, failures are more likely to pass
        self._ready, self._lock = 0.0, Lock()  # when the server wants to be asked again

    def post(self, body: Mapping[str, Any], label: str) -> dict[str, Any]:
        """Post, with retries where they may help; ``label`` determines the waiting times."""
        content = json.dumps(body, ensure_ascii=True).encode()
        chance = random.Random(label)
        attempt = 0
        while True:
            time.sleep(max(0.0, self._ready - time.monotonic()))
            try:
                found = self._once(content)
            except _FailedError as failed:
                attempt += 1
                if attempt > self.retries or not (self.worked or failed.busy):
                    raise DataError("call-failed", path=self.url, why=failed.why, times=attempt) from None
                with self._lock:
                    self.retried += 1
                    if failed.pause:
                        self._ready = max(self._ready, time.monotonic() + failed.pause)
                time.sleep(min(WAIT * 2 ** (attempt - 1), LONGEST_WAIT) * (0.5 + 0.5 * chance.random()))
            else:
                self.worked = True
                return found

    def _once(self, content: bytes) -> dict[str, Any]:
        """Post once; a failure that may pass is a ``_FailedError``."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        local = urlsplit(self.url).hostname in LOCAL  # no proxy leads to this machine
        opener = build_opener(_NoRedirect, ProxyHandler({}) if local else ProxyHandler())
        until = time.monotonic() + self.timeout
        try:
            with opener.open(Request(self.url, content, headers, method="POST"), timeout=self.timeout) as response:
                body = self._without_key(_read(response, until).decode(errors="replace"))
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise _FailedError(Note("no-reply", seconds=self.timeout), busy=True) from None
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise DataError("no-connection", path=self.url, why=f"certificate: {reason.verify_message}") from None
            why = self._without_key(f"{type(reason).__name__}: {reason}".removesuffix(": "))
            raise _FailedError(Note("no-connection", why=why)) from None
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = body
        if not isinstance(found, dict):
            raise _FailedError(Note("not-of-chat", value=found))
        return found

    def _refusal(self, error: HTTPError) -> Exception:
        code, said = _message(error)
        status = f"{error.code} {HTTPStatus(error.code).phrase}" if error.code in set(HTTPStatus) else f"{error.code}"
        status += self._without_key(said)
        pause = _pause(error.headers.get("Retry-After", ""))
        busy = (error.code in AGAIN or error.code >= 500) and code not in SPENT
        if busy and pause <= LONGEST_PAUSE:
            return _FailedError(Note("server-busy", status=status), pause, busy=True)
        where = {"path": self.url, "status": status}
        if error.code in REFUSED:
            return DataError("key-refused", **where)
        lasting = busy or error.code < 400 or error.code in LASTING or code in SPENT or not self.worked
        return (DataError if lasting else RejectedError)("request-rejected", **where)

    def _without_key(self, text: str) -> str:
        """Remove the key from what a server says, which may end up in a file."""
        return text.replace(self.key, "…") if self.key else text


def _read(response: http.client.HTTPResponse, until: float) -> bytes:
    """Read a reply; refuse one that is incomplete, too large or too late."""
    parts: list[bytes] = []
    while part := response.read1(65536):
        parts.append(part)
        if time.monotonic() > until:
            raise TimeoutError
        if sum(map(len, parts)) > LARGEST:
            raise _FailedError(Note("broken-reply", most=LARGEST))
    if response.length:
        raise _FailedError(Note("broken-reply", most=LARGEST))
    return b"".join(parts)


def _message(error: HTTPError) -> tuple[str, str]:
    """Return the code and the message of a server's error, where it has them."""
    try:
        found = json.loads(error.read(LARGEST))
        found = found.get("error", found)
        found = {"message": found} if isinstance(found, str) else found
        said = printable(str(found.get("message") or ""))[:300]
        return str(found.get("code", "")), f": {said}" if said else ""
    except (ValueError, AttributeError, OSError, RecursionError, http.client.HTTPException):
        return "", ""


def _pause(header: str) -> float:
    """Return the seconds of a Retry-After; a date, which is rare, is not waited for."""
    try:
        return max(0.0, float(header))
    except ValueError:
        return 0.0
