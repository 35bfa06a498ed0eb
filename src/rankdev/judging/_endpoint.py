"""Calls of a JSON API over HTTP: retried where that can help, and never with a key in a message."""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from rankdev.errors import DataError, Note, UsageError, printable, warn

KEY = "RANKDEV_API_KEY"
LARGEST = 4_000_000  # bytes of a reply
LONGEST_PAUSE = 600.0  # seconds that a server may ask for
SLOWEST = 60.0  # seconds between retries, unless the server asks for more
AGAIN = {408, 409, 425, 429}  # and all from 500
REFUSED = {401, 403}
LASTING = {402, 404}  # no credit, no such address or model
LOCAL = ("localhost", "127.0.0.1", "::1")
SPENT = ("insufficient_quota", "billing_hard_limit_reached")  # a 429 that no retry helps against


class RejectedError(DataError):
    """The server rejects this one request; others may be accepted."""


class _FailedError(Exception):
    """A failure that may pass; ``pause`` is what the server asks for."""

    def __init__(self, why: Note, pause: float = 0.0, *, busy: bool = False) -> None:
        super().__init__(why)
        self.why, self.pause, self.busy = why, pause, busy


class Secret:
    """A key that is not shown, pickled or copied into messages."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "…"

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, ("",)  # a pickle may end up in a file

    def header(self) -> dict[str, str]:
        """Return the header of a request."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def removed(self, value: Any) -> Any:
        """Return a text, or what was read as JSON, without the key."""
        if isinstance(value, dict):
            return {self.removed(name): self.removed(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.removed(each) for each in value]
        return value.replace(self._value, "…") if self._value and isinstance(value, str) else value


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would take the key to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(eq=False)
class Endpoint:
    """An address to which JSON is posted; any number of threads may use it at once."""

    url: str
    key: Secret
    _: KW_ONLY
    timeout: float
    retries: int
    wait: float
    seed: int
    retried: int = 0
    worked: bool = False  # once it has, failures are more likely to pass
    _ready: float = 0.0  # when the server wants to be asked again
    _lock: Any = field(default_factory=Lock, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_ready": 0.0}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update({**state, "_lock": Lock()})

    def post(self, body: Mapping[str, Any], label: str) -> dict[str, Any]:
        """Post, with retries where they may help; ``label`` and the seed determine the waiting times."""
        content = json.dumps(body, ensure_ascii=True).encode()
        chance = random.Random(f"{self.seed} {label}")
        for attempt in range(self.retries + 1):
            time.sleep(max(0.0, self._ready - time.monotonic()))
            try:
                found = self._once(content)
            except _FailedError as failed:
                if attempt == self.retries or not (self.worked or failed.busy):
                    raise DataError("call-failed", path=self.url, why=failed.why, times=attempt + 1) from None
                pause = min(self.wait * 2**attempt, SLOWEST) * (0.5 + 0.5 * chance.random())
                with self._lock:
                    self.retried += 1
                    if failed.pause:
                        self._ready = max(self._ready, time.monotonic() + failed.pause)
                time.sleep(pause)
            else:
                self.worked = True
                return found
        raise AssertionError  # the last failure was raised

    def _once(self, content: bytes) -> dict[str, Any]:
        """Post once; a failure that may pass is a ``_FailedError``."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.key.header()}
        request = Request(self.url, content, headers, method="POST")
        until = time.monotonic() + self.timeout
        try:
            with self._opener().open(request, timeout=self.timeout) as response:
                body = _read(response, until)
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except TimeoutError:
            raise _FailedError(Note("no-reply", seconds=self.timeout)) from None
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise DataError("no-connection", path=self.url, why=f"certificate: {reason.verify_message}") from None
            if isinstance(reason, TimeoutError):
                raise _FailedError(Note("no-reply", seconds=self.timeout)) from None
            why = self.key.removed(f"{type(reason).__name__}: {reason}".removesuffix(": "))
            raise _FailedError(Note("no-connection", why=why)) from None
        try:
            found = self.key.removed(json.loads(body))
        except (ValueError, RecursionError):
            found = self.key.removed(body.decode(errors="replace"))
        if not isinstance(found, dict):
            raise _FailedError(Note("not-of-chat", value=found))
        return found

    def _opener(self) -> OpenerDirector:
        """Follow no redirects, and use no proxy to reach this machine."""
        local = urlsplit(self.url).hostname in LOCAL
        return build_opener(_NoRedirect, ProxyHandler({}) if local else ProxyHandler())

    def _refusal(self, error: HTTPError) -> Exception:
        code, said = _message(error)
        status = f"{error.code} {HTTPStatus(error.code).phrase}" if error.code in set(HTTPStatus) else f"{error.code}"
        status += self.key.removed(said)
        pause = _pause(error.headers.get("Retry-After", ""))
        busy = (error.code in AGAIN or error.code >= 500) and code not in SPENT
        if busy and pause <= LONGEST_PAUSE:
            return _FailedError(Note("server-busy", status=status), pause, busy=True)
        where = {"path": self.url, "status": status}
        if busy:
            return DataError("long-pause", seconds=pause, **where)
        if error.code in REFUSED:
            return DataError("key-refused", **where)
        lasting = error.code < 400 or error.code in LASTING or code in SPENT or not self.worked
        return (DataError if lasting else RejectedError)("request-rejected", **where)


def endpoint(url: object, path: str, key: str | None, **options: Any) -> Endpoint:
    """Check address and key; the key is an argument or in the environment."""
    given = os.environ.get(KEY, "") if key is None else key
    if not isinstance(given, str) or not given.isascii() or not given.isprintable() or " " in given:
        raise UsageError("bad-key", name=KEY if key is None else "key")
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        valid = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        valid = valid and str(url).isascii() and str(url).isprintable() and " " not in str(url)
    except ValueError:
        parts, valid = None, False
    if parts is None or not valid:
        raise UsageError("not-an-address", name="url", value=url, example="https://api.example.com/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError("url-with-more", name="url")
    if given and parts.scheme == "http" and parts.hostname not in LOCAL:
        warn("key-unencrypted", host=parts.hostname)
    address = str(url).rstrip("/")
    return Endpoint(address if address.endswith(path) else address + path, Secret(given), **options)


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
    """Return the seconds of a Retry-After: a number, or a date."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, ((then if then.tzinfo else then.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())
