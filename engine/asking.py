"""One question to one model, asked until there is a usable answer or nothing is left to try."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from django.utils import timezone
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_random_exponential

from . import faults, live, statements
from .hidden import in_one_line
from .llm import failures, prices
from .llm.answer import Reply
from .llm.forms import AnswerForm, Continuing, Growth, Message, Way
from .llm.own_words import not_own
from .llm.prompting import complained
from .llm.providers import storable
from .llm.tokens import declared_of, prompt_tokens, too_long, unread
from .models import ModelCall, Run
from .models.budgets import Budget
from .procedure import procedures

if TYPE_CHECKING:
    from .context import RunContext

ATTEMPTS = 4  # the first and three retries, where nothing else is asked for
CONTINUED = 2  # times at most, one answer that was cut off; these attempts count as none
BEFORE_FALLBACK = 2  # of them, where a fallback is declared, before it takes over
TEXT_INTERVAL = 0.25
SHORTEN = "Shorten what it is to read, or name a model that reads more."

T = TypeVar("T")
Keep = Callable[[ModelCall, T], None]

_backoff = wait_random_exponential(multiplier=1, max=20)


class Asking(Generic[T]):
    """One question to one model, from its first attempt to its last."""

    def __init__(
        self,
        context: "RunContext",
        step: str,
        model: str,
        messages: list[Message],
        form: AnswerForm[T],
        keep: Keep[T],
        fallback: str,
        on_cut: Continuing | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._context, self._models = context, context._models
        self._step, self._model, self._form, self._keep = step, model, form, keep
        self._fallback, self._attempts = fallback, attempts
        self._messages = self._conversation = messages
        self._number = 1
        self._on_cut, self._parts, self._cut = on_cut, list[str](), 0
        self._way: Way | None = None  # to ask in after a refusal; otherwise as the model last answered
        self._call: ModelCall

    async def answer(self) -> T:
        if failed := await self._failed_before():
            await self._go_on_after(failed)
        attempts = AsyncRetrying(
            stop=self._is_last,
            wait=self._pause,
            retry=retry_if_exception(self._worth_another),
            before_sleep=self._fail_for_now,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._attempt()
        except failures.CallFailed as failure:
            failure.attempts = self._number
            await self._fail(failure, None)
            raise
        raise AssertionError("the last attempt returns or raises")

    async def _failed_before(self) -> list[ModelCall]:
        """The failed attempts of this series that an earlier worker made, oldest first."""
        run = self._context.claimed
        if run.claims < 2:
            return []
        calls = ModelCall.objects.filter(run=run, step=self._step, series=run.retries, status=ModelCall.Status.FAILED)
        answered = calls.exclude(error_code=failures.FormatRefused.code)
        return await self._context.read(lambda: list(answered.order_by("attempt")))

    async def _go_on_after(self, failed: list[ModelCall]) -> None:
        """Where an earlier worker left it. Raises its last failure where there was nothing left to try."""
        last = failed[-1]
        failure = failures.restored(last.error_code, last.error)
        failure.attempts = last.attempt
        for call in failed:
            self._remember(call)
        if len(failed) - self._cut >= self._attempts or last.retry_at is None:
            raise failure
        if any(call.model == self._fallback for call in failed):
            self._fall_back()
        self._number = last.attempt
        self._turn_to_fallback(failure)
        self._number += 1
        self._hear(failure, last.model)
        pause = (last.retry_at - timezone.now()).total_seconds()
        await asyncio.sleep(min(pause, failures.LONGEST_WAIT))  # whose clock said so may have been wrong

    async def _attempt(self) -> T:
        async with self._models.place(self._model):
            way = self._way = self._way or self._models.way(self._model)
            self._call, overdrawn = await self._context.write(self._open, "open")
            if overdrawn:
                raise failures.QuotaUsedUp(f"The model was not asked. {overdrawn.over}")
            self._refuse_what_is_too_long()
            reply = await self._reply(way)
        faults.reach("after-call")
        self._refuse_what_was_read_in_part(reply)
        value = self._read(reply)
        call = self._call

        def complete() -> None:
            _close_answered(call, reply)
            self._keep(call, value)

        await self._context.write(complete, "decision", gets_on=True)
        return value

    async def _reply(self, way: Way) -> Reply:
        if await live.is_watched(self._context.pk):
            way = replace(way, streams=True)
        try:
            return await self._models.ask(self._model, self._conversation, self._form, self._shower(), way)
        except failures.CutOff as failure:
            if not self._on_cut:
                raise
            if len(self._parts) == CONTINUED:
                counted = {name: getattr(failure, name) for name in ("input_tokens", "output_tokens", "cached_tokens")}
                return Reply(failure.said, "length", self._model, **counted)
            failure.continued = self._on_cut.carry_on(self._messages, [*self._parts, failure.said]) is not None
            raise

    def _refuse_what_is_too_long(self) -> None:
        """A model that is sent more than it reads may answer about what is left of it, and say nothing of that."""
        if said := too_long(self._model, prompt_tokens(self._conversation), "this request"):
            raise failures.Refused(f"The model was not asked. {said} {SHORTEN}")

    def _refuse_what_was_read_in_part(self, reply: Reply) -> None:
        """By the server's own count. Where it is declared how much the model reads, all that was sent had room."""
        counted = None if reply.input_tokens is None else reply.input_tokens + reply.cached_tokens
        if declared_of(self._model) is None and (said := unread(self._conversation, counted)):
            raise _unusable(said, reply)

    def _read(self, reply: Reply) -> T:
        """UnusableAnswer where it is not of the form, or says only what this model was told to do."""
        try:
            value = self._form.read(self._joined(reply))
        except ValueError as error:
            raise _unusable(storable(str(error)), reply) from error
        if wrong := not_own(self._form.said(value), self._form.instructions(self._conversation)):
            raise _unusable(storable(wrong), reply)
        return value

    def _joined(self, reply: Reply) -> str:
        """What the answer says as a whole."""
        if not self._on_cut or not self._parts:
            return reply.text
        return self._on_cut.join([*self._parts, reply.text])

    def _remember(self, call: ModelCall) -> None:
        """The parts of an answer that was cut off, as an earlier worker got them; what failed begins anew."""
        if call.error_code == failures.CUT_OFF:
            self._parts, self._cut = [*self._parts, call.answer], self._cut + 1
        else:
            self._parts = []

    def _is_last(self, state: RetryCallState) -> bool:
        return self._number - self._cut >= self._attempts and not _counts_as_none(_failure_of(state))

    def _worth_another(self, error: BaseException) -> bool:
        if not isinstance(error, failures.CallFailed):
            return False
        if _counts_as_none(error):
            return True
        return self._turn_to_fallback(error) or not error.permanent

    def _turn_to_fallback(self, failure: failures.CallFailed) -> bool:
        """Whether the fallback takes over after this failure of the first model."""
        due = self._fallback and (failure.permanent or self._number - self._cut >= BEFORE_FALLBACK)
        if due:
            self._fall_back()
        return bool(due)

    def _fall_back(self) -> None:
        self._model, self._fallback, self._way = self._fallback, "", None

    def _pause(self, state: RetryCallState) -> float:
        """Seconds before the next attempt."""
        failure = _failure_of(state)
        if self._model != self._call.model:
            return 0  # another model is asked
        if failure.retry_after is not None:
            return failure.retry_after
        if isinstance(failure, failures.UnusableAnswer | failures.FormatRefused):
            return 0  # the endpoint works; waiting would help nobody
        return _backoff(state)

    async def _fail_for_now(self, state: RetryCallState) -> None:
        failure = _failure_of(state)
        wait = timedelta(seconds=state.next_action.sleep if state.next_action else 0)
        await self._fail(failure, timezone.now() + wait)
        if isinstance(failure, failures.FormatRefused) and self._way:
            self._way = self._way.without(failure.refused, self._form)
            return
        if isinstance(failure, failures.CutOff) and failure.continued:
            self._parts, self._cut = [*self._parts, failure.said], self._cut + 1
        else:
            self._parts = []
        self._hear(failure, self._call.model)
        self._number += 1

    async def _fail(self, failure: failures.CallFailed, retry_at: datetime | None) -> None:
        await self._context.write(partial(_close_failed, self._call, failure, retry_at), "failure", gets_on=True)

    def _hear(self, failure: failures.CallFailed, model: str) -> None:
        """A model whose own answer could not be used is told why; all other failures are none of its business."""
        self._conversation = self._messages
        if self._parts and self._on_cut:
            self._conversation = self._on_cut.carry_on(self._messages, self._parts) or self._messages
        elif isinstance(failure, failures.UnusableAnswer) and model == self._model:
            # without its answer where that could not even be taken from what came, or where there is no room for it
            answer = failure.raw if failure.raw == failure.said else ""
            complaint = self._form.complaint(str(failure))
            self._conversation = complained(self._messages, answer, complaint)
            if too_long(self._model, prompt_tokens(self._conversation), "this request"):
                self._conversation = complained(self._messages, "", complaint)

    def _open(self) -> tuple[ModelCall, Budget | None]:
        run = self._context.claimed
        call = ModelCall(
            run=run,
            step=self._step,
            series=run.retries,
            attempt=self._number,
            model=self._model,
            prompt=json.dumps(self._conversation, ensure_ascii=False),
            answer_format=(self._way or Way()).answer_format,
            deadline=timezone.now() + timedelta(seconds=self._models.timeout),
        )
        return statements.insert(call), self._overdrawn()

    def _overdrawn(self) -> Budget | None:
        run = self._context.claimed
        if not Budget.objects.are_there():
            return None
        if Run.objects.filter(pk=run.pk, reserved__gt=_held_back(run)).exists():
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


def _counts_as_none(failure: failures.CallFailed) -> bool:
    return isinstance(failure, failures.FormatRefused) or (isinstance(failure, failures.CutOff) and failure.continued)


def _unusable(why: str, reply: Reply) -> failures.UnusableAnswer:
    failure = failures.UnusableAnswer(why, raw=reply.text)
    failure.said = reply.text
    failure.input_tokens, failure.output_tokens = reply.input_tokens, reply.output_tokens
    return failure


# ---- in a transaction -------------------------------------------------------------------------------------


def _held_back(run: Run) -> int:
    return procedures()[run.procedure].held_back(run)


def _close_answered(call: ModelCall, reply: Reply) -> None:
    call.close(
        ModelCall.Status.ANSWERED,
        counted=(reply.input_tokens, reply.output_tokens),
        said=reply.text,
        but=_held_back(call.run),
        answer=reply.text,
        answered_by=in_one_line(reply.model)[:200],
    )


def _close_failed(call: ModelCall, failure: failures.CallFailed, retry_at: datetime | None) -> None:
    # a model that was still thinking when time was up has cost something too
    asked = bool(failure.said) or isinstance(failure, failures.TimedOut)
    continued = isinstance(failure, failures.CutOff) and failure.continued
    call.close(
        ModelCall.Status.FAILED,
        counted=(failure.input_tokens, failure.output_tokens),
        said=failure.said if asked else None,
        but=_held_back(call.run),
        answer=failure.said if continued else failure.raw,
        error_code=failures.CUT_OFF if continued else failure.code,
        error=str(failure),
        retry_at=retry_at,
    )
