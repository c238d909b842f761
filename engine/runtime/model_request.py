"""One question to one model, asked until there is a usable answer or nothing is left to try."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from django.conf import settings
from django.utils import timezone

from .. import fault_injection, pubsub
from ..db import cached_sql
from ..llm import errors, pricing
from ..llm.own_words import not_own
from ..llm.parameters import as_kept
from ..llm.prompt_blocks import complained
from ..llm.providers import clean_storable_text, provider_of
from ..llm.queues import Absence, ProviderAway, QueuedRequest
from ..llm.response_format import ChatMessage, ContinuedAnswer, PreviewText, RequestMode, ResponseFormat
from ..llm.streaming import ModelReply
from ..llm.tokens import declared_of, prompt_tokens, too_long, unread
from ..models import ModelCall, ModelWait, Run
from ..models.budgets import Budget
from ..models.rate_limits import format_wait
from ..text.invisible_chars import single_line
from .procedure import procedures

if TYPE_CHECKING:
    from .run_context import RunContext

ATTEMPTS = 4  # the first and three retries, of unusable answers and of failures of the endpoint
TIMEOUTS = 3  # of them at most that may take as long as an answer may
LONGER = 4  # times what an answer may be long after one that was cut off
MAX_CONTINUATIONS = 2  # times at most, one answer that was cut off; these attempts count as none
ATTEMPTS_BEFORE_FALLBACK = 2  # of them, where a fallback is declared, before it takes over
SHORT_ABSENCE = 15.0  # seconds that a provider is waited for where a fallback can take over
MOST_ABSENCES = 40  # requests of one question that found a provider away which others were answered by
LONGEST_PAUSE = 20.0  # seconds before another attempt, where nothing else is asked for
TOLD_AFTER = 1.0  # seconds that a question waits before pages are told so
PARTIAL_TEXT_INTERVAL = 0.25
SHORTEN = "Shorten what it is to read, or name a model that reads more."

T = TypeVar("T")
SaveAnswer = Callable[[ModelCall, T], None]


class QueueWaitReason(NamedTuple):
    """Why a question waits for its turn, as the columns of `ModelWait` say it."""

    away: datetime | None = None
    until: datetime | None = None
    limited: bool = False
    said: str = ""


def _why(absence: Absence | None) -> QueueWaitReason:
    return (
        QueueWaitReason(absence.since, absence.until, absence.limited, str(absence.last))
        if absence
        else QueueWaitReason()
    )


class ModelRequest(Generic[T]):
    """One question to one model, from its first attempt to its last."""

    def __init__(
        self,
        context: "RunContext",
        step: str,
        model: str,
        messages: list[ChatMessage],
        form: ResponseFormat[T],
        keep: SaveAnswer[T],
        fallback: str,
        on_cut: ContinuedAnswer | None = None,
        attempts: int = ATTEMPTS,
        left_out: str = "",
    ) -> None:
        self._context, self._models = context, context._models
        self._step, self._model, self._form, self._keep = step, model, form, keep
        self._fallback, self._attempts = fallback, attempts
        self._messages = self._conversation = messages
        self._left_out = left_out
        self._number = 1
        self._spent = Counter[str]()  # attempts, by what they failed of
        self._absences, self._absence = 0, 0.0  # how many of them, and when the last began
        self._away_since: float | None = None  # since when this question has found its provider away, again and again
        self._looks = 0  # in a row at a provider that was away: from the second on they are one row that stays open
        self._told: QueueWaitReason | None = None  # what the row says of why it waits
        self._on_cut, self._parts, self._cut = on_cut, list[str](), 0
        self._way: RequestMode | None = None  # to ask in after a refusal; otherwise as the model last answered
        self._unusable = ""  # the last answer that was complained about
        self._call: ModelCall

    async def answer(self) -> T:
        if failed := await self._failed_before():
            await self._go_on_after(failed)
        while True:
            try:
                return await self._attempt()
            except errors.CallFailed as failure:
                pause = self._pause_after(failure)
                if pause is None:
                    self._count(failure)
                    await self._fail(failure, None)
                    raise
                await self._fail_for_now(failure, pause)
                await asyncio.sleep(pause)

    async def _failed_before(self) -> list[ModelCall]:
        """The failed attempts of this series that an earlier worker made, oldest first."""
        run = self._context.claimed
        if run.claims < 2:
            return []
        calls = ModelCall.objects.filter(run=run, step=self._step, series=run.retries, status=ModelCall.Status.FAILED)
        counted = calls.exclude(error_code__in=(errors.ResponseFormatRejected.code, errors.AWAY))
        return await self._context.read(lambda: list(counted.order_by("attempt")))

    async def _go_on_after(self, failed: list[ModelCall]) -> None:
        """Where an earlier worker left it. Raises its last failure where there was nothing left to try. How long it
        waited for a provider that was away is not known any more: that begins anew."""
        last = failed[-1]
        failure = errors.failure_from_code(last.error_code, last.error)
        for call in failed:
            self._remember(call)
        self._count(failure)
        if last.retry_at is None or self._used_up():
            raise failure
        if any(call.model == self._fallback for call in failed):
            self._fall_back()
        self._number = last.attempt
        self._turn_to_fallback(failure)
        self._number += 1
        self._hear(failure, last.model)
        pause = (last.retry_at - timezone.now()).total_seconds()
        await asyncio.sleep(min(pause, errors.MAX_RETRY_AFTER))  # whose clock said so may have been wrong

    async def _attempt(self) -> T:
        with self._models.queue(self._model).turn(self._patience, self._away_since) as turn:
            gone = await self._its_turn(turn)
            with self._context.clock.asking():
                reply = await self._asked(turn, gone)
        fault_injection.fault_point("after-call")
        self._refuse_what_was_read_in_part(reply)
        value = self._read(reply)
        call = self._call

        def complete() -> None:
            _close_answered(call, reply)
            self._keep(call, value)

        await self._context.write(complete, "decision", gets_on=True)
        return value

    async def _asked(self, turn: QueuedRequest, gone: errors.CallFailed | None) -> ModelReply:
        way = self._way = self._way or self._models.request_mode(self._model)
        opened = partial(self._ask_again, gone) if self._looks > 1 else self._open
        self._call, overdrawn = await self._context.write(opened, "open")
        self._told = None
        if gone:
            raise gone
        if overdrawn:
            used_up = errors.QuotaExceeded(f"The model was not asked. {overdrawn.exceeded_text}")
            used_up.advice = "Users who manage budgets can raise it in the admin."
            raise used_up
        self._refuse_what_is_too_long()
        try:
            reply = await self._reply(way)
        except errors.CallFailed as failure:
            self._note_presence(turn, failure)
            raise
        turn.answered()
        self._absences, self._away_since = 0, None
        return reply

    # ---- a provider that is away --------------------------------------------------------------------------

    @property
    def _patience(self) -> float:
        return min(settings.SERVER_PATIENCE, SHORT_ABSENCE) if self._fallback else settings.SERVER_PATIENCE

    async def _its_turn(self, turn: QueuedRequest) -> errors.CallFailed | None:
        """Returns when a request may go out; with what went wrong where the provider was away for too long."""
        if not turn.granted.done():
            with self._context.clock.waiting():
                await self._wait(turn)
        try:
            turn.granted.result()
        except ProviderAway as away:
            return _given_up(away.absence)
        return None

    async def _wait(self, turn: QueuedRequest) -> None:
        """Until it is its turn, saying why it is not."""
        queue = self._models.queue(self._model)
        await asyncio.wait({turn.granted}, timeout=TOLD_AFTER)
        while not turn.granted.done():
            changes = queue.changes()
            why = _why(queue.absence)
            if why != self._told:
                await self._context.write(partial(self._tell_of_wait, why), "wait")
                self._told = why
            await asyncio.wait({turn.granted, changes}, return_when=asyncio.FIRST_COMPLETED)

    def _tell_of_wait(self, why: "QueueWaitReason") -> None:
        run = self._context.claimed
        about = {"fence": run.fence, "provider": provider_of(self._model), **why._asdict()}
        ModelWait.objects.update_or_create(run=run, step=self._step, defaults=about, create_defaults=about)

    def _note_presence(self, turn: QueuedRequest, failure: errors.CallFailed) -> None:
        """What this failure says of the provider. One that is away is waited for as long as there is patience."""
        if isinstance(failure, errors.RateLimited) and (failure.retry_after or 0.0) > settings.SERVER_PATIENCE:
            failure.given_up = True  # a limit of a day may be that of one model: others ask for themselves
        if not failure.server_away or failure.given_up:
            turn.answered()
            self._absences, self._away_since = 0, None
            return
        self._away_since = time.monotonic() if self._away_since is None else self._away_since
        turn.since = self._away_since
        self._back, absence = turn.lost(failure)
        if absence.began != self._absence:  # others were answered since this question was not
            self._absence, self._absences = absence.began, self._absences + 1
        left = turn.gives_up_at(absence) - time.monotonic()
        failure.given_up = self._absences > MOST_ABSENCES or left <= (failure.retry_after or 0.0)

    # ---- an answer ----------------------------------------------------------------------------------------

    async def _reply(self, way: RequestMode) -> ModelReply:
        if await pubsub.is_watched(self._context.pk):
            way = replace(way, streams=True)
        try:
            return await self._models.ask(self._model, self._conversation, self._form, self._shower(), way)
        except errors.AnswerTruncated as failure:
            if not self._on_cut:
                raise
            if len(self._parts) == MAX_CONTINUATIONS:
                counted = {name: getattr(failure, name) for name in ("input_tokens", "output_tokens", "cached_tokens")}
                return ModelReply(failure.said, "length", self._model, **counted)
            failure.continued = self._on_cut.carry_on(self._messages, [*self._parts, failure.said]) is not None
            raise

    def _refuse_what_is_too_long(self) -> None:
        """A model that is sent more than it reads may answer about what is left of it, and say nothing of that."""
        about = "this request, without what could be left out," if self._left_out else "this request"
        if said := too_long(self._model, prompt_tokens(self._conversation), about):
            raise errors.RequestRejected(f"The model was not asked. {said} {SHORTEN}")

    def _refuse_what_was_read_in_part(self, reply: ModelReply) -> None:
        """By the server's own count. Where it is declared how much the model reads, all that was sent had room."""
        counted = None if reply.input_tokens is None else reply.input_tokens + reply.cached_tokens
        if declared_of(self._model) is None and (said := unread(self._conversation, counted)):
            raise _unusable(said, reply)

    def _read(self, reply: ModelReply) -> T:
        """UnusableAnswer where it is not of the form, or says only what this model was told to do."""
        try:
            value = self._form.read(self._joined(reply))
        except ValueError as error:
            raise _unusable(clean_storable_text(str(error)), reply) from error
        if wrong := not_own(self._form.said(value), self._form.instructions(self._conversation)):
            raise _unusable(clean_storable_text(wrong), reply)
        return value

    def _joined(self, reply: ModelReply) -> str:
        """What the answer says as a whole."""
        if not self._on_cut or not self._parts:
            return reply.text
        return self._on_cut.join([*self._parts, reply.text])

    def _remember(self, call: ModelCall) -> None:
        """The parts of an answer that was cut off, as an earlier worker got them; what failed begins anew."""
        if call.error_code == errors.TRUNCATED_CODE:
            self._parts, self._cut = [*self._parts, call.answer], self._cut + 1
        else:
            self._parts = []
            self._spent[budget_of(call.error_code)] += 1

    def _count(self, failure: errors.CallFailed) -> None:
        failure.attempts = max(1, self._spent.total())
        words = [f"{n} {TRIES[budget]}{'s' if n > 1 else ''}" for budget, n in self._spent.items()]
        failure.tries = ", ".join(words) if len(words) > 1 else ""

    def _used_up(self) -> bool:
        most = {"time": min(self._attempts, TIMEOUTS)}
        return any(number >= most.get(budget, self._attempts) for budget, number in self._spent.items())

    def _pause_after(self, failure: errors.CallFailed) -> float | None:
        """Seconds before the next attempt; None where nothing is left to try."""
        if _is_waited_for(failure):  # in the queue, with all others; longer where those are answered
            return 0 if self._absences < 3 or failure.retry_after else min(LONGEST_PAUSE, self._absences)
        if _counts_as_none(failure):
            return 0
        self._spent[budget_of(failure.code)] += 1
        if self._turn_to_fallback(failure):
            return 0  # another model is asked
        if failure.permanent or failure.given_up or self._used_up():
            return None
        if failure.retry_after is not None:
            return min(failure.retry_after, errors.MAX_RETRY_AFTER)
        if isinstance(failure, errors.UnusableAnswer):
            return 0  # the endpoint works; waiting would help nobody
        return random.uniform(0, min(LONGEST_PAUSE, 2 ** (self._spent.total() - 1)))  # noqa: S311 - no secret

    def _turn_to_fallback(self, failure: errors.CallFailed) -> bool:
        """Whether the fallback takes over after this failure of the first model."""
        over = failure.permanent or failure.given_up
        due = self._fallback and (over or self._spent.total() >= ATTEMPTS_BEFORE_FALLBACK)
        if due:
            self._fall_back()
        return bool(due)

    def _fall_back(self) -> None:
        self._model, self._fallback, self._way = self._fallback, "", None
        self._absences, self._away_since = 0, None

    async def _fail_for_now(self, failure: errors.CallFailed, pause: float) -> None:
        if _is_waited_for(failure):
            await self._found_away(failure)
            return
        await self._fail(failure, timezone.now() + timedelta(seconds=pause))
        if isinstance(failure, errors.ResponseFormatRejected) and self._way:
            self._way = self._way.without(failure.refused, self._form)
            return
        if isinstance(failure, errors.AnswerTruncated) and failure.continued:
            self._parts, self._cut = [*self._parts, failure.said], self._cut + 1
        else:
            self._parts = []
        if isinstance(
            failure, errors.AnswerTruncated
        ):  # maybe by the length that was asked for, and maybe while it thought
            self._form = replace(self._form, max_tokens=LONGER * self._form.max_tokens)
        self._hear(failure, self._call.model)
        self._number += 1

    async def _found_away(self, failure: errors.CallFailed) -> None:
        self._looks += 1
        if self._looks == 1 or failure.said or failure.input_tokens is not None:  # or may have cost something
            await self._fail(failure, self._back)
            self._looks = 1
        else:
            look = partial(_note_look, self._call, failure, self._back)
            await self._context.write(look, "failure", gets_on=True)

    async def _fail(self, failure: errors.CallFailed, retry_at: datetime | None) -> None:
        self._looks = 0
        await self._context.write(partial(_close_failed, self._call, failure, retry_at), "failure", gets_on=True)

    def _hear(self, failure: errors.CallFailed, model: str) -> None:
        """A model whose own answer could not be used is told why; all other failures are none of its business."""
        self._conversation = self._messages
        if self._parts and self._on_cut:
            self._conversation = self._on_cut.carry_on(self._messages, self._parts) or self._messages
        elif isinstance(failure, errors.UnusableAnswer) and model == self._model:
            # without its answer where that could not even be taken from what came, or where there is no room for it, or
            # where it gave the same one again: small models go on to repeat what they see that they have said
            answer = failure.raw if failure.raw == failure.said and failure.raw != self._unusable else ""
            self._unusable = failure.raw
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
            answer_format=(self._way or RequestMode()).answer_format,
            left_out=self._left_out,
            parameters=as_kept(self._model, self._conversation, self._form, self._way or RequestMode()),
            deadline=timezone.now() + timedelta(seconds=self._models.timeout),
        )
        self._wait_no_more()
        return cached_sql.insert(call), self._overdrawn()

    def _ask_again(self, gone: errors.CallFailed | None) -> tuple[ModelCall, Budget | None]:
        """Where the last look found the provider away, under the same row, unless it is not going to be asked."""
        self._wait_no_more()
        if gone:
            return self._call, None
        now = timezone.now()
        deadline = now + timedelta(seconds=self._models.timeout)
        cached_sql.update(ModelCall, self._call.pk, started=now, deadline=deadline, retry_at=None)
        return self._call, self._overdrawn()

    def _wait_no_more(self) -> None:
        if self._told:
            ModelWait.objects.filter(run=self._context.claimed, step=self._step).delete()

    def _overdrawn(self) -> Budget | None:
        run = self._context.claimed
        if not Budget.objects.any_set():
            return None
        if Run.objects.filter(pk=run.pk, reserved__gt=_held_back(run)).exists():
            return None  # what was set aside for this run is its own, whatever others have spent
        free = pricing.cost(self._model, 1, 1) == 0
        return None if free else Budget.objects.overdrawn(run.owner_id)

    def _shower(self) -> PreviewText:
        """Shows a growing text to the watchers, at most four times a second."""
        run, shown = self._context.claimed, 0.0

        def show(text: Callable[[], str]) -> None:
            nonlocal shown
            if time.monotonic() - shown >= PARTIAL_TEXT_INTERVAL:
                shown = time.monotonic()
                pubsub.show_text(run.pk, self._step, text())

        return show


def _given_up(absence: Absence) -> errors.CallFailed:
    last, for_long = absence.last, format_wait((timezone.now() - absence.since).total_seconds())
    was = f"took no more requests for {for_long}" if absence.limited else f"was away for {for_long}"
    failure = type(last)(f"The model was not asked: its provider {was}. {last}")
    failure.given_up = True
    return failure


def _is_waited_for(failure: errors.CallFailed) -> bool:
    return failure.server_away and not failure.given_up


def _counts_as_none(failure: errors.CallFailed) -> bool:
    continued = isinstance(failure, errors.AnswerTruncated) and failure.continued
    return isinstance(failure, errors.ResponseFormatRejected) or continued or _is_waited_for(failure)


TRIES = {"time": "time-out", "answer": "unusable answer", "endpoint": "other failure"}


def budget_of(code: str) -> str:
    """Which attempts a failure is counted with: time-outs, answers, or what else the endpoint did."""
    return {errors.CallTimedOut.code: "time", errors.UnusableAnswer.code: "answer"}.get(code, "endpoint")


def _unusable(why: str, reply: ModelReply) -> errors.UnusableAnswer:
    failure = errors.UnusableAnswer(why, raw=reply.text)
    failure.said = reply.text
    failure.input_tokens, failure.output_tokens = reply.input_tokens, reply.output_tokens
    return failure


# ---- in a transaction -------------------------------------------------------------------------------------


def _held_back(run: Run) -> int:
    return procedures()[run.procedure].reserved_cost(run)


def _close_answered(call: ModelCall, reply: ModelReply) -> None:
    call.close(
        ModelCall.Status.ANSWERED,
        counted=(reply.input_tokens, reply.output_tokens),
        said=reply.text,
        but=_held_back(call.run),
        answer=reply.text,
        error="",
        answered_by=single_line(reply.model)[:200],
        fingerprint=single_line(reply.fingerprint)[:200],
    )


def _note_look(call: ModelCall, failure: errors.CallFailed, back: datetime) -> None:
    """The provider was away once more: the row stays open, and is asked again then."""
    call.looks, call.looked_since = call.looks + 1, call.looked_since or call.started
    values = {"looks": call.looks, "looked_since": call.looked_since}
    cached_sql.update(ModelCall, call.pk, **values, retry_at=back, error=str(failure))


def _close_failed(call: ModelCall, failure: errors.CallFailed, retry_at: datetime | None) -> None:
    # a model that was still thinking when time was up has cost something too
    asked = bool(failure.said) or isinstance(failure, errors.CallTimedOut)
    continued = isinstance(failure, errors.AnswerTruncated) and failure.continued
    call.close(
        ModelCall.Status.FAILED,
        counted=(failure.input_tokens, failure.output_tokens),
        said=failure.said if asked else None,
        but=_held_back(call.run),
        answer=failure.said if continued else failure.raw,
        error_code=errors.TRUNCATED_CODE if continued else errors.AWAY if _is_waited_for(failure) else failure.code,
        error=str(failure),
        retry_at=retry_at,
    )
