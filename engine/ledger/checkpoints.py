"""Checkpoints: what the log over all runs was at a moment, signed and sent away. Against one that somebody else keeps,
nobody can cut the log's end off or write it anew unseen, not even with all keys and the whole database.

Why so: docs/decisions.md, The record.
"""

import asyncio
import base64
import binascii
import logging
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from engine.db import reader

from . import hashing, signing
from .merkle_log import Leaf

log = logging.getLogger(__name__)

MAX_LEAVES_BETWEEN = 100
MAX_SECONDS_BETWEEN = timedelta(hours=1)
POLL_INTERVAL = 20.0  # seconds between looks whether one is due
WEBHOOK_TIMEOUT = 10.0
CHUNK = 10_000
HASH = re.compile("[0-9a-f]{64}")


class LogInconsistent(Exception):
    """The log cannot be signed: a place in it is no hash. A sentence for people."""


class CheckpointQuerySet(models.QuerySet["Checkpoint"]):
    def is_due(self) -> bool:
        """After so many new leaves, or so long after the first of them."""
        last = self.order_by("-size").first()
        new = Leaf.objects.filter(index__gte=last.size if last else 0).order_by("index")
        first = new.first()
        if first is None:
            return False
        age = timezone.now() - first.at
        # an hour ahead: whose clock said so was wrong
        return abs(age) > MAX_SECONDS_BETWEEN or new[MAX_LEAVES_BETWEEN - 1 : MAX_LEAVES_BETWEEN].exists()

    def make(self) -> "Checkpoint | None":
        """One over the whole log as it is now; the newest there is where nothing was added, None for an empty log.

        BrokenLog where a leaf has no hash: what is signed would lead to nothing.
        """
        last = self.order_by("-size").first()
        peaks, size = last.is_extended_by() if last else hashing.extend_peaks([], 0, _leaves(0))
        if (last and last.size == size) or not size:
            return last
        text = f"{signing.name()}\n{size}\n{base64.b64encode(hashing.root(peaks)).decode()}\n"
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

    def is_extended_by(self) -> tuple[list[bytes], int]:
        """Peaks and size after all leaves that have come since."""
        peaks = [_hash(peak, f"checkpoint {self.size}") for peak in self.peaks.split()]
        return hashing.extend_peaks(peaks, self.size, _leaves(self.size))


@dataclass(frozen=True)
class SignedCheckpoint:
    """A checkpoint as it came from somewhere: what is signed, and what it says."""

    text: str
    size: int
    root: bytes
    signature: bytes


NOTE = re.compile(
    r"^(?P<text>\S+\n(?P<size>\d{1,18})\n(?P<root>[A-Za-z0-9+/]{43}=)\n)\n— \S+ (?P<signature>\S{92})$", re.M
)


# what is left of one that is cut or damaged: its name, its root, the beginning of its last line, or of its first
HASH_LINE = re.compile(r"^[> ]*(magi/[0-9a-f]*|[A-Za-z0-9+/]{43}=)\s*$|\n\n— |^ma?g?i?\s*\Z", re.M)


def read_anchor(path: Path) -> str:
    """The text of a file with checkpoints. OSError, or ValueError, where it cannot be read as one."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("It is no text in UTF-8.") from error


def signed_notes(text: str) -> list[SignedCheckpoint]:
    """All checkpoints in a text, one after the other. ValueError where there is none, or one of them is cut or damaged:
    half an anchor must not pass for a whole one."""
    found = readable_notes(text)
    if not found:
        raise ValueError("There is no checkpoint in it.")
    if HASH_LINE.search(NOTE.sub("", text)):
        raise ValueError("A checkpoint in it is cut or damaged.")
    return found


def readable_notes(text: str) -> list[SignedCheckpoint]:
    return [
        SignedCheckpoint(one["text"], int(one["size"]), _unbase64(one["root"]), _unbase64(one["signature"])[4:])
        for one in NOTE.finditer(text)
    ]


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _leaves(start: int) -> Any:
    leaves = Leaf.objects.filter(index__gte=start).order_by("index").values_list("index", "hash")
    return (_hash(text, f"leaf {index}") for index, text in leaves.iterator(CHUNK))


def _hash(text: str, of: str) -> bytes:
    if not HASH.fullmatch(text):
        raise LogInconsistent(
            f"No checkpoint can be made: {of} of the log was damaged. manage.py verify_record says more."
        )
    return bytes.fromhex(text)


# ---- sent away --------------------------------------------------------------------------------------------


async def checkpoint_periodically() -> None:
    """Make one whenever it is due, and send it away, for as long as the engine runs."""
    while True:
        await asyncio.sleep(POLL_INTERVAL)
        try:
            if await reader.read(Checkpoint.objects.is_due):
                await send(await asyncio.to_thread(_made))
        except LogInconsistent as error:
            log.error("%s", error)
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
    import httpx2  # which few installations need for this

    try:
        async with httpx2.AsyncClient(timeout=WEBHOOK_TIMEOUT, follow_redirects=False, trust_env=False) as client:
            answer = await client.post(address, content=checkpoint.note)
            answer.raise_for_status()
    except httpx2.HTTPError as error:
        log.error("The checkpoint could not be sent to the webhook (%s).", type(error).__name__)
