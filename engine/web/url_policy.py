"""Which addresses may be read or sent to: how one is written, and which network address it may lead to.

Names are not judged here. What a name leads to is known when a socket is made for it, and only then: see `sockets`.
"""

import re
import socket
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit, urlunsplit

from .public_addresses import is_public

LONGEST, LONGEST_QUERY = 2_000, 200
PORTS = {"http": 80, "https": 443}
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\^{}|\u201c\u201d]+", re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9a-fx]+(\.[0-9a-fx]+){0,3}", re.IGNORECASE)
_ENDS = ".,;:!?)]*_"


class AddressRefused(ValueError):
    """Why something is not read or sent to, in a sentence for whoever asked for it."""


def check_address(address: str, allowed: Collection[str] = ()) -> str:
    """The address as it is asked for, without what only a browser needs. `allowed`: hosts, or hosts with a port, that
    an administrator lets be read on any port named there. NotRead."""
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise AddressRefused("That is no address that can be used.") from error
    if len(address) > LONGEST or not address.strip().isprintable() or any(char.isspace() for char in address.strip()):
        raise AddressRefused("That is no address that can be used.")
    if parts.scheme not in PORTS or not host:
        raise AddressRefused("An address begins with http:// or https:// and has a host.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("An address with a name or a password in it is not used.")
    port = port or PORTS[parts.scheme]
    if port not in PORTS.values() and f"{host}:{port}" not in allowed:
        raise AddressRefused(f"Port {port} is not used, only 80 and 443.")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == PORTS[parts.scheme] else f"{shown}:{port}"
    return urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))


def check_redirect(address: str, to: str, allowed: Collection[str] = ()) -> str:
    """Where a redirect leads. NotRead."""
    return check_address(urljoin(address, to), allowed)


def host_of(address: str) -> str:
    return (urlsplit(address).hostname or "").rstrip(".")


def is_allowed(address: str, allowed: Collection[str]) -> bool:
    """Whether an administrator lets this host be read although it may stand inside."""
    parts = urlsplit(address)
    host = host_of(address)
    return host in allowed or f"{host}:{parts.port or PORTS.get(parts.scheme, 0)}" in allowed


def shorten_address(address: str) -> str:
    """An address on any port, as `checked` writes it: whether it is read is seen when it is. NotRead."""
    try:
        parts = urlsplit(address.strip())
        return check_address(address, {f"{(parts.hostname or '').rstrip('.')}:{parts.port}"})
    except ValueError as error:
        raise AddressRefused("That is no address that can be used.") from error


def addresses_in_text(text: str) -> set[str]:
    """Addresses that stand in a text, with and without a sign that may end its sentence."""
    found = set()
    for match in _ADDRESS.findall(text):
        for written in {match, match.rstrip(_ENDS)}:
            with suppress(AddressRefused):
                found.add(shorten_address(written))
    return found


def is_internal_host(host: str) -> bool:
    """Whether this host is written as a network address that not everybody may reach. Of a name nothing is known."""
    written = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".")
    return _is_network_address(written) and not is_public(written)


def _is_network_address(host: str) -> bool:
    """Also an IPv4 in octal or hexadecimal numbers, or in less than four, as sockets take it."""
    with suppress(ValueError):
        return bool(ip_address(host.partition("%")[0]))
    with suppress(OSError):
        return bool(_NUMBERS.fullmatch(host) and socket.inet_aton(host))
    return False
