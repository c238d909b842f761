"""What a procedure gets to work with: reading, fenced writing, asking models."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from channels.db import database_sync_to_async
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from . import failures, live
from .llm import Form, Message, Models, Reply, storable
from .models import LEASE, ModelCall, Run

ATTEMPTS = 4  # the first and three retries
TEXT_INTERVAL = 0.25

T = TypeVar("T")
Keep = Callable[[ModelCall, T], None]

_backoff = wait_random_exponential(multiplier=1, max=20)


class LeaseLost(Exception):
    """Somebody else may hold this run now, or it was cancelled: nothing was written."""


class Performance:
    """One claimed run being performed. Every write is one transaction that first proves the claim still holds."""

    def __init__(self, run: Run, models: Models) -> None:
        self.run = run
        self._models = models

    async def read(self, query: Callable[[], T]) -> T:
        return await database_sync_to_async(query)()

    async def write(self, change: Callable[[], T]) -> T:
        """Commit what `change` does, then tell the watchers. LeaseLost if the run is no longer ours."""
        result = await database_sync_to_async(self._write)(change)
        live.announce(self.run.pk)
        return result

    async def end(self, status: Run.Status, change: Callable[[], None], error: dict | None = None) -> None:
        """The run ends in the same transaction as `change`: no verdict without its end, no end without it."""

        def finish() -> None:
            change()
            Run.objects.filter(pk=self.run.pk).update(
                status=status, error=error, ended=Now(), worker="", lease_expires_at=None
            )

        await self.write(finish)

    async def ask(self, step: str, model: str, messages: list[Message], form: Form[T], keep: Keep[T]) -> None:
        """Get one usable answer for `step`, in at most four attempts, each a row of its own.

        `keep` stores the value in the transaction that completes the call. Raises CallFailed, with the number
        of attempts on it, when the last attempt failed or one failed for good.
        """
        conversation = list(messages)

        async def pause(state: RetryCallState) -> None:
            await self._announce_retry(step, state)

        attempts = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause_before_retry,
            retry=retry_if_exception(lambda e: isinstance(e, failures.CallFailed) and not e.permanent),
            before_sleep=pause,
            reraise=True,
        )
        async for attempt in attempts:
            with attempt:
                try:
                    await self._attempt(step, model, conversation, form, keep)
                except failures.UnusableAnswer as failure:
                    conversation = [*messages, {"role": "user", "content": form.complaint(str(failure))}]
                    raise

    async def _attempt(self, step: str, model: str, messages: list[Message], form: Form[T], keep: Keep[T]) -> None:
        call = await self.write(lambda: self._open_call(step, model, messages))
        try:
            reply = await self._models.ask(model, messages, form, self._shower(step, form))
            value = _read(form, reply)
        except failures.CallFailed as failure:
            failure.attempts = call.attempt
            await self.write(partial(_close_failed, call, failure))
            raise

        def complete() -> None:
            _close_answered(call, reply)
            keep(call, value)

        await self.write(complete)

    def _write(self, change: Callable[[], T]) -> T:
        with transaction.atomic():
            ours = Run.objects.filter(
                pk=self.run.pk, worker=self.run.worker, fence=self.run.fence, status=Run.Status.RUNNING
            )
            if not ours.update(revision=F("revision") + 1, lease_expires_at=Now() + LEASE):
                raise LeaseLost(str(self.run))
            return change()

    def _open_call(self, step: str, model: str, messages: list[Message]) -> ModelCall:
        return ModelCall.objects.create(
            run=self.run,
            step=step,
            attempt=ModelCall.objects.filter(run=self.run, step=step).count() + 1,
            model=model,
            prompt=json.dumps(messages, ensure_ascii=False),
            deadline=timezone.now() + timedelta(seconds=self._models.timeout),
        )

    def _shower(self, step: str, form: Form[T]) -> Callable[[str], None]:
        """Shows a growing text to the watchers, at most four times a second."""
        shown = 0.0

        def show(text: str) -> None:
            nonlocal shown
            if time.monotonic() - shown >= TEXT_INTERVAL:
                shown = time.monotonic()
                live.show_text(self.run.pk, step, form.preview(text))

        return show

    async def _announce_retry(self, step: str, state: RetryCallState) -> None:
        wait = timedelta(seconds=state.next_action.sleep if state.next_action else 0)
        last = ModelCall.objects.filter(run=self.run, step=step, status=ModelCall.Status.FAILED)

        def schedule() -> None:
            last.filter(retry_at=None).update(retry_at=timezone.now() + wait)

        await self.write(schedule)


def _pause_before_retry(state: RetryCallState) -> float:
    failure = state.outcome.exception() if state.outcome else None
    if isinstance(failure, failures.RateLimited) and failure.retry_after is not None:
        return failure.retry_after
    if isinstance(failure, failures.UnusableAnswer):
        return 0  # the endpoint works; waiting would help nobody
    return _backoff(state)


def _read(form: Form[T], reply: Reply) -> T:
    try:
        return form.read(reply.text)
    except ValueError as error:
        raise failures.UnusableAnswer(storable(str(error)), raw=reply.text) from error


def _close_answered(call: ModelCall, reply: Reply) -> None:
    call.status = ModelCall.Status.ANSWERED
    call.answer = reply.text
    call.answered_by = reply.model
    call.input_tokens, call.output_tokens = reply.input_tokens, reply.output_tokens
    call.ended = timezone.now()
    call.save()


def _close_failed(call: ModelCall, failure: failures.CallFailed) -> None:
    call.status = ModelCall.Status.FAILED
    call.answer = failure.raw
    call.error_code, call.error = failure.code, str(failure)
    call.ended = timezone.now()
    call.save()
