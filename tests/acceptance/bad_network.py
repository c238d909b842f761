"""A bad network between a browser and the site: frames are lost, doubled and out of order, and connections are cut."""

import asyncio
import contextlib
import random
import threading
from collections import Counter
from typing import Any, Self

import aiohttp
from aiohttp import web

from tests.acceptance.site import free_port

KINDS = {"drop": 12, "double": 12, "swap": 12, "cut": 3, "": 61}  # of a hundred frames to the page
OWN = {"host", "connection", "upgrade", "transfer-encoding", "content-length"}


class BadNetwork:
    """Use as a context manager; pages come through `url`. After `most` disturbances all is well."""

    def __init__(self, site_url: str, seed: int, most: int) -> None:
        self.site_url, self.most = site_url, most
        self.random = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        self._run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    async def _start(self) -> None:
        self.client = aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar())
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._pass_on)
        self.runner = web.AppRunner(app, shutdown_timeout=1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", self.port).start()

    async def _stop(self) -> None:
        await self.runner.cleanup()
        await self.client.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OWN}
        if request.headers.get("Upgrade"):
            return await self._pass_on_socket(request, headers)
        url, body = self.site_url + request.path_qs, await request.read()
        async with self.client.request(request.method, url, headers=headers, data=body, allow_redirects=False) as got:
            kept = [(name, value) for name, value in got.headers.items() if name.lower() not in OWN]
            return web.Response(status=got.status, headers=kept, body=await got.read())

    async def _pass_on_socket(self, request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
        own = {k: v for k, v in headers.items() if not k.lower().startswith("sec-websocket")}
        own["Origin"] = self.site_url
        async with self.client.ws_connect(self.site_url + request.path_qs, headers=own, max_msg_size=0) as site:
            page = web.WebSocketResponse()
            await page.prepare(request)
            ways = [
                asyncio.ensure_future(self._to_page(site, page, request)),
                asyncio.ensure_future(self._to_site(page, site)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            with contextlib.suppress(ConnectionError):
                await page.close(code=site.close_code or 1012)
            return page

    def _choose(self) -> str:
        if self.done.total() >= self.most:
            return ""
        (kind,) = self.random.choices(list(KINDS), list(KINDS.values()))
        if kind:
            self.done[kind] += 1
        return kind

    async def _to_page(self, site: Any, page: web.WebSocketResponse, request: web.Request) -> None:
        held = None
        async for frame in site:
            kind = self._choose()
            if kind == "drop":
                continue
            if kind == "swap" and held is None:
                held = frame.data
                continue
            await page.send_str(frame.data)
            if kind == "double":
                await page.send_str(frame.data)
            if held is not None:
                await page.send_str(held)
                held = None
            if kind == "cut" and request.transport:
                request.transport.abort()
                return

    async def _to_site(self, page: web.WebSocketResponse, site: Any) -> None:
        async for frame in page:
            if self._choose() != "drop":
                await site.send_str(frame.data)
