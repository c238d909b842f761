"""Sockets that lead nowhere inside, for whatever asks addresses that somebody has written.

A name may lead elsewhere each time it is asked for, and an inner address can be written in many ways. So neither is
judged: a connector's socket factory sees the very address that is about to be connected to, and refuses it there.

Why so: docs/decisions.md, The web.
"""

import socket
from typing import Any

from .public_addresses import is_public


class PublicSockets:
    """Makes sockets to public addresses alone, or to any where an administrator has named the host."""

    def __init__(self, anywhere: bool) -> None:
        self.anywhere, self.refused = anywhere, False

    def __call__(self, info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not self.anywhere and not is_public(str(address[0])):
            self.refused = True
            raise OSError("This address is not public.")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made
