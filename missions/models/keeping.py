"""What the engine and people write of a mission: each is a part of one transaction that holds the run's row."""

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

from engine.evidence.told import said_of_runs
from engine.llm.providers import storable
from engine.models import Gate, ModelCall, Run, ToolCall
from engine.plurals import ordinal
from engine.search import label, words_of
from engine.tools import tool_named
from runs.models import SearchText

from .. import publishing, rules, workshop
from ..files import Change
from ..prompts.memory import Summarised
from ..prompts.steps import Stepped
from ..rules import COORDINATOR
from ..secrets import without_secrets
from . import reading
from .files import FileVersion
from .forks import CarriedStep
from .memories import MemoryVersion
from .memory import ShortMemory, Summary
from .missions import Agent, Check, Halt, Message, Mission, Pause, Step
from .reading import looked_at, memory_of
from .recalling import note_uses
from .remarks import remarks
from .repositories import Repository
from .terminals import HOST_LENGTH, OUTPUT_LENGTH, Connection, Terminal, TerminalInput

NOTHING_LEFT = f"{reading.NOTHING_LEFT}: finish, or say what you need."
GIVEN_UP = "{by} has given up the machine {host}: commands that lived there were cut. Look before you go on."
IT_ASKS = f"{reading.IT_ASKS}. You are told once: type into it, end it, or go on beside it."
NOBODY_TYPES = "{asks}, and nobody types into it."
REFUSED_IN_A_ROW = "{count} times in a row it was refused what it asked for. The reasons: {reasons}"
SAME_BEGINS = "This was the "
SAME = SAME_BEGINS + "{count} time in a row that the same call came to the same. Do something else."
STOPPED_BY = "{name} has stopped: {why}"
WENT_ON: Mapping[str, str] = {
    Halt.Why.REFUSED: "Go on without what was refused.",
    Halt.Why.SAME: "Go on, and do something else than before.",
}


class Answered(Exception):
    """What was to be asked has an answer already."""


@dataclass(frozen=True)
class End:
    """Of a command, as its spool says."""

    terminal: int
    exit_code: int | None
    reason: str
    seconds: int
    size: int
    digest: str
    output: str
    reached: tuple[Mapping[str, Any], ...] = ()  # what it had a network for


def write_message(pk: UUID, *, sender: int, recipient: int, text: str, by_name: str = "", go_on: bool = False) -> int:
    number = (Message.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0) + 1
    said = {"sender": sender, "recipient": recipient, "by_name": by_name[:150], "go_on": go_on}
    Message.objects.create(mission_id=pk, number=number, text=storable(text), **said)
    if by_name or go_on:  # whoever goes on needs no word of a person any more
        Gate.objects.filter(run=pk, step__startswith=f"{rules.HALT_STEP}{recipient}.").void()
    return number


def ask_no_more_how_it_goes_on(pk: UUID) -> None:
    """Something has happened by which the crew can go on."""
    Gate.objects.filter(run=pk, step__startswith=rules.STUCK_STEP).void()


# ---- steps ----------------------------------------------------------------------------------------------------


def keep_step(
    pk: UUID, agent: int, heard: int, last: bool, remembered: Sequence[int], call: ModelCall, said: Stepped
) -> None:
    """A step, and with it the number of a command, or of what is typed, and which memories its prompt had."""
    row = Agent.objects.get(pk=agent)
    number = Step.objects.filter(agent=row).count() + 1
    step = Step(mission_id=pk, agent=row, number=number, reasoning=storable(said.reasoning), heard=heard, last=last)
    step.tool, step.args, step.call = said.tool, storable(said.args), call
    if not said.tool:
        write_message(pk, sender=row.number, recipient=reading.superior(row), text=said.reasoning)
        step.ok, step.settled = True, timezone.now()  # with what it says, which is so a part of it
    step.save(force_insert=True)
    note_uses(pk, row, remembered)
    if said.tool == "run_command":
        _number_command(step, said)
    if said.tool == "send_command_input":
        _number_input(step, said)
    SearchText.objects.add(pk, words_of(said.reasoning))


def _number_command(step: Step, said: Stepped) -> None:
    before = Terminal.objects.filter(mission=step.mission_id).aggregate(Max("number"))["number__max"] or 0
    spool = f"{step.agent.number}-{step.number}"
    command = storable(said.arguments["command"])
    at = {"mission_id": step.mission_id, "step": step}
    made = Terminal.objects.create(**at, number=before + 1, command=command, spool=spool)
    if first := said.arguments.get("input"):
        TerminalInput.objects.create(terminal=made, step=step, number=1, text=storable(first))


def _number_input(step: Step, said: Stepped) -> None:
    terminal = Terminal.objects.filter(mission=step.mission_id, number=said.arguments["command_id"]).first()
    if terminal and not said.arguments["terminate"]:
        before = terminal.inputs.aggregate(Max("number"))["number__max"] or 0
        TerminalInput.objects.create(
            terminal=terminal, step=step, number=before + 1, text=storable(said.arguments["input"])
        )


def keep_result(pk: UUID, step: int, call: ToolCall | None, changes: Sequence[Change], ends: Sequence[End]) -> None:
    """What came of a step: its line, the files that are otherwise since, the commands that have ended."""
    row = Step.objects.select_related("agent", "mission").get(pk=step)
    if row.settled:
        return
    tool = tool_named(row.tool)
    result = (tool.told(call) if tool else call.error) if call else ""
    now = timezone.now()  # one moment: a command that has ended by then does not live after the step
    values: dict[str, Any] = {"ok": bool(call and call.done), "settled": now}
    values |= {"tool_call": call} if call and call.pk else {}
    count = _same(row, result, changes)
    note = f"\n{SAME.format(count=ordinal(count))}" if count >= rules.SAME_TOLD else ""
    Step.objects.filter(pk=step, settled=None).update(result=storable(without_secrets(result) + note), **values)
    FileVersion.objects.add(row.mission, row, changes)
    keep_ends(pk, ends, now)
    if call and call.status == ToolCall.Status.FAILED and row.tool == "run_command":
        _never_began(row)
    if call and call.gate_id and len(reasons := reading.refused_in_a_row(row.agent)) >= rules.REFUSALS:
        _end_the_asking(pk, row.agent, reasons)
    if count >= rules.SAME_STOPS:
        halt(pk, row.agent, Halt.Why.SAME, f"{row.tool} came to the same {count} times, and nothing changed meanwhile.")


def _end_the_asking(pk: UUID, agent: Agent, reasons: Sequence[str]) -> None:
    """The agent reads why, and a person says how it goes on."""
    said = " ".join(f"({number}) {reason}" for number, reason in enumerate(reasons, 1))
    text = REFUSED_IN_A_ROW.format(count=len(reasons), reasons=said)
    write_message(pk, sender=0, recipient=agent.number, text=f"You have stopped: {text}")
    halt(pk, agent, Halt.Why.REFUSED, text)


def keep_last_changes(pk: UUID, changes: Sequence[Change]) -> None:
    mission = looked_at(pk)
    FileVersion.objects.add(mission, mission.finish, changes)


def _same(row: Step, result: str, changes: Sequence[Change]) -> int:
    """How often the newest steps of an agent came to the same, with nothing changed meanwhile."""
    before = Step.objects.filter(agent=row.agent, number__lt=row.number).select_related("call")
    before = before.defer("call__prompt", "call__answer").order_by("-number")[: rules.SAME_STOPS - 1]
    moves = [_move(one, one.result) for one in reversed(before)] + [_move(row, result)]
    if changes or rules.same_in_a_row(moves) == 1:
        return 1
    return rules.same_in_a_row(moves, _changed(row))


def _move(one: Step, result: str) -> rules.StepMove:
    state = reading.facts_of(result).get("state", "")
    waits = bool(one.ok or not one.settled) and rules.waits(one.tool, one.arguments, state)
    moments = one.call.started, one.made, one.settled or timezone.now()
    return rules.StepMove((one.tool, one.args, _plain(result)), *moments, waits)


def _changed(row: Step) -> datetime | None:
    """When files, output of other commands, or what was said to this agent were otherwise last."""
    pk, agent = row.mission_id, row.agent.number
    others = Terminal.objects.filter(mission=pk).exclude(
        step__agent=row.agent, step__tool=row.tool, step__args=row.args
    )
    moments = [
        FileVersion.objects.filter(mission=pk).aggregate(last=Max("made"))["last"],
        Message.objects.filter(mission=pk, recipient=agent).aggregate(last=Max("made"))["last"],
        TerminalInput.objects.filter(terminal__mission=pk, step=None).aggregate(last=Max("made"))["last"],
        others.aggregate(last=Max("ended"))["last"],
        *(workshop.spool(pk, one.spool).changed for one in others.filter(ended=None)),
    ]
    return max(filter(None, moments), default=None)


def _plain(result: str) -> str:
    """Without what is otherwise each time: the first line says numbers and seconds."""
    head, _, text = result.partition("\n")
    try:
        facts = json.loads(head)
    except ValueError:
        return result
    return f"{facts.get('exit_code')}{facts.get('state')}{facts.get('cursor')}{text.partition(SAME_BEGINS)[0].strip()}"


def _never_began(step: Step) -> None:
    """It was refused: no command ever was."""
    now = timezone.now()
    Terminal.objects.filter(step=step, ended=None).update(reason="refused", ended=now)


def keep_ends(pk: UUID, ends: Sequence[End], now: datetime | None = None) -> None:
    for one in ends:
        values = {name: getattr(one, name) for name in ("exit_code", "reason", "seconds", "size", "digest")}
        output = storable(one.output)[-OUTPUT_LENGTH:]
        open_ones = Terminal.objects.filter(mission=pk, pk=one.terminal, ended=None)
        if open_ones.update(output=output, ended=now or timezone.now(), **values):
            ask_no_more_how_it_goes_on(pk)
            reached = [
                Connection(
                    mission_id=pk,
                    terminal_id=one.terminal,
                    number=number,
                    **{**each, "host": storable(each["host"])[:HOST_LENGTH]},
                )
                for number, each in enumerate(one.reached, 1)
            ]
            Connection.objects.bulk_create(reached)


def keep_failure(pk: UUID, agent: int, why: str) -> None:
    halt(pk, Agent.objects.get(pk=agent), Halt.Why.FAILED, why)


def halt(pk: UUID, agent: Agent, why: str, text: str) -> None:
    """It does nothing more until somebody who may lets it go on; whoever made it is told, or people are."""
    after = Step.objects.filter(agent=agent).count()
    heard = Message.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0
    Halt.objects.create(mission_id=pk, agent=agent, after=after, why=why, text=storable(text), heard=heard)
    write_message(pk, sender=0, recipient=reading.superior(agent), text=STOPPED_BY.format(name=agent.name, why=text))


def bind(pk: UUID) -> None:
    """From here on this machine alone goes on with it: its workspace and its terminals are here."""
    Run.objects.filter(pk=pk, host="").update(host=settings.HOST)


def give_up(pk: UUID, by_name: str) -> None:
    """Its machine does not come back: its commands are cut, and whoever goes on begins from the files that are kept."""
    host = Run.objects.values_list("host", flat=True).get(pk=pk)
    Run.objects.filter(pk=pk).update(host="")
    ToolCall.objects.filter(run=pk).interrupt()
    Terminal.objects.filter(mission=pk, ended=None).update(reason="cut", ended=timezone.now())
    text = GIVEN_UP.format(by=by_name, host=host)
    write_message(pk, sender=0, recipient=COORDINATOR, text=text)


def tell_that_it_asks(pk: UUID, agent: int, number: int) -> None:
    write_message(pk, sender=0, recipient=agent, text=IT_ASKS.format(number=number))


def tell_that_nothing_is_left(pk: UUID, asking: Sequence[int] = ()) -> None:
    """`asking`: the commands that wait for input."""
    said = [NOBODY_TYPES.format(asks=reading.IT_ASKS.format(number=number)) for number in asking]
    write_message(pk, sender=0, recipient=COORDINATOR, text=" ".join([NOTHING_LEFT, *said]))


def refuse_answered(pk: UUID, heard: int) -> None:
    """Answered, where somebody has said something meanwhile: by that they go on, and nobody need be asked."""
    if Message.objects.filter(mission=pk, number__gt=heard).exists():
        raise Answered


def refuse_revived(pk: UUID, agent: int, heard: int) -> None:
    """Answered, where somebody who may has let it go on meanwhile."""
    said = Message.objects.filter(mission=pk, recipient=agent, number__gt=heard)
    if said.filter(Q(go_on=True) | ~Q(by_name="")).exists():
        raise Answered


def keep_halt_answer(pk: UUID, halt: int, gate: int) -> None:
    """How a person has an agent that had stopped go on, if at all."""
    row = Halt.objects.select_related("agent").get(pk=halt)
    choice = Gate.objects.whole().get(pk=gate).choice
    by, words = _used(gate)
    usual = {rules.GO_ON: WENT_ON.get(row.why, "Go on."), rules.OTHERWISE: "Do it in another way."}
    if choice in usual:
        write_message(pk, sender=0, recipient=row.agent.number, text=words or usual[choice], by_name=by)
    elif words:
        write_message(pk, sender=0, recipient=COORDINATOR, text=words, by_name=by)


def keep_limit_answer(pk: UUID, gate: int) -> None:
    by, words = _used(gate)
    if words:
        write_message(pk, sender=0, recipient=COORDINATOR, text=words, by_name=by)


def keep_answer(pk: UUID, gate: int) -> None:
    """What a person said where nobody could go on."""
    by, words = _used(gate)
    write_message(pk, sender=0, recipient=COORDINATOR, text=words or "Go on.", by_name=by)


def _used(gate: int) -> tuple[str, str]:
    """Who decided there, and in what words."""
    decided = Gate.objects.whole().get(pk=gate)
    decided.use()
    return (decided.last.by if decided.last and decided.last.by else "somebody"), decided.words


def keep_asked(pk: UUID, step: int, gate: int, answer: str, result: str) -> None:
    """What somebody answered, who is heard as any person is; nothing where the time for it was over."""
    row = Step.objects.select_related("agent").get(pk=step)
    if row.settled:
        return
    by, _ = _used(gate)
    if answer:
        write_message(pk, sender=0, recipient=row.agent.number, text=answer, by_name=by)
    values = {"ok": bool(answer), "settled": timezone.now()}
    Step.objects.filter(pk=step, settled=None).update(result=result, **values)


# ---- memory ---------------------------------------------------------------------------------------------------


def keep_summary(pk: UUID, agent: int, covers: int, dump: str, call: ModelCall, said: Summarised) -> None:
    """Dump, summary and facts in one commit."""
    row = Agent.objects.get(pk=agent)
    digest = sha256(dump.encode()).hexdigest()
    made = {"covers": covers, "text": storable(said.text), "dump": storable(dump), "digest": digest, "call": call}
    Summary.objects.create(mission_id=pk, agent=row, **made)
    if said.facts:
        version, text = memory_of(looked_at(pk), row.number)
        keep_memory(pk, agent, version, "\n".join([text, *said.facts]).strip())


def keep_missing_summary(pk: UUID, agent: int, covers: int) -> None:
    Summary.objects.create(mission_id=pk, agent_id=agent, covers=covers)


def keep_memory(pk: UUID, agent: int, version: int, text: str) -> None:
    row = Agent.objects.get(pk=agent)
    ShortMemory.objects.create(mission_id=pk, agent=row, version=version + 1, text=storable(text), by=row.number)


def keep_shorter(pk: UUID, agent: int, version: int, call: ModelCall, text: str) -> None:
    keep_memory(pk, agent, version, rules.cut_from_top(text))


# ---- the end --------------------------------------------------------------------------------------------------


def keep_check(pk: UUID, command: str, call: ToolCall, exit_code: int | None, reason: str) -> None:
    values = {"exit_code": exit_code, "reason": reason[:40], "output": call.output or call.error}
    Check.objects.create(mission_id=pk, command=storable(command), tool_call=call if call.pk else None, **values)


def conclude(pk: UUID) -> None:
    mission = Mission.objects.at_work().select_related("final_check").get(pk=pk)
    finish = mission.finish
    said = finish.arguments if finish else {}
    check = getattr(mission, "final_check", None)
    wanted = mission.final_check_wanted or check is not None
    came_to = rules.outcome(wanted, check.exit_code if check else None, said.get("unproven", ""))
    why = said.get("unproven", "") or ("" if came_to == rules.DONE else why_unproven(check))
    Mission.objects.filter(pk=pk).update(result=said.get("result", ""), unproven=why)
    Run.objects.filter(pk=pk).update(outcome=came_to)
    flags = [label("flag", one) for one in remarks(said_of_runs([pk])[pk])]
    SearchText.objects.add(pk, [label("outcome", came_to), *flags, *words_of(said.get("result", ""))])


def why_unproven(check: Check | None) -> str:
    if check is None:
        return "The check was not run."
    if check.exit_code is None:
        return f"The check could not be run: {rules.why_check_failed(check.reason)}."
    return f"The check ended with {check.exit_code}."


def pause(pk: UUID, on: bool, by_name: str) -> None:
    number = (Pause.objects.filter(mission=pk).aggregate(Max("number"))["number__max"] or 0) + 1
    Pause.objects.create(mission_id=pk, number=number, on=on, by_name=by_name[:150])


def erase(pk: UUID) -> None:
    """All texts, and the workspace with them; numbers, tools, codes, sizes and times stay."""
    Mission.objects.filter(pk=pk).update(goal="", check_command="", customs="", result="", unproven="")
    Agent.objects.filter(mission=pk).update(description="")
    Step.objects.filter(mission=pk).update(reasoning="", args="", result="")
    CarriedStep.objects.filter(mission=pk).update(reasoning="", args="", result="")
    Halt.objects.filter(mission=pk).update(text="")
    Message.objects.filter(mission=pk).update(text="")
    Check.objects.filter(mission=pk).update(command="", output="")
    FileVersion.objects.filter(mission=pk).update(path="", digest="", text="")
    Repository.objects.filter(mission=pk).update(address="", branch="", left_out="")
    Terminal.objects.filter(mission=pk).update(command="", digest="", output="")
    TerminalInput.objects.filter(terminal__mission=pk).update(text="")
    Connection.objects.filter(mission=pk).update(host="")
    # what was accepted is the library's
    MemoryVersion.objects.filter(mission=pk).exclude(accepted=True).update(description="", text="", front="")
    ShortMemory.objects.filter(mission=pk).update(text="")
    Summary.objects.filter(mission=pk).update(text="", dump="", digest="")
    transaction.on_commit(lambda: workshop.remove(pk))
    transaction.on_commit(lambda: publishing.remove(pk))
