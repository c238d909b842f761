"""The folder /memory with the memories that an agent may see. It is read-only: writing a file there is replaced by
tools that propose a memory.

Why so: missions/DESIGN.md, Memory.
"""

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from .. import memory_files
from ..memory_files import InvalidMemoryFile
from ..memory_review import current_version
from ..models import Mission, MissionAgent
from ..models.memories import MemoryVersion, memory_in_file, memory_named
from ..workspace_files import FileProblem
from .files import EditFileArguments, WriteFileArguments, replace_once
from .memory import is_visible, submit_proposal
from .output import SHOWN, MissionToolArgumentsBase, agent_of, mission_of
from .path_resolver import memory_file

WRITE, EDIT = "write_memory", "edit_memory"


def propose_file(asked: WriteFileArguments, use: ToolUse) -> str:
    return _proposed("write_to_file", agent_of(use), mission_of(use), memory_file(asked.path), asked.content)


def propose_edit(asked: EditFileArguments, use: ToolUse) -> str:
    agent, mission = agent_of(use), mission_of(use)
    memory = memory_in_file(memory_file(asked.path), mission.library)
    current = _seen(agent, current_version(memory) if memory else None)
    if memory is None or current is None:
        raise ToolRefused(f"not_found: there is nothing at {asked.path}.")
    try:
        after, _ = replace_once(memory_files.memory_file_text(current.as_file), asked)
    except FileProblem as problem:
        raise ToolRefused(str(problem)) from problem
    return _proposed("edit_file", agent, mission, memory.file, after)


def _seen(agent: MissionAgent, version: MemoryVersion | None) -> MemoryVersion | None:
    return version if version and is_visible(agent, version) else None


def _proposed(tool: str, agent: MissionAgent, mission: Mission, file: str, content: str) -> str:
    try:
        made = memory_files.parse_memory_file(content)
    except InvalidMemoryFile as wrong:
        raise ToolRefused(f"not_proposed: {wrong}") from wrong
    memory = memory_named(made.name, mission.library)
    current = current_version(memory) if memory else None
    if current and not is_visible(agent, current):
        raise ToolRefused(f"name_taken: there is a memory {made.name} that you do not see.")
    return submit_proposal(tool, mission, agent, made, file, None)


def _folder_tool(
    name: str, description: str, arguments: type[MissionToolArgumentsBase], change: object
) -> Tool[MissionToolArgumentsBase]:
    return Tool(name, description, arguments, Effect.WRITES, change=change, contained=True, shown=SHOWN, kept=SHOWN)  # type: ignore[arg-type]


TOOLS = (
    _folder_tool(WRITE, "Proposes a memory by its file. No agent has it.", WriteFileArguments, propose_file),
    _folder_tool(
        EDIT, "Proposes another version of a memory by its file. No agent has it.", EditFileArguments, propose_edit
    ),
)
