import asyncio
import contextlib
import logging
import time
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth import get_user_model

from engine.live import group_of
from engine.models import ModelCall

from .board import Board, board_of
from .leaves import Sent, growing_leaves, leaves
from .models import Judgement

log = logging.getLogger(__name__)

FALLBACK = 2.0  # seconds after which the rows are looked at without a nudge: what a lost message would have told
CALM = 0.1  # seconds between two messages to one watcher
NOT_FOUND = 4404
TRY_AGAIN = 1013  # the page connects again by itself


class LiveConsumer(AsyncWebsocketConsumer):
    """One watcher of one judgement. Nudges only wake it: it reads the rows again and sends the leaves that changed."""

    async def connect(self) -> None:
        self.pk = self.scope["url_route"]["kwargs"]["pk"]
        self.texts: dict[str, str] = {}
        self.rows: tuple[Judgement, list[ModelCall]] | None = None
        self.nudged, self.read_at = True, 0.0
        self.bell = asyncio.Event()
        self.sent = Sent()
        self.following: asyncio.Task[None] | None = None
        if not await database_sync_to_async(self._visible)():
            await self.close(code=NOT_FOUND)
            return
        # join first, read after: a change in between is then nudged, never missed
        await self.channel_layer.group_add(group_of(self.pk), self.channel_name)
        await self.accept()
        self.following = asyncio.create_task(self._follow_to_the_end())

    async def disconnect(self, code: int) -> None:
        if self.following:
            self.following.cancel()
            await self.channel_layer.group_discard(group_of(self.pk), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page has nothing to say."""

    async def run_changed(self, message: dict[str, Any]) -> None:
        self.nudged = True
        self.bell.set()

    async def run_text(self, message: dict[str, Any]) -> None:
        self.texts[message["step"]] = message["text"]
        self.bell.set()

    async def _follow_to_the_end(self) -> None:
        try:
            await self._follow()
        except Exception:
            # The boundary of one watcher: the page connects again by itself and gets everything anew.
            log.exception("A live page could not be brought up to date.")
            await self.close(code=TRY_AGAIN)

    async def _follow(self) -> None:
        over = False
        while not over:
            self.bell.clear()
            html, over = await database_sync_to_async(self._changes)(self._is_stale())
            if html is None:
                await self.close(code=NOT_FOUND)
                return
            if html:
                await self.send(text_data=html)
            await asyncio.sleep(CALM)
            await self._wait()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FALLBACK):
                await self.bell.wait()

    def _is_stale(self) -> bool:
        """Whether rows and rights must be read again: after a nudge, and every two seconds whatever else happens."""
        now = time.monotonic()
        stale = self.nudged or now - self.read_at > FALLBACK
        if stale:
            self.nudged, self.read_at = False, now
        return stale

    def _visible(self) -> Judgement | None:
        """The judgement, if the user may (still) see it: active, and not signed out."""
        session = self.scope.get("session")
        if session is not None and not session.exists(session.session_key):
            return None
        user = get_user_model().objects.filter(pk=self.scope["user"].pk, is_active=True).first()
        return Judgement.objects.visible_to(user).whole().filter(pk=self.pk).first() if user else None

    def _changes(self, stale: bool) -> tuple[str | None, bool]:
        """The HTML to send, None where there is nothing to see any more, and whether the judgement is over."""
        if stale or self.rows is None:
            judgement = self._visible()
            if judgement is None:
                return None, True
            self.rows = judgement, list(judgement.run.calls.order_by("pk"))
        board = self._board(*self.rows)
        return self.sent.changed(leaves(board) if stale else growing_leaves(board)), board.over

    def _board(self, judgement: Judgement, calls: list[ModelCall]) -> Board:
        return board_of(judgement, calls, self.texts)
