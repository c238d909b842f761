"""Submission of runs: within the limits of a user, once per idempotency key, and with a wake-up of the workers."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction

from engine import pubsub
from engine.models import Run, after_deadlock
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached

from .models import IdempotencyConflict, IdempotencyKey

Row = TypeVar("Row", covariant=True)


class SubmittingQuerySet(Protocol[Row]):
    """The manager of a procedure's rows. `submit` takes the owner, a `request` and the input, and queues a run."""

    @property
    def submit(self) -> Callable[..., Row]: ...

    @property
    def filter(self) -> Callable[..., Any]: ...


def submit_run(
    rows: SubmittingQuerySet[Row],
    *,
    owner: Any,
    key: str = "",
    request_hash: str = "",
    refusals: tuple[type[Exception], ...] = (),
    limited: bool = False,
    watched: bool = False,
    waits_as: str = "",
    **asked: Any,
) -> Row:
    """Queue a run and wake the workers. `asked` is what `rows.submit` takes in addition to the owner.

    A repeated request with the same `key` of an owner returns the existing run; another request with that key raises
    IdempotencyConflict. If `limited`, RateLimitReached is raised at the owner's limits; the command line is not
    limited.

    `refusals` are further exceptions by which `rows.submit` refuses. `watched` means that its page opens next.
    `waits_as` is the procedure if its runs may wait for people.
    """
    no: tuple[type[Exception], ...] = (IntegrityError, BudgetExceeded, RateLimitReached, *refusals)
    queue = partial(_with_key, rows, key, request_hash) if key else rows.submit
    try:
        queued: Row = _queued(queue, limited, waits_as, owner=owner, **asked)
    except no:
        # the same request may have been submitted concurrently
        found = IdempotencyKey.objects.run_of(owner, key, request_hash) if key else None
        if found is None:
            raise
        if (row := rows.filter(pk=found).first()) is None:  # of another procedure
            raise IdempotencyConflict from None
        return cast(Row, row)
    async_to_sync(pubsub.wake_workers)(cast(Any, queued).pk if watched else None)
    return queued


def _with_key(rows: SubmittingQuerySet[Any], key: str, request_hash: str, **asked: Any) -> Any:
    return IdempotencyKey.objects.submit(rows.submit, key=key, request_hash=request_hash, **asked)


@after_deadlock
@transaction.atomic
def _queued(queue: Callable[..., Any], limited: bool, waits_as: str, *, owner: Any, **asked: Any) -> Any:
    if limited:
        Run.objects.admit_to_queue(owner)
    if limited and waits_as:
        Run.objects.admit_waiting(owner, waits_as)
    return queue(owner=owner, **asked)
