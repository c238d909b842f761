"""The ready-made crews to start from. That they are there is the first that the chain of crews says."""

from django.db import migrations

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.founding import at_founding
from engine.migrations._sealing import seal

CHAIN = "6d616769-0000-4000-8000-000063726577"
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


def make(apps, schema_editor):
    seal(apps, CHAIN, [draft_of(change) for change in [found(apps, *crew) for crew in CREWS]])


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


class Migration(migrations.Migration):
    dependencies = [("missions", "0005_crews"), ("engine", "0009_chains_of_no_run"), ("engine", "0016_waiting")]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop))]
