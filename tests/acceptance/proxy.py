"""nginx with deploy/nginx.conf before a site, and a client that goes through it."""

import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Self

from tests.acceptance.site import ROOT

HOST = "magi.example"
PATIENCE = 60.0  # seconds for what takes a fraction of one, on a machine that has other things to do
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
}
TEXT, MASKED = 0x81, 0x80  # the first byte of a text frame; the bit of a client's frame in the second
CERTIFICATE = "openssl req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"


class Proxy:
    """It listens on sockets in a folder of its own instead of ports, which somebody else could take first."""

    def __init__(self, nginx: str, folder: Path, upstream: int) -> None:
        self.folder = folder
        self.command = [nginx, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
        files = ["-keyout", key, "-out", certificate]
        subprocess.run([*CERTIFICATE.split(), *names, *files], check=True, capture_output=True)
        self.tls = ssl.create_default_context(cafile=str(certificate))
        here = {
            "listen 80": f"listen unix:{folder}/http",
            "listen 443": f"listen unix:{folder}/https",
            "/etc/letsencrypt/live/magi.example/fullchain.pem": str(certificate),
            "/etc/letsencrypt/live/magi.example/privkey.pem": str(key),
            "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        }
        (folder / "nginx.conf").write_text(self._around(_replaced((ROOT / "deploy" / "nginx.conf").read_text(), here)))

    def _around(self, servers: str) -> str:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)
        process = f"daemon off; master_process off; pid {self.folder}/pid; events {{}}"
        return f"{process}\nhttp {{\naccess_log {self.folder}/access.log; {paths}\n{servers}}}\n"

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            try:
                # both: nginx opens one after the other
                for scheme in ("http", "https"):
                    self.connect(scheme).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"nginx did not start:\n{(self.folder / 'error.log').read_text()}")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    def connect(self, scheme: str) -> socket.socket:
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(PATIENCE)
        plain.connect(str(self.folder / scheme))
        return self.tls.wrap_socket(plain, server_hostname=HOST) if scheme == "https" else plain

    def ask(
        self, method: str, path: str, body: str | None = None, *, scheme: str = "https", **headers: str
    ) -> HTTPResponse:
        """The answer to one request over a connection of its own. `X_Y` in a header's name stands for `X-Y`."""
        return _asked(self.connect(scheme), method, path, body, headers)

    def watch(self, path: str, session: str) -> Iterator[str]:
        """What a live page is told, as long as patience lasts; each message is acknowledged, as the page does it."""
        door, end = self.connect("https"), time.monotonic() + PATIENCE
        headers = {"Cookie": session, "Origin": f"https://{HOST}", **UPGRADE}
        answer = _asked(door, "GET", path, None, headers)
        assert answer.status == 101, answer.read()
        while time.monotonic() < end:
            kind, length = answer.fp.read(2)
            if length > 125:
                length = int.from_bytes(answer.fp.read(2 if length == 126 else 8))
            data = answer.fp.read(length)
            if kind == TEXT:
                message = data.decode()
                yield message
                version = message[len("<!--") : message.index("-->")].encode()
                door.sendall(bytes([TEXT, MASKED | len(version)]) + bytes(4) + version)


def _asked(door: socket.socket, method: str, path: str, body: str | None, headers: dict[str, str]) -> HTTPResponse:
    connection = HTTPConnection(HOST)
    connection.sock = door
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    return connection.getresponse()


def _replaced(text: str, words: dict[str, str]) -> str:
    text = re.sub(r"\n *listen \[::\].*", "", text)
    for theirs, ours in words.items():
        assert theirs in text, f"deploy/nginx.conf has no {theirs}"
        text = text.replace(theirs, ours)
    return text
