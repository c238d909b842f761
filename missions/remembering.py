"""Memories proposed, accepted and refused, each in the chain of memories at once; and read from files and written back.

Why so: docs/decisions.md, Memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from engine.decoding import UnknownEncoding, decoded
from engine.evidence import sealing
from engine.evidence.chain import Draft, stamp
from engine.evidence.log import Leaf
from engine.evidence.told import Drafts
from engine.hidden import visible_text
from engine.llm.providers import storable
from engine.models import after_deadlock
from engine.names import look_alike

from . import memory_files
from .memory_files import LISTS, MemoryFile, Wrong
from .models import Mission
from .models.memories import MEMORIES, Memory, MemoryVersion, values_of
from .rules import folded

PROPOSED, DECIDED = "memory", "memory.decided"
COMMAND = "the command line"


class ChangedMeanwhile(Exception):
    """Another version holds by now. The text says which."""


class Decided(Exception):
    """There is nothing left to decide."""


@after_deadlock
@transaction.atomic
def propose(
    said: MemoryFile,
    by: str,
    *,
    library: str = "",
    file: str = "",
    base: int | None = None,
    mission: Mission | None = None,
    accepted: bool = False,
) -> MemoryVersion:
    """A new version, or a new memory. `base`: the version that it was written from, if that is known. Wrong,
    ChangedMeanwhile. `accepted`: whoever writes it accepts it."""
    said = MemoryFile(**{name: _kept(value) for name, value in vars(said).items()})
    if wrong := memory_files.complaint(said):
        raise Wrong(wrong)
    if mission is None:  # rows and entries have one order; what a mission proposes is told by its own record
        Leaf.objects.lock()
    memory = _memory(said.name, library, file)
    current = current_of(memory)
    number = current.number if current else 0
    if base not in (None, number):
        raise ChangedMeanwhile(f"“{memory.name}” has version {number} by now, not {base}.")
    last = memory.versions.aggregate(Max("number"))["number__max"] or 0
    columns = {"number": last + 1, "base": number, "by": by[:150], "mission": mission}
    version = MemoryVersion.objects.create(memory=memory, **columns, **values_of(said))
    if mission is None:
        sealing.record(MEMORIES, _proposed(version), *([_decide(version, True, by)] if accepted else []))
    return version


def _kept(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else tuple(map(storable, value))


def _memory(name: str, library: str, file: str) -> Memory:
    found = Memory.objects.select_for_update().filter(library=library, folded=folded(name)).first()
    if found:
        if file and file != found.file:
            raise Wrong(f"“{found.name}” stands in {found.file}, not in {file}.")
        return found
    names = Memory.objects.filter(library__in={"", library}).exclude(folded=folded(name)).values_list("name", flat=True)
    if same := look_alike(name, names):
        raise Wrong(f"There is a memory “{same}”, and “{name.strip()}” looks like it. Call it otherwise.")
    file = file or memory_files.file_name(name)
    if wrong := memory_files.file_complaint(file):
        raise Wrong(wrong)
    if other := Memory.objects.filter(library=library, file=file).first():
        raise Wrong(f"{file} holds “{other.name}” already.")
    return Memory.objects.create(library=library, name=name.strip(), folded=folded(name), file=file)


def current_of(memory: Memory) -> MemoryVersion | None:
    return memory.versions.filter(accepted=True).order_by("-number").first()


@after_deadlock
@transaction.atomic
def decide(version: int, by: str, accept: bool) -> MemoryVersion:
    """Accept what was proposed, from each agent's next step on, or refuse it. Decided, ChangedMeanwhile."""
    Leaf.objects.lock()
    row = MemoryVersion.objects.select_related("memory").get(pk=version)
    memory = Memory.objects.select_for_update().get(pk=row.memory_id)
    row.refresh_from_db()
    if row.decided:
        raise Decided(f"{row.decided_by or 'Somebody'} has {'accepted' if row.accepted else 'refused'} it.")
    current = current_of(memory)
    number = current.number if current else 0
    if accept and row.base != number:
        raise ChangedMeanwhile(f"It was written from version {row.base}, and version {number} holds by now.")
    sealing.record(MEMORIES, _decide(row, accept, by))
    return row


def _decide(row: MemoryVersion, accept: bool, by: str) -> Draft:
    row.decided, row.decided_by, row.accepted = timezone.now(), by[:150], accept
    row.save(update_fields=["decided", "decided_by", "accepted"])
    return _decided(row)


def changed(version: MemoryVersion, **lists: str) -> MemoryFile:
    """The same with other readers, each list as in `memory_files.with_names`. Wrong."""
    said = version.as_file
    after: dict[str, Any] = {
        name: memory_files.with_names(getattr(said, name), change) for name, change in lists.items()
    }
    return replace(said, **after)


# ---- folders ----------------------------------------------------------------------------------------------------


def bring(folder: Path, library: str, by: str = COMMAND) -> Iterator[tuple[str, str]]:
    """Accept what stands in the files of a folder: the name of each, and what was wrong with it, or nothing."""
    for path in sorted(folder.glob("*.md")):
        try:
            said = memory_files.read(decoded(path.read_bytes()).text)
            here = Memory.objects.filter(library=library, folded=folded(said.name)).first()
            current = current_of(here) if here else None
            if current is None or current.as_file != said:
                propose(said, by, library=library, file=path.name, accepted=True)
        except (Wrong, OSError) as error:
            yield path.name, str(error)
        except UnknownEncoding as error:
            yield path.name, f"It {error}"
        else:
            yield path.name, ""


def write_out(folder: Path, library: str) -> list[str]:
    """The files of all that is accepted there."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for one in MemoryVersion.objects.current(library):
        (folder / one.memory.file).write_bytes(memory_files.written(one.as_file).encode())
        names.append(one.memory.file)
    return sorted(names)


# ---- evidence ---------------------------------------------------------------------------------------------------


class MemoryWitness:
    """A `ChainWitness`: each version, and what was decided about it."""

    def chains(self) -> Iterable[UUID]:
        return [MEMORIES] if MemoryVersion.objects.exists() else []

    def tell(self, chains: Sequence[UUID]) -> dict[UUID, Drafts]:
        if MEMORIES not in chains or not MemoryVersion.objects.exists():
            return {}
        rows = list(MemoryVersion.objects.select_related("memory").order_by("pk"))
        decided = sorted((one for one in rows if one.decided), key=lambda one: (one.decided, one.pk))
        known = {one.memory_id for one in rows}
        without = Memory.objects.exclude(pk__in=known)
        beyond = [Draft(PROPOSED, "", {"step": visible_text(f"“{one.name}”")}) for one in without]
        told = [_proposed(one) for one in rows if one.mission_id is None]
        return {MEMORIES: {PROPOSED: [*told, *beyond], DECIDED: list(map(_decided, decided))}}

    def doubt(self, entries: Sequence[Mapping[str, Any]]) -> str:
        return ""


def _proposed(row: MemoryVersion) -> Draft:
    return Draft(PROPOSED, stamp(row.made) or "", {**_facts(row), "by": row.by}, _texts(row), row=row.pk)


def _decided(row: MemoryVersion) -> Draft:
    """The texts of what was accepted alone: what else a mission had proposed goes with its texts."""
    facts = {**_facts(row), "accepted": row.accepted, "by": row.decided_by}
    facts["mission"] = str(row.mission_id) if row.mission_id else None
    return Draft(DECIDED, stamp(row.decided) or "", facts, _texts(row) if row.accepted else {}, row=row.pk)


def _facts(row: MemoryVersion) -> dict[str, Any]:
    facts: dict[str, Any] = {"memory": row.memory_id, "version": row.number, "base": row.base}
    facts |= {"library": row.memory.library, "name": row.memory.name, "file": row.memory.file}
    return facts | {name: getattr(row, name) for name in LISTS}


def _texts(row: MemoryVersion) -> dict[str, str]:
    return {name: getattr(row, name) for name in ("description", "text", "front")}
