"""Responses to submissions by the API, including repeated ones with the same idempotency key."""

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
from engine.models import after_deadlock
from engine.models.budgets import BudgetExceeded
from engine.policy import UNSTORABLE_CHARACTERS
from engine.pubsub import wake_workers
from runs.models import KEY_LENGTH, IdempotencyConflict, IdempotencyKey

from ..procedure.schemas import Key
from ..run_object import run_objects
from .errors import ApiError, FieldErrors, field_errors
from .responses import address_of, get_run_or_refuse, json_response, run_response
from .scopes import credential_of

IdempotencyHeader = Annotated[
    Key | None, Header(alias="Idempotency-Key", description="Makes it safe to send this again.")
]
QueueFunction = Callable[..., Any]
"""Queues the request and returns its row. Takes `key` and `request_hash` if there is a key."""


def submit_response(
    request: HttpRequest,
    kind: str,
    asked: Schema,
    key: str | None,
    queue: QueueFunction,
    files: Sequence[str] = (),
    place: str = "",
) -> HttpResponse:
    """Submit a run, or find the one that the same request submitted under this key, and build the response.

    `files` are the digests of uploaded files. `place` is the path under which the run is found, if it is not the
    request's.
    """
    about = [*files, request.path] if place else files
    once = {"key": _checked(key), "request_hash": _hash(asked, about)} if key is not None else {}
    pk = queue_once(request, kind, once, queue)
    path = f"/api/v1/{place}" if place else request.path
    headers = {"Location": f"{address_of(request)}{path}/{pk}"}
    return run_response(request, get_run_or_refuse(request, pk, kind), HTTPStatus.ACCEPTED, headers)


def checked_encoding(name: str | None) -> str:
    """Return the encoding for uploaded files. Raises ApiError if there is none of that name."""
    if name and not encoding_named(name):
        raise field_errors([("encoding", no_encoding(name))])
    return name or ""


@dataclass(frozen=True)
class BatchItem:
    asked: Schema
    key: str
    queue: QueueFunction


def submit_many_response(request: HttpRequest, kind: str, ones: Sequence[BatchItem], place: str) -> HttpResponse:
    """Submit many runs in one transaction and build the response, in their order.

    Keys that were used before return their runs. If any is refused, none is queued, and the errors name its index in
    `place`.
    """
    pks = _all_or_none(request, kind, ones, place)
    async_to_sync(wake_workers)()  # workers that were woken inside the transaction looked before its commit
    return json_response({"results": run_objects(pks, address_of(request), kind)}, HTTPStatus.ACCEPTED)


@after_deadlock
@transaction.atomic
def _all_or_none(request: HttpRequest, kind: str, ones: Sequence[BatchItem], place: str) -> list[UUID]:
    faults, pks = FieldErrors(), []
    faults.add(_keys_twice(ones, place))
    for number, one in enumerate(ones):
        with faults.has(f"{place}.{number}"):
            once = {"key": _checked_of_many(one.key), "request_hash": _hash(one.asked, ())}
            pks.append(queue_once(request, kind, once, one.queue))
    faults.raise_if_any()
    return pks


def _keys_twice(ones: Sequence[BatchItem], place: str) -> Iterator[tuple[str, str]]:
    keys = [one.key for one in ones]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            yield f"{place}.{number}.key", f"It is that of number {keys.index(key)}, too. Each needs one of its own."


def _checked_of_many(key: str) -> str:
    try:
        return _checked(key)
    except ApiError as refusal:
        raise field_errors([("key", refusal.detail)]) from refusal


def queue_once(request: HttpRequest, kind: str, once: dict[str, str], queue: QueueFunction) -> UUID:
    """Queue a run, or return the one that was queued under the same key. Raises ApiError."""
    try:
        before = IdempotencyKey.objects.run_of(credential_of(request).owner, **once, kind=kind) if once else None
        return before or queue(**once).pk
    except IdempotencyConflict as error:
        said = "This Idempotency-Key came with another request before. Use a new key for a new request."
        raise ApiError(422, said) from error
    except BudgetExceeded as error:
        raise ApiError(402, str(error)) from error
    except PermissionDenied as error:
        raise ApiError(403, str(error)) from error


def _checked(key: str) -> str:
    if not 0 < len(key) <= KEY_LENGTH:
        raise ApiError(400, f"An Idempotency-Key has 1 to {KEY_LENGTH} characters. This one has {len(key)}.")
    if UNSTORABLE_CHARACTERS.search(key):
        raise ApiError(400, "An Idempotency-Key is a text, without NUL and halves of characters.")
    return key


def _hash(asked: Schema, files: Sequence[str]) -> str:
    said = json.dumps(asked.model_dump(mode="json", exclude_unset=True), sort_keys=True)
    return sha256(" ".join([said, *files]).encode()).hexdigest()
