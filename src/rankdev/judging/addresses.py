"""Web addresses: as browsers write them, and those under which the page is reached."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from rankdev.errors import UsageError

PORTS = {"http": 80, "https": 443}
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")


def ip_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address of a host that is one; None for a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def origin_of(address: str) -> str:
    """Return scheme, host and port, with an international name in ASCII; ValueError if it is no http(s) address."""
    parts = urlsplit(address)
    host, number = parts.hostname or "", ip_of(parts.hostname or "")
    if number is None:
        host = host.encode("idna").decode().lower()
    if parts.scheme not in PORTS or not (NAME.fullmatch(host) if number is None else re.fullmatch("[0-9a-f.:]+", host)):
        raise ValueError(address)
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def check_public_url(address: str) -> None:
    """Reject what is not the address of a page."""
    try:
        origin_of(address)
        parts = urlsplit(address)
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError
    except ValueError:
        raise UsageError(
            "not-an-address", name="public_url", value=address, example="https://judge.example.org"
        ) from None


class Addresses:
    """The addresses of a server: ``host`` is where it listens, ``public_url`` that of a proxy in front of it.

    A page of another site can neither read nor write here: the host must be this machine by its address or its own
    name, or the public one (so that no outside name can be bound to it), and the origin must be this server.
    """

    def __init__(self, host: str, public_url: str | None) -> None:
        self._public_url, self._origin = public_url, None if public_url is None else origin_of(public_url)
        name = socket.gethostname().lower()
        self._names = {"localhost", host.lower(), name, f"{name.partition('.')[0]}.local"}
        self._public_name = "" if self._origin is None else _name_of(self._origin.partition("//")[2])
        self._number = ip_of(host)

    @property
    def version_6(self) -> bool:
        """Whether the host is an IPv6 address."""
        return isinstance(self._number, IPv6Address)

    @property
    def everywhere(self) -> bool:
        """Whether the whole network is served."""
        return self._number is not None and self._number.is_unspecified

    @property
    def encrypted(self) -> bool:
        """Whether a proxy encrypts what is sent."""
        return self._origin is not None and self._origin.startswith("https:")

    def check(self, host: str, origin: str | None) -> None:
        """Refuse a request to another host, or from a page of another site."""
        name = _name_of(host)
        public = bool(name) and name == self._public_name
        if not public and name not in self._names and ip_of(name) is None:
            raise UsageError("unknown-host", host=name)
        if origin not in (None, self._origin) and (public or origin != f"http://{host}"):
            raise UsageError("other-site", origin=origin)

    def link(self, token: str, host: str, port: int, *, owner: bool) -> str:
        """Return the address of the page; what follows # is never sent over a network.

        If the whole network is served, judges use the name of this machine, and the owner, who is on it, its address.
        """
        if self._public_url is not None:
            return f"{self._public_url.rstrip('/')}/#{token}"
        if self.everywhere:
            host = ("127.0.0.1" if "." in host else "::1") if owner else socket.gethostname()
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/#{token}"


def _name_of(host: str) -> str:
    """Return the name of a host, without port and final dot."""
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return name.removesuffix(".")
