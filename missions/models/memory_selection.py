"""Which long-term memories an agent has: whole in its prompts, listed by name, or only as files in its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from .. import memory_files
from ..memory_files import LISTS
from ..rules import MemoryAccess
from .memories import Memory, MemoryActivation, MemoryUse, MemoryVersion, memories_in_use
from .missions import Mission, MissionAgent

LIBRARY = "library"  # an agent's right to read all memories
TOGETHER = 12_000  # characters of all whole memories in a prompt


@dataclass(frozen=True)
class KnownMemory:
    """A memory and the present access of one agent to it."""

    version: MemoryVersion
    sight: MemoryAccess

    @property
    def name(self) -> str:
        return self.version.memory.name


def memories_of_agent(mission: Mission, agent: MissionAgent) -> list[KnownMemory]:
    """The memories that the agent may see, by name. `mission` must be read with `active()`."""
    chosen = {one.memory_id: one.on for one in mission.activations.all() if one.agent_id == agent.pk}
    found = [KnownMemory(one, _sight(one, agent, chosen)) for one in MemoryVersion.objects.held(mission.library)]
    return [one for one in found if one.sight != MemoryAccess.NOTHING]


def _sight(version: MemoryVersion, agent: MissionAgent, chosen: dict[int, bool]) -> MemoryAccess:
    """The agent's access; its own activations choose between whole and listed, and grant no access."""
    sight = version.visibility_for(agent.name)
    if sight == MemoryAccess.NOTHING or version.memory_id not in chosen:
        return sight
    return MemoryAccess.WHOLE if chosen[version.memory_id] else MemoryAccess.LISTED


def memories_in_prompt(found: Sequence[KnownMemory]) -> list[KnownMemory]:
    return [one for one in found if one.sight == MemoryAccess.WHOLE]


def length(found: Sequence[KnownMemory]) -> int:
    return sum(len(one.version.text) for one in memories_in_prompt(found))


def memory_folder(mission: Mission, agent: MissionAgent) -> dict[str, str]:
    """The files in the agent's folder of memories: those that it may see, or all if it has the right LIBRARY."""
    held = MemoryVersion.objects.held(mission.library)
    mine = (
        held
        if LIBRARY in agent.rights
        else [one for one in held if one.visibility_for(agent.name) != MemoryAccess.NOTHING]
    )
    return {one.memory.file: memory_files.memory_file_text(one.as_file) for one in mine}


def changed_memories(mission: Mission, agent: MissionAgent, found: Sequence[KnownMemory]) -> list[str]:
    """Names of the memories that the last prompt contained whole and that have another version now."""
    before = _uses(mission, agent)
    now = {one.version.memory_id: one for one in memories_in_prompt(found)}
    return [now[memory].name for memory, pk in before.items() if memory in now and now[memory].version.pk != pk]


def _uses(mission: Mission, agent: MissionAgent) -> dict[int, int]:
    return memories_in_use(one for one in mission.memory_uses.all() if one.agent_id == agent.pk)


def note_uses(pk: UUID, agent: MissionAgent, versions: Sequence[int]) -> None:
    """Record which whole memories the step's prompt gained or lost. Called in the transaction that saves the step."""
    rows = MemoryUse.objects.filter(agent=agent).select_related("version").order_by("pk")
    before, now = set(memories_in_use(rows).values()), set(versions)
    made = [*((one, False) for one in sorted(before - now)), *((one, True) for one in sorted(now - before))]
    for version, on in made:
        MemoryUse.objects.create(mission_id=pk, agent=agent, version_id=version, on=on)


def set_active(mission: Mission, agent: MissionAgent, memory: Memory, on: bool) -> None:
    MemoryActivation.objects.create(mission=mission, agent=agent, memory=memory, on=on)


def reader_lists(version: MemoryVersion | None) -> dict[str, tuple[str, ...]]:
    """The present lists of readers; a new memory is listed by name for all agents."""
    if version is None:
        return {"visible_to": ("all",)}
    return {name: tuple(getattr(version, name)) for name in LISTS}
