"""The arguments of rules and prompts, computed from the rows of a mission."""

import json
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
from engine.tools import Tool, available_tools, own_tools

from .. import contents, customs, rules
from ..prompts import memory
from ..prompts.steps import AgentPromptTool, AgentWork, Messages, PromptMessage, PromptStep, plain
from ..prompts.steps import step_messages as step_prompt
from ..rules import COORDINATOR, PERSON, AgentSituation, LimitsUsed
from . import asking, memory_selection
from .files import FileVersion, newest_file_versions
from .forks import Past
from .missions import AgentStop, Mission, MissionAgent, MissionMessage, MissionStep
from .repositories import Repository
from .terminals import Terminal

ROOM = 128_000  # tokens of a prompt, for models whose context is unknown
SHOWN_FILES = 20
SAID_BEFORE = 5  # newest messages of people that every prompt has
MIB = 1 << 20
STOPPING = ("", "wait", "finish")
IT_ASKS = "Command {number} waits for input"  # begins the message to an agent
ASKING = ("asks", "password", "full_screen")
NOTHING_LEFT = "Nothing is left that could wake you"  # begins the message to the coordinator


def load_mission(pk: UUID) -> Mission:
    return Mission.objects.active().get(pk=pk)


# ---- states and limits ----------------------------------------------------------------------------------------


def agent_situation(mission: Mission, number: int, now: datetime) -> AgentSituation:
    steps = mission.steps_of(number)
    last = (steps or mission.past_of(number) or [None])[-1]
    halt = _halt(mission, number, len(steps))
    heard = halt.heard if halt else last.heard if last else 0
    unread = [one for one in mission.messages_in_order if one.recipient == number and one.number > heard]
    until = timer_of(last)
    revives = any(one.of_person or one.go_on for one in unread)
    woken = (last is not None and _has_ended(mission, last, number)) or bool(until and until <= now)
    return AgentSituation(
        number,
        last=last.made if last else None,
        open=bool(last and last.settled is None),
        stops=bool(last and last.tool in STOPPING and (last.ok or last.settled is None)),
        halted=halt is not None,
        unread=bool(unread),
        revives=revives,
        woken=woken,
        until=until,
        asks=bool(halt) and not revives and not asking.is_settled(mission, asking.halt_step(mission, halt)),
    )


def asked_in(step: str) -> tuple[str, int]:
    """The purpose of a request to a model, from the step of its call, and the number of its agent, or 0."""
    first, _, rest = step.partition(".")
    what, number = ("next step", first) if first.isdecimal() else (first, rest.partition(".")[0])
    return what, int(number) if number.isdecimal() else 0


def _has_ended(mission: Mission, last: Past, number: int) -> bool:
    """Whether the command that the agent waits for has ended.

    Without a named command, any of its own that ended after the request for its last step counts.
    """
    if not isinstance(last, MissionStep):
        return False  # commands of a fork's origin do not run here
    wanted = last.arguments.get("for_command") if last.tool == "wait" else None
    rows = [one for one in mission.terminals.all() if one.ended]
    if wanted:
        return any(one.number == wanted for one in rows)
    since = last.call.started
    return any(one.ended and one.ended > since and _is_of(mission, one.step_id, number) for one in rows)


def question_addressee(mission: Mission, terminal: Terminal) -> int:
    """The number of the stopped agent that must be told that its command waits for input, or 0.

    It is told once, until something is typed there.
    """
    agent = _agent_of(mission, terminal)
    last = mission.steps_of(agent)[-1]
    idle = last.tool in ("", "wait") and last.settled
    return agent if idle and not was_told_that_it_asks(mission, terminal) else 0


def was_told_that_it_asks(mission: Mission, terminal: Terminal) -> bool:
    """Whether a message or a result has told the agent since the last input."""
    agent = _agent_of(mission, terminal)
    typed = terminal.inputs.order_by("-number").values_list("made", flat=True).first() or terminal.made
    said = IT_ASKS.format(number=terminal.number)
    if any(
        one.recipient == agent and one.text.startswith(said) and one.made >= typed for one in mission.messages_in_order
    ):
        return True
    results = [facts_of(one.result) for one in mission.steps_of(agent) if one.settled and one.settled >= typed]
    return any(one.get("command_id") == terminal.number and one.get("state") in ASKING for one in results)


def _agent_of(mission: Mission, terminal: Terminal) -> int:
    return next(one.agent.number for one in mission.steps.all() if one.pk == terminal.step_id)


def facts_of(result: str) -> dict[str, Any]:
    """The facts in the first line of a result, which is JSON; empty if it has none."""
    try:
        found = json.loads(result.partition("\n")[0])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_of(mission: Mission, step: int, number: int) -> bool:
    return any(one.pk == step and one.agent.number == number for one in mission.steps.all())


def halt_of(mission: Mission, number: int) -> AgentStop:
    """The present stop of an agent that has one."""
    halt: AgentStop = _halt(mission, number, len(mission.steps_of(number)))
    return halt


def _halt(mission: Mission, number: int, steps: int) -> Any:
    """The stop after which the agent has made no step, or None."""
    return next(
        (one for one in mission.halts.all() if one.agent_id == mission.agent(number).pk and one.after == steps), None
    )


def timer_of(step: Past | None) -> datetime | None:
    if step is None or step.tool != "wait" or not step.settled:
        return None
    seconds = step.arguments.get("seconds")
    return step.settled + timedelta(seconds=seconds) if seconds else None


def agent_situations(mission: Mission, now: datetime) -> list[AgentSituation]:
    return [agent_situation(mission, one.number, now) for one in mission.crew_list]


def next_action(mission: Mission, worked: float, now: datetime) -> rules.NextAction:
    finished = mission.finish is not None
    if not finished and not mission.paused:
        if is_last(mission, worked):
            return rules.ContinueAgents((COORDINATOR,))
        if limit := rules.reached_limits(usage_of(mission, worked), asking.bounds_of(mission)):
            begun = tuple(one.number for one in agent_situations(mission, now) if one.open)
            return rules.ContinueAgents(begun) if begun else rules.Reached(limit)
    return rules.what_next(
        agent_situations(mission, now),
        finished=finished,
        paused=mission.paused,
        living=any(one.is_running for one in mission.terminals.all()),
        told=told_that_nothing_is_left(mission),
        at_once=mission.bounds.at_once,
    )


def is_last(mission: Mission, worked: float) -> bool:
    """Whether the coordinator has one last step: a person has ended the mission, or a limit cannot be extended."""
    bounds = asking.bounds_of(mission)
    limit = rules.reached_limits(usage_of(mission, worked), bounds)
    return asking.is_ended(mission) or bool(limit and not rules.may_grow(limit, bounds))


def told_that_nothing_is_left(mission: Mission) -> bool:
    """Whether the coordinator was told so, and since then has only messages of the mission itself."""
    for one in reversed(mission.messages_in_order):
        if one.recipient == COORDINATOR and (one.sender or one.by_name or one.text.startswith(NOTHING_LEFT)):
            return not one.sender and not one.by_name
    return False


def due_agents(mission: Mission, beside: Collection[int], worked: float, now: datetime) -> tuple[int, ...]:
    """Agents that can make a step now, without those in `beside`; the one that has waited longest comes first."""
    what = next_action(mission, worked, now)
    if not isinstance(what, rules.ContinueAgents):
        return ()
    if asking.is_ended(mission) or rules.reached_limits(usage_of(mission, worked), asking.bounds_of(mission)):
        return tuple(one for one in what.agents if one not in beside)
    seen_all = agent_situations(mission, now)
    others = [one for one in seen_all if one.number not in beside]
    asked = [number for number in rules.questions(seen_all) if number not in beside]
    return (*asked, *rules.next_agents(others, len(others)))


def next_timer(mission: Mission, now: datetime) -> datetime | None:
    """When the next waiting agent continues by itself."""
    stopped = [one for one in agent_situations(mission, now) if one.state == rules.AgentState.STOPPED]
    return min((one.until for one in stopped if one.until), default=None)


def usage_of(mission: Mission, worked: float) -> LimitsUsed:
    return LimitsUsed(
        steps=len(mission.steps.all()),
        minutes=worked / 60,
        agents=len(mission.crew_list),
        messages=len(mission.messages_in_order),
        terminals=sum(one.is_running for one in mission.terminals.all()),
        output=sum(one.size or 0 for one in mission.terminals.all()) / MIB,
        spend=cost_of(mission),
    )


def cost_of(mission: Mission) -> float:
    """The share of its spend limit that the mission and its child runs have used; 0 without a limit."""
    cost_limit = asking.cost_limit(mission)
    if not cost_limit:
        return 0.0
    calls = ModelCall.objects.filter(run__in=Run.objects.of_root(mission.pk))
    return (calls.aggregate(cost=Sum("cost"))["cost"] or 0) / cost_limit


def agent_memory(mission: Mission, number: int) -> tuple[int, str]:
    """Version and text of an agent's short-term memory; 0 and an empty text if it has none."""
    agent = mission.agent(number).pk
    last = max(
        (one for one in mission.short_memories.all() if one.agent_id == agent),
        key=lambda one: one.version,
        default=None,
    )
    return (last.version, last.text) if last else (0, "")


def written_since(mission: Mission, number: int, moment: datetime) -> bool:
    """Whether the agent's short-term memory was written after `moment`."""
    agent = mission.agent(number).pk
    return any(one.agent_id == agent and one.made > moment for one in mission.short_memories.all())


# ---- prompts --------------------------------------------------------------------------------------------------


def tools_of(mission: Mission, agent: MissionAgent) -> list[Tool[Any]]:
    """The agent's tools; those of MCP servers only if they are available."""
    return tools_named(agent.tools, coordinates=agent.coordinates)


def tools_named(names: Sequence[str], *, coordinates: bool) -> list[Tool[Any]]:
    known = available_tools("mission") if any(name.startswith("mcp.") for name in names) else own_tools()
    return [known[name] for name in names if name in known and (name != "finish" or coordinates)]


def first_step(agent: Mapping[str, Any], goal: str, check: str, *, coordinates: bool) -> Messages:
    """The shortest possible first prompt of an agent with these columns, to estimate its length."""
    found = tools_named(agent["tools"], coordinates=coordinates)
    offered = [AgentPromptTool(one.name, one.description, one.schema, ours=not one.server) for one in found]
    about = (agent["name"], agent.get("description", ""), "", (), coordinates)
    rest: dict[str, Any] = {"summary": "", "history": (), "heard": (), "short_memory": "", "now": {}}
    return step_prompt(AgentWork(*about, tools=offered, goal=goal, check=check, **rest))


def arguments_of(mission: Mission, agent: MissionAgent) -> dict[str, type[BaseModel]]:
    return {one.name: one.arguments for one in tools_of(mission, agent)}


def first_files(pk: UUID) -> dict[str, bytes]:
    """The files from the beginning, by path."""
    rows = newest_file_versions(FileVersion.objects.filter(mission=pk, step=None))
    return {path: one.text.encode() for path, one in rows.items()} | contents.read(pk, rows)


def newest_files(pk: UUID) -> dict[str, bytes]:
    """The present files by path, without binary ones, for a workspace that is created for the first time or again."""
    found = newest_file_versions(FileVersion.objects.filter(mission=pk))
    return {path: one.text.encode() for path, one in found.items() if one.text or not one.size}


def known_files(pk: UUID) -> tuple[dict[str, str], set[str]]:
    """Digests of the present files by path, and the paths of all stored versions."""
    return FileVersion.objects.digests(pk), FileVersion.objects.paths(pk)


@dataclass(frozen=True)
class BegunWith:
    """A repository and the changes for its workspace.

    brought: files that came with the goal
    gone: paths that the crew has removed since
    moment: Unix time of the submission, in seconds
    """

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
    # a fork does not commit them: those that were committed are in the commits with which it begins
    brought = {} if hasattr(mission.run, "fork") else first_files(pk)
    return BegunWith(*asked, crew, brought, gone, moment)


def newest_versions(pk: UUID) -> dict[str, FileVersion]:
    return newest_file_versions(FileVersion.objects.filter(mission=pk))


def was_refused(mission: Mission, step: MissionStep) -> str:
    """The reason why the same call of any agent was rejected at a gate; empty if it was not."""
    for one in MissionStep.objects.filter(mission=mission, tool=step.tool, args=step.args).exclude(pk=step.pk):
        call = one.tool_call
        if call and call.gate and call.gate.state == GateState.REJECTED:
            return call.error
    return ""


def refused_in_a_row(agent: MissionAgent) -> list[str]:
    """Reasons of the newest rejections without an approval in between, oldest first.

    Rejections before the last stop for this reason do not count: a person has already been asked about them.
    """
    found: list[str] = []
    told = agent.halts.filter(why=AgentStop.Why.REFUSED).order_by("-pk").values_list("after", flat=True).first() or 0
    asked = MissionStep.objects.filter(agent=agent, number__gt=told, tool_call__gate__isnull=False)
    for one in asked.select_related("tool_call__gate").order_by("-number"):
        gate = one.tool_call.gate if one.tool_call else None
        if gate is None or gate.state != GateState.REJECTED:
            break
        found.insert(0, one.tool_call.error if one.tool_call else "")
    return found


def newest_message(mission: Mission) -> int:
    return max((one.number for one in mission.messages_in_order), default=0)


def agent_work(mission: Mission, number: int, worked: float, now: datetime) -> AgentWork:
    agent, steps = mission.agent(number), mission.past_of(number)
    summary = summary_of(mission, agent)
    covers = summary.covers if summary else 0
    used = usage_of(mission, worked)
    missing = _not_summarised(mission, agent, steps, covers)
    heard = steps[-1].heard if steps else 0
    history = _history(mission, number, steps, covers + missing)
    new = _heard(mission, number, heard, newest_message(mission))
    last = agent.coordinates and is_last(mission, worked)
    offered = tools_of(mission, agent)  # also at the last step, so that the prompt's beginning stays in the cache
    memories = memory_selection.memories_of_agent(mission, agent)
    whole = memory_selection.memories_in_prompt(memories)
    return AgentWork(
        name=agent.name,
        description=agent.description,
        parent=_name(mission, agent.parent) if agent.parent else "",
        coordinator="" if agent.coordinates else _name(mission, COORDINATOR),
        goal=mission.goal,
        check=mission.check_command,
        customs=customs.for_agents(customs.from_json(mission.customs)),
        below=[one.name for one in mission.crew_list if superior(one) == number],
        coordinates=agent.coordinates,
        tools=[AgentPromptTool(one.name, one.description, one.schema, ours=not one.server) for one in offered],
        summary=summary.text if summary else "",
        history=history,
        heard=new,
        said=_said_before(mission, agent, (*(heard for one in history for heard in one.heard), *new)),
        short_memory=agent_memory(mission, number)[1],
        memory_by=short_memory_by(mission, agent),
        now=_now(mission, agent, used, now) | _renewed(mission, agent, memories),
        last=last,
        missing=missing,
        memories=[(one.name, one.version.text) for one in whole],
        listed=[(one.name, one.version.description) for one in memories if one not in whole],
        remembered=[one.version.pk for one in whole],
    )


def _renewed(mission: Mission, agent: MissionAgent, memories: Sequence[memory_selection.KnownMemory]) -> dict[str, Any]:
    """Names of memories that changed since the last prompt; told once, as the next step's prompt has them."""
    names = memory_selection.changed_memories(mission, agent, memories)
    return {"memories_that_have_changed": names} if names else {}


def short_memory_by(mission: Mission, agent: MissionAgent) -> str:
    """The name of another agent that wrote the newest version; empty if the agent itself did."""
    made = [one for one in mission.short_memories.all() if one.agent_id == agent.pk]
    by = max(made, key=lambda one: one.version).by if made else agent.number
    return _name(mission, by) if by != agent.number else ""


def summary_of(mission: Mission, agent: MissionAgent) -> Any:
    made = [one for one in mission.summaries.all() if one.agent_id == agent.pk and one.holds]
    return made[-1] if made else None


def _not_summarised(mission: Mission, agent: MissionAgent, steps: Sequence[Past], covers: int) -> int:
    """The number of steps that are left out because they are too many and their summary failed."""
    failed = any(one.agent_id == agent.pk and not one.holds for one in mission.summaries.all())
    counts = [messages_in(one) for one in _history(mission, agent.number, steps, covers)] if failed else []
    return len(counts) - rules.kept_steps(counts) if sum(counts) > rules.MOST_MESSAGES else 0


def messages_in(one: PromptStep) -> int:
    """The number of chat messages of a step: received messages, the answer, and the result of its tool."""
    return len(one.heard) + 1 + bool(one.tool)


def messages_now(mission: Mission, number: int) -> int:
    """The number of messages in an agent's history since its newest summary."""
    summary = summary_of(mission, mission.agent(number))
    found = _history(mission, number, mission.past_of(number), summary.covers if summary else 0)
    return sum(map(messages_in, found))


def messages_of(work: AgentWork) -> int:
    """The number of messages in the history of a prompt, with the new ones."""
    return sum(map(messages_in, work.history)) + len(work.heard)


def _said_before(mission: Mission, agent: MissionAgent, shown: Sequence[PromptMessage]) -> list[PromptMessage]:
    """The newest messages of people to any agent, without those that the history shows."""
    said = [said_by(mission, one, agent) for one in mission.messages_in_order if one.of_person][-SAID_BEFORE:]
    return [one for one in said if one not in shown]


def _history(mission: Mission, number: int, steps: Sequence[Past], start: int) -> list[PromptStep]:
    found, before = [], steps[start - 1].heard if start else 0
    for place, one in enumerate(steps[start:], start + 1):
        heard = _heard(mission, number, before, one.heard)
        found.append(PromptStep(place, heard, one.reasoning, one.tool, one.args, one.result))
        before = one.heard
    return found


def history_of(mission: Mission, number: int) -> list[PromptStep]:
    """The steps to summarise: all since the last summary except the newest."""
    steps = mission.past_of(number)
    summary = summary_of(mission, mission.agent(number))
    start = summary.covers if summary else 0
    found = _history(mission, number, steps, start)
    return found[: -rules.kept_steps([messages_in(one) for one in found]) or None]


def _heard(mission: Mission, number: int, after: int, until: int) -> list[PromptMessage]:
    agent = mission.agent(number)
    found = [one for one in mission.messages_in_order if one.recipient == number and after < one.number <= until]
    return [said_by(mission, one, agent) for one in found]


def said_by(mission: Mission, one: MissionMessage, hears: MissionAgent) -> PromptMessage:
    """The message for this agent's prompt; its kind says whether it is an order."""
    if not one.sender:
        return PromptMessage("person", one.by_name, one.text) if one.by_name else PromptMessage("system", "", one.text)
    kinds = {hears.parent: "parent", COORDINATOR: "coordinator"}
    return PromptMessage(kinds.get(one.sender, "agent"), _name(mission, one.sender), one.text)


def superior(agent: MissionAgent) -> int:
    """The number of the agent to which it reports: its parent, else the coordinator. The coordinator reports to 0,
    people."""
    return agent.parent or (0 if agent.coordinates else COORDINATOR)


def _name(mission: Mission, number: int) -> str:
    return mission.agent(number).name if number else PERSON


def _now(mission: Mission, agent: MissionAgent, used: LimitsUsed, now: datetime) -> dict[str, Any]:
    limits = asking.bounds_of(mission)
    others = [one for one in mission.crew_list if one.number != agent.number]
    found: dict[str, Any] = {
        "step": len(mission.past_of(agent.number)) + 1,
        "steps_of_all": f"{used.steps} of {limits.steps}",
        "minutes": f"{used.minutes:.0f} of {limits.minutes}",
        "commands": _commands(mission),
        "files": _files(mission),
        "you_may_write_to": [PERSON, *(_other(mission, one, now) for one in others)],
    }
    found |= {"repository": _repository(row)} if (row := mission.begun_with) else {}
    near = rules.near_limits(used, limits)
    return found | ({"nearly_used_up": near} if near else {})


def _repository(row: Repository) -> dict[str, Any]:
    found: dict[str, Any] = {"clone_of": row.address, "your_branch": own_branch(row.mission_id)}
    names = [f"{path} ({why})" for path, why in row.without]
    more = len(names) - SHOWN_FILES
    names = [*names[:SHOWN_FILES], *([f"and {more} more"] if more > 0 else [])]
    return found | ({"left_out_of_the_workspace": names} if names else {})


def own_branch(pk: UUID) -> str:
    """The git branch on which the crew works."""
    return f"magi/{str(pk)[:8]}"


def _other(mission: Mission, one: MissionAgent, now: datetime) -> str:
    first = one.description.partition(".")[0][:100]
    return f"{one.name} ({agent_situation(mission, one.number, now).state}): {first}"


def _commands(mission: Mission) -> list[str]:
    rows = sorted(mission.terminals.all(), key=lambda one: one.number)
    shown = [one for one in rows if one.is_running] + [one for one in rows if not one.is_running][-3:]
    return [
        f"{one.number} {'lives' if one.is_running else f'exit {one.exit_code}'}: {one.command[:100]}" for one in shown
    ]


def _files(mission: Mission) -> list[str]:
    """Paths of the files that were changed last. A query of its own, without texts, which no step needs."""
    there = newest_file_versions(mission.files.defer("text"))
    changed = sorted((one for one in there.values() if one.step_id), key=lambda one: -one.number)
    paths = [one.path for one in changed] or sorted(there)
    return paths[:SHOWN_FILES]


def step_in_room(work: AgentWork, model: str, mark: str | None = None) -> tuple[Fitted, list[int]]:
    """The prompt fitted to the model's context, and primary keys of the memories that it contains whole.

    The oldest steps, conventions and memories are left out first.
    """
    seen: Sequence[Any] = ()
    parts = {"steps": _without_messages(work.history), "customs": work.customs}
    parts |= {"memories": work.memories, "memories_by_name": work.listed}

    def asked(shown: Any, said: str) -> Messages:
        nonlocal seen
        shorter, ours, seen, listed = shown.values()
        history = _with_messages(shorter, work.history)
        return step_prompt(replace(work, history=history, customs=ours, memories=seen, listed=listed), mark, said)

    found = fitted(asked, parts, [model], {"steps": 2})
    return found, [pk for one, pk in zip(work.memories, work.remembered, strict=False) if one in seen]


def summary_in_room(
    agent: MissionAgent, goal: str, before: str, history: Sequence[PromptStep], mark: str | None = None
) -> Fitted:
    """The request for a summary of this history, fitted to the model's context."""

    def asked(shown: Any, said: str) -> Messages:
        return memory.summary_messages(
            agent.name, goal, before, plain(_with_messages(shown["steps"], history)), mark, said
        )

    return fitted(asked, {"steps": _without_messages(history)}, [agent.model], {"steps": 1})


def _without_messages(history: Sequence[PromptStep]) -> list[PromptStep]:
    return [replace(one, heard=()) for one in history]


def _with_messages(shorter: Sequence[PromptStep], history: Sequence[PromptStep]) -> list[PromptStep]:
    """Put messages back into a shortened history.

    Messages are orders and answers and must not be lost: those of omitted steps come before the first remaining step.
    """
    gone = len(history) - len(shorter)
    heard = [one.heard for one in history[gone:]]
    if gone:
        heard[0] = [message for one in history[: gone + 1] for message in one.heard]
    return [replace(one, heard=said) for one, said in zip(shorter, heard, strict=True)]


def shorter_in_room(agent: MissionAgent, text: str, known: Sequence[str], mark: str | None = None) -> Fitted:
    def asked(shown: Any, said: str) -> Messages:
        return memory.shorten_messages(agent.name, text, shown["memories"], rules.MEMORY_LENGTH, mark, said)

    return fitted(asked, {"memories": known}, [agent.model])


def filled(prompt: Messages, model: str) -> float:
    """The estimated share of the model's context that the prompt takes; above 1 if it is too long."""
    return prompt_tokens(prompt) / (room_of([model]) or ROOM)
