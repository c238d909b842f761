"""Tools for long-term memories (activate, propose), and for shortening one's own history and short-term memory."""

from pydantic import ConfigDict, Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from .. import memory_review
from ..memory_files import DESCRIPTION_LENGTH, LISTS, TEXT_LENGTH, InvalidMemoryFile, MemoryFile
from ..models import Mission, MissionAgent
from ..models.memories import memory_named
from ..models.memory_selection import (
    LIBRARY,
    TOGETHER,
    KnownMemory,
    length,
    memories_of_agent,
    reader_lists,
    set_active,
)
from ..models.queries import agent_memory, summary_of
from ..rules import MemoryAccess, fold_name
from .output import SHOWN, MissionToolArgumentsBase, agent_of, mission_of, tool_text

SUMMARIZE, COMPRESS = "summarize_history", "compress_stm"


class ActiveMemoryArguments(MissionToolArgumentsBase):
    name: str = Field(min_length=1, max_length=60)
    active: bool = Field(default=True, description="false puts it away again")


class ProposeMemoryArguments(MissionToolArgumentsBase):
    name: str = Field(min_length=1, max_length=60)
    description: str = Field(max_length=DESCRIPTION_LENGTH)
    content: str = Field(max_length=TEXT_LENGTH)
    base_version: int | None = Field(default=None, ge=0, description="which version it was written from; 0: a new one")
    active_for: list[str] | None = Field(default=None, description="whole lists; without one it stays as it is")
    visible_to: list[str] | None = None
    except_for: list[str] | None = None


class NoMemoryArguments(MissionToolArgumentsBase):
    model_config = ConfigDict(title="Nothing")


def active_memory(asked: ActiveMemoryArguments, use: ToolUse) -> str:
    """Activate or deactivate a memory for this agent in this mission. Invisible memories count as missing."""
    agent, mission = agent_of(use), mission_of(use)
    found = memories_of_agent(mission, agent)
    one = next((one for one in found if fold_name(one.name) == fold_name(asked.name)), None)
    if one is None:
        raise ToolRefused(f"not_found: there is no memory {asked.name}.")
    if (one.sight == MemoryAccess.WHOLE) == asked.active:
        raise ToolRefused(f"already: {one.name} is {'' if asked.active else 'not '}in your prompts.")
    if asked.active:
        _refuse_too_much(found, one)
    set_active(mission, agent, one.version.memory, asked.active)
    if not asked.active:
        return tool_text("active_ltm", name=one.name, active=False)
    return tool_text("active_ltm", one.version.text, name=one.name, active=True, version=one.version.number)


def _refuse_too_much(found: list[KnownMemory], one: KnownMemory) -> None:
    together = length(found) + len(one.version.text)
    if together > TOGETHER:
        sizes = ", ".join(
            f"{each.name} {len(each.version.text):,}" for each in found if each.sight == MemoryAccess.WHOLE
        )
        raise ToolRefused(
            f"too_much: {together:,} characters, and {TOGETHER:,} may stand in a prompt. There are {sizes}."
        )


def propose_memory(asked: ProposeMemoryArguments, use: ToolUse) -> str:
    lists = {name: tuple(getattr(asked, name)) for name in LISTS if getattr(asked, name) is not None}
    agent, mission = agent_of(use), mission_of(use)
    memory = memory_named(asked.name, mission.library)
    current = memory_review.current_version(memory) if memory else None
    if memory and current and not is_visible(agent, current):
        raise ToolRefused(f"name_taken: there is a memory {asked.name} that you do not see.")
    front = current.front if current else ""
    made = MemoryFile(asked.name, asked.description, asked.content, **{**reader_lists(current), **lists}, front=front)
    return submit_proposal("propose_memory", mission, agent, made, "", asked.base_version)


def submit_proposal(
    tool: str, mission: Mission, agent: MissionAgent, made: MemoryFile, file: str, base: int | None
) -> str:
    """Propose a memory. Raises ToolRefused with the reason."""
    memory = memory_named(made.name, mission.library)
    library = memory.library if memory else mission.library
    try:
        version = memory_review.propose(made, agent.name, library=library, file=file, base=base, mission=mission)
    except memory_review.MemoryChanged as changed:
        raise ToolRefused(f"changed_meanwhile: {changed}") from changed
    except InvalidMemoryFile as wrong:
        raise ToolRefused(f"not_proposed: {wrong}") from wrong
    sentence = "It is proposed. It holds once a person has accepted it."
    return tool_text(tool, sentence, name=made.name, file=version.memory.file, proposal=version.number)


def is_visible(agent: MissionAgent, version: memory_review.MemoryVersion) -> bool:
    return LIBRARY in agent.rights or version.visibility_for(agent.name) != MemoryAccess.NOTHING


def summarize_history(asked: NoMemoryArguments, use: ToolUse) -> str:
    """Report the summary. The procedure has asked the model before this tool is called."""
    agent, mission = agent_of(use), mission_of(use)
    last = summary_of(mission, agent)
    if last is None:
        raise ToolRefused("nothing: the last eight messages stay, and there are no earlier ones.")
    count = sum(one.agent_id == agent.pk for one in mission.summaries.all())
    return tool_text(SUMMARIZE, steps=last.covers, dump=count)


def compress_notes(asked: NoMemoryArguments, use: ToolUse) -> str:
    agent, mission = agent_of(use), mission_of(use)
    version, text = agent_memory(mission, agent.number)
    if not text:
        raise ToolRefused("nothing: your short-term memory is empty.")
    before = [one for one in mission.short_memories.all() if one.agent_id == agent.pk and one.version == version - 1]
    return tool_text(
        COMPRESS, version=version, length_before=len(before[0].text) if before else len(text), length=len(text)
    )


def _tool(
    name: str, description: str, arguments: type[MissionToolArgumentsBase], change: object
) -> Tool[MissionToolArgumentsBase]:
    return Tool(name, description, arguments, Effect.WRITES, change=change, contained=True, shown=SHOWN, kept=SHOWN)  # type: ignore[arg-type]


TOOLS = (
    _tool(
        "active_ltm",
        "Brings a memory into your prompts as a whole, or puts it away.",
        ActiveMemoryArguments,
        active_memory,
    ),
    _tool(
        "propose_memory",
        "Proposes a memory for later missions, or another version of one; a person accepts it or not.",
        ProposeMemoryArguments,
        propose_memory,
    ),
    _tool(
        SUMMARIZE, "Has your history summarised; the last eight messages stay.", NoMemoryArguments, summarize_history
    ),
    _tool(COMPRESS, "Has your short-term memory written in fewer words.", NoMemoryArguments, compress_notes),
)
