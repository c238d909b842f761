"""Receives messages as the servers of others do, and misbehaves by its addresses: `/ok`, `/slow`, `/gone`, `/large`,
`/inside`, which redirects to `/secret`, and `/500/N`, which fails N times. It keeps all that came."""

import base64
import contextlib
import hmac
import json
import threading
import time
from collections import Counter
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    def __init__(self, port: int = 0) -> None:
        self.came: list[dict[str, Any]] = []
        self.inside: list[str] = []
        self.tried: Counter[str] = Counter()
        self.release = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
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


class Handler(BaseHTTPRequestHandler):
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
        if self.path == "/inside":
            return self._answer(307, Location=self.receiver.address("/secret"))
        if self._fails():
            return self._answer(410 if self.path == "/gone" else 500)
        if self.path == "/secret":
            self.receiver.inside.append(self.path)
        told = {name.lower(): value for name, value in self.headers.items()}
        self.receiver.came.append({"path": self.path, "headers": told, "body": body})
        return self._answer(200, b"x" * (10**6 if self.path == "/large" else 2))

    def _fails(self) -> bool:
        times = self.path.rpartition("/")[2] if self.path.startswith("/500/") else "0"
        return self.path == "/gone" or self.receiver.tried[self.path] <= int(times)

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)


def verified(message: dict[str, Any], secret: str) -> Any:
    """The content, as a verifier of Standard Webhooks reads it; written from its specification, not from ours."""
    headers = message["headers"]
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 300
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), message["body"]])
    expected = base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()
    versions = [one.partition(",") for one in headers["webhook-signature"].split(" ")]
    assert any(version == "v1" and hmac.compare_digest(said, expected) for version, _, said in versions)
    return json.loads(message["body"])
