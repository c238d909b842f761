"""The rows of a mission as its rules and its prompts look at them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Sum
from pydantic import BaseModel

from engine.llm.fitting import Fitted, fitted
from engine.llm.tokens import prompt_tokens, room_of
from engine.models import ModelCall, Run
from engine.models.gates import GateState
from engine.tools import Tool, own_tools, tools

from .. import contents, rules
from ..prompts import memory
from ..prompts.steps import Done, Heard, Messages, Offered, Work, plain
from ..prompts.steps import step as step_prompt
from ..rules import COORDINATOR, PERSON, Seen, Used
from . import recalling
from .files import FileVersion, newest
from .forks import Past
from .missions import Agent, Message, Mission, Step
from .repositories import Repository

ROOM = 128_000  # tokens of a prompt, where nothing else is known of a model
SHOWN_FILES = 20
MIB = 1 << 20
STOPPING = ("", "wait", "finish")


def looked_at(pk: UUID) -> Mission:
    return Mission.objects.at_work().get(pk=pk)


# ---- how it stands --------------------------------------------------------------------------------------------


def seen(mission: Mission, number: int, now: datetime) -> Seen:
    steps = mission.steps_of(number)
    last = (steps or mission.past_of(number) or [None])[-1]
    halt = _halt(mission, number, len(steps))
    heard = halt.heard if halt else last.heard if last else 0
    unread = [one for one in mission.talk if one.recipient == number and one.number > heard]
    until = timer_of(last)
    woken = (last is not None and _has_ended(mission, last, number)) or bool(until and until <= now)
    return Seen(
        number,
        last=last.made if last else None,
        open=bool(last and last.settled is None),
        stops=bool(last and last.tool in STOPPING and (last.ok or last.settled is None)),
        halted=halt is not None,
        unread=bool(unread),
        revives=any(one.of_person or one.go_on for one in unread),
        woken=woken,
        until=until,
    )


def asked_in(step: str) -> tuple[str, int]:
    """What a model is asked for in a step of the run, and the number of its agent; 0 where that is none of ours."""
    first, _, rest = step.partition(".")
    what, number = ("next step", first) if first.isdecimal() else (first, rest.partition(".")[0])
    return what, int(number) if number.isdecimal() else 0


def _has_ended(mission: Mission, last: Past, number: int) -> bool:
    """The command that it waits for; else one of its own, since it was asked for the step after which it stopped."""
    if not isinstance(last, Step):
        return False  # what it had waited for is not here
    wanted = last.arguments.get("for_command") if last.tool == "wait" else None
    rows = [one for one in mission.terminals.all() if one.ended]
    if wanted:
        return any(one.number == wanted for one in rows)
    since = last.call.started
    return any(one.ended and one.ended > since and _is_of(mission, one.step_id, number) for one in rows)


def asks_whom(mission: Mission, step: int) -> int:
    """Who waits and is to hear that the command of this step asks: its agent, once since its last step; else 0."""
    agent = next(one.agent.number for one in mission.steps.all() if one.pk == step)
    last = mission.steps_of(agent)[-1]
    told = [one for one in mission.talk if one.recipient == agent and not one.sender and one.number > last.heard]
    return agent if last.tool == "wait" and last.settled and not told else 0


def _is_of(mission: Mission, step: int, number: int) -> bool:
    return any(one.pk == step and one.agent.number == number for one in mission.steps.all())


def _halt(mission: Mission, number: int, steps: int) -> Any:
    """That which nobody has gone on after."""
    return next(
        (one for one in mission.halts.all() if one.agent_id == mission.agent(number).pk and one.after == steps), None
    )


def timer_of(step: Past | None) -> datetime | None:
    if step is None or step.tool != "wait" or not step.settled:
        return None
    seconds = step.arguments.get("seconds")
    return step.settled + timedelta(seconds=seconds) if seconds else None


def all_seen(mission: Mission, now: datetime) -> list[Seen]:
    return [seen(mission, one.number, now) for one in mission.crew_list]


def what_next(mission: Mission, worked: float, now: datetime) -> rules.Next:
    finished = mission.finish is not None
    if not finished and not mission.paused and rules.reached(used_of(mission, worked), mission.bounds):
        return rules.GoOn((COORDINATOR,))
    return rules.what_next(
        all_seen(mission, now),
        finished=finished,
        paused=mission.paused,
        living=any(one.living for one in mission.terminals.all()),
        told=told_that_nothing_is_left(mission),
        at_once=mission.bounds.at_once,
    )


def told_that_nothing_is_left(mission: Mission) -> bool:
    """Since a person has said something, or another agent wrote to the coordinator."""
    for one in reversed(mission.talk):
        if one.recipient == COORDINATOR:
            return one.sender == 0 and not one.by_name
    return False


def due(mission: Mission, beside: Collection[int], worked: float, now: datetime) -> tuple[int, ...]:
    """Who could step now beside these, whoever has waited longest first."""
    what = what_next(mission, worked, now)
    if not isinstance(what, rules.GoOn):
        return ()
    if rules.reached(used_of(mission, worked), mission.bounds):
        return tuple(one for one in what.agents if one not in beside)
    others = [one for one in all_seen(mission, now) if one.number not in beside]
    return rules.next_agents(others, len(others))


def next_timer(mission: Mission, now: datetime) -> datetime | None:
    """When the first of those who have stopped goes on by itself."""
    stopped = [one for one in all_seen(mission, now) if one.state == rules.State.STOPPED]
    return min((one.until for one in stopped if one.until), default=None)


def used_of(mission: Mission, worked: float) -> Used:
    return Used(
        steps=len(mission.steps.all()),
        minutes=worked / 60,
        agents=len(mission.crew_list),
        messages=len(mission.talk),
        terminals=sum(one.living for one in mission.terminals.all()),
        output=sum(one.size or 0 for one in mission.terminals.all()) / MIB,
        spend=spent(mission),
    )


def spent(mission: Mission) -> float:
    """The share of what it may cost, with all that it has caused."""
    if not mission.run.spend:
        return 0.0
    calls = ModelCall.objects.filter(run__in=Run.objects.of_root(mission.pk))
    return (calls.aggregate(cost=Sum("cost"))["cost"] or 0) / mission.run.spend


def memory_of(mission: Mission, number: int) -> tuple[int, str]:
    """Version and text of an agent's short-term memory; 0 and nothing where it has none."""
    agent = mission.agent(number).pk
    last = max(
        (one for one in mission.short_memories.all() if one.agent_id == agent),
        key=lambda one: one.version,
        default=None,
    )
    return (last.version, last.text) if last else (0, "")


def written_since(mission: Mission, number: int, moment: datetime) -> bool:
    """Whether its short-term memory was written after that."""
    agent = mission.agent(number).pk
    return any(one.agent_id == agent and one.made > moment for one in mission.short_memories.all())


# ---- prompts --------------------------------------------------------------------------------------------------


def tools_of(mission: Mission, agent: Agent) -> list[Tool[Any]]:
    """Also those of servers that it may have, as far as they are on."""
    return tools_named(agent.tools, coordinates=agent.coordinates)


def tools_named(names: Sequence[str], *, coordinates: bool) -> list[Tool[Any]]:
    known = tools("mission") if any(name.startswith("mcp.") for name in names) else own_tools()
    return [known[name] for name in names if name in known and (name != "finish" or coordinates)]


def first_step(agent: Mapping[str, Any], goal: str, check: str, *, coordinates: bool) -> Messages:
    """What an agent of these columns is told at least before its first step, for its length: while nobody has said
    anything and there are no files."""
    found = tools_named(agent["tools"], coordinates=coordinates)
    offered = [Offered(one.name, one.description, one.schema, ours=not one.server) for one in found]
    now = {"goal": goal, "check": check}
    about = (agent["name"], agent.get("description", ""), "", (), coordinates)
    return step_prompt(Work(*about, tools=offered, summary="", history=(), heard=(), short_memory="", now=now))


def arguments_of(mission: Mission, agent: Agent) -> dict[str, type[BaseModel]]:
    return {one.name: one.arguments for one in tools_of(mission, agent)}


def first_files(pk: UUID) -> dict[str, bytes]:
    """What the workspace held at first, by paths."""
    rows = newest(FileVersion.objects.filter(mission=pk, step=None))
    return {path: one.text.encode() for path, one in rows.items()} | contents.read(pk, rows)


def newest_files(pk: UUID) -> dict[str, bytes]:
    """What it holds by now, as far as it is kept: for a workspace that is made, here for the first time or anew."""
    found = newest(FileVersion.objects.filter(mission=pk))
    return {path: one.text.encode() for path, one in found.items() if one.text or not one.size}


def known_files(pk: UUID) -> tuple[dict[str, str], set[str]]:
    """Digests of what is there now by paths, and all paths of which anything is kept."""
    return FileVersion.objects.digests(pk), FileVersion.objects.paths(pk)


@dataclass(frozen=True)
class BegunWith:
    """A repository, and what its workspace is made of besides. `brought`: files that came with the goal; `gone`: paths
    that the crew has removed since."""

    staged: str
    address: str
    commit: str
    start: str
    own_branch: str
    crew: str
    brought: Mapping[str, bytes]
    gone: Sequence[str]
    moment: int


def begun_with(pk: UUID) -> BegunWith | None:
    mission = Mission.objects.select_related("run", "repository").get(pk=pk)
    row = mission.begun_with
    if row is None:
        return None
    paths, there = FileVersion.objects.paths(pk), FileVersion.objects.digests(pk)
    branch, moment = own_branch(pk), int(mission.run.created.timestamp())
    crew, gone = mission.crew or mission.agent(COORDINATOR).name, sorted(paths - there.keys())
    asked = (row.staged, row.address, row.base, row.start, branch)
    return BegunWith(*asked, crew, first_files(pk), gone, moment)


def newest_versions(pk: UUID) -> dict[str, FileVersion]:
    return newest(FileVersion.objects.filter(mission=pk))


def refused_before(mission: Mission, step: Step) -> str:
    """Why somebody refused the same act of anybody in the crew; empty where nobody did."""
    for one in Step.objects.filter(mission=mission, tool=step.tool, args=step.args).exclude(pk=step.pk):
        call = one.tool_call
        if call and call.gate and call.gate.state == GateState.REJECTED:
            return call.error
    return ""


def refused_in_a_row(agent: Agent) -> int:
    """Of what it asked for, how often the newest was refused, without an approval in between."""
    count = 0
    asked = Step.objects.filter(agent=agent, tool_call__gate__isnull=False).select_related("tool_call__gate")
    for one in asked.order_by("-number"):
        gate = one.tool_call.gate if one.tool_call else None
        if gate is None or gate.state != GateState.REJECTED:
            break
        count += 1
    return count


def newest_message(mission: Mission) -> int:
    return max((one.number for one in mission.talk), default=0)


def work_of(mission: Mission, number: int, worked: float, now: datetime) -> Work:
    agent, steps = mission.agent(number), mission.past_of(number)
    summary = summary_of(mission, agent)
    covers = summary.covers if summary else 0
    used, bounds = used_of(mission, worked), mission.bounds
    failed = any(one.agent_id == agent.pk and not one.holds for one in mission.summaries.all())
    shown = steps[covers:]
    missing = max(0, len(shown) - rules.KEPT_HISTORY) if failed and len(shown) > rules.KEPT_STEPS else 0
    heard = steps[-1].heard if steps else 0
    last = bool(rules.reached(used, bounds))
    offered = tools_of(mission, agent)  # also at the last step, so that its request begins as the one before
    memories = recalling.known(mission, agent)
    whole = recalling.whole(memories)
    return Work(
        name=agent.name,
        description=agent.description,
        parent=_name(mission, agent.parent) if agent.parent else "",
        below=[one.name for one in mission.crew_list if one.parent == number],
        coordinates=agent.coordinates,
        tools=[Offered(one.name, one.description, one.schema, ours=not one.server) for one in offered],
        summary=summary.text if summary else "",
        history=_history(mission, number, steps, covers + missing),
        heard=_heard(mission, number, heard, newest_message(mission)),
        short_memory=memory_of(mission, number)[1],
        now=_now(mission, agent, used, now) | _renewed(mission, agent, memories),
        last=last,
        missing=missing,
        memories=[(one.name, one.version.text) for one in whole],
        listed=[(one.name, one.version.description) for one in memories if one not in whole],
        remembered=[one.version.pk for one in whole],
    )


def _renewed(mission: Mission, agent: Agent, memories: Sequence[recalling.Known]) -> dict[str, Any]:
    """Said once, for the step that follows has them."""
    names = recalling.renewed(mission, agent, memories)
    found: dict[str, Any] = {"memories_that_have_changed": names} if names else {}
    by = short_memory_by(mission, agent)
    return found | ({"short_term_memory_was_written_by": by} if by else {})


def short_memory_by(mission: Mission, agent: Agent) -> str:
    """Who else has written it last; empty where the agent itself did."""
    made = [one for one in mission.short_memories.all() if one.agent_id == agent.pk]
    by = max(made, key=lambda one: one.version).by if made else agent.number
    return _name(mission, by) if by != agent.number else ""


def summary_of(mission: Mission, agent: Agent) -> Any:
    made = [one for one in mission.summaries.all() if one.agent_id == agent.pk and one.holds]
    return made[-1] if made else None


def _history(mission: Mission, number: int, steps: Sequence[Past], start: int) -> list[Done]:
    found, before = [], steps[start - 1].heard if start else 0
    for place, one in enumerate(steps[start:], start + 1):
        heard = _heard(mission, number, before, one.heard)
        found.append(Done(place, heard, one.reasoning, one.tool, one.args, one.result))
        before = one.heard
    return found


def history_of(mission: Mission, number: int) -> list[Done]:
    """What a summary of this agent is made from: all but the newest steps."""
    steps = mission.past_of(number)
    summary = summary_of(mission, mission.agent(number))
    start = summary.covers if summary else 0
    return _history(mission, number, steps, start)[: -rules.KEPT_HISTORY]


def _heard(mission: Mission, number: int, after: int, until: int) -> list[Heard]:
    return [said_by(mission, one) for one in mission.talk if one.recipient == number and after < one.number <= until]


def said_by(mission: Mission, one: Message) -> Heard:
    if one.sender:
        return Heard("agent", _name(mission, one.sender), one.text)
    return Heard("person", one.by_name, one.text) if one.by_name else Heard("system", "", one.text)


def _name(mission: Mission, number: int) -> str:
    return mission.agent(number).name if number else PERSON


def _now(mission: Mission, agent: Agent, used: Used, now: datetime) -> dict[str, Any]:
    limits = mission.bounds
    others = [one for one in mission.crew_list if one.number != agent.number]
    found: dict[str, Any] = {
        "goal": mission.goal,
        "step": len(mission.past_of(agent.number)) + 1,
        "steps_of_all": f"{used.steps} of {limits.steps}",
        "minutes": f"{used.minutes:.0f} of {limits.minutes}",
        "said_by_people": [one.text for one in mission.talk if one.of_person][-5:],
        "commands": _commands(mission),
        "files": _files(mission),
        "you_may_write_to": [PERSON, *(_other(mission, one, now) for one in others)],
    }
    found |= {"check": mission.check_command} if mission.check_command else {}
    found |= {"repository": _repository(row)} if (row := mission.begun_with) else {}
    near = rules.near(used, limits)
    return found | ({"nearly_used_up": near} if near else {})


def _repository(row: Repository) -> dict[str, Any]:
    found: dict[str, Any] = {"clone_of": row.address, "your_branch": own_branch(row.mission_id)}
    names = [f"{path} ({why})" for path, why in row.without]
    more = len(names) - SHOWN_FILES
    names = [*names[:SHOWN_FILES], *([f"and {more} more"] if more > 0 else [])]
    return found | ({"left_out_of_the_workspace": names} if names else {})


def own_branch(pk: UUID) -> str:
    """Of git, on which the crew of a mission works."""
    return f"magi/{str(pk)[:8]}"


def _other(mission: Mission, one: Agent, now: datetime) -> str:
    first = one.description.partition(".")[0][:100]
    return f"{one.name} ({seen(mission, one.number, now).state}): {first}"


def _commands(mission: Mission) -> list[str]:
    rows = sorted(mission.terminals.all(), key=lambda one: one.number)
    shown = [one for one in rows if one.living] + [one for one in rows if not one.living][-3:]
    return [f"{one.number} {'lives' if one.living else f'exit {one.exit_code}'}: {one.command[:100]}" for one in shown]


def _files(mission: Mission) -> list[str]:
    """Those that were changed last; read by their own query, for a step does not need the others."""
    there = newest(mission.files.defer("text"))
    changed = sorted((one for one in there.values() if one.step_id), key=lambda one: -one.number)
    paths = [one.path for one in changed] or sorted(there)
    return paths[:SHOWN_FILES]


def step_in_room(work: Work, model: str, mark: str | None = None) -> tuple[Fitted, list[int]]:
    """What the agent is told, without what came of earlier steps; and which memories are whole in it."""
    seen: Sequence[Any] = ()
    parts = {"steps": _unheard(work.history), "memories": work.memories, "memories_by_name": work.listed}

    def asked(shown: Any, said: str) -> Messages:
        nonlocal seen
        shorter, seen, listed = shown.values()
        history = _heard_again(shorter, work.history)
        return step_prompt(replace(work, history=history, memories=seen, listed=listed), mark, said)

    found = fitted(asked, parts, [model], {"steps": 2})
    return found, [pk for one, pk in zip(work.memories, work.remembered, strict=False) if one in seen]


def summary_in_room(agent: Agent, before: str, history: Sequence[Done], mark: str | None = None) -> Fitted:
    """The request for a summary of this history, as `step_in_room`."""

    def asked(shown: Any, said: str) -> Messages:
        return memory.summarise(agent.name, before, plain(_heard_again(shown["steps"], history)), mark, said)

    return fitted(asked, {"steps": _unheard(history)}, [agent.model], {"steps": 1})


def _unheard(history: Sequence[Done]) -> list[Done]:
    return [replace(one, heard=()) for one in history]


def _heard_again(shorter: Sequence[Done], history: Sequence[Done]) -> list[Done]:
    """Messages are orders and answers: those of steps that are left out stand before the first that is not."""
    gone = len(history) - len(shorter)
    heard = [one.heard for one in history[gone:]]
    if gone:
        heard[0] = [message for one in history[: gone + 1] for message in one.heard]
    return [replace(one, heard=said) for one, said in zip(shorter, heard, strict=True)]


def shorter_in_room(agent: Agent, text: str, known: Sequence[str], mark: str | None = None) -> Fitted:
    def asked(shown: Any, said: str) -> Messages:
        return memory.shorten(agent.name, text, shown["memories"], rules.MEMORY_LENGTH, mark, said)

    return fitted(asked, {"memories": known}, [agent.model])


def filled(prompt: Messages, model: str) -> float:
    """How much of the room that this model has for a prompt it takes, roughly."""
    return prompt_tokens(prompt) / (room_of([model]) or ROOM)
