"""Where an agent's paths lead: into the workspace, or into its folder of memories, which is made of what it may see."""

from functools import partial
from typing import Any

from engine import reader
from engine.tools import Use

from .. import workshop
from ..files import Workspace
from ..models.recalling import folder_of
from .said import agent_of, mission_of

MEMORY = "/memory"


def in_memory(path: str) -> bool:
    return path.strip() == MEMORY or path.strip().startswith(f"{MEMORY}/")


def file_of(path: str) -> str:
    """Of a path in the folder of memories."""
    return path.strip().removeprefix(MEMORY).strip("/")


async def memory_of_agent(use: Use) -> str:
    """The name of the agent's folder, with what it may see by now; empty for what is no agent's."""
    return await reader.read_at_work(partial(_filled, use)) if "." in use.step else ""


def _filled(use: Use) -> str:
    agent = agent_of(use)
    name = f"memory-{agent.number}"
    workshop.fill_memory(use.run.pk, name, folder_of(mission_of(use), agent))
    return name


async def placed(asked: Any, use: Use) -> tuple[Any, Workspace]:
    """The arguments as from the place that their path leads into."""
    path = getattr(asked, "path", "")
    if not in_memory(path):
        return asked, workshop.workspace(use.run.pk)
    folder = workshop.memory(use.run.pk, await memory_of_agent(use))
    return asked.model_copy(update={"path": file_of(path) or "."}), folder
