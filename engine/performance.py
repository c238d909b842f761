"""What a procedure gets to work with: reading, fenced writing, asking models."""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, TypeVar

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_random_exponential

from . import failures, faults, live, prices, reader
from .answer import Reply
from .budgets import Budget
from .evidence import Entry, Head, Leaf
from .llm import Form, Message, Models, Way
from .models import LEASE, ModelCall, Run
from .providers import storable
from .writer import Writer

ATTEMPTS = 4  # the first and three retries
BEFORE_FALLBACK = 2  # of them, where a fallback is declared, before it takes over
TEXT_INTERVAL = 0.25

T = TypeVar("T")
Keep = Callable[[ModelCall, T], None]

_backoff = wait_random_exponential(multiplier=1, max=20)


class LeaseLost(Exception):
    """Somebody else may hold this run now, or it was cancelled: nothing was written."""


class Performance:
    """One claimed run being performed. Every write is one transaction that first proves the claim still holds."""

    def __init__(self, run: Run, models: Models, writer: Writer) -> None:
        self.run = run
        self._models = models
        self._writer = writer

    async def read(self, query: Callable[[], T]) -> T:
        return await reader.read(query)

    async def write(self, change: Callable[[], T], name: str = "", last: Callable[[T], None] | None = None) -> T:
        """Commit what `change` does, then tell the watchers. LeaseLost if the run is no longer ours.

        `change` may be called again after a rollback, so it must only write. `name` is for fault points; `last` as
        in `Writer.write`.
        """
        result = await self._writer.write(partial(self._if_ours, change), name, last)
        live.announce(self.run.pk)
        return result

    async def end(self, status: Run.Status, change: Callable[[], None], error: dict | None = None) -> None:
        """The run ends in the same transaction as `change`: no verdict without its end, no end without it."""

        def finish() -> Head:
            change()
            ModelCall.objects.filter(run=self.run).interrupt()
            Run.objects.release([self.run.pk])
            Run.objects.filter(pk=self.run.pk).update(
                status=status, error=error, ended=Now(), worker="", lease_expires_at=None
            )
            return Entry.objects.seal(self.run.pk)

        await self.write(finish, "outcome", last=Leaf.objects.add)

    async def ask(
        self, step: str, model: str, messages: list[Message], form: Form[T], keep: Keep[T], fallback: str = ""
    ) -> T:
        """Get one usable answer for `step`, in at most four attempts, each a row of its own.

        Attempts that a worker made before it died count; one that was cut short is made again. `keep` stores the
        value in the transaction that completes the call; it is returned afterwards. Raises CallFailed, with the
        number of attempts on it, when the last attempt failed or one failed for good.

        A `fallback` model, where one is declared, takes over after two failed attempts or one that failed for good.
        """
        asking = _Asking(self, step, model, messages, form, keep, fallback)
        failed = await self._failed_before(step)
        if failed:
            await asking.go_on_after(failed)
        attempts = AsyncRetrying(
            stop=asking.is_last,
            wait=asking.pause,
            retry=retry_if_exception(asking.worth_another),
            before_sleep=asking.fail_for_now,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await asking.attempt()
        except failures.CallFailed as failure:
            await asking.fail_for_good(failure)
            raise
        raise AssertionError("the last attempt returns or raises")

    async def _failed_before(self, step: str) -> list[ModelCall]:
        """The failed attempts of this series that an earlier worker made, oldest first."""
        if self.run.claims < 2:
            return []
        calls = ModelCall.objects.filter(
            run=self.run, step=step, series=self.run.retries, status=ModelCall.Status.FAILED
        )
        counted = calls.exclude(error_code=failures.FormatRefused.code)
        return await self.read(lambda: list(counted.order_by("attempt")))

    def _if_ours(self, change: Callable[[], T]) -> T:
        ours = Run.objects.held(self.run.worker).filter(pk=self.run.pk, fence=self.run.fence)
        if not ours.update(revision=F("revision") + 1, lease_expires_at=Now() + LEASE):
            raise LeaseLost(str(self.run))
        return change()


class _Asking(Generic[T]):
    """One question to one model, from its first attempt to its last."""

    def __init__(
        self,
        performance: Performance,
        step: str,
        model: str,
        messages: list[Message],
        form: Form[T],
        keep: Keep[T],
        fallback: str,
    ) -> None:
        self._performance, self._models = performance, performance._models
        self._step, self._model, self._form, self._keep = step, model, form, keep
        self._fallback = fallback
        self._messages = self._conversation = messages
        self._number = 1
        self._way: Way | None = None  # to ask in after a refusal; otherwise as the model last answered
        self._call: ModelCall

    async def go_on_after(self, failed: list[ModelCall]) -> None:
        """Where an earlier worker left it. Raises its last failure where there was nothing left to try."""
        last = failed[-1]
        failure = failures.restored(last.error_code, last.error)
        failure.attempts = last.attempt
        if len(failed) >= ATTEMPTS or last.retry_at is None:
            raise failure
        if any(call.model == self._fallback for call in failed):
            self._fall_back()
        self._number = last.attempt
        self._turn_to_fallback(failure)
        self._number += 1
        self._hear(failure, last.model)
        await asyncio.sleep((last.retry_at - timezone.now()).total_seconds())

    async def attempt(self) -> T:
        async with self._models.place(self._model):
            way = self._way = self._way or self._models.way(self._model)
            self._call, overdrawn = await self._performance.write(self._open, "open")
            if overdrawn:
                raise failures.QuotaUsedUp(f"The model was not asked. {overdrawn.over}")
            reply = await self._models.ask(self._model, self._conversation, self._form, self._shower(), way)
        faults.reach("after-call")
        value = _read(self._form, reply)
        call = self._call

        def complete() -> None:
            _close_answered(call, reply)
            self._keep(call, value)

        await self._performance.write(complete, "decision")
        return value

    def is_last(self, state: RetryCallState) -> bool:
        return self._number >= ATTEMPTS and not isinstance(_failure_of(state), failures.FormatRefused)

    def worth_another(self, error: BaseException) -> bool:
        if not isinstance(error, failures.CallFailed):
            return False
        if isinstance(error, failures.FormatRefused):
            return True
        return self._turn_to_fallback(error) or not error.permanent

    def _turn_to_fallback(self, failure: failures.CallFailed) -> bool:
        """Whether the fallback takes over after this failure of the first model."""
        due = self._fallback and (failure.permanent or self._number >= BEFORE_FALLBACK)
        if due:
            self._fall_back()
        return bool(due)

    def _fall_back(self) -> None:
        self._model, self._fallback, self._way = self._fallback, "", None

    def pause(self, state: RetryCallState) -> float:
        """Seconds before the next attempt."""
        failure = _failure_of(state)
        if self._model != self._call.model:
            return 0  # another model is asked
        if failure.retry_after is not None:
            return failure.retry_after
        if isinstance(failure, failures.UnusableAnswer | failures.FormatRefused):
            return 0  # the endpoint works; waiting would help nobody
        return _backoff(state)

    async def fail_for_now(self, state: RetryCallState) -> None:
        failure = _failure_of(state)
        wait = timedelta(seconds=state.next_action.sleep if state.next_action else 0)
        await self._fail(failure, timezone.now() + wait)
        if isinstance(failure, failures.FormatRefused) and self._way:
            self._way = self._way.without(failure.refused)
            return
        self._hear(failure, self._call.model)
        self._number += 1

    async def fail_for_good(self, failure: failures.CallFailed) -> None:
        failure.attempts = self._number
        await self._fail(failure, None)

    async def _fail(self, failure: failures.CallFailed, retry_at: datetime | None) -> None:
        await self._performance.write(partial(_close_failed, self._call, failure, retry_at), "failure")

    def _hear(self, failure: failures.CallFailed, model: str) -> None:
        """A model whose own answer could not be used is told why; all other failures are none of its business."""
        self._conversation = self._messages
        if isinstance(failure, failures.UnusableAnswer) and model == self._model:
            complaint = {"role": "user", "content": self._form.complaint(str(failure))}
            self._conversation = [*self._messages, complaint]

    def _open(self) -> tuple[ModelCall, Budget | None]:
        run = self._performance.run
        call = ModelCall.objects.create(
            run=run,
            step=self._step,
            series=run.retries,
            attempt=self._number,
            model=self._model,
            prompt=json.dumps(self._conversation, ensure_ascii=False),
            answer_format=(self._way or Way()).answer_format,
            deadline=timezone.now() + timedelta(seconds=self._models.timeout),
        )
        return call, self._overdrawn()

    def _overdrawn(self) -> Budget | None:
        run = self._performance.run
        if Run.objects.filter(pk=run.pk, reserved__gt=0).exists():
            return None  # what was set aside for this run is its own, whatever others have spent
        free = prices.cost(self._model, 1, 1) == 0
        return None if free else Budget.objects.overdrawn(run.owner_id)

    def _shower(self) -> Callable[[str], None]:
        """Shows a growing text to the watchers, at most four times a second."""
        run, shown = self._performance.run, 0.0

        def show(text: str) -> None:
            nonlocal shown
            if time.monotonic() - shown >= TEXT_INTERVAL:
                shown = time.monotonic()
                live.show_text(run.pk, self._step, self._form.preview(text))

        return show


def _failure_of(state: RetryCallState) -> failures.CallFailed:
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, failures.CallFailed)  # noqa: S101 - nothing else is tried again
    return failure


def _read(form: Form[T], reply: Reply) -> T:
    try:
        return form.read(reply.text)
    except ValueError as error:
        failure = failures.UnusableAnswer(storable(str(error)), raw=reply.text)
        failure.said = reply.text
        failure.input_tokens, failure.output_tokens = reply.input_tokens, reply.output_tokens
        raise failure from error


# ---- in a transaction -------------------------------------------------------------------------------------


def _close_answered(call: ModelCall, reply: Reply) -> None:
    call.close(
        ModelCall.Status.ANSWERED,
        counted=(reply.input_tokens, reply.output_tokens),
        said=reply.text,
        answer=reply.text,
        answered_by=reply.model,
    )


def _close_failed(call: ModelCall, failure: failures.CallFailed, retry_at: datetime | None) -> None:
    # a model that was still thinking when time was up has cost something too
    asked = bool(failure.said) or isinstance(failure, failures.TimedOut)
    call.close(
        ModelCall.Status.FAILED,
        counted=(failure.input_tokens, failure.output_tokens),
        said=failure.said if asked else None,
        answer=failure.raw,
        error_code=failure.code,
        error=str(failure),
        retry_at=retry_at,
    )
