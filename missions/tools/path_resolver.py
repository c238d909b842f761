"""Resolves an agent's paths into the workspace, or into its folder of memories, which is written for it."""

from functools import partial
from typing import Any

from engine.db import reader
from engine.tools import ToolUse

from .. import workspace
from ..models.memory_selection import memory_folder
from ..workspace_files import Workspace
from .output import agent_of, mission_of

MEMORY = "/memory"


def is_memory_path(path: str) -> bool:
    return path.strip() == MEMORY or path.strip().startswith(f"{MEMORY}/")


def memory_file(path: str) -> str:
    """The file name of a path below /memory."""
    return path.strip().removeprefix(MEMORY).strip("/")


async def memory_of_agent(use: ToolUse) -> str:
    """Write the agent's folder of memories and return its name; empty for calls that are not of an agent."""
    return await reader.read_for_worker(partial(_filled, use)) if "." in use.step else ""


def _filled(use: ToolUse) -> str:
    agent = agent_of(use)
    name = f"memory-{agent.number}"
    workspace.fill_memory(use.run.pk, name, memory_folder(mission_of(use), agent))
    return name


async def resolve_path(asked: Any, use: ToolUse) -> tuple[Any, Workspace]:
    """The place to which the path leads, and the arguments with the path relative to it."""
    path = getattr(asked, "path", "")
    if not is_memory_path(path):
        return asked, workspace.workspace(use.run.pk)
    folder = workspace.memory(use.run.pk, await memory_of_agent(use))
    return asked.model_copy(update={"path": memory_file(path) or "."}), folder
