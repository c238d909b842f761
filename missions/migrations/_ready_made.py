"""Ready-made memories and crews to start with."""

from django.utils import timezone
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.migrations._sealing import seal

MEMORIES_CHAIN = "6d616769-0000-4000-8000-6d656d6f7279"
RULE = """\
---
name: rule
description: core rules
active_for:
  - all
visible_to:
  - all
except_for:
  - LTM-Manager
---
# Working together

* Say what you have seen, not what you expect. A number or a name comes from a file or a command.
* Read the tests and the notes of a workspace before you change it, and keep to its ways.
* Change as little as the goal needs. Leave what you do not understand as it is, and say so.
* Write to others in whole sentences: what you want, why, and how you will know that it is done.
* Where there is an agent named LTM-Manager, tell it what will matter again in other missions: one fact in one message.
"""
MANAGER_RULE = """\
---
name: ltm_manager_rule
description: how long-term memory is kept
active_for:
  - LTM-Manager
visible_to: []
---
# Keeping long-term memory

* You keep what crews know from one mission to the next. The folder /memory has it as files; list and read them first.
* Keep what will matter again: how something is built, started or tested, what went wrong and why, what people want.
  Do not keep what a file of the workspace says already, what holds for one mission alone, or any secret.
* One fact stands in one place. Change the memory that it belongs to before you make a new one.
* A memory is a file of Markdown in /memory. It begins with front matter: name, description, active_for, visible_to and,
  if needed, except_for, which are lists of agents' names or all. What most need is visible to all; what everybody needs
  in each prompt is active for all, and short.
* What you write there is a proposal: a person accepts it or not. Say so to whoever asked, and what you have proposed.
"""
READY: tuple[tuple[str, str, str, str, list[str], list[str], list[str]], ...] = (
    ("rule", "general_rule.md", "core rules", RULE, ["all"], ["all"], ["LTM-Manager"]),
    ("ltm_manager_rule", "ltm_manager_rule.md", "how long-term memory is kept", MANAGER_RULE, ["LTM-Manager"], [], []),
)


def create_memories(apps, schema_editor):
    drafts = []
    for name, file, description, source, *lists in READY:
        memory = apps.get_model("missions", "Memory").objects.create(name=name, folded=name, file=file)
        end = source.index("---\n", 4) + 4
        texts = {"description": description, "text": source[end:], "front": source[:end]}
        readers = dict(zip(("active_for", "visible_to", "except_for"), lists, strict=True))
        now = timezone.now()
        version = apps.get_model("missions", "MemoryVersion").objects.create(
            memory=memory, number=1, decided=now, accepted=True, made=now, **texts, **readers
        )
        facts = {"memory": memory.pk, "version": 1, "base": 0, "library": "", "name": name, "file": file, **readers}
        at = format_timestamp(version.made) or ""
        drafts.append(EntryDraft("memory", at, {**facts, "by": ""}, texts))
        drafts.append(EntryDraft("memory.decided", at, {**facts, "accepted": True, "by": "", "mission": None}, texts))
    seal(apps, MEMORIES_CHAIN, drafts)


CREWS_CHAIN = "6d616769-0000-4000-8000-000063726577"
AGENT: dict[str, object] = {"name": "", "description": "", "model": "", "tools": None, "rights": []}
READS = ["read_file", "ls", "find_files", "grep", "remember", "active_ltm", "wait", "send_message"]
COORDINATOR: tuple[str, str, dict[str, object]] = ("Magi-01", "You coordinate the work and answer for its result.", {})
MANAGER: tuple[str, str, dict[str, object]] = (
    "LTM-Manager",
    "You keep what crews know from one mission to the next, when somebody tells you what will matter again.",
    {"rights": ["library", "tidy"]},
)
TESTER: tuple[str, str, dict[str, object]] = ("Tester", "You run tests and report the first failure. You correct nothing.", {})
READER: tuple[str, str, dict[str, object]] = ("Reader", "You read files and answer what is in them.", {"tools": READS})
CREWS = (
    ("Coordinator", "One agent with all tools. Best for most goals.", (COORDINATOR,)),
    (
        "Coordinator and LTM-Manager",
        "Lessons are kept for the next mission, each after a look by somebody.",
        (COORDINATOR, MANAGER),
    ),
    (
        "Coordinator and helpers",
        "A tester and a reader beside, who answer when they are asked.",
        (COORDINATOR, TESTER, READER),
    ),
)


def create_crews(apps, schema_editor):
    seal(apps, CREWS_CHAIN, [draft_of(change) for change in [found(apps, *crew) for crew in CREWS]])


def found(apps, name, good_for, agents):
    Crew, Version, Change = (apps.get_model("missions", f"Crew{part}") for part in ("", "Version", "Change"))
    kept = {"name": name, "retention_days": 0}
    crew = Crew.objects.create(**kept)
    held = [{**AGENT, "name": who, "description": what, **more} for who, what, more in agents]
    version = Version.objects.create(crew=crew, number=1, name=name, good_for=good_for, agents=held)
    Crew.objects.filter(pk=crew.pk).update(current=version)
    return Change.objects.create(crew=crew, kind="founded", version=version, archived=False, locked=False, **kept)


def draft_of(change):
    facts = {"id": change.crew_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    held = {"good_for": change.version.good_for, "agents": change.version.agents}
    return EntryDraft("crew", format_timestamp(change.made) or "", {**facts, "version": change.version.number, "holds": held})
