"""Checkpoints: what the log over all runs was at a moment, signed and sent away. Against one that somebody else keeps,
nobody can cut the log's end off or write it anew unseen, not even with all keys and the whole database.
"""

import asyncio
import base64
import binascii
import logging
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
from django.conf import settings
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from . import chain, reader, signing
from .evidence import Leaf

log = logging.getLogger(__name__)

MOST_LEAVES = 100
LONGEST = timedelta(hours=1)
LOOK = 20.0  # seconds between looks whether one is due
WEBHOOK_TIMEOUT = 10.0
CHUNK = 10_000


class CheckpointQuerySet(models.QuerySet["Checkpoint"]):
    def is_due(self) -> bool:
        """After so many new leaves, or so long after the first of them."""
        last = self.order_by("-size").first()
        new = Leaf.objects.filter(index__gte=last.size if last else 0).order_by("index")
        first = new.first()
        if first is None:
            return False
        return first.at < timezone.now() - LONGEST or new[MOST_LEAVES - 1 : MOST_LEAVES].exists()

    def make(self) -> "Checkpoint | None":
        """One over the whole log as it is now; the newest there is where nothing was added, None for an empty log."""
        last = self.order_by("-size").first()
        peaks, size = last.grown() if last else chain.grown([], 0, _leaves(0))
        if (last and last.size == size) or not size:
            return last
        text = f"{signing.name()}\n{size}\n{base64.b64encode(chain.root(peaks)).decode()}\n"
        made = Checkpoint(size=size, note=signing.note(text), peaks=" ".join(peak.hex() for peak in peaks))
        try:
            with transaction.atomic():
                made.save(force_insert=True)
        except IntegrityError:  # another process made the same one
            return self.get(size=size)
        return made


class Checkpoint(models.Model):
    """The log at a size, as a signed note. `peaks` are the roots of its full subtrees, to go on from."""

    size = models.PositiveBigIntegerField(primary_key=True)
    made = models.DateTimeField(default=timezone.now)
    note = models.TextField()
    peaks = models.TextField()

    objects = CheckpointQuerySet.as_manager()

    class Meta:
        ordering = ["size"]

    def __str__(self) -> str:
        return f"checkpoint at {self.size}"

    def grown(self) -> tuple[list[bytes], int]:
        """Peaks and size after all leaves that have come since."""
        peaks = [bytes.fromhex(peak) for peak in self.peaks.split()]
        return chain.grown(peaks, self.size, _leaves(self.size))


@dataclass(frozen=True)
class Signed:
    """A checkpoint as it came from somewhere: what is signed, and what it says."""

    text: str
    size: int
    root: bytes
    signature: bytes


NOTE = re.compile(
    r"^(?P<text>\S+\n(?P<size>\d{1,18})\n(?P<root>[A-Za-z0-9+/]{43}=)\n)\n— \S+ (?P<signature>\S{92})$", re.M
)


def signed_notes(text: str) -> list[Signed]:
    """All checkpoints in a text, one after the other. ValueError where there is none."""
    found = [
        Signed(one["text"], int(one["size"]), _unbase64(one["root"]), _unbase64(one["signature"])[4:])
        for one in NOTE.finditer(text)
    ]
    if not found:
        raise ValueError("There is no checkpoint in it.")
    return found


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _leaves(start: int) -> Any:
    hashes = Leaf.objects.filter(index__gte=start).order_by("index").values_list("hash", flat=True)
    return (bytes.fromhex(leaf) for leaf in hashes.iterator(CHUNK))


# ---- sent away --------------------------------------------------------------------------------------------


async def keep() -> None:
    """Make one whenever it is due, and send it away, for as long as the engine runs."""
    while True:
        await asyncio.sleep(LOOK)
        try:
            if await reader.read(Checkpoint.objects.is_due):
                await send(await asyncio.to_thread(_made))
        except Exception:
            # The boundary of a task that nobody waits for: whatever it is, no run may end of it, and it looks again.
            log.exception("No checkpoint could be made; trying again.")


def _made() -> "Checkpoint | None":
    try:
        return Checkpoint.objects.make()
    finally:
        connection.close()


def make_and_send() -> "Checkpoint | None":
    """One over the log as it is now, sent away unless it was before. Not for use in an event loop."""
    before = Checkpoint.objects.order_by("-size").first()
    made = Checkpoint.objects.make()
    if made != before:
        asyncio.run(send(made))
    return made


async def send(checkpoint: "Checkpoint | None") -> None:
    """Into the file beside the database, and to the webhook where there is one. What fails comes with the next one."""
    if checkpoint is None:
        return
    await asyncio.to_thread(_write, checkpoint)
    if settings.CHECKPOINT_WEBHOOK:
        await _post(checkpoint, settings.CHECKPOINT_WEBHOOK)


def _write(checkpoint: Checkpoint) -> None:
    try:
        with open(settings.CHECKPOINT_FILE, "a") as file:
            file.write(f"{checkpoint.note}\n")
    except OSError as error:
        log.error("The checkpoint could not be written to %s: %s", settings.CHECKPOINT_FILE, error.strerror)


async def _post(checkpoint: Checkpoint, address: str) -> None:
    try:
        async with httpx2.AsyncClient(timeout=WEBHOOK_TIMEOUT, follow_redirects=False, trust_env=False) as client:
            answer = await client.post(address, content=checkpoint.note)
            answer.raise_for_status()
    except httpx2.HTTPError as error:
        log.error("The checkpoint could not be sent to the webhook (%s).", type(error).__name__)
