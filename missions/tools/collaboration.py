"""Tools that change rows of the mission: messages, new agents, short-term memory, waiting, finishing."""

from typing import Any

from pydantic import Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from ..models import Mission, MissionAgent, ShortTermMemory, writes
from ..models.queries import agent_memory, superior, usage_of
from ..rules import COORDINATOR, MEMORY_LENGTH, PERSON, agent_name_problem, fold_name, spawn_problem
from .output import SHOWN, MissionToolArgumentsBase, agent_of, mission_of, tool_text

MESSAGE_LENGTH, LONGEST_WAIT, RESULT_LENGTH = 8_000, 3_600, 20_000
COORDINATOR_TOOLS = frozenset({"finish"})  # of the coordinator
TIDY_RIGHT = "tidy"
PING_PONG_LIMIT = 8
HAS_ENDED = "Command {number} has ended. Look at it with command_status."


class SendMessageArguments(MissionToolArgumentsBase):
    recipient: str = Field(min_length=1, max_length=80, description=f"the name of an agent, or {PERSON}")
    message: str = Field(min_length=1, max_length=MESSAGE_LENGTH)
    go_on: bool = Field(default=False, description="the coordinator's also wakes who is in error")


class MakeAgentArguments(MissionToolArgumentsBase):
    name: str = Field(min_length=1, max_length=40)
    description: str = Field(min_length=1, max_length=2_000)
    tools: list[str] | None = Field(default=None, description="a part of your own")


class RememberArguments(MissionToolArgumentsBase):
    text: str = Field(min_length=1, max_length=MEMORY_LENGTH)


class EditMemoryArguments(MissionToolArgumentsBase):
    agent_name: str = Field(min_length=1, max_length=80)
    new_content: str = Field(max_length=MEMORY_LENGTH)
    base_version: int | None = Field(default=None, ge=0)


class WaitArguments(MissionToolArgumentsBase):
    seconds: int | None = Field(default=None, ge=1, le=LONGEST_WAIT)
    for_command: int | None = Field(default=None, ge=1, description="the end of others does not wake you then")


class FinishArguments(MissionToolArgumentsBase):
    result: str = Field(min_length=1, max_length=RESULT_LENGTH)
    check: str = Field(default="", max_length=16_000, description="a command that shows it, if none was agreed on")
    unproven: str = Field(default="", max_length=2_000, description="why it cannot be shown, if it cannot")


def send_message(asked: SendMessageArguments, use: ToolUse) -> str:
    agent, mission = agent_of(use), mission_of(use)
    if fold_name(asked.recipient) == PERSON:
        number = writes.save_agent_message(mission.pk, sender=agent.number, recipient=0, text=asked.message)
        return tool_text("send_message", to=PERSON, number=number)
    to = _named(mission, asked.recipient)
    if to.number == agent.number:
        raise ToolRefused("yourself: this is you. Use remember.")
    if len(mission.messages_in_order) >= mission.bounds.messages:
        raise ToolRefused(f"too_many: {mission.bounds.messages} messages were written, and no more may be.")
    if ping_pong_length(mission, agent, to) >= PING_PONG_LIMIT:
        raise ToolRefused(
            f"to_and_fro: {PING_PONG_LIMIT} messages between you and {to.name}, and nothing else. Do something."
        )
    go_on = asked.go_on and agent.coordinates
    writes.save_agent_message(mission.pk, sender=agent.number, recipient=to.number, text=asked.message, go_on=go_on)
    return tool_text("send_message", to=to.name)


def ping_pong_length(mission: Mission, agent: MissionAgent, other: MissionAgent) -> int:
    """The number of messages between two agents since either of them did anything else."""
    two = {agent.number, other.number}
    done = [
        one.made
        for one in mission.steps.all()
        if one.agent.number in two and one.tool not in ("send_message", "wait", "")
    ]
    said = [one for one in mission.messages_in_order if {one.sender, one.recipient} == two]
    return sum(one.made > max(done) for one in said) if done else len(said)


def _named(mission: Mission, name: str) -> MissionAgent:
    found = next((one for one in mission.crew_list if one.folded == fold_name(name)), None)
    if found is None:
        names = ", ".join(one.name for one in mission.crew_list)
        raise ToolRefused(f"no_such_agent: there are {names}, and {PERSON}.")
    return found


def make_agent(asked: MakeAgentArguments, use: ToolUse) -> str:
    """Spawn an agent. Its first message is its description."""
    agent, mission = agent_of(use), mission_of(use)
    if wrong := agent_name_problem(asked.name, [one.name for one in mission.crew_list]):
        raise ToolRefused(f"name_taken: {wrong}")
    children = sum(one.parent == agent.number for one in mission.crew_list)
    used = usage_of(mission, use.run.worked)
    if wrong := spawn_problem(mission.bounds, used, depth=agent.depth, children=children):
        raise ToolRefused(f"limit: {wrong}")
    own = [
        one
        for one in agent.tools
        if one not in COORDINATOR_TOOLS and (one != "make_new_agent" or can_create_agent(mission, agent))
    ]
    wanted = own if asked.tools is None else asked.tools
    if strange := [one for one in wanted if one not in own]:
        raise ToolRefused(f"tools: you cannot give {', '.join(strange)}.")
    made = MissionAgent.objects.create(
        mission=mission,
        number=len(mission.crew_list) + 1,
        name=asked.name,
        folded=fold_name(asked.name),
        description=asked.description,
        parent=agent.number,
        depth=agent.depth + 1,
        model=agent.model,
        tools=wanted,
    )
    writes.save_agent_message(mission.pk, sender=agent.number, recipient=made.number, text=asked.description)
    return tool_text("make_new_agent", name=made.name, number=made.number)


def can_create_agent(mission: Mission, agent: MissionAgent) -> bool:
    return agent.depth + 1 < mission.bounds.depth


def remember(asked: RememberArguments, use: ToolUse) -> str:
    agent, mission = agent_of(use), mission_of(use)
    version, before = agent_memory(mission, agent.number)
    text = f"{before}\n{asked.text}".strip()
    _keep(mission, agent, version + 1, text, agent.number)
    return tool_text("remember", version=version + 1, length=len(text), compressed_next=len(text) > MEMORY_LENGTH)


def edit_memory(asked: EditMemoryArguments, use: ToolUse) -> str:
    """Replace a short-term memory: one's own, of agents below, or of any agent with the right TIDY_RIGHT."""
    agent, mission = agent_of(use), mission_of(use)
    other = _named(mission, asked.agent_name)
    if not (other.number == agent.number or TIDY_RIGHT in agent.rights or _is_below(mission, other, agent)):
        raise ToolRefused(f"not_yours_to_edit: the memory of {other.name} is not yours to change.")
    version, text = agent_memory(mission, other.number)
    if asked.base_version not in (None, version):
        raise ToolRefused(f"changed_meanwhile: it has version {version} by now: {text}")
    _keep(mission, other, version + 1, asked.new_content, agent.number)
    if other.number != agent.number:
        note = f"The agent “{agent.name}” has written your short-term memory anew."
        writes.save_agent_message(mission.pk, sender=0, recipient=other.number, text=note)
    return tool_text("edit_stm", version=version + 1)


def _keep(mission: Mission, agent: MissionAgent, version: int, text: str, by: int) -> None:
    ShortTermMemory.objects.create(mission=mission, agent=agent, version=version, text=text, by=by)


def _is_below(mission: Mission, other: MissionAgent, agent: MissionAgent) -> bool:
    while above := superior(other):
        if above == agent.number:
            return True
        other = mission.agent(above)
    return False


def wait(asked: WaitArguments, use: ToolUse) -> str:
    """Check a wait. If its command has ended already, the wait is over at once; see `queries.agent_situation`."""
    mission = mission_of(use)
    terminal = next((one for one in mission.terminals.all() if one.number == asked.for_command), None)
    if asked.for_command and terminal is None:
        raise ToolRefused(f"not_found: there is no command {asked.for_command}.")
    facts = asked.model_dump(exclude_none=True)
    if terminal and not terminal.is_running:  # the agent cannot know whether the end is stored yet: that is no error
        return tool_text("wait", HAS_ENDED.format(number=terminal.number), **facts, state="ended")
    return tool_text("wait", **facts)


def finish(asked: FinishArguments, use: ToolUse) -> str:
    if agent_of(use).number != COORDINATOR:
        raise ToolRefused("only_the_coordinator: tell your parent what is done.")
    return tool_text("finish")


def _tool(name: str, description: str, arguments: Any, change: Any) -> Tool[Any]:
    return Tool(name, description, arguments, Effect.WRITES, change=change, contained=True, shown=SHOWN, kept=SHOWN)


TOOLS = (
    _tool("send_message", f"Writes to another agent of the crew, or to {PERSON}.", SendMessageArguments, send_message),
    _tool(
        "make_new_agent", "Makes an agent below you, which begins with its description.", MakeAgentArguments, make_agent
    ),
    _tool(
        "remember", "Adds to your short-term memory, which stands in each prompt of yours.", RememberArguments, remember
    ),
    _tool(
        "edit_stm",
        "Writes a short-term memory anew: yours, or of an agent below you.",
        EditMemoryArguments,
        edit_memory,
    ),
    _tool(
        "wait", "Stops until somebody writes to you, a command of yours ends, or the time is over.", WaitArguments, wait
    ),
    _tool("finish", "Ends the mission with its result. Only the coordinator can.", FinishArguments, finish),
)
