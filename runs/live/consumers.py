from typing import Any
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer

from . import feed, notifications

MAX_INPUT_BYTES = 1024
CLOSE_TOO_BIG = 1009


class RunConsumer(AsyncWebsocketConsumer):
    """The WebSocket of one live page. The feed decides what it sends."""

    channel_layer_alias = ""  # none: the feed subscribes for all its watchers
    joined: feed.RunFeed | None = None

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Dispatch without Channels' check for old database connections at every message: none is opened here."""
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        pk = self.scope["url_route"]["kwargs"]["pk"]
        session = self.scope.get("session")
        key, painted = session and session.session_key, _number(self.scope["query_string"], "painted")
        self.watcher = feed.PageWatcher(self.scope["user"], key, self.send, self.close, painted)
        if not await feed.may_watch(pk, self.watcher):
            await self.close(code=feed.CLOSED_NOT_FOUND)
            return
        await self.accept()
        self.joined = feed.join(pk, self.watcher)
        if self.joined is None:
            await self.close(code=feed.TOO_MANY)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle an acknowledgement: a page only sends the version that it has."""
        said = text_data or ""
        if len(said) > MAX_INPUT_BYTES or bytes_data:
            await self.close(code=CLOSE_TOO_BIG)
        elif self.joined and said.isascii() and said.isdigit():
            self.joined.acknowledge(self.watcher, int(said))

    async def disconnect(self, code: int) -> None:
        if self.joined:
            self.joined.leave(self.watcher)


class PendingConsumer(AsyncWebsocketConsumer):
    """The WebSocket for notifications about pending gates and ended runs."""

    channel_layer_alias = ""
    listener: notifications.NotificationListener | None = None

    async def connect(self) -> None:
        user, session = self.scope["user"], self.scope.get("session")
        if not user.is_authenticated:
            await self.close(code=feed.CLOSED_NOT_FOUND)
            return
        await self.accept()
        after, since = (_number(self.scope["query_string"], name) for name in ("after", "since"))
        key = session and session.session_key
        self.listener = notifications.NotificationListener(user, key, self.send, self.close, after, since)
        await notifications.join(self.listener)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Close the socket, because pages send nothing here."""
        await self.close(code=CLOSE_TOO_BIG)

    async def disconnect(self, code: int) -> None:
        if self.listener:
            notifications.leave(self.listener)


def _number(query: bytes, name: str) -> int:
    """Return a number from the socket's query string; -1 if it is none."""
    said = parse_qs(query.decode("ascii", "replace")).get(name, [""])[0]
    return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else -1
