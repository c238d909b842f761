"""Checkpoints: the signed state of the audit log at one moment, written to a file and posted to a webhook.

A checkpoint that somebody else stores proves that the log's end was neither cut off nor rewritten, even by a person
with all keys and the whole database.

Why so: engine/DESIGN.md, The record.
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
from .immutability import Immutable
from .merkle_log import LogLeaf

log = logging.getLogger(__name__)

MAX_LEAVES_BETWEEN = 100
MAX_TIME_BETWEEN = timedelta(hours=1)
POLL_INTERVAL = 20.0  # seconds between looks whether one is due
WEBHOOK_TIMEOUT = 10.0
CHUNK = 10_000
HASH = re.compile("[0-9a-f]{64}")


class LogInconsistent(Exception):
    """The log cannot be signed because a value in it is no hash. The message is for people."""


class CheckpointQuerySet(models.QuerySet["Checkpoint"]):
    def is_due(self) -> bool:
        """Whether MAX_LEAVES_BETWEEN leaves are new, or the first new one is older than MAX_TIME_BETWEEN."""
        last = self.order_by("-size").first()
        new = LogLeaf.objects.filter(index__gte=last.size if last else 0).order_by("index")
        first = new.first()
        if first is None:
            return False
        age = timezone.now() - first.at
        # abs: a leaf more than an hour in the future was written with a wrong clock
        return abs(age) > MAX_TIME_BETWEEN or new[MAX_LEAVES_BETWEEN - 1 : MAX_LEAVES_BETWEEN].exists()

    def make(self) -> "Checkpoint | None":
        """Create and return a checkpoint over the whole log.

        Returns the newest one if the log has not grown, and None for an empty log. Raises LogInconsistent if a leaf
        has no valid hash, since no proof could lead to the signed root.
        """
        last = self.order_by("-size").first()
        peaks, size = last.extended_peaks() if last else hashing.extend_peaks([], 0, _leaves(0))
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
    """The log at one size, as a signed note. `peaks` are the roots of its full subtrees, from which the next one
    continues.
    """

    size = models.PositiveBigIntegerField(primary_key=True)
    made = models.DateTimeField(default=timezone.now)
    note = models.TextField()
    peaks = models.TextField()

    objects = CheckpointQuerySet.as_manager()
    immutable = Immutable()

    class Meta:
        ordering = ["size"]

    def __str__(self) -> str:
        return f"checkpoint at {self.size}"

    def extended_peaks(self) -> tuple[list[bytes], int]:
        """Return peaks and size after all leaves that were added since."""
        peaks = [_hash(peak, f"checkpoint {self.size}") for peak in self.peaks.split()]
        return hashing.extend_peaks(peaks, self.size, _leaves(self.size))


@dataclass(frozen=True)
class SignedCheckpoint:
    """A checkpoint parsed from a text: the signed text, its fields and the signature."""

    text: str
    size: int
    root: bytes
    signature: bytes


NOTE = re.compile(
    r"^(?P<text>\S+\n(?P<size>\d{1,18})\n(?P<root>[A-Za-z0-9+/]{43}=)\n)\n— \S+ (?P<signature>\S{92})$", re.M
)


# What remains of a cut or damaged note: its name, its root, or the beginning of its last or first line.
HASH_LINE = re.compile(r"^[> ]*(magi/[0-9a-f]*|[A-Za-z0-9+/]{43}=)\s*$|\n\n— |^ma?g?i?\s*\Z", re.M)


def read_anchor(path: Path) -> str:
    """Return the text of a file with checkpoints. Raises OSError, or ValueError if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("It is no text in UTF-8.") from error


def signed_notes(text: str) -> list[SignedCheckpoint]:
    """Return all checkpoints in a text, in order.

    Raises ValueError if there is none or if one is cut or damaged: half an anchor must not pass for a whole one.
    """
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
    leaves = LogLeaf.objects.filter(index__gte=start).order_by("index").values_list("index", "hash")
    return (_hash(text, f"leaf {index}") for index, text in leaves.iterator(CHUNK))


def _hash(text: str, of: str) -> bytes:
    if not HASH.fullmatch(text):
        raise LogInconsistent(
            f"No checkpoint can be made: {of} of the log was damaged. manage.py verify_record says more."
        )
    return bytes.fromhex(text)


# ---- publication ------------------------------------------------------------------------------------------


async def checkpoint_periodically() -> None:
    """Create and send a checkpoint whenever one is due, for as long as the engine runs."""
    while True:
        await asyncio.sleep(POLL_INTERVAL)
        try:
            if await reader.read(Checkpoint.objects.is_due):
                await send(await asyncio.to_thread(_made))
        except LogInconsistent as error:
            log.error("%s", error)
        except Exception:
            # The boundary of a task that nobody awaits: no error here may end a run, and the loop tries again.
            log.exception("No checkpoint could be made; trying again.")


def _made() -> "Checkpoint | None":
    try:
        return Checkpoint.objects.make()
    finally:
        connection.close()


def make_and_send() -> "Checkpoint | None":
    """Create a checkpoint over the log as it is now, and send it unless it already existed. Not for use in an event
    loop.
    """
    before = Checkpoint.objects.order_by("-size").first()
    made = Checkpoint.objects.make()
    if made != before:
        asyncio.run(send(made))
    return made


async def send(checkpoint: "Checkpoint | None") -> None:
    """Append the checkpoint to the checkpoint file and post it to the webhook, if one is set.

    Failures are logged and not retried: the next checkpoint covers the same leaves.
    """
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
