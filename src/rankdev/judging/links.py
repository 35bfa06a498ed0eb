"""Links: one for the owner, one for all judges, and one for each judge who has a link of their own."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rankdev.errors import UsageError
from rankdev.judging.store import Store, check_name

SECRET = re.compile(r"[\w-]{22}", re.ASCII)


def _secret() -> str:
    return secrets.token_urlsafe(16)


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
    link for all judges may be used. ``salt`` changes when a link is revoked, so that its image addresses end too.
    """

    judge: str = field(default_factory=_secret)
    owner: str = field(default_factory=_secret)
    personal: Mapping[str, str] = field(default_factory=dict)
    common: bool = True
    salt: str = ""

    @classmethod
    def kept(cls, store: Store) -> Tokens:
        """Return the tokens of last time, so that links stay valid; new ones the first time."""
        before = store.remembered()
        known: dict[str, Any] = {
            name: before[name] for name in ("judge", "owner") if SECRET.fullmatch(str(before.get(name)))
        }
        personal = before.get("personal")
        if isinstance(personal, dict):
            known["personal"] = {
                str(name): secret if SECRET.fullmatch(str(secret)) else "" for name, secret in personal.items()
            }
        known["common"] = before.get("common") is not False
        known["salt"] = str(before.get("salt", ""))
        tokens = cls(**known)
        tokens.keep(store)
        return tokens

    def keep(self, store: Store) -> None:
        """Write them next to the database."""
        mine = {name: getattr(self, name) for name in ("judge", "owner", "common", "salt")}
        store.remember({**store.remembered(), **mine, "personal": dict(self.personal)})

    def caller(self, token: str) -> Caller | None:
        """Return who has the link with this token; None where nobody has, or no longer."""
        if same(token, self.owner):
            return Caller(owner=True)
        if self.common and same(token, self.judge):
            return Caller()
        return next((Caller(judge=name) for name, mine in self.personal.items() if mine and same(token, mine)), None)

    def taken(self, name: str) -> str | None:
        """Return the name with a link of its own, now or before, that a name could be taken for."""
        return next((known for known in self.personal if folded(known) == folded(name)), None)

    def with_links(self, names: Iterable[str]) -> Tokens:
        """Make a link for each name that has none; one that was revoked gets another."""
        personal = dict(self.personal)
        for name in names:
            check_name(name)
            known = replace(self, personal=personal).taken(name)
            if known not in (None, name):
                raise UsageError("like-name", name=name, other=known)
            if not personal.get(name):
                personal[name] = _secret()
        return replace(self, personal=personal)

    def revoked(self, name: str) -> Tokens:
        """End a judge's link; the name stays taken, so that nobody else can answer under it."""
        if not self.personal.get(name):
            raise UsageError("no-link", name=name)
        return replace(self, personal={**self.personal, name: ""}, salt=_secret())

    @property
    def images(self) -> str:
        """The token in the addresses of images, which, unlike the others, ends up in logs."""
        return hashlib.sha256(f"images {self.judge}{self.salt}".encode()).hexdigest()[:32]
