"""The ready-made panels: five to start from. That they are there is the first that the chain of panels says."""

from django.db import migrations

from debates.migrations._ready_made import PANELS
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.founding import at_founding
from engine.migrations._sealing import seal

CHAIN = "6d616769-0000-4000-8000-70616e656c73"
SETTINGS = ("rule", "timekeeper", "view", "most", "reply_within")
SWITCHES = ("reply", "call", "challenge", "first", "free_floor")


def make(apps, schema_editor):
    seal(apps, CHAIN, [draft_of(change) for change in [found(apps, panel) for panel in PANELS]])


def found(apps, values):
    Panel, Version, Seat, Option, Change = (
        apps.get_model("debates", f"Panel{part}") for part in ("", "Version", "Seat", "Option", "Change")
    )
    kept = {"name": values["name"], "retention_days": values["retention_days"]}
    panel = Panel.objects.create(**kept)
    version = Version.objects.create(
        panel=panel, number=1, name=panel.name, rule=values["rule"], most=60, reply_within=24
    )
    for seat, (name, who) in enumerate(values["members"], 1):
        Seat.objects.create(version=version, seat=seat, name=name, who=who)
    for number, (word, direction, meaning) in enumerate(values["options"], 1):
        Option.objects.create(version=version, number=number, word=word, direction=direction, meaning=meaning)
    Panel.objects.filter(pk=panel.pk).update(current=version)
    return Change.objects.create(panel=panel, kind="founded", version=version, archived=False, locked=False, **kept)


def draft_of(change):
    facts = {"id": change.panel_id, "change": change.kind, "by": "", "owner": None, "owner_name": ""}
    facts |= {name: getattr(change, name) for name in ("name", "archived", "locked", "retention_days")}
    facts |= {"version": change.version.number, "holds": held(change.version)}
    return EntryDraft("panel", format_timestamp(change.made) or "", facts)


def held(version):
    """As `PanelVersion.held` says it."""
    seat, option = ("name", "who", "model", "fallback", "person"), ("word", "meaning", "direction")
    return {
        "options": [said(one, option) for one in version.options.order_by("number")],
        "members": [said(one, seat) for one in version.seats.order_by("seat")],
        **said(version, SETTINGS),
        "switches": said(version, SWITCHES),
    }


def said(row, names):
    return {name: getattr(row, name) for name in names}


class Migration(migrations.Migration):
    dependencies = [("debates", "0003_panels"), ("engine", "0009_chains_of_no_run"), ("engine", "0016_waiting")]
    operations = [at_founding(migrations.RunPython(make, migrations.RunPython.noop))]
