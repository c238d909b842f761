"""The ready-made teams to start from. That they are there is the first that the chain of teams says."""

from django.db import migrations

from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.founding import at_founding
from engine.migrations._sealing import seal
from plans.migrations._ready_made import POLICY, TEAMS

CHAIN = "6d616769-0000-4000-8000-007465616d73"
AGENT = ("name", "description", "system", "model", "fallback", "tools")


def make(apps, schema_editor):
    seal(apps, CHAIN, [draft_of(change) for change in [found(apps, team) for team in TEAMS]])


def found(apps, values):
    Team, Version, Agent, Change = (apps.get_model("plans", f"Team{part}") for part in ("", "Version", "Agent", "Change"))
    kept = {"name": values["name"], "retention_days": 0}
    team = Team.objects.create(**kept)
    own = {name: values[name] for name in ("description", "examples")}
    version = Version.objects.create(team=team, number=1, name=team.name, policy=POLICY, **own)
    for seat, (name, description, tools) in enumerate(values["agents"], 1):
        Agent.objects.create(version=version, seat=seat, name=name, description=description, tools=list(tools))
    Team.objects.filter(pk=team.pk).update(current=version)
    return Change.objects.create(team=team, kind="founded", version=version, archived=False, locked=False, **kept)


def draft_of(change):
    facts = {"id": change.team_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    facts |= {"version": change.version.number, "holds": held(change.version)}
    return EntryDraft("team", format_timestamp(change.made) or "", facts)


def held(version):
    """As `TeamVersion.held` says it."""
    own = {name: getattr(version, name) for name in ("description", "planner", "policy", "examples")}
    agents = [{name: getattr(one, name) for name in AGENT} for one in version.agents.order_by("seat")]
    return {**own, "agents": agents}


class Migration(migrations.Migration):
    dependencies = [("plans", "0002_guards"), ("engine", "0009_chains_of_no_run"), ("engine", "0016_waiting")]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop))]
