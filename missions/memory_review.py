"""Proposing, accepting and refusing memories, with their audit entries; import from files and export to them.

Why so: missions/DESIGN.md, Memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from engine.audit import sealing
from engine.audit.entries_from_rows import Drafts
from engine.decoding import UnknownEncoding, decoded
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.ledger.merkle_log import LogLeaf
from engine.llm.providers import clean_storable_text
from engine.models import after_deadlock
from engine.names import look_alike
from engine.text.invisible_chars import visible_text

from . import memory_files
from .memory_files import LISTS, InvalidMemoryFile, MemoryFile
from .models import Mission
from .models.memories import MEMORIES, Memory, MemoryVersion, values_of
from .rules import fold_name

PROPOSED, DECIDED = "memory", "memory.decided"
COMMAND = "the command line"


class MemoryChanged(Exception):
    """The proposal was written from a version that is no longer current. The text names the current one."""


class MemoryAlreadyDecided(Exception):
    """Somebody has already accepted or refused the proposal."""


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
    """Create a proposal: a new version, or a new memory with its first version.

    base: number of the version from which it was written, 0 for a new memory, None if unknown
    mission: the mission whose agent proposes it; its record then has the entry
    accepted: accept it at once

    Raises InvalidMemoryFile, and MemoryChanged if `base` is not the current version.
    """
    said = MemoryFile(**{name: _kept(value) for name, value in vars(said).items()})
    if wrong := memory_files.memory_problem(said):
        raise InvalidMemoryFile(wrong)
    if mission is None:  # rows and entries must have the same order; proposals of missions are in their own records
        LogLeaf.objects.lock()
    memory = _memory(said.name, library, file)
    current = current_version(memory)
    number = current.number if current else 0
    if base not in (None, number):
        raise MemoryChanged(f"“{memory.name}” has version {number} by now, not {base}.")
    last = memory.versions.aggregate(Max("number"))["number__max"] or 0
    columns = {"number": last + 1, "base": number, "by": by[:150], "mission": mission}
    version = MemoryVersion.objects.create(memory=memory, **columns, **values_of(said))
    if mission is None:
        sealing.record_run(MEMORIES, _proposed(version), *([_decide(version, True, by)] if accepted else []))
    return version


def _kept(value: Any) -> Any:
    return clean_storable_text(value) if isinstance(value, str) else tuple(map(clean_storable_text, value))


def _memory(name: str, library: str, file: str) -> Memory:
    found = Memory.objects.select_for_update().filter(library=library, folded=fold_name(name)).first()
    if found:
        if file and file != found.file:
            raise InvalidMemoryFile(f"“{found.name}” stands in {found.file}, not in {file}.")
        return found
    names = (
        Memory.objects.filter(library__in={"", library}).exclude(folded=fold_name(name)).values_list("name", flat=True)
    )
    if same := look_alike(name, names):
        raise InvalidMemoryFile(f"There is a memory “{same}”, and “{name.strip()}” looks like it. Call it otherwise.")
    file = file or memory_files.file_name(name)
    if wrong := memory_files.file_problem(file):
        raise InvalidMemoryFile(wrong)
    if other := Memory.objects.filter(library=library, file=file).first():
        raise InvalidMemoryFile(f"{file} holds “{other.name}” already.")
    return Memory.objects.create(library=library, name=name.strip(), folded=fold_name(name), file=file)


def current_version(memory: Memory) -> MemoryVersion | None:
    return memory.versions.filter(accepted=True).order_by("-number").first()


@after_deadlock
@transaction.atomic
def decide_proposal(version: int, by: str, accept: bool) -> MemoryVersion:
    """Accept a proposal, which agents see from their next step on, or refuse it.

    Raises MemoryAlreadyDecided, and MemoryChanged if the proposal was not written from the current version.
    """
    LogLeaf.objects.lock()
    row = MemoryVersion.objects.select_related("memory").get(pk=version)
    memory = Memory.objects.select_for_update().get(pk=row.memory_id)
    row.refresh_from_db()
    if row.decided:
        raise MemoryAlreadyDecided(
            f"{row.decided_by or 'Somebody'} has {'accepted' if row.accepted else 'refused'} it."
        )
    current = current_version(memory)
    number = current.number if current else 0
    if accept and row.base != number:
        raise MemoryChanged(f"It was written from version {row.base}, and version {number} holds by now.")
    sealing.record_run(MEMORIES, _decide(row, accept, by))
    return row


def _decide(row: MemoryVersion, accept: bool, by: str) -> EntryDraft:
    row.decided, row.decided_by, row.accepted = timezone.now(), by[:150], accept
    row.save(update_fields=["decided", "decided_by", "accepted"])
    return _decided(row)


def memory_changes(version: MemoryVersion, **lists: str) -> MemoryFile:
    """The memory with changed lists of readers; see `memory_files.rename_agents`. Raises InvalidMemoryFile."""
    said = version.as_file
    after: dict[str, Any] = {
        name: memory_files.rename_agents(getattr(said, name), change) for name, change in lists.items()
    }
    return replace(said, **after)


# ---- folders ----------------------------------------------------------------------------------------------------


def import_memories(folder: Path, library: str, by: str = COMMAND) -> Iterator[tuple[str, str]]:
    """Import and accept the Markdown files of a folder; yield the name and the error of each, or an empty string."""
    for path in sorted(folder.glob("*.md")):
        try:
            said = memory_files.parse_memory_file(decoded(path.read_bytes()).text)
            here = Memory.objects.filter(library=library, folded=fold_name(said.name)).first()
            current = current_version(here) if here else None
            if current is None or current.as_file != said:
                propose(said, by, library=library, file=path.name, accepted=True)
        except (InvalidMemoryFile, OSError) as error:
            yield path.name, str(error)
        except UnknownEncoding as error:
            yield path.name, f"It {error}"
        else:
            yield path.name, ""


def export_memories(folder: Path, library: str) -> list[str]:
    """Write the accepted memories of a library to files; return the sorted names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for one in MemoryVersion.objects.current(library):
        (folder / one.memory.file).write_bytes(memory_files.memory_file_text(one.as_file).encode())
        names.append(one.memory.file)
    return sorted(names)


# ---- the audit log ----------------------------------------------------------------------------------------------


class MemoryEntrySource:
    """A `ChainEntrySource` of the chain of memories: versions and decisions about them."""

    def chain_keys(self) -> Iterable[UUID]:
        return [MEMORIES] if MemoryVersion.objects.exists() else []

    def build_entries(self, chains: Sequence[UUID]) -> dict[UUID, Drafts]:
        if MEMORIES not in chains or not MemoryVersion.objects.exists():
            return {}
        rows = list(MemoryVersion.objects.select_related("memory").order_by("pk"))
        decided = sorted((one for one in rows if one.decided), key=lambda one: (one.decided, one.pk))
        known = {one.memory_id for one in rows}
        without = Memory.objects.exclude(pk__in=known)
        beyond = [EntryDraft(PROPOSED, "", {"step": visible_text(f"“{one.name}”")}) for one in without]
        told = [_proposed(one) for one in rows if one.mission_id is None]
        return {MEMORIES: {PROPOSED: [*told, *beyond], DECIDED: list(map(_decided, decided))}}

    def validate_entries(self, entries: Sequence[Mapping[str, Any]]) -> str:
        return ""


def _proposed(row: MemoryVersion) -> EntryDraft:
    return EntryDraft(
        PROPOSED, format_timestamp(row.made) or "", {**_facts(row), "by": row.by}, _texts(row), row=row.pk
    )


def _decided(row: MemoryVersion) -> EntryDraft:
    """Has texts only if the version was accepted: other proposals are redacted with their mission's texts."""
    facts = {**_facts(row), "accepted": row.accepted, "by": row.decided_by}
    facts["mission"] = str(row.mission_id) if row.mission_id else None
    return EntryDraft(
        DECIDED, format_timestamp(row.decided) or "", facts, _texts(row) if row.accepted else {}, row=row.pk
    )


def _facts(row: MemoryVersion) -> dict[str, Any]:
    facts: dict[str, Any] = {"memory": row.memory_id, "version": row.number, "base": row.base}
    facts |= {"library": row.memory.library, "name": row.memory.name, "file": row.memory.file}
    return facts | {name: getattr(row, name) for name in LISTS}


def _texts(row: MemoryVersion) -> dict[str, str]:
    return {name: getattr(row, name) for name in ("description", "text", "front")}
