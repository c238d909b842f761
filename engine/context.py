"""What a procedure gets to work with: reading, fenced writing, asking models.

Why so: docs/decisions.md, Runs, the queue and the writer.
"""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_random_exponential

from . import faults, live, reader
from .evidence import sealing
from .evidence.log import Leaf
from .hidden import in_one_line
from .llm import failures, prices
from .llm.answer import Reply
from .llm.client import ModelClient
from .llm.forms import AnswerForm, Growth, Message, Way
from .llm.providers import storable
from .models import LEASE, ModelCall, Run
from .models.budgets import Budget
from .writer import Writer

ATTEMPTS = 4  # the first and three retries
BEFORE_FALLBACK = 2  # of them, where a fallback is declared, before it takes over
TEXT_INTERVAL = 0.25

T = TypeVar("T")
S = TypeVar("S")
Keep = Callable[[ModelCall, T], None]

_backoff = wait_random_exponential(multiplier=1, max=20)


class LeaseLost(Exception):
    """Somebody else may hold this run now, or it was cancelled: nothing was written."""


class RunContext:
    """One claimed run being performed. Every write is one transaction that first proves the claim still holds."""

    def __init__(self, run: Run, models: ModelClient, writer: Writer) -> None:
        self.claimed = run  # as it was then
        self._models = models
        self._writer = writer

    @property
    def pk(self) -> UUID:
        return self.claimed.pk

    async def read(self, query: Callable[[], T]) -> T:
        return await reader.read(query)

    async def write(
        self,
        change: Callable[[], T],
        name: str = "",
        last: Callable[[T], None] | None = None,
        *,
        gets_on: bool = False,
    ) -> T:
        """Commit what `change` does, then tell the watchers. LeaseLost if the run is no longer ours.

        `change` may be called again after a rollback, so it must only write. `name` is for fault points; `last` as
        in `Writer.write`. With `gets_on` the run is past what its workers may have died of.
        """
        result = await self._writer.write(partial(self._if_ours, change, gets_on), name, last)
        live.announce(self.pk)
        return result

    async def end(self, status: str, change: Callable[[], None], error: dict | None = None) -> None:
        """The run ends in the same transaction as `change`: no outcome without its end, no end without it.

        Raises what its seal raises; then nothing was written.
        """
        await self._end(status, change, error, sealing.seal, Leaf.objects.add)

    async def give_up(self, error: dict) -> None:
        """The run ends as failed, even where it cannot be sealed."""
        pk = self.pk
        await self._end(Run.Status.FAILED, _nothing, error, lambda _: None, lambda _: sealing.seal_ended([pk]))

    async def _end(
        self,
        status: str,
        change: Callable[[], None],
        error: dict | None,
        sealing: Callable[[UUID], S],
        logging: Callable[[S], None],
    ) -> None:
        def finish() -> S:
            change()
            ModelCall.objects.filter(run=self.claimed).interrupt()
            Run.objects.release([self.pk])
            Run.objects.filter(pk=self.pk).update(
                status=status, error=error, ended=Now(), worker="", lease_expires_at=None
            )
            return sealing(self.pk)

        await self.write(finish, "outcome", last=logging)

    async def ask(
        self, step: str, model: str, messages: list[Message], form: AnswerForm[T], keep: Keep[T], fallback: str = ""
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
        if self.claimed.claims < 2:
            return []
        calls = ModelCall.objects.filter(
            run=self.claimed, step=step, series=self.claimed.retries, status=ModelCall.Status.FAILED
        )
        counted = calls.exclude(error_code=failures.FormatRefused.code)
        return await self.read(lambda: list(counted.order_by("attempt")))

    def _if_ours(self, change: Callable[[], T], gets_on: bool) -> T:
        ours = Run.objects.held(self.claimed.worker).filter(pk=self.pk, fence=self.claimed.fence)
        innocent = {"deaths": 0, "crashes": 0} if gets_on else {}
        if not ours.update(revision=F("revision") + 1, lease_expires_at=Now() + LEASE, **innocent):
            raise LeaseLost(str(self.claimed))
        return change()


class _Asking(Generic[T]):
    """One question to one model, from its first attempt to its last."""

    def __init__(
        self,
        context: RunContext,
        step: str,
        model: str,
        messages: list[Message],
        form: AnswerForm[T],
        keep: Keep[T],
        fallback: str,
    ) -> None:
        self._context, self._models = context, context._models
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
        pause = (last.retry_at - timezone.now()).total_seconds()
        await asyncio.sleep(min(pause, failures.LONGEST_WAIT))  # whose clock said so may have been wrong

    async def attempt(self) -> T:
        async with self._models.place(self._model):
            way = self._way = self._way or self._models.way(self._model)
            self._call, overdrawn = await self._context.write(self._open, "open")
            if overdrawn:
                raise failures.QuotaUsedUp(f"The model was not asked. {overdrawn.over}")
            reply = await self._models.ask(self._model, self._conversation, self._form, self._shower(), way)
        faults.reach("after-call")
        value = _read(self._form, reply)
        call = self._call

        def complete() -> None:
            _close_answered(call, reply)
            self._keep(call, value)

        await self._context.write(complete, "decision", gets_on=True)
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
        await self._context.write(partial(_close_failed, self._call, failure, retry_at), "failure", gets_on=True)

    def _hear(self, failure: failures.CallFailed, model: str) -> None:
        """A model whose own answer could not be used is told why; all other failures are none of its business."""
        self._conversation = self._messages
        if isinstance(failure, failures.UnusableAnswer) and model == self._model:
            complaint = {"role": "user", "content": self._form.complaint(str(failure))}
            self._conversation = [*self._messages, complaint]

    def _open(self) -> tuple[ModelCall, Budget | None]:
        run = self._context.claimed
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
        run = self._context.claimed
        if Run.objects.filter(pk=run.pk, reserved__gt=0).exists():
            return None  # what was set aside for this run is its own, whatever others have spent
        free = prices.cost(self._model, 1, 1) == 0
        return None if free else Budget.objects.overdrawn(run.owner_id)

    def _shower(self) -> Growth:
        """Shows a growing text to the watchers, at most four times a second."""
        run, shown = self._context.claimed, 0.0

        def show(text: Callable[[], str]) -> None:
            nonlocal shown
            if time.monotonic() - shown >= TEXT_INTERVAL:
                shown = time.monotonic()
                live.show_text(run.pk, self._step, text())

        return show


def _failure_of(state: RetryCallState) -> failures.CallFailed:
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, failures.CallFailed)  # noqa: S101 - nothing else is tried again
    return failure


def _read(form: AnswerForm[T], reply: Reply) -> T:
    try:
        return form.read(reply.text)
    except ValueError as error:
        failure = failures.UnusableAnswer(storable(str(error)), raw=reply.text)
        failure.said = reply.text
        failure.input_tokens, failure.output_tokens = reply.input_tokens, reply.output_tokens
        raise failure from error


# ---- in a transaction -------------------------------------------------------------------------------------


def _nothing() -> None:
    pass


def _close_answered(call: ModelCall, reply: Reply) -> None:
    call.close(
        ModelCall.Status.ANSWERED,
        counted=(reply.input_tokens, reply.output_tokens),
        said=reply.text,
        answer=reply.text,
        answered_by=in_one_line(reply.model)[:200],
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
