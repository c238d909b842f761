"""How a program's submission is answered, and what it sends again under the same key."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Header, Schema

from engine.decoding import encoding_named, no_encoding
from engine.live import wake_engines
from engine.models import after_deadlock
from engine.models.budgets import BudgetUsedUp
from engine.policy import UNKEEPABLE
from runs.models import KEY_LENGTH, IdempotencyKey, KeyUsed

from .answers import address_of, answer, found, json_answer
from .objects import run_objects
from .refusals import Faults, Refusal, wrong_fields
from .schemas import Key
from .scopes import credential

OnceKey = Annotated[Key | None, Header(alias="Idempotency-Key", description="Makes it safe to send this again.")]
Queue = Callable[..., Any]
"""Queues what is asked and returns its row. It takes what `submissions.submit` takes of the key, or nothing."""


def submitted(
    request: HttpRequest,
    kind: str,
    asked: Schema,
    key: str | None,
    queue: Queue,
    files: Sequence[str] = (),
    place: str = "",
) -> HttpResponse:
    """The answer to a submission: what was queued, or came of the same request under this key before. `files`: the
    digests of those that came with it; `place`: under which it is found, where that is not where it was sent to."""
    about = [*files, request.path] if place else files
    once = {"key": _checked(key), "request_hash": _hash(asked, about)} if key is not None else {}
    pk = queued(request, kind, once, queue)
    path = f"/api/v1/{place}" if place else request.path
    headers = {"Location": f"{address_of(request)}{path}/{pk}"}
    return answer(request, found(request, pk, kind), HTTPStatus.ACCEPTED, headers)


def checked_encoding(name: str | None) -> str:
    """Of files that are sent; a Refusal where there is none of that name."""
    if name and not encoding_named(name):
        raise wrong_fields([("encoding", no_encoding(name))])
    return name or ""


@dataclass(frozen=True)
class OneOfMany:
    asked: Schema
    key: str
    queue: Queue


def submitted_together(request: HttpRequest, kind: str, ones: Sequence[OneOfMany], place: str) -> HttpResponse:
    """The answer to many submissions: all were queued, or came before under their keys, in their order; or none, and
    what is wrong is said of each under its number in `place`."""
    pks = _all_or_none(request, kind, ones, place)
    async_to_sync(wake_engines)()  # those that were woken before looked too early
    return json_answer({"results": run_objects(pks, address_of(request), kind)}, HTTPStatus.ACCEPTED)


@after_deadlock
@transaction.atomic
def _all_or_none(request: HttpRequest, kind: str, ones: Sequence[OneOfMany], place: str) -> list[UUID]:
    faults, pks = Faults(), []
    faults.add(_keys_twice(ones, place))
    for number, one in enumerate(ones):
        with faults.noted(f"{place}.{number}"):
            once = {"key": _checked_of_many(one.key), "request_hash": _hash(one.asked, ())}
            pks.append(queued(request, kind, once, one.queue))
    faults.refuse()
    return pks


def _keys_twice(ones: Sequence[OneOfMany], place: str) -> Iterator[tuple[str, str]]:
    keys = [one.key for one in ones]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            yield f"{place}.{number}.key", f"It is that of number {keys.index(key)}, too. Each needs one of its own."


def _checked_of_many(key: str) -> str:
    try:
        return _checked(key)
    except Refusal as refusal:
        raise wrong_fields([("key", refusal.detail)]) from refusal


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
    if UNKEEPABLE.search(key):
        raise Refusal(400, "An Idempotency-Key is a text, without NUL and halves of characters.")
    return key


def _hash(asked: Schema, files: Sequence[str]) -> str:
    said = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
    return sha256(" ".join([said, *files]).encode()).hexdigest()
