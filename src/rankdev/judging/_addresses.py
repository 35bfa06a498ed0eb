"""Addresses on the web, as browsers write them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")


def ip_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the number that a host is; None for a name."""
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
