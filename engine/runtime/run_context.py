"""What a procedure gets to work with: reading, fenced writing, asking models, waiting.

Why so: docs/decisions.md, Runs, the queue and the writer.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from uuid import UUID

from django.utils import timezone

from .. import council_approval, gate_decisions, pubsub
from ..audit import sealing
from ..db import cached_sql, reader
from ..ledger.entries import ChainHead
from ..ledger.merkle_log import LogLeaf
from ..llm.errors import CallFailed, QuotaExceeded, RunFailed
from ..llm.response_format import ChatMessage, ContinuedAnswer, ResponseFormat
from ..models import BudgetExceeded, Gate, ModelCall, ModelWait, Run, RunEvent, RunEventType, ToolCall, child_runs
from ..models.child_runs import SubmitChild
from ..models.gates import title_that_fits
from ..running import RunClock
from .model_request import ATTEMPTS, ModelRequest, SaveAnswer
from .procedure import procedures
from .suspension import Suspend, Yield, split_outcomes
from .tool_execution import ToolExecution
from .writer import Writer

if TYPE_CHECKING:  # an HTTP library: who only submits does without
    from ..llm.client import ModelClient

T = TypeVar("T")
S = TypeVar("S")


class LeaseLost(Exception):
    """Somebody else may hold this run now, or it was cancelled: nothing was written."""


class RunContext:
    """One claimed run being performed. Every write is one transaction that first proves the claim still holds."""

    def __init__(self, run: Run, models: "ModelClient", writer: Writer) -> None:
        self.claimed = run  # as it was then
        self._models = models
        self._writer = writer
        self.clock = RunClock()
        self._news = run.news  # what came from outside by the last look: a park is only for what has not moved since
        self._branches = 0
        self._proofs = {gets_on: partial(self._prove, gets_on) for gets_on in (False, True)}

    @property
    def pk(self) -> UUID:
        return self.claimed.pk

    @property
    def seconds_worked(self) -> float:
        """Seconds over all claims."""
        return self.claimed.worked + self.clock.seconds

    @property
    def now(self) -> datetime:
        """By the later one of two clocks: what the database has woken a run for must be due here too."""
        return max(timezone.now(), self.claimed.wakes_at or self.claimed.created)

    async def read_snapshot(self, query: Callable[[], T]) -> T:
        """What `query` finds. What comes from outside after this look keeps the run from being parked.

        Beside other branches it leaves that to the look before them: a newer one would hide what they have not seen.
        """
        news, found = await self.read(partial(_look, self.pk, query))
        if not self._branches:
            self._news = news
        return found

    async def read(self, query: Callable[[], T]) -> T:
        return await reader.read_for_worker(query)

    async def write(
        self,
        change: Callable[[], T],
        name: str = "",
        last: Callable[[T], None] | None = None,
        *,
        gets_on: bool = False,
        lets_go: bool = False,
    ) -> T:
        """Commit what `change` does, then tell the watchers. LeaseLost if the run is no longer ours.

        `change` may be called again after a rollback, so it must only write. `name` is for fault points; `last` as
        in `Writer.write`. With `gets_on` the run is past what its workers may have died of; with `lets_go` nothing is
        proven any more by what was before.
        """
        proof = partial(self._prove, gets_on) if lets_go else self._proofs[gets_on]
        result = await self._writer.write(change, name, last, proof)
        pubsub.announce(self.pk)
        return result

    async def until(self, moment: datetime) -> None:
        """Go on if this moment is over; otherwise the run waits for it."""
        if self.now < moment:
            raise Suspend(until=moment)

    async def yield_to_others(self) -> NoReturn:
        """Let others go first: the run goes back to the queue. Stands outside of `together`."""
        raise Yield

    async def gather(self, *branches: Coroutine[Any, Any, T]) -> list[T]:
        """Their results, when all have ended or wait, each of them having gone on as far as it can.

        Siblings finish. Then a fault of ours is raised, else the first failure, else `Suspend` with the earliest time.
        """
        self._branches += 1
        try:
            return split_outcomes(await asyncio.gather(*branches, return_exceptions=True))
        finally:
            self._branches -= 1

    async def gate(
        self,
        step: str,
        *,
        kind: str,
        title: str,
        text: str,
        policy: Mapping[str, Any] | None = None,
        choices: Sequence[Mapping[str, str]] = (),
        whole: str = "",
        failed: str = "person",
        asked: Any = None,
        tool: str = "",
        effect: str = "",
        due: Callable[[], None] | None = None,
    ) -> Gate:
        """The gate of this step when it is closed: somebody has decided about exactly this text, or the time for that
        is over. Raises Waits until then.

        It is the same gate until a write of the procedure has used it up (`Gate.use`) or something else is asked there:
        another text, or somebody else. `asked`: a user or a group; nobody by name are whose run it is, and who may
        decide for all. `policy` as in `policy_of`, made as strict as rules and floors are; `choices` with `word`,
        `decision` and `sentence`. `failed`: where a council comes to nothing a `person` decides, or with `tell` the
        gate is returned as failed. `whole`: SHA-256 of what `text` was cut from; the text then names all that was left
        out and where it is read, and a person has to approve it, and it alone. `due` is called in the transaction that
        asks: where it raises, nobody is asked.
        """
        about: dict[str, Any] = {
            "kind": kind,
            "title": title_that_fits(title),
            "text": text,
            "whole": whole,
            "tool": tool,
        }
        about |= {
            "effect": effect,
            "choices": list(choices),
            "when_failed": failed,
            **gate_decisions.approver_columns(asked),
        }
        gate, holds = await self.read(partial(_newest, self.pk, step, text, whole, asked))
        if gate is None or not holds:
            ask = partial(council_approval.start_council_run, gate, policy, run=self.claimed, step=step, **about)
            gate = await self._submitting(partial(_once_due, due, ask) if due else ask, "gate")
        if gate.pending and gate.expires and gate.expires <= self.now:
            await self.write(partial(Gate.objects.expire, gate, self.now), "expiry")
            gate = await self.read(partial(Gate.objects.with_decisions().get, pk=gate.pk))
        if gate.pending and gate.council and gate.council.is_ended and not gate.is_acknowledged:
            gate = await self.write(partial(council_approval.record_council_decision, gate.pk), "gate")
        if gate.pending:
            raise Suspend(until=gate.expires)
        return gate

    async def child(self, step: str, submit: SubmitChild, called: str = "") -> Run:
        """The run that this one has made in this step, when it is over: finished or cancelled. Raises Waits until then;
        one that failed is waited for, as somebody may try it again.

        The first time it is made, by `submit` in one write; it belongs to whom the run at the top belongs to. `called`:
        what people call that step.
        TooManyChildren, or RunFailed where a budget has not enough left.
        """
        child = await self.read(partial(Run.objects.child_of, self.pk, step))
        if child is None:
            child = await self._made(step, submit, called)
        if child.status not in (Run.Status.FINISHED, Run.Status.CANCELLED):
            raise Suspend(child_runs.child_label(child))
        return child

    async def _made(self, step: str, submit: SubmitChild, called: str) -> Run:
        try:
            return await self._submitting(
                partial(Run.objects.create_child, self.claimed, step, submit, called), "child"
            )
        except BudgetExceeded as used_up:
            raise RunFailed(QuotaExceeded.code, str(used_up)) from used_up

    async def _submitting(self, change: Callable[[], T], name: str) -> T:
        """Write what may submit runs: what is asked of them is sealed, and logged last."""

        def submit() -> tuple[T, list[ChainHead]]:
            with sealing.defer_log_append() as heads:
                return change(), heads

        made, _ = await self.write(submit, name, last=lambda written: LogLeaf.objects.add(*written[1]))
        return made

    async def park(self, waits: Suspend) -> None:
        """Let go of the run until something comes from outside. What came since the last look queues it at once."""
        await self._let_go("park", partial(self._park, waits))

    async def yield_worker(self) -> None:
        await self._let_go("rest", partial(Run.objects.requeue, self.pk, self.clock.seconds))

    async def _let_go(self, name: str, change: Callable[[], None]) -> None:
        """All that happened is sealed with it: what is closed by then never changes."""

        def let_go() -> list[ChainHead]:
            ModelCall.objects.filter(run=self.claimed).mark_interrupted()
            self._wait_no_more()
            change()
            heads = _dismissed(self.pk)
            own = sealing.seal_progress(self.pk)
            return [*heads, own] if own else heads

        await self.write(let_go, name, last=_log, gets_on=True, lets_go=True)

    def _park(self, waits: Suspend) -> None:
        kept = procedures()[self.claimed.procedure].reserved_cost(self.claimed)
        Run.objects.release([self.pk], but=kept)
        Run.objects.suspend(self.pk, self._news, waits.until, waits.why, self.clock.seconds)

    async def end(self, status: str, change: Callable[[], None], error: dict | None = None) -> None:
        """The run ends in the same transaction as `change`: no outcome without its end, no end without it.

        Raises what its seal raises; then nothing was written.
        """
        await self._end(status, change, error, sealing.seal_end, lambda heads: LogLeaf.objects.add(*heads))

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
        def finish() -> tuple[list[ChainHead], S]:
            change()
            self._interrupt(status)
            heads = self._close_gates(status)
            Run.objects.release([self.pk])
            Run.objects.end(self.pk, status, error, self.clock.seconds)
            if self.claimed.parent_id:
                Run.objects.wake(self.claimed.parent_id)
            RunEvent.objects.record(RunEventType.OVER, [self.pk])
            return heads, sealing(self.pk)

        def log(ended: tuple[list[ChainHead], S]) -> None:
            _log(ended[0])
            logging(ended[1])

        await self.write(finish, "outcome", last=log, lets_go=True)
        if self.claimed.parent_id:
            pubsub.announce(self.claimed.parent_id)

    def _interrupt(self, status: str) -> None:
        """Whatever of it is still open: nobody goes on with that."""
        if cached_sql.exists(ModelCall, "run", [self.pk], status=ModelCall.Status.OPEN):
            ModelCall.objects.filter(run=self.pk).mark_interrupted()
        if cached_sql.exists(ToolCall, "run", [self.pk], status=ToolCall.Status.OPEN):
            calls = ToolCall.objects.filter(run=self.pk)
            calls.interrupt_until_retry() if status == Run.Status.FAILED else calls.interrupt()
        self._wait_no_more()

    def _wait_no_more(self) -> None:
        if cached_sql.exists(ModelWait, "run", [self.pk]):
            ModelWait.objects.filter(run=self.pk).delete()

    def _close_gates(self, status: str) -> list[ChainHead]:
        if not cached_sql.exists(Gate, "run", [self.pk]):
            return []
        if status == Run.Status.FINISHED:  # one that failed may be tried again, and waits for them then
            Gate.objects.filter(run=self.pk).void()
        return _dismissed(self.pk)

    async def request_model(
        self,
        step: str,
        model: str,
        messages: list[ChatMessage],
        form: ResponseFormat[T],
        keep: SaveAnswer[T],
        fallback: str = "",
        on_cut: ContinuedAnswer | None = None,
        attempts: int = ATTEMPTS,
        left_out: str = "",
    ) -> T:
        """Get one usable answer for `step`, in at most so many attempts, each a row of its own.

        Attempts that a worker made before it died count; one that was cut short is made again. `keep` stores the
        value in the transaction that completes the call; it is returned afterwards. Raises CallFailed, which
        is a RunFailed, with the number of attempts on it, when the last attempt failed or one failed for good.

        A `fallback` model, where one is declared, takes over after two failed attempts or one that failed for good.
        With `on_cut` an answer that was cut off is continued, twice at most, in attempts that count as none. What was
        `left_out` of the messages, for which a model has no room, is kept with each attempt.
        """
        try:
            return await ModelRequest(
                self, step, model, messages, form, keep, fallback, on_cut, attempts, left_out
            ).answer()
        except CallFailed as failure:
            kind = procedures()[self.claimed.procedure]
            failure.tell_of(*await self.read(partial(kind.asker, self.pk, step)))
            raise

    async def execute_tool(
        self,
        step: str,
        tool: str,
        arguments: str | Mapping[str, Any],
        policy: Mapping[str, Any] | None = None,
        choices: Sequence[Mapping[str, str]] = (),
        *,
        asked: Any = None,
        asked_in: ModelCall | None = None,
    ) -> ToolCall:
        """What came of using this tool at this place, which is done at most once and found again afterwards.

        `arguments`: JSON, or what it says. Where they do not fit, or there is no such tool, the call has failed and is
        in no table. `policy` and `asked` as in `gate`, or who `open`; None: nobody is asked about what reads or is
        contained, and a person about all else. What reaches out is always asked about first, and so is what has an
        effect once strangers' text was read. `choices`: of that gate; those that reject are also offered where nobody
        knows whether it happened. What was refused, or broke, has failed: its `error` says why, its `gate` who said so.
        Raises Waits.
        """
        return await ToolExecution(self, step, arguments, policy, choices, asked, asked_in).result(tool)

    def _prove(self, gets_on: bool) -> None:
        if not self.claimed.still_held(gets_on=gets_on):
            raise LeaseLost(str(self.claimed))


def _nothing() -> None:
    pass


def _newest(run: UUID, step: str, *about: Any) -> tuple[Gate | None, bool]:
    """The newest gate of a step, and whether it is still the one for this."""
    gate = Gate.objects.newest(run, step)
    return gate, gate is not None and gate.permits(*about)


def _once_due(due: Callable[[], None], ask: Callable[[], Gate]) -> Gate:
    due()
    return ask()


def _look(pk: UUID, query: Callable[[], T]) -> tuple[int, T]:
    """The number first: what comes between the two counts as not seen."""
    [(news,)] = cached_sql.select(Run, "pk", [pk], ["news"])
    return news, query()


def _dismissed(pk: UUID) -> list[ChainHead]:
    """What is to be logged of runs that nobody needs any more at the gates of this one."""
    with sealing.defer_log_append() as heads:
        council_approval.cancel_council_runs(pk)
    return heads


def _log(heads: list[ChainHead]) -> None:
    if heads:
        LogLeaf.objects.add(*heads)
