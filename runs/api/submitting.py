"""How a program's submission is answered, and what it sends again under the same key."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import Header, Schema

from engine.models.budgets import BudgetUsedUp
from runs.models import KEY_LENGTH, IdempotencyKey, KeyUsed

from .answers import address_of, answer, found
from .refusals import Refusal
from .schemas import Key
from .scopes import credential

OnceKey = Annotated[Key | None, Header(alias="Idempotency-Key", description="Makes it safe to send this again.")]
Queue = Callable[..., Any]
"""Queues what is asked and returns its row. It takes what `submissions.submit` takes of the key, or nothing."""


def submitted(
    request: HttpRequest, kind: str, asked: Schema, key: str | None, queue: Queue, files: Sequence[str] = ()
) -> HttpResponse:
    """The answer to a submission: what was queued, or came of the same request under this key before. `files`: the
    digests of those that came with it."""
    once = {"key": _checked(key), "request_hash": _hash(asked, files)} if key is not None else {}
    pk = queued(request, kind, once, queue)
    headers = {"Location": f"{address_of(request)}{request.path}/{pk}"}
    return answer(request, found(request, pk, kind), HTTPStatus.ACCEPTED, headers)


def queued(request: HttpRequest, kind: str, once: dict[str, str], queue: Queue) -> UUID:
    """What was queued, or under the same key before; refused in a sentence."""
    try:
        before = IdempotencyKey.objects.run_of(credential(request).owner, **once, kind=kind) if once else None
        return before or queue(**once).pk
    except KeyUsed as error:
        said = "This Idempotency-Key came with another request before. Use a new key for a new request."
        raise Refusal(422, said) from error
    except BudgetUsedUp as error:
        raise Refusal(402, str(error)) from error
    except PermissionDenied as error:
        raise Refusal(403, str(error)) from error


def _checked(key: str) -> str:
    if not 0 < len(key) <= KEY_LENGTH:
        raise Refusal(400, f"An Idempotency-Key has 1 to {KEY_LENGTH} characters. This one has {len(key)}.")
    return key


def _hash(asked: Schema, files: Sequence[str]) -> str:
    said = json.dumps(asked.model_dump(exclude_unset=True), sort_keys=True)
    return sha256(" ".join([said, *files]).encode()).hexdigest()
