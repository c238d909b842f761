"""What an agent has of the long-term memories: whole in its prompts, by name, or in its folder alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from .. import memory_files
from ..memory_files import LISTS
from ..rules import MemoryAccess
from .memories import Memory, MemoryActivation, MemoryUse, MemoryVersion, memories_in_use
from .missions import Mission, MissionAgent

LIBRARY = "library"  # the right of an agent to find all memories
TOGETHER = 12_000  # characters of all that stands whole in a prompt


@dataclass(frozen=True)
class KnownMemory:
    """A memory as one agent has it now."""

    version: MemoryVersion
    sight: MemoryAccess

    @property
    def name(self) -> str:
        return self.version.memory.name


def memories_of_agent(mission: Mission, agent: MissionAgent) -> list[KnownMemory]:
    """All that it may see, by names. `mission` as `at_work` reads it."""
    chosen = {one.memory_id: one.on for one in mission.activations.all() if one.agent_id == agent.pk}
    found = [KnownMemory(one, _sight(one, agent, chosen)) for one in MemoryVersion.objects.held(mission.library)]
    return [one for one in found if one.sight != MemoryAccess.NOTHING]


def _sight(version: MemoryVersion, agent: MissionAgent, chosen: dict[int, bool]) -> MemoryAccess:
    """What it may see it brings into its prompts, or puts away, by itself."""
    sight = version.visibility_for(agent.name)
    if sight == MemoryAccess.NOTHING or version.memory_id not in chosen:
        return sight
    return MemoryAccess.WHOLE if chosen[version.memory_id] else MemoryAccess.LISTED


def memories_in_prompt(found: Sequence[KnownMemory]) -> list[KnownMemory]:
    return [one for one in found if one.sight == MemoryAccess.WHOLE]


def length(found: Sequence[KnownMemory]) -> int:
    return sum(len(one.version.text) for one in memories_in_prompt(found))


def memory_folder(mission: Mission, agent: MissionAgent) -> dict[str, str]:
    """The files that stand in its folder: what it may see, or everything where it has the right to find it."""
    held = MemoryVersion.objects.held(mission.library)
    mine = (
        held
        if LIBRARY in agent.rights
        else [one for one in held if one.visibility_for(agent.name) != MemoryAccess.NOTHING]
    )
    return {one.memory.file: memory_files.memory_file_text(one.as_file) for one in mine}


def refresh_folder(mission: Mission, agent: MissionAgent, found: Sequence[KnownMemory]) -> list[str]:
    """Of what its last prompt had whole, the names of those that have another version now."""
    before = _uses(mission, agent)
    now = {one.version.memory_id: one for one in memories_in_prompt(found)}
    return [now[memory].name for memory, pk in before.items() if memory in now and now[memory].version.pk != pk]


def _uses(mission: Mission, agent: MissionAgent) -> dict[int, int]:
    return memories_in_use(one for one in mission.memory_uses.all() if one.agent_id == agent.pk)


def note_uses(pk: UUID, agent: MissionAgent, versions: Sequence[int]) -> None:
    """What the prompt of a step had whole, as far as it is otherwise than the one before. In its transaction."""
    rows = MemoryUse.objects.filter(agent=agent).select_related("version").order_by("pk")
    before, now = set(memories_in_use(rows).values()), set(versions)
    made = [*((one, False) for one in sorted(before - now)), *((one, True) for one in sorted(now - before))]
    for version, on in made:
        MemoryUse.objects.create(mission_id=pk, agent=agent, version_id=version, on=on)


def set_active(mission: Mission, agent: MissionAgent, memory: Memory, on: bool) -> None:
    MemoryActivation.objects.create(mission=mission, agent=agent, memory=memory, on=on)


def agents_reading(version: MemoryVersion | None) -> dict[str, tuple[str, ...]]:
    """Who sees what, as it is now; a new memory is seen by all by its name."""
    if version is None:
        return {"visible_to": ("all",)}
    return {name: tuple(getattr(version, name)) for name in LISTS}
