"""Long-term memories, as an agent brings them into its prompts and proposes new ones; and its own history and notes,
made shorter when it wants that."""

from pydantic import Field

from engine.models import Effect
from engine.tools import Refused, Tool, Use

from .. import remembering
from ..memory_files import DESCRIPTION_LENGTH, LISTS, TEXT_LENGTH, MemoryFile, Wrong
from ..models import Agent, Mission
from ..models.memories import named
from ..models.reading import memory_of, summary_of
from ..models.recalling import LIBRARY, TOGETHER, Known, choose, known, length, readers
from ..rules import Sight, folded
from .said import SHOWN, Arguments, agent_of, mission_of, said

SUMMARIZE, COMPRESS = "summarize_history", "compress_stm"


class ActiveMemory(Arguments):
    name: str = Field(min_length=1, max_length=60)
    active: bool = Field(default=True, description="false puts it away again")


class ProposeMemory(Arguments):
    name: str = Field(min_length=1, max_length=60)
    description: str = Field(max_length=DESCRIPTION_LENGTH)
    content: str = Field(max_length=TEXT_LENGTH)
    base_version: int | None = Field(default=None, ge=0, description="which version it was written from; 0: a new one")
    active_for: list[str] | None = Field(default=None, description="whole lists; without one it stays as it is")
    visible_to: list[str] | None = None
    except_for: list[str] | None = None


class Nothing(Arguments):
    pass


def active_memory(asked: ActiveMemory, use: Use) -> str:
    """For this agent in this mission. What it may not see is as if it were not there."""
    agent, mission = agent_of(use), mission_of(use)
    found = known(mission, agent)
    one = next((one for one in found if folded(one.name) == folded(asked.name)), None)
    if one is None:
        raise Refused(f"not_found: there is no memory {asked.name}.")
    if (one.sight == Sight.WHOLE) == asked.active:
        raise Refused(f"already: {one.name} is {'' if asked.active else 'not '}in your prompts.")
    if asked.active:
        _refuse_too_much(found, one)
    choose(mission, agent, one.version.memory, asked.active)
    if not asked.active:
        return said("active_ltm", name=one.name, active=False)
    return said("active_ltm", one.version.text, name=one.name, active=True, version=one.version.number)


def _refuse_too_much(found: list[Known], one: Known) -> None:
    together = length(found) + len(one.version.text)
    if together > TOGETHER:
        sizes = ", ".join(f"{each.name} {len(each.version.text):,}" for each in found if each.sight == Sight.WHOLE)
        raise Refused(f"too_much: {together:,} characters, and {TOGETHER:,} may stand in a prompt. There are {sizes}.")


def propose_memory(asked: ProposeMemory, use: Use) -> str:
    lists = {name: tuple(getattr(asked, name)) for name in LISTS if getattr(asked, name) is not None}
    agent, mission = agent_of(use), mission_of(use)
    memory = named(asked.name, mission.library)
    current = remembering.current_of(memory) if memory else None
    if memory and current and not may_find(agent, current):
        raise Refused(f"name_taken: there is a memory {asked.name} that you do not see.")
    front = current.front if current else ""
    made = MemoryFile(asked.name, asked.description, asked.content, **{**readers(current), **lists}, front=front)
    return proposed("propose_memory", mission, agent, made, "", asked.base_version)


def proposed(tool: str, mission: Mission, agent: Agent, made: MemoryFile, file: str, base: int | None) -> str:
    """Refused with what stands in its way."""
    memory = named(made.name, mission.library)
    library = memory.library if memory else mission.library
    try:
        version = remembering.propose(made, agent.name, library=library, file=file, base=base, mission=mission)
    except remembering.ChangedMeanwhile as changed:
        raise Refused(f"changed_meanwhile: {changed}") from changed
    except Wrong as wrong:
        raise Refused(f"not_proposed: {wrong}") from wrong
    sentence = "It is proposed. It holds once a person has accepted it."
    return said(tool, sentence, name=made.name, file=version.memory.file, proposal=version.number)


def may_find(agent: Agent, version: remembering.MemoryVersion) -> bool:
    return LIBRARY in agent.rights or version.seen_by(agent.name) != Sight.NOTHING


def summarized(asked: Nothing, use: Use) -> str:
    """The model was asked before: here is what came of it."""
    agent, mission = agent_of(use), mission_of(use)
    last = summary_of(mission, agent)
    if last is None:
        raise Refused("nothing: the last eight messages stay, and there are no earlier ones.")
    count = sum(one.agent_id == agent.pk for one in mission.summaries.all())
    return said(SUMMARIZE, steps=last.covers, dump=count)


def compressed(asked: Nothing, use: Use) -> str:
    agent, mission = agent_of(use), mission_of(use)
    version, text = memory_of(mission, agent.number)
    if not text:
        raise Refused("nothing: your short-term memory is empty.")
    before = [one for one in mission.short_memories.all() if one.agent_id == agent.pk and one.version == version - 1]
    return said(COMPRESS, version=version, length_before=len(before[0].text) if before else len(text), length=len(text))


def _tool(name: str, description: str, arguments: type[Arguments], change: object) -> Tool[Arguments]:
    return Tool(name, description, arguments, Effect.WRITES, change=change, contained=True, shown=SHOWN, kept=SHOWN)  # type: ignore[arg-type]


TOOLS = (
    _tool("active_ltm", "Brings a memory into your prompts as a whole, or puts it away.", ActiveMemory, active_memory),
    _tool(
        "propose_memory",
        "Proposes a memory for later missions, or another version of one; a person accepts it or not.",
        ProposeMemory,
        propose_memory,
    ),
    _tool(SUMMARIZE, "Has your history summarised; the last eight messages stay.", Nothing, summarized),
    _tool(COMPRESS, "Has your short-term memory written in fewer words.", Nothing, compressed),
)
