"""Links: under which addresses the page is reached, and who has which link.

There is a link for the owner, one for all judges, and one for each judge who has a link of their own.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import socket
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from rankdev.errors import UsageError
from rankdev.judging.store import Store, check_name

PORTS = {"http": 80, "https": 443}
EVERYWHERE = "0.0.0.0"
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")

SECRET = re.compile(r"[\w-]{22}", re.ASCII)


def _is_number(host: str) -> bool:
    """Return whether a host is an IP address, not a name."""
    try:
        return bool(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        return False


def origin_of(address: str) -> str:
    """Return scheme, host and port of a page, with an international name in ASCII; refuse what is not its address."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").encode("idna").decode().lower(), parts.port
        page = parts.scheme in PORTS and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:
        page = False
    if not page or not NAME.fullmatch(host):
        raise UsageError("not-an-address", name="public_url", value=address, example="https://judge.example.org")
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, PORTS[parts.scheme]) else "")


class Addresses:
    """The addresses of a server: ``host`` is where it listens, ``public_url`` that of a proxy in front of it.

    A page of another site can neither read nor write here: the host must be this machine by its address or its own
    name, or the public one (so that no outside name can be bound to it), and the origin must be this server.
    """

    def __init__(self, host: str, public_url: str | None) -> None:
        self.host, self._public_url = host, public_url
        self._origin = None if public_url is None else origin_of(public_url)
        name = socket.gethostname().lower()
        self._names = {"localhost", host.lower(), name, f"{name.partition('.')[0]}.local"}
        self._public_name = "" if self._origin is None else _name_of(self._origin.partition("//")[2])

    @property
    def encrypted(self) -> bool:
        """Whether a proxy encrypts what is sent."""
        return self._origin is not None and self._origin.startswith("https:")

    def check(self, host: str, origin: str | None) -> None:
        """Refuse a request to another host, or from a page of another site."""
        name = _name_of(host)
        public = bool(name) and name == self._public_name
        if not public and name not in self._names and not _is_number(name):
            raise UsageError("unknown-host", host=name)
        if origin not in (None, self._origin) and (public or origin != f"http://{host}"):
            raise UsageError("other-site", origin=origin)

    def link(self, token: str, host: str, port: int, *, owner: bool) -> str:
        """Return the address of the page; what follows # is never sent over a network.

        If the whole network is served, judges use the name of this machine, and the owner, who is on it, its address.
        """
        if self._public_url is not None:
            return f"{self._public_url.rstrip('/')}/#{token}"
        if host == EVERYWHERE:
            host = "127.0.0.1" if owner else socket.gethostname()
        return f"http://{host}:{port}/#{token}"


def _name_of(host: str) -> str:
    """Return the name of a host, without port and final dot."""
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return name.removesuffix(".")


def _secret() -> str:
    return secrets.token_urlsafe(16)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def same(given: str, secret: str) -> bool:
    """Compare secrets in constant time."""
    return secrets.compare_digest(given.encode(errors="replace"), secret.encode())


def folded(name: str) -> str:
    """Return what names that look alike have in common: another case or form of a letter is not another person."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


@dataclass(frozen=True)
class Caller:
    """Who makes a request; ``judge`` is the name that the link belongs to, None where it is for several."""

    owner: bool = False
    judge: str | None = None


@dataclass(frozen=True)
class Tokens:
    """Secrets in the links: one for judges, one for the owner, who may do all that judges may, and personal ones.

    ``personal`` has a secret by name, "" where the link was revoked: the name stays taken. ``common`` is whether the
    link for all judges may be used; a name that is given there belongs to the browser that first answered under it,
    one of ``browsers``.
    """

    judge: str = field(default_factory=_secret)
    owner: str = field(default_factory=_secret)
    personal: Mapping[str, str] = field(default_factory=dict)
    browsers: Mapping[str, str] = field(default_factory=dict)
    common: bool = True

    @classmethod
    def kept(cls, store: Store) -> Tokens:
        """Return the tokens of last time, so that links stay valid; new ones the first time."""
        before = store.remembered()
        secret = {name: before[name] for name in ("judge", "owner") if SECRET.fullmatch(str(before.get(name)))}
        rest = {name: before[name] for name in ("personal", "browsers", "common") if name in before}
        tokens = cls(**secret, **rest)
        tokens.keep(store)
        return tokens

    def keep(self, store: Store) -> None:
        """Write them next to the database."""
        store.remember(**asdict(self))

    def caller(self, token: str) -> Caller | None:
        """Return who has the link with this token; None where nobody has, or no longer."""
        if same(token, self.owner):
            return Caller(owner=True)
        if self.common and same(token, self.judge):
            return Caller()
        return next((Caller(judge=name) for name, mine in self.personal.items() if mine and same(token, mine)), None)

    def check_free(self, name: str) -> None:
        """Refuse a name that could be taken for that of a link, now or before."""
        known = next((known for known in self.personal if folded(known) == folded(name)), None)
        if known is not None:
            raise UsageError("own-link", name=known)

    def owns(self, name: str, browser: str) -> bool | None:
        """Return whether a name belongs to a browser; None where it belongs to none."""
        known = self.browsers.get(folded(name))
        return None if known is None else same(_digest(browser), known)

    def claimed(self, name: str, browser: str) -> Tokens:
        """Give a name to the browser that first answers under it."""
        if self.owns(name, browser) is False:
            raise UsageError("other-browser", name=name)
        return replace(self, browsers={**self.browsers, folded(name): _digest(browser)})

    def with_links(self, names: Iterable[str]) -> Tokens:
        """Make a link for each name that has none; one that was revoked gets another."""
        personal = dict(self.personal)
        for name in names:
            check_name(name)
            if name not in personal:
                replace(self, personal=personal).check_free(name)
            personal[name] = personal.get(name) or _secret()
        return replace(self, personal=personal)

    def revoked(self, name: str) -> Tokens:
        """End a judge's link; the name stays taken, so that nobody else can answer under it."""
        if not self.personal.get(name):
            raise UsageError("no-link", name=name)
        return replace(self, personal={**self.personal, name: ""})
