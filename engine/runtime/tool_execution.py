"""One tool call, from its gate to its result, which survives crashes of the engine.

Why so: engine/DESIGN.md, Tools.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid5

from django.db import transaction
from django.utils import timezone

from ..database_errors import UNREACHABLE
from ..db import cached_sql
from ..llm.providers import clean_storable_text
from ..models import Effect, Gate, GateRule, ModelCall, Run, ToolCall
from ..models.child_runs import TooManyChildren
from ..models.gates import GateState
from ..models.runs import has_read_untrusted_input
from ..models.tool_calls import CUT_MARK, END_MARK
from ..policy import strictest
from ..text.invisible_chars import single_line
from ..tools import (
    OPEN_POLICY,
    SettleResult,
    ToolFailed,
    ToolOutput,
    ToolRefused,
    ToolResult,
    ToolUse,
    find_tool,
    format_arguments,
)
from .definition_check import definition_changed

if TYPE_CHECKING:
    from .run_context import RunContext

log = logging.getLogger(__name__)

Status = ToolCall.Status

UNCERTAIN = "uncertain"
HAPPENED, DO, LEAVE = "happened", "do", "leave"
UNCERTAIN_CHOICES = (
    {"word": HAPPENED, "decision": "answer", "sentence": "It happened: go on, and do not do it again"},
    {"word": DO, "decision": "answer", "sentence": "It did not happen: do it now"},
    {"word": LEAVE, "decision": "answer", "sentence": "Leave it: go on as if it failed"},
)
PERSON_POLICIES = ("person", "both")
ERROR_LENGTH = 4_000  # characters
NOT_BROKEN = ("", CUT_MARK, END_MARK)  # errors of calls that were interrupted without a fault of the tool
EFFECT_TEXT = {Effect.READS: "reads", Effect.WRITES: "writes", Effect.REACHES_OUT: "reaches out"}


class _NotAllowed(Exception):
    """The call's gate is no longer valid, or a gate has become necessary."""


class ToolExecution:
    """A tool call in one step of a run. What is left to do follows from the newest row of the step."""

    def __init__(
        self,
        run: "RunContext",
        step: str,
        arguments: str | Mapping[str, Any],
        policy: Mapping[str, Any] | None,
        choices: Sequence[Mapping[str, str]],
        asked: Any,
        asked_in: ModelCall | None,
    ) -> None:
        self._run, self._step, self._given = run, step, arguments
        self._policy, self._choices, self._asked, self._asked_in = policy, choices, asked, asked_in
        self._allowed_before = self._person_besides = False

    async def result(self, name: str) -> ToolCall:
        try:
            self._tool = await self._run.read(partial(find_tool, name))
            self._read = await self._checked()
        except ToolRefused as refused:
            return self._not_begun(name, str(refused))
        self._arguments = format_arguments(self._read)
        return await self._of(await self._newest())

    async def _checked(self) -> Any:
        """Validate the arguments; in a thread for MCP tools, whose schemas may take a second."""
        if self._tool.server:
            return await asyncio.to_thread(self._tool.read, self._given)
        return self._tool.read(self._given)

    def _not_begun(self, name: str, why: str) -> ToolCall:
        return self._call(Status.FAILED, tool=name, number=0, error=_that_fits(why))

    async def _newest(self) -> ToolCall | None:
        return await self._run.read(partial(ToolCall.objects.newest, self._run.pk, self._step))

    async def _of(self, last: ToolCall | None) -> ToolCall:
        if last and last.is_open:
            last = await self._settle(last)
        elif last and last.was_left_open and self._can_settle(last):
            last = await self._settle_after_retry(last)
        self._number = last.number + 1 if last else 1
        if last is None:
            return await self._begin()
        same = self._is_same(last)
        if not last.interrupted:
            return last if same else await self._begin()
        if not same and (last.effect == Effect.READS or last.contained):
            return await self._begin()
        if same and self._tool.is_idempotent:  # repeating an approved idempotent call needs no new gate
            self._allowed_before = await self._run.read(partial(self._still_allowed, last))
            return await self._begin()
        return last if same and self._tool.when_cut == "tell" else await self._uncertain(last)

    def _still_allowed(self, last: ToolCall) -> bool:
        gate = Gate.objects.with_decisions().get(pk=last.gate.pk) if last.gate else None
        return gate is not None and gate.is_decided and last.definition == self._tool.definition

    def _is_same(self, call: ToolCall) -> bool:
        return (call.tool, call.arguments) == (self._tool.name, self._arguments)

    # ---- gates ----------------------------------------------------------------------------------------------

    async def _begin(self) -> ToolCall:
        if self._tool.by_run and await self._is_delegated():
            return await self._waited_for()
        if why := await definition_changed(self._run, self._tool):
            return self._not_begun(self._tool.name, why)
        gate = None
        policy = await self._run.read(self._demand)
        if policy is not None:
            gate = await self._ask("tool", self._tool.question or self._deed(), self._text(), policy, self._choices)
            if not gate.approved:
                return await self._answer(Status.FAILED, gate, error=_why_not(gate))
        call = await self._open_with(gate)
        return call or await self._begin()

    async def _ask(self, kind: str, title: str, text: str, policy: Any, choices: Sequence[Mapping[str, str]]) -> Gate:
        asked = {
            "kind": kind,
            "title": title,
            "text": text,
            "whole": self._cut_from(),
            "tool": self._tool.name,
            "asked": self._asked,
        }
        asked |= {"effect": str(self._tool.effect)}
        return await self._run.gate(self._step, policy=policy, choices=choices, **asked)

    def _deed(self) -> str:
        return self._tool.title_of_use(self._read)

    def _text(self) -> str:
        """The text of the gate: exactly what would be done. It includes a digest of the tool's definition."""
        arguments = self._in_words()
        head = f"{self._tool.name}, which {EFFECT_TEXT[self._tool.effect]}"
        if self._person_besides:  # makes the text differ from one that a council alone has decided about
            head = f"{head}\nText of strangers was read before."
        return f"{head}\n{arguments}\nDefinition of the tool: {self._tool.definition}"

    def _in_words(self) -> str:
        if self._tool.exact:
            return self._tool.exact(self._read)
        return json.dumps(json.loads(self._arguments), ensure_ascii=False, indent=2)

    def _cut_from(self) -> str:
        return self._tool.cut_from(self._read) if self._tool.cut_from else ""

    def _demand(self) -> Mapping[str, Any] | None:
        """The policy of the gate, with the engine's minimums; None if no approval is needed."""
        if self._allowed_before:
            return None
        harmless = self._tool.reads or self._tool.is_contained(self._read)
        policy = self._policy if self._policy is not None else OPEN_POLICY if harmless else {}
        policy = self._ruled(policy)
        who, tainted = policy.get("who", "person"), not harmless and self._is_tainted()
        self._person_besides = tainted and who not in (OPEN_POLICY["who"], *PERSON_POLICIES)
        if who == OPEN_POLICY["who"]:
            return {**policy, "who": "person"} if tainted or self._tool.effect == Effect.REACHES_OUT else None
        return {**policy, "who": "both"} if tainted and who not in PERSON_POLICIES else policy

    def _ruled(self, policy: Mapping[str, Any]) -> Mapping[str, Any]:
        """The policy, made as strict as the installation's gate rules."""
        about = {"kind": "tool", "effect": str(self._tool.effect), "tool": self._tool.name}
        rule = GateRule.objects.strictest(procedure=self._run.claimed.procedure, **about)
        return strictest(policy, rule.policy) if rule else policy

    def _is_tainted(self) -> bool:
        """Whether the run has read untrusted text, so that a person must approve its effects."""
        return has_read_untrusted_input(self._run.claimed)

    async def _uncertain(self, last: ToolCall) -> ToolCall:
        """Nobody knows whether it happened: a person says, whatever the policy. Where one person alone could not have
        allowed it, or something else is wanted by now, “do it now” only says that it did not happen."""
        if await self._run.read(partial(self._is_to_be_done, last)):
            return await self._begin()
        began = f"Begun on {last.started:%d %b %Y, %H:%M:%S} UTC and cut short: nobody knows whether it happened."
        other = "" if self._is_same(last) else f"It was then: {last.tool} {last.arguments}\nIt would now be:"
        text = "\n".join(line for line in (began, last.error, other, self._text()) if line)
        own = [one for one in self._choices if one["decision"] == "reject"]
        gate = await self._ask(UNCERTAIN, f"Did it happen? {self._deed()}", text, None, (*UNCERTAIN_CHOICES, *own))
        if gate.choice == DO and not (self._is_same(last) and await self._run.read(self._may_one_person)):
            await self._run.write(gate.consume, "gate")
            return await self._begin()
        if gate.choice == DO:
            return await self._open_with(gate) or await self._of(await self._newest())
        if gate.choice == HAPPENED:
            return await self._answer(Status.DONE, gate, output=f"A person says that it happened. {gate.words}".strip())
        return await self._answer(Status.FAILED, gate, error=_why_not(gate))

    def _is_to_be_done(self, last: ToolCall) -> bool:
        """Whether a person has said so since it was begun, and its own gate is what is left."""
        said = Gate.objects.with_decisions().filter(
            run=self._run.pk, step=self._step, kind=UNCERTAIN, made__gt=last.started
        )
        return any(gate.choice == DO for gate in said.exclude(used=None))

    def _may_one_person(self) -> bool:
        demand = self._demand()
        if demand is None:
            return True
        alone = demand.get("who", "person") == "person" and demand.get("persons", 1) == 1
        return alone and not demand.get("four_eyes")

    # ---- rows -----------------------------------------------------------------------------------------------

    def _call(self, status: str, **values: Any) -> ToolCall:
        return ToolCall(run=self._run.claimed, step=self._step, asked_in=self._asked_in, status=status, **values)

    def _row(self, status: str, gate: Gate | None, **values: Any) -> ToolCall:
        tool, said = self._tool, {"number": self._number, "arguments": self._arguments}
        said |= {name: getattr(tool, name) for name in ("source", "definition", "effect")}
        said |= {"tool": tool.name, "contained": tool.is_contained(self._read)}
        call = self._call(status, gate=gate, **said, **values)
        call.ended = None if call.is_open else timezone.now()
        return cached_sql.insert(call)

    async def _answer(self, status: str, gate: Gate, **values: Any) -> ToolCall:
        """Save the result that a person gave instead of the call, and use the gate up."""

        def answer() -> ToolCall:
            gate.consume()
            return self._row(status, gate, output_size=len(values.get("output", "")), **values)

        return await self._run.write(answer, "tool-done")

    async def _open_with(self, gate: Gate | None) -> ToolCall | None:
        """Start the call. None if the gate is no longer valid, or a gate has become necessary."""
        if self._tool.change:
            return await self._run.write(partial(self._allowed, gate, self._change), "tool-done", gets_on=True)
        if self._tool.by_run:
            return await self._delegated(gate)
        call = await self._run.write(partial(self._allowed, gate, self._open), "tool-open")
        return call and await self._perform(call)

    def _allowed(self, gate: Gate | None, then: Any) -> Any:
        """Call `then` if the gate still permits exactly this call, and use the gate up; None if it does not.

        Called in the transaction that begins the call.
        """
        if gate is None:
            return then(None) if self._demand() is None else None
        now = Gate.objects.get(pk=gate.pk)
        self._demand()  # untrusted text that was read meanwhile changes the gate's text
        if now.kind != UNCERTAIN and not (now.approved and now.permits(self._text(), self._cut_from(), self._asked)):
            return None
        now.consume()
        return then(now)

    def _open(self, gate: Gate | None) -> ToolCall:
        now = timezone.now()
        return self._row(Status.OPEN, gate, started=now, deadline=now + timedelta(seconds=self._tool.timeout))

    def _change(self, gate: Gate | None) -> ToolCall:
        """Run a tool that only changes rows, in the transaction of its own row. A refusal rolls its changes back."""
        assert self._tool.change  # noqa: S101 - for the type checker
        try:
            with transaction.atomic():
                output = self._tool.change(self._read, self._use)
        except ToolRefused as refused:
            return self._row(Status.FAILED, gate, error=clean_storable_text(str(refused)))
        except UNREACHABLE:
            raise
        except Exception as error:
            # the boundary to tools, as in `_within`: its changes are rolled back, and the error is its result
            return self._row(Status.FAILED, gate, error=_broken(error))
        return self._row(Status.DONE, gate, **self._kept(output))

    # ---- tools that start a run -----------------------------------------------------------------------------

    @property
    def _place(self) -> str:
        """The step of the child run."""
        return self._step if self._number == 1 else f"{self._step} {self._number}"

    async def _is_delegated(self) -> bool:
        return await self._run.read(Run.objects.filter(parent=self._run.pk, step=self._place).exists)

    async def _delegated(self, gate: Gate | None) -> ToolCall | None:
        """Start a child run and wait for it; None as in `_open_with`. There is no row before it has ended, so that the
        record of this run can be sealed meanwhile."""
        try:
            return await self._waited_for(gate)
        except _NotAllowed:
            return None
        except (ToolRefused, TooManyChildren) as refused:
            row = partial(self._row, Status.FAILED, error=_that_fits(str(refused)))
            return await self._run.write(partial(self._allowed, gate, row), "tool-done")

    async def _waited_for(self, gate: Gate | None = None) -> ToolCall:
        child = await self._run.child(self._place, partial(self._submit, gate), self._tool.name)
        return await self._run.write(partial(self._told, child), "tool-done", gets_on=True)

    def _submit(self, gate: Gate | None, made_by: Mapping[str, Any]) -> None:
        assert self._tool.by_run  # noqa: S101 - for the type checker
        if self._allowed(gate, lambda _: True) is None:
            raise _NotAllowed
        self._tool.by_run.submit(self._read, self._use, made_by)

    def _told(self, child: Run) -> ToolCall:
        assert self._tool.by_run  # noqa: S101 - for the type checker
        asked = Gate.objects.filter(run=self._run.pk, step=self._step, tool=self._tool.name, tool_call=None)
        gate = asked.exclude(used=None).order_by("pk").last()
        if child.status == Run.Status.CANCELLED:
            return self._row(Status.FAILED, gate, error=f"“{child.shown_title}” was cancelled.")
        return self._row(Status.DONE, gate, **self._kept(self._tool.by_run.told(child)))

    # ---- outside of the database ----------------------------------------------------------------------------

    @property
    def _use(self) -> ToolUse:
        run, what = self._run.claimed, f"{self._step}\n{self._tool.name}\n{self._arguments}"
        return ToolUse(run, self._step, str(uuid5(run.pk, what)))

    async def _perform(self, call: ToolCall) -> ToolCall:
        assert self._tool.perform  # noqa: S101 - for the type checker
        return await self._come_to_an_end(call, self._tool.perform(self._read, self._use), self._tool.timeout)

    async def _settle(self, call: ToolCall) -> ToolCall:
        """Find out what became of a call that a crash has left open.

        Settling gets the tool's whole time, however long no engine was running, because it may begin the call.
        """
        if not (self._is_same(call) and self._tool.settle and call.deadline):
            return await self._close(call, Status.INTERRUPTED, error=CUT_MARK)
        return await self._come_to_an_end(call, self._tool.settle(call, self._use), self._tool.timeout)

    def _can_settle(self, call: ToolCall) -> bool:
        """Whether the call can be settled. Not with another definition of the tool: settling may begin the call."""
        return self._is_same(call) and self._tool.settle is not None and call.definition == self._tool.definition

    async def _settle_after_retry(self, left: ToolCall) -> ToolCall:
        """Find out what became of a call that was open when its run failed.

        It is sealed as interrupted, so the result gets a new row, with the old start time for a question to a person.
        """
        self._number = left.number + 1
        deadline = timezone.now() + timedelta(seconds=self._tool.timeout)
        reopen = partial(self._row, Status.OPEN, None, started=left.started, deadline=deadline)
        return await self._settle(await self._run.write(reopen, "tool-open"))

    async def _come_to_an_end(self, call: ToolCall, performing: Awaitable[SettleResult], seconds: float) -> ToolCall:
        try:
            output = await _within(seconds, performing)
        except ToolRefused as refused:
            return await self._close(call, Status.FAILED, error=str(refused))
        except ToolFailed as broken:
            broke = str(broken)
        else:
            if output is None:
                return await self._close(call, Status.INTERRUPTED, error=CUT_MARK)
            return await self._close(call, Status.DONE, **self._kept(output))
        return await self._broke(call, broke)

    async def _broke(self, call: ToolCall, error: str) -> ToolCall:
        """Handle a call that broke. An idempotent one is repeated once; any other counts as interrupted."""
        earlier = ToolCall.objects.filter(run=self._run.pk, step=self._step, number=call.number - 1)
        again = await self._run.read(earlier.filter(status=Status.INTERRUPTED).exclude(error__in=NOT_BROKEN).exists)
        if self._tool.is_idempotent and again:
            return await self._close(call, Status.FAILED, error=error)
        cut = error if self._tool.reads else f"{error} {CUT_MARK}"
        return await self._of(await self._close(call, Status.INTERRUPTED, error=cut))

    async def _close(self, call: ToolCall, status: str, **values: Any) -> ToolCall:
        values = {"outside": self._tool.outside} | values
        values["error"] = _that_fits(values.get("error", ""))

        def close() -> ToolCall:
            # while the claim is valid nobody else closes calls of this run
            mine = ToolCall.objects.open().filter(pk=call.pk)
            mine.update(status=status, ended=timezone.now(), **values)
            return ToolCall.objects.select_related("gate").get(pk=call.pk)

        return await self._run.write(close, "tool-done", gets_on=True)

    def _kept(self, output: ToolResult) -> dict[str, Any]:
        made = output if isinstance(output, ToolOutput) else ToolOutput(output)
        text = clean_storable_text(made.text)
        outside = self._tool.outside or made.outside
        return {"output": text[: self._tool.kept], "output_size": len(text), "outside": outside}


async def _within(seconds: float, performing: Awaitable[SettleResult]) -> SettleResult:
    try:
        async with asyncio.timeout(seconds):
            return await performing
    except TimeoutError as error:
        raise ToolFailed(f"It was not done within {seconds:g} s.") from error
    except (*UNREACHABLE, ToolRefused, ToolFailed):
        raise
    except Exception as error:
        # the boundary to tools: any exception becomes the result of the call and must not end the run
        raise ToolFailed(_broken(error)) from error


def _broken(error: Exception) -> str:
    log.warning("A tool broke.", exc_info=error)
    return _that_fits(f"It broke: {type(error).__name__}: {error}")


def _that_fits(error: str) -> str:
    """The error as a row stores it; a gate may show it, so omitted characters are counted."""
    text = clean_storable_text(error)
    if len(text) <= ERROR_LENGTH:
        return text
    room = ERROR_LENGTH - 60
    return f"{text[:room]}\n[{len(text) - room:,} more characters were not kept]"


def _why_not(gate: Gate) -> str:
    """A sentence for the agent that says why the call was not made."""
    who = single_line(gate.last_decision.by) if gate.last_decision and gate.last_decision.by else "Nobody"
    if who == "Nobody":
        return "This was not done: nobody allowed it."
    if gate.kind == UNCERTAIN:
        said = "It was cut short, and nobody knows whether it happened. {who} says to leave it"
    else:
        said = "This was not done. {who} {answered}"
    said = said.format(who=who, answered="answered" if gate.state == GateState.ANSWERED else "refused it")
    return f"{said}: {gate.words}" if gate.words else f"{said}."
