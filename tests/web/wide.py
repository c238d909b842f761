"""The web of `world` in a process of its own, each site at an address of the loopback, with a search in SearXNG's form.

`python -m tests.web.wide` serves until its standard input ends.
"""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, build_opener

from tests.web.site import whole
from tests.web.world import WebPageCopy, world

SITES, HITS = 60, 8


def host_of(number: int) -> str:
    return f"127.0.1.{number + 1}"


class Wide:
    """Use as a context manager."""

    port: int

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.web.wide"]
        folder = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()

    @property
    def search(self) -> str:
        return f"http://{host_of(SITES)}:{self.port}"

    @property
    def hosts(self) -> list[str]:
        return [f"{host_of(number)}:{self.port}" for number in range(SITES)]

    def text_of(self, address: str) -> str:
        """What stands there now, as it is sent."""
        with build_opener(ProxyHandler({})).open(address, timeout=30) as response:
            return response.read().decode()


class WideWebAnswers:
    def __init__(self, port: int) -> None:
        self.port, made = port, world()
        self.pages = {(host_of(one.host), one.path): one for one in made.pages}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target = urlsplit(head.split(" ")[1])
            host = re.search(r"\r\nhost: ([\d.]+)", head, re.IGNORECASE)[1]
            writer.write(self._answer(host, target.path, parse_qs(target.query).get("q", [""])[0]))
            await writer.drain()

    def _answer(self, host: str, path: str, words: str) -> bytes:
        if path == "/search":
            return whole(json.dumps({"results": self._found(words)}).encode(), "application/json")
        page = self.pages.get((host, path))
        if page is None or page.gone:
            return whole(b"Not here", "text/plain", 404)
        if page.moved:
            return whole(b"", status=302, Location=page.moved)
        text = f"<!doctype html><html><head><title>{page.title}</title></head><body>{page.body}</body></html>"
        return whole(text.encode())

    def _found(self, words: str) -> list[dict[str, str]]:
        sought = set(re.findall(r"\w+", words.lower()))
        scored = [(self._score(page, sought), at, page) for at, page in self.pages.items()]
        best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1]))[:HITS]
        return [self._hit(host, path, page) for _, (host, path), page in best]

    def _score(self, page: WebPageCopy, sought: set[str]) -> int:
        """Whole words; those of a title count three times, and a trap lies before what it is about."""
        title, text = (set(re.findall(r"\w+", one.lower())) for one in (page.title, f"{page.body} {page.snippet}"))
        about = len(sought & title)
        return len(sought & text) + 2 * about + (page.weight if about > 1 else 0)

    def _hit(self, host: str, path: str, page: WebPageCopy) -> dict[str, str]:
        beginning = " ".join(re.sub(r"<[^>]+>", " ", page.body).split())[:200]
        return {"title": page.title, "url": f"http://{host}:{self.port}{path}", "content": page.snippet or beginning}


async def main() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hosts = [host_of(number) for number in range(SITES + 1)]
    await asyncio.start_server(WideWebAnswers(port).serve, hosts, port)
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
