"""Receives messages as the servers of others do, and misbehaves by its addresses: `/ok`, `/slow`, `/gone`, `/large`,
`/inside`, which redirects to `/secret`, and `/500/N`, which fails N times. It keeps all that came."""

import contextlib
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


class Receiver:
    def __init__(self, port: int = 0) -> None:
        self.came: list[dict[str, Any]] = []
        self.inside: list[str] = []
        self.tried: Counter[str] = Counter()
        self.release = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), ReceiverHandler)
        self.server.daemon_threads = True
        self.server.receiver = self  # type: ignore[attr-defined]
        self.port = self.server.server_port

    def __enter__(self) -> "Receiver":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait_for(self, number: int, seconds: float = 60) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while len(self.came) < number and time.monotonic() < until:
            time.sleep(0.05)
        return self.came


class ReceiverHandler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    @property
    def receiver(self) -> Receiver:
        return self.server.receiver  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        self.receiver.inside.append(self.path)
        self._answer(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.receiver.tried[self.path] += 1
        if self.path == "/slow":
            self.receiver.release.wait(30)
        if self._misbehaves("/slow/"):
            self.receiver.release.wait(1)
        if self.path == "/inside" or self._misbehaves("/inside/"):
            return self._answer(307, Location=self.receiver.address("/secret"))
        if self._fails():
            return self._answer(410 if self.path == "/gone" else 500)
        if self.path == "/secret":
            self.receiver.inside.append(self.path)
        told = {name.lower(): value for name, value in self.headers.items()}
        self.receiver.came.append({"path": self.path, "headers": told, "body": body})
        return self._answer(200, b"x" * (10**6 if self.path == "/large" else 2))

    def _fails(self) -> bool:
        return self.path == "/gone" or self._misbehaves("/500/")

    def _misbehaves(self, how: str) -> bool:
        """So often as stands behind it."""
        times = self.path.rpartition("/")[2] if self.path.startswith(how) else "0"
        return self.receiver.tried[self.path] <= int(times)

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)


def verified(message: dict[str, Any], secret: str) -> Any:
    """The content, as the official verifier of Standard Webhooks reads it."""
    headers = {name: value for name, value in message["headers"].items() if name.startswith("webhook-")}
    return Webhook(secret).verify(message["body"].decode(), headers)
