"""A socket factory that refuses addresses that are not public, for requests to addresses that users or models wrote.

A name may resolve differently each time, and an internal address can be written in many ways. So neither is
checked: the connector's socket factory sees the address that is about to be connected to, and refuses it there.

Why so: toolbox/DESIGN.md, The web.
"""

import socket
from typing import Any

from .public_addresses import is_public


class PublicSockets:
    """Create sockets to public addresses only, or to any address if an administrator has allowed the host
    (`anywhere`).
    """

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
