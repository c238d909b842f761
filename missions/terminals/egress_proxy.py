"""A proxy that lets one command reach its approved hosts and no others, while the command runs.

    python3 -I -S egress_proxy.py SPOOL RULE < request

This is a program that uses only the standard library. It runs outside of the sandbox and listens on a socket in the
spool, the only network that the sandbox sees. It accepts CONNECT to exactly the approved hosts and ports, resolves
their names itself, and refuses addresses that are not public by RULE, the file `engine/web/public_addresses.py`. Each
connection becomes a line of `connections`: host, port, whether it was allowed, and bytes in both directions.

Why so: missions/DESIGN.md, The sandbox.
"""

import contextlib
import json
import os
import re
import runpy
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

ADDRESS, LINES = "net/sock", "connections"
MOST_AT_ONCE, MOST_IN_ALL = 32, 2_000
IDLE, CONNECTS_IN = 120.0, 10.0  # seconds
LONGEST_HEAD, CHUNK = 8_192, 65_536
POLL_SECONDS = 0.5
START_TIMEOUT = 30.0
PORT = re.compile("[0-9]{1,5}")
IS_PROGRAM = __name__ == "__main__"
# the program's user may not be able to reach the file, and gets a path to a descriptor of it
RULE = sys.argv[2] if IS_PROGRAM else str(Path(__file__).parents[2] / "engine/web/public_addresses.py")
is_public = runpy.run_path(RULE)["is_public"]


class EgressProxy:
    def __init__(self, asked: dict[str, Any]) -> None:
        self._hosts = frozenset(one.lower() for one in asked["hosts"])
        self._inner = frozenset(one.lower() for one in asked["inner"])
        self._places, self._lines = threading.Semaphore(MOST_AT_ONCE), threading.Lock()
        self._count = 0

    def serve(self, server: socket.socket) -> None:
        """Accept connections until the command has ended."""
        server.settimeout(POLL_SECONDS)
        began = time.monotonic()
        while not os.path.exists("end") and (os.path.exists("started") or time.monotonic() - began < START_TIMEOUT):
            if self._places.acquire(timeout=POLL_SECONDS):
                self._take(server)
            if not is_running():
                return

    def _take(self, server: socket.socket) -> None:
        """Accept the next connection, if one comes. Connections beyond MOST_AT_ONCE wait."""
        try:
            client, _ = server.accept()
        except OSError:
            self._places.release()
        else:
            threading.Thread(target=self._meet, args=[client], daemon=True).start()

    def _meet(self, client: socket.socket) -> None:
        try:
            self._answer(client)
        finally:
            self._places.release()

    def _answer(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(CONNECTS_IN)
            host, port = requested_host(client)
            allowed = f"{host}:{port}" in self._hosts and self._count < MOST_IN_ALL
            try:
                with self._reached(host, port) if allowed else deny_response() as there:
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    sent, received = relay(client, there)
            except PermissionError:
                self._note(host, port, False, 0, 0)
                client.sendall(b"HTTP/1.1 403 Not approved\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                self._note(host, port, True, 0, 0)
                client.sendall(b"HTTP/1.1 502 Not reached\r\nContent-Length: 0\r\n\r\n")
            else:
                self._note(host, port, True, sent, received)

    def _reached(self, host: str, port: int) -> socket.socket:
        """Connect to the address that was checked, without another lookup. Raises PermissionError, OSError."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            if {host, f"{host}:{port}"} & self._inner or is_public(str(address[0])):
                made = socket.socket(family, kind, protocol)
                made.settimeout(CONNECTS_IN)
                try:
                    made.connect(address)
                except OSError:
                    made.close()
                    raise
                return made
        raise PermissionError(host)

    def _note(self, host: str, port: int, allowed: bool, sent: int, received: int) -> None:
        said = {"host": host[:255], "port": port, "allowed": allowed, "sent": sent, "received": received}
        with self._lines:
            self._count += 1
            if self._count <= MOST_IN_ALL:
                with open(LINES, "a") as file:
                    file.write(json.dumps(said) + "\n")


def deny_response() -> socket.socket:
    raise PermissionError


def requested_host(client: socket.socket) -> tuple[str, int]:
    """Host and port of a CONNECT request. Raises ValueError for anything else."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = client.recv(1_024)
        head += part
        if not part or len(head) > LONGEST_HEAD:
            raise ValueError("no request")
    verb, target, *_ = head.decode("ascii").split()
    host, _, port = target.rpartition(":")
    if verb != "CONNECT" or not host or not PORT.fullmatch(port):
        client.sendall(b"HTTP/1.1 405 Only CONNECT\r\nContent-Length: 0\r\n\r\n")
        raise ValueError("no CONNECT")
    return host.lower().strip("[]"), int(port)


def relay(client: socket.socket, there: socket.socket) -> tuple[int, int]:
    """Copy both directions until both are closed or idle; return the bytes sent and received."""
    counted = [0, 0]

    def pump(number: int, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            one.settimeout(IDLE)
            while data := one.recv(CHUNK):
                other.sendall(data)
                counted[number] += len(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=[1, there, client], daemon=True)
    back.start()
    pump(0, client, there)
    back.join()
    return counted[0], counted[1]


def is_running() -> bool:
    """Whether the command's supervisor is running, or may still start."""
    try:
        with open("started") as file:
            pid = json.loads(file.read() or "{}").get("pid")
        return pid is None or os.path.exists(f"/proc/{int(pid)}")
    except (OSError, ValueError):
        return True


def main(spool: str) -> int:
    asked = json.load(sys.stdin)
    os.closerange(3, 1024)
    os.chdir(spool)
    os.makedirs("net", mode=0o750, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(ADDRESS)
        except OSError:
            return 3  # another proxy listens here
        server.listen(16)
        EgressProxy(asked).serve(server)
    return 0


if IS_PROGRAM:
    sys.exit(main(sys.argv[1]))
