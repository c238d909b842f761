"""Writes to missions by the engine and by people. Each runs in a transaction that has locked the run's row."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from engine.audit.entries_from_rows import entries_of_runs
from engine.llm.providers import clean_storable_text
from engine.models import Gate, ModelCall, Run, ToolCall
from engine.plurals import ordinal
from engine.text.search_terms import index_words, label_term
from engine.tools import get_tool
from runs.models import SearchText

from .. import publishing, rules, workspace
from ..prompts.memory import SummarisedHistory
from ..prompts.steps import StepAnswer
from ..rules import COORDINATOR
from ..secret_redaction import redact_secrets
from ..workspace_files import FileChange
from . import queries
from .files import FileVersion
from .flags import flags_of
from .forks import CarriedStep
from .memories import MemoryVersion
from .memory_selection import note_uses
from .missions import AgentStop, Mission, MissionAgent, MissionCheck, MissionMessage, MissionPause, MissionStep
from .queries import agent_memory, load_mission
from .repositories import Repository
from .short_term_memory import HistorySummary, ShortTermMemory
from .terminals import HOST_LENGTH, OUTPUT_LENGTH, Terminal, TerminalConnection, TerminalInput

NOTHING_LEFT_TEXT = f"{queries.NOTHING_LEFT}: finish, or say what you need."
GIVEN_UP = "{by} has given up the machine {host}: commands that lived there were cut. Look before you go on."
QUESTION_TEXT = f"{queries.IT_ASKS}. You are told once: type into it, end it, or go on beside it."
NOBODY_TYPES = "{asks}, and nobody types into it."
REFUSED_IN_A_ROW = "{count} times in a row it was refused what it asked for. The reasons: {reasons}"
REPEAT_WARNING_FROM = "This was the "
REPEAT_TEXT = REPEAT_WARNING_FROM + "{count} time in a row that the same call came to the same. Do something else."
STOPPED_BY = "{name} has stopped: {why}"
WENT_ON: Mapping[str, str] = {
    AgentStop.Why.REFUSED: "Go on without what was refused.",
    AgentStop.Why.SAME: "Go on, and do something else than before.",
}


class AlreadyAnswered(Exception):
    """The question has been settled in the meantime, so no gate is created."""


@dataclass(frozen=True)
class CommandEnd:
    """The end of a command, from its spool. `exit_code` is None if it was cut or never started; `size` is in bytes."""

    terminal: int
    exit_code: int | None
    reason: str
    seconds: int
    size: int
    digest: str
    output: str
    reached: tuple[Mapping[str, Any], ...] = ()  # connections: host, port, allowed, sent, received


def save_agent_message(
    pk: UUID, *, sender: int, recipient: int, text: str, by_name: str = "", go_on: bool = False
) -> int:
    number = (MissionMessage.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0) + 1
    said = {"sender": sender, "recipient": recipient, "by_name": by_name[:150], "go_on": go_on}
    MissionMessage.objects.create(mission_id=pk, number=number, text=clean_storable_text(text), **said)
    if by_name or go_on:  # the agent continues, so the question about its stop is settled
        Gate.objects.filter(run=pk, step__startswith=f"{rules.HALT_STEP}{recipient}.").void()
    return number


def void_stuck_question(pk: UUID) -> None:
    """Withdraw the question how the mission shall continue: something has happened by which it can."""
    Gate.objects.filter(run=pk, step__startswith=rules.STUCK_STEP).void()


# ---- steps ----------------------------------------------------------------------------------------------------


def save_step(
    pk: UUID, agent: int, heard: int, last: bool, remembered: Sequence[int], call: ModelCall, said: StepAnswer
) -> None:
    """Save a step, with the row of its command or input, the memories of its prompt, and search words.

    A step without a tool is a message to the agent's superior.
    """
    row = MissionAgent.objects.get(pk=agent)
    number = MissionStep.objects.filter(agent=row).count() + 1
    step = MissionStep(
        mission_id=pk, agent=row, number=number, reasoning=clean_storable_text(said.reasoning), heard=heard, last=last
    )
    step.tool, step.args, step.call = said.tool, clean_storable_text(said.args), call
    if not said.tool:
        save_agent_message(pk, sender=row.number, recipient=queries.superior(row), text=said.reasoning)
        step.ok, step.settled = True, timezone.now()  # after its message, so that a fork of the step has the message
    step.save(force_insert=True)
    note_uses(pk, row, remembered)
    if said.tool == "run_command":
        _number_command(step, said)
    if said.tool == "send_command_input":
        _number_input(step, said)
    SearchText.objects.add(pk, index_words(said.reasoning))


def _number_command(step: MissionStep, said: StepAnswer) -> None:
    before = Terminal.objects.filter(mission=step.mission_id).aggregate(Max("number"))["number__max"] or 0
    spool = f"{step.agent.number}-{step.number}"
    command = clean_storable_text(said.arguments["command"])
    at = {"mission_id": step.mission_id, "step": step}
    made = Terminal.objects.create(**at, number=before + 1, command=command, spool=spool)
    if first := said.arguments.get("input"):
        TerminalInput.objects.create(terminal=made, step=step, number=1, text=clean_storable_text(first))


def _number_input(step: MissionStep, said: StepAnswer) -> None:
    terminal = Terminal.objects.filter(mission=step.mission_id, number=said.arguments["command_id"]).first()
    if terminal and not said.arguments["terminate"]:
        before = terminal.inputs.aggregate(Max("number"))["number__max"] or 0
        TerminalInput.objects.create(
            terminal=terminal, step=step, number=before + 1, text=clean_storable_text(said.arguments["input"])
        )


def save_result(
    pk: UUID, step: int, call: ToolCall | None, changes: Sequence[FileChange], ends: Sequence[CommandEnd]
) -> None:
    """Save the result of a step, file versions and ended commands; nothing if the step is settled already.

    Stops the agent after rules.REFUSALS rejections in a row, or rules.SAME_STOPS equal calls with equal results.
    """
    row = MissionStep.objects.select_related("agent", "mission").get(pk=step)
    if row.settled:
        return
    tool = get_tool(row.tool)
    result = (tool.describe_result(call) if tool else call.error) if call else ""
    now = timezone.now()  # the same time for both, so that no ended command counts as running after the step
    values: dict[str, Any] = {"ok": bool(call and call.done), "settled": now}
    values |= {"tool_call": call} if call and call.pk else {}
    count = _repeat_count(row, result, changes)
    note = f"\n{REPEAT_TEXT.format(count=ordinal(count))}" if count >= rules.SAME_TOLD else ""
    MissionStep.objects.filter(pk=step, settled=None).update(
        result=clean_storable_text(redact_secrets(result) + note), **values
    )
    FileVersion.objects.add(row.mission, row, changes)
    save_command_exits(pk, ends, now)
    if call and call.status == ToolCall.Status.FAILED and row.tool == "run_command":
        _end_refused_command(row)
    if call and call.gate_id and len(reasons := queries.refused_in_a_row(row.agent)) >= rules.REFUSALS:
        _stop_after_refusals(pk, row.agent, reasons)
    if count >= rules.SAME_STOPS:
        stop_agent(
            pk,
            row.agent,
            AgentStop.Why.SAME,
            f"{row.tool} came to the same {count} times, and nothing changed meanwhile.",
        )


def _stop_after_refusals(pk: UUID, agent: MissionAgent, reasons: Sequence[str]) -> None:
    """Stop the agent and tell it the reasons; a person is then asked how it shall continue."""
    said = " ".join(f"({number}) {reason}" for number, reason in enumerate(reasons, 1))
    text = REFUSED_IN_A_ROW.format(count=len(reasons), reasons=said)
    save_agent_message(pk, sender=0, recipient=agent.number, text=f"You have stopped: {text}")
    stop_agent(pk, agent, AgentStop.Why.REFUSED, text)


def save_last_changes(pk: UUID, changes: Sequence[FileChange]) -> None:
    mission = load_mission(pk)
    FileVersion.objects.add(mission, mission.finish, changes)


def _repeat_count(row: MissionStep, result: str, changes: Sequence[FileChange]) -> int:
    """How many of the agent's newest steps made the same call with the same result while nothing else changed."""
    before = MissionStep.objects.filter(agent=row.agent, number__lt=row.number).select_related("call")
    before = before.defer("call__prompt", "call__answer").order_by("-number")[: rules.SAME_STOPS - 1]
    moves = [_move(one, one.result) for one in reversed(before)] + [_move(row, result)]
    if changes or rules.same_in_a_row(moves) == 1:
        return 1
    return rules.same_in_a_row(moves, _last_change(row))


def _move(one: MissionStep, result: str) -> rules.StepMove:
    state = queries.facts_of(result).get("state", "")
    waits = bool(one.ok or not one.settled) and rules.waits(one.tool, one.arguments, state)
    moments = one.call.started, one.made, one.settled or timezone.now()
    return rules.StepMove((one.tool, one.args, _comparable(result)), *moments, waits)


def _last_change(row: MissionStep) -> datetime | None:
    """When files, output of other commands, or messages and input for this agent changed last."""
    pk, agent = row.mission_id, row.agent.number
    others = Terminal.objects.filter(mission=pk).exclude(
        step__agent=row.agent, step__tool=row.tool, step__args=row.args
    )
    moments = [
        FileVersion.objects.filter(mission=pk).aggregate(last=Max("made"))["last"],
        MissionMessage.objects.filter(mission=pk, recipient=agent).aggregate(last=Max("made"))["last"],
        TerminalInput.objects.filter(terminal__mission=pk, step=None).aggregate(last=Max("made"))["last"],
        others.aggregate(last=Max("ended"))["last"],
        *(workspace.spool(pk, one.spool).changed for one in others.filter(ended=None)),
    ]
    return max(filter(None, moments), default=None)


def _comparable(result: str) -> str:
    """The result without the numbers and seconds of its first line, which differ each time."""
    head, _, text = result.partition("\n")
    try:
        facts = json.loads(head)
    except ValueError:
        return result
    shown = text.partition(REPEAT_WARNING_FROM)[0].strip()
    return f"{facts.get('exit_code')}{facts.get('state')}{facts.get('cursor')}{shown}"


def _end_refused_command(step: MissionStep) -> None:
    """End the terminal of a command that was refused and never started."""
    now = timezone.now()
    Terminal.objects.filter(step=step, ended=None).update(reason="refused", ended=now)


def save_command_exits(pk: UUID, ends: Sequence[CommandEnd], now: datetime | None = None) -> None:
    for one in ends:
        values = {name: getattr(one, name) for name in ("exit_code", "reason", "seconds", "size", "digest")}
        output = clean_storable_text(one.output)[-OUTPUT_LENGTH:]
        open_ones = Terminal.objects.filter(mission=pk, pk=one.terminal, ended=None)
        if open_ones.update(output=output, ended=now or timezone.now(), **values):
            void_stuck_question(pk)
            reached = [
                TerminalConnection(
                    mission_id=pk,
                    terminal_id=one.terminal,
                    number=number,
                    **{**each, "host": clean_storable_text(each["host"])[:HOST_LENGTH]},
                )
                for number, each in enumerate(one.reached, 1)
            ]
            TerminalConnection.objects.bulk_create(reached)


def save_failure(pk: UUID, agent: int, why: str) -> None:
    stop_agent(pk, MissionAgent.objects.get(pk=agent), AgentStop.Why.FAILED, why)


def stop_agent(pk: UUID, agent: MissionAgent, why: str, text: str) -> None:
    """Stop an agent until somebody who may resumes it, and tell its superior."""
    after = MissionStep.objects.filter(agent=agent).count()
    heard = MissionMessage.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0
    AgentStop.objects.create(
        mission_id=pk, agent=agent, after=after, why=why, text=clean_storable_text(text), heard=heard
    )
    save_agent_message(
        pk, sender=0, recipient=queries.superior(agent), text=STOPPED_BY.format(name=agent.name, why=text)
    )


def bind_workspace(pk: UUID) -> None:
    """Bind the mission to this machine, which has its workspace and terminals from here on."""
    Run.objects.filter(pk=pk, host="").update(host=settings.HOST)


def abandon_mission(pk: UUID, by_name: str) -> None:
    """Release a mission whose machine is lost.

    Its commands and open tool calls end as cut; another machine creates the workspace from the stored files.
    """
    host = Run.objects.values_list("host", flat=True).get(pk=pk)
    Run.objects.filter(pk=pk).update(host="")
    ToolCall.objects.filter(run=pk).interrupt()
    Terminal.objects.filter(mission=pk, ended=None).update(reason="cut", ended=timezone.now())
    text = GIVEN_UP.format(by=by_name, host=host)
    save_agent_message(pk, sender=0, recipient=COORDINATOR, text=text)


def notify_question(pk: UUID, agent: int, number: int) -> None:
    save_agent_message(pk, sender=0, recipient=agent, text=QUESTION_TEXT.format(number=number))


def notify_nothing_left(pk: UUID, asking: Sequence[int] = ()) -> None:
    """Tell the coordinator that nothing can wake it. `asking` are numbers of the commands that wait for input."""
    said = [NOBODY_TYPES.format(asks=queries.IT_ASKS.format(number=number)) for number in asking]
    save_agent_message(pk, sender=0, recipient=COORDINATOR, text=" ".join([NOTHING_LEFT_TEXT, *said]))


def refuse_answered(pk: UUID, heard: int) -> None:
    """Raise AlreadyAnswered if there is a message after `heard`: the mission continues with it."""
    if MissionMessage.objects.filter(mission=pk, number__gt=heard).exists():
        raise AlreadyAnswered


def refuse_revived(pk: UUID, agent: int, heard: int) -> None:
    """Raise AlreadyAnswered if somebody who may has resumed the agent since message `heard`."""
    said = MissionMessage.objects.filter(mission=pk, recipient=agent, number__gt=heard)
    if said.filter(Q(go_on=True) | ~Q(by_name="")).exists():
        raise AlreadyAnswered


def save_halt_answer(pk: UUID, halt: int, gate: int) -> None:
    """Consume the gate about a stopped agent and send the answer to it, or to the coordinator if it stays stopped."""
    row = AgentStop.objects.select_related("agent").get(pk=halt)
    choice = Gate.objects.with_decisions().get(pk=gate).choice
    by, words = _used(gate)
    usual = {rules.GO_ON: WENT_ON.get(row.why, "Go on."), rules.OTHERWISE: "Do it in another way."}
    if choice in usual:
        save_agent_message(pk, sender=0, recipient=row.agent.number, text=words or usual[choice], by_name=by)
    elif words:
        save_agent_message(pk, sender=0, recipient=COORDINATOR, text=words, by_name=by)


def save_limit_answer(pk: UUID, gate: int) -> None:
    by, words = _used(gate)
    if words:
        save_agent_message(pk, sender=0, recipient=COORDINATOR, text=words, by_name=by)


def save_answer(pk: UUID, gate: int) -> None:
    """Consume the gate of a mission that could not continue, and send the answer to the coordinator."""
    by, words = _used(gate)
    save_agent_message(pk, sender=0, recipient=COORDINATOR, text=words or "Go on.", by_name=by)


def _used(gate: int) -> tuple[str, str]:
    """Consume the gate; return who decided, and the text of the decision."""
    decided = Gate.objects.with_decisions().get(pk=gate)
    decided.consume()
    return (
        decided.last_decision.by if decided.last_decision and decided.last_decision.by else "somebody"
    ), decided.words


def save_question(pk: UUID, step: int, gate: int, answer: str, result: str) -> None:
    """Settle a step that asked a person. The answer is also a message of that person; it is empty after expiry."""
    row = MissionStep.objects.select_related("agent").get(pk=step)
    if row.settled:
        return
    by, _ = _used(gate)
    if answer:
        save_agent_message(pk, sender=0, recipient=row.agent.number, text=answer, by_name=by)
    values = {"ok": bool(answer), "settled": timezone.now()}
    MissionStep.objects.filter(pk=step, settled=None).update(result=result, **values)


# ---- memory ---------------------------------------------------------------------------------------------------


def save_summary(pk: UUID, agent: int, covers: int, dump: str, call: ModelCall, said: SummarisedHistory) -> None:
    """Save a summary, and append its facts to the agent's short-term memory."""
    row = MissionAgent.objects.get(pk=agent)
    digest = sha256(dump.encode()).hexdigest()
    made = {
        "covers": covers,
        "text": clean_storable_text(said.text),
        "dump": clean_storable_text(dump),
        "digest": digest,
        "call": call,
    }
    HistorySummary.objects.create(mission_id=pk, agent=row, **made)
    if said.facts:
        version, text = agent_memory(load_mission(pk), row.number)
        save_memory(pk, agent, version, "\n".join([text, *said.facts]).strip())


def save_missing_summary(pk: UUID, agent: int, covers: int) -> None:
    HistorySummary.objects.create(mission_id=pk, agent_id=agent, covers=covers)


def save_memory(pk: UUID, agent: int, version: int, text: str) -> None:
    row = MissionAgent.objects.get(pk=agent)
    ShortTermMemory.objects.create(
        mission_id=pk, agent=row, version=version + 1, text=clean_storable_text(text), by=row.number
    )


def save_shortened_memory(pk: UUID, agent: int, version: int, call: ModelCall, text: str) -> None:
    save_memory(pk, agent, version, rules.keep_tail(text))


# ---- the end --------------------------------------------------------------------------------------------------


def save_check(pk: UUID, command: str, call: ToolCall, exit_code: int | None, reason: str) -> None:
    values = {"exit_code": exit_code, "reason": reason[:40], "output": call.output or call.error}
    MissionCheck.objects.create(
        mission_id=pk, command=clean_storable_text(command), tool_call=call if call.pk else None, **values
    )


def conclude(pk: UUID) -> None:
    mission = Mission.objects.active().select_related("final_check").get(pk=pk)
    finish = mission.finish
    said = finish.arguments if finish else {}
    check = getattr(mission, "final_check", None)
    wanted = mission.final_check_wanted or check is not None
    outcome = rules.outcome(wanted, check.exit_code if check else None, said.get("unproven", ""))
    why = said.get("unproven", "") or ("" if outcome == rules.DONE else why_unproven(check))
    Mission.objects.filter(pk=pk).update(result=said.get("result", ""), unproven=why)
    Run.objects.filter(pk=pk).update(outcome=outcome)
    flags = [label_term("flag", one) for one in flags_of(entries_of_runs([pk])[pk])]
    SearchText.objects.add(pk, [label_term("outcome", outcome), *flags, *index_words(said.get("result", ""))])


def why_unproven(check: MissionCheck | None) -> str:
    if check is None:
        return "The check was not run."
    if check.exit_code is None:
        return f"The check could not be run: {rules.why_check_failed(check.reason)}."
    return f"The check ended with {check.exit_code}."


def pause(pk: UUID, on: bool, by_name: str) -> None:
    number = (MissionPause.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0) + 1
    MissionPause.objects.create(mission_id=pk, number=number, on=on, by_name=by_name[:150])


def erase(pk: UUID) -> None:
    """Redact: erase all texts and remove the workspace. Numbers, tools, exit codes, sizes and times stay."""
    Mission.objects.filter(pk=pk).update(goal="", check_command="", customs="", result="", unproven="")
    MissionAgent.objects.filter(mission=pk).update(description="")
    MissionStep.objects.filter(mission=pk).update(reasoning="", args="", result="")
    CarriedStep.objects.filter(mission=pk).update(reasoning="", args="", result="")
    AgentStop.objects.filter(mission=pk).update(text="")
    MissionMessage.objects.filter(mission=pk).update(text="")
    MissionCheck.objects.filter(mission=pk).update(command="", output="")
    FileVersion.objects.filter(mission=pk).update(path="", digest="", text="")
    Repository.objects.filter(mission=pk).update(address="", branch="", left_out="")
    Terminal.objects.filter(mission=pk).update(command="", digest="", output="")
    TerminalInput.objects.filter(terminal__mission=pk).update(text="")
    TerminalConnection.objects.filter(mission=pk).update(host="")
    # accepted versions belong to the library and stay
    MemoryVersion.objects.filter(mission=pk).exclude(accepted=True).update(description="", text="", front="")
    ShortTermMemory.objects.filter(mission=pk).update(text="")
    HistorySummary.objects.filter(mission=pk).update(text="", dump="", digest="")
    transaction.on_commit(lambda: workspace.remove(pk))
    transaction.on_commit(lambda: publishing.remove(pk))
