"""The folder of memories, /memory: files of what an agent may see. Nobody writes there: what an agent wants to write is
a proposal, by tools that stand in place of those which write files.

Why so: docs/decisions.md, Memory.
"""

from engine.models import Effect
from engine.tools import Refused, Tool, Use

from .. import memory_files
from ..files import FileProblem
from ..memory_files import Wrong
from ..models import Agent, Mission
from ..models.memories import MemoryVersion, named, of_file
from ..remembering import current_of
from .files import EditFile, WriteFile, replaced
from .memory import may_find, proposed
from .places import file_of
from .said import SHOWN, Arguments, agent_of, mission_of

WRITE, EDIT = "write_memory", "edit_memory"


def write(asked: WriteFile, use: Use) -> str:
    return _proposed("write_to_file", agent_of(use), mission_of(use), file_of(asked.path), asked.content)


def edit(asked: EditFile, use: Use) -> str:
    agent, mission = agent_of(use), mission_of(use)
    memory = of_file(file_of(asked.path), mission.library)
    current = _seen(agent, current_of(memory) if memory else None)
    if memory is None or current is None:
        raise Refused(f"not_found: there is nothing at {asked.path}.")
    try:
        after, _ = replaced(memory_files.written(current.as_file), asked)
    except FileProblem as problem:
        raise Refused(str(problem)) from problem
    return _proposed("edit_file", agent, mission, memory.file, after)


def _seen(agent: Agent, version: MemoryVersion | None) -> MemoryVersion | None:
    return version if version and may_find(agent, version) else None


def _proposed(tool: str, agent: Agent, mission: Mission, file: str, content: str) -> str:
    try:
        made = memory_files.read(content)
    except Wrong as wrong:
        raise Refused(f"not_proposed: {wrong}") from wrong
    memory = named(made.name, mission.library)
    current = current_of(memory) if memory else None
    if current and not may_find(agent, current):
        raise Refused(f"name_taken: there is a memory {made.name} that you do not see.")
    return proposed(tool, mission, agent, made, file, None)


def _tool(name: str, description: str, arguments: type[Arguments], change: object) -> Tool[Arguments]:
    return Tool(name, description, arguments, Effect.WRITES, change=change, contained=True, shown=SHOWN, kept=SHOWN)  # type: ignore[arg-type]


TOOLS = (
    _tool(WRITE, "Proposes a memory by its file. No agent has it.", WriteFile, write),
    _tool(EDIT, "Proposes another version of a memory by its file. No agent has it.", EditFile, edit),
)
