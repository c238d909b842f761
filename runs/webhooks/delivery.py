"""Delivery of webhook messages, each at least once.

A delivery is claimed in one commit and closed in another, and repeated under the same id if the result is unknown.

Why so: runs/DESIGN.md, Other doors.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection

from engine.version import VERSION
from engine.web.public_sockets import PublicSockets
from engine.web.url_policy import AddressRefused, check_address, is_allowed
from runs.models.webhooks import BATCH_PER_USER, BATCH_PER_WEBHOOK, WebhookDelivery, WebhookDeliveryState

from .formats import PAYLOAD_FORMATS, signature
from .messages import delivery_message, fan_out_events

T = TypeVar("T")
log = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between checks
SEND_BATCH = 20
ANSWER_WITHIN, CONNECT_WITHIN = 15.0, 5.0  # seconds
CLEANUP_INTERVAL = 3600.0
GONE_STATUS = 410
LONGEST_ANSWER = 64 * 1024  # bytes that are read
LONGEST_WAIT = 7200.0


@dataclass(frozen=True)
class WebhookResponse:
    """A receiver's response. `status` is None without one; `after` is the requested pause in seconds."""

    status: int | None
    error: str = ""
    after: float = 0.0

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


async def send_periodically() -> None:
    """Send messages for as long as the worker runs."""
    sender = WebhookSender()
    while True:
        try:
            await sender.look()
        except Exception:
            # The boundary of a background task: an error must not end any run, and the next interval tries again.
            log.exception("Nobody could be told of what happened; trying again.")
        await asyncio.sleep(INTERVAL)


class WebhookSender:
    def __init__(self) -> None:
        self._sending: dict[asyncio.Task[None], WebhookDelivery] = {}
        self._forget_at = 0.0

    async def look(self) -> None:
        """Turn new events into deliveries, and start those that are due."""
        while await _by_rows(fan_out_events):
            pass
        if time.monotonic() >= self._forget_at:
            await _by_rows(WebhookDelivery.objects.all().forget)
            self._forget_at = time.monotonic() + CLEANUP_INTERVAL
        while len(self._sending) < SEND_BATCH:
            hooks = _most((one.hook_id for one in self._sending.values()), BATCH_PER_WEBHOOK)
            owners = _most((one.hook.owner_id for one in self._sending.values()), BATCH_PER_USER)
            delivery = await _by_rows(partial(WebhookDelivery.objects.claim_due, hooks, owners))
            if delivery is None:
                return
            task = asyncio.create_task(_deliver(delivery))
            self._sending[task] = delivery
            task.add_done_callback(self._sending.pop)

    async def finish(self) -> None:
        await asyncio.gather(*self._sending)


def _most(keys: Iterable[int], most: int) -> list[int]:
    """Return the keys that occur at least `most` times."""
    return [key for key, number in Counter(keys).items() if number >= most]


async def _deliver(delivery: WebhookDelivery) -> None:
    message = await _by_rows(partial(delivery_message, delivery))
    if message is None:
        nobody = "The owner of the webhook may not see the run any more, or its procedure is not installed here."
        await _by_rows(partial(delivery.close, WebhookDeliveryState.GIVEN_UP, None, nobody))
        return
    answer = await post(delivery, message)
    if answer.is_success:
        await _by_rows(partial(delivery.close, WebhookDeliveryState.SENT, answer.status))
    elif answer.status == GONE_STATUS:
        await _by_rows(
            partial(
                delivery.close, WebhookDeliveryState.GIVEN_UP, GONE_STATUS, "It says that nobody is there any more."
            )
        )
    else:
        await _by_rows(partial(delivery.postpone, answer.status, answer.error, answer.after))


async def post(delivery: WebhookDelivery, message: Any) -> WebhookResponse:
    """Make one attempt. It connects to no internal address, wherever the name resolves to, and follows no redirect."""
    import aiohttp

    hook, seconds = delivery.hook, int(time.time())
    body, headers = PAYLOAD_FORMATS[hook.shape](message)
    headers |= {"User-Agent": f"MAGI/{VERSION}", "webhook-id": delivery.message_id, "webhook-timestamp": str(seconds)}
    headers["webhook-signature"] = signature(hook.key, delivery.message_id, seconds, body)
    allowed = settings.HOOKS_ALLOWED_HOSTS
    sockets = PublicSockets(is_allowed(hook.address, allowed))
    try:
        address = check_address(hook.address, allowed)
        connector = aiohttp.TCPConnector(socket_factory=sockets, force_close=True, use_dns_cache=False)
        times = aiohttp.ClientTimeout(total=ANSWER_WITHIN, connect=CONNECT_WITHIN)
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=times, trust_env=False, auto_decompress=False
            ) as session,
            session.post(address, data=body, headers=headers, allow_redirects=False) as response,
        ):
            await response.content.read(LONGEST_ANSWER)
            return _answered(response.status, response.headers.get("Retry-After", ""))
    except AddressRefused as error:
        return WebhookResponse(None, str(error))
    except TimeoutError:
        return WebhookResponse(None, f"It did not answer within {ANSWER_WITHIN:g} seconds.")
    except (aiohttp.ClientError, OSError, ValueError):
        if sockets.refused:
            return WebhookResponse(None, "It leads to an address that is not public.")
        return WebhookResponse(None, "Nothing answers there, or what it sent is no answer.")


def _answered(status: int, after: str) -> WebhookResponse:
    if 300 <= status < 400:
        return WebhookResponse(status, f"It redirects ({status}), which is not followed.")
    wait = min(float(after), LONGEST_WAIT) if after.isascii() and after.isdigit() and len(after) < 8 else 0.0
    return WebhookResponse(status, "" if status < 300 else f"It answered with status {status}.", wait)


async def _by_rows(work: Callable[[], T]) -> T:
    def do() -> T:
        try:
            return work()
        finally:
            connection.close()

    return await asyncio.to_thread(do)
