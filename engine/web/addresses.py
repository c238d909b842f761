"""Which addresses may be read or sent to: how one is written, and which network address it may lead to.

Names are not judged here. What a name leads to is known when a socket is made for it, and only then: see `sockets`.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit, urlunsplit

LONGEST, LONGEST_QUERY = 2_000, 200
PORTS = {"http": 80, "https": 443}
_NOT_PUBLIC = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "fc00::/7", "100::/64")))
_NAT64 = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48")))
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\^{}|\u201c\u201d]+", re.IGNORECASE)
_ENDS = ".,;:!?)]*_"


class NotRead(ValueError):
    """Why something is not read or sent to, in a sentence for whoever asked for it."""


def checked(address: str, allowed: Collection[str] = ()) -> str:
    """The address as it is asked for, without what only a browser needs. `allowed`: hosts, or hosts with a port, that
    an administrator lets be read on any port named there. NotRead."""
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise NotRead("That is no address that can be used.") from error
    if len(address) > LONGEST or not address.strip().isprintable() or any(char.isspace() for char in address.strip()):
        raise NotRead("That is no address that can be used.")
    if parts.scheme not in PORTS or not host:
        raise NotRead("An address begins with http:// or https:// and has a host.")
    if parts.username is not None or parts.password is not None:
        raise NotRead("An address with a name or a password in it is not used.")
    port = port or PORTS[parts.scheme]
    if port not in PORTS.values() and f"{host}:{port}" not in allowed:
        raise NotRead(f"Port {port} is not used, only 80 and 443.")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == PORTS[parts.scheme] else f"{shown}:{port}"
    return urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))


def moved(address: str, to: str, allowed: Collection[str] = ()) -> str:
    """Where a redirect leads. NotRead."""
    return checked(urljoin(address, to), allowed)


def host_of(address: str) -> str:
    return (urlsplit(address).hostname or "").rstrip(".")


def is_allowed(address: str, allowed: Collection[str]) -> bool:
    """Whether an administrator lets this host be read although it may stand inside."""
    parts = urlsplit(address)
    host = host_of(address)
    return host in allowed or f"{host}:{parts.port or PORTS.get(parts.scheme, 0)}" in allowed


def noted(address: str) -> str:
    """An address on any port, as `checked` writes it: whether it is read is seen when it is. NotRead."""
    try:
        parts = urlsplit(address.strip())
        return checked(address, {f"{(parts.hostname or '').rstrip('.')}:{parts.port}"})
    except ValueError as error:
        raise NotRead("That is no address that can be used.") from error


def found_in(text: str) -> set[str]:
    """Addresses that stand in a text, with and without a sign that may end its sentence."""
    found = set()
    for match in _ADDRESS.findall(text):
        for written in {match, match.rstrip(_ENDS)}:
            with suppress(NotRead):
                found.add(noted(written))
    return found


def is_public(address: str) -> bool:
    """Whether this network address is one that anybody may reach: that of an IPv4 inside an IPv6 is what counts."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = _inner(found)
        if inner is not None:
            return all(map(_reachable, inner))
    return _reachable(found)


def is_inside(host: str) -> bool:
    """Whether this host is written as a network address that not everybody may reach. Of a name nothing is known."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return not is_public(host)


def _reachable(found: IPv4Address | IPv6Address) -> bool:
    outside = (
        found.is_multicast or found.is_reserved or found.is_unspecified or found.is_loopback or found.is_link_local
    )
    if outside or any(found in net for net in _NOT_PUBLIC if net.version == found.version):
        return False
    return found.is_global


def _inner(found: IPv6Address) -> tuple[IPv4Address, ...] | None:
    """The IPv4 addresses that it carries: mapped, compatible, 6to4, Teredo, NAT64."""
    if found.ipv4_mapped:
        return (found.ipv4_mapped,)
    if found.teredo:
        return found.teredo
    if found.sixtofour:
        return (found.sixtofour,)
    last = IPv4Address(int(found) & 0xFFFFFFFF)
    if any(found in net for net in _NAT64) or int(found) >> 32 == 0:
        return (last,)
    return None
