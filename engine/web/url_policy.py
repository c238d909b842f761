"""Which addresses may be read or sent to: their syntax, and whether a literal network address is internal.

Host names are not resolved here: what a name resolves to is checked when a socket is created (`public_sockets.py`).
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
    """Why an address is not read or sent to, as a message for the person or model that gave it."""


def check_address(address: str, allowed: Collection[str] = ()) -> str:
    """Return the address as it is requested, without its fragment.

    `allowed` has hosts, or hosts with a port, that an administrator has allowed; a port other than 80 and 443 must
    be named there. Raises AddressRefused.
    """
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
    """Return the target of a redirect. Raises AddressRefused."""
    return check_address(urljoin(address, to), allowed)


def host_of(address: str) -> str:
    return (urlsplit(address).hostname or "").rstrip(".")


def is_allowed(address: str, allowed: Collection[str]) -> bool:
    """Whether an administrator allows this host although it may be internal."""
    parts = urlsplit(address)
    host = host_of(address)
    return host in allowed or f"{host}:{parts.port or PORTS.get(parts.scheme, 0)}" in allowed


def shorten_address(address: str) -> str:
    """Return an address with any port as `check_address` writes it. The port is checked when the address is read.
    Raises AddressRefused.
    """
    try:
        parts = urlsplit(address.strip())
        return check_address(address, {f"{(parts.hostname or '').rstrip('.')}:{parts.port}"})
    except ValueError as error:
        raise AddressRefused("That is no address that can be used.") from error


def addresses_in_text(text: str) -> set[str]:
    """Return the addresses in a text, each with and without punctuation that may end its sentence."""
    found = set()
    for match in _ADDRESS.findall(text):
        for written in {match, match.rstrip(_ENDS)}:
            with suppress(AddressRefused):
                found.add(shorten_address(written))
    return found


def is_internal_host(host: str) -> bool:
    """Whether the host is a literal network address that is not public. False for names, which are not resolved."""
    written = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".")
    return _is_network_address(written) and not is_public(written)


def _is_network_address(host: str) -> bool:
    """Whether the host is a literal address, including IPv4 in octal, in hexadecimal or with fewer than four numbers,
    as sockets accept it.
    """
    with suppress(ValueError):
        return bool(ip_address(host.partition("%")[0]))
    with suppress(OSError):
        return bool(_NUMBERS.fullmatch(host) and socket.inet_aton(host))
    return False
