"""The interface of the engine for procedures: reading, fenced writing, model requests, tools, gates, waiting.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
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

if TYPE_CHECKING:  # imports an HTTP library, which is not needed to submit runs
    from ..llm.client import ModelClient

T = TypeVar("T")
S = TypeVar("S")


class LeaseLost(Exception):
    """The claim is no longer valid, or the run was cancelled; nothing was written."""


class RunContext:
    """One claimed run that is being performed. Each write is a transaction that first proves the claim."""

    def __init__(self, run: Run, models: "ModelClient", writer: Writer) -> None:
        self.claimed = run  # as it was when it was claimed
        self._models = models
        self._writer = writer
        self.clock = RunClock()
        self._news = run.news  # at the last snapshot; the run is suspended only if it has not changed since
        self._branches = 0
        self._proofs = {gets_on: partial(self._prove, gets_on) for gets_on in (False, True)}

    @property
    def pk(self) -> UUID:
        return self.claimed.pk

    @property
    def seconds_worked(self) -> float:
        """Seconds of work in all claims."""
        return self.claimed.worked + self.clock.seconds

    @property
    def now(self) -> datetime:
        """The later of our clock and the database's time of waking, so that what has woken the run is due here, too."""
        return max(timezone.now(), self.claimed.wakes_at or self.claimed.created)

    async def read_snapshot(self, query: Callable[[], T]) -> T:
        """Run a query as a snapshot: whatever comes from outside after it prevents the run from being suspended.

        Within `gather` the snapshot before the branches counts; a newer one would hide what others have not seen.
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
        """Run `change` in a transaction, then notify pages. Raises LeaseLost if the claim is no longer valid.

        change: may be called again after a rollback, so it must have no effects besides writes
        name: for fault injection
        last: see `Writer.write`
        gets_on: the run has made progress, which resets its crashes
        lets_go: the write ends the claim
        """
        proof = partial(self._prove, gets_on) if lets_go else self._proofs[gets_on]
        result = await self._writer.write(change, name, last, proof)
        pubsub.announce(self.pk)
        return result

    async def until(self, moment: datetime) -> None:
        """Suspend the run until this moment, unless it has passed."""
        if self.now < moment:
            raise Suspend(until=moment)

    async def yield_to_others(self) -> NoReturn:
        """Put the run back into the queue so that others get a turn. Must not be called within `gather`."""
        raise Yield

    async def gather(self, *branches: Coroutine[Any, Any, T]) -> list[T]:
        """Run all branches as far as they can, and return their results.

        If some fail or wait, the others still finish. Then a bug of ours is raised, else the first failure, else
        `Suspend` with the earliest time.
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
        """Return the closed gate of this step: somebody has decided about exactly this text, or it has expired.

        Raises Suspend until then. The same gate is returned until the procedure has used it (`Gate.consume`), or asks
        about another text or other approvers.

        policy: see `policy_of`; it is made as strict as the installation's rules
        choices: dicts with `word`, `decision` and `sentence`
        whole: SHA-256 of the whole text if `text` was shortened. The text must then say what is missing and where it
            is, and a person must approve it.
        failed: if the council's run fails, a `person` decides, or with `tell` the gate is returned as failed
        asked: user or group; None for the run's owner and users who may decide at all gates
        due: called in the transaction that creates the gate; if it raises, no gate is created
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
        """Return the finished or cancelled child run of this step; the first call creates it by `submit` in one write.

        Raises Suspend until it has ended; also if it has failed, as it may be retried. It has the owner of the topmost
        run. `called` is the step's name for people. Raises TooManyChildren, and RunFailed if a budget is used up.
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
        """Write a change that may submit runs, whose sealed submissions are appended to the log last."""

        def submit() -> tuple[T, list[ChainHead]]:
            with sealing.defer_log_append() as heads:
                return change(), heads

        made, _ = await self.write(submit, name, last=lambda written: LogLeaf.objects.add(*written[1]))
        return made

    async def park(self, waits: Suspend) -> None:
        """Suspend the run; it is queued at once if something has come from outside since the last snapshot."""
        await self._let_go("park", partial(self._park, waits))

    async def yield_worker(self) -> None:
        await self._let_go("rest", partial(Run.objects.requeue, self.pk, self.clock.seconds))

    async def _let_go(self, name: str, change: Callable[[], None]) -> None:
        """End the claim by `change` and seal the progress in the same transaction."""

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
        """End the run in the same transaction as `change`, so that neither is written without the other.

        Raises what sealing raises; nothing is written then.
        """
        await self._end(status, change, error, sealing.seal_end, lambda heads: LogLeaf.objects.add(*heads))

    async def give_up(self, error: dict) -> None:
        """End the run as failed even if it cannot be sealed."""
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
        """Close open requests and tool calls. Those of a failed run can be settled by a retry."""
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
        if status == Run.Status.FINISHED:  # a failed run may be retried and then needs its gates
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
        """Get one usable answer for `step`, in at most `attempts` attempts, each with a row of its own.

        Finished attempts of a worker that died count; an interrupted one is repeated. Raises CallFailed, a RunFailed
        with the number of attempts, after the last attempt or a permanent failure.

        keep: stores the value in the transaction that completes the call
        fallback: model that takes over after two failed attempts or a permanent failure
        on_cut: continue an answer that was cut off, at most twice; these attempts do not count
        left_out: what was left out of the messages to fit the model's context; stored with each attempt
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
        """Execute a tool at most once in this step, and return the call; repeated calls return the same one.

        A call that was refused or broke has failed: its `error` says why, and its `gate` who rejected it. A call with
        invalid arguments or an unknown tool has failed, too, and has no row. Raises Suspend while a gate is pending.

        arguments: JSON text or a mapping
        policy, asked: see `gate`; with the policy who=`open`, nobody is asked. None means that a person must approve
            everything except tools that read or are contained. Tools that act externally always need an approval, and
            so do tools with effects once untrusted text has been read.
        choices: for the gate; those that reject are also offered if it is unknown whether the call has happened
        """
        return await ToolExecution(self, step, arguments, policy, choices, asked, asked_in).result(tool)

    def _prove(self, gets_on: bool) -> None:
        if not self.claimed.still_held(gets_on=gets_on):
            raise LeaseLost(str(self.claimed))


def _nothing() -> None:
    pass


def _newest(run: UUID, step: str, *about: Any) -> tuple[Gate | None, bool]:
    """The newest gate of a step, and whether it permits this."""
    gate = Gate.objects.newest(run, step)
    return gate, gate is not None and gate.permits(*about)


def _once_due(due: Callable[[], None], ask: Callable[[], Gate]) -> Gate:
    due()
    return ask()


def _look(pk: UUID, query: Callable[[], T]) -> tuple[int, T]:
    """Read `news` first, so that what comes between the two queries counts as not seen."""
    [(news,)] = cached_sql.select(Run, "pk", [pk], ["news"])
    return news, query()


def _dismissed(pk: UUID) -> list[ChainHead]:
    """Cancel council runs that are no longer needed; return what must be appended to the log."""
    with sealing.defer_log_append() as heads:
        council_approval.cancel_council_runs(pk)
    return heads


def _log(heads: list[ChainHead]) -> None:
    if heads:
        LogLeaf.objects.add(*heads)
