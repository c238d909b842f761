from collections.abc import Callable
from hashlib import sha256
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from engine.ledger.hashing import canonical
from engine.models import Run, after_deadlock

KEY_LENGTH = 200


class SubmittedRow(Protocol):
    """The row of a procedure; its key is the key of its run."""

    @property
    def pk(self) -> UUID: ...


Row = TypeVar("Row", bound=SubmittedRow)


class IdempotencyConflict(Exception):
    """The key was used before, with another request."""


def idempotency_digest(key: str, request_hash: str) -> str:
    """Return the digest of key and request that a run's audit log contains."""
    return sha256(canonical([key, request_hash]).encode()).hexdigest()


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    def run_of(self, owner: Any, key: str, request_hash: str, kind: str = "") -> UUID | None:
        """Return the run that was submitted under this key, if any.

        Raises IdempotencyConflict if the request was another one, or its procedure is not `kind`.
        """
        found = self.filter(owner=owner, key=key).select_related("run").first()
        if found and (found.request_hash != request_hash or kind not in ("", found.run.procedure)):
            raise IdempotencyConflict
        return found.run_id if found else None

    @after_deadlock
    @transaction.atomic
    def submit(self, submit: Callable[..., Row], *, owner: Any, key: str, request_hash: str, **asked: Any) -> Row:
        """Submit a run and save its key in the same transaction. Raises IntegrityError if the key exists."""
        submitted = submit(owner=owner, request=idempotency_digest(key, request_hash), **asked)
        self.create(owner=owner, key=key, request_hash=request_hash, run_id=submitted.pk)
        return submitted


class IdempotencyKey(models.Model):
    """A caller's key that makes a repeated request safe: it submits only one run.

    `request_hash` is the SHA-256 of the request, in hex.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH)
    request_hash = models.CharField(max_length=64)
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="request_key")
    created = models.DateTimeField(default=timezone.now)

    objects = IdempotencyKeyQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint("owner", "key", name="one_request_per_key")]

    def __str__(self) -> str:
        return self.key
