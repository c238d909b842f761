"""The tools of agents of missions."""

from collections.abc import Mapping
from typing import Any

from . import (
    apply_patch,
    ask_person,
    collaboration,
    commands,
    files,
    fresh_check,
    memory,
    memory_folder,
    publish,
    search,
    view_image,
)
from .path_resolver import is_memory_path

TOOLS = (
    *fresh_check.TOOLS,
    *commands.TOOLS,
    *search.TOOLS,
    *files.TOOLS,
    *apply_patch.TOOLS,
    *view_image.TOOLS,
    *ask_person.TOOLS,
    *collaboration.TOOLS,
    *memory.TOOLS,
    *memory_folder.TOOLS,
    *publish.TOOLS,
)
WRITES_MEMORY = {"write_to_file": memory_folder.WRITE, "edit_file": memory_folder.EDIT}
UNASSIGNED = frozenset(
    {"fresh_check", commands.WITH_NETWORK, publish.PUBLISH_COMMIT, memory_folder.WRITE, memory_folder.EDIT}
)
NAMES = tuple(one.name for one in TOOLS if one.name not in UNASSIGNED)
"""Names of the tools that an agent may have."""


def replacement_for(tool: str, arguments: Mapping[str, Any]) -> str:
    """The tool that is used for a call: commands with network, publications and writes to /memory have their own."""
    if tool in WRITES_MEMORY and is_memory_path(arguments["path"]):
        return WRITES_MEMORY[tool]
    if tool == "run_command" and arguments["network"]:
        return commands.WITH_NETWORK
    return publish.PUBLISH_COMMIT if tool == publish.PUBLISH else tool
