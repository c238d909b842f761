"""What agents of missions can do."""

from collections.abc import Mapping
from typing import Any

from . import asking, checking, commands, crew, files, memory, memory_folder, patching, pictures, publish, search
from .places import in_memory

TOOLS = (
    *checking.TOOLS,
    *commands.TOOLS,
    *search.TOOLS,
    *files.TOOLS,
    *patching.TOOLS,
    *pictures.TOOLS,
    *asking.TOOLS,
    *crew.TOOLS,
    *memory.TOOLS,
    *memory_folder.TOOLS,
    *publish.TOOLS,
)
WRITES_MEMORY = {"write_to_file": memory_folder.WRITE, "edit_file": memory_folder.EDIT}
NOBODYS = frozenset(
    {"fresh_check", commands.WITH_NETWORK, publish.PUBLISH_COMMIT, memory_folder.WRITE, memory_folder.EDIT}
)
NAMES = tuple(one.name for one in TOOLS if one.name not in NOBODYS)
"""What an agent may have."""


def in_place_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The tool that is used where an agent asks for this one with these arguments: what leaves the sandbox, and what is
    written where memories lie, are other acts than they seem."""
    if tool in WRITES_MEMORY and in_memory(arguments["path"]):
        return WRITES_MEMORY[tool]
    if tool == "run_command" and arguments["network"]:
        return commands.WITH_NETWORK
    return publish.PUBLISH_COMMIT if tool == publish.PUBLISH else tool
